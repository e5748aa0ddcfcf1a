"""What a command line or a file asks → request bodies of contract section 3 or 4. Pure, but for reading the files."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from client.decide.flags import FLAGS, flag, from_flags
from client.decide.given import content
from client.decide.wishes import WISHES, Conflict, with_wishes
from client.decisions import JsonValue
from client.decisions import bodies as wire
from client.errors import Refused
from client.json_lines import BadLine, check_value, read_object


@dataclass(frozen=True, kw_only=True)
class Asked:
    """line: of the file, where it has several."""

    body: Mapping[str, JsonValue]
    line: int | None


def asked(options: argparse.Namespace) -> tuple[Asked, ...]:
    """Raises Refused."""
    flags = [name for name in FLAGS if getattr(options, name) is not None]
    if options.input is None:
        return (Asked(body=from_flags(options, flags), line=None),)
    for name in flags:
        if name not in WISHES:
            raise Refused(f"{flag(name)}: goes without --input; what is asked stands in the file")
    wishes = {name: getattr(options, name) for name in WISHES if name in flags}
    return from_file(content(options.input, "--input"), name=f"--input {options.input}", wishes=wishes)


def from_file(given: bytes, *, name: str, wishes: Mapping[str, JsonValue]) -> tuple[Asked, ...]:
    """One JSON body over as many lines as it likes, or JSON Lines. wishes: for all of them. Raises Refused."""
    lines = given.rstrip(b"\r\n \t").split(b"\n")
    if not _has_a_body_a_line(lines, given):
        return (Asked(body=_body(given.strip(), name, wishes), line=None),)
    return tuple(
        Asked(body=_body(line.strip(), f"{name}, line {number}", wishes), line=number)
        for number, line in enumerate(lines, 1)
    )


def _has_a_body_a_line(lines: list[bytes], given: bytes) -> bool:
    """Also where one of the lines cannot be read: then its number has to be told."""
    if len(lines) == 1:
        return False
    if _is_object(lines[0]):
        return True
    return any(map(_is_object, lines[1:])) and not _is_object(given.strip())


def _is_object(line: bytes) -> bool:
    try:
        read_object(line)
    except BadLine:
        return False
    return True


def _body(line: bytes, name: str, wishes: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    try:
        given: dict[str, Any] = read_object(line)
        check_value(given)
        return with_wishes(_whole(given), wishes)
    except (BadLine, Conflict) as error:
        raise Refused(f"{name}: {error}") from error


def _whole(given: dict[str, Any]) -> dict[str, Any]:
    if "decision" in given or "decisions" in given:
        return given
    if "questions" in given and "state" in given:
        return {"model": wire.MODEL, **given}
    if "question" in given and "options" in given:
        return {"decision": given}
    raise BadLine(
        f"its keys are {', '.join(map(repr, given)) or 'none'}. Needed: a decision (`id`, `state`, `question`, "
        "`options`), `decision`, `decisions`, or `state` and `questions`"
    )
