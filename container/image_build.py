"""The steps of container/buildspec.yml: log in, build (or copy) and push unless the registry holds the image, check,
record. Each says what it begins and how long it took; what fails ends the build with one line that says why.

Runs in CodeBuild and in the local executor: needs boto3 and a `docker` command line. Not part of the image.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

PLATFORM = "linux/amd64"
# SageMaker runs one image, not an index of several; attestations would make the pushed manifest an index.
IMAGE_MANIFESTS = ("application/vnd.docker.distribution.manifest.v2+json", "application/vnd.oci.image.manifest.v1+json")
# What the image adds to its base, as its build wrote it down (sbom.py).
SBOM = "/opt/decision/sbom.cdx.json"
_PATTERNS = {
    "ARTIFACT_BUCKET": r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]",
    "BASE_IMAGE": r"public\.ecr\.aws/[a-z0-9._/-]+@sha256:[0-9a-f]{64}",
    "REPOSITORY_NAME": r"[a-z0-9][a-z0-9._/-]*",
    "REPOSITORY_URI": r"[^@\s]+",
    "TARGET": r"(standard-)?(cpu|cuda)",
    "TRIGGER": r"[0-9a-f]{64}",
}


class ImageError(Exception):
    """The build cannot go on; the text says why."""


@dataclass(frozen=True, kw_only=True)
class Build:
    """What one build is to make, from its environment."""

    bucket: str
    base_image: str
    repository: str
    repository_uri: str
    target: str
    trigger: str

    @property
    def copies(self) -> bool:
        """Whether the image is the base image itself."""
        return self.target.startswith("standard-")

    @property
    def tag(self) -> str:
        return f"{self.target}-{self.trigger[:32]}"

    @property
    def sbom_key(self) -> str:
        """Beside the build's result."""
        return f"results/image-{self.trigger}.cdx.json"

    @property
    def tagged(self) -> str:
        return f"{self.repository_uri}:{self.tag}"


def build_from(environment: Mapping[str, str]) -> Build:
    for name, pattern in _PATTERNS.items():
        value = environment.get(name)
        if value is None or not re.fullmatch(pattern, value):
            raise ImageError(f"{name}: {value!r} given; {pattern} needed")
    return Build(
        bucket=environment["ARTIFACT_BUCKET"],
        base_image=environment["BASE_IMAGE"],
        repository=environment["REPOSITORY_NAME"],
        repository_uri=environment["REPOSITORY_URI"],
        target=environment["TARGET"],
        trigger=environment["TRIGGER"],
    )


def docker(*arguments: str, stdin: str | None = None, capture: bool = False) -> str:
    """Runs docker; its output goes to the build's log, or is returned with `capture`."""
    print(f"image_build.py: docker {' '.join(arguments)}", flush=True)
    began = time.monotonic()
    try:
        done = subprocess.run(
            ["docker", *arguments], input=stdin, text=True, check=False, stdout=subprocess.PIPE if capture else None
        )
    except OSError as error:
        raise ImageError(f"docker cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        raise ImageError(f"docker {arguments[0]}: exit status {done.returncode}; its own words stand above")
    print(f"image_build.py: docker {arguments[0]} done in {time.monotonic() - began:.1f} s", flush=True)
    return done.stdout.strip() if capture else ""


def login(build: Build) -> None:
    """To the private registry that is pushed to, and to the public one that the base image is pulled from. Before that
    asks docker itself: a daemon that is not there is said here, and not when the image is to be built."""
    docker("version")
    private = boto3.client("ecr").get_authorization_token()["authorizationData"][0]
    # ECR Public hands out tokens in us-east-1 only.
    public = boto3.client("ecr-public", region_name="us-east-1").get_authorization_token()["authorizationData"]
    for registry, grant in ((build.repository_uri, private), (build.base_image, public)):
        user, _, password = base64.b64decode(grant["authorizationToken"]).decode().partition(":")
        docker("login", "--username", user, "--password-stdin", registry.partition("/")[0], stdin=password)


def find(ecr: Any, build: Build) -> dict[str, Any] | None:
    """The image under the build's tag as ECR describes it: imageId, imageManifest, imageManifestMediaType."""
    answer = ecr.batch_get_image(
        repositoryName=build.repository, imageIds=[{"imageTag": build.tag}], acceptedMediaTypes=[*IMAGE_MANIFESTS]
    )
    for failure in answer.get("failures", []):
        if failure["failureCode"] != "ImageNotFound":
            raise ImageError(f"{build.tagged}: {failure['failureCode']}: {failure.get('failureReason')}")
    return answer["images"][0] if answer["images"] else None


def build_and_push(build: Build) -> None:
    """Nothing is pushed before the build and its self-check are green and the platform is the right one."""
    if find(boto3.client("ecr"), build) is not None:
        print(f"{build.tagged} is in the registry already: nothing to build")
        return
    if build.copies:
        # By digest: docker checks what it gets against it.
        docker("pull", "--platform", PLATFORM, build.base_image)
        docker("tag", build.base_image, build.tagged)
    else:
        build_image(build)
    platform = docker("image", "inspect", "--format", "{{.Os}}/{{.Architecture}}", build.tagged, capture=True)
    if platform != PLATFORM:
        raise ImageError(f"{build.tagged}: platform {platform!r} built; {PLATFORM!r} needed")
    if not build.copies:
        keep_sbom(build)
    docker("push", build.tagged)


def build_image(build: Build) -> None:
    docker(
        "build",
        # An attestation turns the pushed manifest into an index, which SageMaker refuses.
        "--provenance=false",
        "--sbom=false",
        "--platform",
        PLATFORM,
        "--target",
        build.target,
        "--build-arg",
        f"BASE_IMAGE={build.base_image}",
        "-t",
        build.tagged,
        "-f",
        "container/Dockerfile",
        "container",
    )


def keep_sbom(build: Build) -> None:
    """Before the push, so that no image of ours is in the registry without it."""
    text = docker("run", "--rm", "--network", "none", "--entrypoint", "cat", build.tagged, SBOM, capture=True)
    try:
        count = len(json.loads(text)["components"])
    except (ValueError, KeyError, TypeError) as error:
        raise ImageError(f"{build.tagged}: {SBOM} is no list of components: {text[:200]!r}") from error
    boto3.client("s3").put_object(
        Bucket=build.bucket, Key=build.sbom_key, Body=text.encode(), ContentType="application/vnd.cyclonedx+json"
    )
    print(f"{build.tagged}: {count} packages listed in s3://{build.bucket}/{build.sbom_key}")


def record(build: Build) -> dict[str, str]:
    """Checks what the registry really holds and writes the result that the deployment waits for."""
    image = find(boto3.client("ecr"), build)
    if image is None:
        raise ImageError(f"{build.tagged}: not in the registry")
    media_type = image.get("imageManifestMediaType") or json.loads(image["imageManifest"]).get("mediaType")
    if media_type not in IMAGE_MANIFESTS:
        raise ImageError(
            f"{build.tagged}: manifest of type {media_type!r} pushed; one of {', '.join(IMAGE_MANIFESTS)} needed"
        )
    digest = image["imageId"]["imageDigest"]
    result = {
        "kind": "image",
        "trigger": build.trigger,
        "tag": build.tag,
        "digest": digest,
        "uri": f"{build.repository_uri}@{digest}",
    }
    if not build.copies:
        result["sbom"] = build.sbom_key
    key = f"results/image-{build.trigger}.json"
    boto3.client("s3").put_object(
        Bucket=build.bucket, Key=key, Body=json.dumps(result, indent=2).encode(), ContentType="application/json"
    )
    print(f"{build.tagged} is {digest}; recorded in s3://{build.bucket}/{key}")
    return result


def main(arguments: list[str]) -> int:
    steps = {"login": login, "build": build_and_push, "record": record}
    if len(arguments) != 1 or arguments[0] not in steps:
        print(f"usage: image_build.py {'|'.join(steps)}", file=sys.stderr)
        return 2
    try:
        steps[arguments[0]](build_from(os.environ))
    except (ImageError, BotoCoreError, ClientError) as error:
        print(f"image_build.py {arguments[0]}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
