"""From a request as WSGI has it to its answer: who asks, what was sent, in which dialect, who answers. No Flask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from decision_server import caller
from decision_server.api_key import check_api_key
from decision_server.bulk_answering import answer_bulk
from decision_server.chat_answering import answer_chat
from decision_server.chat_service import ChatService
from decision_server.config import Config
from decision_server.content_encoding import decoded
from decision_server.errors import Refusal
from decision_server.request_body import read_body
from decision_server.request_log import LoggedAnswer, RequestLog
from decision_server.streamed import StreamedAnswer
from decision_server.wire.asked import Asked
from decision_server.wire.bulk_lines import is_bulk
from decision_server.wire.chat_bodies import ChatRequest
from decision_server.wire.dialects import answers_lines, check_media_type, dialect_of
from decision_server.wire.json_body import parse
from decision_server.wire.model_names import ModelNames
from decision_server.wire.reading import read


class Answering(Protocol):
    """What answers need of the loaded server."""

    @property
    def queue_depth(self) -> int:
        """Requests of decisions waiting or running now."""

    @property
    def names(self) -> ModelNames:
        """What requests may call the model."""

    @property
    def chats(self) -> ChatService | None:
        """None where chats are off."""

    def answer(self, asked: Asked, *, received: float, deadline: float, gone: Callable[[], bool]) -> LoggedAnswer:
        """Raises Refusal."""


def answer(
    config: Config, loaded: Callable[[], Answering], environ: Mapping[str, Any], *, received: float, told: RequestLog
) -> LoggedAnswer | StreamedAnswer:
    """environ: of a request to one of ROUTES. loaded: raises Refusal while nobody can answer, which is asked last: only
    a body says in which dialect its caller is to be told. Raises Refusal, and what the engine raises."""
    check_api_key(config.api_key, environ.get("HTTP_AUTHORIZATION"))
    sock = environ.get("gunicorn.socket")
    gone = caller.gone(sock)
    if is_bulk(environ.get("CONTENT_TYPE")) and answers_lines(environ["PATH_INFO"]):
        parts = loaded()
        told.queue_depth = parts.queue_depth
        return answer_bulk(config, parts, environ, received=received, request_id=told.request_id, gone=gone)
    check_media_type(environ.get("CONTENT_TYPE"), environ["PATH_INFO"])
    sent = read_body(
        environ["wsgi.input"].read,
        content_length=environ.get("CONTENT_LENGTH") or None,
        max_bytes=config.max_body_bytes,
        timeout_seconds=config.read_timeout_seconds,
    )
    body = decoded(sent, environ.get("HTTP_CONTENT_ENCODING"), max_bytes=config.max_body_bytes)
    told.dialect, value = dialect_of(parse(body), environ["PATH_INFO"])
    parts = loaded()
    told.queue_depth = parts.queue_depth
    asked = read(told.dialect, value, max_decisions=config.max_decisions, names=parts.names)
    deadline = received + config.deadline_seconds
    match asked:
        case ChatRequest():
            chats = _on(parts.chats)
            return answer_chat(
                asked,
                chats,
                model=parts.names.name,
                request_id=told.request_id,
                deadline=deadline,
                gone=gone,
                takes=caller.takes(sock),
            )
        case _:
            told.decisions = len(asked.decisions)
            return parts.answer(asked, received=received, deadline=deadline, gone=gone)


def _on(chats: ChatService | None) -> ChatService:
    if chats is None:
        raise Refusal(
            "unsupported_dialect",
            "messages: chat completions are off on this server: its setting DECISION_CHAT_N_CTX is 0; set it to the "
            "tokens that a chat may have",
            place=("messages",),
        )
    return chats
