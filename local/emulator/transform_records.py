"""How Batch Transform cuts an object into requests and puts the answers together again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

Strategy = Literal["SingleRecord", "MultiRecord"]
MEGABYTE = 1024 * 1024


class RecordTooLarge(Exception):
    """One record is larger than MaxPayloadInMB."""


def requests(content: bytes, *, split: str, strategy: Strategy, max_payload_mb: int) -> list[bytes]:
    """The bodies that one object becomes. split: None or Line. Raises RecordTooLarge."""
    limit = max_payload_mb * MEGABYTE
    if split == "None":
        records = [content]
    else:
        lines = content.split(b"\n")
        records = lines[:-1] if lines[-1] == b"" else lines
    for number, record in enumerate(records, start=1):
        if len(record) > limit:
            raise RecordTooLarge(f"record {number} has {len(record)} bytes, more than MaxPayloadInMB={max_payload_mb}")
    return records if strategy == "SingleRecord" else _packed(records, limit)


def assembled(answers: Iterable[bytes], *, assemble_with: str) -> bytes:
    """What is stored for an object. assemble_with: None or Line, which ends every answer with a line break."""
    return b"".join(answer + b"\n" if assemble_with == "Line" else answer for answer in answers)


def output_key(key: str, *, input_prefix: str, output_prefix: str) -> str:
    """Below the output's prefix as the object lies below the input's folder."""
    folder = input_prefix[: input_prefix.rfind("/") + 1]
    joined = f"{output_prefix.rstrip('/')}/" if output_prefix else ""
    return f"{joined}{key.removeprefix(folder)}.out"


def _packed(records: Sequence[bytes], limit: int) -> list[bytes]:
    """As many records in a body as fit, each with its line break."""
    bodies: list[bytes] = []
    body = b""
    for record in records:
        if body and len(body) + len(record) + 1 > limit:
            bodies.append(body)
            body = b""
        body += record + b"\n"
    return [*bodies, body] if body else bodies
