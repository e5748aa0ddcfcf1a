"""What a calibration run leaves in its folder. An earlier run's results go first: after a refusal there are none."""

from __future__ import annotations

from pathlib import Path

from client.calibration.artefact import FILE_NAME, artefact_bytes
from client.calibration.page import page
from client.calibration.result import Result, result_bytes
from client.errors import Refused

PAGE_NAME, REPORT_NAME = "calibration.html", "calibration-report.json"


def clear(out: Path) -> None:
    """Makes the folder if need be. A journal stays: the run goes on where that ends. Raises Refused."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name in (FILE_NAME, PAGE_NAME, REPORT_NAME):
            (out / name).unlink(missing_ok=True)
    except OSError as error:
        raise Refused(f"--out {out}: {error.strerror}. Remedy: name a folder that can be written") from error


def write(out: Path, result: Result) -> None:
    (out / REPORT_NAME).write_bytes(result_bytes(result))
    (out / PAGE_NAME).write_text(page(result), encoding="utf-8")
    if result.artefact is not None:
        (out / FILE_NAME).write_bytes(artefact_bytes(result.artefact))
