"""The server's preparation, which besides tells the texts that it encoded: they are not kept where answers are made.

Imports the server's code: to be imported once `vocabulary` has put that on the path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from client.errors import Refused
from decision_server.choices import DIRECT_OPTIONS, LETTERS, LIKELIHOOD, LIKELIHOOD_PROMPT
from decision_server.decisions import Decision
from decision_server.model_errors import StartupFailure
from decision_server.preparation import Prepared, Preparer
from decision_server.prompt import Prompt
from decision_server.tokens import EncodedPrompt

if TYPE_CHECKING:
    from decision_server.engine import Vocabulary


class RecordingPreparer(Preparer):
    """For one thread at a time."""

    def prepare_with_prompts(self, decision: Decision) -> tuple[Prepared, tuple[EncodedPrompt, ...]]:
        """Raises what `prepare` does. The prompts stand in the order in which they were encoded."""
        self._encoded: list[EncodedPrompt] = []
        prepared = self.prepare(decision)
        return prepared, tuple(self._encoded)

    def _encode(self, rendered: Prompt, decision: Decision, *, longest: int = 0) -> EncodedPrompt:
        encoded = super()._encode(rendered, decision, longest=longest)
        self._encoded.append(encoded)
        return encoded


def recording_preparer(vocabulary: Vocabulary, *, n_ctx: int) -> RecordingPreparer:
    """Its defaults are of no account: the page asks with the readout and version that the answer says. Raises Refused.

    A model without single-token letters can still answer by likelihood, as on the server.
    """
    try:
        return RecordingPreparer(vocabulary, n_ctx=n_ctx, readout=LETTERS, prompt_version=DIRECT_OPTIONS)
    except StartupFailure:
        try:
            return RecordingPreparer(vocabulary, n_ctx=n_ctx, readout=LIKELIHOOD, prompt_version=LIKELIHOOD_PROMPT)
        except StartupFailure as error:
            raise Refused(f"no prompts can be made with this model: {error}") from error
