"""A stack of the emulator in tests: created, updated, deleted, looked at."""

from __future__ import annotations

import json
from typing import Any

from botocore.exceptions import WaiterError

from tests.local.conftest import Emulated


class Stack:
    def __init__(self, emulated: Emulated, name: str) -> None:
        self.name = name
        self._cloudformation = emulated.client("cloudformation")

    def create(self, template: str) -> str:
        """The status when it has ended; `complete` when it has succeeded."""
        self._cloudformation.create_stack(StackName=self.name, TemplateBody=template)
        return self._wait("stack_create_complete")

    def update(self, template: str) -> str:
        self._cloudformation.update_stack(StackName=self.name, TemplateBody=template)
        return self._wait("stack_update_complete")

    def delete(self) -> None:
        self._cloudformation.delete_stack(StackName=self.name)
        self._wait("stack_delete_complete")

    def _wait(self, waiter: str) -> str:
        try:
            self._cloudformation.get_waiter(waiter).wait(
                StackName=self.name, WaiterConfig={"Delay": 0.1, "MaxAttempts": 600}
            )
        except WaiterError as error:
            response: Any = error.last_response
            return str(response["Stacks"][0]["StackStatus"])
        return "complete"

    def ids(self) -> dict[str, str]:
        resources = self._cloudformation.describe_stack_resources(StackName=self.name)["StackResources"]
        return {each["LogicalResourceId"]: each["PhysicalResourceId"] for each in resources}

    def reasons(self) -> str:
        events = self._cloudformation.describe_stack_events(StackName=self.name)["StackEvents"]
        return "\n".join(event.get("ResourceStatusReason", "") for event in events)

    def outputs(self) -> dict[str, str]:
        stack = self._cloudformation.describe_stacks(StackName=self.name)["Stacks"][0]
        return {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}


def template(resources: dict[str, Any], **outputs: Any) -> str:
    return json.dumps({"Resources": resources, "Outputs": {name: {"Value": value} for name, value in outputs.items()}})


# A change to what is there, and then one that no service takes: the update must undo the first.
IMPOSSIBLE = {"Type": "AWS::SageMaker::Model", "Properties": {"ExecutionRoleArn": "no role"}}
