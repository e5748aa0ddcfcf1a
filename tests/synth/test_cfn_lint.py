"""The templates as CloudFormation's own linter reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeAlias

import pytest
from cfnlint.api import lint  # type: ignore[import-untyped] # ships no type information
from cfnlint.core import get_rules  # type: ignore[import-untyped] # ships no type information

from .conftest import Synthesize, Template
from .everything import EVERYTHING

Findings: TypeAlias = Callable[[Template], list[str]]
# Each with the reason why it is no fault here.
IGNORED = {
    "W3005",  # CDK adds every policy and role of a function to its DependsOn, also what a GetAtt orders already
    "W6001",  # an output that repeats a value of another stack (the bucket in ModelDataUrl) saves the reader a look-up
}


@pytest.fixture(scope="module")
def findings() -> Findings:
    """The rules are read once: that takes longer than to apply them to a template."""
    rules = get_rules([], sorted(IGNORED), [])

    def find(template: Template) -> list[str]:
        return [f"{each.rule.id} {each.message}" for each in lint(json.dumps(template), rules, ["us-east-1"])]

    return find


@pytest.mark.parametrize("name", ["local", "dev", "staging", "prod"])
def test_cfn_lint_finds_nothing_in_a_shipped_environment(synthesize: Synthesize, findings: Findings, name: str) -> None:
    for template in synthesize(name).values():
        assert findings(template) == []


def test_cfn_lint_finds_nothing_with_everything_switched_on(synthesize: Synthesize, findings: Findings) -> None:
    templates = synthesize("dev", changes=EVERYTHING)
    emptied = synthesize("dev", changes=EVERYTHING | {"ephemeral": True})["artifacts"]
    for template in (*templates.values(), emptied):
        assert findings(template) == []


def test_cfn_lint_would_find_a_fault(synthesize: Synthesize, findings: Findings) -> None:
    endpoint = synthesize("prod")["scoring"]
    for each in endpoint["Resources"].values():
        if each["Type"] == "AWS::SageMaker::EndpointConfig":
            each["Properties"]["ProductionVariants"][0]["InstancePools"][0]["Priority"] = "first"
    assert any(each.startswith("E3") for each in findings(endpoint))
