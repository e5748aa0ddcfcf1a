"""Where an endpoint's image and model come from: a build that runs in its stack, or what is there already."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import Aws, Stack

from stacks.build_request import BuildRequest
from stacks.build_run import BuildRun
from stacks.execution_role import ModelObjects
from stacks.model_build import model_request
from stacks.model_data import ModelData
from stacks.serving import Surroundings
from stacks.settings import BuiltModel, PinnedImage, PinnedModel


@dataclass(frozen=True, kw_only=True)
class ImageSource:
    uri: str
    repository_arn: str


@dataclass(frozen=True, kw_only=True)
class ModelSource:
    data: ModelData
    objects: ModelObjects


def made_image(stack: Stack, *, request: BuildRequest, surroundings: Surroundings) -> ImageSource:
    """The image that the request's build leaves in the environment's repository."""
    run = BuildRun(
        stack,
        "Image",
        request=request,
        project_name=surroundings.builds.image_project_name,
        service_token=surroundings.builds.service_token,
    )
    return ImageSource(uri=run.attribute("Uri"), repository_arn=surroundings.store.repository.repository_arn)


def pinned_image(stack: Stack, image: PinnedImage) -> ImageSource:
    return ImageSource(
        uri=image.uri,
        repository_arn=stack.format_arn(
            service="ecr",
            account=image.account,
            region=image.region,
            resource="repository",
            resource_name=image.repository,
        ),
    )


def model_archive(stack: Stack, model: BuiltModel | PinnedModel, *, surroundings: Surroundings) -> ModelSource:
    match model:
        case BuiltModel(declaration=declaration, compression=compression):
            run = BuildRun(
                stack,
                "ModelArchive",
                request=model_request(surroundings.root, declaration=declaration, compression=compression),
                project_name=surroundings.builds.model_project_name,
                service_token=surroundings.builds.service_token,
            )
            bucket, key, prefix = surroundings.store.bucket.bucket_name, run.attribute("Key"), "models/"
            unpacked = compression == "none"
        case PinnedModel(bucket=bucket, key=key):
            prefix = key.removesuffix("model.tar.gz").removesuffix("model/")
            unpacked = key.endswith("/")
    return ModelSource(
        data=ModelData(url=f"s3://{bucket}/{key}", unpacked=unpacked),
        objects=ModelObjects(bucket_arn=f"arn:{Aws.PARTITION}:s3:::{bucket}", prefix=prefix),
    )
