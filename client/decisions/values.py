"""What JSON can say, as types."""

from __future__ import annotations

from typing import TypeAlias

JsonValue: TypeAlias = "str | int | float | bool | list[JsonValue] | dict[str, JsonValue] | None"
Content: TypeAlias = "str | list[JsonValue] | dict[str, JsonValue]"
"""What instructions, descriptions and levels may be made of (contract 4.1)."""
