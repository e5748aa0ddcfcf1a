"""From a declaration to an archive through the real command line: the same bytes every time, or nothing at all."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import pytest

from model_packaging.archive import write_archive
from model_packaging.build import build
from model_packaging.errors import PackagingError
from model_packaging.folder_lock import folder_lock
from tests.packaging.conftest import ROOT, Declare, build_below, left_below, run_cli, run_process
from tests.packaging.model_hub import ModelHub


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_build_packs_the_manifest_and_the_weights_and_prints_one_line(
    declare: Declare, tiny: Path, tmp_path: Path
) -> None:
    answer = run_cli("build", declare(), "--output", tmp_path / "out").json
    archive = tmp_path / "out" / "model.tar.gz"
    assert answer["archive"] == str(archive)
    assert (answer["sha256"], answer["bytes"]) == (_sha256(archive), archive.stat().st_size)
    assert answer["gguf_sha256"] == _sha256(tiny)
    with tarfile.open(archive, "r:gz") as tar:
        assert tar.getnames() == ["manifest.json", "tiny.gguf"]
        manifest = tar.extractfile("manifest.json")
        weights = tar.extractfile("tiny.gguf")
        assert manifest is not None
        assert weights is not None
        text = manifest.read()
        assert weights.read() == tiny.read_bytes()
    assert json.loads(text) == answer["manifest"]
    assert text.decode() == json.dumps(answer["manifest"], indent=2, sort_keys=True) + "\n"
    assert answer["manifest"] == {
        "manifest_version": 1,
        "name": "tiny",
        "gguf": {
            "file": "tiny.gguf",
            "bytes": tiny.stat().st_size,
            "sha256": _sha256(tiny),
            "architecture": "llama",
            "file_type": "F16",
            "context_length": 4096,
        },
        "source": {"kind": "file", "path": "tiny.gguf"},
        "repo": None,
        "revision": None,
        "quantization": None,
        "licence": "apache-2.0",
        "serving": {"readout": "letters", "prompt_version": "direct-options-v1", "n_ctx": 1024},
    }
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["model.tar.gz", "provenance.json"]


def test_the_archive_is_byte_identical_across_umask_user_mode_and_clock(
    declare: Declare, tiny: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "other.gguf"
    copy.write_bytes(tiny.read_bytes())
    path = declare(source={"kind": "file", "path": "other.gguf"})
    first = run_process("build", path, "--output", tmp_path / "a", umask=0o022).json
    copy.chmod(0o400)
    os.utime(copy, (1, 1))
    if os.geteuid() == 0:
        os.chown(copy, 12345, 54321)
    second = run_process("build", path, "--output", tmp_path / "b", umask=0o077, environment={"TZ": "Asia/Tokyo"}).json
    assert second["sha256"] == first["sha256"]
    assert (tmp_path / "a/model.tar.gz").read_bytes() == (tmp_path / "b/model.tar.gz").read_bytes()


def test_the_archive_carries_no_time_name_or_user_of_this_machine(declare: Declare, tmp_path: Path) -> None:
    run_cli("build", declare(), "--output", tmp_path).json  # noqa: B018 # asserts that it succeeded
    archive = tmp_path / "model.tar.gz"
    assert archive.read_bytes()[:10] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    with tarfile.open(archive, "r:gz") as tar:
        facts = {(m.type, m.mode, m.uid, m.gid, m.uname, m.gname, m.mtime) for m in tar.getmembers()}
    assert facts == {(tarfile.REGTYPE, 0o644, 0, 0, "", "", 315532800)}


def test_standard_tools_unpack_the_archive(declare: Declare, tiny: Path, tmp_path: Path) -> None:
    run_cli("build", declare(), "--output", tmp_path).json  # noqa: B018 # asserts that it succeeded
    subprocess.run(["gzip", "--test", "model.tar.gz"], cwd=tmp_path, check=True)
    done = subprocess.run(["tar", "-xzf", "model.tar.gz"], cwd=tmp_path, check=True, capture_output=True)
    assert done.stderr == b""
    assert (tmp_path / "tiny.gguf").read_bytes() == tiny.read_bytes()


def test_a_link_to_the_weights_becomes_a_regular_file(declare: Declare, tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "link.gguf").symlink_to(tiny)
    run_cli("build", declare(source={"kind": "file", "path": "link.gguf"}), "--output", tmp_path / "out").json  # noqa: B018
    with tarfile.open(tmp_path / "out/model.tar.gz", "r:gz") as tar:
        member = tar.getmember("tiny.gguf")
    assert (member.isreg(), member.size) == (True, tiny.stat().st_size)


def test_one_wrong_byte_leaves_no_archive_and_the_next_try_starts_clean(
    declare: Declare, tiny: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    good = run_cli("build", declare(), "--output", out).json
    data = bytearray(tiny.read_bytes())
    data[-100] ^= 1
    weights = tmp_path / "damaged.gguf"
    weights.write_bytes(data)
    path = declare(source={"kind": "file", "path": "damaged.gguf"})
    failed = run_cli("build", path, "--output", out)
    assert failed.status == 2
    assert f"sha256: {hashlib.sha256(data).hexdigest()} came; {_sha256(tiny)} declared" in failed.error
    assert list(out.iterdir()) == []  # not even the good archive of before, which somebody could take for this one
    weights.write_bytes(tiny.read_bytes())
    assert run_cli("build", path, "--output", out).json["bytes"] == good["bytes"]


def test_a_truncated_gguf_is_refused_and_leaves_no_archive(declare: Declare, tiny: Path, tmp_path: Path) -> None:
    weights = tmp_path / "cut.gguf"
    weights.write_bytes(tiny.read_bytes()[:-1000])
    declared_whole = run_cli(
        "build", declare(source={"kind": "file", "path": weights.name}), "--output", tmp_path / "out"
    )
    assert (declared_whole.status, f"bytes: {weights.stat().st_size} came" in declared_whole.error) == (2, True)
    declared_as_cut = run_cli("build", declare(weights), "--output", tmp_path / "out")
    assert (declared_as_cut.status, "truncated: tensor" in declared_as_cut.error) == (2, True)
    assert list((tmp_path / "out").iterdir()) == []


def test_a_git_lfs_pointer_is_called_by_its_name_before_its_size_is(declare: Declare, tmp_path: Path) -> None:
    (tmp_path / "pointer.gguf").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n")
    ran = run_cli("build", declare(source={"kind": "file", "path": "pointer.gguf"}), "--output", tmp_path / "out")
    assert (ran.status, "this is a Git LFS pointer" in ran.error) == (2, True)


def test_weights_that_change_while_they_are_packed_leave_no_archive(
    declare: Declare, tiny: Path, tmp_path: Path
) -> None:
    built = build(declare(), output=tmp_path / "out", cache_dir=tmp_path / "cache")
    data = bytearray(tiny.read_bytes())
    data[-1] ^= 1
    changed = tmp_path / "changed.gguf"
    changed.write_bytes(data)
    target = tmp_path / "again" / "model.tar.gz"
    target.parent.mkdir()
    with pytest.raises(PackagingError, match="changed while it was packed; nothing was written"):
        write_archive(built.manifest, {"tiny.gguf": changed}, target)
    assert list(target.parent.iterdir()) == []


def test_a_file_of_another_kind_is_refused_by_its_magic(declare: Declare, tmp_path: Path) -> None:
    weights = tmp_path / "w.gguf"
    weights.write_bytes(b"PK\x03\x04" + bytes(5000))
    ran = run_cli("build", declare(weights), "--output", tmp_path / "out")
    assert (ran.status, "begins with b'PK\\x03\\x04'; a GGUF begins with" in ran.error) == (2, True)


def test_a_context_beyond_the_model_is_refused_with_both_numbers(declare: Declare, tmp_path: Path) -> None:
    serving = {"readout": "letters", "prompt_version": "direct-options-v1", "n_ctx": 8192}
    ran = run_cli("build", declare(serving=serving), "--output", tmp_path / "out")
    assert ran.status == 2
    assert "serving.n_ctx: 8192 given; the model's context_length, 4096, is the limit" in ran.error
    assert list((tmp_path / "out").iterdir()) == []


def fit(path: Path, weights: Path, **changes: object) -> bytes:
    """Writes a calibration that belongs to the weights and the declaration's serving defaults."""
    sha256 = hashlib.sha256(weights.read_bytes()).hexdigest()
    fitted = {"gguf_sha256": sha256, "readout": "letters", "prompt_version": "direct-options-v1", **changes}
    path.write_text(json.dumps(fitted))
    return path.read_bytes()


def test_a_calibration_is_packed_and_listed(declare: Declare, tiny: Path, tmp_path: Path) -> None:
    content = fit(tmp_path / "fit.json", tiny)
    answer = run_cli("build", declare(calibration="fit.json"), "--output", tmp_path / "out").json
    expected = {"file": "calibration.json", "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    assert answer["manifest"]["calibration"] == expected
    with tarfile.open(tmp_path / "out/model.tar.gz", "r:gz") as tar:
        assert tar.getnames() == ["manifest.json", "calibration.json", "tiny.gguf"]
    assert run_cli("verify", tmp_path / "out/model.tar.gz").json["manifest"] == answer["manifest"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"gguf_sha256": "0" * 64}, f"gguf_sha256: '{'0' * 64}' given; this model has"),
        ({"readout": "likelihood"}, "readout: 'likelihood' given; this model has 'letters'"),
        ({"prompt_version": None}, "prompt_version: 'None' given; this model has 'direct-options-v1'"),
    ],
)
def test_a_calibration_of_another_model_fails_the_build_and_leaves_no_archive(
    declare: Declare, tiny: Path, tmp_path: Path, changes: dict[str, object], words: str
) -> None:
    fit(tmp_path / "fit.json", tiny, **changes)
    ran = run_cli("build", declare(calibration="fit.json"), "--output", tmp_path / "out")
    assert (ran.status, words in ran.error) == (2, True)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(("content", "words"), [("[]", "a JSON list; an object"), ("{", "is not JSON"), (None, "file")])
def test_a_calibration_that_is_none_fails_the_build(
    declare: Declare, tmp_path: Path, content: str | None, words: str
) -> None:
    if content is not None:
        (tmp_path / "fit.json").write_text(content)
    ran = run_cli("build", declare(calibration="fit.json"), "--output", tmp_path / "out")
    assert (ran.status, words in ran.error) == (2, True)


def test_a_missing_source_and_an_unwritable_output_are_named(declare: Declare, tmp_path: Path) -> None:
    missing = run_cli("build", declare(source={"kind": "file", "path": "no.gguf"}), "--output", tmp_path / "out")
    assert (missing.status, missing.error.endswith("no.gguf is not a file")) == (2, True)
    (tmp_path / "taken").write_text("")
    blocked = run_cli("build", declare(), "--output", tmp_path / "taken")
    assert blocked.status == 2
    assert blocked.error.startswith(f"{tmp_path / 'taken'}: ")


@pytest.mark.parametrize("name", ["model.tar.gz", ".building"])
def test_an_output_folder_that_cannot_be_cleared_is_named(declare: Declare, tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    if name == "model.tar.gz":
        (out / name).mkdir()
    else:
        (out / name).write_text("a file where the build wants a folder")
    ran = run_cli("build", declare(), "--output", out)
    assert (ran.status, ran.error.startswith(f"{out / name}: ")) == (2, True)
    assert [path.name for path in out.iterdir()] == [name]


@pytest.mark.parametrize(("code", "status"), [(errno.EROFS, 2), (errno.EACCES, 2), (errno.ENOSPC, 1)])
def test_an_output_folder_that_refuses_writes_is_one_line_of_error(
    declare: Declare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, status: int
) -> None:
    work = tmp_path / "out" / ".building"
    really = Path.mkdir

    def refuse(path: Path, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        if path == work:
            raise OSError(code, os.strerror(code), str(path))
        really(path, mode, parents=parents, exist_ok=exist_ok)

    monkeypatch.setattr(Path, "mkdir", refuse)
    ran = run_cli("build", declare(), "--output", tmp_path / "out")
    expected = f"{work}: {os.strerror(code)}; a folder that can be written is needed"
    assert (ran.status, ran.error) == (status, expected)


def test_two_builds_do_not_share_an_output_folder(declare: Declare, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with folder_lock(out, wait=False, what="building"):
        ran = run_cli("build", declare(), "--output", out)
    assert (ran.status, "another process is building here" in ran.error) == (1, True)


class _Full:
    free = 1000


def test_a_disk_without_room_for_all_of_the_work_is_told_before_the_first_byte(
    hub: ModelHub, declare_hub: Declare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda folder: _Full)
    size = len(hub.content)
    ran = build_below(tmp_path, declare_hub(quantize={"to": "Q8_0"}), HF_ENDPOINT=hub.url)
    needed = 5 * size + (64 << 20)
    assert ran.status == 1
    assert ran.error == (
        f"{tmp_path / 'out'}: 1000 bytes free; {needed} needed: the archive {2 * size}, the requantized model "
        f"{2 * size}, the download {size}, and {64 << 20} to spare. Free some space or choose another folder with "
        "--output or --cache-dir"
    )
    assert hub.requests == []
    assert left_below(tmp_path) == []


def test_what_is_in_the_cache_needs_no_room_again(
    hub: ModelHub, declare_hub: Declare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, size = declare_hub(), len(hub.content)
    build_below(tmp_path, path, HF_ENDPOINT=hub.url).json  # noqa: B018 # asserts that it succeeded
    monkeypatch.setattr("shutil.disk_usage", lambda folder: _Full)
    ran = build_below(tmp_path, path, HF_ENDPOINT=hub.url)
    assert f"{size + (64 << 20)} needed: the archive {size}, and" in ran.error


def test_a_stopped_build_leaves_nothing_half_done(declare: Declare, tiny: Path, tmp_path: Path) -> None:
    weights = tmp_path / "pipe.gguf"
    out = tmp_path / "out"
    path = declare(source={"kind": "file", "path": weights.name})
    weights.write_bytes(tiny.read_bytes())
    # the build stops inside the packing, where a reader that never ends stands in for a slow disk
    code = (
        "import sys, model_packaging.archive as archive, model_packaging.__main__ as cli, time\n"
        "def add(tar, path, facts):\n"
        "    print('packing', flush=True)\n"
        "    time.sleep(60)\n"
        "archive._add = add\n"
        "sys.exit(cli.run())\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "build", str(path), "--output", str(out)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    killer = threading.Timer(60, process.kill)
    killer.start()
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "packing\n"
        assert any(out.iterdir())
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate()
    finally:
        killer.cancel()
        process.kill()
        process.communicate()
    assert process.returncode == 130
    assert "error: interrupted; nothing half-done is left" in errors
    assert list(out.iterdir()) == []


def test_what_a_killed_build_left_is_removed_by_the_next(declare: Declare, tmp_path: Path) -> None:
    left = tmp_path / "out" / ".building" / "old.gguf"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"x")
    (tmp_path / "out" / ".model.tar.gz.partial").write_bytes(b"x")
    run_cli("build", declare(), "--output", tmp_path / "out").json  # noqa: B018 # asserts that it succeeded
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["model.tar.gz", "provenance.json"]


@pytest.mark.parametrize("arguments", [["build"], ["verify"], ["publish", "x"], ["nothing"], []])
def test_a_wrong_command_line_shows_the_usage(arguments: list[str]) -> None:
    ran = run_cli(*arguments)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("usage: python -m model_packaging")


def test_help_names_every_command() -> None:
    text = run_process("--help").out
    assert all(command in text for command in ("build", "verify", "publish", "result", "requirements"))
