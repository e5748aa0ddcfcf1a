"""A buildspec as CodeBuild reads it: phases, commands, environment. Pure; a key that is not emulated is an error.

Emulated: version 0.2; env.shell, variables, parameter-store, secrets-manager; the four phases with commands, finally
and on-failure. runtime-versions is accepted and has no effect: this machine's tools are the build image.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import yaml

PHASES = ("install", "pre_build", "build", "post_build")
OnFailure = Literal["default", "ABORT", "CONTINUE"]


class BuildspecError(Exception):
    """What is wrong with the text and where; the build fails with it."""


@dataclass(frozen=True, kw_only=True)
class Phase:
    name: str
    commands: tuple[str, ...] = ()
    finally_commands: tuple[str, ...] = ()
    on_failure: OnFailure = "default"


@dataclass(frozen=True, kw_only=True)
class Buildspec:
    """secrets: variable → (PARAMETER_STORE or SECRETS_MANAGER, name there)."""

    shell: str
    variables: dict[str, str]
    secrets: dict[str, tuple[str, str]]
    phases: tuple[Phase, ...]


def parse(text: str) -> Buildspec:
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BuildspecError(f"YAML_FILE_ERROR: {error}") from error
    if not isinstance(document, dict):
        raise BuildspecError("YAML_FILE_ERROR: the buildspec is not a mapping")
    _known(document, "buildspec", ("version", "env", "phases"))
    if str(document.get("version")) != "0.2":
        raise BuildspecError(f"YAML_FILE_ERROR: version {document.get('version')!r}; 0.2 is the one version emulated")
    env = _mapping(document.get("env"), "env")
    _known(env, "env", ("shell", "variables", "parameter-store", "secrets-manager"))
    shell = str(env.get("shell", "sh"))
    if shell not in ("sh", "bash", "/bin/sh", "/bin/bash"):
        raise BuildspecError(f"YAML_FILE_ERROR: env.shell {shell!r}; sh and bash are emulated")
    phases = _mapping(document.get("phases"), "phases")
    _known(phases, "phases", PHASES)
    if not any(phases.values()):
        raise BuildspecError("YAML_FILE_ERROR: phases has none of " + ", ".join(PHASES))
    return Buildspec(
        shell=shell,
        variables={
            name: _text(value, f"env.variables.{name}")
            for name, value in _mapping(env.get("variables"), "env.variables").items()
        },
        secrets=_secrets(env),
        phases=tuple(_phase(name, phases[name]) for name in PHASES if phases.get(name)),
    )


def _secrets(env: dict[str, Any]) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for key, kind in (("parameter-store", "PARAMETER_STORE"), ("secrets-manager", "SECRETS_MANAGER")):
        for variable, name in _mapping(env.get(key), f"env.{key}").items():
            found[variable] = (kind, str(name))
    return found


def _phase(name: str, value: Any) -> Phase:
    phase = _mapping(value, f"phases.{name}")
    _known(phase, f"phases.{name}", ("commands", "finally", "on-failure", "runtime-versions"))
    on_failure = phase.get("on-failure", "default")
    if on_failure not in ("default", "ABORT", "CONTINUE"):
        raise BuildspecError(
            f"YAML_FILE_ERROR: phases.{name}.on-failure {on_failure!r}; ABORT and CONTINUE are emulated"
        )
    return Phase(
        name=name,
        commands=_commands(phase.get("commands"), f"phases.{name}.commands"),
        finally_commands=_commands(phase.get("finally"), f"phases.{name}.finally"),
        on_failure=on_failure,
    )


def _commands(value: Any, place: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise BuildspecError(f"YAML_FILE_ERROR: {place} is not a list")
    for index, command in enumerate(value):
        # `- echo a: b` is a mapping in YAML; CodeBuild refuses it in just this way.
        if not isinstance(command, str):
            raise BuildspecError(f"YAML_FILE_ERROR: Expected {place}[{index}] to be of string type: found {command!r}")
    return tuple(value)


def _mapping(value: Any, place: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BuildspecError(f"YAML_FILE_ERROR: {place} is not a mapping")
    return value


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str | int | float):
        raise BuildspecError(f"YAML_FILE_ERROR: {place} is not a text")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _known(mapping: dict[str, Any], place: str, allowed: tuple[str, ...]) -> None:
    unknown = sorted(set(mapping) - set(allowed))
    if unknown:
        raise BuildspecError(
            f"YAML_FILE_ERROR: {place} has {', '.join(map(str, unknown))}; emulated are {', '.join(allowed)}"
        )
