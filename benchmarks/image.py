"""What the image adds, beside the same image with transformers added for its tokenizer: size, start, first answer.

    .venv/bin/python -m benchmarks.image [ROUNDS]

Both run the same server on the same model and libraries, in environments of their own; the second also imports
transformers and loads a fast tokenizer of the model's vocabulary first, as a server that uses one must. No torch in
either. Prints one JSON object; ratios are of medians, and of rounds that take turns.
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
from typing import Any

import gguf

from local.images import venv_runtime
from local.images.paths import ROOT, Cache
from local.images.venv_runtime import VenvRuntime
from tests.fixtures.models import smollm2_q8_0

FIRST = {
    "id": "first",
    "state": "The lamp arrived in one piece, and it is as bright as I had hoped.",
    "question": "What does the writer think of the lamp?",
    "options": [{"id": "good", "description": "It is good."}, {"id": "bad", "description": "It is bad."}],
}
LOAD_TOKENIZER = """
import os
if folder := os.environ.get("BENCH_TOKENIZER"):
    from transformers import AutoTokenizer
    assert AutoTokenizer.from_pretrained(folder)("a text")["input_ids"]
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.image", description=__doc__.splitlines()[0])
    parser.add_argument("rounds", type=int, nargs="?", default=5, choices=range(1, 101), metavar="ROUNDS")
    rounds: int = parser.parse_args(arguments).rounds
    cache = Cache(folder=ROOT / ".cache")
    ours = venv_runtime.make(ROOT / "container/requirements.txt", cache=cache, say=_say)
    theirs = venv_runtime.make(ROOT / "benchmarks/requirements-transformers.txt", cache=cache, say=_say)
    model = smollm2_q8_0()
    seconds: dict[str, list[float]] = {f"{kind}_{what}": [] for kind in ("ours", "with") for what in ("ready", "first")}
    with tempfile.TemporaryDirectory(prefix="image-bench-") as name:
        folder = Path(name)
        write_tokenizer(model, folder / "tokenizer")
        (folder / "site").mkdir()
        (folder / "site/sitecustomize.py").write_text(LOAD_TOKENIZER)
        extra = {"PYTHONPATH": str(folder / "site"), "BENCH_TOKENIZER": str(folder / "tokenizer")}
        for number in range(rounds + 1):
            for kind, runtime, variables in (("ours", ours, {}), ("with", theirs, extra)):
                ready, first = start(runtime, model, folder / "log", variables)
                if number > 0:  # the first brings files into the page cache
                    seconds[f"{kind}_ready"].append(ready)
                    seconds[f"{kind}_first"].append(first)
    found = {name: median(values) for name, values in seconds.items()}
    sizes = {"ours": size(ours), "with": size(theirs)}
    document = {
        "rounds": rounds,
        "bytes_of_packages": sizes,
        "seconds_p50": found,
        "ours_over_with_transformers": {
            "size": sizes["ours"] / sizes["with"],
            "ready": found["ours_ready"] / found["with_ready"],
            "first_answer": found["ours_first"] / found["with_first"],
        },
    }
    print(json.dumps(document, indent=2))
    return 0


def start(runtime: VenvRuntime, model: Path, log: Path, variables: dict[str, str]) -> tuple[float, float]:
    """Seconds from the start of the process to its ready line, and to its first answer."""
    environment = {
        **runtime.environment,
        **variables,
        "HOME": str(log.parent),
        "DECISION_MODEL_PATH": str(model),
        "DECISION_HOST": "127.0.0.1",
        "DECISION_PORT": "0",
        "DECISION_N_CTX": "1024",
    }
    began = time.perf_counter()
    with log.open("w") as errors:
        server = subprocess.Popen(
            [str(runtime.python), str(ROOT / "container/serve")], env=environment, stdout=subprocess.PIPE, stderr=errors
        )
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


def write_tokenizer(model: Path, folder: Path) -> None:
    """The vocabulary and merges of a GGUF as the files that AutoTokenizer reads."""
    fields = gguf.GGUFReader(model).fields
    tokens: list[str] = fields["tokenizer.ggml.tokens"].contents()
    document: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": fields["tokenizer.ggml.merges"].contents(),
        },
    }
    folder.mkdir()
    (folder / "tokenizer.json").write_text(json.dumps(document))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))


def size(runtime: VenvRuntime) -> int:
    """Bytes of the environment's files, each counted once; bytecode left out, since images differ in having it."""
    found = {
        (status.st_dev, status.st_ino, path): status.st_size
        for path in (runtime.folder / "lib").rglob("*")
        if path.suffix != ".pyc" and not path.is_symlink() and (status := os.stat(path)) and path.is_file()
    }
    return sum(found.values())


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
