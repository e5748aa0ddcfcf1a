"""Answers that take several engine tasks: likelihood and its baseline, rotations, calibration. Around a fake engine."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from decision_server.calibration import Calibration
from decision_server.decisions import Decision, Option
from decision_server.errors import Refusal
from decision_server.metrics import Metrics
from decision_server.model_errors import TooManyOptions
from decision_server.plans import Letters, Likelihood, Plan, RotatedLetters
from decision_server.preparation import Prepared
from decision_server.readout import softmax
from decision_server.scheduler import Scheduler
from decision_server.scoring import ScoringTask
from decision_server.service import DecisionService
from decision_server.wire.decision_bodies import SeveralDecisions
from tests.serving.fake_engine import N_VOCAB, FakeEngine
from tests.serving.results import MODEL

HEAD, NO_EVIDENCE, PADDING = 1, 2, 3
X, Y = 30, 31  # the options' texts, or their labels
SECONDS = 0.001  # a token
VERSIONS = {"letters": "direct-options-v1", "letters-rotated": "direct-options-v1", "likelihood": "likelihood-v1"}
FITTED = Calibration(
    version="fit.1",
    gguf_sha256=MODEL.gguf.sha256,
    prompt_version="likelihood-v1",
    readout="likelihood",
    temperatures={"choice": 4.0},
)


def prompt(state: int, question: int, *, continuations: tuple[tuple[int, ...], ...] = (), turn: int = 0) -> ScoringTask:
    return ScoringTask(tokens=(HEAD, state, question, turn), shared_lengths=(1, 2), continuations=continuations)


class SmallPreparer:
    """State and question are numbers; the options are always X and Y."""

    def prepare(self, decision: Decision) -> Prepared:
        readout = decision.readout or "likelihood"
        state, question = int(str(decision.state)), int(str(decision.question))
        plan: Plan
        if readout == "likelihood":
            texts = ((X, PADDING), (Y,))
            plan = Likelihood(
                task=prompt(state, question, continuations=texts),
                baseline=prompt(NO_EVIDENCE, question, continuations=texts),
                text_of_option=(0, 1),
            )
        elif readout == "letters-rotated":
            tasks = tuple(prompt(state, question, turn=turn) for turn in (0, 1))
            plan = RotatedLetters(tasks=tasks, orders=((0, 1), (1, 0)), label_token_ids=(X, Y))
        elif readout == "too many":
            raise TooManyOptions(given=300, limit=255, reason="for this test")
        else:
            plan = Letters(task=prompt(state, question), answer_token_ids=(X, Y))
        return Prepared(
            plan=plan,
            prompt_sha256="1" * 64,
            prompt_version=VERSIONS[readout],
            readout=readout,
            warnings=("as prepared",) * (question == 9),
        )


def logprob(task: ScoringTask, token: int) -> float:
    """The state makes X more probable, less so in another question; without evidence it is not probable at all."""
    return -0.5 * token / (task.tokens[1] + task.tokens[2])


@contextmanager
def serving(engine: FakeEngine, calibration: Calibration | None = None) -> Iterator[Callable[..., Any]]:
    metrics = Metrics()
    scheduler = Scheduler(engine, queue_size=4, observe=metrics.scored, on_failure=lambda error: None)
    service = DecisionService(SmallPreparer(), scheduler, model=MODEL, metrics=metrics, calibration=calibration)
    scheduler.start()

    def ask(*decisions: Decision, seconds: float = 30) -> Any:
        now = time.monotonic()
        asked = SeveralDecisions(decisions=decisions)
        answer = json.loads(service.answer(asked, received=now, deadline=now + seconds, gone=lambda: False).body)
        return answer | {"metrics": metrics.text().decode()}

    try:
        yield ask
    finally:
        assert service.stop(10)


def decision(state: int, question: int = 7, readout: str | None = None, **changes: Any) -> Decision:
    options = (Option(id="x", description="X"), Option(id="y", description="Y"))
    asked = Decision(id=f"{state}-{question}", state=str(state), question=str(question), options=options)
    return replace(asked, readout=readout, **changes)


def test_a_likelihood_is_answered_with_what_the_evidence_adds_to_each_text() -> None:
    with serving(FakeEngine(logprob=logprob)) as ask:
        (result,) = ask(decision(10))["results"]
    gained = [sum(logprob(prompt(s, 7), t) for t in (X, PADDING)) for s in (10, NO_EVIDENCE)]
    other = [logprob(prompt(s, 7), Y) for s in (10, NO_EVIDENCE)]
    assert result["option_logits"] == pytest.approx([gained[0] - gained[1], other[0] - other[1]])
    assert result["probabilities"] == list(softmax(result["option_logits"]))
    assert result["allowed_token_mass"] == pytest.approx(math.exp(gained[0]) + math.exp(other[0]))
    assert (result["readout"], result["prompt_version"]) == ("likelihood", "likelihood-v1")
    assert result["answer_token_ids"] == [X, Y]
    assert result["input_tokens"] == 4 + 3
    assert result["warnings"] == []
    assert "rotation_spread" not in result


def test_a_question_s_baseline_is_computed_once_however_many_states_and_requests_ask_it() -> None:
    engine = FakeEngine(logprob=logprob)
    with serving(engine) as ask:
        first = ask(decision(10), decision(11), decision(10, 8))
        second = ask(decision(10), decision(12))
    baselines = [task.tokens[2] for task in engine.scored if task.tokens[1] == NO_EVIDENCE]
    assert baselines == [7, 8]
    assert len(engine.scored) == 3 + 2 + 2
    assert first["results"][0]["option_logits"] == second["results"][0]["option_logits"]
    assert first["results"][0]["input_tokens"] == second["results"][0]["input_tokens"]


def test_the_time_of_a_baseline_is_the_first_decision_s_that_needs_it_and_no_second_is_lost() -> None:
    with serving(FakeEngine(logprob=logprob, seconds_a_token=SECONDS)) as ask:
        answer = ask(decision(10), decision(11))
        again = ask(decision(10), decision(11))
    one, two = (result["timing"]["forward_seconds"] for result in answer["results"])
    assert (one, two) == (pytest.approx(2 * 5 * SECONDS), pytest.approx(5 * SECONDS))
    timing = answer["timing"]
    assert timing["forward_seconds"] == pytest.approx(one + two)
    assert timing["prefill_seconds"] == pytest.approx(3 * 2 * SECONDS)
    assert timing["prefill_seconds"] + timing["suffix_forward_seconds"] == pytest.approx(timing["forward_seconds"])
    assert (timing["prefix_tokens"], timing["true_suffix_tokens"]) == (2 + 2, 2 * (2 + 3))
    assert again["timing"]["forward_seconds"] == pytest.approx(2 * 5 * SECONDS)
    assert again["timing"]["prefix_tokens"] == timing["prefix_tokens"]


def test_a_baseline_stays_within_the_deadline_of_its_request() -> None:
    engine = FakeEngine(work=lambda task: time.sleep(0.2), logprob=logprob)
    with serving(engine) as ask:
        with pytest.raises(Refusal, match="0 of 1 questions scored") as late:
            ask(decision(10), seconds=0.1)
        assert late.value.code == "deadline_exceeded"
        ask(decision(10))
    assert [task.tokens[1] for task in engine.scored] == [10, 10, NO_EVIDENCE]


def test_little_mass_means_nothing_for_whole_texts_and_something_for_labels() -> None:
    with serving(FakeEngine(logprob=lambda task, token: -20.0)) as ask:
        answer = ask(decision(10), decision(10, readout="letters"))
    likelihood, letters = answer["results"]
    assert likelihood["allowed_token_mass"] < 1e-8
    assert likelihood["warnings"] == []
    assert letters["allowed_token_mass"] < 0.5
    assert letters["warnings"][0].startswith("allowed_token_mass")
    assert "decision_low_mass_answers_total 1.0" in answer["metrics"]


def test_warnings_of_the_preparation_reach_the_answer_and_are_no_low_mass() -> None:
    with serving(FakeEngine()) as ask:
        answer = ask(decision(10, 9))
    assert answer["results"][0]["warnings"] == ["as prepared"]
    assert "decision_low_mass_answers_total 0.0" in answer["metrics"]


def test_letters_that_follow_their_place_alone_are_averaged_away_and_the_spread_says_so() -> None:
    def first_place(task: ScoringTask) -> NDArray[np.float32]:
        logits = np.zeros(N_VOCAB, dtype=np.float32)
        logits[X] = 12.0
        return logits

    engine = FakeEngine(logits=first_place, seconds_a_token=SECONDS)
    with serving(engine) as ask:
        plain, rotated = ask(decision(10, readout="letters"), decision(10, readout="letters-rotated"))["results"]
    assert plain["probabilities"][0] > 0.99
    assert rotated["probabilities"] == [0.5, 0.5]
    assert rotated["rotation_spread"] == pytest.approx(1.0, abs=1e-4)
    assert "rotation_spread" not in plain
    assert (rotated["input_tokens"], plain["input_tokens"]) == (8, 4)
    assert rotated["timing"]["forward_seconds"] == pytest.approx(8 * SECONDS)


def test_a_calibration_divides_the_scores_of_answers_it_was_fitted_for_and_of_no_others() -> None:
    with serving(FakeEngine(logprob=logprob), FITTED) as ask:
        asked = (decision(10), decision(11, question_type="noul"), decision(10, readout="letters"))
        fitted, other_type, other_readout = ask(*asked)["results"]
    with serving(FakeEngine(logprob=logprob)) as ask:
        (plain,) = ask(decision(10))["results"]
    assert fitted["calibration"] == {"status": "applied", "version": "fit.1", "temperature": 4.0}
    assert fitted["probability_status"] == "calibrated"
    assert fitted["option_logits"] == plain["option_logits"]
    assert fitted["probabilities"] == list(softmax(fitted["option_logits"], 4.0)) != plain["probabilities"]
    for result in (other_type, other_readout, plain):
        assert result["calibration"] == {"status": "none", "version": None, "temperature": 1.0}
        assert result["probability_status"] == "uncalibrated"
        assert result["probabilities"] == list(softmax(result["option_logits"]))


def test_an_answer_abstains_where_its_largest_calibrated_probability_is_below_the_decision_s_own_limit() -> None:
    with serving(FakeEngine(logprob=logprob)) as ask:
        plain = max(ask(decision(10))["results"][0]["probabilities"])
    with serving(FakeEngine(logprob=logprob), FITTED) as ask:
        fitted = max(ask(decision(10))["results"][0]["probabilities"])
        between = (plain + fitted) / 2
        limits = (None, between, fitted, math.nextafter(fitted, 1), 1.0)
        answer = ask(*(decision(10, abstain_below=limit, id=f"{limit}") for limit in limits))
    assert fitted < between < plain
    said = [result.get("abstained", "not said") for result in answer["results"]]
    assert said == ["not said", True, False, True, True]
    assert "decision_abstentions_total 3.0" in answer["metrics"]


def test_too_many_options_are_refused_with_the_decision_s_place_and_id_the_count_and_the_cap() -> None:
    engine = FakeEngine()
    with serving(engine) as ask, pytest.raises(Refusal) as refused:
        ask(decision(10), decision(11, readout="too many"))
    assert refused.value.field == "decisions[1].options"
    for words in ("decisions[1]", '"11-7"', "300 given", "at most 255"):
        assert words in refused.value.message
    assert engine.scored == []
