"""How an update moves traffic to new instances: DeploymentConfig's rules as steps, with the waits between them. Pure.

Waits take a hundredth of their time here. An alarm that is in ALARM during one of them undoes the update.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from local.emulator.aws_errors import validation

TIME_SCALE = 0.01


@dataclass(frozen=True, kw_only=True)
class Step:
    """From now on `share` of the requests (0 to 1) go to the new instances; then alarms are watched for `seconds`."""

    share: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """termination_seconds: how long the old instances stay after the last step."""

    steps: tuple[Step, ...]
    termination_seconds: float
    alarms: tuple[str, ...]


AT_ONCE = Deployment(steps=(Step(share=1.0, seconds=0.0),), termination_seconds=0.0, alarms=())


def deployment(config: dict[str, Any] | None, *, instances: int) -> Deployment:
    """config: checked against the API's model. instances: of the new fleet. Raises AwsError for what it cannot say."""
    if not config:
        return AT_ONCE
    alarms = tuple(alarm["AlarmName"] for alarm in config.get("AutoRollbackConfiguration", {}).get("Alarms", []))
    blue_green, rolling = config.get("BlueGreenUpdatePolicy"), config.get("RollingUpdatePolicy")
    if blue_green and rolling:
        raise validation("Only one of BlueGreenUpdatePolicy and RollingUpdatePolicy can be given.")
    if rolling:
        batch = _share(rolling["MaximumBatchSize"], "MaximumBatchSize", instances=instances, lowest=0.05)
        return Deployment(
            steps=_linear(batch, rolling["WaitIntervalInSeconds"] * TIME_SCALE), termination_seconds=0.0, alarms=alarms
        )
    if not blue_green:
        return Deployment(steps=AT_ONCE.steps, termination_seconds=0.0, alarms=alarms)
    return Deployment(
        steps=_steps(blue_green["TrafficRoutingConfiguration"], instances=instances),
        termination_seconds=blue_green.get("TerminationWaitInSeconds", 0) * TIME_SCALE,
        alarms=alarms,
    )


def _steps(routing: dict[str, Any], *, instances: int) -> tuple[Step, ...]:
    kind, wait = routing["Type"], routing["WaitIntervalInSeconds"] * TIME_SCALE
    size = {"CANARY": "CanarySize", "LINEAR": "LinearStepSize"}.get(kind)
    for name in ("CanarySize", "LinearStepSize"):
        if (name in routing) != (name == size):
            raise validation(f"{name} {'must' if name == size else 'cannot'} be given with traffic routing {kind}.")
    if size is None:
        return (Step(share=1.0, seconds=wait),)
    share = _share(routing[size], size, instances=instances, lowest=0.0 if kind == "CANARY" else 0.1)
    return (
        (Step(share=share, seconds=wait), Step(share=1.0, seconds=wait)) if kind == "CANARY" else _linear(share, wait)
    )


def _linear(share: float, wait: float) -> tuple[Step, ...]:
    count = -int(-1.0 // share)  # rounded up
    return tuple(Step(share=min(share * number, 1.0), seconds=wait) for number in range(1, count + 1))


def _share(size: dict[str, Any], name: str, *, instances: int, lowest: float) -> float:
    """At most half of the fleet."""
    percent = size["Type"] == "CAPACITY_PERCENT"
    share: float = size["Value"] / (100.0 if percent else max(instances, 1))
    if not lowest <= share <= 0.5:
        raise validation(
            f"{name} of {size['Value']} {'percent' if percent else f'of {instances} instances'} is out of range: "
            f"{lowest * 100:g} to 50 percent of the variant's instances are allowed."
        )
    return share
