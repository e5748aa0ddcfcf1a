"""Only a model that is what its manifest says is ever loaded."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from decision_server.model_errors import StartupFailure
from decision_server.model_files import find
from tests.fixtures.split_gguf import split_gguf
from tests.serving.server import SERVE, Server

CONTAINER = str(Path(__file__).resolve().parents[2] / "container")
# a GGUF of no tensors and no metadata, and bytes that only hashes see
CONTENT = b"GGUF\x03" + bytes(3 + 8 + 8) + bytes(range(256)) * 5


def manifest(**changes: Any) -> dict[str, Any]:
    return {
        "manifest_version": 1,
        "name": "tiny-q8_0",
        "gguf": {"file": "tiny.gguf", "bytes": len(CONTENT), "sha256": hashlib.sha256(CONTENT).hexdigest()},
        "repo": "owner/name",
        "revision": "0" * 40,
        "serving": {"readout": "letters", "prompt_version": "direct-options-v1", "n_ctx": 2048},
        **changes,
    }


def archive(folder: Path, content: bytes = CONTENT, **changes: Any) -> Path:
    (folder / "tiny.gguf").write_bytes(content)
    (folder / "manifest.json").write_text(json.dumps(manifest(**changes)))
    return folder


def test_a_folder_gives_what_its_manifest_says(tmp_path: Path) -> None:
    found = find(archive(tmp_path))
    assert (found.name, found.repo, found.revision) == ("tiny-q8_0", "owner/name", "0" * 40)
    assert found.gguf.path == tmp_path / "tiny.gguf"
    assert (found.gguf.bytes, found.gguf.sha256) == (len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
    assert (found.serving.readout, found.serving.prompt_version, found.serving.n_ctx) == (
        "letters",
        "direct-options-v1",
        2048,
    )
    assert found.calibration is None


def test_a_bare_gguf_gives_facts_that_were_measured(tmp_path: Path) -> None:
    path = tmp_path / "some.Q4_0.gguf"
    path.write_bytes(CONTENT)
    found = find(path)
    assert (found.name, found.repo, found.revision, found.serving.n_ctx) == ("some.Q4_0", None, None, None)
    assert (found.gguf.file, found.gguf.bytes) == ("some.Q4_0.gguf", len(CONTENT))
    assert found.gguf.sha256 == hashlib.sha256(CONTENT).hexdigest()


def test_pinned_weights_are_the_only_ones_that_are_taken(tmp_path: Path) -> None:
    digest = hashlib.sha256(CONTENT).hexdigest()
    bare = tmp_path / "some.gguf"
    bare.write_bytes(CONTENT)
    folder = tmp_path / "model"
    folder.mkdir()
    for path in (bare, archive(folder)):
        assert find(path, gguf_sha256=digest).gguf.sha256 == digest
        with pytest.raises(StartupFailure, match=f"^DECISION_GGUF_SHA256: {'a' * 64} is needed; .*gguf have {digest}"):
            find(path, gguf_sha256="a" * 64)


def test_a_whole_archive_of_other_weights_is_refused_before_their_header_is_read(tmp_path: Path) -> None:
    """Manifest and weights agree with each other, and both came from somebody else."""
    other = b"GGUF\x03" + b"\xff" * 64  # what the header says would be refused as well, in other words
    entry = {"file": "tiny.gguf", "bytes": len(other), "sha256": hashlib.sha256(other).hexdigest()}
    with pytest.raises(StartupFailure, match=r"^DECISION_GGUF_SHA256: "):
        find(archive(tmp_path, other, gguf=entry), gguf_sha256=hashlib.sha256(CONTENT).hexdigest())


def test_a_split_model_is_pinned_by_the_sum_of_its_parts(tiny_llama: Path, tmp_path: Path) -> None:
    parts = split_gguf(tiny_llama, tmp_path, stem="tiny", count=3)
    lines = "".join(f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n" for each in parts)
    identity = hashlib.sha256(lines.encode()).hexdigest()
    assert find(parts[0], gguf_sha256=identity).gguf.sha256 == identity
    with pytest.raises(StartupFailure, match="DECISION_GGUF_SHA256"):
        find(parts[0], gguf_sha256=hashlib.sha256(parts[0].read_bytes()).hexdigest())


def test_a_server_with_other_weights_than_pinned_ends_with_one_line_that_names_the_setting(
    tiny_llama: Path, tmp_path: Path
) -> None:
    settings = {"DECISION_MODEL_PATH": str(tiny_llama), "DECISION_GGUF_SHA256": "a" * 64}
    with Server(SERVE, tmp_path / "log", settings, wait=False) as server:
        assert server.process.wait(30) == 3
    assert f"DECISION_GGUF_SHA256: {'a' * 64} is needed" in server.log_line("load_failed")["error"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b" " * (1 << 20) + b"{}", "has more than 1048576 bytes"),
        (b"[" * 500_000, "is nested too deeply"),
        (b'{"manifest_version": ' + b"9" * 10_000 + b"}", "is not JSON: Exceeds the limit"),
        (b'{"manifest_version": "' + b"9" * 10_000 + b'"}', "manifest_version is '9999"),
        (b'{"manifest_version": ' + b"[" * 900 + b"]" * 900 + b"}", "manifest_version is a list of 1"),
        (b"\xff\xfe\xfd", "is not JSON"),
    ],
)
def test_a_manifest_from_anywhere_is_one_line_at_most(tmp_path: Path, text: bytes, message: str) -> None:
    (tmp_path / "manifest.json").write_bytes(text)
    with pytest.raises(StartupFailure, match=message) as caught:
        find(tmp_path)
    assert len(str(caught.value)) < 1000


def test_a_manifest_without_end_is_read_up_to_its_limit(tmp_path: Path) -> None:
    with (tmp_path / "manifest.json").open("wb") as out:
        out.truncate(1 << 40)  # takes no room on the disk
    with pytest.raises(StartupFailure, match="has more than 1048576 bytes"):
        find(tmp_path)


def test_a_manifest_that_is_a_pipe_does_not_hold_the_start_up(tmp_path: Path) -> None:
    archive(tmp_path)
    (tmp_path / "manifest.json").unlink()
    os.mkfifo(tmp_path / "manifest.json")
    code = "import sys; from pathlib import Path; from decision_server.model_files import find; find(Path(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(tmp_path)]
    ran = subprocess.run(
        command, env={"PYTHONPATH": CONTAINER}, capture_output=True, text=True, timeout=30, check=False
    )
    assert "manifest.json is no regular file; the manifest must be one" in ran.stderr


def test_a_manifest_is_not_looked_for_behind_a_link(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    archive(folder)
    (folder / "manifest.json").rename(tmp_path / "manifest.json")
    (folder / "manifest.json").symlink_to(tmp_path / "manifest.json")
    with pytest.raises(StartupFailure, match=r"manifest\.json is a link; the manifest must be a regular file"):
        find(folder)
    (folder / "manifest.json").unlink()
    (folder / "manifest.json").mkdir()
    with pytest.raises(StartupFailure, match=r"manifest\.json is no regular file"):
        find(folder)


def test_what_the_manifest_does_not_list_is_named_once_in_quotes_and_serving_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "calibration.json").write_bytes(b"{}")
    (tmp_path / "tokenizer.json").write_bytes(b"{}")
    entry = {"bytes": 2, "sha256": hashlib.sha256(b"{}").hexdigest()}
    listed: dict[str, Any] = {
        "calibration": {**entry, "file": "calibration.json"},
        "tokenizer": [{**entry, "file": "tokenizer.json"}],
    }
    find(archive(tmp_path, **listed))
    assert caplog.messages == []
    (tmp_path / "evil\x1b[2J.gguf").write_bytes(CONTENT)
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "sub").mkdir()
    assert find(tmp_path).name == "tiny-q8_0"
    (message,) = caplog.messages
    assert message.endswith("is not used: 'evil\\x1b[2J.gguf', 'link', 'pipe', 'sub'")
    for number in range(1000):
        (tmp_path / f"stray{number:03}").touch()
    find(tmp_path)
    assert caplog.messages[-1].endswith("'stray016' and 984 more")


def test_a_bare_gguf_may_be_a_link_and_stand_among_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "blob").write_bytes(CONTENT)
    (tmp_path / "some.gguf").symlink_to(tmp_path / "blob")
    assert find(tmp_path / "some.gguf").name == "some"
    assert caplog.messages == []


def test_a_calibration_that_is_no_calibration_by_its_size_is_refused(tmp_path: Path) -> None:
    content = bytes((1 << 20) + 1)
    (tmp_path / "calibration.json").write_bytes(content)
    entry = {"file": "calibration.json", "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    with pytest.raises(StartupFailure, match="has more than 1048576 bytes; it is read whole"):
        find(archive(tmp_path, calibration=entry))


def changed_gguf(**changes: Any) -> dict[str, Any]:
    return {"gguf": {**manifest()["gguf"], **changes}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"manifest_version": 2}, "manifest_version is 2; 1 is needed"),
        ({"name": "\ud800"}, "it stands in every answer: 1 to 63 of a-z"),
        ({"name": ""}, "name is ''; it stands in every answer: 1 to 63 of a-z"),
        ({"name": "a" * 900_000}, "name is 'aaa.*…; it stands in every answer: 1 to 63 of a-z"),
        ({"name": "a" * 64}, "it stands in every answer: 1 to 63 of a-z"),
        ({"name": "A"}, "name is 'A'; it stands in every answer: 1 to 63 of a-z"),
        (changed_gguf(file="a" * 300 + ".gguf"), "a plain file name is needed"),
        (changed_gguf(file="a\0.gguf"), "a plain file name is needed"),
        ({"name": None}, "name is None; str is needed"),
        ({"gguf": None}, "gguf is NoneType; an object is needed"),
        ({"serving": {"readout": "letters", "prompt_version": "v", "n_ctx": True}}, "n_ctx is True; int is needed"),
        ({"revision": 7}, "revision is 7; str is needed"),
        (changed_gguf(file="../tiny.gguf"), "'../tiny.gguf'; a plain file name"),
        (changed_gguf(file="/etc/passwd"), "'/etc/passwd'; a plain file name"),
        (changed_gguf(file=".."), r"'\.\.'; a plain file name"),
        (changed_gguf(file="a\\b.gguf"), "a plain file name"),
        (changed_gguf(file="other.gguf"), "other.gguf is named by manifest.json and is not a regular file"),
        (changed_gguf(bytes=7), f"has {len(CONTENT)} bytes; manifest.json says 7"),
        (changed_gguf(sha256="0" * 64), f"has sha256 {hashlib.sha256(CONTENT).hexdigest()}; manifest.json says 0000"),
        (changed_gguf(sha256="main"), "sha256 is 'main'; 64 lower-case hex digits"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused_by_field(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(StartupFailure, match=message):
        find(archive(tmp_path, **changes))


def test_one_changed_byte_is_found(tmp_path: Path) -> None:
    with pytest.raises(StartupFailure, match="has sha256"):
        find(archive(tmp_path, CONTENT[:-1] + b"\x00"))


def test_a_truncated_gguf_is_found(tmp_path: Path) -> None:
    with pytest.raises(StartupFailure, match=f"has {len(CONTENT) - 1} bytes; manifest.json says {len(CONTENT)}"):
        find(archive(tmp_path, CONTENT[:-1]))


def test_a_file_that_is_no_gguf_is_refused_by_its_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "page.gguf"
    path.write_bytes(b"<html>")
    with pytest.raises(StartupFailure, match="begins with b'<htm'; a GGUF file begins with b'GGUF'"):
        find(path)


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    archive(folder)
    (folder / "tiny.gguf").rename(tmp_path / "tiny.gguf")
    (folder / "tiny.gguf").symlink_to(tmp_path / "tiny.gguf")
    with pytest.raises(StartupFailure, match="not a regular file here"):
        find(folder)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "is nothing; a folder with manifest.json or a .gguf file is needed"),
        (lambda path: path.write_bytes(CONTENT), "is a file of another kind"),
        (lambda path: path.mkdir(), "holds no files; manifest.json is missing"),
        (lambda path: (path.mkdir(), (path / "m.gguf").touch()), "holds 'm.gguf'; manifest.json is missing"),
        (lambda path: (path.mkdir(), (path / "manifest.json").write_text("{")), "is not JSON"),
        (lambda path: (path.mkdir(), (path / "manifest.json").write_text("[]")), "manifest_version is 'list'"),
    ],
)
def test_a_path_that_holds_no_model_is_named(tmp_path: Path, make: Callable[[Path], object], message: str) -> None:
    make(tmp_path / "model")
    with pytest.raises(StartupFailure, match=message):
        find(tmp_path / "model")


def test_a_calibration_beside_the_weights_is_verified_too(tmp_path: Path) -> None:
    content = b'{"temperature": 1.5}'
    (tmp_path / "calibration.json").write_bytes(content)
    entry = {"file": "calibration.json", "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    assert find(archive(tmp_path, calibration=entry)).calibration == tmp_path / "calibration.json"
    with pytest.raises(StartupFailure, match="has sha256"):
        find(archive(tmp_path, calibration={**entry, "sha256": "0" * 64}))
