"""What can be asked. What is allowed in each field is the server's to say; it refuses by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from client.decisions.values import Content, JsonValue


@dataclass(frozen=True, kw_only=True)
class Option:
    id: str
    description: str


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Contract section 3. None: left to the server. abstain_below: the answer then says whether it `abstained`."""

    id: str
    state: JsonValue
    question: str
    options: tuple[Option, ...]
    readout: str | None = None
    prompt_version: str | None = None
    abstain_below: float | None = None


@dataclass(frozen=True, kw_only=True)
class Noul:
    """Yes or no; `true` and `false` say what each means."""

    instructions: Content | None
    true: Content | None = None
    false: Content | None = None
    abstain_below: float | None = None


@dataclass(frozen=True, kw_only=True)
class Choice:
    """options: a description by name, in the order to list them; None where the name says it all."""

    instructions: Content | None
    options: Mapping[str, Content | None]
    abstain_below: float | None = None


@dataclass(frozen=True, kw_only=True)
class Score:
    """levels: from the lowest."""

    instructions: Content | None
    levels: tuple[Content, ...]
    abstain_below: float | None = None


Question: TypeAlias = "Noul | Choice | Score"
