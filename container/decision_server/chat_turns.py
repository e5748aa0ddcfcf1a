"""Chats take turns, a step each: a piece of a prompt or one token. Knows no clock, no lock and no llama.cpp.

Whose turn it is, is decided under the scheduler's lock; the steps themselves are the engine thread's.
"""

from __future__ import annotations

from collections.abc import Collection, Container
from dataclasses import dataclass

from decision_server.generation import ChatEngine, ChatTask, Generation, Token
from decision_server.work_order import Work


@dataclass(kw_only=True, eq=False)
class Chat(Work[Token]):
    """One answer. last_turn: the number of its latest step, 0 before the first."""

    task: ChatTask
    last_turn: int = 0
    said: int = 0
    finished: bool = False

    @property
    def left(self) -> int:
        """Steps that its answer may still take, its prompt's not among them."""
        return self.task.max_tokens - self.said

    def add(self, token: Token) -> None:
        self.said += 1
        self.arrived.append(token)
        self.finished = token.last or self.said == self.task.max_tokens


class Turns:
    """The engine thread's side of all chats: which of them hold a place in the engine."""

    def __init__(self, engine: ChatEngine) -> None:
        self._engine = engine
        self._holding: dict[Chat, Generation] = {}
        self._count = 0

    def next(self, waiting: Collection[Chat], admitted: Container[Chat]) -> Chat | None:
        """The chat whose turn it is: of those that can go on, the one that has waited longest.

        waiting: whose deadline has not come. admitted: all, those whose callers have left no longer among them.
        """
        taken = sum(chat in admitted for chat in self._holding)
        ready = [chat for chat in waiting if chat in self._holding or taken < self._engine.slots]
        return min(ready, key=lambda chat: (chat.last_turn, chat.arrival), default=None)

    def step(self, chat: Chat, admitted: Container[Chat]) -> Token | None:
        """Raises what the engine raises."""
        self.give_back(admitted)
        if chat not in self._holding:
            self._holding[chat] = self._engine.begin(chat.task)
        self._count += 1
        chat.last_turn = self._count
        return self._holding[chat].step()

    def give_back(self, admitted: Container[Chat]) -> None:
        """The places of chats that are over."""
        for chat in [held for held in self._holding if held not in admitted]:
            self._holding.pop(chat).close()
