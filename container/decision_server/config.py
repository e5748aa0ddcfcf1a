"""The settings of the server: a closed list, read from the environment here and nowhere else (docs/interfaces.md 2).

An unknown DECISION_ variable, a value that is no number or one out of range stops the start and is named. Settings that
the model archive has a default for are None where the environment leaves them open.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TypeVar

from decision_server.choices import PROMPT_VERSIONS, READOUTS

Number = TypeVar("Number", int, float)

PREFIX = "DECISION_"
LOG_LEVELS = ("debug", "info", "warning", "error")


class ConfigError(Exception):
    """A setting that cannot be used: variable, value seen, what is allowed."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """One field a variable; seconds and bytes where the names say so.

    gguf_sha256: of the only weights that may be loaded; None: whichever the manifest names, or lie there.
    batch: SageMaker runs this container for a transform job, and says so in a variable of its own.
    """

    model_path: Path
    gguf_sha256: str | None
    host: str
    port: int
    n_ctx: int | None
    n_threads: int | None
    n_gpu_layers: int
    queue_size: int
    deadline_seconds: float
    read_timeout_seconds: float
    max_body_bytes: int
    max_decisions: int
    bulk_max_bytes: int
    bulk_deadline_seconds: float
    readout: str | None
    prompt_version: str | None
    prefix_streams: int
    chat_n_ctx: int | None
    chat_slots: int
    log_level: str
    model_aliases: tuple[str, ...]
    batch: bool
    api_key: str | None = field(repr=False)


_NAMES = frozenset(PREFIX + setting.name.upper() for setting in fields(Config) if setting.name != "batch")
_PLATFORM_PORT, _PLATFORM_BATCH = "SAGEMAKER_BIND_TO_PORT", "SAGEMAKER_BATCH"
_LARGEST = 2**31 - 1
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,19}\s*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SECRET = re.compile(r"[!-~]{16,512}")  # what a bearer token may hold, and no less than cannot be guessed


def load(environ: Mapping[str, str]) -> Config:
    """Raises ConfigError for the first setting that is wrong."""
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in _NAMES:
            known = ", ".join(sorted(_NAMES))
            raise ConfigError(f"{name}: unknown setting; known are {known}")
    if "GUNICORN_CMD_ARGS" in environ:
        raise ConfigError("GUNICORN_CMD_ARGS: not supported, it would undo settings of this server; remove it")
    read = _Reader(environ)
    port_name = _PLATFORM_PORT if _PLATFORM_PORT in environ else "DECISION_PORT"
    return Config(
        model_path=Path(read.text("DECISION_MODEL_PATH") or "/opt/ml/model"),
        gguf_sha256=read.sha256("DECISION_GGUF_SHA256"),
        host=_address(read.text("DECISION_HOST") or "0.0.0.0"),
        port=read.whole(port_name, 8080, least=0, most=65535),
        n_ctx=read.optional_whole("DECISION_N_CTX", least=256, most=_LARGEST),
        n_threads=read.optional_whole("DECISION_N_THREADS", least=1, most=512),
        n_gpu_layers=read.whole("DECISION_N_GPU_LAYERS", 0, least=-1, most=_LARGEST),
        queue_size=read.whole("DECISION_QUEUE_SIZE", 64, least=1, most=1024),
        deadline_seconds=read.number("DECISION_DEADLINE_SECONDS", 50, least=1, most=3600),
        read_timeout_seconds=read.number("DECISION_READ_TIMEOUT_SECONDS", 10, least=1, most=60),
        max_body_bytes=read.whole("DECISION_MAX_BODY_BYTES", 1 << 20, least=1024, most=25 << 20),
        max_decisions=read.whole("DECISION_MAX_DECISIONS", 64, least=1, most=1024),
        bulk_max_bytes=read.whole("DECISION_BULK_MAX_BYTES", 100 << 20, least=1024, most=1 << 30),
        bulk_deadline_seconds=read.number("DECISION_BULK_DEADLINE_SECONDS", 3600, least=1, most=86400),
        readout=read.choice("DECISION_READOUT", READOUTS),
        prompt_version=read.choice("DECISION_PROMPT_VERSION", PROMPT_VERSIONS),
        prefix_streams=read.whole("DECISION_PREFIX_STREAMS", 8, least=0, most=64),
        chat_n_ctx=read.optional_whole("DECISION_CHAT_N_CTX", least=0, most=_LARGEST),
        chat_slots=read.whole("DECISION_CHAT_SLOTS", 2, least=1, most=16),
        log_level=read.choice("DECISION_LOG_LEVEL", LOG_LEVELS) or "info",
        model_aliases=read.names("DECISION_MODEL_ALIASES"),
        batch=environ.get(_PLATFORM_BATCH, "").lower() == "true",
        api_key=read.secret("DECISION_API_KEY"),
    )


class _Reader:
    """Reads single variables; every error names variable, value and range."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def text(self, name: str) -> str | None:
        value = self._environ.get(name)
        if value is not None and not value.strip():
            raise ConfigError(f"{name}: empty; give it a value or remove it")
        return value

    def choice(self, name: str, allowed: tuple[str, ...]) -> str | None:
        value = self.text(name)
        if value is not None and value not in allowed:
            raise ConfigError(f"{name}: {value!r}; one of {', '.join(allowed)} is needed")
        return value

    def names(self, name: str) -> tuple[str, ...]:
        """Separated by commas."""
        text = self.text(name)
        if text is None:
            return ()
        found = tuple(part.strip() for part in text.split(","))
        if not all(found):
            raise ConfigError(f"{name}: {text!r} has an empty name between its commas; remove it")
        return found

    def sha256(self, name: str) -> str | None:
        text = self.text(name)
        if text is not None and not _SHA256.fullmatch(text):
            raise ConfigError(f"{name}: {text!r}; 64 lower-case hex digits are needed")
        return text

    def secret(self, name: str) -> str | None:
        """Never quoted in an error."""
        text = self.text(name)
        if text is not None and not _SECRET.fullmatch(text):
            raise ConfigError(f"{name}: 16 to 512 printable ASCII characters without spaces are needed")
        return text

    def whole(self, name: str, default: int, *, least: int, most: int) -> int:
        value = self.optional_whole(name, least=least, most=most)
        return default if value is None else value

    def optional_whole(self, name: str, *, least: int, most: int) -> int | None:
        text = self.text(name)
        if text is None:
            return None
        if not _WHOLE.fullmatch(text):
            raise ConfigError(f"{name}: {text!r} is not a whole number; {least} to {most} allowed")
        return _in_range(name, int(text), least, most)

    def number(self, name: str, default: float, *, least: int, most: int) -> float:
        text = self.text(name)
        if text is None:
            return default
        try:
            value = float(text)
        except ValueError:
            raise ConfigError(f"{name}: {text!r} is not a number; {least} to {most} allowed") from None
        return _in_range(name, value, least, most)


def _in_range(name: str, value: Number, least: int, most: int) -> Number:
    if not least <= value <= most:  # false for NaN too
        raise ConfigError(f"{name}: {value} is out of range; {least} to {most} allowed")
    return value


def _address(host: str) -> str:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise ConfigError(f"DECISION_HOST: {host!r} is not an IP address; use 0.0.0.0 or 127.0.0.1") from None
    return host
