"""Throws seeded nonsense at a running server: `python -m benchmarks.fuzz [--count 2000] [--seed 1] [--model FILE]`.

What must hold: no answer of 500 or above but 503 and 504; every error is JSON with its code; every valid body is
answered with probabilities; afterwards the same process answers, and as it did before.
"""

from __future__ import annotations

import argparse
import http.client
import json
import math
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.fuzz_bodies import Case, cases
from benchmarks.processes import Caller, OwnServer

_PROBE = {
    "decision": {
        "id": "probe",
        "state": "The server was sent nonsense.",
        "question": "Does it still answer as before?",
        "options": [{"id": "yes", "description": "Yes."}, {"id": "no", "description": "No."}],
    }
}
_WAIT_SECONDS = 120.0


@dataclass
class Report:
    """failures: one line a case that was not answered as it must be, with its number. answered: by status."""

    failures: list[str] = field(default_factory=list)
    answered: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)


def fuzz(port: int, given: Iterable[Case]) -> Report:
    report = Report()
    before = _probe(port)
    for number, case in enumerate(given):
        reason: str | None
        try:
            status, body = _send(port, case)
            report.answered[str(status)] += 1
            reason = fault(case, status, body)
        except (OSError, http.client.HTTPException) as error:
            report.answered["none"] += 1
            # half a message may be met with silence
            reason = None if case.sending == "cut short" else f"no answer: {type(error).__name__}"
        report.kinds[case.kind] += 1
        if reason is not None:
            report.failures.append(f"case {number}, {case.kind}: {reason}; body begins {case.body[:80]!r}")
    after = _probe(port)
    if after != before:
        report.failures.append(f"afterwards the same decision is answered otherwise: {after} instead of {before}")
    return report


def fault(case: Case, status: int, body: bytes) -> str | None:
    """Why an answer is not what it must be."""
    if status >= 500 and status not in (503, 504):
        return f"answered {status}"
    try:
        answer = json.loads(body)
    except ValueError:
        return f"answered {status} with a body that is not JSON"
    if status != 200:
        missing = _missing(answer)
        if missing:
            return f"answered {status} without {', '.join(sorted(missing))}"
        return f"a valid body was refused: {answer}" if case.valid and status < 500 else None
    results = answer["results"] if "results" in answer else [answer["result"]]
    for result in results:
        given = result["probabilities"]
        if not all(math.isfinite(one) and 0 <= one <= 1 for one in given) or abs(math.fsum(given) - 1) > 1e-9:
            return f"answered with probabilities {given[:5]}"
    return None


def _missing(answer: Any) -> set[str]:
    """What an error lacks of the shape of its dialect (contract 8, 4.3; the `error` object of the `openai` package)."""
    if not isinstance(answer, dict):
        return {"an object"}
    match answer:
        case {"detail": [*errors]}:
            return {"loc", "msg", "type"} - set.intersection(*map(set, errors)) if errors else {"errors"}
        case {"detail": detail}:
            return {"error_type", "message"} - set(detail)
        case {"error": {**error}}:
            return {"message", "type", "code", "param"} - set(error)
    return {"error", "code", "field", "retryable", "request_id"} - set(answer)


def _send(port: int, case: Case) -> tuple[int, bytes]:
    head = {"Host": "fuzz", "Content-Type": "application/json", "Connection": "close"} | case.headers
    whole = case.body
    if case.sending == "length":
        head["Content-Length"] = str(len(case.body))
    elif case.sending == "cut short":
        head["Content-Length"] = str(len(case.body))
        whole = case.body[: len(case.body) // 2]
    else:
        head["Transfer-Encoding"] = "chunked"
        sizes = [7, 1, len(case.body)]
        pieces = [case.body[:7], case.body[7:8], case.body[8:]]
        whole = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece) + b"0\r\n\r\n"
        if case.sending == "bad chunk":
            whole = whole.replace(b"\r\n", b"zz\r\n" if sizes[2] % 2 else b"\n", 1)
    lines = ["POST /invocations HTTP/1.1", *(f"{name}: {value}" for name, value in head.items()), "", ""]
    with socket.create_connection(("127.0.0.1", port), timeout=_WAIT_SECONDS) as sock:
        try:
            sock.sendall("\r\n".join(lines).encode("latin-1") + whole)
            if case.sending in ("cut short", "bad chunk"):
                sock.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before all of it was read; the answer is there all the same
        response = http.client.HTTPResponse(sock)
        response.begin()
        return response.status, response.read()


def _probe(port: int) -> Any:
    with closing(Caller(port)) as caller:
        if caller.get("/ping").status != 200:
            return "no ping"
        answer = json.loads(caller.post("/invocations", _PROBE).body)
    return answer.get("result", {}).get("option_logits", answer)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", type=Path, help="a .gguf file; default: a tiny one with random weights")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        model = given.model or _tiny(Path(folder))
        with OwnServer(model.resolve(), Path(folder) / "server.log", n_ctx=1024) as server:
            worker = server.worker_pid
            report = fuzz(server.port, cases(given.seed, given.count))
            if server.process.poll() is not None or server.worker_pid != worker:
                report.failures.append("the server's process did not survive")
    print(f"{given.count} bodies, seed {given.seed}: answered {dict(sorted(report.answered.items()))}")
    for failure in report.failures:
        print(failure)
    print(f"{len(report.failures)} failures")
    return 1 if report.failures else 0


def _tiny(folder: Path) -> Path:
    from tests.fixtures.tiny_gguf import write_tiny_llama

    return write_tiny_llama(folder / "tiny.gguf")


if __name__ == "__main__":
    sys.exit(main())
