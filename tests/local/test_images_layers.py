"""Layers: the same source gives the same bytes, and no layer writes outside the image."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from local.images import layers
from local.images.errors import ImageError


def write_tree(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def tar(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w") as archive:
        for member, content in members:
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def member(name: str, *, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname, entry.mode = kind, link, 0o755 if kind == tarfile.DIRTYPE else 0o644
    return entry


def test_a_layer_is_the_same_bytes_whatever_umask_owner_and_clock_were(tmp_path: Path) -> None:
    files = {"serve": "x", "decision_server/app.py": "y", "b": "z"}
    one = write_tree(tmp_path / "one", files)
    old = os.umask(0o077)
    try:
        two = write_tree(tmp_path / "two", dict(reversed(files.items())))
    finally:
        os.umask(old)
    for path in two.rglob("*"):
        os.utime(path, (1, 1))
    packed = [layers.pack(folder, at="opt/decision", executables=frozenset({"serve"})) for folder in (one, two)]
    assert packed[0] == packed[1]


def test_a_layer_leaves_out_what_dockerignore_lists(tmp_path: Path) -> None:
    source = write_tree(
        tmp_path / "source",
        {
            ".dockerignore": "# why\nDockerfile\n**/__pycache__\n*.md\n",
            "Dockerfile": "",
            "a.md": "",
            "sub/a.md": "",
            "sub/__pycache__/x.pyc": "",
            "serve": "",
        },
    )
    with tarfile.open(fileobj=io.BytesIO(layers.pack(source, at="opt/x", executables=frozenset({"serve"})))) as archive:
        files = {entry.name: entry.mode for entry in archive if entry.isfile()}
    assert files == {"opt/x/.dockerignore": 0o644, "opt/x/serve": 0o755, "opt/x/sub/a.md": 0o644}


def test_a_link_in_the_build_context_is_refused_by_name(tmp_path: Path) -> None:
    source = write_tree(tmp_path / "source", {"a": ""})
    (source / "link").symlink_to("/etc/passwd")
    with pytest.raises(ImageError, match="link: the build context may hold regular files only"):
        layers.pack(source, at="opt", executables=frozenset())


def test_packed_files_come_out_as_they_went_in(tmp_path: Path) -> None:
    source = write_tree(tmp_path / "source", {"serve": "run", "sub/é": "ü"})
    (tmp_path / "layer").write_bytes(layers.pack(source, at="opt/x", executables=frozenset({"serve"})))
    layers.unpack(tmp_path / "layer", tmp_path / "root")
    assert (tmp_path / "root/opt/x/sub/é").read_text() == "ü"
    assert os.access(tmp_path / "root/opt/x/serve", os.X_OK)


@pytest.mark.parametrize(
    "bad",
    [
        [member("../outside/evil")],
        [member("link", kind=tarfile.SYMTYPE, link="../outside"), member("link/evil")],
        [member("evil", kind=tarfile.LNKTYPE, link="../outside/secret")],
    ],
)
def test_a_layer_that_leaves_the_image_is_refused(tmp_path: Path, bad: list[tarfile.TarInfo]) -> None:
    outside = write_tree(tmp_path / "outside", {"secret": "s"})
    layer = tar(tmp_path / "layer", *((entry, b"evil" if entry.isreg() else b"") for entry in bad))
    with pytest.raises(ImageError, match=r"out of the image|leaves the image"):
        layers.unpack(layer, tmp_path / "root")
    assert sorted(path.name for path in outside.iterdir()) == ["secret"]


def test_an_absolute_name_lands_inside_the_image(tmp_path: Path) -> None:
    layers.unpack(tar(tmp_path / "layer", (member("/abs/x"), b"1")), tmp_path / "root")
    assert (tmp_path / "root/abs/x").read_bytes() == b"1"


def test_a_later_layer_deletes_and_replaces_files_of_an_earlier_one(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "root", {"gone": "1", "kept": "1", "emptied/old": "1", "linked": "1"})
    os.link(root / "linked", tmp_path / "elsewhere")
    layer = tar(
        tmp_path / "layer",
        (member(".wh.gone"), b""),
        (member("emptied/.wh..wh..opq"), b""),
        (member("emptied/new"), b"2"),
        (member("linked"), b"2"),
    )
    layers.unpack(layer, root)
    assert not (root / "gone").exists()
    assert [path.name for path in (root / "emptied").iterdir()] == ["new"]
    assert ((root / "linked").read_text(), (tmp_path / "elsewhere").read_text()) == ("2", "1")
