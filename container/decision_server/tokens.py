"""Prompt text → token ids, through the model's own template. Text of a request never becomes a control token.

How: the prompt is cut at the control tokens of the template's own text, which llama.cpp does as well before it applies
its merges. What stands around the user turn is tokenised once, with control tokens recognised. The stretch that holds
the user turn, from the last control token before it to the first after it, is tokenised as plain text in one piece, so
that merges across its seams happen as they would in the whole. On a text without markers the result is that of
tokenising the whole; the constructor proves it on probes. `prompt_sha256` is of the whole text, whatever the tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from decision_server.model_errors import StartupFailure
from decision_server.prompt import Prompt
from decision_server.request_text import RequestText
from decision_server.template import Frame, frame

if TYPE_CHECKING:
    from decision_server.engine import Vocabulary

_PROBES = ('{"evidence": "A b, 12.5%.\\n\\nÄé", "options": [{"letter": "A"}]}', '{"evidence": {"a":  [1, null]}}')


@dataclass(frozen=True, kw_only=True)
class EncodedPrompt:
    """text: the whole prompt. tokens: its ids. shared_lengths: ascending prefix lengths in tokens, each in
    [1, len(tokens)), below which no token depends on what comes after the prompt's branches."""

    text: str
    tokens: tuple[int, ...]
    shared_lengths: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class _TokenFrame:
    """A frame, its outer parts as tokens. `left` and `right` are the plain text that touches the user turn; `answer` is
    the plain text after the last control token, where the answer begins."""

    text: Frame
    head: tuple[int, ...]
    left: str
    right: str
    tail: tuple[int, ...]
    answer: str


class PromptTokenizer:
    """Safe to use from many threads at once."""

    def __init__(self, vocabulary: Vocabulary, systems: tuple[str | None, ...]) -> None:
        """systems: every system turn that will be asked for. Raises StartupFailure if one cannot be framed exactly."""
        self._vocabulary = vocabulary
        self._text = RequestText(vocabulary)
        self._frames = {system: self._token_frame(system) for system in systems}
        self._openings = {system: self._text.tokens(parts.answer) for system, parts in self._frames.items()}
        for system in systems:
            self._prove(system)

    def least_tokens(self, text: str) -> int:
        """No text has fewer tokens than this; known without looking at more than its length."""
        return self._text.least_tokens(text)

    def check(self, text: str, *, field: str) -> None:
        """Raises ControlTokenInText, DecisionRefused where this text cannot be read as it stands."""
        self._text.check(text, field=field)

    def encode(self, prompt: Prompt) -> EncodedPrompt:
        """Raises ControlTokenInText, DecisionRefused."""
        parts = self._frames[prompt.system]
        plain = parts.left + prompt.user + parts.right
        middle = self._text.tokens(plain)
        ends = self._text.ends(middle, plain)
        shared = []
        for branch in prompt.branches:
            limit = len((parts.left + prompt.user[:branch]).encode())
            shared.append(len(parts.head) + sum(end <= limit for end in ends))
        tokens = parts.head + middle + parts.tail
        return EncodedPrompt(
            text=parts.text.around(prompt.user),
            tokens=tokens,
            shared_lengths=tuple(sorted({length for length in shared if 0 < length < len(tokens)})),
        )

    def answer_tokens(self, system: str | None, answer: str) -> tuple[int, ...]:
        """The ids that follow a prompt of this system turn when the model begins to say `answer`; () if the answer
        would change the prompt's own last tokens."""
        start = self._frames[system].answer
        before = self._vocabulary.tokenize(start, parse_special=False)
        after = self._vocabulary.tokenize(start + answer, parse_special=False)
        return after[len(before) :] if after[: len(before)] == before else ()

    def continuation(self, system: str | None, text: str) -> tuple[int, ...]:
        """The ids of a request's text, not empty, as the answer to a prompt of this system turn; no control tokens.

        They follow the prompt's own last tokens; a text that would merge with those (one that begins with a line break,
        mostly) stands on its own. Raises ControlTokenInText, DecisionRefused.
        """
        before, whole = self._openings[system], self._text.tokens(self._frames[system].answer + text, field="options")
        tokens = whole[len(before) :] if whole[: len(before)] == before else self._text.tokens(text, field="options")
        self._text.ends(tokens, text, field="options")
        return tokens

    def _token_frame(self, system: str | None) -> _TokenFrame:
        vocabulary = self._vocabulary
        text = frame(
            vocabulary.chat_template, system=system, bos_token=vocabulary.bos_text, eos_token=vocabulary.eos_text
        )
        before = list(self._text.special.finditer(text.before))
        after = list(self._text.special.finditer(text.after))
        if not before or not after:
            raise StartupFailure("the chat template has no control token on each side of the user turn; 1 is needed")
        cut, resume = before[-1].end(), after[0].start()
        return _TokenFrame(
            text=text,
            head=self._text.with_bos(self._text.template_tokens(text.before[:cut])),
            left=text.before[cut:],
            right=text.after[:resume],
            tail=self._text.template_tokens(text.after[resume:]),
            answer=text.after[after[-1].end() :],
        )

    def _prove(self, system: str | None) -> None:
        parts = self._frames[system]
        for probe in _PROBES:
            whole = self._text.with_bos(self._text.template_tokens(parts.text.around(probe)))
            if whole != parts.head + self._text.tokens(parts.left + probe + parts.right) + parts.tail:
                raise StartupFailure(
                    "the chat template's control tokens change the text beside them (lstrip or rstrip in the "
                    "vocabulary), so a prompt cannot be tokenised in parts; use another GGUF of this model"
                )
