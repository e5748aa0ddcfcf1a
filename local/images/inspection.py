"""What `docker image inspect` says of an image in the local store. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from local.images.errors import ImageError
from local.images.store import StoredImage


def describe(image: StoredImage, config: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of Docker's answer that scripts use; RepoDigests is empty until the image was pushed."""
    name = f"{image.reference.registry}/{image.reference.repository}"
    return {
        "Id": image.manifest.config.digest,
        "RepoTags": [str(image.reference)],
        "RepoDigests": [f"{name}@{image.digest}"] if image.pushed else [],
        "Created": config.get("created"),
        "Os": config["os"],
        "Architecture": config["architecture"],
        "Config": config.get("config", {}),
        "RootFS": {"Type": "layers", "Layers": config["rootfs"]["diff_ids"]},
        "Size": sum(layer.size for layer in image.manifest.layers),
    }


_FIELD = re.compile(r"\{\{\s*(?P<how>json|index)?\s*\.(?P<path>[A-Za-z.]+)(?:\s+(?P<key>\"[^\"]*\"|\d+))?\s*\}\}")


def fill_in(template: str, document: Mapping[str, Any]) -> str:
    """Go templates of three forms: {{.A.B}}, {{json .A}}, {{index .A 0}} or {{index .A "key"}}."""

    def field(match: re.Match[str]) -> str:
        value: Any = document
        try:
            for name in match["path"].split("."):
                value = value[name]
            if match["how"] == "index":
                value = value[json.loads(match["key"] or "null")]
        except (KeyError, IndexError, TypeError) as error:
            raise ImageError(f"image inspect --format {template}: no {match[0]} in this image") from error
        return value if isinstance(value, str) and match["how"] != "json" else json.dumps(value)

    if "{{" in _FIELD.sub("", template):
        raise ImageError(
            f"image inspect --format {template}: only {{{{.Field}}}}, {{{{json .Field}}}} and {{{{index .Field 0}}}}"
        )
    return _FIELD.sub(field, template)
