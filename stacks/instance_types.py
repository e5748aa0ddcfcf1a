"""Which SageMaker instance types can run which container target. Closed lists: any other type is refused."""

from __future__ import annotations

import re
from typing import Literal

Processor = Literal["cpu", "cuda"]

# x86-64 only: both images are linux/amd64, so Graviton families (c7g, m7g, r7g …) would never start them.
CPU_FAMILIES = frozenset(
    {"c4", "c5", "c5d", "c6i", "c6in", "c7i", "m4", "m5", "m5d", "m6i", "m7i", "r5", "r5d", "r6i", "r7i", "t2"}
)
# NVIDIA GPUs that CUDA 13 supports (Turing and later): p2 and p3 are too old for it.
GPU_FAMILIES = frozenset(
    {"g4dn", "g5", "g6", "g6e", "g7", "g7e", "p4d", "p4de", "p5", "p5e", "p5en", "p6-b200", "p6-b300"}
)
# Those of both that Batch Transform has too.
BULK_FAMILIES = frozenset({"c4", "c5", "c6i", "c7i", "g4dn", "g5", "g6", "g6e", "m4", "m5", "m6i", "m7i", "r6i", "r7i"})
# Their storage is local NVMe, encrypted by the hardware: SageMaker refuses a volume key with them.
LOCAL_NVME_FAMILIES = frozenset({"c5d", "m5d", "r5d"}) | GPU_FAMILIES

_TYPE = re.compile(r"ml\.([a-z][a-z0-9-]*)\.(?:medium|large|(?:[1-9][0-9]?)?xlarge)")


def family_of(instance_type: str) -> str | None:
    """`c6i` for `ml.c6i.2xlarge`; None for what is no instance type."""
    match = _TYPE.fullmatch(instance_type)
    return match.group(1) if match else None


def processor_of(instance_type: str) -> Processor | None:
    """The container target that fits `instance_type` (as `ml.c6i.2xlarge`), or None for a type we cannot serve on."""
    family = family_of(instance_type)
    if family in CPU_FAMILIES:
        return "cpu"
    return "cuda" if family in GPU_FAMILIES else None
