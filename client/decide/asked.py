"""What a command line or a file asks → request bodies of contract section 3 or 4. Pure, but for reading the files."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from client.decisions import Choice, Content, Decision, DecisionError, JsonValue, Noul, Option, Question, Score
from client.decisions import bodies as wire
from client.errors import Refused
from client.json_lines import BadLine, check_value, read_object

NAME = "asked"  # of a decision or question that a command line asks
_OF_THE_FLAGS = (
    *("state", "state_json", "state_file", "question", "type", "option", "level", "true", "false"),
    *("readout", "prompt_version", "abstain_below"),
)
_KINDS: Mapping[str | None, tuple[str, ...]] = {
    None: ("option",),
    "noul": ("true", "false"),
    "choice": ("option",),
    "score": ("level",),
}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """line: of the file, where it has several."""

    body: Mapping[str, JsonValue]
    line: int | None


def asked(options: argparse.Namespace) -> tuple[Asked, ...]:
    """Raises Refused."""
    flags = [name for name in _OF_THE_FLAGS if getattr(options, name) is not None]
    if options.input is None:
        return (Asked(body=_from_flags(options, flags), line=None),)
    if flags:
        raise Refused(f"{_flag(flags[0])}: goes without --input; what is asked stands in the file")
    return from_file(_content(options.input, "--input"), name=f"--input {options.input}")


def from_file(content: bytes, *, name: str) -> tuple[Asked, ...]:
    """One JSON body over as many lines as it likes, or JSON Lines. Raises Refused."""
    lines = content.rstrip(b"\r\n \t").split(b"\n")
    if len(lines) == 1 or not _is_object(lines[0]):
        return (Asked(body=_body(content.strip(), name), line=None),)
    return tuple(
        Asked(body=_body(line.strip(), f"{name}, line {number}"), line=number) for number, line in enumerate(lines, 1)
    )


def _is_object(line: bytes) -> bool:
    try:
        read_object(line)
    except BadLine:
        return False
    return True


def _body(content: bytes, name: str) -> Mapping[str, JsonValue]:
    try:
        given: dict[str, Any] = read_object(content)
        check_value(given)
    except BadLine as error:
        raise Refused(f"{name}: {error}") from error
    if "decision" in given or "decisions" in given:
        return given
    if "questions" in given and "state" in given:
        return {"model": wire.MODEL, **given}
    if "question" in given and "options" in given:
        return {"decision": given}
    raise Refused(
        f"{name}: its keys are {', '.join(map(repr, given)) or 'none'}. Needed: a decision (`id`, `state`, `question`, "
        "`options`), `decision`, `decisions`, or `state` and `questions`"
    )


def _from_flags(options: argparse.Namespace, flags: list[str]) -> Mapping[str, JsonValue]:
    if not flags:
        raise Refused("nothing is asked. Remedy: --state, --question and --option (see --help), or --input FILE")
    for name in ("option", "level", "true", "false"):
        if name in flags and name not in _KINDS[options.type]:
            raise Refused(f"{_flag(name)}: not with {_kind(options.type)}, which has {_names(_KINDS[options.type])}")
    if options.question is None:
        raise Refused("--question: missing; say what is to be decided")
    state = _state(options)
    try:
        if options.type is None:
            return _object(wire.one(_decision(options, state)))
        question = _question(options)
        wishes = {"readout": options.readout, "prompt_version": options.prompt_version}
        return _object(wire.system_one(state, {NAME: question}, **wishes))
    except DecisionError as error:
        raise Refused(error.message) from error


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
        content = _content(options.state_file, "--state-file")
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Refused(f"--state-file {options.state_file}: byte {error.start} is not UTF-8") from error
    try:
        state: JsonValue = json.loads(options.state_json)
    except ValueError as error:
        raise Refused(f"--state-json: not JSON: {error}. Remedy: --state, where it is plain text") from error
    return state


def _content(path: Path, flag: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise Refused(f"{flag} {path}: {error.strerror or error}") from error


def _object(body: bytes) -> Mapping[str, JsonValue]:
    value: dict[str, JsonValue] = json.loads(body)
    return value


def _kind(name: str | None) -> str:
    return f"--type {name}" if name else "a decision (no --type)"


def _names(flags: tuple[str, ...]) -> str:
    return " and ".join(map(_flag, flags))


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
