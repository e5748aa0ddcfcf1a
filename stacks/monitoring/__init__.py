"""What an operator sees of one endpoint: metrics of SageMaker and of our server, alarms, a dashboard.

Stacks use `Monitoring` for an endpoint and `EnvironmentDashboard` for all of them; the other modules are their parts.
"""

from stacks.monitoring.monitoring import Monitoring
from stacks.monitoring.overview import EnvironmentDashboard
from stacks.monitoring.sagemaker_metrics import EndpointMetrics

__all__ = ["EndpointMetrics", "EnvironmentDashboard", "Monitoring"]
