"""The CodeBuild project that packages a model, and the request that says which."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.build_project import build_project
from stacks.build_request import BuildRequest
from stacks.source_commit import source_commit
from stacks.source_tree import read_source_tree

_DECLARATIONS = "model_packaging/declarations/"
# git cannot exclude a folder and include one file of it.
_PACKAGING = (":(glob)model_packaging/*.*", "model_packaging/calibrations", ":(exclude,glob)**/*.md")


def model_request(root: Path, *, declaration: str, compression: str) -> BuildRequest:
    """The packaging code with its buildspec shapes the archive, and of the declarations only the one asked for."""
    return BuildRequest(
        kind="model",
        source=read_source_tree(
            root, "model_packaging", wanted=lambda path: not path.startswith(_DECLARATIONS) or path == declaration
        ),
        variables={"DECLARATION": declaration, "COMPRESSION": compression},
        commit=source_commit(root, *_PACKAGING, declaration),
    )


class ModelBuild(Construct):
    """Exposes `project`."""

    def __init__(
        self, scope: Construct, id_: str, *, bucket: s3.IBucket, role: iam.Role, log_group: logs.ILogGroup
    ) -> None:
        super().__init__(scope, id_)
        self.project = build_project(
            self,
            "Project",
            description="Downloads, verifies and packages the model of a decision endpoint",
            buildspec="model_packaging/buildspec.yml",
            privileged=False,
            variables={"ARTIFACT_BUCKET": bucket.bucket_name},
            bucket=bucket,
            role=role,
            log_group=log_group,
        )
