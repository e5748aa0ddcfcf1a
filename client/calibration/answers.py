"""Where a calibration's answers come from: asked now, or those of an evaluation that is there already."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from client.comparison.probe import probe
from client.decisions import Answer, DecisionClient
from client.errors import Refused
from client.evaluation import journal, progress
from client.evaluation.items import ItemSet
from client.evaluation.outcomes import Outcome, weights_sha256
from client.evaluation.run import ask_all


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Who answers. readout, prompt_version: of this run; serves: those that the server has by default."""

    model: str
    gguf_sha256: str
    readout: str
    prompt_version: str
    serves: tuple[str, str]


def weights(client: DecisionClient, *, readout: str | None, prompt_version: str | None) -> Weights:
    """Raises JobFailed, and Refused where the server does not say what a calibration has to name."""
    default = probe(client)
    wished = readout is not None or prompt_version is not None
    used = probe(client, readout=readout, prompt_version=prompt_version) if wished else default
    return Weights(
        model=default.model,
        gguf_sha256=_sha256(default),
        readout=used.readout,
        prompt_version=used.prompt_version,
        serves=(default.readout, default.prompt_version),
    )


def asked(
    data: ItemSet, client: DecisionClient, settings: journal.Settings, *, folder: Path, show_progress: bool
) -> tuple[Outcome, ...]:
    """Goes on where the folder's journal ends. Raises Refused and JobFailed."""
    with (
        journal.Journal(folder, settings) as opened,
        progress.bar(data.items, opened.outcomes, total=len(data.items), shown=show_progress) as tell,
    ):
        return ask_all(
            data.items,
            client,
            concurrency=settings.concurrency,
            reversed_too=False,
            readout=settings.readout,
            prompt_version=settings.prompt_version,
            journal=opened,
            progress=tell,
        )


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """An evaluation that is there already."""

    settings: journal.Settings
    outcomes: tuple[Outcome, ...]


def of_run(folder: Path, data: ItemSet) -> Earlier:
    """Of an evaluation of the same decisions. Raises Refused."""
    settings, outcomes = journal.read(folder)
    if settings.data_sha256 != data.sha256:
        raise Refused(
            f"--evaluation {folder}: asked {settings.data}, sha256 {settings.data_sha256[:12]}…; --data has "
            f"{data.sha256[:12]}…. Remedy: give the file that the evaluation was made with"
        )
    return Earlier(settings=settings, outcomes=outcomes)


def require_same_model(outcomes: tuple[Outcome, ...], model: str, *, where: str) -> None:
    """Raises Refused where answers are of another model than the one the calibration would name."""
    others = sorted({outcome.answer.model for outcome in outcomes if outcome.answer is not None} - {model})
    if others:
        raise Refused(f"{where}: answered by {', '.join(others)}; the model asked now is {model}. Remedy: run it anew")


def require_same_weights(earlier: Earlier, found: Weights, *, where: str, say: Callable[[str], None]) -> None:
    """A name is not the weights. Raises Refused where the earlier answers are known to be of others; warns where they
    say nothing: answers to System One alone do not, nor do journals of versions that did not write it down.
    """
    given = (each.answer for each in earlier.outcomes if each.answer is not None)
    known = {each.gguf_sha256 for each in given if each.gguf_sha256 is not None}
    if others := known - {found.gguf_sha256}:
        told = ", ".join(f"{each[:12]}…" for each in sorted(others))
        raise Refused(
            f"{where}: answered by weights of sha256 {told}; those asked now have {found.gguf_sha256[:12]}…. Remedy: "
            "name the model that was evaluated, or evaluate this one"
        )
    if not known:
        say(f"{where}: its answers do not say their weights; only the model's name, {found.model}, was compared")


def _sha256(answer: Answer) -> str:
    sha256 = weights_sha256(answer)
    if sha256 is None:
        raise Refused("the server does not say the sha256 of its weights, which a calibration has to name")
    return sha256
