"""The check that ends an image build fails where answers are not what the weights say, whatever else is in order."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sbom
import self_check
import tiny_model
import tiny_reference

from local.workspace import CHECKOUT

LABELS = [ord("A"), ord("B")]


def answer() -> dict[str, Any]:
    """What a server that computes exactly would answer."""
    ids = tiny_reference.tokens(self_check.PROMPT)
    logits = tiny_reference.logits(ids)
    return {
        "prompt_sha256": hashlib.sha256(self_check.PROMPT.encode()).hexdigest(),
        "input_tokens": len(ids),
        "option_logits": logits[LABELS].tolist(),
        "allowed_token_mass": float(np.exp(logits[LABELS]).sum() / np.exp(logits).sum()),
        "full_vocab_argmax_id": int(logits.argmax()),
    }


def test_the_expected_logits_themselves_pass() -> None:
    assert self_check.check_logits(answer()) == 0


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"prompt_sha256": "0" * 64}, "the prompt's sha256"),
        ({"input_tokens": 394}, "394 tokens; 395 expected"),
        ({"option_logits": [0.164, -1.13]}, "of the options"),
        ({"option_logits": [float("nan"), -1.13]}, "of the options"),
        ({"allowed_token_mass": 0.0028}, "allowed_token_mass"),
        ({"full_vocab_argmax_id": 0}, "full_vocab_argmax_id 0; 132"),
    ],
)
def test_each_number_that_is_off_is_named(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(self_check.SelfCheckError, match=reason):
        self_check.check_logits(answer() | changed)


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ('struct.pack("<f", ROPE_BASE)', 'struct.pack("<f", ROPE_BASE / 2)'),
        ('struct.pack("<f", NORM_EPSILON)', 'struct.pack("<f", 0.1)'),
    ],
)
def test_a_library_that_computes_something_else_fails_the_build(tmp_path: Path, written: str, instead: str) -> None:
    """The file asks the library for another rotation, or another norm, than the expectation is computed with."""
    folder = tmp_path / "container"
    shutil.copytree(CHECKOUT / "container", folder, ignore=shutil.ignore_patterns("__pycache__"))
    source = (folder / "tiny_model.py").read_text()
    assert written in source
    (folder / "tiny_model.py").write_text(source.replace(written, instead))
    done = subprocess.run(
        [sys.executable, str(folder / "self_check.py")], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1, done.stdout
    assert "computed without llama.cpp" in done.stderr


def test_the_tiny_model_is_the_same_file_each_time(tmp_path: Path) -> None:
    tiny_model.write(tmp_path / "one")
    tiny_model.write(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_package_that_the_lock_does_not_pin_is_refused() -> None:
    lock = "numpy==2.2.6 ; python_full_version < '3.11' \\\n    --hash=sha256:0\nnumpy==2.4.6 \\\n    --hash=sha256:1\n"
    sbom.compare({"numpy": "2.2.6"}, lock)
    with pytest.raises(sbom.SbomError, match=r"numpy: 2.3.0 installed; the lock pins 2.2.6, 2.4.6"):
        sbom.compare({"numpy": "2.3.0"}, lock)
    with pytest.raises(sbom.SbomError, match=r"pip: 25\.0 installed; the lock pins nothing"):
        sbom.compare({"pip": "25.0"}, lock)
