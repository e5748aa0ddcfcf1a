"""The templates as CloudFormation's own linter reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cfnlint.api import lint_file  # type: ignore[import-untyped] # ships no type information
from cfnlint.config import ManualArgs  # type: ignore[import-untyped] # ships no type information

from .conftest import Synthesize, Template
from .everything import EVERYTHING

# Each with the reason why it is no fault here.
IGNORED = {
    "W3005",  # CDK adds every policy and role of a function to its DependsOn, also what a GetAtt orders already
    "W6001",  # an output that repeats a value of another stack (the bucket in ModelDataUrl) saves the reader a look-up
}


def findings(template: Template, path: Path) -> list[str]:
    path.write_text(json.dumps(template))
    found = lint_file(path, config=ManualArgs(regions=["us-east-1"], ignore_checks=sorted(IGNORED)))
    return [f"{each.rule.id} {each.message}" for each in found]


@pytest.mark.parametrize("name", ["local", "dev", "staging", "prod"])
def test_cfn_lint_finds_nothing_in_a_shipped_environment(synthesize: Synthesize, tmp_path: Path, name: str) -> None:
    for template in synthesize(name).values():
        assert findings(template, tmp_path / "template.json") == []


def test_cfn_lint_finds_nothing_with_everything_switched_on(synthesize: Synthesize, tmp_path: Path) -> None:
    templates = synthesize("dev", changes=EVERYTHING)
    emptied = synthesize("dev", changes=EVERYTHING | {"ephemeral": True})["artifacts"]
    for template in (*templates.values(), emptied):
        assert findings(template, tmp_path / "template.json") == []


def test_cfn_lint_would_find_a_fault(synthesize: Synthesize, tmp_path: Path) -> None:
    endpoint = synthesize("prod")["scoring"]
    for each in endpoint["Resources"].values():
        if each["Type"] == "AWS::SageMaker::EndpointConfig":
            each["Properties"]["ProductionVariants"][0]["InstancePools"][0]["Priority"] = "first"
    assert any(each.startswith("E3") for each in findings(endpoint, tmp_path / "template.json"))
