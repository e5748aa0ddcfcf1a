"""A command of `python -m client` that serves, as a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.serving.server import ROOT


def environment(folder: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """Nothing of the developer's AWS settings."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    files = {"AWS_CONFIG_FILE": str(folder / "config"), "AWS_SHARED_CREDENTIALS_FILE": str(folder / "credentials")}
    return clean | {**files, "AWS_EC2_METADATA_DISABLED": "true", **settings}


def command(name: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "client", name, *arguments]


@dataclass(frozen=True, kw_only=True)
class Running:
    """url: as its ready line has it. stop_seconds: it may take to end once it is told to."""

    url: str
    process: subprocess.Popen[str]
    folder: Path
    stop_seconds: float

    @property
    def told(self) -> str:
        return (self.folder / "stderr").read_text()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(self.stop_seconds)


@contextmanager
def running(
    folder: Path, name: str, *arguments: str, settings: Mapping[str, str], stop_seconds: float
) -> Iterator[Running]:
    """name: of the command; a free port is given. Stopped at the end, unless it has ended."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "stderr").open("w") as told:
        process = subprocess.Popen(
            command(name, "--port", "0", *arguments),
            env=environment(folder, settings),
            stdout=subprocess.PIPE,
            stderr=told,
            text=True,
            cwd=ROOT,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, (folder / "stderr").read_text()
        yield Running(url=json.loads(line)["url"], process=process, folder=folder, stop_seconds=stop_seconds)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(stop_seconds)
        if process.stdout is not None:
            process.stdout.close()
