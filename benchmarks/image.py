"""What the image adds, beside the same image with transformers added for its tokenizer: size, start, first answer.

    .venv/bin/python -m benchmarks.image [ROUNDS] [--output FILE]

Builds both with buildah and runs both as SageMaker does, in their own read-only files, on the same model; needs root on
Debian, with buildah and debootstrap. The second also imports transformers and loads a fast tokenizer of the model's
vocabulary first, as a server that uses one must. No torch in either. Writes one JSON object, and prints what
docs/image.md says of it; ratios are of medians, and of rounds that take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from statistics import median

from benchmarks import machine
from benchmarks.image_model import write_model
from benchmarks.image_pair import UnpackedImage, build_both
from benchmarks.image_table import sentence, table
from local.images import modes
from local.images.paths import ROOT

ROUNDS = 7
RESULT = ROOT / "benchmarks/results/image.json"
FIRST = {
    "id": "first",
    "state": "The lamp arrived in one piece, and it is as bright as I had hoped.",
    "question": "What does the writer think of the lamp?",
    "options": [{"id": "good", "description": "It is good."}, {"id": "bad", "description": "It is bad."}],
}
AS_A_SERVER_THAT_NEEDS_IT = {"PYTHONPATH": "/opt/ml/model/site"}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.image", description=__doc__.splitlines()[0])
    parser.add_argument("rounds", type=int, nargs="?", default=ROUNDS, choices=range(1, 101), metavar="ROUNDS")
    parser.add_argument("--output", type=Path, default=RESULT, help="default: benchmarks/results/image.json")
    given = parser.parse_args(arguments)
    rounds: int = given.rounds
    output: Path = given.output
    if not output.parent.is_dir():
        parser.error(f"--output {output}: no such folder as {output.parent}")
    if (obstacle := modes.obstacle_to_buildah()) is not None:
        parser.error(f"the images cannot be built here: {obstacle}")
    seconds: dict[str, list[float]] = {f"{kind}_{what}": [] for kind in ("ours", "with") for what in ("ready", "first")}
    with tempfile.TemporaryDirectory(prefix="image-bench-") as name:
        folder = Path(name)
        ours, theirs = build_both(folder)
        model = write_model(folder / "model")
        foreign, spent = machine.Foreign(), own_seconds()
        for number in range(rounds + 1):
            for kind, image, variables in (("ours", ours, {}), ("with", theirs, AS_A_SERVER_THAT_NEEDS_IT)):
                ready, first = start(image, model, folder / "log", variables)
                if number > 0:  # the first brings files into the page cache
                    seconds[f"{kind}_ready"].append(ready)
                    seconds[f"{kind}_first"].append(first)
        others, stolen = foreign.share(own_seconds() - spent)
    found = {name: median(values) for name, values in seconds.items()}
    document = {
        "machine": machine.facts(),
        "noise": {"foreign_share": others, "stolen_share": stolen},
        "rounds": rounds,
        "digests": {"ours": ours.digest, "with": theirs.digest},
        "bytes_of_base": ours.bytes_of_base,
        "bytes_of_files": {"ours": ours.bytes_of_files, "with": theirs.bytes_of_files},
        "bytes_added": {"ours": ours.bytes_added, "with": theirs.bytes_added},
        "seconds_p50": found,
        "ours_over_with_transformers": {
            "files": ours.bytes_of_files / theirs.bytes_of_files,
            "added": ours.bytes_added / theirs.bytes_added,
            "image": (ours.bytes_of_base + ours.bytes_added) / (theirs.bytes_of_base + theirs.bytes_added),
            "ready": found["ours_ready"] / found["with_ready"],
            "first_answer": found["ours_first"] / found["with_first"],
        },
        "ready_ratio_of_each_round": [
            one / other for one, other in zip(seconds["ours_ready"], seconds["with_ready"], strict=True)
        ],
    }
    output.write_text(json.dumps(document, indent=2) + "\n")
    print(f"{output}\n\n{table(document)}\n{sentence(document)}", end="")
    return 0


def own_seconds() -> float:
    """CPU time of this process and of the servers that it started and that have ended."""
    return sum(os.times()[:4])


def start(image: UnpackedImage, model: Path, log: Path, variables: dict[str, str]) -> tuple[float, float]:
    """Seconds from the start of the container to its ready line, and to its first answer."""
    environment = {
        **image.config.environment,
        **variables,
        "HOME": "/tmp",
        "DECISION_MODEL_PATH": str(model),
        "DECISION_HOST": "127.0.0.1",
        "DECISION_PORT": "0",
        "DECISION_N_CTX": "1024",
    }
    began = time.perf_counter()
    with log.open("w") as errors:
        server = subprocess.Popen(image.command, env=environment, stdout=subprocess.PIPE, stderr=errors)
    try:
        line = server.stdout.readline() if server.stdout else b""
        if not line:
            raise RuntimeError(f"the server did not start:\n{log.read_text()[-3000:]}")
        ready = time.perf_counter() - began
        request = urllib.request.Request(
            f"{json.loads(line)['url']}/invocations", json.dumps({"decision": FIRST}).encode()
        )
        request.add_header("Content-Type", "application/json")
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
            answer.read()
        return ready, time.perf_counter() - began
    finally:
        server.terminate()
        server.wait(40)
        if server.stdout:
            server.stdout.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
