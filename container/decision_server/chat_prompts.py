"""Messages → token ids of a prompt that opens the model's answer. No text of a message becomes a control token (F20).

The template's own text is tokenised with its control tokens; what lies between two of these and holds a message is
plain text, in one piece, so that merges across the seams happen as they would in the whole (as in `tokens.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from decision_server.chat_template import ChatTemplate, TurnsRefused
from decision_server.chats import Message
from decision_server.model_errors import StartupFailure
from decision_server.request_text import RequestText

if TYPE_CHECKING:
    from decision_server.engine import Vocabulary

_PROBE = "A b, 12.5%.\n\nÄé"


class ChatPrompts:
    """Any thread may use it."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Raises StartupFailure where not even one question of a user can be asked."""
        self._text = RequestText(vocabulary)
        self._template = ChatTemplate(
            vocabulary.chat_template, bos_token=vocabulary.bos_text, eos_token=vocabulary.eos_text
        )
        try:
            texts = self._template.around(("user",))
        except TurnsRefused as error:
            raise StartupFailure(f"chat completions: {error}; set DECISION_CHAT_N_CTX to 0") from error
        whole = self._text.with_bos(self._text.template_tokens(_PROBE.join(texts)))
        if self._tokens(texts, (_PROBE,)) != whole:
            raise StartupFailure(
                "chat completions: the chat template's control tokens change the text beside them, so a prompt cannot "
                "be tokenised in parts; set DECISION_CHAT_N_CTX to 0"
            )

    def least_tokens(self, messages: Sequence[Message]) -> int:
        """No prompt of these has fewer tokens: known at once, where counting those of a megabyte takes seconds."""
        return sum(self._text.least_tokens(message.content) for message in messages)

    def tokens(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Raises TurnsRefused, DecisionRefused, ControlTokenInText."""
        texts = self._template.around(tuple(message.role for message in messages))
        return self._tokens(texts, [message.content for message in messages])

    def _tokens(self, texts: Sequence[str], contents: Sequence[str]) -> tuple[int, ...]:
        """texts: of the template, one more than contents; the first and the last hold a control token each."""
        first = self._cut(texts[0])
        tokens = [*self._text.with_bos(self._text.template_tokens(first[0] + first[1]))]
        plain = first[2]
        for content, text in zip(contents[:-1], texts[1:-1], strict=True):
            left, middle, right = self._cut(text)
            plain += content + left
            if middle:
                tokens += [*self._plain(plain), *self._text.template_tokens(middle)]
                plain = ""
            plain += right
        left, middle, right = self._cut(texts[-1])
        tokens += [*self._plain(plain + contents[-1] + left), *self._text.template_tokens(middle + right)]
        return tuple(tokens)

    def _cut(self, text: str) -> tuple[str, str, str]:
        """What stands before the first control token, from it to the last, behind that. Without one: all, "", ""."""
        found = list(self._text.special.finditer(text))
        if not found:
            return text, "", ""
        start, end = found[0].start(), found[-1].end()
        return text[:start], text[start:end], text[end:]

    def _plain(self, text: str) -> tuple[int, ...]:
        tokens = self._text.tokens(text)
        self._text.ends(tokens, text, field="messages")
        return tokens
