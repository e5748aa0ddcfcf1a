"""Who built an archive, from what, with which code and when: facts that differ from build to build.

They lie beside the archive, not in it: the same declaration gives the same archive, whoever builds it and whenever
(docs/decisions/0015). What is the same for everybody stands in the manifest.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import platform
import re
import subprocess
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .errors import PackagingError
from .fields import SHA256

PROVENANCE_NAME = "provenance.json"
_PACKAGE = Path(__file__).resolve().parent
_MOST_BYTES = 1 << 16
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def write_provenance(path: Path, declaration: Path, archive_sha256: str) -> None:
    """Writes the facts of a build that has just ended, in this process."""
    facts = {
        "provenance_version": 1,
        "archive_sha256": archive_sha256,
        "declaration": {"file": declaration.name, "sha256": hashlib.sha256(declaration.read_bytes()).hexdigest()},
        "builder": _builder(os.environ),
        "source": _commit(os.environ),
        "packaging_sha256": _own_code(),
        "python": platform.python_version(),
        "finished": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }
    path.write_text(json.dumps(facts, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def read_provenance(folder: Path, archive_sha256: str) -> dict[str, Any] | None:
    """What lies in `folder`; None where there is nothing, as for an archive from elsewhere.

    Raises PackagingError for the provenance of another archive.
    """
    path = folder / PROVENANCE_NAME
    if not path.is_file():
        return None
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ValueError(f"{path.stat().st_size} bytes; {_MOST_BYTES} allowed")
        facts = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(facts, dict) or not SHA256.fullmatch(str(facts.get("archive_sha256"))):
            raise ValueError("archive_sha256 is missing")
    except (OSError, ValueError, RecursionError) as error:
        raise PackagingError(f"{path}: no provenance: {error}; remove it or build again") from error
    if facts["archive_sha256"] != archive_sha256:
        raise PackagingError(f"{path}: is of archive {facts['archive_sha256']}, not of {archive_sha256}; remove it")
    return facts


def _builder(environment: Mapping[str, str]) -> dict[str, str]:
    arn = environment.get("CODEBUILD_BUILD_ARN")
    if arn:
        return {"kind": "codebuild", "build": arn}
    try:
        return {"kind": "person", "user": getpass.getuser()}
    except (KeyError, OSError):  # a user id without a name
        return {"kind": "person", "user": str(os.getuid())}


def _commit(environment: Mapping[str, str]) -> dict[str, object]:
    """changed: not all of the package is as committed. On CodeBuild, whose source has no history, the commit is what
    git said when the build was asked for (SOURCE_COMMIT), or what CodeBuild itself checked out; else that of the
    working tree that holds this code. commit None: nobody knows it."""
    if "CODEBUILD_BUILD_ARN" in environment:
        given = environment.get("SOURCE_COMMIT")
        if given is not None:
            if not _COMMIT.fullmatch(given) or (changed := environment.get("SOURCE_CHANGED")) not in ("true", "false"):
                raise PackagingError(
                    f"SOURCE_COMMIT: {given!r} given; a commit, and SOURCE_CHANGED true or false, needed"
                )
            return {"commit": given, "changed": changed == "true"}
        resolved = environment.get("CODEBUILD_RESOLVED_SOURCE_VERSION", "")
        # Of a source in S3 it is a version of the object.
        return {"commit": resolved, "changed": False} if _COMMIT.fullmatch(resolved) else {"commit": None}
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return {"commit": None}
    return {"commit": commit, "changed": _git("status", "--porcelain", "--", str(_PACKAGE)) != ""}


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(_PACKAGE), *arguments], capture_output=True, text=True, check=False, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _own_code() -> str:
    """Over the names and bytes of this package's modules: which code it was, with or without a commit."""
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.glob("*.py")):
        digest.update(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n".encode())
    return digest.hexdigest()
