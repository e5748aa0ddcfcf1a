"""What outlives every endpoint: the artifact bucket and the image repository."""

from __future__ import annotations

from aws_cdk import CfnOutput, Environment, RemovalPolicy, Stack
from constructs import Construct

from stacks.artifact_store import ArtifactStore


class ArtifactStack(Stack):
    """Exposes `store`. Retained, unless the environment is ephemeral."""

    def __init__(self, scope: Construct, id_: str, *, env: Environment, ephemeral: bool) -> None:
        super().__init__(
            scope,
            id_,
            env=env,
            description="Decision endpoint: model archives, build results and container images",
        )
        self.store = ArtifactStore(
            self,
            "Store",
            removal_policy=RemovalPolicy.DESTROY if ephemeral else RemovalPolicy.RETAIN,
            empty_on_delete=ephemeral,
        )
        bucket, repository = self.store.bucket, self.store.repository
        CfnOutput(self, "BucketName", value=bucket.bucket_name, description="Model archives and build results")
        CfnOutput(self, "RepositoryUri", value=repository.repository_uri, description="Container images")
        left = "nothing" if ephemeral else f"bucket {bucket.bucket_name}, repository {repository.repository_name}"
        CfnOutput(
            self,
            "LeftByDestroy",
            value=left,
            description="What `cdk destroy` of this stack leaves behind, with all it holds",
        )
