"""What the engine takes beside the model's file and its cache, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.fixtures.models import smollm2_q8_0

ROOT = Path(__file__).resolve().parents[2]
LIMIT_BYTES = 150 * 10**6
WORK = """
import json, sys
from pathlib import Path
from decision_server.engine import LlamaEngine
from decision_server.scoring import ScoringTask

engine = LlamaEngine.load(Path(sys.argv[1]), n_ctx=4096, n_threads=2, n_gpu_layers=0, prefix_streams=2)
for start in range(3):
    tokens = tuple(range(start * 500, start * 500 + 300))
    answers = tuple(tuple(range(10 * i, 10 * i + 4)) for i in range(40))
    engine.score(ScoringTask(tokens=tokens, shared_lengths=(200,), continuations=answers))
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
cache = engine.reuse.token_bytes * (4096 + 256) + engine.counters.kept_bytes
print(json.dumps({"peak": int(status["VmHWM"].split()[0]) * 1024, "cache": cache}))
engine.close()
"""


def test_beside_file_and_cache_the_engine_takes_at_most_150_mb() -> None:
    """The file is mapped, so its pages count for the peak; so does the whole cache, cleared at the start."""
    path = smollm2_q8_0()
    done = subprocess.run(
        [sys.executable, "-c", WORK, str(path)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "container")},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = json.loads(done.stdout)
    beside = found["peak"] - found["cache"] - path.stat().st_size
    assert found["cache"] > 10**8
    assert 0 < beside < LIMIT_BYTES
