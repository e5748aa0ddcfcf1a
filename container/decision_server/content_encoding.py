"""A body as it was sent → the body it stands for: identity, gzip or zstd (contract 2).

Limits hold for the decoded size: decoding stops at the first byte past them, so a small body that would swell to
gigabytes costs no more than a large one.
"""

from __future__ import annotations

import sys
import zlib
from typing import Protocol

from decision_server.errors import Refusal

if sys.version_info >= (3, 14):
    from compression.zstd import DecompressionParameter, ZstdDecompressor, ZstdError
else:
    from backports.zstd import DecompressionParameter, ZstdDecompressor, ZstdError

ENCODINGS = ("gzip", "zstd", "identity")
_WINDOW_LOG_MAX = 23  # 8 MiB of memory at most for a frame, as RFC 8878 recommends to decoders
_MAX_FRAMES = 16  # what follows a frame is copied for the next one, so many tiny ones would cost their number squared
_GZIP = 16 + zlib.MAX_WBITS


class _Decoder(Protocol):
    """Of one frame. eof: it has ended; unused_data: what came behind it."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


def decoded(body: bytes, content_encoding: str | None, *, max_bytes: int) -> bytes:
    """Raises Refusal: an encoding that is not known, broken data, a body that has more than max_bytes."""
    match encoding := (content_encoding or "identity").strip().lower():
        case "identity":
            return body
        case "gzip" | "zstd":
            return _inflated(body, encoding, max_bytes)
    raise Refusal(
        "unsupported_media_type",
        f"Content-Encoding: {encoding[:100]!r}; {', '.join(ENCODINGS)} are read, one at a time",
    )


def _inflated(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """All frames or members of the body, one after the other."""
    parts: list[bytes] = []
    size = 0
    rest = body
    for _ in range(_MAX_FRAMES):
        decoder = _decoder(encoding)
        try:
            part = decoder.decompress(rest, max_bytes + 1 - size)
        except (zlib.error, ZstdError) as error:
            raise Refusal(
                "bad_encoding", f"the body is not {encoding}, as its Content-Encoding says: {error}"
            ) from error
        parts.append(part)
        size += len(part)
        if size > max_bytes:
            raise Refusal(
                "body_too_large",
                f"the decoded body has more than {max_bytes} bytes, which is the limit; ask less at once",
            )
        if not decoder.eof:
            raise Refusal("bad_encoding", f"the body's {encoding} data ends too early; send all of it")
        rest = decoder.unused_data
        if not rest:
            return b"".join(parts)
    raise Refusal("bad_encoding", f"the body has more than {_MAX_FRAMES} {encoding} frames; send it as one")


def _decoder(encoding: str) -> _Decoder:
    if encoding == "gzip":
        return zlib.decompressobj(wbits=_GZIP)
    options = {int(DecompressionParameter.window_log_max): _WINDOW_LOG_MAX}
    decoder: _Decoder = ZstdDecompressor(options=options)
    return decoder
