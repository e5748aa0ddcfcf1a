"""How the emulator is addressed: the environment of the cdk command line and clients of the official SDK."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

ACCOUNT = "123456789012"  # the emulator's only one
REGION = "us-east-1"


def exports(url: str) -> dict[str, str]:
    """What a person sets to talk to the emulator with any AWS SDK or tool."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": REGION,
    }


def cdk_environment(url: str, *, base: Mapping[str, str], path_first: Path, cache: Path) -> dict[str, str]:
    """The environment of a cdk command that can reach the emulator and nothing else of AWS."""
    kept = {name: value for name, value in base.items() if not name.startswith(("AWS_", "CDK_"))}
    return {
        **kept,
        **exports(url),
        "AWS_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        # No profile of the user's may bring other credentials in.
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "CDK_DISABLE_VERSION_CHECK": "1",
        "CDK_HOME": str(cache / "cdk"),
        "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(cache / "jsii"),
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
        "NODE_NO_WARNINGS": "1",
        "NO_COLOR": "1",
        "PATH": os.pathsep.join([str(path_first), base.get("PATH", os.defpath)]),
    }


def client(service: str, url: str, *, read_timeout: float = 90.0) -> Any:
    return boto3.client(
        service,  # type: ignore[call-overload]
        endpoint_url=url,
        region_name=REGION,
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
        config=Config(retries={"max_attempts": 1}, read_timeout=read_timeout, s3={"addressing_style": "path"}),
    )
