"""Templates of an environment, synthesized in this process: loading the CDK costs seconds once, a template little."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

# jsii prints a notice about the end of life of Node 20, which the project supports.
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")
# A deprecated call prints a warning on every synth: here it fails the test that makes it.
os.environ["JSII_DEPRECATED"] = "fail"

ROOT = Path(__file__).resolve().parents[2]
Template = dict[str, Any]
# By the last word of the stack's name: artifacts, builds, and the key of each endpoint.
Templates = dict[str, Template]
Synthesize = Callable[..., Templates]


def context() -> dict[str, Any]:
    """A fresh copy of what cdk.json gives the app."""
    return deepcopy(json.loads((ROOT / "cdk.json").read_text())["context"])


def resources(template: Template, type_: str) -> list[dict[str, Any]]:
    return [each for each in template["Resources"].values() if each["Type"] == type_]


def only(template: Template, type_: str) -> dict[str, Any]:
    found = resources(template, type_)
    assert len(found) == 1, f"{len(found)} of {type_}"
    return found[0]


@pytest.fixture(scope="session")
def synthesize(tmp_path_factory: pytest.TempPathFactory) -> Synthesize:
    """synthesize("dev", changes={"ephemeral": True}, scoring={"engine": {}}, root=…): templates.

    `changes` lie over the environment, `scoring` over its endpoint of that name.
    """
    import aws_cdk as cdk

    from stacks.application import add_stacks
    from stacks.settings.environment import environment_from_context

    done: dict[str, Templates] = {}

    def run(
        name: str,
        *,
        changes: dict[str, Any] | None = None,
        scoring: dict[str, Any] | None = None,
        root: Path = ROOT,
    ) -> Templates:
        key = json.dumps([name, changes, scoring, str(root)], sort_keys=True)
        if key not in done:
            given = context()
            given["environments"][name] |= changes or {}
            if scoring:
                given["environments"][name]["endpoints"]["scoring"] |= scoring
            app = cdk.App(context=given, outdir=str(tmp_path_factory.mktemp("cdk.out")))
            settings = environment_from_context(name=name, environments=given["environments"], root=root)
            add_stacks(app, settings=settings, root=root)
            done[key] = {stack.stack_name.rpartition("-")[2]: stack.template for stack in app.synth().stacks}
        return deepcopy(done[key])

    return run


@pytest.fixture(scope="session", autouse=True)
def no_account() -> None:
    """Synth must work without credentials: the CLI's hints about account and region are not there."""
    for name in ("CDK_DEFAULT_ACCOUNT", "CDK_DEFAULT_REGION"):
        os.environ.pop(name, None)
