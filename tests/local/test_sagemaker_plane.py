"""SageMaker's control plane of the emulator, through boto3: what AWS accepts is accepted, what AWS refuses is
refused.
"""

from __future__ import annotations

import http.client
import re
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.local.conftest import ROLE, Hosted, eventually


def refusal(call: Any, **parameters: Any) -> str:
    with pytest.raises(ClientError) as refused:
        call(**parameters)
    assert refused.value.response["Error"]["Code"] == "ValidationException"
    return refused.value.response["Error"]["Message"]


def pools(*types: str, priorities: tuple[int, ...] | None = None) -> list[dict[str, Any]]:
    chosen = priorities or tuple(range(1, len(types) + 1))
    return [{"InstanceType": each, "Priority": priority} for each, priority in zip(types, chosen, strict=True)]


def test_a_model_is_described_and_listed_as_it_was_created(hosted: Hosted, unique: str) -> None:
    sagemaker = hosted.emulated.client("sagemaker")
    hosted.model(unique, environment={"FAKE_X": "1"})
    described = sagemaker.describe_model(ModelName=unique)
    assert described["PrimaryContainer"] == {
        "Image": hosted.image,
        "ModelDataUrl": hosted.archive,
        "Environment": {"FAKE_X": "1"},
    }
    assert described["ModelArn"] == f"arn:aws:sagemaker:us-east-1:123456789012:model/{unique}"
    assert [each["ModelName"] for each in sagemaker.list_models(NameContains=unique)["Models"]] == [unique]
    sagemaker.delete_model(ModelName=unique)
    assert refusal(sagemaker.describe_model, ModelName=unique) == f'Could not find model "{described["ModelArn"]}".'


def test_a_second_model_of_the_same_name_is_refused_by_its_arn(hosted: Hosted, unique: str) -> None:
    hosted.model(unique)
    with pytest.raises(ClientError, match=f'Cannot create already existing model "arn:.*:model/{unique}"'):
        hosted.model(unique)


@pytest.mark.parametrize("name", ["under_score", "-dash", "a" * 64])
def test_a_name_outside_the_api_s_pattern_is_refused(hosted: Hosted, name: str) -> None:
    create = hosted.emulated.client("sagemaker").create_model
    message = refusal(create, ModelName=name, ExecutionRoleArn=ROLE, PrimaryContainer={"Image": hosted.image})
    assert "at 'modelName' failed to satisfy constraint" in message


@pytest.mark.parametrize("image", ["{repository}@sha256:" + "0" * 64, "{repository}:v2"])
def test_an_image_that_the_registry_does_not_hold_is_refused(hosted: Hosted, unique: str, image: str) -> None:
    wanted = image.format(repository=hosted.repository)
    with pytest.raises(ClientError, match=f"Requested image {wanted} not found"):
        hosted.model(unique, Image=wanted)


def test_an_image_outside_ecr_is_refused(hosted: Hosted, unique: str) -> None:
    with pytest.raises(ClientError, match=r"Unsupported image 'docker\.io/library/python:3\.12'"):
        hosted.model(unique, Image="docker.io/library/python:3.12")


def test_model_data_that_is_not_there_is_refused(hosted: Hosted, unique: str) -> None:
    with pytest.raises(ClientError, match=f"Could not access model data at s3://{unique}/none.tar.gz"):
        hosted.model(unique, ModelDataUrl=f"s3://{unique}/none.tar.gz")


def _unpacked(hosted: Hosted, name: str, prefix: str, members: dict[str, bytes]) -> dict[str, Any]:
    """The container of a model whose members stand under a prefix of the bucket."""
    for member, content in members.items():
        hosted.emulated.client("s3").put_object(Bucket=name, Key=prefix + member, Body=content)
    source = {"S3DataType": "S3Prefix", "CompressionType": "None", "S3Uri": f"s3://{name}/{prefix}"}
    return {"Image": hosted.image, "ModelDataSource": {"S3DataSource": source}}


def test_a_model_that_is_not_packed_is_served_from_its_prefix(hosted: Hosted, unique: str) -> None:
    members = {"manifest.json": b"{}", "tiny.gguf": b"GGUF"}
    container = _unpacked(hosted, unique, "models/ab/model/", members)
    sagemaker = hosted.emulated.client("sagemaker")
    sagemaker.create_model(ModelName=unique, ExecutionRoleArn=ROLE, PrimaryContainer=container)
    hosted.config(unique, unique)
    sagemaker.create_endpoint(EndpointName=unique, EndpointConfigName=unique)
    assert hosted.settled(unique)["EndpointStatus"] == "InService"
    assert hosted.ask(unique)["files"] == sorted(members)


def test_a_prefix_that_holds_nothing_or_is_none_is_refused(hosted: Hosted, unique: str) -> None:
    create = hosted.emulated.client("sagemaker").create_model
    empty = _unpacked(hosted, unique, "nothing/", {})
    with pytest.raises(ClientError, match=f"Could not access model data at s3://{unique}/nothing/"):
        create(ModelName=unique, ExecutionRoleArn=ROLE, PrimaryContainer=empty)
    empty["ModelDataSource"]["S3DataSource"]["S3Uri"] = f"s3://{unique}/nothing"
    with pytest.raises(ClientError, match="a prefix ends in a slash"):
        create(ModelName=unique, ExecutionRoleArn=ROLE, PrimaryContainer=empty)


def test_a_tag_is_resolved_to_its_digest_when_the_model_is_created(hosted: Hosted, unique: str) -> None:
    hosted.model(unique, Image=f"{hosted.repository}:v1")
    hosted.config(unique, unique)
    hosted.emulated.client("sagemaker").create_endpoint(EndpointName=unique, EndpointConfigName=unique)
    images = hosted.settled(unique)["ProductionVariants"][0]["DeployedImages"][0]
    assert (images["SpecifiedImage"], images["ResolvedImage"]) == (f"{hosted.repository}:v1", hosted.image)


@pytest.mark.parametrize(
    ("variant", "reason"),
    [
        (
            {"InstanceType": "ml.none.large"},
            "at 'productionVariants.1.member.instanceType' failed to satisfy constraint",
        ),
        ({"InstanceType": None}, "got none of them"),
        ({"InstancePools": pools("ml.g5.2xlarge")}, "got InstanceType and InstancePools"),
        (
            {"InstanceType": None, "InstancePools": pools("ml.g5.2xlarge", "ml.g5.2xlarge")},
            "InstanceType must be unique",
        ),
        (
            {"InstanceType": None, "InstancePools": pools("ml.g5.2xlarge", "ml.g6.2xlarge", priorities=(2, 2))},
            "Priority must be unique",
        ),
        (
            {"InstanceType": None, "InstancePools": pools("ml.g5.2xlarge", priorities=(6,))},
            "Member must have value <= 5",
        ),
        ({"VariantInstanceProvisionTimeoutInSeconds": 600}, "needs InstancePools"),
        ({"ContainerStartupHealthCheckTimeoutInSeconds": 59}, "Member must have value >= 60"),
        ({"ModelName": "nobody"}, "Could not find model"),
    ],
)
def test_a_variant_that_aws_refuses_is_refused(
    hosted: Hosted, unique: str, variant: dict[str, Any], reason: str
) -> None:
    hosted.model(unique)
    with pytest.raises(ClientError, match="ValidationException") as refused:
        hosted.config(unique, unique, **variant)
    assert reason in str(refused.value)


def test_pools_are_kept_with_their_priorities(hosted: Hosted, unique: str) -> None:
    hosted.model(unique)
    wanted = pools("ml.g6.2xlarge", "ml.g5.2xlarge")
    hosted.config(
        unique, unique, InstanceType=None, InstancePools=wanted, VariantInstanceProvisionTimeoutInSeconds=1200
    )
    described = hosted.emulated.client("sagemaker").describe_endpoint_config(EndpointConfigName=unique)
    variant = described["ProductionVariants"][0]
    assert variant["InstancePools"] == wanted
    assert "InstanceType" not in variant


def test_an_endpoint_answers_from_the_unpacked_archive_with_the_model_s_environment(
    hosted: Hosted, unique: str
) -> None:
    sagemaker = hosted.emulated.client("sagemaker")
    hosted.model(unique, environment={"FAKE_X": "1"})
    hosted.config(unique, unique)
    sagemaker.create_endpoint(EndpointName=unique, EndpointConfigName=unique)
    assert sagemaker.describe_endpoint(EndpointName=unique)["EndpointStatus"] in ("Creating", "InService")
    assert hosted.settled(unique)["EndpointStatus"] == "InService"
    answer = hosted.ask(unique)
    assert answer["files"] == ["manifest.json", "tiny.gguf"]
    environment = answer["environment"]
    assert environment["FAKE_X"] == "1"
    assert environment["DECISION_HOST"] == "127.0.0.1"
    assert environment["FAKE_IMAGE_DIGEST"] == hosted.image.rpartition("@")[2]
    assert not [name for name in environment if name.startswith("AWS_")]


def test_a_container_that_ends_at_its_start_fails_the_endpoint_with_the_end_of_its_log(
    hosted: Hosted, unique: str
) -> None:
    hosted.model(unique, environment={"FAKE_START": "crash"})
    hosted.config(unique, unique)
    sagemaker = hosted.emulated.client("sagemaker")
    sagemaker.create_endpoint(EndpointName=unique, EndpointConfigName=unique)
    described = hosted.settled(unique)
    assert described["EndpointStatus"] == "Failed"
    assert "did not pass the ping health check" in described["FailureReason"]
    assert "cannot load the model: out of luck" in described["FailureReason"]
    with pytest.raises(ClientError, match="its status is Failed, not InService"):
        hosted.ask(unique)


def test_an_archive_that_points_outside_its_folder_fails_the_endpoint_and_leaves_nothing(
    hosted: Hosted, unique: str
) -> None:
    url = hosted.archive_of("evil.tar.gz", {"tiny.gguf": b"GGUF", "../escaped": b"x"})
    hosted.model(unique, ModelDataUrl=url)
    hosted.config(unique, unique)
    hosted.emulated.client("sagemaker").create_endpoint(EndpointName=unique, EndpointConfigName=unique)
    assert "'../escaped' points outside" in hosted.settled(unique)["FailureReason"]
    endpoints = hosted.emulated.workspace.state / "endpoints"
    assert not list(endpoints.parent.rglob("escaped"))


def test_an_update_moves_the_endpoint_to_a_new_container_and_ends_the_old_one(hosted: Hosted, unique: str) -> None:
    sagemaker = hosted.emulated.client("sagemaker")
    for version in ("a", "b"):
        hosted.model(f"{unique}-{version}", environment={"FAKE_VERSION": version})
        hosted.config(f"{unique}-{version}", f"{unique}-{version}")
    sagemaker.create_endpoint(EndpointName=unique, EndpointConfigName=f"{unique}-a")
    hosted.settled(unique)
    before = hosted.ask(unique)
    sagemaker.update_endpoint(EndpointName=unique, EndpointConfigName=f"{unique}-b")
    # Somebody answers all the time.
    assert hosted.ask(unique)["environment"]["FAKE_VERSION"] in ("a", "b")
    described = hosted.settled(unique)
    assert (described["EndpointStatus"], described["EndpointConfigName"]) == ("InService", f"{unique}-b")
    assert hosted.ask(unique)["environment"]["FAKE_VERSION"] == "b"
    eventually(lambda: not alive(before["pid"]))
    eventually(lambda: not Path(before["folder"]).exists())


def test_an_update_whose_container_fails_keeps_the_old_one_and_says_why(hosted: Hosted, unique: str) -> None:
    sagemaker = hosted.emulated.client("sagemaker")
    hosted.model(f"{unique}-good")
    hosted.config(f"{unique}-good", f"{unique}-good")
    hosted.model(f"{unique}-bad", environment={"FAKE_START": "crash"})
    hosted.config(f"{unique}-bad", f"{unique}-bad")
    sagemaker.create_endpoint(EndpointName=unique, EndpointConfigName=f"{unique}-good")
    hosted.settled(unique)
    pid = hosted.ask(unique)["pid"]
    sagemaker.update_endpoint(EndpointName=unique, EndpointConfigName=f"{unique}-bad")
    described = hosted.settled(unique)
    assert (described["EndpointStatus"], described["EndpointConfigName"]) == ("InService", f"{unique}-good")
    assert "out of luck" in described["FailureReason"]
    assert hosted.ask(unique)["pid"] == pid


def test_an_endpoint_in_progress_can_be_neither_updated_nor_deleted(hosted: Hosted, unique: str) -> None:
    sagemaker = hosted.emulated.client("sagemaker")
    hosted.model(unique, environment={"FAKE_HEALTH": "never"})
    hosted.config(unique, unique, ContainerStartupHealthCheckTimeoutInSeconds=60)
    sagemaker.create_endpoint(EndpointName=unique, EndpointConfigName=unique)
    try:
        assert "Cannot update in-progress endpoint" in refusal(sagemaker.delete_endpoint, EndpointName=unique)
        message = refusal(sagemaker.update_endpoint, EndpointName=unique, EndpointConfigName=unique)
        assert "Cannot update in-progress endpoint" in message
    finally:
        end_container(hosted, unique)
    assert hosted.settled(unique)["EndpointStatus"] == "Failed"


def test_a_deleted_endpoint_is_gone_with_its_process(hosted: Hosted, unique: str) -> None:
    sagemaker = hosted.emulated.client("sagemaker")
    hosted.model(unique)
    hosted.config(unique, unique)
    sagemaker.create_endpoint(EndpointName=unique, EndpointConfigName=unique)
    hosted.settled(unique)
    pid = hosted.ask(unique)["pid"]
    sagemaker.delete_endpoint(EndpointName=unique)
    eventually(lambda: hosted.gone(unique))
    assert not alive(pid)
    with pytest.raises(ClientError, match="Could not find endpoint"):
        sagemaker.describe_endpoint(EndpointName=unique)


def test_a_container_that_dies_is_started_again(hosted: Hosted, unique: str) -> None:
    sagemaker = hosted.emulated.client("sagemaker")
    hosted.model(unique)
    hosted.config(unique, unique)
    sagemaker.create_endpoint(EndpointName=unique, EndpointConfigName=unique)
    hosted.settled(unique)
    first = hosted.ask(unique)["pid"]
    with pytest.raises(ClientError, match="ModelError"):
        hosted.ask(unique, b"die")

    def answered() -> int | None:
        try:
            return int(hosted.ask(unique)["pid"])
        except ClientError:
            return None

    assert eventually(answered) != first


def test_what_a_container_prints_is_in_the_endpoint_s_log_group(hosted: Hosted, unique: str) -> None:
    hosted.model(unique)
    hosted.config(unique, unique)
    hosted.emulated.client("sagemaker").create_endpoint(EndpointName=unique, EndpointConfigName=unique)
    hosted.settled(unique)
    events = hosted.emulated.client("logs").filter_log_events(logGroupName=f"/aws/sagemaker/Endpoints/{unique}")[
        "events"
    ]
    assert "the fake container starts" in [event["message"] for event in events]


def test_the_runtime_and_the_control_plane_say_which_endpoint_they_do_not_know(hosted: Hosted, unique: str) -> None:
    with pytest.raises(ClientError, match=f"Endpoint {unique} of account 123456789012 not found"):
        hosted.ask(unique)


def alive(pid: int) -> bool:
    """False for a process that has ended and waits for its parent, too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def end_container(hosted: Hosted, endpoint: str) -> None:
    """Makes a container that never gets healthy end; its log tells where it listens."""

    def port() -> int | None:
        for log in (hosted.emulated.workspace.logs / "endpoints").glob(f"{endpoint}-*.log"):
            if found := re.search(r"listens on (\d+)", log.read_text()):
                return int(found[1])
        return None

    connection = http.client.HTTPConnection("127.0.0.1", eventually(port), timeout=10)
    connection.request("POST", "/invocations", body=b"die")
    with pytest.raises(http.client.RemoteDisconnected):
        connection.getresponse()
    connection.close()
