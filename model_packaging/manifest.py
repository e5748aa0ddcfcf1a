"""The manifest: the facts inside a model archive (docs/interfaces.md, section 1). Bytes to values and back."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass

from .errors import PackagingError
from .fields import SHA256, SHA256_LIMIT, Fields
from .serving import Serving, read_serving
from .sources import HubSource, Source, read_source, source_json

MANIFEST_NAME = "manifest.json"
MANIFEST_VERSION = 1
MAX_MANIFEST_BYTES = 1 << 20

_KEYS = (
    "manifest_version", "name", "gguf", "source", "repo", "revision", "quantization", "licence", "serving",
    "calibration",
)  # fmt: skip
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,204}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,62}")
_WORDS = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+-]{0,126}")
_GGUF_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}\.gguf")
_PLAIN_LIMIT = "a plain file name of A-Z a-z 0-9 . _ -"
_MAX_BYTES = 1 << 40


@dataclass(frozen=True, kw_only=True)
class GgufFacts:
    file: str
    bytes: int
    sha256: str
    architecture: str
    file_type: str
    context_length: int


@dataclass(frozen=True, kw_only=True)
class Quantization:
    """What was requantized on the way. llama_cpp: the package and version that did it."""

    from_sha256: str
    from_file_type: str
    to: str
    llama_cpp: str


@dataclass(frozen=True, kw_only=True)
class CalibrationFacts:
    file: str
    bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """serving.n_ctx ≤ gguf.context_length; checked on construction, whoever constructs."""

    name: str
    gguf: GgufFacts
    source: Source
    quantization: Quantization | None
    licence: str
    serving: Serving
    calibration: CalibrationFacts | None = None

    def __post_init__(self) -> None:
        if self.serving.n_ctx > self.gguf.context_length:
            raise PackagingError(
                f"{self.name}: serving.n_ctx: {self.serving.n_ctx} given; the model's context_length, "
                f"{self.gguf.context_length}, is the limit"
            )


def manifest_json(manifest: Manifest) -> dict[str, object]:
    hub = manifest.source if isinstance(manifest.source, HubSource) else None
    table: dict[str, object] = {
        "manifest_version": MANIFEST_VERSION,
        "name": manifest.name,
        "gguf": asdict(manifest.gguf),
        "source": source_json(manifest.source),
        "repo": hub.repo if hub else None,
        "revision": hub.revision if hub else None,
        "quantization": asdict(manifest.quantization) if manifest.quantization else None,
        "licence": manifest.licence,
        "serving": asdict(manifest.serving),
    }
    if manifest.calibration is not None:
        table["calibration"] = asdict(manifest.calibration)
    return table


def manifest_bytes(manifest: Manifest) -> bytes:
    return (json.dumps(manifest_json(manifest), indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def parse_manifest(data: bytes, *, where: str) -> Manifest:
    """Raises PackagingError for anything that `manifest_bytes` would not write."""
    try:
        values = json.loads(data.decode("utf-8"), object_pairs_hook=_unique_keys, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise PackagingError(f"{where}: not a JSON object in UTF-8: {error}") from error
    if not isinstance(values, dict):
        raise PackagingError(f"{where}: a JSON {type(values).__name__}; an object expected")
    fields = Fields(values, where=where, allowed=_KEYS)
    fields.integer("manifest_version", MANIFEST_VERSION, MANIFEST_VERSION)
    manifest = Manifest(
        name=fields.text("name", _WORD, "a name"),
        gguf=_read_gguf(fields),
        source=read_source(fields),
        quantization=_read_quantization(fields),
        licence=fields.text("licence", _WORD, "an SPDX identifier"),
        serving=read_serving(fields),
        calibration=_read_calibration(fields),
    )
    if manifest_json(manifest) != values:
        raise PackagingError(f"{where}: repo and revision must be the source's own, and no key may be left out")
    return manifest


def _read_gguf(parent: Fields) -> GgufFacts:
    fields = parent.table("gguf", ("file", "bytes", "sha256", "architecture", "file_type", "context_length"))
    return GgufFacts(
        file=fields.text("file", _GGUF_FILE, f"{_PLAIN_LIMIT} that ends in .gguf"),
        bytes=fields.integer("bytes", 1, _MAX_BYTES),
        sha256=fields.text("sha256", SHA256, SHA256_LIMIT),
        architecture=fields.text("architecture", _WORD, "an architecture such as llama"),
        file_type=fields.text("file_type", _WORD, "a file type such as Q8_0"),
        context_length=fields.integer("context_length", 1, 1 << 31),
    )


def _read_quantization(parent: Fields) -> Quantization | None:
    fields = parent.optional_table("quantization", ("from_sha256", "from_file_type", "to", "llama_cpp"))
    if fields is None:
        return None
    return Quantization(
        from_sha256=fields.text("from_sha256", SHA256, SHA256_LIMIT),
        from_file_type=fields.text("from_file_type", _WORD, "a file type such as Q4_1"),
        to=fields.text("to", _WORD, "a file type such as Q8_0"),
        llama_cpp=fields.text("llama_cpp", _WORDS, "a package and its version"),
    )


def _read_calibration(parent: Fields) -> CalibrationFacts | None:
    fields = parent.optional_table("calibration", ("file", "bytes", "sha256"))
    if fields is None:
        return None
    return CalibrationFacts(
        file=fields.text("file", _PLAIN, _PLAIN_LIMIT),
        bytes=fields.integer("bytes", 1, 1 << 24),
        sha256=fields.text("sha256", SHA256, SHA256_LIMIT),
    )


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return result


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")
