"""A GGUF whose header lies ends the server's start with one line, and never inside native code."""

from __future__ import annotations

import struct
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from gguf import GGUFReader
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from decision_server import gguf_check
from decision_server.gguf_check import Split
from decision_server.model_errors import StartupFailure
from tests.fixtures.hostile_gguf import ABSURD, MONSTERS, with_entries, with_value, write_of_many_texts
from tests.fixtures.split_gguf import split_gguf
from tests.serving.server import SERVE, Server


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_good_models_pass(tiny_llama: Path, tiny_hybrid: Path) -> None:
    assert gguf_check.check(tiny_llama).split is None
    assert gguf_check.check(tiny_hybrid).split is None


def test_keys_and_values_are_counted_where_layers_keep_some(
    tiny_llama: Path, tiny_hybrid: Path, tmp_path: Path
) -> None:
    tensors = GGUFReader(tiny_llama).tensors
    kept = sum(int(each.shape[1]) for each in tensors if each.name.endswith(("attn_k.weight", "attn_v.weight")))
    assert gguf_check.check(tiny_llama).token_values == kept > 0
    parts = split_gguf(tiny_llama, tmp_path, stem="tiny", count=3)
    assert sum(gguf_check.check(each).token_values for each in parts) == kept
    assert gguf_check.check(tiny_hybrid).token_values == 2 * 32  # its other layers keep a state of one size
    sharing = _written(tmp_path / "sharing.gguf", with_entries(tiny_llama, **{"attention.shared_kv_layers": 1}))
    assert gguf_check.check(sharing).token_values == kept // 2


def test_a_part_says_which_one_it_is(tiny_llama: Path, tmp_path: Path) -> None:
    parts = split_gguf(tiny_llama, tmp_path, stem="tiny", count=3)
    assert [gguf_check.check(each).split for each in parts] == [Split(number=n, count=3) for n in (1, 2, 3)]


@pytest.mark.parametrize("name", MONSTERS)
def test_a_header_that_claims_what_cannot_be_is_one_line_and_takes_no_memory(tmp_path: Path, name: str) -> None:
    path = _written(tmp_path / "m.gguf", MONSTERS[name])
    tracemalloc.start()
    try:
        with pytest.raises(StartupFailure) as caught:
            gguf_check.check(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    assert str(caught.value).startswith(f"model: {path}")
    assert len(str(caught.value).splitlines()) == 1


def test_texts_that_nobody_asks_for_take_no_memory(tmp_path: Path) -> None:
    path = write_of_many_texts(tmp_path / "m.gguf", texts=40, text_bytes=16 << 20)
    tracemalloc.start()
    try:
        assert gguf_check.check(path).split is None
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_keys_of_more_bytes_than_any_model_has_are_refused_on_the_way(tmp_path: Path) -> None:
    path = write_of_many_texts(tmp_path / "m.gguf", texts=40, key_bytes=8 << 20, text_bytes=1)
    tracemalloc.start()
    try:
        with pytest.raises(StartupFailure, match=r"a metadata key brings keys and names to .* 33554432 allowed"):
            gguf_check.check(path)
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("key", "value", "expected"), ABSURD)
def test_values_at_which_llama_cpp_ends_the_process_are_refused(
    tiny_llama: Path, tmp_path: Path, key: str, value: bytes, expected: str
) -> None:
    with pytest.raises(StartupFailure, match=expected):
        gguf_check.check(_written(tmp_path / "m.gguf", with_value(tiny_llama, key, value)))


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({"expert_count": 8}, "expert_used_count is 0; of 8 experts 1 to 8 can be used"),
        ({"expert_used_count": 2}, "expert_used_count is 2; of 0 experts none can be used"),
        ({"expert_count": 8, "expert_used_count": 9}, "expert_used_count is 9; of 8 experts 1 to 8 can be used"),
        ({"expert_count": 1025, "expert_used_count": 2}, "expert_count is 1025; a layer has 0 to 1024 experts"),
        ({"nextn_predict_layers": 3}, "nextn_predict_layers is 3; of 2 layers 0 to 2 can be such"),
    ],
)
def test_counts_that_contradict_each_other_are_refused_by_name(
    tiny_llama: Path, tmp_path: Path, numbers: dict[str, int], expected: str
) -> None:
    with pytest.raises(StartupFailure, match=expected):
        gguf_check.check(_written(tmp_path / "m.gguf", with_entries(tiny_llama, **numbers)))


@pytest.mark.parametrize(
    "numbers",
    [
        {"expert_count": 0, "expert_used_count": 0},
        {"expert_count": 1024, "expert_used_count": 1024},
        {"nextn_predict_layers": 2},
    ],
)
def test_counts_that_llama_cpp_can_refuse_itself_are_left_to_it(
    tiny_llama: Path, tmp_path: Path, numbers: dict[str, int]
) -> None:
    path = _written(tmp_path / "m.gguf", with_entries(tiny_llama, **numbers))
    gguf_check.check(path)
    code = (
        "import sys, llama_cpp\n"
        "llama_cpp.llama_backend_init()\n"
        "llama_cpp.llama_model_load_from_file(sys.argv[1].encode(), llama_cpp.llama_model_default_params())\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, check=False).returncode == 0


def test_every_truncation_is_found(tiny_llama: Path, tmp_path: Path) -> None:
    data = tiny_llama.read_bytes()
    for length in (0, 3, 4, 23, 24, 100, 5000, 20_000, len(data) // 2):
        with pytest.raises(StartupFailure):
            gguf_check.check(_written(tmp_path / "m.gguf", data[:length]))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 12_000), data=st.binary(min_size=1, max_size=9))
def test_any_change_of_the_header_passes_or_is_refused_but_is_never_anything_else(
    tiny_llama: Path, tmp_path: Path, place: int, data: bytes
) -> None:
    changed = bytearray(tiny_llama.read_bytes())
    changed[place : place + len(data)] = data
    said = ""
    try:
        gguf_check.check(_written(tmp_path / "m.gguf", bytes(changed)))
    except StartupFailure as refused:
        said = str(refused)
    assert "\n" not in said


def test_what_llama_cpp_alone_stumbles_over_still_ends_the_server_with_a_line_that_names_the_model(
    tiny_hybrid: Path, tmp_path: Path
) -> None:
    """A number that only one architecture knows, and by which its code divides."""
    data = with_value(tiny_hybrid, "qwen35.full_attention_interval", struct.pack("<I", 0))
    model = _written(tmp_path / "m.gguf", data)
    with Server(SERVE, tmp_path / "log", {"DECISION_MODEL_PATH": str(model)}, wait=False) as server:
        assert server.process.wait(30) == 3
    assert f"llama.cpp cannot load the model in {model}" in server.log_line("the worker ended unexpectedly")["message"]
    assert sum("Booting worker" in line["message"] for line in server.log) == 1


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (MONSTERS["2^40 tensors"], "it claims 1099511627776 tensors; 65536 allowed"),
        (MONSTERS["an array of 2^40 texts"], "the array 'a' of 1099511627776 texts needs"),
        (None, "block_count is 0; a model has 1 to 512 layers"),
    ],
)
def test_a_server_that_is_given_one_ends_with_one_line(
    tiny_llama: Path, tmp_path: Path, data: bytes | None, expected: str
) -> None:
    absurd = with_value(tiny_llama, "llama.block_count", struct.pack("<I", 0))
    model = _written(tmp_path / "m.gguf", absurd if data is None else data)
    with Server(SERVE, tmp_path / "log", {"DECISION_MODEL_PATH": str(model)}, wait=False) as server:
        assert server.process.wait(30) == 3
    assert expected in server.log_line("load_failed")["error"]
    assert sum("Booting worker" in line["message"] for line in server.log) == 1
    assert "GGML_ASSERT" not in server.err
