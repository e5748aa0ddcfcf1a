"""Image URIs of ECR: their form, and which image they name."""

from __future__ import annotations

import re
from collections.abc import Callable

from local.emulator.aws_errors import validation
from local.emulator.scope import Scope

ECR_IMAGE = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com/"
    r"(?P<repository>[a-z0-9][a-z0-9._/-]*)(?::(?P<tag>[\w.-]+)|@(?P<digest>sha256:[0-9a-f]{64}))"
)
ResolveImage = Callable[[Scope, str, "str | None", "str | None"], "str | None"]  # repository, tag, digest → digest


def by_digest(image: str, resolve: ResolveImage) -> str:
    """The image's URI with its digest. Raises AwsError for a form that is not ECR's or an image that is not there."""
    found = ECR_IMAGE.fullmatch(image)
    if not found:
        raise validation(
            f"Unsupported image {image!r}: an ECR image with a tag or a digest is needed "
            "(<account>.dkr.ecr.<region>.amazonaws.com/<repository>@sha256:<64 hex>)."
        )
    owner = Scope(account=found["account"], region=found["region"])
    digest = resolve(owner, found["repository"], found["tag"], found["digest"])
    if digest is None:
        raise validation(f"Requested image {image} not found.")
    repository = f"{owner.account}.dkr.ecr.{owner.region}.amazonaws.com/{found['repository']}"
    return f"{repository}@{digest}"
