#!/usr/bin/env python3
"""Ends an image build: all source compiles, llama.cpp's libraries fit their binding, and the server, started as it will
be, answers one decision with the logits that it must have.

The model is a tiny one written on the spot; its logits are computed a second time without llama.cpp
(tiny_reference.py). Exit code 0 means that this folder, this Python and these libraries fit each other and compute
rightly. What the server makes of logits is what the tests are for. With a backend's name as its argument, it also
means that llama.cpp has that backend; whether it computes rightly only a machine with such a device can show.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from queue import Empty, Queue
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decision_server.engine.library import Library

HERE = Path(__file__).resolve().parent
START_SECONDS = 60.0
ANSWER_SECONDS = 30.0
STOP_SECONDS = 35.0
DECISION = {
    "id": "self-check",
    "state": "The build of this image is at its last step.",
    "question": "Is the build finished?",
    "options": [{"id": "yes", "description": "Yes, it is."}, {"id": "no", "description": "No, it is not."}],
    "readout": "letters",
    "prompt_version": "direct-options-v1",
}
# The whole prompt of DECISION, as contract 3.5 has it for the tiny model's chat template.
PROMPT = (
    "<|im_start|>system\nApply the supplied criterion to the supplied evidence. Choose exactly one listed option. "
    "Respond with only its uppercase letter, with no explanation or reasoning.<|im_end|>\n"
    '<|im_start|>user\n{"evidence": "The build of this image is at its last step.", '
    '"criterion": "Is the build finished?", "options": [{"letter": "A", "description": "Yes, it is."}, '
    '{"letter": "B", "description": "No, it is not."}]}<|im_end|>\n<|im_start|>assistant\n'
)
# Logits from -3 to 3. float32 against float64: 0.0001 was seen; half precision in the attention makes it 0.001; a norm
# left out, a wrong rotation or layout 0.1 and more.
LOGIT_TOLERANCE = 0.005
# What a backend needs that no image holds.
DRIVERS = {"cuda": "libcuda.so.1"}


class SelfCheckError(Exception):
    """What does not work, in one text."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="self_check.py", description=__doc__.splitlines()[0])
    parser.add_argument("backend", nargs="?", choices=["cuda"], help="what llama.cpp must have beside its CPU backend")
    backend = parser.parse_args(arguments).backend
    started = time.monotonic()
    try:
        files = compile_sources(HERE)
        library = check_libraries()
        found = None if backend is None else check_backend(library.folder, backend)
        with tempfile.TemporaryDirectory(prefix="self-check-") as folder:
            result = ask_server(Path(folder))
        check_result(result)
        deviation = check_logits(result)
    except SelfCheckError as error:
        print(f"self-check: {error}", file=sys.stderr)
        return 1
    print(f"self-check: {library.words}")
    if found is not None:
        print(f"self-check: {found}")
    print(f"self-check: {files} source files compile; one decision scored by {result['model']['llama_cpp']} ", end="")
    print(f"in {time.monotonic() - started:.1f} s; its logits are {deviation:.6f} from those computed without it")
    return 0


def compile_sources(folder: Path) -> int:
    """Compiles without writing anything. Raises SelfCheckError with the place of the first error."""
    files = [folder / "serve", *sorted(folder.rglob("*.py"))]
    for file in files:
        try:
            compile(file.read_bytes(), str(file), "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None)
            place = f"{file.relative_to(folder)}{f', line {line}' if line else ''}"
            raise SelfCheckError(f"{place}: {error}") from error
        except OSError as error:
            raise SelfCheckError(
                f"{file.relative_to(folder)}: {error.strerror}, as user {os.geteuid()}. Remedy: files that every user "
                "may read"
            ) from error
    return len(files)


def check_libraries() -> Library:
    """What is loaded. Raises SelfCheckError for libraries that do not fit; so does every start."""
    sys.path.insert(0, str(HERE))
    from decision_server.engine import library
    from decision_server.model_errors import StartupFailure

    try:
        return library.load()
    except StartupFailure as error:
        raise SelfCheckError(str(error)) from error


def check_backend(folder: Path, name: str) -> str:
    """The backend's library, in words. It is loaded: all that it needs must be there but the device's driver, which
    comes with the instance. Raises SelfCheckError."""
    file = folder / f"libggml-{name}.so"
    if not file.is_file():
        raise SelfCheckError(
            f"{file}: no such file, so no layer would run on a GPU. Remedy: a base image with the {name} backend, or "
            f"LIBRARIES=compiled-{name} (in the settings, container.libraries)"
        )
    try:
        found = ctypes.CDLL(str(file))
    except OSError as error:
        if not str(error).startswith(DRIVERS[name]):
            raise SelfCheckError(f"{file} cannot be loaded: {error}") from error
        return f"{file} is there; it was not loaded: {DRIVERS[name]} comes with the instance"
    if not hasattr(found, f"ggml_backend_{name}_reg"):
        raise SelfCheckError(f"{file} is no backend of llama.cpp: it has no ggml_backend_{name}_reg")
    return f"{file} is there and can be loaded"


def ask_server(folder: Path) -> dict[str, Any]:
    """Starts `serve` on a free port, asks it DECISION, stops it. Raises SelfCheckError with what the server said."""
    from tiny_model import write

    write(folder / "self-check.gguf")
    # No GPU is there while an image is built, so all layers stay on the CPU whatever the image sets.
    environment = {
        **os.environ,
        "DECISION_MODEL_PATH": str(folder / "self-check.gguf"),
        "DECISION_HOST": "127.0.0.1",
        "DECISION_PORT": "0",
        "DECISION_N_CTX": "1024",
        "DECISION_N_GPU_LAYERS": "0",
    }
    with (folder / "server.log").open("w+") as log:
        server = subprocess.Popen(
            [sys.executable, str(HERE / "serve"), "serve"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            url = _await_ready(server)
            result = _post(f"{url}/invocations", {"decision": DECISION})["result"]
            server.terminate()
            if (code := server.wait(STOP_SECONDS)) != 0:
                raise SelfCheckError(f"after SIGTERM the server ended with exit code {code}")
        except (SelfCheckError, subprocess.TimeoutExpired, KeyError) as error:
            log.seek(0)
            raise SelfCheckError(f"{error}. The end of its log:\n{log.read()[-4000:]}") from error
        finally:
            server.kill()
            server.wait()
    return dict(result)


def check_result(result: dict[str, Any]) -> None:
    probabilities = result.get("probabilities")
    if not isinstance(probabilities, list) or len(probabilities) != 2:
        raise SelfCheckError(f"two probabilities expected, the answer has {probabilities!r}")
    if not all(math.isfinite(p) and 0 <= p <= 1 for p in probabilities) or abs(sum(probabilities) - 1) > 1e-9:
        raise SelfCheckError(f"probabilities {probabilities} are no distribution")


def check_logits(result: dict[str, Any]) -> float:
    """The largest deviation seen. The options' logits stand in the answer; the share of probability on their labels
    depends on all others. Raises SelfCheckError when one is not what an independent computation has."""
    import numpy as np
    import tiny_reference

    if result["prompt_sha256"] != hashlib.sha256(PROMPT.encode()).hexdigest():
        raise SelfCheckError(f"the prompt's sha256 is {result['prompt_sha256']}: not the text that contract 3.5 fixes")
    ids = tiny_reference.tokens(PROMPT)
    if result["input_tokens"] != len(ids):
        raise SelfCheckError(f"the prompt has {result['input_tokens']} tokens; {len(ids)} expected")
    logits = tiny_reference.logits(ids)
    labels = [ord("A"), ord("B")]
    found, expected = np.array(result["option_logits"]), logits[labels]
    deviation = float(abs(found - expected).max())
    if not deviation <= LOGIT_TOLERANCE:
        raise SelfCheckError(
            f"logits {found.tolist()} of the options; {expected.tolist()} computed without llama.cpp, "
            f"{LOGIT_TOLERANCE} apart allowed"
        )
    mass = float(np.exp(logits[labels]).sum() / np.exp(logits).sum())
    if not abs(result["allowed_token_mass"] - mass) <= 2 * LOGIT_TOLERANCE * mass:
        raise SelfCheckError(f"allowed_token_mass {result['allowed_token_mass']}; {mass} computed without llama.cpp")
    if result["full_vocab_argmax_id"] != (best := int(logits.argmax())):
        raise SelfCheckError(f"full_vocab_argmax_id {result['full_vocab_argmax_id']}; {best} without llama.cpp")
    return deviation


def _await_ready(server: subprocess.Popen[str]) -> str:
    """The URL of the server's ready line. Raises SelfCheckError when it ends or stays silent."""
    lines: Queue[str | None] = Queue()
    threading.Thread(target=_forward, args=(server.stdout, lines), daemon=True).start()
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            raise SelfCheckError(f"the server was not ready within {START_SECONDS:.0f} s") from None
        if line is None:
            raise SelfCheckError(f"the server ended with exit code {server.wait(5)} before it was ready")
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            continue
        if event.get("event") == "ready":
            return str(event["url"])


def _forward(stream: IO[str] | None, lines: Queue[str | None]) -> None:
    for line in stream or ():
        lines.put(line)
    lines.put(None)


def _post(url: str, body: object) -> dict[str, Any]:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=ANSWER_SECONDS) as answer:
            document = json.load(answer)
    except urllib.error.HTTPError as error:
        raise SelfCheckError(f"POST /invocations answered {error.code}: {error.read()[:2000].decode()}") from error
    except OSError as error:
        raise SelfCheckError(f"POST /invocations: {error}") from error
    return dict(document)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
