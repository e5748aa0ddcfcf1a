"""The caller's input file: all of it is checked before any of it is sent anywhere."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from client.decision_lines import body_of
from client.errors import Refused
from client.json_lines import BadLine

SHOWN = 20  # problems on the screen; --skip-invalid writes all of them down


@dataclass(frozen=True, kw_only=True)
class Problem:
    """line: counted from 1."""

    line: int
    error: str
    field: str | None


@dataclass(frozen=True, kw_only=True)
class Checked:
    """An input that was read once. good: line numbers, ascending; sizes: of their bodies, in bytes. sha256: of the file
    as it was read."""

    path: Path
    max_bytes: int
    good: tuple[int, ...]
    sizes: tuple[int, ...]
    problems: tuple[Problem, ...]
    sha256: str

    @property
    def lines(self) -> int:
        return len(self.good) + len(self.problems)


def check(path: Path, *, max_bytes: int) -> Checked:
    """Reads every line. max_bytes: of one request. Raises Refused when the file cannot be read or holds no line."""
    digest, good, sizes, problems = hashlib.sha256(), [], [], []
    for number, line in _lines(path):
        digest.update(line)
        try:
            size = len(body_of(_bare(line), max_bytes=max_bytes))
        except BadLine as error:
            problems.append(Problem(line=number, error=str(error), field=error.field))
        else:
            good.append(number)
            sizes.append(size)
    if not good and not problems:
        raise Refused(f"{path}: no line in it; give one decision a line")
    return Checked(
        path=path,
        max_bytes=max_bytes,
        good=tuple(good),
        sizes=tuple(sizes),
        problems=tuple(problems),
        sha256=digest.hexdigest(),
    )


def bodies(checked: Checked) -> Iterator[bytes]:
    """The request bodies of the good lines, in order. Raises Refused when the file is no longer what was checked."""
    digest, good = hashlib.sha256(), set(checked.good)
    for number, line in _lines(checked.path):
        digest.update(line)
        if number in good:
            try:
                yield body_of(_bare(line), max_bytes=checked.max_bytes)
            except BadLine as error:
                raise _changed(checked.path) from error
    if digest.hexdigest() != checked.sha256:
        raise _changed(checked.path)


def refuse_problems(checked: Checked) -> None:
    """Raises Refused that names the lines, fields and remedies."""
    if not checked.problems:
        return
    shown = [f"  line {each.line}: {each.error}" for each in checked.problems[:SHOWN]]
    if len(checked.problems) > SHOWN:
        shown.append(f"  and {len(checked.problems) - SHOWN} more")
    raise Refused(
        f"{checked.path}: {len(checked.problems)} of {checked.lines} lines cannot be asked; nothing was sent.\n"
        + "\n".join(shown)
        + "\nRemedy: mend them, or leave them out with --skip-invalid"
    )


def set_aside(checked: Checked, target: Path) -> None:
    """Writes the lines that cannot be asked, as they are, with number and reason: one JSON object a line."""
    reasons = {each.line: each for each in checked.problems}
    with target.open("w", encoding="utf-8") as out:
        for number, line in _lines(checked.path):
            if number in reasons:
                told = {"line": number, "error": reasons[number].error, "field": reasons[number].field}
                text = _bare(line).decode("utf-8", "backslashreplace")
                out.write(json.dumps({**told, "text": text}) + "\n")


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            yield from enumerate(file, start=1)
    except OSError as error:
        raise Refused(f"{path}: {error.strerror or error}") from error


def _bare(line: bytes) -> bytes:
    return line.removesuffix(b"\n").removesuffix(b"\r")


def _changed(path: Path) -> Refused:
    return Refused(f"{os.fspath(path)}: changed while it was being read; no job was started. Remedy: run it again")
