"""Says what goes on inside the emulator while a deployment waits: phases of builds with their last line, states of
endpoints.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from local import aws
from local.console import Say

POLL_SECONDS = 0.5
QUIET_SECONDS = 20.0


@contextmanager
def watching(url: str, say: Say) -> Iterator[None]:
    """Watches on a thread of its own for as long as the block runs."""
    stop = threading.Event()
    watcher = Watcher(url, say)

    def loop() -> None:
        while not stop.wait(POLL_SECONDS):
            # The emulator may go away under us at the end: then there is nothing left to watch.
            try:
                watcher.look()
            except (BotoCoreError, ClientError):
                return

    thread = threading.Thread(target=loop, daemon=True, name="watcher")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(5)


class Watcher:
    """What was there when it was made counts as known and is not reported."""

    def __init__(self, url: str, say: Say) -> None:
        self._say = say
        self._builds, self._logs, self._sagemaker = (
            aws.client(name, url) for name in ("codebuild", "logs", "sagemaker")
        )
        self._seen: dict[str, str] = dict.fromkeys(self._builds.list_builds()["ids"], "COMPLETED")
        self._endpoints = {each["EndpointName"]: each["EndpointStatus"] for each in self._list_endpoints()}
        self._last_word = time.monotonic()

    def look(self) -> None:
        ids = [i for i in self._builds.list_builds()["ids"] if self._seen.get(i) != "COMPLETED"]
        for build in self._builds.batch_get_builds(ids=ids)["builds"] if ids else []:
            self._report_build(build)
        for endpoint in self._list_endpoints():
            name, status = endpoint["EndpointName"], endpoint["EndpointStatus"]
            if self._endpoints.get(name) != status:
                self._endpoints[name] = status
                self._tell(f"endpoint {name}: {status}")

    def _list_endpoints(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._sagemaker.list_endpoints()["Endpoints"]
        return found

    def _report_build(self, build: dict[str, Any]) -> None:
        name, phase = short_name(build["projectName"]), build["currentPhase"]
        if self._seen.get(build["id"]) != phase:
            self._seen[build["id"]] = phase
            took = (
                f", {build['endTime'].timestamp() - build['startTime'].timestamp():.1f} s" if "endTime" in build else ""
            )
            self._tell(f"{name}: {build['buildStatus'] + took if phase == 'COMPLETED' else phase}")
        elif time.monotonic() - self._last_word > QUIET_SECONDS:
            line = next(iter(last_lines(self._logs, build, 1)), "")
            self._tell(f"{name}: {phase}, still working: {line[:100]}")

    def _tell(self, text: str) -> None:
        self._last_word = time.monotonic()
        self._say(text)


def short_name(project: str) -> str:
    """`decision-local-builds-ImageBuildProject1EE40F3B-6C3B72C69C97D` → `ImageBuild`; other names stay as they are."""
    found = re.search(r"-([A-Za-z]+?)(?:Project)?[0-9A-F]{8}-[0-9A-F]+$", project)
    return found[1] if found else project


def last_lines(logs: Any, build: dict[str, Any], count: int) -> list[str]:
    """The end of a build's log; empty before its first line."""
    place = build["logs"]
    try:
        events = logs.get_log_events(
            logGroupName=place["groupName"], logStreamName=place["streamName"], limit=count, startFromHead=False
        )["events"]
    except logs.exceptions.ResourceNotFoundException:
        return []
    return [event["message"] for event in events]
