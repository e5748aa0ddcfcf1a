"""Where this checkout keeps what builds make. Everything below the cache can be deleted and is made again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class Cache:
    folder: Path

    @property
    def environments(self) -> Path:
        return self.folder / "venvs"

    @property
    def native_libraries(self) -> Path:
        return self.folder / "llama.cpp"

    @property
    def image_store(self) -> Path:
        return self.folder / "images" / "store"

    @property
    def unpacked_images(self) -> Path:
        return self.folder / "images" / "unpacked"

    @property
    def base_images(self) -> Path:
        return self.folder / "images" / "base"

    @property
    def buildah(self) -> Path:
        return self.folder / "images" / "buildah"
