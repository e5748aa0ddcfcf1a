"""A call of the Python API as values: the requests that it makes, and how its answer is read from theirs. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from client.decisions import bodies, expected, reading
from client.decisions.answer import Answer
from client.decisions.expected import Expected
from client.decisions.questions import Decision, Question
from client.decisions.values import JsonValue
from client.transport.exchange import JSON, Request

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Call(Generic[T]):
    """read: the body of each request's answer → what the caller gets. Raises DecisionError."""

    requests: tuple[Request, ...]
    read: Callable[[Sequence[bytes]], T]


def decide(decision: Decision) -> Call[Answer]:
    return Call(requests=(_asks(bodies.one(decision)),), read=lambda told: _in_order([decision], told)[0])


def decide_many(decisions: Sequence[Decision]) -> Call[tuple[Answer, ...]]:
    return Call(
        requests=tuple(_asks(body) for body in bodies.several(decisions)),
        read=lambda told: _in_order(decisions, told),
    )


def ask(
    state: JsonValue, questions: Mapping[str, Question], *, readout: str | None, prompt_version: str | None
) -> Call[Mapping[str, Answer]]:
    def read(told: Sequence[bytes]) -> Mapping[str, Answer]:
        return _by_name(expected.of_questions(questions), reading.answers(told[0]))

    body = bodies.system_one(state, questions, readout=readout, prompt_version=prompt_version)
    return Call(requests=(_asks(body),), read=read)


def ask_body(body: Mapping[str, JsonValue]) -> Call[Mapping[str, Answer]]:
    def read(told: Sequence[bytes]) -> Mapping[str, Answer]:
        awaited = expected.of_body(body)
        if "questions" in body:
            return _by_name(awaited, reading.answers(told[0]))
        found = expected.matched(awaited, reading.results(told[0]))
        return {each.name: answer for each, answer in zip(awaited, found, strict=True)}

    return Call(requests=(_asks(bodies.as_bytes(body)),), read=read)


def models() -> Call[tuple[str, ...]]:
    return Call(requests=(_gets("/v1/models"),), read=lambda told: reading.model_names(told[0]))


def metrics() -> Call[str]:
    return Call(requests=(_gets("/metrics"),), read=lambda told: told[0].decode("utf-8", "replace"))


def _in_order(decisions: Sequence[Decision], told: Sequence[bytes]) -> tuple[Answer, ...]:
    found = [each for body in told for each in reading.results(body)]
    return expected.matched(expected.of_decisions(decisions), found)


def _by_name(awaited: Sequence[Expected], answers: Mapping[str, Answer]) -> Mapping[str, Answer]:
    """In the order asked, whatever the order of the answers."""
    names = [each.name for each in awaited if each.name in answers]
    names += [name for name in answers if name not in names]
    found = expected.matched(awaited, [(name, answers[name]) for name in names])
    return {each.name: answer for each, answer in zip(awaited, found, strict=True)}


def _asks(body: bytes) -> Request:
    """On the one route that every server of this kind has, SageMaker's endpoints too."""
    return Request(method="POST", route="/invocations", body=body, headers={"content-type": JSON})


def _gets(route: str) -> Request:
    return Request(method="GET", route=route, body=b"", headers={})
