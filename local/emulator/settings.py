"""What the emulator process is told at its start. Everything below it gets these values, nothing else reads the
environment.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class EmulatorSettings:
    """Where the emulator listens, keeps its files and finds the tools of a build.

    state: folder of this emulator alone; it holds logs, endpoints and builds and may be removed when the process ended.
    cache: folder that outlives it: images' environments, wheels.
    tool_path: folders put first on a build's PATH, in this order.
    node_modules: what Lambda's Node.js brings beside a function's own code: the SDK.
    enforce_iam: whether requests are checked against the policies of who signs them.
    runner: `module:function` that turns an image into a command (see `containers.RunnableImage`).
    """

    port: int
    state: Path
    cache: Path
    tool_path: tuple[Path, ...]
    node_modules: Path
    runner: str
    enforce_iam: bool
    region: str = "us-east-1"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def logs(self) -> Path:
        return self.state / "logs"
