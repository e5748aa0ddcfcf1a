"""docs/api.md against a real server on the demo's model: every request gets the answer that stands below it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract.api_page import Example, differences, examples
from tests.fixtures.models import smollm2_q8_0
from tests.serving.server import SERVE, Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"DECISION_MODEL_PATH": str(smollm2_q8_0()), "DECISION_READOUT": "likelihood"}
    with Server([*SERVE], tmp_path_factory.mktemp("api"), settings) as started:
        yield started


@pytest.mark.parametrize("example", examples(), ids=lambda example: f"{example.status} {list(example.request)[-1]}")
def test_a_request_of_the_page_gets_the_answer_of_the_page(server: Server, example: Example) -> None:
    for route in (example.route, "/invocations"):
        reply = server.ask(example.request, route)
        assert (reply.status, differences(example.answer, reply.json)) == (example.status, [])


def test_the_page_shows_every_dialect_and_the_errors_of_each() -> None:
    shown = {(example.route, next(iter(example.answer))) for example in examples()}
    assert shown >= {
        ("/v1/decisions", "result"),
        ("/v1/systemone", "model"),
        ("/v1/decisions", "model"),
        ("/v1/decisions", "error"),
        ("/v1/systemone", "detail"),
    }
