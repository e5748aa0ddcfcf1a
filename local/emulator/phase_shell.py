"""Turns the commands of one phase into a shell script that behaves as CodeBuild's agent does.

Version 0.2 runs all commands in one shell: exported variables and the working folder reach the next command and the
next phase. A command that fails ends the phase. `exit` inside a command ends the phase too, and what was exported
until then stays.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path


def script(commands: Sequence[str], *, succeeding: bool, state: Path, failed_command: Path) -> str:
    """state: a file that carries the variables and the folder from phase to phase. failed_command: gets the one that
    failed.
    """
    lines = [
        # `export -p` prints in a form the same shell reads back.
        f"if [ -f {_q(state)} ]; then . {_q(state)}; fi",
        f"export CODEBUILD_BUILD_SUCCEEDING={int(succeeding)}",
        f"trap {_q(_keep(state))} EXIT",
    ]
    for number, command in enumerate(commands):
        lines += [
            f"printf '%s' {_q(command)} > {_q(failed_command)}",
            f"printf '[Container] Running command %s\\n' {_q(command.strip())}",
            f"eval {_q(command)}",
            # As eval's own status; `set -e` would also change what a command's own tests do.
            f"__status=$?; if [ $__status -ne 0 ]; then exit $__status; fi # command {number + 1}",
        ]
    lines += [f"rm -f {_q(failed_command)}"]
    return "\n".join(lines) + "\n"


def _keep(state: Path) -> str:
    """The folder is kept in a variable of its own, so that `export -p` quotes it."""
    return (
        f"__status=$?; __CODEBUILD_FOLDER=$(pwd); export __CODEBUILD_FOLDER; {{ export -p; "
        f"echo 'cd \"$__CODEBUILD_FOLDER\" && unset __CODEBUILD_FOLDER'; }} > {_q(state)}; exit $__status"
    )


def _q(text: str | Path) -> str:
    return shlex.quote(str(text))
