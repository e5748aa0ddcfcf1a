"""An environment with every optional setting on, for checks that should see all there can be."""

from __future__ import annotations

from typing import Any

_KEY = "arn:aws:kms:eu-west-1:123456789012:key/00000000-0000-0000-0000-00000000000"
_DECLARATION = {"declaration": "model_packaging/declarations/qwen3.5-4b-q4_k_m.toml"}
_SCALING = {
    "minimum": 1,
    "maximum": 4,
    "requests_per_instance": 4,
    "scale_out_cooldown_seconds": 60,
    "scale_in_cooldown_seconds": 600,
}

EVERYTHING: dict[str, Any] = {
    "ephemeral": False,
    "log_retention_days": 30,
    "network": {
        "vpc_id": "vpc-0123456789abcdef0",
        "subnet_ids": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
    },
    "keys": {"data": f"{_KEY}1", "volume": f"{_KEY}2"},
    "notifications": {"emails": ["operators@example.com"]},
    "budget": {"monthly_usd": 500, "emails": ["money@example.com"]},
    "tags": {"cost-center": "decisions"},
    "endpoints": {
        "scoring": {
            "kind": "decision",
            "container": {"target": "cpu"},
            "model": _DECLARATION,
            "hosting": {"instance_type": "ml.c6i.8xlarge", "instance_count": 2},
            "scaling": _SCALING | {"minimum": 2},
            "update": {"blue_green": {"canary_percent": 10, "bake_seconds": 600, "termination_wait_seconds": 300}},
            "capture": {"sampling_percent": 10},
            "bulk": {"instance_type": "ml.c6i.8xlarge", "instance_count": 1, "max_concurrent_transforms": 4},
        },
        "queued": {
            "kind": "decision",
            "container": {"target": "cpu"},
            "model": _DECLARATION,
            "hosting": {
                "instance_type": "ml.c6i.8xlarge",
                "instance_count": 1,
                "asynchronous": {"max_concurrent_invocations_per_instance": 4},
            },
            "scaling": _SCALING | {"minimum": 0},
        },
        "text": {
            "kind": "standard",
            "container": {"target": "cpu"},
            "model": {"hub": {"repo": "Qwen/Qwen2.5-0.5B-Instruct-GGUF", "file": "qwen2.5-0.5b-instruct-q4_0.gguf"}},
            "hosting": {"instance_type": "ml.c6i.2xlarge", "instance_count": 2},
            "update": {"rolling": {"batch_percent": 50, "bake_seconds": 300}},
        },
        "chat": {
            "kind": "standard",
            "container": {"target": "cpu"},
            "model": _DECLARATION,
            "hosting": {"instance_type": "ml.c6i.2xlarge", "instance_count": 1},
            "bulk": {},
        },
    },
}
