"""How an endpoint comes up, moves to a new configuration and goes away, as SageMaker's blue/green deployment does it.

Update: the new containers start beside the old ones, traffic moves once all are healthy, then the old ones stop. When
one of the new ones fails, they all stop and the endpoint stays InService on its old configuration, with a failure
reason.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from local.emulator.aws_errors import validation
from local.emulator.containers import Container, LaunchError
from local.emulator.records import EndpointRecord, VariantPlan
from local.emulator.scope import Scope

Launch = Callable[[Scope, str, VariantPlan, Callable[[], bool]], Container]
Fleet = dict[str, Container]  # variant name → its container


class EndpointManager:
    """launch may take minutes; it is called on a thread of its own."""

    def __init__(self, scope: Scope, *, launch: Launch) -> None:
        self._scope, self._launch = scope, launch
        self._lock = threading.RLock()
        self._settled = threading.Condition(self._lock)
        self._records: dict[str, EndpointRecord] = {}
        self._fleets: dict[str, Fleet] = {}
        self._closing = threading.Event()

    def get(self, name: str) -> EndpointRecord:
        with self._lock:
            if name not in self._records:
                raise validation(f'Could not find endpoint "{self._arn(name)}".')
            return self._records[name]

    def all(self) -> list[EndpointRecord]:
        with self._lock:
            return list(self._records.values())

    def serving(self, name: str) -> tuple[EndpointRecord | None, Fleet]:
        """The endpoint and the containers that answer for it now: the old ones while an update runs."""
        with self._lock:
            return self._records.get(name), dict(self._fleets.get(name, {}))

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

    def update(self, name: str, config_name: str, plans: list[VariantPlan]) -> EndpointRecord:
        with self._lock:
            record = self.get(name)
            if record.status not in ("InService", "Failed"):
                raise validation(f'Cannot update in-progress endpoint "{record.arn}".')
            record.status, record.pending_config_name, record.failure_reason = "Updating", config_name, None
            record.modified = time.time()
        self._in_background(self._move, record, config_name, plans)
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

    def _move(self, record: EndpointRecord, config_name: str, plans: list[VariantPlan]) -> None:
        try:
            fleet = self._start_fleet(record.name, plans)
        except LaunchError as error:
            with self._lock:
                record.pending_config_name = None
                kept = record.name in self._fleets
            # An endpoint that served nothing has nothing to go back to.
            self._settle(record, "InService" if kept else "Failed", reason=str(error))
            return
        with self._lock:
            old = self._fleets.get(record.name, {})
            record.config_name, record.pending_config_name, record.plans = config_name, None, plans
        self._settle(record, "InService", fleet=fleet)
        for container in old.values():
            container.stop()

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
