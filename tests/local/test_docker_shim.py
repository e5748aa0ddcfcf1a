"""`local/bin/docker` as a build's commands use it: real command line, real environment, real server, real registry."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from local.images import prepare
from local.workspace import CHECKOUT
from tests.local.conftest import Emulated

SHIM = CHECKOUT / "local" / "bin" / "docker"
HOST = "123456789012.dkr.ecr.us-east-1.amazonaws.com"
BASE = "public.ecr.aws/deep-learning-containers/llama-cpp@sha256:" + "1" * 64


@dataclass(frozen=True, kw_only=True)
class Docker:
    """Runs the command line as the buildspec executor does. `workdir` holds the build's source."""

    endpoint: str
    workdir: Path

    def __call__(self, *arguments: str, stdin: str = "", mode: str = "venv") -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "LOCAL_IMAGE_MODE": mode, "AWS_ENDPOINT_URL": self.endpoint}
        return subprocess.run(
            [str(SHIM), *arguments],
            cwd=self.workdir,
            env=environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )

    def build(self, reference: str, *, target: str = "cpu", base: str = BASE) -> subprocess.CompletedProcess[str]:
        return self(
            "build", "--provenance=false", "--sbom=false", "--platform", "linux/amd64", "--target", target,
            "--build-arg", f"BASE_IMAGE={base}", "-t", reference, "-f", "container/Dockerfile", "container",
        )  # fmt: skip


@pytest.fixture
def docker(tmp_path: Path) -> Docker:
    """A build's folder with a copy of container/, modes lost as in an unpacked archive."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(CHECKOUT / "container", tmp_path / "container", ignore=ignore, copy_function=shutil.copyfile)
    return Docker(endpoint="http://127.0.0.1:1", workdir=tmp_path)


def digest_in(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()[-1]


def test_the_container_builds_is_pushed_and_answers_as_an_endpoint_would(
    docker: Docker, emulated: Emulated, unique: str
) -> None:
    docker = Docker(endpoint=emulated.url, workdir=docker.workdir)
    ecr = emulated.client("ecr")
    uri = ecr.create_repository(repositoryName=unique)["repository"]["repositoryUri"]
    login = docker("login", "--username", "AWS", "--password-stdin", uri.partition("/")[0], stdin="secret")
    assert login.stdout == "Login Succeeded\n"
    built = digest_in(docker.build(f"{uri}:cpu-1"))
    platform = docker("image", "inspect", "--format", "{{.Os}}/{{.Architecture}}", f"{uri}:cpu-1")
    assert platform.stdout == "linux/amd64\n"
    assert json.loads(docker("image", "inspect", f"{uri}:cpu-1").stdout)[0]["RepoDigests"] == []
    pushed = docker("push", f"{uri}:cpu-1")
    assert f"cpu-1: digest: {built} size: " in pushed.stdout
    assert docker("image", "inspect", "-f", "{{index .RepoDigests 0}}", f"{uri}:cpu-1").stdout == f"{uri}@{built}\n"
    assert ecr.describe_images(repositoryName=unique)["imageDetails"][0]["imageDigest"] == built

    image = prepare(f"{uri}@{built}", endpoint_url=emulated.url, cache_dir=CHECKOUT / ".cache")
    assert image.env["DECISION_N_GPU_LAYERS"] == "0"
    unpacked = Path(image.command[-1]).parent
    result = subprocess.run(
        [image.command[0], str(unpacked / "self_check.py")],
        env=image.env,
        cwd=image.cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert not (unpacked / "buildspec.yml").exists()


def test_the_same_source_gives_the_same_digest_and_another_source_another(docker: Docker, unique: str) -> None:
    first = digest_in(docker.build(f"{HOST}/{unique}:one"))
    for path in (docker.workdir / "container").rglob("*"):
        os.utime(path, (1, 1))
    assert digest_in(docker.build(f"{HOST}/{unique}:two")) == first
    with (docker.workdir / "container/serve").open("a") as file:
        file.write(f"# another source, of no earlier run: {unique}\n")
    changed = docker.build(f"{HOST}/{unique}:one")
    assert digest_in(changed) != first
    assert "one decision scored by llama-cpp-python" in changed.stdout  # proved anew


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("decision_server/app.py", "def broken(:\n", "decision_server/app.py, line 1"),
        ("decision_server/wsgi.py", "raise RuntimeError('broken on purpose')\n", "broken on purpose"),
        ("requirements.txt", "flask\n", "llama-cpp-python is pinned by no line"),
        ("requirements.txt", "llama-cpp-python==0.0.1 \\\n    --hash=sha256:00\n", "pins llama-cpp-python 0.0.1"),
    ],
)
def test_a_broken_source_fails_the_build_with_the_reason_and_leaves_no_image(
    docker: Docker, unique: str, file: str, content: str, reason: str
) -> None:
    (docker.workdir / "container" / file).write_text(content)
    done = docker.build(f"{HOST}/{unique}:broken")
    assert done.returncode == 1
    assert reason in done.stdout + done.stderr
    assert "not in the local store" in docker("image", "inspect", f"{HOST}/{unique}:broken").stderr


def test_requirements_that_cannot_be_read_fail_the_build_in_the_installers_words(docker: Docker, unique: str) -> None:
    with (docker.workdir / "container/requirements.txt").open("a") as file:
        file.write("flask=broken\n")
    done = docker.build(f"{HOST}/{unique}:broken")
    assert done.returncode == 1
    assert "uv pip failed with exit code" in done.stderr
    assert "flask=broken" in done.stderr


def test_a_target_for_gpus_is_built_without_a_gpu_and_the_log_says_so(docker: Docker, unique: str) -> None:
    done = docker.build(f"{HOST}/{unique}:cuda", target="cuda")
    assert digest_in(done)
    assert "no CUDA backend" in done.stdout
    assert "no CUDA backend" not in docker.build(f"{HOST}/{unique}:cpu").stdout


def test_the_list_of_what_is_in_the_image_names_the_libraries_that_it_will_run_on(docker: Docker, unique: str) -> None:
    digest_in(docker.build(f"{HOST}/{unique}:one"))
    read = ("run", "--rm", "--network", "none", "--entrypoint", "cat", f"{HOST}/{unique}:one")
    components = json.loads(docker(*read, "/opt/decision/sbom.cdx.json").stdout)["components"]
    (native,) = [each for each in components if each["name"] == "llama.cpp"]
    assert {"libllama.so", "libggml-base.so"} <= {
        part["name"].partition(".so")[0] + ".so" for part in native["components"]
    }
    assert not [each for each in components if each["type"] == "container"]  # there is no base image in this mode


def test_the_date_of_a_build_is_a_whole_number_of_seconds(docker: Docker) -> None:
    done = docker(
        "build", "--platform", "linux/amd64", "--target", "cpu", "--build-arg", f"BASE_IMAGE={BASE}",
        "--build-arg", "SOURCE_DATE_EPOCH=now", "-t", f"{HOST}/r:t", "container",
    )  # fmt: skip
    assert (done.returncode, "SOURCE_DATE_EPOCH=now: whole seconds since 1970" in done.stderr) == (1, True)


def test_the_builder_claims_nothing(docker: Docker) -> None:
    assert docker("buildx", "inspect").stdout.splitlines() == ["Name:   stand-in", "Driver: stand-in"]


def test_a_base_that_is_not_pinned_fails_the_build(docker: Docker) -> None:
    done = docker.build(f"{HOST}/repository:x", base="public.ecr.aws/x/y:latest")
    assert (done.returncode, "pinned as name@sha256" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("ps",), "it knows login, build, pull, tag, push, image inspect, buildx inspect, run … cat, version"),
        (("run", "x"), "it knows login, build, pull, tag, push"),
        (("build", "--no-cache", "."), "required"),
        (("push", "repository:tag"), "registry/repository:tag"),
        (("push", f"{HOST}/never-built:tag"), "not in the local store"),
        (("login", "--username", "AWS", "--password-stdin", HOST), "holds no password"),
    ],
)
def test_what_it_does_not_do_is_refused_and_said(docker: Docker, arguments: tuple[str, ...], reason: str) -> None:
    done = docker(*arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert reason in done.stderr


def test_another_platform_is_refused(docker: Docker) -> None:
    done = docker("build", "--platform", "linux/arm64", "--target", "cpu", "-t", f"{HOST}/r:t", "container")
    assert (done.returncode, "only linux/amd64 is built" in done.stderr) == (1, True)


def test_an_inspection_of_a_field_that_is_not_there_is_refused(docker: Docker, unique: str) -> None:
    digest_in(docker.build(f"{HOST}/{unique}:one"))
    for template, reason in (("{{.Nothing}}", "no {{.Nothing}}"), ("{{range .RepoTags}}x{{end}}", "only {{.Field}}")):
        done = docker("image", "inspect", "--format", template, f"{HOST}/{unique}:one")
        assert (done.returncode, reason in done.stderr) == (1, True), done.stderr


def test_the_log_says_which_mode_was_chosen_and_why(docker: Docker) -> None:
    assert "Mode: venv (LOCAL_IMAGE_MODE=venv)" in docker("version").stdout
    wrong = docker("version", mode="podman")
    assert (wrong.returncode, "'podman' given; buildah or venv allowed" in wrong.stderr) == (1, True)
