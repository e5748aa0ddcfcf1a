"""An AWS account and region: the namespace every name of the control plane lives in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Scope:
    account: str
    region: str

    def sagemaker_arn(self, kind: str, name: str) -> str:
        return f"arn:aws:sagemaker:{self.region}:{self.account}:{kind}/{name}"

    def log_stream_arn(self, group: str, stream: str) -> str:
        return f"arn:aws:logs:{self.region}:{self.account}:log-group:{group}:log-stream:{stream}"
