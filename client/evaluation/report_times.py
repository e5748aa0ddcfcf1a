"""The report's section on time, tokens and money."""

from __future__ import annotations

from client.evaluation.findings import Findings
from client.evaluation.words import NONE, seconds
from client.pages.blocks import Section, Table, Text


def times(found: Findings) -> Section:
    timing = found.summary.timing
    price = timing.hourly_price
    rows = (
        ("first request", ", ".join(seconds(each) for each in timing.first) or NONE),
        ("p50, p95, maximum of the others", ", ".join(map(seconds, (timing.p50, timing.p95, timing.maximum)))),
        ("asked at once", at_once(found)),
        ("busy for", f"{timing.busy_seconds:.1f} s in {_sessions(timing.sessions)}"),
        ("input tokens", _tokens(timing.input_tokens)),
        ("of them cached, evaluated", f"{_tokens(timing.cached_tokens)}, {_tokens(timing.evaluated_tokens)}"),
        ("cost of 1,000 decisions", NONE if timing.cost_per_1000 is None else f"{timing.cost_per_1000:.4f}"),
    )
    formula = (
        "No cost: no --hourly-price was given."
        if price is None
        else f"Cost: {price:g} an hour / 3600 · {timing.busy_seconds:.1f} s / {timing.decisions} decisions · 1,000, in "
        f"the price's currency, with {at_once(found)} asked at once, as if the instance did nothing else "
        "and never waited."
    )
    seen = (
        "Seconds from the asking to the answer, tries after a 503 included. Askings with reversed options are not "
        "counted here: they find the first ones' work in the cache. Tokens are – where answers do not tell them."
    )
    table = Table(headers=("", ""), rows=rows)
    return Section(heading="Time and cost", blocks=(table, Text(text=formula), Text(text=seen)))


def at_once(found: Findings) -> str:
    """A change is told: times under one concurrency and another are not the same."""
    return ", then ".join(map(str, found.summary.timing.concurrencies)) or str(found.settings.concurrency)


def _sessions(count: int) -> str:
    return "one session" if count == 1 else f"{count} sessions"


def _tokens(count: int | None) -> str:
    return NONE if count is None else f"{count:,}"
