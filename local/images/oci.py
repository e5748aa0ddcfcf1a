"""The documents of an OCI image: descriptor, config, manifest. Bytes ↔ values; knows neither files nor HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from local.images.errors import ImageError
from local.images.reference import digest_of, is_digest

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
EPOCH = "1970-01-01T00:00:00Z"


@dataclass(frozen=True, kw_only=True)
class Descriptor:
    media_type: str
    digest: str
    size: int

    @classmethod
    def of(cls, media_type: str, content: bytes) -> Descriptor:
        return cls(media_type=media_type, digest=digest_of(content), size=len(content))

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> Descriptor:
        if not is_digest(str(value.get("digest"))) or not isinstance(value.get("size"), int):
            raise ImageError(f"descriptor {dict(value)!r}: digest sha256:<64 hex> and an integer size expected")
        return cls(media_type=str(value.get("mediaType")), digest=value["digest"], size=value["size"])

    def as_json(self) -> dict[str, Any]:
        return {"mediaType": self.media_type, "digest": self.digest, "size": self.size}


@dataclass(frozen=True, kw_only=True)
class Manifest:
    config: Descriptor
    layers: tuple[Descriptor, ...]

    @classmethod
    def read(cls, content: bytes) -> Manifest:
        document = json.loads(content)
        if document.get("schemaVersion") != 2 or "config" not in document or "layers" not in document:
            raise ImageError(
                f"manifest of media type {document.get('mediaType')!r}: a single image's manifest expected"
            )
        return cls(
            config=Descriptor.read(document["config"]),
            layers=tuple(Descriptor.read(layer) for layer in document["layers"]),
        )

    def as_bytes(self) -> bytes:
        return canonical_json(
            {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": self.config.as_json(),
                "layers": [layer.as_json() for layer in self.layers],
            }
        )


@dataclass(frozen=True, kw_only=True)
class ImageConfig:
    """What of an image's config this project uses."""

    entrypoint: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    working_directory: str = "/"

    @classmethod
    def read(cls, content: bytes) -> ImageConfig:
        config = json.loads(content).get("config", {})
        return cls(
            entrypoint=(*(config.get("Entrypoint") or ()), *(config.get("Cmd") or ())),
            environment=dict(entry.split("=", 1) for entry in config.get("Env") or ()),
            labels=dict(config.get("Labels") or {}),
            working_directory=config.get("WorkingDir") or "/",
        )

    def as_bytes(self, *, layer_digests: Sequence[str], platform: str) -> bytes:
        """`layer_digests`: of the uncompressed layers. The creation time is the epoch: same source, same bytes."""
        system, architecture = platform.split("/")
        return canonical_json(
            {
                "architecture": architecture,
                "os": system,
                "created": EPOCH,
                "config": {
                    "Entrypoint": list(self.entrypoint),
                    "Env": [f"{name}={value}" for name, value in sorted(self.environment.items())],
                    "Labels": dict(sorted(self.labels.items())),
                    "WorkingDir": self.working_directory,
                },
                "rootfs": {"type": "layers", "diff_ids": list(layer_digests)},
                "history": [{"created": EPOCH, "created_by": "local/bin/docker build"}],
            }
        )


def canonical_json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
