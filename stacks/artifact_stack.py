"""What outlives every endpoint: the artifact bucket and the image repository."""

from __future__ import annotations

from aws_cdk import CfnOutput, CfnResource, Environment, RemovalPolicy, Stack
from aws_cdk import aws_logs as logs
from constructs import Construct

from stacks.artifact_store import ArtifactStore


class ArtifactStack(Stack):
    """Exposes `store`. Retained, unless the environment is ephemeral."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        env: Environment,
        ephemeral: bool,
        data_key_arn: str | None,
        log_retention: logs.RetentionDays,
    ) -> None:
        super().__init__(
            scope,
            id_,
            env=env,
            description="Decision endpoint: model archives, build results and container images",
        )
        self.store = ArtifactStore(
            self,
            "Store",
            data_key_arn=data_key_arn,
            removal_policy=RemovalPolicy.DESTROY if ephemeral else RemovalPolicy.RETAIN,
            empty_on_delete=ephemeral,
        )
        if ephemeral:
            self._keep_the_emptying_log(log_retention)
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

    def _keep_the_emptying_log(self, retention: logs.RetentionDays) -> None:
        """CDK's function that empties the bucket would make a log group without a life span, which nothing removes."""
        log_group = logs.LogGroup(self, "EmptyingLog", retention=retention, removal_policy=RemovalPolicy.DESTROY)
        function = self.node.find_child("Custom::S3AutoDeleteObjectsCustomResourceProvider").node.find_child("Handler")
        if not isinstance(function, CfnResource):
            raise TypeError(f"{function.node.path}: a plain resource was expected, not {type(function).__name__}")
        function.add_property_override("LoggingConfig", {"LogGroup": log_group.log_group_name})
