"""The steps of the image build, with a `docker` on the PATH that writes down what it is asked (F13)."""

from __future__ import annotations

import base64
import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import image_build
import pytest
import yaml
from botocore.stub import Stubber

ROOT = Path(__file__).resolve().parents[2]
TRIGGER = "1f" * 32
TAG = f"cpu-{TRIGGER[:32]}"
REPOSITORY = "123456789012.dkr.ecr.us-east-1.amazonaws.com/images"
BASE = "public.ecr.aws/deep-learning-containers/llama-cpp@sha256:" + "4c" * 32
DIGEST = "sha256:" + "3d" * 32
COMMIT = "c0" * 20
DOCKER_V2 = "application/vnd.docker.distribution.manifest.v2+json"
VARIABLES = {
    "ARTIFACT_BUCKET": "artifacts",
    "BASE_IMAGE": BASE,
    "REPOSITORY_NAME": "images",
    "REPOSITORY_URI": REPOSITORY,
    "TARGET": "cpu",
    "TRIGGER": TRIGGER,
    "LIBRARIES": "base",
    "SOURCE_COMMIT": COMMIT,
    "SOURCE_CHANGED": "false",
}
SBOM = '{"components": [{"name": "flask"}]}'
SBOM_KEY = f"results/image-{TRIGGER}.cdx.json"
FAKE_DOCKER = """#!/bin/sh
echo "$*" >> "$DOCKER_CALLS"
[ "$1" = login ] && cat >> "$DOCKER_CALLS" && echo >> "$DOCKER_CALLS"
[ "$1" = run ] && echo "$DOCKER_SBOM"
[ "$1" = buildx ] && echo "$DOCKER_BUILDER"
[ "$1" = image ] && echo "${DOCKER_PLATFORM:-linux/amd64}"
[ "$1" != "$DOCKER_FAILS" ]
"""


def builder(driver: str, version: str) -> str:
    """What `docker buildx inspect` prints."""
    return f"Name:          default\nDriver:        {driver}\n\nNodes:\nStatus: running\nBuildKit version: {version}"


class Build:
    """Stubbed clients, and the docker calls that were made."""

    def __init__(self, calls: Path) -> None:
        self.calls_file = calls
        self.clients = {
            name: boto3.client(
                name, region_name="us-east-1", aws_access_key_id="testing", aws_secret_access_key="testing"
            )
            for name in ("s3", "ecr", "ecr-public")
        }
        self.stubs = {name: Stubber(client) for name, client in self.clients.items()}
        self.regions: list[tuple[str, str | None]] = []

    def client(self, name: str, *, region_name: str | None = None) -> Any:
        self.regions.append((name, region_name))
        return self.clients[name]

    @property
    def docker(self) -> list[str]:
        return self.calls_file.read_text().splitlines() if self.calls_file.exists() else []

    def image(self, *, found: bool, media_type: str = DOCKER_V2, tag: str = TAG) -> None:
        image = {"imageId": {"imageDigest": DIGEST}, "imageManifest": "{}", "imageManifestMediaType": media_type}
        missing = {"imageId": {"imageTag": tag}, "failureCode": "ImageNotFound", "failureReason": "not found"}
        self.stubs["ecr"].add_response(
            "batch_get_image",
            {"images": [image], "failures": []} if found else {"images": [], "failures": [missing]},
            {
                "repositoryName": "images",
                "imageIds": [{"imageTag": tag}],
                "acceptedMediaTypes": [DOCKER_V2, "application/vnd.oci.image.manifest.v1+json"],
            },
        )

    def sbom(self) -> None:
        self.stubs["s3"].add_response(
            "put_object",
            {},
            {
                "Bucket": "artifacts",
                "Key": SBOM_KEY,
                "Body": SBOM.encode(),
                "ContentType": "application/vnd.cyclonedx+json",
            },
        )


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Build]:
    docker = tmp_path / "bin" / "docker"
    docker.parent.mkdir()
    docker.write_text(FAKE_DOCKER)
    docker.chmod(docker.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(docker.parent), prepend=":")
    monkeypatch.setenv("DOCKER_CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("DOCKER_SBOM", SBOM)
    monkeypatch.setenv("DOCKER_BUILDER", builder("docker", "v0.14.1"))
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    stubbed = Build(tmp_path / "calls")
    monkeypatch.setattr(boto3, "client", stubbed.client)
    for stub in stubbed.stubs.values():
        stub.activate()
    yield stubbed
    for stub in stubbed.stubs.values():
        stub.assert_no_pending_responses()


def test_login_is_to_the_registry_that_is_pushed_to_and_the_one_that_is_pulled_from(build: Build) -> None:
    def token(password: str) -> str:
        return base64.b64encode(f"AWS:{password}".encode()).decode()

    build.stubs["ecr"].add_response(
        "get_authorization_token", {"authorizationData": [{"authorizationToken": token("one")}]}, {}
    )
    build.stubs["ecr-public"].add_response(
        "get_authorization_token", {"authorizationData": {"authorizationToken": token("two")}}, {}
    )
    assert image_build.main(["login"]) == 0
    assert build.docker == [
        "version",
        "login --username AWS --password-stdin 123456789012.dkr.ecr.us-east-1.amazonaws.com",
        "one",
        "login --username AWS --password-stdin public.ecr.aws",
        "two",
    ]
    assert ("ecr-public", "us-east-1") in build.regions


@pytest.mark.parametrize(("fails", "reason"), [("version", "docker version: exit status 1"), (None, "cannot be run")])
def test_a_docker_that_does_not_answer_is_said_before_anything_else(
    build: Build,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    fails: str | None,
    reason: str,
) -> None:
    if fails is None:
        (tmp_path / "bin" / "docker").unlink()
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    else:
        monkeypatch.setenv("DOCKER_FAILS", fails)
    assert image_build.main(["login"]) == 1
    assert reason in capsys.readouterr().err


def test_what_aws_refuses_is_one_line_and_no_traceback(build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    build.stubs["ecr"].add_client_error("batch_get_image", "AccessDeniedException", "not you")
    assert image_build.main(["build"]) == 1
    error = capsys.readouterr().err
    assert "image_build.py build: An error occurred (AccessDeniedException)" in error
    assert len(error.splitlines()) == 1


def test_an_image_that_the_registry_holds_is_not_built_again(build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    build.image(found=True)
    assert image_build.main(["build"]) == 0
    assert build.docker == []
    assert "nothing to build" in capsys.readouterr().out


def test_the_image_is_built_without_attestations_checked_and_then_pushed(build: Build) -> None:
    build.image(found=False)
    build.sbom()
    assert image_build.main(["build"]) == 0
    assert build.docker == [
        "buildx inspect",
        "build --provenance=false --sbom=false --platform linux/amd64 --target cpu"
        f" --build-arg BASE_IMAGE={BASE} --build-arg LIBRARIES=base --build-arg SOURCE_DATE_EPOCH=315532800"
        f" -t {REPOSITORY}:{TAG} -f container/Dockerfile container",
        f"image inspect --format {{{{.Os}}}}/{{{{.Architecture}}}} {REPOSITORY}:{TAG}",
        f"run --rm --network none --entrypoint cat {REPOSITORY}:{TAG} /opt/decision/sbom.cdx.json",
        f"push {REPOSITORY}:{TAG}",
    ]


@pytest.mark.parametrize(
    ("driver", "version", "dated"),
    [
        ("docker-container", "v0.13.0", True),
        ("docker-container", "v1.0.0-rc1", True),
        ("docker-container", "v0.12.5", False),
        ("docker-container", "", False),
        ("docker", "v0.14.1", False),
    ],
)
def test_files_get_the_sources_date_where_the_builder_can_give_it_and_the_log_says_where_it_cannot(
    build: Build,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    driver: str,
    version: str,
    dated: bool,
) -> None:
    monkeypatch.setenv("DOCKER_BUILDER", builder(driver, version))
    build.image(found=False)
    build.sbom()
    assert image_build.main(["build"]) == 0
    asked = build.docker[1]
    assert ("--output type=docker,rewrite-timestamp=true" in asked) is dated
    assert "SOURCE_DATE_EPOCH=315532800" in asked
    assert (f"driver {driver}" in capsys.readouterr().out) is not dated


def test_libraries_compiled_for_the_target_are_asked_for_where_the_settings_want_them(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIBRARIES", "compiled-cpu")
    build.image(found=False)
    build.sbom()
    assert image_build.main(["build"]) == 0
    assert "--build-arg LIBRARIES=compiled-cpu " in build.docker[1]


@pytest.mark.parametrize(
    ("target", "libraries"),
    [("cpu", "compiled-cuda"), ("cuda", "compiled-cpu"), ("cpu", None), ("standard-cpu", "base")],
)
def test_libraries_that_do_not_go_with_the_target_stop_the_build_before_docker(
    build: Build,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    target: str,
    libraries: str | None,
) -> None:
    monkeypatch.setenv("TARGET", target)
    if libraries is None:
        monkeypatch.delenv("LIBRARIES")
    else:
        monkeypatch.setenv("LIBRARIES", libraries)
    assert image_build.main(["build"]) == 1
    assert f"LIBRARIES: {libraries!r} given" in capsys.readouterr().err
    assert build.docker == []


def test_the_standard_image_is_the_base_itself_pulled_by_digest(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET", "standard-cuda")
    monkeypatch.delenv("LIBRARIES")
    tag = f"standard-cuda-{TRIGGER[:32]}"
    build.image(found=False, tag=tag)
    assert image_build.main(["build"]) == 0
    assert build.docker == [
        f"pull --platform linux/amd64 {BASE}",
        f"tag {BASE} {REPOSITORY}:{tag}",
        f"image inspect --format {{{{.Os}}}}/{{{{.Architecture}}}} {REPOSITORY}:{tag}",
        f"push {REPOSITORY}:{tag}",
    ]


def test_nothing_is_pushed_after_a_build_that_failed(
    build: Build, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_FAILS", "build")
    build.image(found=False)
    assert image_build.main(["build"]) == 1
    assert [each.split()[0] for each in build.docker] == ["buildx", "build"]
    assert "image_build.py build: docker build: exit status 1" in capsys.readouterr().err


def test_an_image_of_another_platform_is_not_pushed(
    build: Build, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_PLATFORM", "linux/arm64")
    build.image(found=False)
    assert image_build.main(["build"]) == 1
    assert [each.split()[0] for each in build.docker] == ["buildx", "build", "image"]
    assert "platform 'linux/arm64' built; 'linux/amd64' needed" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "cat: no such file", "[]", "{}"])
def test_an_image_without_a_list_of_its_packages_is_not_pushed(
    build: Build, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    monkeypatch.setenv("DOCKER_SBOM", text)
    build.image(found=False)
    assert image_build.main(["build"]) == 1
    assert [each.split()[0] for each in build.docker] == ["buildx", "build", "image", "run"]
    assert "sbom.cdx.json is no list of components" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("told", "source"),
    [
        ({"SOURCE_COMMIT": COMMIT, "SOURCE_CHANGED": "false"}, {"commit": COMMIT, "changed": False}),
        ({"SOURCE_COMMIT": COMMIT, "SOURCE_CHANGED": "true"}, {"commit": COMMIT, "changed": True}),
        ({"CODEBUILD_RESOLVED_SOURCE_VERSION": COMMIT}, {"commit": COMMIT, "changed": False}),
        # Of a source in S3: a version of the object.
        ({"CODEBUILD_RESOLVED_SOURCE_VERSION": "3HL4kqtJvjVBH40Nrjfkd"}, {"commit": None}),
        ({}, {"commit": None}),
    ],
)
def test_the_result_names_the_digest_that_the_registry_holds_and_the_commit_that_it_is_of(
    build: Build, monkeypatch: pytest.MonkeyPatch, told: dict[str, str], source: dict[str, object]
) -> None:
    for name in ("SOURCE_COMMIT", "SOURCE_CHANGED", "CODEBUILD_RESOLVED_SOURCE_VERSION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    build.image(found=True)
    result = {
        "kind": "image",
        "trigger": TRIGGER,
        "tag": TAG,
        "digest": DIGEST,
        "uri": f"{REPOSITORY}@{DIGEST}",
        "source": source,
        "sbom": SBOM_KEY,
    }
    build.stubs["s3"].add_response(
        "put_object",
        {},
        {
            "Bucket": "artifacts",
            "Key": f"results/image-{TRIGGER}.json",
            "Body": json.dumps(result, indent=2).encode(),
            "ContentType": "application/json",
        },
    )
    assert image_build.main(["record"]) == 0


@pytest.mark.parametrize(
    ("found", "media_type", "expected"),
    [
        (False, DOCKER_V2, "not in the registry"),
        (True, "application/vnd.oci.image.index.v1+json", "manifest of type 'application/vnd.oci.image.index.v1+json'"),
    ],
)
def test_no_result_is_written_for_an_image_that_cannot_be_served(
    build: Build, capsys: pytest.CaptureFixture[str], found: bool, media_type: str, expected: str
) -> None:
    build.image(found=found, media_type=media_type)
    assert image_build.main(["record"]) == 1
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BASE_IMAGE", "public.ecr.aws/deep-learning-containers/llama-cpp:server-sagemaker-cpu-v1"),
        ("BASE_IMAGE", "docker.io/library/python@sha256:" + "4c" * 32),
        ("TARGET", "gpu"),
        ("TRIGGER", "abc"),
        ("REPOSITORY_NAME", ""),
        ("SOURCE_COMMIT", "main"),
    ],
)
def test_a_variable_that_is_no_good_stops_the_build_before_docker(
    build: Build, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    assert image_build.main(["build"]) == 1
    assert f"{name}: {value!r} given" in capsys.readouterr().err
    assert build.docker == []


def test_an_unknown_step_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert image_build.main(["publish"]) == 2
    assert "login|build|record" in capsys.readouterr().err


def test_the_buildspec_runs_the_steps_in_order_and_nothing_after_a_failed_one() -> None:
    phases = yaml.safe_load((ROOT / "container" / "buildspec.yml").read_text())["phases"]
    steps = [command for name in ("pre_build", "build") for command in phases[name]["commands"]]
    assert steps == [f"python3 container/image_build.py {step}" for step in ("login", "build", "record")]
    assert "post_build" not in phases  # CodeBuild runs it after a failure too
