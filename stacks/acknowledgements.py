"""Why a rule of cdk-nag does not apply, said where the resource is declared. cdk-nag itself is not needed for it.

The acknowledgements are CDK's own (`Validations`): whoever adds a rule pack to this app finds them in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jsii
from aws_cdk import Acknowledgment, Stack, Validations
from constructs import IConstruct, IValidation

_PACK = "AwsSolutions::AwsSolutions"


def acknowledge(construct: IConstruct, rule: str, *, reason: str) -> None:
    """rule: as `S1`."""
    Validations.of(construct).acknowledge(Acknowledgment(id=f"{_PACK}-{rule}", reason=reason))


def acknowledge_wildcards(role: IConstruct, resources: Sequence[str], *, reason: str) -> None:
    """Of those resources in the role's policy that have a `*` in them."""
    role.node.add_validation(_Wildcards(role, [each for each in resources if "*" in each], reason))


@jsii.implements(IValidation)
class _Wildcards:
    """cdk-nag names each finding by the resource as it stands in the template. That is known once references between
    stacks are settled: after the app is put together, when CDK asks every construct whether it is valid."""

    def __init__(self, role: IConstruct, resources: Sequence[str], reason: str) -> None:
        self._role, self._resources, self._reason = role, resources, reason

    def validate(self) -> list[str]:
        stack = Stack.of(self._role)
        for resource in self._resources:
            acknowledge(self._role, f"IAM5[Resource::{_flat(stack.resolve(resource))}]", reason=self._reason)
        return []


def _flat(value: Any) -> str:
    """As cdk-nag writes it: references in <>."""
    match value:
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(_flat(part) for part in parts)
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{name}.{attribute}>"
        case {"Fn::Sub": str(text)}:
            return text.replace("${", "<").replace("}", ">")
        case {"Fn::ImportValue": name}:
            return _flat(name)
        case {"Ref": name}:
            return f"<{name}>"
        case _:
            return str(value)
