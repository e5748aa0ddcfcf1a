"""A line of JSON → the labelled decisions in it. Which of three kinds a line is, its keys tell:

- `question`, an object: one question in the form of System One, as JevBench publishes them;
- `questions`, an object: a request of System One (contract 4.1), `expected` being an object by the same names;
- `options`, or `decision`: a decision of contract 3.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from client.decision_lines import check_decision
from client.decisions import Decision, Option
from client.evaluation.item import Item
from client.evaluation.item_questions import question_of
from client.json_lines import BadLine, check_value, read_object, type_name

LABELS = ("expected", "family", "group", "language", "note")  # note: for people, unread
BEYOND_SYSTEM_ONE = ("model",)  # a request's own field, which says nothing here
BEYOND_JEVBENCH = ("labels", "split", "provenance", "source")


def read(content: bytes) -> Iterator[tuple[int, Sequence[Item] | BadLine]]:
    """Each line's number, from 1, and its items or why it is none. White space between lines is passed over."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            try:
                yield number, items_of(line)
            except BadLine as error:
                yield number, error


def items_of(line: bytes) -> Sequence[Item]:
    """Raises BadLine."""
    given = read_object(line)
    check_value(given)
    if "questions" in given:
        return _system_one(given)
    if isinstance(given.get("question"), dict):
        return (_jevbench(given),)
    if "options" in given or "decision" in given:
        return (_decision(given),)
    keys = ", ".join(sorted(given)) or "none"
    raise BadLine(
        f"keys {keys}: no kind of labelled decision; there are `question` (an object) beside `state`, `questions` "
        "beside `state`, and `options` beside `question` and `state`"
    )


def check_expected(item: Item, place: str = "expected") -> Item:
    """Raises BadLine."""
    if item.expected not in item.option_ids:
        known = ", ".join(item.option_ids[:20])
        raise BadLine(f"{item.expected[:60]!r} is none of the options; they are {known}", field=place)
    return item


def _jevbench(given: Mapping[str, Any]) -> Item:
    _known(given, ("id", "state", "question", *LABELS, *BEYOND_JEVBENCH))
    item = check_expected(
        Item(
            id=_text(given, "id"),
            state=_state(given),
            question=question_of(given["question"], "question"),
            expected=_expected(given.get("expected"), "expected"),
            **_labels(given),
        )
    )
    labels = given.get("labels")
    if labels is not None and (not isinstance(labels, list) or {str(each) for each in labels} != set(item.option_ids)):
        raise BadLine(f"are not the question's options, which are {', '.join(item.option_ids)}", field="labels")
    return item


def _system_one(given: Mapping[str, Any]) -> Sequence[Item]:
    _known(given, ("id", "state", "questions", *LABELS, *BEYOND_SYSTEM_ONE))
    questions, expected = given["questions"], given.get("expected")
    if not isinstance(questions, dict) or not questions:
        raise BadLine("an object of at least one question by its name is needed", field="questions")
    if not isinstance(expected, dict) or set(expected) != set(questions):
        raise BadLine("an object with the right answer to each of `questions` by its name is needed", field="expected")
    name, state, labels = _text(given, "id"), _state(given), _labels(given)
    return tuple(
        check_expected(
            Item(
                id=f"{name}/{key}",
                state=state,
                question=question_of(question, f"questions.{key}"),
                expected=_expected(expected[key], f"expected.{key}"),
                **{**labels, "group": labels["group"] and f"{labels['group']}/{key}"},
            ),
            f"expected.{key}",
        )
        for key, question in questions.items()
    )


def _decision(given: Mapping[str, Any]) -> Item:
    told = given.get("decision", {key: value for key, value in given.items() if key not in LABELS})
    if "decision" in given:
        _known(given, ("decision", *LABELS))
    check_decision(told, "decision" if "decision" in given else "")
    decision = Decision(
        id=told["id"],
        state=told["state"],
        question=told["question"],
        options=tuple(Option(id=each["id"], description=each["description"]) for each in told["options"]),
        readout=told.get("readout"),
        prompt_version=told.get("prompt_version"),
        abstain_below=told.get("abstain_below"),
    )
    return check_expected(
        Item(
            id=decision.id,
            state=decision.state,
            question=decision,
            expected=_expected(given.get("expected"), "expected"),
            **_labels(given),
        )
    )


def _expected(value: object, place: str) -> str:
    """A noul's may be a boolean, a score's a number."""
    match value:
        case bool():
            return "yes" if value else "no"
        case str():
            return value
        case int():
            return str(value)
        case None:
            raise BadLine("missing; give the right answer, one of the options' ids", field=place)
    raise BadLine(f"{type_name(value)}; the right answer is needed, one of the options' ids", field=place)


def _labels(given: Mapping[str, Any]) -> dict[str, Any]:
    for name in ("family", "group", "language"):
        if given.get(name) is not None:
            _text(given, name)
    return {"family": given.get("family") or "", "group": given.get("group"), "language": given.get("language")}


def _state(given: Mapping[str, Any]) -> Any:
    state = given.get("state")
    if not isinstance(state, (str, dict, list)) or not state:
        raise BadLine("a string, an object or a list, not empty, is needed", field="state")
    return state


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise BadLine("a text that is not empty is needed", field=name)
    return value


def _known(given: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in given:
        if name not in names:
            raise BadLine(f"not a known field; known are {', '.join(names)}", field=name[:60])
