"""From typed decisions to the answer's bytes, around a fake engine: order, grouping, warnings, timing, errors."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from decision_server.decisions import Decision, Option
from decision_server.errors import Refusal
from decision_server.metrics import Metrics
from decision_server.model_errors import ContextOverflow, UnknownChoice
from decision_server.plans import Letters
from decision_server.preparation import Prepared
from decision_server.scheduler import Scheduler
from decision_server.scoring import ScoringTask
from decision_server.service import DecisionService
from decision_server.wire.asked import Asked
from decision_server.wire.decision_bodies import OneDecision, SeveralDecisions
from tests.serving.fake_engine import FakeEngine
from tests.serving.results import MODEL

HEAD = 4  # the fake prompt's fixed head, in tokens


class CountingPreparer:
    """Tokens: a head, the state's letters, one for the question. The state's first letter sets the logits' slope."""

    def prepare(self, decision: Decision) -> Prepared:
        state = [ord(letter) % 32 for letter in str(decision.state)]
        if len(state) > 50:
            raise ContextOverflow(input_tokens=HEAD + len(state) + 1, n_ctx=64)
        if decision.readout == "no such":
            raise UnknownChoice(field="readout", value="no such", known=("letters",))
        tokens = (state[0], *[0] * (HEAD - 1), *state, ord(str(decision.question)[0]) % 32)
        return Prepared(
            plan=Letters(
                task=ScoringTask(tokens=tokens, shared_lengths=(HEAD, HEAD + len(state))), answer_token_ids=(30, 31)
            ),
            prompt_sha256="1" * 64,
            prompt_version="v",
            readout="letters",
        )


@contextmanager
def serving(engine: FakeEngine) -> Iterator[Callable[..., Any]]:
    metrics = Metrics()
    scheduler = Scheduler(engine, queue_size=4, observe=metrics.scored, on_failure=lambda error: None)
    service = DecisionService(CountingPreparer(), scheduler, model=MODEL, metrics=metrics)
    scheduler.start()

    def ask(*decisions: Decision, alone: bool = False) -> Any:
        now = time.monotonic()
        asked: Asked = OneDecision(decision=decisions[0]) if alone else SeveralDecisions(decisions=decisions)
        return json.loads(service.answer(asked, received=now, deadline=now + 30, gone=lambda: False).body)

    try:
        yield ask
    finally:
        assert service.stop(10)


def decision(id_: str, state: str = "s", question: str = "q", readout: str | None = None) -> Decision:
    options = (Option(id="x", description="X"), Option(id="y", description="Y"))
    return Decision(id=id_, state=state, question=question, options=options, readout=readout)


def test_decisions_with_an_equal_state_are_scored_one_after_the_other_and_answered_in_request_order() -> None:
    engine = FakeEngine()
    with serving(engine) as ask:
        answer = ask(decision("1", "s"), decision("2", "t"), decision("3", "s", "r"), decision("4", "t", "r"))
    assert [task.tokens[HEAD] for task in engine.scored] == [ord("s") % 32] * 2 + [ord("t") % 32] * 2
    assert [result["id"] for result in answer["results"]] == ["1", "2", "3", "4"]
    slopes = [result["option_logits"][1] for result in answer["results"]]
    assert slopes == [ord(letter) % 32 for letter in "stst"]


def test_the_timing_of_several_decisions_counts_each_state_once() -> None:
    with serving(FakeEngine()) as ask:
        timing = ask(decision("1", "sss"), decision("2", "tt"), decision("3", "sss"))["timing"]
    assert timing["batch_size"] == 3
    assert timing["prefix_tokens"] == (HEAD + 3) + (HEAD + 2)
    assert timing["true_suffix_tokens"] == 3
    assert timing["cached_tokens"] == 0
    assert timing["prefill_seconds"] == pytest.approx(0.001 * (2 * (HEAD + 3) + HEAD + 2))  # the fake reuses nothing
    assert timing["suffix_forward_seconds"] == pytest.approx(0.003)


def test_one_decision_is_answered_as_a_result_without_a_batch() -> None:
    with serving(FakeEngine()) as ask:
        answer = ask(decision("1"), alone=True)
    assert list(answer) == ["result"]
    assert answer["result"]["option_ids"] == ["x", "y"]
    assert answer["result"]["answer_token_ids"] == [30, 31]


def test_an_answer_with_little_mass_on_its_labels_carries_a_warning_and_others_none() -> None:
    with serving(FakeEngine()) as ask:
        steep, flat = ask(decision("1", "~"), decision("2", "a"))["results"]
    assert steep["allowed_token_mass"] > 0.5
    assert steep["warnings"] == []
    assert flat["allowed_token_mass"] < 0.5
    assert f"{flat['allowed_token_mass']:.3f}" in flat["warnings"][0]


def test_a_decision_that_cannot_be_asked_is_refused_by_place_before_anything_is_scored() -> None:
    engine = FakeEngine()
    with serving(engine) as ask:
        with pytest.raises(Refusal) as overflow:
            ask(decision("1"), decision("2", "s" * 60))
        with pytest.raises(Refusal) as unknown:
            ask(decision("1", readout="no such"), alone=True)
    assert (overflow.value.status, overflow.value.field) == (413, "decisions[1].state")
    assert "65 tokens" in overflow.value.message
    assert "64" in overflow.value.message
    assert (unknown.value.status, unknown.value.field) == (400, "decision.readout")
    assert engine.scored == []


def test_a_refused_request_gives_its_place_back() -> None:
    with serving(FakeEngine()) as ask:
        for _ in range(10):  # twice as many as there are places
            with pytest.raises(Refusal):
                ask(decision("1", "s" * 60))
        assert ask(decision("1"))["results"][0]["id"] == "1"
