"""The whole of each shipped environment, so that no change of a template goes unseen. Hashes of sources are masked.

`UPDATE_SNAPSHOTS=1 .venv/bin/python -m pytest tests/synth/test_snapshots.py` writes them anew; read the diff then.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from .conftest import Synthesize

SNAPSHOTS = Path(__file__).parent / "snapshots"
# Properties that name the bytes of a source: they change with every line of it.
MASKED = {"S3Key", "SourceLocation", "Trigger"}
# Its commit, which only a checkout of git has.
LEFT_OUT = {"SourceCommit", "SourceChanged"}


def masked(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: each for key, each in value.items() if key not in LEFT_OUT}
        return {key: "<hash>" if key in MASKED else masked(each) for key, each in kept.items()}
    return [masked(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", ["local", "dev", "staging", "prod"])
def test_the_templates_are_those_that_were_reviewed(synthesize: Synthesize, name: str) -> None:
    text = json.dumps(masked(synthesize(name)), indent=1, sort_keys=True) + "\n"
    path = SNAPSHOTS / f"{name}.json"
    if os.environ.get("UPDATE_SNAPSHOTS") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    reviewed = path.read_text() if path.exists() else ""
    assert json.loads(text) == json.loads(reviewed or "{}"), (
        "if the change is meant: UPDATE_SNAPSHOTS=1, then read git diff"
    )
