"""`AsyncDecisionClient`: the same calls for programs on asyncio, made on threads of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

import boto3

from client.decisions import calls
from client.decisions.answer import Answer
from client.decisions.asking import checked_deadline
from client.decisions.calls import Call, T
from client.decisions.client import CONNECTIONS, DEADLINE_SECONDS, DecisionClient
from client.decisions.error import closed
from client.decisions.questions import Decision, Question
from client.decisions.values import JsonValue
from client.transport.targets import LocalTarget, SageMakerTarget, Target, UrlTarget, silent


class AsyncDecisionClient:
    """As DecisionClient. concurrency: how many calls are made at once; the others wait for a turn, which no deadline
    counts. A call that is cancelled is not asked again; a request of it that is under way ends with its deadline.

    Opened by its first call, or by `async with`, which also waits for a local model to load.
    """

    def __init__(
        self,
        target: Target,
        *,
        deadline_seconds: float = DEADLINE_SECONDS,
        concurrency: int = 8,
        say: Callable[[str], None] = silent,
    ) -> None:
        if not 1 <= concurrency <= CONNECTIONS:
            raise ValueError(f"concurrency: {concurrency}; 1 to {CONNECTIONS} allowed")
        self._target, self._deadline_seconds, self._say = target, checked_deadline(deadline_seconds), say
        self._closed = False
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="decisions")
        self._lock = threading.Lock()
        self._opened: DecisionClient | None = None

    @classmethod
    def sagemaker(
        cls,
        endpoint_name: str,
        *,
        region: str | None = None,
        session: boto3.Session | None = None,
        deadline_seconds: float = DEADLINE_SECONDS,
        concurrency: int = 8,
    ) -> AsyncDecisionClient:
        target = SageMakerTarget(endpoint_name=endpoint_name, region=region, session=session)
        return cls(target, deadline_seconds=deadline_seconds, concurrency=concurrency)

    @classmethod
    def http(
        cls,
        url: str,
        *,
        api_key: str | None = None,
        deadline_seconds: float = DEADLINE_SECONDS,
        concurrency: int = 8,
    ) -> AsyncDecisionClient:
        target = UrlTarget(url=url, api_key=api_key)
        return cls(target, deadline_seconds=deadline_seconds, concurrency=concurrency)

    @classmethod
    def local(
        cls,
        model: Path | str,
        *,
        settings: Mapping[str, str] | None = None,
        deadline_seconds: float = DEADLINE_SECONDS,
        concurrency: int = 8,
        say: Callable[[str], None] = silent,
    ) -> AsyncDecisionClient:
        target = LocalTarget(model=str(model), settings=tuple((settings or {}).items()))
        return cls(target, deadline_seconds=deadline_seconds, concurrency=concurrency, say=say)

    async def decide(self, decision: Decision, *, deadline_seconds: float | None = None) -> Answer:
        return await self._made(calls.decide(decision), deadline_seconds)

    async def decide_many(
        self, decisions: Sequence[Decision], *, deadline_seconds: float | None = None
    ) -> tuple[Answer, ...]:
        return await self._made(calls.decide_many(decisions), deadline_seconds)

    async def ask(
        self,
        state: JsonValue,
        questions: Mapping[str, Question],
        *,
        readout: str | None = None,
        prompt_version: str | None = None,
        deadline_seconds: float | None = None,
    ) -> Mapping[str, Answer]:
        call = calls.ask(state, questions, readout=readout, prompt_version=prompt_version)
        return await self._made(call, deadline_seconds)

    async def ask_body(
        self, body: Mapping[str, JsonValue], *, deadline_seconds: float | None = None
    ) -> Mapping[str, Answer]:
        return await self._made(calls.ask_body(body), deadline_seconds)

    async def models(self) -> tuple[str, ...]:
        return await self._made(calls.models(), None)

    async def metrics(self) -> str | None:
        return await self._on_a_thread(lambda: self._client().metrics())

    async def close(self) -> None:
        """Calls under way are waited for; those afterwards are refused: DecisionError `closed`."""
        self._closed = True
        await asyncio.to_thread(self._threads.shutdown)
        if self._opened is not None:
            await asyncio.to_thread(self._opened.close)

    async def __aenter__(self) -> AsyncDecisionClient:
        try:
            await self._on_a_thread(self._client)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _made(self, call: Call[T], deadline_seconds: float | None) -> T:
        gone = threading.Event()
        try:
            return await self._on_a_thread(lambda: self._client().made(call, deadline_seconds, gone=gone.is_set))
        except asyncio.CancelledError:
            gone.set()
            raise

    async def _on_a_thread(self, work: Callable[[], T]) -> T:
        if self._closed:
            raise closed()
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _client(self) -> DecisionClient:
        with self._lock:
            if self._opened is None:
                self._opened = DecisionClient(self._target, deadline_seconds=self._deadline_seconds, say=self._say)
            return self._opened
