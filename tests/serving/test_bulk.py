"""Bulk bodies against a real server process (contract 7)."""

from __future__ import annotations

import http.client
import json
import re
import socket
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.serving.server import FAKE, SERVE, Reply, Server, decision

LINES = {"Content-Type": "application/jsonlines"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, tiny_llama: Path) -> Iterator[Server]:
    settings = {"DECISION_MODEL_PATH": str(tiny_llama), "DECISION_READOUT": "letters"}
    limits = {"DECISION_BULK_MAX_BYTES": "20000000", "DECISION_MAX_BODY_BYTES": "20000"}
    limits |= {"DECISION_READ_TIMEOUT_SECONDS": "2", "DECISION_CHAT_N_CTX": "0"}
    with Server(SERVE, tmp_path_factory.mktemp("bulk"), settings | limits) as started:
        yield started


def body(lines: Sequence[Any]) -> bytes:
    return b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)


def send(server: Server, lines: Sequence[Any], path: str = "/invocations") -> tuple[Reply, list[Any]]:
    reply = server.request("POST", path, body(lines), LINES)
    return reply, [json.loads(line) if line else None for line in reply.body.split(b"\n")[:-1]]


def bits(answer: Any) -> Any:
    """An answer without its times."""
    result = dict(answer["result"])
    del result["timing"]
    return result


def system_one(state: str) -> dict[str, Any]:
    question = {"type": "choice", "instructions": "Which?", "criteria": {"a": "First.", "b": None}}
    return {"model": "jev-latest", "state": state, "questions": {"q": question}}


def test_thousands_of_lines_are_answered_in_order_with_the_bits_of_each_alone(server: Server) -> None:
    asked = [{"decision": decision(id=f"d{n}", state=f"Evidence number {n % 40}.")} for n in range(2000)]
    reply, found = send(server, asked)
    assert reply.status == 200
    assert reply.headers["Transfer-Encoding"] == "chunked"
    assert reply.headers["Content-Type"] == "application/jsonlines"
    assert [one["result"]["id"] for one in found] == [f"d{n}" for n in range(2000)]
    for place in (0, 41, 999, 1999):
        assert bits(found[place]) == bits(server.ask(asked[place]).json)


def test_dialects_may_be_mixed_and_each_line_is_answered_in_its_own(server: Server) -> None:
    lines = [decision(id="bare"), b"", system_one("s"), b"{", {"decisions": [decision()]}, {"messages": []}]
    reply, found = send(server, lines)
    assert reply.status == 200
    assert found[0]["result"]["id"] == "bare"
    assert found[1] is None
    assert found[2] == server.ask(system_one("s")).json
    assert (found[3]["line"], found[3]["code"]) == (4, "not_json")
    assert len(found[4]["results"]) == 1
    assert found[5]["line"] == 6
    assert found[3]["request_id"] == reply.headers["X-Request-Id"]


def test_lines_of_a_route_with_one_dialect_speak_it(server: Server) -> None:
    found = send(server, [system_one("s"), decision()], "/v1/systemone")[1]
    assert found[0]["answers"]["q"]["type"] == "choice"
    assert (found[1]["x_line"], found[1]["detail"][0]["type"]) == (2, "missing_field")


def test_a_line_that_cannot_be_read_has_the_error_shape_that_its_route_has(server: Server) -> None:
    long = system_one("x" * 20_001)
    _, theirs = send(server, [b"no JSON", b"[]", long, system_one("s")], "/v1/systemone")
    assert [one["detail"][0]["type"] for one in theirs[:2]] == ["not_json", "wrong_type"]
    assert theirs[2]["detail"]["error_type"] == "body_too_large"
    assert [one["x_line"] for one in theirs[:3]] == [1, 2, 3]
    assert "answers" in theirs[3]
    _, ours = send(server, [b"no JSON"], "/v1/decisions")
    assert (ours[0]["code"], ours[0]["line"]) == ("not_json", 1)


def test_lines_on_the_route_of_chats_are_refused_before_any_is_read(server: Server) -> None:
    reply, found = send(server, [b"no JSON"], "/v1/chat/completions")
    assert (reply.status, found) == (415, [])
    error = reply.json["error"]
    assert error["code"] == "unsupported_media_type"
    assert "application/jsonlines" in error["message"]
    assert "chats are not answered in bulk" in error["message"]


def test_answers_come_while_the_body_is_still_being_sent(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.putrequest("POST", "/invocations")
        connection.putheader("Content-Type", "application/jsonlines")
        connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders()

        def chunk(data: bytes) -> None:
            connection.send(b"%x\r\n%s\r\n" % (len(data), data))

        line = body([decision(id="early")])
        for _ in range(40):  # more than one read takes
            chunk(line)
        raw = connection.sock
        raw.settimeout(30)
        seen = b""
        while b'"early"' not in seen:
            seen += raw.recv(65536)
        for _ in range(3):  # slowly: all in all longer than the read timeout of one message
            time.sleep(1)
            chunk(line)
        connection.send(b"0\r\n\r\n")
        while not seen.endswith(b"0\r\n\r\n"):
            seen += raw.recv(65536)
    finally:
        connection.close()
    assert len(re.findall(rb'"id":"early"', seen)) == 43


def test_a_caller_who_sends_all_before_it_reads_gets_all(server: Server) -> None:
    """More answers than sockets hold, and a pause longer than a send may take."""
    options = [{"id": f"{n:02}" + "x" * 200, "description": f"Option {n}."} for n in range(16)]
    lines = [{"decision": decision(id=f"d{n}", options=options)} for n in range(2500)]
    whole = body(lines)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    try:
        connection.putrequest("POST", "/invocations")
        for name, value in {**LINES, "Content-Length": str(len(whole))}.items():
            connection.putheader(name, value)
        connection.endheaders()
        half = len(whole) // 2
        connection.send(whole[:half])
        time.sleep(1.5)  # the server answers meanwhile, and nobody reads
        connection.send(whole[half:])
        found = connection.getresponse().read().split(b"\n")[:-1]
    finally:
        connection.close()
    assert [json.loads(line)["result"]["id"] for line in found] == [f"d{n}" for n in range(2500)]


def test_memory_does_not_grow_with_the_body(server: Server) -> None:
    worker = int(server.log_line("Booting worker")["message"].rsplit(" ", 1)[1])

    def peak() -> int:
        found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{worker}/status").read_text(), re.MULTILINE)
        assert found
        return int(found.group(1)) * 1024

    send(server, [b"x" * 15_000] * 60)
    before = peak()
    found = send(server, [b"x" * 15_000] * 1300)[1]  # nearly all that is allowed, refused line by line
    assert len(found) == 1300
    assert peak() - before < 8 << 20


def test_live_decisions_are_answered_while_a_bulk_runs_and_get_the_same_bits(server: Server) -> None:
    one = {"decision": decision(state="Alone.")}
    alone = bits(server.ask(one).json)
    with ThreadPoolExecutor(1) as callers:
        running = callers.submit(send, server, [decision(id=f"{n}", state=f"{n}") for n in range(600)])
        beside = [bits(server.ask(one).json) for _ in range(20)]
        assert [answer["result"]["id"] for answer in running.result(60)[1]] == [f"{n}" for n in range(600)]
    assert beside == [alone] * 20


def test_more_bodies_at_once_than_there_are_threads_for_are_refused_and_places_are_given_back(server: Server) -> None:
    head = b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Type: application/jsonlines\r\nContent-Length: 99\r\n\r\n"
    held = [server.connect() for _ in range(4)]
    try:
        for sock in held:
            sock.sendall(head)
            assert sock.recv(12) == b"HTTP/1.1 200"  # the answer has begun
        reply = send(server, [decision()])[0]
        assert (reply.status, reply.json["code"], reply.json["retryable"]) == (503, "queue_full", True)
        assert server.ping().status == 200
    finally:
        for sock in held:
            sock.close()
    server.until(lambda: send(server, [decision()])[0].status == 200, 20)


def test_a_line_of_too_many_bytes_and_a_body_of_too_many_are_refused(server: Server) -> None:
    found = send(server, [b"x" * 20_001, decision()])[1]
    assert (found[0]["code"], found[0]["line"], "result" in found[1]) == ("body_too_large", 1, True)
    reply = server.request("POST", "/invocations", b"\n", LINES | {"Content-Length": "20000001"})
    assert (reply.status, reply.json["code"]) == (413, "body_too_large")
    assert "DECISION_BULK_MAX_BYTES" in reply.json["error"]


def test_an_encoded_body_is_refused_by_name(server: Server) -> None:
    reply = server.request("POST", "/invocations", b"x", LINES | {"Content-Encoding": "gzip"})
    assert (reply.status, reply.json["code"]) == (415, "unsupported_media_type")


def test_a_body_that_stops_arriving_is_answered_to_there_and_told_why(server: Server) -> None:
    with server.connect() as sock:
        head = b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Type: application/jsonlines\r\n"
        sock.sendall(head + b"Content-Length: 99999\r\n\r\n" + body([decision(id=f"{n}") for n in range(60)]))
        seen = b""
        while not seen.endswith(b"0\r\n\r\n"):
            seen += sock.recv(65536)
    assert b"body_timeout" in seen


def test_a_body_that_drips_is_left_at_its_deadline_and_so_is_its_connection(tmp_path: Path) -> None:
    with (
        Server(FAKE, tmp_path, {"DECISION_BULK_DEADLINE_SECONDS": "1"}) as server,
        server.connect() as sock,
    ):
        head = b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Type: application/jsonlines\r\n"
        sock.sendall(head + b"Content-Length: 99999\r\n\r\n" + body([decision(id=f"{n}") for n in range(60)]))
        sock.settimeout(0.05)
        seen = dripping(sock)
        told = json.loads(seen[seen.index(b'{"error"') : seen.rindex(b"}") + 1])
        assert seen.endswith(b"0\r\n\r\n")
        assert told["code"] == "body_timeout"
        assert told["line"] == seen.count(b'{"result"') + 1 > 50
        assert server.log_line(told["request_id"])["code"] == "body_timeout"


def dripping(sock: socket.socket) -> bytes:
    """A byte whenever nothing comes for a moment, until the other side has closed; what came."""
    seen = b""
    while True:
        try:
            sock.sendall(b" ")
            if not (part := sock.recv(65536)):
                return seen
            seen += part
        except TimeoutError:
            continue
        except ConnectionError:
            return seen


def test_an_empty_body_has_no_answer(server: Server) -> None:
    reply, found = send(server, [])
    assert (reply.status, found) == (200, [])


def test_the_log_tells_of_a_bulk_in_one_line(server: Server) -> None:
    reply, _ = send(server, [decision(), b"x", {"decisions": [decision(id="a"), decision(id="b")]}])
    line = server.log_line(reply.headers["X-Request-Id"])
    assert (line["dialect"], line["code"], line["lines"], line["refused_lines"]) == ("bulk", "ok", 3, 1)
    assert (line["decisions"], line["status"]) == (3, 200)
    assert line["input_tokens"] > 0


def test_a_caller_who_hangs_up_ends_the_work(server: Server) -> None:
    lines = body([decision(id=f"{n}", state="word " * 300 + str(n)) for n in range(3000)])
    with server.connect() as sock:
        head = "POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Type: application/jsonlines\r\nContent-Length: "
        sock.sendall(f"{head}{len(lines)}\r\n\r\n".encode() + lines)
        sock.recv(100)
    line = server.until(lambda: next((one for one in server.log if one.get("code") == "caller_gone"), None), 20)
    assert line["lines"] < 3000


def test_at_a_shutdown_the_lines_that_are_left_are_refused_in_place(tmp_path: Path, tiny_llama: Path) -> None:
    settings = {"DECISION_MODEL_PATH": str(tiny_llama), "DECISION_READOUT": "letters"}
    lines = [decision(id=f"{n}", state="word " * 200 + str(n)) for n in range(1500)]
    with Server(SERVE, tmp_path, settings) as server, ThreadPoolExecutor(1) as callers:
        running = callers.submit(send, server, lines)
        server.until(lambda: server.metric("decision_decisions_total") > 5)
        server.process.terminate()
        found = running.result(60)[1]
        assert server.process.wait(35) == 0
    answered = [one for one in found if "result" in one]
    refused = [one for one in found if "result" not in one]
    assert len(found) == 1500
    assert answered
    assert {one["code"] for one in refused} == {"draining"}
    assert all(one["retryable"] for one in refused)
