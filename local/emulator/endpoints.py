"""How an endpoint comes up, moves to a new configuration and goes away, as SageMaker's deployment does it.

Update: the new containers start beside the old ones, traffic moves step by step once all are healthy, then the old ones
stop. When one of the new ones fails, or an alarm goes off between the steps, the new ones stop and the endpoint stays
InService on its old configuration, with a failure reason.
"""

from __future__ import annotations

import dataclasses
import random
import threading
import time
from collections.abc import Callable

from local.emulator.aws_errors import validation
from local.emulator.containers import Container, LaunchError
from local.emulator.deployments import Deployment
from local.emulator.records import EndpointRecord, VariantPlan
from local.emulator.scope import Scope

Launch = Callable[[Scope, str, VariantPlan, Callable[[], bool]], Container]
Fleet = dict[str, Container]  # variant name → its container
AlarmStates = Callable[[list[str]], dict[str, str]]  # names → OK, ALARM, INSUFFICIENT_DATA of those that exist
ALARM_POLL_SECONDS = 0.1


class EndpointManager:
    """launch may take minutes; it is called on a thread of its own."""

    def __init__(self, scope: Scope, *, launch: Launch, alarm_states: AlarmStates) -> None:
        self._scope, self._launch, self._alarm_states = scope, launch, alarm_states
        self._lock = threading.RLock()
        self._settled = threading.Condition(self._lock)
        self._records: dict[str, EndpointRecord] = {}
        self._fleets: dict[str, Fleet] = {}
        self._coming: dict[str, tuple[Fleet, float]] = {}  # of an update under way: new containers, their share
        self._closing = threading.Event()

    def get(self, name: str) -> EndpointRecord:
        with self._lock:
            if name not in self._records:
                raise validation(f'Could not find endpoint "{self._arn(name)}".')
            return self._records[name]

    def find(self, name: str) -> EndpointRecord | None:
        with self._lock:
            return self._records.get(name)

    def all(self) -> list[EndpointRecord]:
        with self._lock:
            return list(self._records.values())

    def serving(self, name: str) -> tuple[EndpointRecord | None, Fleet]:
        """The endpoint and the containers that answer for it now. While an update moves traffic each call draws anew
        which of the two fleets that is.
        """
        with self._lock:
            coming, share = self._coming.get(name, ({}, 0.0))
            fleet = coming if random.random() < share else self._fleets.get(name, {})
            return self._records.get(name), dict(fleet)

    def set_variant(self, name: str, variant: str, **values: int | float) -> None:
        """Changes instance_count or weight of a variant; the emulator runs one container whatever the count is."""
        with self._lock:
            record = self.get(name)
            record.plans = [
                dataclasses.replace(plan, **values) if plan.name == variant else plan  # type: ignore[arg-type]
                for plan in record.plans
            ]
            record.modified = time.time()

    def create(
        self, name: str, config_name: str, plans: list[VariantPlan], tags: list[dict[str, str]]
    ) -> EndpointRecord:
        now = time.time()
        record = EndpointRecord(
            name=name, arn=self._arn(name), config_name=config_name, created=now, modified=now, plans=plans, tags=tags
        )
        with self._lock:
            if name in self._records:
                raise validation(f'Cannot create already existing endpoint "{record.arn}".')
            self._records[name] = record
        self._in_background(self._bring_up, record)
        return record

    def update(self, name: str, config_name: str, plans: list[VariantPlan], deployment: Deployment) -> EndpointRecord:
        known = self._alarm_states(list(deployment.alarms))
        if missing := [alarm for alarm in deployment.alarms if alarm not in known]:
            raise validation(f"AutoRollbackConfiguration names alarms that do not exist: {', '.join(missing)}.")
        with self._lock:
            record = self.get(name)
            if record.status not in ("InService", "Failed"):
                raise validation(f'Cannot update in-progress endpoint "{record.arn}".')
            record.status, record.pending_config_name, record.failure_reason = "Updating", config_name, None
            record.modified = time.time()
        self._in_background(self._move, record, config_name, plans, deployment)
        return record

    def delete(self, name: str) -> None:
        with self._lock:
            record = self.get(name)
            if record.status not in ("InService", "Failed"):
                raise validation(f'Cannot update in-progress endpoint "{record.arn}".')
            record.status, record.modified = "Deleting", time.time()
            fleet = self._fleets.pop(name, {})
        self._in_background(self._take_down, record, fleet)

    def await_settled(self, name: str) -> EndpointRecord | None:
        """Blocks while the endpoint is Creating, Updating or Deleting; None when it is gone."""
        with self._settled:
            while name in self._records and self._records[name].status not in ("InService", "Failed"):
                self._settled.wait()
            return self._records.get(name)

    def close(self) -> None:
        """Stops every container at once; for the end of the process or a reset."""
        self._closing.set()
        with self._settled:
            fleets = [container for fleet in self._fleets.values() for container in fleet.values()]
            self._fleets.clear()
            self._coming.clear()
            self._records.clear()
            self._settled.notify_all()
        for container in fleets:
            container.stop()

    def _bring_up(self, record: EndpointRecord) -> None:
        try:
            fleet = self._start_fleet(record.name, record.plans)
        except LaunchError as error:
            self._settle(record, "Failed", reason=str(error))
            return
        self._settle(record, "InService", fleet=fleet)

    def _move(self, record: EndpointRecord, config_name: str, plans: list[VariantPlan], deployment: Deployment) -> None:
        fleet: Fleet = {}
        try:
            fleet = self._start_fleet(record.name, plans)
            self._shift(record, fleet, deployment)
        except LaunchError as error:
            with self._lock:
                self._coming.pop(record.name, None)
                record.pending_config_name = None
                kept = record.name in self._fleets
            # An endpoint that served nothing has nothing to go back to.
            self._settle(record, "InService" if kept else "Failed", reason=str(error))
            for container in fleet.values():
                container.stop()
            return
        with self._lock:
            old = self._fleets.get(record.name, {})
            self._coming.pop(record.name, None)
            record.config_name, record.pending_config_name, record.plans = config_name, None, plans
        self._settle(record, "InService", fleet=fleet)
        for container in old.values():
            container.stop()

    def _shift(self, record: EndpointRecord, fleet: Fleet, deployment: Deployment) -> None:
        """Moves the traffic. Raises LaunchError when an alarm goes off meanwhile."""
        for step in deployment.steps:
            with self._lock:
                self._coming[record.name] = (fleet, step.share)
            self._watch(deployment, step.seconds)
        self._watch(deployment, deployment.termination_seconds)

    def _watch(self, deployment: Deployment, seconds: float) -> None:
        """For at least one look at the alarms."""
        end = time.monotonic() + seconds
        while True:
            states = self._alarm_states(list(deployment.alarms))
            if ringing := [name for name, state in states.items() if state == "ALARM"]:
                raise LaunchError(
                    f"One or more alarms went off while the new instances were watched: {', '.join(ringing)}. "
                    "The update was rolled back."
                )
            rest = end - time.monotonic()
            if rest <= 0 or self._closing.wait(min(rest, ALARM_POLL_SECONDS)):
                return

    def _start_fleet(self, name: str, plans: list[VariantPlan]) -> Fleet:
        fleet: Fleet = {}
        try:
            for plan in plans:
                fleet[plan.name] = self._launch(self._scope, name, plan, self._closing.is_set)
        except BaseException:
            for container in fleet.values():
                container.stop()
            raise
        return fleet

    def _take_down(self, record: EndpointRecord, fleet: Fleet) -> None:
        for container in fleet.values():
            container.stop()
        with self._settled:
            if self._records.get(record.name) is record:
                del self._records[record.name]
            self._settled.notify_all()

    def _settle(
        self, record: EndpointRecord, status: str, *, fleet: Fleet | None = None, reason: str | None = None
    ) -> None:
        with self._settled:
            if self._records.get(record.name) is not record:  # a reset came between
                late = fleet or {}
            else:
                late = {}
                if fleet is not None:
                    self._fleets[record.name] = fleet
                record.status = "InService" if status == "InService" else "Failed"
                record.failure_reason = reason
                record.modified = time.time()
            self._settled.notify_all()
        for container in late.values():
            container.stop()

    def _in_background(self, function: Callable[..., None], record: EndpointRecord, *arguments: object) -> None:
        def run() -> None:
            try:
                function(record, *arguments)
            except Exception as error:
                self._settle(record, "Failed", reason=f"internal error of the emulator: {error!r}")
                raise

        threading.Thread(target=run, daemon=True, name=f"endpoint-{record.name}").start()

    def _arn(self, name: str) -> str:
        return self._scope.sagemaker_arn("endpoint", name)
