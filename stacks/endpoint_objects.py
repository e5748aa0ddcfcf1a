"""Where in the artifact bucket an endpoint's own objects are (docs/interfaces.md section 5). Pure.

Each endpoint has its own prefixes, so that the role of one can neither read nor write what belongs to another.
"""

from __future__ import annotations

from dataclasses import dataclass

# SageMaker itself appends ENDPOINT/VARIANT/date/ to where it captures.
CAPTURE_ROOT = "capture"


@dataclass(frozen=True, kw_only=True)
class EndpointObjects:
    """Prefixes of keys; each ends in "/"."""

    endpoint_name: str

    @property
    def async_input(self) -> str:
        return f"async/{self.endpoint_name}/input/"

    @property
    def async_output(self) -> str:
        return f"async/{self.endpoint_name}/output/"

    @property
    def async_failures(self) -> str:
        return f"async/{self.endpoint_name}/failures/"

    @property
    def bulk_input(self) -> str:
        return f"bulk/{self.endpoint_name}/input/"

    @property
    def bulk_output(self) -> str:
        return f"bulk/{self.endpoint_name}/output/"

    @property
    def capture(self) -> str:
        return f"{CAPTURE_ROOT}/{self.endpoint_name}/"
