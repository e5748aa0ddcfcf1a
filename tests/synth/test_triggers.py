"""A change rebuilds exactly what it shapes, and nothing else rebuilds anything (rule 2 of the stacks)."""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from stacks import container_build
from stacks.build_request import BuildRequest
from stacks.container_build import image_request, standard_image_request
from stacks.model_build import model_request
from stacks.settings import BuiltImage
from stacks.source_commit import SourceCommit
from stacks.source_tree import read_source_tree

from .conftest import ROOT

DECLARATION = "model_packaging/declarations/smollm2-135m-instruct-q8_0.toml"
AUTHOR = ("-c", "user.name=tester", "-c", "user.email=tester@example.com")
BASE, COMPILED = BuiltImage(libraries="base"), BuiltImage(libraries="compiled")
OTHER_DECLARATION = "model_packaging/declarations/qwen3.5-4b-q4_k_m.toml"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what builds are made from, to be changed."""
    for folder in ("container", "model_packaging"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def requests(root: Path) -> dict[str, BuildRequest]:
    return {
        "image": image_request(root, target="cpu", image=BASE),
        "model": model_request(root, declaration=DECLARATION, compression="gzip"),
    }


def triggers(root: Path) -> dict[str, str]:
    return {kind: request.trigger for kind, request in requests(root).items()}


def append(path: str) -> Callable[[Path], object]:
    def change(root: Path) -> None:
        with (root / path).open("a") as file:
            file.write("\n# changed\n")

    return change


def flip_a_byte(path: str) -> Callable[[Path], object]:
    def change(root: Path) -> None:
        content = bytearray((root / path).read_bytes())
        content[-2] ^= 1
        (root / path).write_bytes(content)

    return change


def create(path: str) -> Callable[[Path], object]:
    def change(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("new\n")

    return change


@pytest.mark.parametrize(
    ("change", "rebuilt"),
    [
        (append("container/decision_server/scoring.py"), {"image"}),
        (flip_a_byte("container/decision_server/scoring.py"), {"image"}),
        (append("container/requirements.txt"), {"image"}),
        (append("container/buildspec.yml"), {"image"}),
        (append("container/image_build.py"), {"image"}),
        (append("container/requirements-build.txt"), {"image"}),
        (append("container/Dockerfile"), {"image"}),
        (create("container/decision_server/new_module.py"), {"image"}),
        (lambda root: (root / "container/decision_server/scoring.py").unlink(), {"image"}),
        (lambda root: (root / "container/serve").chmod(0o644), {"image"}),
        (lambda root: (root / "container/serve").rename(root / "container/server"), {"image"}),
        (append(DECLARATION), {"model"}),
        (flip_a_byte(DECLARATION), {"model"}),
        (append("model_packaging/__init__.py"), {"model"}),
        (append("model_packaging/buildspec.yml"), {"model"}),
        (append("model_packaging/requirements.txt"), {"model"}),
        (append("model_packaging/requirements-build.txt"), {"model"}),
        (append(OTHER_DECLARATION), set()),
        (create("model_packaging/declarations/third.toml"), set()),
        (create("container/decision_server/__pycache__/scoring.cpython-311.pyc"), set()),
        (create("container/.mypy_cache/3.11/x.json"), set()),
        (create("container/README.md"), set()),
        (create("model_packaging/model.gguf"), set()),
        (create("stacks/hosting.py"), set()),
        (create("client/decide.py"), set()),
        (lambda root: os.utime(root / "container/serve", (0, 0)), set()),
        (lambda root: (root / "container/decision_server/scoring.py").chmod(0o600), set()),
    ],
)
def test_a_change_rebuilds_exactly_what_it_shapes(
    checkout: Path, change: Callable[[Path], object], rebuilt: set[str]
) -> None:
    before = triggers(checkout)
    change(checkout)
    after = triggers(checkout)
    assert {kind for kind in before if before[kind] != after[kind]} == rebuilt


def test_a_new_base_image_rebuilds_the_image(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = triggers(checkout)
    monkeypatch.setitem(container_build.BASE_IMAGES, "cpu", "public.ecr.aws/x/y@sha256:" + "0" * 64)
    after = triggers(checkout)
    assert before["image"] != after["image"]
    assert before["model"] == after["model"]


def test_the_two_targets_are_two_images(checkout: Path) -> None:
    assert (
        image_request(checkout, target="cpu", image=BASE).trigger
        != image_request(checkout, target="cuda", image=BASE).trigger
    )


def test_whose_libraries_are_in_the_image_is_told_to_the_build_in_the_targets_own_word(checkout: Path) -> None:
    cpu, cuda = (image_request(checkout, target=target, image=COMPILED) for target in ("cpu", "cuda"))
    base = image_request(checkout, target="cuda", image=BASE)
    told = [request.variables["LIBRARIES"] for request in (cpu, cuda, base)]
    assert told == ["compiled-cpu", "compiled-cuda", "base"]
    assert base.trigger != cuda.trigger


def committed(checkout: Path, *paths: str) -> str:
    """Commits what lies in `paths`; the new commit."""
    subprocess.run(["git", "-C", str(checkout), "add", *paths], check=True)
    subprocess.run(["git", "-C", str(checkout), *AUTHOR, "commit", "--quiet", "--message", "x"], check=True)
    head = subprocess.run(["git", "-C", str(checkout), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    return head.stdout.strip()


def test_a_request_names_the_last_commit_that_touched_its_source_and_no_other(checkout: Path) -> None:
    assert [request.commit for request in requests(checkout).values()] == [None, None]  # no history, nothing made up
    subprocess.run(["git", "init", "--quiet", str(checkout)], check=True)
    before = triggers(checkout)
    container = committed(checkout, "container")
    model = committed(checkout, "model_packaging")
    append(OTHER_DECLARATION)(checkout)
    committed(checkout, OTHER_DECLARATION)
    create("container/README.md")(checkout)
    committed(checkout, "container/README.md")
    found = {kind: request.commit for kind, request in requests(checkout).items()}
    assert found == {
        "image": SourceCommit(commit=container, changed=False),
        "model": SourceCommit(commit=model, changed=False),
    }
    assert triggers(checkout) == before  # a commit by itself builds nothing anew
    (checkout / "container/serve").unlink()
    append(DECLARATION)(checkout)
    assert all(request.commit and request.commit.changed for request in requests(checkout).values())


@pytest.mark.parametrize(
    ("changed", "copies_anew"),
    [
        ("container/decision_server/scoring.py", False),
        ("container/Dockerfile", False),
        ("container/image_build.py", True),
        ("container/image_order.py", True),
        ("container/buildspec.yml", True),
    ],
)
def test_the_standard_image_is_copied_anew_for_a_change_of_how_it_is_copied_and_not_for_one_of_our_server(
    checkout: Path, changed: str, copies_anew: bool
) -> None:
    before = standard_image_request(checkout, target="cpu").trigger
    append(changed)(checkout)
    assert (standard_image_request(checkout, target="cpu").trigger != before) is copies_anew


def test_each_declaration_is_a_build_of_its_own(checkout: Path) -> None:
    shutil.copyfile(checkout / DECLARATION, checkout / OTHER_DECLARATION)
    same_text = model_request(checkout, declaration=OTHER_DECLARATION, compression="gzip")
    assert same_text.trigger != model_request(checkout, declaration=DECLARATION, compression="gzip").trigger


def test_two_checkouts_give_the_same_trigger_and_the_same_bytes(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    previous = os.umask(0o077)
    try:
        for folder in ("model_packaging", "container"):
            shutil.copytree(checkout / folder, other / folder, copy_function=shutil.copyfile)
        (other / "container/serve").chmod(0o700)
    finally:
        os.umask(previous)
    assert triggers(checkout) == triggers(other)
    for kind, request in requests(checkout).items():
        one, two = tmp_path_factory.mktemp("zip") / "one.zip", tmp_path_factory.mktemp("zip") / "two.zip"
        request.source.write_zip(one)
        requests(other)[kind].source.write_zip(two)
        assert one.read_bytes() == two.read_bytes()


def test_the_zip_holds_the_files_with_their_folders_and_permissions(checkout: Path, tmp_path: Path) -> None:
    (checkout / "container/serve").chmod(0o755)
    image_request(checkout, target="cpu", image=BASE).source.write_zip(tmp_path / "source.zip")
    with zipfile.ZipFile(tmp_path / "source.zip") as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        assert archive.read("container/serve") == (checkout / "container/serve").read_bytes()
    assert entries["container/serve"].external_attr >> 16 == 0o100755
    assert entries["container/requirements.txt"].external_attr >> 16 == 0o100644
    assert all(name.startswith("container/") for name in entries)
    assert {entry.date_time for entry in entries.values()} == {(1980, 1, 1, 0, 0, 0)}


def test_the_models_source_holds_the_one_declaration_that_is_asked_for(checkout: Path) -> None:
    files = [file.path for file in model_request(checkout, declaration=DECLARATION, compression="gzip").source.files]
    assert [path for path in files if path.endswith(".toml")] == [DECLARATION]
    assert "model_packaging/buildspec.yml" in files


def test_a_symbolic_link_in_a_source_is_refused(checkout: Path) -> None:
    (checkout / "container/link.py").symlink_to(checkout / "container/serve")
    with pytest.raises(ValueError, match=r"container/link\.py: a symbolic link"):
        read_source_tree(checkout, "container")
