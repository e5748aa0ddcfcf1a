"""JSON value → typed decisions (contract 3.1). All of a request is checked before any of it is worked on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from decision_server.decisions import Decision, JsonValue, Option
from decision_server.places import Place
from decision_server.results import BatchTiming, Result
from decision_server.wire.decision_answers import one_answer, several_answers
from decision_server.wire.dialects import Dialect
from decision_server.wire.json_body import shown
from decision_server.wire.plain_values import as_threshold
from decision_server.wire.shapes import as_list, as_object, as_state, as_text, count, fields, unique

MIN_OPTIONS, MAX_OPTIONS = 2, 255
_CHOSEN = ("readout", "prompt_version", "abstain_below")


@dataclass(frozen=True, kw_only=True)
class OneDecision:
    """A body with `decision`."""

    decision: Decision
    dialect: Dialect = Dialect.DECISION

    @property
    def decisions(self) -> tuple[Decision, ...]:
        return (self.decision,)

    def place(self, index: int, field: str | None) -> Place:
        return ("decision",) if field is None else ("decision", field)

    def answer(self, results: Sequence[Result], timing: BatchTiming) -> bytes:
        return one_answer(results[0])


@dataclass(frozen=True, kw_only=True)
class SeveralDecisions:
    """A body with `decisions`."""

    decisions: tuple[Decision, ...]
    dialect: Dialect = Dialect.DECISIONS

    def place(self, index: int, field: str | None) -> Place:
        return ("decisions", index) if field is None else ("decisions", index, field)

    def answer(self, results: Sequence[Result], timing: BatchTiming) -> bytes:
        return several_answers(results, timing)


def read_one(body: Mapping[str, JsonValue]) -> OneDecision:
    """Raises Refusal."""
    fields(body, (), required=("decision",))
    return OneDecision(decision=_decision(body["decision"], ("decision",)))


def read_several(body: Mapping[str, JsonValue], *, max_decisions: int) -> SeveralDecisions:
    """Raises Refusal."""
    fields(body, (), required=("decisions",))
    items = as_list(body["decisions"], ("decisions",))
    count(len(items), ("decisions",), least=1, most=max_decisions)
    decisions = tuple(_decision(item, ("decisions", index)) for index, item in enumerate(items))
    unique([decision.id for decision in decisions], ("decisions",), "decision")
    return SeveralDecisions(decisions=decisions)


def _decision(value: JsonValue, place: Place) -> Decision:
    given = as_object(value, place)
    fields(given, place, required=("id", "state", "question", "options"), optional=_CHOSEN)
    id_ = as_text(given["id"], (*place, "id"))
    return Decision(
        id=id_,
        state=as_state(given["state"], (*place, "state")),
        question=as_text(given["question"], (*place, "question")),
        options=_options(given["options"], (*place, "options"), id_),
        readout=as_text(given["readout"], (*place, "readout")) if "readout" in given else None,
        prompt_version=as_text(given["prompt_version"], (*place, "prompt_version"))
        if "prompt_version" in given
        else None,
        abstain_below=as_threshold(given["abstain_below"], (*place, "abstain_below"))
        if "abstain_below" in given
        else None,
    )


def _options(value: JsonValue, place: Place, decision_id: str) -> tuple[Option, ...]:
    items = as_list(value, place)
    count(len(items), place, least=MIN_OPTIONS, most=MAX_OPTIONS, context=f" for decision {shown(decision_id)}")
    options = []
    for index, item in enumerate(items):
        here = (*place, index)
        given = as_object(item, here)
        fields(given, here, required=("id", "description"))
        options.append(
            Option(
                id=as_text(given["id"], (*here, "id")),
                description=as_text(given["description"], (*here, "description")),
            )
        )
    unique([option.id for option in options], place, "option")
    return tuple(options)
