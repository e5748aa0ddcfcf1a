"""One chat from its messages to the parts of its answer: prompt, admission, text, end. No HTTP, no llama.cpp."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from decision_server.answer_text import AnswerText
from decision_server.chat_template import TurnsRefused
from decision_server.chats import Chat, CutBy, Ended, Said
from decision_server.errors import Refusal, error_code
from decision_server.generation import ChatTask
from decision_server.metrics import Metrics
from decision_server.model_errors import DecisionRefused

if TYPE_CHECKING:
    from decision_server.chat_prompts import ChatPrompts
    from decision_server.scheduler import Scheduler


class ChatService:
    """Safe to use from many threads at once. fingerprint: of weights and library; equal ones sample alike."""

    def __init__(
        self, prompts: ChatPrompts, scheduler: Scheduler, *, n_ctx: int, fingerprint: str, metrics: Metrics
    ) -> None:
        self._prompts = prompts
        self._scheduler = scheduler
        self._n_ctx = n_ctx
        self._metrics = metrics
        self.fingerprint = fingerprint

    def answer(self, chat: Chat, *, deadline: float, gone: Callable[[], bool]) -> Generator[Said | Ended, None, None]:
        """Any number of Said, then one Ended. Close it to stop the work.

        deadline: on the clock of time.monotonic; an answer that it meets halfway ends there, and says so. Raises
        Refusal, EngineDied.
        """
        with self._scheduler.admit_chat(deadline=deadline) as ticket:
            task = self._task(chat)
            text, said_tokens = AnswerText(chat.stop), 0
            cut_by: CutBy | None = "max_tokens"
            try:
                for token in ticket.generate(task, gone=gone):
                    said_tokens += 1
                    shown = text.add(token.piece)
                    if shown:
                        yield Said(text=shown)
                    if token.last or text.stopped:
                        cut_by = None
                        break
            except Refusal as refusal:
                if refusal.code != "deadline_exceeded" or not said_tokens:
                    raise
                cut_by = "deadline"
        if rest := text.rest():
            yield Said(text=rest)
        self._metrics.said(len(task.tokens), said_tokens)
        yield Ended(cut_by=cut_by, prompt_tokens=len(task.tokens), said_tokens=said_tokens)

    def _task(self, chat: Chat) -> ChatTask:
        self._fits(chat, self._prompts.least_tokens(chat.messages), counted="at least ")
        try:
            tokens = self._prompts.tokens(chat.messages)
        except TurnsRefused as error:
            raise Refusal("bad_value", f"messages: {error}", place=("messages",)) from error
        except DecisionRefused as error:
            raise Refusal(error_code(error), f"messages: {error}", place=("messages",)) from error
        room = self._fits(chat, len(tokens))
        return ChatTask(
            tokens=tokens, max_tokens=room if chat.max_tokens is None else chat.max_tokens, sampling=chat.sampling
        )

    def _fits(self, chat: Chat, prompt_tokens: int, *, counted: str = "") -> int:
        """The tokens left for the answer. Raises Refusal where they are too few; nothing is ever cut to fit."""
        if chat.max_tokens is not None and chat.max_tokens >= self._n_ctx:
            name = chat.max_tokens_field
            raise Refusal(
                "context_overflow",
                f"{name}: {chat.max_tokens} asked; a chat may have {self._n_ctx} tokens, its prompt among them; ask "
                "for fewer, or serve with a larger DECISION_CHAT_N_CTX",
                place=(name,),
            )
        room = self._n_ctx - prompt_tokens
        if room < (chat.max_tokens or 1):
            asked = "1 token of answer" if chat.max_tokens is None else f"{chat.max_tokens_field} {chat.max_tokens}"
            raise Refusal(
                "context_overflow",
                f"messages: the prompt has {counted}{prompt_tokens} tokens, and with {asked} more than the "
                f"{self._n_ctx} that a chat may have; shorten it, ask for fewer, or serve with a larger "
                "DECISION_CHAT_N_CTX",
                place=("messages",),
            )
        return room
