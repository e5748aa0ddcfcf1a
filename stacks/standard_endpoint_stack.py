"""What answers chat completions: the llama.cpp image of AWS, unmodified, with a model of ours or one of the hub.

The image finds the first *.gguf below /opt/ml/model by itself and makes `--foo-bar value` of
SM_LLAMA_CPP_FOO_BAR=value.
"""

from __future__ import annotations

from aws_cdk import Environment as AwsEnvironment
from aws_cdk import Stack
from constructs import Construct

from stacks.container_build import standard_image_request
from stacks.endpoint_sources import made_image, model_archive, pinned_image
from stacks.serving import Served, Surroundings, serve
from stacks.settings import AwsImage, HubModel, PinnedImage, StandardEndpoint

# llama-server has no limit of its own. A chat longer than this has more tokens than any context.
_MAX_BODY_BYTES = 2**20
# Nor a deadline: of a bulk job's request, which nobody waits for, as long as a text may take to write.
_DEADLINE_SECONDS = 600


class StandardEndpointStack(Stack):
    """No build of an image: the one of AWS is copied, since SageMaker pulls from private registries only (see
    docs/decisions/0012-the-standard-image-is-copied.md)."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        env: AwsEnvironment,
        endpoint: StandardEndpoint,
        surroundings: Surroundings,
    ) -> None:
        super().__init__(
            scope, id_, env=env, description="Decision endpoint: text generation by the llama.cpp image of AWS"
        )
        match endpoint.image:
            case AwsImage():
                request = standard_image_request(surroundings.root, target=endpoint.target)
                image = made_image(self, request=request, surroundings=surroundings)
            case PinnedImage():
                image = pinned_image(self, endpoint.image)
        environment = dict(endpoint.engine)
        match endpoint.model:
            case HubModel(repo=repo, file=file):
                environment |= {"SM_LLAMA_CPP_HF_REPO": repo, "SM_LLAMA_CPP_HF_FILE": file}
                data, objects = None, None
            case archive:
                source = model_archive(self, archive, surroundings=surroundings)
                data, objects = source.data, source.objects
        serve(
            self,
            endpoint=endpoint,
            served=Served(
                image_uri=image.uri,
                repository_arn=image.repository_arn,
                model_data=data,
                model_objects=objects,
                environment=environment,
                isolated=data is not None,  # or it could not reach the hub
                own_server=False,
                max_body_bytes=_MAX_BODY_BYTES,
                deadline_seconds=_DEADLINE_SECONDS,
            ),
            surroundings=surroundings,
        )
