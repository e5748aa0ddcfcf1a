"""What there is in an emulator, to look at: its state, its logs, outputs of stacks, what a destroy left behind."""

from __future__ import annotations

from pathlib import Path

from local import aws, emulator_process
from local.console import Console
from local.workspace import Workspace


def status(workspace: Workspace, *, console: Console) -> bool:
    """True when the emulator runs."""
    emulator = emulator_process.find(workspace)
    if emulator is None:
        console.plain("no emulator runs. Start one: make up")
        return False
    console.plain(f"emulator: {emulator.url}, process {emulator.pid}, logs in {workspace.logs}")
    for stack in aws.client("cloudformation", emulator.url).describe_stacks()["Stacks"]:
        console.plain(f"stack {stack['StackName']}: {stack['StackStatus']}")
    for endpoint in aws.client("sagemaker", emulator.url).list_endpoints()["Endpoints"]:
        console.plain(f"endpoint {endpoint['EndpointName']}: {endpoint['EndpointStatus']}")
    return True


def logs(workspace: Workspace, *, kind: str, lines: int, console: Console) -> None:
    """The ends of the log files of a kind: emulator, cdk, builds, endpoints."""
    folder = workspace.logs
    files = sorted((folder / kind).glob("*.log")) if kind in ("builds", "endpoints") else [folder / f"{kind}.log"]
    found = [file for file in files if file.exists()]
    if not found:
        console.plain(f"no {kind} log in {folder}")
    for file in found:
        console.plain(f"--- {file}")
        console.plain("\n".join(_tail(file, lines)))


def _tail(file: Path, count: int) -> list[str]:
    return file.read_text(encoding="utf-8", errors="replace").splitlines()[-count:]


def left_behind(url: str) -> list[str]:
    """Buckets and repositories that outlive the stacks; on AWS they would go on costing storage. CDK's own are left
    out.
    """
    lines = []
    s3 = aws.client("s3", url)
    for bucket in s3.list_buckets()["Buckets"]:
        name = bucket["Name"]
        if not name.startswith("cdk-"):
            objects = s3.list_objects_v2(Bucket=name).get("Contents", [])
            megabytes = sum(each["Size"] for each in objects) / 1e6
            lines.append(f"bucket {name} ({len(objects)} objects, {megabytes:.0f} MB)")
    ecr = aws.client("ecr", url)
    for repository in ecr.describe_repositories()["repositories"]:
        name = repository["repositoryName"]
        if not name.startswith("cdk-"):
            images = ecr.list_images(repositoryName=name)["imageIds"]
            lines.append(f"repository {name} ({len(images)} images)")
    return lines


def output(url: str, stack: str, key: str) -> str:
    """The value of an output of a stack."""
    (described,) = aws.client("cloudformation", url).describe_stacks(StackName=stack)["Stacks"]
    for each in described.get("Outputs", []):
        if each["OutputKey"] == key:
            return str(each["OutputValue"])
    raise LookupError(f"stack {stack} has no output {key}")
