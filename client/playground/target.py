"""What the page has to know of whom it asks: to name it, and to write the same request as code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from client.errors import Refused
from client.transport.exchange import Request, Upstream, Whole, json_object
from client.transport.failures import Failure
from client.transport.local_model import LocalServer
from client.transport.sagemaker import SageMakerEndpoint
from client.transport.targets import LocalTarget, SageMakerTarget, Target, UrlTarget

FIRST_LOOK_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True)
class TargetFacts:
    """kind: `model`, `url` or `endpoint`. url: where a plain server answers. api_key_variable: the environment variable
    that holds its key; the key itself never gets to the page. settings: of a model's server, as names and values.
    no_prompts: why prompts cannot be shown; None where they can.
    """

    kind: str
    name: str
    models: tuple[str, ...]
    no_prompts: str | None
    url: str | None = None
    endpoint_name: str | None = None
    region: str | None = None
    model_path: str | None = None
    api_key_variable: str | None = None
    settings: tuple[tuple[str, str], ...] = ()


def facts_of(
    target: Target, upstream: Upstream, *, api_key_variable: str | None, no_prompts: str | None
) -> TargetFacts:
    """Asks for the models once, so that a wrong name, right or region shows at the start. Raises Refused."""
    models = _models(upstream)
    match target:
        case LocalTarget():
            url = upstream.url if isinstance(upstream, LocalServer) else None
            path = str(Path(target.model).resolve())
            return TargetFacts(
                kind="model",
                name=upstream.name,
                models=models,
                no_prompts=no_prompts,
                url=url,
                model_path=path,
                settings=target.settings,
            )
        case UrlTarget():
            return TargetFacts(
                kind="url",
                name=upstream.name,
                models=models,
                no_prompts=no_prompts,
                url=target.url.rstrip("/"),
                api_key_variable=api_key_variable,
            )
        case SageMakerTarget():
            region = upstream.region if isinstance(upstream, SageMakerEndpoint) else target.region
            return TargetFacts(
                kind="endpoint",
                name=upstream.name,
                models=models,
                no_prompts=no_prompts,
                endpoint_name=target.endpoint_name,
                region=region,
            )


def _models(upstream: Upstream) -> tuple[str, ...]:
    request = Request(method="GET", route="/v1/models", body=b"", headers={})
    try:
        answer = upstream.send(request, timeout=FIRST_LOOK_SECONDS)
    except Failure as failure:
        raise Refused(failure.message) from failure
    listed = json_object(answer.body).get("data") if isinstance(answer, Whole) else None
    if not isinstance(listed, list):
        status = answer.status if isinstance(answer, Whole) else 200
        raise Refused(
            f"{upstream.name} does not list its models (status {status}); it has to be a server of this project that "
            "is ready, and where it has a key that has to be given"
        )
    return tuple(str(each["id"]) for each in listed)
