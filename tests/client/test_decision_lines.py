"""Lines are checked as the server checks a body: what it would refuse is refused here, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from client.decision_lines import body_of
from client.json_lines import BadLine
from decision_server.errors import Refusal
from tests.client.conftest import OPTIONS, decision
from tests.serving.wire import read_bytes

LIMIT = 1_000_000


def nested(levels: int) -> Any:
    value: Any = ["leaf"]
    for _ in range(levels - 1):
        value = [value]
    return value


GOOD: dict[str, object] = {
    "plain": decision(1),
    "object as state": decision(1, state={"a": [1, 2.5, None, True]}),
    "list as state": decision(1, state=["x"]),
    "astral and NUL": decision(1, state="\U0001f600 \0 ä"),
    "readout and prompt version": decision(1, readout="letters", prompt_version="direct-options-v1"),
    "abstains below a limit": decision(1, abstain_below=0.8),
    "abstains below one": decision(1, abstain_below=1),
    "255 options": decision(1, options=[{"id": str(n), "description": "x"} for n in range(255)]),
    "options in two normal forms": decision(
        1, options=[{"id": "\u00e9", "description": "x"}, {"id": "e\u0301", "description": "x"}]
    ),
    "deep": decision(1, state=nested(62)),
}
BAD: dict[str, object] = {
    "no state": {key: value for key, value in decision(1).items() if key != "state"},
    "unknown field": decision(1, stat="x"),
    "state is a number": decision(1, state=3),
    "state is null": decision(1, state=None),
    "state is empty": decision(1, state=""),
    "state is an empty list": decision(1, state=[]),
    "id is a number": decision(1, id=3),
    "id is empty": decision(1, id=""),
    "question is empty": decision(1, question=""),
    "readout is null": decision(1, readout=None),
    "abstain_below is null": decision(1, abstain_below=None),
    "abstain_below is a boolean": decision(1, abstain_below=True),
    "abstain_below is zero": decision(1, abstain_below=0),
    "abstain_below is more than one": decision(1, abstain_below=1.01),
    "one option": decision(1, options=OPTIONS[:1]),
    "256 options": decision(1, options=[{"id": str(n), "description": "x"} for n in range(256)]),
    "options are an object": decision(1, options={"yes": "x", "no": "y"}),
    "an option is a string": decision(1, options=["yes", "no"]),
    "an option twice": decision(1, options=[OPTIONS[0], OPTIONS[0]]),
    "an option without description": decision(1, options=[{"id": "yes"}, OPTIONS[1]]),
    "an option with a weight": decision(1, options=[{**OPTIONS[0], "weight": 2}, OPTIONS[1]]),
    "decision is a list": {"decision": [decision(1)]},
    "decision and another key": {"decision": decision(1), "trace": 1},
    "several decisions": {"decisions": [decision(1)]},
    "too deep": decision(1, state=nested(63)),
}
BAD_TEXT: dict[str, bytes] = {
    "empty": b"",
    "blank": b"  ",
    "a list": b"[]",
    "a string": b'"x"',
    "not JSON": b'{"id": ',
    "not UTF-8": b'{"id": "\xff"}',
    "byte order mark": b'\xef\xbb\xbf{"id": "x"}',
    "a key twice": json.dumps(decision(1)).replace('"id": "d1"', '"id": "d0", "id": "d1"').encode(),
    "NaN": json.dumps(decision(1, state={"a": float("nan")})).encode(),
    "a number too large": json.dumps(decision(1, state=["X"])).replace('"X"', "1e999").encode(),
    "too many digits": json.dumps(decision(1, state=["X"])).replace('"X"', "9" * 5000).encode(),
    "half a surrogate pair": json.dumps(decision(1, state="X")).replace('"X"', '"\\ud83d"').encode(),
    "100,000 brackets": b"[" * 100_000,
}


def server_refuses(body: bytes) -> bool:
    try:
        read_bytes(body)
    except Refusal:
        return True
    return False


@pytest.mark.parametrize("name", GOOD)
def test_what_the_server_takes_is_taken(name: str) -> None:
    body = body_of(json.dumps(GOOD[name]).encode(), max_bytes=LIMIT)
    assert not server_refuses(body)
    assert json.loads(body) == {"decision": GOOD[name]}
    assert b"\n" not in body


@pytest.mark.parametrize("name", BAD)
def test_what_the_server_refuses_is_refused_with_its_place(name: str) -> None:
    given = BAD[name]
    whole = given if isinstance(given, dict) and "decision" in given else {"decision": given}
    assert server_refuses(json.dumps(whole).encode())
    with pytest.raises(BadLine) as refused:
        body_of(json.dumps(given).encode(), max_bytes=LIMIT)
    assert refused.value.field or "nests deeper" in str(refused.value)


@pytest.mark.parametrize("name", BAD_TEXT)
def test_what_is_no_strict_json_is_refused(name: str) -> None:
    assert server_refuses(BAD_TEXT[name])
    with pytest.raises(BadLine):
        body_of(BAD_TEXT[name], max_bytes=LIMIT)


def test_a_carriage_return_and_a_line_separator_in_a_text_stay_in_one_line() -> None:
    body = body_of(json.dumps(decision(1, state="a\r\n\u2028\x85b")).encode(), max_bytes=LIMIT)
    assert body.count(b"\n") == 0
    assert json.loads(body)["decision"]["state"] == "a\r\n\u2028\x85b"
