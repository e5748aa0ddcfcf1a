"""What a calibration run leaves in its folder. An earlier run's results go first: after a refusal there are none."""

from __future__ import annotations

from pathlib import Path

from client.calibration.artefact import FILE_NAME, artefact_bytes
from client.calibration.page import page
from client.calibration.result import Result, result_bytes
from client.errors import Refused
from client.evaluation.whole_file import write_whole

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
    """Raises JobFailed."""
    write_whole(out / REPORT_NAME, result_bytes(result))
    write_whole(out / PAGE_NAME, page(result).encode("utf-8"))
    if result.artefact is not None:
        write_whole(out / FILE_NAME, artefact_bytes(result.artefact))
