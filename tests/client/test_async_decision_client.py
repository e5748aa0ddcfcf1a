"""AsyncDecisionClient: the same answers, several at once, on an event loop."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from client.decisions import (
    AsyncDecisionClient,
    Decision,
    DecisionClient,
    DecisionError,
    Noul,
    Option,
    Question,
    Refused,
    Score,
)
from tests.client.fake_runtime import ENDPOINT, Runtime, wrapped
from tests.serving.server import FAKE, Server

OPTIONS = (Option(id="a", description="First."), Option(id="b", description="Second."))
DECISION = Decision(id="d", state="Some evidence.", question="Which?", options=OPTIONS)
QUESTIONS: dict[str, Question] = {
    "q": Noul(instructions="So?"),
    "s": Score(instructions="How?", levels=("low", "high")),
}


def test_it_answers_as_the_client_that_waits(tiny_server: Server) -> None:
    url = f"http://127.0.0.1:{tiny_server.port}"
    many = [replace(DECISION, id=str(number), question=f"Which, {number}?") for number in range(6)]

    async def asked() -> None:
        async with AsyncDecisionClient.http(url, concurrency=4) as client:
            answers = await asyncio.gather(*(client.decide(each) for each in many))
            assert [each.probabilities for each in answers] == [each.probabilities for each in expected]
            assert await client.ask("x", QUESTIONS) == waiting.ask("x", QUESTIONS)
            assert [each.probabilities for each in await client.decide_many(many)] == [
                each.probabilities for each in expected
            ]
            assert await client.models() == waiting.models()
            assert "decision_requests_total" in (await client.metrics() or "")

    with DecisionClient.http(url) as waiting:
        expected = waiting.decide_many(many)
        asyncio.run(asked())


def test_several_are_asked_at_once_and_no_more_than_was_said(tiny_server: Server) -> None:
    inside, most, lock = 0, 0, threading.Lock()
    together = threading.Barrier(3)

    def work() -> None:
        nonlocal most, inside
        with lock:
            inside += 1
            most = max(most, inside)
        together.wait(30)
        with lock:
            inside -= 1

    async def asked() -> None:
        client = AsyncDecisionClient.http(f"http://127.0.0.1:{tiny_server.port}", concurrency=3)
        try:
            await asyncio.gather(*(client._on_a_thread(work) for _ in range(9)))
        finally:
            await client.close()

    asyncio.run(asked())
    assert most == 3


def test_an_endpoint_is_asked_again_and_its_refusals_are_raised(tiny_runtime: Runtime) -> None:
    async def asked() -> None:
        async with AsyncDecisionClient.sagemaker(ENDPOINT, region="eu-north-1") as client:
            tiny_runtime.faults[:] = [wrapped(503, b'{"error": "full", "retryable": true, "retry_after_seconds": 0}')]
            assert (await client.decide(DECISION)).model == "tiny"
            assert len(tiny_runtime.asked) == 2
            with pytest.raises(DecisionError) as failed:
                await client.decide(replace(DECISION, options=()))
            assert failed.value.field == "decision.options"

    asyncio.run(asked())


def test_a_local_model_loads_beside_the_loop_and_is_stopped(tiny_model: Path) -> None:
    async def asked() -> str:
        settings = {"DECISION_N_THREADS": "1"}
        async with AsyncDecisionClient.local(tiny_model, settings=settings) as client:
            return (await client.decide(DECISION)).model

    assert asyncio.run(asked()) == "tiny"


def test_what_cannot_be_opened_is_refused_when_it_is_entered() -> None:
    async def asked() -> None:
        async with AsyncDecisionClient.local("absent.gguf"):
            pytest.fail("it was entered")

    with pytest.raises(Refused, match=r"absent\.gguf: no such file"):
        asyncio.run(asked())
    with pytest.raises(ValueError, match="concurrency"):
        AsyncDecisionClient.http("http://127.0.0.1:9", concurrency=0)


def test_a_client_that_was_closed_says_so(tiny_server: Server) -> None:
    async def asked() -> None:
        client = AsyncDecisionClient.http(f"http://127.0.0.1:{tiny_server.port}")
        assert (await client.decide(DECISION)).model == "tiny"
        await client.close()
        await client.close()
        for call in (client.decide(DECISION), client.models(), client.metrics()):
            with pytest.raises(DecisionError, match="this client was closed") as failed:
                await call
            assert failed.value.code == "closed"

    asyncio.run(asked())


def test_a_call_that_is_cancelled_is_not_asked_again(tiny_runtime: Runtime) -> None:
    """The server says busy for ever; without a hearing for the caller it would be asked until the deadline."""
    busy = wrapped(503, b'{"error": "full", "retryable": true, "retry_after_seconds": 0.01}')
    tiny_runtime.faults[:] = [busy] * 10_000

    async def asked() -> None:
        async with AsyncDecisionClient.sagemaker(ENDPOINT, region="eu-north-1", deadline_seconds=3600) as client:
            call = asyncio.create_task(client.decide(DECISION))
            while not tiny_runtime.asked:
                await asyncio.sleep(0.01)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
        # close waits for the thread, which ends since nobody waits for its answer

    asyncio.run(asked())
    assert tiny_runtime.faults


def test_a_deadline_of_one_call_is_obeyed(tmp_path: Path) -> None:
    async def asked() -> str:
        async with AsyncDecisionClient.http(f"http://127.0.0.1:{slow.port}") as client:
            with pytest.raises(DecisionError) as failed:
                await client.decide(replace(DECISION, question="work 1000"), deadline_seconds=0.2)
            return failed.value.code

    with Server(FAKE, tmp_path, {}) as slow:
        assert asyncio.run(asked()) == "deadline_exceeded"
