"""Who is answered by the page's server, and what its answers forbid the browser. Real sockets, no browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from client.playground.site import MAX_BODY_BYTES
from client.playground.target import TargetFacts
from client.transport.exchange import Answer, Request, Whole
from client.transport.failures import Failure
from tests.client.playground.process import Answered, asked
from tests.client.playground.sockets import TOKEN, served

JSON = {"Content-Type": "application/json"}


@dataclass
class Noted:
    name: str = "noted"
    requests: list[Request] = field(default_factory=list)

    def send(self, request: Request, *, timeout: float) -> Answer:
        self.requests.append(request)
        return Whole(status=422, body=b'{"as": "it came"}')

    def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Running:
    port: int
    target: Noted

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answered:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return asked(f"http://127.0.0.1:{self.port}/{path}", method, "", body, named)


@pytest.fixture
def running() -> Iterator[Running]:
    target = Noted()
    facts = TargetFacts(kind="url", name="noted", models=("m",), no_prompts="why", url="http://127.0.0.1:1")
    with served(target, facts) as url:
        yield Running(port=urlsplit(url).port or 0, target=target)


def test_a_body_is_passed_on_byte_for_byte_and_so_is_its_answer(running: Running) -> None:
    body = b'{"decision":   {"state": 1e2}}'
    answer = running.ask("POST", f"{TOKEN}/api/ask/v1/decisions", body, Content_Type="application/json")
    assert (answer.status, answer.body) == (422, b'{"as": "it came"}')
    (request,) = running.target.requests
    assert (request.method, request.route, request.body) == ("POST", "/v1/decisions", body)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:{port}"},
        {"Host": "127.0.0.1"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("GET", "api/target"), ("POST", "api/ask/v1/decisions")])
def test_other_pages_and_other_names_are_refused_even_with_the_token(
    running: Running, headers: dict[str, str], method: str, path: str
) -> None:
    given = {name: value.format(port=running.port) for name, value in headers.items()}
    answer = asked(f"http://127.0.0.1:{running.port}/{TOKEN}/", method, path, b"{}", {**JSON, **given})
    assert (answer.status, answer.json["code"]) == (403, "not_for_others")
    assert running.target.requests == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_page_itself_is_answered_by_both_names_of_loopback(running: Running, host: str) -> None:
    own = {"Host": f"{host}:{running.port}", "Origin": f"http://{host}:{running.port}", "Sec-Fetch-Site": "same-origin"}
    url = f"http://127.0.0.1:{running.port}/{TOKEN}/"
    assert asked(url, "GET", "", None, own).status == 200
    assert asked(url, "POST", "api/ask/v1/systemone", b"{}", {**JSON, **own}).status == 422


@pytest.mark.parametrize("path", ["", "api/target", "a-toke/", "a-token2/api/target", "%61-toke/", "playground.js"])
def test_without_the_token_there_is_nothing(running: Running, path: str) -> None:
    answer = running.ask("GET", path)
    assert (answer.status, answer.json["code"]) == (404, "not_found")
    assert TOKEN not in answer.body.decode()


@pytest.mark.parametrize("path", ["../command.py", "%2e%2e/command.py", "page/index.html", "api/ask/metrics", "api/x"])
def test_nothing_but_the_page_and_its_requests_is_served(running: Running, path: str) -> None:
    for method in ("GET", "POST"):
        answer = running.ask(method, f"{TOKEN}/{path}", b"{}", Content_Type="application/json")
        assert answer.status == 404
    assert running.target.requests == []


def test_a_form_of_another_page_cannot_ask(running: Running) -> None:
    for media_type in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = running.ask("POST", f"{TOKEN}/api/ask/v1/decisions", b"{}", Content_Type=media_type)
        assert answer.status == 415
    assert running.target.requests == []


def test_the_browser_is_told_to_run_and_load_nothing_from_elsewhere(running: Running) -> None:
    answer = running.ask("GET", f"{TOKEN}/")
    policy = answer.headers["Content-Security-Policy"].split("; ")
    assert policy[:4] == ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"]
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]
    assert answer.headers["Cache-Control"] == "no-store"


def test_the_pages_files_name_no_address_outside(running: Running) -> None:
    folder = Path("client/playground/page")
    for file in folder.iterdir():
        addresses = [part.split("/")[0] for part in file.read_text().split("://")[1:]]
        assert set(addresses) <= {"runtime.sagemaker.${facts.region}.amazonaws.com"}, file  # in code to be copied


def test_prompts_that_cannot_be_shown_say_why(running: Running) -> None:
    answer = running.ask("POST", f"{TOKEN}/api/prompts", b"{}", Content_Type="application/json")
    assert (answer.status, answer.json["error"]) == (404, "why")


def test_a_body_that_no_endpoint_takes_is_refused_with_both_numbers(running: Running) -> None:
    body = b" " * (MAX_BODY_BYTES + 1)
    answer = running.ask("POST", f"{TOKEN}/api/ask/v1/decisions", body, Content_Type="application/json")
    assert answer.status == 413
    assert answer.json["error"] == f"the body has {len(body)} bytes; {MAX_BODY_BYTES} at most"
    assert running.target.requests == []


def test_target_facts_hold_no_key(running: Running) -> None:
    facts = running.ask("GET", f"{TOKEN}/api/target").json
    assert set(facts) == set(TargetFacts.__dataclass_fields__)
    assert "key" not in json.dumps({name: value for name, value in facts.items() if name != "api_key_variable"})


@dataclass
class Gone:
    name: str = "gone"

    def send(self, request: Request, *, timeout: float) -> Answer:
        raise Failure("unreachable", "tiny.gguf: its server ended: killed")

    def close(self) -> None: ...


def test_a_model_s_server_that_ended_is_told_with_what_to_do() -> None:
    facts = TargetFacts(kind="model", name="gone", models=("m",), no_prompts="why", url="http://127.0.0.1:1")
    with served(Gone(), facts) as url:
        answer = asked(url, "POST", "api/ask/v1/decisions", b"{}", JSON)
    assert answer.status == 502
    assert answer.json["error"] == (
        "tiny.gguf: its server ended: killed. Remedy: end the playground, start it again and open the address that it "
        "prints"
    )
