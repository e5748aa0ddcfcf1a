"""Reads what is watched and kept of an endpoint: the limits of its alarms, captured requests."""

from __future__ import annotations

from stacks.instance_types import Processor
from stacks.settings.endpoint_values import AlarmLimits, Asynchronous, DataCapture, RealTime
from stacks.settings.fields import Fields

# The original's p95 over its task set was 19.3 s on the CPU and 0.6 s on the GPU: beyond half as much again something
# is wrong on the CPU, and the GPU has room for longer prompts.
_LATENCY_P95_SECONDS: dict[Processor, float] = {"cpu": 30.0, "cuda": 5.0}


# Longer no answer takes: InvokeEndpoint gives up, and so does SageMaker's queue.
_LONGEST_REAL_TIME, _LONGEST_ASYNCHRONOUS = 60, 3600


def alarms_from(
    endpoint: Fields, *, target: Processor, invocation: RealTime | Asynchronous, label_mass_problem: str | None
) -> AlarmLimits:
    """label_mass_problem: why this endpoint has no mass of labels to watch, if so."""
    alarms = endpoint.table_or_empty("alarms")
    alarms.closed("busy_percent", "label_mass", "latency_p95_seconds", "server_error_percent")
    longest = _LONGEST_REAL_TIME if isinstance(invocation, RealTime) else _LONGEST_ASYNCHRONOUS
    label_mass = None
    if alarms.has("label_mass"):
        label_mass = alarms.decimal("label_mass", 0.01, 0.99)  # a mean of 1 is never reached
        if label_mass_problem:
            raise alarms.error("label_mass", f"{label_mass_problem}. Remedy: leave it out")
    return AlarmLimits(
        server_error_percent=alarms.decimal("server_error_percent", 0.01, 100, default=1.0),
        busy_percent=alarms.decimal("busy_percent", 0.01, 100, default=5.0),
        latency_p95_seconds=alarms.decimal("latency_p95_seconds", 0.01, longest, default=_LATENCY_P95_SECONDS[target]),
        label_mass=label_mass,
    )


def capture_from(endpoint: Fields) -> DataCapture | None:
    """None where nothing is said of it: requests and answers are nobody's business."""
    if not endpoint.has("capture"):
        return None
    capture = endpoint.table("capture")
    capture.closed("sampling_percent")
    return DataCapture(sampling_percent=capture.number("sampling_percent", 1, 100))
