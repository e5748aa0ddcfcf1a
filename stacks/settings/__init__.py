"""The settings of an environment: values here, and one module a table that reads and checks it.

Stacks and constructs import the values from here and know nothing of the readers.
"""

from stacks.settings.endpoint_values import (
    AlarmLimits,
    Asynchronous,
    BlueGreen,
    Bulk,
    DataCapture,
    DecisionEndpoint,
    Endpoint,
    FixedInstances,
    HostedEndpoint,
    InstancePools,
    Instances,
    RealTime,
    Rolling,
    Scaling,
    StandardEndpoint,
)
from stacks.settings.environment_values import Budget, Environment, Keys, Network, Notifications
from stacks.settings.source_values import AwsImage, BuiltImage, BuiltModel, HubModel, PinnedImage, PinnedModel

__all__ = [
    "AlarmLimits",
    "Asynchronous",
    "AwsImage",
    "BlueGreen",
    "Budget",
    "BuiltImage",
    "BuiltModel",
    "Bulk",
    "DataCapture",
    "DecisionEndpoint",
    "Endpoint",
    "Environment",
    "FixedInstances",
    "HostedEndpoint",
    "HubModel",
    "InstancePools",
    "Instances",
    "Keys",
    "Network",
    "Notifications",
    "PinnedImage",
    "PinnedModel",
    "RealTime",
    "Rolling",
    "Scaling",
    "StandardEndpoint",
]
