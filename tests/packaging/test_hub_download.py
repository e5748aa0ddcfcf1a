"""Downloads from a server that behaves as the hub does: redirects, dropped connections, tokens, and every refusal."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from model_packaging.declaration import Declaration, read_declaration
from model_packaging.errors import PackagingError, UnavailableError
from model_packaging.hub import HubSettings, fetch_from_hub
from model_packaging.sources import HubSource
from tests.packaging.conftest import Declare, Ran, build_below, left_below
from tests.packaging.model_hub import FILE, REPO, REVISION, ModelHub, serve_model_hub

_TOKEN = "hf_secretsecretsecret"


def _build(path: Path, hub: ModelHub, tmp_path: Path, **environment: str) -> Ran:
    return build_below(tmp_path, path, HF_ENDPOINT=hub.url, **environment)


class _Fetch:
    """Runs `fetch_from_hub` in this process and notes how long it would have waited."""

    def __init__(self, hub: ModelHub, declaration: Declaration, partial: Path) -> None:
        self._hub, self._declaration, self.partial = hub, declaration, partial
        self.waits: list[float] = []
        self.storage_refuses_after_first_wait: list[int] = []

    def __call__(self) -> None:
        assert isinstance(self._declaration.source, HubSource)
        settings = HubSettings(endpoint=self._hub.url)
        fetch_from_hub(
            self._declaration.source,
            self._declaration.weights[0],
            self.partial,
            settings=settings,
            sleep=self._wait,
        )

    def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self._hub.storage_statuses += self.storage_refuses_after_first_wait
        self.storage_refuses_after_first_wait = []


@pytest.fixture
def fetch(hub: ModelHub, declare_hub: Declare, tmp_path: Path) -> _Fetch:
    return _Fetch(hub, read_declaration(declare_hub()), tmp_path / "weights.partial")


def test_a_pinned_file_is_downloaded_verified_and_taken_from_the_cache_next_time(
    hub: ModelHub, declare_hub: Declare, tmp_path: Path
) -> None:
    path = declare_hub()
    first = _build(path, hub, tmp_path).json
    assert first["manifest"]["source"] == {"kind": "hub", "repo": REPO, "revision": REVISION, "file": FILE}
    assert (first["manifest"]["repo"], first["manifest"]["revision"]) == (REPO, REVISION)
    assert [request.path for request in hub.requests] == [f"/{REPO}/resolve/{REVISION}/{FILE}", f"/blob/{FILE}"]
    second = _build(path, hub, tmp_path)
    assert second.json == first
    assert "taken from the cache" in second.err
    assert len(hub.requests) == 2
    assert left_below(tmp_path) == ["model.tar.gz", "provenance.json", "weights.gguf"]


def test_a_cached_file_that_changed_is_fetched_again(hub: ModelHub, declare_hub: Declare, tmp_path: Path) -> None:
    path = declare_hub()
    first = _build(path, hub, tmp_path).json
    (cached,) = tmp_path.glob("cache/*/weights.gguf")
    data = bytearray(cached.read_bytes())
    data[-1] ^= 1
    cached.write_bytes(data)
    again = _build(path, hub, tmp_path)
    assert again.json == first
    assert "has changed since it was verified" in again.err


def test_the_token_goes_to_the_hub_alone_and_shows_nowhere(hub: ModelHub, declare_hub: Declare, tmp_path: Path) -> None:
    ran = _build(declare_hub(), hub, tmp_path, HF_TOKEN=_TOKEN)
    assert [(request.host, request.authorization) for request in hub.requests] == [
        ("hub", f"Bearer {_TOKEN}"),
        ("storage", None),
    ]
    hub.statuses = [(401, {})]
    hub.content += b"x"  # another file, so that the cache does not answer
    refused = _build(declare_hub(bytes=len(hub.content), sha256="0" * 64), hub, tmp_path, HF_TOKEN=_TOKEN)
    assert _TOKEN not in json.dumps(ran.json) + ran.err + refused.err
    assert _TOKEN not in repr(HubSettings(endpoint="https://h", token=_TOKEN))


def test_a_dropped_connection_is_resumed_where_it_ended(hub: ModelHub, fetch: _Fetch) -> None:
    hub.cut_after = [1000, 500]
    fetch()
    assert fetch.partial.read_bytes() == hub.content
    assert hub.ranges() == [None, "bytes=1000-", "bytes=1500-"]
    assert fetch.waits == [1.0, 1.0]  # each try brought something, so the waits do not grow


def test_a_connection_that_is_cut_at_every_megabyte_still_brings_the_file(
    hub: ModelHub, declare: Declare, tmp_path: Path, tiny: Path
) -> None:
    megabyte = 1 << 20
    padded = tmp_path / FILE
    padded.write_bytes(tiny.read_bytes() + bytes(7 * megabyte))
    hub.content = padded.read_bytes()
    source = {"kind": "hub", "repo": REPO, "revision": REVISION, "file": FILE}
    fetch = _Fetch(hub, read_declaration(declare(padded, source=source)), tmp_path / "weights.partial")
    whole = len(hub.content) // megabyte
    hub.cut_after = [megabyte] * whole
    fetch()
    assert hashlib.sha256(fetch.partial.read_bytes()).digest() == hashlib.sha256(hub.content).digest()
    assert hub.ranges() == [None, *(f"bytes={count * megabyte}-" for count in range(1, whole + 1))]
    assert fetch.waits == [1.0] * whole


def test_what_an_earlier_process_downloaded_is_kept_and_resumed(
    hub: ModelHub, declare_hub: Declare, tmp_path: Path
) -> None:
    path = declare_hub()
    folder = tmp_path / "cache" / hashlib.sha256(hub.content).hexdigest()
    folder.mkdir(parents=True)
    (folder / "weights.partial").write_bytes(hub.content[:2000])
    assert _build(path, hub, tmp_path).status == 0
    assert hub.ranges() == ["bytes=2000-"]


def test_a_host_that_does_not_resume_is_read_from_the_start(hub: ModelHub, fetch: _Fetch) -> None:
    hub.ignores_range = True
    hub.cut_after = [1000]
    fetch()
    assert fetch.partial.read_bytes() == hub.content


def test_a_host_that_takes_no_range_and_cuts_every_answer_does_not_keep_a_download_going(
    hub: ModelHub, fetch: _Fetch
) -> None:
    hub.refuses_ranges = True
    hub.cut_after = [1000] * 100
    with pytest.raises(UnavailableError, match=r"5 tries in a row failed, the last with: "):
        fetch()
    assert hub.ranges() == [None, "bytes=1000-", None, "bytes=1000-", None]


def test_bytes_that_come_again_from_a_host_that_does_not_resume_are_no_progress(hub: ModelHub, fetch: _Fetch) -> None:
    fetch.partial.write_bytes(hub.content[:900])
    hub.ignores_range = True
    hub.cut_after = [700, 600] * 50
    with pytest.raises(UnavailableError, match=r"5 tries in a row failed"):
        fetch()
    assert fetch.waits == [1.0, 2.0, 4.0, 8.0]


def test_a_host_that_does_not_resume_may_bring_more_each_time(hub: ModelHub, fetch: _Fetch) -> None:
    hub.ignores_range = True
    hub.cut_after = [100 * count for count in range(1, 10)]
    fetch()
    assert fetch.partial.read_bytes() == hub.content
    assert fetch.waits == [1.0] * 9


_NO_COUNTS = ("\u00b2", "9" * 5000, "-1", "1e3", " ", "0x10", "\u00bd")


@pytest.mark.parametrize("value", _NO_COUNTS)
def test_a_size_on_the_hub_that_is_no_count_says_nothing(hub: ModelHub, fetch: _Fetch, value: str) -> None:
    hub.hub_headers = {"X-Linked-Size": value}
    fetch()
    assert fetch.partial.read_bytes() == hub.content


@pytest.mark.parametrize("value", [*_NO_COUNTS, "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_a_time_to_wait_that_is_no_count_is_the_usual_one(hub: ModelHub, fetch: _Fetch, value: str) -> None:
    hub.statuses = [(429, {"Retry-After": value})]
    fetch()
    assert (fetch.partial.read_bytes(), fetch.waits) == (hub.content, [1.0])


@pytest.mark.parametrize("value", _NO_COUNTS)
def test_a_length_that_is_no_count_is_the_surroundings_fault_or_says_nothing(
    hub: ModelHub, fetch: _Fetch, value: str
) -> None:
    hub.storage_headers = {"Content-Length": value}
    with pytest.raises(UnavailableError, match="5 tries in a row failed"):
        fetch()


@pytest.mark.parametrize(
    "value",
    [
        "bytes \u00b2-\u00b2/\u00b2",
        f"bytes 1000-{'9' * 5000}/{'9' * 5000}",
        "bytes 1001-1999/2000",  # not what was asked for: appended, it would be a file of other bytes
        "bytes 0-1999/2000",
        "items 1000-1999/2000",
        "\x1b[2Jbytes",
    ],
)
def test_a_range_that_was_not_asked_for_is_not_appended(hub: ModelHub, fetch: _Fetch, value: str) -> None:
    fetch.partial.write_bytes(hub.content[:1000])
    hub.storage_headers = {"Content-Range": value}
    with pytest.raises(UnavailableError, match=r"the host sent range .*; 1000- was asked for\. ") as caught:
        fetch()
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500
    assert fetch.partial.read_bytes() == hub.content[:1000]


@pytest.mark.parametrize("encoding", ["gzip", "br", "\x1b[2J"])
def test_bytes_in_an_encoding_that_nobody_asked_for_are_refused(hub: ModelHub, fetch: _Fetch, encoding: str) -> None:
    hub.storage_headers = {"Content-Encoding": encoding}
    with pytest.raises(PackagingError, match=r"Content-Encoding .* came; identity was asked for") as caught:
        fetch()
    assert str(caught.value).isprintable()
    assert not fetch.partial.exists()


@pytest.mark.parametrize(
    "place", ["ftp://storage.example/blob", "http://[::1", "http://storage.example:x/", "file:///etc/passwd"]
)
def test_a_redirect_to_what_is_no_web_address_is_refused_at_once(hub: ModelHub, fetch: _Fetch, place: str) -> None:
    hub.statuses = [(302, {"Location": place})]
    with pytest.raises(PackagingError, match=r"302 to .*, which is no http or https address; check HF_ENDPOINT"):
        fetch()
    assert (len(hub.requests), fetch.waits) == (1, [])


def test_waits_grow_to_a_cap_and_then_the_download_gives_up_but_keeps_its_bytes(hub: ModelHub, fetch: _Fetch) -> None:
    fetch.partial.write_bytes(hub.content[:10])
    hub.statuses = [(503, {}), (500, {}), (429, {"Retry-After": "9999"}), (502, {}), (503, {})]
    with pytest.raises(
        UnavailableError, match=r"5 tries in a row failed, the last with: .*503 .*10 of \d+ bytes are kept"
    ):
        fetch()
    assert fetch.waits == [1.0, 2.0, 30.0, 8.0]
    assert fetch.partial.read_bytes() == hub.content[:10]


def test_an_address_that_the_storage_host_no_longer_serves_is_asked_for_anew(hub: ModelHub, fetch: _Fetch) -> None:
    """A redirect's address is signed for a while; a download may outlast it."""
    hub.cut_after = [1000]
    fetch.storage_refuses_after_first_wait = [403, 503, 429]
    fetch()
    assert fetch.partial.read_bytes() == hub.content
    assert [request.host for request in hub.requests] == ["hub", "storage"] * 5
    assert hub.ranges() == [None, *["bytes=1000-"] * 4]
    assert fetch.waits == [1.0, 2.0, 4.0, 8.0]


def test_a_storage_host_that_goes_on_refusing_is_the_surroundings_fault(hub: ModelHub, fetch: _Fetch) -> None:
    hub.storage_statuses = [403] * 5
    with pytest.raises(UnavailableError, match=r"403 Forbidden from the host that the hub redirected to"):
        fetch()
    assert len(hub.requests) == 10


def test_redirects_without_end_are_the_surroundings_fault(hub: ModelHub, fetch: _Fetch) -> None:
    hub.statuses = [(302, {"Location": f"{hub.url}/{REPO}/resolve/{REVISION}/{FILE}"})] * 40
    with pytest.raises(UnavailableError, match="redirect"):
        fetch()


def test_the_hub_may_be_busy_once(hub: ModelHub, fetch: _Fetch) -> None:
    hub.statuses = [(429, {"Retry-After": "7"})]
    fetch()
    assert (fetch.partial.read_bytes(), fetch.waits) == (hub.content, [7.0])


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (401, {"X-Error-Code": "RepoNotFound"}, "401 Unauthorized (RepoNotFound): the repository is private or does"),
        (403, {"X-Error-Code": "GatedRepo"}, "403 Forbidden (GatedRepo): it may be read with a token only; accept"),
        (404, {"X-Error-Code": "RevisionNotFound"}, "404 Not Found (RevisionNotFound): no such repository, revision"),
        (410, {}, "410 Gone: an answer that this does not know; check HF_ENDPOINT"),
    ],
)
def test_a_refusal_is_told_with_its_remedy_and_not_tried_again(
    hub: ModelHub, declare_hub: Declare, tmp_path: Path, status: int, headers: dict[str, str], expected: str
) -> None:
    hub.statuses = [(status, headers)]
    ran = _build(declare_hub(), hub, tmp_path)
    assert (ran.status, expected in ran.error) == (2, True), ran.err
    assert len(hub.requests) == 1
    assert left_below(tmp_path) == []


@pytest.mark.parametrize(("status", "expected"), [(401, "does not take the token"), (403, "token in HF_TOKEN may not")])
def test_a_refusal_of_a_token_says_so_and_shows_it_nowhere(
    hub: ModelHub, declare_hub: Declare, tmp_path: Path, status: int, expected: str
) -> None:
    hub.statuses = [(status, {})]
    ran = _build(declare_hub(), hub, tmp_path, HF_TOKEN="hf_wrong")
    assert (ran.status, expected in ran.error, "hf_wrong" in ran.err) == (2, True, False)


def test_the_hubs_own_hash_and_size_save_a_download_that_could_only_fail(
    hub: ModelHub, declare_hub: Declare, tmp_path: Path
) -> None:
    wrong_hash = _build(declare_hub(sha256="0" * 64), hub, tmp_path)
    assert (wrong_hash.status, f"on the hub; {'0' * 64} declared" in wrong_hash.error) == (2, True)
    wrong_size = _build(declare_hub(bytes=5), hub, tmp_path)
    assert (wrong_size.status, f"bytes: {len(hub.content)} on the hub; 5 declared" in wrong_size.error) == (2, True)
    assert left_below(tmp_path) == []


@pytest.mark.parametrize("damage", ["one byte", "shorter", "longer"])
def test_bytes_that_are_not_the_declared_ones_leave_nothing_and_the_next_try_starts_clean(
    hub: ModelHub, declare_hub: Declare, tmp_path: Path, damage: str
) -> None:
    path, good = declare_hub(), hub.content
    hub.announces = False
    changed = bytearray(good)
    changed[-7] ^= 1
    hub.content = {"one byte": bytes(changed), "shorter": good[:-1], "longer": good + b"\0"}[damage]
    failed = _build(path, hub, tmp_path)
    assert (failed.status, "declared" in failed.error) == (2, True)
    assert left_below(tmp_path) == []
    hub.content = good
    assert _build(path, hub, tmp_path).status == 0


def test_a_stream_of_unstated_length_is_cut_off_once_it_is_too_long(hub: ModelHub, fetch: _Fetch) -> None:
    whole = len(hub.content)
    hub.announces = hub.states_length = False
    hub.content += bytes(4 << 20)
    with pytest.raises(PackagingError, match=rf"on the hub; {whole} declared"):
        fetch()
    assert fetch.partial.stat().st_size <= whole


def test_a_git_lfs_pointer_is_called_by_its_name(hub: ModelHub, declare_hub: Declare, tmp_path: Path) -> None:
    hub.announces = False
    hub.content = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 3013027808\n"
    ran = _build(declare_hub(), hub, tmp_path)
    assert (ran.status, "this is a Git LFS pointer" in ran.error) == (2, True)
    assert "HF_ENDPOINT serves pointers in place of files; use an endpoint that resolves them" in ran.error
    assert left_below(tmp_path) == []


def test_a_hub_that_answers_from_another_commit_is_refused(hub: ModelHub, declare_hub: Declare, tmp_path: Path) -> None:
    hub.commit = "f" * 40
    ran = _build(declare_hub(), hub, tmp_path)
    assert (ran.status, f"the hub answers from commit {'f' * 40}" in ran.error) == (2, True)


@pytest.mark.parametrize("endpoint", ["ftp://hub", "hub.example", "https://", "https://hub?x=1"])
def test_an_endpoint_that_is_no_web_address_is_refused(endpoint: str) -> None:
    with pytest.raises(PackagingError, match="HF_ENDPOINT"):
        HubSettings.from_environment({"HF_ENDPOINT": endpoint})


def test_the_endpoint_is_the_public_hub_unless_set_and_may_end_in_a_slash() -> None:
    source = HubSource(repo=REPO, revision=REVISION, file="a folder/m.gguf")
    url = f"{REPO}/resolve/{REVISION}/a%20folder/m.gguf"
    assert HubSettings.from_environment({}).url(source) == f"https://huggingface.co/{url}"
    assert HubSettings.from_environment({"HF_ENDPOINT": "https://mirror/hf/"}).url(source) == f"https://mirror/hf/{url}"


@pytest.fixture
def closed_hub(tiny: Path) -> ModelHub:
    with serve_model_hub(tiny.read_bytes()) as server:
        pass
    return server


def test_a_hub_that_cannot_be_reached_is_the_surroundings_fault(
    closed_hub: ModelHub, declare_hub: Declare, tmp_path: Path
) -> None:
    fetch = _Fetch(closed_hub, read_declaration(declare_hub()), tmp_path / "weights.partial")
    with pytest.raises(UnavailableError, match="5 tries in a row failed"):
        fetch()
    assert fetch.waits == [1.0, 2.0, 4.0, 8.0]
