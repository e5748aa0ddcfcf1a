"""The whole server as it runs in the container: `serve`, gunicorn, a real GGUF, real sockets."""

from __future__ import annotations

import http.client
import json
import math
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.serving.server import ROOT, SERVE, Server, decision

SECRET = "the caller's confidential sentence"


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llama(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="module")
def server(gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {
        "DECISION_MODEL_PATH": str(gguf),
        "DECISION_N_CTX": "1024",
        "DECISION_N_THREADS": "1",
        "DECISION_MAX_BODY_BYTES": "600000",
    }
    elsewhere = tmp_path_factory.mktemp("elsewhere")  # `serve` works from any directory
    with Server([*SERVE, "serve"], elsewhere / "log", settings, cwd=elsewhere) as started:
        yield started


def refused(server: Server, body: bytes, **headers: str) -> tuple[int, dict[str, Any]]:
    reply = server.request("POST", "/invocations", body, {"Content-Type": "application/json"} | headers)
    assert reply.headers["Content-Type"] == "application/json"
    assert reply.json["request_id"] == reply.headers["X-Request-Id"]
    return reply.status, reply.json


def test_one_json_line_on_standard_output_says_that_the_server_is_ready_and_where(server: Server) -> None:
    assert server.out.count("\n") == 1
    line = json.loads(server.out)
    assert line["event"] == "ready"
    assert line["url"] == f"http://127.0.0.1:{server.port}"
    assert line["model"] == "tiny"
    assert server.ping().json == {"status": "ok"}


def test_a_decision_is_answered_with_every_field_of_the_contract(server: Server, gguf: Path) -> None:
    reply = server.ask({"decision": decision()})
    assert reply.status == 200
    result = reply.json["result"]
    assert list(result) == [
        "id", "option_ids", "probabilities", "option_logits", "answer_token_ids", "input_tokens", "allowed_token_mass",
        "full_vocab_argmax_id", "prompt_sha256", "prompt_version", "readout", "probability_status", "calibration",
        "warnings", "model", "timing",
    ]  # fmt: skip
    assert (result["id"], result["option_ids"], result["readout"]) == ("d", ["a", "b"], "letters")
    assert abs(sum(result["probabilities"]) - 1) < 1e-9
    ratio = math.exp(result["option_logits"][0] - result["option_logits"][1])
    assert result["probabilities"][0] / result["probabilities"][1] == pytest.approx(ratio, rel=1e-9)
    assert result["calibration"] == {"status": "none", "version": None, "temperature": 1.0}
    assert result["model"]["gguf"]["bytes"] == gguf.stat().st_size
    assert result["model"]["n_ctx"] == 1024
    assert set(result["timing"]) == {
        "queue_seconds", "encode_seconds", "forward_seconds", "total_seconds", "cached_tokens",
    }  # fmt: skip
    assert result["timing"]["total_seconds"] >= result["timing"]["forward_seconds"] > 0
    low = result["allowed_token_mass"] < 0.5
    assert [warning.startswith("allowed_token_mass") for warning in result["warnings"]] == [True] * low


def test_decisions_over_mixed_states_come_back_in_order_and_equal_to_asking_each_alone(server: Server) -> None:
    states = ["One state. " * 20, "Another state.", "One state. " * 20, "Another state.", "One state. " * 20]
    asked = [decision(id=str(n), state=state, question=f"Question {n}?") for n, state in enumerate(states)]
    together = server.ask({"decisions": asked}).json
    alone = [server.ask({"decision": item}).json["result"] for item in asked]
    assert [result["id"] for result in together["results"]] == ["0", "1", "2", "3", "4"]
    for one, other in zip(together["results"], alone, strict=True):
        assert one["option_logits"] == other["option_logits"]
        assert one["prompt_sha256"] == other["prompt_sha256"]
    timing = together["timing"]
    assert timing["batch_size"] == 5
    total = sum(result["input_tokens"] for result in together["results"])
    counted = [result["timing"]["cached_tokens"] for result in together["results"]]
    assert timing["cached_tokens"] == sum(counted)
    assert timing["true_suffix_tokens"] < total
    assert 0 < timing["prefix_tokens"] < total - timing["true_suffix_tokens"]  # each state counted once
    assert timing["prefill_seconds"] + timing["suffix_forward_seconds"] == pytest.approx(timing["forward_seconds"])


def test_the_same_request_gives_the_same_bytes_but_for_the_timing(server: Server) -> None:
    def untimed() -> str:
        answer = server.ask({"decisions": [decision(id=i) for i in "xyz"]}).json
        del answer["timing"]
        for result in answer["results"]:
            del result["timing"]
        return json.dumps(answer)

    assert untimed() == untimed()


def test_the_own_path_of_decisions_answers_as_invocations_does(server: Server) -> None:
    assert server.ask({"decision": decision()}, "/v1/decisions").json["result"]["id"] == "d"


def test_a_chunked_body_is_read(server: Server) -> None:
    body = json.dumps({"decision": decision()}).encode()
    reply = server.request("POST", "/invocations", iter([body[:10], body[10:11], body[11:]]))
    assert reply.status == 200


@pytest.mark.parametrize(
    "media_type", ["application/json; charset=utf-8", "APPLICATION/JSON", "application/octet-stream", None]
)
def test_json_is_read_under_every_media_type_the_contract_names(server: Server, media_type: str | None) -> None:
    headers = {"Content-Type": media_type} if media_type else {}
    body = json.dumps({"decision": decision()}).encode()
    assert server.request("POST", "/invocations", body, headers).status == 200


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        (b"not json", 400, "not_json", None),
        (b'{"decision": {"state": NaN}}', 400, "not_finite", "decision.state"),
        (b'{"decision": 1, "decision": 2}', 400, "repeated_key", None),
        (b'{"decision": {"state": "\\ud83d"}}', 400, "lone_surrogate", "decision.state"),
        (b"[" * 10000, 400, "too_deep", None),
        (b'{"x": 1}', 400, "unknown_dialect", None),
        (b'{"decisions": [{}]}', 400, "missing_field", "decisions[0].id"),
        (
            json.dumps({"decision": decision(options=decision()["options"][:1])}).encode(),
            400,
            "bad_value",
            "decision.options",
        ),
        (json.dumps({"decision": decision(readout="nope")}).encode(), 400, "bad_value", "decision.readout"),
        (json.dumps({"decision": decision(prompt_version="v0")}).encode(), 400, "bad_value", "decision.prompt_version"),
        (json.dumps({"decision": decision(state="x" * 600000)}).encode(), 413, "body_too_large", None),
    ],
)
def test_a_bad_body_is_refused_in_json_with_its_place(
    server: Server, body: bytes, status: int, code: str, field: str | None
) -> None:
    seen, error = refused(server, body)
    assert (seen, error["code"], error["field"], error["retryable"]) == (status, code, field, False)


def test_a_prompt_over_the_context_is_refused_with_both_numbers_and_nothing_is_computed(server: Server) -> None:
    before = server.metric("decision_evaluated_tokens_total")
    asked = [decision(id="fits"), decision(id="long", state="word " * 3000)]
    status, error = refused(server, json.dumps({"decisions": asked}).encode())
    assert (status, error["code"], error["field"]) == (413, "context_overflow", "decisions[1].state")
    assert " 1024" in error["error"]
    assert server.metric("decision_evaluated_tokens_total") == before


def test_a_state_that_fits_is_served_with_however_many_questions(server: Server) -> None:
    asked = [decision(id=str(n), state="evidence " * 100, question=f"Is number {n} right?") for n in range(20)]
    reply = server.ask({"decisions": asked})
    assert reply.status == 200
    assert len(reply.json["results"]) == 20


@pytest.mark.parametrize("size", [600_001, 5_000_000])
def test_a_chunked_body_over_the_limit_is_refused_too(server: Server, size: int) -> None:
    chunks = (b"x" * min(100_000, size - sent) for sent in range(0, size, 100_000))
    reply = server.request("POST", "/invocations", chunks)
    assert reply.status == 413
    assert "600000" in reply.json["error"]


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_a_hundred_thousand_nested_brackets_are_refused(
    gguf: Path, tmp_path: Path, server: Server, opening: bytes
) -> None:
    reply = server.request("POST", "/invocations", opening * 100_000)
    assert reply.json["code"] == "too_deep"
    assert server.ping().status == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/", 404, "not_found"),
        ("GET", "/ping/", 404, "not_found"),
        ("GET", "/invocations", 405, "method_not_allowed"),
        ("OPTIONS", "/ping", 405, "method_not_allowed"),
        ("DELETE", "/ping", 405, "method_not_allowed"),
    ],
)
def test_every_other_route_and_method_is_refused_in_json(
    server: Server, method: str, path: str, status: int, code: str
) -> None:
    reply = server.request(method, path)
    assert (reply.status, reply.headers["Content-Type"], reply.json["code"]) == (status, "application/json", code)


def test_below_v1_an_unknown_route_is_refused_as_openai_clients_read_it(server: Server) -> None:
    reply = server.request("POST", "/v1/nothing")
    assert (reply.status, reply.json["error"]["code"], reply.json["error"]["type"]) == (
        404,
        "not_found",
        "invalid_request_error",
    )


@pytest.mark.parametrize(("path", "allowed"), [("/invocations", {"POST"}), ("/ping", {"GET", "HEAD"})])
def test_a_method_that_is_not_allowed_is_answered_with_those_that_are(
    server: Server, path: str, allowed: set[str]
) -> None:
    reply = server.request("DELETE", path)
    assert (reply.status, set(reply.headers["Allow"].split(", "))) == (405, allowed)


def test_other_media_types_and_encodings_are_refused_by_name(server: Server) -> None:
    body = json.dumps({"decision": decision()}).encode()
    assert refused(server, body, **{"Content-Type": "text/csv"})[0] == 415
    assert "br" in refused(server, body, **{"Content-Encoding": "br"})[1]["error"]


@pytest.mark.parametrize(
    "message",
    [
        b"nonsense\r\n\r\n",
        b"POST /invocations HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"GET /ping HTTP/1.1\r\nHost: x\r\nBad Header: y\r\n\r\n",
    ],
)
def test_what_is_not_http_is_refused_in_json_too(server: Server, message: bytes) -> None:
    with server.connect() as sock:
        sock.sendall(message)
        sock.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: sock.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"application/json" in head
    assert json.loads(body)["code"] == "malformed_http"


def test_metrics_are_prometheus_text_and_count_what_happened(server: Server) -> None:
    asked = server.metric("decision_decisions_total")
    server.ask({"decisions": [decision(id=i) for i in "xy"]})
    assert server.metric("decision_decisions_total") == asked + 2
    assert server.metric("decision_ready") == 1
    assert server.metric("decision_queue_limit") == 65
    assert server.metric("decision_tokens_per_second") > 0
    assert server.metric("decision_forward_seconds_count") > 0
    assert server.request("GET", "/metrics").headers["Content-Type"].startswith("text/plain")


def lookups(server: Server) -> dict[str, float]:
    name = 'decision_prefix_lookups_total{found="'
    lines = server.request("GET", "/metrics").body.decode().splitlines()
    return {line.split('"')[1]: float(line.split()[1]) for line in lines if line.startswith(name)}


def test_metrics_tell_what_became_of_prefixes(server: Server) -> None:
    before = lookups(server)
    state = "A state of its own that no other test asks about, long enough to be worth keeping. " * 3
    server.ask({"decisions": [decision(id="a", state=state), decision(id="b", state=state, question="And why?")]})
    server.ask({"decision": decision(state="Something else entirely, which takes the place of the first. " * 3)})
    after = lookups(server)
    assert {found: after[found] - before[found] for found in after} == {"all": 1, "some": 2, "none": 0}
    assert server.metric("decision_kept_prefixes") >= 1
    assert server.metric("decision_kept_prefix_bytes") > 0
    assert server.metric("decision_prefix_evictions_total") >= 0


def test_log_lines_are_json_and_hold_no_request_text(server: Server) -> None:
    told = {"id": SECRET, "state": SECRET, "question": SECRET}
    options = [{"id": f"{SECRET} {n}", "description": f"{SECRET} {n}"} for n in range(3)]
    for readout in ("letters", "letters-rotated", "likelihood"):
        assert server.ask({"decision": decision(**told, options=options, readout=readout)}).status == 200
    assert server.ask({"decisions": [decision(**told, options=options)]}).status == 200
    server.ask({"decision": decision(state=SECRET, readout=SECRET)})
    server.ask({SECRET: SECRET})
    server.request("POST", "/invocations", SECRET.encode(), {"Content-Type": SECRET, "X-Request-Id": SECRET})
    server.ask({"decision": decision(state=[SECRET], extra=SECRET)})
    server.request("GET", f"/{SECRET.replace(' ', '_')}")
    server.log_line('"code": "unknown_field"')
    assert all(line["level"] for line in server.log)
    assert SECRET.split()[-1] not in server.err


def run_serve(tmp_path: Path, settings: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": "/usr/bin:/bin", "DECISION_HOST": "127.0.0.1"} | settings
    return subprocess.run([*SERVE, *arguments], env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"DECISION_MODEL": "/m"}, "DECISION_MODEL: unknown setting"),
        ({"DECISION_QUEUE_SIZE": "many"}, "DECISION_QUEUE_SIZE: 'many'"),
        ({"DECISION_DEADLINE_SECONDS": "0"}, "DECISION_DEADLINE_SECONDS: 0"),
    ],
)
def test_a_wrong_setting_stops_the_start_with_one_line_that_names_it(
    tmp_path: Path, settings: dict[str, str], named: str
) -> None:
    ended = run_serve(tmp_path, settings)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert named in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_another_argument_than_serve_is_refused(tmp_path: Path) -> None:
    ended = run_serve(tmp_path, {}, "train")
    assert ended.returncode == 2
    assert "only `serve` is known" in ended.stderr


def test_a_taken_port_is_named_with_the_remedy(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = run_serve(tmp_path, {"DECISION_PORT": str(port)})
    assert ended.returncode == 2
    assert f"port {port} on 127.0.0.1 is in use" in ended.stderr
    assert "DECISION_PORT" in ended.stderr


@pytest.mark.parametrize("broken", ["missing", "truncated", "empty folder"])
def test_a_model_that_cannot_be_loaded_ends_the_process_with_the_reason_and_no_second_try(
    gguf: Path, tmp_path: Path, broken: str
) -> None:
    model = tmp_path / "model.gguf"
    if broken == "truncated":
        shutil.copy(gguf, model)
        with model.open("r+b") as file:
            file.truncate(gguf.stat().st_size // 2)
    elif broken == "empty folder":
        model.mkdir()
    with Server(SERVE, tmp_path / "log", {"DECISION_MODEL_PATH": str(model)}, wait=False) as server:
        code = server.process.wait(30)
    assert code not in (0, None)
    assert str(model) in server.log_line("load_failed")["error"]
    assert sum("Booting worker" in line["message"] for line in server.log) == 1
    assert server.out == ""


def test_the_entry_point_is_executable() -> None:
    assert (ROOT / "container/serve").stat().st_mode & 0o111 == 0o111


def test_one_connection_serves_request_after_request_also_after_refusals(server: Server) -> None:
    good = json.dumps({"decision": decision()}).encode()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    statuses = []
    for method, path, body in (
        ("POST", "/invocations", good),
        ("POST", "/nowhere", good),  # its body is not read by any route
        ("POST", "/invocations", b"[1"),
        ("GET", "/ping", None),
        ("POST", "/invocations", good),
    ):
        connection.request(method, path, body)
        response = connection.getresponse()
        response.read()
        statuses.append(response.status)
        assert connection.sock is not None, "the server closed the connection"
    connection.close()
    assert statuses == [200, 404, 400, 200, 200]
