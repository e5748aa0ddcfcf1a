"""One small decision that is asked only to learn who answers: which weights, by which readout and prompt version."""

from __future__ import annotations

from typing import Protocol

from client.decisions import Answer, Decision, DecisionError, Option
from client.errors import JobFailed

_OPTIONS = (Option(id="yes", description="Yes."), Option(id="no", description="No."))


class Decides(Protocol):
    def decide(self, decision: Decision) -> Answer: ...


def probe(client: Decides, *, readout: str | None = None, prompt_version: str | None = None) -> Answer:
    """None: as the server answers by default. Raises JobFailed."""
    decision = Decision(
        id="probe",
        state="The lamp is on.",
        question="Is the lamp on?",
        options=_OPTIONS,
        readout=readout,
        prompt_version=prompt_version,
    )
    try:
        return client.decide(decision)
    except DecisionError as error:
        raise JobFailed(f"the model cannot be asked which one it is: {error.code}: {error.message}") from error
