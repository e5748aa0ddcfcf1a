"""The endpoint's place in a VPC that is there already, and the right to take it. Nothing is looked up: synth needs no
account.
"""

from __future__ import annotations

from aws_cdk import Aws, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from stacks.settings import Network
from stacks.statements import NOTHING_NARROWER, allow


class VpcAccess(Construct):
    """Exposes `subnet_ids` and `security_group_ids`.

    Without groups of the reader's own: one that lets HTTPS out, to S3, ECR and CloudWatch, and nothing in. SageMaker
    brings requests to the container by itself, not through the VPC.
    """

    def __init__(self, scope: Construct, id_: str, *, network: Network) -> None:
        super().__init__(scope, id_)
        self.subnet_ids = list(network.subnet_ids)
        self.security_group_ids = list(network.security_group_ids)
        if not self.security_group_ids:
            group = ec2.CfnSecurityGroup(
                self,
                "SecurityGroup",
                group_description="Decision endpoint: HTTPS out, nothing in",
                vpc_id=network.vpc_id,
                security_group_egress=[
                    ec2.CfnSecurityGroup.EgressProperty(
                        ip_protocol="tcp",
                        from_port=443,
                        to_port=443,
                        cidr_ip="0.0.0.0/0",
                        description="S3, ECR, CloudWatch Logs",
                    )
                ],
            )
            self.security_group_ids = [group.attr_group_id]

    def allow_joining(self, role: iam.Role) -> None:
        """The calls that SageMaker documents for VpcConfig; what changes something is bound to the given subnets."""

        def arn(kind: str, name: str, *, account: str) -> str:
            return Stack.of(role).format_arn(service="ec2", account=account, resource=kind, resource_name=name)

        interfaces = arn("network-interface", "*", account=Aws.ACCOUNT_ID)
        # A shared VPC belongs to another account. The ids are unique, whoever owns them.
        subnets = [arn("subnet", each, account="*") for each in self.subnet_ids]
        groups = [arn("security-group", each, account="*") for each in self.security_group_ids]
        unknown = "SageMaker makes and removes interfaces whose ids nobody knows before, in the given subnets only"
        allow(role, ["ec2:CreateNetworkInterface"], [interfaces, *subnets, *groups], why_wildcard=unknown)
        allow(
            role,
            [
                "ec2:CreateNetworkInterfacePermission",
                "ec2:DeleteNetworkInterface",
                "ec2:DeleteNetworkInterfacePermission",
            ],
            [interfaces],
            why_wildcard=unknown,
            conditions={"ArnEquals": {"ec2:Subnet": subnets}},
        )
        allow(
            role,
            [
                "ec2:DescribeDhcpOptions",
                "ec2:DescribeNetworkInterfaces",
                "ec2:DescribeSecurityGroups",
                "ec2:DescribeSubnets",
                "ec2:DescribeVpcs",
            ],
            ["*"],
            why_wildcard=NOTHING_NARROWER,
        )
