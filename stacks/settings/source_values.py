"""Where an endpoint's image and model come from, as values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class BuiltImage:
    """The image is built from container/.

    libraries: whose llama.cpp is in it: "base", the base image's, or "compiled", of the source in the pinned binding.
    """

    libraries: str


@dataclass(frozen=True, kw_only=True)
class AwsImage:
    """Only for the standard path: AWS's own llama.cpp image of the target, by digest."""


@dataclass(frozen=True, kw_only=True)
class PinnedImage:
    """An image that is in ECR already, by digest."""

    uri: str
    account: str
    region: str
    repository: str


@dataclass(frozen=True, kw_only=True)
class BuiltModel:
    """The model is packaged from a declaration, a path below the project's root.

    compression: "gzip" for the archive that SageMaker unpacks, "none" for its members under a prefix.
    gguf_sha256: of the weights in it; None where the declaration requantizes and does not pin the result.
    """

    declaration: str
    compression: str
    gguf_sha256: str | None


@dataclass(frozen=True, kw_only=True)
class PinnedModel:
    """A model that is in S3 already. key: PREFIX/<64 hex>/model.tar.gz, or of its members PREFIX/<64 hex>/model/.

    gguf_sha256: what the weights in it must have; None: whatever is there.
    """

    bucket: str
    key: str
    gguf_sha256: str | None = None


@dataclass(frozen=True, kw_only=True)
class HubModel:
    """Only for the standard path: the AWS container downloads `file` of `repo` itself when it starts.

    Whatever the repository's main branch holds then: the container has no setting for a revision.
    """

    repo: str
    file: str
