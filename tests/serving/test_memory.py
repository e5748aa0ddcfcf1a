"""A context that the memory cannot hold ends the start with one line, and not with the container."""

from __future__ import annotations

from pathlib import Path

import pytest

from decision_server import memory, opening
from decision_server.config import load
from decision_server.memory import Available, available, require_room
from decision_server.model_errors import StartupFailure

_GIB = 1 << 30


def machine(root: Path, *, free: int, cgroup: str = "0::/\n", files: dict[str, str] | None = None) -> Path:
    """A file system with the kernel's files of a machine that has so many bytes free."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(cgroup)
    (root / "proc/meminfo").write_text(f"MemTotal: {2 * free // 1024} kB\nMemAvailable:  {free // 1024} kB\n")
    for name, text in (files or {}).items():
        place = root / "sys/fs/cgroup" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return root


def test_without_a_limit_it_is_what_the_machine_has_free(tmp_path: Path) -> None:
    root = machine(tmp_path, free=8 * _GIB, files={"memory.max": "max\n"})
    assert available(root=root) == Available(bytes=8 * _GIB, source="what this machine has free")


@pytest.mark.parametrize(
    ("cgroup", "file"),
    [
        ("0::/\n", "memory.max"),
        ("0::/a/b\n", "a/b/memory.max"),
        ("0::/a/b\n", "a/memory.max"),
        ("7:memory:/docker/x\n0::/\n", "memory/docker/x/memory.limit_in_bytes"),
        ("7:memory:/docker/x\n", "memory/memory.limit_in_bytes"),
    ],
)
def test_the_lowest_limit_of_the_container_holds(tmp_path: Path, cgroup: str, file: str) -> None:
    root = machine(tmp_path, free=8 * _GIB, cgroup=cgroup, files={file: f"{2 * _GIB}\n"})
    assert available(root=root) == Available(bytes=2 * _GIB, source="the container's memory limit")


def test_where_the_kernel_says_nothing_nothing_is_refused(tmp_path: Path) -> None:
    assert available(root=tmp_path) is None
    require_room(n_ctx=1 << 24, token_values=1 << 20, root=tmp_path)


def test_a_context_that_does_not_fit_is_refused_with_its_size_and_the_largest_that_would(tmp_path: Path) -> None:
    root = machine(tmp_path, free=8 * _GIB, files={"memory.max": str(_GIB)})
    require_room(n_ctx=8192, token_values=65536, root=root)  # exactly a GiB
    with pytest.raises(
        StartupFailure,
        match=r"^n_ctx: 8193 tokens need 1025 MiB for keys and values alone, 131072 bytes each; 1024 MiB are available "
        r"\(the container's memory limit\)\. Remedy: set DECISION_N_CTX to 8192 at most, or serve on an instance",
    ):
        require_room(n_ctx=8193, token_values=65536, root=root)


def test_a_model_whose_context_does_not_fit_is_refused_before_there_is_a_context(
    tiny_llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load({"DECISION_MODEL_PATH": str(tiny_llama), "DECISION_N_CTX": "4096"})
    needed = 4096 * 256

    def start(room: int) -> int:
        monkeypatch.setattr(memory, "available", lambda *, root: Available(bytes=room, source="the test"))
        monkeypatch.setattr(opening, "_begun", [])
        opening.begin(config)
        return opening.opened().model.n_ctx

    assert start(needed) == 4096
    with pytest.raises(StartupFailure, match=r"^n_ctx: 4096 tokens need 1 MiB .* \(the test\)\. .* to 4095 at most"):
        start(needed - 1)
