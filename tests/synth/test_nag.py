"""cdk-nag's AWS Solutions rules over every environment: nothing is found but what is acknowledged, with a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import Validations
from cdk_nag import AwsSolutionsChecks

from stacks.application import add_stacks
from stacks.settings.environment import environment_from_context

from .conftest import ROOT, context
from .everything import EVERYTHING


def checked(environment: dict[str, Any], outdir: Path) -> cdk.App:
    app = cdk.App(context=context(), outdir=str(outdir))
    add_stacks(
        app, settings=environment_from_context(name="dev", environments={"dev": environment}, root=ROOT), root=ROOT
    )
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    return app


@pytest.mark.parametrize("name", ["local", "dev", "staging", "prod"])
def test_nothing_is_found_in_a_shipped_environment(name: str, tmp_path: Path) -> None:
    checked(context()["environments"][name], tmp_path).synth()


@pytest.mark.parametrize("ephemeral", [False, True])
def test_nothing_is_found_with_everything_switched_on_and_each_acknowledgement_says_why(
    ephemeral: bool, tmp_path: Path
) -> None:
    app = checked(EVERYTHING | {"ephemeral": ephemeral}, tmp_path)
    app.synth()
    given = [
        reason
        for construct in app.node.find_all()
        for entry in construct.node.metadata
        if entry.type == Validations.ACKNOWLEDGED_RULES_METADATA_KEY
        for reason in reasons(entry.data)
    ]
    assert given
    assert [reason for reason in given if len(reason.split()) < 5] == []


def reasons(data: Any) -> list[str]:
    return [data] if isinstance(data, str) else [text for each in data.values() for text in reasons(each)]


def test_a_finding_that_nobody_acknowledged_stops_the_synthesis(tmp_path: Path) -> None:
    app = checked(context()["environments"]["dev"], tmp_path)
    cdk.aws_s3.Bucket(cdk.Stack(app, "Careless"), "Bucket")
    with pytest.raises(RuntimeError, match="does not require requests to use SSL") as found:
        app.synth()
    assert "Careless/Bucket" in str(found.value)
    assert "decision-dev" not in str(found.value)
