"""A route named in SageMaker's custom attributes, for callers that reach `/invocations` alone (contract 1.5)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.serving.server import FAKE, Server

CUSTOM = "X-Amzn-SageMaker-Custom-Attributes"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(FAKE, tmp_path_factory.mktemp("named"), {}) as running:
        yield running


def test_the_route_named_beside_a_caller_s_own_attributes_answers(server: Server) -> None:
    models = server.request("POST", "/invocations", b"", {CUSTOM: "trace=7, route=/v1/models"})
    assert models.status == 200
    assert models.body == server.request("GET", "/v1/models").body


def test_what_is_wrong_is_said_as_the_named_route_says_it(server: Server) -> None:
    asked = server.request("POST", "/invocations", b"{}", {CUSTOM: "route=/v1/systemone"})
    directly = server.request("POST", "/v1/systemone", b"{}")
    assert asked.status == directly.status == 422
    assert asked.json["detail"] == directly.json["detail"]


def test_a_named_route_that_does_not_exist_is_not_found(server: Server) -> None:
    asked = server.request("POST", "/invocations", b"{}", {CUSTOM: "route=/v1/nothing"})
    assert (asked.status, asked.json["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize("attributes", ["trace=7", "route", "route=v1/models", "reroute=/v1/models"])
def test_attributes_that_name_no_route_change_nothing(server: Server, attributes: str) -> None:
    asked = server.request("POST", "/invocations", b"{}", {CUSTOM: attributes})
    assert (asked.status, asked.json["code"]) == (400, "unknown_dialect")


def test_only_invocations_is_another_route(server: Server) -> None:
    asked = server.request("POST", "/v1/decisions", b"{}", {CUSTOM: "route=/v1/models"})
    assert (asked.status, asked.json["code"]) == (400, "unknown_dialect")
