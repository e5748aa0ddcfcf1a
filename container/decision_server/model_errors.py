"""What the model side can refuse or fail at, as types with fields. Knows no HTTP status: `errors.py` maps them."""

from __future__ import annotations

from collections.abc import Sequence


class ModelError(Exception):
    """Root of all errors of the model side; its text is written for the person who reads it."""


class StartupFailure(ModelError):
    """The model, its files, its library or a setting cannot serve: the process must end and say this one line."""


class EngineFailure(ModelError):
    """llama.cpp refused or failed while scoring: the engine's state is unknown, so it must not be used again."""


class EngineClosed(ModelError):
    """The engine was closed while somebody still held it."""


class DecisionRefused(ModelError):
    """One decision cannot be asked of this model; others can. `field` names the decision's own field."""

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field


class TextNotSpelled(DecisionRefused):
    """Characters that no tokens of the vocabulary make up: the model would read another text than was sent."""

    _SHOWN = 3

    def __init__(self, *, characters: Sequence[str], field: str) -> None:
        """characters: each once, at least one."""
        shown = ", ".join(f"U+{ord(one):04X}" for one in characters[: self._SHOWN])
        more = f" and {len(characters) - self._SHOWN} more" if len(characters) > self._SHOWN else ""
        super().__init__(
            f"this model's vocabulary cannot spell {shown}{more}; leave that out, or say it otherwise",
            field=field,
        )
        self.characters = tuple(characters)


class ContextOverflow(DecisionRefused):
    """The prompt has more tokens than the context. Nothing was computed, nothing is ever cut off (contract 8, 413)."""

    def __init__(self, *, input_tokens: int, n_ctx: int, field: str = "state", at_least: bool = False) -> None:
        """field: what takes most of the room. at_least: the tokens were not counted to the end."""
        counted = f"at least {input_tokens}" if at_least else str(input_tokens)
        super().__init__(
            f"the prompt has {counted} tokens; the context holds {n_ctx}; shorten the {field}, or serve with a larger "
            "n_ctx",
            field=field,
        )
        self.input_tokens = input_tokens
        self.n_ctx = n_ctx


class TooManyOptions(DecisionRefused):
    """More options than the model's vocabulary has single-token labels, or than the prompt version may list."""

    def __init__(self, *, given: int, limit: int, reason: str) -> None:
        super().__init__(f"options: {given} given; at most {limit} here: {reason}", field="options")
        self.given = given
        self.limit = limit


class UnknownChoice(DecisionRefused):
    """A prompt version or a readout that this server does not have. context: where it does not have it."""

    def __init__(self, *, field: str, value: str, known: tuple[str, ...], context: str = "") -> None:
        super().__init__(f"{field}: {value!r} is not known{context}; known here: {', '.join(known)}", field=field)
        self.value = value
        self.known = known


class ControlTokenInText(DecisionRefused):
    """The tokenizer makes a control token out of the request's own text in spite of all separation (contract 8)."""

    def __init__(self, *, token: str, field: str = "state") -> None:
        super().__init__(
            f"the text holds the control token {token!r}, which this model's tokenizer cannot read "
            "as plain text; write it differently",
            field=field,
        )
        self.token = token
