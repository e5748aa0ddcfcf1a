"""The emulator's runner in tests: images of repositories that begin with `fake/` are a small HTTP server, others the
real thing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class FakeImage:
    command: list[str]
    cwd: Path
    env: dict[str, str] = field(default_factory=dict)
    release: Callable[[], None] = lambda: None


def prepare(image_uri: str, *, endpoint_url: str, cache_dir: Path) -> Any:
    if ".amazonaws.com/fake/" in image_uri:
        script = Path(__file__).with_name("fake_container.py")
        digest = image_uri.rpartition("@")[2]
        return FakeImage(
            command=[sys.executable, "-I", str(script)], cwd=script.parent, env={"FAKE_IMAGE_DIGEST": digest}
        )
    from local.images import prepare as prepare_image

    return prepare_image(image_uri, endpoint_url=endpoint_url, cache_dir=cache_dir)
