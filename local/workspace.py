"""Where things are: the checkout that is deployed, the tools that deploy it, the files of one emulator."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


class WorkspaceError(Exception):
    """Something is not set up; the text says what and how to mend it."""


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """root: the app that is deployed, usually this checkout. name: tells the emulators of one checkout apart.
    environment: of the app's, in cdk.json.
    """

    root: Path
    name: str
    environment: str = "local"
    tools: Path = CHECKOUT

    def __post_init__(self) -> None:
        # The name becomes a folder that is removed with all it holds: it must not lead anywhere else.
        if NAME.fullmatch(self.name) is None:
            raise WorkspaceError(
                f"the emulator's name is {self.name!r}; 1 to 40 letters (a-z, A-Z), digits, '-' and '_' are allowed"
            )

    @property
    def cache(self) -> Path:
        return self.tools / ".cache"

    @property
    def state(self) -> Path:
        """Holds nothing that outlives the emulator."""
        return self.cache / "local" / "emulators" / self.name

    @property
    def logs(self) -> Path:
        return self.state / "logs"

    @property
    def emulator_python(self) -> Path:
        return self.tools / ".venv-emulator" / "bin" / "python"

    @property
    def cdk(self) -> Path:
        return self.node_modules / ".bin" / "cdk"

    @property
    def node_modules(self) -> Path:
        return self.tools / "node_modules"

    @property
    def environment_bin(self) -> Path:
        return self.tools / ".venv" / "bin"

    @property
    def tool_path(self) -> tuple[Path, ...]:
        """What a build finds first: our docker, then a Python that has what the build image has."""
        return (self.tools / "local" / "bin", self.environment_bin)

    def check(self) -> None:
        """Raises WorkspaceError naming what is missing."""
        for path in (self.emulator_python, self.cdk, self.environment_bin / "python"):
            if not path.exists():
                raise WorkspaceError(f"{path} is missing. Remedy: run `make setup` in {self.tools}")
        if not (self.root / "cdk.json").is_file():
            raise WorkspaceError(
                f"no CDK app in {self.root}: it has no cdk.json. Remedy: --root with the folder of one, or leave it out"
            )
