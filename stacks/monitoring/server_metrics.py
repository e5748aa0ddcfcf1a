"""Our server's log lines as metrics: which field of an `answered` line becomes which metric.

The lines are those of container/decision_server/request_log.py; tests put a real server's through these patterns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_logs as logs
from constructs import Construct

from stacks.monitoring.sagemaker_metrics import PERIOD

# The codes of 503 that ask a caller to come back; the others of 503 say that a server starts, ends or failed.
BUSY_CODES = ("queue_full", "wait_too_long", "readers_busy")
_ANSWERED = '($.event = "answered")'


@dataclass(frozen=True, kw_only=True)
class ServerMetric:
    """pattern: which lines count, in CloudWatch's filter syntax. value: `1`, or the field whose number is taken.

    default: what a minute with log lines but without a matching one counts; None: nothing.
    """

    name: str
    pattern: str
    value: str = "1"
    default: int | None = None
    unit: cloudwatch.Unit = cloudwatch.Unit.COUNT


def _number(name: str, field: str, unit: cloudwatch.Unit) -> ServerMetric:
    # `= *` alone makes the field one that CloudWatch may take the value from.
    return ServerMetric(name=name, pattern=f"{{ {_ANSWERED} && ($.{field} = *) }}", value=f"$.{field}", unit=unit)


_BUSY = " || ".join(f'($.code = "{code}")' for code in BUSY_CODES)
REQUESTS = ServerMetric(name="Requests", pattern=f"{{ {_ANSWERED} }}", default=0)
BUSY = ServerMetric(name="BusyAnswers", pattern=f"{{ {_ANSWERED} && ({_BUSY}) }}", default=0)
QUEUE_DEPTH = _number("QueueDepth", "queue_depth", cloudwatch.Unit.COUNT)
QUEUE_SECONDS = _number("QueueSeconds", "queue_seconds", cloudwatch.Unit.SECONDS)
FORWARD_SECONDS = _number("ForwardSeconds", "forward_seconds", cloudwatch.Unit.SECONDS)
DECISIONS = ServerMetric(
    name="Decisions", pattern=f"{{ {_ANSWERED} && ($.status = 200) && ($.decisions = *) }}", value="$.decisions"
)
INPUT_TOKENS = _number("InputTokens", "input_tokens", cloudwatch.Unit.COUNT)
CACHED_TOKENS = _number("CachedTokens", "cached_tokens", cloudwatch.Unit.COUNT)
PREFIX_EVICTIONS = _number("PrefixEvictions", "prefix_evictions", cloudwatch.Unit.COUNT)
CONFIDENCE = _number("Confidence", "confidence", cloudwatch.Unit.NONE)
LOWEST_CONFIDENCE = _number("LowestConfidence", "confidence_min", cloudwatch.Unit.NONE)
LABEL_MASS = _number("LabelMass", "allowed_token_mass", cloudwatch.Unit.NONE)
ROTATION_SPREAD = _number("RotationSpread", "rotation_spread", cloudwatch.Unit.NONE)

SERVER_METRICS = (
    REQUESTS,
    BUSY,
    QUEUE_DEPTH,
    QUEUE_SECONDS,
    FORWARD_SECONDS,
    DECISIONS,
    INPUT_TOKENS,
    CACHED_TOKENS,
    PREFIX_EVICTIONS,
    CONFIDENCE,
    LOWEST_CONFIDENCE,
    LABEL_MASS,
    ROTATION_SPREAD,
)


class ServerMetrics(Construct):
    """The metric filters of one endpoint's log group. A filter cannot add a fixed dimension: the namespace names the
    endpoint."""

    def __init__(self, scope: Construct, id_: str, *, endpoint_name: str, log_group: logs.ILogGroup) -> None:
        super().__init__(scope, id_)
        self._namespace = f"DecisionEndpoint/{endpoint_name}"
        for each in SERVER_METRICS:
            logs.MetricFilter(
                self,
                each.name,
                log_group=log_group,
                filter_pattern=logs.FilterPattern.literal(each.pattern),
                metric_namespace=self._namespace,
                metric_name=each.name,
                metric_value=each.value,
                default_value=each.default,
                unit=each.unit,
            )

    def of(
        self, metric: ServerMetric, statistic: str, *, period: Duration = PERIOD, label: str | None = None
    ) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace=self._namespace, metric_name=metric.name, statistic=statistic, period=period, label=label
        )

    def cache_share(self) -> cloudwatch.MathExpression:
        """Of the tokens that the answers were made from, how many were not computed again, in percent."""
        used: Mapping[str, cloudwatch.IMetric] = {
            "cached": self.of(CACHED_TOKENS, "Sum"),
            "input": self.of(INPUT_TOKENS, "Sum"),
        }
        return cloudwatch.MathExpression(
            expression="100 * cached / input", using_metrics=used, period=PERIOD, label="cached, % of tokens"
        )
