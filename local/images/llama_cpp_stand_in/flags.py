"""What AWS's entry point makes of SM_LLAMA_CPP_* variables: the model's file, and flags for the server.

SM_LLAMA_CPP_FOO_BAR=value is --foo-bar value; `true` stands for the bare flag, `false` leaves it out. Pure but for the
look for a model. Standard library alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

PREFIX = "SM_LLAMA_CPP_"
MODEL_FOLDER = "/opt/ml/model"
OWN = ("MODEL", "MODEL_DIR", "PORT")  # read by the entry point itself
# Of llama-server's flags those that this stand-in follows, and those that change nothing on this machine.
NUMBERS = ("ctx-size", "threads", "threads-batch", "batch-size", "ubatch-size", "n-predict")
WITHOUT_EFFECT = ("n-gpu-layers", "parallel", "reasoning-budget", "cache-type-k", "cache-type-v", "flash-attn", "alias")


class StartError(Exception):
    """The server cannot start; the text is its last line in the log."""


def flags(environment: Mapping[str, str]) -> dict[str, str]:
    """By name without dashes in front; a bare flag has an empty value. Raises StartError for one that is unknown."""
    found: dict[str, str] = {}
    for name, value in sorted(environment.items()):
        key = name.removeprefix(PREFIX)
        if not name.startswith(PREFIX) or key in OWN or value.lower() == "false":
            continue
        found[key.lower().replace("_", "-")] = "" if value.lower() == "true" else value
    for flag, value in found.items():
        if flag in ("hf-repo", "hf-file"):
            raise StartError(f"--{flag} {value}: the emulator's stand-in downloads no model; give it an archive")
        if flag not in (*NUMBERS, *WITHOUT_EFFECT):
            raise StartError(f"error: invalid argument: --{flag}")
        if flag in NUMBERS and not value.removeprefix("-").isdigit():
            raise StartError(f'error while handling argument "--{flag}": {value!r} is no number')
    return found


def model(environment: Mapping[str, str], *, mounted: Path) -> Path:
    """The GGUF to serve. mounted: what /opt/ml/model is on this machine. Raises StartError where there is none."""
    if explicit := environment.get(f"{PREFIX}MODEL"):
        return _here(explicit, mounted)
    folder = _here(environment.get(f"{PREFIX}MODEL_DIR", MODEL_FOLDER), mounted)
    found = [*sorted(folder.glob("*.gguf")), *sorted(folder.glob("*/*.gguf"))]
    if not found:
        raise StartError(f"no *.gguf found under {folder}; set {PREFIX}MODEL or give an archive that holds one")
    return found[0]


def _here(path: str, mounted: Path) -> Path:
    given = Path(path)
    return mounted / given.relative_to(MODEL_FOLDER) if given.is_relative_to(MODEL_FOLDER) else given
