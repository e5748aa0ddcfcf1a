"""Which SageMaker instance types there are for which container target. Closed lists: any other type is refused.

A test holds them against AWS's own description of the API, which synth does without.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

Processor = Literal["cpu", "cuda"]

# x86-64 only: both images are linux/amd64, so Graviton families (c7g, m7g, r7g …) would never start them.
_CPU_SIZES: Mapping[str, str] = {
    "c4": "large xlarge 2xlarge 4xlarge 8xlarge",
    **dict.fromkeys(("c5", "c5d"), "large xlarge 2xlarge 4xlarge 9xlarge 18xlarge"),
    **dict.fromkeys(
        ("c6i", "c6in", "m6i", "r6i"), "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 32xlarge"
    ),
    **dict.fromkeys(("c7i", "m7i", "r7i"), "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge"),
    "m4": "xlarge 2xlarge 4xlarge 10xlarge 16xlarge",
    **dict.fromkeys(("m5", "m5d", "r5", "r5d"), "large xlarge 2xlarge 4xlarge 12xlarge 24xlarge"),
    "t2": "medium large xlarge 2xlarge",
}
# NVIDIA GPUs that CUDA 13 supports (Turing and later): p2 and p3 are too old for it.
_GPU_SIZES: Mapping[str, str] = {
    "g4dn": "xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
    **dict.fromkeys(("g5", "g6", "g6e"), "xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge"),
    **dict.fromkeys(("g7", "g7e"), "2xlarge 4xlarge 8xlarge 12xlarge 24xlarge 48xlarge"),
    **dict.fromkeys(("p4d", "p4de"), "24xlarge"),
    "p5": "4xlarge 48xlarge",
    **dict.fromkeys(("p5e", "p5en", "p6-b200", "p6-b300"), "48xlarge"),
}
SIZES = {family: tuple(sizes.split()) for family, sizes in {**_CPU_SIZES, **_GPU_SIZES}.items()}
CPU_FAMILIES = frozenset(_CPU_SIZES)
GPU_FAMILIES = frozenset(_GPU_SIZES)
# Those of both that Batch Transform has too.
BULK_FAMILIES = frozenset({"c4", "c5", "c6i", "c7i", "g4dn", "g5", "g6", "g6e", "m4", "m5", "m6i", "m7i", "r6i", "r7i"})
# And of those families the types that it has not.
NOT_FOR_BULK = frozenset({"ml.c4.large", "ml.c5.large"})
# Their processors are lent for bursts. Application Auto Scaling takes none of them.
BURSTABLE_FAMILIES = frozenset({"t2"})
# Their storage is local NVMe, encrypted by the hardware: SageMaker refuses a volume key with them.
LOCAL_NVME_FAMILIES = frozenset({"c5d", "m5d", "r5d"}) | GPU_FAMILIES

_TYPE = re.compile(r"ml\.([a-z][a-z0-9-]*)\.(medium|large|(?:[1-9][0-9]?)?xlarge)")
# Where it is not four for each x of the size.
_VCPUS = {"ml.t2.medium": 2, "ml.t2.large": 2, "ml.t2.xlarge": 4, "ml.t2.2xlarge": 8, "ml.c4.8xlarge": 36}


def family_of(instance_type: str) -> str | None:
    """`c6i` for `ml.c6i.2xlarge`; None for what is no instance type."""
    match = _TYPE.fullmatch(instance_type)
    return match.group(1) if match else None


def processor_of(instance_type: str) -> Processor | None:
    """The container target that fits `instance_type` (as `ml.c6i.2xlarge`), or None for a type we cannot serve on."""
    match = _TYPE.fullmatch(instance_type)
    if match is None or match.group(2) not in SIZES.get(match.group(1), ()):
        return None
    return "cpu" if match.group(1) in CPU_FAMILIES else "cuda"


def vcpus_of(instance_type: str) -> int:
    """Of one of the types above."""
    if instance_type in _VCPUS:
        return _VCPUS[instance_type]
    size = instance_type.rpartition(".")[2].removesuffix("large")
    return 2 if size == "" else 4 * int(size.removesuffix("x") or 1)
