"""Reads which model runs: packaged from a declaration, an archive that is there, or (standard path) one of the hub."""

from __future__ import annotations

import re
from pathlib import Path

from model_packaging.declaration import read_declaration
from model_packaging.errors import PackagingError
from model_packaging.fields import SHA256
from model_packaging.sources import FileSource
from stacks.settings.fields import Fields
from stacks.settings.source_values import BuiltModel, HubModel, PinnedModel

_MODEL_URL = re.compile(
    r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])/(?P<key>(?:[A-Za-z0-9!_.'()-]+/)*[0-9a-f]{64}/model(?:\.tar\.gz|/))"
)
_DECLARATION = re.compile(r"model_packaging/declarations/[A-Za-z0-9][A-Za-z0-9._-]*\.toml")
_COMPRESSIONS = ("gzip", "none")
_HUB_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")
_HUB_FILE = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9._-]*/)*[A-Za-z0-9][A-Za-z0-9._-]*\.gguf")


def archive_from(model: Fields, *, root: Path) -> BuiltModel | PinnedModel:
    """For our own container: always an archive, verified."""
    if model.has("hub"):
        raise model.error(
            "hub",
            "the decision container takes verified archives only. Remedy: a declaration of that file"
            " (docs/packaging.md), or kind 'standard'",
        )
    model.closed("compression", "declaration", "gguf_sha256", "model_data_url")
    if model.exactly_one("declaration", "model_data_url") == "model_data_url":
        return _pinned(model)
    return _declared(model, root=root)


def archive_or_hub_from(model: Fields, *, root: Path) -> BuiltModel | PinnedModel | HubModel:
    """For the container of AWS, which can also fetch a file of the hub by itself."""
    model.closed("compression", "declaration", "hub", "model_data_url")
    match model.exactly_one("declaration", "hub", "model_data_url"):
        case "hub":
            _no_compression(model, "the container downloads the hub's file itself")
            return _hub(model.table("hub"))
        case "model_data_url":
            return _pinned(model)
        case _:
            return _declared(model, root=root)


def check_bulk_model(endpoint: Fields, model: BuiltModel | PinnedModel | HubModel) -> None:
    """A bulk job is a batch transform, for which SageMaker takes no ModelDataSource."""
    match model:
        case BuiltModel(compression="none"):
            field = "compression"
        case PinnedModel(key=key) if key.endswith("/"):
            field = "model_data_url"
        case _:
            return
    raise endpoint.table("model").error(
        field,
        "with `bulk` a model.tar.gz is needed: SageMaker's batch transform takes no model that is not packed. Remedy:"
        " an endpoint of its own for bulk, or the archive",
    )


def _pinned(model: Fields) -> PinnedModel:
    _no_compression(model, "the URL says it: model.tar.gz is an archive, model/ its members")
    match = _MODEL_URL.fullmatch(model.text("model_data_url"))
    if match is None:
        raise model.error(
            "model_data_url",
            "s3://BUCKET/[PREFIX/]<64 hex>/model.tar.gz needed, or …/model/ for its members, under the archive's own"
            " sha256: SageMaker pins no digest on model data. Remedy: `python -m model_packaging publish`",
        )
    return PinnedModel(bucket=match["bucket"], key=match["key"], gguf_sha256=_pinned_weights(model))


def _pinned_weights(model: Fields) -> str | None:
    if not model.has("gguf_sha256"):
        return None
    sha256 = model.text("gguf_sha256")
    if not SHA256.fullmatch(sha256):
        raise model.error(
            "gguf_sha256", "64 lower-case hex digits needed; `python -m model_packaging verify` prints it"
        )
    return sha256


def _declared(model: Fields, *, root: Path) -> BuiltModel:
    """What packaging would refuse, minutes later and in the cloud, is refused here."""
    if model.has("gguf_sha256"):
        raise model.error("gguf_sha256", "goes with model_data_url only: a declaration pins it. Remedy: remove it")
    declaration = model.text("declaration")
    if not _DECLARATION.fullmatch(declaration):
        raise model.error("declaration", "model_packaging/declarations/NAME.toml needed")
    if not (root / declaration).is_file():
        found = sorted(path.name for path in (root / "model_packaging" / "declarations").glob("*.toml"))
        raise model.error("declaration", f"no such file; in that folder: {', '.join(found) or 'nothing'}")
    try:
        declared = read_declaration(root / declaration)
    except PackagingError as error:
        raise model.error("declaration", str(error)) from error
    if isinstance(declared.source, FileSource):
        raise model.error(
            "declaration",
            "its source.kind is 'file', and a file of this machine does not travel to CodeBuild. Remedy: a hub or wheel"
            " source, or `python -m model_packaging build` and `publish` here, then model.model_data_url",
        )
    compression = model.text("compression") if model.has("compression") else "gzip"
    if compression not in _COMPRESSIONS:
        raise model.error("compression", f"one of {', '.join(_COMPRESSIONS)} needed")
    return BuiltModel(declaration=declaration, compression=compression, gguf_sha256=declared.gguf_sha256)


def _no_compression(model: Fields, why: str) -> None:
    if model.has("compression"):
        raise model.error("compression", f"goes with a declaration only: {why}. Remedy: remove it")


def _hub(hub: Fields) -> HubModel:
    hub.closed("file", "repo")
    repo, file = hub.text("repo"), hub.text("file")
    if not _HUB_REPO.fullmatch(repo):
        raise hub.error("repo", "OWNER/NAME of a repository of the hub needed")
    if not _HUB_FILE.fullmatch(file):
        raise hub.error("file", "the name of a .gguf file in that repository needed")
    return HubModel(repo=repo, file=file)
