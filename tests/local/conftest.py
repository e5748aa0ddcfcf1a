"""One emulator for the whole session; each test uses names of its own in it."""

from __future__ import annotations

import io
import json
import os
import tarfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config

from local import aws, emulator_process, ports
from local.workspace import CHECKOUT, Workspace

if TYPE_CHECKING:
    from tests.local.deployed_app import App

ROLE = "arn:aws:iam::123456789012:role/execution"


def eventually(condition: Callable[[], Any], *, seconds: float = 30.0) -> Any:
    """Waits until the condition's value is true, and returns it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"not so within {seconds:g} s")


@dataclass(frozen=True, kw_only=True)
class Emulated:
    url: str
    workspace: Workspace

    def client(self, service: str) -> Any:
        return aws.client(service, self.url)

    def unchecked_client(self, service: str) -> Any:
        """One that leaves it to the service to find what is wrong with a request."""
        return boto3.client(
            service,  # type: ignore[call-overload]
            endpoint_url=self.url,
            region_name=aws.REGION,
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
            config=Config(parameter_validation=False),
        )


@pytest.fixture(scope="session")
def emulated() -> Iterator[Emulated]:
    workspace = Workspace(root=CHECKOUT, name=f"tests-{os.getpid()}")
    workspace.check()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCAL_IMAGE_MODE", "venv")
        # Must not reach a build or a container.
        patch.setenv("AWS_SESSION_TOKEN", "a-secret-of-the-developer")
        port, _ = ports.choose_port(None)
        running = emulator_process.start(workspace, port=port, runner="tests.local.fake_images:prepare")
    try:
        yield Emulated(url=running.url, workspace=workspace)
    finally:
        emulator_process.stop(workspace)


@pytest.fixture(scope="session")
def created(emulated: Emulated, tmp_path_factory: pytest.TempPathFactory) -> App:
    """The app, deployed once for all that only use it; test_deployment.py, which changes it, comes after them."""
    from tests.local.deployed_app import created_app

    return created_app(emulated, tmp_path_factory.mktemp("app"))


@pytest.fixture
def unique() -> str:
    return f"t{uuid.uuid4().hex[:12]}"


@dataclass(frozen=True, kw_only=True)
class Hosted:
    """What a model needs: an image of the fake container by digest, and a model archive."""

    emulated: Emulated
    repository: str
    image: str
    archive: str
    bucket: str

    def archive_of(self, name: str, members: dict[str, bytes]) -> str:
        """The s3:// URL of a tar.gz of these members; a member name may be one that no archive should have."""
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w:gz") as archive:
            for member, data in members.items():
                entry = tarfile.TarInfo(member)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
        self.emulated.client("s3").put_object(Bucket=self.bucket, Key=name, Body=content.getvalue())
        return f"s3://{self.bucket}/{name}"

    def model(self, name: str, *, environment: dict[str, str] | None = None, **container: str) -> str:
        definition = {"Image": self.image, "ModelDataUrl": self.archive, "Environment": environment or {}, **container}
        self.emulated.client("sagemaker").create_model(
            ModelName=name, ExecutionRoleArn=ROLE, PrimaryContainer=definition
        )
        return name

    def config(self, name: str, model: str, **variant: Any) -> str:
        definition = {
            "VariantName": "AllTraffic",
            "ModelName": model,
            "InitialInstanceCount": 1,
            "InstanceType": "ml.c6i.large",
            **variant,
        }
        self.emulated.unchecked_client("sagemaker").create_endpoint_config(
            EndpointConfigName=name,
            ProductionVariants=[{key: item for key, item in definition.items() if item is not None}],
        )
        return name

    def settled(self, endpoint: str) -> dict[str, Any]:
        """DescribeEndpoint's answer once nothing is in progress any more."""
        sagemaker = self.emulated.client("sagemaker")

        def described() -> dict[str, Any] | None:
            answer: dict[str, Any] = sagemaker.describe_endpoint(EndpointName=endpoint)
            return answer if answer["EndpointStatus"] in ("InService", "Failed") else None

        result: dict[str, Any] = eventually(described)
        return result

    def gone(self, endpoint: str) -> bool:
        names = [each["EndpointName"] for each in self.emulated.client("sagemaker").list_endpoints()["Endpoints"]]
        return endpoint not in names

    def remove(self, endpoint: str) -> None:
        self.settled(endpoint)
        self.emulated.client("sagemaker").delete_endpoint(EndpointName=endpoint)
        eventually(lambda: self.gone(endpoint))

    def ask(self, endpoint: str, body: bytes = b"hello", **parameters: str) -> dict[str, Any]:
        response = self.emulated.client("sagemaker-runtime").invoke_endpoint(
            EndpointName=endpoint, Body=body, ContentType="text/plain", **parameters
        )
        answer: dict[str, Any] = json.loads(response["Body"].read())
        return answer


@pytest.fixture
def hosted(emulated: Emulated, unique: str) -> Iterator[Hosted]:
    ecr, s3, sagemaker = (emulated.client(name) for name in ("ecr", "s3", "sagemaker"))
    repository = f"fake/{unique}"
    ecr.create_repository(repositoryName=repository)
    manifest = json.dumps({"schemaVersion": 2, "config": {"for": unique}, "layers": []})
    digest = ecr.put_image(repositoryName=repository, imageManifest=manifest, imageTag="v1")["image"]["imageId"][
        "imageDigest"
    ]
    s3.create_bucket(Bucket=unique)
    hosted = Hosted(
        emulated=emulated,
        repository=f"123456789012.dkr.ecr.us-east-1.amazonaws.com/{repository}",
        image=f"123456789012.dkr.ecr.us-east-1.amazonaws.com/{repository}@{digest}",
        archive=f"s3://{unique}/model.tar.gz",
        bucket=unique,
    )
    hosted.archive_of("model.tar.gz", {"manifest.json": b"{}", "tiny.gguf": b"GGUF"})
    yield hosted
    for endpoint in sagemaker.list_endpoints(NameContains=unique)["Endpoints"]:
        hosted.remove(endpoint["EndpointName"])
