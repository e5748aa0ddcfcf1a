"""Which SageMaker instance types can run which container target. Closed lists: any other type is refused."""

from __future__ import annotations

import re
from typing import Literal

Processor = Literal["cpu", "cuda"]

# x86-64 only: both images are linux/amd64, so Graviton families (c7g, m7g, r7g …) would never start them.
CPU_FAMILIES = frozenset(
    {"c4", "c5", "c5d", "c5n", "c6a", "c6i", "c6id", "c6in", "c7a", "c7i", "c8i", "m4", "m5", "m5d", "m6a", "m6i"}
    | {"m6id", "m7a", "m7i", "m8i", "r5", "r5d", "r6i", "r6id", "r7i", "r8i", "t2"}
)
# NVIDIA GPUs that CUDA 13 supports (Turing and later): p2 and p3 are too old for it.
GPU_FAMILIES = frozenset(
    {"g4dn", "g5", "g6", "g6e", "gr6", "g7", "g7e", "p4d", "p4de", "p5", "p5e", "p5en", "p6-b200", "p6-b300"}
)

_TYPE = re.compile(r"ml\.([a-z][a-z0-9-]*)\.(?:medium|large|(?:[1-9][0-9]?)?xlarge|metal)")


def processor_of(instance_type: str) -> Processor | None:
    """The container target that fits `instance_type` (as `ml.c6i.2xlarge`), or None for a type we cannot serve on."""
    match = _TYPE.fullmatch(instance_type)
    if match is None:
        return None
    family = match.group(1)
    if family in CPU_FAMILIES:
        return "cpu"
    return "cuda" if family in GPU_FAMILIES else None
