"""What an AWS API answers with, and the one place that knows how its errors look on the wire."""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeAlias

Response: TypeAlias = tuple[int, dict[str, str], bytes]


@dataclass(frozen=True, kw_only=True)
class Streamed:
    """An answer that is sent part by part. parts: closed by whoever sends them."""

    status: int
    headers: dict[str, str]
    parts: Generator[bytes, None, None]


class AwsError(Exception):
    """An error the caller of an API sees: its code, its message, the HTTP status."""

    def __init__(self, code: str, message: str, status: int = 400, **members: str | int) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.members = members

    def response(self) -> Response:
        """Both spellings of `message`: SDKs read the one their service's model declares."""
        body = {"__type": self.code, "message": self.message, "Message": self.message, **self.members}
        headers = {"Content-Type": "application/json", "x-amzn-errortype": self.code}
        return self.status, headers, json.dumps(body).encode()


def validation(message: str) -> AwsError:
    return AwsError("ValidationException", message)


def ok(body: object) -> Response:
    return 200, {"Content-Type": "application/x-amz-json-1.1"}, json.dumps(body).encode()
