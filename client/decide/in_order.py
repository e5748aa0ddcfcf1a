"""Several at once, their outcomes in the order given. Whoever stops early waits for nobody: the threads are daemons."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from typing import TypeVar

_In = TypeVar("_In")
_Out = TypeVar("_Out")


def mapped(function: Callable[[_In], _Out], items: Sequence[_In], *, at_once: int) -> Generator[_Out, None, None]:
    """What `function` raises is raised in its turn. When the iterator is closed no further item is begun."""
    waiting: queue.SimpleQueue[tuple[_In, Future[_Out]]] = queue.SimpleQueue()
    futures: list[Future[_Out]] = []
    for item in items:
        futures.append(Future())
        waiting.put((item, futures[-1]))
    for _ in range(min(at_once, len(items))):
        threading.Thread(target=_work, args=(function, waiting), daemon=True).start()
    try:
        for future in futures:
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


def _work(function: Callable[[_In], _Out], waiting: queue.SimpleQueue[tuple[_In, Future[_Out]]]) -> None:
    while True:
        try:
            item, future = waiting.get_nowait()
        except queue.Empty:
            return
        if not future.set_running_or_notify_cancel():
            continue
        try:
            future.set_result(function(item))
        except BaseException as error:  # noqa: BLE001 - it is the caller's, and raised there
            future.set_exception(error)
