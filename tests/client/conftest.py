"""The client's commands on an AWS in memory, without waiting; a real server, and SageMaker's runtime before it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from client import __main__ as program
from client import aws, waiting
from client.aws import Clients
from tests.client import fake_runtime
from tests.client.client_process import environment
from tests.client.fake_aws import ENDPOINT, FakeS3, FakeSageMaker, fake_clients
from tests.client.fake_runtime import Runtime
from tests.client.gateway_process import CREDENTIALS
from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.serving.server import SERVE, Server

OPTIONS = [{"id": "yes", "description": "It is so."}, {"id": "no", "description": "It is not."}]


def decision(number: int, state: object = "evidence", **changes: Any) -> dict[str, Any]:
    return {"id": f"d{number}", "state": state, "question": "So?", "options": OPTIONS, **changes}


@dataclass(frozen=True, kw_only=True)
class Program:
    """The command line in a folder of its own."""

    folder: Path
    clients: Clients

    @property
    def s3(self) -> FakeS3:
        found: FakeS3 = self.clients.s3
        return found

    @property
    def sagemaker(self) -> FakeSageMaker:
        found: FakeSageMaker = self.clients.sagemaker
        return found

    def run(self, *arguments: str) -> int:
        return program.main(list(arguments))

    def write(self, *lines: object, name: str = "in.jsonl") -> Path:
        """A line is text as it is, or a value as JSON."""
        path = self.folder / name
        path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
        return path

    def bulk(self, path: Path, *more: str) -> int:
        return self.run("bulk", "--endpoint-name", ENDPOINT, "--input", str(path), "--output", str(self.out), *more)

    @property
    def out(self) -> Path:
        return self.folder / "out.jsonl"

    def answers(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.read_text().splitlines()]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    clients = fake_clients()
    monkeypatch.setattr(aws, "clients", lambda region: clients)
    original: Callable[..., Iterator[float]] = waiting.pauses
    monkeypatch.setattr("client.bulk_command.pauses", lambda **asked: original(**asked, sleep=lambda seconds: None))
    return Program(folder=tmp_path, clients=clients)


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llama(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="session")
def tiny_server(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[Server]:
    settings = {"DECISION_MODEL_PATH": str(tiny_model), "DECISION_N_THREADS": "1"}
    with Server(SERVE, tmp_path_factory.mktemp("server"), settings) as running:
        yield running


@pytest.fixture
def tiny_runtime(tiny_server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Runtime]:
    """The SDK finds it by itself, and nothing of the developer's AWS settings."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    with fake_runtime.running(tiny_server.port) as runtime:
        for name, value in environment(
            tmp_path, {**CREDENTIALS, "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME": runtime.url}
        ).items():
            if name.startswith("AWS_"):
                monkeypatch.setenv(name, value)
        yield runtime
