"""System One conformance, as an outside program judges it: `jevcompat test` against this server.

    .venv/bin/python -m benchmarks.conformance MODEL

MODEL: a .gguf file or a model folder. Each readout is tested, and a server that asks for a key; the reports go to
conformance/ beside this file. 255 options are asked, which by letters is a prompt of about 6,600 tokens; so the server
runs with a context of 8,192. The exit code is 1 where a requirement fails.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.processes import OwnServer

REPORTS = Path(__file__).with_name("conformance")
N_CTX = 8192
KEY = "a-key-of-the-benchmark"
RUNS = {  # name of the report → readout and key
    "letters": ("letters", None),
    "likelihood": ("likelihood", None),
    "likelihood-with-key": ("likelihood", KEY),
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.conformance", description="jevcompat, by both readouts.")
    parser.add_argument("model", type=Path)
    model: Path = parser.parse_args(arguments).model
    REPORTS.mkdir(exist_ok=True)
    return max(_test(model, name, *run) for name, run in RUNS.items())


def _test(model: Path, name: str, readout: str, key: str | None) -> int:
    settings = {"DECISION_READOUT": readout, "DECISION_DEADLINE_SECONDS": "120"}
    command = [str(Path(sys.executable).with_name("jevcompat")), "test"]
    command += ["--markdown", str(REPORTS / f"{name}.md"), "--title", f"jevcompat, {name}"]
    if key is not None:
        settings["DECISION_API_KEY"] = key
        command += ["--key", key]
    with (
        tempfile.TemporaryDirectory() as folder,
        OwnServer(model, Path(folder) / "log", n_ctx=N_CTX, settings=settings) as server,
    ):
        return subprocess.run([*command, f"http://127.0.0.1:{server.port}"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
