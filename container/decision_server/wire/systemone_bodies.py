"""JSON value → typed System One request (contract 4.1). Unknown top-level fields are ignored, as clients expect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from decision_server import questions
from decision_server.decisions import Decision, JsonValue, State
from decision_server.errors import Refusal
from decision_server.places import Place, spelled
from decision_server.questions import Content, Named
from decision_server.results import BatchTiming, Result
from decision_server.wire.dialects import Dialect
from decision_server.wire.json_body import shown
from decision_server.wire.model_names import ModelNames
from decision_server.wire.question_counts import LEVELS, MAX_QUESTIONS, OPTIONS
from decision_server.wire.shapes import as_content, as_list, as_object, as_state, as_text, count, has_fields
from decision_server.wire.systemone_answers import Legend, answer_body
from decision_server.wire.wishes import Wishes, place_of, wishes

_FIELD_OF = {"options": "criteria", "question": "instructions"}  # of a decision → of a question
_NO_SUCH_TYPE = "noul, choice and score are answered here"


@dataclass(frozen=True, kw_only=True)
class SystemOneRequest:
    """legends[i]: the levels of decisions[i] as sent, where it is a score; they go back in its answer."""

    decisions: tuple[Decision, ...]
    legends: tuple[Legend | None, ...]
    dialect: Dialect = Dialect.SYSTEM_ONE

    def place(self, index: int, field: str | None) -> Place:
        """The state stands beside the questions, once."""
        if field == "state":
            return ("state",)
        if field is not None and (wished := place_of(field)) is not None:
            return wished
        question: Place = ("questions", self.decisions[index].id)
        return question if field is None else (*question, _FIELD_OF.get(field, field))

    def answer(self, results: Sequence[Result], timing: BatchTiming) -> bytes:
        return answer_body(self.decisions, self.legends, results)


def read(body: Mapping[str, JsonValue], names: ModelNames) -> SystemOneRequest:
    """Raises Refusal."""
    has_fields(body, (), ("model", "state", "questions"))
    names.check(body["model"], ("model",))
    state = as_state(body["state"], ("state",))
    asked = as_object(body["questions"], ("questions",))
    count(len(asked), ("questions",), least=1, most=MAX_QUESTIONS)
    if body.get("assets") is not None:
        raise Refusal("bad_value", "assets: images cannot be read by this model; send text or JSON", place=("assets",))
    wished = wishes(body)
    read_ = [_question(name, state, question, wished) for name, question in asked.items()]
    return SystemOneRequest(
        decisions=tuple(decision for decision, _ in read_), legends=tuple(legend for _, legend in read_)
    )


def _question(name: str, state: State, value: JsonValue, wished: Wishes) -> tuple[Decision, Legend | None]:
    place: Place = ("questions", name)
    if not name:
        raise Refusal("bad_value", "questions: a question without a name; give at least one character", place=place)
    given = as_object(value, place)
    decision, legend = _typed(name, state, given, place)
    return wished.on(decision, given, place), legend


def _typed(name: str, state: State, given: Mapping[str, JsonValue], place: Place) -> tuple[Decision, Legend | None]:
    has_fields(given, place, ("type",))
    instructions = as_content(given.get("instructions"), (*place, "instructions"))
    criteria, at = given.get("criteria"), (*place, "criteria")
    match as_text(given["type"], (*place, "type")):
        case questions.NOUL:
            return _noul(name, state, instructions, criteria, at), None
        case questions.CHOICE:
            return _choice(name, state, instructions, criteria, at), None
        case questions.SCORE:
            levels = _levels(criteria, at)
            return questions.score(name, state, instructions, levels), levels
        case other:
            here = (*place, "type")
            raise Refusal("bad_value", f"{spelled(here)}: {shown(other)} is not known; {_NO_SUCH_TYPE}", place=here)


def _noul(name: str, state: State, instructions: Content | None, criteria: JsonValue, place: Place) -> Decision:
    given = {} if criteria is None else as_object(criteria, place)
    for key in given:
        if key not in ("true", "false"):
            raise Refusal(
                "unknown_field",
                f"{spelled(place)}: unknown outcome {shown(key)}; `true` and `false` may be described",
                place=(*place, key),
            )
    yes, no = (as_content(given.get(key), (*place, key)) for key in ("true", "false"))
    if instructions is None and yes is None and no is None:
        raise Refusal(
            "missing_field",
            f"{spelled(place[:-1])}: neither instructions nor criteria; say what is asked",
            place=(*place[:-1], "instructions"),
        )
    return questions.yes_or_no(name, state, instructions, yes=yes, no=no)


def _choice(name: str, state: State, instructions: Content | None, criteria: JsonValue, place: Place) -> Decision:
    given = as_object(criteria, place)
    count(len(given), place, least=OPTIONS.least, most=OPTIONS.most)
    for option in given:
        as_text(option, place)
    options = {
        option: Named(name=option, meaning=as_content(meaning, (*place, option))) for option, meaning in given.items()
    }
    return questions.choice(name, state, instructions, options)


def _levels(criteria: JsonValue, place: Place) -> Legend:
    given = as_list(criteria, place)
    count(len(given), place, least=LEVELS.least, most=LEVELS.most)
    levels = []
    for index, level in enumerate(given):
        content = as_content(level, (*place, index))
        if content is None:
            here = (*place, index)
            raise Refusal("wrong_type", f"{spelled(here)}: null or empty; a level needs a description", place=here)
        levels.append(content)
    return tuple(levels)
