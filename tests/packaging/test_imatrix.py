"""An importance matrix is read in both formats of llama.cpp, and whatever else a file holds is a clear error."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from model_packaging.errors import PackagingError
from model_packaging.imatrix import read_imatrix
from tests.packaging.imatrices import sums_of, write_dat, write_gguf

_ENTRY = struct.pack("<i", 1) + b"t" + struct.pack("<ii", 2, 3) + struct.pack("<3f", 2, 4, 6)


def test_both_formats_give_the_same_means(tiny: Path, tmp_path: Path) -> None:
    old, new = read_imatrix(write_dat(tiny, tmp_path / "m.dat")), read_imatrix(write_gguf(tiny, tmp_path / "m.gguf"))
    assert (old.format, new.format) == ("dat", "gguf")
    assert old.means == new.means
    for name, sums in sums_of(tiny).items():
        assert (np.array(old.means[name]) == sums / np.float32(4)).all()


def test_what_was_never_seen_counts_as_it_does_in_llama_cpp(tmp_path: Path) -> None:
    path = tmp_path / "m.dat"
    path.write_bytes(struct.pack("<i", 1) + _ENTRY)
    assert list(read_imatrix(path).means["t"]) == [1.0, 2.0, 3.0]
    path.write_bytes(struct.pack("<i", 1) + _ENTRY.replace(struct.pack("<ii", 2, 3), struct.pack("<ii", 0, 3)))
    assert list(read_imatrix(path).means["t"]) == [2.0, 4.0, 6.0]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "the number of matrices needs 4 bytes"),
        (struct.pack("<i", 0), "the number of matrices is 0; 1 to 65536 allowed: this is no importance matrix"),
        (struct.pack("<i", 2**31 - 1) + _ENTRY, "the number of matrices is 2147483647"),
        (struct.pack("<ii", 1, 2**30), "the length of a name is 1073741824; 1 to 1024"),
        (struct.pack("<ii", 1, -1), "the length of a name is -1"),
        (struct.pack("<ii", 1, 1) + b"t" + struct.pack("<ii", 1, 2**30), "the number of values of 't' is 1073741824"),
        (struct.pack("<ii", 1, 1) + b"\xff", "a name is not UTF-8"),
        (struct.pack("<i", 2) + _ENTRY, "the length of a name needs 4 bytes and the file has 0 left"),
        (struct.pack("<i", 1) + _ENTRY[:-4] + struct.pack("<f", float("nan")), "'t' holds a value that is no finite"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
    ],
)
def test_a_file_that_is_none_is_named_with_what_is_wrong(tmp_path: Path, data: bytes, expected: str) -> None:
    path = tmp_path / "m.dat"
    path.write_bytes(data)
    with pytest.raises(PackagingError, match=expected) as caught:
        read_imatrix(path)
    assert str(caught.value).startswith(str(path))


def test_a_model_is_no_importance_matrix(tiny: Path) -> None:
    with pytest.raises(PackagingError, match=r"general\.type: None; an importance matrix has 'imatrix'"):
        read_imatrix(tiny)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=120))
@example(data=struct.pack("<i", 1) + _ENTRY)
@example(data=b"GGUF" + struct.pack("<IQQ", 3, 1, 0))
def test_any_bytes_are_read_or_refused_and_never_anything_else(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "m.dat"
    path.write_bytes(data)
    try:
        means = read_imatrix(path).means
    except PackagingError:
        return
    assert sum(map(len, means.values())) * 4 <= len(data)
