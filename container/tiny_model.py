"""Writes a GGUF of a few hundred kilobytes with seeded random weights, for the self-check that ends an image build.

Its answers mean nothing; file format, tokenizer, chat template and every step of scoring are real. Needs the standard
library alone, so that the image holds nothing for its own check but this file.
"""

from __future__ import annotations

import random
import struct
from array import array
from pathlib import Path

CONTEXT_LENGTH = 2048
WIDTH, HEADS, FEED_FORWARD, LAYERS = 32, 2, 64, 1
NORM_EPSILON, ROPE_BASE = 1e-5, 10000.0
_NORMAL, _CONTROL = 1, 3  # llama.cpp's kinds of tokens
_UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9  # kinds of GGUF values
_ALIGNMENT = 32
CONTROLS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")  # their ids follow those of the bytes and the pair
_MERGED = "Ġt"  # a space and a t: llama.cpp wants at least one merge, and its result in the vocabulary
N_VOCAB = 256 + 1 + len(CONTROLS)
_CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def write(path: Path, *, seed: int = 1) -> None:
    """A one-layer `llama`; its vocabulary is the 256 bytes, one pair, three controls. Equal seeds, equal bytes."""
    tokens = [*_byte_tokens(), _MERGED, *CONTROLS]
    entries = [
        _entry("general.architecture", _STRING, _string("llama")),
        _entry("general.name", _STRING, _string("self-check")),
        _entry("general.file_type", _UINT32, struct.pack("<I", 0)),
        _entry("llama.context_length", _UINT32, struct.pack("<I", CONTEXT_LENGTH)),
        _entry("llama.embedding_length", _UINT32, struct.pack("<I", WIDTH)),
        _entry("llama.block_count", _UINT32, struct.pack("<I", LAYERS)),
        _entry("llama.feed_forward_length", _UINT32, struct.pack("<I", FEED_FORWARD)),
        _entry("llama.attention.head_count", _UINT32, struct.pack("<I", HEADS)),
        _entry("llama.rope.freq_base", _FLOAT32, struct.pack("<f", ROPE_BASE)),
        _entry("llama.attention.layer_norm_rms_epsilon", _FLOAT32, struct.pack("<f", NORM_EPSILON)),
        _entry("tokenizer.ggml.model", _STRING, _string("gpt2")),
        _entry("tokenizer.ggml.pre", _STRING, _string("qwen2")),
        _entry("tokenizer.ggml.tokens", _ARRAY, _array(_STRING, [_string(token) for token in tokens])),
        _entry(
            "tokenizer.ggml.token_type",
            _ARRAY,
            _array(_INT32, [struct.pack("<i", kind) for kind in [_NORMAL] * 257 + [_CONTROL] * 3]),
        ),
        _entry("tokenizer.ggml.merges", _ARRAY, _array(_STRING, [_string(" ".join(_MERGED))])),
        _entry("tokenizer.ggml.eos_token_id", _UINT32, struct.pack("<I", tokens.index("<|im_end|>"))),
        _entry("tokenizer.ggml.add_bos_token", _BOOL, struct.pack("<?", False)),
        _entry("tokenizer.chat_template", _STRING, _string(_CHAT_TEMPLATE)),
    ]
    shapes = _shapes(N_VOCAB)
    header = struct.pack("<4sIQQ", b"GGUF", 3, len(shapes), len(entries)) + b"".join(entries)
    data = b""
    for name, values in weights(seed).items():
        shape = shapes[name]
        header += _string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(data))
        data += _padded(values.tobytes())
    path.write_bytes(_padded(header) + data)


def weights(seed: int = 1) -> dict[str, array[float]]:
    """Each tensor's float32 values by its name in the file, in the file's order."""
    source, drawn = random.Random(seed), {}
    for name, shape in _shapes(N_VOCAB).items():
        if len(shape) == 1:  # of a norm: about 1, so that one that is left out shows
            drawn[name] = array("f", (source.uniform(0.5, 1.5) for _ in range(shape[0])))
        else:
            drawn[name] = array("f", (source.gauss(0.0, shape[0] ** -0.5) for _ in range(shape[0] * shape[1])))
    return drawn


def _shapes(n_vocab: int) -> dict[str, tuple[int, ...]]:
    """Tensor shapes as GGUF has them: the dimension that is contiguous in memory first. All float32."""
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (WIDTH, n_vocab), "output_norm.weight": (WIDTH,)}
    for layer in range(LAYERS):
        shapes |= {f"blk.{layer}.attn_{part}.weight": (WIDTH, WIDTH) for part in ("q", "k", "v", "output")}
        shapes |= {f"blk.{layer}.{part}_norm.weight": (WIDTH,) for part in ("attn", "ffn")}
        shapes |= {f"blk.{layer}.ffn_{part}.weight": (WIDTH, FEED_FORWARD) for part in ("gate", "up")}
        shapes[f"blk.{layer}.ffn_down.weight"] = (FEED_FORWARD, WIDTH)
    shapes["output.weight"] = (WIDTH, n_vocab)
    return shapes


def _byte_tokens() -> list[str]:
    """Byte-level BPE writes printable bytes as themselves and the others as characters from U+0100 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def _entry(key: str, kind: int, value: bytes) -> bytes:
    return _string(key) + struct.pack("<I", kind) + value


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _array(kind: int, items: list[bytes]) -> bytes:
    return struct.pack("<IQ", kind, len(items)) + b"".join(items)


def _padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % _ALIGNMENT)
