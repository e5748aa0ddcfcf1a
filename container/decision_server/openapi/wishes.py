"""The fields that begin with `x_` in requests of other APIs, as JSON Schema (contract 4.1, 5)."""

from __future__ import annotations

from decision_server.choices import READOUTS
from decision_server.openapi.json_schema import TEXT, THRESHOLD, Schema, nullable, one_of

OF_A_REQUEST: dict[str, Schema] = {"x_readout": nullable(one_of(READOUTS)), "x_prompt_version": nullable(TEXT)}
OF_A_QUESTION: dict[str, Schema] = {"x_abstain_below": nullable(THRESHOLD)}
