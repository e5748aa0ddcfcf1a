"""S3, Parameter Store and Secrets Manager of the emulator itself, through the official client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from local.emulator import role_sessions
from local.emulator.model_data import split_s3_url
from local.emulator.settings import EmulatorSettings


class Objects:
    """With the rights of the account, or of whose `credentials` (AWS_ variables) are given."""

    def __init__(
        self, settings: EmulatorSettings, credentials: Mapping[str, str] = role_sessions.ACCOUNT_CREDENTIALS
    ) -> None:
        self._settings, self._credentials = settings, credentials
        self._url, self._region = settings.url, settings.region

    def acting_with(self, credentials: Mapping[str, str]) -> Objects:
        return Objects(self._settings, credentials)

    def _client(self, service: str) -> Any:
        return boto3.client(
            service,  # type: ignore[call-overload,unused-ignore]
            endpoint_url=self._url,
            region_name=self._region,
            aws_access_key_id=self._credentials["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self._credentials["AWS_SECRET_ACCESS_KEY"],
            aws_session_token=self._credentials.get("AWS_SESSION_TOKEN"),
            config=Config(retries={"max_attempts": 1}, s3={"addressing_style": "path"}),
        )

    def open(self, bucket: str, key: str) -> IO[bytes]:
        """Raises FileNotFoundError."""
        try:
            body: IO[bytes] = self._client("s3").get_object(Bucket=bucket, Key=key)["Body"]
        except ClientError as error:
            raise FileNotFoundError(f"s3://{bucket}/{key}: {error}") from error
        return body

    def exists(self, url: str) -> bool:
        bucket, key = split_s3_url(url)
        if key.endswith("/"):
            return self._any_below(bucket, key)
        try:
            self._client("s3").head_object(Bucket=bucket, Key=key)
        except ClientError:
            return False
        return True

    def _any_below(self, bucket: str, prefix: str) -> bool:
        try:
            return bool(self.keys(bucket, prefix))
        except FileNotFoundError:
            return False

    def keys(self, bucket: str, prefix: str) -> list[str]:
        """Every key that begins with `prefix`, in order. Raises FileNotFoundError where the bucket cannot be listed."""
        try:
            pages = self._client("s3").get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
            return sorted(each["Key"] for page in pages for each in page.get("Contents", []))
        except ClientError as error:
            raise FileNotFoundError(f"s3://{bucket}/{prefix}: {error}") from error

    def put(self, bucket: str, key: str, body: bytes) -> None:
        """Raises FileNotFoundError where there is no such bucket."""
        try:
            self._client("s3").put_object(Bucket=bucket, Key=key, Body=body)
        except ClientError as error:
            raise FileNotFoundError(f"s3://{bucket}/{key}: {error}") from error

    def secret(self, kind: str, name: str) -> str:
        """kind: PARAMETER_STORE or SECRETS_MANAGER, as CodeBuild calls them. Raises LookupError where there is none."""
        try:
            if kind == "PARAMETER_STORE":
                return str(self._client("ssm").get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"])
            return str(self._client("secretsmanager").get_secret_value(SecretId=name)["SecretString"])
        except ClientError as error:
            raise LookupError(f"{kind} {name}: {error}") from error
