"""The model's own chat template → the fixed text around a user turn. Knows jinja2; no tokens, no requests.

A template is code from a file of weights: it runs in a sandbox, at start-up only, and never sees a request. It is
rendered with a stand-in where the user turn goes; what stands before and after it frames every prompt. So nothing that
a caller writes can steer the template, and rendering costs nothing at request time.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NoReturn

from jinja2 import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from decision_server.model_errors import StartupFailure

# Shaped like a real user turn, so that a template which trims or looks at the ends treats both alike.
_STAND_IN = '{"stand-in for the user turn": "6f1e7c1a52b94d0c"}'
_PROBES = ('{"evidence": "A b.\\n\\u00e9", "options": []}', '{"evidence": {"a": [1, "<x> {{ y }} {% z %}"]}}')


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The template's text before and after the user turn, the opening of the answer included."""

    before: str
    after: str

    def around(self, user: str) -> str:
        return self.before + user + self.after


def frame(template: str | None, *, system: str | None, bos_token: str, eos_token: str) -> Frame:
    """Renders [system turn,] user turn and generation prompt, thinking off (contract 3.5). Raises StartupFailure."""
    if not template:
        raise StartupFailure("the GGUF has no tokenizer.chat_template; use the GGUF of an instruction-tuned model")
    try:
        compiled = environment().from_string(template)
        special = {"bos_token": bos_token, "eos_token": eos_token}
        text = compiled.render(**_variables(system, _STAND_IN), **special)
        if text.count(_STAND_IN) != 1:
            raise StartupFailure(f"the chat template shows the user turn {text.count(_STAND_IN)} times; 1 is needed")
        before, after = text.split(_STAND_IN)
        result = Frame(before=before, after=after)
        for probe in _PROBES:
            if compiled.render(**_variables(system, probe), **special) != result.around(probe):
                raise StartupFailure(
                    "the chat template changes the text of the user turn; a template that keeps it is needed"
                )
    except (TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise StartupFailure(f"the chat template cannot be rendered: {type(error).__name__}: {error}") from error
    if system is not None and system not in before:
        raise StartupFailure("the chat template leaves the system turn out; a template that shows it is needed")
    return result


def _variables(system: str | None, user: str) -> dict[str, Any]:
    system_turn = [] if system is None else [{"role": "system", "content": system}]
    return {
        "messages": [*system_turn, {"role": "user", "content": user}],
        "add_generation_prompt": True,
        "enable_thinking": False,
        "tools": None,
        "documents": None,
    }


def environment() -> ImmutableSandboxedEnvironment:
    """What published templates expect of their renderer. `strftime_now` is left undefined on purpose: a prompt that
    holds today's date gives other answers tomorrow, and templates that ask for it have a fixed date to fall back on."""
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise_exception
    return environment


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)
