"""An archive from anywhere is read without unpacking it; whatever differs from its manifest is named."""

from __future__ import annotations

import errno
import gzip
import io
import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from model_packaging.integrity import HashingReader
from tests.packaging.conftest import Declare, run_cli

Members = dict[str, bytes | tarfile.TarInfo]


@pytest.fixture
def archive(declare: Declare, tmp_path: Path) -> Path:
    run_cli("build", declare(), "--output", tmp_path / "built").json  # noqa: B018 # asserts that it succeeded
    return tmp_path / "built" / "model.tar.gz"


def _unpacked(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive, "r:gz") as tar:
        for member in tar:
            content = tar.extractfile(member)
            assert content is not None
            folder.mkdir(exist_ok=True)
            (folder / member.name).write_bytes(content.read())
    return folder


def _repacked(archive: Path, change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]) -> Path:
    with tarfile.open(archive, "r:gz") as tar:
        members = []
        for member in tar:
            content = tar.extractfile(member)
            assert content is not None
            members.append((member, content.read()))
    change(members)
    target = archive.with_name("changed.tar.gz")
    with tarfile.open(target, "w:gz") as tar:
        for member, data in members:
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return target


def _edit_manifest(**changes: Any) -> Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]:
    def change(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        member, data = members[0]
        manifest = json.loads(data)
        for path, value in changes.items():
            *tables, key = path.split("__")
            table = manifest
            for name in tables:
                table = table[name]
            table[key] = value
        members[0] = (member, json.dumps(manifest).encode())

    return change


def _rename(index: int, name: str) -> Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]:
    def change(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        members[index][0].name = name

    return change


def _append(
    name: str, kind: bytes = tarfile.REGTYPE, data: bytes = b""
) -> Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]:
    def change(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, "manifest.json"
        members.append((member, data))

    return change


def _flip_weights(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    member, data = members[1]
    members[1] = (member, data[:-1] + bytes([data[-1] ^ 1]))


def test_an_archive_and_its_unpacked_folder_are_both_verified(archive: Path, tmp_path: Path) -> None:
    of_archive = run_cli("verify", archive).json
    of_folder = run_cli("verify", _unpacked(archive, tmp_path / "folder")).json
    assert of_archive["bytes"] == archive.stat().st_size
    assert {**of_folder, "archive": str(archive)} == of_archive  # a folder has the hash of the archive it makes
    assert run_cli("verify", archive, "--sha256", of_archive["sha256"]).status == 0
    other = run_cli("verify", archive, "--sha256", "0" * 64)
    assert (other.status, f"{'0' * 64} expected" in other.error) == (2, True)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_flip_weights, "tiny.gguf: sha256: "),
        (_edit_manifest(gguf__bytes=5), "tiny.gguf: bytes: "),
        (_edit_manifest(gguf__file_type="Q8_0"), "tiny.gguf: file_type: F16 found; the manifest says Q8_0"),
        (_edit_manifest(gguf__context_length=9999), "tiny.gguf: context_length: 4096 found"),
        (_edit_manifest(gguf__file="../tiny.gguf"), "manifest.json: gguf.file: '../tiny.gguf' given"),
        (
            _edit_manifest(gguf__file="other.gguf"),
            "holds manifest.json, tiny.gguf; the manifest lists manifest.json, o",
        ),
        (_edit_manifest(gguf__context_length=(1 << 24) + 1), "16777217 given; an integer from 1 to 16777216"),
        (_edit_manifest(name=""), "name: '' given; 1 to 63 of a-z 0-9 . _ -"),
        (_edit_manifest(name="a" * 64), "given; 1 to 63 of a-z 0-9 . _ -"),
        (_edit_manifest(manifest_version=2), "manifest.json: manifest_version: 2 given; an integer from 1 to 1"),
        (_edit_manifest(colour="blue"), "manifest.json: colour: is not a known key"),
        (_edit_manifest(repo="someone/else"), "manifest.json: repo and revision must be the source's own"),
        (_edit_manifest(serving__n_ctx=5000), "serving.n_ctx: 5000 given; the model's context_length, 4096"),
        (_rename(0, "Manifest.json"), "holds no manifest.json"),
        (_rename(1, "../tiny.gguf"), "member: '../tiny.gguf' is not a plain file name"),
        (_rename(1, "/tmp/tiny.gguf"), "member: '/tmp/tiny.gguf' is not a plain file name"),
        (_rename(1, "model/tiny.gguf"), "member: 'model/tiny.gguf' is not a plain file name"),
        (_rename(1, ".."), "member: '..' is not a plain file name"),
        (_append("extra.txt", data=b"x"), "the manifest lists manifest.json, tiny.gguf"),
        (_append("manifest.json", data=b"{}"), "member 'manifest.json' stands there twice"),
        (_append("link", tarfile.SYMTYPE), "member 'link' is no regular file but tar type b'2'"),
        (_append("link", tarfile.LNKTYPE), "member 'link' is no regular file but tar type b'1'"),
        (_append("pipe", tarfile.FIFOTYPE), "member 'pipe' is no regular file"),
        (_append("folder", tarfile.DIRTYPE), "member 'folder' is no regular file"),
        (_append("null", tarfile.CHRTYPE), "member 'null' is no regular file"),
    ],
)
def test_an_archive_that_is_not_what_its_manifest_says_is_refused(
    archive: Path, change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], None], expected: str
) -> None:
    changed = _repacked(archive, change)
    ran = run_cli("verify", changed)
    assert ran.status == 2
    assert ran.error.startswith(f"{changed}: ") or ran.error.startswith("tiny: serving")
    assert expected in ran.error


@pytest.mark.parametrize("keep", [0, 5, 300, 100_000, -1])
def test_a_cut_archive_is_refused(archive: Path, keep: int) -> None:
    archive.write_bytes(archive.read_bytes()[:keep])
    ran = run_cli("verify", archive)
    assert (ran.status, ran.error.startswith(f"{archive}: ")) == (2, True)


def test_a_changed_byte_between_the_members_is_found_by_the_checksum(archive: Path) -> None:
    data = bytearray(archive.read_bytes())
    data[-9] ^= 1  # padding after the last member: no hash of ours covers it
    archive.write_bytes(data)
    ran = run_cli("verify", archive)
    assert (ran.status, "damaged or not a .tar.gz" in ran.error or "bytes follow" in ran.error) == (2, True)


def test_bytes_after_the_end_are_refused(archive: Path) -> None:
    archive.write_bytes(archive.read_bytes() + gzip.compress(b"more"))
    ran = run_cli("verify", archive)
    assert (ran.status, "bytes follow the end of the archive" in ran.error) == (2, True)


def test_a_folder_with_a_link_or_a_stranger_is_refused(archive: Path, tmp_path: Path) -> None:
    folder = _unpacked(archive, tmp_path / "folder")
    (folder / "notes.txt").write_text("x")
    assert "holds manifest.json, notes.txt, tiny.gguf" in run_cli("verify", folder).error
    (folder / "notes.txt").unlink()
    shutil.move(folder / "tiny.gguf", tmp_path / "elsewhere.gguf")
    (folder / "tiny.gguf").symlink_to(tmp_path / "elsewhere.gguf")
    assert "'tiny.gguf' is no regular file" in run_cli("verify", folder).error


@pytest.mark.parametrize("name", ["\x1b[2Jx.gguf", "\x07", "a\nb", "a\u202eb"])
def test_a_name_that_would_write_on_the_terminal_is_refused_in_quotes(archive: Path, tmp_path: Path, name: str) -> None:
    folder = _unpacked(archive, tmp_path / "folder")
    (folder / name).write_text("x")
    changed = _repacked(archive, lambda members: members.append((tarfile.TarInfo(name), b"x")))
    for place in (folder, changed):
        ran = run_cli("verify", place)
        assert (ran.status, f"{name!r} is not a plain file name" in ran.error) == (2, True)
        assert all(line.isprintable() for line in ran.err.splitlines())


def test_what_cannot_be_read_is_one_line(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "File name too long" in run_cli("verify", tmp_path / ("a" * 300)).error

    def fail(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(HashingReader, "read", fail)
    ran = run_cli("verify", archive)
    assert (ran.status, ran.error) == (1, f"{archive}: Input/output error")


def test_nothing_to_verify_is_an_error(tmp_path: Path) -> None:
    assert "no such archive or folder" in run_cli("verify", tmp_path / "none").error
    (tmp_path / "empty").mkdir()
    assert "holds no manifest.json; nothing found" in run_cli("verify", tmp_path / "empty").error
