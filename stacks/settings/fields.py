"""Reads one table of settings field by field, so that every error names environment, field, value seen and limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_MISSING = object()  # no setting, not even a null


class SettingsError(Exception):
    """A setting that cannot be used; the text is for whoever wrote it."""


@dataclass(frozen=True, kw_only=True)
class Fields:
    """One table. `where` is the environment, `path` the table's own dotted name, `value` what the file holds there."""

    where: str
    path: str
    value: object

    def error(self, field: str, problem: str, *, index: int | None = None) -> SettingsError:
        """The error to raise for `field`, or for item `index` of its list: the value seen, then the problem."""
        name, value = self._name(field), self._table().get(field, _MISSING)
        if index is not None and isinstance(value, list):
            name, value = f"{name}[{index}]", value[index]
        seen = "not given" if value is _MISSING else "null given" if value is None else f"{value!r} given"
        return SettingsError(f"{self.where}: {name}: {seen}; {problem}")

    def closed(self, *allowed: str) -> None:
        for key in self._table():
            if key not in allowed:
                raise SettingsError(
                    f"{self.where}: {self._name(key)}: unknown; allowed here: {', '.join(sorted(allowed))}"
                )

    def names(self) -> tuple[str, ...]:
        return tuple(self._table())

    def has(self, field: str) -> bool:
        return field in self._table()

    def exactly_one(self, *fields: str) -> str:
        given = self.one_at_most(*fields)
        if given is None:
            raise SettingsError(f"{self.where}: {self.path}: 0 of {', '.join(fields)} given; exactly 1 needed")
        return given

    def one_at_most(self, *fields: str) -> str | None:
        given = [field for field in fields if self.has(field)]
        if len(given) > 1:
            raise SettingsError(
                f"{self.where}: {self.path}: {' and '.join(given)} given, which exclude each other; 1 allowed"
            )
        return given[0] if given else None

    def table(self, field: str) -> Fields:
        return self._inner(field, self._need(field))

    def table_or_empty(self, field: str) -> Fields:
        """For a table whose fields all have defaults: left out, it is as good as empty."""
        return self._inner(field, self._table().get(field, {}))

    def tables(self, field: str) -> Mapping[str, Fields]:
        """A table of tables, by key."""
        outer = self.table(field)
        return {key: outer.table(key) for key in outer.names()}

    def text(self, field: str, *, default: str | None = None) -> str:
        value = self._need(field, default)
        if not isinstance(value, str) or not value:
            raise self.error(field, "a non-empty string is needed")
        return value

    def texts(self, field: str) -> tuple[str, ...]:
        value = self._need(field)
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.error(field, "a list of strings is needed")
        return tuple(value)

    def word(self, field: str, allowed: tuple[str, ...], *, default: str | None = None) -> str:
        value = self.text(field, default=default)
        if value not in allowed:
            raise self.error(field, f"one of {', '.join(allowed)} needed")
        return value

    def number(self, field: str, lowest: int, highest: int | None, *, default: int | None = None) -> int:
        value = self._need(field, default)
        limit = f"{lowest} to {highest}" if highest is not None else f"{lowest} or more"
        # bool is an int in Python, and no number in a settings file.
        if isinstance(value, bool) or not isinstance(value, int):
            # jsii hands every JSON number over as a float where it has a fraction only; 2.5 and "8" end here.
            raise self.error(field, f"a whole number is needed, {limit}")
        if value < lowest or (highest is not None and value > highest):
            raise self.error(field, f"{limit} allowed")
        return value

    def decimal(self, field: str, lowest: float, highest: float, *, default: float | None = None) -> float:
        value = self._need(field, default)
        limit = f"{lowest:g} to {highest:g}"
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(field, f"a number is needed, {limit}")
        if not lowest <= value <= highest:  # also for a NaN
            raise self.error(field, f"{limit} allowed")
        return float(value)

    def one_of(self, field: str, allowed: tuple[int, ...], *, default: int | None = None) -> int:
        value = self.number(field, allowed[0], allowed[-1], default=default)
        if value not in allowed:
            raise self.error(field, f"one of {', '.join(map(str, allowed))} needed")
        return value

    def flag(self, field: str, *, default: bool | None = None) -> bool:
        value = self._need(field, default)
        if not isinstance(value, bool):
            raise self.error(field, "true or false needed")
        return value

    def _inner(self, field: str, value: object) -> Fields:
        fields = Fields(where=self.where, path=self._name(field), value=value)
        fields._table()
        return fields

    def _need(self, field: str, default: object = None) -> object:
        if self.has(field):
            return self._table()[field]
        if default is None:
            raise SettingsError(f"{self.where}: {self._name(field)}: missing; it has no default")
        return default

    def _name(self, field: str) -> str:
        return f"{self.path}.{field}" if self.path else field

    def _table(self) -> Mapping[str, object]:
        if not isinstance(self.value, Mapping):
            raise SettingsError(
                f"{self.where}{': ' + self.path if self.path else ''}: {self.value!r} given; an object is needed"
            )
        return self.value
