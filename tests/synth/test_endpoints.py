"""Several endpoints of one environment: a stack each, from one build where they run the same."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest

from stacks.application import add_stacks

from .conftest import ROOT, Synthesize, Template, only, resources
from .environments import least, read

SMALL = "model_packaging/declarations/smollm2-135m-instruct-q8_0.toml"


def environment(**endpoints: dict[str, Any]) -> dict[str, Any]:
    """Each with the default model and target but for what is given."""
    return {"endpoints": {key: least()["endpoints"]["scoring"] | given for key, given in endpoints.items()}}


def stacks(**endpoints: dict[str, Any]) -> dict[str, cdk.Stack]:
    app = cdk.App()
    add_stacks(app, settings=read(environment(**endpoints)), root=ROOT)
    return {
        each.stack_name.removeprefix("decision-dev-"): each for each in app.node.children if isinstance(each, cdk.Stack)
    }


def endpoints_before(made: dict[str, cdk.Stack], key: str) -> set[str]:
    """The other endpoints that the stack waits for."""
    names = {each.stack_name.removeprefix("decision-dev-") for each in made[key].dependencies}
    return names - {"artifacts", "builds", "operations"}


def triggers(template: Template) -> dict[str, str]:
    return {
        each["Properties"]["Kind"]: each["Properties"]["Trigger"] for each in resources(template, "Custom::BuildRun")
    }


def test_every_endpoint_waits_for_the_stack_that_holds_its_log() -> None:
    made = stacks(one={}, two={"engine": {"n_ctx": 2048}})
    for key in ("one", "two"):
        assert made["operations"] in made[key].dependencies


def test_endpoints_that_run_the_same_share_the_build_by_its_trigger(synthesize: Synthesize) -> None:
    given = environment(one={}, two={"engine": {"n_ctx": 2048}}, other={"model": {"declaration": SMALL}})
    templates = synthesize("dev", changes=given)
    one, two, other = (triggers(templates[key]) for key in ("one", "two", "other"))
    assert one == two
    assert one["image"] == other["image"]
    assert one["model"] != other["model"]


def test_the_standard_path_shares_the_archive_and_not_the_image(synthesize: Synthesize) -> None:
    templates = synthesize("prod")
    scoring, text = triggers(templates["scoring"]), triggers(templates["text"])
    assert scoring["model"] == text["model"]
    assert scoring["image"] != text["image"]


def test_each_endpoint_is_a_stack_and_a_name_of_its_own(synthesize: Synthesize) -> None:
    templates = synthesize("prod")
    assert set(templates) == {"artifacts", "builds", "operations", "scoring", "text"}
    for key in ("scoring", "text"):
        properties = only(templates[key], "AWS::SageMaker::Endpoint")["Properties"]
        assert properties["EndpointName"] == f"decision-prod-{key}"


def test_endpoints_wait_for_each_other_exactly_where_they_share_a_build() -> None:
    cuda = {"container": {"target": "cuda"}, "model": {"declaration": SMALL}}
    made = stacks(one={}, two={}, three={}, apart=cuda, last={"model": {"declaration": SMALL}})
    assert [endpoints_before(made, key) for key in ("one", "two", "three", "apart", "last")] == [
        set(),
        {"one"},
        {"two"},
        set(),
        {"three", "apart"},
    ]


def test_endpoints_that_build_nothing_wait_for_nobody() -> None:
    ready = {
        "container": {
            "target": "cpu",
            "image_uri": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/x@sha256:" + "ab" * 32,
        },
        "model": {"model_data_url": "s3://my-models/" + "cd" * 32 + "/model.tar.gz"},
    }
    made = stacks(one=ready, two=ready)
    assert endpoints_before(made, "two") == set()


@pytest.mark.parametrize("type_", ["AWS::SageMaker::Endpoint", "AWS::SageMaker::Model", "AWS::IAM::Role"])
def test_resources_carry_the_tags_of_their_environment_and_endpoint(synthesize: Synthesize, type_: str) -> None:
    template = synthesize("dev", changes={"tags": {"cost-center": "42"}})["scoring"]
    tags = {each["Key"]: each["Value"] for each in resources(template, type_)[0]["Properties"]["Tags"]}
    assert tags == {"cost-center": "42", "decision-environment": "dev", "decision-endpoint": "scoring"}


def test_what_endpoints_share_carries_the_tags_of_the_environment_alone(synthesize: Synthesize) -> None:
    template = synthesize("dev", changes={"tags": {"cost-center": "42"}})["artifacts"]
    tags = {each["Key"]: each["Value"] for each in only(template, "AWS::ECR::Repository")["Properties"]["Tags"]}
    assert tags == {"cost-center": "42", "decision-environment": "dev"}
