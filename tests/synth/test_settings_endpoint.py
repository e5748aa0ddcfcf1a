"""How an endpoint is called, scaled, updated, watched: read as given, or refused with name, value, limit and remedy."""

from __future__ import annotations

from typing import Any

import pytest

from stacks.settings import (
    AlarmLimits,
    Asynchronous,
    AwsImage,
    BlueGreen,
    Bulk,
    DataCapture,
    HubModel,
    PinnedImage,
    Rolling,
    Scaling,
    StandardEndpoint,
)
from stacks.settings.engine import DEADLINE_SECONDS, MAX_BODY_BYTES, QUEUE_SIZE

from .conftest import ROOT
from .environments import endpoint_of, least, refusal, with_tables

PAIR = {"instance_count": 2}
HUB = {"hub": {"repo": "ggml-org/SmolLM2-GGUF", "file": "q8/smollm2-q8_0.gguf"}}
SMALL = {"declaration": "model_packaging/declarations/smollm2-135m-instruct-q8_0.toml"}
ARCHIVE = {"model_data_url": "s3://my-models/" + "cd" * 32 + "/model.tar.gz"}
BATCHES = ["c4", "c5", "c6i", "c7i", "g4dn", "g5", "g6", "g6e", "m4", "m5", "m6i", "m7i", "r6i", "r7i"]


def test_everything_of_an_endpoint_is_read_as_given() -> None:
    endpoint = endpoint_of(
        with_tables(
            least(),
            hosting={"instance_count": 3, "asynchronous": {"max_concurrent_invocations_per_instance": 7}},
            scaling={
                "minimum": 2,
                "maximum": 5,
                "requests_per_instance": 9,
                "scale_out_cooldown_seconds": 11,
                "scale_in_cooldown_seconds": 12,
            },
            update={"blue_green": {"canary_percent": 10, "bake_seconds": 60, "termination_wait_seconds": 30}},
            alarms={"server_error_percent": 2, "busy_percent": 0.5, "latency_p95_seconds": 3, "label_mass": 0.75},
            capture={"sampling_percent": 10},
            bulk={"instance_type": "ml.m5.xlarge", "instance_count": 2, "max_concurrent_transforms": 3},
            engine={"deadline_seconds": 3590},
        )
    )
    assert endpoint.invocation == Asynchronous(max_concurrent_invocations_per_instance=7)
    assert endpoint.scaling == Scaling(
        minimum=2, maximum=5, requests_per_instance=9, scale_out_cooldown_seconds=11, scale_in_cooldown_seconds=12
    )
    assert endpoint.update == BlueGreen(canary_percent=10, bake_seconds=60, termination_wait_seconds=30)
    assert endpoint.alarms == AlarmLimits(
        server_error_percent=2.0, busy_percent=0.5, latency_p95_seconds=3.0, label_mass=0.75
    )
    assert endpoint.capture == DataCapture(sampling_percent=10)
    assert endpoint.bulk == Bulk(instance_type="ml.m5.xlarge", instance_count=2, max_concurrent_transforms=3)
    assert dict(endpoint.engine)["DECISION_DEADLINE_SECONDS"] == "3590"


def test_an_asynchronous_endpoint_may_scale_to_nothing() -> None:
    endpoint = endpoint_of(with_tables(least(), hosting={"asynchronous": {}}, scaling={"minimum": 0, "maximum": 1}))
    assert endpoint.scaling is not None
    assert endpoint.scaling.minimum == 0


def test_a_bulk_job_may_hold_a_hundred_megabytes_at_once() -> None:
    engine = {"max_body_bytes": 2**21}
    assert endpoint_of(with_tables(least(), bulk={"max_concurrent_transforms": 50}, engine=engine)).bulk is not None


def test_an_update_rolls_where_two_instances_are_left() -> None:
    rolling = {"rolling": {"batch_percent": 5, "bake_seconds": 0}}
    assert endpoint_of(with_tables(least(), hosting=PAIR, update=rolling)).update == Rolling(
        batch_percent=5, bake_seconds=0
    )


TABLES: list[tuple[dict[str, Any], str]] = [
    ({"kind": "text"}, "kind: 'text' given; one of decision, standard needed"),
    # Asynchronous.
    (
        {"hosting": {"asynchronous": {"max_concurrent_invocations_per_instance": 0}}},
        "hosting.asynchronous.max_concurrent_invocations_per_instance: 0 given; 1 to 1000 allowed",
    ),
    (
        {"hosting": {"asynchronous": {"queue": 1}}},
        "hosting.asynchronous.queue: unknown; allowed here: max_concurrent_invocations_per_instance",
    ),
    ({"hosting": {"asynchronous": True}}, "hosting.asynchronous: True given; an object is needed"),
    (
        {"hosting": {"asynchronous": {}}, "engine": {"deadline_seconds": 3601}},
        "engine.deadline_seconds: 3601 given; 1 to 3600 allowed",
    ),
    # Scaling.
    ({"scaling": {}}, "scaling.maximum: missing; it has no default"),
    (
        {"scaling": {"minimum": 0, "maximum": 2}},
        "scaling.minimum: 0 given; SageMaker keeps 1 instance of a real-time endpoint at least. Remedy: 1, or "
        "hosting.asynchronous, whose requests wait until an instance is there",
    ),
    (
        {"scaling": {"minimum": 3, "maximum": 2}},
        "scaling.maximum: 2 given; scaling.minimum is 3; 3 or more allowed",
    ),
    (
        {"scaling": {"maximum": 2}, "hosting": {"instance_type": "ml.t2.large"}},
        "hosting.instance_type: 'ml.t2.large' given; Application Auto Scaling takes no burstable instances. Remedy: ",
    ),
    ({"scaling": {"maximum": 101}}, "scaling.maximum: 101 given; 1 to 100 allowed"),
    (
        {"scaling": {"maximum": 2}, "hosting": {"instance_count": 3}},
        "hosting.instance_count: 3 given; the endpoint would start with 3, outside of its scaling; 1 to 2 allowed",
    ),
    (
        {"scaling": {"minimum": 2, "maximum": 4}},
        "hosting.instance_count: not given; the endpoint would start with 1, outside of its scaling; 2 to 4 allowed",
    ),
    (
        {"scaling": {"maximum": 2, "requests_per_instance": 0}},
        "scaling.requests_per_instance: 0 given; 1 to 1000 allowed",
    ),
    (
        {"scaling": {"maximum": 2, "scale_in_cooldown_seconds": -1}},
        "scaling.scale_in_cooldown_seconds: -1 given; 0 to 3600 allowed",
    ),
    (
        {"scaling": {"maximum": 2, "scale_out_cooldown_seconds": 3601}},
        "scaling.scale_out_cooldown_seconds: 3601 given; 0 to 3600 allowed",
    ),
    (
        {"scaling": {"most": 2}},
        "scaling.most: unknown; allowed here: maximum, minimum, requests_per_instance, scale_in_cooldown_seconds, "
        "scale_out_cooldown_seconds",
    ),
    # Updates.
    (
        {"update": {"blue_green": {}, "rolling": {"batch_percent": 50}}},
        "update: blue_green and rolling given, which exclude each other; 1 allowed",
    ),
    ({"update": {"linear": {}}}, "update.linear: unknown; allowed here: blue_green, rolling"),
    (
        {"update": {"blue_green": {"canary_percent": 4}}, "hosting": PAIR},
        "update.blue_green.canary_percent: 4 given; 5 to 50 allowed",
    ),
    (
        {"update": {"blue_green": {"canary_percent": 51}}, "hosting": PAIR},
        "update.blue_green.canary_percent: 51 given; 5 to 50 allowed",
    ),
    (
        {"update": {"blue_green": {"canary_percent": 10}}},
        "update.blue_green.canary_percent: 10 given; a part of 1 instance is none. Remedy: hosting.instance_count (with"
        " scaling also scaling.minimum) of 2 or more, or blue_green without canary_percent",
    ),
    (
        {"update": {"blue_green": {"canary_percent": 10}}, "hosting": PAIR, "scaling": {"maximum": 3}},
        "update.blue_green.canary_percent: 10 given; a part of 1 instance is none.",
    ),
    (
        {"update": {"blue_green": {"bake_seconds": 3601}}},
        "update.blue_green.bake_seconds: 3601 given; 0 to 3600 allowed",
    ),
    (
        {"update": {"blue_green": {"termination_wait_seconds": 3601}}},
        "update.blue_green.termination_wait_seconds: 3601 given; 0 to 3600 allowed",
    ),
    (
        {"update": {"blue_green": {"steps": 3}}},
        "update.blue_green.steps: unknown; allowed here: bake_seconds, canary_percent, termination_wait_seconds",
    ),
    ({"update": {"rolling": {}}, "hosting": PAIR}, "update.rolling.batch_percent: missing; it has no default"),
    (
        {"update": {"rolling": {"batch_percent": 51}}, "hosting": PAIR},
        "update.rolling.batch_percent: 51 given; 5 to 50 allowed",
    ),
    (
        {"update": {"rolling": {"batch_percent": 50}}},
        "update.rolling.batch_percent: 50 given; a part of 1 instance is none. Remedy: ",
    ),
    (
        {"update": {"rolling": {"batch_percent": 50, "bake_seconds": 4000}}, "hosting": PAIR},
        "update.rolling.bake_seconds: 4000 given; 0 to 3600 allowed",
    ),
    (
        {"update": {"rolling": {"size": 1}}, "hosting": PAIR},
        "update.rolling.size: unknown; allowed here: bake_seconds, batch_percent",
    ),
    # Alarms.
    ({"alarms": {"server_error_percent": 0}}, "alarms.server_error_percent: 0 given; 0.01 to 100 allowed"),
    ({"alarms": {"busy_percent": 101}}, "alarms.busy_percent: 101 given; 0.01 to 100 allowed"),
    ({"alarms": {"busy_percent": "5"}}, "alarms.busy_percent: '5' given; a number is needed, 0.01 to 100"),
    ({"alarms": {"busy_percent": True}}, "alarms.busy_percent: True given; a number is needed, 0.01 to 100"),
    ({"alarms": {"latency_p95_seconds": float("nan")}}, "alarms.latency_p95_seconds: nan given; 0.01 to 60 allowed"),
    ({"alarms": {"latency_p95_seconds": 61}}, "alarms.latency_p95_seconds: 61 given; 0.01 to 60 allowed"),
    (
        {"alarms": {"latency_p95_seconds": 3601}, "hosting": {"asynchronous": {}}},
        "alarms.latency_p95_seconds: 3601 given; 0.01 to 3600 allowed",
    ),
    ({"alarms": {"label_mass": 1}}, "alarms.label_mass: 1 given; 0.01 to 0.99 allowed"),
    (
        {"alarms": {"label_mass": 0.5}, "engine": {"readout": "likelihood"}},
        "alarms.label_mass: 0.5 given; the readout is 'likelihood', which reads no labels. Remedy: leave it out",
    ),
    (
        {"alarms": {"label_mass": 0.5}, "model": SMALL},
        "alarms.label_mass: 0.5 given; the readout is 'likelihood', which reads no labels. Remedy: leave it out",
    ),
    (
        {"alarms": {"p99": 5}},
        "alarms.p99: unknown; allowed here: busy_percent, label_mass, latency_p95_seconds, server_error_percent",
    ),
    # Capture.
    ({"capture": {}}, "capture.sampling_percent: missing; it has no default"),
    ({"capture": {"sampling_percent": 0}}, "capture.sampling_percent: 0 given; 1 to 100 allowed"),
    ({"capture": {"percent": 1}}, "capture.percent: unknown; allowed here: sampling_percent"),
    # Bulk.
    (
        {"bulk": {"instance_type": "ml.g5.xlarge"}},
        "bulk.instance_type: 'ml.g5.xlarge' given; a GPU instance; container.target is 'cpu'. Remedy: ",
    ),
    (
        {"bulk": {"instance_type": "ml.c6in.xlarge"}},
        f"bulk.instance_type: 'ml.c6in.xlarge' given; Batch Transform has no such instances; one of "
        f"{', '.join(BATCHES)} needed",
    ),
    (
        {"bulk": {"instance_type": "ml.c5.large"}},
        "bulk.instance_type: 'ml.c5.large' given; Batch Transform has no such size; a larger one needed",
    ),
    ({"bulk": {"instance_type": "big"}}, "bulk.instance_type: 'big' given; ml.FAMILY.SIZE needed"),
    ({"bulk": {"instance_count": 0}}, "bulk.instance_count: 0 given; 1 to 100 allowed"),
    ({"bulk": {"max_concurrent_transforms": 101}}, "bulk.max_concurrent_transforms: 101 given; 1 to 100 allowed"),
    (
        {"bulk": {"workers": 4}},
        "bulk.workers: unknown; allowed here: instance_count, instance_type, max_concurrent_transforms",
    ),
    (
        {"bulk": {"max_concurrent_transforms": 51}, "engine": {"max_body_bytes": 1048577}},
        "bulk.max_concurrent_transforms: 51 given; 51 requests of 2 MB (engine.max_body_bytes) at once; 100 MB together"
        " allowed. Remedy: lower one of the two",
    ),
    (
        {"bulk": {}, "hosting": {"asynchronous": {}}, "engine": {"deadline_seconds": 3591}},
        "engine.deadline_seconds: 3591 given; with bulk 3590 at most allowed: SageMaker waits an hour",
    ),
    # What the container holds.
    (
        {"bulk": {"max_concurrent_transforms": 66}},
        "bulk.max_concurrent_transforms: 66 given; the container holds 65 requests (1 and engine.queue_size); 65 at "
        "most allowed",
    ),
    (
        {"scaling": {"maximum": 2, "requests_per_instance": 4}, "engine": {"queue_size": 2}},
        "scaling.requests_per_instance: 4 given; the container holds 3 requests",
    ),
    (
        {
            "hosting": {"asynchronous": {"max_concurrent_invocations_per_instance": 10}},
            "scaling": {"maximum": 2, "requests_per_instance": 100},
            "engine": {"queue_size": 8},
        },
        "hosting.asynchronous.max_concurrent_invocations_per_instance: 10 given; the container holds 9 requests",
    ),
    # The model of our own container.
    (
        {"model": HUB},
        "model.hub: {'repo': 'ggml-org/SmolLM2-GGUF', 'file': 'q8/smollm2-q8_0.gguf'} given; the decision container"
        " takes verified archives only. Remedy: a declaration of that file (docs/packaging.md), or kind 'standard'",
    ),
]


@pytest.mark.parametrize(("tables", "expected"), TABLES, ids=[case[1][:70] for case in TABLES])
def test_what_cannot_work_is_refused_by_name(tables: dict[str, Any], expected: str) -> None:
    assert refusal(with_tables(least(), **tables)).startswith(f"endpoints.scoring.{expected}")


def test_the_mass_of_the_labels_can_be_watched_where_the_archive_alone_says_how_it_is_read() -> None:
    endpoint = endpoint_of(with_tables(least(), model=ARCHIVE, alarms={"label_mass": 0.5}))
    assert endpoint.alarms.label_mass == 0.5


def test_a_readout_of_ones_own_wins_over_the_declarations() -> None:
    endpoint = endpoint_of(with_tables(least(), model=SMALL, engine={"readout": "letters"}, alarms={"label_mass": 0.5}))
    assert endpoint.alarms.label_mass == 0.5


# The standard path.


def test_the_standard_path_serves_a_file_of_the_hub_with_the_container_of_aws() -> None:
    endpoint = endpoint_of(
        with_tables(
            least(kind="standard"),
            model=HUB,
            engine={"ctx_size": 8192, "threads": 8, "parallel": 2, "flash_attn": "on", "cache_type_k": "q8_0"},
        )
    )
    assert isinstance(endpoint, StandardEndpoint)
    assert endpoint.image == AwsImage()
    assert endpoint.model == HubModel(repo="ggml-org/SmolLM2-GGUF", file="q8/smollm2-q8_0.gguf")
    assert dict(endpoint.engine) == {
        "SM_LLAMA_CPP_CACHE_TYPE_K": "q8_0",
        "SM_LLAMA_CPP_CTX_SIZE": "8192",
        "SM_LLAMA_CPP_FLASH_ATTN": "on",
        "SM_LLAMA_CPP_PARALLEL": "2",
        "SM_LLAMA_CPP_THREADS": "8",
    }


def test_the_standard_path_takes_an_image_by_digest() -> None:
    uri = "763104351884.dkr.ecr.eu-west-1.amazonaws.com/llama-cpp@sha256:" + "ab" * 32
    endpoint = endpoint_of(with_tables(least(kind="standard"), container={"target": "cpu", "image_uri": uri}))
    assert endpoint.image == PinnedImage(uri=uri, account="763104351884", region="eu-west-1", repository="llama-cpp")


STANDARD: list[tuple[dict[str, Any], str]] = [
    ({"model": {}}, "model: 0 of declaration, hub, model_data_url given; exactly 1 needed"),
    (
        {"model": {**HUB, **SMALL}},
        "model: declaration and hub given, which exclude each other; 1 allowed",
    ),
    ({"model": {"hub": {"repo": "a/b"}}}, "model.hub.file: missing; it has no default"),
    (
        {"model": {"hub": {"repo": "smollm2", "file": "a.gguf"}}},
        "model.hub.repo: 'smollm2' given; OWNER/NAME of a repository of the hub needed",
    ),
    (
        {"model": {"hub": {"repo": "a/b", "file": "a.bin"}}},
        "model.hub.file: 'a.bin' given; the name of a .gguf file in that repository needed",
    ),
    (
        {"model": {"hub": {"repo": "a/b", "file": "a.gguf", "revision": "main"}}},
        "model.hub.revision: unknown; allowed here: file, repo",
    ),
    (
        {"engine": {"n_ctx": 4096}},
        "engine.n_ctx: unknown; allowed here: batch_size, cache_type_k, cache_type_v, ctx_size, flash_attn, "
        "n_gpu_layers, n_predict, parallel, reasoning_budget, threads, threads_batch, ubatch_size",
    ),
    ({"engine": {"ctx_size": 255}}, "engine.ctx_size: 255 given; 256 to 1048576 allowed"),
    (
        {"engine": {"batch_size": 256, "ubatch_size": 257}},
        "engine.ubatch_size: 257 given; no more than batch_size is computed at once; 256 at most allowed",
    ),
    (
        {"engine": {"ubatch_size": 4096}},
        "engine.ubatch_size: 4096 given; no more than batch_size is computed at once; 2048 at most allowed",
    ),
    (
        {"engine": {"flash_attn": "off", "cache_type_v": "q8_0"}},
        "engine.cache_type_v: 'q8_0' given; with flash_attn 'off' one of f32, f16, bf16 needed",
    ),
    ({"engine": {"reasoning_budget": 2**31}}, "engine.reasoning_budget: 2147483648 given; -1 to 2147483647 allowed"),
    (
        {"engine": {"threads_batch": 33}},
        "engine.threads_batch: 33 given; ml.c6i.8xlarge has 32 vCPUs; 32 at most allowed",
    ),
    ({"engine": {"cache_type_k": "q3"}}, "engine.cache_type_k: 'q3' given; one of f32, f16, bf16, q8_0"),
    (
        {"engine": {"n_gpu_layers": -1}},
        "engine.n_gpu_layers: -1 given; container.target is 'cpu', which has no GPU; 0 allowed",
    ),
    (
        {"alarms": {"label_mass": 0.5}},
        "alarms.label_mass: 0.5 given; kind 'standard' reads no labels. Remedy: leave it out",
    ),
    (
        {"container": {"target": "cpu", "image_uri": "llama-cpp:latest"}},
        "container.image_uri: 'llama-cpp:latest' given; ",
    ),
]


@pytest.mark.parametrize(("tables", "expected"), STANDARD, ids=[case[1][:70] for case in STANDARD])
def test_what_the_standard_path_cannot_do_is_refused_by_name(tables: dict[str, Any], expected: str) -> None:
    assert refusal(with_tables(least(kind="standard"), **tables)).startswith(f"endpoints.scoring.{expected}")


@pytest.mark.parametrize(
    ("variable", "value"),
    [("MAX_BODY_BYTES", MAX_BODY_BYTES), ("DEADLINE_SECONDS", DEADLINE_SECONDS), ("QUEUE_SIZE", QUEUE_SIZE)],
)
def test_what_the_settings_take_for_the_containers_default_is_its_default(variable: str, value: int) -> None:
    assert f"| `DECISION_{variable}` | `{value}` |" in (ROOT / "docs" / "interfaces.md").read_text()
