"""The handler that docs/client.md shows, run from the files that it says to take along, with nothing else to import."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.client.fake_runtime import ENDPOINT, Runtime, wrapped
from tests.serving.server import ROOT

PAGE = (ROOT / "docs" / "client.md").read_text()
ALLOWED = ("boto3", "botocore", "s3transfer", "jmespath", "dateutil", "six", "urllib3")
_HARNESS = f"""
import importlib.abc, json, sys

allowed = {{*{ALLOWED!r}, "client", "handler", *sys.stdlib_module_names, *sys.modules}}
refused = []

class OnlyThese(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in allowed:
            refused.append(name)
            raise ImportError(f"{{name}} is not there")

sys.meta_path.insert(0, OnlyThese())
import handler

class Context:
    def get_remaining_time_in_millis(self):
        return 30_000

for line in sys.stdin:
    try:
        told = handler.handler(json.loads(line), Context())
    except Exception as error:
        told = type(error).__name__
    print(json.dumps(told), flush=True)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """As the page says to make it; boto3 and urllib3 are those of this environment."""
    copied = re.search(r"cp -r (.+) package/client/", PAGE)
    assert copied
    folder = tmp_path / "package"
    (folder / "client").mkdir(parents=True)
    for name in copied.group(1).split():
        source, target = ROOT / name, folder / "client" / Path(name).name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    (handler,) = [block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "def handler" in block]
    (folder / "handler.py").write_text(handler)
    return folder


def run(package: Path, *events: Any) -> list[Any]:
    environment = {**os.environ, "PYTHONPATH": str(package), "ENDPOINT_NAME": ENDPOINT}
    lines = "".join(json.dumps(event) + "\n" for event in events)
    told = subprocess.run(
        [sys.executable, "-c", _HARNESS],
        input=lines,
        env=environment,
        cwd=package,
        text=True,
        capture_output=True,
        timeout=120,
    )
    assert told.returncode == 0, told.stderr
    return [json.loads(line) for line in told.stdout.splitlines()]


def test_the_handler_answers_with_boto3_and_urllib3_alone(package: Path, tiny_runtime: Runtime) -> None:
    answer, refused = run(package, {"mail": "Charged twice."}, {"mail": ""})
    assert set(answer) in ({"refund", "probability"}, {"refund"})
    assert (refused["code"], refused["field"]) == ("bad_value", "state")
    assert len(tiny_runtime.asked) == 2


def test_what_may_be_answered_later_is_raised_and_the_rest_told(package: Path, tiny_runtime: Runtime) -> None:
    later = b'{"detail": {"error_type": "queue_full", "message": "full"}, "x_retry_after_seconds": 100}'
    tiny_runtime.faults[:] = [
        wrapped(503, later),
        wrapped(500, b'{"detail": {"error_type": "internal", "message": "m"}}'),
    ]
    assert run(package, {"mail": "x"}, {"mail": "x"}) == [
        "DecisionError",
        {"error": "m", "code": "internal", "field": None},
    ]


def test_the_import_of_anything_else_would_be_noticed(package: Path) -> None:
    (package / "handler.py").write_text("import numpy\n")
    with pytest.raises(AssertionError, match="numpy is not there"):
        run(package)
