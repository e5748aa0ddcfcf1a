"""CloudWatch's filter patterns for JSON lines, as its user guide describes them: what matches, which number counts.

Written from that description, apart from the patterns of this project; what is not needed here is an error.
"""

from __future__ import annotations

import json
import re
from typing import Any

_TOKEN = re.compile(
    r"\s*(?:(?P<mark>&&|\|\||[()=])|(?P<field>\$(?:\.[A-Za-z0-9_-]+)+)|(?P<text>\"[^\"]*\")|(?P<any>\*)|(?P<number>\d+(?:\.\d+)?))"
)
# A number in scientific notation is not taken from a line.
_PLAIN_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def matches(pattern: str, line: str) -> bool:
    """Raises ValueError for a pattern that is not understood. A line that is not JSON matches nothing."""
    if not (pattern.startswith("{") and pattern.endswith("}")):
        raise ValueError(f"{pattern!r}: not a pattern for JSON lines")
    try:
        facts = json.loads(line, parse_float=str, parse_int=str)
    except ValueError:
        return False
    found, rest = _any_of(_tokens(pattern[1:-1]), facts)
    if rest:
        raise ValueError(f"{pattern!r}: {rest[0][1]!r} was not expected")
    return found


def value(pattern: str, metric_value: str, line: str) -> float | None:
    """What a matching line adds to the metric; None where it adds nothing."""
    if not matches(pattern, line):
        return None
    if not metric_value.startswith("$"):
        return float(metric_value)
    if metric_value not in pattern:
        raise ValueError(f"{metric_value}: only a field of the pattern {pattern!r} can be taken")
    found = _field(json.loads(line, parse_float=str, parse_int=str), metric_value)
    return float(found) if isinstance(found, str) and _PLAIN_NUMBER.fullmatch(found) else None


_Tokens = list[tuple[str, str]]


def _tokens(text: str) -> _Tokens:
    found, at = [], 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise ValueError(f"{text!r}: not understood from {text[at:]!r}")
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


def _any_of(tokens: _Tokens, facts: Any) -> tuple[bool, _Tokens]:
    found, tokens = _all_of(tokens, facts)
    while tokens[:1] == [("mark", "||")]:
        other, tokens = _all_of(tokens[1:], facts)
        found = found or other
    return found, tokens


def _all_of(tokens: _Tokens, facts: Any) -> tuple[bool, _Tokens]:
    found, tokens = _one(tokens, facts)
    while tokens[:1] == [("mark", "&&")]:
        other, tokens = _one(tokens[1:], facts)
        found = found and other
    return found, tokens


def _one(tokens: _Tokens, facts: Any) -> tuple[bool, _Tokens]:
    match tokens:
        case [("mark", "("), *rest]:
            found, rest = _any_of(rest, facts)
            if rest[:1] != [("mark", ")")]:
                raise ValueError("a parenthesis is not closed")
            return found, rest[1:]
        case [("field", name), ("mark", "="), (kind, wanted), *rest]:
            seen = _field(facts, name)
            if kind == "any":
                return isinstance(seen, str), rest
            return isinstance(seen, str) and seen == wanted.strip('"'), rest
    raise ValueError(f"a condition was expected at {tokens[:1]}")


def _field(facts: Any, name: str) -> Any:
    """Numbers and texts as they are written; None for what is not there or holds more than one value."""
    for part in name.split(".")[1:]:
        facts = facts.get(part) if isinstance(facts, dict) else None
    return facts
