"""Our own dialect as JSON Schema (contract 3, 8)."""

from __future__ import annotations

from decision_server.choices import READOUTS
from decision_server.openapi.json_schema import (
    NUMBER,
    PROBABILITY,
    SHA256,
    STATE,
    TEXT,
    THRESHOLD,
    WHOLE,
    Schema,
    a_list,
    an_object,
    named,
    nullable,
    one_of,
)
from decision_server.wire.decision_bodies import MAX_OPTIONS, MIN_OPTIONS

_OPTION = an_object({"id": TEXT, "description": TEXT})
_TIMING = {
    "queue_seconds": NUMBER,
    "encode_seconds": NUMBER,
    "forward_seconds": NUMBER,
    "total_seconds": NUMBER,
    "cached_tokens": WHOLE,
}
_OF_SEVERAL = {
    "batch_size": WHOLE,
    "prefix_tokens": WHOLE,
    "prefill_seconds": NUMBER,
    "suffix_forward_seconds": NUMBER,
    "true_suffix_tokens": WHOLE,
}
_CALIBRATION = an_object(
    {"status": one_of(["applied", "none"]), "version": nullable({"type": "string"}), "temperature": NUMBER}
)
_MODEL = an_object(
    {
        "name": TEXT,
        "gguf": an_object({"file": TEXT, "bytes": WHOLE, "sha256": SHA256}),
        "repo": nullable(TEXT),
        "revision": nullable(TEXT),
        "llama_cpp": TEXT,
        "n_ctx": WHOLE,
        "n_threads": WHOLE,
        "n_gpu_layers": {"type": "integer", "minimum": -1},
        "prefix_reuse": TEXT,
    }
)


def schemas(*, max_decisions: int) -> dict[str, Schema]:
    return {
        "Decision": an_object(
            {
                "id": TEXT,
                "state": STATE,
                "question": TEXT,
                "options": a_list(_OPTION, least=MIN_OPTIONS, most=MAX_OPTIONS),
            },
            {"readout": one_of(READOUTS), "prompt_version": TEXT, "abstain_below": THRESHOLD},
            description="Ids of its options differ.",
        ),
        "OneDecision": an_object({"decision": named("Decision")}),
        "SeveralDecisions": an_object(
            {"decisions": a_list(named("Decision"), least=1, most=max_decisions)},
            description="Ids of the decisions differ.",
        ),
        "Result": an_object(
            {
                "id": TEXT,
                "option_ids": a_list(TEXT),
                "probabilities": a_list(PROBABILITY),
                "option_logits": a_list(NUMBER),
                "answer_token_ids": a_list(WHOLE),
                "input_tokens": WHOLE,
                "allowed_token_mass": {"type": "number", "minimum": 0},
                "full_vocab_argmax_id": WHOLE,
                "prompt_sha256": SHA256,
                "prompt_version": TEXT,
                "readout": one_of(READOUTS),
                "probability_status": one_of(["calibrated", "uncalibrated"]),
                "calibration": _CALIBRATION,
                "warnings": a_list(TEXT),
                "model": _MODEL,
                "timing": an_object(_TIMING),
            },
            {"rotation_spread": PROBABILITY, "abstained": {"type": "boolean"}},
        ),
        "OneResult": an_object({"result": named("Result")}),
        "SeveralResults": an_object(
            {"results": a_list(named("Result"), least=1), "timing": an_object({**_TIMING, **_OF_SEVERAL})}
        ),
        "Error": an_object(
            {
                "error": TEXT,
                "code": TEXT,
                "field": nullable(TEXT),
                "retryable": {"type": "boolean"},
                "request_id": TEXT,
            },
            {"retry_after_seconds": NUMBER},
        ),
    }
