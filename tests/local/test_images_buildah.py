"""The way through buildah: what the build is lent, what stays in the image, how it runs. Needs root and buildah."""

from __future__ import annotations

import configparser
import os
import shutil
import stat
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from local.images import base_stand_in, buildah_build, chroot_run, layers, modes, pip_settings, venv_runtime
from local.images.buildah import Buildah
from local.images.dockerfile import resolve
from local.images.errors import ImageError
from local.images.oci import ImageConfig
from local.images.paths import Cache
from local.images.reference import Reference
from local.images.store import ImageStore

PINNED = "public.ecr.aws/deep-learning-containers/llama-cpp@sha256:" + "1" * 64
DOCKERFILE = """\
ARG BASE_IMAGE
FROM ${BASE_IMAGE} AS cpu
ARG PIP_CONFIG_FILE
ENV DECISION_N_GPU_LAYERS="0"
WORKDIR /opt/decision
ENTRYPOINT ["/opt/decision/serve"]
COPY . /opt/decision/
RUN chmod 755 serve && cat "$PIP_CONFIG_FILE" && echo built > made
"""
SERVE = """\
#!/bin/sh
cat "$DECISION_MODEL_PATH/model.txt" /opt/decision/made
echo "in $(pwd)"
echo x > /tmp/writable && echo tmp is writable
{ echo x > /opt/decision/made; } 2>/dev/null || echo the image is read-only
"""
REFERENCE = Reference.parse("localhost.example/repository:cpu-1")
OBSTACLE = modes.obstacle_to_buildah()
needs_buildah = pytest.mark.skipif(OBSTACLE is not None, reason=f"no build with buildah: {OBSTACLE}")


def test_without_buildah_or_root_the_environment_is_chosen_and_the_reason_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "buildah" else f"/bin/{name}")
    assert modes.choose({}) == modes.Mode(name="venv", reason="buildah is not installed")
    with pytest.raises(ImageError, match="LOCAL_IMAGE_MODE=buildah, but buildah is not installed"):
        modes.choose({"LOCAL_IMAGE_MODE": "buildah"})


def test_pips_index_and_certificates_are_lent_to_the_build_and_folders_of_this_machine_are_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificates = tmp_path / "own.pem"
    certificates.write_text("certificate")
    monkeypatch.setenv("PIP_CERT", str(certificates))
    monkeypatch.setenv("PIP_INDEX_URL", "https://user:secret@index.example/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "file:///here/simple https://more.example/simple")
    lent = tmp_path / "lent"
    lent.mkdir()
    assert pip_settings.write(lent) == "/media/pip.conf"
    parser = configparser.RawConfigParser()
    parser.read(lent / "pip.conf")
    settings = dict(parser["global"])
    assert settings["index-url"] == "https://user:secret@index.example/simple"
    assert settings["extra-index-url"] == "https://more.example/simple"
    assert settings["cert"] == "/media/certificates.pem"
    assert (lent / "certificates.pem").read_text() == "certificate"


def test_the_libraries_that_a_base_gets_can_be_read_by_every_user_whatever_the_umask_is(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        folder = venv_runtime.native_libraries(
            f"llama-cpp-python=={metadata.version('llama-cpp-python')} \\\n", cache=Cache(folder=tmp_path)
        )
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    files = [path for path in folder.iterdir() if not path.is_symlink()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o644}
    assert "libllama.so" in {path.name for path in folder.iterdir()}


def small_base(folder: Path) -> Path:
    """A root file system of this machine's shell and a few tools."""
    for folder_name in ("proc", "dev", "tmp", "mnt", "media", "etc", "opt"):
        (folder / folder_name).mkdir(parents=True)
    tools = [Path(shutil.which(name) or name).resolve() for name in ("sh", "cat", "chmod", "mkdir")]
    listing = subprocess.run(["ldd", *map(str, tools)], capture_output=True, text=True, check=True).stdout
    libraries = {
        word for line in listing.splitlines() for word in line.split() if word.startswith("/") and ":" not in word
    }
    for source in libraries:
        target = folder / source.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        target.chmod(0o755)
    (folder / "bin").mkdir(exist_ok=True)
    for tool, name in zip(tools, ("sh", "cat", "chmod", "mkdir"), strict=True):
        shutil.copyfile(tool, folder / "bin" / name)
        (folder / "bin" / name).chmod(0o755)
    return folder


def build(context: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch, base_root: Path) -> tuple[str, list[str]]:
    buildah = Buildah.below(cache.buildah)
    libraries = cache.folder / "0123456789abcdef" / "bin"
    monkeypatch.setattr("local.images.venv_runtime.native_libraries", lambda *_, **__: libraries)
    name = base_stand_in.name_of(libraries)
    if not buildah.has_image(name):
        container = buildah.run("from", "scratch")
        buildah.run("copy", "--quiet", container, str(base_root), "/")
        buildah.run("commit", "--quiet", "--timestamp", "0", container, name)
        buildah.run("rm", container)
    log: list[str] = []

    def say(line: str) -> None:
        log.append(line)
        print(line)

    digest = buildah_build.build(
        context,
        dockerfile=context / "Dockerfile",
        target_name="cpu",
        target=resolve((context / "Dockerfile").read_text(), target="cpu", arguments={"BASE_IMAGE": PINNED}),
        arguments={"BASE_IMAGE": PINNED},
        reference=REFERENCE,
        platform="linux/amd64",
        timestamp=0,
        reuse=True,
        cache=cache,
        say=say,
    )
    return digest, log


@needs_buildah
def test_an_image_built_by_buildah_is_the_same_twice_keeps_no_pip_settings_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://user:a-secret@index.example/simple")
    context = tmp_path / "context"
    context.mkdir()
    for name, text in {
        "Dockerfile": DOCKERFILE,
        "serve": SERVE,
        "requirements.txt": "",
        ".dockerignore": "x\n",
        "x": "",
    }.items():
        (context / name).write_text(text)
    base_root = small_base(tmp_path / "base")
    cache = Cache(folder=tmp_path / "cache")
    digest, log = build(context, cache, monkeypatch, base_root)
    assert any("a-secret" in line for line in log)  # the build itself could read it
    again, _ = build(context, Cache(folder=tmp_path / "other"), monkeypatch, base_root)
    assert again == digest

    store = ImageStore(cache.image_store)
    image = store.get(REFERENCE)
    config = store.image_config(image)
    assert config.labels["decision.runtime"] == "chroot"
    root = tmp_path / "root"
    for layer in image.manifest.layers:
        assert b"a-secret" not in store.blob(layer.digest).read_bytes()
        layers.unpack(store.blob(layer.digest), root)
    assert b"a-secret" not in store.config(image)
    assert list((root / "media").iterdir()) == []
    assert not (root / "opt/decision/x").exists()

    model = tmp_path / "model"
    model.mkdir()
    (model / "model.txt").write_text("the model\n")
    done = run(config, root, model)
    assert done.stdout.splitlines() == [
        "the model", "built", "in /opt/decision", "tmp is writable", "the image is read-only",
    ], done.stderr  # fmt: skip
    assert (root / "opt/decision/made").read_text() == "built\n"
    assert str(root) not in Path("/proc/mounts").read_text()


def run(config: ImageConfig, root: Path, model: Path) -> subprocess.CompletedProcess[str]:
    environment = {**config.environment, "DECISION_MODEL_PATH": str(model)}
    return subprocess.run(
        chroot_run.command(config, root), env=environment, capture_output=True, text=True, check=False
    )


@needs_buildah
def test_a_failing_step_fails_the_build_with_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    context = tmp_path / "context"
    context.mkdir()
    (context / "Dockerfile").write_text(DOCKERFILE + "RUN echo the reason && exit 7\n")
    for name in ("serve", "requirements.txt", ".dockerignore"):
        (context / name).write_text("")
    cache = Cache(folder=tmp_path / "cache")
    with pytest.raises(ImageError, match="buildah build failed with exit code"):
        build(context, cache, monkeypatch, small_base(tmp_path / "base"))
    assert "the reason" in capsys.readouterr().out
    with pytest.raises(ImageError, match="not in the local store"):
        ImageStore(cache.image_store).get(REFERENCE)
