"""Metrics, alarms and dashboard of one endpoint, put together. Knows the endpoint by its name alone."""

from __future__ import annotations

from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from constructs import Construct, IDependable

from stacks.instance_types import Processor
from stacks.monitoring.alarms import Alarms
from stacks.monitoring.dashboard import EndpointDashboard
from stacks.monitoring.sagemaker_metrics import EndpointMetrics
from stacks.monitoring.server_metrics import ServerMetrics
from stacks.settings import AlarmLimits, Asynchronous, RealTime


class Monitoring(Construct):
    """Exposes `rollback_alarm_names`: beyond these an update is taken back. An endpoint that names them is made after
    them.

    server_log: the log group of our own container, or None where another one answers, whose lines mean nothing here.
    least_instances: how many always run; 0 where the endpoint may scale to none.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        endpoint_name: str,
        variant_name: str,
        processor: Processor,
        invocation: RealTime | Asynchronous,
        server_log: logs.ILogGroup | None,
        least_instances: int,
        limits: AlarmLimits,
        topic: sns.ITopic,
    ) -> None:
        super().__init__(scope, id_)
        endpoint = EndpointMetrics(endpoint_name=endpoint_name, variant_name=variant_name)
        server = (
            None
            if server_log is None
            else ServerMetrics(self, "ServerMetrics", endpoint_name=endpoint_name, log_group=server_log)
        )
        self._alarms = Alarms(
            self,
            "Alarms",
            endpoint=endpoint,
            server=server,
            invocation=invocation,
            least_instances=least_instances,
            limits=limits,
            topic=topic,
        )
        self.rollback_alarm_names = tuple(alarm.alarm_name for alarm in self._alarms.rollback)
        EndpointDashboard(
            self,
            "Dashboard",
            endpoint=endpoint,
            server=server,
            invocation=invocation,
            processor=processor,
            limits=limits,
            alarms=self._alarms,
        )

    def start_after(self, endpoint: IDependable) -> None:
        """To be called with the endpoint: running instances are missed only once it has been created."""
        self._alarms.start_after(endpoint)
