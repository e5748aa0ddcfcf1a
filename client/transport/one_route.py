"""Which route a request is for: its path says it, or a custom attribute of SageMaker's, never both."""

from __future__ import annotations

from client.transport.exchange import Request
from client.transport.failures import Failure

CUSTOM = "x-amzn-sagemaker-custom-attributes"


def attributes_with_route(request: Request) -> str:
    """The custom attributes, the path's route among them. Raises Failure where more than one route is named."""
    attributes = [request.headers[CUSTOM]] if CUSTOM in request.headers else []
    if request.route != "/invocations":
        attributes.append(f"route={request.route}")
    routes = [each.strip() for each in ",".join(attributes).split(",") if each.strip().startswith("route=")]
    if len(routes) > 1:
        raise Failure(
            "repeated_route",
            f"{CUSTOM}: {' and '.join(routes)[:200]}; one route at most, by this header or the path",
        )
    return ",".join(attributes)
