"""Whom a command asks, as its arguments say it; the same for each command."""

from __future__ import annotations

import argparse
import math
import os

from client.errors import Refused
from client.transport.targets import LocalTarget, SageMakerTarget, Target, UrlTarget, checked_url

_MAX_PORT = 65535
_BESIDE = {"region": "endpoint_name", "api_key_env": "url", "setting": "model"}


def add_target(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    group = parser.add_argument_group("whom to ask, one of these")
    one = group.add_mutually_exclusive_group(required=required)
    one.add_argument("--endpoint-name", metavar="NAME", help="a SageMaker endpoint, such as decision-dev-scoring")
    one.add_argument("--url", help="a server, such as http://127.0.0.1:8080")
    one.add_argument("--model", metavar="PATH", help="a .gguf or a model folder: a server is started for it here")
    more = parser.add_argument_group("more of whom to ask")
    more.add_argument("--region", help="of the endpoint (default: as every AWS tool finds it)")
    more.add_argument("--api-key-env", metavar="VAR", help="the environment variable that holds the server's API key")
    more.add_argument(
        "--setting",
        metavar="NAME=VALUE",
        action="append",
        help="of the server that is started, such as DECISION_READOUT=letters; may be repeated",
    )


def target_named(options: argparse.Namespace) -> bool:
    """Of `add_target` with required=False: whether one was named."""
    return any(getattr(options, name) is not None for name in ("endpoint_name", "url", "model"))


def target_of(options: argparse.Namespace) -> Target:
    """Raises Refused."""
    for name, needed in _BESIDE.items():
        if getattr(options, name) is not None and getattr(options, needed) is None:
            raise Refused(f"{_flag(name)}: goes with {_flag(needed)} only")
    if options.endpoint_name is not None:
        return SageMakerTarget(endpoint_name=options.endpoint_name, region=options.region)
    if options.url is not None:
        return UrlTarget(url=checked_url(options.url), api_key=api_key(options.api_key_env))
    return LocalTarget(model=options.model, settings=tuple(_setting(each) for each in options.setting or ()))


def add_deadline(parser: argparse._ActionsContainer, *, default: float, of: str) -> None:
    parser.add_argument(
        "--deadline", metavar="SECONDS", type=seconds, default=default, help=f"for {of} (default: {default:g})"
    )


def seconds(text: str) -> float:
    """As argparse wants a type. Raises ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and 1 <= value <= 3600):
        raise argparse.ArgumentTypeError(f"{text!r}: a number from 1 to 3600 is needed")
    return value


def port(text: str) -> int:
    """As argparse wants a type. Raises ArgumentTypeError."""
    if not (text.isascii() and text.isdecimal() and int(text) <= _MAX_PORT):
        raise argparse.ArgumentTypeError(
            f"{text[:20]!r}: a whole number from 0, for a free one, to {_MAX_PORT} is needed"
        )
    return int(text)


def api_key(variable: str | None) -> str | None:
    """variable: the name of one of the environment's, so that no key stands on a command line. Raises Refused."""
    if variable is None:
        return None
    if not (key := os.environ.get(variable)):
        raise Refused(f"--api-key-env {variable}: no such variable, or an empty one. Remedy: export it, by its name")
    return key


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise Refused(f"--setting {text}: no =. Remedy: NAME=VALUE, such as DECISION_READOUT=letters")
    return (name if name.startswith("DECISION_") else f"DECISION_{name}"), value


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
