"""What can be asked: a SageMaker endpoint, a server at a URL, or a model file, for which a server is started."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import urlsplit

import boto3
from botocore.exceptions import BotoCoreError

from client.errors import Refused
from client.transport.exchange import Upstream
from client.transport.local_model import LocalServer
from client.transport.plain_server import PlainServer
from client.transport.sagemaker import SageMakerEndpoint


@dataclass(frozen=True, kw_only=True)
class SageMakerTarget:
    """region, session: None, as every AWS tool finds them."""

    endpoint_name: str
    region: str | None = None
    session: boto3.Session | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class UrlTarget:
    """api_key: the server's DECISION_API_KEY, where it has one."""

    url: str
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class LocalTarget:
    """model: a .gguf or a model folder. settings: the server's, DECISION_… names with their values."""

    model: str
    settings: tuple[tuple[str, str], ...] = ()


Target: TypeAlias = "SageMakerTarget | UrlTarget | LocalTarget"


def silent(text: str) -> None:
    """For who wants to hear nothing of progress."""


def opened(target: Target, *, connections: int, say: Callable[[str], None]) -> Upstream:
    """Ready to be asked; `close` is owed. Raises Refused."""
    match target:
        case SageMakerTarget():
            return SageMakerEndpoint(_session(target), target.endpoint_name, connections=connections)
        case UrlTarget():
            return PlainServer(checked_url(target.url), connections=connections, api_key=_checked_key(target.api_key))
        case LocalTarget():
            return LocalServer(target.model, target.settings, connections=connections, say=say)


def checked_url(url: str) -> str:
    """Raises Refused."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise Refused(f"--url {url}: not a URL: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise Refused(f"--url {url}: not a URL such as http://127.0.0.1:8080")
    if "@" in parts.netloc:
        raise Refused("--url: it holds a password, which would be shown in messages. Remedy: use an API key instead")
    try:
        lacks = None if parts.hostname else "it names no host"
        lacks = "no server listens on port 0" if parts.port == 0 else lacks
    except ValueError as error:  # of the port
        lacks = str(error)
    if lacks is not None or not parts.netloc.isprintable() or " " in parts.netloc:
        raise Refused(f"--url {url}: not a URL such as http://127.0.0.1:8080: {lacks or 'a space is in its host'}")
    if parts.query or parts.fragment:
        raise Refused(f"--url {url}: a ? or # has no place in it. Remedy: end it with the host, the port or a path")
    if parts.path.rstrip("/").endswith("/v1"):
        root = parts._replace(path=parts.path.rstrip("/").removesuffix("/v1")).geturl()
        raise Refused(f"--url {url}: the routes are put behind it, /v1 among them. Remedy: --url {root}")
    return url


def _checked_key(key: str | None) -> str | None:
    if key is not None and not (key and key.isascii() and key.isprintable()):
        raise Refused("the API key is empty or has characters that no HTTP header can carry; look at where it is set")
    return key


def _session(target: SageMakerTarget) -> boto3.Session:
    try:
        session = target.session or boto3.Session(region_name=target.region)
        credentials = session.get_credentials()
    except BotoCoreError as error:
        raise Refused(f"no AWS credentials: {error}") from error
    if session.region_name is None:
        raise Refused("no AWS region. Remedy: --region REGION, or set AWS_DEFAULT_REGION or a profile")
    if credentials is None:
        raise Refused("no AWS credentials. Remedy: set AWS_PROFILE, or sign in with `aws sso login` or `aws configure`")
    return session
