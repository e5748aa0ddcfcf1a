"""One labelled decision: a value."""

from __future__ import annotations

from dataclasses import dataclass

from client.decisions import Choice, Decision, JsonValue, Noul, Question


@dataclass(frozen=True, kw_only=True)
class Item:
    """expected: one of `option_ids`. family: what kind of decision it is, "" where the file does not say. group: that
    of its paraphrases, which have one right answer. language: as the file writes it.
    """

    id: str
    state: JsonValue
    question: Question | Decision
    expected: str
    family: str = ""
    group: str | None = None
    language: str | None = None

    @property
    def question_type(self) -> str:
        match self.question:
            case Decision() | Choice():
                return "choice"
            case Noul():
                return "noul"
        return "score"

    @property
    def option_ids(self) -> tuple[str, ...]:
        """In the order asked, as an answer's `option_ids` has them."""
        match self.question:
            case Decision():
                return tuple(option.id for option in self.question.options)
            case Choice():
                return tuple(self.question.options)
            case Noul():
                return ("yes", "no")
        return tuple(str(level) for level in range(len(self.question.levels)))
