"""What stands in a file, on standard input or in a flag: bytes, text or JSON. Raises Refused, which names the flag."""

from __future__ import annotations

import sys
from pathlib import Path

from client.decisions import JsonValue
from client.errors import Refused
from client.json_lines import BadLine, check_value, read_value


def content(path: Path, flag: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise Refused(f"{flag} {path}: {error.strerror or error}") from error


def text_of(path: Path, flag: str) -> str:
    given = content(path, flag)
    try:
        return given.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(f"{flag} {path}: byte {error.start} is not UTF-8") from error


def json_of(text: str, flag: str) -> JsonValue:
    """As strictly as a body is read."""
    try:
        value: JsonValue = read_value(text.encode())
        check_value(value)
    except BadLine as error:
        raise Refused(f"{flag}: {error}. Remedy: --state, where it is plain text") from error
    return value
