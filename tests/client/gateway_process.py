"""`python -m client gateway` as a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from tests.client import client_process
from tests.client.client_process import Running

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "eu-north-1"}


def command(*arguments: str) -> list[str]:
    return client_process.command("gateway", *arguments)


def gateway(folder: Path, *arguments: str, settings: Mapping[str, str]) -> AbstractContextManager[Running]:
    return client_process.running(folder, "gateway", *arguments, settings=settings, stop_seconds=30)
