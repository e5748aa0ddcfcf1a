"""The gateway as a process: official clients → gateway → SageMaker's runtime → a real server process."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import openai
import pytest
import urllib3
from typesafe_sdk import Choice, Noul, RetryPolicy, TypeSafeClient, TypeSafeUnprocessableEntityError

from client.decisions import DecisionClient, Question
from client.decisions import Noul as OwnNoul
from local.emulator.aws_errors import AwsError, Response
from local.emulator.event_stream import model_stream_error, payload_part
from tests.client import fake_runtime
from tests.client.client_process import Running, environment
from tests.client.fake_runtime import ENDPOINT, Runtime, wrapped
from tests.client.gateway_process import CREDENTIALS, command, gateway
from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.serving.server import FAKE, ROOT, SERVE, Server, decision

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def aws(code: str, status: int, message: str = "as AWS says it") -> Response:
    return AwsError(code, message, status).response()


BUSY = json.dumps({"error": "full", "code": "queue_full", "retryable": True, "retry_after_seconds": 0}).encode()


@dataclass(frozen=True, kw_only=True)
class Reply:
    status: int
    headers: urllib3.HTTPHeaderDict
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, kw_only=True)
class Way:
    """The whole way; a test may put faults into it."""

    gateway: Running
    runtime: Runtime
    server: Server

    def post(self, route: str, body: object, headers: dict[str, str] | None = None) -> Reply:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.request("POST", route, sent, {"Content-Type": "application/json", **(headers or {})})

    def request(self, method: str, route: str, body: bytes | None, headers: dict[str, str]) -> Reply:
        with urllib3.PoolManager(retries=False) as pool:
            told = pool.request(method, self.gateway.url + route, body=body, headers=headers, timeout=60)
            return Reply(status=told.status, headers=told.headers, body=told.data)


@contextmanager
def way(folder: Path, server: Server, runtime: Runtime, *arguments: str) -> Iterator[Way]:
    settings = {**CREDENTIALS, "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME": runtime.url}
    with gateway(folder, "--endpoint-name", ENDPOINT, *arguments, settings=settings) as running:
        yield Way(gateway=running, runtime=runtime, server=server)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    model = write_tiny_llama(tmp_path_factory.mktemp("model") / "tiny.gguf")
    settings = {"DECISION_MODEL_PATH": str(model), "DECISION_N_THREADS": "1", "DECISION_READOUT": "likelihood"}
    with Server(SERVE, tmp_path_factory.mktemp("server"), settings) as running:
        yield running


@pytest.fixture(scope="module")
def runtime(server: Server) -> Iterator[Runtime]:
    with fake_runtime.running(server.port) as running:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, server: Server, runtime: Runtime) -> Iterator[Way]:
    with way(tmp_path_factory.mktemp("gateway"), server, runtime) as whole:
        yield whole


@pytest.fixture
def whole(shared: Way) -> Iterator[Way]:
    shared.runtime.asked.clear()
    yield shared
    assert not shared.runtime.faults


def sdk(url: str, compression: Any) -> TypeSafeClient:
    once = RetryPolicy(max_retries=0)
    return TypeSafeClient(base_url=url, api_key="none", retry=once, timeout=60.0, compression=compression)


# official clients


@pytest.mark.parametrize("compression", ["zstd", False])
def test_typesafe_sdk_reaches_the_endpoint_and_gets_the_server_s_own_numbers(whole: Way, compression: Any) -> None:
    team = Choice(instructions="Which?", criteria={"a": None, "b": None})
    questions = {"refund": Noul(instructions="Refund? " * 400), "team": team}
    asked: dict[str, Any] = {"state": "Charged twice.", "questions": questions}
    with (
        sdk(whole.gateway.url, compression) as through,
        sdk(f"http://127.0.0.1:{whole.server.port}", False) as directly,
    ):
        told, expected = through.system_one(**asked), directly.system_one(**asked)
        assert told == expected
        assert through.models.list() == directly.models.list()
    assert whole.runtime.asked[0]["x-amzn-sagemaker-custom-attributes"] == "route=/v1/systemone"
    assert "/eu-north-1/sagemaker/aws4_request" in whole.runtime.asked[0]["authorization"]


_clients: list[openai.OpenAI] = []


@pytest.fixture(autouse=True)
def clients_are_closed() -> Iterator[None]:
    yield
    while _clients:
        _clients.pop().close()


def openai_client(whole: Way) -> openai.OpenAI:
    """Closed at the test's end."""
    _clients.append(openai.OpenAI(base_url=whole.gateway.url + "/v1", api_key="none", max_retries=0))
    return _clients[-1]


def test_openai_s_decisions_reach_the_endpoint(whole: Way) -> None:
    client = openai_client(whole)
    told = client.decisions.create(
        model="tiny",
        input="Charged twice.",
        questions=[{"type": "predicate", "name": "refund", "instructions": "Refund?"}],
    )
    directly = whole.server.ask(
        {
            "model": "tiny",
            "input": "Charged twice.",
            "questions": [{"type": "predicate", "name": "refund", "instructions": "Refund?"}],
        },
        "/v1/decisions",
    ).json
    assert told.to_dict()["answers"] == directly["answers"]


def test_this_project_s_own_client_reaches_the_endpoint_too(whole: Way) -> None:
    questions: dict[str, Question] = {"refund": OwnNoul(instructions="Refund?")}
    with (
        DecisionClient.http(whole.gateway.url) as through,
        DecisionClient.http(f"http://127.0.0.1:{whole.server.port}") as directly,
    ):
        assert through.ask("Charged twice.", questions) == directly.ask("Charged twice.", questions)
        assert through.models() == directly.models()
        assert through.metrics() is None


def test_an_error_of_the_container_arrives_as_the_container_said_it(whole: Way) -> None:
    with sdk(whole.gateway.url, False) as client, pytest.raises(TypeSafeUnprocessableEntityError) as failed:
        client.system_one(state="x", questions={"q": Choice(instructions="?", criteria={"one": None})})
    assert "2 to 255" in str(failed.value)
    told = whole.post("/invocations", {"decision": decision(options=[])})
    directly = whole.server.ask({"decision": decision(options=[])})
    assert told.status == directly.status == 400
    assert {**told.json, "request_id": ""} == {**directly.json, "request_id": ""}


# faults


@pytest.mark.parametrize("busy", [wrapped(503, BUSY), wrapped(429, b"{}"), aws("ServiceUnavailable", 503)])
def test_what_passes_by_itself_is_asked_again(whole: Way, busy: Response) -> None:
    whole.runtime.faults[:] = [busy, busy]
    assert whole.post("/v1/decisions", {"decision": decision()}).status == 200
    assert len(whole.runtime.asked) == 3


@pytest.mark.parametrize(
    ("code", "status", "told"),
    [
        ("ThrottlingException", 400, 429),
        ("ModelNotReadyException", 429, 503),
        ("InternalFailure", 500, 503),
    ],
)
def test_a_caller_whose_time_ends_is_told_why(whole: Way, code: str, status: int, told: int) -> None:
    whole.runtime.faults[:] = [aws(code, status)]
    reply = whole.post("/v1/chat/completions", {"messages": []}, {"x-stainless-read-timeout": "0.0001"})
    assert reply.status in (told, 504)  # 504 where even the first try came too late
    assert reply.headers["X-Should-Retry"] == "false"
    assert set(reply.json["error"]) == {"message", "type", "param", "code"}
    whole.runtime.faults.clear()


def test_a_server_that_wants_to_be_left_alone_past_the_deadline_is_not_asked_again(whole: Way) -> None:
    body = json.dumps({"detail": {"error_type": "queue_full"}, "x_retry_after_seconds": 100}).encode()
    whole.runtime.faults[:] = [wrapped(503, body)]
    reply = whole.post("/v1/systemone", {})
    assert (reply.status, reply.body, reply.headers["Retry-After"]) == (503, body, "100")
    assert len(whole.runtime.asked) == 1


@pytest.mark.parametrize("status", [400, 422, 500, 504])
def test_what_is_final_is_asked_once(whole: Way, status: int) -> None:
    whole.runtime.faults[:] = [wrapped(status, b'{"error": "as it is"}')]
    reply = whole.post("/v1/decisions", {"decision": decision()})
    assert (reply.status, reply.body) == (status, b'{"error": "as it is"}')
    assert len(whole.runtime.asked) == 1


@pytest.mark.parametrize(
    ("fault", "status", "code", "says"),
    [
        (aws("UnrecognizedClientException", 403), 403, "aws_credentials", "does not accept"),
        (aws("ExpiredTokenException", 403), 403, "aws_credentials", "does not accept"),
        (aws("AccessDeniedException", 403), 403, "access_denied", "sagemaker:InvokeEndpoint"),
        (aws("ValidationError", 400, "Endpoint x not found."), 404, "endpoint_not_found", "eu-north-1"),
        (aws("ValidationError", 400, "body exceeds the limit"), 413, "body_too_large", "25 MB"),
        (aws("ValidationError", 400, "of another kind"), 400, "refused_by_sagemaker", "of another kind"),
        (wrapped(0, b"timed out"), 504, "model_timeout", "its container gave no answer"),
    ],
)
def test_what_sagemaker_itself_says_is_told_with_its_remedy(
    whole: Way, fault: Response, status: int, code: str, says: str
) -> None:
    whole.runtime.faults[:] = [fault]
    reply = whole.post("/invocations", {"decision": {}})
    assert (reply.status, reply.json["code"]) == (status, code)
    assert says in reply.json["error"]
    assert len(whole.runtime.asked) == 1


def test_a_body_past_the_limit_is_refused_unsent(whole: Way) -> None:
    reply = whole.post("/invocations", b"[" + b" " * 26_214_400)
    assert (reply.status, reply.json["code"]) == (413, "body_too_large")
    assert not whole.runtime.asked


@pytest.mark.parametrize(
    ("headers", "code"),
    [({"Content-Encoding": "zstd"}, "bad_encoding"), ({"Content-Encoding": "br"}, "unsupported_media_type")],
)
def test_an_encoding_that_cannot_be_read_is_refused(whole: Way, headers: dict[str, str], code: str) -> None:
    assert whole.post("/v1/decisions", {"decision": decision()}, headers).json["code"] == code


def test_a_zstd_body_that_asks_for_more_memory_than_servers_allow_is_refused(whole: Way) -> None:
    options = {int(zstd.CompressionParameter.window_log): 27, int(zstd.CompressionParameter.content_size_flag): 0}
    compressor = zstd.ZstdCompressor(options=options)
    body = compressor.compress(json.dumps({"decision": decision()}).encode()) + compressor.flush()
    reply = whole.post("/v1/decisions", body, {"Content-Encoding": "zstd"})
    assert (reply.status, reply.json["code"]) == (400, "bad_encoding")
    assert not whole.runtime.asked


def test_a_route_is_named_once_by_the_path_or_by_the_caller(whole: Way) -> None:
    custom = "X-Amzn-SageMaker-Custom-Attributes"
    assert whole.post("/invocations", {}, {custom: "trace=7, route=/v1/models"}).json["data"]
    whole.runtime.asked.clear()
    for route, attributes in [("/v1/systemone", "route=/v1/models"), ("/invocations", "route=/a,route=/b")]:
        reply = whole.post(route, {"state": "x"}, {custom: attributes})
        assert reply.status == 400
        assert "one route at most" in reply.body.decode()
    assert not whole.runtime.asked


def test_other_routes_and_methods_are_refused_and_ping_asks_nobody(whole: Way) -> None:
    assert whole.request("GET", "/v1/nothing", None, {}).status == 404
    assert whole.request("DELETE", "/v1/systemone", None, {}).status == 405
    assert whole.request("GET", "/ping", None, {}).json == {"status": "ok"}
    assert not whole.runtime.asked


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://example.com"}, {"Host": "rebound.example.com"}, {"Sec-Fetch-Site": "cross-site"}],
)
def test_a_web_page_cannot_spend_the_caller_s_credentials(whole: Way, headers: dict[str, str]) -> None:
    assert whole.post("/invocations", {"decision": decision()}, headers).json["code"] == "not_for_browsers"
    assert not whole.runtime.asked


# streams


def events(*texts: str) -> list[bytes]:
    return [payload_part(f"data: {text}\n\n".encode()) for text in texts]


def chunk(text: str) -> str:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    return json.dumps({"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]})


def chat(whole: Way) -> openai.Stream[Any]:
    client = openai_client(whole)
    return client.chat.completions.create(model="tiny", messages=[{"role": "user", "content": "Hi"}], stream=True)


def test_a_chat_of_the_real_server_streams_through_in_many_parts(whole: Way) -> None:
    asked: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 8, "temperature": 0}
    client = openai_client(whole)
    parts = list(client.chat.completions.create(model="tiny", stream=True, **asked))
    told = "".join(each.choices[0].delta.content or "" for each in parts)
    directly = whole.server.ask(asked, "/v1/chat/completions").json["choices"][0]
    assert (told, parts[-1].choices[0].finish_reason) == (directly["message"]["content"], directly["finish_reason"])
    assert len(parts) > 3


def test_lines_in_bulk_are_answered_in_their_order(whole: Way) -> None:
    lines = b"\n".join([json.dumps({"decision": decision(id=str(number))}).encode() for number in range(40)] + [b"no"])
    reply = whole.request("POST", "/invocations", lines, {"Content-Type": "application/jsonlines"})
    answers = [json.loads(line) for line in reply.body.splitlines()]
    assert [each["result"]["id"] for each in answers[:-1]] == [str(number) for number in range(40)]
    assert answers[-1]["code"] == "not_json"


def test_a_stream_passes_part_by_part_and_503_before_it_is_asked_again(whole: Way) -> None:
    whole.runtime.faults[:] = [wrapped(503, BUSY)]
    whole.runtime.streams[:] = [events(chunk("Good "), chunk("day"), "[DONE]")]
    assert "".join(each.choices[0].delta.content or "" for each in chat(whole)) == "Good day"
    assert len(whole.runtime.asked) == 2


@pytest.mark.parametrize("end", [model_stream_error("STREAM_BROKEN", "reset"), b""])
def test_a_stream_that_is_cut_ends_in_an_error_of_the_client(whole: Way, end: bytes) -> None:
    whole.runtime.streams[:] = [[*events(chunk("Good ")), end]]
    stream = chat(whole)
    assert next(stream).choices[0].delta.content == "Good "
    with pytest.raises(openai.APIError, match=r"cut the answer|broke"):
        next(stream)


# start and stop


def refused(folder: Path, *arguments: str, **settings: str) -> str:
    told = subprocess.run(
        command(*arguments), env=environment(folder, settings), capture_output=True, text=True, cwd=ROOT, timeout=60
    )
    assert (told.returncode, told.stdout) == (2, "")
    return told.stderr


def test_a_gateway_that_cannot_work_says_so_and_ends(tmp_path: Path, runtime: Runtime) -> None:
    asks = ("--endpoint-name", ENDPOINT)
    there = {"AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME": runtime.url}
    assert "no AWS region. Remedy: --region" in refused(tmp_path, *asks)
    assert "no AWS credentials. Remedy:" in refused(tmp_path, *asks, "--region", "eu-north-1")
    assert "not found" in refused(tmp_path, "--endpoint-name", "other", **CREDENTIALS, **there)
    assert "--any-host" in refused(tmp_path, *asks, "--host", "0.0.0.0", **CREDENTIALS, **there)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"--port {port}: cannot listen" in refused(tmp_path, *asks, "--port", port, **CREDENTIALS, **there)
    dead = {"AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME": f"http://127.0.0.1:{port}"}
    assert "Remedy: look at the region and the network" in refused(tmp_path, *asks, **CREDENTIALS, **dead)
    runtime.faults[:] = [aws("AccessDeniedException", 403)]
    assert "sagemaker:InvokeEndpoint" in refused(tmp_path, *asks, **CREDENTIALS, **there)


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Server]:
    """Whose questions say how long they take."""
    with Server(FAKE, tmp_path / "slow", {}) as running:
        yield running


def test_an_answer_that_does_not_come_in_time_is_504(tmp_path: Path, slow: Server) -> None:
    with fake_runtime.running(slow.port) as runtime, way(tmp_path, slow, runtime, "--deadline", "1") as through:
        late = through.post("/v1/decisions", {"decision": decision(question="work 4000")})
    assert (late.status, late.json["code"]) == (504, "deadline_exceeded")


def test_who_is_under_way_when_it_stops_gets_an_answer(tmp_path: Path, slow: Server) -> None:
    with fake_runtime.running(slow.port) as runtime, way(tmp_path, slow, runtime) as through:
        replies: list[Reply] = []
        asked = threading.Thread(
            target=lambda: replies.append(through.post("/v1/decisions", {"decision": decision(question="work 1000")}))
        )
        asked.start()
        slow.until(lambda: len(runtime.asked) == 2)  # the first look, and the question
        assert through.gateway.stop() == 0
        asked.join(10)
    assert [reply.status for reply in replies] == [200]


class _OtherKind(BaseHTTPRequestHandler):
    """Lists models in a shape of its own."""

    def do_GET(self) -> None:
        body = b'{"data": [{"name": "m"}, 1]}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def test_in_front_of_another_kind_of_server_it_warns_and_works(tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _OtherKind) as other:
        serving = threading.Thread(target=other.serve_forever)
        serving.start()
        try:
            with gateway(tmp_path, "--url", f"http://127.0.0.1:{other.server_port}", settings={}) as running:
                assert "does not list its models" in running.told
        finally:
            other.shutdown()
            serving.join()


def test_in_front_of_a_plain_server_nothing_is_signed(tmp_path: Path, server: Server) -> None:
    url = f"http://127.0.0.1:{server.port}"
    with gateway(tmp_path, "--url", url, settings={}) as running:
        with sdk(running.url, "zstd") as through, sdk(url, False) as directly:
            assert through.models.list() == directly.models.list()
            asked: dict[str, Any] = {"state": "x", "questions": {"q": Noul(instructions="So? " * 1000)}}
            assert through.system_one(**asked) == directly.system_one(**asked)
        assert running.process.poll() is None
        running.process.send_signal(signal.SIGINT)
        assert running.process.wait(30) == 0
