"""A calibration is put into a model that is packed already."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from model_packaging.folder_lock import folder_lock
from tests.packaging.conftest import ROOT, Declare, Ran, build_below, run_cli


def calibration(folder: Path, tiny: Path, **changes: Any) -> Path:
    table = {
        "calibration_version": 1,
        "version": "v1",
        "gguf_sha256": hashlib.sha256(tiny.read_bytes()).hexdigest(),
        "prompt_version": "direct-options-v1",
        "readout": "letters",
        "temperatures": {"choice": 2.0},
    }
    path = folder / "fitted.json"
    path.write_text(json.dumps({**table, **changes}))
    return path


def recalibrated(folder: Path, source: Path, fitted: Path, name: str = "new/model.tar.gz") -> Ran:
    return run_cli("recalibrate", source, fitted, "--output", folder / name)


@pytest.fixture
def packed(tmp_path: Path, declare: Declare) -> Path:
    return Path(build_below(tmp_path, declare()).json["archive"])


def test_the_archive_is_the_one_that_a_build_with_the_calibration_gives(
    tmp_path: Path, tiny: Path, packed: Path, declare: Declare
) -> None:
    fitted = calibration(tmp_path, tiny)
    made = recalibrated(tmp_path, packed, fitted).json
    assert run_cli("verify", made["archive"]).json["manifest"]["calibration"]["sha256"] == (
        hashlib.sha256(fitted.read_bytes()).hexdigest()
    )
    built = build_below(tmp_path, declare(calibration=fitted.name)).json
    assert made["sha256"] == built["sha256"]
    assert Path(made["archive"]).read_bytes() == Path(built["archive"]).read_bytes()


def test_a_folder_and_its_archive_give_the_same_and_a_calibration_that_is_there_is_replaced(
    tmp_path: Path, tiny: Path, packed: Path
) -> None:
    first = recalibrated(tmp_path, packed, calibration(tmp_path, tiny), "a/model.tar.gz").json
    fitted = calibration(tmp_path, tiny, version="v2")
    from_archive = recalibrated(tmp_path, Path(first["archive"]), fitted, "b/model.tar.gz").json
    folder = tmp_path / "unpacked"
    with tarfile.open(first["archive"]) as tar:
        tar.extractall(folder, filter="data")
    from_folder = recalibrated(tmp_path, folder, fitted, "c/model.tar.gz").json
    assert from_archive["sha256"] == from_folder["sha256"] != first["sha256"]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"gguf_sha256": "0" * 64}, "gguf_sha256"),
        ({"readout": "likelihood"}, "readout"),
        ({"prompt_version": "criterion-first-v1"}, "prompt_version"),
    ],
)
def test_a_calibration_of_another_model_is_refused_and_nothing_is_left(
    tmp_path: Path, tiny: Path, packed: Path, changes: dict[str, Any], named: str
) -> None:
    ran = recalibrated(tmp_path, packed, calibration(tmp_path, tiny, **changes))
    assert ran.status == 2
    assert named in ran.error
    assert list((tmp_path / "new").iterdir()) == []


def test_nothing_is_written_over_and_no_provenance_of_another_archive_is_joined(
    tmp_path: Path, tiny: Path, packed: Path
) -> None:
    fitted = calibration(tmp_path, tiny)
    before = packed.read_bytes()
    assert "there already" in run_cli("recalibrate", packed, fitted, "--output", packed).error
    assert "provenance.json" in run_cli("recalibrate", packed, fitted, "--output", packed.parent / "x.tar.gz").error
    assert packed.read_bytes() == before


def test_a_damaged_archive_is_refused(tmp_path: Path, tiny: Path, packed: Path) -> None:
    packed.write_bytes(packed.read_bytes()[:-4096])
    ran = recalibrated(tmp_path, packed, calibration(tmp_path, tiny))
    assert ran.status == 2
    assert not (tmp_path / "new/model.tar.gz").exists()


def test_of_two_that_write_one_archive_the_second_finds_it_there(tmp_path: Path, tiny: Path, packed: Path) -> None:
    fitted = calibration(tmp_path, tiny)
    target = tmp_path / "new" / "model.tar.gz"
    target.parent.mkdir()
    paths = (str(packed), str(fitted), "--output", str(target))
    command = [sys.executable, "-m", "model_packaging", "recalibrate", *paths]
    with folder_lock(target.parent, wait=False, what="testing"):  # both get as far as they can without it
        both = [
            subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        for process in both:
            assert process.stderr is not None
            assert "waiting: another process is writing an archive in" in process.stderr.readline()
    said = [process.communicate(timeout=60) for process in both]
    assert sorted(process.returncode for process in both) == [0, 2]
    assert sum(f"error: {target}: is there already" in err for _, err in said) == 1
    assert list(target.parent.iterdir()) == [target]
