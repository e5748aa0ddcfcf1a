"""The one API key that a server may ask for (contract 2). Without the setting, every caller is let in."""

from __future__ import annotations

import hmac

from decision_server.errors import Refusal


def check_api_key(key: str | None, authorization: str | None) -> None:
    """key: the setting; None lets every `Authorization` pass unread. Raises Refusal, which quotes neither."""
    if key is None:
        return
    if authorization is None:
        raise Refusal("authentication_error", "Authorization: missing; send `Bearer` and the API key of this server")
    scheme, _, given = authorization.partition(" ")
    # compared in a time that says nothing of where the two differ
    if not hmac.compare_digest(given.strip().encode("latin-1"), key.encode()) or scheme.lower() != "bearer":
        raise Refusal(
            "authentication_error", "Authorization: not the API key of this server; send `Bearer` and the key"
        )
