"""Settings to begin with in a test, and ways to read and change them."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from stacks.settings import Endpoint, Environment
from stacks.settings.environment import environment_from_context
from stacks.settings.fields import SettingsError

from .conftest import ROOT, context

Change = Callable[[dict[str, Any]], object]
DECLARATION = "model_packaging/declarations/qwen3.5-4b-q4_k_m.toml"


def least(target: str = "cpu", kind: str = "decision") -> dict[str, Any]:
    """An environment with what has no default, and nothing else."""
    endpoint = {"kind": kind, "container": {"target": target}, "model": {"declaration": DECLARATION}}
    return {"endpoints": {"scoring": endpoint}}


def read(environment: dict[str, Any]) -> Environment:
    return environment_from_context(name="dev", environments={"dev": environment}, root=ROOT)


def endpoint_of(environment: dict[str, Any]) -> Endpoint:
    (endpoint,) = read(environment).endpoints
    return endpoint


def with_tables(environment: dict[str, Any], **tables: Any) -> dict[str, Any]:
    """The same with these tables in its endpoint."""
    changed = deepcopy(environment)
    changed["endpoints"]["scoring"] |= tables
    return changed


def refusal(environment: dict[str, Any]) -> str:
    """Why it is refused, without the name of the environment, which each refusal must begin with."""
    try:
        read(environment)
    except SettingsError as error:
        text = str(error)
        assert text.startswith("environment dev: "), text
        return text.removeprefix("environment dev: ")
    raise AssertionError("accepted")


def shipped(name: str) -> Environment:
    return environment_from_context(name=name, environments=context()["environments"], root=ROOT)
