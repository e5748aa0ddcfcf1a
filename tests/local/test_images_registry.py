"""Push and pull against the emulator's registry, and against one that lies."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.images import prepare
from local.images.errors import ImageError
from local.images.oci import CONFIG, LAYER, Descriptor, ImageConfig, Manifest
from local.images.reference import Reference, digest_of
from local.images.registry import Registry
from tests.local.conftest import Emulated

HOST = "123456789012.dkr.ecr.us-east-1.amazonaws.com"


def write_image(folder: Path, *, labels: dict[str, str]) -> tuple[Manifest, dict[str, Path]]:
    contents = {
        LAYER: bytes(10240),  # an empty tar
        CONFIG: ImageConfig(entrypoint=("/x",), labels=labels).as_bytes(
            layer_digests=[digest_of(bytes(10240))], platform="linux/amd64"
        ),
    }
    files = {}
    for content in contents.values():
        files[digest_of(content)] = folder / digest_of(content)[7:]
        files[digest_of(content)].write_bytes(content)
    config, layer = (Descriptor.of(kind, contents[kind]) for kind in (CONFIG, LAYER))
    return Manifest(config=config, layers=(layer,)), files


def push(registry: Registry, manifest: Manifest, files: dict[str, Path], name: str) -> str:
    for digest, path in files.items():
        registry.push_blob(digest, path)
    return registry.push_manifest(name, manifest.as_bytes(), "application/vnd.oci.image.manifest.v1+json")


@pytest.fixture
def repository(emulated: Emulated, unique: str) -> Reference:
    emulated.client("ecr").create_repository(repositoryName=unique, imageTagMutability="IMMUTABLE")
    return Reference.parse(f"{HOST}/{unique}:cpu-1")


def test_what_is_pushed_is_described_by_ecr_under_the_same_digest(
    emulated: Emulated, repository: Reference, tmp_path: Path
) -> None:
    registry = Registry(endpoint_url=emulated.url, reference=repository)
    manifest, files = write_image(tmp_path, labels={})
    assert not any(registry.has_blob(digest) for digest in files)
    digest = push(registry, manifest, files, "cpu-1")
    details = emulated.client("ecr").describe_images(repositoryName=repository.repository)["imageDetails"]
    assert [(entry["imageTags"], entry["imageDigest"]) for entry in details] == [(["cpu-1"], digest)]
    assert all(registry.has_blob(digest) for digest in files)
    assert registry.pull_manifest(digest) == manifest.as_bytes()


def test_an_immutable_tag_is_not_moved_and_the_refusal_is_passed_on(
    emulated: Emulated, repository: Reference, tmp_path: Path
) -> None:
    registry = Registry(endpoint_url=emulated.url, reference=repository)
    push(registry, *write_image(tmp_path, labels={}), "cpu-1")
    with pytest.raises(ImageError, match="immutable"):
        push(registry, *write_image(tmp_path, labels={"other": "image"}), "cpu-1")


def test_an_image_that_was_not_built_here_is_not_run(emulated: Emulated, repository: Reference, tmp_path: Path) -> None:
    registry = Registry(endpoint_url=emulated.url, reference=repository)
    digest = push(registry, *write_image(tmp_path, labels={}), "cpu-1")
    uri = f"{HOST}/{repository.repository}@{digest}"
    with pytest.raises(ImageError, match=r"label decision\.runtime is None"):
        prepare(uri, endpoint_url=emulated.url, cache_dir=tmp_path / "cache")


def test_an_image_named_by_a_tag_is_not_run(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="a tag can move"):
        prepare(f"{HOST}/repository:latest", endpoint_url="http://127.0.0.1:1", cache_dir=tmp_path)


@pytest.mark.parametrize("url", ["", "https://api.ecr.us-east-1.amazonaws.com", "http://192.0.2.1:4566"])
def test_only_an_emulator_on_this_machine_is_ever_spoken_to(url: str) -> None:
    with pytest.raises(ImageError, match="an emulator on this machine is expected"):
        Registry(endpoint_url=url, reference=Reference.parse(f"{HOST}/repository:tag"))


def test_a_registry_that_is_not_there_is_named(tmp_path: Path) -> None:
    registry = Registry(endpoint_url="http://127.0.0.1:1", reference=Reference.parse(f"{HOST}/repository:tag"))
    with pytest.raises(ImageError, match=rf"{HOST}: no answer on port 1"):
        registry.check()


class LyingRegistry(http.server.BaseHTTPRequestHandler):
    """Serves one good manifest and config, and a layer of other bytes."""

    answers: dict[str, bytes]

    def do_GET(self) -> None:
        content = self.answers[self.path.rpartition("/")[2]]
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def lying_registry(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """(URL, digest of an image whose layer is not what its manifest says)."""
    manifest, files = write_image(tmp_path, labels={"decision.runtime": "venv"})
    good = manifest.as_bytes()
    answers = {digest: path.read_bytes() for digest, path in files.items()}
    answers |= {digest_of(good): good, manifest.layers[0].digest: b"something else"}
    handler = type("Handler", (LyingRegistry,), {"answers": answers})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", digest_of(good)
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_layer_with_another_digest_is_refused_and_nothing_is_left(
    lying_registry: tuple[str, str], tmp_path: Path
) -> None:
    url, digest = lying_registry
    with pytest.raises(ImageError, match=r"blob: digest sha256:\w+ expected"):
        prepare(f"{HOST}/repository@{digest}", endpoint_url=url, cache_dir=tmp_path / "cache")
    assert [path.suffix for path in (tmp_path / "cache/images/unpacked").iterdir()] == [".lock"]


def test_an_image_index_is_refused_as_sagemaker_would() -> None:
    with pytest.raises(ImageError, match="image index"):
        Manifest.read(json.dumps({"schemaVersion": 2, "mediaType": "image index", "manifests": []}).encode())
