"""Reads a Dockerfile as far as the rules of this project go: stages, their bases, environment, labels and entry point.

Every base is another stage or a build argument pinned by digest; nothing else is ever pulled. What RUN
does is not known here.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from local.images.errors import ImageError

_PINNED = re.compile(r"[^\s@]+@sha256:[0-9a-f]{64}")
_CHOICE = re.compile(r"(?P<prefix>[\w.-]+)\$\{(?P<argument>\w+)\}(?:\s|$)")


@dataclass(kw_only=True)
class Stage:
    """written: the base as the file has it, before arguments are filled in."""

    name: str
    base: str
    written: str
    environment: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    entrypoint: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ResolvedTarget:
    """A target with what its ancestors in the same file set. `base_image` ends in @sha256:<64 hex>.

    arguments: those that are declared before the first stage, and what each is, given or by default.
    """

    base_image: str
    arguments: Mapping[str, str]
    environment: Mapping[str, str]
    labels: Mapping[str, str]
    entrypoint: tuple[str, ...]


def resolve(text: str, *, target: str, arguments: Mapping[str, str]) -> ResolvedTarget:
    """Raises ImageError for an unknown target, a base that is not pinned, or a stage without an entry point."""
    declared: dict[str, str] = {}
    stages = _stages(text, arguments, declared)
    if target not in stages:
        raise ImageError(f"--target {target!r}: the Dockerfile has the targets {', '.join(stages) or 'none'}")
    for stage in stages.values():
        if stage.base not in stages and not _PINNED.fullmatch(stage.base):
            raise _not_a_base(stage, stages, declared)
    chain = [stages[target]]
    while chain[0].base in stages:
        chain.insert(0, stages[chain[0].base])
    base_image = chain[0].base
    entrypoint = next((stage.entrypoint for stage in reversed(chain) if stage.entrypoint), ())
    if not entrypoint:
        raise ImageError(f"target {target!r} has no ENTRYPOINT")
    return ResolvedTarget(
        base_image=base_image,
        arguments=declared,
        environment={name: value for stage in chain for name, value in stage.environment.items()},
        labels={name: value for stage in chain for name, value in stage.labels.items()},
        entrypoint=entrypoint,
    )


def _not_a_base(stage: Stage, stages: Mapping[str, Stage], arguments: Mapping[str, str]) -> ImageError:
    """Where an argument chooses among stages (`FROM libraries-${LIBRARIES}`), the remedy is one of them."""
    if (chosen := _CHOICE.match(stage.written)) and (
        choices := [name.removeprefix(chosen["prefix"]) for name in stages if name.startswith(chosen["prefix"])]
    ):
        argument = chosen["argument"]
        return ImageError(
            f"--build-arg {argument}={arguments.get(argument, '')}: "
            f"{', '.join(choices[:-1])}{' or ' * (len(choices) > 1)}{choices[-1]} needed"
        )
    return ImageError(
        f"FROM {stage.base or '(empty)'}: a base image is pinned as name@sha256:<64 hex>. "
        "Remedy: pass it with --build-arg BASE_IMAGE=…"
    )


def _stages(text: str, arguments: Mapping[str, str], declared: dict[str, str]) -> dict[str, Stage]:
    """declared: filled with the arguments that are declared before the first stage."""
    stages: dict[str, Stage] = {}
    current: Stage | None = None
    for keyword, rest in _instructions(text):
        if keyword == "ARG" and current is None:
            name, _, default = "".join(shlex.split(rest)).partition("=")
            declared[name] = arguments.get(name, default)
        elif keyword == "FROM":
            words = _expand(rest, declared).split()
            if words[:1] == ["AS"]:
                words.insert(0, "")  # the argument was empty; `resolve` says so
            if len(words) not in (1, 3) or (len(words) == 3 and words[1].upper() != "AS"):
                raise ImageError(f"FROM {rest}: written as FROM base AS name")
            current = Stage(name=words[2] if len(words) == 3 else str(len(stages)), base=words[0], written=rest)
            stages[current.name] = current
        elif keyword == "COPY" and (other := re.search(r"--from=(\S+)", rest)) and other[1] not in stages:
            raise ImageError(f"COPY {other[0]}: no stage of this name, and images are not copied from")
        elif current is not None and keyword == "ENV":
            current.environment.update(_pairs(keyword, rest))
        elif current is not None and keyword == "LABEL":
            current.labels.update(_pairs(keyword, rest))
        elif current is not None and keyword == "ENTRYPOINT":
            current.entrypoint = _exec_form(rest)
    if undeclared := sorted(set(arguments) - set(re.findall(r"(?m)^\s*ARG\s+(\w+)", text))):
        raise ImageError(f"--build-arg {undeclared[0]}: the Dockerfile has no ARG of this name")
    return stages


def _instructions(text: str) -> list[tuple[str, str]]:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\s*\n", " ", "\n".join(lines))
    pairs = (line.strip().partition(" ") for line in joined.splitlines())
    return [(keyword.upper(), rest.strip()) for keyword, _, rest in pairs]


def _pairs(keyword: str, rest: str) -> dict[str, str]:
    pairs = {}
    for word in shlex.split(rest):
        name, equals, value = word.partition("=")
        if not equals:
            raise ImageError(f"{keyword} {rest}: written as {keyword} name=value")
        pairs[name] = value
    return pairs


def _exec_form(rest: str) -> tuple[str, ...]:
    try:
        words = json.loads(rest)
    except json.JSONDecodeError:
        words = None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ImageError(f'ENTRYPOINT {rest}: written as ["program", "argument"]')
    return tuple(words)


def _expand(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\$\{(\w+)\}|\$(\w+)", lambda match: values.get(match[1] or match[2], ""), text)
