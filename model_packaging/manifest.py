"""The manifest: the facts inside a model archive (docs/interfaces.md, section 1). Bytes to values and back."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from .errors import PackagingError
from .fields import MODEL_NAME, MODEL_NAME_LIMIT, SHA256, SHA256_LIMIT, Fields
from .pinned import MAX_BYTES
from .serving import MAX_CONTEXT, Serving, read_serving
from .sources import HubSource, Source, read_source, source_json
from .weight_names import all_parts, part_name

MANIFEST_NAME = "manifest.json"
MANIFEST_VERSION = 1
MAX_MANIFEST_BYTES = 1 << 20

_KEYS = (
    "manifest_version", "name", "gguf", "source", "repo", "revision", "quantization", "licence", "licence_assumed",
    "serving", "calibration", "tokenizer",
)  # fmt: skip
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,204}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,62}")
_WORDS = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+-]{0,126}")
_GGUF_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}\.gguf")
_PLAIN_LIMIT = "a plain file name of A-Z a-z 0-9 . _ -"


@dataclass(frozen=True, kw_only=True)
class FileFacts:
    file: str
    bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class GgufFacts:
    """file, bytes, sha256: of the weights, of their first part where they are split; parts: the further ones."""

    file: str
    bytes: int
    sha256: str
    architecture: str
    file_type: str
    context_length: int
    parts: tuple[FileFacts, ...] = ()

    @property
    def files(self) -> tuple[FileFacts, ...]:
        return (FileFacts(file=self.file, bytes=self.bytes, sha256=self.sha256), *self.parts)


@dataclass(frozen=True, kw_only=True)
class Imatrix:
    """The importance matrix that a requantizing went by. format: "gguf" or "dat"."""

    sha256: str
    format: str
    source: Source


@dataclass(frozen=True, kw_only=True)
class Quantization:
    """What was requantized on the way. llama_cpp: the package and version that did it. from_sha256: see `identity`."""

    from_sha256: str
    from_file_type: str
    to: str
    llama_cpp: str
    imatrix: Imatrix | None = None


@dataclass(frozen=True, kw_only=True)
class TokenizerFacts:
    """A file for other tools, and where it came from: seldom the place of the weights."""

    file: str
    bytes: int
    sha256: str
    source: Source


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """serving.n_ctx ≤ gguf.context_length; checked on construction, whoever constructs.

    licence_assumed: nobody has read the licence at the source.
    """

    name: str
    gguf: GgufFacts
    source: Source
    quantization: Quantization | None
    licence: str
    serving: Serving
    licence_assumed: bool = False
    calibration: FileFacts | None = None
    tokenizer: tuple[TokenizerFacts, ...] = ()

    def __post_init__(self) -> None:
        if self.serving.n_ctx > self.gguf.context_length:
            raise PackagingError(
                f"{self.name}: serving.n_ctx: {self.serving.n_ctx} given; the model's context_length, "
                f"{self.gguf.context_length}, is the limit"
            )


def identity(files: Sequence[FileFacts]) -> str:
    """The sha256 by which weights are known: the file's own; of a split model, that of its `sha256sum` lines."""
    if len(files) == 1:
        return files[0].sha256
    return hashlib.sha256("".join(f"{each.sha256}  {each.file}\n" for each in files).encode()).hexdigest()


def listed_files(manifest: Manifest) -> tuple[FileFacts, ...]:
    """All that lies beside the manifest, in the archive's order: the small ones first."""
    tokenizer = (FileFacts(file=each.file, bytes=each.bytes, sha256=each.sha256) for each in manifest.tokenizer)
    calibration = () if manifest.calibration is None else (manifest.calibration,)
    return (*calibration, *tokenizer, *manifest.gguf.files)


def manifest_json(manifest: Manifest) -> dict[str, object]:
    hub = manifest.source if isinstance(manifest.source, HubSource) else None
    table: dict[str, object] = {
        "manifest_version": MANIFEST_VERSION,
        "name": manifest.name,
        "gguf": _gguf_json(manifest.gguf),
        "source": source_json(manifest.source),
        "repo": hub.repo if hub else None,
        "revision": hub.revision if hub else None,
        "quantization": _quantization_json(manifest.quantization) if manifest.quantization else None,
        "licence": manifest.licence,
        "serving": asdict(manifest.serving),
    }
    if manifest.licence_assumed:
        table["licence_assumed"] = True
    if manifest.calibration is not None:
        table["calibration"] = asdict(manifest.calibration)
    if manifest.tokenizer:
        table["tokenizer"] = [{**asdict(each), "source": source_json(each.source)} for each in manifest.tokenizer]
    return table


def _gguf_json(gguf: GgufFacts) -> dict[str, object]:
    table = asdict(gguf)
    parts = [asdict(each) for each in gguf.parts]
    del table["parts"]
    return {**table, "parts": parts} if parts else table


def _quantization_json(quantization: Quantization) -> dict[str, object]:
    table = asdict(quantization)
    imatrix = quantization.imatrix
    if imatrix is None:
        del table["imatrix"]
    else:
        table["imatrix"] = {**asdict(imatrix), "source": source_json(imatrix.source)}
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
        name=fields.text("name", MODEL_NAME, MODEL_NAME_LIMIT),
        gguf=_read_gguf(fields),
        source=read_source(fields),
        quantization=_read_quantization(fields),
        licence=fields.text("licence", _WORD, "an SPDX identifier"),
        serving=read_serving(fields),
        licence_assumed=fields.optional_boolean("licence_assumed"),
        calibration=_read_calibration(fields),
        tokenizer=_read_tokenizer(fields),
    )
    if manifest_json(manifest) != values:
        raise PackagingError(f"{where}: repo and revision must be the source's own, and no key may be left out")
    return manifest


_FILE_KEYS = ("file", "bytes", "sha256")


def _read_gguf(parent: Fields) -> GgufFacts:
    fields = parent.table("gguf", (*_FILE_KEYS, "architecture", "file_type", "context_length", "parts"))
    first = _read_file(fields, _GGUF_FILE, f"{_PLAIN_LIMIT} that ends in .gguf")
    part = part_name(first.file)
    names = [] if part is None or part.number != 1 else all_parts(part)[1:]
    tables = fields.tables("parts", _FILE_KEYS)
    parts = tuple(_read_file(each, _GGUF_FILE, f"{_PLAIN_LIMIT} that ends in .gguf") for each in tables)
    if [each.file for each in parts] != names:
        raise fields.wrong("parts", f"{[each.file for each in parts]} given", f"{names} follow {first.file!r}")
    return GgufFacts(
        file=first.file,
        bytes=first.bytes,
        sha256=first.sha256,
        architecture=fields.text("architecture", _WORD, "an architecture such as llama"),
        file_type=fields.text("file_type", _WORD, "a file type such as Q8_0"),
        context_length=fields.integer("context_length", 1, MAX_CONTEXT),
        parts=parts,
    )


def _read_file(fields: Fields, pattern: re.Pattern[str], limit: str) -> FileFacts:
    return FileFacts(
        file=fields.text("file", pattern, limit),
        bytes=fields.integer("bytes", 1, MAX_BYTES),
        sha256=fields.text("sha256", SHA256, SHA256_LIMIT),
    )


def _read_quantization(parent: Fields) -> Quantization | None:
    fields = parent.optional_table("quantization", ("from_sha256", "from_file_type", "to", "llama_cpp", "imatrix"))
    if fields is None:
        return None
    return Quantization(
        from_sha256=fields.text("from_sha256", SHA256, SHA256_LIMIT),
        from_file_type=fields.text("from_file_type", _WORD, "a file type such as Q4_1"),
        to=fields.text("to", _WORD, "a file type such as Q8_0"),
        llama_cpp=fields.text("llama_cpp", _WORDS, "a package and its version"),
        imatrix=_read_imatrix(fields),
    )


def _read_imatrix(parent: Fields) -> Imatrix | None:
    fields = parent.optional_table("imatrix", ("sha256", "format", "source"))
    if fields is None:
        return None
    return Imatrix(
        sha256=fields.text("sha256", SHA256, SHA256_LIMIT),
        format=fields.one_of("format", ("gguf", "dat")),
        source=read_source(fields),
    )


def _read_calibration(parent: Fields) -> FileFacts | None:
    fields = parent.optional_table("calibration", _FILE_KEYS)
    return None if fields is None else _read_file(fields, _PLAIN, _PLAIN_LIMIT)


def _read_tokenizer(parent: Fields) -> tuple[TokenizerFacts, ...]:
    facts = []
    for fields in parent.tables("tokenizer", (*_FILE_KEYS, "source")):
        file = _read_file(fields, _PLAIN, _PLAIN_LIMIT)
        facts.append(TokenizerFacts(file=file.file, bytes=file.bytes, sha256=file.sha256, source=read_source(fields)))
    return tuple(facts)


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return result


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")
