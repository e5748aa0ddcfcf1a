"""The endpoint's place in a VPC."""

from __future__ import annotations

from aws_cdk import CfnResource

from stacks.network import VpcAccess
from stacks.settings import Network

from .conftest import only, resources
from .lone_stack import lone_stack, template_of

VPC = "vpc-0123456789abcdef0"
SUBNETS = ("subnet-0123456789abcdef0", "subnet-0123456789abcdef1")


def test_without_groups_of_ones_own_one_is_made_that_lets_https_out_and_nothing_in() -> None:
    stack = lone_stack()
    network = Network(vpc_id=VPC, subnet_ids=SUBNETS, security_group_ids=())
    access = VpcAccess(stack, "Network", network=network)
    template = template_of(stack)
    group = only(template, "AWS::EC2::SecurityGroup")["Properties"]
    (out,) = group["SecurityGroupEgress"]
    assert (out["IpProtocol"], out["FromPort"], out["ToPort"], out["CidrIp"]) == ("tcp", 443, 443, "0.0.0.0/0")
    assert "SecurityGroupIngress" not in group
    assert not resources(template, "AWS::EC2::SecurityGroupIngress")
    assert group["VpcId"] == VPC
    assert access.subnet_ids == list(SUBNETS)
    (name,) = template["Resources"]
    assert stack.resolve(access.security_group_ids) == [{"Fn::GetAtt": [name, "GroupId"]}]


def test_given_groups_are_used_as_they_are() -> None:
    stack = lone_stack()
    network = Network(vpc_id=VPC, subnet_ids=SUBNETS, security_group_ids=("sg-1",))
    assert VpcAccess(stack, "Network", network=network).security_group_ids == ["sg-1"]
    assert not [each for each in stack.node.find_all() if CfnResource.is_cfn_resource(each)]
