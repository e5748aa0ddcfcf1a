"""What a request may call the model, and the list of models (contract 4.1, 1.3)."""

from __future__ import annotations

from dataclasses import dataclass

from decision_server.decisions import JsonValue
from decision_server.errors import Refusal
from decision_server.places import Place
from decision_server.wire.json_body import shown
from decision_server.wire.json_text import json_bytes
from decision_server.wire.shapes import as_text

JEV_LATEST = "jev-latest"  # what System One clients ask for where nobody tells them otherwise
_NOT_KNOWN_DATE, _NOT_KNOWN_TIME = "1970-01-01", 0  # an archive says no date; both lists ask for one


@dataclass(frozen=True, kw_only=True)
class ModelNames:
    """name: of the loaded model; answers name it. aliases: other names that requests may use for it."""

    name: str
    aliases: tuple[str, ...] = ()

    @property
    def accepted(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.name, JEV_LATEST, *self.aliases)))

    def check(self, value: JsonValue, place: Place) -> None:
        """value: of a request's `model`. Raises Refusal."""
        asked = as_text(value, place)
        if asked not in self.accepted:
            known = ", ".join(self.accepted)
            raise Refusal(
                "model_not_found",
                f"model: {shown(asked)} is not served here; known are {known}; the setting DECISION_MODEL_ALIASES "
                "adds names",
                place=place,
            )

    def body(self) -> bytes:
        """`GET /v1/models`, as System One clients (`models`) and the `openai` package (`data`) read it."""
        return json_bytes(
            {
                "object": "list",
                "models": [
                    {
                        "name": name,
                        "description": self._description(name),
                        "release_date": _NOT_KNOWN_DATE,
                    }
                    for name in self.accepted
                ],
                "data": [
                    {"id": name, "object": "model", "created": _NOT_KNOWN_TIME, "owned_by": "decision-server"}
                    for name in self.accepted
                ],
            }
        )

    def _description(self, name: str) -> str:
        return "The model that is loaded." if name == self.name else f"Another name of {self.name}."
