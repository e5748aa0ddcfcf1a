"""The tables of docs/deploying.md say what the readers do: each setting, its limits, its default."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest

from stacks.settings.fields import Fields

from .conftest import ROOT
from .environments import DECLARATION, least, read, refusal

DOCUMENT = ROOT / "docs" / "deploying.md"
SECTIONS = {
    "### Of an environment": "",
    "### Of an endpoint": "endpoints.scoring.",
    "### `engine` of kind `decision`": "endpoints.scoring.engine.",
    "### `engine` of kind `standard`": "endpoints.scoring.engine.",
}
KEY = "arn:aws:kms:eu-west-1:123456789012:key/12345678-1234-1234-1234-123456789012"
DIGEST = "@sha256:" + "ab" * 32


@dataclass(frozen=True, kw_only=True)
class Row:
    section: str
    path: str
    value: str
    default: str

    def __str__(self) -> str:
        return f"{self.section.removeprefix('### ')}: {self.path}"


def rows() -> list[Row]:
    found, section = [], ""
    for line in DOCUMENT.read_text().splitlines():
        if line.startswith("#"):
            section = line
        cells = [each.strip() for each in re.split(r"(?<!\\)\|", line)[1:-1]]
        if section in SECTIONS and len(cells) == 4 and cells[0].startswith("`"):
            found.append(
                Row(section=section, path=SECTIONS[section] + cells[0].strip("`"), value=cells[1], default=cells[2])
            )
    return found


def endpoint(kind: str, target: str, **tables: Any) -> dict[str, Any]:
    environment = least(target, kind)
    environment["endpoints"]["scoring"] |= tables
    return environment


ENGINE = {
    "bulk_deadline_seconds": 60, "bulk_max_bytes": 4096,
    "chat_n_ctx": 512, "chat_slots": 3, "deadline_seconds": 40, "log_level": "debug", "max_body_bytes": 2048,
    "max_decisions": 8, "model_aliases": ["a"], "n_ctx": 1024, "n_gpu_layers": 0, "n_threads": 16, "prefix_streams": 4,
    "prompt_version": "direct-options-v1", "queue_size": 16, "read_timeout_seconds": 5, "readout": "letters",
}  # fmt: skip
STANDARD_ENGINE = {
    "batch_size": 65536, "cache_type_k": "q8_0", "cache_type_v": "q8_0", "ctx_size": 1024, "flash_attn": "on",
    "n_gpu_layers": 0, "n_predict": 64, "parallel": 2, "reasoning_budget": 0, "threads": 16, "threads_batch": 16,
    "ubatch_size": 64,
}  # fmt: skip
# Together they give every setting there is a value that is not its default.
GIVEN: list[dict[str, Any]] = [
    endpoint(
        "decision",
        "cpu",
        container={"target": "cpu", "image_uri": f"123456789012.dkr.ecr.eu-west-1.amazonaws.com/x{DIGEST}"},
        hosting={
            "instance_type": "ml.m5.4xlarge",
            "model_download_timeout_seconds": 77,
            "startup_timeout_seconds": 78,
            "asynchronous": {"max_concurrent_invocations_per_instance": 9},
        },
        engine=ENGINE,
        scaling={
            "minimum": 0,
            "maximum": 5,
            "requests_per_instance": 3,
            "scale_out_cooldown_seconds": 1,
            "scale_in_cooldown_seconds": 2,
        },
        update={"blue_green": {"bake_seconds": 3, "termination_wait_seconds": 4}},
        alarms={"server_error_percent": 9, "busy_percent": 8, "latency_p95_seconds": 7, "label_mass": 0.6},
        capture={"sampling_percent": 6},
        bulk={"instance_type": "ml.m5.4xlarge", "instance_count": 2, "max_concurrent_transforms": 3},
    )
    | {
        "ephemeral": True,
        "log_retention_days": 7,
        "network": {
            "vpc_id": "vpc-01234567",
            "subnet_ids": ["subnet-01234567"],
            "security_group_ids": ["sg-01234567"],
        },
        "keys": {"data": KEY, "volume": KEY},
        "notifications": {"topic_arn": "arn:aws:sns:eu-west-1:123456789012:x"},
        "budget": {"monthly_usd": 5, "emails": ["a@example.com"]},
        "tags": {"team": "x"},
    },
    endpoint(
        "decision",
        "cuda",
        model={"model_data_url": "s3://my-models/" + "cd" * 32 + "/model.tar.gz", "gguf_sha256": "ef" * 32},
        hosting={"instance_pools": ["ml.g6.xlarge"], "provision_timeout_seconds": 301, "instance_count": 2},
        engine={"n_gpu_layers": 5},
        update={"rolling": {"batch_percent": 10, "bake_seconds": 5}},
        alarms={"latency_p95_seconds": 7},
        bulk={"instance_type": "ml.g5.xlarge"},
    )
    | {"notifications": {"emails": ["a@example.com"]}},
    endpoint("decision", "cpu", hosting={"instance_count": 3}, engine={"n_threads": 16, "deadline_seconds": 40}),
    endpoint(
        "decision", "cpu", hosting={"instance_count": 2}, update={"blue_green": {"canary_percent": 20}}
    ),
    endpoint("decision", "cpu", model={"declaration": DECLARATION, "compression": "none"}),
    endpoint("decision", "cuda", container={"target": "cuda", "libraries": "compiled"}),
    endpoint("standard", "cpu", model={"hub": {"repo": "a/b", "file": "c.gguf"}}, engine=STANDARD_ENGINE),
    endpoint("standard", "cuda", engine={"n_gpu_layers": 5}),
]  # fmt: skip


def holder(environment: dict[str, Any], path: str) -> tuple[dict[str, Any], str]:
    """The table that holds the last word of the path, and that word."""
    *outer, name = path.split(".")
    for each in outer:
        environment = environment.get(each, {})
    return environment, name


def examples(row: Row) -> list[dict[str, Any]]:
    """The environments that give this row's setting, by kind where the section says one."""
    kind = re.search(r"kind `(\w+)`", row.section)
    found = []
    for each in GIVEN:
        table, name = holder(each, row.path)
        if name in table and (kind is None or each["endpoints"]["scoring"]["kind"] == kind.group(1)):
            found.append(deepcopy(each))
    return found


def without(environment: dict[str, Any], row: Row) -> dict[str, Any]:
    table, name = holder(environment, row.path)
    del table[name]
    return environment


def with_value(environment: dict[str, Any], row: Row, value: Any) -> dict[str, Any]:
    table, name = holder(environment, row.path)
    table[name] = value
    return environment


def target(environment: dict[str, Any]) -> str:
    return str(environment["endpoints"]["scoring"]["container"]["target"])


def test_each_setting_that_the_readers_know_has_a_row_and_each_row_is_a_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known: set[str] = set()
    closed = Fields.closed

    def recorded(self: Fields, *allowed: str) -> None:
        known.update(f"{self.path}.{each}".lstrip(".") for each in allowed)
        closed(self, *allowed)

    monkeypatch.setattr(Fields, "closed", recorded)
    for each in GIVEN:
        read(each)
    tables = {path for path in known if any(other.startswith(f"{path}.") for other in known)}
    documented = {row.path for row in rows()}
    assert documented - {"endpoints.scoring.engine"} == known - tables - {"endpoints"}


@pytest.mark.parametrize("row", rows(), ids=str)
def test_a_row_says_what_becomes_of_a_setting_that_is_left_out(row: Row) -> None:
    given = examples(row)
    assert given, "no example gives it"
    if row.default == "needed":
        for each in given:
            assert re.search("missing; it has no default|exactly 1 needed", refusal(without(each, row)))
        return
    if row.default == "off":
        for each in given:
            read(without(each, row))
        return
    compared = 0
    for value, condition in re.findall(r"`([^`]+)`(?: \(([^)]*)\))?", row.default):
        for each in given:
            only_for = [word for word in ("cpu", "cuda") if re.search(rf"\b{word}\b", condition)]
            if only_for and target(each) not in only_for:
                continue
            hosting = each["endpoints"]["scoring"].get("hosting", {})
            if "hosting.instance_type" in condition and "instance_type" in hosting:
                continue
            if row.path.endswith("hosting.instance_count") and "update" in each["endpoints"]["scoring"]:
                continue  # its parts need two instances
            left_out, given_so = without(deepcopy(each), row), with_value(deepcopy(each), row, json.loads(value))
            assert read(left_out) == read(given_so) != read(each)
            compared += 1
    assert compared, "no example fits its conditions"


@pytest.mark.parametrize("row", [row for row in rows() if re.match(r"[−0-9.]+(–| or more)", row.value)], ids=str)
def test_a_row_states_the_limits_of_a_number(row: Row) -> None:
    if not isinstance(holder(examples(row)[0], row.path)[0][row.path.rpartition(".")[2]], (int, float)):
        return  # so many of something: tested with what it is
    low, high = re.match(r"([−0-9.]+)(?:–([0-9.]+)| or more)", row.value).groups()  # type: ignore[union-attr]
    low = low.replace("−", "-")
    allowed = f"{low} to {high} allowed" if high else f"{low} or more allowed"
    for beyond in [float(low) - 1, *([float(high) + 1] if high else [])]:
        value = int(beyond) if "." not in low else beyond
        assert allowed in [refusal(with_value(each, row, value)).partition("; ")[2] for each in examples(row)[-1:]]


@pytest.mark.parametrize("row", [row for row in rows() if re.fullmatch(r"`[^`]+`(, `[^`]+`)+", row.value)], ids=str)
def test_a_row_states_the_words_of_a_choice(row: Row) -> None:
    words = [each.strip("`") for each in row.value.split(", ")]
    for each in examples(row):
        expected = "true or false needed" if words == ["true", "false"] else f"one of {', '.join(words)} needed"
        assert refusal(with_value(each, row, "nonsense")).endswith(expected)


def test_the_examples_use_a_declaration_whose_readout_has_labels() -> None:
    assert 'readout = "letters"' in (ROOT / DECLARATION).read_text()
