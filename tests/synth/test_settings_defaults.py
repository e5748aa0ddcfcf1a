"""What is left out has the value of the original sample, or is off."""

from __future__ import annotations

import pytest

from model_packaging.declaration import read_declaration
from stacks.settings import (
    AlarmLimits,
    Asynchronous,
    AwsImage,
    BlueGreen,
    BuiltImage,
    BuiltModel,
    Bulk,
    FixedInstances,
    InstancePools,
    Keys,
    Notifications,
    RealTime,
    Rolling,
    Scaling,
)

from .conftest import ROOT
from .environments import DECLARATION, endpoint_of, least, read, with_tables

POOLS = ("ml.g6e.xlarge", "ml.g6.2xlarge", "ml.g5.2xlarge", "ml.g4dn.2xlarge")


def test_an_environment_keeps_what_it_holds_tells_a_topic_of_its_own_and_has_no_budget_network_keys_or_tags() -> None:
    environment = read(least())
    assert not environment.ephemeral
    assert environment.log_retention_days == 30
    assert environment.notifications == Notifications(topic_arn=None, emails=())
    assert environment.keys == Keys(data=None, volume=None)
    assert (environment.network, environment.budget, environment.tags) == (None, None, ())


def test_an_endpoint_is_named_by_environment_and_key() -> None:
    endpoint = endpoint_of(least())
    assert (endpoint.key, endpoint.name) == ("scoring", "decision-dev-scoring")


def test_a_cpu_endpoint_runs_on_the_instance_of_the_original_with_its_threads() -> None:
    endpoint = endpoint_of(least("cpu"))
    assert endpoint.instances == FixedInstances(instance_type="ml.c6i.8xlarge", count=1)
    assert dict(endpoint.engine) == {"DECISION_N_THREADS": "32"}


def test_a_gpu_endpoint_runs_on_the_pools_of_the_original_with_all_layers() -> None:
    endpoint = endpoint_of(least("cuda"))
    assert endpoint.instances == InstancePools(instance_types=POOLS, count=1, provision_timeout_seconds=1200)
    assert dict(endpoint.engine) == {"DECISION_N_GPU_LAYERS": "-1"}


def test_another_cpu_instance_leaves_the_threads_to_the_container() -> None:
    endpoint = endpoint_of(with_tables(least(), hosting={"instance_type": "ml.c6i.2xlarge"}))
    assert endpoint.engine == ()


def test_threads_that_are_given_win() -> None:
    endpoint = endpoint_of(with_tables(least(), engine={"n_threads": 16}))
    assert dict(endpoint.engine) == {"DECISION_N_THREADS": "16"}


def test_pools_of_ones_own_are_looked_for_as_long_as_those_of_the_original() -> None:
    endpoint = endpoint_of(with_tables(least("cuda"), hosting={"instance_pools": ["ml.g6.xlarge"]}))
    assert endpoint.instances == InstancePools(
        instance_types=("ml.g6.xlarge",), count=1, provision_timeout_seconds=1200
    )


@pytest.mark.parametrize(("kind", "image"), [("decision", BuiltImage(libraries="base")), ("standard", AwsImage())])
def test_image_and_model_are_built_or_those_of_aws(kind: str, image: object) -> None:
    endpoint = endpoint_of(least(kind=kind))
    assert endpoint.image == image
    pinned = read_declaration(ROOT / DECLARATION).sha256
    assert endpoint.model == BuiltModel(declaration=DECLARATION, compression="gzip", gguf_sha256=pinned)


def test_the_standard_container_has_the_same_defaults_in_its_own_words() -> None:
    assert dict(endpoint_of(least("cpu", "standard")).engine) == {"SM_LLAMA_CPP_THREADS": "32"}
    assert dict(endpoint_of(least("cuda", "standard")).engine) == {"SM_LLAMA_CPP_N_GPU_LAYERS": "-1"}


def test_an_endpoint_answers_at_once_neither_scales_nor_captures_and_has_no_bulk_job() -> None:
    endpoint = endpoint_of(least())
    assert endpoint.invocation == RealTime()
    assert (endpoint.scaling, endpoint.capture, endpoint.bulk) == (None, None, None)
    assert endpoint.model_download_timeout_seconds == endpoint.startup_timeout_seconds == 1200


def test_an_update_is_a_new_fleet_that_is_watched_for_five_minutes() -> None:
    assert endpoint_of(least()).update == BlueGreen(canary_percent=None, bake_seconds=300, termination_wait_seconds=60)


@pytest.mark.parametrize(("target", "seconds"), [("cpu", 30.0), ("cuda", 5.0)])
def test_the_alarms_stand_at_limits_that_fit_the_target(target: str, seconds: float) -> None:
    assert endpoint_of(least(target)).alarms == AlarmLimits(
        server_error_percent=1.0, busy_percent=5.0, latency_p95_seconds=seconds, label_mass=None
    )


def test_a_table_that_only_switches_something_on_is_filled_up() -> None:
    asynchronous = endpoint_of(with_tables(least(), hosting={"asynchronous": {}}))
    assert asynchronous.invocation == Asynchronous(max_concurrent_invocations_per_instance=4)
    assert endpoint_of(with_tables(least(), scaling={"maximum": 3})).scaling == Scaling(
        minimum=1, maximum=3, requests_per_instance=4, scale_out_cooldown_seconds=60, scale_in_cooldown_seconds=600
    )
    rolling = with_tables(least(), hosting={"instance_count": 2}, update={"rolling": {"batch_percent": 50}})
    assert endpoint_of(rolling).update == Rolling(batch_percent=50, bake_seconds=300)


@pytest.mark.parametrize(("target", "instance_type"), [("cpu", "ml.c6i.8xlarge"), ("cuda", "ml.g6e.xlarge")])
def test_a_bulk_job_runs_on_one_instance_like_the_endpoints(target: str, instance_type: str) -> None:
    assert endpoint_of(with_tables(least(target), bulk={})).bulk == Bulk(
        instance_type=instance_type, instance_count=1, max_concurrent_transforms=4
    )
