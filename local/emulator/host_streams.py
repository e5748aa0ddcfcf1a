"""An answer in parts → what ministack sends part by part. Knows ministack's insides, like its sisters `host_*`."""
# ministack ships no type information and is absent where mypy runs, hence the ignores on its imports.

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any

from ministack.core import concurrency, responses  # type: ignore[import-not-found,unused-ignore]

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]


def streaming(parts: Generator[bytes, None, None]) -> Any:
    """parts: made on threads, since each may take its time; closed at their end, or when the caller has gone."""

    async def run(send: Send, receive: Receive) -> None:
        gone = asyncio.ensure_future(_gone(receive))
        try:
            while not gone.done():
                part = await concurrency.run_reentrant(next, parts, None, thread_name="emulator-stream")
                if part is None:
                    break
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            gone.cancel()
            await concurrency.run_reentrant(parts.close, thread_name="emulator-stream")

    return responses.StreamingResponse(run)


async def _gone(receive: Receive) -> None:
    while (await receive()).get("type") != "http.disconnect":
        pass
