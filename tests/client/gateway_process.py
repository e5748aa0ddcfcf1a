"""`python -m client gateway` as a process of its own."""

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
from typing import Any

from tests.serving.server import ROOT

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "eu-north-1"}


def environment(folder: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """Nothing of the developer's AWS settings."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    files = {"AWS_CONFIG_FILE": str(folder / "config"), "AWS_SHARED_CREDENTIALS_FILE": str(folder / "credentials")}
    return clean | {**files, "AWS_EC2_METADATA_DISABLED": "true", **settings}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "client", "gateway", *arguments]


@dataclass(frozen=True, kw_only=True)
class Running:
    url: str
    process: subprocess.Popen[str]
    folder: Path

    @property
    def told(self) -> str:
        return (self.folder / "stderr").read_text()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


@contextmanager
def gateway(folder: Path, *arguments: str, settings: Mapping[str, str]) -> Iterator[Running]:
    with (folder / "stderr").open("w") as told:
        process = subprocess.Popen(
            command("--port", "0", *arguments),
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
        ready: dict[str, Any] = json.loads(line)
        yield Running(url=ready["url"], process=process, folder=folder)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
        if process.stdout is not None:
            process.stdout.close()
