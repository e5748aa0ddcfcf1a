"""The lines that the server prints are those that the metric filters read: one renamed field, and a graph is empty."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from decision_server.errors import CODES
from stacks.monitoring import server_metrics
from stacks.monitoring.server_metrics import BUSY_CODES, SERVER_METRICS, ServerMetric
from tests.contract.filter_pattern import matches, value
from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.serving.server import FAKE, SERVE, Server, decision

ROOT = Path(__file__).resolve().parents[2]
QUERY_WORDS = {
    "filter",
    "stats",
    "fields",
    "sort",
    "desc",
    "limit",
    "by",
    "and",
    "in",
    "count",
    "sum",
    "avg",
    "pct",
    "bin",
}
QUERY_WORDS |= {"@timestamp", "@logStream"}
THREE = [{"id": name, "description": name} for name in ("first", "second", "third")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    gguf = write_tiny_llama(folder / "tiny.gguf")
    settings = {"DECISION_MODEL_PATH": str(gguf), "DECISION_N_CTX": "1024", "DECISION_N_THREADS": "1"}
    with Server(SERVE, folder / "log", settings) as started:
        yield started


def answered(server: Server) -> list[str]:
    """The lines as they are on standard error, which is what CloudWatch gets."""
    return [line for line in server.err.split("\n") if '"event": "answered"' in line]


def line_of(server: Server, body: object) -> tuple[int, str]:
    before = len(answered(server))
    status = server.ask(body).status
    server.until(lambda: len(answered(server)) > before)
    return status, answered(server)[before]


def taken(metric: ServerMetric, line: str) -> float | None:
    return value(metric.pattern, metric.value, line)


def test_an_answer_gives_every_metric_that_is_not_about_something_else(server: Server) -> None:
    status, line = line_of(server, {"decision": decision(readout="letters-rotated", options=THREE)})
    assert status == 200
    numbers = {metric.name: taken(metric, line) for metric in SERVER_METRICS}
    assert numbers.pop("BusyAnswers") is None
    missing = [name for name, number in numbers.items() if number is None]
    assert missing == []
    assert (numbers["Requests"], numbers["Decisions"], numbers["QueueDepth"]) == (1, 1, 0)


def test_the_numbers_are_those_of_the_answer(server: Server) -> None:
    questions = [decision(id=str(n), question=f"Which one, {n}?", options=THREE) for n in range(2)]
    before = len(answered(server))
    answer = server.ask({"decisions": questions}).json
    server.until(lambda: len(answered(server)) > before)
    line = answered(server)[before]
    results, timing = answer["results"], answer["timing"]
    highest = [max(result["probabilities"]) for result in results]
    masses = [result["allowed_token_mass"] for result in results]
    expected = {
        server_metrics.DECISIONS: 2,
        server_metrics.INPUT_TOKENS: sum(result["input_tokens"] for result in results),
        server_metrics.CACHED_TOKENS: timing["cached_tokens"],
        server_metrics.QUEUE_SECONDS: timing["queue_seconds"],
        server_metrics.FORWARD_SECONDS: timing["forward_seconds"],
        server_metrics.CONFIDENCE: sum(highest) / 2,
        server_metrics.LOWEST_CONFIDENCE: min(highest),
        server_metrics.LABEL_MASS: sum(masses) / 2,
    }
    for metric, number in expected.items():
        assert taken(metric, line) == pytest.approx(number, abs=5.1e-5), metric.name


def test_label_mass_and_rotation_spread_are_counted_only_where_there_are_any(server: Server) -> None:
    _, likelihood = line_of(server, {"decision": decision(readout="likelihood")})
    _, letters = line_of(server, {"decision": decision(readout="letters")})
    assert taken(server_metrics.LABEL_MASS, likelihood) is None
    assert taken(server_metrics.LABEL_MASS, letters) is not None
    assert taken(server_metrics.ROTATION_SPREAD, letters) is None
    assert taken(server_metrics.CONFIDENCE, likelihood) is not None


def test_the_log_queries_of_the_documentation_name_fields_that_the_server_prints(server: Server) -> None:
    server.ask({"decision": decision(readout="letters-rotated", options=THREE)})
    server.until(lambda: any("rotation_spread" in line for line in answered(server)))
    printed = {name for line in (server.err + server.out).split("\n") if line for name in json.loads(line)}
    printed |= {"error", "exit_code"}  # of a load that failed, and of the end
    queries = re.findall(r"```insights\n(.*?)```", (ROOT / "docs/deploying.md").read_text(), flags=re.DOTALL)
    assert len(queries) >= 5
    for query in queries:
        words = re.findall(r"@?[A-Za-z_]+", re.sub(r'"[^"]*"|\d+[hm]\b', "", query))
        assert [word for word in words if word not in printed | QUERY_WORDS] == [], query


def test_the_fields_that_the_documentation_lists_are_those_of_a_line(server: Server) -> None:
    _, line = line_of(server, {"decision": decision(readout="letters-rotated", options=THREE)})
    text = (ROOT / "docs/deploying.md").read_text()
    (listed,) = re.findall(r"A line with `event` `answered` has(.*?)counts since", text, flags=re.DOTALL)
    named = set(re.findall(r"`([a-z_]+)`", listed))
    own = {name for name in json.loads(line) if not name.startswith("prefix_")}
    assert named == own - {"time", "level", "logger", "message", "event"}


def test_the_fields_that_the_contract_lists_are_those_that_the_filters_read() -> None:
    section = (ROOT / "docs/interfaces.md").read_text().partition("## 6. The log line of a request")[2]
    listed = section.partition("read these\nfields:")[2].partition(". `tests/")[0]
    read = {field for metric in SERVER_METRICS for field in re.findall(r"\$\.([a-z_]+)", metric.pattern)}
    assert set(re.findall(r"`([a-z_]+)`", listed)) == read


def test_a_refused_request_counts_as_a_request_and_as_no_decision(server: Server) -> None:
    status, line = line_of(server, {"decision": decision(extra=1)})
    assert status == 400
    counted = {metric.name for metric in SERVER_METRICS if taken(metric, line) is not None}
    assert counted == {"Requests", "QueueDepth", "PrefixEvictions"}


def test_prefixes_given_up_are_counted_once_each(server: Server) -> None:
    for number in range(12):  # more states than are kept
        server.ask({"decision": decision(state=f"{number}: " + "a long enough state to be worth keeping " * 4)})
    server.until(lambda: sum(taken(server_metrics.PREFIX_EVICTIONS, line) or 0 for line in answered(server)) > 0)
    told = sum(taken(server_metrics.PREFIX_EVICTIONS, line) or 0 for line in answered(server))
    assert told == server.metric("decision_prefix_evictions_total")


def test_a_busy_answer_is_told_from_other_refusals(tmp_path: Path) -> None:
    with Server(FAKE, tmp_path / "log", {"DECISION_QUEUE_SIZE": "1"}) as busy:
        with ThreadPoolExecutor(6) as callers:
            statuses = list(callers.map(busy.ask, [{"decision": decision(question="work 300")}] * 6))
        refused = sum(reply.status == 503 for reply in statuses)
        assert refused >= 1
        busy.until(lambda: len(answered(busy)) == 6)
        counted = [taken(server_metrics.BUSY, line) for line in answered(busy)]
    assert sum(number or 0 for number in counted) == refused
    assert sum(taken(server_metrics.REQUESTS, line) or 0 for line in answered(busy)) == 6


def test_the_codes_of_a_busy_server_are_its_own() -> None:
    assert {CODES[code].status for code in BUSY_CODES} == {503}
    assert all(CODES[code].retryable for code in BUSY_CODES)


def test_other_lines_of_the_log_count_for_nothing(server: Server) -> None:
    others = [line for line in (server.err + server.out).split("\n") if line and '"event": "answered"' not in line]
    assert others
    assert not [line for line in others for metric in SERVER_METRICS if matches(metric.pattern, line)]


def test_numbers_are_never_written_in_a_notation_that_filters_do_not_read(server: Server) -> None:
    lines = answered(server)
    assert lines
    assert not [line for line in lines if re.search(r": -?[0-9.]+[eE]", line)]
