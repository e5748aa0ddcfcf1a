"""Reads an environment's settings from the context, and checks them against SageMaker's limits and each other.

Each rule here is a synth error, before anything is deployed or paid for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from model_packaging.declaration import read_declaration
from model_packaging.errors import PackagingError
from model_packaging.sources import FileSource
from stacks.engine_settings import engine_variables
from stacks.instance_settings import instances_from
from stacks.instance_types import Processor
from stacks.setting_fields import Fields, SettingsError
from stacks.settings import BuiltImage, BuiltModel, Environment, PinnedImage, PinnedModel

LOG_RETENTION_DAYS = (1, 7, 30, 90, 365, 3653)
_ENVIRONMENT_NAME = re.compile(r"[a-z][a-z0-9-]{0,29}")
_IMAGE_URI = re.compile(
    r"(?P<account>[0-9]{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(?:\.cn)?"
    r"/(?P<repository>[a-z0-9][a-z0-9._/-]*)@sha256:[0-9a-f]{64}"
)
_MODEL_URL = re.compile(
    r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])/(?P<key>(?:[A-Za-z0-9!_.'()-]+/)*[0-9a-f]{64}/model\.tar\.gz)"
)
_DECLARATION = re.compile(r"model_packaging/declarations/[A-Za-z0-9][A-Za-z0-9._-]*\.toml")


def environment_from_context(*, name: object, environments: object, root: Path) -> Environment:
    """The checked settings of environment `name`. Raises SettingsError, written for whoever typed the command."""
    if not isinstance(environments, Mapping) or not environments:
        raise SettingsError('cdk.json: the context has no "environments"; it holds the settings of each environment')
    known = ", ".join(sorted(environments))
    if name is None:
        raise SettingsError(f"no environment chosen. Remedy: -c env=NAME, with one of {known}")
    if not isinstance(name, str) or name not in environments:
        raise SettingsError(f"environment {name!r} is unknown. Remedy: -c env=NAME with one of {known}")
    if not _ENVIRONMENT_NAME.fullmatch(name):
        raise SettingsError(
            f"environment {name!r}: it names stacks and endpoint; 1 to 30 of a-z, 0-9 and -, a letter first, needed"
        )
    return _environment(Fields(where=f"environment {name}", path="", value=environments[name]), name=name, root=root)


def _environment(fields: Fields, *, name: str, root: Path) -> Environment:
    fields.closed("container", "engine", "ephemeral", "hosting", "log_retention_days", "model")
    container = fields.table("container")
    container.closed("image_uri", "target")
    target: Processor = "cuda" if container.word("target", ("cpu", "cuda")) == "cuda" else "cpu"
    hosting = fields.table("hosting")
    return Environment(
        name=name,
        target=target,
        image=_image(container),
        model=_model(fields.table("model"), root=root),
        instances=instances_from(hosting, target=target),
        model_download_timeout_seconds=hosting.number("model_download_timeout_seconds", 60, 3600),
        startup_timeout_seconds=hosting.number("startup_timeout_seconds", 60, 3600),
        engine=engine_variables(fields.table("engine"), target=target),
        ephemeral=fields.flag("ephemeral"),
        log_retention_days=fields.one_of("log_retention_days", LOG_RETENTION_DAYS),
    )


def _image(container: Fields) -> BuiltImage | PinnedImage:
    if not container.has("image_uri"):
        return BuiltImage()
    uri = container.text("image_uri")
    match = _IMAGE_URI.fullmatch(uri)
    if match is None:
        raise container.error(
            "image_uri",
            "ACCOUNT.dkr.ecr.REGION.amazonaws.com/NAME@sha256:<64 hex> needed: a tag can be moved to another image."
            " Remedy: `aws ecr describe-images` prints the imageDigest of a tag",
        )
    return PinnedImage(uri=uri, account=match["account"], region=match["region"], repository=match["repository"])


def _model(model: Fields, *, root: Path) -> BuiltModel | PinnedModel:
    model.closed("declaration", "model_data_url")
    if model.exactly_one("declaration", "model_data_url") == "model_data_url":
        match = _MODEL_URL.fullmatch(model.text("model_data_url"))
        if match is None:
            raise model.error(
                "model_data_url",
                "s3://BUCKET/[PREFIX/]<64 hex>/model.tar.gz needed, the archive under its own sha256: SageMaker pins"
                " no digest on model data. Remedy: upload it with `python -m model_packaging publish`",
            )
        return PinnedModel(bucket=match["bucket"], key=match["key"])
    declaration = model.text("declaration")
    if not _DECLARATION.fullmatch(declaration):
        raise model.error("declaration", "model_packaging/declarations/NAME.toml needed")
    if not (root / declaration).is_file():
        found = sorted(path.name for path in (root / "model_packaging" / "declarations").glob("*.toml"))
        raise model.error("declaration", f"no such file; in that folder: {', '.join(found) or 'nothing'}")
    _check_declaration(model, root / declaration)
    return BuiltModel(declaration=declaration)


def _check_declaration(model: Fields, path: Path) -> None:
    """What packaging would refuse, minutes later and in the cloud, is refused here."""
    try:
        declared = read_declaration(path)
    except PackagingError as error:
        raise model.error("declaration", str(error)) from error
    if isinstance(declared.source, FileSource):
        raise model.error(
            "declaration",
            "its source.kind is 'file', and a file of this machine does not travel to CodeBuild. Remedy: a hub or wheel"
            " source, or `python -m model_packaging build` and `publish` here, then model.model_data_url",
        )
