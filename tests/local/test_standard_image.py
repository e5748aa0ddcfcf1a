"""The stand-in of AWS's llama.cpp image: pulled, pushed and run by digest, with the variables that the image knows."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from local import ports
from local.images import prepare
from local.images.run import RunnableImage
from stacks.container_build import BASE_IMAGES
from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.local.conftest import Emulated, eventually
from tests.local.test_docker_shim import HOST, Docker


@pytest.fixture(scope="module")
def image(emulated: Emulated, tmp_path_factory: pytest.TempPathFactory) -> RunnableImage:
    """Copied as container/image_build.py copies it, then fetched by digest as an endpoint does."""
    docker = Docker(endpoint=emulated.url, workdir=tmp_path_factory.mktemp("build"))
    name = f"standard/{os.getpid()}"
    emulated.client("ecr").create_repository(repositoryName=name)
    target = f"{HOST}/{name}:standard-cpu"
    for command in (
        ("pull", "--platform", "linux/amd64", BASE_IMAGES["cpu"]),
        ("tag", BASE_IMAGES["cpu"], target),
        ("push", target),
    ):
        done = docker(*command)
        assert done.returncode == 0, done.stderr
    platform = docker("image", "inspect", "--format", "{{.Os}}/{{.Architecture}}", target)
    assert platform.stdout == "linux/amd64\n"
    digest = emulated.client("ecr").describe_images(repositoryName=name)["imageDetails"][0]["imageDigest"]
    return prepare(f"{HOST}/{name}@{digest}", endpoint_url=emulated.url, cache_dir=emulated.workspace.cache)


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    write_tiny_llama(folder / "tiny.gguf")
    (folder / "manifest.json").write_text("{}")
    return folder


@contextmanager
def started(image: RunnableImage, folder: Path, **variables: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    port, _ = ports.choose_port(None)
    place = {"DECISION_MODEL_PATH": str(folder), "SAGEMAKER_BIND_TO_PORT": str(port)}
    with subprocess.Popen(
        image.command,
        cwd=image.cwd,
        env={**os.environ, **image.env, **place, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process, port
        finally:
            process.kill()


def asked(port: int, path: str, body: bytes | None = None) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET" if body is None else "POST", path, body=body)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def is_up(port: int) -> bool:
    try:
        return asked(port, "/ping")[0] == 200
    except OSError:
        return False


def test_it_answers_chat_completions_from_the_archives_gguf_with_the_images_variables(
    image: RunnableImage, model_folder: Path
) -> None:
    variables = {"SM_LLAMA_CPP_CTX_SIZE": "256", "SM_LLAMA_CPP_N_GPU_LAYERS": "-1", "SM_LLAMA_CPP_PARALLEL": "2"}
    with started(image, model_folder, **variables) as (process, port):
        eventually(lambda: is_up(port), seconds=60)
        chat = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 4, "temperature": 0}
        status, answer = asked(port, "/invocations", json.dumps(chat).encode())
        assert status == 200
        assert answer["object"] == "chat.completion"
        assert answer["choices"][0]["message"]["role"] == "assistant"
        assert 1 <= answer["usage"]["completion_tokens"] <= 4
        assert answer["model"] == "tiny.gguf"
        for body in (b"{}", b"[]", b"no json"):
            status, answer = asked(port, "/invocations", body)
            assert (status, answer["error"]["type"]) == (400, "invalid_request_error")
        process.terminate()
        assert process.wait(20) == 0


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"SM_LLAMA_CPP_COLOUR": "red"}, "error: invalid argument: --colour"),
        ({"SM_LLAMA_CPP_CTX_SIZE": "many"}, 'error while handling argument "--ctx-size"'),
        ({"SM_LLAMA_CPP_MODEL": "/opt/ml/model/other.gguf"}, "error loading model"),
        ({"SM_LLAMA_CPP_MODEL_DIR": "/opt/ml/model/empty"}, "no *.gguf found under"),
        ({"SM_LLAMA_CPP_HF_REPO": "owner/name"}, "downloads no model"),
    ],
)
def test_what_the_image_could_not_start_with_ends_the_start_with_the_reason(
    variables: dict[str, str], words: str, image: RunnableImage, model_folder: Path
) -> None:
    with started(image, model_folder, **variables) as (process, _):
        assert process.wait(60) == 1
        assert process.stdout is not None
        assert words in process.stdout.read()


def test_any_other_image_is_not_pulled(tmp_path: Path) -> None:
    docker = Docker(endpoint="http://127.0.0.1:1", workdir=tmp_path)
    for other in (f"public.ecr.aws/docker/library/debian@sha256:{'1' * 64}", "docker.io/library/debian:12"):
        done = docker("pull", "--platform", "linux/amd64", other)
        assert done.returncode == 1
        assert "nothing is pulled here, and only AWS's llama.cpp image has a stand-in" in done.stderr
