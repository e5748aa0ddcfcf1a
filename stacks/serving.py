"""All of an endpoint that does not depend on where its image and model come from.

The stacks of both kinds of endpoint use it: they say what runs, this says how it is hosted and watched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_sns as sns

from stacks.artifact_store import ArtifactStore
from stacks.build_stack import BuildStack
from stacks.bulk_job import bulk_job
from stacks.endpoint_logs import endpoint_log
from stacks.endpoint_objects import EndpointObjects
from stacks.execution_role import EndpointUses, ModelObjects, execution_role
from stacks.hosting import Hosting
from stacks.model_data import ModelData
from stacks.monitoring import Monitoring
from stacks.network import VpcAccess
from stacks.production_variant import VARIANT_NAME
from stacks.scaling import EndpointScaling
from stacks.settings import Asynchronous, HostedEndpoint, Keys, Network


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What all endpoints of an environment share. root: the project's folder."""

    store: ArtifactStore
    builds: BuildStack
    topic: sns.ITopic
    network: Network | None
    keys: Keys
    root: Path


@dataclass(frozen=True, kw_only=True)
class Served:
    """What runs. model_data and model_objects: both None where the container downloads the model from the hub.

    isolated: the container needs no network. own_server: its log lines are those of container/decision_server.
    max_body_bytes, deadline_seconds: of one request, as the container is set.
    """

    image_uri: str
    repository_arn: str
    model_data: ModelData | None
    model_objects: ModelObjects | None
    environment: Mapping[str, str]
    isolated: bool
    own_server: bool
    max_body_bytes: int
    deadline_seconds: int


def serve(stack: Stack, *, endpoint: HostedEndpoint, served: Served, surroundings: Surroundings) -> None:
    """Adds role, SageMaker's own resources, scaling, monitoring and outputs to the stack."""
    keys, bucket = surroundings.keys, surroundings.store.bucket
    objects = EndpointObjects(endpoint_name=endpoint.name)
    uses = EndpointUses(
        asynchronous=isinstance(endpoint.invocation, Asynchronous),
        capture=endpoint.capture is not None,
        bulk=endpoint.bulk is not None,
    )
    log_group = endpoint_log(stack, "Log", endpoint_name=endpoint.name)
    vpc = VpcAccess(stack, "Network", network=surroundings.network) if surroundings.network else None
    monitoring = Monitoring(
        stack,
        "Monitoring",
        endpoint_name=endpoint.name,
        variant_name=VARIANT_NAME,
        processor=endpoint.target,
        invocation=endpoint.invocation,
        server_log=log_group if served.own_server else None,
        least_instances=endpoint.instances.count if endpoint.scaling is None else endpoint.scaling.minimum,
        limits=endpoint.alarms,
        topic=surroundings.topic,
    )
    role = execution_role(
        stack,
        "ExecutionRole",
        model=served.model_objects,
        repository_arn=served.repository_arn,
        log_group=log_group,
        bucket_arn=bucket.bucket_arn,
        objects=objects,
        uses=uses,
        vpc=vpc,
        keys=keys,
        rollback_alarm_names=monitoring.rollback_alarm_names,
    )
    hosting = Hosting(
        stack,
        "Hosting",
        settings=endpoint,
        image_uri=served.image_uri,
        model_data=served.model_data,
        environment=served.environment,
        isolated=served.isolated,
        vpc=vpc,
        keys=keys,
        bucket_name=bucket.bucket_name,
        objects=objects,
        rollback_alarm_names=monitoring.rollback_alarm_names,
        role=role,
    )
    monitoring.start_after(hosting.endpoint)
    if endpoint.scaling is not None:
        EndpointScaling(
            stack,
            "Scaling",
            endpoint=hosting.endpoint,
            variant_name=VARIANT_NAME,
            invocation=endpoint.invocation,
            scaling=endpoint.scaling,
        )

    def output(id_: str, value: str, description: str) -> None:
        CfnOutput(stack, id_, value=value, description=description)

    output("EndpointName", hosting.endpoint.attr_endpoint_name, "For InvokeEndpoint")
    output("ImageUri", served.image_uri, "The container image that answers")
    if served.model_data is not None:
        output("ModelDataUrl", served.model_data.url, "The model that answers: an archive, or its members below model/")
    if uses.asynchronous or uses.capture or uses.bulk:
        output("ArtifactBucketName", bucket.bucket_name, "Holds async/, capture/ and bulk/ of this endpoint")
    if endpoint.bulk is not None:
        job = bulk_job(
            endpoint.bulk,
            model_name=hosting.model.attr_model_name,
            bucket_name=bucket.bucket_name,
            objects=objects,
            processor=endpoint.target,
            max_body_bytes=served.max_body_bytes,
            deadline_seconds=served.deadline_seconds,
            keys=keys,
        )
        output("BulkJob", stack.to_json_string(job), "CreateTransformJob's request; `python -m client bulk` starts it")
