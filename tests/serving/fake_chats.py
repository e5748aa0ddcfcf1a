"""A ChatEngine that computes nothing: its answer to a prompt counts, and each step can be watched and held up."""

from __future__ import annotations

from collections.abc import Callable

from decision_server.generation import ChatTask, Generation, Sampling, Token

SAMPLING = Sampling(temperature=0, top_p=1, frequency_penalty=0, presence_penalty=0, seed=1)


def chat_task(name: int, *, prompt: int = 1, max_tokens: int = 3) -> ChatTask:
    return ChatTask(tokens=(name,) * prompt, max_tokens=max_tokens, sampling=SAMPLING)


class FakeChats:
    """steps: the names of the chats, in the order they were worked on. A prompt takes a step for each of its tokens."""

    def __init__(self, slots: int = 2, work: Callable[[int], None] = lambda name: None) -> None:
        self.slots = slots
        self.work = work
        self.steps: list[int] = []
        self.open = 0
        self.most_open = 0
        self.closed: list[int] = []

    def begin(self, task: ChatTask) -> Generation:
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        return _Counting(self, task)


class _Counting:
    def __init__(self, engine: FakeChats, task: ChatTask) -> None:
        self._engine = engine
        self._name = task.tokens[0]
        self._ahead = len(task.tokens)
        self._said = 0

    def step(self) -> Token | None:
        self._engine.steps.append(self._name)
        self._engine.work(self._name)
        if self._ahead > 1:
            self._ahead -= 1
            return None
        self._said += 1
        return Token(piece=b"%d " % self._said, last=False)

    def close(self) -> None:
        self._engine.open -= 1
        self._engine.closed.append(self._name)
