"""The routes of contract 1, for callers that reach only `/invocations`: SageMaker passes on no path, but it passes on a
caller's custom attributes, and `route=/v1/systemone` among them names the route that is meant (contract 1.5).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_ATTRIBUTES = "HTTP_X_AMZN_SAGEMAKER_CUSTOM_ATTRIBUTES"
_READ = frozenset({"/v1/models", "/openapi.json"})  # answered to GET, which InvokeEndpoint cannot send


class NamedRoutes:
    """Around a WSGI application. An unknown route gets the application's own answer for one."""

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/invocations" and (route := named_route(environ.get(_ATTRIBUTES, ""))):
            environ["PATH_INFO"] = route
            if route in _READ and environ["REQUEST_METHOD"] == "POST":
                environ["REQUEST_METHOD"] = "GET"
        return self._application(environ, start_response)


def named_route(attributes: str) -> str | None:
    """attributes: separated by commas; those of a caller's own pass unread."""
    for each in attributes.split(","):
        name, _, value = each.strip().partition("=")
        if name == "route" and value.startswith("/"):
            return value
    return None
