"""How a running endpoint is updated, as CloudFormation wants it said. Pure: knows no stack."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_sagemaker as sagemaker

from stacks.settings import BlueGreen, Rolling

_Endpoint = sagemaker.CfnEndpoint


def deployment_config(
    update: BlueGreen | Rolling, *, rollback_alarm_names: Sequence[str]
) -> sagemaker.CfnEndpoint.DeploymentConfigProperty:
    """One of the alarms going off while an update bakes puts the old fleet back; without alarms nothing does."""
    rollback = (
        _Endpoint.AutoRollbackConfigProperty(
            alarms=[_Endpoint.AlarmProperty(alarm_name=each) for each in rollback_alarm_names]
        )
        if rollback_alarm_names
        else None
    )
    match update:
        case BlueGreen():
            return _Endpoint.DeploymentConfigProperty(
                blue_green_update_policy=_blue_green(update), auto_rollback_configuration=rollback
            )
        case Rolling():
            return _Endpoint.DeploymentConfigProperty(
                rolling_update_policy=_Endpoint.RollingUpdatePolicyProperty(
                    maximum_batch_size=_percent(update.batch_percent), wait_interval_in_seconds=update.bake_seconds
                ),
                auto_rollback_configuration=rollback,
            )


def _blue_green(update: BlueGreen) -> sagemaker.CfnEndpoint.BlueGreenUpdatePolicyProperty:
    canary = update.canary_percent
    return _Endpoint.BlueGreenUpdatePolicyProperty(
        traffic_routing_configuration=_Endpoint.TrafficRoutingConfigProperty(
            type="ALL_AT_ONCE" if canary is None else "CANARY",
            canary_size=None if canary is None else _percent(canary),
            # The API wants it for all-at-once, too: there it is the whole bake, before the termination wait.
            wait_interval_in_seconds=update.bake_seconds,
        ),
        termination_wait_in_seconds=update.termination_wait_seconds,
    )


def _percent(value: int) -> sagemaker.CfnEndpoint.CapacitySizeProperty:
    return _Endpoint.CapacitySizeProperty(type="CAPACITY_PERCENT", value=value)
