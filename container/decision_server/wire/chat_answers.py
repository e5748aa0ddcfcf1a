"""Parts of an answer → a chat completion, whole or as server-sent events (contract 6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from decision_server.chats import Ended, Said
from decision_server.wire.json_text import json_bytes

EVENTS_CONTENT_TYPE = "text/event-stream; charset=utf-8"
_DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, kw_only=True)
class Completion:
    """What all parts of one answer say alike. created: seconds since 1970."""

    request_id: str
    created: int
    model: str
    fingerprint: str

    def whole(self, parts: Iterable[Said | Ended]) -> bytes:
        """The body of the answer. parts: all of them; the last one is Ended."""
        text, body = "", self._common("chat.completion")
        for part in parts:
            match part:
                case Said():
                    text += part.text
                case Ended():
                    message = {"role": "assistant", "content": text, "refusal": None}
                    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _reason(part)}
                    body |= {"choices": [choice], "usage": _usage(part), **_cut(part)}
        return json_bytes(body)

    def events(self, parts: Iterable[Said | Ended], *, include_usage: bool) -> Iterator[bytes]:
        """One event a part, the role before them; usage and the mark of the end behind."""
        yield self._chunk({"role": "assistant", "content": ""}, include_usage=include_usage)
        for part in parts:
            match part:
                case Said():
                    yield self._chunk({"content": part.text}, include_usage=include_usage)
                case Ended():
                    yield self._chunk({}, include_usage=include_usage, end=part)
                    if include_usage:
                        yield _event(self._common("chat.completion.chunk") | {"choices": [], "usage": _usage(part)})
        yield _DONE

    def _chunk(self, delta: dict[str, object], *, include_usage: bool, end: Ended | None = None) -> bytes:
        reason = None if end is None else _reason(end)
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        chunk = self._common("chat.completion.chunk") | {"choices": [choice]} | ({} if end is None else _cut(end))
        return _event(chunk | ({"usage": None} if include_usage else {}))

    def _common(self, kind: str) -> dict[str, object]:
        return {
            "id": f"chatcmpl-{self.request_id}",
            "object": kind,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": self.fingerprint,
        }


def error_event(error: bytes) -> bytes:
    """error: a body of `wire/openai_errors.py`; the `openai` package raises it."""
    return b"data: " + error + b"\n\n"


def _event(value: dict[str, object]) -> bytes:
    return b"data: " + json_bytes(value) + b"\n\n"


def _reason(end: Ended) -> str:
    return "stop" if end.cut_by is None else "length"


def _cut(end: Ended) -> dict[str, object]:
    """`length` alone does not say that it was time that ran out."""
    return {"x_cut_by": "deadline"} if end.cut_by == "deadline" else {}


def _usage(end: Ended) -> dict[str, int]:
    return {
        "prompt_tokens": end.prompt_tokens,
        "completion_tokens": end.said_tokens,
        "total_tokens": end.prompt_tokens + end.said_tokens,
    }
