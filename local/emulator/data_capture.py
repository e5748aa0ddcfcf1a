"""Data capture: requests and answers of an endpoint as JSON lines in S3. SageMaker collects them; here each is a file
of its own.
"""

from __future__ import annotations

import base64
import json
import random
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from local.emulator.aws_errors import Response
from local.emulator.model_data import split_s3_url

PutObject = Callable[[str, str, bytes], None]  # bucket, key, content


def capture(
    config: Mapping[str, Any] | None,
    *,
    endpoint: str,
    request: tuple[Mapping[str, str], bytes],
    answer: Response,
    put: PutObject,
) -> None:
    """config: the endpoint configuration's DataCaptureConfig. request: lower-case headers, and the body. answer: that
    of InvokeEndpoint. Returns at once.
    """
    if not config or not config.get("EnableCapture"):
        return
    if random.random() * 100 >= config["InitialSamplingPercentage"]:
        return
    status, headers, body = answer
    if status != 200:  # answers that the container refuses are not captured
        return
    modes = {option["CaptureMode"] for option in config["CaptureOptions"]}
    types = config.get("CaptureContentTypeHeader", {})
    data: dict[str, Any] = {}
    if modes & {"Input", "InputAndOutput"}:
        kind = request[0].get("content-type", "application/octet-stream")
        data["endpointInput"] = _side("INPUT", kind, request[1], types)
    if modes & {"Output", "InputAndOutput"}:
        data["endpointOutput"] = _side("OUTPUT", headers["Content-Type"], body, types)
    now = time.gmtime()
    line = {
        "captureData": data,
        "eventMetadata": {"eventId": str(uuid.uuid4()), "inferenceTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", now)},
        "eventVersion": "0",
    }
    bucket, prefix = split_s3_url(config["DestinationS3Uri"])
    place = f"{endpoint}/{headers['x-Amzn-Invoked-Production-Variant']}/{time.strftime('%Y/%m/%d/%H/%M-%S', now)}"
    key = f"{prefix.rstrip('/')}/{place}-{uuid.uuid4()}.jsonl"
    content = json.dumps(line).encode() + b"\n"
    threading.Thread(target=put, args=(bucket, key, content), daemon=True, name="data-capture").start()


def _side(mode: str, content_type: str, body: bytes, types: Mapping[str, list[str]]) -> dict[str, str]:
    """As text where the configuration lists the content type, else in base64."""
    plain = content_type.partition(";")[0].strip()
    for key, encoding in (("JsonContentTypes", "JSON"), ("CsvContentTypes", "CSV")):
        if plain in types.get(key, []):
            return {
                "observedContentType": content_type,
                "mode": mode,
                "data": body.decode("utf-8", "replace"),
                "encoding": encoding,
            }
    data = base64.b64encode(body).decode()
    return {"observedContentType": content_type, "mode": mode, "data": data, "encoding": "BASE64"}
