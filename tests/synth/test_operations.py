"""Who is told of faults and money, who may tell them, and that every log of the app has a life span."""

from __future__ import annotations

import json
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_logs as logs

from stacks.operations_stack import ENVIRONMENT_TAG, OperationsStack, hourly_cost
from stacks.settings import Budget, Endpoint, Keys, Notifications
from stacks.settings.environment import environment_from_context

from .conftest import ROOT, Synthesize, Template, context, only, resources
from .lone_stack import plain, template_of
from .published_metrics import BOTH

KEY = "arn:aws:kms:eu-west-1:123456789012:key/11111111-2222-3333-4444-555555555555"
TOPIC = "arn:aws:sns:eu-west-1:123456789012:on-call"
NOBODY = Notifications(topic_arn=None, emails=())
NO_KEYS = Keys(data=None, volume=None)


def endpoints(name: str, **scoring: Any) -> tuple[Endpoint, ...]:
    environments = context()["environments"]
    environments[name]["endpoints"]["scoring"] |= scoring
    return environment_from_context(name=name, environments=environments, root=ROOT).endpoints


def operations(
    *,
    notifications: Notifications = NOBODY,
    budget: Budget | None = None,
    keys: Keys = NO_KEYS,
    endpoints: tuple[Endpoint, ...] = (),
) -> Template:
    flags = {key: value for key, value in context().items() if key.startswith("@aws-cdk")}
    stack = OperationsStack(
        cdk.App(context=flags),
        "decision-test-operations",
        env=cdk.Environment(),
        environment_name="test",
        notifications=notifications,
        budget=budget,
        keys=keys,
        log_retention=logs.RetentionDays.ONE_WEEK,
        endpoints=endpoints,
    )
    return template_of(stack)


def statements(template: Template) -> list[dict[str, Any]]:
    return list(plain(only(template, "AWS::SNS::TopicPolicy"))["Properties"]["PolicyDocument"]["Statement"])


def test_the_topic_takes_messages_over_tls_only() -> None:
    (denied,) = [each for each in statements(operations()) if each["Effect"] == "Deny"]
    assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert (denied["Action"], denied["Principal"]) == ("sns:Publish", "*")


def test_only_this_accounts_alarms_of_this_environment_and_its_budgets_may_publish() -> None:
    allowed = [each for each in statements(operations()) if each["Effect"] == "Allow"]
    assert {each["Action"] for each in allowed} == {"sns:Publish"}
    assert {each["Principal"]["Service"]: each["Condition"] for each in allowed} == {
        "cloudwatch.amazonaws.com": {
            "StringEquals": {"aws:SourceAccount": "A"},
            "ArnLike": {"aws:SourceArn": "arn:aws:cloudwatch:R:A:alarm:decision-test-*"},
        },
        "budgets.amazonaws.com": {
            "StringEquals": {"aws:SourceAccount": "A"},
            "ArnLike": {"aws:SourceArn": "arn:aws:budgets::A:*"},
        },
    }


@pytest.mark.parametrize("name", ["local", "dev", "staging", "prod"])
def test_the_alarms_of_each_environment_have_names_that_may_publish_and_tell_its_topic(
    synthesize: Synthesize, name: str
) -> None:
    templates = synthesize(name)
    pattern = next(
        each["Condition"]["ArnLike"]["aws:SourceArn"]
        for each in statements(templates["operations"])
        if each["Effect"] == "Allow" and each["Principal"]["Service"] == "cloudwatch.amazonaws.com"
    )
    prefix = pattern.rpartition(":")[2].removesuffix("*")
    assert prefix == f"decision-{name}-"
    told = 0
    for template in templates.values():
        for alarm in resources(template, "AWS::CloudWatch::Alarm"):
            if "AlarmName" in alarm["Properties"] and "OKActions" in alarm["Properties"]:
                assert alarm["Properties"]["AlarmName"].startswith(prefix)
                assert plain(alarm["Properties"]["AlarmActions"]) == [f"arn:aws:sns:R:A:decision-{name}-alarms"]
                told += 1
    assert told >= 5
    assert only(templates["operations"], "AWS::SNS::Topic")["Properties"]["TopicName"] == f"decision-{name}-alarms"


def test_a_topic_of_our_own_can_be_given_up_for_another_one() -> None:
    """CloudFormation refuses to remove an export that another stack still imports, and it updates this stack first."""
    assert not [each for each in operations()["Outputs"].values() if "Export" in each]


def test_a_key_that_is_given_encrypts_the_topic_and_none_is_sns_own_encryption() -> None:
    assert only(operations(keys=Keys(data=KEY, volume=None)), "AWS::SNS::Topic")["Properties"]["KmsMasterKeyId"] == KEY
    # `alias/aws/sns` would lock CloudWatch out: it cannot be given to it.
    assert "KmsMasterKeyId" not in only(operations(), "AWS::SNS::Topic").get("Properties", {})


def test_each_address_is_a_subscription() -> None:
    given = Notifications(topic_arn=None, emails=("one@example.com", "two@example.com"))
    subscriptions = resources(operations(notifications=given), "AWS::SNS::Subscription")
    assert [(each["Properties"]["Protocol"], each["Properties"]["Endpoint"]) for each in subscriptions] == [
        ("email", "one@example.com"),
        ("email", "two@example.com"),
    ]
    assert not resources(operations(), "AWS::SNS::Subscription")


def test_a_topic_that_is_there_already_is_used_as_it_is() -> None:
    template = operations(notifications=Notifications(topic_arn=TOPIC, emails=()))
    assert not [each for each in template.get("Resources", {}).values() if each["Type"].startswith("AWS::SNS::")]
    assert template["Outputs"]["TopicArn"]["Value"] == TOPIC
    assert template["Resources"]  # CloudFormation takes no stack without any


def test_the_overview_has_a_row_of_metrics_that_exist_for_each_endpoint() -> None:
    board = only(operations(endpoints=endpoints("prod")), "AWS::CloudWatch::Dashboard")["Properties"]
    assert plain(board["DashboardName"]) == "decision-test-R"
    graphs = json.loads(plain(board["DashboardBody"]))["widgets"]
    rows = {each["y"]: each["properties"]["title"].partition(":")[0] for each in graphs}
    assert sorted(rows.values()) == ["decision-prod-scoring", "decision-prod-text"]
    for graph in graphs:
        for metric in graph["properties"]["metrics"]:
            if isinstance(metric[0], str):
                assert (metric[0], metric[1]) in BOTH  # whatever kind of endpoint it is
                assert metric[2:6] == ["EndpointName", rows[graph["y"]], "VariantName", "AllTraffic"]


def test_a_budget_watches_what_carries_the_environments_tag_and_tells_topic_and_addresses() -> None:
    template = operations(budget=Budget(monthly_usd=500, emails=("money@example.com",)))
    made = only(template, "AWS::Budgets::Budget")
    budget = made["Properties"]["Budget"]
    assert budget["BudgetLimit"] == {"Amount": 500, "Unit": "USD"}
    assert (budget["BudgetType"], budget["TimeUnit"]) == ("COST", "MONTHLY")
    assert budget["CostFilters"] == {"TagKeyValue": ["user:decision-environment$test"]}
    told = [
        (each["Notification"]["NotificationType"], each["Notification"]["Threshold"])
        for each in made["Properties"]["NotificationsWithSubscribers"]
    ]
    assert told == [("ACTUAL", 80), ("FORECASTED", 100)]
    (policy,) = [key for key, each in template["Resources"].items() if each["Type"] == "AWS::SNS::TopicPolicy"]
    for each in made["Properties"]["NotificationsWithSubscribers"]:
        assert [(one["SubscriptionType"], plain(one["Address"])) for one in each["Subscribers"]] == [
            ("SNS", "arn:aws:sns:R:A:decision-test-alarms"),
            ("EMAIL", "money@example.com"),
        ]
    assert policy in made["DependsOn"]  # AWS Budgets may publish before it is told to
    assert not resources(operations(), "AWS::Budgets::Budget")


@pytest.mark.parametrize("name", ["dev", "prod"])
def test_the_tag_that_the_budget_is_about_is_on_everything_that_costs(synthesize: Synthesize, name: str) -> None:
    types = [
        "AWS::SageMaker::Endpoint",
        "AWS::SageMaker::EndpointConfig",
        "AWS::SageMaker::Model",
        "AWS::S3::Bucket",
        "AWS::ECR::Repository",
        "AWS::CodeBuild::Project",
        "AWS::Lambda::Function",
    ]
    found = [(type_, each) for template in synthesize(name).values() for type_ in types
             for each in resources(template, type_)]  # fmt: skip
    assert {type_ for type_, _ in found} == set(types)
    for type_, each in found:
        assert {"Key": ENVIRONMENT_TAG, "Value": name} in each["Properties"].get("Tags", []), type_


def test_the_outputs_say_how_many_instances_of_which_type_are_paid_for() -> None:
    (scoring,) = endpoints("dev")
    template = operations(endpoints=(scoring,))
    assert template["Outputs"]["CostScoring"]["Value"] == hourly_cost(scoring)
    assert hourly_cost(scoring).startswith("1 x ml.c6i.2xlarge; price an hour: https://aws.amazon.com/sagemaker/")
    prod = next(each for each in endpoints("prod") if each.key == "scoring")
    assert "ml.g6e.xlarge or ml.g6.2xlarge" in hourly_cost(prod)


def test_scaling_makes_the_cost_a_range() -> None:
    scaling = {"minimum": 1, "maximum": 3, "requests_per_instance": 2, "scale_out_cooldown_seconds": 60,
               "scale_in_cooldown_seconds": 300}  # fmt: skip
    (scoring,) = endpoints("dev", scaling=scaling)
    assert hourly_cost(scoring).startswith("1 to 3 x ml.c6i.2xlarge;")


@pytest.mark.parametrize("ephemeral", [False, True], ids=["kept", "ephemeral"])
@pytest.mark.parametrize("name", ["dev", "prod"])
def test_every_log_has_a_life_span_and_goes_with_its_stack(synthesize: Synthesize, name: str, ephemeral: bool) -> None:
    """A function or a build without a group of its own would get one that lives for ever and that nothing removes."""
    days = context()["environments"][name]["log_retention_days"]
    for template in synthesize(name, changes={"ephemeral": ephemeral}).values():
        for group in resources(template, "AWS::Logs::LogGroup"):
            assert group["Properties"]["RetentionInDays"] == days
            assert group["DeletionPolicy"] == "Delete"
        for function in resources(template, "AWS::Lambda::Function"):
            assert "Ref" in function["Properties"]["LoggingConfig"]["LogGroup"]
        for project in resources(template, "AWS::CodeBuild::Project"):
            assert "Ref" in project["Properties"]["LogsConfig"]["CloudWatchLogs"]["GroupName"]
