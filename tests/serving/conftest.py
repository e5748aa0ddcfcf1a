"""Tiny models, written once a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures.tiny_gguf import write_tiny_hybrid, write_tiny_llama


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llama(tmp_path_factory.mktemp("tiny") / "tiny-llama.gguf")


@pytest.fixture(scope="session")
def tiny_hybrid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_hybrid(tmp_path_factory.mktemp("tiny") / "tiny-hybrid.gguf")
