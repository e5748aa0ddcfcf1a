"""The bucket of model archives, build results and the repository of images. Knows not who uses them."""

from __future__ import annotations

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_s3 as s3
from constructs import Construct


class ArtifactStore(Construct):
    """Exposes `bucket` and `repository`. Their names are generated: one that was kept never blocks the next deploy."""

    def __init__(self, scope: Construct, id_: str, *, removal_policy: RemovalPolicy, empty_on_delete: bool) -> None:
        super().__init__(scope, id_)
        if empty_on_delete != (removal_policy == RemovalPolicy.DESTROY):
            raise ValueError(
                f"{self.node.path}: removal policy {removal_policy.name} with empty_on_delete {empty_on_delete};"
                " allowed: RETAIN and False (kept whole), DESTROY and True (emptied, then deleted)."
                " Anything else loses data or blocks `cdk destroy`"
            )
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
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
        self.repository = ecr.Repository(
            self,
            "Repository",
            image_scan_on_push=True,
            image_tag_mutability=ecr.TagMutability.IMMUTABLE,
            encryption=ecr.RepositoryEncryption.AES_256,
            removal_policy=removal_policy,
            empty_on_delete=empty_on_delete or None,
        )
