"""InvokeEndpointWithResponseStream of the emulator, read by boto3's own reader of event streams."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from botocore.eventstream import EventStreamBuffer
from botocore.exceptions import ClientError

from local.emulator import response_stream
from local.emulator.aws_errors import Streamed
from local.emulator.containers import Container
from local.emulator.event_stream import model_stream_error, payload_part
from local.emulator.records import EndpointRecord
from local.emulator.scope import Scope
from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.local.conftest import Hosted
from tests.local.test_runtime_front import Somewhere
from tests.serving.server import SERVE, Server

BODY = b"{}"
SCOPE = Scope(account="123456789012", region="us-east-1")


@pytest.fixture
def endpoint(hosted: Hosted, unique: str) -> str:
    hosted.model(unique)
    hosted.config(unique, unique)
    hosted.emulated.client("sagemaker").create_endpoint(EndpointName=unique, EndpointConfigName=unique)
    assert hosted.settled(unique)["EndpointStatus"] == "InService"
    return unique


def streamed(hosted: Hosted, endpoint: str, body: bytes) -> dict[str, Any]:
    client = hosted.emulated.client("sagemaker-runtime")
    return cast(dict[str, Any], client.invoke_endpoint_with_response_stream(EndpointName=endpoint, Body=body))


def test_a_container_s_answer_reaches_the_caller_part_by_part(hosted: Hosted, endpoint: str) -> None:
    answer = streamed(hosted, endpoint, b"stream 4")
    parts = [event["PayloadPart"]["Bytes"] for event in answer["Body"]]
    assert b"".join(parts) == b"part 0\npart 1\npart 2\npart 3\n"
    assert len(parts) > 1
    assert answer["ContentType"] == "text/event-stream"
    assert answer["InvokedProductionVariant"] == "AllTraffic"


def test_an_answer_that_is_no_stream_comes_in_its_parts_all_the_same(hosted: Hosted, endpoint: str) -> None:
    answer = streamed(hosted, endpoint, b"hello")
    assert b'"body": "hello"' in b"".join(event["PayloadPart"]["Bytes"] for event in answer["Body"])
    assert answer["ContentType"] == "application/json"


def test_a_refusal_of_the_container_is_a_model_error_before_any_stream(hosted: Hosted, endpoint: str) -> None:
    with pytest.raises(ClientError) as failed:
        streamed(hosted, endpoint, b"status 400")
    response = cast(dict[str, Any], failed.value.response)
    assert (response["Error"]["Code"], response["OriginalStatusCode"]) == ("ModelError", 400)
    assert response["OriginalMessage"] == '{"error": "as asked"}'


@contextmanager
def container(speak: Callable[[socket.socket], None]) -> Iterator[int]:
    """Reads a request, begins a chunked answer and goes on as `speak` says."""

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            request = b""
            while not request.endswith(BODY):  # head and body may come apart
                request += connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            speak(connection)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join(10)


def invoke(port: int, **limits: float) -> Streamed:
    record = EndpointRecord(name="e", arn="arn", config_name="c", created=0.0, modified=0.0, status="InService")
    fleet = {"AllTraffic": cast(Container, Somewhere(port))}
    return response_stream.invoke(SCOPE, "e", {}, BODY, find=lambda name: (record, fleet), **limits)


def told(parts: Iterator[bytes]) -> list[tuple[str, bytes]]:
    """Kind and payload of each message, as botocore reads them; it checks both checksums."""
    buffer = EventStreamBuffer()
    for part in parts:
        buffer.add_data(part)
    found = []
    for message in buffer:
        headers: Any = message.headers
        found.append((headers.get(":event-type") or headers[":exception-type"], message.payload))
    return found


def test_a_stream_that_breaks_off_ends_with_an_error() -> None:
    with container(lambda connection: connection.sendall(b"3\r\none\r\n5\r\ntw")) as port:
        found = told(invoke(port, timeout=5).parts)
    assert found[0] == ("PayloadPart", b"one")
    assert found[-1][0] == "ModelStreamError"
    assert b"STREAM_BROKEN" in found[-1][1]


def test_a_stream_that_falls_silent_ends_with_an_error() -> None:
    def speak(connection: socket.socket) -> None:
        connection.sendall(b"3\r\none\r\n")
        connection.recv(1)  # until the front has had enough

    with container(speak) as port:
        found = told(invoke(port, timeout=0.3).parts)
    assert [kind for kind, _ in found] == ["PayloadPart", "ModelStreamError"]
    assert b"MODEL_INVOCATION_TIMEOUT_EXCEEDED" in found[-1][1]


def test_a_stream_past_its_time_ends_with_an_error() -> None:
    def speak(connection: socket.socket) -> None:
        try:
            while True:
                connection.sendall(b"3\r\none\r\n")
                time.sleep(0.02)
        except OSError:
            pass

    with container(speak) as port:
        found = told(invoke(port, timeout=5, seconds=0.1).parts)
    assert found[-1][0] == "ModelStreamError"


def test_a_caller_who_leaves_closes_the_container_s_connection() -> None:
    left = threading.Event()

    def speak(connection: socket.socket) -> None:
        connection.sendall(b"3\r\none\r\n")
        assert connection.recv(1) == b""
        left.set()

    with container(speak) as port:
        parts = invoke(port, timeout=5).parts
        next(parts)
        parts.close()
        assert left.wait(5)


def test_messages_are_read_back_by_botocore() -> None:
    whole = [payload_part(b"\x00 any bytes \xff"), model_stream_error("STREAM_BROKEN", "why")]
    assert told(iter(whole)) == [
        ("PayloadPart", b"\x00 any bytes \xff"),
        ("ModelStreamError", b'{"ErrorCode": "STREAM_BROKEN", "Message": "why"}'),
    ]


def test_a_chat_of_the_real_server_is_streamed_through(tmp_path: Path) -> None:
    tiny_llama = write_tiny_llama(tmp_path / "tiny.gguf")
    settings = {"DECISION_MODEL_PATH": str(tiny_llama), "DECISION_READOUT": "letters"}
    body = {"messages": [{"role": "user", "content": "Go on."}], "stream": True, "max_tokens": 12, "temperature": 0}
    with Server(SERVE, tmp_path / "log", settings) as server:
        record = EndpointRecord(name="e", arn="arn", config_name="c", created=0.0, modified=0.0, status="InService")
        fleet = {"AllTraffic": cast(Container, Somewhere(server.port))}
        sent = json.dumps(body).encode()
        answer = response_stream.invoke(SCOPE, "e", {}, sent, find=lambda name: (record, fleet))
        events = b"".join(payload for kind, payload in told(answer.parts) if kind == "PayloadPart").split(b"\n\n")
        whole = server.ask(body | {"stream": False}).json["choices"][0]["message"]["content"]
    assert answer.headers["X-Amzn-SageMaker-Content-Type"].startswith("text/event-stream")
    assert events[-2:] == [b"data: [DONE]", b""]
    deltas = [json.loads(event.removeprefix(b"data: "))["choices"][0]["delta"] for event in events[:-2]]
    assert "".join(delta.get("content", "") for delta in deltas) == whole != ""
