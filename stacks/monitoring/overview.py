"""The dashboard of an environment: one row for each endpoint, to see at a glance which one needs a look at its own."""

from __future__ import annotations

from aws_cdk import Aws, Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from stacks.monitoring import sagemaker_metrics as published
from stacks.monitoring.sagemaker_metrics import EndpointMetrics

_FROM_ZERO = cloudwatch.YAxisProps(min=0, show_units=False)


class EnvironmentDashboard(Construct):
    """Endpoints are known by name alone: this one is there before they are, and after."""

    def __init__(self, scope: Construct, id_: str, *, name: str, endpoints: tuple[EndpointMetrics, ...]) -> None:
        super().__init__(scope, id_)
        board = cloudwatch.Dashboard(
            self, "Dashboard", dashboard_name=f"{name}-{Aws.REGION}", default_interval=Duration.hours(12)
        )
        for endpoint in endpoints:
            board.add_widgets(
                *(_graph(f"{endpoint.endpoint_name}: {title}", metrics) for title, metrics in _row(endpoint))
            )


def _row(endpoint: EndpointMetrics) -> tuple[tuple[str, list[cloudwatch.IMetric]], ...]:
    # Of every kind of endpoint: an asynchronous one publishes no Invocations.
    requests = endpoint.of(published.SERVER_ERRORS, "SampleCount", label="requests in 5 minutes")
    errors = endpoint.of(published.SERVER_ERRORS, "Sum", label="5xx in 5 minutes")
    return (
        ("requests", [requests, errors]),
        ("model latency, s", [endpoint.seconds(published.MODEL_LATENCY, each) for each in ("p50", "p95")]),
        ("instances", [endpoint.instances()]),
    )


def _graph(title: str, metrics: list[cloudwatch.IMetric]) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=metrics, left_y_axis=_FROM_ZERO, width=8, height=5)
