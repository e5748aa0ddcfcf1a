"""Whom a calibration asks: what its arguments name, or the packed model that it will be put into."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from client.calibration.answers import Weights
from client.decisions import LocalTarget, Target
from client.errors import Refused
from client.transport.arguments import target_named, target_of
from model_packaging.manifest import Manifest, identity
from model_packaging.unpacked import unpacked


@dataclass(frozen=True, kw_only=True)
class Whom:
    """name: for people, and to tell one run from another. manifest: of the archive, where there is one."""

    target: Target
    name: str
    manifest: Manifest | None = None

    @property
    def settings(self) -> tuple[str, ...]:
        """Of a server that is started."""
        given = self.target.settings if isinstance(self.target, LocalTarget) else ()
        return tuple(f"{name}={value}" for name, value in sorted(given))


@contextmanager
def whom(options: argparse.Namespace, *, below: Path) -> Iterator[Whom]:
    """below: where an archive is unpacked, for as long as this lasts. Raises Refused and PackagingError."""
    named = str(options.endpoint_name or options.url or options.model)
    if options.archive is None:
        if not target_named(options):
            raise Refused("nobody to ask is named. Remedy: one of --archive, --model, --url, --endpoint-name")
        yield Whom(target=target_of(options), name=named)
        return
    with unpacked(options.archive, below=below) as (folder, manifest):
        if target_named(options):
            yield Whom(target=target_of(options), name=named, manifest=manifest)
            return
        target = target_of(argparse.Namespace(**{**vars(options), "model": str(folder)}))
        yield Whom(target=target, name=str(options.archive), manifest=manifest)


def check_archive(archive: Path | None, manifest: Manifest | None, found: Weights) -> None:
    """Before much is asked. Raises Refused where the archive could not take what will be fitted."""
    if manifest is None:
        return
    for field, asked, packed in (
        ("weights", found.gguf_sha256, identity(manifest.gguf.files)),
        ("readout", found.readout, manifest.serving.readout),
        ("prompt version", found.prompt_version, manifest.serving.prompt_version),
    ):
        if asked != packed:
            raise Refused(
                f"--archive {archive}: {field}: {packed} packed, {asked} asked. Remedy: ask by the archive's own "
                "defaults, or package the model with other ones"
            )
