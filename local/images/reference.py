"""Image references, `host/repository:tag` and `host/repository@sha256:…`. Knows the grammar, not what is behind it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from local.images.errors import ImageError

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_REFERENCE = re.compile(
    r"(?P<registry>[A-Za-z0-9.-]+(?::[0-9]+)?)/(?P<repository>[a-z0-9._/-]+?)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)


def is_digest(text: str) -> bool:
    return _DIGEST.fullmatch(text) is not None


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass(frozen=True, kw_only=True)
class Reference:
    """At most one of tag and digest is wanted by those who use it; `name` is what follows the repository."""

    registry: str
    repository: str
    tag: str | None
    digest: str | None

    @classmethod
    def parse(cls, text: str) -> Reference:
        match = _REFERENCE.fullmatch(text)
        if match is None or ("." not in match["registry"] and ":" not in match["registry"]):
            raise ImageError(f"image reference {text!r}: registry/repository:tag or …@sha256:<64 hex> expected")
        return cls(registry=match["registry"], repository=match["repository"], tag=match["tag"], digest=match["digest"])

    @property
    def pinned(self) -> str:
        """The digest. Raises ImageError for a reference that has only a tag."""
        if self.digest is None:
            raise ImageError(
                f"image {self}: not pinned, a tag can move. Remedy: {self.registry}/{self.repository}@sha256:…"
            )
        return self.digest

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.registry}/{self.repository}{tag}{digest}"
