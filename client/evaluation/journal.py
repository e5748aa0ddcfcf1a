"""A run on disk: one line for its settings, then one for each asking, each on the disk before the next is begun by the
same worker. What a crash leaves of a last line is cut off; all before it counts.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from client.errors import JobFailed, Refused
from client.evaluation.outcomes import Outcome, from_json, to_json

VERSION = 1
NAME = "journal.jsonl"
MAY_CHANGE = ("concurrency",)  # while a run goes on


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What shapes a run's numbers. target: an endpoint, an address, a file. target_sha256: of a file, or a folder's
    manifest, since another may come by the same name.
    """

    data: str
    data_sha256: str
    target: str
    target_sha256: str | None = None
    server_settings: tuple[str, ...] = ()
    readout: str | None = None
    prompt_version: str | None = None
    concurrency: int = 1
    reversed_too: bool = False


class Journal:
    """A context manager. Safe to append to from many threads; one process at a time."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        """Raises Refused where the folder cannot be used, holds a run with other settings, or another process writes to
        it. Settings may differ in `concurrency`, which changes times alone; each outcome says its own.
        """
        self.path = folder / NAME
        self._lock = threading.Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("a+b")
        except OSError as error:
            raise _unusable(folder, error) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.outcomes = self._begin(settings)
        except BlockingIOError as error:
            self._file.close()
            raise Refused(
                f"{folder}: another evaluation writes there now. Remedy: --out with another folder"
            ) from error
        except OSError as error:
            self._file.close()
            raise _unusable(folder, error) from error
        except BaseException:
            self._file.close()
            raise

    def append(self, outcome: Outcome) -> None:
        """Raises JobFailed."""
        try:
            self._write(to_json(outcome))
        except OSError as error:
            raise JobFailed(
                f"{self.path}: cannot be written: {error.strerror}\nWhat was answered before is kept. To go on, "
                "when it can: the same command again"
            ) from error

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def _begin(self, settings: Settings) -> tuple[Outcome, ...]:
        """What is there already, once a cut last line is off."""
        self._file.seek(0)
        content = self._file.read()
        whole = content[: content.rfind(b"\n") + 1]
        self._file.truncate(len(whole))
        lines = whole.splitlines()
        if not lines:
            self._write(json.dumps({"journal_version": VERSION, "settings": asdict(settings)}).encode("utf-8"))
            return ()
        there = _settings(self.path, lines[0])
        _check(self.path, there, settings)
        return _outcomes(self.path, there, lines[1:])

    def _write(self, line: bytes) -> None:
        with self._lock:
            self._file.write(line + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())


def read(folder: Path) -> tuple[Settings, tuple[Outcome, ...]]:
    """A run as it stands, without going on with it. Raises Refused where there is none."""
    path = folder / NAME
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Refused(f"{path}: cannot be read: {error.strerror}. Remedy: name the folder of a run") from error
    lines = content[: content.rfind(b"\n") + 1].splitlines()
    if not lines:
        raise Refused(f"{path}: nothing was asked yet")
    settings = _settings(path, lines[0])
    return settings, _outcomes(path, settings, lines[1:])


def _unusable(folder: Path, error: OSError) -> Refused:
    why = "is a file" if folder.is_file() else error.strerror
    return Refused(f"{folder}: {why}; nothing was asked. Remedy: --out with a folder that can be written")


def _check(path: Path, there: Settings, settings: Settings) -> None:
    differing = [
        f"  {each.name}: {getattr(there, each.name)!r} there, {getattr(settings, each.name)!r} now"
        for each in fields(Settings)
        if each.name not in MAY_CHANGE and getattr(there, each.name) != getattr(settings, each.name)
    ]
    if differing:
        raise Refused(
            f"{path.parent}: holds a run with other settings; nothing was asked\n"
            + "\n".join(differing)
            + "\nRemedy: the same settings to go on with it, or --out with another folder"
        )


def _settings(path: Path, line: bytes) -> Settings:
    try:
        told: Mapping[str, Any] = json.loads(line)
        if told["journal_version"] != VERSION:
            raise Refused(f"{path}: journal_version: {told['journal_version']!r}; this client reads {VERSION}")
        given = dict(told["settings"])
        return Settings(**{**given, "server_settings": tuple(given["server_settings"])})
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(f"{path}: line 1: no journal of an evaluation: {error!r}. Remedy: another --out") from error


def _outcomes(path: Path, settings: Settings, lines: Sequence[bytes]) -> tuple[Outcome, ...]:
    """settings: those that the run was begun with."""
    found = (_outcome(path, number, line) for number, line in enumerate(lines, start=2))
    return tuple(each if each.concurrency else replace(each, concurrency=settings.concurrency) for each in found)


def _outcome(path: Path, number: int, line: bytes) -> Outcome:
    try:
        return from_json(line)
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(
            f"{path}: line {number}: cannot be read: {error!r}. Remedy: remove that line or the folder"
        ) from error
