"""What goes wrong around the server: overload, slow or vanishing callers, a dying engine, its end (F4 F6 F7 F18 F19).

The real gunicorn, worker, app and scheduler around an engine that can be told to take its time or to die.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.serving.server import FAKE, Reply, Server, decision

READ_TIMEOUT = 1.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {
        "DECISION_QUEUE_SIZE": "4",
        "DECISION_READ_TIMEOUT_SECONDS": str(READ_TIMEOUT),
        "DECISION_DEADLINE_SECONDS": "2",
    }
    with Server(FAKE, tmp_path_factory.mktemp("log"), settings) as started:
        yield started


def work(milliseconds: int, count: int = 1) -> dict[str, object]:
    return {"decisions": [decision(id=str(n), question=f"work {milliseconds}") for n in range(count)]}


def half_sent(
    server: Server, text: bytes = b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"
) -> socket.socket:
    sock = server.connect()
    sock.sendall(text)
    return sock


def received(sock: socket.socket) -> bytes:
    return b"".join(iter(lambda: sock.recv(65536), b""))


def test_twenty_callers_against_a_queue_of_four_are_served_or_told_within_a_tenth_of_a_second(server: Server) -> None:
    slowest: list[float] = []
    while len(slowest) < 5 and not any(seconds < 0.1 for seconds in slowest):  # a busy machine may delay the callers
        with ThreadPoolExecutor(20) as callers:
            replies = list(callers.map(server.ask, [work(300)] * 20))
        assert sorted(reply.status for reply in replies) == [200] * 5 + [503] * 15
        told = [reply for reply in replies if reply.status == 503]
        slowest.append(max(reply.seconds for reply in told))
        for reply in told:
            assert reply.json["code"] == "queue_full"
            assert reply.json["retryable"] is True
            assert reply.headers["Retry-After"] == str(reply.json["retry_after_seconds"])
    assert min(slowest) < 0.1


def test_a_deadline_is_kept_and_the_remaining_questions_are_not_run(server: Server) -> None:
    before = server.metric("decision_forward_seconds_count")
    reply = server.ask(work(400, count=40))
    assert (reply.status, reply.json["code"], reply.json["retryable"]) == (504, "deadline_exceeded", True)
    assert 2 <= reply.seconds < 3
    assert server.ask(work(1)).status == 200
    assert server.metric("decision_forward_seconds_count") - before <= 2000 / 400 + 2


def test_slow_and_silent_callers_hold_nobody_up_and_are_told(server: Server) -> None:
    with ExitStack() as stack:
        silent = [stack.enter_context(server.connect()) for _ in range(100)]
        headers = [stack.enter_context(half_sent(server, b"POST /invocations HTTP/1.1\r\nHos")) for _ in range(15)]
        bodies = [stack.enter_context(half_sent(server)) for _ in range(15)]
        started = time.monotonic()
        ping, answer = server.ping(), server.ask(work(1))
        assert (ping.status, answer.status) == (200, 200)
        assert max(ping.seconds, answer.seconds) < 0.5
        told = [received(sock) for sock in bodies]
        assert time.monotonic() - started < READ_TIMEOUT + 3
        assert all(reply.startswith(b"HTTP/1.1 408 ") and b"body_timeout" in reply for reply in told)
        assert [received(sock) for sock in headers] == [b""] * 15
        assert len(silent) == 100


def test_a_message_in_two_segments_is_read_while_others_stall(server: Server) -> None:
    """More of them than are waited for at once."""
    body = json.dumps(work(1)).encode()
    head = f"POST /invocations HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    with ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(half_sent(server))
        sock = stack.enter_context(server.connect())
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(head.encode())
        sock.sendall(body)
        assert received(sock).startswith(b"HTTP/1.1 200 ")


def test_connections_that_say_nothing_are_closed_before_they_leave_no_place(server: Server) -> None:
    most = 1 + 4 + 32 + 8 + 1024
    with ExitStack() as stack:
        for _ in range(most + 100):
            stack.enter_context(server.connect())
        assert server.ping().status == 200


def test_a_body_that_drips_does_not_get_longer_than_the_read_timeout(server: Server) -> None:
    with half_sent(server) as sock:
        started = time.monotonic()
        sock.settimeout(0.05)
        answer = b""
        while not answer and time.monotonic() - started < 10:
            sock.sendall(b" ")
            try:
                answer = sock.recv(65536)
            except TimeoutError:
                continue
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert time.monotonic() - started < READ_TIMEOUT + 2


def test_more_slow_bodies_than_readers_leave_pings_and_whole_requests_alone(server: Server) -> None:
    with ExitStack() as stack:
        bodies = [stack.enter_context(half_sent(server)) for _ in range(150)]
        assert server.ping().seconds < 0.5
        assert server.ask(work(1)).status == 200
        statuses = sorted(received(sock).split(b" ")[1] for sock in bodies)
    assert set(statuses) == {b"408", b"503"}


def test_a_caller_that_hangs_up_is_not_worked_for(server: Server) -> None:
    before = server.metric("decision_forward_seconds_count")
    body = json.dumps(work(300, count=6)).encode()
    with half_sent(
        server, b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    ):
        server.until(lambda: server.metric("decision_queue_depth") == 1)
    server.until(lambda: server.metric("decision_queue_depth") == 0)
    server.ask(work(1))
    assert server.metric("decision_forward_seconds_count") - before <= 4


def test_a_body_cut_short_is_not_scored(server: Server) -> None:
    before = server.metric("decision_forward_seconds_count")
    with half_sent(server) as sock:
        sock.shutdown(socket.SHUT_WR)
        assert b"body_incomplete" in received(sock)
    assert server.metric("decision_forward_seconds_count") == before


def test_until_the_model_is_loaded_pings_and_requests_are_told_503_at_once(tmp_path: Path) -> None:
    loaded = tmp_path / "loaded"
    with Server(FAKE, tmp_path / "log", {"FAKE_LOAD": str(loaded)}, wait=False) as server:
        server.ping()  # the first one waits in the listen queue until Flask is imported
        ping, answer = server.ping(), server.ask(work(1))
        assert (ping.status, ping.json["status"]) == (503, "loading")
        assert (answer.status, answer.json["code"], answer.json["retryable"]) == (503, "not_ready", True)
        assert max(ping.seconds, answer.seconds) < 1
        loaded.touch()
        server.until(lambda: server.ping().status == 200)
        assert server.ask(work(1)).status == 200


def test_a_load_that_fails_ends_everything_within_five_seconds_and_is_not_tried_again(tmp_path: Path) -> None:
    with Server(FAKE, tmp_path, {"FAKE_LOAD_ERROR": "no such weights"}, wait=False) as server:
        line = server.log_line("load_failed")
        assert line["error"] == "no such weights"
        failed = time.monotonic()
        assert server.process.wait(5) == 3
        assert time.monotonic() - failed < 5
        assert sum("Booting worker" in line["message"] for line in server.log) == 1


def test_a_dying_engine_fails_its_caller_refuses_the_others_and_ends_the_process(tmp_path: Path) -> None:
    with Server(FAKE, tmp_path, {}) as server, ThreadPoolExecutor(3) as callers:
        first = callers.submit(server.ask, work(1500))
        server.until(lambda: server.metric("decision_queue_depth") == 1)
        killer = callers.submit(server.ask, {"decision": decision(question="die")})
        waiting = callers.submit(server.ask, work(900))
        server.until(lambda: server.metric("decision_queue_depth") == 3)
        replies: list[Reply] = [first.result(), killer.result(), waiting.result()]
        assert [reply.status for reply in replies] == [200, 500, 503]
        assert replies[1].json["code"] == "internal"
        assert "told to die" not in replies[1].body.decode()
        assert replies[2].json["code"] == "engine_failed"
        assert server.process.wait(15) == 3
        assert "told to die" in server.err
        assert sum("Booting worker" in line["message"] for line in server.log) == 1


def test_a_worker_that_is_killed_ends_the_process_and_no_second_one_starts(tmp_path: Path) -> None:
    with Server(FAKE, tmp_path, {}) as server:
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
        assert len(children) == 1
        os.kill(int(children[0]), signal.SIGKILL)
        assert server.process.wait(10) == 3
        assert sum("Booting worker" in line["message"] for line in server.log) == 1


def test_sigterm_lets_running_and_queued_requests_end_and_tells_new_ones_503_meanwhile(tmp_path: Path) -> None:
    with Server(FAKE, tmp_path, {}) as server, ThreadPoolExecutor(2) as callers:
        calls = [callers.submit(server.ask, work(700)) for _ in range(2)]
        server.until(lambda: server.metric("decision_queue_depth") == 2)
        stopped = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        server.log_line("draining")
        server.ping()  # the first one waits in the listen queue until Flask is imported
        ping, answer = server.ping(), server.ask(work(1))
        assert (ping.status, ping.json["status"]) == (503, "draining")
        assert (answer.status, answer.json["code"]) == (503, "draining")
        assert [call.result().status for call in calls] == [200, 200]
        assert server.process.wait(30) == 0
        assert time.monotonic() - stopped < 30


def test_sigterm_ends_an_idle_server_that_slow_callers_hold_connections_to(tmp_path: Path) -> None:
    with Server(FAKE, tmp_path, {"DECISION_READ_TIMEOUT_SECONDS": "60"}) as server, half_sent(server), server.connect():
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(15) == 0


def test_an_interrupt_from_the_terminal_ends_the_server_at_once(tmp_path: Path) -> None:
    with Server(FAKE, tmp_path, {}) as server:
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(10) == 0


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTTIN, signal.SIGUSR2])
def test_a_signal_that_would_start_a_second_worker_is_turned_away(tmp_path: Path, number: signal.Signals) -> None:
    with Server(FAKE, tmp_path, {}) as server:
        before = children(server.process.pid)
        server.process.send_signal(number)
        assert server.log_line("ignored")["message"].startswith(f"{number.name} ignored")
        assert server.ask(work(1)).status == 200
        assert children(server.process.pid) == before
        assert len(before) == 1


def children(pid: int) -> list[str]:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=True)
    return found.stdout.split()
