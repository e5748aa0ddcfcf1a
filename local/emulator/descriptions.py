"""What DescribeEndpoint says of an endpoint. Pure."""

from __future__ import annotations

from typing import Any

from local.emulator.records import EndpointRecord


def described(record: EndpointRecord) -> dict[str, Any]:
    """DescribeEndpoint's answer."""
    variants = [
        {
            "VariantName": plan.name,
            "DeployedImages": [
                {"SpecifiedImage": plan.specified_image, "ResolvedImage": plan.image, "ResolutionTime": record.modified}
            ],
            "CurrentWeight": plan.weight,
            "DesiredWeight": plan.weight,
            "CurrentInstanceCount": plan.instance_count,
            "DesiredInstanceCount": plan.instance_count,
        }
        for plan in record.plans
    ]
    answer: dict[str, Any] = {
        "EndpointName": record.name,
        "EndpointArn": record.arn,
        "EndpointConfigName": record.config_name,
        "EndpointStatus": record.status,
        "ProductionVariants": variants,
        "CreationTime": record.created,
        "LastModifiedTime": record.modified,
    }
    if record.failure_reason:
        answer["FailureReason"] = record.failure_reason
    if record.pending_config_name:
        answer["PendingDeploymentSummary"] = {"EndpointConfigName": record.pending_config_name}
    return answer
