"""The metrics of an endpoint that AWS documents, with their units, written down apart from the code.

From the SageMaker AI developer guide: "Amazon SageMaker AI metrics in Amazon CloudWatch", "Alarms and logs for tracking
metrics from asynchronous endpoints".
"""

from __future__ import annotations

BOTH = {
    ("AWS/SageMaker", "Invocation4XXErrors"): "None",
    ("AWS/SageMaker", "Invocation5XXErrors"): "None",
    ("AWS/SageMaker", "ModelLatency"): "Microseconds",
    ("/aws/sagemaker/Endpoints", "CPUUtilization"): "Percent",
    ("/aws/sagemaker/Endpoints", "MemoryUtilization"): "Percent",
    ("/aws/sagemaker/Endpoints", "GPUUtilization"): "Percent",
    ("/aws/sagemaker/Endpoints", "GPUMemoryUtilization"): "Percent",
    ("/aws/sagemaker/Endpoints", "DiskUtilization"): "Percent",
}
REAL_TIME = BOTH | {
    ("AWS/SageMaker", "Invocations"): "None",
    ("AWS/SageMaker", "InvocationsPerInstance"): "None",
    ("AWS/SageMaker", "InvocationModelErrors"): "None",
    ("AWS/SageMaker", "OverheadLatency"): "Microseconds",
    ("AWS/SageMaker", "ConcurrentRequestsPerModel"): "None",
}
# The dimension of these is the endpoint alone.
OF_THE_QUEUE = {
    ("AWS/SageMaker", "ApproximateBacklogSize"): "Count",
    ("AWS/SageMaker", "ApproximateBacklogSizePerInstance"): "Count",
    ("AWS/SageMaker", "ApproximateAgeOfOldestRequest"): "Seconds",
    ("AWS/SageMaker", "HasBacklogWithoutCapacity"): "Count",
}
ASYNCHRONOUS = (
    BOTH
    | OF_THE_QUEUE
    | {
        ("AWS/SageMaker", "ExpiredRequests"): "Count",
        ("AWS/SageMaker", "InvocationFailures"): "Count",
        ("AWS/SageMaker", "TimeInBacklog"): "Microseconds",
        ("AWS/SageMaker", "TotalProcessingTime"): "Milliseconds",
    }
)
