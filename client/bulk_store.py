"""Where a run's parts, answers and record lie in S3. Knows keys and bytes, not what stands in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

from botocore.exceptions import ClientError

from client.aws import ABSENT, code_of

AT_ONCE = 8


class BulkStore:
    """input_uri, output_uri: s3://BUCKET/PREFIX/ of the endpoint's bulk jobs, each with its slash."""

    def __init__(self, s3: Any, *, input_uri: str, output_uri: str) -> None:
        self._s3 = s3
        self._bucket, self._input = split_uri(input_uri)
        self._output_bucket, self._output = split_uri(output_uri)

    def put_parts(self, job: str, parts: Iterable[tuple[str, bytes]]) -> None:
        """parts: name, content. Several at once; no more of them in memory than that."""
        rest = iter(parts)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            while batch := list(islice(rest, AT_ONCE)):
                list(pool.map(lambda part: self._put(f"{self._input}{job}/{part[0]}", part[1]), batch))

    def part(self, job: str, name: str) -> bytes:
        return self._get(self._bucket, f"{self._input}{job}/{name}")

    def put_record(self, run: str, content: bytes) -> None:
        """Beside the folder of the first job, whose prefix ends in a slash: no job reads it."""
        self._put(f"{self._input}{run}.json", content)

    def record(self, run: str) -> bytes | None:
        try:
            return self._get(self._bucket, f"{self._input}{run}.json")
        except ClientError as error:
            if code_of(error) not in ABSENT:
                raise
            return None

    def answered(self, job: str) -> dict[str, str]:
        """Name of each part that is answered → key of its answers. SageMaker puts them all below the job's folder."""
        found = {}
        for key in self._keys(f"{self._output}{job}/"):
            name = key.rsplit("/", 1)[-1]
            if name.endswith(".out"):
                found[name.removesuffix(".out")] = key
        return found

    def answers(self, key: str) -> bytes:
        return self._get(self._output_bucket, key)

    def where(self, run: str) -> str:
        return f"s3://{self._bucket}/{self._input}{run}"

    def _keys(self, prefix: str) -> Iterator[str]:
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._output_bucket, Prefix=prefix)
        for page in pages:
            for each in page.get("Contents", []):
                yield each["Key"]

    def _get(self, bucket: str, key: str) -> bytes:
        content: bytes = self._s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        return content

    def _put(self, key: str, content: bytes) -> None:
        self._s3.put_object(Bucket=self._bucket, Key=key, Body=content)


def split_uri(uri: str) -> tuple[str, str]:
    """`s3://BUCKET/KEY` → bucket, key."""
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return bucket, key
