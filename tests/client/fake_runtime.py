"""SageMaker's runtime on loopback: the emulator's own front before a real server process, with faults on demand."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast
from urllib.parse import unquote

from local.emulator import response_stream, runtime_front
from local.emulator.aws_errors import AwsError, Response
from local.emulator.containers import Container
from local.emulator.endpoints import Fleet
from local.emulator.event_stream import CONTENT_TYPE
from local.emulator.records import EndpointRecord
from local.emulator.scope import Scope

ENDPOINT = "decision-dev-scoring"
SCOPE = Scope(account="123456789012", region="eu-north-1")


class _Behind:
    """As much of a container as the front sees."""

    log_group, log_stream = "group", "stream"

    def __init__(self, port: int) -> None:
        self.port = port


class Runtime(ThreadingHTTPServer):
    """faults: what the next requests get in place of an answer. streams: what the next streams consist of."""

    daemon_threads = True

    def __init__(self, container_port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.fleet = {"AllTraffic": cast(Container, _Behind(container_port))}
        self.faults: list[Response] = []
        self.streams: list[list[bytes]] = []
        self.asked: list[dict[str, str]] = []  # headers

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Runtime
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append(headers)
        if self.server.faults:
            self._tell(self.server.faults.pop(0))
        elif self.path.endswith("/invocations-response-stream") and self.server.streams:
            told = {"Content-Type": CONTENT_TYPE, "X-Amzn-SageMaker-Content-Type": "text/event-stream"}
            self._stream(told, self.server.streams.pop(0))
        else:
            self._invoke(headers, body)

    def _invoke(self, headers: dict[str, str], body: bytes) -> None:
        name = unquote(self.path.split("/")[2])
        streams = self.path.endswith("-response-stream")
        known = EndpointRecord(name=name, arn="", config_name="", created=0.0, modified=0.0, status="InService")
        record = known if name == ENDPOINT else None

        def find(name: str) -> tuple[EndpointRecord | None, Fleet]:
            return record, self.server.fleet

        try:
            if streams:
                streamed = response_stream.invoke(SCOPE, name, headers, body, find=find)
                self._stream(streamed.headers, streamed.parts)
                return
            answer = runtime_front.invoke(SCOPE, name, headers, body, find=find)
        except AwsError as error:
            answer = error.response()
        self._tell(answer)

    def _tell(self, answer: Response) -> None:
        status, headers, body = answer
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, headers: Mapping[str, str], messages: Iterable[bytes]) -> None:
        """Ends as a stream does, or breaks off where the last message is empty."""
        self.send_response(200)
        for name, value in {**headers, "Transfer-Encoding": "chunked"}.items():
            self.send_header(name, value)
        self.end_headers()
        for message in messages:
            if not message:
                self.close_connection = True
                return
            self.wfile.write(f"{len(message):x}\r\n".encode() + message + b"\r\n")
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def wrapped(status: int, body: bytes) -> Response:
    """As SageMaker tells what a container answered."""
    members: dict[str, str | int] = {"OriginalStatusCode": status, "OriginalMessage": body.decode()}
    return AwsError("ModelError", f"Received server error ({status}) from primary", 424, **members).response()


@contextmanager
def running(container_port: int) -> Iterator[Runtime]:
    with Runtime(container_port) as runtime:
        thread = threading.Thread(target=runtime.serve_forever)
        thread.start()
        try:
            yield runtime
        finally:
            runtime.shutdown()
            thread.join()
