"""Bodies that clients compress, made plain: InvokeEndpoint passes on no Content-Encoding."""

from __future__ import annotations

import sys
import zlib

from client.gateway.failures import Failure

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdDecompressor, ZstdError
else:
    from backports.zstd import ZstdDecompressor, ZstdError


def decoded(body: bytes, encoding: str, *, max_bytes: int) -> bytes:
    """One gzip member or zstd frame. Raises Failure; decoding stops one byte past max_bytes."""
    match encoding.strip().lower():
        case "" | "identity":
            return body
        case "gzip":
            decoder: zlib._Decompress | ZstdDecompressor = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        case "zstd":
            decoder = ZstdDecompressor()
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
