"""The `input` and `instructions` of an OpenAI decision → evidence and question as the model reads them (contract 5).

A message or an output may hold empty text, as agents send where a tool had nothing to say; instructions may not.
Messages, calls and their outputs become a list of small objects that keep order, roles and words. What only concerns a
service (item ids, status, phase, cache marks) is accepted and left out; what this model cannot read is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from decision_server.decisions import JsonValue, State
from decision_server.errors import Refusal
from decision_server.places import Place, spelled
from decision_server.wire.json_body import shown
from decision_server.wire.shapes import as_list, as_object, as_string, as_text, fields

_PARTS = {  # role → the types of part that its content may hold
    "user": ("input_text", "input_json", "input_image"),
    "developer": ("input_text",),
    "system": ("input_text",),
    "assistant": ("output_text", "refusal"),
}
_OF_A_TOOL = ("input_text", "input_image")
_OF_INSTRUCTIONS = ("input_text", "input_json", "input_image")
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_OUTPUTS = {"function_call_output": "function_call", "custom_tool_call_output": "custom_tool_call"}


def evidence(value: JsonValue, place: Place) -> State:
    """A string, or a list of items. Raises Refusal."""
    if isinstance(value, str):
        return as_text(value, place)
    items = as_list(value, place)
    if not items:
        raise Refusal("bad_value", f"{spelled(place)}: an empty list; give the evidence to decide on", place=place)
    calls: dict[str, str] = {}
    return [_item(item, (*place, index), calls) for index, item in enumerate(items)]


def instructions(value: JsonValue, place: Place) -> State:
    """A string, or a list of text and JSON parts. Raises Refusal."""
    return _content(value, place, _OF_INSTRUCTIONS)


def _item(value: JsonValue, place: Place, calls: dict[str, str]) -> JsonValue:
    """calls: id → type, of the calls so far; those of this item are added."""
    given = as_object(value, place)
    kind = as_text(given.get("type", "message"), (*place, "type"))
    if kind == "message":
        return _message(given, place)
    if kind in _CALLS:
        said = _CALLS[kind]
        fields(given, place, required=("type", "call_id", "name", said), optional=("id", "namespace", "status"))
        call_id = as_text(given["call_id"], (*place, "call_id"))
        calls[call_id] = kind
        named = {key: given[key] for key in ("namespace", "name") if given.get(key) is not None}
        return {"type": kind, "call_id": call_id, **named, said: as_string(given[said], (*place, said))}
    if kind in _OUTPUTS:
        fields(given, place, required=("type", "call_id", "output"), optional=("id", "status"))
        call_id = as_text(given["call_id"], (*place, "call_id"))
        if calls.get(call_id) != _OUTPUTS[kind]:
            here = (*place, "call_id")
            raise Refusal(
                "bad_value", f"{spelled(here)}: {shown(call_id)} is no {_OUTPUTS[kind]} that stands before", place=here
            )
        return {"type": kind, "call_id": call_id, "output": _output(given["output"], (*place, "output"))}
    here = (*place, "type")
    known = ", ".join(["message", *_CALLS, *_OUTPUTS])
    raise Refusal("bad_value", f"{spelled(here)}: {shown(kind)} is not known; known are {known}", place=here)


def _message(given: Mapping[str, JsonValue], place: Place) -> JsonValue:
    fields(given, place, required=("role", "content"), optional=("type", "phase"))
    role = as_text(given["role"], (*place, "role"))
    if role not in _PARTS:
        here = (*place, "role")
        known = ", ".join(_PARTS)
        raise Refusal("bad_value", f"{spelled(here)}: {shown(role)} is not known; known are {known}", place=here)
    return {"role": role, "content": _content(given["content"], (*place, "content"), _PARTS[role], may_be_empty=True)}


def _output(value: JsonValue, place: Place) -> JsonValue:
    """Of a call; none at all is an empty list."""
    if isinstance(value, list) and not value:
        return []
    return _content(value, place, _OF_A_TOOL, may_be_empty=True)


def _content(value: JsonValue, place: Place, allowed: Sequence[str], *, may_be_empty: bool = False) -> State:
    """A string as it is; one part as what it holds, several as a list. may_be_empty: text of it."""
    text = as_string if may_be_empty else as_text
    if isinstance(value, str):
        return text(value, place)
    parts = [_part(part, (*place, index), allowed, text) for index, part in enumerate(as_list(value, place))]
    if not parts:
        raise Refusal("bad_value", f"{spelled(place)}: an empty list; give at least one part", place=place)
    return parts[0] if len(parts) == 1 else parts


def _part(value: JsonValue, place: Place, allowed: Sequence[str], text: Callable[[JsonValue, Place], str]) -> State:
    """text: reads the text of a part. Raises Refusal."""
    given = as_object(value, place)
    kind = as_text(given.get("type"), (*place, "type"))
    if kind not in allowed:
        here = (*place, "type")
        known = ", ".join(allowed)
        raise Refusal("bad_value", f"{spelled(here)}: {shown(kind)} does not belong here; {known} do", place=here)
    match kind:
        case "input_image":
            here = (*place, "type")
            raise Refusal(
                "bad_value", f"{spelled(here)}: this model reads no images; say in words what they show", place=here
            )
        case "input_json":
            fields(given, place, required=("type", "data"))
            return _json(given["data"], (*place, "data"))
        case "refusal":
            fields(given, place, required=("type", "refusal"))
            return {"refusal": as_string(given["refusal"], (*place, "refusal"))}
    fields(given, place, required=("type", "text"), optional=("prompt_cache_breakpoint",))
    return text(given["text"], (*place, "text"))


def _json(value: JsonValue, place: Place) -> State:
    """An object, or a list of objects."""
    if isinstance(value, Mapping):
        return value
    items = as_list(value, place)
    return [as_object(item, (*place, index)) for index, item in enumerate(items)]
