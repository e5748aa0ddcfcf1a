"""What the document says in words alone, made so in what schemathesis generates as valid."""

from __future__ import annotations

from typing import Any

import schemathesis
from hypothesis import strategies
from schemathesis.generation import GenerationMode

UNSPELLABLE = "unspellable_text"
_LINE = strategies.sampled_from(
    [b'{"id": "d", "state": "x", "question": "?", "options": []}', b'{"no": 1}', b"no JSON", b""]
)
schemathesis.openapi.media_type("application/jsonlines", strategies.lists(_LINE, max_size=3).map(b"\n".join))


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: schemathesis.Case[Any], kwargs: dict[str, Any]) -> None:
    meta = case.meta
    if meta is None or not meta.generation.mode.is_positive or not isinstance(case.body, dict):
        return
    body: dict[str, Any] = case.body
    for each in body.get("decisions", [body["decision"]] if "decision" in body else []):
        _decision(each)
    _number(body.get("decisions", []), "id")
    for chosen in ("x_readout", "x_prompt_version"):
        body.pop(chosen, None)
    if "messages" in body:
        _chat(body)
    if isinstance(body.get("questions"), list):
        _openai(body)


@schemathesis.hook
def after_call(
    context: schemathesis.HookContext, case: schemathesis.Case[Any], response: schemathesis.Response
) -> None:
    """Which characters a vocabulary cannot spell, no schema can say: a text with such is no valid one for this model,
    and must be refused by that code. Any other refusal of a valid body stays a finding."""
    refused = response.status_code in (400, 422) and UNSPELLABLE in response.text
    if case.meta is not None and refused and _code(response.json()) == UNSPELLABLE:
        case.meta.generation.mode = GenerationMode("negative")


def _code(body: dict[str, Any]) -> object:
    """Of an error in any of the three shapes."""
    detail = body.get("detail")
    if isinstance(detail, list):
        return detail[0]["type"]
    return body["error"]["code"] if isinstance(body.get("error"), dict) else body.get("code")


def _decision(decision: dict[str, Any]) -> None:
    _number(decision["options"], "id")
    for chosen in ("readout", "prompt_version"):  # not every pair goes together, nor with so small a vocabulary
        decision.pop(chosen, None)


def _openai(body: dict[str, Any]) -> None:
    for question in body["questions"]:
        _number(question.get("choices", []), "value")
    if isinstance(body["input"], list):  # an output without its call
        kept = [each for each in body["input"] if not str(each.get("type")).endswith("_output")]
        body["input"] = kept or "text"


def _chat(body: dict[str, Any]) -> None:
    """Short answers; not every order of roles is one that a chat template knows."""
    body.pop("max_completion_tokens", None)
    body["max_tokens"] = 4


def _number(items: list[dict[str, Any]], name: str) -> None:
    """Makes this field differ from item to item."""
    for index, item in enumerate(items):
        item[name] = f"{item[name]} {index}"
