"""How many instances an endpoint has as its load changes. Knows not what runs on them."""

from __future__ import annotations

from aws_cdk import aws_applicationautoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from stacks.settings import Asynchronous, RealTime, Scaling

_Policy = autoscaling.CfnScalingPolicy


class EndpointScaling(Construct):
    """Registers the variant, which needs the endpoint to exist; CloudFormation removes the registration before it.

    Real time: requests under way per instance, a metric of ten-second resolution, those in the container's own queue
    included. Asynchronous: requests that wait per instance; and since that figure is missing while there is no
    instance, a step from zero on `HasBacklogWithoutCapacity`.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        endpoint: sagemaker.CfnEndpoint,
        variant_name: str,
        invocation: RealTime | Asynchronous,
        scaling: Scaling,
    ) -> None:
        super().__init__(scope, id_)
        if isinstance(invocation, RealTime) and scaling.minimum < 1:
            raise ValueError(
                f"{self.node.path}: scaling minimum {scaling.minimum} with real-time hosting; 1 or more allowed, since"
                " only an asynchronous endpoint keeps requests while it has no instance"
            )
        target = autoscaling.CfnScalableTarget(
            self,
            "Target",
            service_namespace="sagemaker",
            scalable_dimension="sagemaker:variant:DesiredInstanceCount",
            resource_id=f"endpoint/{endpoint.attr_endpoint_name}/variant/{variant_name}",
            min_capacity=scaling.minimum,
            max_capacity=scaling.maximum,
        )
        _Policy(
            self,
            "Tracking",
            policy_name=f"{endpoint.attr_endpoint_name}-tracking",
            policy_type="TargetTrackingScaling",
            scaling_target_id=target.ref,
            target_tracking_scaling_policy_configuration=_tracking(
                scaling, invocation, endpoint_name=endpoint.attr_endpoint_name
            ),
        )
        if scaling.minimum == 0:
            self._step_from_zero(target, scaling, endpoint_name=endpoint.attr_endpoint_name)

    def _step_from_zero(self, target: autoscaling.CfnScalableTarget, scaling: Scaling, *, endpoint_name: str) -> None:
        first = _Policy(
            self,
            "FromZero",
            policy_name=f"{endpoint_name}-from-zero",
            policy_type="StepScaling",
            scaling_target_id=target.ref,
            step_scaling_policy_configuration=_Policy.StepScalingPolicyConfigurationProperty(
                adjustment_type="ChangeInCapacity",
                metric_aggregation_type="Average",
                cooldown=scaling.scale_out_cooldown_seconds,
                step_adjustments=[_Policy.StepAdjustmentProperty(metric_interval_lower_bound=0, scaling_adjustment=1)],
            ),
        )
        cloudwatch.CfnAlarm(
            self,
            "WaitingWithoutInstance",
            alarm_description="Requests wait and there is no instance: start the first one",
            namespace="AWS/SageMaker",
            metric_name="HasBacklogWithoutCapacity",
            dimensions=[cloudwatch.CfnAlarm.DimensionProperty(name="EndpointName", value=endpoint_name)],
            statistic="Average",
            period=60,
            evaluation_periods=2,
            datapoints_to_alarm=2,
            threshold=1,
            comparison_operator="GreaterThanOrEqualToThreshold",
            treat_missing_data="missing",
            alarm_actions=[first.ref],
        )


def _tracking(
    scaling: Scaling, invocation: RealTime | Asynchronous, *, endpoint_name: str
) -> autoscaling.CfnScalingPolicy.TargetTrackingScalingPolicyConfigurationProperty:
    predefined: autoscaling.CfnScalingPolicy.PredefinedMetricSpecificationProperty | None = None
    customized: autoscaling.CfnScalingPolicy.CustomizedMetricSpecificationProperty | None = None
    match invocation:
        case RealTime():
            predefined = _Policy.PredefinedMetricSpecificationProperty(
                predefined_metric_type="SageMakerVariantConcurrentRequestsPerModelHighResolution"
            )
        case Asynchronous():
            customized = _Policy.CustomizedMetricSpecificationProperty(
                namespace="AWS/SageMaker",
                metric_name="ApproximateBacklogSizePerInstance",
                dimensions=[_Policy.MetricDimensionProperty(name="EndpointName", value=endpoint_name)],
                statistic="Average",
            )
    return _Policy.TargetTrackingScalingPolicyConfigurationProperty(
        target_value=scaling.requests_per_instance,
        predefined_metric_specification=predefined,
        customized_metric_specification=customized,
        scale_out_cooldown=scaling.scale_out_cooldown_seconds,
        scale_in_cooldown=scaling.scale_in_cooldown_seconds,
    )
