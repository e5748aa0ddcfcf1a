"""The SHA-256 that S3 stores with an object, computed from the bytes at hand. Pure: knows S3's notation and no client.

Of an object that was put whole it is that of its bytes; of one that came in parts, `…-N`, that of the N parts' digests
one after the other. S3 computed or checked it when the bytes came, so it cannot be claimed of other bytes.
"""

from __future__ import annotations

import base64
import hashlib

from .gguf_stream import Readable
from .integrity import CHUNK


def whole_checksum(sha256: str) -> str:
    """sha256: 64 hex."""
    return base64.b64encode(bytes.fromhex(sha256)).decode()


def parts_of(checksum: str) -> int | None:
    """How many the object came in; None where it came whole."""
    _, dash, count = checksum.partition("-")
    return int(count) if dash and count.isdecimal() else None


def parts_checksum(content: Readable, *, part_bytes: int) -> str:
    """content: read to its end. part_bytes: of each part but the last."""
    digests = []
    while True:
        part, left = hashlib.sha256(), part_bytes
        while left and (data := content.read(min(left, CHUNK))):
            part.update(data)
            left -= len(data)
        if left < part_bytes:
            digests.append(part.digest())
        if left:
            return f"{base64.b64encode(hashlib.sha256(b''.join(digests)).digest()).decode()}-{len(digests)}"
