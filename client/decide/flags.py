"""A question from the command line's own flags → a request body. Raises Refused, which names the flag."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping

from client.decide.given import json_of, text_of
from client.decisions import Choice, Content, Decision, DecisionError, JsonValue, Noul, Option, Question, Score
from client.decisions import bodies as wire
from client.errors import Refused

NAME = "asked"  # of a decision or question that a command line asks
FLAGS = (
    *("state", "state_json", "state_file", "question", "type", "option", "level", "true", "false"),
    *("readout", "prompt_version", "abstain_below"),
)
_KINDS: Mapping[str | None, tuple[str, ...]] = {
    None: ("option",),
    "noul": ("true", "false"),
    "choice": ("option",),
    "score": ("level",),
}


def from_flags(options: argparse.Namespace, flags: list[str]) -> Mapping[str, JsonValue]:
    if not flags:
        raise Refused("nothing is asked. Remedy: --state, --question and --option (see --help), or --input FILE")
    for name in ("option", "level", "true", "false"):
        if name in flags and name not in _KINDS[options.type]:
            raise Refused(f"{flag(name)}: not with {_kind(options.type)}, which has {_names(_KINDS[options.type])}")
    if options.question is None:
        raise Refused("--question: missing; say what is to be decided")
    _check(options, flags)
    state = _state(options)
    try:
        if options.type is None:
            return _object(wire.one(_decision(options, state)))
        question = _question(options)
        wishes = {"readout": options.readout, "prompt_version": options.prompt_version}
        return _object(wire.system_one(state, {NAME: question}, **wishes))
    except DecisionError as error:
        raise Refused(error.message) from error


def _check(options: argparse.Namespace, flags: list[str]) -> None:
    """What the body would not say by whose fault it cannot be written."""
    below = options.abstain_below
    if below is not None and not 0 < below <= 1:
        raise Refused(f"--abstain-below {below:g}: more than 0 and at most 1 is needed")
    for name in flags:
        value = getattr(options, name)
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and not _is_text(text):
                raise Refused(f"{flag(name)}: not UTF-8. Remedy: look at the terminal's encoding, or --input FILE")


def _is_text(argument: str) -> bool:
    """Python hands on bytes that are no UTF-8 as halves of surrogate pairs."""
    return not any("\ud800" <= each <= "\udfff" for each in argument)


def _decision(options: argparse.Namespace, state: JsonValue) -> Decision:
    pairs = [_option(text) for text in options.option or ()]
    for name, description in pairs:
        if description is None:
            raise Refused(f"--option {name}: no description. Remedy: --option '{name}=what it means', or --type choice")
    return Decision(
        id=NAME,
        state=state,
        question=options.question,
        options=tuple(Option(id=name, description=description or "") for name, description in pairs),
        readout=options.readout,
        prompt_version=options.prompt_version,
        abstain_below=options.abstain_below,
    )


def _question(options: argparse.Namespace) -> Question:
    says, below = options.question, options.abstain_below
    if options.type == "noul":
        return Noul(instructions=says, true=options.true, false=options.false, abstain_below=below)
    if options.type == "score":
        return Score(instructions=says, levels=tuple(options.level or ()), abstain_below=below)
    described: dict[str, Content | None] = {}
    for name, description in map(_option, options.option or ()):
        if name in described:
            raise Refused(f"--option {name}: given twice; give each option a name of its own")
        described[name] = description
    return Choice(instructions=says, options=described, abstain_below=below)


def _option(text: str) -> tuple[str, str | None]:
    name, equals, description = text.partition("=")
    return name, description if equals else None


def _state(options: argparse.Namespace) -> JsonValue:
    given = [name for name in ("state", "state_json", "state_file") if getattr(options, name) is not None]
    if len(given) != 1:
        raise Refused(f"{len(given)} states; exactly one of --state, --state-json and --state-file is needed")
    if options.state is not None:
        return str(options.state)
    if options.state_file is not None:
        return text_of(options.state_file, "--state-file")
    return json_of(options.state_json, "--state-json")


def _object(body: bytes) -> Mapping[str, JsonValue]:
    value: dict[str, JsonValue] = json.loads(body)
    return value


def _kind(name: str | None) -> str:
    return f"--type {name}" if name else "a decision (no --type)"


def _names(flags: tuple[str, ...]) -> str:
    return " and ".join(map(flag, flags))


def flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
