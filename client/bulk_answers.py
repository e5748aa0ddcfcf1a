"""Parts and their answers → one answer for each line of the input, in its order. Pure.

A line of the answers is what the server said: `{"result": …}`, or its error (contract 8). Where the server said
nothing of a line, its place holds an error of the same shape, with `line` besides.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from client.bulk_record import Part, Round, Run
from client.decision_lines import decision_id
from client.errors import JobFailed
from client.transform_jobs import LOG_GROUP

Read = Callable[[Round, Part], "tuple[bytes, bytes]"]  # input and answers of a part that is answered


def unanswered(run: Run, answered: Sequence[Mapping[str, str]]) -> tuple[Part, ...]:
    """The parts of the last round that have no answers. answered: for each round, by part's name."""
    return tuple(part for part in run.rounds[-1].parts if part.name not in answered[-1])


def in_order(run: Run, answered: Sequence[Mapping[str, str]], read: Read) -> Iterator[tuple[bool, bytes]]:
    """For each line: whether it is a decision's result, and its JSON without line break. Raises JobFailed."""
    source: dict[int, tuple[Round, Part]] = {}
    held: tuple[Round, Part] | None = None  # neighbouring lines are mostly of one part, which is read once, not kept
    answers: dict[int, bytes] = {}
    for each, found in zip(run.rounds, answered, strict=True):
        for part in each.parts:
            if part.name in found:
                source.update(dict.fromkeys(part.lines, (each, part)))  # one tuple a part: told apart by identity
    problems = {problem.line: problem for problem in run.problems}
    for line in range(1, run.lines + 1):
        if line in source:
            if source[line] is not held:
                held = source[line]
                answers = _answers(held[1], *read(*held))
            yield "result" in json.loads(answers[line]), answers[line]
        elif line in problems:
            problem = problems[line]
            yield False, _error(line, "left_out", f"line {line}: {problem.error}", field=problem.field)
        else:
            last = run.rounds[-1].job
            yield (
                False,
                _error(
                    line,
                    "not_answered",
                    f"line {line}: the server refused it or failed on it; what it said is in the log group "
                    f"{LOG_GROUP}, in the streams whose names begin with {last}/",
                ),
            )


def _answers(part: Part, asked: bytes, answered: bytes) -> dict[int, bytes]:
    bodies, answers = asked.split(b"\n")[:-1], answered.split(b"\n")
    if answers[-1] == b"":
        answers.pop()
    if not len(part.lines) == len(bodies) == len(answers):
        raise JobFailed(f"{part.name}: {len(part.lines)} lines, {len(bodies)} asked, {len(answers)} answered")
    for line, body, answer in zip(part.lines, bodies, answers, strict=True):
        _check_answer(line, decision_id(body), answer)
    return dict(zip(part.lines, answers, strict=True))


def _check_answer(line: int, asked_id: str, answer: bytes) -> None:
    try:
        told = json.loads(answer)
    except ValueError as error:
        raise JobFailed(f"line {line}: its answer is not JSON: {answer[:80]!r}") from error
    if not isinstance(told, dict) or ("result" in told) == ("error" in told):
        raise JobFailed(f"line {line}: its answer is neither a result nor an error: {answer[:80]!r}")
    if "result" in told and told["result"]["id"] != asked_id:
        raise JobFailed(f"line {line}: asked {asked_id!r}, and the answer is of {told['result']['id']!r}")


def _error(line: int, code: str, message: str, *, field: str | None = None) -> bytes:
    told = {"error": message, "code": code, "field": field, "retryable": False, "line": line}
    return json.dumps(told).encode("ascii")
