"""`DecisionClient`: asks a server for decisions, and waits for the answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import boto3

from client.decisions import calls
from client.decisions.answer import Answer
from client.decisions.asking import checked_deadline, made
from client.decisions.calls import Call, T
from client.decisions.error import DecisionError, closed
from client.decisions.questions import Decision, Question
from client.decisions.values import JsonValue
from client.transport.local_model import LocalServer
from client.transport.retrying import Clock
from client.transport.targets import LocalTarget, SageMakerTarget, Target, UrlTarget, opened, silent

DEADLINE_SECONDS = 50.0
CONNECTIONS = 32  # kept open at once, for callers that share a client among threads


class DecisionClient:
    """Safe to share among threads. deadline_seconds: for a call, all its tries and requests together.

    A context manager; `close` does the same. A local model's server is started at once and stopped then. Raises
    Refused where the target cannot be had (a model file or a region that is not there); calls raise DecisionError.
    """

    def __init__(
        self,
        target: Target,
        *,
        deadline_seconds: float = DEADLINE_SECONDS,
        say: Callable[[str], None] = silent,
        clock: Clock | None = None,
    ) -> None:
        self._deadline_seconds, self._clock = checked_deadline(deadline_seconds), clock or Clock()
        self._closed = threading.Event()
        self._has_metrics = not isinstance(target, SageMakerTarget)
        self._upstream = opened(target, connections=CONNECTIONS, say=say)

    @classmethod
    def sagemaker(
        cls,
        endpoint_name: str,
        *,
        region: str | None = None,
        session: boto3.Session | None = None,
        deadline_seconds: float = DEADLINE_SECONDS,
    ) -> DecisionClient:
        """session: where the credentials are not those that every AWS tool finds."""
        target = SageMakerTarget(endpoint_name=endpoint_name, region=region, session=session)
        return cls(target, deadline_seconds=deadline_seconds)

    @classmethod
    def http(
        cls, url: str, *, api_key: str | None = None, deadline_seconds: float = DEADLINE_SECONDS
    ) -> DecisionClient:
        return cls(UrlTarget(url=url, api_key=api_key), deadline_seconds=deadline_seconds)

    @classmethod
    def local(
        cls,
        model: Path | str,
        *,
        settings: Mapping[str, str] | None = None,
        deadline_seconds: float = DEADLINE_SECONDS,
        say: Callable[[str], None] = silent,
    ) -> DecisionClient:
        """model: a .gguf or a model folder. settings: such as {"DECISION_READOUT": "letters"}."""
        target = LocalTarget(model=str(model), settings=tuple((settings or {}).items()))
        return cls(target, deadline_seconds=deadline_seconds, say=say)

    @property
    def name(self) -> str:
        """Of the server, for people."""
        return self._upstream.name

    @property
    def local_process_id(self) -> int | None:
        """Below which the processes of a local model's server run; None of other targets."""
        return self._upstream.process_id if isinstance(self._upstream, LocalServer) else None

    def decide(self, decision: Decision, *, deadline_seconds: float | None = None) -> Answer:
        return self.made(calls.decide(decision), deadline_seconds)

    def decide_many(
        self, decisions: Sequence[Decision], *, deadline_seconds: float | None = None
    ) -> tuple[Answer, ...]:
        """In their order. Up to 64 go in a request; those about an equal state are computed together."""
        return self.made(calls.decide_many(decisions), deadline_seconds)

    def ask(
        self,
        state: JsonValue,
        questions: Mapping[str, Question],
        *,
        readout: str | None = None,
        prompt_version: str | None = None,
        deadline_seconds: float | None = None,
    ) -> Mapping[str, Answer]:
        """By the questions' names, in their order."""
        call = calls.ask(state, questions, readout=readout, prompt_version=prompt_version)
        return self.made(call, deadline_seconds)

    def ask_body(self, body: Mapping[str, JsonValue], *, deadline_seconds: float | None = None) -> Mapping[str, Answer]:
        """A body of contract section 3 or 4 as it is; the answers by the decisions' ids or the questions' names."""
        return self.made(calls.ask_body(body), deadline_seconds)

    def models(self) -> tuple[str, ...]:
        """The names by which System One requests may call the model."""
        return self.made(calls.models(), None)

    def metrics(self) -> str | None:
        """Prometheus text; None where there is none to be had: of an endpoint, through a gateway."""
        if not self._has_metrics:
            return None
        try:
            return self.made(calls.metrics(), None)
        except DecisionError as error:
            if error.status == 404:
                return None
            raise

    def close(self) -> None:
        """Calls afterwards are refused: DecisionError `closed`."""
        self._closed.set()
        self._upstream.close()

    def __enter__(self) -> DecisionClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def made(self, call: Call[T], deadline_seconds: float | None, *, gone: Callable[[], bool] = lambda: False) -> T:
        """gone: whether nobody waits for the answer any more; then it is not asked again."""
        seconds = self._deadline_seconds if deadline_seconds is None else checked_deadline(deadline_seconds)
        if self._closed.is_set():
            raise closed()
        return made(call, self._upstream, deadline_seconds=seconds, clock=self._clock, gone=gone)
