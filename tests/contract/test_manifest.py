"""The archive that packaging writes is the one that the container reads: docs/interfaces.md, section 1."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from decision_server import calibration, choices, model_files
from decision_server.model_errors import StartupFailure
from model_packaging.build import Built, build
from model_packaging.declaration import read_declaration
from model_packaging.manifest import manifest_bytes, parse_manifest
from model_packaging.serving import READOUTS as PACKAGED_READOUTS
from model_packaging.verify import verify
from tests.fixtures.tiny_gguf import write_tiny_llama

ROOT = Path(__file__).resolve().parents[2]
_DECLARATION = """
name = "tiny-q8_0"
file = "tiny-q8_0.gguf"
bytes = {bytes}
sha256 = "{sha256}"
licence = "apache-2.0"
calibration = "fit.json"
[source]
kind = "file"
path = "tiny.gguf"
[quantize]
to = "Q8_0"
[serving]
readout = "likelihood"
prompt_version = "likelihood-v1"
n_ctx = 2048
"""
_TEMPERATURES = {"choice": 1.5}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("packaged")
    weights = model_files.find(write_tiny_llama(folder / "tiny.gguf")).gguf
    declaration = folder / "tiny.toml"
    text = _DECLARATION.format(bytes=weights.bytes, sha256=weights.sha256)
    declaration.write_text(text.replace('calibration = "fit.json"\n', ""))
    plain = build(declaration, output=folder / "out", cache_dir=folder / "cache").manifest
    fitted = {
        "calibration_version": 1, "version": "v1", "gguf_sha256": plain.gguf.sha256, "readout": plain.serving.readout,
        "prompt_version": plain.serving.prompt_version, "temperatures": _TEMPERATURES,
    }  # fmt: skip
    (folder / "fit.json").write_text(json.dumps(fitted))
    declaration.write_text(text)
    return build(declaration, output=folder / "out", cache_dir=folder / "cache")


@pytest.fixture
def unpacked(built: Built, tmp_path: Path) -> Path:
    """As SageMaker unpacks the archive into /opt/ml/model."""
    with tarfile.open(built.archive.path, "r:gz") as tar:
        for member in tar:
            content = tar.extractfile(member)
            assert content is not None
            (tmp_path / member.name).write_bytes(content.read())
    return tmp_path


def test_the_container_reads_every_fact_that_packaging_wrote(built: Built, unpacked: Path) -> None:
    found = model_files.find(unpacked)
    manifest = built.manifest
    assert found.name == manifest.name
    assert (found.gguf.file, found.gguf.bytes, found.gguf.sha256) == (
        manifest.gguf.file,
        manifest.gguf.bytes,
        manifest.gguf.sha256,
    )
    assert (found.serving.readout, found.serving.prompt_version, found.serving.n_ctx) == (
        "likelihood",
        "likelihood-v1",
        2048,
    )
    assert (found.repo, found.revision) == (None, None)
    assert found.calibration == unpacked / "calibration.json"
    serves = choices.checked(found.serving.readout, found.serving.prompt_version)
    fitted = calibration.read(found.calibration.read_bytes(), gguf_sha256=found.gguf.sha256, serves=serves)
    assert fitted.temperatures == _TEMPERATURES


@pytest.mark.parametrize(
    "path", sorted((ROOT / "model_packaging/declarations").glob("*.toml")), ids=lambda path: path.stem
)
def test_every_declaration_asks_for_a_readout_and_a_prompt_version_that_the_container_has(path: Path) -> None:
    serving = read_declaration(path).serving
    assert choices.checked(serving.readout, serving.prompt_version)


def test_both_sides_refuse_the_same_damage(unpacked: Path) -> None:
    weights = unpacked / "tiny-q8_0.gguf"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    with pytest.raises(StartupFailure, match="sha256"):
        model_files.find(unpacked)
    with pytest.raises(Exception, match="sha256"):
        verify(unpacked)


def test_a_manifest_comes_back_from_its_bytes_as_it_was(built: Built) -> None:
    assert parse_manifest(manifest_bytes(built.manifest), where="manifest.json") == built.manifest


def test_packaging_and_container_know_the_same_readouts() -> None:
    assert PACKAGED_READOUTS == choices.READOUTS
