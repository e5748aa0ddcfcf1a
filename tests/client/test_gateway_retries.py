"""When the gateway asks again, and how long it waits before: on a clock that only the pauses move."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pytest

from client.transport.exchange import Answer, Request, Whole
from client.transport.failures import Failure
from client.transport.retrying import CAP_SECONDS, FIRST_SECONDS, Clock, answered

REQUEST = Request(method="POST", route="/v1/decisions", body=b"{}", headers={})
GOOD = Whole(status=200, body=b"good")
BUSY = Whole(status=503, body=b"busy")


@dataclass
class Scripted:
    """An upstream that says the next of its lines; each takes `seconds`."""

    lines: Iterable[Whole | Failure]
    seconds: float = 0.0
    now: float = 0.0
    timeouts: list[float] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    name: str = "the endpoint"

    def __post_init__(self) -> None:
        self._lines = iter(self.lines)

    def send(self, request: Request, *, timeout: float) -> Answer:
        self.timeouts.append(timeout)
        self.now += self.seconds
        line = next(self._lines)
        if isinstance(line, Failure):
            raise line
        return line

    def close(self) -> None:
        """Nothing."""

    def ask(self, deadline: float, *, share: float = 1.0, gone: Callable[[], bool] = lambda: False) -> Answer:
        """share: how much of each jitter's range is drawn."""

        def sleep(seconds: float) -> None:
            self.pauses.append(seconds)
            self.now += seconds

        clock = Clock(now=lambda: self.now, sleep=sleep, jitter=lambda limit: share * limit)
        return answered(self, REQUEST, deadline=deadline, clock=clock, gone=gone)[0]


def test_pauses_double_up_to_the_cap_and_their_jitter_is_full() -> None:
    upstream = Scripted(lines=[BUSY] * 8 + [GOOD])
    assert upstream.ask(100.0) == GOOD
    assert upstream.pauses == [FIRST_SECONDS * 2**n for n in range(5)] + [CAP_SECONDS] * 3
    at_once = Scripted(lines=[BUSY] * 8 + [GOOD])
    assert at_once.ask(100.0, share=0.0) == GOOD
    assert at_once.pauses == [0.0] * 8


@pytest.mark.parametrize(
    "body",
    [{"retry_after_seconds": 3}, {"detail": {}, "x_retry_after_seconds": 3}, {"error": {"retry_after_seconds": 3}}],
)
def test_the_server_is_left_alone_as_long_as_it_asks_in_any_dialect(body: dict[str, object]) -> None:
    upstream = Scripted(lines=[Whole(status=503, body=json.dumps(body).encode()), GOOD])
    assert upstream.ask(10.0) == GOOD
    assert upstream.pauses == [3 + FIRST_SECONDS]


def test_a_pause_that_would_end_past_the_deadline_is_not_begun() -> None:
    upstream = Scripted(lines=[Whole(status=503, body=b'{"retry_after_seconds": 3}')])
    told = upstream.ask(3.0)
    assert isinstance(told, Whole)
    assert (told.status, told.headers["Retry-After"]) == (503, "3")
    assert upstream.pauses == []


def test_every_try_has_only_what_is_left_of_the_time() -> None:
    upstream = Scripted(lines=[BUSY, BUSY, GOOD], seconds=1.0)
    assert upstream.ask(10.0, share=0.0) == GOOD
    assert upstream.timeouts == [10.0, 9.0, 8.0]


def test_a_failure_that_passes_is_told_in_the_end_and_one_that_stays_at_once() -> None:
    again = Failure("throttled", "slowly")
    with pytest.raises(Failure, match="slowly"):
        Scripted(lines=[again] * 20).ask(5.0)
    final = Scripted(lines=[Failure("access_denied", "no")])
    with pytest.raises(Failure, match="no"):
        final.ask(5.0)
    assert final.pauses == []


def test_a_failure_says_how_often_was_asked() -> None:
    with pytest.raises(Failure) as final:
        Scripted(lines=[BUSY, BUSY, Failure("access_denied", "no")]).ask(5.0)
    with pytest.raises(Failure) as late:
        Scripted(lines=[]).ask(0.0)
    assert (final.value.asked, late.value.asked) == (3, 0)


def test_nobody_is_asked_for_a_caller_that_has_hung_up() -> None:
    upstream = Scripted(lines=[BUSY])
    assert upstream.ask(60.0, gone=lambda: True) == BUSY
    assert upstream.pauses == []


def test_a_caller_that_hangs_up_during_a_pause_is_not_asked_for() -> None:
    upstream = Scripted(lines=[BUSY])
    assert upstream.ask(60.0, gone=lambda: bool(upstream.pauses)) == BUSY
    assert len(upstream.pauses) == 1


def test_a_server_that_refuses_to_be_asked_again_is_not() -> None:
    final = Whole(status=503, body=b'{"error": "never", "retryable": false}')
    assert Scripted(lines=[final]).ask(60.0) == final


def test_a_server_that_is_not_there_is_looked_for_a_few_times_and_a_broken_connection_is_not_tried_again() -> None:
    absent = Scripted(lines=[Failure("not_connected", "nobody")] * 9)
    with pytest.raises(Failure, match="nobody"):
        absent.ask(3600.0)
    assert absent.pauses == [FIRST_SECONDS * 2**n for n in range(3)]
    starting = Scripted(lines=[Failure("not_connected", "nobody"), GOOD])
    assert starting.ask(60.0) == GOOD
    broken = Scripted(lines=[Failure("unreachable", "broke")])
    with pytest.raises(Failure, match="broke"):
        broken.ask(60.0)
