"""The app as the deployment tests use it: a copy of this checkout's, deployed to the emulator, and a hand on it."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from local import cdk, commands, inspection
from local.console import Console
from local.demo import SUPPORT_ROUTE
from local.workspace import CHECKOUT, Workspace
from tests.local.conftest import Emulated

PARTS = ("stacks", "container", "model_packaging")
FILES = ("app.py", "cdk.json")
ENDPOINT = "decision-local-scoring"
SMOLLM2 = "model_packaging/declarations/smollm2-135m-instruct-q8_0.toml"
OTHER = "model_packaging/declarations/smollm2-135m-instruct-q4_1.toml"
TIMEOUTS = {"model_download_timeout_seconds": 300, "startup_timeout_seconds": 300}
HOSTING = {"instance_type": "ml.c6i.large", **TIMEOUTS}
SCORING: dict[str, Any] = {
    "kind": "decision",
    "container": {"target": "cpu"},
    "model": {"declaration": SMOLLM2},
    "hosting": {**HOSTING, "instance_count": 2},
    "scaling": {"minimum": 2, "maximum": 3, "requests_per_instance": 4},
    "bulk": {"instance_type": "ml.c6i.large"},
    "update": {"blue_green": {"canary_percent": 50, "bake_seconds": 60}},
}
TEXT: dict[str, Any] = {
    "kind": "standard",
    "container": {"target": "cpu"},
    "model": {"declaration": SMOLLM2},
    "hosting": HOSTING,
    "engine": {"ctx_size": 512},
}
ENVIRONMENTS = {
    "local": {"log_retention_days": 1, "endpoints": {"scoring": SCORING}},
    "second": {"ephemeral": True, "log_retention_days": 1, "endpoints": {"scoring": SCORING, "text": TEXT}},
}


@dataclass(frozen=True, kw_only=True)
class App:
    """A copy of this checkout's app, so that a test can change it."""

    emulated: Emulated
    workspace: Workspace

    @property
    def prefix(self) -> str:
        return f"decision-{self.workspace.environment}-"

    def of(self, environment: str) -> App:
        return replace(self, workspace=replace(self.workspace, environment=environment))

    def up(self) -> commands.Deployment:
        return commands.up(self.workspace, port=None, console=Console())

    def deploy(self) -> None:
        """As `up`, without its bootstrap."""
        arguments = ["deploy", "--all", "-c", f"env={self.workspace.environment}", "--require-approval", "never"]
        cdk.run(self.workspace, self.emulated.url, [*arguments, "--progress", "events"], say=print)

    def destroy(self) -> None:
        commands.destroy(self.workspace, self.emulated.url, console=Console())

    def change(self, *path: str, value: Any) -> None:
        """A setting of the environment's endpoint `scoring`."""
        with self._endpoints() as endpoints:
            table = endpoints["scoring"]
            for key in path[:-1]:
                table = table.setdefault(key, {})
            table[path[-1]] = value

    def add(self, key: str, **tables: Any) -> None:
        """Another endpoint: as `scoring`, but for these tables."""
        with self._endpoints() as endpoints:
            endpoints[key] = endpoints["scoring"] | tables

    def remove(self, key: str) -> None:
        with self._endpoints() as endpoints:
            del endpoints[key]

    @contextmanager
    def _endpoints(self) -> Iterator[dict[str, Any]]:
        """Those of the environment, to be changed."""
        file = self.workspace.root / "cdk.json"
        document = json.loads(file.read_text())
        yield document["context"]["environments"][self.workspace.environment]["endpoints"]
        file.write_text(json.dumps(document))

    def builds(self) -> dict[str, str]:
        """Build id → status."""
        codebuild = self.emulated.client("codebuild")
        ids = [each for each in codebuild.list_builds()["ids"] if each.startswith(self.prefix)]
        return (
            {each["id"]: each["buildStatus"] for each in codebuild.batch_get_builds(ids=ids)["builds"]} if ids else {}
        )

    def endpoint(self, key: str = "scoring") -> dict[str, Any]:
        described: dict[str, Any] = self.emulated.client("sagemaker").describe_endpoint(
            EndpointName=f"{self.prefix}{key}"
        )
        del described["ResponseMetadata"]
        return described

    def image(self) -> str:
        image: str = self.endpoint()["ProductionVariants"][0]["DeployedImages"][0]["ResolvedImage"]
        return image

    def model(self) -> dict[str, Any]:
        """The container of the model that answers."""
        sagemaker = self.emulated.client("sagemaker")
        config = sagemaker.describe_endpoint_config(EndpointConfigName=self.endpoint()["EndpointConfigName"])
        container: dict[str, Any] = sagemaker.describe_model(ModelName=config["ProductionVariants"][0]["ModelName"])[
            "PrimaryContainer"
        ]
        return container

    def stacks(self) -> dict[str, str]:
        found = self.emulated.client("cloudformation").describe_stacks()["Stacks"]
        return {each["StackName"]: each["StackStatus"] for each in found if each["StackName"].startswith(self.prefix)}

    def decide(self) -> list[float]:
        answer = self.invoke("scoring", {"decision": SUPPORT_ROUTE})
        probabilities: list[float] = answer["result"]["probabilities"]
        assert math.fsum(probabilities) == pytest.approx(1.0, abs=1e-9)
        return probabilities

    def invoke(self, key: str, body: dict[str, Any]) -> Any:
        response = self.emulated.client("sagemaker-runtime").invoke_endpoint(
            EndpointName=f"{self.prefix}{key}", ContentType="application/json", Body=json.dumps(body)
        )
        return json.loads(response["Body"].read())

    def left_by_destroy(self) -> set[str]:
        """What the output of the stack says that a destroy will leave."""
        said = inspection.output(self.emulated.url, f"{self.prefix}artifacts", "LeftByDestroy")
        return set(re.findall(r"(?:bucket|repository) (\S+?)(?:,|$)", said))

    def append(self, path: str, text: str) -> None:
        with (self.workspace.root / path).open("a") as file:
            file.write(text)


def created_app(emulated: Emulated, root: Path) -> App:
    """root: a folder for the copy, which may be there or not."""
    for part in PARTS:
        shutil.copytree(CHECKOUT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
    for file in FILES:
        shutil.copy(CHECKOUT / file, root / file)
    document = json.loads((root / "cdk.json").read_text())
    document["context"]["environments"] = ENVIRONMENTS
    (root / "cdk.json").write_text(json.dumps(document))
    app = App(emulated=emulated, workspace=Workspace(root=root, name=emulated.workspace.name))
    app.up()
    return app
