"""Large blocks go back to the operating system when they are freed, where the C library is glibc.

glibc maps a block of its own for what is large, and calls more and more large: each freed block raises its limit, up to
32 MiB. Copies of prefixes then come from the heap, where those of other sizes leave holes: 22 MB at the peak of 40
decisions over states of 20 to 600 words, with SmolLM2 and eight prefixes kept. A fixed limit ends that.
"""

from __future__ import annotations

import ctypes

LARGE_BYTES = 1 << 20
_M_MMAP_THRESHOLD = -3  # malloc.h


def give_back_large_blocks() -> bool:
    """For the whole process. False, and nothing changed, where the C library has no such setting."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # musl, macOS
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES))
