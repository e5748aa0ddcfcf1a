"""A stack for one construct alone, with the feature flags of the app, and its template as plain values."""

from __future__ import annotations

from typing import Any

from aws_cdk import App, Stack, assertions

from .conftest import Template, context


def lone_stack() -> Stack:
    flags = {key: value for key, value in context().items() if key.startswith("@aws-cdk")}
    return Stack(App(context=flags), "Lone")


def template_of(stack: Stack) -> Template:
    return dict(assertions.Template.from_stack(stack).to_json())


def plain(value: Any) -> Any:
    """Joins become strings, as CloudFormation makes them: partition aws, account A, region R, names for references."""
    match value:
        case {"Fn::Join": ["", parts]}:
            return "".join(plain(part) for part in parts)
        case {"Ref": name}:
            return {"AWS::Partition": "aws", "AWS::AccountId": "A", "AWS::Region": "R", "AWS::URLSuffix": "U"}.get(
                name, name
            )
        case {"Fn::GetAtt": [name, _]} | {"Fn::ImportValue": name}:
            return name
        case dict():
            return {key: plain(each) for key, each in value.items()}
        case list():
            return [plain(each) for each in value]
        case _:
            return value
