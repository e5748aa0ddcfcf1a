"""Which commit a build's source is of, as git says at synth: a build on AWS gets a zip without history.

It is recorded beside what is built and shapes nothing: the same files of another commit are the same build.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class SourceCommit:
    """The last commit that touched the source. changed: what is built differs from what was committed."""

    commit: str
    changed: bool


def source_commit(root: Path, *pathspecs: str) -> SourceCommit | None:
    """Of what git's `pathspecs` below `root` name. None where git cannot say it: nothing is made up."""
    commit = _git(root, "log", "-1", "--format=%H", "--", *pathspecs)
    changes = _git(root, "status", "--porcelain", "--", *pathspecs)
    return SourceCommit(commit=commit, changed=changes != "") if commit and changes is not None else None


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            # Only reads: beside another git process it must take no lock.
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
