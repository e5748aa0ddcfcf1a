"""One comparison from its arguments to its files: all is checked first, then one contestant after another is asked."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from client.comparison import document, page
from client.comparison.cells import text_tables
from client.comparison.contestants import Contestant, Url, contestants, price
from client.comparison.paired import SEED
from client.comparison.running import How, run_contestant, target_of
from client.comparison.standings import Standings, standings
from client.errors import Refused
from client.evaluation.items import read_set
from client.evaluation.whole_file import write_whole
from client.transport.arguments import api_key

FOLDER = Path("comparisons")
Say = Callable[[str], None]


def compare(options: argparse.Namespace, say: Say, *, show_progress: bool) -> Standings:
    """Prints the table. Raises Refused and JobFailed."""
    found = contestants(options.contestants)
    baseline = _baseline(options.baseline, found)
    hourly = None if options.hourly_price is None else price(options.hourly_price, where="--hourly-price")
    data = read_set(options.data)
    out = options.out or FOLDER / data.name
    how = _how(options, found, show_progress=show_progress)
    for each in found:
        target_of(each, how)  # a model that is not there is told now, not after an hour's work
    try:
        runs = [run_contestant(each, data, out / each.name, how, say) for each in found]
    except KeyboardInterrupt:
        say(f"interrupted; what was answered is in {out}. To go on: the same command again")
        raise
    told = standings(
        data.items,
        runs,
        data=data.name,
        data_sha256=data.sha256,
        baseline=baseline,
        concurrency=how.concurrency,
        hourly_price=hourly,
        seed=SEED,
    )
    write(out, told)
    print(text_tables(told.rows))
    say(f"page: {out / page.NAME}")
    return told


def write(out: Path, told: Standings) -> None:
    """Each file whole or not at all. Raises JobFailed."""
    write_whole(out / page.NAME, page.page(told).encode("utf-8"))
    write_whole(out / document.NAME, document.document(told))


def _baseline(name: str | None, found: Sequence[Contestant]) -> str:
    names = [each.name for each in found]
    if name is not None and name not in names:
        raise Refused(f"--baseline {name}: no contestant's name; they are {', '.join(names)}")
    return name or names[0]


def _how(options: argparse.Namespace, found: Sequence[Contestant], *, show_progress: bool) -> How:
    if options.api_key_env is not None and not any(isinstance(each.place, Url) for each in found):
        raise Refused("--api-key-env: goes with a contestant NAME=url:… only")
    return How(
        concurrency=options.concurrency,
        deadline_seconds=options.deadline,
        region=options.region,
        api_key=api_key(options.api_key_env),
        show_progress=show_progress,
    )
