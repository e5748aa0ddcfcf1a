"""What likelihood is for: a very small model that answers every question with its first letter becomes useful."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from benchmarks.labelled import Labelled, read_labelled
from benchmarks.readouts import OWN_QUESTIONS, Study
from decision_server.engine import LlamaEngine
from tests.fixtures.models import smollm2_q8_0

PUBLIC_QUESTIONS = Path(__file__).resolve().parents[3] / "shared/jevbench/original.jsonl"
LEAST_GAIN = 0.25


@pytest.fixture(scope="module")
def study() -> Iterator[Study]:
    engine = LlamaEngine.load(smollm2_q8_0(), n_ctx=1024, n_threads=2, n_gpu_layers=0, prefix_streams=8)
    try:
        yield Study(engine)
    finally:
        engine.close()


def gain(study: Study, questions: Sequence[Labelled]) -> float:
    likelihood = study.served(questions, "likelihood", "likelihood-v1").total()
    letters = study.served(questions, "letters", "direct-options-v1").total()
    return (likelihood - letters) / len(questions)


def test_likelihood_beats_letters_on_own_questions_of_four_options(study: Study) -> None:
    assert gain(study, read_labelled(OWN_QUESTIONS)[:20]) >= LEAST_GAIN


def test_likelihood_beats_letters_on_the_public_choice_questions(study: Study) -> None:
    if not PUBLIC_QUESTIONS.exists():
        pytest.skip("the public questions are not on this machine; they are no part of this project")
    questions = [one for one in read_labelled(PUBLIC_QUESTIONS) if one.kind == "choice"]
    assert len(questions) == 36
    assert gain(study, questions) >= LEAST_GAIN
