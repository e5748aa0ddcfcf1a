"""What is written down of a bulk run beside its input, so that any machine can go on with it. Values and their JSON.

A run has rounds. The first asks every line; a later one asks again what an earlier one left without an answer. Each
round is one SageMaker job; its input is cut into parts, one object each, and SageMaker answers a part whole or not at
all.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from client.bulk_input import Problem
from client.errors import Refused

VERSION = 1
MAX_PART_LINES = 500
MAX_PART_BYTES = 20_000_000  # a part is held in memory while it is sent
PARTS_AN_INSTANCE = 8  # so that instances end at about the same time, and one bad line takes few others with it


@dataclass(frozen=True, kw_only=True)
class Part:
    """An object of a round's input. lines: of the caller's file, in the object's order."""

    name: str
    lines: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Round:
    job: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, kw_only=True)
class Run:
    """name: of the run and of its first job. definition: the request of CreateTransformJob, as the stack states it."""

    name: str
    definition: dict[str, Any]
    lines: int
    problems: tuple[Problem, ...]
    rounds: tuple[Round, ...]


def cut(lines: Sequence[int], sizes: Sequence[int], *, instances: int) -> tuple[Part, ...]:
    """Parts for a first round, of about equal length. sizes: of each line's body, in bytes."""
    most = min(MAX_PART_LINES, max(1, -(-len(lines) // (instances * PARTS_AN_INSTANCE))))
    parts: list[list[int]] = []
    room = 0
    for line, size in zip(lines, sizes, strict=True):
        if not parts or len(parts[-1]) == most or size > room:
            parts.append([])
            room = MAX_PART_BYTES
        parts[-1].append(line)
        room -= size
    return tuple(Part(name=_name(index), lines=tuple(part)) for index, part in enumerate(parts))


def one_line_each(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The same lines, each a part: then a line that is refused takes no other with it."""
    lines = [line for part in parts for line in part.lines]
    return tuple(Part(name=_name(index), lines=(line,)) for index, line in enumerate(lines))


def next_job(run: Run) -> str:
    """The name of the job after the last round's; 63 characters at most."""
    suffix = f"-r{len(run.rounds) + 1}"
    return run.name[: 63 - len(suffix)].rstrip("-") + suffix


def to_json(run: Run) -> bytes:
    return json.dumps({"bulk_run_version": VERSION, **asdict(run)}).encode()


def from_json(text: bytes) -> Run:
    """Raises Refused for what another version wrote."""
    told = json.loads(text)
    if told.get("bulk_run_version") != VERSION:
        raise Refused(f"bulk_run_version: {told.get('bulk_run_version')!r}; this client reads {VERSION}")
    return Run(
        name=told["name"],
        definition=told["definition"],
        lines=told["lines"],
        problems=tuple(Problem(**each) for each in told["problems"]),
        rounds=tuple(
            Round(
                job=each["job"],
                parts=tuple(Part(name=part["name"], lines=tuple(part["lines"])) for part in each["parts"]),
            )
            for each in told["rounds"]
        ),
    )


def _name(index: int) -> str:
    return f"part-{index:06d}.jsonl"
