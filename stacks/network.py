"""The endpoint's place in a VPC that is there already. Nothing is looked up: synth needs no account."""

from __future__ import annotations

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from stacks.settings import Network


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
