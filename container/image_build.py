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
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError
from image_order import Build, ImageError, build_from

PLATFORM = "linux/amd64"
# SageMaker runs one image, not an index of several; attestations would make the pushed manifest an index.
IMAGE_MANIFESTS = ("application/vnd.docker.distribution.manifest.v2+json", "application/vnd.oci.image.manifest.v1+json")
# What the image adds to its base, as its build wrote it down (sbom.py).
SBOM = "/opt/decision/sbom.cdx.json"
# All that is built carries one date, that of the files in the source's zip (1 January 1980): equal source, equal image.
SOURCE_DATE_EPOCH = "315532800"
# The first BuildKit that can give files this date, too. The driver `docker` keeps layers where it cannot.
_REWRITES = (0, 13)


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


def rewriting() -> tuple[str, ...]:
    """The option that dates the files in new layers, where the builder has it. Says so where it has not: the image is
    as good, but a second build of the same source has another digest."""
    described = docker("buildx", "inspect", capture=True)
    driver = re.search(r"(?m)^Driver:\s*(\S+)", described)
    version = re.search(r"(?mi)^BuildKit(?: version)?:\s*v?(\d+)\.(\d+)", described)
    name = driver[1] if driver else "unknown"
    if version is None or name == "docker" or (int(version[1]), int(version[2])) < _REWRITES:
        shown = f"v{version[1]}.{version[2]}" if version else "unknown"
        print(f"builder: driver {name}, BuildKit {shown}: files keep the time of the build, and with it the digest")
        return ()
    return ("--output", "type=docker,rewrite-timestamp=true")


def build_image(build: Build) -> None:
    docker(
        "build",
        # An attestation turns the pushed manifest into an index, which SageMaker refuses.
        "--provenance=false",
        "--sbom=false",
        *rewriting(),
        "--platform",
        PLATFORM,
        "--target",
        build.target,
        "--build-arg",
        f"BASE_IMAGE={build.base_image}",
        "--build-arg",
        f"LIBRARIES={build.libraries}",
        "--build-arg",
        f"SOURCE_DATE_EPOCH={SOURCE_DATE_EPOCH}",
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


def record(build: Build) -> dict[str, object]:
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
    result: dict[str, object] = {
        "kind": "image",
        "trigger": build.trigger,
        "tag": build.tag,
        "digest": digest,
        "uri": f"{build.repository_uri}@{digest}",
        "source": build.source,
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
