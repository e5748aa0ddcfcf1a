"""Downloads one file of a model hub over HTTP, resuming what an earlier try left. Knows the hub's URLs and headers.

The hub answers `{endpoint}/{repo}/resolve/{revision}/{file}` with the bytes or with a redirect to a storage host. Only
the hub itself sees the token: httpx drops the Authorization header when a redirect leaves the origin.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx

from .errors import PackagingError, UnavailableError
from .integrity import check_start
from .pinned import PinnedFile
from .progress import progress, say
from .sources import HubSource, source_words

_MAX_TRIES_WITHOUT_PROGRESS = 5
_LONGEST_WAIT_SECONDS = 30.0
_LARGEST_POINTER_BYTES = 1024
_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,19})-([0-9]{1,19})/([0-9]{1,19})")
_COUNT = re.compile(r"[0-9]{1,19}")
_LONGEST_WORDS = 200  # of a header's value in a message
_SHA256 = re.compile(r"[0-9a-f]{64}")
_POINTER_REMEDY = (
    "HF_ENDPOINT serves pointers in place of files; use an endpoint that resolves them, such as https://huggingface.co"
)
_REMEDIES = {
    401: "the repository is private or does not exist; set HF_TOKEN to a token that may read it, or mend source.repo",
    403: "it may be read with a token only; accept the model's terms on its page and set HF_TOKEN",
    404: "no such repository, revision or file; mend the [source] table",
}
_REMEDIES_WITH_TOKEN = {
    401: "the hub does not take the token in HF_TOKEN, or has no such repository; use another, or mend source.repo",
    403: "the token in HF_TOKEN may not read it; accept the model's terms on its page, or use another token",
}


@dataclass(frozen=True, kw_only=True)
class HubSettings:
    """HF_ENDPOINT and HF_TOKEN, by the names other tools of the hub read them by. The token shows in no message."""

    endpoint: str
    token: str | None = field(default=None, repr=False)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> HubSettings:
        endpoint = environment.get("HF_ENDPOINT") or "https://huggingface.co"
        parts = urlsplit(endpoint)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
            raise PackagingError("HF_ENDPOINT: not an http or https address such as https://huggingface.co")
        token = environment.get("HF_TOKEN", "").strip() or None
        if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
            raise PackagingError("HF_TOKEN: holds characters that no token has")
        return cls(endpoint=endpoint.rstrip("/"), token=token)

    def url(self, source: HubSource) -> str:
        return f"{self.endpoint}/{source.repo}/resolve/{source.revision}/{quote(source.file)}"


class _TryAgainError(Exception):
    def __init__(self, reason: str, wait_seconds: float | None = None) -> None:
        super().__init__(reason)
        self.wait_seconds = wait_seconds


def fetch_from_hub(
    source: HubSource,
    wanted: PinnedFile,
    partial: Path,
    *,
    settings: HubSettings,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Appends to `partial` until it holds as many bytes as declared; the caller verifies them.

    Waits longer after each try that brought nothing (1, 2, 4, … 30 s, or what the hub asks for up to that) and gives up
    after five in a row. What was there before, and came again because a host does not resume, is nothing. Raises
    PackagingError for an answer that no further try mends, else UnavailableError.
    """
    headers = {"Accept-Encoding": "identity", "User-Agent": "decision-endpoint-model-packaging"}
    if settings.token is not None:
        headers["Authorization"] = f"Bearer {settings.token}"
    fruitless, most = 0, _size(partial)

    def check_redirect(response: httpx.Response) -> None:
        if response.has_redirect_location:
            _check_redirect(response, source)

    with httpx.Client(
        headers=headers,
        follow_redirects=True,
        timeout=httpx.Timeout(30.0),
        event_hooks={"response": [check_redirect]},
    ) as client:
        while _size(partial) < wanted.bytes:
            try:
                _attempt(client, settings.url(source), source, wanted, partial)
            except (_TryAgainError, httpx.TransportError) as error:
                fruitless = 1 if _size(partial) > most else fruitless + 1
                most = max(most, _size(partial))
                reason = str(error) or type(error).__name__
                if fruitless >= _MAX_TRIES_WITHOUT_PROGRESS:
                    raise UnavailableError(
                        f"{source_words(source)}: {fruitless} tries in a row failed, the last with: {reason}. "
                        f"{_size(partial)} of {wanted.bytes} bytes are kept; run the command again to go on"
                    ) from error
                asked = error.wait_seconds if isinstance(error, _TryAgainError) else None
                wait = min(_LONGEST_WAIT_SECONDS, 2.0 ** (fruitless - 1) if asked is None else asked)
                say(f"{reason}; trying again in {wait:.0f} s")
                sleep(wait)
            except httpx.HTTPError as error:
                raise UnavailableError(f"{source_words(source)}: {error}") from error


def _attempt(client: httpx.Client, url: str, source: HubSource, wanted: PinnedFile, partial: Path) -> None:
    have = _size(partial)
    headers = {"Range": f"bytes={have}-"} if have else {}
    with client.stream("GET", url, headers=headers) as response:
        _check_status(response, source, partial)
        _check_hub_facts(response, source, wanted)
        if have and response.status_code != 206:
            say("the host does not resume; starting over")
            partial.unlink()
            have = 0
        total = _total(response, have)
        if total is not None and total != wanted.bytes and total > _LARGEST_POINTER_BYTES:
            raise _wrong_size(source, total, wanted)
        label = f"downloading {source.file}"
        with partial.open("ab") as out, progress(label, wanted.bytes, done=have) as advance:
            for data in response.iter_raw():
                have += len(data)
                if have > wanted.bytes:
                    raise _wrong_size(source, total or have, wanted)
                out.write(data)
                advance(len(data))
    if have < wanted.bytes:
        if have == total:
            check_start(partial, wanted, source_words(source), pointer_remedy=_POINTER_REMEDY)
            raise _wrong_size(source, have, wanted)
        raise _TryAgainError(f"the connection ended after {have} of {wanted.bytes} bytes")


def _check_status(response: httpx.Response, source: HubSource, partial: Path) -> None:
    status = response.status_code
    if status == 416:
        partial.unlink(missing_ok=True)
        raise _TryAgainError("416: the host has no such range; starting over")
    code = response.headers.get("X-Error-Code")
    seen = f"{status} {response.reason_phrase}" + (f" ({_words(code)})" if code else "")
    if status == 429 or status >= 500:
        raise _TryAgainError(f"{source_words(source)}: {seen}", _retry_after(response))
    if response.history and status in _REMEDIES:
        # not the hub's answer but the storage host's: the address that the hub gave out has ended, and it gives others
        raise _TryAgainError(f"{source_words(source)}: {seen} from the host that the hub redirected to")
    if status not in {200, 206}:
        remedies = _REMEDIES | (_REMEDIES_WITH_TOKEN if "Authorization" in response.request.headers else {})
        remedy = remedies.get(status, "an answer that this does not know; check HF_ENDPOINT")
        raise PackagingError(f"{source_words(source)}: {seen}: {remedy}")
    encoding = response.headers.get("Content-Encoding", "identity")
    if encoding != "identity":
        raise PackagingError(
            f"{source_words(source)}: Content-Encoding {_words(encoding)} came; identity was asked for"
        )


def _check_hub_facts(response: httpx.Response, source: HubSource, wanted: PinnedFile) -> None:
    """Saves a long download that could only fail: the hub says the commit, size and sha256 before it redirects."""
    for answer in (*response.history, response):
        commit = answer.headers.get("X-Repo-Commit")
        if commit is not None and commit != source.revision:
            raise PackagingError(f"{source_words(source)}: the hub answers from commit {_words(commit)}")
        size = _count(answer, "X-Linked-Size")
        if size not in {None, wanted.bytes}:
            raise _wrong_size(source, size, wanted)
        digest = answer.headers.get("X-Linked-Etag", "").strip('"')
        if _SHA256.fullmatch(digest) and digest != wanted.sha256:
            raise PackagingError(f"{source_words(source)}: sha256: {digest} on the hub; {wanted.sha256} declared")


def _total(response: httpx.Response, have: int) -> int | None:
    """The whole file's size, as this answer states it. Raises _TryAgainError for a range that was not asked for."""
    if response.status_code == 206:
        match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if match is None or int(match[1]) != have:
            sent = response.headers.get("Content-Range")
            raise _TryAgainError(
                f"the host sent {'no range' if sent is None else f'range {_words(sent)}'}; {have}- was asked for"
            )
        return int(match[3])
    return _count(response, "Content-Length")


def _retry_after(response: httpx.Response) -> float | None:
    return _count(response, "Retry-After")  # a date is rare here, and the backoff does as well


def _count(response: httpx.Response, header: str) -> int | None:
    """None where the header is missing or says anything but a count: then nothing is made of it."""
    value: str = response.headers.get(header, "")
    return int(value) if _COUNT.fullmatch(value) else None


def _check_redirect(response: httpx.Response, source: HubSource) -> None:
    """httpx would tell such a place as it tells a broken connection, and that is tried again."""
    place: str = response.headers["Location"]
    try:
        target = response.url.join(place)
    except (httpx.InvalidURL, ValueError):
        target = None
    if target is None or target.scheme not in {"http", "https"} or not target.host:
        raise PackagingError(
            f"{source_words(source)}: {response.status_code} to {_words(place)}, which is no http or https address; "
            "check HF_ENDPOINT"
        )


def _words(value: str) -> str:
    """A header's value for a person's terminal: in quotes where it holds more than words, and never without end."""
    shown = value if value.isprintable() else repr(value)
    return shown if len(shown) <= _LONGEST_WORDS else f"{shown[:_LONGEST_WORDS]}…"


def _wrong_size(source: HubSource, seen: int | None, wanted: PinnedFile) -> PackagingError:
    return PackagingError(f"{source_words(source)}: bytes: {seen} on the hub; {wanted.bytes} declared")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
