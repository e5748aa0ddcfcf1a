"""The SNS topic that alarms and the budget are told to. Knows not which alarms there are."""

from __future__ import annotations

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct


class AlarmTopic(Construct):
    """Exposes `topic`. CloudWatch may publish for alarms whose names begin with name_prefix, AWS Budgets for the
    budgets of this account; both over TLS only.

    key_arn: a KMS key that lets both services encrypt with it. None: SNS's own encryption of what it stores, since the
    key `alias/aws/sns` lets neither service in, and a key of our own would cost more than the messages are worth.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        topic_name: str,
        name_prefix: str,
        emails: tuple[str, ...],
        key_arn: str | None,
    ) -> None:
        super().__init__(scope, id_)
        stack = Stack.of(self)
        self.topic = sns.Topic(
            self,
            "Topic",
            topic_name=topic_name,
            enforce_ssl=True,
            master_key=None if key_arn is None else kms.Key.from_key_arn(self, "Key", key_arn),
        )
        alarms = stack.format_arn(
            service="cloudwatch",
            resource="alarm",
            resource_name=f"{name_prefix}*",
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        self._may_publish("cloudwatch.amazonaws.com", alarms)
        self._may_publish("budgets.amazonaws.com", f"arn:{stack.partition}:budgets::{stack.account}:*")
        for address in emails:
            self.topic.add_subscription(subscriptions.EmailSubscription(address))

    def _may_publish(self, service: str, source_arn: str) -> None:
        self.topic.add_to_resource_policy(
            iam.PolicyStatement(
                sid=f"From{service.split('.')[0].capitalize()}",
                principals=[iam.ServicePrincipal(service)],
                actions=["sns:Publish"],
                resources=[self.topic.topic_arn],
                conditions={
                    "StringEquals": {"aws:SourceAccount": Stack.of(self).account},
                    "ArnLike": {"aws:SourceArn": source_arn},
                },
            )
        )
