"""What docs/image.md says of size and start is what the last kept run of the command says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks import image
from benchmarks.image_table import sentence, table
from local.workspace import CHECKOUT

PAGE = (CHECKOUT / "docs/image.md").read_text()


def kept() -> dict[str, Any]:
    return dict(json.loads(image.RESULT.read_text()))


def test_the_page_has_the_kept_runs_table_and_its_sentence() -> None:
    assert table(kept()) in PAGE
    assert sentence(kept()) in PAGE


def test_the_kept_run_had_as_many_rounds_as_the_command_makes_by_default() -> None:
    document = kept()
    assert (document["rounds"], len(document["ready_ratio_of_each_round"])) == (image.ROUNDS, image.ROUNDS)


def test_the_table_has_sizes_in_millions_of_bytes_and_of_times_the_ratios_alone() -> None:
    document = {
        "bytes_of_base": 53_000_000,
        "bytes_of_files": {"ours": 84_400_000, "with": 268_000_000},
        "bytes_added": {"ours": 27_000_000, "with": 86_000_000},
        "ours_over_with_transformers": {
            "files": 0.315, "added": 0.314, "image": 0.5755, "ready": 0.67, "first_answer": 0.68,
        },
    }  # fmt: skip
    assert table(document).splitlines()[2:] == [
        "| files that we add to the base | 84 MB | 268 MB | 0.32 |",
        "| the same in a registry, compressed | 27 MB | 86 MB | 0.31 |",
        "| whole image in a registry, on the stand-in for the base (53 MB) | 80 MB | 139 MB | 0.58 |",
        "| until ready | | | 0.67 |",
        "| until the first answer | | | 0.68 |",
    ]


def test_a_result_that_could_not_be_written_is_refused_before_anything_is_built(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        image.main(["--output", "/nowhere/image.json"])
    assert "--output /nowhere/image.json: no such folder as /nowhere" in capsys.readouterr().err
