"""What SageMaker publishes about an endpoint, as its developer guide lists it: names, namespaces, units, dimensions.

Two traps of that list are kept here: latencies are microseconds, and CPUUtilization counts 100 for each vCPU.
Knows no alarm and no dashboard.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

MICROSECONDS_PER_SECOND = 1_000_000
PERIOD = Duration.minutes(5)  # of the alarms' rates
_INVOCATIONS = "AWS/SageMaker"
_HOSTS = "/aws/sagemaker/Endpoints"


class Unit(Enum):
    """As published. No metric here asks CloudWatch for a unit: asked for another one, it finds nothing."""

    COUNT = "count"
    MICROSECONDS = "microseconds"
    PERCENT = "percent"
    SECONDS = "seconds"


@dataclass(frozen=True, kw_only=True)
class Published:
    """A metric of SageMaker's. by_variant: its dimensions are endpoint and variant, otherwise the endpoint alone."""

    name: str
    unit: Unit
    namespace: str = _INVOCATIONS
    by_variant: bool = True


# Real-time and asynchronous endpoints. Of each request 0 or 1 is published, so the number of samples is the requests'.
CLIENT_ERRORS = Published(name="Invocation4XXErrors", unit=Unit.COUNT)
SERVER_ERRORS = Published(name="Invocation5XXErrors", unit=Unit.COUNT)
MODEL_LATENCY = Published(name="ModelLatency", unit=Unit.MICROSECONDS)

# Real-time endpoints only.
INVOCATIONS = Published(name="Invocations", unit=Unit.COUNT)
MODEL_ERRORS = Published(name="InvocationModelErrors", unit=Unit.COUNT)  # 4xx, 5xx, timeouts and broken connections
OVERHEAD_LATENCY = Published(name="OverheadLatency", unit=Unit.MICROSECONDS)
CONCURRENT_REQUESTS = Published(name="ConcurrentRequestsPerModel", unit=Unit.COUNT)

# Asynchronous endpoints only.
BACKLOG = Published(name="ApproximateBacklogSize", unit=Unit.COUNT, by_variant=False)
BACKLOG_PER_INSTANCE = Published(name="ApproximateBacklogSizePerInstance", unit=Unit.COUNT, by_variant=False)
BACKLOG_WITHOUT_CAPACITY = Published(name="HasBacklogWithoutCapacity", unit=Unit.COUNT, by_variant=False)
OLDEST_REQUEST = Published(name="ApproximateAgeOfOldestRequest", unit=Unit.SECONDS, by_variant=False)
TIME_IN_BACKLOG = Published(name="TimeInBacklog", unit=Unit.MICROSECONDS)
EXPIRED_REQUESTS = Published(name="ExpiredRequests", unit=Unit.COUNT)
INVOCATION_FAILURES = Published(name="InvocationFailures", unit=Unit.COUNT)

# Of the instances, each once a minute: the number of samples in a minute is the number of instances.
CPU = Published(name="CPUUtilization", unit=Unit.PERCENT, namespace=_HOSTS)
MEMORY = Published(name="MemoryUtilization", unit=Unit.PERCENT, namespace=_HOSTS)
DISK = Published(name="DiskUtilization", unit=Unit.PERCENT, namespace=_HOSTS)
GPU = Published(name="GPUUtilization", unit=Unit.PERCENT, namespace=_HOSTS)
GPU_MEMORY = Published(name="GPUMemoryUtilization", unit=Unit.PERCENT, namespace=_HOSTS)


@dataclass(frozen=True, kw_only=True)
class EndpointMetrics:
    """The metrics of one variant. Known by name, so that alarms exist before the endpoint does."""

    endpoint_name: str
    variant_name: str

    def of(
        self, published: Published, statistic: str, *, period: Duration = PERIOD, label: str | None = None
    ) -> cloudwatch.Metric:
        dimensions = {"EndpointName": self.endpoint_name}
        if published.by_variant:
            dimensions["VariantName"] = self.variant_name
        return cloudwatch.Metric(
            namespace=published.namespace,
            metric_name=published.name,
            dimensions_map=dimensions,
            statistic=statistic,
            period=period,
            label=label,
        )

    def seconds(self, metric: Published, statistic: str) -> cloudwatch.MathExpression:
        """A metric published in microseconds, in seconds."""
        if metric.unit is not Unit.MICROSECONDS:
            raise ValueError(f"{metric.name} is published in {metric.unit.value}, and would be divided as microseconds")
        name = f"{metric.name[0].lower()}{metric.name[1:]}{statistic}"
        return cloudwatch.MathExpression(
            expression=f"{name} / {MICROSECONDS_PER_SECOND}",
            using_metrics={name: self.of(metric, statistic)},
            period=PERIOD,
            label=statistic,
        )

    def instances(self) -> cloudwatch.Metric:
        return self.of(CPU, "SampleCount", period=Duration.minutes(1), label="instances")
