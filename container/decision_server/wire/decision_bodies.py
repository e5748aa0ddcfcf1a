"""JSON value → typed decisions (contract 3.1). All of a request is checked before any of it is worked on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from decision_server.decisions import Decision, JsonValue, Option
from decision_server.errors import Refusal
from decision_server.wire.dialects import Dialect, dialect_of
from decision_server.wire.json_body import shown
from decision_server.wire.shapes import as_list, as_object, as_text, count, fields, type_name, unique

State: TypeAlias = "str | Sequence[JsonValue] | Mapping[str, JsonValue]"

MIN_OPTIONS, MAX_OPTIONS = 2, 255


@dataclass(frozen=True, kw_only=True)
class DecisionRequest:
    """What was asked. `places[i]` names decisions[i] in the body, for errors found later."""

    dialect: Dialect
    decisions: tuple[Decision, ...]

    @property
    def places(self) -> tuple[str, ...]:
        if self.dialect is Dialect.DECISION:
            return ("decision",)
        return tuple(f"decisions[{index}]" for index in range(len(self.decisions)))


def read_request(value: JsonValue, *, max_decisions: int) -> DecisionRequest:
    """Raises Refusal."""
    dialect, body = dialect_of(value)
    fields(body, "", required=(dialect.value,))
    if dialect is Dialect.DECISION:
        return DecisionRequest(dialect=dialect, decisions=(_decision(body["decision"], "decision"),))
    items = as_list(body["decisions"], "decisions")
    count(len(items), "decisions", least=1, most=max_decisions)
    decisions = tuple(_decision(item, f"decisions[{index}]") for index, item in enumerate(items))
    unique([decision.id for decision in decisions], "decisions", "decision")
    return DecisionRequest(dialect=dialect, decisions=decisions)


def _decision(value: JsonValue, place: str) -> Decision:
    given = as_object(value, place)
    fields(given, place, required=("id", "state", "question", "options"), optional=("readout", "prompt_version"))
    id_ = as_text(given["id"], f"{place}.id")
    return Decision(
        id=id_,
        state=_state(given["state"], f"{place}.state"),
        question=as_text(given["question"], f"{place}.question"),
        options=_options(given["options"], f"{place}.options", id_),
        readout=as_text(given["readout"], f"{place}.readout") if "readout" in given else None,
        prompt_version=as_text(given["prompt_version"], f"{place}.prompt_version")
        if "prompt_version" in given
        else None,
    )


def _state(value: JsonValue, place: str) -> State:
    if value is None or isinstance(value, (bool, int, float)):
        raise Refusal(
            "wrong_type",
            f"{place}: {type_name(value)} ({shown(value)}); a string, an object or a list is needed",
            field=place,
        )
    if not value:
        raise Refusal(
            "bad_value", f"{place}: {type_name(value)} that is empty; give the evidence to decide on", field=place
        )
    return value


def _options(value: JsonValue, place: str, decision_id: str) -> tuple[Option, ...]:
    items = as_list(value, place)
    count(len(items), place, least=MIN_OPTIONS, most=MAX_OPTIONS, context=f" for decision {shown(decision_id)}")
    options = []
    for index, item in enumerate(items):
        given = as_object(item, f"{place}[{index}]")
        fields(given, f"{place}[{index}]", required=("id", "description"))
        options.append(
            Option(
                id=as_text(given["id"], f"{place}[{index}].id"),
                description=as_text(given["description"], f"{place}[{index}].description"),
            )
        )
    unique([option.id for option in options], place, "option")
    return tuple(options)
