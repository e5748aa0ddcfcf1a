"""Which readouts and prompt versions there are, and which of them go together. Pure: names and rules alone.

A prompt version is the exact text that the model reads; a readout is how an answer is made of what the model computed.
"""

from __future__ import annotations

from dataclasses import dataclass

from decision_server.model_errors import StartupFailure, UnknownChoice

LETTERS = "letters"
LIKELIHOOD = "likelihood"
ROTATED = "letters-rotated"
READOUTS = (LETTERS, LIKELIHOOD, ROTATED)

DIRECT_OPTIONS = "direct-options-v1"
DIRECT_OPTIONS_WIDE = "direct-options-v1-wide"
CRITERION_FIRST = "criterion-first-v1"
CRITERION_FIRST_WIDE = "criterion-first-v1-wide"
LIKELIHOOD_PROMPT = "likelihood-v1"

LISTING_VERSIONS = (DIRECT_OPTIONS, DIRECT_OPTIONS_WIDE, CRITERION_FIRST, CRITERION_FIRST_WIDE)
PROMPT_VERSIONS = (*LISTING_VERSIONS, LIKELIHOOD_PROMPT)

LETTER_OPTIONS = 16  # past it the labels go on, and the version says so (contract 3.7)
_WIDE = {DIRECT_OPTIONS: DIRECT_OPTIONS_WIDE, CRITERION_FIRST: CRITERION_FIRST_WIDE}
_OF_READOUT = {LETTERS: LISTING_VERSIONS, ROTATED: LISTING_VERSIONS, LIKELIHOOD: (LIKELIHOOD_PROMPT,)}


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A readout and a prompt version that goes with it."""

    readout: str
    prompt_version: str

    def for_options(self, count: int) -> Choice:
        """What is really used for so many options: the wide form of the version past LETTER_OPTIONS."""
        if count > LETTER_OPTIONS and self.prompt_version in _WIDE:
            return Choice(readout=self.readout, prompt_version=_WIDE[self.prompt_version])
        return self

    def for_type(self, question_type: str) -> Choice:
        """What is really used for a question of this type: the levels of a score have an order and keep it."""
        if question_type == "score" and self.readout == ROTATED:
            return Choice(readout=LETTERS, prompt_version=self.prompt_version)
        return self


def standard_version(readout: str) -> str:
    """The version that a readout has where nobody names one."""
    return _OF_READOUT[readout][0]


def checked(readout: str, prompt_version: str) -> Choice:
    """What a server is told to use by default. Raises StartupFailure."""
    try:
        _check(readout, prompt_version)
    except UnknownChoice as error:
        raise StartupFailure(str(error)) from error
    return Choice(readout=readout, prompt_version=prompt_version)


def at_start(proposed: Choice, *, readout: str | None, prompt_version: str | None) -> Choice:
    """What the server uses by default: settings (None where left open) win over what the model's manifest proposes.

    Where a setting changes the readout alone, the manifest's version stays if it goes with that. Raises StartupFailure.
    """
    checked(proposed.readout, proposed.prompt_version)
    try:
        return _chosen(proposed, readout=readout, prompt_version=prompt_version)
    except UnknownChoice as error:
        raise StartupFailure(str(error)) from error


def for_decision(defaults: Choice, *, readout: str | None, prompt_version: str | None) -> Choice:
    """What a decision asks for, the rest from the server's defaults. Raises UnknownChoice, which names the field."""
    return _chosen(defaults, readout=readout, prompt_version=prompt_version)


def _chosen(defaults: Choice, *, readout: str | None, prompt_version: str | None) -> Choice:
    chosen = defaults.readout if readout is None else readout
    _known("readout", chosen, READOUTS)
    if prompt_version is None:
        fits = defaults.prompt_version in _OF_READOUT[chosen]
        return Choice(readout=chosen, prompt_version=defaults.prompt_version if fits else standard_version(chosen))
    _check(chosen, prompt_version)
    return Choice(readout=chosen, prompt_version=prompt_version)


def _check(readout: str, prompt_version: str) -> None:
    _known("readout", readout, READOUTS)
    _known("prompt_version", prompt_version, PROMPT_VERSIONS)
    if prompt_version not in _OF_READOUT[readout]:
        raise UnknownChoice(
            field="prompt_version",
            value=prompt_version,
            known=_OF_READOUT[readout],
            context=f" with the readout {readout!r}",
        )


def _known(field: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise UnknownChoice(field=field, value=value, known=known)
