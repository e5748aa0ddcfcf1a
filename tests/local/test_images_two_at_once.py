"""Two first builds in one cache: each finds what the other made, and neither sees it half made."""

from __future__ import annotations

import fcntl
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from local.images import base_stand_in, buildah
from local.images.buildah import Buildah
from local.images.errors import ImageError
from local.images.paths import Cache


def held(lock: Path) -> bool:
    """Whether somebody holds it now."""
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


class Storage:
    """In place of buildah's: images are names."""

    def __init__(self, lock: Path) -> None:
        self.lock = lock
        self.images: list[str] = []
        self.alone: list[bool] = []

    def has_image(self, name: str) -> bool:
        self.alone.append(held(self.lock))
        return name in self.images

    def run(self, command: str, *arguments: str) -> str:
        if command == "commit":
            self.alone.append(held(self.lock))
            self.images.append(arguments[-1])
        return "sha256:of-it"


def test_the_second_of_two_first_builds_waits_and_takes_the_base_that_the_first_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(folder=tmp_path)
    storage: Any = Storage(cache.base_images / "lock")
    calls: list[str] = []
    words: list[str] = []
    made: list[str] = []

    def make() -> None:
        libraries = tmp_path / "0123456789abcdef" / "bin"
        made.append(base_stand_in.make(storage, libraries=libraries, cache=cache, say=words.append))

    second = threading.Thread(target=make)

    def debootstrap(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        calls.append(command[0])
        storage.alone.append(held(storage.lock))
        if len(calls) == 1:
            second.start()
        (Path(command[-2]) / "usr/bin").mkdir(parents=True)
        return subprocess.CompletedProcess(command, 0, "")

    monkeypatch.setattr(base_stand_in, "debian_release", lambda: "bookworm")
    monkeypatch.setattr(subprocess, "run", debootstrap)
    make()
    second.join(30)
    assert (calls, len(storage.images)) == (["debootstrap"], 1)
    assert [word for word in words if word.endswith(", reused")] == [f"base image: {storage.images[0]}, reused"]
    assert made[0] == made[1]
    assert all(storage.alone)
    assert [path.name for path in cache.base_images.iterdir() if path.suffix == ".partial"] == []


def test_a_base_that_could_not_be_made_is_waited_for_by_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(folder=tmp_path)
    storage: Any = Storage(cache.base_images / "lock")
    monkeypatch.setattr(base_stand_in, "debian_release", lambda: "bookworm")
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1, "no mirror"))
    with pytest.raises(ImageError, match="no mirror"):
        base_stand_in.make(storage, libraries=tmp_path / "x" / "bin", cache=cache, say=print)
    assert not held(storage.lock)


def test_the_storage_is_looked_at_by_one_build_at_a_time_and_its_policy_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[bool, str]] = []

    def probe(folder: Path) -> bool:
        seen.append((held(folder / "lock"), (folder / "policy.json").read_text()))
        return False

    monkeypatch.setattr(buildah, "_overlay_works", probe)
    assert (Buildah.below(tmp_path).driver, Buildah.below(tmp_path).driver) == ("vfs", "vfs")
    assert [alone for alone, _ in seen] == [True, True]
    assert {policy for _, policy in seen} == {'{"default": [{"type": "insecureAcceptAnything"}]}'}
    assert not held(tmp_path / "lock")
