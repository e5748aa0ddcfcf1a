"""What one build is asked for: its source, its variables and the trigger, the hash of all that shapes the result.

Pure: knows no CDK, so that "this change rebuilds, that one does not" can be tested on values.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from stacks.source_commit import SourceCommit
from stacks.source_tree import SourceTree

# Part of every trigger: raise it when the meaning of a result changes, so that nothing older is taken for it.
_FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class BuildRequest:
    """`variables` shape the result and reach the build as environment variables (docs/interfaces.md section 3).

    commit: reaches the build, too, and shapes nothing.
    """

    kind: Literal["model", "image"]
    source: SourceTree
    variables: Mapping[str, str]
    commit: SourceCommit | None

    @property
    def trigger(self) -> str:
        """64 hex."""
        facts = {
            "format": _FORMAT,
            "kind": self.kind,
            "source": self.source.sha256(),
            "variables": dict(self.variables),
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
