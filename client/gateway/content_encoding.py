"""Bodies that clients compress, made plain: InvokeEndpoint passes on no Content-Encoding."""

from __future__ import annotations

import sys
import zlib
from dataclasses import replace

from client.transport.exchange import Answer, Request, Upstream
from client.transport.failures import Failure
from client.transport.sagemaker import LIMITS, MAX_BODY_BYTES

if sys.version_info >= (3, 14):
    from compression.zstd import DecompressionParameter, ZstdDecompressor, ZstdError
else:
    from backports.zstd import DecompressionParameter, ZstdDecompressor, ZstdError

_WINDOW_LOG_MAX = 23  # 8 MiB of memory at most for a frame, as the server allows it too


class Decoding:
    """An upstream that takes plain bodies only, for clients that send encoded ones."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    @property
    def name(self) -> str:
        return self._upstream.name

    def send(self, request: Request, *, timeout: float) -> Answer:
        body = decoded(request.body, request.headers.get("content-encoding", ""), max_bytes=MAX_BODY_BYTES)
        if len(body) > MAX_BODY_BYTES:
            raise Failure("body_too_large", f"the body has more than {MAX_BODY_BYTES} bytes; {LIMITS}")
        return self._upstream.send(replace(request, body=body), timeout=timeout)

    def close(self) -> None:
        self._upstream.close()


def decoded(body: bytes, encoding: str, *, max_bytes: int) -> bytes:
    """One gzip member or zstd frame. Raises Failure; decoding stops one byte past max_bytes."""
    match encoding.strip().lower():
        case "" | "identity":
            return body
        case "gzip":
            decoder: zlib._Decompress | ZstdDecompressor = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        case "zstd":
            decoder = ZstdDecompressor(options={int(DecompressionParameter.window_log_max): _WINDOW_LOG_MAX})
        case other:
            raise Failure(
                "unsupported_media_type", f"Content-Encoding: {other[:100]!r}; gzip, zstd and identity are read"
            )
    try:
        plain = decoder.decompress(body, max_bytes + 1)
    except (zlib.error, ZstdError) as error:
        raise Failure("bad_encoding", f"the body is not {encoding}, as its Content-Encoding says: {error}") from error
    if len(plain) <= max_bytes and (not decoder.eof or decoder.unused_data):
        raise Failure("bad_encoding", f"the body is not one whole {encoding} frame; send it as one")
    return plain
