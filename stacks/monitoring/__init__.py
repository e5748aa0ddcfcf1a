"""What an operator sees of one endpoint: metrics of SageMaker and of our server, alarms, a dashboard.

Stacks use `Monitoring`; the other modules are its parts.
"""

from stacks.monitoring.monitoring import Monitoring

__all__ = ["Monitoring"]
