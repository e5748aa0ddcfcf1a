"""All that a calibration run found, and its JSON. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from client.calibration.artefact import Artefact
from client.calibration.collecting import LeftOut
from client.calibration.verdicts import Quality, Verdict


@dataclass(frozen=True, kw_only=True)
class Result:
    """artefact: None where nothing is kept. served_at: temperatures that the answers came with, undone before the fit.

    serves: readout and prompt version that the server has by default; the artefact's own where they are the same.
    """

    data: str
    data_sha256: str
    target: str
    model: str
    gguf_sha256: str
    readout: str
    prompt_version: str
    serves: tuple[str, str]
    folds: int
    seed: int
    only_certain: bool
    served_at: tuple[float, ...]
    left_out: tuple[LeftOut, ...]
    verdicts: tuple[Verdict, ...]
    artefact: Artefact | None


def result_bytes(result: Result) -> bytes:
    """Equal answers give equal bytes."""
    table: dict[str, Any] = {
        "calibration_report_version": 1,
        **{
            name: getattr(result, name)
            for name in ("data", "data_sha256", "target", "model", "gguf_sha256", "readout", "prompt_version")
        },
        "cross_validation": {"folds": result.folds, "seed": result.seed, "only_certain": result.only_certain},
        "served_at_temperatures": list(result.served_at),
        "left_out": [asdict(each) for each in result.left_out],
        "types": {each.question_type: _verdict(each) for each in result.verdicts},
        "artefact": None if result.artefact is None else {"calibration_version": 1, **asdict(result.artefact)},
    }
    return (json.dumps(table, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def _verdict(verdict: Verdict) -> Mapping[str, Any]:
    found = verdict.validated
    told: dict[str, Any] = {
        "status": verdict.status,
        "why": verdict.why,
        "decisions": verdict.decisions,
        "groups": verdict.groups,
        "bounded": verdict.bounded,
    }
    if found is not None:
        told |= {
            "temperature": found.temperature,
            "fold_temperatures": list(found.fold_temperatures),
            "improvement": asdict(found.improvement),
            "before": _quality(verdict.before),
            "after": _quality(verdict.after),
        }
    return told


def _quality(quality: Quality | None) -> Mapping[str, Any] | None:
    if quality is None:
        return None
    return {
        "negative_log_likelihood": quality.negative_log_likelihood,
        "brier": quality.brier,
        "calibration_error": quality.reliability.error,
        "bins": [asdict(each) for each in quality.reliability.bins],
    }
