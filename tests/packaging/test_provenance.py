"""Who built an archive with which code stands beside it; what the archive is stands in it and is the same for all."""

from __future__ import annotations

import hashlib
import json
import os
import pwd
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.packaging.conftest import ROOT, Declare, run_cli


def _built(declare: Declare, output: Path, **environment: str) -> tuple[dict[str, Any], dict[str, Any]]:
    answer = run_cli("build", declare(), "--output", output, environment=environment).json
    facts: dict[str, Any] = json.loads((output / "provenance.json").read_text())
    return answer, facts


def test_the_facts_of_a_build_lie_beside_its_archive(declare: Declare, tmp_path: Path) -> None:
    answer, facts = _built(declare, tmp_path / "out")
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert facts["archive_sha256"] == answer["sha256"]
    declaration = (tmp_path / "tiny.toml").read_bytes()
    assert facts["declaration"] == {"file": "tiny.toml", "sha256": hashlib.sha256(declaration).hexdigest()}
    assert facts["source"]["commit"] == (commit.stdout.strip() or None)
    assert set(facts["source"]) == ({"commit", "changed"} if commit.stdout else {"commit"})
    assert facts["builder"]["kind"] == "person"
    assert facts["builder"]["user"] in {os.environ.get("USER"), pwd.getpwuid(os.getuid()).pw_name} | {
        os.environ.get(name) for name in ("LOGNAME", "LNAME", "USERNAME")
    }
    assert len(facts["packaging_sha256"]) == 64
    assert datetime.fromisoformat(facts["finished"]).utcoffset() is not None
    assert str(tmp_path) not in json.dumps(facts)


def test_another_builder_gives_the_same_archive_and_another_provenance(declare: Declare, tmp_path: Path) -> None:
    arn = "arn:aws:codebuild:eu-west-1:123456789012:build/model:1"
    here, ours = _built(declare, tmp_path / "a")
    there, theirs = _built(declare, tmp_path / "b", CODEBUILD_BUILD_ARN=arn)
    assert (tmp_path / "a/model.tar.gz").read_bytes() == (tmp_path / "b/model.tar.gz").read_bytes()
    assert here["manifest"] == there["manifest"]
    assert theirs["builder"] == {"kind": "codebuild", "build": arn}
    assert theirs["packaging_sha256"] == ours["packaging_sha256"]


@pytest.mark.parametrize(
    ("told", "source"),
    [
        ({"SOURCE_COMMIT": "c0" * 20, "SOURCE_CHANGED": "true"}, {"commit": "c0" * 20, "changed": True}),
        ({"CODEBUILD_RESOLVED_SOURCE_VERSION": "c0" * 20}, {"commit": "c0" * 20, "changed": False}),
        # Of a source in S3: a version of the object.
        ({"CODEBUILD_RESOLVED_SOURCE_VERSION": "3HL4kqtJvjVBH40Nrjfkd"}, {"commit": None}),
        ({}, {"commit": None}),
    ],
)
def test_a_build_on_codebuild_records_the_commit_that_it_was_told_and_makes_none_up(
    declare: Declare, tmp_path: Path, told: dict[str, str], source: dict[str, object]
) -> None:
    _, facts = _built(declare, tmp_path / "out", CODEBUILD_BUILD_ARN="arn:aws:codebuild:x", **told)
    assert facts["source"] == source


def test_what_is_no_commit_ends_a_build_on_codebuild(declare: Declare, tmp_path: Path) -> None:
    told = {"CODEBUILD_BUILD_ARN": "arn:aws:codebuild:x", "SOURCE_COMMIT": "main", "SOURCE_CHANGED": "false"}
    ran = run_cli("build", declare(), "--output", tmp_path / "out", environment=told)
    assert (ran.status, "SOURCE_COMMIT: 'main' given" in ran.err) == (2, True), ran.err


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (json.dumps({"archive_sha256": "0" * 64}), f"is of archive {'0' * 64}, not of"),
        ("{}", "no provenance: archive_sha256 is missing"),
        ("[", "no provenance: "),
    ],
)
def test_the_provenance_of_another_archive_is_not_published(
    declare: Declare, tmp_path: Path, content: str, expected: str
) -> None:
    _built(declare, tmp_path / "out")
    (tmp_path / "out" / "provenance.json").write_text(content)
    keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
    ran = run_cli("publish", tmp_path / "out/model.tar.gz", "--bucket", "b", environment=keys)
    assert (ran.status, expected in ran.error) == (2, True), ran.err


def test_an_assumed_licence_is_said_recorded_and_never_lost(declare: Declare, tmp_path: Path) -> None:
    ran = run_cli("build", declare(licence_assumed=True), "--output", tmp_path / "out")
    assert "licence: apache-2.0 is assumed: nobody has read it at the source" in ran.err
    assert (ran.json["manifest"]["licence"], ran.json["manifest"]["licence_assumed"]) == ("apache-2.0", True)
    assert run_cli("verify", tmp_path / "out/model.tar.gz").json["manifest"] == ran.json["manifest"]
    read = run_cli("build", declare(), "--output", tmp_path / "read")
    assert "licence" not in read.err
    assert "licence_assumed" not in read.json["manifest"]
