"""What one image build is asked for: its environment variables (docs/interfaces.md section 3), checked, as a value.

Not part of the image, like image_build.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_PATTERNS = {
    "ARTIFACT_BUCKET": r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]",
    "BASE_IMAGE": r"public\.ecr\.aws/[a-z0-9._/-]+@sha256:[0-9a-f]{64}",
    "REPOSITORY_NAME": r"[a-z0-9][a-z0-9._/-]*",
    "REPOSITORY_URI": r"[^@\s]+",
    "TARGET": r"(standard-)?(cpu|cuda)",
    "TRIGGER": r"[0-9a-f]{64}",
}


_COMMIT = r"[0-9a-f]{40}|[0-9a-f]{64}"


class ImageError(Exception):
    """The build cannot go on; the text says why."""


@dataclass(frozen=True, kw_only=True)
class Build:
    """What one build is to make, from its environment.

    libraries: the Dockerfile's argument; None where nothing is built. source: which commit, as the result has it.
    """

    bucket: str
    base_image: str
    repository: str
    repository_uri: str
    target: str
    trigger: str
    libraries: str | None
    source: Mapping[str, object]

    @property
    def copies(self) -> bool:
        """Whether the image is the base image itself."""
        return self.target.startswith("standard-")

    @property
    def tag(self) -> str:
        return f"{self.target}-{self.trigger[:32]}"

    @property
    def sbom_key(self) -> str:
        """Beside the build's result."""
        return f"results/image-{self.trigger}.cdx.json"

    @property
    def tagged(self) -> str:
        return f"{self.repository_uri}:{self.tag}"


def build_from(environment: Mapping[str, str]) -> Build:
    for name, pattern in _PATTERNS.items():
        value = environment.get(name)
        if value is None or not re.fullmatch(pattern, value):
            raise ImageError(f"{name}: {value!r} given; {pattern} needed")
    target = environment["TARGET"]
    libraries = environment.get("LIBRARIES")
    allowed = (None,) if target.startswith("standard-") else ("base", f"compiled-{target}")
    if libraries not in allowed:
        raise ImageError(
            f"LIBRARIES: {libraries!r} given; {' or '.join(map(repr, allowed))} needed for target {target}"
        )
    return Build(
        bucket=environment["ARTIFACT_BUCKET"],
        base_image=environment["BASE_IMAGE"],
        repository=environment["REPOSITORY_NAME"],
        repository_uri=environment["REPOSITORY_URI"],
        target=target,
        trigger=environment["TRIGGER"],
        libraries=libraries,
        source=source_from(environment),
    )


def source_from(environment: Mapping[str, str]) -> dict[str, object]:
    """The commit that git named at synth, or that CodeBuild itself checked out. Of a source in S3 CodeBuild knows a
    version of the object at most, which is no commit."""
    commit, changed = environment.get("SOURCE_COMMIT"), environment.get("SOURCE_CHANGED")
    if commit is not None:
        if not re.fullmatch(_COMMIT, commit) or changed not in ("true", "false"):
            raise ImageError(f"SOURCE_COMMIT: {commit!r} given; {_COMMIT} needed, and SOURCE_CHANGED true or false")
        return {"commit": commit, "changed": changed == "true"}
    resolved = environment.get("CODEBUILD_RESOLVED_SOURCE_VERSION", "")
    return {"commit": resolved, "changed": False} if re.fullmatch(_COMMIT, resolved) else {"commit": None}
