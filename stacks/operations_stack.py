"""What an environment's endpoints share in operation: alarm topic, logs, budget, overview, hourly costs."""

from __future__ import annotations

from aws_cdk import Aws, CfnOutput, Stack
from aws_cdk import Environment as AwsEnvironment
from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from constructs import Construct

from stacks.alarm_topic import AlarmTopic
from stacks.endpoint_logs import declare_endpoint_log
from stacks.monitoring import EndpointMetrics, EnvironmentDashboard
from stacks.production_variant import VARIANT_NAME
from stacks.settings import Budget, Endpoint, FixedInstances, InstancePools, Keys, Notifications

# Every resource of an environment carries it. AWS bills by it once it is activated as a cost allocation tag.
ENVIRONMENT_TAG = "decision-environment"
_PRICES = "https://aws.amazon.com/sagemaker/ai/pricing/"


class OperationsStack(Stack):
    """Exposes `topic`, known by name: an export that endpoints import could never be given up for another topic."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        env: AwsEnvironment,
        environment_name: str,
        notifications: Notifications,
        budget: Budget | None,
        keys: Keys,
        log_retention: logs.RetentionDays,
        endpoints: tuple[Endpoint, ...],
    ) -> None:
        super().__init__(scope, id_, env=env, description="Decision endpoint: notifications, logs, budget, overview")
        topic_arn, told = notifications.topic_arn, None
        if topic_arn is None:
            name = f"decision-{environment_name}-alarms"
            told = AlarmTopic(
                self,
                "Alarms",
                topic_name=name,
                name_prefix=f"decision-{environment_name}-",
                emails=notifications.emails,
                key_arn=keys.data,
            )
            topic_arn = f"arn:{Aws.PARTITION}:sns:{Aws.REGION}:{Aws.ACCOUNT_ID}:{name}"
        self.topic = sns.Topic.from_topic_arn(self, "AlarmsByName", topic_arn)
        if budget is not None:
            made = _budget(self, budget, environment_name=environment_name, topic=self.topic)
            if told is not None:
                made.node.add_dependency(told)  # with its policy: AWS tries to tell it when the budget is made
        EnvironmentDashboard(
            self,
            "Overview",
            name=f"decision-{environment_name}",
            endpoints=tuple(EndpointMetrics(endpoint_name=each.name, variant_name=VARIANT_NAME) for each in endpoints),
        )
        CfnOutput(self, "TopicArn", value=self.topic.topic_arn, description="Hears of alarms and of the budget")
        data_key = None if keys.data is None else kms.Key.from_key_arn(self, "DataKey", keys.data)
        for endpoint in endpoints:
            declare_endpoint_log(
                self,
                f"Log{endpoint.key.capitalize()}",
                endpoint_name=endpoint.name,
                retention=log_retention,
                key=data_key,
            )
            CfnOutput(
                self,
                f"Cost{endpoint.key.capitalize()}",
                value=hourly_cost(endpoint),
                description=f"What {endpoint.name} costs by the hour, asked or not",
            )


def hourly_cost(endpoint: Endpoint) -> str:
    """How many instances of which type are paid for, and where their price stands: prices differ by region and day."""
    match endpoint.instances:
        case FixedInstances():
            types = endpoint.instances.instance_type
        case InstancePools():
            types = f"{' or '.join(endpoint.instances.instance_types)} (the first that has capacity)"
    if endpoint.scaling is None:
        count = str(endpoint.instances.count)
    else:
        count = f"{endpoint.scaling.minimum} to {endpoint.scaling.maximum}"
    return f"{count} x {types}; price an hour: {_PRICES}, Hosting, your region"


def _budget(stack: OperationsStack, budget: Budget, *, environment_name: str, topic: sns.ITopic) -> budgets.CfnBudget:
    def told(kind: str, percent: int) -> budgets.CfnBudget.NotificationWithSubscribersProperty:
        return budgets.CfnBudget.NotificationWithSubscribersProperty(
            notification=budgets.CfnBudget.NotificationProperty(
                notification_type=kind,
                comparison_operator="GREATER_THAN",
                threshold=percent,
                threshold_type="PERCENTAGE",
            ),
            subscribers=[
                budgets.CfnBudget.SubscriberProperty(subscription_type="SNS", address=topic.topic_arn),
                *(
                    budgets.CfnBudget.SubscriberProperty(subscription_type="EMAIL", address=address)
                    for address in budget.emails
                ),
            ],
        )

    # Without a name of its own: CloudFormation replaces a budget when its limit changes, and two of a name collide.
    return budgets.CfnBudget(
        stack,
        "Budget",
        budget=budgets.CfnBudget.BudgetDataProperty(
            budget_type="COST",
            time_unit="MONTHLY",
            budget_limit=budgets.CfnBudget.SpendProperty(amount=budget.monthly_usd, unit="USD"),
            cost_filters={"TagKeyValue": [f"user:{ENVIRONMENT_TAG}${environment_name}"]},
        ),
        notifications_with_subscribers=[told("ACTUAL", 80), told("FORECASTED", 100)],
    )
