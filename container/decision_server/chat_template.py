"""The model's own chat template → the fixed text around the turns of a chat. Knows jinja2; no tokens, no requests.

As in `template.py` the template runs in a sandbox and never sees what a caller wrote: it is rendered with a stand-in
for each turn's content, once for each order of roles. So no caller's text steers it, and all stands there as sent.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from jinja2 import TemplateError

from decision_server.model_errors import StartupFailure
from decision_server.template import environment

_KEPT = 256  # orders of roles
_PROBES = ("A b.\n\né 1", '{"x": "<y> {{ z }} {% w %}"}')


class TurnsRefused(Exception):
    """The template cannot show these roles in this order; the text says why."""


class ChatTemplate:
    """Any thread may use it."""

    def __init__(self, template: str | None, *, bos_token: str, eos_token: str) -> None:
        """Raises StartupFailure."""
        if not template:
            raise StartupFailure("the GGUF has no tokenizer.chat_template; use the GGUF of an instruction-tuned model")
        try:
            self._compiled = environment().from_string(template)
        except TemplateError as error:
            raise StartupFailure(f"the chat template cannot be read: {error}") from error
        self._special = {"bos_token": bos_token, "eos_token": eos_token}
        self.around = lru_cache(maxsize=_KEPT)(self._around)

    def _around(self, roles: tuple[str, ...]) -> tuple[str, ...]:
        """The texts before, between and behind the contents, len(roles) + 1; the opening of the answer is in the last.

        Raises TurnsRefused.
        """
        stand_ins = [f"turn {index} of 6f1e7c1a52b94d0c." for index in range(len(roles))]
        rest, texts = self._render(roles, stand_ins), []
        for index, stand_in in enumerate(stand_ins):
            before, found, rest = rest.partition(stand_in)
            if not found or stand_in in rest:
                raise TurnsRefused(f"the model's chat template does not show message {index} ({roles[index]}) once")
            texts.append(before)
        texts.append(rest)
        for probe in _PROBES:
            if self._render(roles, [probe] * len(roles)) != probe.join(texts):
                raise TurnsRefused("the model's chat template changes the text of a message")
        return tuple(texts)

    def _render(self, roles: tuple[str, ...], contents: list[str]) -> str:
        messages = [{"role": role, "content": content} for role, content in zip(roles, contents, strict=True)]
        variables: dict[str, Any] = {
            "messages": messages,
            "add_generation_prompt": True,
            "enable_thinking": False,
            "tools": None,
            "documents": None,
        }
        try:
            return self._compiled.render(**variables, **self._special)
        except (TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise TurnsRefused(f"the model's chat template refuses it: {error}") from error
