"""Turns the context (cdk.json, `-c env=NAME`) into settings, and settings into stacks. Knows nothing else."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent


def use_an_environment_with_the_cdk() -> None:
    """Go on in the environment that `make setup` made, unless the interpreter that runs this has the CDK already.

    cdk.json says `python3 app.py`: an activated environment of the reader's own wins, and a plain
    `node_modules/.bin/cdk synth` after `make setup` works without activating anything.
    """
    if importlib.util.find_spec("aws_cdk") is not None:
        return
    own = ROOT / ".venv" / "bin" / "python"
    if not own.exists() or Path(sys.prefix) == own.parent.parent:
        sys.exit(
            f"app.py: {sys.executable} has no aws-cdk-lib. Remedy: run `make setup` once, or activate an environment "
            "with `pip install --require-hashes -r requirements.txt`."
        )
    os.execv(own, [str(own), str(Path(__file__).resolve()), *sys.argv[1:]])


def main() -> None:
    # jsii prints a box about Node 20's end of life on every run; the project supports Node 20 and later.
    os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")
    import aws_cdk as cdk

    from stacks.application import add_stacks
    from stacks.settings.environment import environment_from_context
    from stacks.settings.fields import SettingsError

    app = cdk.App()
    try:
        settings = environment_from_context(
            name=app.node.try_get_context("env"), environments=app.node.try_get_context("environments"), root=ROOT
        )
    except SettingsError as error:
        sys.exit(f"app.py: {error}")
    add_stacks(app, settings=settings, root=ROOT)
    app.synth()


if __name__ == "__main__":
    use_an_environment_with_the_cdk()
    main()
