"""ECR Public as far as a build needs it: the token that `docker login public.ecr.aws` is given."""

from __future__ import annotations

import base64
import time

from local.emulator.aws_errors import AwsError, Response, ok
from local.emulator.host import HttpRequest

SERVICE = "ecr-public"
PATTERNS = {
    "target_prefixes": ["SpencerFrontendService"],
    "host_patterns": [r"api\.ecr-public\."],
    "credential_scope": "ecr-public",
}
HALF_A_DAY = 43_200.0


def answer(request: HttpRequest) -> Response:
    operation = request.headers.get("x-amz-target", "").rpartition(".")[2]
    if operation != "GetAuthorizationToken":
        raise AwsError("UnknownOperationException", f"{operation or request.path} of ECR Public is not emulated.")
    token = base64.b64encode(b"AWS:emulated").decode()
    return ok({"authorizationData": {"authorizationToken": token, "expiresAt": time.time() + HALF_A_DAY}})
