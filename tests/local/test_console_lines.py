"""Of all that cdk prints, the lines that a waiting person is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from local.aws import cdk_environment
from local.cdk import worth_showing
from local.watch import short_name


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("decision-local-builds: deploying... [2/3]", "decision-local-builds: deploying"),
        (" ✅  decision-local-builds", "decision-local-builds: done"),
        (" ✅  decision-local-builds (no changes)", "decision-local-builds: no changes"),
        (" ✅  decision-local-builds: destroyed", "decision-local-builds: destroyed"),
        (
            " ✅  Environment aws://123456789012/us-east-1 bootstrapped (no changes).",
            "Environment aws://123456789012/us-east-1 bootstrapped",
        ),
        ("decision-local-scoring | 1/9 | 4:26:40 PM | CREATE_IN_PROGRESS   | AWS::IAM::Role | Role (Role1)", None),
        (
            "decision-local-scoring | 1/9 | 4:26 PM | CREATE_FAILED | AWS::SageMaker::Endpoint | Hosting/Endpoint (X)",
            "decision-local-scoring: CREATE_FAILED Hosting/Endpoint",
        ),
        ("Outputs:", None),
    ],
)
def test_only_what_matters_is_shown(line: str, shown: str | None) -> None:
    assert worth_showing(line) == shown


def test_cdk_gets_no_credentials_and_no_profile_of_the_developer() -> None:
    base = {"PATH": "/bin", "AWS_PROFILE": "prod", "AWS_SESSION_TOKEN": "x", "CDK_DEFAULT_ACCOUNT": "1", "LANG": "C"}
    environment = cdk_environment("http://127.0.0.1:1", base=base, path_first=Path("/tools"), cache=Path("/cache"))
    assert "AWS_PROFILE" not in environment
    assert "AWS_SESSION_TOKEN" not in environment
    assert "CDK_DEFAULT_ACCOUNT" not in environment
    assert environment["AWS_CONFIG_FILE"] == "/dev/null"
    assert environment["PATH"] == "/tools:/bin"
    assert environment["LANG"] == "C"


def test_a_generated_project_name_is_shortened_and_another_one_kept() -> None:
    assert short_name("decision-local-builds-ImageBuildProject1EE40F3B-6C3B72C69C97D") == "ImageBuild"
    assert short_name("my-own-name") == "my-own-name"
