"""Shows people on standard error that long work goes on: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SECONDS_BETWEEN_LINES = 3.0


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextmanager
def progress(label: str, total: int, *, done: int = 0, unit: str = "B") -> Iterator[Callable[[int], None]]:
    """Yields a function to call with each further amount. total and done in `unit`: "B" or a counted thing."""
    if sys.stderr.isatty():
        from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore] # the package itself publishes no types

        with tqdm(
            total=total, initial=done, desc=label, unit=unit, unit_scale=unit == "B", unit_divisor=1024,
            file=sys.stderr, leave=False,
        ) as bar:  # fmt: skip

            def advance(amount: int) -> None:
                bar.update(amount)

            yield advance
        return
    lines = _Lines(label, total, done, unit)
    yield lines.advance
    lines.finish()


class _Lines:
    def __init__(self, label: str, total: int, done: int, unit: str) -> None:
        self._label, self._total, self._done, self._unit = label, total, done, unit
        self._started = self._shown = time.monotonic()

    def advance(self, amount: int) -> None:
        self._done += amount
        if time.monotonic() - self._shown >= _SECONDS_BETWEEN_LINES:
            self.show()

    def show(self) -> None:
        self._shown = time.monotonic()
        say(f"{self._label}: {self._amount(self._done)} of {self._amount(self._total)}")

    def finish(self) -> None:
        say(f"{self._label}: {self._amount(self._done)} in {time.monotonic() - self._started:.1f} s")

    def _amount(self, count: int) -> str:
        return f"{count / (1 << 20):.1f} MiB" if self._unit == "B" else f"{count} {self._unit}"
