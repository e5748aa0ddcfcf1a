"""The real app on an emulator that checks every signed request against the policies of who signs it.

What it does not check stands in docs/local.md.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local import emulator_process, ports
from local.workspace import CHECKOUT, Workspace
from tests.local.conftest import Emulated, eventually
from tests.local.deployed_app import created_app

pytestmark = [pytest.mark.deploys, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def enforcing() -> Iterator[Emulated]:
    workspace = Workspace(root=CHECKOUT, name=f"tests-iam-{os.getpid()}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCAL_IMAGE_MODE", "venv")
        port, _ = ports.choose_port(None)
        running = emulator_process.start(
            workspace, port=port, runner="tests.local.fake_images:prepare", enforce_iam=True
        )
    try:
        yield Emulated(url=running.url, workspace=workspace)
    finally:
        emulator_process.stop(workspace)


def endpoint_with_rights(emulated: Emulated, name: str, statements: list[dict[str, Any]]) -> dict[str, Any]:
    """DescribeEndpoint's answer of one whose model data is read with a role of these rights, once it has settled."""
    iam, s3, ecr, sagemaker = (emulated.client(each) for each in ("iam", "s3", "ecr", "sagemaker"))
    trust = {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}, "Action": "sts:AssumeRole"}
        ],
    }
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))["Role"]["Arn"]
    iam.put_role_policy(
        RoleName=name,
        PolicyName="rights",
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": statements}),
    )
    s3.create_bucket(Bucket=name)
    # No archive: who may read it finds that out, and nothing needs to be run.
    s3.put_object(Bucket=name, Key="models/model.tar.gz", Body=b"no archive")
    ecr.create_repository(repositoryName=f"fake/{name}")
    manifest = json.dumps({"schemaVersion": 2, "config": {}, "layers": []})
    digest = ecr.put_image(repositoryName=f"fake/{name}", imageManifest=manifest, imageTag="v1")["image"]["imageId"]
    image = f"123456789012.dkr.ecr.us-east-1.amazonaws.com/fake/{name}@{digest['imageDigest']}"
    container = {"Image": image, "ModelDataUrl": f"s3://{name}/models/model.tar.gz"}
    sagemaker.create_model(ModelName=name, ExecutionRoleArn=role, PrimaryContainer=container)
    variant = {
        "VariantName": "AllTraffic",
        "ModelName": name,
        "InitialInstanceCount": 1,
        "InstanceType": "ml.c6i.large",
    }
    sagemaker.create_endpoint_config(EndpointConfigName=name, ProductionVariants=[variant])
    sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=name)

    def settled() -> dict[str, Any] | None:
        described: dict[str, Any] = sagemaker.describe_endpoint(EndpointName=name)
        return described if described["EndpointStatus"] != "Creating" else None

    answer: dict[str, Any] = eventually(settled)
    return answer


def test_model_data_is_read_with_the_rights_of_the_models_role_and_no_others(enforcing: Emulated, unique: str) -> None:
    def reason(name: str, prefix: str) -> str:
        allowed = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{name}/{prefix}/*"}
        failed: str = endpoint_with_rights(enforcing, name, [allowed])["FailureReason"]
        return failed

    assert "not authorized to perform: s3:GetObject" in reason(f"{unique}-a", "other")
    assert "not a gzip file" in reason(f"{unique}-b", "models")


def test_the_app_is_deployed_answers_and_is_destroyed_with_the_rights_that_it_declares(
    enforcing: Emulated, tmp_path: Path
) -> None:
    app = created_app(enforcing, tmp_path / "app")
    assert set(app.builds().values()) == {"SUCCEEDED"}
    app.decide()
    app.destroy()
    assert app.stacks() == {}
