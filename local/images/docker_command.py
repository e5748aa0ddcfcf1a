"""The command line of `local/bin/docker`: the part of Docker's that this project's builds use, and no more."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from local.images import buildah_build, dockerfile, image_file, inspection, modes, standard_image, venv_build
from local.images.errors import ImageError
from local.images.paths import ROOT, Cache
from local.images.reference import Reference
from local.images.registry import Registry
from local.images.run import RUNTIME_LABEL
from local.images.store import ImageStore

PLATFORM = "linux/amd64"
EPOCH_ARGUMENT = "SOURCE_DATE_EPOCH"  # known to every Dockerfile, declared or not


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ImageError(
            f"{self.prog}: {message}. This stands in for docker; it knows login, build, pull, tag, push, image "
            "inspect, buildx inspect, run … cat, version"
        )


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    try:
        options = _parser().parse_args(arguments)
        options.run(options, environ)
    except ImageError as error:
        print(f"docker: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="docker", allow_abbrev=False)
    commands = parser.add_subparsers(required=True, metavar="command")
    login = commands.add_parser("login", allow_abbrev=False)
    login.add_argument("--username", required=True)
    login.add_argument("--password-stdin", action="store_true", required=True)
    login.add_argument("registry")
    login.set_defaults(run=_login)
    build = commands.add_parser("build", allow_abbrev=False)
    build.add_argument("--provenance", choices=["false"])
    build.add_argument("--sbom", choices=["false"])
    build.add_argument("--no-cache", action="store_true")
    build.add_argument("--platform", required=True)
    build.add_argument("--target", required=True)
    build.add_argument("--build-arg", action="append", default=[], dest="arguments")
    build.add_argument("--tag", "-t", required=True, dest="reference")
    build.add_argument("--file", "-f", type=Path)
    build.add_argument("context", type=Path)
    build.set_defaults(run=_build)
    pull = commands.add_parser("pull", allow_abbrev=False)
    pull.add_argument("--platform", required=True)
    pull.add_argument("reference")
    pull.set_defaults(run=_pull)
    tag = commands.add_parser("tag", allow_abbrev=False)
    tag.add_argument("source")
    tag.add_argument("target")
    tag.set_defaults(run=_tag)
    push = commands.add_parser("push", allow_abbrev=False)
    push.add_argument("reference")
    push.set_defaults(run=_push)
    inspect = commands.add_parser("image", allow_abbrev=False).add_subparsers(required=True).add_parser("inspect")
    inspect.add_argument("--format", "-f")
    inspect.add_argument("reference")
    inspect.set_defaults(run=_inspect)
    run = commands.add_parser("run", allow_abbrev=False)
    run.add_argument("--rm", action="store_true", required=True)
    run.add_argument("--network", choices=["none"], required=True)
    run.add_argument("--entrypoint", choices=["cat"], required=True)
    run.add_argument("reference")
    run.add_argument("file")
    run.set_defaults(run=_cat)
    builder = commands.add_parser("buildx", allow_abbrev=False).add_subparsers(required=True).add_parser("inspect")
    builder.set_defaults(run=_builder)
    version = commands.add_parser("version", allow_abbrev=False)
    version.set_defaults(run=_version)
    return parser


def _login(options: argparse.Namespace, environ: Mapping[str, str]) -> None:
    if not sys.stdin.read().strip():
        raise ImageError(f"login {options.registry}: standard input holds no password")
    if _is_private(options.registry):
        Registry(endpoint_url=_endpoint(environ), reference=Reference.parse(f"{options.registry}/none:none")).check()
    else:
        _say(f"{options.registry} is not asked: nothing is pulled here, a stand-in takes the base image's place")
    print("Login Succeeded")


def _build(options: argparse.Namespace, environ: Mapping[str, str]) -> None:
    reference = Reference.parse(options.reference)
    if reference.tag is None or reference.digest is not None:
        raise ImageError(f"build: -t {reference}: repository:tag expected")
    if options.platform != PLATFORM:
        raise ImageError(f"build: --platform {options.platform}: only {PLATFORM} is built")
    if not options.context.is_dir():
        raise ImageError(f"build: context {options.context}: no such folder")
    file = options.file or options.context / "Dockerfile"
    if not file.is_file():
        raise ImageError(f"build: {file}: no such Dockerfile")
    arguments = _key_values(options.arguments)
    timestamp = _timestamp(arguments.pop(EPOCH_ARGUMENT, "0"))
    target = dockerfile.resolve(file.read_text(), target=options.target, arguments=arguments)
    mode = modes.choose(environ)
    _say(f"mode {mode.name}: {mode.reason}")
    if mode.name == "buildah":
        digest = buildah_build.build(
            options.context,
            dockerfile=file,
            target_name=options.target,
            target=target,
            arguments=arguments,
            reference=reference,
            platform=options.platform,
            timestamp=timestamp,
            reuse=not options.no_cache,
            cache=_cache(environ),
            say=_say,
        )
    elif options.no_cache:
        raise ImageError(f"build: --no-cache: mode {mode.name} has no layers that it could leave unused")
    else:
        digest = venv_build.build(
            options.context,
            target_name=options.target,
            target=target,
            reference=reference,
            platform=options.platform,
            cache=_cache(environ),
            say=_say,
        )
    print(f"naming to {reference} done, {digest}")


def _pull(options: argparse.Namespace, environ: Mapping[str, str]) -> None:
    reference = Reference.parse(options.reference)
    if options.platform != PLATFORM:
        raise ImageError(f"pull: --platform {options.platform}: only {PLATFORM} runs here")
    digest = standard_image.pull(
        reference, platform=PLATFORM, label=RUNTIME_LABEL, store=ImageStore(_cache(environ).image_store)
    )
    _say(f"{reference} is not pulled; a stand-in for it of this checkout is {digest}")


def _tag(options: argparse.Namespace, environ: Mapping[str, str]) -> None:
    target = Reference.parse(options.target)
    if target.tag is None or target.digest is not None:
        raise ImageError(f"tag {target}: repository:tag expected")
    store = ImageStore(_cache(environ).image_store)
    image = store.get(Reference.parse(options.source))
    store.tag(target, digest=image.digest, media_type=image.media_type)


def _push(options: argparse.Namespace, environ: Mapping[str, str]) -> None:
    reference = Reference.parse(options.reference)
    store = ImageStore(_cache(environ).image_store)
    image = store.get(reference)
    registry = Registry(endpoint_url=_endpoint(environ), reference=reference)
    for descriptor in (*image.manifest.layers, image.manifest.config):
        if registry.has_blob(descriptor.digest):
            print(f"{descriptor.digest[7:19]}: Layer already exists")
        else:
            registry.push_blob(descriptor.digest, store.blob(descriptor.digest))
            print(f"{descriptor.digest[7:19]}: Pushed")
    name = reference.tag or image.digest
    digest = registry.push_manifest(name, image.manifest_bytes, image.media_type)
    store.tag(reference, digest=digest, media_type=image.media_type, pushed=True)
    print(f"{name}: digest: {digest} size: {len(image.manifest_bytes)}")


def _inspect(options: argparse.Namespace, environ: Mapping[str, str]) -> None:
    store = ImageStore(_cache(environ).image_store)
    image = store.get(Reference.parse(options.reference))
    document = inspection.describe(image, json.loads(store.config(image)))
    print(json.dumps([document], indent=4) if options.format is None else inspection.fill_in(options.format, document))


def _cat(options: argparse.Namespace, environ: Mapping[str, str]) -> None:
    """Nothing runs: the file is read in the image."""
    store = ImageStore(_cache(environ).image_store)
    sys.stdout.write(image_file.read(store, store.get(Reference.parse(options.reference)), options.file).decode())


def _builder(options: argparse.Namespace, environ: Mapping[str, str]) -> None:
    """In docker's form, with a driver that no builder of Docker's has: nothing is to be expected of it."""
    print("Name:   stand-in\nDriver: stand-in")


def _version(options: argparse.Namespace, environ: Mapping[str, str]) -> None:
    mode = modes.choose(environ)
    print(f"Stand-in for docker of this checkout (no daemon)\n Mode: {mode.name} ({mode.reason})")


def _key_values(pairs: Sequence[str]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise ImageError(f"build: --build-arg {pair}: written as name=value")
    return dict(pair.split("=", 1) for pair in pairs)


def _timestamp(seconds: str) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", seconds):
        raise ImageError(f"build: --build-arg {EPOCH_ARGUMENT}={seconds}: whole seconds since 1970 needed")
    return int(seconds)


def _is_private(registry: str) -> bool:
    return re.fullmatch(r"\d{12}\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com(\.cn)?", registry) is not None


def _endpoint(environ: Mapping[str, str]) -> str:
    return environ.get("AWS_ENDPOINT_URL_ECR") or environ.get("AWS_ENDPOINT_URL") or ""


def _cache(environ: Mapping[str, str]) -> Cache:
    return Cache(folder=Path(environ.get("LOCAL_EMULATOR_CACHE") or ROOT / ".cache"))


def _say(text: str) -> None:
    print(f"[local docker] {text}", flush=True)
