"""The model's folder for `benchmarks.image`, with the tokenizer that the second server loads beside the weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import gguf

from tests.fixtures.models import smollm2_q8_0

# As a module that Python imports before the server; the model's folder is where the image sees this one's files.
LOAD_TOKENIZER = """
from transformers import AutoTokenizer
assert AutoTokenizer.from_pretrained("/opt/ml/model/tokenizer")("a text")["input_ids"]
"""


def write_model(folder: Path) -> Path:
    """The model's folder, with what the second server loads beside it. Returns the weights' path."""
    model = smollm2_q8_0()
    folder.mkdir()
    shutil.copyfile(model, folder / "model.gguf")
    write_tokenizer(model, folder / "tokenizer")
    (folder / "site").mkdir()
    (folder / "site/sitecustomize.py").write_text(LOAD_TOKENIZER)
    return folder / "model.gguf"


def write_tokenizer(model: Path, folder: Path) -> None:
    """The vocabulary and merges of a GGUF as the files that AutoTokenizer reads."""
    fields = gguf.GGUFReader(model).fields
    tokens: list[str] = fields["tokenizer.ggml.tokens"].contents()
    document: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": fields["tokenizer.ggml.merges"].contents(),
        },
    }
    folder.mkdir()
    (folder / "tokenizer.json").write_text(json.dumps(document))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
