"""Reads one table of a declaration or a manifest, key by key. Knows the shapes of values, not what they mean."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from .errors import PackagingError

SHA256 = re.compile(r"[0-9a-f]{64}")
SHA256_LIMIT = "64 lower-case hex digits"
MODEL_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
MODEL_NAME_LIMIT = "1 to 63 of a-z 0-9 . _ -, beginning with a letter or digit"


class Fields:
    """A table whose keys are a closed set.

    where: the file, for messages; prefix: the table's own dotted place in it, "" for the root.
    Raises PackagingError on construction for a key outside `allowed`, and in each reader for a missing or wrong value.
    """

    def __init__(self, values: Mapping[str, object], *, where: str, allowed: Collection[str], prefix: str = "") -> None:
        self._values = values
        self._where = where
        self._prefix = prefix
        for key in values:
            if key not in allowed:
                raise self.wrong(key, "is not a known key", f"known keys here: {', '.join(sorted(allowed))}")

    def wrong(self, key: str, seen: str, limit: str) -> PackagingError:
        return PackagingError(f"{self._where}: {self._prefix}{key}: {seen}; {limit}")

    def text(self, key: str, pattern: re.Pattern[str], limit: str) -> str:
        value = self._present(key, limit)
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise self.wrong(key, f"{_shown(value)} given", limit)
        return value

    def optional_text(self, key: str, pattern: re.Pattern[str], limit: str) -> str | None:
        return None if self._values.get(key) is None else self.text(key, pattern, limit)

    def one_of(self, key: str, choices: Collection[str]) -> str:
        limit = f"one of {', '.join(choices)}"
        value = self._present(key, limit)
        if not isinstance(value, str) or value not in choices:
            raise self.wrong(key, f"{_shown(value)} given", limit)
        return value

    def integer(self, key: str, low: int, high: int) -> int:
        limit = f"an integer from {low} to {high}"
        value = self._present(key, limit)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.wrong(key, f"{_shown(value)} given", limit)
        return value

    def mapping(self, key: str) -> Mapping[str, object]:
        value = self._present(key, "a table")
        if not isinstance(value, dict):
            raise self.wrong(key, f"{_shown(value)} given", "a table")
        return value

    def table(self, key: str, allowed: Collection[str]) -> Fields:
        prefix = f"{self._prefix}{key}."
        return Fields(self.mapping(key), where=self._where, allowed=allowed, prefix=prefix)

    def optional_table(self, key: str, allowed: Collection[str]) -> Fields | None:
        return None if self._values.get(key) is None else self.table(key, allowed)

    def tables(self, key: str, allowed: Collection[str]) -> list[Fields]:
        """An array of tables; none where the key is missing."""
        values = self._values.get(key, [])
        if not isinstance(values, list) or not all(isinstance(each, dict) for each in values):
            raise self.wrong(key, f"{_shown(values)} given", "tables, one [[...]] each")
        return [
            Fields(each, where=self._where, allowed=allowed, prefix=f"{self._prefix}{key}[{number}].")
            for number, each in enumerate(values)
        ]

    def optional_boolean(self, key: str) -> bool:
        """False where the key is missing."""
        value = self._values.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, f"{_shown(value)} given", "true or false")
        return value

    def _present(self, key: str, limit: str) -> object:
        if key not in self._values:
            raise self.wrong(key, "missing", limit)
        return self._values[key]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}… ({len(text)} characters)"
