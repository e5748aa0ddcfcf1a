"""Images on this disk: as many as are needed stay, those that run among them."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from local.images import unpacked
from local.images.oci import CONFIG, LAYER, Descriptor, ImageConfig, Manifest
from local.images.reference import Reference, digest_of
from local.images.unpacked import KEPT


class OneImage:
    """A registry that holds one image, of one file that says which."""

    def __init__(self, name: str) -> None:
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w") as archive:
            entry = tarfile.TarInfo("name")
            entry.size = len(name)
            archive.addfile(entry, io.BytesIO(name.encode()))
        self.layer = content.getvalue()
        self.config = ImageConfig(entrypoint=("/serve",)).as_bytes(layer_digests=[], platform="linux/amd64")
        self.manifest = Manifest(
            config=Descriptor.of(CONFIG, self.config), layers=(Descriptor.of(LAYER, self.layer),)
        ).as_bytes()
        self.reference = Reference.parse(f"host.example/{name}@{digest_of(self.manifest)}")

    def pull_manifest(self, digest: str) -> bytes:
        return self.manifest

    def pull_blob(self, digest: str, path: Path) -> None:
        path.write_bytes({digest_of(self.layer): self.layer, digest_of(self.config): self.config}[digest])


def fetch(name: str, folder: Path) -> unpacked.Unpacked:
    registry: Any = OneImage(name)
    image = unpacked.unpacked(registry.reference, registry, folder)
    # Clocks of file systems are coarse: of those used before, say which was used when.
    moment = len(list(folder.glob("*.lock")))
    os.utime(image.folder.with_suffix(".lock"), (moment, moment))
    return image


def names(folder: Path) -> set[str]:
    return {(each / "root" / "name").read_text() for each in folder.iterdir() if each.is_dir()}


def test_the_last_few_images_stay_and_older_ones_go(tmp_path: Path) -> None:
    for number in range(KEPT + 3):
        fetch(f"image-{number}", tmp_path).release()
    assert names(tmp_path) == {f"image-{number}" for number in range(3, KEPT + 3)}


def test_an_image_that_runs_stays_until_it_is_released(tmp_path: Path) -> None:
    running = fetch("running", tmp_path)
    for number in range(KEPT + 1):
        fetch(f"image-{number}", tmp_path).release()
    assert "running" in names(tmp_path)
    running.release()
    fetch("another", tmp_path).release()
    assert "running" not in names(tmp_path)


def test_a_pull_that_was_killed_is_begun_anew(tmp_path: Path) -> None:
    registry: Any = OneImage("x")
    digest = registry.reference.pinned.removeprefix("sha256:")
    (tmp_path / f"{digest}.partial" / "root").mkdir(parents=True)
    image = unpacked.unpacked(registry.reference, registry, tmp_path)
    assert (image.folder / "root" / "name").read_text() == "x"
    assert not list(tmp_path.glob("*.partial"))
    image.release()


def test_a_pull_that_fails_leaves_nothing_and_no_lock(tmp_path: Path) -> None:
    registry: Any = OneImage("x")
    registry.layer = b"no tar"
    with pytest.raises(KeyError):
        unpacked.unpacked(registry.reference, registry, tmp_path)
    assert [each.suffix for each in tmp_path.iterdir()] == [".lock"]
    registry = OneImage("x")
    unpacked.unpacked(registry.reference, registry, tmp_path).release()


@pytest.mark.timeout(30)
def test_an_image_that_runs_can_be_run_once_more(tmp_path: Path) -> None:
    first, second = fetch("a", tmp_path), fetch("a", tmp_path)
    assert first.folder == second.folder
    first.release()
    second.release()
