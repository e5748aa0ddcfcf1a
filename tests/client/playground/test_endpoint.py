"""The page in front of a SageMaker endpoint: what it is told of it, and the code that it offers to copy."""

from __future__ import annotations

import ast
import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

import boto3
import pytest
from selenium import webdriver

from client.errors import Refused
from client.playground.target import TargetFacts, facts_of
from client.transport.exchange import Answer, Request, Whole
from client.transport.sagemaker import SageMakerEndpoint
from client.transport.targets import SageMakerTarget
from tests.client.playground.browser import needs_chromium
from tests.client.playground.page import Page
from tests.client.playground.sockets import made_up_answer, served

FACTS = TargetFacts(
    kind="endpoint",
    name="endpoint it's-one in eu-north-1",
    models=("m",),
    no_prompts="Not here.",
    endpoint_name="it's-one",
    region="eu-north-1",
)


@dataclass(frozen=True)
class MadeUp:
    body: bytes
    name: str = "made up"

    def send(self, request: Request, *, timeout: float) -> Answer:
        return Whole(status=200, body=self.body)

    def close(self) -> None: ...


@pytest.fixture
def page(driver: webdriver.Chrome) -> Iterator[Page]:
    with served(MadeUp(json.dumps(made_up_answer()).encode()), FACTS) as url:
        yield Page(driver=driver, url=url).open()


@needs_chromium
def test_curl_signs_for_the_endpoint_with_credentials_from_the_environment(page: Page) -> None:
    words = shlex.split(page.text("#code").replace("\\\n", " "))
    assert words[1] == "https://runtime.sagemaker.eu-north-1.amazonaws.com/endpoints/it's-one/invocations"
    assert words[words.index("--aws-sigv4") + 1] == "aws:amz:eu-north-1:sagemaker"
    assert words[words.index("--user") + 1] == "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"
    assert json.loads(words[-1])["decision"]["question"] == "Which queue should handle this request?"


@needs_chromium
@pytest.mark.parametrize("language", ["boto3", "client"])
def test_python_names_the_endpoint_and_its_region(page: Page, language: str) -> None:
    page.one(f"[value='{language}'] + span").click()
    told = [node.value for node in ast.walk(ast.parse(page.text("#code"))) if isinstance(node, ast.Constant)]
    assert {"it's-one", "eu-north-1"} <= set(told)


def test_the_region_that_was_found_is_told_where_none_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    session = boto3.Session(aws_access_key_id="AKID", aws_secret_access_key="secret", region_name="eu-west-3")
    endpoint = SageMakerEndpoint(session, "one", connections=1)
    listed = MadeUp(b'{"data": [{"id": "the-model"}]}')
    monkeypatch.setattr(endpoint, "send", listed.send)
    facts = facts_of(SageMakerTarget(endpoint_name="one"), endpoint, api_key_variable=None, no_prompts="why")
    assert (facts.region, facts.models, facts.name) == ("eu-west-3", ("the-model",), "endpoint one in eu-west-3")


def test_a_server_that_lists_no_models_is_refused() -> None:
    with pytest.raises(Refused, match="made up does not list its models"):
        facts_of(SageMakerTarget(endpoint_name="one"), MadeUp(b"{}"), api_key_variable=None, no_prompts=None)
