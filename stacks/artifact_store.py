"""The bucket of model archives, build results and the repository of images. Knows not who uses them."""

from __future__ import annotations

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.acknowledgements import acknowledge


class ArtifactStore(Construct):
    """Exposes `bucket` and `repository`. Their names are generated: one that was kept never blocks the next deploy.

    data_key_arn: a KMS key for both, or None for S3's and ECR's own.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        data_key_arn: str | None,
        removal_policy: RemovalPolicy,
        empty_on_delete: bool,
    ) -> None:
        super().__init__(scope, id_)
        if empty_on_delete != (removal_policy == RemovalPolicy.DESTROY):
            raise ValueError(
                f"{self.node.path}: removal policy {removal_policy.name} with empty_on_delete {empty_on_delete};"
                " allowed: RETAIN and False (kept whole), DESTROY and True (emptied, then deleted)."
                " Anything else loses data or blocks `cdk destroy`"
            )
        key = kms.Key.from_key_arn(self, "DataKey", data_key_arn) if data_key_arn else None
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.KMS if key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=key,
            bucket_key_enabled=True if key else None,  # or every object costs a call of KMS
            enforce_ssl=True,
            minimum_tls_version=1.2,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            versioned=True,
            removal_policy=removal_policy,
            auto_delete_objects=empty_on_delete,
            # Nothing that an endpoint may still run on ever expires: only what was never there goes.
            lifecycle_rules=[
                s3.LifecycleRule(id="failed-uploads", abort_incomplete_multipart_upload_after=Duration.days(3))
            ],
        )
        acknowledge(
            self.bucket,
            "S1",
            reason="CloudTrail's data events say who read what, where the account keeps them; access logs would need a"
            " second bucket, which outlives the environment",
        )
        self.repository = ecr.Repository(
            self,
            "Repository",
            image_scan_on_push=True,
            image_tag_mutability=ecr.TagMutability.IMMUTABLE,
            encryption=ecr.RepositoryEncryption.KMS if key else ecr.RepositoryEncryption.AES_256,
            encryption_key=key,
            removal_policy=removal_policy,
            empty_on_delete=empty_on_delete or None,
        )
