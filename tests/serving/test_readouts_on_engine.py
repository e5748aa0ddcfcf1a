"""Readouts on real engines: what must be the same bit for bit, whatever was computed before or stands beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from decision_server.decisions import Decision
from decision_server.engine import LlamaEngine
from decision_server.plans import reading
from decision_server.readout import Readout
from tests.fixtures.models import smollm2_q8_0
from tests.serving.model_side import decision, loaded, preparer

DESCRIPTIONS = ["The switch.", "The adjustable arm.", "The light source.", "Nothing failed."]


@pytest.fixture(scope="module", params=["smollm2", "hybrid"])
def engine(request: pytest.FixtureRequest, tiny_hybrid: Path) -> Iterator[LlamaEngine]:
    with loaded(smollm2_q8_0() if request.param == "smollm2" else tiny_hybrid, n_ctx=2048) as engine:
        yield engine


def ask(engine: LlamaEngine, asked: Decision) -> Readout:
    plan = preparer(engine).prepare(asked).plan
    readings = [reading(engine.score(task), plan.label_token_ids) for task in plan.tasks]
    baseline = None if plan.baseline is None else reading(engine.score(plan.baseline), ()).totals
    return plan.read(readings, baseline, temperature=1.0)


def by_id(asked: Decision, values: tuple[float, ...]) -> Mapping[str, float]:
    return {option.id: value for option, value in zip(asked.options, values, strict=True)}


def orders(asked: Decision) -> list[Decision]:
    return [asked.in_order(order) for order in ((0, 1, 2, 3), (3, 0, 1, 2), (1, 2, 3, 0))]


@pytest.mark.parametrize("version", ["direct-options-v1", "criterion-first-v1"])
def test_options_that_stand_rotated_get_the_very_same_probabilities_by_rotated_letters(
    engine: LlamaEngine, version: str
) -> None:
    asked = decision("The lamp flickers.", "What failed?", DESCRIPTIONS, readout="letters-rotated")
    asked = replace(asked, prompt_version=version)
    answers = [(one, ask(engine, one)) for one in orders(asked)]
    first = by_id(asked, answers[0][1].probabilities)
    assert len(set(first.values())) == 4
    for one, read in answers:
        assert by_id(one, read.probabilities) == first
        assert read.rotation_spread == answers[0][1].rotation_spread


def test_a_likelihood_is_the_same_whatever_the_order_of_the_options_and_whatever_was_asked_before(
    engine: LlamaEngine,
) -> None:
    asked = decision("The lamp flickers.", "What failed?", DESCRIPTIONS, readout="likelihood")
    fresh = by_id(asked, ask(engine, asked).option_logits)
    assert len(set(fresh.values())) == 4
    for one in orders(asked):
        ask(engine, decision("Quite another state. " * 20, readout="likelihood"))
        ask(engine, decision("The lamp flickers.", "Is it new?", ["Yes.", "No, it is old."], readout="likelihood"))
        assert by_id(one, ask(engine, one).option_logits) == fresh


def test_without_evidence_no_text_gains_anything(engine: LlamaEngine) -> None:
    read = ask(engine, decision("N/A", "What failed?", DESCRIPTIONS, readout="likelihood"))
    assert read.option_logits == (0.0,) * 4
    assert read.probabilities == (0.25,) * 4


def test_two_hundred_and_fifty_five_options_are_answered_by_likelihood(engine: LlamaEngine) -> None:
    read = ask(engine, decision("x", "Which?", [f"Number {index}." for index in range(255)], readout="likelihood"))
    assert len(read.probabilities) == 255
    assert abs(sum(read.probabilities) - 1) < 1e-9
    assert 0 < read.allowed_token_mass <= 1
