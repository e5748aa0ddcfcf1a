"""The examples of docs/api.md that are no single JSON object: a stream of events, and lines in bulk."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.api_page import PAGE, differences
from tests.fixtures.models import smollm2_q8_0
from tests.serving.server import SERVE, Server

_STREAM = re.compile(r"```json stream (/\S+)\n([^`]*)\n```\n```json events\n([^`]*)\n```")
_LINES = re.compile(r"```jsonlines request (/\S+)\n([^`]*)\n```\n```jsonlines answer\n([^`]*)\n```")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"DECISION_MODEL_PATH": str(smollm2_q8_0()), "DECISION_READOUT": "likelihood"}
    with Server([*SERVE], tmp_path_factory.mktemp("api"), settings) as started:
        yield started


def only(pattern: re.Pattern[str]) -> tuple[str, str, str]:
    ((route, request, answer),) = pattern.findall(PAGE.read_text(encoding="utf-8"))
    return route, request, answer


def test_the_stream_of_the_page_is_the_stream_of_the_server(server: Server) -> None:
    route, request, answer = only(_STREAM)
    events = server.ask(json.loads(request), route).body.decode().removesuffix("\n\n").split("\n\n")
    assert events[-1] == "data: [DONE]"
    seen: list[Any] = [json.loads(event.removeprefix("data: ")) for event in events[:-1]]
    assert differences(json.loads(answer), seen) == []


def test_the_lines_of_the_page_are_answered_as_it_says(server: Server) -> None:
    route, request, answer = only(_LINES)
    reply = server.request("POST", route, request.encode(), {"Content-Type": "application/jsonlines"})
    seen = [json.loads(line) for line in reply.body.splitlines()]
    assert differences([json.loads(line) for line in answer.splitlines()], seen) == []
