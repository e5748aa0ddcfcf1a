"""The process that calls llama.cpp's quantizer.

`python -m model_packaging.quantize_worker FROM TO FILE_TYPE THREADS [IMATRIX]`. A process of its own, since native code
that meets a bad file may abort: then this process dies and not the build. It writes `step N TOTAL` for each tensor to
standard output, warnings and errors to standard error. Status 1: it failed.
"""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path
from typing import Any

import llama_cpp

from .imatrix import read_imatrix

_WARN, _ERROR, _CONTINUE = 3, 4, 5
_STEP = re.compile(r"\[\s*(\d+)/\s*(\d+)\]")


def main(source: str, target: str, file_type: str, threads: str, imatrix: str | None = None) -> int:
    level_of_line = 0

    def on_log(level: int, text: bytes, _user: object) -> None:
        nonlocal level_of_line
        level_of_line = level_of_line if level == _CONTINUE else level
        words = text.decode(errors="replace")
        if level_of_line in {_WARN, _ERROR}:
            sys.stderr.write(words)
        elif match := _STEP.match(words):
            print("step", match[1], match[2], flush=True)

    callback = llama_cpp.llama_log_callback(on_log)  # this reference keeps it alive while llama.cpp may call it
    llama_cpp.llama_log_set(callback, ctypes.c_void_p(0))
    parameters = llama_cpp.llama_model_quantize_default_params()
    parameters.ftype = int(file_type)
    parameters.nthread = int(threads)
    parameters.allow_requantize = True
    matrices, _kept = _matrices(imatrix)
    if matrices is not None:
        parameters.imatrix = matrices
    status = llama_cpp.llama_model_quantize(source.encode(), target.encode(), ctypes.byref(parameters))
    return 0 if status == 0 else 1


def _matrices(path: str | None) -> tuple[Any, object]:
    """What the quantizer takes, and what must live as long: an array that ends with an entry without a name."""
    if path is None:
        return None, None
    means = read_imatrix(Path(path)).means
    entries = (llama_cpp.llama_model_imatrix_data * (len(means) + 1))()
    kept = []
    for entry, (name, values) in zip(entries, sorted(means.items()), strict=False):
        numbers = (ctypes.c_float * len(values)).from_buffer(values)
        kept.append(numbers)
        entry.name, entry.size = name.encode(), len(values)
        entry.data = ctypes.cast(numbers, ctypes.POINTER(ctypes.c_float))
    return entries, kept


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
