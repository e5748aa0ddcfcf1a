"""Numbers as people read them in a comparison: what stands in each column, on a terminal or a page. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from client.aligned import aligned
from client.comparison.standings import Standing
from client.comparison.versus import Versus
from client.evaluation import words
from client.evaluation.intervals import Share
from client.evaluation.words import number, percent

NOTHING = words.NONE


@dataclass(frozen=True, kw_only=True)
class Column:
    """title: says what the number means, for those who point at the heading."""

    heading: str
    title: str
    cell: Callable[[Standing], str]


def with_interval(share: Share) -> str:
    if share.value is None or share.low is None or share.high is None:
        return NOTHING
    return f"{percent(share.value)} ({100 * share.low:.1f}–{100 * share.high:.1f})"


def points(against: Versus | None) -> str:
    """Percentage points, with the interval; the baseline has none."""
    if against is None:
        return "baseline"
    low, high = against.difference.low, against.difference.high
    return f"{100 * against.difference.value:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"


def milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return NOTHING
    return f"{1000 * seconds:.0f} ms" if seconds >= 0.01 else f"{1000 * seconds:.1f} ms"


def megabytes(count: int | None) -> str:
    """Of a million bytes."""
    return NOTHING if count is None else f"{count / 1e6:,.0f} MB"


def rate(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _mass(standing: Standing) -> str:
    mass = standing.summary.label_mass
    return NOTHING if mass is None else f"{mass.median:.3g}"


_NAME = Column(heading="contestant", title="", cell=lambda s: s.name)
QUALITY: Sequence[Column] = (
    _NAME,
    Column(
        heading="accuracy",
        title="right answers of all decisions asked, with the 95 % Wilson interval",
        cell=lambda s: with_interval(s.summary.whole.accuracy),
    ),
    Column(
        heading="against baseline",
        title="difference of accuracy in percentage points, with the paired 95 % bootstrap interval",
        cell=lambda s: points(s.against),
    ),
    Column(
        heading="valid",
        title="share that was answered with a distribution over the options",
        cell=lambda s: percent(s.summary.whole.validity.value),
    ),
    Column(heading="Brier", title="0 is best, 2 is worst", cell=lambda s: number(s.summary.whole.brier)),
    Column(
        heading="NLL",
        title="mean −ln of the right option's probability, in nats",
        cell=lambda s: number(s.summary.whole.negative_log_likelihood),
    ),
    Column(
        heading="ECE",
        title="expected calibration error, 10 equal bins",
        cell=lambda s: number(s.summary.whole.calibration_error),
    ),
    Column(heading="mass", title="median share of the model's probability on the options", cell=_mass),
)
PRICE: Sequence[Column] = (
    _NAME,
    Column(
        heading="p50", title="median latency, first request apart", cell=lambda s: milliseconds(s.summary.timing.p50)
    ),
    Column(
        heading="p95", title="of the latency, first request apart", cell=lambda s: milliseconds(s.summary.timing.p95)
    ),
    Column(
        heading="tokens/s",
        title="input tokens a second, those from the cache too",
        cell=lambda s: rate(s.tokens_per_second),
    ),
    Column(
        heading="decisions/s",
        title="in the seconds in which one was asked",
        cell=lambda s: rate(s.decisions_per_second),
    ),
    Column(
        heading="memory",
        title="peak resident memory of a local server's processes, mapped weights included; of one that answered less "
        "than half of the decisions, nothing is said",
        cell=lambda s: megabytes(s.facts.peak_bytes),
    ),
    Column(heading="size", title="of the weights' file", cell=lambda s: megabytes(s.facts.gguf_bytes)),
    Column(
        heading="cost/1000",
        title="of 1,000 decisions at the hourly price and this concurrency",
        cell=lambda s: number(s.summary.timing.cost_per_1000, 4),
    ),
)


def shown(columns: Sequence[Column], rows: Sequence[Standing]) -> tuple[Column, ...]:
    """Those that say something of at least one contestant."""
    return tuple(column for column in columns if any(column.cell(row) != NOTHING for row in rows))


def text_tables(rows: Sequence[Standing]) -> str:
    """How good they are, and below it what they take."""
    return "\n\n".join(_text_table(shown(columns, rows), rows) for columns in (QUALITY, PRICE))


def _text_table(columns: Sequence[Column], rows: Sequence[Standing]) -> str:
    return aligned(
        [[column.heading for column in columns], *([column.cell(row) for column in columns] for row in rows)]
    )
