"""Which texts of options serve questions best: the name, what it means, or both, by every readout.

    PYTHONPATH=container .venv/bin/python -m benchmarks.question_texts MODEL [QUESTIONS.jsonl ...]

MODEL: a .gguf file or a model folder. QUESTIONS: see labelled.py; without any, the two files beside this one. It prints
a table of right answers by type of question (docs/decisions/0016). Nothing is timed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.labelled import Labelled
from benchmarks.readouts import SERVED, Study, loaded, table
from decision_server.decisions import Decision, Option

FILES = tuple(Path(__file__).with_name(name) for name in ("readout_tasks.jsonl", "question_tasks.jsonl"))
Texts: TypeAlias = Callable[[str, str], str]  # an option's name and meaning → what the model reads

VARIANTS: dict[str, Texts] = {
    "meaning": lambda name, meaning: meaning,
    "name": lambda name, meaning: name,
    "name: meaning": lambda name, meaning: f"{name}: {meaning}",
    "name, meaning": lambda name, meaning: f"{name}, {meaning[0].lower()}{meaning[1:]}",
    "name. meaning": lambda name, meaning: f"{name}. {meaning}",
    "meaning (name)": lambda name, meaning: f"{meaning} ({name})",
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.question_texts", description="Which texts of options serve best.")
    parser.add_argument("model", type=Path)
    parser.add_argument("questions", type=Path, nargs="*", default=FILES)
    options = parser.parse_args(arguments)
    rows = [json.loads(line) for path in options.questions for line in path.read_text("utf-8").splitlines()]
    asked = Counter(row["question"]["type"] for row in rows)
    counts: dict[str, Counter[str]] = {}
    with loaded(options.model) as engine:
        study = Study(engine)
        for name, texts in VARIANTS.items():
            questions = [_labelled(row, texts) for row in rows]
            for readout, version in SERVED:
                counts[f"{name}; {readout}, {version}"] = study.served(questions, readout, version)
    print(table(counts, asked))
    return 0


def _labelled(row: Mapping[str, Any], texts: Texts) -> Labelled:
    question = row["question"]
    options = dict(_options(question))
    ids = list(options)
    return Labelled(
        decision=Decision(
            id=row["id"],
            state=row["state"],
            question=question["instructions"],
            options=tuple(Option(id=id_, description=texts(*named)) for id_, named in options.items()),
            question_type=question["type"],
        ),
        expected=ids.index(str(row["expected"])),
    )


def _options(question: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Each option's id, name and meaning, in the order that the server lists them."""
    criteria = question["criteria"]
    match question["type"]:
        case "noul":
            yield from {"yes": ("Yes", criteria["true"]), "no": ("No", criteria["false"])}.items()
        case "choice":
            yield from {name: (name, meaning or name) for name, meaning in criteria.items()}.items()
        case "score":
            yield from {str(level): (str(level), meaning) for level, meaning in enumerate(criteria)}.items()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
