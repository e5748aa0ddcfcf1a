"""The alarms of one endpoint. Each says in its description what to do; each tells the topic when it goes off and ends.

An endpoint that nobody asks publishes nothing: what is missing is no fault, except the instances themselves.
"""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct, IDependable

from stacks.monitoring import sagemaker_metrics as published
from stacks.monitoring import server_metrics as served
from stacks.monitoring.sagemaker_metrics import MICROSECONDS_PER_SECOND, PERIOD, EndpointMetrics
from stacks.monitoring.server_metrics import ServerMetrics
from stacks.settings import AlarmLimits, Asynchronous, RealTime

_PROVISIONING_MINUTES = 30  # longer than an instance takes to come up where there is capacity
_GONE_MINUTES = 15
_ENOUGH_FOR_P95 = 10  # answers in 5 minutes; of fewer the p95 is the slowest one


class Alarms(Construct):
    """Exposes `all`, and `rollback`: those that speak of the version that answers, not of the load or the capacity."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        endpoint: EndpointMetrics,
        server: ServerMetrics | None,
        invocation: RealTime | Asynchronous,
        least_instances: int,
        limits: AlarmLimits,
        topic: sns.ITopic,
    ) -> None:
        super().__init__(scope, id_)
        self._endpoint = endpoint
        self._action = actions.SnsAction(topic)
        self._running: cloudwatch.Alarm | None = None
        self._name = endpoint.endpoint_name
        rollback = [self._server_errors(server, limits), self._latency(limits)]
        others: list[cloudwatch.Alarm] = []
        match invocation:
            case RealTime():
                rollback.append(self._no_answer(limits))
            case Asynchronous():
                others += [self._failed_requests(limits), self._no_capacity()]
        if server is not None:
            others.append(self._busy(server, limits))
            if limits.label_mass is not None:
                rollback.append(self._label_mass(server, limits.label_mass))
        if least_instances > 0:
            self._running = self._alarm(
                "too-few-instances",
                metric=endpoint.instances(),
                threshold=least_instances,
                periods=_GONE_MINUTES,
                below=True,
                missing=cloudwatch.TreatMissingData.BREACHING,  # instances report every minute, asked or not
                says=f"Fewer instances of {self._name} than its least number, {least_instances}, have run for"
                f" {_GONE_MINUTES} minutes. SageMaker replaces failed ones by itself: look at the endpoint's events and"
                " at the end of its log for why they fail, and at the quota and capacity of the instance type.",
            )
            others.append(self._running)
        self.rollback = tuple(rollback)
        self.all = (*rollback, *others)

    def start_after(self, endpoint: IDependable) -> None:
        """Instances are missed only once the endpoint has been created."""
        if self._running is not None:
            self._running.node.add_dependency(endpoint)

    def _server_errors(self, server: ServerMetrics | None, limits: AlarmLimits) -> cloudwatch.Alarm:
        errors = self._endpoint.of(published.SERVER_ERRORS, "Sum")
        answers = self._endpoint.of(published.SERVER_ERRORS, "SampleCount")
        if server is None:
            metric = _percent("errors / answers", {"errors": errors, "answers": answers}, "server errors, %")
            counted, look = "", "Look at the end of its log"
        else:
            # Without log lines there is no busy answer either: a server that is gone must not hide its errors.
            metric = _percent(
                "IF(errors > FILL(busy, 0), errors - FILL(busy, 0), 0) / answers",
                {"errors": errors, "answers": answers, "busy": server.of(served.BUSY, "Sum")},
                "server errors, %",
            )
            counted, look = ", answers of a busy server not counted", "Look for status >= 500 in its log"
        return self._alarm(
            "server-errors",
            metric=metric,
            threshold=limits.server_error_percent,
            says=f"{self._name} answered more than {limits.server_error_percent:g} % of the requests of 5 minutes with"
            f" 5xx{counted}. {look}; if an update brought it, SageMaker rolls it back, or deploy the commit before.",
        )

    def _no_answer(self, limits: AlarmLimits) -> cloudwatch.Alarm:
        metric = _percent(
            "(failed - client - server) / requests",
            {
                "failed": self._endpoint.of(published.MODEL_ERRORS, "Sum"),
                "client": self._endpoint.of(published.CLIENT_ERRORS, "Sum"),
                "server": self._endpoint.of(published.SERVER_ERRORS, "Sum"),
                "requests": self._endpoint.of(published.INVOCATIONS, "Sum"),
            },
            "no answer, %",
        )
        return self._alarm(
            "no-answer",
            metric=metric,
            threshold=limits.server_error_percent,
            says=f"More than {limits.server_error_percent:g} % of the requests of 5 minutes to"
            f" {self._name} got no HTTP answer from the container: it ended, hung up, or took longer"
            " than SageMaker's 60 s. Look for the end of a process and for load_failed in its log, then at memory.",
        )

    def _busy(self, server: ServerMetrics, limits: AlarmLimits) -> cloudwatch.Alarm:
        metric = _percent(
            "busy / requests",
            {"busy": server.of(served.BUSY, "Sum"), "requests": server.of(served.REQUESTS, "Sum")},
            "busy, %",
        )
        return self._alarm(
            "busy",
            metric=metric,
            threshold=limits.busy_percent,
            says=f"{self._name} told more than {limits.busy_percent:g} % of the requests of 5 minutes"
            " to come back later (503). More instances (hosting.instance_count, or scaling.maximum), larger ones, or"
            " fewer decisions at once.",
        )

    def _latency(self, limits: AlarmLimits) -> cloudwatch.Alarm:
        return self._alarm(
            "latency",
            # or one slow answer of a quiet hour takes an update back
            metric=cloudwatch.MathExpression(
                expression=f"IF(answers >= {_ENOUGH_FOR_P95}, latency, 0)",
                using_metrics={
                    "latency": self._endpoint.of(published.MODEL_LATENCY, "p95"),
                    "answers": self._endpoint.of(published.MODEL_LATENCY, "SampleCount"),
                },
                period=PERIOD,
                label="model latency p95, µs",
            ),
            threshold=limits.latency_p95_seconds * MICROSECONDS_PER_SECOND,
            says=f"The slowest twentieth of the answers of {self._name} in 5 minutes took longer than"
            f" {limits.latency_p95_seconds:g} s in the container, of {_ENOUGH_FOR_P95} answers or more: of fewer a p95"
            " says little. On the dashboard: long waiting asks for more"
            " instances, long engine time for larger ones; a fallen cache share says that the requests have changed.",
        )

    def _label_mass(self, server: ServerMetrics, least: float) -> cloudwatch.Alarm:
        return self._alarm(
            "label-mass",
            metric=server.of(served.LABEL_MASS, "Average"),
            threshold=least,
            below=True,
            says=f"In 5 minutes {self._name} has put less than {least:g} of its probability on the"
            " options' labels: it would rather say something else, and its answers mean little. Has the model, its"
            " prompt version or the kind of question changed? Roll back, or choose another readout.",
        )

    def _failed_requests(self, limits: AlarmLimits) -> cloudwatch.Alarm:
        metric = _percent(
            "(FILL(failed, 0) + FILL(expired, 0)) / (FILL(answers, 0) + FILL(expired, 0))",
            {
                "failed": self._endpoint.of(published.INVOCATION_FAILURES, "Sum"),
                "expired": self._endpoint.of(published.EXPIRED_REQUESTS, "Sum"),
                "answers": self._endpoint.of(published.SERVER_ERRORS, "SampleCount"),
            },
            "failed or expired, %",
        )
        return self._alarm(
            "failed-requests",
            metric=metric,
            threshold=limits.server_error_percent,
            says=f"More than {limits.server_error_percent:g} % of the requests of 5 minutes to {self._name} failed, or"
            " waited in its queue until they expired. Look at the objects below failures/ for the reason, and at the"
            " backlog on the dashboard: a long one asks for more instances.",
        )

    def _no_capacity(self) -> cloudwatch.Alarm:
        return self._alarm(
            "no-capacity",
            metric=self._endpoint.of(published.BACKLOG_WITHOUT_CAPACITY, "Maximum", period=Duration.minutes(1)),
            threshold=0,
            periods=_PROVISIONING_MINUTES,
            says=f"Requests have waited for {_PROVISIONING_MINUTES} minutes and no instance of"
            f" {self._name} has come up. Look at the scaling activities of the variant, the endpoint's"
            " events and the quota and capacity of the instance type.",
        )

    def _alarm(
        self,
        name: str,
        *,
        metric: cloudwatch.IMetric,
        threshold: float,
        says: str,
        periods: int = 1,
        below: bool = False,
        missing: cloudwatch.TreatMissingData = cloudwatch.TreatMissingData.NOT_BREACHING,
    ) -> cloudwatch.Alarm:
        alarm = cloudwatch.Alarm(
            self,
            name,
            alarm_name=f"{self._name}-{name}",
            alarm_description=says,
            metric=metric,
            threshold=threshold,
            evaluation_periods=periods,
            comparison_operator=cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
            if below
            else cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            treat_missing_data=missing,
        )
        alarm.add_alarm_action(self._action)
        alarm.add_ok_action(self._action)
        return alarm


def _percent(share: str, metrics: Mapping[str, cloudwatch.IMetric], label: str) -> cloudwatch.MathExpression:
    return cloudwatch.MathExpression(expression=f"100 * {share}", using_metrics=metrics, period=PERIOD, label=label)
