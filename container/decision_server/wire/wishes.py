"""What a request of another API may ask beyond that API: fields that begin with `x_` (contract 4.1, 5).

At its top, for all its questions, `x_readout` and `x_prompt_version`; in a question `x_abstain_below`. They are what
our own dialect has under the same names without `x_`. Null counts as left out, as those APIs' clients send it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from decision_server.decisions import Decision, JsonValue
from decision_server.places import Place
from decision_server.wire.plain_values import as_threshold
from decision_server.wire.shapes import as_text

_READOUT, _PROMPT_VERSION, _ABSTAIN_BELOW = "x_readout", "x_prompt_version", "x_abstain_below"
OF_A_REQUEST = (_READOUT, _PROMPT_VERSION)
OF_A_QUESTION = (_ABSTAIN_BELOW,)


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """Of a whole request. None: left to the server's settings."""

    readout: str | None
    prompt_version: str | None

    def on(self, decision: Decision, question: Mapping[str, JsonValue], place: Place) -> Decision:
        """The decision with these wishes and its own question's, which stands at `place`. Raises Refusal."""
        below = question.get(_ABSTAIN_BELOW)
        return replace(
            decision,
            readout=self.readout,
            prompt_version=self.prompt_version,
            abstain_below=None if below is None else as_threshold(below, (*place, _ABSTAIN_BELOW)),
        )


def wishes(body: Mapping[str, JsonValue]) -> Wishes:
    """Raises Refusal."""
    return Wishes(readout=_text(body, _READOUT), prompt_version=_text(body, _PROMPT_VERSION))


def place_of(field: str) -> Place | None:
    """Where a field of a decision stands in such a request; None where no wish is behind it."""
    name = f"x_{field}"
    return (name,) if name in OF_A_REQUEST else None


def _text(body: Mapping[str, JsonValue], name: str) -> str | None:
    value = body.get(name)
    return None if value is None else as_text(value, (name,))
