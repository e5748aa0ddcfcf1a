"""Writes a hybrid of the qwen35 architecture with random weights, about 300 MB in Q8_0, once; kept below `.cache/`.

Its answers mean nothing; its work is that of a real one: three gated-delta layers, then one of full attention, eight
layers in all, with the tokenizer and chat template of the model that it is measured beside, so that both read the same
tokens.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf.quants import quantize
from numpy.typing import NDArray

_LAYERS, _INTERVAL, _WIDTH, _FEED_FORWARD = 8, 4, 1024, 3584
_HEADS, _KV_HEADS, _HEAD = 8, 2, 256
_STATE, _KEY_HEADS, _VALUE_HEADS, _KERNEL = 128, 16, 16, 4
_CONTEXT_LENGTH = 8192
_Q8_0 = gguf.GGMLQuantizationType.Q8_0


def hybrid(folder: Path, vocabulary_of: Path) -> Path:
    """The file, written if it is not there yet; it gets its name only when it is whole."""
    path = folder / "random-hybrid-qwen35-Q8_0.gguf"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
        _write(partial, vocabulary_of)
        partial.rename(path)
    return path


def _write(path: Path, vocabulary_of: Path) -> None:
    random = np.random.default_rng(1)
    writer = gguf.GGUFWriter(path, "qwen35")
    writer.add_name("random hybrid")
    writer.add_context_length(_CONTEXT_LENGTH)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(_LAYERS)
    writer.add_feed_forward_length(_FEED_FORWARD)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_KV_HEADS)
    writer.add_key_length(_HEAD)
    writer.add_value_length(_HEAD)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_dimension_count(64)
    writer.add_rope_dimension_sections([11, 11, 10, 0])
    writer.add_rope_freq_base(10_000_000.0)
    writer.add_ssm_conv_kernel(_KERNEL)
    writer.add_ssm_inner_size(_STATE * _VALUE_HEADS)
    writer.add_ssm_state_size(_STATE)
    writer.add_ssm_time_step_rank(_VALUE_HEADS)
    writer.add_ssm_group_count(_KEY_HEADS)
    writer.add_uint32("qwen35.full_attention_interval", _INTERVAL)
    n_vocab = _copy_vocabulary(writer, gguf.GGUFReader(vocabulary_of))

    def matrix(name: str, rows: int, columns: int, scale: float = 1.5) -> None:
        values = random.standard_normal((rows, columns), dtype=np.float32) * np.float32(scale / math.sqrt(columns))
        writer.add_tensor(name, quantize(values, _Q8_0), raw_dtype=_Q8_0)

    def vector(name: str, values: NDArray[np.float64]) -> None:
        writer.add_tensor(name, values.astype(np.float32))

    def ones(name: str, size: int) -> None:
        vector(name, 1.0 + random.standard_normal(size) * 0.1)

    matrix("token_embd.weight", n_vocab, _WIDTH, scale=8.0)
    ones("output_norm.weight", _WIDTH)
    matrix("output.weight", n_vocab, _WIDTH, scale=2.0)
    key, value = _STATE * _KEY_HEADS, _STATE * _VALUE_HEADS
    for layer in range(_LAYERS):
        prefix = f"blk.{layer}."
        ones(prefix + "attn_norm.weight", _WIDTH)
        ones(prefix + "post_attention_norm.weight", _WIDTH)
        if layer % _INTERVAL == _INTERVAL - 1:
            matrix(prefix + "attn_q.weight", _HEAD * _HEADS * 2, _WIDTH)
            matrix(prefix + "attn_k.weight", _HEAD * _KV_HEADS, _WIDTH)
            matrix(prefix + "attn_v.weight", _HEAD * _KV_HEADS, _WIDTH)
            matrix(prefix + "attn_output.weight", _WIDTH, _HEAD * _HEADS)
            ones(prefix + "attn_q_norm.weight", _HEAD)
            ones(prefix + "attn_k_norm.weight", _HEAD)
        else:
            matrix(prefix + "attn_qkv.weight", 2 * key + value, _WIDTH)
            matrix(prefix + "attn_gate.weight", value, _WIDTH)
            vector(prefix + "ssm_conv1d.weight", random.standard_normal((2 * key + value, _KERNEL)) * 0.5)
            vector(prefix + "ssm_dt.bias", random.standard_normal(_VALUE_HEADS) * 0.5)
            vector(prefix + "ssm_a", -np.abs(random.standard_normal(_VALUE_HEADS)) * 0.5 - 0.05)
            matrix(prefix + "ssm_beta.weight", _VALUE_HEADS, _WIDTH)
            matrix(prefix + "ssm_alpha.weight", _VALUE_HEADS, _WIDTH)
            ones(prefix + "ssm_norm.weight", _STATE)
            matrix(prefix + "ssm_out.weight", _WIDTH, value)
        matrix(prefix + "ffn_gate.weight", _FEED_FORWARD, _WIDTH)
        matrix(prefix + "ffn_up.weight", _FEED_FORWARD, _WIDTH)
        matrix(prefix + "ffn_down.weight", _WIDTH, _FEED_FORWARD)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _copy_vocabulary(writer: gguf.GGUFWriter, reader: gguf.GGUFReader) -> int:
    """All tokenizer.* values, as they are. Returns the number of tokens."""
    for name, field in reader.fields.items():
        if name.startswith("tokenizer."):
            value: Any = field.contents()
            kind = field.types[0]
            inner = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(name, value, kind, sub_type=inner)
    return len(reader.fields["tokenizer.ggml.tokens"].data)
