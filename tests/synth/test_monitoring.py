"""Metric filters, alarms and dashboard of an endpoint: what they watch, in which unit, and whom they tell what."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from aws_cdk import Stack
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_sns as sns

from stacks.monitoring import Monitoring
from stacks.monitoring.server_metrics import SERVER_METRICS
from stacks.settings import AlarmLimits, Asynchronous, BlueGreen, RealTime
from stacks.updates import deployment_config

from .conftest import Template, resources
from .lone_stack import lone_stack, plain, template_of
from .published_metrics import ASYNCHRONOUS, OF_THE_QUEUE, REAL_TIME

NAME = "decision-test-scoring"
OURS = f"DecisionEndpoint/{NAME}"
LIMITS = AlarmLimits(server_error_percent=2, busy_percent=5, latency_p95_seconds=1.5, label_mass=0.4)
REAL, QUEUED = RealTime(), Asynchronous(max_concurrent_invocations_per_instance=2)


def monitored(stack: Stack, **changes: Any) -> Monitoring:
    log = logs.LogGroup(stack, "Log")
    given: dict[str, Any] = {
        "endpoint_name": NAME,
        "variant_name": "AllTraffic",
        "processor": "cpu",
        "invocation": REAL,
        "server_log": log,
        "least_instances": 1,
        "limits": LIMITS,
        "topic": sns.Topic.from_topic_arn(stack, "Topic", "arn:aws:sns:eu-west-1:123456789012:on-call"),
    }
    return Monitoring(stack, "Monitoring", **given | changes)


def template(**changes: Any) -> Template:
    stack = lone_stack()
    monitored(stack, **changes)
    return template_of(stack)


def alarms(found: Template) -> dict[str, dict[str, Any]]:
    """By the last part of their names."""
    properties = [each["Properties"] for each in resources(found, "AWS::CloudWatch::Alarm")]
    return {each["AlarmName"].removeprefix(f"{NAME}-"): each for each in properties}


def widgets(found: Template) -> list[dict[str, Any]]:
    (board,) = resources(found, "AWS::CloudWatch::Dashboard")
    return list(json.loads(plain(board["Properties"]["DashboardBody"]))["widgets"])


def of_alarm(alarm: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, str], str]]:
    """Namespace, name, dimensions and statistic of each metric that an alarm is about."""
    for each in alarm.get("Metrics", [{"MetricStat": {"Metric": alarm, "Stat": statistic(alarm)}}]):
        if (stat := each.get("MetricStat")) is not None:
            metric = stat["Metric"]
            dimensions = {one["Name"]: one["Value"] for one in metric.get("Dimensions", [])}
            yield metric["Namespace"], metric["MetricName"], dimensions, stat["Stat"]


def statistic(alarm: dict[str, Any]) -> str:
    return str(alarm.get("Statistic") or alarm.get("ExtendedStatistic"))


def of_widget(widget: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, str], str]]:
    for row in widget["properties"].get("metrics", []):
        if isinstance(row[0], str):
            options = row[-1] if isinstance(row[-1], dict) else {}
            words = [word for word in row if isinstance(word, str)]
            dimensions = dict(zip(words[2::2], words[3::2], strict=True))
            yield words[0], words[1], dimensions, options.get("stat", "Average")


def expression(alarm: dict[str, Any]) -> str:
    (found,) = [each["Expression"] for each in alarm["Metrics"] if "Expression" in each]
    return str(found)


def evaluated(alarm: dict[str, Any], **metrics: float | None) -> float:
    """The alarm's expression by Python's rules, which are CloudWatch's for these signs. None: a metric without data."""
    ids = {each["Id"] for each in alarm["Metrics"] if "MetricStat" in each}
    assert ids == set(metrics)
    functions = {
        "IF": lambda condition, yes, no: yes if condition else no,
        "FILL": lambda value, filler: filler if value is None else value,
    }
    return float(eval(expression(alarm), {"__builtins__": {}}, {**functions, **metrics}))


# Metric filters.


def test_each_metric_of_the_server_has_one_filter_in_a_namespace_that_names_the_endpoint() -> None:
    filters = [each["Properties"] for each in resources(template(), "AWS::Logs::MetricFilter")]
    made = {}
    for each in filters:
        (transformation,) = each["MetricTransformations"]
        assert transformation["MetricNamespace"] == OURS
        assert "Dimensions" not in transformation  # CloudWatch refuses a default value together with dimensions
        made[transformation["MetricName"]] = (
            each["FilterPattern"],
            transformation["MetricValue"],
            transformation["Unit"],
            transformation.get("DefaultValue"),
        )
    assert made == {
        metric.name: (metric.pattern, metric.value, metric.unit.value.title(), metric.default)
        for metric in SERVER_METRICS
    }


def test_counted_lines_say_zero_where_there_is_none_and_measured_ones_nothing() -> None:
    defaults = {metric.name: metric.default for metric in SERVER_METRICS}
    assert {name for name, default in defaults.items() if default == 0} == {"Requests", "BusyAnswers"}
    assert all(metric.value == "1" for metric in SERVER_METRICS if metric.default == 0)


def test_another_servers_log_is_not_read() -> None:
    found = template(server_log=None)
    assert not resources(found, "AWS::Logs::MetricFilter")
    named = [metric for alarm in alarms(found).values() for metric in of_alarm(alarm)]
    named += [metric for widget in widgets(found) for metric in of_widget(widget)]
    assert not [metric for metric in named if metric[0] == OURS]
    assert set(alarms(found)) == {"server-errors", "latency", "no-answer", "too-few-instances"}


# What is watched.


@pytest.mark.parametrize(
    ("invocation", "documented"), [(REAL, REAL_TIME), (QUEUED, ASYNCHRONOUS)], ids=["real time", "asynchronous"]
)
@pytest.mark.parametrize("processor", ["cpu", "cuda"])
def test_only_metrics_that_exist_are_named_with_the_dimensions_they_have(
    invocation: RealTime | Asynchronous, documented: dict[tuple[str, str], str], processor: str
) -> None:
    found = template(invocation=invocation, processor=processor)
    named = [metric for alarm in alarms(found).values() for metric in of_alarm(alarm)]
    named += [metric for widget in widgets(found) for metric in of_widget(widget)]
    assert len(named) > 40
    ours = {metric.name for metric in SERVER_METRICS}
    for namespace, name, dimensions, _ in named:
        if namespace == OURS:
            assert name in ours
            assert dimensions == {}
            continue
        assert (namespace, name) in documented
        queue = (namespace, name) in OF_THE_QUEUE
        assert dimensions == {"EndpointName": NAME} | ({} if queue else {"VariantName": "AllTraffic"})


def test_no_metric_is_asked_for_in_a_unit() -> None:
    """Asked for in another unit than the published one, CloudWatch finds nothing and says nothing."""
    found = template()
    for alarm in alarms(found).values():
        assert "Unit" not in json.dumps(alarm)


# Alarms.


def test_the_limits_are_those_of_the_settings_in_the_units_of_the_metrics() -> None:
    found = alarms(template())
    limits = {name: (alarm["ComparisonOperator"], alarm["Threshold"]) for name, alarm in found.items()}
    assert limits == {
        "server-errors": ("GreaterThanThreshold", 2),
        "no-answer": ("GreaterThanThreshold", 2),
        "busy": ("GreaterThanThreshold", 5),
        "latency": ("GreaterThanThreshold", 1_500_000),  # ModelLatency is published in microseconds
        "label-mass": ("LessThanThreshold", 0.4),
        "too-few-instances": ("LessThanThreshold", 1),
    }
    assert [metric[3] for metric in of_alarm(found["latency"])] == ["p95", "SampleCount"]


def test_rates_are_of_five_minutes() -> None:
    """So an alarm that undoes an update can go off while it bakes: CloudWatch looks at them every minute."""
    found = alarms(template())
    for name in ("server-errors", "no-answer", "busy", "latency", "label-mass"):
        assert found[name]["EvaluationPeriods"] == 1
        queries = found[name].get("Metrics", [{"MetricStat": found[name]}])
        assert {each["MetricStat"]["Period"] for each in queries if "MetricStat" in each} == {300}


@pytest.mark.parametrize(("errors", "busy", "percent"), [(3, 0, 3), (10, 8, 2), (8, 8, 0), (7, 9, 0), (5, None, 5)])
def test_server_errors_are_those_that_no_busy_server_gave(errors: float, busy: float | None, percent: float) -> None:
    """busy None: a server that prints nothing any more must not hide its errors."""
    alarm = alarms(template())["server-errors"]
    assert evaluated(alarm, errors=errors, busy=busy, answers=100) == percent
    statistics = {name: stat for _, name, _, stat in of_alarm(alarm) if name == "BusyAnswers"}
    assert statistics == {"BusyAnswers": "Sum"}


def test_without_our_log_all_server_errors_count() -> None:
    alarm = alarms(template(server_log=None))["server-errors"]
    assert evaluated(alarm, errors=3, answers=200) == 1.5
    assert "busy" not in alarm["AlarmDescription"]
    assert "busy server not counted" in alarms(template())["server-errors"]["AlarmDescription"]


def test_requests_without_an_answer_are_those_that_have_no_status() -> None:
    alarm = alarms(template())["no-answer"]
    assert evaluated(alarm, failed=10, client=4, server=5, requests=50) == 2


def test_busy_is_a_share_of_what_reached_the_server() -> None:
    assert evaluated(alarms(template())["busy"], busy=3, requests=60) == 5


def test_an_endpoint_that_nobody_asks_neither_alarms_nor_blocks_an_update() -> None:
    for invocation in (REAL, QUEUED):
        found = alarms(template(invocation=invocation))
        missing = {name: alarm["TreatMissingData"] for name, alarm in found.items()}
        # Running instances report every minute, whether they are asked or not.
        assert missing.pop("too-few-instances") == "breaching"
        assert set(missing.values()) == {"notBreaching"}


def test_missing_instances_are_looked_for_only_where_some_always_run_and_after_the_endpoint_is_there() -> None:
    assert "too-few-instances" not in alarms(template(invocation=QUEUED, least_instances=0))
    stack = lone_stack()
    endpoint = sagemaker.CfnEndpoint(stack, "Endpoint", endpoint_config_name="config")
    monitored(stack, least_instances=3).start_after(endpoint)
    waiting = {
        each["Properties"]["AlarmName"].removeprefix(f"{NAME}-"): each["Properties"]["Threshold"]
        for each in resources(template_of(stack), "AWS::CloudWatch::Alarm")
        if "Endpoint" in each.get("DependsOn", [])
    }
    assert waiting == {"too-few-instances": 3}


def test_the_alarms_of_an_update_are_about_the_version_and_exist_before_the_endpoint() -> None:
    stack = lone_stack()
    monitoring = monitored(stack)
    endpoint = sagemaker.CfnEndpoint(
        stack,
        "Endpoint",
        endpoint_config_name="config",
        deployment_config=deployment_config(
            BlueGreen(canary_percent=None, bake_seconds=60, termination_wait_seconds=0),
            rollback_alarm_names=monitoring.rollback_alarm_names,
        ),
    )
    monitoring.start_after(endpoint)
    found = template_of(stack)  # refuses a circle
    rollback = found["Resources"]["Endpoint"]["Properties"]["DeploymentConfig"]["AutoRollbackConfiguration"]
    references = [each["AlarmName"]["Ref"] for each in rollback["Alarms"]]
    names = [found["Resources"][each]["Properties"]["AlarmName"] for each in references]
    assert names == [f"{NAME}-{name}" for name in ("server-errors", "latency", "no-answer", "label-mass")]


def test_a_limit_that_is_left_out_has_no_alarm_and_no_line() -> None:
    found = template(limits=AlarmLimits(server_error_percent=2, busy_percent=5, latency_p95_seconds=1, label_mass=None))
    assert "label-mass" not in alarms(found)
    (graph,) = [each for each in widgets(found) if each["properties"]["title"] == "Probability on the labels"]
    assert not graph["properties"].get("annotations")


@pytest.mark.parametrize(("answers", "seen"), [(9, 0), (10, 4e6), (500, 4e6)])
def test_the_p95_of_a_few_answers_rings_no_alarm_and_that_is_said(answers: float, seen: float) -> None:
    alarm = alarms(template())["latency"]
    assert evaluated(alarm, latency=4e6, answers=answers) == seen
    assert "10 answers or more" in alarm["AlarmDescription"]


@pytest.mark.parametrize(
    ("failed", "expired", "answers", "percent"),
    [(5, None, 50, 10), (None, 5, None, 100), (1, 10, 90, 11), (None, None, 50, 0)],
)
def test_an_asynchronous_endpoint_says_when_requests_fail_or_expire_without_taking_an_update_back(
    failed: float | None, expired: float | None, answers: float | None, percent: float
) -> None:
    stack = lone_stack()
    monitoring = monitored(stack, invocation=QUEUED)
    alarm = alarms(template_of(stack))["failed-requests"]
    assert evaluated(alarm, failed=failed, expired=expired, answers=answers) == percent
    assert alarm["Threshold"] == 2
    assert f"{NAME}-failed-requests" not in monitoring.rollback_alarm_names
    assert "failed-requests" not in alarms(template())


def test_an_asynchronous_endpoint_says_when_requests_wait_and_no_instance_comes() -> None:
    alarm = alarms(template(invocation=QUEUED, least_instances=0))["no-capacity"]
    assert [metric[1] for metric in of_alarm(alarm)] == ["HasBacklogWithoutCapacity"]
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", 0)
    assert (alarm["Period"], alarm["EvaluationPeriods"]) == (60, 30)


@pytest.mark.parametrize("invocation", [REAL, QUEUED], ids=["real time", "asynchronous"])
def test_each_alarm_tells_the_topic_when_it_begins_and_ends_and_says_what_to_do(
    invocation: RealTime | Asynchronous,
) -> None:
    for name, alarm in alarms(template(invocation=invocation)).items():
        topic = ["arn:aws:sns:eu-west-1:123456789012:on-call"]
        assert (alarm["AlarmActions"], alarm["OKActions"]) == (topic, topic), name
        said = alarm["AlarmDescription"]
        assert NAME in said
        assert 100 < len(said) <= 1024, name  # CloudWatch's own limit
        assert re.search(r"[Ll]ook |[Mm]ore instances|Roll back|asks for", said), name


# The dashboard.


@pytest.mark.parametrize("processor", ["cpu", "cuda"])
@pytest.mark.parametrize("invocation", [REAL, QUEUED], ids=["real time", "asynchronous"])
def test_the_dashboard_fits_its_grid_and_every_id_is_used_once(
    invocation: RealTime | Asynchronous, processor: str
) -> None:
    found = widgets(template(invocation=invocation, processor=processor))
    taken: set[tuple[int, int]] = set()
    for widget in found:
        cells = {
            (x, y)
            for x in range(widget["x"], widget["x"] + widget["width"])
            for y in range(widget["y"], widget["y"] + widget["height"])
        }
        assert max(x for x, _ in cells) < 24
        assert not cells & taken
        taken |= cells
        options = [row[-1] for row in widget["properties"].get("metrics", []) if isinstance(row[-1], dict)]
        ids = [option["id"] for option in options if "id" in option]
        assert len(ids) == len(set(ids))
        for option in options:
            if "expression" in option:
                assert set(re.findall(r"[a-z][A-Za-z0-9]*", option["expression"])) <= set(ids)


def test_latency_is_shown_in_seconds_split_into_the_model_and_what_is_around_it() -> None:
    model, around = [each for each in widgets(template()) if "latency" in each["properties"]["title"].lower()]
    for widget, metric in ((model, "ModelLatency"), (around, "OverheadLatency")):
        rows = widget["properties"]["metrics"]
        shown = [row[0] for row in rows if isinstance(row[0], dict)]
        assert {"p50", "p95", "p99"} <= {row["label"] for row in shown}
        assert all(row["expression"].endswith(" / 1000000") for row in shown)
        assert all(row[-1]["visible"] is False for row in rows if isinstance(row[0], str))
        assert {name for _, name, _, _ in of_widget(widget)} == {metric}
    assert model["properties"]["annotations"]["horizontal"][0]["value"] == 1.5


def test_what_the_issue_asks_for_is_on_the_dashboard() -> None:
    def shown(**changes: Any) -> set[str]:
        return {name for widget in widgets(template(**changes)) for _, name, _, _ in of_widget(widget)}

    everywhere = {"ModelLatency", "Invocation4XXErrors", "Invocation5XXErrors", "CPUUtilization", "MemoryUtilization"}
    everywhere |= {"DiskUtilization", "BusyAnswers", "QueueSeconds", "QueueDepth", "CachedTokens", "Confidence"}
    everywhere |= {"LabelMass"}
    assert everywhere | {"OverheadLatency", "Invocations"} <= shown()
    assert everywhere | {"ApproximateBacklogSize", "TimeInBacklog"} <= shown(invocation=QUEUED)
    assert {"GPUUtilization", "GPUMemoryUtilization"} <= shown(processor="cuda")
    assert not {"GPUUtilization", "GPUMemoryUtilization"} & shown(processor="cpu")


def test_the_number_of_instances_is_the_number_of_their_reports_in_a_minute() -> None:
    (graph,) = [each for each in widgets(template()) if each["properties"]["title"] == "Instances"]
    assert [(name, stat) for _, name, _, stat in of_widget(graph)] == [("CPUUtilization", "SampleCount")]
    assert graph["properties"]["metrics"][0][-1]["period"] == 60


def test_a_dashboard_is_named_for_its_region_too() -> None:
    """Dashboards are named once an account: the same environment in two regions has two."""
    (board,) = resources(template(), "AWS::CloudWatch::Dashboard")
    assert plain(board["Properties"]["DashboardName"]) == f"{NAME}-R"
