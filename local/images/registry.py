"""The OCI distribution API, as far as push and pull need it, against the registry of the emulator on this machine.

An AWS host name such as 123456789012.dkr.ecr.us-east-1.amazonaws.com is sent as the Host header; the connection goes to
the emulator's port. Everything that comes back is checked against its digest.
"""

from __future__ import annotations

import hashlib
import http.client
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

from local.images.errors import ImageError
from local.images.oci import DOCKER_MANIFEST, MANIFEST
from local.images.reference import Reference, digest_of

_TIMEOUT_SECONDS = 300
_CHUNK = 1 << 20


class Registry:
    def __init__(self, *, endpoint_url: str, reference: Reference) -> None:
        """Raises ImageError unless `endpoint_url` is plain HTTP on this machine: images made here are for it alone."""
        parts = urlsplit(endpoint_url)
        if parts.scheme != "http" or parts.hostname not in ("127.0.0.1", "localhost", "::1"):
            raise ImageError(
                f"registry endpoint {endpoint_url or '(not set)'}: an emulator on this machine is expected, "
                "http://127.0.0.1:<port>. Remedy: set AWS_ENDPOINT_URL; for a real account use the real docker"
            )
        self._host, self._port = parts.hostname, parts.port or 80
        self._registry, self._repository = reference.registry, reference.repository

    def check(self) -> None:
        with self._request("GET", "/v2/", expect=(200,)) as answer:
            answer.read()

    def has_blob(self, digest: str) -> bool:
        with self._request("HEAD", self._path("blobs", digest), expect=(200, 404)) as answer:
            return answer.status == 200

    def push_blob(self, digest: str, content: Path) -> None:
        with self._request("POST", self._path("blobs", "uploads/"), expect=(202,)) as answer:
            location = answer.headers["Location"]
        separator = "&" if "?" in location else "?"
        target = f"{_path_of(location)}{separator}digest={quote(digest)}"
        headers = {"Content-Length": str(content.stat().st_size), "Content-Type": "application/octet-stream"}
        with (
            content.open("rb") as body,
            self._request("PUT", target, body=body, headers=headers, expect=(201,)) as answer,
        ):
            _same_digest(answer.headers.get("Docker-Content-Digest"), digest, "blob")

    def push_manifest(self, reference: str, content: bytes, media_type: str) -> str:
        """Returns the digest, which the registry and this side computed alike."""
        headers = {"Content-Type": media_type}
        path = self._path("manifests", reference)
        with self._request("PUT", path, body=content, headers=headers, expect=(201,)) as answer:
            return _same_digest(answer.headers.get("Docker-Content-Digest"), digest_of(content), "manifest")

    def pull_manifest(self, digest: str) -> bytes:
        headers = {"Accept": f"{MANIFEST}, {DOCKER_MANIFEST}"}
        with self._request("GET", self._path("manifests", digest), headers=headers, expect=(200,)) as answer:
            content = answer.read()
        _same_digest(digest_of(content), digest, "manifest")
        return content

    def pull_blob(self, digest: str, target: Path) -> None:
        """Writes the blob to `target`, which is there only when its digest is right."""
        partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
        seen = hashlib.sha256()
        try:
            with self._request("GET", self._path("blobs", digest), expect=(200,)) as answer, partial.open("wb") as file:
                while chunk := answer.read(_CHUNK):
                    seen.update(chunk)
                    file.write(chunk)
            _same_digest(f"sha256:{seen.hexdigest()}", digest, "blob")
            os.replace(partial, target)
        finally:
            partial.unlink(missing_ok=True)

    def _path(self, kind: str, name: str) -> str:
        return f"/v2/{self._repository}/{kind}/{name}"

    @contextmanager
    def _request(
        self,
        method: str,
        path: str,
        *,
        expect: tuple[int, ...],
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[http.client.HTTPResponse]:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request(method, path, body=body, headers={"Host": self._registry, **(headers or {})})  # type: ignore[arg-type]  # bytes or a binary file
            answer = connection.getresponse()
            if answer.status not in expect:
                reason = answer.read(2000).decode(errors="replace")
                raise ImageError(f"registry {self._registry}: {method} {path} answered {answer.status}: {reason}")
            yield answer
        except OSError as error:
            raise ImageError(
                f"registry {self._registry}: no answer on port {self._port} ({error}). Remedy: start the emulator"
            ) from error
        finally:
            connection.close()


def _path_of(location: str) -> str:
    parts = urlsplit(location)
    return parts.path + (f"?{parts.query}" if parts.query else "")


def _same_digest(seen: str | None, wanted: str, what: str) -> str:
    if seen != wanted:
        raise ImageError(f"{what}: digest {wanted} expected, the registry has {seen}")
    return wanted
