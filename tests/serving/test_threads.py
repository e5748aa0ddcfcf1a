"""The thread count comes from the CPU quota, physical cores first (F16)."""

from pathlib import Path

from decision_server.threads import choose


def machine(
    root: Path, *, cores: int, threads_a_core: int = 1, cgroup: str = "0::/\n", files: dict[str, str] | None = None
) -> Path:
    """A file system with the kernel's CPU topology and control group files of a machine."""
    for cpu in range(cores * threads_a_core):
        folder = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        folder.mkdir(parents=True)
        siblings = ",".join(str(cpu % cores + cores * n) for n in range(threads_a_core))
        (folder / "thread_siblings_list").write_text(siblings + "\n")
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(cgroup)
    for name, text in (files or {}).items():
        place = root / "sys/fs/cgroup" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return root


def test_a_quota_of_four_on_sixteen_visible_cores_gives_four(tmp_path: Path) -> None:
    root = machine(tmp_path, cores=16, files={"cpu.max": "400000 100000\n"})
    assert choose(None, root=root, cpus=set(range(16))).n_threads == 4


def test_without_a_limit_the_physical_cores_are_used(tmp_path: Path) -> None:
    root = machine(tmp_path, cores=8, threads_a_core=2, files={"cpu.max": "max 100000\n"})
    assert choose(None, root=root, cpus=set(range(16))).n_threads == 8


def test_a_quota_above_the_physical_cores_does_not_add_hyper_threads(tmp_path: Path) -> None:
    root = machine(tmp_path, cores=8, threads_a_core=2, files={"cpu.max": "1200000 100000\n"})
    assert choose(None, root=root, cpus=set(range(16))).n_threads == 8


def test_only_the_cpus_this_process_may_run_on_count(tmp_path: Path) -> None:
    root = machine(tmp_path, cores=8, threads_a_core=2)
    assert choose(None, root=root, cpus={0, 8, 1}).n_threads == 2


def test_a_fraction_of_a_cpu_gives_one_thread(tmp_path: Path) -> None:
    root = machine(tmp_path, cores=4, files={"cpu.max": "50000 100000\n"})
    assert choose(None, root=root, cpus=set(range(4))).n_threads == 1


def test_an_explicit_setting_wins_over_everything(tmp_path: Path) -> None:
    root = machine(tmp_path, cores=16, files={"cpu.max": "400000 100000\n"})
    assert choose(12, root=root, cpus=set(range(16))).n_threads == 12


def test_the_lowest_limit_among_the_parent_groups_counts(tmp_path: Path) -> None:
    files = {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "300000 100000\n"}
    root = machine(tmp_path, cores=16, cgroup="0::/a/b\n", files=files)
    assert choose(None, root=root, cpus=set(range(16))).n_threads == 3


def test_a_version_one_quota_is_read_too(tmp_path: Path) -> None:
    files = {"cpu,cpuacct/cpu.cfs_quota_us": "200000\n", "cpu,cpuacct/cpu.cfs_period_us": "100000\n"}
    root = machine(tmp_path, cores=16, cgroup="4:cpu,cpuacct:/docker/x\n0::/\n", files=files)
    assert choose(None, root=root, cpus=set(range(16))).n_threads == 2


def test_a_version_one_group_without_a_limit_gives_the_cores(tmp_path: Path) -> None:
    files = {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}
    root = machine(tmp_path, cores=16, cgroup="4:cpu:/\n", files=files)
    assert choose(None, root=root, cpus=set(range(16))).n_threads == 16


def test_hidden_topology_and_no_control_groups_count_the_cpus(tmp_path: Path) -> None:
    choice = choose(None, root=tmp_path, cpus={0, 1})
    assert choice.n_threads == 2
    assert "2 physical cores" in choice.reason
