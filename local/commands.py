"""The commands that do something: up, ask, down, demo. `demo` leaves nothing running, whatever happens."""

from __future__ import annotations

import os
from dataclasses import dataclass

from local import aws, cdk, diagnosis, emulator_process
from local.console import Console
from local.demo import ask_everything
from local.emulator_process import RunningEmulator
from local.images import modes
from local.inspection import left_behind, output
from local.ports import choose_port
from local.watch import watching
from local.workspace import Workspace

# What the demo asks. An environment may have more endpoints; each is a stack of the same name.
ENDPOINT = "scoring"


class CommandFailed(Exception):
    """Has been explained on the screen already."""


@dataclass(frozen=True, kw_only=True)
class Deployment:
    url: str
    endpoint: str


def stack_of(workspace: Workspace) -> str:
    return f"decision-{workspace.environment}-{ENDPOINT}"


def check(workspace: Workspace) -> None:
    """All that can be wrong before anything is started. A build reads the setting of the image mode much later, from
    the environment that the emulator was started with.
    """
    workspace.check()
    modes.choose(os.environ)


def up(workspace: Workspace, *, port: int | None, console: Console) -> Deployment:
    """Starts the emulator unless it runs, and deploys. A second time it is a deployment without changes."""
    check(workspace)
    emulator = _running(workspace, port, console)
    known = set(aws.client("codebuild", emulator.url).list_builds()["ids"])
    try:
        with watching(emulator.url, console.step):
            console.step("cdk bootstrap: what every CDK deployment needs in an account")
            cdk.bootstrap(workspace, emulator.url, say=console.step)
            console.step("cdk deploy --all: packages the model, builds the container, starts the endpoint")
            cdk.run(
                workspace,
                emulator.url,
                [
                    "deploy",
                    "--all",
                    "-c",
                    f"env={workspace.environment}",
                    "--require-approval",
                    "never",
                    "--progress",
                    "events",
                ],
                say=console.step,
            )
    except cdk.CdkFailed as error:
        _explain(error, workspace, emulator.url, known, console)
        raise CommandFailed from error
    endpoint = output(emulator.url, stack_of(workspace), "EndpointName")
    status = aws.client("sagemaker", emulator.url).describe_endpoint(EndpointName=endpoint)["EndpointStatus"]
    if status != "InService":
        console.plain(f"endpoint {endpoint} is {status}, not InService; logs: python -m local logs endpoints")
        raise CommandFailed
    console.step(f"endpoint {endpoint} is InService")
    return Deployment(url=emulator.url, endpoint=endpoint)


def _running(workspace: Workspace, port: int | None, console: Console) -> RunningEmulator:
    found = emulator_process.find(workspace)
    if found is not None:
        if port not in (None, found.port):
            raise emulator_process.EmulatorError(
                f"the emulator runs on port {found.port} already. Remedy: leave --port out, or take it down first"
            )
        if found.image_mode is not None and os.environ.get(modes.SETTING) not in (None, found.image_mode):
            raise emulator_process.EmulatorError(
                f"{modes.SETTING}={os.environ[modes.SETTING]} is asked for, and the emulator that runs was started to"
                f" build in mode {found.image_mode}. Remedy: leave it out, or take the emulator down first"
            )
        console.step(f"the emulator runs already at {found.url}")
        return found
    chosen, note = choose_port(port)
    if note:
        console.step(note)
    emulator = emulator_process.start(workspace, port=chosen)
    console.step(f"emulator started at {emulator.url}")
    return emulator


def _explain(error: cdk.CdkFailed, workspace: Workspace, url: str, known: set[str], console: Console) -> None:
    console.step(f"{error}. Why:")
    reasons = diagnosis.explain(url, known_builds=known)
    # Synthesis fails before any stack knows of it: then the command's own words are the reason.
    for line in reasons or [line for line in error.lines if line]:
        console.plain(f"    {line}")
    console.plain(f"    Everything cdk said: {workspace.logs / 'cdk.log'}")


def down(workspace: Workspace, *, console: Console) -> None:
    """Destroys the stacks, says what they leave behind, ends the emulator."""
    emulator = emulator_process.find(workspace)
    if emulator is None:
        console.step("no emulator runs; nothing to take down")
        emulator_process.stop(workspace)
        return
    try:
        destroy(workspace, emulator.url, console=console)
    finally:
        emulator_process.stop(workspace)
        console.step("emulator stopped; all it held is gone")


def destroy(workspace: Workspace, url: str, *, console: Console) -> None:
    """Destroys the stacks and says what they leave behind."""
    command = ["destroy", "--all", "--force", "-c", f"env={workspace.environment}"]
    try:
        with watching(url, console.step):
            console.step("cdk destroy --all")
            cdk.run(workspace, url, command, say=console.step)
    except cdk.CdkFailed as error:
        _explain(error, workspace, url, set(), console)
        raise CommandFailed from error
    for line in left_behind(url):
        console.step(f"left behind by cdk destroy: {line}")


def demo(workspace: Workspace, *, port: int | None, console: Console) -> None:
    """Up, decisions, down. On any failure and on Ctrl-C the emulator and all it started are gone too."""
    check(workspace)
    try:
        emulator_process.stop(workspace)  # left over from a demo that was killed outright
        deployment = up(workspace, port=port, console=console)
        ask_everything(deployment.url, deployment.endpoint, console)
        down(workspace, console=console)
    finally:
        emulator_process.stop(workspace)


def ask(workspace: Workspace, *, console: Console) -> None:
    """The demo's decisions, put to the endpoint that runs."""
    emulator = emulator_process.find(workspace)
    if emulator is None:
        raise emulator_process.EmulatorError("no emulator runs. Start one: make up")
    ask_everything(emulator.url, output(emulator.url, stack_of(workspace), "EndpointName"), console)


def print_exports(deployment: Deployment, console: Console) -> None:
    console.plain("")
    console.plain("To use it from a shell with any AWS SDK or tool:")
    for name, value in aws.exports(deployment.url).items():
        console.plain(f"    export {name}={value}")
    console.plain(f"The endpoint is {deployment.endpoint}. To ask it what the demo asks: .venv/bin/python -m local ask")
    console.plain("To take it down: make down")
