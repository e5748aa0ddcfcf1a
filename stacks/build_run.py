"""The custom resource that runs one build when its trigger changes. Knows not what is built."""

from __future__ import annotations

import tempfile
from pathlib import Path

from aws_cdk import CustomResource
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from stacks.build_request import BuildRequest


class BuildRun(Construct):
    """Uploads the request's source as an asset and runs `project_name` on it. `attribute` reads the result.

    Exposes `trigger`: runs of the same build have the same.
    """

    def __init__(
        self, scope: Construct, id_: str, *, request: BuildRequest, project_name: str, service_token: str
    ) -> None:
        super().__init__(scope, id_)
        self.trigger = request.trigger
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / f"{request.kind}-source.zip"
            request.source.write_zip(source)
            asset = s3_assets.Asset(self, "Source", path=str(source))  # copied into the cloud assembly here
        commit = request.commit
        self._resource = CustomResource(
            self,
            "Run",
            resource_type="Custom::BuildRun",
            service_token=service_token,
            properties={
                "Kind": request.kind,
                "Trigger": self.trigger,
                "ProjectName": project_name,
                "SourceLocation": f"{asset.s3_bucket_name}/{asset.s3_object_key}",
                "Variables": dict(sorted(request.variables.items())),
                **({"SourceCommit": commit.commit, "SourceChanged": str(commit.changed).lower()} if commit else {}),
            },
        )

    def attribute(self, name: str) -> str:
        return self._resource.get_att_string(name)
