"""The Python API: typed questions in, typed answers out, over SageMaker, plain HTTP or a local model.

Needs boto3 and urllib3 and nothing else, so that it can be taken along into a Lambda function.
"""

from client.decisions.answer import Answer
from client.decisions.asynchronous import AsyncDecisionClient
from client.decisions.client import DecisionClient
from client.decisions.error import DecisionError
from client.decisions.questions import Choice, Decision, Noul, Option, Question, Score
from client.decisions.values import Content, JsonValue
from client.errors import Refused
from client.transport.targets import LocalTarget, SageMakerTarget, Target, UrlTarget

__all__ = [
    "Answer",
    "AsyncDecisionClient",
    "Choice",
    "Content",
    "Decision",
    "DecisionClient",
    "DecisionError",
    "JsonValue",
    "LocalTarget",
    "Noul",
    "Option",
    "Question",
    "Refused",
    "SageMakerTarget",
    "Score",
    "Target",
    "UrlTarget",
]
