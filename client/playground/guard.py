"""Who may talk to the page's server: the page itself, in the browser of whoever was told its address.

Other pages in the same browser reach loopback too, and through this server they would spend AWS credentials. They do
not know the token; should one guess it, browsers say from where a request comes, and a name that somebody else pointed
at 127.0.0.1 (DNS rebinding) shows in the Host.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass

_OWN_SITES = ("none", "same-origin")  # typed in or followed from a terminal; asked by the page itself
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, kw_only=True)
class Guard:
    """port: where this server listens, on loopback."""

    token: str
    port: int

    def objection(self, headers: Mapping[str, str]) -> str | None:
        """Why a request is not answered, whatever it asks for. headers: lower-case names."""
        hosts = (f"127.0.0.1:{self.port}", f"localhost:{self.port}")
        host = headers.get("host", "")
        if host not in hosts:
            return f"Host: {host[:100]!r}; {' or '.join(hosts)} is needed"
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return f"Origin: {origin[:100]!r}; pages of other origins are not answered"
        site = headers.get("sec-fetch-site", "none")
        if site not in _OWN_SITES:
            return f"Sec-Fetch-Site: {site[:100]!r}; other sites are not answered"
        return None

    def inside(self, path: str) -> str | None:
        """The path behind the token; None where that is not the right one."""
        given, _, rest = path.removeprefix("/").partition("/")
        return rest if hmac.compare_digest(given.encode(), self.token.encode()) and path.startswith("/") else None
