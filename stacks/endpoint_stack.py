"""What answers decisions: runs the builds that are needed, then hosts image and model. Knows not how a build works."""

from __future__ import annotations

from aws_cdk import Environment as AwsEnvironment
from aws_cdk import Stack
from constructs import Construct

from stacks.container_build import image_request
from stacks.endpoint_sources import made_image, model_archive, pinned_image
from stacks.serving import Served, Surroundings, serve
from stacks.settings import BuiltImage, DecisionEndpoint, PinnedImage
from stacks.settings.engine import DEADLINE_SECONDS, MAX_BODY_BYTES


class EndpointStack(Stack):
    """The builds run here, beside what uses their results: exported from another stack, a new result could never reach
    an endpoint that imports the old one."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        env: AwsEnvironment,
        endpoint: DecisionEndpoint,
        surroundings: Surroundings,
    ) -> None:
        super().__init__(scope, id_, env=env, description="Decision endpoint: the SageMaker endpoint and what it runs")
        match endpoint.image:
            case BuiltImage():
                request = image_request(surroundings.root, target=endpoint.target, image=endpoint.image)
                image = made_image(self, request=request, surroundings=surroundings)
            case PinnedImage():
                image = pinned_image(self, endpoint.image)
        model = model_archive(self, endpoint.model, surroundings=surroundings)
        engine = dict(endpoint.engine)
        pinned = endpoint.model.gguf_sha256
        serve(
            self,
            endpoint=endpoint,
            served=Served(
                image_uri=image.uri,
                repository_arn=image.repository_arn,
                model_data=model.data,
                model_objects=model.objects,
                environment=engine if pinned is None else engine | {"DECISION_GGUF_SHA256": pinned},
                isolated=True,  # it asks nobody for anything
                own_server=True,
                max_body_bytes=int(engine.get("DECISION_MAX_BODY_BYTES", MAX_BODY_BYTES)),
                deadline_seconds=int(engine.get("DECISION_DEADLINE_SECONDS", DEADLINE_SECONDS)),
            ),
            surroundings=surroundings,
        )
