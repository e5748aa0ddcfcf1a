"""The resource types of operations on the emulator's CloudFormation: made, changed in place, replaced, rolled back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.local.cloudformation_stack import IMPOSSIBLE, Stack, template
from tests.local.conftest import Emulated


@pytest.fixture
def stack(emulated: Emulated, unique: str) -> Iterator[Stack]:
    stack = Stack(emulated, unique)
    yield stack
    stack.delete()


def alarm(name: str, threshold: float, **properties: Any) -> dict[str, Any]:
    errors = {"Metric": {"Namespace": "AWS/SageMaker", "MetricName": "Invocation5XXErrors"}, "Period": 300}
    return {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {
            "AlarmName": name,
            "Metrics": [
                {"Id": "errors", "ReturnData": False, "MetricStat": {**errors, "Stat": "Sum"}},
                {"Id": "all", "ReturnData": False, "MetricStat": {**errors, "Stat": "SampleCount"}},
                {"Id": "share", "Expression": "100 * errors / all", "Label": "errors, %"},
            ],
            "Threshold": threshold,
            "EvaluationPeriods": 1,
            "ComparisonOperator": "GreaterThanThreshold",
            "AlarmActions": [{"Ref": "Topic"}],
            **properties,
        },
    }


def operations(name: str, *, threshold: float, monthly: int, pattern: str, **more: Any) -> str:
    return template(
        {
            "Topic": {"Type": "AWS::SNS::Topic", "Properties": {}},
            "Policy": {
                "Type": "AWS::SNS::TopicPolicy",
                "Properties": {
                    "Topics": [{"Ref": "Topic"}],
                    "PolicyDocument": {
                        "Version": "2012-10-17",
                        "Statement": [
                            {
                                "Effect": "Allow",
                                "Action": "sns:Publish",
                                "Resource": {"Ref": "Topic"},
                                "Principal": {"Service": "cloudwatch.amazonaws.com"},
                            }
                        ],
                    },
                },
            },
            "Mail": {
                "Type": "AWS::SNS::Subscription",
                "Properties": {"TopicArn": {"Ref": "Topic"}, "Protocol": "email", "Endpoint": "a@example.com"},
            },
            "Errors": alarm(f"{name}-errors", threshold),
            "Board": {
                "Type": "AWS::CloudWatch::Dashboard",
                "Properties": {"DashboardName": name, "DashboardBody": f'{{"widgets": [], "start": "-PT{monthly}H"}}'},
            },
            "Log": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": f"/t/{name}"}},
            "Filter": {
                "Type": "AWS::Logs::MetricFilter",
                "Properties": {
                    "LogGroupName": {"Ref": "Log"},
                    "FilterPattern": pattern,
                    "MetricTransformations": [
                        {"MetricNamespace": "T", "MetricName": "Busy", "MetricValue": "1", "Unit": "Count"}
                    ],
                },
            },
            "Budget": {
                "Type": "AWS::Budgets::Budget",
                "Properties": {
                    "Budget": {
                        "BudgetType": "COST",
                        "TimeUnit": "MONTHLY",
                        "BudgetLimit": {"Amount": monthly, "Unit": "USD"},
                        "CostFilters": {"TagKeyValue": ["user:decision-environment$t"]},
                    },
                    "NotificationsWithSubscribers": [
                        {
                            "Notification": {
                                "NotificationType": "ACTUAL",
                                "ComparisonOperator": "GREATER_THAN",
                                "Threshold": 80,
                            },
                            "Subscribers": [{"SubscriptionType": "EMAIL", "Address": "a@example.com"}],
                        }
                    ],
                },
            },
            **more,
        }
    )


class Seen:
    """What the services say of the resources."""

    def __init__(self, emulated: Emulated, name: str) -> None:
        self._emulated, self._name = emulated, name

    def alarm(self) -> dict[str, Any]:
        found = self._emulated.client("cloudwatch").describe_alarms(AlarmNamePrefix=self._name)["MetricAlarms"]
        assert len(found) <= 1
        return found[0] if found else {}

    def budgets(self) -> dict[str, str]:
        budgets = self._emulated.client("budgets")
        found = budgets.describe_budgets(AccountId="123456789012").get("Budgets", [])
        return {
            each["BudgetName"]: each["BudgetLimit"]["Amount"]
            for each in found
            if "user:decision-environment$t" in each.get("CostFilters", {}).get("TagKeyValue", [])
        }

    def patterns(self) -> list[str]:
        logs = self._emulated.client("logs")
        return [
            each["filterPattern"]
            for each in logs.describe_metric_filters(filterNamePrefix="Filter")["metricFilters"]
            if each["logGroupName"] == f"/t/{self._name}"
        ]

    def board(self) -> str:
        found = self._emulated.client("cloudwatch").list_dashboards(DashboardNamePrefix=self._name)["DashboardEntries"]
        return "".join(
            self._emulated.client("cloudwatch").get_dashboard(DashboardName=each["DashboardName"])["DashboardBody"]
            for each in found
        )


def test_alarms_on_expressions_dashboards_filters_topics_and_budgets_are_made_changed_and_removed(
    emulated: Emulated, unique: str
) -> None:
    stack, seen = Stack(emulated, unique), Seen(emulated, unique)
    assert stack.create(operations(unique, threshold=5, monthly=100, pattern="busy")) == "complete", stack.reasons()
    before = stack.ids()
    assert seen.alarm()["Threshold"] == 5
    assert [each["Id"] for each in seen.alarm()["Metrics"]] == ["errors", "all", "share"]
    assert seen.alarm()["AlarmActions"] == [before["Topic"]]
    assert seen.budgets() == {before["Budget"]: "100"}
    assert seen.patterns() == ["busy"]
    assert "-PT100H" in seen.board()
    mails = emulated.client("sns").list_subscriptions_by_topic(TopicArn=before["Topic"])["Subscriptions"]
    assert [each["Endpoint"] for each in mails] == ["a@example.com"]
    policy = emulated.client("sns").get_topic_attributes(TopicArn=before["Topic"])["Attributes"]["Policy"]
    assert "cloudwatch.amazonaws.com" in policy

    assert stack.update(operations(unique, threshold=7, monthly=200, pattern="queue")) == "complete", stack.reasons()
    assert stack.ids() == before
    assert seen.alarm()["Threshold"] == 7
    assert seen.budgets() == {before["Budget"]: "200"}
    assert seen.patterns() == ["queue"]
    assert "-PT200H" in seen.board()

    broken = operations(unique, threshold=9, monthly=300, pattern="other", Broken=IMPOSSIBLE)
    assert stack.update(broken) == "UPDATE_ROLLBACK_COMPLETE"
    assert stack.ids() == before
    assert seen.alarm()["Threshold"] == 7
    assert seen.budgets() == {before["Budget"]: "200"}
    assert seen.patterns() == ["queue"]
    assert "-PT200H" in seen.board()

    stack.delete()
    assert (seen.alarm(), seen.budgets(), seen.patterns(), seen.board()) == ({}, {}, [], "")
    topics = emulated.client("sns").list_topics()["Topics"]
    assert before["Topic"] not in [each["TopicArn"] for each in topics]


def test_an_alarm_with_an_expression_and_a_metric_of_its_own_is_refused(stack: Stack, unique: str) -> None:
    both = alarm(f"{unique}-x", 1, AlarmActions=[], MetricName="Invocations")
    assert stack.create(template({"Alarm": both})) == "ROLLBACK_COMPLETE"
    assert "Metrics is given; MetricName cannot be given with it." in stack.reasons()


def test_a_property_that_cloudwatch_does_not_know_is_refused(stack: Stack, unique: str) -> None:
    assert stack.create(template({"Alarm": alarm(f"{unique}-x", 1, AlarmActions=[], Colour="red")})) != "complete"
    assert "Encountered unsupported property Colour" in stack.reasons()


def test_a_security_group_is_made_in_the_given_vpc(emulated: Emulated, unique: str) -> None:
    ec2, stack = emulated.client("ec2"), Stack(emulated, unique)
    vpc = ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    group = {
        "Type": "AWS::EC2::SecurityGroup",
        "Properties": {
            "GroupDescription": "HTTPS out, nothing in",
            "VpcId": vpc,
            "SecurityGroupEgress": [{"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "CidrIp": "0.0.0.0/0"}],
        },
    }
    assert stack.create(template({"Group": group}, Id={"Fn::GetAtt": ["Group", "GroupId"]})) == "complete"
    found = ec2.describe_security_groups(GroupIds=[stack.outputs()["Id"]])["SecurityGroups"][0]
    assert found["VpcId"] == vpc
    assert found["IpPermissions"] == []
    assert [(each["FromPort"], each["ToPort"]) for each in found["IpPermissionsEgress"]] == [(443, 443)]
    stack.delete()
    assert found["GroupId"] not in [each["GroupId"] for each in ec2.describe_security_groups()["SecurityGroups"]]
