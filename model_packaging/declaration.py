"""Reads a declaration: the pinned intent in git, one TOML file a model. Touches nothing but that file."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from .errors import PackagingError
from .fields import SHA256, SHA256_LIMIT, Fields
from .serving import Serving, read_serving
from .sources import Source, read_source

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore] # installed on 3.10 only

QUANTIZABLE = (
    "Q8_0", "Q6_K", "Q5_K_M", "Q5_K_S", "Q5_1", "Q5_0", "Q4_K_M", "Q4_K_S", "Q4_1", "Q4_0", "IQ4_NL", "IQ4_XS",
)  # fmt: skip
"""File types that llama.cpp writes without an importance matrix and that keep a model usable."""

_KEYS = ("name", "file", "bytes", "sha256", "licence", "source", "quantize", "serving", "calibration")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}\.gguf")
_LICENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]{0,62}")
_PATH = re.compile(r"[^\x00-\x1f/][^\x00-\x1f]{0,1000}")
_MAX_BYTES = 1 << 40


@dataclass(frozen=True, kw_only=True)
class Quantize:
    """Requantize on the way. `sha256` pins the result as well, where it is known to be the same everywhere."""

    to: str
    sha256: str | None = None


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """bytes and sha256 are those of the source file; `file` is the name of the weights in the archive.

    calibration: a file to pack beside them, its path relative to the declaration.
    """

    path: Path
    name: str
    file: str
    bytes: int
    sha256: str
    licence: str
    source: Source
    serving: Serving
    quantize: Quantize | None = None
    calibration: str | None = None


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
    return Declaration(
        path=path,
        name=fields.text("name", _NAME, "1 to 63 of a-z 0-9 . _ -, beginning with a letter or digit"),
        file=fields.text("file", _FILE, "a plain file name of A-Z a-z 0-9 . _ - that ends in .gguf"),
        bytes=fields.integer("bytes", 1, _MAX_BYTES),
        sha256=fields.text("sha256", SHA256, SHA256_LIMIT),
        licence=fields.text("licence", _LICENCE, "an SPDX identifier such as apache-2.0"),
        source=read_source(fields),
        serving=read_serving(fields),
        quantize=_read_quantize(fields),
        calibration=fields.optional_text("calibration", _PATH, "a path relative to this file"),
    )


def _read_quantize(parent: Fields) -> Quantize | None:
    fields = parent.optional_table("quantize", ("to", "sha256"))
    if fields is None:
        return None
    return Quantize(to=fields.one_of("to", QUANTIZABLE), sha256=fields.optional_text("sha256", SHA256, SHA256_LIMIT))
