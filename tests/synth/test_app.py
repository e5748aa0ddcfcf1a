"""The app as the command line runs it: silent when all is well, one line when not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT, context

CDK = ROOT / "node_modules" / ".bin" / "cdk"
QUIET_CLI = {"CDK_DISABLE_CLI_TELEMETRY": "true", "CDK_DISABLE_VERSION_CHECK": "1", "NODE_NO_WARNINGS": "1"}


def run_app(
    tmp_path: Path, chosen: dict[str, Any], *, python: str = sys.executable, app: Path = ROOT / "app.py"
) -> Any:
    """app.py with the context that the CLI hands over, and without anything of this test's own environment."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment |= {"CDK_CONTEXT_JSON": json.dumps(context() | chosen), "CDK_OUTDIR": str(tmp_path / "cdk.out")}
    return subprocess.run([python, str(app)], env=environment, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({}, "app.py: no environment chosen. Remedy: -c env=NAME, with one of dev, local, prod, staging\n"),
        (
            {"env": "nosuch"},
            "app.py: environment 'nosuch' is unknown. Remedy: -c env=NAME with one of dev, local, prod, staging\n",
        ),
    ],
)
def test_an_environment_that_is_missing_or_unknown_is_one_line_with_the_names(
    tmp_path: Path, chosen: dict[str, Any], expected: str
) -> None:
    done = run_app(tmp_path, chosen)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", expected)
    assert not list(tmp_path.glob("cdk.out/*.template.json"))


def test_a_mutable_tag_is_one_line_and_nothing_is_synthesized(tmp_path: Path) -> None:
    environments = context()["environments"]
    environments["dev"]["endpoints"]["scoring"]["container"]["image_uri"] = (
        "123456789012.dkr.ecr.us-east-1.amazonaws.com/x:latest"
    )
    done = run_app(tmp_path, {"env": "dev", "environments": environments})
    assert done.returncode == 1
    assert done.stderr.startswith(
        "app.py: environment dev: endpoints.scoring.container.image_uri: '123456789012.dkr.ecr"
    )
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.glob("cdk.out/*.template.json"))


def test_an_interpreter_without_the_cdk_goes_on_in_the_projects_own_environment(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    project = tmp_path / "project"
    (project / ".venv" / "bin").mkdir(parents=True)
    shutil.copyfile(ROOT / "app.py", project / "app.py")
    own = project / ".venv" / "bin" / "python"
    own.write_text('#!/bin/sh\necho "own environment: $@"\n')
    own.chmod(0o755)
    done = run_app(tmp_path, {"env": "dev"}, python=str(bare / "bin" / "python"), app=project / "app.py")
    assert (done.returncode, done.stdout) == (0, f"own environment: {project / 'app.py'}\n")

    shutil.rmtree(project / ".venv")
    done = run_app(tmp_path, {"env": "dev"}, python=str(bare / "bin" / "python"), app=project / "app.py")
    assert done.returncode == 1
    assert done.stderr.startswith("app.py: ")
    assert "has no aws-cdk-lib. Remedy: run `make setup` once" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_command_line_synthesizes_without_credentials_and_prints_its_own_output_only(tmp_path: Path) -> None:
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | QUIET_CLI
    out = tmp_path / "out"
    done = subprocess.run(
        [str(CDK), "synth", "--quiet", "-c", "env=prod", "--output", str(out)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    stacks = [f"decision-prod-{name}" for name in ("artifacts", "builds", "operations", "scoring", "text")]
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).splitlines() == [
        f"Successfully synthesized to {out}",
        f"Supply a stack id ({', '.join(stacks)}) to display its template.",
    ]
    assert {path.name for path in out.glob("*.template.json")} == {f"{stack}.template.json" for stack in stacks}
