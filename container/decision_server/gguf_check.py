"""Walks the tables at a GGUF's start before native code parses them: no count or length in them may lie.

llama.cpp's own reader believes some of what it reads, and ends the process where that is absurd. This says what is
wrong in one line. It knows the format alone: that the file is the declared one is checked by `model_files`, and whether
the model can be served is the engine's to say. Nothing is allocated by what a file claims: it is read through a map,
and what is copied out of it has a limit.
"""

from __future__ import annotations

import math
import mmap
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

from decision_server.model_errors import StartupFailure

_MAX_METADATA = 1 << 16
_MAX_TENSORS = 1 << 16  # some thousands in the largest models
_MAX_LAYERS = 512  # llama.cpp's own limit
_MAX_EXPERTS = 1024  # likewise
_MAX_CONTEXT = 1 << 24  # tokens: half as much again as the longest that any model states
_MAX_TEXT = 16 << 20
_MAX_KEPT = 32 << 20  # of all keys and names together: of a text's bytes only those are copied that are looked at
_TEXTS = frozenset({b"general.architecture", b"general.type"})
_MAX_VALUES = 1 << 43
_KEYS_OR_VALUES = re.compile(rb"blk\.([0-9]{1,4})\.attn_[kv]\.weight")
_STRING, _ARRAY = 8, 9
_SCALARS: dict[int, str] = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
_SIZES = {kind: struct.calcsize(form) for kind, form in _SCALARS.items()}
_FEWEST_BITS = 1  # a value of a tensor takes more than that in every type


@dataclass(frozen=True, kw_only=True)
class Split:
    """One part of a split model. number: from 1 to count."""

    number: int
    count: int


@dataclass(frozen=True, kw_only=True)
class Header:
    """split: None for a whole model.

    token_values: keys and values that the context keeps of a token, in the layers of this file. At least: a layer whose
    tensors do not say it counts for nothing.
    """

    split: Split | None
    token_values: int


def check(path: Path) -> Header:
    """Raises StartupFailure that names the file and what is wrong in it."""
    with path.open("rb") as file:
        if path.stat().st_size < 24:  # magic, version and two counts
            raise StartupFailure(f"model: {path} has {path.stat().st_size} bytes: the file is truncated")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Walk(data, path).tables()


class _Walk:
    def __init__(self, data: mmap.mmap, path: Path) -> None:
        self._data = data
        self._size = len(data)
        self._path = path
        self._at = 0
        self._kept = 0

    def tables(self) -> Header:
        if self._data[:4] != b"GGUF":
            raise self._wrong(f"it begins with {self._data[:4]!r}, not with b'GGUF'")
        self._at = 4
        version = self._number("<I", "the version")
        if version not in (2, 3):
            raise self._wrong(f"version {version}; little-endian GGUF of version 2 or 3 is needed")
        n_tensors = self._count("tensors", _MAX_TENSORS)
        n_metadata = self._count("metadata entries", _MAX_METADATA)
        metadata = dict(self._entry() for _ in range(n_metadata))
        end = 0
        names: set[bytes] = set()
        kept = []
        for _ in range(n_tensors):
            name, shape, offset = self._tensor()
            if name in names:
                raise self._wrong(f"the tensor {_shown(name)} stands there twice")
            names.add(name)
            end = max(end, offset + prod(shape) * _FEWEST_BITS // 8)
            layer = _KEYS_OR_VALUES.fullmatch(name)
            if layer and len(shape) == 2:
                kept.append((int(layer[1]), shape[1]))
        if end > self._size - self._at:
            raise self._wrong(f"the tensors need {end} bytes and the file has {self._size - self._at} left for them")
        split = self._split(metadata)
        own = self._own_layers(metadata)
        return Header(split=split, token_values=sum(values for layer, values in kept if layer < own))

    def _split(self, metadata: Mapping[bytes, object]) -> Split | None:
        kind = metadata.get(b"general.type", b"model")
        architecture = metadata.get(b"general.architecture")
        if kind == b"mmproj" or architecture == b"clip":
            raise self._wrong("it is a projector of pictures or sounds (mmproj), no language model")
        self._refuse_absurd(metadata, architecture)
        count, number = metadata.get(b"split.count", 0), metadata.get(b"split.no", 0)
        if not isinstance(count, int) or count < 2:
            return None
        if not isinstance(number, int) or not 0 <= number < count:
            raise self._wrong(f"split.no is {number!r}; 0 to {count - 1} are there, split.count being {count}")
        return Split(number=number + 1, count=count)

    def _refuse_absurd(self, metadata: Mapping[bytes, object], architecture: object) -> None:
        """Values at which llama.cpp ends the process instead of refusing the model."""
        for key, value in metadata.items():
            if isinstance(value, float) and not (math.isfinite(value) and (value >= 0 or not key.endswith(b"epsilon"))):
                raise self._wrong(f"{_shown(key)} is {value}, which nothing can be computed with")
        if not isinstance(architecture, bytes):
            return
        layers = metadata.get(architecture + b".block_count", 1)
        if not isinstance(layers, int) or not 1 <= layers <= _MAX_LAYERS:
            raise self._wrong(f"block_count is {layers!r}; a model has 1 to {_MAX_LAYERS} layers")
        context = metadata.get(architecture + b".context_length", 1)
        if not isinstance(context, int) or not 1 <= context <= _MAX_CONTEXT:
            raise self._wrong(f"context_length is {context!r}; a model has 1 to {_MAX_CONTEXT} tokens of context")
        further = metadata.get(architecture + b".nextn_predict_layers", 0)
        if isinstance(further, int) and not 0 <= further <= layers:
            raise self._wrong(f"nextn_predict_layers is {further}; of {layers} layers 0 to {layers} can be such")
        experts = metadata.get(architecture + b".expert_count", 0)
        if isinstance(experts, int) and not 0 <= experts <= _MAX_EXPERTS:
            raise self._wrong(f"expert_count is {experts}; a layer has 0 to {_MAX_EXPERTS} experts")
        used = metadata.get(architecture + b".expert_used_count", 0)
        if isinstance(experts, int) and isinstance(used, int) and not min(experts, 1) <= used <= experts:
            needed = f"1 to {experts}" if experts else "none"
            raise self._wrong(f"expert_used_count is {used}; of {experts} experts {needed} can be used")

    def _own_layers(self, metadata: Mapping[bytes, object]) -> int:
        """How many layers keep keys and values of their own: the last ones may share others', or predict further."""
        architecture = metadata.get(b"general.architecture")
        if not isinstance(architecture, bytes):
            return _MAX_LAYERS
        layers = metadata.get(architecture + b".block_count")
        if not isinstance(layers, int):
            return _MAX_LAYERS  # a part after the first: its model's first part says how many there are
        for key in (b".attention.shared_kv_layers", b".nextn_predict_layers"):
            without = metadata.get(architecture + key, 0)
            layers -= without if isinstance(without, int) else layers
        return layers

    def _entry(self) -> tuple[bytes, object]:
        key = self._text("a metadata key")
        kind = self._number("<I", f"the type of {_shown(key)}")
        if kind == _ARRAY:
            self._array(key)
            return key, None
        if kind == _STRING and key in _TEXTS:
            return key, self._text(_shown(key))
        if kind == _STRING:
            self._skip(self._length(_shown(key)), _shown(key))
            return key, None
        if kind not in _SCALARS:
            raise self._wrong(f"{_shown(key)} has the unknown value type {kind}")
        return key, self._number(_SCALARS[kind], _shown(key))

    def _array(self, key: bytes) -> None:
        kind, count = self._number("<I", "an item type"), self._number("<Q", "an item count")
        if kind in _SIZES:
            self._skip(count * _SIZES[kind], f"the array {_shown(key)} of {count} items")
        elif kind == _STRING:
            self._need(count * 8, f"the array {_shown(key)} of {count} texts")
            self._texts(count)
        else:
            raise self._wrong(f"{_shown(key)} is an array of the unknown or nested type {kind}")

    def _texts(self, count: int) -> None:
        """Hundreds of thousands in a vocabulary: the one loop here that takes time."""
        data, at, last, read = self._data, self._at, self._size - 8, struct.Struct("<Q").unpack_from
        for done in range(count):
            if at > last:
                raise self._wrong(f"text {done} of {count} in an array lies after the file's end: it is damaged")
            at += 8 + read(data, at)[0]
        if at > self._size:
            raise self._wrong(f"the last of {count} texts in an array ends after the file: it is damaged")
        self._at = at

    def _tensor(self) -> tuple[bytes, list[int], int]:
        """Name, shape and offset."""
        name = self._text("a tensor's name")
        n_dimensions = self._number("<I", "a number of dimensions")
        if not 1 <= n_dimensions <= 4:
            raise self._wrong(f"tensor {_shown(name)} has {n_dimensions} dimensions; 1 to 4 allowed")
        shape = [self._number("<Q", "a dimension") for _ in range(n_dimensions)]
        if not 0 < prod(shape) <= _MAX_VALUES:
            raise self._wrong(f"tensor {_shown(name)} has {' x '.join(map(str, shape))} values; 1 to {_MAX_VALUES}")
        self._number("<I", "a tensor's type")  # llama.cpp knows which there are
        offset = self._number("<Q", "a tensor's offset")
        return name, shape, offset

    def _count(self, what: str, most: int) -> int:
        count = self._number("<Q", f"the count of {what}")
        if count > most:
            raise self._wrong(f"it claims {count} {what}; {most} allowed")
        return count

    def _text(self, what: str) -> bytes:
        length = self._length(what)
        self._need(length, what)
        self._kept += length
        if self._kept > _MAX_KEPT:
            raise self._wrong(f"{what} brings keys and names to {self._kept} bytes; {_MAX_KEPT} allowed")
        self._at += length
        return self._data[self._at - length : self._at]

    def _length(self, what: str) -> int:
        length = self._number("<Q", f"the length of {what}")
        if length > _MAX_TEXT:
            raise self._wrong(f"{what} is {length} bytes long; {_MAX_TEXT} allowed")
        return length

    def _number(self, form: str, what: str) -> int:
        size = struct.calcsize(form)
        self._need(size, what)
        self._at += size
        value: int = struct.unpack_from(form, self._data, self._at - size)[0]
        return value

    def _skip(self, count: int, what: str) -> None:
        self._need(count, what)
        self._at += count

    def _need(self, count: int, what: str) -> None:
        left = self._size - self._at
        if count > left:
            raise self._wrong(f"{what} needs {count} bytes and the file has {left} left: it is truncated or damaged")

    def _wrong(self, problem: str) -> StartupFailure:
        return StartupFailure(f"model: {self._path}: at byte {self._at}: {problem}")


def _shown(name: bytes) -> str:
    return repr(name[:80].decode(errors="replace"))
