"""The settings of one environment: frozen, closed, validated when the app is synthesized.

Knows the limits of SageMaker and of the container's variables (docs/interfaces.md section 2). Leaves to the stacks what
is made of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from stacks.instance_types import Processor, processor_of
from stacks.setting_fields import Fields, SettingsError

__all__ = [
    "BuiltImage",
    "BuiltModel",
    "Environment",
    "FixedInstances",
    "InstancePools",
    "PinnedImage",
    "PinnedModel",
    "SettingsError",
    "environment_from_context",
]

_ENVIRONMENT_NAME = re.compile(r"[a-z][a-z0-9-]{0,29}")
_IMAGE_URI = re.compile(
    r"(?P<account>[0-9]{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.(?P<suffix>amazonaws\.com(?:\.cn)?)"
    r"/(?P<repository>[a-z0-9][a-z0-9._/-]*)@sha256:[0-9a-f]{64}"
)
_MODEL_URL = re.compile(
    r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])/(?P<key>(?:[A-Za-z0-9!_.*'()-]+/)*[0-9a-f]{64}/model\.tar\.gz)"
)
_DECLARATION = re.compile(r"model_packaging/declarations/[A-Za-z0-9][A-Za-z0-9._-]*\.toml")


@dataclass(frozen=True, kw_only=True)
class FixedInstances:
    """`count` instances of one type."""

    instance_type: str
    count: int


@dataclass(frozen=True, kw_only=True)
class InstancePools:
    """`count` instances, each of the first type in order of preference that has capacity."""

    instance_types: tuple[str, ...]
    count: int
    provision_timeout_seconds: int


Instances: TypeAlias = "FixedInstances | InstancePools"


@dataclass(frozen=True, kw_only=True)
class BuiltImage:
    """The image is built from container/."""


@dataclass(frozen=True, kw_only=True)
class PinnedImage:
    """An image that is there already, by digest."""

    uri: str
    account: str
    region: str
    repository: str


@dataclass(frozen=True, kw_only=True)
class BuiltModel:
    """The model archive is packaged from a declaration, a path below the project's root."""

    declaration: str


@dataclass(frozen=True, kw_only=True)
class PinnedModel:
    """A model archive that is there already, under a content-addressed key."""

    bucket: str
    key: str


@dataclass(frozen=True, kw_only=True)
class Environment:
    """All settings of one environment. `engine` holds the container's variables, by name."""

    name: str
    target: Processor
    image: BuiltImage | PinnedImage
    model: BuiltModel | PinnedModel
    instances: Instances
    model_download_timeout_seconds: int
    startup_timeout_seconds: int
    engine: tuple[tuple[str, str], ...]
    ephemeral: bool
    log_retention_days: int


# Setting → (variable, lowest, highest). Model path, host and port belong to SageMaker's side and are no settings.
_ENGINE_NUMBERS: Mapping[str, tuple[int, int | None]] = {
    "n_ctx": (256, None),
    "n_threads": (1, 512),
    "n_gpu_layers": (-1, None),
    "queue_size": (1, 1024),
    "deadline_seconds": (1, 59),  # InvokeEndpoint gives up after 60
    "read_timeout_seconds": (1, 60),
    "max_body_bytes": (1024, 26214400),
    "max_decisions": (1, 1024),
    "prefix_streams": (0, 64),
}
_ENGINE_WORDS: Mapping[str, tuple[str, ...] | None] = {
    "readout": ("letters", "likelihood", "letters-rotated"),
    "log_level": ("debug", "info", "warning", "error"),
    "prompt_version": None,
}
_LOG_RETENTION_DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1827, 3653)


def environment_from_context(*, name: object, environments: object, root: Path) -> Environment:
    """The validated settings of environment `name`. Raises SettingsError, written for whoever typed the command."""
    if not isinstance(environments, Mapping) or not environments:
        raise SettingsError(
            'cdk.json: context key "environments" is missing or empty; it holds the settings of each environment'
        )
    known = ", ".join(sorted(environments))
    if name is None:
        raise SettingsError(f"no environment chosen; choose one with -c env=NAME. Known: {known}")
    if not isinstance(name, str) or name not in environments:
        raise SettingsError(
            f"environment {name!r} is unknown; known: {known}. Remedy: -c env=NAME, or add it to cdk.json"
        )
    if not _ENVIRONMENT_NAME.fullmatch(name):
        raise SettingsError(
            f"environment {name!r}: a name is 1 to 30 of a-z, 0-9 and -, and begins with a letter (it names stacks and endpoint)"
        )
    return _environment(Fields(where=f"environment {name}", path="", value=environments[name]), name=name, root=root)


def _environment(fields: Fields, *, name: str, root: Path) -> Environment:
    fields.closed("container", "model", "hosting", "engine", "ephemeral", "log_retention_days")
    container = fields.table("container")
    container.closed("target", "image_uri")
    target: Processor = "cuda" if container.word("target", ("cpu", "cuda")) == "cuda" else "cpu"
    hosting = fields.table("hosting")
    hosting.closed(
        "instance_type",
        "instance_pools",
        "instance_count",
        "provision_timeout_seconds",
        "model_download_timeout_seconds",
        "startup_timeout_seconds",
    )
    return Environment(
        name=name,
        target=target,
        image=_image(container),
        model=_model(fields.table("model"), root=root),
        instances=_instances(hosting, target=target),
        model_download_timeout_seconds=hosting.number("model_download_timeout_seconds", 60, 3600),
        startup_timeout_seconds=hosting.number("startup_timeout_seconds", 60, 3600),
        engine=_engine(fields.table("engine"), target=target),
        ephemeral=fields.flag("ephemeral"),
        log_retention_days=fields.one_of("log_retention_days", _LOG_RETENTION_DAYS),
    )


def _image(container: Fields) -> BuiltImage | PinnedImage:
    if not container.has("image_uri"):
        return BuiltImage()
    uri = container.text("image_uri")
    match = _IMAGE_URI.fullmatch(uri)
    if match is None:
        raise container.error(
            "image_uri",
            "an image in a private ECR repository pinned by its digest is needed, ACCOUNT.dkr.ecr.REGION.amazonaws.com/NAME@sha256:"
            "<64 hex>; a tag can be moved to another image. Remedy: `aws ecr describe-images` prints the imageDigest of a tag",
        )
    return PinnedImage(uri=uri, account=match["account"], region=match["region"], repository=match["repository"])


def _model(model: Fields, *, root: Path) -> BuiltModel | PinnedModel:
    model.closed("declaration", "model_data_url")
    if model.exactly_one("declaration", "model_data_url") == "model_data_url":
        match = _MODEL_URL.fullmatch(model.text("model_data_url"))
        if match is None:
            raise model.error(
                "model_data_url",
                "s3://BUCKET/[PREFIX/]<64 hex>/model.tar.gz is needed, the key named after the archive's sha256: SageMaker pins no digest"
                " on model data. Remedy: upload with `python -m model_packaging publish`",
            )
        return PinnedModel(bucket=match["bucket"], key=match["key"])
    declaration = model.text("declaration")
    if not _DECLARATION.fullmatch(declaration):
        raise model.error("declaration", "a path model_packaging/declarations/NAME.toml is needed")
    if not (root / declaration).is_file():
        found = sorted(path.name for path in (root / "model_packaging" / "declarations").glob("*.toml"))
        raise model.error("declaration", f"no such file; in that folder: {', '.join(found) or 'nothing'}")
    return BuiltModel(declaration=declaration)


def _instances(hosting: Fields, *, target: Processor) -> Instances:
    count = hosting.number("instance_count", 1, 100)
    if hosting.exactly_one("instance_type", "instance_pools") == "instance_type":
        if hosting.has("provision_timeout_seconds"):
            raise hosting.error(
                "provision_timeout_seconds", "it belongs to instance_pools; a fixed instance_type has none"
            )
        instance_type = hosting.text("instance_type")
        _check_processor(hosting, "instance_type", instance_type, target)
        return FixedInstances(instance_type=instance_type, count=count)
    types = hosting.texts("instance_pools")
    if not 1 <= len(types) <= 5:
        raise hosting.error("instance_pools", f"{len(types)} given; 1 to 5 allowed, in order of preference")
    if len(set(types)) != len(types):
        twice = sorted({each for each in types if types.count(each) > 1})
        raise hosting.error("instance_pools", f"{', '.join(twice)} given twice; each type has one priority")
    if target != "cuda":
        raise hosting.error(
            "instance_pools", "pools are for the GPU container. Remedy: container.target cuda, or instance_type"
        )
    for index, each in enumerate(types):
        _check_processor(hosting, f"instance_pools[{index}]", each, target)
    return InstancePools(
        instance_types=types,
        count=count,
        provision_timeout_seconds=hosting.number("provision_timeout_seconds", 300, 3600),
    )


def _check_processor(hosting: Fields, field: str, instance_type: str, target: Processor) -> None:
    fits = processor_of(instance_type)
    if fits is None:
        raise hosting.error(
            field,
            f"{instance_type!r} given; no x86-64 or CUDA 13 instance type that is known here (ml.FAMILY.SIZE;"
            " families: stacks/instance_types.py)",
        )
    if fits != target:
        raise hosting.error(
            field,
            f"{instance_type!r} given, which is a {'GPU' if fits == 'cuda' else 'CPU'} instance; container.target is {target!r}."
            f" Remedy: container.target {fits!r}, or another instance type",
        )


def _engine(engine: Fields, *, target: Processor) -> tuple[tuple[str, str], ...]:
    engine.closed(*_ENGINE_NUMBERS, *_ENGINE_WORDS)
    variables = {}
    for key, (lowest, highest) in _ENGINE_NUMBERS.items():
        if engine.has(key):
            variables[f"DECISION_{key.upper()}"] = str(engine.number(key, lowest, highest))
    for key, allowed in _ENGINE_WORDS.items():
        if engine.has(key):
            variables[f"DECISION_{key.upper()}"] = engine.text(key) if allowed is None else engine.word(key, allowed)
    layers = variables.get("DECISION_N_GPU_LAYERS")
    if target == "cpu" and layers not in (None, "0"):
        raise engine.error("n_gpu_layers", "container.target is 'cpu', which has no GPU: 0 or no setting allowed")
    if target == "cuda" and layers in (None, "0"):
        raise engine.error(
            "n_gpu_layers", "container.target is 'cuda', and no layer would run on the GPU. Remedy: -1 (all layers)"
        )
    return tuple(sorted(variables.items()))
