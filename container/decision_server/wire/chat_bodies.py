"""JSON value → typed chat (contract 6). A field is read, known to change no answer, or refused by name.

A field that is null counts as left out: clients send what they have no value for.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from decision_server.chats import Chat, Message, Role
from decision_server.decisions import JsonValue
from decision_server.errors import Refusal
from decision_server.generation import Sampling
from decision_server.places import Place, spelled
from decision_server.wire.json_body import shown
from decision_server.wire.model_names import ModelNames
from decision_server.wire.plain_values import as_flag, as_number, as_whole
from decision_server.wire.shapes import as_list, as_object, as_string, as_text, count, fields, type_name

MAX_MESSAGES, MAX_STOPS, MAX_STOP_CHARACTERS = 1024, 16, 256
MIN_TEMPERATURE, MAX_TEMPERATURE = 1e-6, 2  # besides 0
_SEEDS = 2**32 - 1  # llama.cpp takes 32 bits, and the last number for "any"
_LARGEST = 2**63 - 1
ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",  # a newer name for it, which no chat template knows
    "user": "user",
    "assistant": "assistant",
}
_READ = (
    "model",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "frequency_penalty",
    "presence_penalty",
    "seed",
    "stop",
    "stream",
    "stream_options",
)
NOTHING_TO_DO = ("user", "safety_identifier", "metadata", "prompt_cache_key", "prompt_cache_retention", "verbosity")
ONLY: Mapping[str, tuple[JsonValue, ...]] = {  # what would change the answer otherwise
    "n": (1,),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "logit_bias": ({},),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "parallel_tool_calls": (True, False),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "reasoning_effort": ("none",),
    "service_tier": ("auto", "default"),
    "store": (False,),
}


@dataclass(frozen=True, kw_only=True)
class ChatRequest:
    """stream: answer by server-sent events; include_usage: with a last one that counts tokens."""

    chat: Chat
    stream: bool
    include_usage: bool


def read(body: Mapping[str, JsonValue], names: ModelNames) -> ChatRequest:
    """Raises Refusal."""
    given = _without_nulls(body)
    fields(given, (), required=("messages",), optional=(*_READ, *NOTHING_TO_DO, *ONLY))
    for name, allowed in ONLY.items():
        if name in given and not any(_same(given[name], one) for one in allowed):
            words = " or ".join(shown(one) for one in allowed)
            raise Refusal(
                "bad_value",
                f"{name}: {shown(given[name])} is not served here; leave it out or send {words}",
                place=(name,),
            )
    if "model" in given:
        names.check(given["model"], ("model",))
    stream = as_flag(given.get("stream", False), ("stream",))
    max_tokens, field = _max_tokens(given)
    return ChatRequest(
        chat=Chat(
            messages=_messages(given["messages"]),
            max_tokens=max_tokens,
            stop=_stop(given.get("stop", [])),
            sampling=_sampling(given),
            max_tokens_field=field,
        ),
        stream=stream,
        include_usage=_include_usage(given, stream=stream),
    )


def _messages(value: JsonValue) -> tuple[Message, ...]:
    items = as_list(value, ("messages",))
    count(len(items), ("messages",), least=1, most=MAX_MESSAGES)
    return tuple(_message(item, ("messages", index)) for index, item in enumerate(items))


def _message(value: JsonValue, place: Place) -> Message:
    given = _without_nulls(as_object(value, place))
    role = as_text(given.get("role", ""), (*place, "role"))
    if role not in ROLES:
        here = (*place, "role")
        raise Refusal("bad_value", f"{spelled(here)}: {shown(role)}; one of {', '.join(ROLES)} is needed", place=here)
    fields(given, place, required=("role", "content"))
    return Message(role=ROLES[role], content=_content(given["content"], (*place, "content")))


def _content(value: JsonValue, place: Place) -> str:
    """A string, or text parts, each of which begins a line of its own."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) or not isinstance(value, (list, tuple)):
        raise Refusal(
            "wrong_type",
            f"{spelled(place)}: {type_name(value)}; a string or a list of text parts is needed",
            place=place,
        )
    return "\n".join(_part(part, (*place, index)) for index, part in enumerate(value))


def _part(value: JsonValue, place: Place) -> str:
    given = as_object(value, place)
    kind = as_text(given.get("type", ""), (*place, "type"))
    if kind != "text":
        here = (*place, "type")
        raise Refusal(
            "bad_value", f"{spelled(here)}: {shown(kind)} cannot be read by this model; send text", place=here
        )
    fields(given, place, required=("type", "text"))
    return as_string(given["text"], (*place, "text"))


def _max_tokens(given: Mapping[str, JsonValue]) -> tuple[int | None, str]:
    """And the name by which it was asked."""
    asked = {
        name: as_whole(given[name], (name,), least=1, most=_LARGEST)
        for name in ("max_completion_tokens", "max_tokens")
        if name in given
    }
    if len(set(asked.values())) > 1:
        raise Refusal(
            "bad_value",
            f"max_tokens: {asked['max_tokens']} and max_completion_tokens: {asked['max_completion_tokens']}; send one",
            place=("max_tokens",),
        )
    name = next(iter(asked), "max_tokens")
    return asked.get(name), name


def _stop(value: JsonValue) -> tuple[str, ...]:
    items = [value] if isinstance(value, str) else as_list(value, ("stop",))
    count(len(items), ("stop",), least=0, most=MAX_STOPS)
    texts = tuple(as_text(item, ("stop", index)) for index, item in enumerate(items))
    for index, text in enumerate(texts):
        if len(text) > MAX_STOP_CHARACTERS:
            here: Place = ("stop", index)
            message = f"{spelled(here)}: {len(text)} characters; at most {MAX_STOP_CHARACTERS} allowed"
            raise Refusal("bad_value", message, place=here)
    return texts


def _sampling(given: Mapping[str, JsonValue]) -> Sampling:
    """What is left out is as OpenAI has it; without a seed, one is drawn."""
    seed = as_whole(given["seed"], ("seed",), least=-_LARGEST - 1, most=_LARGEST) if "seed" in given else None
    return Sampling(
        temperature=_temperature(given.get("temperature", 1), ("temperature",)),
        top_p=as_number(given.get("top_p", 1), ("top_p",), least=0, most=1),
        frequency_penalty=as_number(given.get("frequency_penalty", 0), ("frequency_penalty",), least=-2, most=2),
        presence_penalty=as_number(given.get("presence_penalty", 0), ("presence_penalty",), least=-2, most=2),
        seed=secrets.randbelow(_SEEDS) if seed is None else seed % _SEEDS,
    )


def _temperature(value: JsonValue, place: Place) -> float:
    """0, or so much that a logit divided by it stays a number in the 32 bits that llama.cpp has for it."""
    temperature = as_number(value, place, least=0, most=MAX_TEMPERATURE)
    if 0 < temperature < MIN_TEMPERATURE:
        raise Refusal(
            "bad_value",
            f"temperature: {shown(value)}; 0, or {MIN_TEMPERATURE:g} to {MAX_TEMPERATURE:g} allowed; 0 takes the most "
            "probable token, always",
            place=place,
        )
    return temperature


def _include_usage(given: Mapping[str, JsonValue], *, stream: bool) -> bool:
    if "stream_options" not in given:
        return False
    place: Place = ("stream_options",)
    if not stream:
        raise Refusal("bad_value", "stream_options: goes with `stream` true only; leave it out", place=place)
    options = _without_nulls(as_object(given["stream_options"], place))
    fields(options, place, required=(), optional=("include_usage", "include_obfuscation"))
    if as_flag(options.get("include_obfuscation", False), (*place, "include_obfuscation")):
        here = (*place, "include_obfuscation")
        raise Refusal("bad_value", f"{spelled(here)}: true is not served here; leave it out or send false", place=here)
    return as_flag(options.get("include_usage", False), (*place, "include_usage"))


def _without_nulls(given: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: value for name, value in given.items() if value is not None}


def _same(value: JsonValue, other: JsonValue) -> bool:
    """Equal as JSON: true is not 1."""
    return type(value) is type(other) and value == other
