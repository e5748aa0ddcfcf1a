"""One calibration from its arguments to its files: the order of the steps."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from client.calibration import answers, files
from client.calibration.artefact import FILE_NAME, artefact, check_version
from client.calibration.collecting import Collected, collect
from client.calibration.cross_validation import SEED
from client.calibration.page import text_table
from client.calibration.result import Result
from client.calibration.verdicts import NOT_FITTED, Verdict, judge, temperatures
from client.calibration.whom import Whom, check_archive, whom
from client.decisions import DecisionClient
from client.errors import Refused
from client.evaluation.items import ItemSet, read_set
from client.evaluation.journal import Settings
from model_packaging.archive import ARCHIVE_NAME
from model_packaging.errors import PackagingError
from model_packaging.recalibrate import recalibrate, require_new

Say = Callable[[str], None]


def calibrate(options: argparse.Namespace, say: Say, *, show_progress: bool) -> Result:
    """Prints the table. Raises Refused and JobFailed."""
    out: Path = options.out
    if options.version is not None:
        check_version(options.version)
    data = read_set(options.data)
    earlier = None if options.evaluation is None else answers.of_run(options.evaluation, data)
    if earlier is not None:
        _check_wishes(options, earlier.settings)
    try:
        if options.archive is not None:
            require_new(out / ARCHIVE_NAME)
        files.clear(out)
        with (
            whom(options, below=out) as asked,
            DecisionClient(asked.target, deadline_seconds=options.deadline, say=say) as client,
        ):
            result = _fitted(options, data, earlier, asked, client, say, show_progress=show_progress)
        files.write(out, result)
        print(text_table(result))
        if options.archive is not None and result.artefact is not None:
            archive, _ = recalibrate(options.archive, out / FILE_NAME, out / ARCHIVE_NAME)
            say(f"archive: {archive.path}, sha256 {archive.sha256}")
    except KeyboardInterrupt:
        say(f"interrupted; what was answered is in {out}. To go on: the same command again")
        raise
    except PackagingError as error:
        raise Refused(str(error)) from error
    say(f"page: {out / files.PAGE_NAME}")
    return result


def _fitted(
    options: argparse.Namespace,
    data: ItemSet,
    earlier: answers.Earlier | None,
    asked: Whom,
    client: DecisionClient,
    say: Say,
    *,
    show_progress: bool,
) -> Result:
    readout, prompt_version = options.readout, options.prompt_version
    if earlier is not None:
        readout, prompt_version = earlier.settings.readout, earlier.settings.prompt_version
    found = answers.weights(client, readout=readout, prompt_version=prompt_version)
    check_archive(options.archive, asked.manifest, found)
    if earlier is not None:
        outcomes = earlier.outcomes
        answers.require_same_weights(earlier, found, where=f"--evaluation {options.evaluation}", say=say)
    else:
        settings = Settings(
            data=data.name,
            data_sha256=data.sha256,
            # Weights of another content under the same name or address are another run.
            target=f"{asked.name}, weights {found.gguf_sha256}",
            server_settings=asked.settings,
            readout=readout,
            prompt_version=prompt_version,
            concurrency=options.concurrency,
        )
        outcomes = answers.asked(data, client, settings, folder=options.out, show_progress=show_progress)
    answers.require_same_model(outcomes, found.model, where=str(options.evaluation or options.out))
    collected = collect(data.items, outcomes, readout=found.readout, prompt_version=found.prompt_version)
    verdicts = judge(collected, folds=options.folds, seed=SEED, only_certain=options.only_certain)
    if all(each.status == NOT_FITTED for each in verdicts):
        raise Refused(_nothing_fitted(options.data, verdicts, collected))
    return _result(options, data, asked, found, collected, verdicts)


def _check_wishes(options: argparse.Namespace, earlier: Settings) -> None:
    """Before anything is started. Raises Refused."""
    for flag, wished, there in (
        ("--readout", options.readout, earlier.readout),
        ("--prompt-version", options.prompt_version, earlier.prompt_version),
    ):
        if wished is not None and wished != there:
            asked = "none, which left it to the server" if there is None else there
            raise Refused(
                f"{flag} {wished}: --evaluation {options.evaluation} asked for {asked}. Remedy: leave it out, or "
                "evaluate with it first"
            )


def _result(
    options: argparse.Namespace,
    data: ItemSet,
    asked: Whom,
    found: answers.Weights,
    collected: Collected,
    verdicts: tuple[Verdict, ...],
) -> Result:
    kept = temperatures(verdicts)
    made = None
    if kept:
        made = artefact(
            version=options.version,
            gguf_sha256=found.gguf_sha256,
            prompt_version=found.prompt_version,
            readout=found.readout,
            temperatures=kept,
        )
    return Result(
        data=data.name,
        data_sha256=data.sha256,
        target=asked.name,
        model=found.model,
        gguf_sha256=found.gguf_sha256,
        readout=found.readout,
        prompt_version=found.prompt_version,
        serves=found.serves,
        folds=options.folds,
        seed=SEED,
        only_certain=options.only_certain,
        served_at=collected.served_at,
        left_out=collected.left_out,
        verdicts=verdicts,
        artefact=made,
    )


def _nothing_fitted(data: Path, verdicts: tuple[Verdict, ...], collected: Collected) -> str:
    lines = [f"  {each.question_type}: {each.why}" for each in verdicts]
    lines += [f"  left out: {each.count} {each.question_type}, {each.reason}" for each in collected.left_out]
    return "\n".join([f"--data {data}: too few decisions of every type; nothing was fitted", *lines])
