"""Reads a declaration: the pinned intent in git, one TOML file a model. Touches nothing but that file."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from .errors import PackagingError
from .fields import MODEL_NAME, MODEL_NAME_LIMIT, SHA256, SHA256_LIMIT, Fields
from .ggml_types import NEEDS_IMATRIX, QUANTIZABLE
from .manifest import FileFacts, identity
from .pinned import MAX_BYTES, PINNED_KEYS, PinnedFile, read_pinned
from .serving import Serving, read_serving
from .sources import Source, sibling, source_file
from .weight_names import MOST_PARTS, PROJECTOR_REASON, all_parts, is_projector, part_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore] # installed on 3.10 only

TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer_config.json", "tokenizer.model", "special_tokens_map.json", "added_tokens.json",
    "vocab.json", "vocab.txt", "merges.txt", "chat_template.jinja",
)  # fmt: skip
"""What may be packed beside the weights for other tools; the server's tokenizer is the one inside the GGUF."""

_KEYS = (
    "name", "file", "bytes", "sha256", "parts", "licence", "licence_assumed", "source", "quantize", "serving",
    "calibration", "tokenizer",
)  # fmt: skip
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}\.gguf")
_LICENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]{0,62}")
_PATH = re.compile(r"[^\x00-\x1f/][^\x00-\x1f]{0,1000}")


@dataclass(frozen=True, kw_only=True)
class Quantize:
    """Requantize on the way. `sha256` pins the result as well, where it is known to be the same everywhere."""

    to: str
    sha256: str | None = None
    imatrix: PinnedFile | None = None


@dataclass(frozen=True, kw_only=True)
class TokenizerFile:
    """file: its name in the archive, one of TOKENIZER_FILES."""

    file: str
    pinned: PinnedFile


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """file: the name of the weights in the archive, of the first part where they are split there.

    weights: the source's files, in order; more than one where the source is split.
    licence_assumed: nobody has read it at the source. calibration: a file to pack, relative to the declaration.
    """

    path: Path
    name: str
    file: str
    weights: tuple[PinnedFile, ...]
    licence: str
    licence_assumed: bool
    serving: Serving
    quantize: Quantize | None = None
    calibration: str | None = None
    tokenizer: tuple[TokenizerFile, ...] = ()

    @property
    def source(self) -> Source:
        return self.weights[0].source

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.weights)

    @property
    def sha256(self) -> str:
        """Of the source's file, of the first one where there are several."""
        return self.weights[0].sha256

    @property
    def gguf_sha256(self) -> str | None:
        """By which the weights in the archive are known. None: a requantized result that nobody has pinned."""
        if self.quantize is not None:
            return self.quantize.sha256
        part = part_name(self.file)
        names = [self.file] if part is None else all_parts(part)
        return identity(
            [
                FileFacts(file=name, bytes=each.bytes, sha256=each.sha256)
                for name, each in zip(names, self.weights, strict=True)
            ]
        )


def read_declaration(path: Path) -> Declaration:
    """Raises PackagingError that names the file, the key, the value seen and the limit."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PackagingError(f"{path}: {error.strerror}; a declaration is a TOML file that can be read") from error
    except UnicodeDecodeError as error:
        raise PackagingError(f"{path}: byte {error.start} is not UTF-8; a declaration is UTF-8 TOML") from error
    except tomllib.TOMLDecodeError as error:
        raise PackagingError(f"{path}: not TOML: {error}") from error
    fields = Fields(values, where=str(path), allowed=_KEYS)
    quantize = _read_quantize(fields)
    weights = _read_weights(fields)
    return Declaration(
        path=path,
        name=fields.text("name", MODEL_NAME, MODEL_NAME_LIMIT),
        file=_read_file(fields, parts=1 if quantize is not None else len(weights)),
        weights=weights,
        licence=fields.text("licence", _LICENCE, "an SPDX identifier such as apache-2.0"),
        licence_assumed=fields.optional_boolean("licence_assumed"),
        serving=read_serving(fields),
        quantize=quantize,
        calibration=fields.optional_text("calibration", _PATH, "a path relative to this file"),
        tokenizer=_read_tokenizer(fields),
    )


def _read_file(fields: Fields, *, parts: int) -> str:
    """parts: how many files the weights are in the archive. Requantizing makes one of all."""
    file = fields.text("file", _FILE, "a plain file name of A-Z a-z 0-9 . _ - that ends in .gguf")
    if is_projector(file):
        raise fields.wrong("file", f"{file!r} given", PROJECTOR_REASON)
    part = part_name(file)
    if parts == 1 and part is not None:
        raise fields.wrong("file", f"{file!r} given", "a name without -NNNNN-of-NNNNN: the archive holds one file")
    if parts > 1 and (part is None or (part.number, part.count) != (1, parts)):
        raise fields.wrong("file", f"{file!r} given", f"NAME-00001-of-{parts:05}.gguf: the archive holds {parts} parts")
    return file


def _read_weights(fields: Fields) -> tuple[PinnedFile, ...]:
    first = read_pinned(fields)
    file = source_file(first.source)
    if is_projector(file):
        raise fields.wrong("source", f"{file!r} given", PROJECTOR_REASON)
    further = fields.tables("parts", ("bytes", "sha256"))
    part = part_name(file)
    if part is None:
        if further:
            raise fields.wrong("parts", f"{len(further)} given", "none: the source's name has no -00001-of-NNNNN")
        return (first,)
    if part.number != 1 or not 1 < part.count <= MOST_PARTS:
        limit = f"the first of 2 to {MOST_PARTS} parts, -00001-of-NNNNN; the others follow from it"
        raise fields.wrong("source", f"{PurePosixPath(file).name!r} given", limit)
    if len(further) != part.count - 1:
        limit = f"{part.count - 1} needed, one table for each part after the first, with its bytes and sha256"
        raise fields.wrong("parts", f"{len(further)} given", limit)
    names = all_parts(part)[1:]
    return (
        first,
        *(
            PinnedFile(
                source=sibling(first.source, name),
                bytes=table.integer("bytes", 1, MAX_BYTES),
                sha256=table.text("sha256", SHA256, SHA256_LIMIT),
            )
            for name, table in zip(names, further, strict=True)
        ),
    )


def _read_quantize(parent: Fields) -> Quantize | None:
    fields = parent.optional_table("quantize", ("to", "sha256", "imatrix"))
    if fields is None:
        return None
    to = fields.one_of("to", QUANTIZABLE)
    imatrix = fields.optional_table("imatrix", PINNED_KEYS)
    if imatrix is None and to in NEEDS_IMATRIX:
        limit = "a type that llama.cpp makes only with an importance matrix; add the table [quantize.imatrix]"
        raise fields.wrong("to", f"{to!r} given", limit)
    return Quantize(
        to=to,
        sha256=fields.optional_text("sha256", SHA256, SHA256_LIMIT),
        imatrix=None if imatrix is None else read_pinned(imatrix),
    )


def _read_tokenizer(parent: Fields) -> tuple[TokenizerFile, ...]:
    files = tuple(
        TokenizerFile(file=table.one_of("file", TOKENIZER_FILES), pinned=read_pinned(table))
        for table in parent.tables("tokenizer", ("file", *PINNED_KEYS))
    )
    names = [each.file for each in files]
    for name in names:
        if names.count(name) > 1:
            raise parent.wrong("tokenizer", f"{name!r} given twice", "one table for each file")
    return tuple(sorted(files, key=lambda each: each.file))
