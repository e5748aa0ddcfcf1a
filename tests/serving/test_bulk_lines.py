"""Lines, their order and what stands in place of a bad one (contract 7); without a server."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decision_server.bulk import WINDOW_BYTES, WINDOW_LINES, Bulk, Tally
from decision_server.errors import Refusal
from decision_server.intake import Intake
from decision_server.outflow import Outflow
from decision_server.request_body import BodyDeadline
from decision_server.request_log import LoggedAnswer
from decision_server.wire.asked import Asked
from decision_server.wire.bulk_lines import is_bulk, read_line
from decision_server.wire.dialects import Dialect
from decision_server.wire.lines import Line, Lines
from tests.serving.server import decision
from tests.serving.wire import NAMES


class Pieces:
    """A body in these pieces; a refusal among them ends it. whole: whether all of them are there already."""

    def __init__(self, pieces: Iterable[bytes | Refusal | None], *, whole: bool = False) -> None:
        self._pieces = iter(pieces)
        self.whole = whole

    def piece(self, *, wait: float) -> bytes | None:
        found = next(self._pieces, b"")
        if isinstance(found, Refusal):
            raise found
        return found


class Answers:
    """Echoes the state; remembers in which order it was asked."""

    def __init__(self, refusals: Iterable[Refusal | Exception] = ()) -> None:
        self.states: list[Any] = []
        self._refusals: Iterator[Refusal | Exception] = iter(refusals)

    def __call__(self, asked: Asked, deadline: float) -> LoggedAnswer:
        if error := next(self._refusals, None):
            raise error
        self.states.append(asked.decisions[0].state)
        return LoggedAnswer(body=json.dumps(asked.decisions[0].id).encode(), facts={"input_tokens": 2})


def bulk(answer: Callable[[Asked, float], LoggedAnswer], **changes: Any) -> Bulk:
    given: dict[str, Any] = {
        "read": lambda line: read_line(line, route="/invocations", max_bytes=1000, max_decisions=64, names=NAMES),
        "answer": answer,
        "deadline": time.monotonic() + 60,
        "body_seconds": 60,
        "line_seconds": 10,
        "gone": lambda: False,
        "request_id": "r",
        "tally": Tally(),
    }
    return Bulk(**given | changes)


def body(*lines: Any) -> bytes:
    return b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)


def answered(one: Bulk, pieces: Iterable[bytes | Refusal | None], *, whole: bool = False) -> list[Any]:
    out = b"".join(one.answers(Pieces(pieces, whole=whole), Lines(max_bytes=1000)))
    assert out.endswith(b"\n") or not out
    return [json.loads(line) if line else None for line in out.split(b"\n")[:-1]]


@given(st.lists(st.binary(max_size=12).filter(lambda line: b"\n" not in line), max_size=6), st.data())
def test_lines_are_the_same_however_the_body_is_cut(lines: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(line + b"\n" for line in lines)
    splitter, found, place = Lines(max_bytes=100), [], 0
    while place < len(whole):
        size = data.draw(st.integers(1, 7))
        found += list(splitter.add(whole[place : place + size]))
        place += size
    found += list(splitter.rest())
    assert [line.content for line in found] == [line.removesuffix(b"\r") for line in lines]
    assert [line.number for line in found] == list(range(1, len(lines) + 1))


def test_the_last_line_may_lack_its_end_and_a_long_one_is_not_kept() -> None:
    lines = Lines(max_bytes=3)
    found = [*lines.add(b"abc\r\nab"), *lines.add(b"cd\nx"), *lines.rest()]
    assert found == [
        Line(number=1, size=3, content=b"abc"),
        Line(number=2, size=4, content=None),
        Line(number=3, size=1, content=b"x"),
    ]


def test_states_are_grouped_and_the_order_is_kept() -> None:
    answers = Answers()
    lines = [{"decision": decision(id=f"d{n}", state=f"state {n % 3}")} for n in range(9)]
    assert answered(bulk(answers), [body(*lines)]) == [f"d{n}" for n in range(9)]
    assert answers.states == sorted(answers.states)


def test_no_more_than_a_window_is_read_ahead_of_its_answers() -> None:
    line = body({"decision": decision()})
    given, most = 0, 0

    def pieces() -> Iterator[bytes]:
        nonlocal given
        for _ in range(2000):
            given += 1
            yield line

    answers = 0
    for _ in bulk(Answers()).answers(Pieces(pieces()), Lines(max_bytes=1000)):
        answers += 1
        most = max(most, given - answers)
    assert answers == 2000
    assert most < WINDOW_LINES
    assert len(line) * WINDOW_LINES < WINDOW_BYTES


def test_what_has_come_is_answered_while_the_rest_is_waited_for() -> None:
    one, two = body({"decision": decision(id="1")}), body({"decision": decision(id="2")})
    out = bulk(Answers()).answers(Pieces([one, None, None, two]), Lines(max_bytes=1000))
    assert next(out) == b'"1"\n'


def test_a_bad_line_is_answered_in_place_with_its_number_in_its_dialect() -> None:
    questions = {"model": "tiny", "state": "s", "questions": {}}
    found = answered(
        bulk(Answers()),
        [
            body(
                {"decision": decision(id="a")},
                b"not json",
                {"decision": decision(options=[])},
                questions,
                {"model": "tiny", "input": "x", "questions": []},
                {"messages": []},
                b'"' + b"x" * 1001 + b'"',
                {"decision": decision(id="b")},
            )
        ],
    )
    assert [found[0], found[-1]] == ["a", "b"]
    assert [(one["line"], one["code"], one["field"]) for one in (found[1], found[2])] == [
        (2, "not_json", None),
        (3, "bad_value", "decision.options"),
    ]
    assert (found[3]["x_line"], found[3]["detail"][0]["loc"]) == (4, ["body", "questions"])
    assert (found[4]["line"], found[4]["error"]["param"]) == (5, "questions")
    assert found[5]["line"] == 6
    assert (found[6]["line"], found[6]["code"]) == (7, "body_too_large")
    assert "1003 bytes; at most 1000" in found[6]["error"]


def test_a_line_may_be_a_bare_decision_and_a_blank_line_is_answered_by_one() -> None:
    assert answered(bulk(Answers()), [body(decision(id="a"), b"", b" \r", decision(id="b"))]) == ["a", None, None, "b"]


def test_a_line_waits_for_a_place_where_a_live_caller_would_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    answers = Answers([Refusal("queue_full", "full", retry_after_seconds=1), Refusal("wait_too_long", "long")])
    assert answered(bulk(answers), [body(decision(id="a"))]) == ["a"]
    assert pauses == [1, 1]


def test_a_line_that_finds_no_place_in_its_time_is_refused_in_place() -> None:
    answers = Answers([Refusal("queue_full", "full", retry_after_seconds=9)])
    found = answered(bulk(answers, line_seconds=1.5), [body(decision(id="a"), decision(id="b"))])
    assert (found[0]["code"], found[0]["line"], found[0]["retryable"], found[1]) == ("queue_full", 1, True, "b")


def test_past_the_deadline_of_the_whole_no_line_is_run() -> None:
    answers = Answers()
    found = answered(bulk(answers, deadline=time.monotonic()), [body(decision(), decision())], whole=True)
    assert [one["code"] for one in found] == ["deadline_exceeded"] * 2
    assert answers.states == []


def test_a_line_that_fails_costs_no_other_its_answer() -> None:
    found = answered(bulk(Answers([RuntimeError("secret")])), [body(decision(id="a"), decision(id="b"))])
    assert (found[0]["code"], found[1]) == ("internal", "b")
    assert "secret" not in json.dumps(found)


def test_a_body_that_breaks_off_is_answered_up_to_there_and_then_says_why() -> None:
    one = bulk(Answers())
    found = answered(one, [body(decision(id="a")) + b'{"id":', Refusal("body_incomplete", "it ended")])
    assert (found[0], found[1]["line"], found[1]["code"]) == ("a", 2, "body_incomplete")
    assert one.tally.code == "body_incomplete"


def test_a_caller_who_has_gone_ends_the_work() -> None:
    answers = Answers([Refusal("caller_gone", "gone")])
    with pytest.raises(Refusal, match="gone"):
        answered(bulk(answers), [body(decision(), decision())])
    assert answers.states == []


def test_media_types_of_lines_are_known_whatever_their_case() -> None:
    assert is_bulk("Application/JSONLines; charset=utf-8")
    assert is_bulk("application/x-ndjson")
    assert not is_bulk("application/json")
    assert not is_bulk(None)


def read_all(intake: Intake) -> bytes:
    whole = b""
    while piece := intake.piece(wait=10):
        whole += piece
    return whole


def test_a_body_is_taken_in_whatever_its_reader_does_and_given_in_order() -> None:
    data = bytes(range(256)) * 1000
    place = 0

    def read(size: int) -> bytes:
        nonlocal place
        place += size
        return data[place - size : place]

    with Intake(read, max_bytes=len(data), timeout_seconds=1) as intake:
        limit = time.monotonic() + 10
        while not intake.whole:
            assert time.monotonic() < limit
            time.sleep(0.001)
        assert read_all(intake) == data


@pytest.mark.parametrize(
    ("last", "code"), [(BodyDeadline(), "body_timeout"), (b"x" * 20, "body_too_large")], ids=["slow", "large"]
)
def test_what_keeps_a_body_from_arriving_is_said_behind_what_arrived(last: bytes | Exception, code: str) -> None:
    rest = iter([b"abc", last])

    def read(size: int) -> bytes:
        found = next(rest)
        if isinstance(found, Exception):
            raise found
        return found

    with Intake(read, max_bytes=10, timeout_seconds=1) as intake:
        assert intake.piece(wait=10) == b"abc"
        with pytest.raises(Refusal) as caught:
            intake.piece(wait=10)
    assert caught.value.code == code


@pytest.mark.parametrize("drop", [b" ", None])
def test_a_body_that_drips_past_its_deadline_is_answered_to_there_and_told_why(drop: bytes | None) -> None:
    """A piece now and then, or none while the pause is not over: either way no line comes of it any more."""
    now = began = time.monotonic()

    def pieces() -> Iterator[bytes | None]:
        nonlocal now
        yield body({"decision": decision(id="d1")})
        yield None  # what is there is answered
        yield from [drop] * 3
        now += 61
        yield from [drop] * 50

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("decision_server.bulk.time.monotonic", lambda: now)
        found = answered(bulk(Answers(), deadline=began + 60), pieces())
    assert (found[0], found[1]["code"], found[1]["line"]) == ("d1", "body_timeout", 2)
    assert found[1]["retryable"]
    assert "60 s" in found[1]["error"]
    assert "DECISION_BULK_DEADLINE_SECONDS" in found[1]["error"]
    assert len(found) == 2


def test_a_reader_does_not_wait_longer_than_it_says() -> None:
    hold = threading.Event()

    def read(size: int) -> bytes:
        hold.wait(10)
        return b""

    with Intake(read, max_bytes=10, timeout_seconds=1) as intake:
        assert intake.piece(wait=0.01) is None
        hold.set()
        assert intake.piece(wait=10) == b""


def test_answers_wait_while_the_caller_takes_none_and_come_in_order() -> None:
    takes = False
    out = Outflow(lambda: takes)
    out.add(b"a" * 300_000)
    assert list(out.pieces(everything=False)) == []
    takes = True
    first = next(iter(out.pieces(everything=False)))
    takes = False
    out.add(b"b")
    rest = b"".join(out.pieces(everything=True))
    assert first + rest == b"a" * 300_000 + b"b"
    out.close()


def test_a_body_that_breaks_off_is_told_in_the_shape_of_its_route() -> None:
    broken = Refusal("body_incomplete", "the connection ended before the body did; send it again")
    told = answered(bulk(Answers(), dialect=Dialect.SYSTEM_ONE), [b"{", broken])
    assert (told[-1]["detail"]["error_type"], told[-1]["x_line"]) == ("body_incomplete", 1)
