"""What the demo asks the running endpoint, through the official SDK, and how it shows the answers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from client.table import render_decision
from local import aws
from local.console import Console

# The example of contract section 3.6.
SUPPORT_ROUTE: dict[str, Any] = {
    "id": "support-route",
    "state": "Customer asks to reset a forgotten password and says the reset email never arrived.",
    "question": "Which queue should handle this request?",
    "options": [
        {"id": "account_access", "description": "Account access and authentication support."},
        {"id": "billing", "description": "Billing and payment support."},
        {"id": "sales", "description": "Sales and product evaluation."},
    ],
}
REVIEW = (
    "Review of a desk lamp: The light is warm and bright, and the arm stays where you put it. After three weeks the "
    "switch began to flicker and the shop answered my message only after ten days. They did send a new lamp for free."
)
ABOUT_ONE_STATE: list[dict[str, Any]] = [
    {
        "id": "sentiment",
        "state": REVIEW,
        "question": "What does the writer think of the lamp itself?",
        "options": [
            {"id": "positive", "description": "Mostly satisfied with it."},
            {"id": "negative", "description": "Mostly dissatisfied with it."},
        ],
    },
    {
        "id": "fault",
        "state": REVIEW,
        "question": "Which part failed?",
        "options": [
            {"id": "bulb", "description": "The light source."},
            {"id": "arm", "description": "The adjustable arm."},
            {"id": "switch", "description": "The switch."},
            {"id": "none", "description": "Nothing failed."},
        ],
    },
    {
        "id": "follow-up",
        "state": REVIEW,
        "question": "Does the shop owe the writer a further answer?",
        "options": [
            {"id": "yes", "description": "Something is still open."},
            {"id": "no", "description": "The matter is settled."},
        ],
    },
]


class DemoFailed(Exception):
    """An answer was not what the contract promises."""


def ask_everything(url: str, endpoint: str, console: Console) -> None:
    """Raises DemoFailed, or what the SDK raises."""
    runtime = aws.client("sagemaker-runtime", url)
    console.plain("")
    console.plain("One decision, through boto3 invoke_endpoint")
    answer = ask(runtime, endpoint, {"decision": SUPPORT_ROUTE})
    show(SUPPORT_ROUTE, answer["result"], console)
    console.plain("Three decisions about one text: its state is computed once")
    answer = ask(runtime, endpoint, {"decisions": ABOUT_ONE_STATE})
    for decision, result in zip(ABOUT_ONE_STATE, answer["results"], strict=True):
        show(decision, result, console)
    timing = answer["timing"]
    console.plain(
        f"Together: {timing['batch_size']} decisions, {timing['prefix_tokens']} tokens shared, "
        f"{timing['cached_tokens']} taken from the cache, prefill {timing['prefill_seconds'] * 1000:.0f} ms, "
        f"the rest {timing['suffix_forward_seconds'] * 1000:.0f} ms"
    )
    console.plain("")
    console.plain(
        "The model is a very small one (135M parameters) so that it runs anywhere: look at the form, not at its wit."
    )
    console.plain("What to try next:")
    console.plain("    make up                        keep the endpoint running and ask it your own questions")
    console.plain("    make serve MODEL=<file.gguf>   the same server with a model of yours, without AWS")
    console.plain("    README.md                      the same app with Qwen3.5-4B on SageMaker, in your account")
    console.plain("")


def ask(runtime: Any, endpoint: str, request: Mapping[str, Any]) -> dict[str, Any]:
    response = runtime.invoke_endpoint(
        EndpointName=endpoint, ContentType="application/json", Accept="application/json", Body=json.dumps(request)
    )
    answer: dict[str, Any] = json.loads(response["Body"].read())
    return answer


def show(decision: Mapping[str, Any], result: Mapping[str, Any], console: Console) -> None:
    """Prints the decision as a table. Raises DemoFailed when its probabilities do not sum to 1 (contract 3.8)."""
    total = math.fsum(result["probabilities"])
    if abs(total - 1.0) > 1e-9:
        raise DemoFailed(f"decision {decision['id']}: probabilities sum to {total!r}, not to 1 within 1e-9")
    console.plain("")
    console.plain(f"  {decision['question']}")
    console.plain(render_decision(result, decision["options"], colour=console.colour))
