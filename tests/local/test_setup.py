"""The set-up's own rules: what is compiled, where it is kept, when it begins again. The compiler is stood in for."""

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from local import setup

ROOT = Path(__file__).resolve().parents[2]
PIN = re.compile(r"[A-Za-z0-9._-]+==")

LOCK = """\
flask==3.1.3 \\
    --hash=sha256:aa
llama-cpp-python==0.3.36 \\
    --hash=sha256:bb
numpy==2.2.6 \\
    --hash=sha256:cc
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(setup, "ROOT", tmp_path / "checkout")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout" / "lock.txt").write_text(LOCK)
    return tmp_path / "checkout"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the compiler was asked for, a source each."""
    asked: list[str] = []

    def compile_(command: list[str], what: str, **variables: str) -> None:
        asked.append(Path(command[command.index("-r") + 1]).read_text())
        assert variables == {"CMAKE_ARGS": "-DLLAVA_BUILD=OFF"}
        folder = Path(command[command.index("-w") + 1])
        folder.mkdir()
        (folder / "llama_cpp_python-0.3.36-py3-none-any.whl").write_bytes(b"wheel")

    monkeypatch.setattr(setup, "run", compile_)
    return asked


def test_the_native_package_is_compiled_once_and_installed_by_the_hash_of_its_wheel(
    checkout: Path, compiled: list[str]
) -> None:
    for _ in range(2):
        lock = setup.with_native_wheel(checkout / "lock.txt", Path("python")).read_text()
    assert compiled == ["llama-cpp-python==0.3.36 \\\n    --hash=sha256:bb\n"]
    assert lock.count("--hash=sha256:") == 3
    assert "llama-cpp-python @ file://" in lock
    assert "--hash=sha256:bb" not in lock
    assert "flask==3.1.3 \\\n    --hash=sha256:aa\n" in lock


def test_nothing_is_left_half_made_when_compiling_fails(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(command: list[str], what: str, **variables: str) -> None:
        raise setup.SetupError("no compiler")

    monkeypatch.setattr(setup, "run", fail)
    with pytest.raises(setup.SetupError, match="no compiler"):
        setup.with_native_wheel(checkout / "lock.txt", Path("python"))
    assert list((checkout.parent / "cache" / "decision-endpoint" / "wheels").iterdir()) == []


def test_a_cache_that_cannot_be_written_is_named_before_anything_is_compiled(
    checkout: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = checkout.parent / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    with pytest.raises(setup.SetupError, match=r"cannot be written.*XDG_CACHE_HOME"):
        setup.with_native_wheel(checkout / "lock.txt", Path("python"))
    assert compiled == []


def test_a_python_called_by_another_path_does_not_set_up_again(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = setup.fingerprint(checkout / "lock.txt")
    monkeypatch.setattr("sys.executable", "/elsewhere/python3")
    assert setup.fingerprint(checkout / "lock.txt") == before
    (checkout / "lock.txt").write_text(LOCK + "\n")
    assert setup.fingerprint(checkout / "lock.txt") != before


SOURCES = sorted([*ROOT.glob("*requirements*.in"), *ROOT.glob("*/*requirements*.in")])


@pytest.mark.parametrize("source", SOURCES, ids=lambda each: str(each.relative_to(ROOT)))
def test_every_list_of_packages_has_a_lock_beside_it_that_pins_each_of_them(source: Path) -> None:
    lock = source.with_suffix(".txt")
    assert lock.is_file(), f"{lock}: missing. Remedy: a line for it in the Makefile, and make lock"
    pinned = {canonicalize_name(line.split("==")[0]) for line in lock.read_text().splitlines() if PIN.match(line)}
    assert names(source) - pinned == set()


def test_every_list_of_packages_is_locked_by_the_makefile() -> None:
    recipe = (ROOT / "Makefile").read_text()
    assert SOURCES
    for source in SOURCES:
        name = str(source.relative_to(ROOT))
        assert f"{name} -o {name.removesuffix('.in')}.txt" in recipe


def names(source: Path) -> set[str]:
    """Of a list and of those that it includes."""
    found: set[str] = set()
    for line in source.read_text().splitlines():
        told = line.split(" #")[0].strip()
        if told.startswith("-r "):
            found |= names(source.parent / told.removeprefix("-r ").strip())
        elif told and not told.startswith(("#", "-c ")):
            found.add(canonicalize_name(Requirement(told).name))
    return found
