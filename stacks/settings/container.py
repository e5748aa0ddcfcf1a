"""Reads which image runs: the target, whose llama.cpp is in it, and an image by digest where none is to be built."""

from __future__ import annotations

import re

from stacks.instance_types import Processor
from stacks.settings.fields import Fields
from stacks.settings.source_values import BuiltImage, PinnedImage

_IMAGE_URI = re.compile(
    r"(?P<account>[0-9]{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(?:\.cn)?"
    r"/(?P<repository>[a-z0-9][a-z0-9._/-]*)@sha256:[0-9a-f]{64}"
)


def target_from(container: Fields) -> Processor:
    container.closed("image_uri", "libraries", "target")
    return "cuda" if container.word("target", ("cpu", "cuda")) == "cuda" else "cpu"


def pinned_image_from(container: Fields) -> PinnedImage | None:
    """None where no image is given."""
    if not container.has("image_uri"):
        return None
    uri = container.text("image_uri")
    match = _IMAGE_URI.fullmatch(uri)
    if match is None:
        raise container.error(
            "image_uri",
            "ACCOUNT.dkr.ecr.REGION.amazonaws.com/NAME@sha256:<64 hex> needed: a tag can be moved to another image."
            " Remedy: `aws ecr describe-images` prints the imageDigest of a tag",
        )
    return PinnedImage(uri=uri, account=match["account"], region=match["region"], repository=match["repository"])


def decision_image_from(container: Fields) -> BuiltImage | PinnedImage:
    """Raises SettingsError where libraries are chosen for an image that is not built."""
    pinned = pinned_image_from(container)
    if pinned is None:
        return BuiltImage(libraries=container.word("libraries", ("base", "compiled"), default="base"))
    no_libraries_in(container, reason="container.image_uri is given, and its libraries are in it")
    return pinned


def no_libraries_in(container: Fields, *, reason: str) -> None:
    if container.has("libraries"):
        raise container.error("libraries", f"{reason}. Remedy: leave it out")
