"""A line on what was not answered, for a terminal, and whether asking again may help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from client.evaluation.asked import Unanswered
from client.evaluation.outcomes import Outcome


def tell(
    found: Sequence[Unanswered], outcomes: Sequence[Outcome], say: Callable[[str], None], *, whose: str = ""
) -> None:
    """Nothing where all was answered. whose: stands before it."""
    if found:
        kinds = ", ".join(f"{code} ({count})" for code, count in Counter(each.code for each in found).most_common())
        say(f"{whose}{len(found)} not answered: {kinds}")
    if again := sum(each.passing for each in outcomes):
        say(
            f"{whose}{again} may be answered later, and {'is' if again == 1 else 'are'} asked by the same command again"
        )
