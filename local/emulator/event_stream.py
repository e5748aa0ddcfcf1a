"""The media type `application/vnd.amazon.eventstream`, as far as SageMaker's runtime uses it. Pure."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping

CONTENT_TYPE = "application/vnd.amazon.eventstream"
_STRING = 7  # the type of a header's value


def payload_part(content: bytes) -> bytes:
    """A piece of the container's answer, as it came."""
    headers = {":message-type": "event", ":event-type": "PayloadPart", ":content-type": "application/octet-stream"}
    return message(headers, content)


def model_stream_error(code: str, said: str) -> bytes:
    """The answer broke off. An SDK raises it."""
    headers = {
        ":message-type": "exception",
        ":exception-type": "ModelStreamError",
        ":content-type": "application/json",
    }
    return message(headers, json.dumps({"ErrorCode": code, "Message": said}).encode())


def message(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Lengths, their checksum, the headers, the payload, the checksum of all."""
    block = b"".join(_header(name, value) for name, value in headers.items())
    lengths = (16 + len(block) + len(payload)).to_bytes(4, "big") + len(block).to_bytes(4, "big")
    checked = lengths + _checksum(lengths) + block + payload
    return checked + _checksum(checked)


def _header(name: str, value: str) -> bytes:
    spelled, content = name.encode(), value.encode()
    return bytes([len(spelled)]) + spelled + bytes([_STRING]) + len(content).to_bytes(2, "big") + content


def _checksum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "big")
