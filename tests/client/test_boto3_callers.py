"""Callers that sign for themselves and speak to InvokeEndpoint: a System One body, and chats as agent SDKs send them.

strands-agents 1.62.0 has no client for decisions; its `SageMakerAIModel` posts chats of the shape below.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config

from tests.client import fake_runtime
from tests.client.fake_runtime import ENDPOINT
from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.serving.server import SERVE, Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    model = write_tiny_llama(tmp_path_factory.mktemp("model") / "tiny.gguf")
    settings = {"DECISION_MODEL_PATH": str(model), "DECISION_N_THREADS": "1", "DECISION_READOUT": "letters"}
    with Server(SERVE, tmp_path_factory.mktemp("server"), settings) as running:
        yield running


@pytest.fixture(scope="module")
def runtime(server: Server) -> Iterator[Any]:
    with fake_runtime.running(server.port) as running:
        yield boto3.client(
            "sagemaker-runtime",
            endpoint_url=running.url,
            region_name="eu-north-1",
            aws_access_key_id="AKID",
            aws_secret_access_key="secret",
            config=Config(user_agent_extra="strands-agents"),
        )


def invoke(runtime: Any, body: object) -> tuple[str, bytes]:
    told = runtime.invoke_endpoint(
        EndpointName=ENDPOINT, Body=json.dumps(body), ContentType="application/json", Accept="application/json"
    )
    return told["ContentType"], told["Body"].read()


def test_a_system_one_body_is_answered_with_the_server_s_own_bytes(server: Server, runtime: Any) -> None:
    body = {
        "model": "jev-latest",
        "state": {"goal": "book a flight", "tools": ["search", "pay"]},
        "questions": {
            "next": {"type": "choice", "instructions": "Which tool next?", "criteria": {"search": None, "pay": None}},
            "done": {"type": "noul", "instructions": "Is the goal reached?"},
        },
    }
    assert invoke(runtime, body) == ("application/json", server.ask(body, "/v1/systemone").body)


def test_a_chat_with_contents_in_parts_is_answered(runtime: Any) -> None:
    body = {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
        ],
        "max_tokens": 5,
        "stream": False,
        "temperature": 0.0,
        "top_p": 0.9,
    }
    media_type, told = invoke(runtime, body)
    assert media_type == "application/json"
    assert json.loads(told)["usage"]["completion_tokens"] == 5


def test_the_models_are_listed_to_who_names_the_route(server: Server, runtime: Any) -> None:
    told = runtime.invoke_endpoint(EndpointName=ENDPOINT, Body=b"{}", CustomAttributes="route=/v1/models")
    assert told["Body"].read() == server.request("GET", "/v1/models").body
