"""Who reads an error, where no body has told it: the route says so, or the headers of the `openai` package do.

That package shows no more than a status where `error` is no object. System One's package reads either shape.
"""

from __future__ import annotations

from collections.abc import Iterable

from decision_server.wire.dialects import ROUTES, Dialect

_OF_THE_PACKAGE = "x-stainless-"  # so begin headers that it sends with every request
_HAVE_A_SHAPE = frozenset({Dialect.SYSTEM_ONE, Dialect.OPENAI_DECISIONS, Dialect.CHAT})


def error_dialect(spoken: Dialect | None, route: str, headers: Iterable[str]) -> Dialect | None:
    """The dialect in whose shape to tell an error. spoken: as far as it is known. headers: their names."""
    if spoken in _HAVE_A_SHAPE:
        return spoken
    if any(name.lower().startswith(_OF_THE_PACKAGE) for name in headers):
        return Dialect.OPENAI_DECISIONS
    if spoken is None and route.startswith("/v1/") and route not in ROUTES:
        return Dialect.OPENAI_DECISIONS  # the list of models, and what else that package may ask for
    return spoken
