"""The dashboard of one endpoint: from top to bottom alarms, latency, requests, instances, our server, its answers."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Aws, Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from stacks.instance_types import Processor
from stacks.monitoring import sagemaker_metrics as published
from stacks.monitoring import server_metrics as served
from stacks.monitoring.alarms import Alarms
from stacks.monitoring.sagemaker_metrics import EndpointMetrics
from stacks.monitoring.server_metrics import ServerMetrics
from stacks.settings import AlarmLimits, Asynchronous, RealTime

_WIDTH, _HEIGHT = 24, 6
_FROM_ZERO = cloudwatch.YAxisProps(min=0, show_units=False)
_PERCENT = cloudwatch.YAxisProps(min=0, max=100, show_units=False)
_SHARE = cloudwatch.YAxisProps(min=0, max=1, show_units=False)


class EndpointDashboard(Construct):
    """Dashboards are named once an account, not once a region."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        endpoint: EndpointMetrics,
        server: ServerMetrics | None,
        invocation: RealTime | Asynchronous,
        processor: Processor,
        limits: AlarmLimits,
        alarms: Alarms,
    ) -> None:
        super().__init__(scope, id_)
        board = cloudwatch.Dashboard(
            self,
            "Dashboard",
            dashboard_name=f"{endpoint.endpoint_name}-{Aws.REGION}",
            default_interval=Duration.hours(12),
            period_override=cloudwatch.PeriodOverride.INHERIT,
        )
        board.add_widgets(
            cloudwatch.AlarmStatusWidget(title=endpoint.endpoint_name, alarms=list(alarms.all), width=_WIDTH, height=3)
        )
        for row in (
            _latency(endpoint, invocation, limits),
            _requests(endpoint, server, invocation, limits),
            _instances(endpoint, processor),
            () if server is None else _server(server),
            () if server is None else _answers(server, limits),
        ):
            board.add_widgets(*(_graph(*each, width=_WIDTH // len(row)) for each in row))


_Row = Sequence[tuple[str, Sequence[cloudwatch.IMetric], cloudwatch.YAxisProps, "float | None"]]


def _graph(
    title: str,
    metrics: Sequence[cloudwatch.IMetric],
    axis: cloudwatch.YAxisProps,
    limit: float | None,
    *,
    width: int,
) -> cloudwatch.GraphWidget:
    lines = [] if limit is None else [cloudwatch.HorizontalAnnotation(value=limit, label="alarm")]
    return cloudwatch.GraphWidget(
        title=title, left=list(metrics), left_y_axis=axis, left_annotations=lines, width=width, height=_HEIGHT
    )


def _latency(endpoint: EndpointMetrics, invocation: RealTime | Asynchronous, limits: AlarmLimits) -> _Row:
    match invocation:
        case RealTime():
            beside, title = published.OVERHEAD_LATENCY, "Overhead latency: SageMaker around it, s"
        case Asynchronous():
            beside, title = published.TIME_IN_BACKLOG, "Time in the backlog, s"
    model = [endpoint.seconds(published.MODEL_LATENCY, statistic) for statistic in ("p50", "p95", "p99")]
    # The guide promises percentiles for ModelLatency only: the mean stands beside them.
    around = [endpoint.seconds(beside, statistic) for statistic in ("Average", "p50", "p95", "p99")]
    return (
        ("Model latency: the container, s", model, _FROM_ZERO, limits.latency_p95_seconds),
        (title, around, _FROM_ZERO, None),
    )


def _requests(
    endpoint: EndpointMetrics, server: ServerMetrics | None, invocation: RealTime | Asynchronous, limits: AlarmLimits
) -> _Row:
    errors = [
        endpoint.of(published.CLIENT_ERRORS, "Sum", label="4xx"),
        endpoint.of(published.SERVER_ERRORS, "Sum", label="5xx, 503 included"),
    ]
    busy = [] if server is None else [server.of(served.BUSY, "Sum", label="503, busy")]
    match invocation:
        case RealTime():
            failed = endpoint.of(published.MODEL_ERRORS, "Sum", label="all but 2xx, no answer included")
            return (
                ("Requests in 5 minutes", [endpoint.of(published.INVOCATIONS, "Sum")], _FROM_ZERO, None),
                ("Errors in 5 minutes", [*errors, *busy, failed], _FROM_ZERO, None),
                (
                    "Requests under way, most",
                    [endpoint.of(published.CONCURRENT_REQUESTS, "Maximum", period=Duration.minutes(1))],
                    _FROM_ZERO,
                    None,
                ),
            )
        case Asynchronous():
            lost = [
                endpoint.of(published.EXPIRED_REQUESTS, "Sum", label="expired"),
                endpoint.of(published.INVOCATION_FAILURES, "Sum", label="failed"),
            ]
            backlog = [
                endpoint.of(published.BACKLOG, "Maximum", label="backlog"),
                endpoint.of(published.BACKLOG_PER_INSTANCE, "Maximum", label="backlog per instance"),
                endpoint.of(published.BACKLOG_WITHOUT_CAPACITY, "Maximum", label="backlog without an instance"),
            ]
            answered = endpoint.of(published.MODEL_LATENCY, "SampleCount", label="answered")
            oldest = endpoint.of(published.OLDEST_REQUEST, "Maximum", label="oldest request, s")
            return (
                ("Requests in 5 minutes", [answered], _FROM_ZERO, None),
                ("Errors in 5 minutes", [*errors, *busy, *lost], _FROM_ZERO, None),
                ("Backlog", backlog, _FROM_ZERO, None),
                ("Age of the oldest request, s", [oldest], _FROM_ZERO, None),
            )


def _instances(endpoint: EndpointMetrics, processor: Processor) -> _Row:
    graphics = [
        endpoint.of(published.GPU, "Average", label="GPU (100 for each)"),
        endpoint.of(published.GPU_MEMORY, "Maximum", label="GPU memory (100 for each)"),
    ]
    space = [
        endpoint.of(published.MEMORY, "Maximum", label="memory"),
        endpoint.of(published.DISK, "Maximum", label="disk"),
    ]
    return (
        ("Instances", [endpoint.instances()], _FROM_ZERO, None),
        ("CPU, 100 for each vCPU", [endpoint.of(published.CPU, "Average")], _FROM_ZERO, None),
        ("Memory and disk, %", space, _PERCENT, None),
        *((("GPU", graphics, _FROM_ZERO, None),) if processor == "cuda" else ()),
    )


def _server(server: ServerMetrics) -> _Row:
    def spread(metric: served.ServerMetric, *statistics: str) -> list[cloudwatch.IMetric]:
        return [server.of(metric, statistic, label=statistic) for statistic in statistics]

    return (
        ("Waiting for the engine, s", spread(served.QUEUE_SECONDS, "p50", "p95", "p99"), _FROM_ZERO, None),
        ("Requests found waiting or running", spread(served.QUEUE_DEPTH, "Average", "Maximum"), _FROM_ZERO, None),
        ("Engine time of a request, s", spread(served.FORWARD_SECONDS, "p50", "p95", "p99"), _FROM_ZERO, None),
        (
            "Cache: share of tokens not computed again, prefixes given up",
            [server.cache_share(), server.of(served.PREFIX_EVICTIONS, "Sum", label="given up in 5 minutes")],
            _FROM_ZERO,
            None,
        ),
    )


def _answers(server: ServerMetrics, limits: AlarmLimits) -> _Row:
    confidence = [
        server.of(served.CONFIDENCE, "Average", label="of a request's decisions, mean"),
        server.of(served.LOWEST_CONFIDENCE, "p10", label="of a request's least sure decision, p10"),
    ]
    mass = [server.of(served.LABEL_MASS, statistic, label=statistic) for statistic in ("Average", "p10")]
    return (
        ("Confidence: probability of the best option", confidence, _SHARE, None),
        ("Probability on the labels", mass, _SHARE, limits.label_mass),
        (
            "What the order of the options changed",
            [server.of(served.ROTATION_SPREAD, statistic, label=statistic) for statistic in ("Average", "p95")],
            _SHARE,
            None,
        ),
        ("Decisions in 5 minutes", [server.of(served.DECISIONS, "Sum")], _FROM_ZERO, None),
    )
