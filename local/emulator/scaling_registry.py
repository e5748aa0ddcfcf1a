"""What Application Auto Scaling knows of one account and region: targets and their policies. Nothing scales by itself.

Requests arrive checked against AWS's model of the API; what that cannot say is checked here.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from local.emulator.aws_errors import AwsError, validation
from local.emulator.scope import Scope

DIMENSION = "sagemaker:variant:DesiredInstanceCount"
Identity = tuple[str, str, str]  # service namespace, resource id, dimension


@dataclass(frozen=True, kw_only=True)
class Scalable:
    """A variant as scaling sees it. None of it changes while an update runs."""

    instance_count: int
    asynchronous: bool


FindVariant = Callable[[str, str], "Scalable | None"]  # endpoint, variant
SetCount = Callable[[str, str, int], None]  # endpoint, variant, instances


class ScalingRegistry:
    def __init__(self, scope: Scope, *, find: FindVariant, set_count: SetCount) -> None:
        self._scope, self._find, self._set_count = scope, find, set_count
        self._lock = threading.RLock()
        self._targets: dict[Identity, dict[str, Any]] = {}
        self._policies: dict[tuple[Identity, str], dict[str, Any]] = {}

    def registered(self, endpoint: str) -> set[str]:
        """The variants of an endpoint that are scalable targets."""
        begin = f"endpoint/{endpoint}/variant/"
        with self._lock:
            return {identity[1].removeprefix(begin) for identity in self._targets if identity[1].startswith(begin)}

    def forget(self, endpoint: str) -> None:
        """DeleteEndpoint takes its variants' registrations along."""
        for variant in self.registered(endpoint):
            self._drop(("sagemaker", f"endpoint/{endpoint}/variant/{variant}", DIMENSION))

    def register(self, request: dict[str, Any]) -> dict[str, Any]:
        identity = _identity(request)
        endpoint, variant = _variant(identity)
        with self._lock:
            target = {**self._targets.get(identity, {}), **request}
            target.pop("Tags", None)  # DescribeScalableTargets does not tell them
            if not {"MinCapacity", "MaxCapacity"} <= target.keys():
                raise validation("Both minimum and maximum capacity must be specified for a new scalable target.")
            low, high = target["MinCapacity"], target["MaxCapacity"]
            if low > high:
                raise validation("Maximum capacity cannot be less than minimum capacity.")
            scalable = self._find(endpoint, variant)
            if scalable is None:
                raise validation(f"Resource {identity[1]} does not exist, or its endpoint is not InService.")
            if low < 1 and not scalable.asynchronous:
                raise validation(
                    f"Minimum capacity {low} of {identity[1]}: 1 or more; only asynchronous hosting has 0."
                )
            role = (
                f"arn:aws:iam::{self._scope.account}:role/aws-service-role/sagemaker.application-autoscaling.amazonaws"
                ".com/AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint"
            )
            arn = f"arn:aws:application-autoscaling:{self._scope.region}:{self._scope.account}:scalable-target/"
            self._targets[identity] = {
                "RoleARN": role,
                "CreationTime": time.time(),
                "ScalableTargetARN": arn + uuid.uuid4().hex[:32],
                "SuspendedState": {
                    "DynamicScalingInSuspended": False,
                    "DynamicScalingOutSuspended": False,
                    "ScheduledScalingSuspended": False,
                },
                **target,
            }
        if not low <= scalable.instance_count <= high:
            self._set_count(endpoint, variant, min(max(scalable.instance_count, low), high))
        return {"ScalableTargetARN": self._targets[identity]["ScalableTargetARN"]}

    def deregister(self, request: dict[str, Any]) -> dict[str, Any]:
        self._need(_identity(request))
        self._drop(_identity(request))
        return {}

    def describe_targets(self, request: dict[str, Any]) -> dict[str, Any]:
        wanted = request.get("ResourceIds")
        with self._lock:
            found = [target for target in self._targets.values() if wanted is None or target["ResourceId"] in wanted]
        return {"ScalableTargets": found}

    def put_policy(self, request: dict[str, Any]) -> dict[str, Any]:
        identity, name = _identity(request), request["PolicyName"]
        kind = request.get("PolicyType", "StepScaling")
        if f"{kind}PolicyConfiguration" not in request:
            raise validation(f"PolicyType {kind} needs {kind}PolicyConfiguration.")
        with self._lock:
            self._need(identity)
            arn = self._policies.get((identity, name), {}).get("PolicyARN") or (
                f"arn:aws:autoscaling:{self._scope.region}:{self._scope.account}:scalingPolicy:{uuid.uuid4()}:"
                f"resource/{identity[0]}/{identity[1]}:policyName/{name}"
            )
            self._policies[identity, name] = {
                **request, "PolicyType": kind, "PolicyARN": arn, "CreationTime": time.time(), "Alarms": []
            }  # fmt: skip
        return {"PolicyARN": arn, "Alarms": []}

    def delete_policy(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            if self._policies.pop((_identity(request), request["PolicyName"]), None) is None:
                raise AwsError("ObjectNotFoundException", f"No scaling policy found for {request['PolicyName']}.")
        return {}

    def describe_policies(self, request: dict[str, Any]) -> dict[str, Any]:
        names, resource = request.get("PolicyNames"), request.get("ResourceId")
        with self._lock:
            found = [
                policy
                for (identity, name), policy in self._policies.items()
                if (names is None or name in names) and resource in (None, identity[1])
            ]
        return {"ScalingPolicies": found}

    def _need(self, identity: Identity) -> None:
        if identity not in self._targets:
            raise AwsError(
                "ObjectNotFoundException",
                f"No scalable target found for service namespace: {identity[0]}, resource ID: {identity[1]}, "
                f"scalable dimension: {identity[2]}.",
            )

    def _drop(self, identity: Identity) -> None:
        with self._lock:
            self._targets.pop(identity, None)
            self._policies = {key: policy for key, policy in self._policies.items() if key[0] != identity}


def _identity(request: dict[str, Any]) -> Identity:
    return request["ServiceNamespace"], request["ResourceId"], request["ScalableDimension"]


def _variant(identity: Identity) -> tuple[str, str]:
    """The endpoint's and the variant's name."""
    parts = identity[1].split("/")
    if (
        identity[0] != "sagemaker"
        or identity[2] != DIMENSION
        or len(parts) != 4
        or parts[::2] != ["endpoint", "variant"]
    ):
        raise validation(f"This emulator scales {DIMENSION} of sagemaker's endpoint/NAME/variant/NAME; got {identity}.")
    return parts[1], parts[3]
