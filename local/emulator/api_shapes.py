"""Checks a request against AWS's own model of the API, which botocore ships: types, required members, enums, patterns.

So no list of instance types or name pattern is kept here, and a property that this SDK's AWS does not know is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from botocore.loaders import Loader
from botocore.model import ListShape, MapShape, ServiceModel, Shape, StructureShape

from local.emulator.aws_errors import validation


def service_model(service: str) -> ServiceModel:
    return ServiceModel(Loader().load_service_model(service, "service-2"), service)


def check(value: Any, shape: Shape) -> None:
    """Raises AwsError with SageMaker's wording when `value` does not satisfy `shape`."""
    problems = list(_problems(value, shape, ""))
    if problems:
        noun = "error" if len(problems) == 1 else "errors"
        raise validation(f"{len(problems)} validation {noun} detected: {'; '.join(problems)}")


def coerced(value: Any, shape: Shape) -> Any:
    """A template's value in the API's types: CloudFormation templates may spell numbers and booleans as
    strings, and strings as numbers.
    """
    match shape:
        case StructureShape() if isinstance(value, dict):
            unknown = sorted(set(value) - set(shape.members))
            if unknown:
                raise validation(f"Encountered unsupported property {unknown[0]}")
            return {name: coerced(item, shape.members[name]) for name, item in value.items()}
        case ListShape() if isinstance(value, list):
            return [coerced(item, shape.member) for item in value]
        case MapShape() if isinstance(value, dict):
            return {name: coerced(item, shape.value) for name, item in value.items()}
    if shape.type_name == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if shape.type_name in ("integer", "long") and isinstance(value, str) and re.fullmatch(r"-?\d+", value):
        return int(value)
    if shape.type_name in ("float", "double") and isinstance(value, str) and re.fullmatch(r"-?\d+(\.\d+)?", value):
        return float(value)
    if shape.type_name == "boolean" and value in ("true", "false"):
        return value == "true"
    return value


def _problems(value: Any, shape: Shape, path: str) -> Iterator[str]:
    match shape:
        case StructureShape():
            if not isinstance(value, dict):
                yield f"Value at '{path}' failed to satisfy constraint: Member must be a structure"
                return
            for name in shape.required_members:
                if value.get(name) is None:
                    yield f"Value null at '{_join(path, name)}' failed to satisfy constraint: Member must not be null"
            for name, item in value.items():
                if name not in shape.members:
                    yield f"Unknown parameter '{_join(path, name)}'"
                elif item is not None:
                    yield from _problems(item, shape.members[name], _join(path, name))
        case ListShape():
            if not isinstance(value, list):
                yield f"Value at '{path}' failed to satisfy constraint: Member must be a list"
                return
            yield from _length_problems(len(value), value, shape, path)
            for index, item in enumerate(value, start=1):
                yield from _problems(item, shape.member, f"{path}.{index}.member")
        case MapShape():
            if not isinstance(value, dict):
                yield f"Value at '{path}' failed to satisfy constraint: Member must be a map"
                return
            yield from _length_problems(len(value), value, shape, path)
            for name, item in value.items():
                yield from _problems(name, shape.key, f"{path}.key")
                yield from _problems(item, shape.value, f"{path}.{name}.value")
        case _:
            yield from _scalar_problems(value, shape, path)


def _scalar_problems(value: Any, shape: Shape, path: str) -> Iterator[str]:
    kind = shape.type_name
    if kind == "string":
        if not isinstance(value, str):
            yield f"Value '{value}' at '{path}' failed to satisfy constraint: Member must be a string"
            return
        yield from _length_problems(len(value), value, shape, path)
        enum, pattern = shape.metadata.get("enum"), shape.metadata.get("pattern")
        if enum and value not in enum:
            yield (
                f"Value '{value}' at '{path}' failed to satisfy constraint: "
                f"Member must satisfy enum value set: [{', '.join(enum)}]"
            )
        if pattern and not re.fullmatch(_python_pattern(pattern), value, re.DOTALL):
            yield (
                f"Value '{value}' at '{path}' failed to satisfy constraint: "
                f"Member must satisfy regular expression pattern: {pattern}"
            )
    elif kind in ("integer", "long", "float", "double"):
        wanted = (int,) if kind in ("integer", "long") else (int, float)
        if isinstance(value, bool) or not isinstance(value, wanted):
            yield f"Value '{value}' at '{path}' failed to satisfy constraint: Member must be a number ({kind})"
            return
        low, high = shape.metadata.get("min"), shape.metadata.get("max")
        if low is not None and value < low:
            yield f"Value '{value}' at '{path}' failed to satisfy constraint: Member must have value >= {low}"
        if high is not None and value > high:
            yield f"Value '{value}' at '{path}' failed to satisfy constraint: Member must have value <= {high}"
    elif kind == "boolean" and not isinstance(value, bool):
        yield f"Value '{value}' at '{path}' failed to satisfy constraint: Member must be a boolean"


def _length_problems(length: int, value: Any, shape: Shape, path: str) -> Iterator[str]:
    low, high = shape.metadata.get("min"), shape.metadata.get("max")
    if low is not None and length < low:
        yield f"Value '{value}' at '{path}' failed to satisfy constraint: Member must have length >= {low}"
    if high is not None and length > high:
        yield f"Value '{value}' at '{path}' failed to satisfy constraint: Member must have length <= {high}"


def _python_pattern(pattern: str) -> str:
    """AWS's patterns are Java's: `\\p{Alnum}`-like classes have no Python spelling and match any character here, a flag
    in the middle, `(?i)`, has no effect, and a range of surrogate pairs is one of characters.
    """
    pattern = pattern.replace(r"\uD800\uDC00-\uDBFF\uDFFF", r"\U00010000-\U0010FFFF").replace("(?i)", "")
    parts, inside = [], False
    for part in re.split(r"(\\p\{[^}]*\}|\\.|[\[\]])", pattern):
        inside = part == "[" if part in ("[", "]") else inside
        # Within brackets a member of the set, else a set of its own.
        parts.append((r"\s\S" if inside else r"[\s\S]") if part.startswith(r"\p{") else part)
    return "".join(parts)


def _join(path: str, name: str) -> str:
    spelled = _lower_first(name)
    return f"{path}.{spelled}" if path else spelled


def _lower_first(name: str) -> str:
    """`ModelName` → `modelName`, the spelling of AWS's messages."""
    return name[:1].lower() + name[1:]
