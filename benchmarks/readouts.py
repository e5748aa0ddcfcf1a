"""Which readout answers best: every readout of the server, and the ways of likelihood that it does not use, on labelled
questions with one model.

    PYTHONPATH=container .venv/bin/python -m benchmarks.readouts MODEL [QUESTIONS.jsonl] [--wordings] [--json FILE]

MODEL: a .gguf file or a model folder. QUESTIONS: see labelled.py; without it, the forty easy ones beside this file. It
prints a table of right answers by question type. Nothing is timed. `--wordings` adds other wordings of the prompt.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.labelled import Labelled, read_labelled
from decision_server import choices, model_files, prompt, threads
from decision_server.engine import LlamaEngine
from decision_server.plans import reading
from decision_server.preparation import Preparer
from decision_server.prompt import Prompt
from decision_server.scoring import ScoringTask
from decision_server.tokens import PromptTokenizer

OWN_QUESTIONS = Path(__file__).with_name("readout_tasks.jsonl")
KINDS = ("choice", "noul", "score")
SERVED = (
    (choices.LETTERS, choices.DIRECT_OPTIONS),
    (choices.LETTERS, choices.CRITERION_FIRST),
    (choices.ROTATED, choices.DIRECT_OPTIONS),
    (choices.LIKELIHOOD, choices.LIKELIHOOD_PROMPT),
)


@dataclass(frozen=True, kw_only=True)
class Wording:
    """A prompt for likelihood: system turn, and user turn from state and question."""

    name: str
    system: str | None
    user: Callable[[object, object], str]

    def prompt(self, state: object, question: object) -> Prompt:
        return Prompt(version=self.name, system=self.system, user=self.user(state, question), branches=())


def _plain(state: object) -> str:
    return state if isinstance(state, str) else json.dumps(state, ensure_ascii=False)


def _json(state: object, question: object) -> str:
    return json.dumps({"evidence": state, "criterion": question}, ensure_ascii=False)


_SHORT = "Answer the question about the evidence."
SERVED_WORDING = Wording(
    name="served", system=None, user=lambda state, question: prompt.render_likelihood(state, question).user
)
OTHER_WORDINGS = (
    Wording(name="JSON, system turn", system=_SHORT, user=_json),
    Wording(
        name="JSON, question first",
        system=None,
        user=lambda state, question: json.dumps({"criterion": question, "evidence": state}, ensure_ascii=False),
    ),
    Wording(name="plain", system=None, user=lambda state, question: f"{_plain(state)}\n\n{question}"),
    Wording(name="plain, system turn", system=_SHORT, user=lambda state, question: f"{_plain(state)}\n\n{question}"),
    Wording(name="plain, question first", system=None, user=lambda state, question: f"{question}\n\n{_plain(state)}"),
    Wording(
        name="named", system=None, user=lambda state, question: f"Evidence: {_plain(state)}\n\nQuestion: {question}"
    ),
)


class Study:
    """Asks a loaded model. Right answers are counted by question type."""

    def __init__(self, engine: LlamaEngine, wordings: Sequence[Wording] = ()) -> None:
        self._engine = engine
        vocabulary = engine.vocabulary
        self._preparer = Preparer(
            vocabulary, n_ctx=engine.facts.n_ctx, readout=choices.LETTERS, prompt_version=choices.DIRECT_OPTIONS
        )
        self._tokenizer = PromptTokenizer(vocabulary, tuple(dict.fromkeys(one.system for one in wordings)))
        self._end_of_turn = vocabulary.tokenize(vocabulary.eos_text, parse_special=True)

    def served(self, questions: Sequence[Labelled], readout: str, prompt_version: str) -> Counter[str]:
        """As the server answers."""
        right: Counter[str] = Counter()
        kept: dict[ScoringTask, tuple[float, ...]] = {}
        for one in questions:
            asked = replace(one.decision, readout=readout, prompt_version=prompt_version)
            plan = self._preparer.prepare(asked).plan
            readings = [reading(self._engine.score(task), plan.label_token_ids) for task in plan.tasks]
            if plan.baseline is not None and plan.baseline not in kept:
                kept[plan.baseline] = reading(self._engine.score(plan.baseline), ()).totals
            read = plan.read(readings, None if plan.baseline is None else kept[plan.baseline], temperature=1.0)
            right[one.kind] += int(np.argmax(read.probabilities)) == one.expected
        return right

    def variants(self, questions: Sequence[Labelled], wording: Wording) -> dict[str, Counter[str]]:
        """Every way to make scores of the same log-probabilities."""
        right: dict[str, Counter[str]] = {}
        kept: dict[tuple[object, ...], list[NDArray[np.float64]]] = {}
        for one in questions:
            texts = [[option.description for option in one.decision.options], [o.id for o in one.decision.options]]
            evidence = self._logprobs(wording, one.decision.state, one.decision.question, texts)
            key = (one.decision.question, *texts[0], *texts[1])
            if key not in kept:
                kept[key] = self._logprobs(wording, prompt.NO_EVIDENCE, one.decision.question, texts)
            for name, scores in _ways(evidence, kept[key], len(one.decision.options)):
                counter = right.setdefault(f"likelihood, {wording.name}; {name}", Counter())
                counter[one.kind] += int(np.argmax(scores)) == one.expected
        return right

    def _logprobs(
        self, wording: Wording, state: object, question: object, texts: Sequence[Sequence[str]]
    ) -> list[NDArray[np.float64]]:
        """Of each text's tokens and the end of the turn behind them."""
        continuations = [
            self._tokenizer.continuation(wording.system, text) + self._end_of_turn for group in texts for text in group
        ]
        distinct = sorted(set(continuations))
        encoded = self._tokenizer.encode(wording.prompt(state, question))
        score = self._engine.score(ScoringTask(tokens=encoded.tokens, continuations=tuple(distinct)))
        return [score.continuation_logprobs[distinct.index(one)] for one in continuations]


def _ways(
    evidence: Sequence[NDArray[np.float64]], baseline: Sequence[NDArray[np.float64]], count: int
) -> Iterator[tuple[str, list[float]]]:
    """count: options; their descriptions stand first, their ids behind them."""
    for what, part in (("descriptions", slice(0, count)), ("ids", slice(count, None))):
        for how, reduce in (("sum", np.sum), ("mean", np.mean)):
            for ending, end in (("", -1), (" with end of turn", None)):
                bare = [float(reduce(one[:end])) for one in evidence[part]]
                without = [float(reduce(one[:end])) for one in baseline[part]]
                yield f"{what}, {how}{ending}, against N/A", [a - b for a, b in zip(bare, without, strict=True)]
                yield f"{what}, {how}{ending}, alone", bare


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.readouts", description="Which readout answers best.")
    parser.add_argument("model", type=Path)
    parser.add_argument("questions", type=Path, nargs="?", default=OWN_QUESTIONS)
    parser.add_argument("--wordings", action="store_true", help="other wordings of the likelihood prompt too")
    parser.add_argument("--json", type=Path, help="write the counts there too")
    options = parser.parse_args(arguments)
    questions = read_labelled(options.questions)
    asked = Counter(one.kind for one in questions)
    counts: dict[str, Counter[str]] = {}
    with loaded(options.model) as engine:
        wordings = (SERVED_WORDING, *(OTHER_WORDINGS if options.wordings else ()))
        study = Study(engine, wordings)
        for readout, version in SERVED:
            counts[f"{readout}, {version}"] = study.served(questions, readout, version)
        for wording in wordings:
            counts |= study.variants(questions, wording)
    print(table(counts, asked))
    if options.json is not None:
        options.json.write_text(json.dumps({"asked": asked, "right": counts}, indent=2) + "\n", encoding="utf-8")
    return 0


@contextmanager
def loaded(model: Path) -> Iterator[LlamaEngine]:
    """The engine as the server would load it, closed in the end."""
    engine = LlamaEngine.load(
        model_files.find(model).gguf.path,
        n_ctx=None,
        n_threads=threads.choose(None).n_threads,
        n_gpu_layers=0,
        prefix_streams=8,
    )
    try:
        yield engine
    finally:
        engine.close()


def table(counts: dict[str, Counter[str]], asked: Counter[str]) -> str:
    """Markdown: right answers of those asked, a row for each way to answer."""
    kinds = [kind for kind in KINDS if asked[kind]]
    head = ["readout", *(f"{kind} of {asked[kind]}" for kind in kinds), f"all of {asked.total()}"]
    rows = [[name, *(str(right[kind]) for kind in kinds), str(right.total())] for name, right in counts.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
