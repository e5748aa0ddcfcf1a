"""The command line: `python -m model_packaging build|quantize|recalibrate|verify|publish|result|requirements`.

Standard output carries one line for programs; progress and the one line of an error go to standard error. Exit status:
0 done, 1 the surroundings failed (trying again may help), 2 the input is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from types import FrameType

from .errors import PackagingError
from .ggml_types import QUANTIZABLE
from .progress import say

_ROOT = Path(__file__).resolve().parent.parent
_CACHE_VARIABLE = "MODEL_PACKAGING_CACHE"
_TRIGGER = re.compile(r"[0-9a-f]{64}")


def main(argv: Sequence[str] | None = None) -> int:
    """One command, in this process. argv: without the program's name; None takes the process's own."""
    arguments = _parser().parse_args(argv)
    try:
        line: str = arguments.run(arguments)
    except PackagingError as error:
        say(f"error: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        say("error: interrupted; nothing half-done is left, a download can be resumed")
        return 130
    print(line, flush=True)
    return 0


def _build(arguments: argparse.Namespace) -> str:
    from .build import build
    from .manifest import identity, manifest_json

    built = build(arguments.declaration, output=arguments.output, cache_dir=arguments.cache_dir)
    return json.dumps(
        {
            "event": "built",
            "archive": str(built.archive.path),
            "sha256": built.archive.sha256,
            "bytes": built.archive.bytes,
            "gguf_sha256": identity(built.manifest.gguf.files),
            "manifest": manifest_json(built.manifest),
        }
    )


def _quantize(arguments: argparse.Namespace) -> str:
    from .requantize import requantize

    made = requantize(arguments.source, to=arguments.to, imatrix=arguments.imatrix, target=arguments.output)
    return json.dumps({"event": "quantized", "file": str(arguments.output), **asdict(made)})


def _recalibrate(arguments: argparse.Namespace) -> str:
    from .manifest import manifest_json
    from .recalibrate import recalibrate

    archive, manifest = recalibrate(arguments.archive, arguments.calibration, arguments.output)
    return json.dumps(
        {
            "event": "recalibrated",
            "archive": str(archive.path),
            "sha256": archive.sha256,
            "bytes": archive.bytes,
            "manifest": manifest_json(manifest),
        }
    )


def _verify(arguments: argparse.Namespace) -> str:
    from .manifest import identity, manifest_json
    from .verify import verify

    verified = verify(arguments.archive)
    if arguments.sha256 is not None and verified.sha256 != arguments.sha256:
        raise PackagingError(f"{arguments.archive}: sha256: {verified.sha256} found; {arguments.sha256} expected")
    return json.dumps(
        {
            "event": "verified",
            "archive": str(arguments.archive),
            "sha256": verified.sha256,
            "bytes": verified.bytes,
            "gguf_sha256": identity(verified.manifest.gguf.files),
            "manifest": manifest_json(verified.manifest),
        }
    )


def _publish(arguments: argparse.Namespace) -> str:
    from .manifest import identity
    from .publish import ArtifactBucket

    with closing(ArtifactBucket(arguments.bucket)) as bucket:
        published, archive = (bucket.publish_members if arguments.uncompressed else bucket.publish)(arguments.archive)
        if arguments.trigger is not None:
            bucket.write_result(arguments.trigger, published, archive)
    return json.dumps(
        {
            "event": "published",
            "bucket": published.bucket,
            "key": published.key,
            "sha256": published.sha256,
            "bytes": published.bytes,
            "uploaded": published.uploaded,
            "gguf_sha256": identity(archive.manifest.gguf.files),
        }
    )


def _result(arguments: argparse.Namespace) -> str:
    from .publish import ArtifactBucket

    with closing(ArtifactBucket(arguments.bucket)) as bucket:
        return "present" if bucket.has_result(arguments.trigger) else "absent"


def _requirements(arguments: argparse.Namespace) -> str:
    from .declaration import read_declaration

    names = ["requirements.txt"]
    if read_declaration(arguments.declaration).quantize is not None:
        names.append("requirements-quantize.txt")
    return " ".join(f"-r model_packaging/{name}" for name in names)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m model_packaging",
        description="Turns a pinned declaration of a model into a verified, reproducible model.tar.gz for SageMaker.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    build = commands.add_parser("build", help="download, verify, requantize where declared, and write model.tar.gz")
    build.add_argument("declaration", type=Path, help="a file of model_packaging/declarations/")
    build.add_argument("--output", type=Path, required=True, metavar="DIR", help="the folder for model.tar.gz")
    build.add_argument(
        "--cache-dir",
        type=Path,
        metavar="DIR",
        default=Path(os.environ.get(_CACHE_VARIABLE) or _ROOT / ".cache" / "models"),
        help=f"verified downloads are kept here (default: ${_CACHE_VARIABLE}, or .cache/models in the project)",
    )
    build.set_defaults(run=_build)

    quantize = commands.add_parser("quantize", help="write a GGUF anew as another file type")
    quantize.add_argument("source", type=Path, help="an F32, F16, BF16 or Q8_0 GGUF; of a split one, the first part")
    quantize.add_argument("--to", required=True, metavar="TYPE", choices=QUANTIZABLE, help=", ".join(QUANTIZABLE))
    quantize.add_argument("--imatrix", type=Path, metavar="FILE", help="an importance matrix, GGUF or .dat")
    quantize.add_argument("--output", type=Path, required=True, metavar="FILE", help="the GGUF to write, not there yet")
    quantize.set_defaults(run=_quantize)

    recalibrate = commands.add_parser("recalibrate", help="write an archive anew with a calibration in it")
    recalibrate.add_argument("archive", type=Path, help="model.tar.gz or a folder it was unpacked into")
    recalibrate.add_argument("calibration", type=Path, help="calibration.json, as `python -m client calibrate` fits it")
    recalibrate.add_argument("--output", type=Path, required=True, metavar="FILE", help="the archive, not there yet")
    recalibrate.set_defaults(run=_recalibrate)

    verify = commands.add_parser("verify", help="check an archive, or a folder it was unpacked into, byte for byte")
    verify.add_argument("archive", type=Path, help="model.tar.gz or a folder")
    verify.add_argument("--sha256", type=_hex64, metavar="HEX", help="also require this hash of the archive")
    verify.set_defaults(run=_verify)

    publish = commands.add_parser("publish", help="put an archive into the artifact bucket, if absent")
    publish.add_argument("archive", type=Path, help="model.tar.gz")
    publish.add_argument("--bucket", required=True, help="the artifact bucket's name")
    publish.add_argument("--uncompressed", action="store_true", help="put the members, not the archive, under a prefix")
    publish.add_argument("--trigger", type=_hex64, metavar="HEX", help="also write results/model-HEX.json")
    publish.set_defaults(run=_publish)

    result = commands.add_parser("result", help="print present or absent: is there a result of this trigger?")
    result.add_argument("--bucket", required=True, help="the artifact bucket's name")
    result.add_argument("--trigger", type=_hex64, required=True, metavar="HEX", help="64 hex digits")
    result.set_defaults(run=_result)

    requirements = commands.add_parser("requirements", help="print pip's -r options for what a declaration needs")
    requirements.add_argument("declaration", type=Path, help="a file of model_packaging/declarations/")
    requirements.set_defaults(run=_requirements)
    return parser


def _hex64(text: str) -> str:
    if not _TRIGGER.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} given; 64 lower-case hex digits expected")
    return text


def run() -> int:
    """The command line of a process of its own: SIGTERM, too, lets it remove what is half done."""
    signal.signal(signal.SIGTERM, _end)
    return main()


def _end(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(run())
