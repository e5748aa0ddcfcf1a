"""Every setting that cannot work is refused at synth, in a sentence that names environment, field, value and limit."""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from decision_server import choices, config
from decision_server.model_errors import StartupFailure
from stacks.settings import (
    BuiltImage,
    DecisionEndpoint,
    FixedInstances,
    InstancePools,
    PinnedImage,
    PinnedModel,
    StandardEndpoint,
)
from stacks.settings.engine import engine_variables
from stacks.settings.environment import environment_from_context
from stacks.settings.fields import Fields, SettingsError

from .conftest import ROOT, context
from .environments import Change, shipped

DIGEST = "sha256:" + "ab" * 32
IMAGE = f"123456789012.dkr.ecr.eu-west-1.amazonaws.com/decision/server@{DIGEST}"
ARCHIVE = "s3://my-models/decision/" + "cd" * 32 + "/model.tar.gz"


def read(environment: dict[str, Any], *, root: Path = ROOT) -> Any:
    return environment_from_context(name="dev", environments={"dev": environment}, root=root)


def scoring(environment: dict[str, Any], *, root: Path = ROOT) -> Any:
    """The one endpoint of an environment that is read as `dev`."""
    (endpoint,) = read(environment, root=root).endpoints
    return endpoint


def changed(name: str, change: Change) -> dict[str, Any]:
    """The environment with a change of its endpoint `scoring`, and no other endpoint. Nothing of it depends on how many
    instances there are."""
    environment: dict[str, Any] = deepcopy(context()["environments"][name])
    endpoint = environment["endpoints"]["scoring"]
    environment["endpoints"] = {"scoring": endpoint}
    for each in ("scaling", "update"):
        endpoint.pop(each, None)
    change(endpoint)
    return environment


def hosting(**values: Any) -> Change:
    return lambda endpoint: endpoint.setdefault("hosting", {}).update(values)


def engine(**values: Any) -> Change:
    return lambda endpoint: endpoint.setdefault("engine", {}).update(values)


@pytest.mark.parametrize("name", ["local", "dev", "staging", "prod"])
def test_each_environment_of_cdk_json_is_valid(name: str) -> None:
    environments = context()["environments"]
    assert environment_from_context(name=name, environments=environments, root=ROOT).name == name
    assert set(environments) == {"local", "dev", "staging", "prod"}


def key_and_kind(name: str) -> dict[str, type]:
    return {each.key: type(each) for each in shipped(name).endpoints}


def shipped_scoring(name: str) -> Any:
    return next(each for each in shipped(name).endpoints if each.key == "scoring")


def test_the_environments_run_on_what_they_are_meant_to() -> None:
    assert shipped_scoring("local").instances == FixedInstances(instance_type="ml.c6i.large", count=1)
    assert shipped_scoring("dev").instances == FixedInstances(instance_type="ml.c6i.2xlarge", count=1)
    assert shipped_scoring("staging").instances == FixedInstances(instance_type="ml.c6i.8xlarge", count=2)
    pools = ("ml.g6e.xlarge", "ml.g6.2xlarge", "ml.g5.2xlarge", "ml.g4dn.2xlarge")
    for endpoint, count in zip(shipped("prod").endpoints, (2, 1), strict=True):
        assert endpoint.instances == InstancePools(instance_types=pools, count=count, provision_timeout_seconds=1200)


def test_the_environments_hold_the_endpoints_they_are_meant_to() -> None:
    assert [key_and_kind(name) for name in ("local", "dev", "staging", "prod")] == [
        {"scoring": DecisionEndpoint},
        {"scoring": DecisionEndpoint},
        {"scoring": DecisionEndpoint},
        {"scoring": DecisionEndpoint, "text": StandardEndpoint},
    ]


def test_what_is_cheap_stays_cheap_and_what_matters_is_guarded() -> None:
    for name in ("local", "dev"):
        assert shipped_scoring(name).scaling is None
    for name in ("staging", "prod"):
        endpoint = shipped_scoring(name)
        assert endpoint.scaling.minimum == 2
        assert endpoint.update.canary_percent == 50
        assert endpoint.alarms.label_mass == 0.5
    for name in ("local", "dev", "staging", "prod"):
        assert not shipped(name).ephemeral
        assert all(each.capture is None for each in shipped(name).endpoints)


def test_engine_settings_become_the_containers_variables() -> None:
    def variables(name: str) -> list[dict[str, str]]:
        return [dict(each.engine) for each in shipped(name).endpoints]

    assert variables("local") == [{}]
    assert variables("dev") == [{"DECISION_N_CTX": "4096"}]
    assert variables("staging") == [{"DECISION_N_CTX": "4096", "DECISION_N_THREADS": "32"}]
    assert variables("prod") == [
        {"DECISION_N_CTX": "4096", "DECISION_N_GPU_LAYERS": "-1"},
        {"SM_LLAMA_CPP_CTX_SIZE": "8192", "SM_LLAMA_CPP_N_GPU_LAYERS": "-1", "SM_LLAMA_CPP_PARALLEL": "2"},
    ]


# Of SageMaker, and a secret, which has no place in a template.
NOT_SETTINGS = {"DECISION_MODEL_PATH", "DECISION_HOST", "DECISION_PORT", "DECISION_API_KEY", "DECISION_GGUF_SHA256"}


def test_the_engine_settings_are_the_variables_that_the_container_knows() -> None:
    everything = {
        "bulk_deadline_seconds": 3600, "bulk_max_bytes": 104857600, "chat_n_ctx": 512, "chat_slots": 1,
        "deadline_seconds": 50, "log_level": "info", "max_body_bytes": 1048576, "max_decisions": 64,
        "model_aliases": ["router", "jev small"], "n_ctx": 4096, "n_gpu_layers": 0, "n_threads": 8, "prefix_streams": 8,
        "prompt_version": "direct-options-v1", "queue_size": 64, "read_timeout_seconds": 10, "readout": "letters",
    }  # fmt: skip
    known = set(re.findall(r"^\| `(DECISION_[A-Z_]+)`", (ROOT / "docs" / "interfaces.md").read_text(), re.MULTILINE))
    variables = dict(scoring(changed("dev", engine(**everything))).engine)
    assert set(variables) == known - NOT_SETTINGS
    assert config.load(variables).model_aliases == ("router", "jev small")


def test_a_pinned_image_and_a_pinned_archive_replace_the_builds() -> None:
    environment = changed("dev", lambda each: each.update(model={"model_data_url": ARCHIVE}))
    assert scoring(environment).image == BuiltImage(libraries="base")
    environment["endpoints"]["scoring"]["container"]["image_uri"] = IMAGE
    settings = scoring(environment)
    assert settings.image == PinnedImage(
        uri=IMAGE, account="123456789012", region="eu-west-1", repository="decision/server"
    )
    assert settings.model == PinnedModel(bucket="my-models", key="decision/" + "cd" * 32 + "/model.tar.gz")


@pytest.mark.parametrize(
    ("name", "environments", "expected"),
    [
        (None, {"dev": {}, "prod": {}}, "no environment chosen. Remedy: -c env=NAME, with one of dev, prod"),
        ("test", {"dev": {}, "prod": {}}, "environment 'test' is unknown. Remedy: -c env=NAME with one of dev, prod"),
        (7, {"dev": {}}, "environment 7 is unknown. Remedy: -c env=NAME with one of dev"),
        ("Dev", {"Dev": {}}, "environment 'Dev': it names stacks and endpoints; 1 to 30 of a-z, 0-9 and -, a letter "
         "first and no - last, needed"),
        ("dev", None, 'cdk.json: the context has no "environments"; it holds the settings of each environment'),
        ("dev", {"dev": []}, "environment dev: [] given; an object is needed"),
    ],
)  # fmt: skip
def test_an_environment_that_cannot_be_chosen_is_refused(name: object, environments: object, expected: str) -> None:
    with pytest.raises(SettingsError) as caught:
        environment_from_context(name=name, environments=environments, root=ROOT)
    assert str(caught.value) == expected


CASES: list[tuple[str, Change, str]] = [
    (
        "dev",
        lambda each: each.update(colour="red"),
        "colour: unknown; allowed here: alarms, bulk, capture, container, engine, hosting, kind, model, scaling, ",
    ),
    ("dev", lambda each: each.pop("container"), "container: missing; it has no default"),
    ("dev", lambda each: each.update(hosting=[]), "hosting: [] given; an object is needed"),
    (
        "dev",
        lambda each: each["container"].update(target="gpu"),
        "container.target: 'gpu' given; one of cpu, cuda needed",
    ),
    (
        "dev",
        lambda each: each["container"].update(libraries="compiled-cpu"),
        "container.libraries: 'compiled-cpu' given; one of base, compiled needed",
    ),
    (
        "dev",
        lambda each: each["container"].update(libraries="base", image_uri=IMAGE),
        "container.libraries: 'base' given; container.image_uri is given, and its libraries are in it",
    ),
    (
        "dev",
        lambda each: each["container"].update(tag="v1"),
        "container.tag: unknown; allowed here: image_uri, libraries, target",
    ),
    # Mutable references.
    (
        "dev",
        lambda each: each["container"].update(image_uri=IMAGE.partition("@")[0] + ":latest"),
        "container.image_uri: '123456789012.dkr.ecr.eu-west-1.amazonaws.com/decision/server:latest' given; ",
    ),
    (
        "dev",
        lambda each: each["container"].update(image_uri=f"docker.io/library/x@{DIGEST}"),
        "container.image_uri: 'docker",
    ),
    ("dev", lambda each: each["container"].update(image_uri=IMAGE[:-1]), "container.image_uri: "),
    ("dev", lambda each: each["container"].update(image_uri=IMAGE.replace("@", ":v1@")), "container.image_uri: "),
    (
        "dev",
        lambda each: each.update(model={"model_data_url": "s3://bucket-1/model.tar.gz"}),
        "model.model_data_url: 's3://bucket-1/model.tar.gz' given; s3://BUCKET/[PREFIX/]<64 hex>/model.tar.gz needed",
    ),
    (
        "dev",
        lambda each: each.update(model={"model_data_url": ARCHIVE.replace("s3:", "https:")}),
        "model.model_data_url: ",
    ),
    (
        "dev",
        lambda each: each["model"].update(compression="zip"),
        "model.compression: 'zip' given; one of gzip, none needed",
    ),
    (
        "dev",
        lambda each: each.update(model={"model_data_url": ARCHIVE, "compression": "none"}),
        "model.compression: 'none' given; goes with a declaration only: the URL says it",
    ),
    (
        "dev",
        lambda each: (each["model"].update(compression="none"), each.update(bulk={})),
        "model.compression: 'none' given; with `bulk` a model.tar.gz is needed: SageMaker's batch transform takes no",
    ),
    (
        "dev",
        lambda each: each.update(model={"model_data_url": ARCHIVE.replace(".tar.gz", "/")}, bulk={}),
        f"model.model_data_url: '{ARCHIVE.replace('.tar.gz', '/')}' given; with `bulk` a model.tar.gz is needed",
    ),
    (
        "dev",
        lambda each: each["model"].update(gguf_sha256="ab" * 32),
        f"model.gguf_sha256: '{'ab' * 32}' given; goes with model_data_url only: a declaration pins it",
    ),
    (
        "dev",
        lambda each: each.update(model={"model_data_url": ARCHIVE, "gguf_sha256": "AB" * 32}),
        f"model.gguf_sha256: '{'AB' * 32}' given; 64 lower-case hex digits needed",
    ),
    ("dev", lambda each: each.update(model={}), "model: 0 of declaration, model_data_url given; exactly 1 needed"),
    (
        "dev",
        lambda each: each["model"].update(model_data_url=ARCHIVE),
        "model: declaration and model_data_url given, which exclude each other; 1 allowed",
    ),
    (
        "dev",
        lambda each: each.update(model={"declaration": "../elsewhere.toml"}),
        "model.declaration: '../elsewhere.toml' given; model_packaging/declarations/NAME.toml needed",
    ),
    (
        "dev",
        lambda each: each.update(model={"declaration": "model_packaging/declarations/no.toml"}),
        "model.declaration: 'model_packaging/declarations/no.toml' given; no such file; in that folder: qwen3.5-4b",
    ),
    # Fixed instances.
    ("dev", hosting(instance_type="c6i.large"), "hosting.instance_type: 'c6i.large' given; ml.FAMILY.SIZE needed"),
    (
        "dev",
        hosting(instance_type="ml.c7g.xlarge"),
        "hosting.instance_type: 'ml.c7g.xlarge' given; ml.FAMILY.SIZE needed",
    ),
    (
        "dev",
        hosting(instance_type="ml.g5.xlarge"),
        "hosting.instance_type: 'ml.g5.xlarge' given; a GPU instance; "
        "container.target is 'cpu'. Remedy: container.target 'cuda', or another instance",
    ),
    ("dev", hosting(instance_type=5), "hosting.instance_type: 5 given; a non-empty string is needed"),
    ("dev", hosting(instance_count=0), "hosting.instance_count: 0 given; 1 to 100 allowed"),
    ("dev", hosting(instance_count=1.5), "hosting.instance_count: 1.5 given; a whole number is needed, 1 to 100"),
    ("dev", hosting(instance_count=True), "hosting.instance_count: True given; a whole number is needed, 1 to 100"),
    (
        "dev",
        hosting(provision_timeout_seconds=600),
        "hosting.provision_timeout_seconds: 600 given; it belongs to instance_pools; an instance_type has none",
    ),
    (
        "dev",
        hosting(model_download_timeout_seconds=59),
        "hosting.model_download_timeout_seconds: 59 given; 60 to 3600 allowed",
    ),
    ("dev", hosting(startup_timeout_seconds=3601), "hosting.startup_timeout_seconds: 3601 given; 60 to 3600 allowed"),
    # Pools.
    (
        "prod",
        hosting(instance_pools=[]),
        "hosting.instance_pools: [] given; 0 types; 1 to 5 allowed, in order of preference",
    ),
    (
        "prod",
        hosting(instance_pools=[f"ml.g6.{size}xlarge" for size in (2, 4, 8, 12, 16, 24)]),
        "hosting.instance_pools: ['ml.g6.2xlarge', 'ml.g6.4xlarge', 'ml.g6.8xlarge', 'ml.g6.12xlarge', "
        "'ml.g6.16xlarge', 'ml.g6.24xlarge'] given; 6 types; 1 to 5 allowed",
    ),
    (
        "prod",
        hosting(instance_pools=["ml.g6.xlarge", "ml.g5.xlarge", "ml.g6.xlarge"]),
        "hosting.instance_pools: "
        "['ml.g6.xlarge', 'ml.g5.xlarge', 'ml.g6.xlarge'] given; ml.g6.xlarge twice; each type has one priority",
    ),
    (
        "prod",
        hosting(instance_pools=["ml.g6.xlarge", "ml.c6i.xlarge"]),
        "hosting.instance_pools[1]: 'ml.c6i.xlarge' given; a CPU instance; container.target is 'cuda'",
    ),
    ("prod", hosting(instance_pools=["ml.p3.2xlarge"]), "hosting.instance_pools[0]: 'ml.p3.2xlarge' given; ml.FAM"),
    (
        "prod",
        hosting(instance_pools="ml.g6.xlarge"),
        "hosting.instance_pools: 'ml.g6.xlarge' given; a list of strings is needed",
    ),
    (
        "prod",
        hosting(instance_type="ml.g6.xlarge"),
        "hosting: instance_pools and instance_type given, which exclude each other; 1 allowed",
    ),
    (
        "prod",
        hosting(provision_timeout_seconds=299),
        "hosting.provision_timeout_seconds: 299 given; 300 to 3600 allowed",
    ),
    ("prod", lambda each: each["container"].update(target="cpu"), "hosting.instance_pools: "),
    (
        "prod",
        hosting(instance_pools=["ml.g6.xlarge", "ml.g6e.large"]),
        "hosting.instance_pools[1]: 'ml.g6e.large' given; SageMaker has no such size of g6e; one of xlarge, 2xlarge, ",
    ),
    (
        "dev",
        hosting(instance_type="ml.c6i.13xlarge"),
        "hosting.instance_type: 'ml.c6i.13xlarge' given; SageMaker has no such size of c6i; one of large, xlarge, ",
    ),
    ("dev", hosting(instance_type=None), "hosting.instance_type: null given; a non-empty string is needed"),
    # Engine.
    ("dev", engine(n_threads=9), "engine.n_threads: 9 given; ml.c6i.2xlarge has 8 vCPUs; 8 at most allowed"),
    (
        "prod",
        engine(n_threads=5),
        "engine.n_threads: 5 given; ml.g6e.xlarge has 4 vCPUs; 4 at most allowed",
    ),
    ("prod", engine(n_gpu_layers=2**31), "engine.n_gpu_layers: 2147483648 given; -1 to 2147483647 allowed"),
    ("dev", engine(chat_n_ctx=0, chat_slots=2), "engine.chat_slots: 2 given; chat_n_ctx is 0, so there are no chats"),
    ("dev", engine(n_threads=0), "engine.n_threads: 0 given; 1 to 512 allowed"),
    ("dev", engine(n_ctx=255), "engine.n_ctx: 255 given; 256 to 1048576 allowed"),
    ("dev", engine(n_ctx="4096"), "engine.n_ctx: '4096' given; a whole number is needed, 256 to 1048576"),
    ("dev", engine(n_ctx=1048577), "engine.n_ctx: 1048577 given; 256 to 1048576 allowed"),
    ("dev", engine(read_timeout_seconds=61), "engine.read_timeout_seconds: 61 given; 1 to 60 allowed"),
    ("dev", engine(deadline_seconds=60), "engine.deadline_seconds: 60 given; 1 to 59 allowed"),
    (
        "dev",
        engine(readout="words"),
        "engine.readout: 'words' given; one of letters, likelihood, letters-rotated needed",
    ),
    ("dev", engine(model_path="/tmp"), "engine.model_path: unknown; allowed here: bulk_deadline_seconds, "),
    ("dev", engine(model_aliases=[]), "engine.model_aliases: [] given; 1 to 16 different names needed"),
    (
        "dev",
        engine(model_aliases=["a", "b, c"]),
        "engine.model_aliases[1]: 'b, c' given; 1 to 60 printable characters needed, no comma in them, no space around",
    ),
    (
        "dev",
        engine(model_aliases=["a\u0007b"]),
        "engine.model_aliases[0]: 'a\\x07b' given; 1 to 60 printable characters needed",
    ),
    ("dev", engine(model_aliases="a"), "engine.model_aliases: 'a' given; a list of strings is needed"),
    ("dev", engine(prompt_version="nope"), "engine.prompt_version: 'nope' given; one of direct-options-v1, "),
    (
        "dev",
        engine(readout="likelihood", prompt_version="direct-options-v1"),
        "engine.prompt_version: 'direct-options-v1' given; with the readout 'likelihood' one of likelihood-v1 needed",
    ),
    ("dev", engine(prompt_version=""), "engine.prompt_version: '' given; a non-empty string is needed"),
    (
        "dev",
        engine(n_gpu_layers=-1),
        "engine.n_gpu_layers: -1 given; container.target is 'cpu', which has no GPU; 0 allowed",
    ),
    (
        "prod",
        engine(n_gpu_layers=0),
        "engine.n_gpu_layers: 0 given; container.target is 'cuda' and no layer would run on it",
    ),
]


@pytest.mark.parametrize(("name", "change", "expected"), CASES, ids=[case[2][:60] for case in CASES])
def test_a_setting_that_cannot_work_is_refused_by_name(name: str, change: Change, expected: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read(changed(name, change))
    assert str(caught.value).startswith(f"environment dev: endpoints.scoring.{expected}")


ENVIRONMENT_CASES: list[tuple[Change, str]] = [
    (
        lambda each: each.update(colour="red"),
        "colour: unknown; allowed here: budget, endpoints, ephemeral, keys, log_retention_days, network, "
        "notifications, tags",
    ),
    (lambda each: each.update(ephemeral="yes"), "ephemeral: 'yes' given; true or false needed"),
    (
        lambda each: each.update(log_retention_days=8),
        "log_retention_days: 8 given; one of 1, 7, 30, 90, 365, 3653 needed",
    ),
]


@pytest.mark.parametrize(("change", "expected"), ENVIRONMENT_CASES, ids=[case[1][:60] for case in ENVIRONMENT_CASES])
def test_a_setting_of_the_environment_that_cannot_work_is_refused_by_name(change: Change, expected: str) -> None:
    environment = deepcopy(context()["environments"]["dev"])
    change(environment)
    with pytest.raises(SettingsError) as caught:
        read(environment)
    assert str(caught.value).startswith(f"environment dev: {expected}")


def test_five_pools_are_accepted_in_the_order_given() -> None:
    types = ["ml.g5.xlarge", "ml.g6.xlarge", "ml.g4dn.xlarge", "ml.g6e.xlarge", "ml.p5.48xlarge"]
    instances = scoring(changed("prod", hosting(instance_pools=types))).instances
    assert isinstance(instances, InstancePools)
    assert instances.instance_types == tuple(types)


def accepted(**values: str) -> bool:
    try:
        engine_variables(
            Fields(where="environment dev", path="engine", value=values), target="cpu", defaults={}, asynchronous=False
        )
    except SettingsError:
        return False
    return True


def container_accepts(readout: str, prompt_version: str) -> bool:
    try:
        choices.checked(readout, prompt_version)
    except StartupFailure:
        return False
    return True


@pytest.mark.parametrize("readout", [*choices.READOUTS, "words"])
@pytest.mark.parametrize("prompt_version", [*choices.PROMPT_VERSIONS, "nope-v1"])
def test_a_readout_and_a_prompt_version_pass_synth_exactly_where_the_container_takes_them(
    readout: str, prompt_version: str
) -> None:
    assert accepted(readout=readout, prompt_version=prompt_version) == container_accepts(readout, prompt_version)
    assert accepted(readout=readout) == (readout in choices.READOUTS)
    assert accepted(prompt_version=prompt_version) == (prompt_version in choices.PROMPT_VERSIONS)


def test_synth_knows_no_names_that_the_container_does_not() -> None:
    for field, known in (("readout", choices.READOUTS), ("prompt_version", choices.PROMPT_VERSIONS)):
        with pytest.raises(SettingsError) as caught:
            read(changed("dev", engine(**{field: "nope"})))
        assert str(caught.value).endswith(f"one of {', '.join(known)} needed")


COMMIT = re.compile(r'revision = "[0-9a-f]{40}"')
SOURCE = re.compile(r"\[source\].*?(?=\n\[)", re.DOTALL)


@pytest.mark.parametrize(
    ("pattern", "replacement", "expected"),
    [
        (COMMIT, 'revision = "main"', "source.revision: 'main' given; a commit of 40 lower-case hex digits"),
        (SOURCE, '[source]\nkind = "file"\npath = "a.gguf"', "its source.kind is 'file', and a file of this machine"),
        (SOURCE, "[source", "not TOML: "),
    ],
    ids=["a branch", "a local file", "not TOML"],
)
def test_a_declaration_that_codebuild_could_not_package_is_refused(
    tmp_path: Path, pattern: re.Pattern[str], replacement: str, expected: str
) -> None:
    name = "model_packaging/declarations/qwen3.5-4b-q4_k_m.toml"
    text, count = pattern.subn(lambda _: replacement, (ROOT / name).read_text())
    assert count == 1
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(text)
    with pytest.raises(SettingsError) as caught:
        read(changed("dev", lambda each: each.update(model={"declaration": name})), root=tmp_path)
    assert str(caught.value).startswith(f"environment dev: endpoints.scoring.model.declaration: '{name}' given; ")
    assert expected in str(caught.value)
