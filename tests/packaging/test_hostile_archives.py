"""An archive that was made to do harm is refused before its bytes count; it writes, follows and fills nothing."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from model_packaging.errors import PackagingError
from model_packaging.tar_members import TarMember, tar_members
from model_packaging.verify import verify
from tests.packaging.conftest import Declare, run_cli

_BLOCK = 512


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> bytes:
    """The tar inside a good archive."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "tiny.gguf").write_bytes(tiny.read_bytes())
    digest = hashlib.sha256(tiny.read_bytes()).hexdigest()
    (folder / "tiny.toml").write_text(
        f'name = "tiny"\nfile = "tiny.gguf"\nbytes = {tiny.stat().st_size}\nsha256 = "{digest}"\nlicence = "mit"\n'
        'source = {kind = "file", path = "tiny.gguf"}\n'
        'serving = {readout = "letters", prompt_version = "direct-options-v1", n_ctx = 1024}\n'
    )
    run_cli("build", folder / "tiny.toml", "--output", folder / "out").json  # noqa: B018 # asserts that it succeeded
    return gzip.decompress((folder / "out/model.tar.gz").read_bytes())


def _refused(tmp_path: Path, tar: bytes) -> str:
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(tar, 1))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(PackagingError) as caught:
        verify(path)
    assert sorted(tmp_path.rglob("*")) == before
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def _header(name: str, *, size: int = 0, kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    member = tarfile.TarInfo(name)
    member.size, member.type, member.linkname = size, kind, link
    return member.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    ("name", "kind", "link"),
    [
        ("../../etc/cron.d/x", tarfile.REGTYPE, ""),
        ("/etc/passwd", tarfile.REGTYPE, ""),
        ("a/../../x", tarfile.REGTYPE, ""),
        ("..\\x", tarfile.REGTYPE, ""),
        (".", tarfile.DIRTYPE, ""),
        ("weights.gguf", tarfile.SYMTYPE, "/etc/passwd"),
        ("weights.gguf", tarfile.SYMTYPE, "../../outside"),
        ("weights.gguf", tarfile.LNKTYPE, "/etc/shadow"),
        ("sda", tarfile.BLKTYPE, ""),
        ("mem", tarfile.CHRTYPE, ""),
        ("fifo", tarfile.FIFOTYPE, ""),
        ("odd", b"Z", ""),
        ("old", tarfile.CONTTYPE, ""),
    ],
)
def test_a_member_that_is_no_plain_file_of_a_plain_name_is_refused_wherever_it_stands(
    tmp_path: Path, plain: bytes, name: str, kind: bytes, link: str
) -> None:
    evil = _header(name, kind=kind, link=link)
    body = plain.rstrip(b"\0")
    body += bytes(-len(body) % _BLOCK)
    for tar in (evil + plain, body + evil + bytes(2 * _BLOCK)):
        said = _refused(tmp_path, tar)
        assert "is not a plain file name" in said or "is no regular file" in said or "the manifest lists" in said


def test_a_name_that_an_extended_header_replaces_is_the_one_that_counts(tmp_path: Path, plain: bytes) -> None:
    for format_ in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w", format=format_) as tar:
            member = tarfile.TarInfo("a" * 120 + "/../../escape")
            tar.addfile(member)
        assert "is not a plain file name" in _refused(tmp_path, made.getvalue() + plain)


@pytest.mark.parametrize("size", [1 << 30, (1 << 33) - 1])
def test_a_member_that_claims_more_than_is_there_is_damage(tmp_path: Path, plain: bytes, size: int) -> None:
    said = _refused(tmp_path, _header("tiny.gguf", size=size) + plain[_BLOCK:])
    assert "x.tar.gz: " in said


def test_a_sparse_member_of_a_terabyte_fills_nothing(tmp_path: Path) -> None:
    """Some readers make of a few bytes as many zeros as the header claims."""
    made = io.BytesIO()
    records = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(1 << 40)}
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo("manifest.json")
        member.pax_headers = {**records, "GNU.sparse.name": "manifest.json"}
        content = f"1\n{1 << 40}\n0\n".encode().ljust(_BLOCK, b"\0")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    assert "member 'manifest.json' is sparse" in _refused(tmp_path, made.getvalue())


def test_zeros_that_unpack_a_thousandfold_cost_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.tar.gz"
    with gzip.open(path, "wb", 9) as out:
        out.write(_header("tokenizer.json", size=1 << 30))
        for _ in range(256):
            out.write(bytes(1 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(PackagingError, match=r"'tokenizer\.json' has 1073741824 bytes; 67108864 allowed"):
            verify(path)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


_EXTENDED = [
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
]


def _extended(content: bytes, kind: bytes = tarfile.XHDTYPE) -> bytes:
    return _header("extended", size=len(content), kind=kind) + content + bytes(-len(content) % _BLOCK)


@pytest.mark.parametrize("kind", _EXTENDED)
def test_an_extended_header_of_a_gigabyte_is_refused_before_it_is_read(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "bomb.tar.gz"
    with gzip.open(path, "wb", 1) as out:
        out.write(_header("extended", size=1 << 30, kind=kind))
        for _ in range(64):
            out.write(b"a" * (1 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(PackagingError, match="an extended header of 1073741824 bytes; 65536 allowed"):
            verify(path)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", _EXTENDED)
def test_a_chain_of_extended_headers_is_refused(tmp_path: Path, plain: bytes, kind: bytes) -> None:
    assert "more than 4 extended headers" in _refused(tmp_path, _extended(b"", kind) * 5000 + plain)


@pytest.mark.parametrize(
    "content",
    [
        b"14 size=abcde\n",
        b"13 size=-512\n",
        b"11 size= 12\n",
        b"5010 size=" + b"9" * 4999 + b"\n",
        b"28 size=99999999999999999999\n",
        b"999999 size=1\n",
        b"9" * 5000 + b" size=1\n",
        b"0 size=1\n",
        b"3 size=1\n",
        b"no record",
        b"10 path=a\n 9 path=b\n",
        b"11 path=abc",
        b"2000 path=" + b"a" * 1989 + b"\n",
    ],
)
def test_an_extended_header_that_says_what_cannot_be_is_one_error(tmp_path: Path, plain: bytes, content: bytes) -> None:
    assert "x.tar.gz: damaged or not a .tar.gz: " in _refused(tmp_path, _extended(content) + plain)


@pytest.mark.parametrize("record", [b"10 path=a\n", b"9 size=1\n", b"22 GNU.sparse.major=1\n"])
def test_a_header_for_all_members_may_not_name_or_measure_them(tmp_path: Path, plain: bytes, record: bytes) -> None:
    assert "gives all members the same" in _refused(tmp_path, _extended(record, tarfile.XGLTYPE) + plain)


def test_extended_headers_of_other_tools_change_nothing(tmp_path: Path, plain: bytes) -> None:
    path = tmp_path / "x.tar.gz"
    harmless = _extended(b"17 comment=hello\n", tarfile.XGLTYPE) + _extended(b"20 mtime=1700000000\n")
    path.write_bytes(gzip.compress(harmless + plain, 1))
    assert verify(path).manifest.name == "tiny"


def test_a_size_that_only_an_extended_header_can_say_is_the_one_that_counts() -> None:
    content = bytes(range(200)) * 3
    tar = _extended(b"12 size=600\n") + _header("big", size=7) + content + bytes(-len(content) % _BLOCK)
    (member,) = [(each.name, each.size, each.content.read(10_000)) for each in _members(tar + _header("next"))][:1]
    assert member == ("big", 600, content)
    assert [each.name for each in _members(tar + _header("next"))] == ["big", "next"]  # also where it is not read


def _members(tar: bytes) -> Iterator[TarMember]:
    return tar_members(io.BytesIO(tar + bytes(2 * _BLOCK)), where="x.tar.gz")


def test_an_archive_without_its_end_mark_is_damage(tmp_path: Path, plain: bytes) -> None:
    body = plain.rstrip(b"\0")
    assert "it ends within a header" in _refused(tmp_path, body + bytes(-len(body) % _BLOCK))


def test_zeros_without_end_after_the_end_are_refused(tmp_path: Path, plain: bytes) -> None:
    assert "zeros follow the end of the archive" in _refused(tmp_path, plain + bytes(3 << 20))


def test_more_members_than_any_model_has_are_refused(tmp_path: Path) -> None:
    tar = b"".join(_header(f"file-{number}") for number in range(200))
    assert "is one too many; 128 allowed" in _refused(tmp_path, tar)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 4 * _BLOCK - 1), data=st.binary(min_size=1, max_size=16))
def test_any_change_near_the_headers_is_refused_or_changes_nothing(
    tmp_path: Path, plain: bytes, place: int, data: bytes
) -> None:
    tar = bytearray(plain)
    tar[place : place + len(data)] = data
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(bytes(tar), 0))
    try:
        manifest = verify(path).manifest
    except PackagingError:
        return
    assert manifest.name == "tiny"


def test_a_folder_with_a_device_or_a_folder_in_it_is_refused(declare: Declare, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    (folder / "inner").mkdir(parents=True)
    with pytest.raises(PackagingError, match="'inner' is no regular file"):
        verify(folder)
