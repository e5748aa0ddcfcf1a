"""What is compared: `NAME=PLACE[,KEY=VALUE …]` on the command line. Pure.

PLACE is a model's file, a model's folder or archive, `endpoint:NAME` or `url:http://…`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from client.errors import Refused

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")  # it names a folder of the run, too
_SETTING = re.compile(r"DECISION_[A-Z0-9_]+")
_KEYS = ("readout", "prompt_version", "price")
_FORM = "NAME=PLACE[,readout=…][,prompt_version=…][,price=…][,DECISION_…=…] is needed"
# Chosen for each contestant by its keys, or by the comparison for all of them.
_RESERVED = {
    "DECISION_READOUT": "readout=…",
    "DECISION_PROMPT_VERSION": "prompt_version=…",
    "DECISION_MODEL_PATH": "the place behind NAME=",
    "DECISION_PORT": "nothing: a free port is chosen",
    "DECISION_HOST": "nothing: local servers listen on loopback",
    "DECISION_API_KEY": "nothing: a local server needs no key here",
}


@dataclass(frozen=True, kw_only=True)
class Local:
    """A model that a server of its own is started for. settings: of that server."""

    path: Path
    settings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    name: str


@dataclass(frozen=True, kw_only=True)
class Url:
    url: str


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """readout, prompt_version: asked for in every decision; None leaves it to the server. hourly_price: None where none
    was given."""

    name: str
    place: Local | Endpoint | Url
    readout: str | None = None
    prompt_version: str | None = None
    hourly_price: float | None = None

    @property
    def where(self) -> str:
        """The place as it was written."""
        match self.place:
            case Local(path=path):
                return str(path)
            case Endpoint(name=name):
                return f"endpoint:{name}"
            case Url(url=url):
                return f"url:{url}"

    @property
    def wishes(self) -> str:
        """What else was written, for people; empty where nothing was."""
        settings = self.place.settings if isinstance(self.place, Local) else ()
        told = (("readout", self.readout), ("prompt_version", self.prompt_version), *settings)
        return ", ".join(f"{key}={value}" for key, value in told if value is not None)


def contestants(texts: Sequence[str]) -> tuple[Contestant, ...]:
    """Raises Refused for one that is written wrongly, for a name that stands twice, and for fewer than two."""
    found = tuple(contestant(text) for text in texts)
    names = [each.name.lower() for each in found]  # folders of some disks do not tell case apart
    for each in found:
        if names.count(each.name.lower()) > 1:
            raise Refused(f"{each.name}: the name stands more than once; give each contestant its own")
    if len(found) < 2:
        raise Refused(f"{len(found)} contestant given; two or more are needed. {_FORM}")
    return found


def contestant(text: str) -> Contestant:
    name, equals, rest = text.partition("=")
    if not equals or not rest:
        raise Refused(f"{text!r}: {_FORM}")
    if not _NAME.fullmatch(name):
        raise Refused(f"{text!r}: name {name!r}; 1 to 64 of A-Z a-z 0-9 . _ + - are needed, a letter or digit first")
    place, *pairs = rest.split(",")
    keys: dict[str, str] = {}
    settings: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        table = settings if _SETTING.fullmatch(key) else keys
        if not equals or not value or (table is keys and key not in _KEYS):
            raise Refused(f"{text!r}: {pair!r}; known are {', '.join(_KEYS)} and a server's settings DECISION_…")
        if key in table:
            raise Refused(f"{text!r}: {key} stands twice; give it once")
        table[key] = value
    return Contestant(
        name=name,
        place=_place(text, place, settings),
        readout=keys.get("readout"),
        prompt_version=keys.get("prompt_version"),
        hourly_price=price(keys["price"], where=f"{text!r}: price") if "price" in keys else None,
    )


def price(text: str, *, where: str) -> float:
    """An hour's price, in any currency. Raises Refused."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 <= value < float("inf"):
        raise Refused(f"{where} {text!r}: a number of 0 or more is needed, the price of an hour")
    return value


def _place(text: str, place: str, settings: dict[str, str]) -> Local | Endpoint | Url:
    kind, colon, rest = place.partition(":")
    if colon and kind in ("endpoint", "url"):
        if settings:
            raise Refused(f"{text!r}: {next(iter(settings))} is a setting of a local server; {kind}: is no such place")
        if not rest:
            raise Refused(f"{text!r}: nothing stands behind {kind}:")
        return Endpoint(name=rest) if kind == "endpoint" else Url(url=rest)
    for key in settings:
        if key in _RESERVED:
            raise Refused(f"{text!r}: {key} cannot be set here; its place takes {_RESERVED[key]}")
    return Local(path=Path(place), settings=tuple(sorted(settings.items())))
