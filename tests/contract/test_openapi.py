"""The document at /openapi.json against the server that serves it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from decision_server.app import create_app
from decision_server.config import load
from decision_server.lifecycle import Lifecycle
from decision_server.metrics import Metrics
from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.serving.server import FAKE, ROOT, SERVE, Server

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("openapi")
    settings = {
        "DECISION_MODEL_PATH": str(write_tiny_llama(folder / "tiny.gguf")),
        "DECISION_READOUT": "likelihood",
        "DECISION_N_THREADS": "1",
        "DECISION_MODEL_ALIASES": "in-house",
        "DECISION_MAX_DECISIONS": "5",
    }
    with Server(SERVE, folder / "log", settings) as running:
        yield running


def document(server: Server, **headers: str) -> dict[str, Any]:
    told: dict[str, Any] = server.request("GET", "/openapi.json", headers=headers).json
    return told


@pytest.mark.skipif(sys.version_info < (3, 11), reason="schemathesis needs Python 3.11")
def test_schemathesis_finds_nothing(server: Server, tmp_path: Path) -> None:
    """Valid and invalid bodies, methods and headers, by every check that it has."""
    content = document(server)
    paths = content["paths"]
    again = paths.pop("/v1/decisions")["post"] | {"summary": ""}  # half of the time, for nothing new
    assert again == {key: told for key, told in paths["/invocations"]["post"].items() if key != "parameters"} | {
        "summary": ""
    }
    (tmp_path / "openapi.json").write_text(json.dumps(content))
    told = subprocess.run(
        [
            str(Path(sys.executable).parent / "schemathesis"),
            *("--config-file", str(HERE / "schemathesis.toml"), "run", "openapi.json"),
            *("--url", f"http://127.0.0.1:{server.port}"),
            *("--phases", "coverage,fuzzing", "--max-examples", "5", "--seed", "1", "--no-color"),
        ],
        env={**os.environ, "SCHEMATHESIS_HOOKS": "tests.contract.openapi_hooks", "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert told.returncode == 0, told.stdout[-6000:] + told.stderr[-2000:]
    assert f"Tested: {len(paths)}" in told.stdout


def test_the_document_has_the_routes_of_the_application_and_no_others(server: Server) -> None:
    lifecycle: Lifecycle[Any] = Lifecycle(lambda on_failure: None)
    app = create_app(load({}), lifecycle, Metrics())
    routes = {(rule.rule, method) for rule in app.url_map.iter_rules() for method in (rule.methods or set()) - {"HEAD"}}
    paths = document(server)["paths"]
    assert {(path, each.upper()) for path, told in paths.items() for each in told.keys() & {"get", "post"}} == routes


def test_every_route_that_answers_lines_says_so(server: Server) -> None:
    paths = document(server)["paths"]
    lines = "application/jsonlines"
    routes = {
        path for path, told in paths.items() if lines in told.get("post", {}).get("requestBody", {}).get("content", {})
    }
    assert routes == {"/invocations", "/v1/decisions", "/v1/systemone"}
    asked = {"model": "tiny", "state": "s", "questions": {"q": {"type": "noul", "instructions": "?"}}}
    for path in routes:
        reply = server.request("POST", path, json.dumps(asked).encode(), {"Content-Type": lines})
        assert (reply.status, reply.headers["Content-Type"], next(iter(reply.json))) == (200, lines, "model")


def test_the_header_that_names_a_route_is_described_where_it_is_read(server: Server) -> None:
    paths = document(server)["paths"]
    told = {path: each["parameters"] for path, each in _posts(paths) if "parameters" in each}
    assert list(told) == ["/invocations"]
    (header,) = told["/invocations"]
    assert (header["in"], header["schema"]) == ("header", {"type": "string"})
    models = server.request("POST", "/invocations", b"{}", {header["name"]: "route=/v1/models"})
    assert (models.status, models.json["object"]) == (200, "list")


def _posts(paths: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(path, told["post"]) for path, told in paths.items() if "post" in told]


def test_it_says_the_names_and_limits_of_this_server(server: Server) -> None:
    schemas = document(server)["components"]["schemas"]
    assert schemas["ModelName"]["enum"] == ["tiny", "jev-latest", "in-house"]
    assert schemas["SeveralDecisions"]["properties"]["decisions"]["maxItems"] == 5


def test_a_server_with_a_key_asks_for_it_and_says_so(tmp_path: Path) -> None:
    with Server(FAKE, tmp_path, {"DECISION_API_KEY": "a-key-of-24-characters-x"}) as guarded:
        assert guarded.request("GET", "/openapi.json").status == 401
        told = document(guarded, Authorization="Bearer a-key-of-24-characters-x")
    assert told["security"] == [{"key": []}]
    assert told["paths"]["/ping"]["get"]["security"] == []
    assert json.dumps(told).count("a-key-of") == 0
