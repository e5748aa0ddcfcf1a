"""Encoded bodies: what is read, and that limits hold for what they stand for (contract 2)."""

import gzip
import tracemalloc
from collections.abc import Callable

import pytest
from backports.zstd import CompressionParameter, compress

from decision_server.content_encoding import decoded
from decision_server.errors import Refusal

BODY = b'{"decision": "' + bytes(range(32, 34)) * 400 + b'"}'
ENCODERS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": compress}


@pytest.mark.parametrize("encoding", [None, "", "identity", " Identity "])
def test_a_body_without_an_encoding_is_itself(encoding: str | None) -> None:
    assert decoded(BODY, encoding or None, max_bytes=10_000) == BODY


@pytest.mark.parametrize("encoding", ENCODERS)
def test_a_body_is_decoded_up_to_the_limit_and_refused_one_byte_past_it(encoding: str) -> None:
    sent = ENCODERS[encoding](BODY)
    assert decoded(sent, encoding.upper(), max_bytes=len(BODY)) == BODY
    with pytest.raises(Refusal, match=str(len(BODY) - 1)) as caught:
        decoded(sent, encoding, max_bytes=len(BODY) - 1)
    assert (caught.value.code, caught.value.status) == ("body_too_large", 413)


@pytest.mark.parametrize("encoding", ENCODERS)
def test_several_frames_are_one_body_and_many_tiny_ones_are_refused(encoding: str) -> None:
    encode = ENCODERS[encoding]
    assert decoded(encode(BODY[:100]) + encode(BODY[100:]), encoding, max_bytes=10_000) == BODY
    with pytest.raises(Refusal, match="frames"):
        decoded(encode(b"") * 1000, encoding, max_bytes=10_000)


@pytest.mark.parametrize("encoding", ENCODERS)
def test_a_bomb_is_refused_without_being_inflated(encoding: str) -> None:
    bomb = ENCODERS[encoding](bytes(256 << 20))
    assert len(bomb) < 1 << 20
    tracemalloc.start()
    try:
        with pytest.raises(Refusal) as caught:
            decoded(bomb, encoding, max_bytes=1 << 20)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.value.code == "body_too_large"
    assert peak < 8 << 20


def test_a_zstd_window_larger_than_decoders_must_allow_is_refused() -> None:
    wide = compress(bytes(64 << 20), options={CompressionParameter.window_log: 27})
    with pytest.raises(Refusal) as caught:
        decoded(wide, "zstd", max_bytes=100 << 20)
    assert caught.value.code == "bad_encoding"


@pytest.mark.parametrize("encoding", ENCODERS)
@pytest.mark.parametrize("sent", [b"", b"plain text", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"])
def test_a_body_that_is_not_what_its_encoding_says_is_refused(encoding: str, sent: bytes) -> None:
    with pytest.raises(Refusal) as caught:
        decoded(sent, encoding, max_bytes=1000)
    assert (caught.value.code, caught.value.status) == ("bad_encoding", 400)


@pytest.mark.parametrize("encoding", ENCODERS)
def test_a_body_that_ends_too_early_is_refused(encoding: str) -> None:
    with pytest.raises(Refusal) as caught:
        decoded(ENCODERS[encoding](BODY)[:-3], encoding, max_bytes=10_000)
    assert caught.value.code == "bad_encoding"


@pytest.mark.parametrize("encoding", ["br", "deflate", "gzip, zstd", "x"])
def test_another_encoding_is_refused_by_name_with_those_that_are_read(encoding: str) -> None:
    with pytest.raises(Refusal, match="gzip, zstd, identity") as caught:
        decoded(BODY, encoding, max_bytes=10_000)
    assert (caught.value.status, encoding in caught.value.message) == (415, True)
