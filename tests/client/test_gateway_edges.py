"""What a gateway says at its borders: to its command line, and to what is no request that it could pass on."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import urllib3

from client import __main__ as program
from client.errors import Refused
from client.gateway.command import MAX_PLAIN_BYTES
from client.gateway.refusals import refusal
from client.gateway.server import Server as GatewayServer
from client.transport.failures import KINDS
from tests.client.client_process import Running
from tests.client.gateway_process import gateway
from tests.client.slow_reader import BODY, slow_reader


class _Behind(ThreadingHTTPServer):
    """A server with a model; what it was asked is kept."""

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), handler or _Handler)
        self.asked: list[tuple[str, int]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: _Behind
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._tell(b'{"data": [{"id": "m"}]}')

    def do_POST(self) -> None:
        left = int(self.headers["Content-Length"])
        self.server.asked.append((self.path, left))
        while left:
            left -= len(self.rfile.read(min(left, 1024 * 1024)))
        self._tell(b'{"taken": true}')

    def _tell(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


class _KeepsNothingOpen(_Handler):
    protocol_version = "HTTP/1.0"


@pytest.fixture(scope="module")
def behind() -> Iterator[_Behind]:
    with _Behind() as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield server
        finally:
            server.shutdown()
            serving.join()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, behind: _Behind) -> Iterator[Running]:
    """By a name for loopback."""
    with gateway(tmp_path_factory.mktemp("gateway"), "--host", "localhost", "--url", behind.url, settings={}) as one:
        yield one


@contextmanager
def said(url: str, request: bytes) -> Iterator[tuple[int, dict[str, str], Any]]:
    """The answer to bytes that no client would send."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as raw:
        raw.sendall(request)
        head, _, body = b"".join(iter(lambda: raw.recv(65536), b"")).partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    yield int(first.split()[1]), headers, json.loads(body)


HOST = b"Host: localhost\r\n"
LONG = b"GET /ping HTTP/1.1\r\n" + HOST + b"X: "
LONG += b"y" * (256 * 1024 - len(LONG))  # as long as is read: an answer before that may be lost with the connection


@pytest.mark.parametrize(
    ("request_bytes", "status", "code"),
    [
        (b"GET\r\n\r\n", 400, "malformed_http"),
        (b"POST /invocations HTTP/1.1\r\n" + HOST + b"Content-Length: many\r\n\r\n", 400, "malformed_http"),
        (b"POST /x HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "malformed_http"),
        (LONG, 431, "headers_too_large"),
        (b"POST /x HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: br\r\n\r\n", 501, "unsupported_transfer_encoding"),
        (b"POST /x HTTP/1.1\r\n" + HOST + b"Content-Length: 9999999999\r\n\r\n", 413, "body_too_large"),
    ],
)
def test_what_is_no_request_is_refused_as_json(running: Running, request_bytes: bytes, status: int, code: str) -> None:
    with said(running.url, request_bytes) as (told, headers, body):
        assert (told, body["code"], body["retryable"]) == (status, code, False)
        assert headers["content-type"] == "application/json"
        assert headers["x-should-retry"] == "false"
    assert f"{status}, not passed on" in running.told


def test_a_refused_body_is_told_in_the_dialect_of_its_route(running: Running) -> None:
    for route, place in (("/v1/systemone", "detail"), ("/v1/chat/completions", "error")):
        request = f"POST {route} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999999\r\n\r\n"
        with said(running.url, request.encode()) as (_, _, body):
            assert str(MAX_PLAIN_BYTES) in body[place]["message"]


def test_every_refusal_of_the_http_server_has_a_code() -> None:
    for status in (400, 413, 431, 500, 501):
        failure = refusal(status, "why", 7)
        assert KINDS[failure.code].status == failure.status == status


def test_a_bulk_body_that_the_server_itself_takes_passes(running: Running, behind: _Behind) -> None:
    behind.asked.clear()
    body = b"{}\n" * (70 * 1024 * 1024 // 3)
    with urllib3.PoolManager(retries=False) as pool:
        told = pool.request(
            "POST",
            f"{running.url}/invocations",
            body=body,
            headers={"Content-Type": "application/jsonlines"},
            timeout=60,
        )
    assert (told.status, told.json()) == (200, {"taken": True})
    assert behind.asked == [("/invocations", len(body))]


def test_a_route_beside_a_path_is_refused_in_front_of_a_plain_server_too(running: Running, behind: _Behind) -> None:
    behind.asked.clear()
    with urllib3.PoolManager(retries=False) as pool:
        custom = {"X-Amzn-SageMaker-Custom-Attributes": "trace=7, route=/v1/models"}
        told = pool.request("POST", f"{running.url}/v1/decisions", body=b"{}", headers=custom)
        assert (told.status, told.json()["code"]) == (400, "repeated_route")
        assert not behind.asked
        assert pool.request("POST", f"{running.url}/invocations", body=b"{}", headers=custom).status == 200
    assert [path for path, _ in behind.asked] == ["/invocations"]


def test_localhost_is_loopback_and_by_its_number(running: Running) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", running.url)
    assert "warning" not in running.told


def test_the_log_tells_how_often_a_request_was_tried(tmp_path: Path) -> None:
    with _Behind(_KeepsNothingOpen) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        with gateway(tmp_path, "--url", server.url, settings={}) as running:
            server.shutdown()
            serving.join()
            server.server_close()
            with urllib3.PoolManager(retries=False) as pool:
                assert pool.request("POST", f"{running.url}/invocations", body=b"{}").status == 502
                assert pool.request("GET", f"{running.url}/v1/nothing").status == 404
            told = running.told
    assert re.search(r"POST '/invocations' 502 after [\d.]+ s, [1-4] tr(y|ies)$", told, re.MULTILINE)
    assert re.search(r"GET '/v1/nothing' 404 after [\d.]+ s, 0 tries$", told, re.MULTILINE)


def test_an_upload_that_the_deadline_ends_is_504_after_one_try(tmp_path: Path) -> None:
    with slow_reader() as reader:
        reader.after = None
        with gateway(tmp_path, "--url", reader.url, "--deadline", "1", settings={}) as running:
            with urllib3.PoolManager(retries=False) as pool:
                told = pool.request("POST", f"{running.url}/invocations", body=BODY, timeout=60)
            log = running.told
    assert (told.status, told.json()["code"]) == (504, "deadline_exceeded")
    assert "not sent whole" in told.json()["error"]
    assert re.search(r"POST '/invocations' 504 after [\d.]+ s, 1 try$", log, re.MULTILINE)


@pytest.mark.parametrize("port", ["99999", "-5", "65536", "x", "²"])
@pytest.mark.parametrize("command", ["gateway", "playground"])
def test_a_port_that_is_none_is_refused_with_a_line(
    command: str, port: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        program.main([command, "--url", "http://127.0.0.1:9", f"--port={port}"])
    assert ended.value.code == 2
    assert f"argument --port: {port!r}: a whole number from 0, for a free one, to 65535" in capsys.readouterr().err


def test_a_port_that_no_socket_has_is_refused_by_the_server_too() -> None:
    with pytest.raises(Refused, match="--port 99999: cannot listen there"):
        GatewayServer(
            lambda environ, start_response: [], host="127.0.0.1", port=99999, max_body_bytes=1, say=lambda text: None
        )


@pytest.mark.parametrize("command", ["gateway", "playground", "decide"])
def test_a_url_with_v1_at_its_end_is_refused_with_the_right_one(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ("--state", "x", "--type", "noul", "--question", "So?") if command == "decide" else ()
    assert program.main([command, "--url", "http://127.0.0.1:9/v1/", *more]) == 2
    assert "Remedy: --url http://127.0.0.1:9\n" in capsys.readouterr().err
