"""Loads llama.cpp through its binding and proves that the two fit, before anything is computed (F1).

The binding finds the library by its own variable LLAMA_CPP_LIB_PATH (the AWS images set it), else in its own folder. A
library of another version would take the binding's structures for its own and fail far from here, so the defaults that
it reports are compared first. Libraries with dynamic backends hold no CPU code until the backends are loaded.
"""

from __future__ import annotations

import ctypes
import logging
import os
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module, metadata, util
from pathlib import Path
from typing import Any

from decision_server.engine import structures
from decision_server.model_errors import StartupFailure

_own_log = logging.getLogger(__name__)
_log = logging.getLogger("llama.cpp")  # what the library itself says
# ggml.h's levels. What llama.cpp reports at every load is detail to a server; its own details (2,300 lines a load) and
# continued lines are left out.
_LEVELS = {2: logging.DEBUG, 3: logging.WARNING, 4: logging.ERROR}


@dataclass(frozen=True, kw_only=True)
class Library:
    """api: the binding's module. folder: where every native file comes from. version: of the binding.

    backends: llama.cpp's names of them. files: names of the loaded ones, by which the kind of processor shows.
    """

    api: Any
    folder: Path
    version: str
    backends: tuple[str, ...]
    files: tuple[str, ...]

    @property
    def words(self) -> str:
        return (
            f"llama.cpp in {self.folder} fits llama-cpp-python {self.version}; "
            f"backends {', '.join(self.backends)}; loaded {', '.join(self.files)}"
        )


@lru_cache(maxsize=1)
def load() -> Library:
    """Once a process. Raises StartupFailure with one line that names the folder, or the binding and the folder."""
    began = time.perf_counter()
    folder = _folder()
    version = metadata.version("llama-cpp-python")
    # libgomp reads these once, when llama.cpp brings it in; docs/decisions/0007. Threads that spin for as long as they
    # like wait for a thread that has no core; threads that sleep at once are woken hundreds of times a decode.
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    try:
        api = _binding()
    except FileNotFoundError:
        raise StartupFailure(
            f"no libllama in {folder}; LLAMA_CPP_LIB_PATH must name the folder that holds it"
        ) from None
    except (AttributeError, OSError, RuntimeError) as error:
        raise StartupFailure(_mismatch(folder, version, str(error))) from error
    imported = time.perf_counter()
    difference = structures.difference(api)
    if difference is not None:
        raise StartupFailure(_mismatch(folder, version, difference))
    api.llama_log_set(_log_callback(api), ctypes.c_void_p(0))
    backends = _load_backends(api, folder)
    api.llama_backend_init()
    found = Library(api=api, folder=folder, version=version, backends=backends, files=_check_one_folder(folder))
    ended = time.perf_counter()
    _own_log.info(
        "%s; imported in %.0f ms, checked in %.1f ms", found.words, 1e3 * (imported - began), 1e3 * (ended - imported)
    )
    return found


def _binding() -> Any:
    """The module of plain functions alone. Its package would import templates, tokenizers and a disk cache with it,
    which nothing here uses: a third of the time to import all that this server needs.
    """
    if "llama_cpp" not in sys.modules:
        package = util.find_spec("llama_cpp")
        if package is not None:
            sys.modules["llama_cpp"] = util.module_from_spec(package)  # not executed
    return import_module("llama_cpp.llama_cpp")


def _folder() -> Path:
    override = os.environ.get("LLAMA_CPP_LIB_PATH")  # the binding's own variable, read as the binding reads it
    if override is not None:
        return Path(override)
    package = util.find_spec("llama_cpp")
    if package is None or package.origin is None:
        raise StartupFailure("the package llama-cpp-python is not installed")
    return Path(package.origin).parent / "lib"


def _mismatch(folder: Path, version: str, detail: str) -> str:
    return f"the llama.cpp library in {folder} does not fit llama-cpp-python {version}: {detail}"


@lru_cache(maxsize=1)
def _log_callback(api: Any) -> Any:
    """Kept for the life of the process: the library calls it after everything else is gone."""

    def forward(level: int, text: bytes, _user_data: object) -> None:
        if level in _LEVELS:
            _log.log(_LEVELS[level], "%s", text.decode(errors="replace").rstrip())

    return api.llama_log_callback(forward)


def _load_backends(api: Any, folder: Path) -> tuple[str, ...]:
    """The names of those that are registered then."""
    lib = api._lib  # libllama's handle also finds the symbols of the libggml files that it is linked to
    by_type = lib["ggml_backend_dev_by_type"]
    by_type.argtypes, by_type.restype = [ctypes.c_int], ctypes.c_void_p
    count = lib["ggml_backend_reg_count"]
    count.argtypes, count.restype = [], ctypes.c_size_t
    if count() == 0:
        load_all = lib["ggml_backend_load_all_from_path"]
        load_all.argtypes, load_all.restype = [ctypes.c_char_p], None
        load_all(os.fsencode(folder))
    if not by_type(0):  # GGML_BACKEND_DEVICE_TYPE_CPU
        raise StartupFailure(
            f"the folder {folder} holds no ggml CPU backend (libggml-cpu*.so) that this machine can run"
        )
    get, name = lib["ggml_backend_reg_get"], lib["ggml_backend_reg_name"]
    get.argtypes, get.restype = [ctypes.c_size_t], ctypes.c_void_p
    name.argtypes, name.restype = [ctypes.c_void_p], ctypes.c_char_p
    return tuple(name(get(place)).decode() for place in range(count()))


def _check_one_folder(folder: Path) -> tuple[str, ...]:
    """The names of the loaded files; none where the system does not list them."""
    if platform.system() != "Linux":
        return ()
    loaded = set(_mapped())
    strangers = sorted(str(path) for path in loaded if path.parent != folder.resolve())
    if strangers:
        raise StartupFailure(f"llama.cpp files are loaded from beside {folder}: {', '.join(strangers)}")
    return tuple(sorted(path.name for path in loaded))


def _mapped() -> Iterator[Path]:
    for line in Path("/proc/self/maps").read_text().splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and Path(fields[5]).name.startswith(("libllama.", "libggml")):
            yield Path(fields[5])
