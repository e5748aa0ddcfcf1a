"""JSON value → typed OpenAI decision request, in the shapes that the `openai` package types (contract 5)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from decision_server import questions
from decision_server.decisions import Decision, JsonValue, State
from decision_server.errors import Refusal
from decision_server.places import Place, spelled
from decision_server.questions import Named
from decision_server.results import BatchTiming, Result
from decision_server.wire import openai_input
from decision_server.wire.dialects import Dialect
from decision_server.wire.json_body import shown
from decision_server.wire.model_names import ModelNames
from decision_server.wire.openai_answers import ChoiceQuestion, Predicate, Question, ScoreQuestion, answer_body
from decision_server.wire.question_counts import MAX_QUESTIONS, OPTIONS
from decision_server.wire.shapes import as_list, as_object, as_text, count, fields
from decision_server.wire.wishes import OF_A_QUESTION, OF_A_REQUEST, Wishes, place_of, wishes

_SERVICE_FIELDS = ("prompt_cache_key", "prompt_cache_options", "safety_identifier")  # of a service; change no answer
_FIELD_OF = {Predicate: "instructions", ChoiceQuestion: "choices", ScoreQuestion: "levels"}  # where options come from

Asked: TypeAlias = "tuple[Question, Decision]"


@dataclass(frozen=True, kw_only=True)
class OpenAiRequest:
    """questions[i] says how decisions[i] is to be answered."""

    questions: tuple[Question, ...]
    decisions: tuple[Decision, ...]
    dialect: Dialect = Dialect.OPENAI_DECISIONS

    def place(self, index: int, field: str | None) -> Place:
        if field is not None and (wished := place_of(field)) is not None:
            return wished
        match field:
            case None:
                return ("questions", index)
            case "state":
                return ("input",)
            case "options":
                return ("questions", index, _FIELD_OF[type(self.questions[index])])
        return ("questions", index, "instructions")

    def answer(self, results: Sequence[Result], timing: BatchTiming) -> bytes:
        return answer_body(self.questions, results, timing)


def read(body: Mapping[str, JsonValue], names: ModelNames) -> OpenAiRequest:
    """Raises Refusal."""
    fields(body, (), required=("model", "input", "questions"), optional=(*_SERVICE_FIELDS, *OF_A_REQUEST))
    names.check(body["model"], ("model",))
    state = openai_input.evidence(body["input"], ("input",))
    items = as_list(body["questions"], ("questions",))
    count(len(items), ("questions",), least=1, most=MAX_QUESTIONS)
    wished = wishes(body)
    asked = [_question(item, ("questions", index), state, wished) for index, item in enumerate(items)]
    return OpenAiRequest(
        questions=tuple(question for question, _ in asked), decisions=tuple(decision for _, decision in asked)
    )


def _question(value: JsonValue, place: Place, state: State, wished: Wishes) -> Asked:
    given = as_object(value, place)
    question, decision = _typed(given, place, state)
    return question, wished.on(decision, given, place)


def _typed(given: Mapping[str, JsonValue], place: Place, state: State) -> Asked:
    kind = as_text(given.get("type"), (*place, "type"))
    own = {"predicate": (), "choice": ("choices",), "score": ("levels",)}.get(kind)
    if own is None:
        here = (*place, "type")
        raise Refusal(
            "bad_value", f"{spelled(here)}: {shown(kind)} is not known; predicate, choice and score are", place=here
        )
    fields(given, place, required=("type", "instructions", *own), optional=("name", *OF_A_QUESTION))
    name = None if given.get("name") is None else as_text(given["name"], (*place, "name"))
    id_ = name or spelled(place)
    text = openai_input.instructions(given["instructions"], (*place, "instructions"))
    match kind:
        case "choice":
            values, options = _choices(given["choices"], (*place, "choices"))
            return ChoiceQuestion(name=name, values=values), questions.choice(id_, state, text, options)
        case "score":
            labels, levels = _levels(given["levels"], (*place, "levels"))
            return ScoreQuestion(name=name, labels=labels), questions.score(id_, state, text, levels)
    return Predicate(name=name), questions.yes_or_no(id_, state, text, yes=None, no=None)


def _choices(value: JsonValue, place: Place) -> tuple[tuple[str | bool, ...], dict[str, Named]]:
    """Values, and options by ids that tell "true" from true."""
    items = as_list(value, place)
    count(len(items), place, least=OPTIONS.least, most=OPTIONS.most)
    values: list[str | bool] = []
    options: dict[str, Named] = {}
    for index, item in enumerate(items):
        given, description = _described(item, (*place, index), "value")
        chosen, here = given["value"], (*place, index, "value")
        said = chosen if isinstance(chosen, bool) else as_text(chosen, here)
        id_ = json.dumps(said)
        if id_ in options:
            raise Refusal("bad_value", f"{spelled(here)}: {shown(said)} stands twice; values must differ", place=here)
        name = str(said).lower() if isinstance(said, bool) else said
        options[id_] = Named(name=name, meaning=description)
        values.append(said)
    return tuple(values), options


def _levels(value: JsonValue, place: Place) -> tuple[tuple[str, ...], list[Named]]:
    """Labels, and what the model reads of each level."""
    items = as_list(value, place)
    count(len(items), place, least=OPTIONS.least, most=OPTIONS.most)
    labels: list[str] = []
    levels: list[Named] = []
    for index, item in enumerate(items):
        given, description = _described(item, (*place, index), "label")
        label = as_text(given["label"], (*place, index, "label"))
        labels.append(label)
        levels.append(Named(name=label, meaning=description))
    return tuple(labels), levels


def _described(value: JsonValue, place: Place, named: str) -> tuple[Mapping[str, JsonValue], str | None]:
    given = as_object(value, place)
    fields(given, place, required=(named,), optional=("description",))
    description = given.get("description")
    return given, None if description is None else as_text(description, (*place, "description"))
