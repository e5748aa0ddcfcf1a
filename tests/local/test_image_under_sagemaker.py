"""The unmodified Dockerfile, built by buildah, pushed, pulled by digest, and run as SageMaker runs it. Needs root and
buildah; see `.ci/run` for what it installs.

`serve` as the argument, the model read-only in /opt/ml/model, port 8080, no network but the loopback, SIGTERM and 30
seconds. A Debian with the same libraries in the same place stands in for the base image.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import self_check
import tiny_model

from local.images import modes, prepare
from local.images.run import RunnableImage
from local.workspace import CHECKOUT
from tests.local.conftest import Emulated

OBSTACLE = modes.obstacle_to_buildah()
pytestmark = pytest.mark.skipif(
    OBSTACLE is not None,
    reason=f"THE DOCKERFILE IS NOT BUILT HERE: {OBSTACLE}. "
    "Remedy: as root on Debian, apt-get install buildah debootstrap",
)
BASE = "public.ecr.aws/deep-learning-containers/llama-cpp@sha256:" + "1" * 64
SHIM = CHECKOUT / "local" / "bin" / "docker"
STOP_SECONDS = 30  # SageMaker's, between SIGTERM and SIGKILL
LOOPBACK_ALONE = 'ip link set lo up && exec "$@"'
ASK = """
import json, sys, urllib.error, urllib.request
method, path, body = sys.argv[1:]
request = urllib.request.Request("http://127.0.0.1:8080" + path, body.encode() or None, method=method)
request.add_header("Content-Type", "application/json")
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
try:
    with opener.open(request, timeout=60) as answer:
        print(json.dumps([answer.status, answer.read().decode()]))
except urllib.error.HTTPError as error:
    print(json.dumps([error.code, error.read().decode()]))
except OSError as error:
    print(json.dumps([0, str(error)]))
"""


@dataclass(frozen=True, kw_only=True)
class Docker:
    """The stand-in's command line, in buildah's mode, where a copy of container/ lies."""

    folder: Path
    endpoint: str

    def __call__(self, *arguments: str) -> str:
        environment = {**os.environ, "LOCAL_IMAGE_MODE": "buildah", "AWS_ENDPOINT_URL": self.endpoint}
        done = subprocess.run(
            [str(SHIM), *arguments], cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def build(self, reference: str, *options: str) -> str:
        return self(
            "build", "--provenance=false", "--sbom=false", *options, "--platform", "linux/amd64", "--target", "cpu",
            "--build-arg", f"BASE_IMAGE={BASE}", "--build-arg", "SOURCE_DATE_EPOCH=315532800",
            "-t", reference, "-f", "container/Dockerfile", "container",
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Built:
    docker: Docker
    name: str
    log: str
    digest: str
    image: RunnableImage


def copy_source(folder: Path, *, umask: int) -> None:
    """As a checkout with this umask has it, but for the executable bits, which an archive may have lost."""
    before = os.umask(umask)
    try:
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(CHECKOUT / "container", folder / "container", ignore=ignore, copy_function=shutil.copyfile)
    finally:
        os.umask(before)
    # copytree gives a folder the modes of the one that it copies.
    for path in (folder / "container").rglob("*"):
        if path.is_dir():
            path.chmod(0o777 & ~umask)


@pytest.fixture(scope="module")
def built(emulated: Emulated, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    folder = tmp_path_factory.mktemp("source")
    copy_source(folder, umask=0o077)
    repository = emulated.client("ecr").create_repository(repositoryName=f"contract-{os.getpid()}")
    uri = repository["repository"]["repositoryUri"]
    docker = Docker(folder=folder, endpoint=emulated.url)
    log = docker.build(f"{uri}:cpu-1")
    digest = log.split()[-1]
    docker("push", f"{uri}:cpu-1")
    image = prepare(f"{uri}@{digest}", endpoint_url=emulated.url, cache_dir=CHECKOUT / ".cache")
    yield Built(docker=docker, name=f"{uri}:cpu-1", log=log, digest=digest, image=image)
    image.release()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """What SageMaker unpacks from the archive."""
    folder = tmp_path / "model"
    folder.mkdir()
    tiny_model.write(folder / "tiny.gguf")
    data = (folder / "tiny.gguf").read_bytes()
    gguf = {
        "file": "tiny.gguf",
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "architecture": "llama",
        "file_type": "F32",
        "context_length": tiny_model.CONTEXT_LENGTH,
    }
    manifest = {
        "manifest_version": 1,
        "name": "tiny",
        "gguf": gguf,
        "source": {"kind": "file", "path": "tiny.gguf"},
        "repo": None,
        "revision": None,
        "quantization": None,
        "licence": "mit",
        "serving": {"readout": "letters", "prompt_version": "direct-options-v1", "n_ctx": 1024},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def answer(client: subprocess.Popen[str]) -> tuple[int, str]:
    """(status, body); status 0: no connection, or one that broke."""
    status, body = json.loads(client.communicate(timeout=90)[0])
    return status, body


class Container:
    """One run of the image's entry point in a network of its own, which has the loopback alone."""

    def __init__(self, image: RunnableImage, model: Path, folder: Path, *, user: int = 0) -> None:
        self.log = folder / "container.log"
        as_user = [] if user == 0 else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        # As the last command before the entry point: what mounts must be root.
        *mounting, program = image.command
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["unshare", "--net", "sh", "-c", LOOPBACK_ALONE, "sh", *mounting, *as_user, program, "serve"],
                env={**image.env, "DECISION_MODEL_PATH": str(model)},
                cwd=image.cwd,
                stdout=log,
                stderr=log,
            )

    def asking(self, method: str, path: str, body: object = None) -> subprocess.Popen[str]:
        """A client in the same network; it prints what `answer` reads."""
        enter = ["nsenter", f"--target={self.process.pid}", "--net", sys.executable, "-c", ASK]
        text = "" if body is None else json.dumps(body)
        return subprocess.Popen([*enter, method, path, text], stdout=subprocess.PIPE, text=True, env={})

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, str]:
        return answer(self.asking(method, path, body))

    def await_ready(self) -> None:
        limit = time.monotonic() + 90
        while self.ask("GET", "/ping")[0] != 200:
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < limit, self.log.read_text()
            time.sleep(0.1)

    def stop(self) -> int:
        """As `docker stop` does. Returns the exit code; -9 where SIGKILL was needed."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


@pytest.fixture
def container(built: Built, model: Path, tmp_path: Path) -> Iterator[Container]:
    container = Container(built.image, model, tmp_path)
    yield container
    if container.process.poll() is None:
        container.process.kill()
        container.process.wait()


@pytest.mark.timeout(600)
def test_the_build_says_what_it_adds_and_that_its_logits_are_right(built: Built) -> None:
    assert "MB in all" in built.log
    assert "llama.cpp in /opt/llama.cpp/bin fits llama-cpp-python" in built.log
    assert built.log.count("from those computed without it") == 2  # as root and as another user


@pytest.mark.timeout(600)
def test_two_builds_of_the_same_source_give_the_same_digest_even_from_nothing_and_from_other_modes(
    built: Built, tmp_path: Path
) -> None:
    copy_source(tmp_path, umask=0o002)
    assert {stat.S_IMODE(each.stat().st_mode) & 0o066 for each in built.docker.folder.rglob("*.py")} == {0}
    assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.rglob("*.py")} == {0o664}
    docker = Docker(folder=tmp_path, endpoint=built.docker.endpoint)
    assert docker.build(built.name.replace("cpu-1", "cpu-2"), "--no-cache").split()[-1] == built.digest


def test_every_user_may_read_what_the_image_adds_and_root_alone_may_change_it(built: Built) -> None:
    root = built.image.cwd / "root/opt/decision"
    modes_seen = {path.relative_to(root).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in root.rglob("*")}
    assert modes_seen.pop("serve") == 0o755
    wanted = {name: 0o755 if (root / name).is_dir() else 0o644 for name in modes_seen}
    assert modes_seen == wanted


def test_the_image_lists_its_packages_and_holds_neither_pip_nor_its_cache(built: Built) -> None:
    read = ("run", "--rm", "--network", "none", "--entrypoint", "cat", built.name)
    document = json.loads(built.docker(*read, "/opt/decision/sbom.cdx.json"))
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    names = {component["name"] for component in document["components"]}
    assert {"flask", "gunicorn", "jinja2", "llama-cpp-python", "numpy"} <= names
    assert not {"pip", "setuptools", "scikit-build-core", "cmake", "ninja", "torch", "transformers"} & names
    (native,) = [component for component in document["components"] if component["name"] == "llama.cpp"]
    hashes = {part["name"]: part["hashes"][0]["content"] for part in native["components"]}
    libraries = [path for path in (built.image.cwd / "root/opt/llama.cpp/bin").iterdir() if not path.is_symlink()]
    assert hashes == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in libraries}
    (base,) = [component for component in document["components"] if component["type"] == "container"]
    assert base["version"].startswith("sha256:")
    root = built.image.cwd / "root"
    assert not list((root / "opt/venv").glob("lib/python3*/site-packages/pip*"))
    assert not (root / "root/.cache").exists()
    assert not list((root / "tmp").iterdir())
    assert not [tool for tool in ("gcc", "cc", "c++", "cmake", "nvcc") if (root / "usr/bin" / tool).exists()]


def test_it_answers_on_port_8080_without_a_network_and_with_a_model_that_it_cannot_write(container: Container) -> None:
    container.await_ready()
    status, body = container.ask("POST", "/invocations", {"decision": self_check.DECISION})
    assert status == 200, body
    assert self_check.check_logits(json.loads(body)["result"]) <= self_check.LOGIT_TOLERANCE
    mounts = [line.split() for line in Path(f"/proc/{container.process.pid}/mounts").read_text().splitlines()]
    mounted = [fields[3].split(",") for fields in mounts if fields[1] == "/opt/ml/model"]
    assert "ro" in mounted[-1]
    assert container.stop() == 0, container.log.read_text()


def test_sigterm_lets_what_was_asked_be_answered_and_ends_within_the_30_seconds(container: Container) -> None:
    container.await_ready()
    decisions = [{**self_check.DECISION, "id": str(number), "state": f"State {number}."} for number in range(64)]
    client = container.asking("POST", "/invocations", {"decisions": decisions})
    while client.poll() is None and "decision_queue_depth 1" not in container.ask("GET", "/metrics")[1]:
        pass
    assert container.stop() == 0, container.log.read_text()
    assert answer(client)[0] in (200, 503)


@pytest.mark.parametrize("user", [65534, 1000])
def test_it_runs_as_any_user_where_the_platform_wants_one(built: Built, model: Path, tmp_path: Path, user: int) -> None:
    container = Container(built.image, model, tmp_path, user=user)
    try:
        container.await_ready()
        assert container.ask("POST", "/invocations", {"decision": self_check.DECISION})[0] == 200
    finally:
        code = container.stop()
    assert code == 0, container.log.read_text()


def test_another_argument_than_serve_is_refused(built: Built, model: Path) -> None:
    done = subprocess.run(
        [*built.image.command, "train"],
        env={**built.image.env, "DECISION_MODEL_PATH": str(model)},
        cwd=built.image.cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "only `serve` is known" in done.stderr) == (2, True)
