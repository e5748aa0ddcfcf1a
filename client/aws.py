"""The official SDK, opened once for a command. Credentials, profile, region and endpoint URL come from where every AWS
tool takes them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, NoRegionError

from client.errors import Refused

ABSENT = frozenset({"404", "NoSuchKey", "NotFound", "ResourceNotFound", "ValidationException", "ValidationError"})


Say: TypeAlias = Callable[[str], None]


class Clients(NamedTuple):
    cloudformation: Any
    s3: Any
    sagemaker: Any
    runtime: Any


def clients(region: str | None) -> Clients:
    """Raises Refused where no region is known. Throttled and lost calls are repeated a few times by the SDK."""
    session = boto3.Session(region_name=region)
    config = Config(retries={"mode": "standard", "max_attempts": 5})
    try:
        made = (
            session.client(name, config=config) for name in ("cloudformation", "s3", "sagemaker", "sagemaker-runtime")
        )
        return Clients(*made)
    except NoRegionError as error:
        raise Refused("no AWS region. Remedy: --region REGION, or set AWS_DEFAULT_REGION or a profile") from error


def with_clients(
    command: Callable[[argparse.Namespace, Clients, Say], int],
) -> Callable[[argparse.Namespace, Say], int]:
    """The command with the SDK opened for its --region."""
    return lambda options, say: command(options, clients(options.region), say)


def code_of(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
