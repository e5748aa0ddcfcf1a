"""Asks one contestant all items, in a folder of its own; goes on where an earlier try ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from client.comparison import facts as known
from client.comparison.contestants import Contestant, Endpoint, Local, Url
from client.comparison.facts import Facts, facts_of
from client.comparison.memory import peak_bytes_below
from client.comparison.probe import probe
from client.comparison.standings import Run
from client.decisions import DecisionClient, LocalTarget, SageMakerTarget, Target, UrlTarget
from client.errors import Refused
from client.evaluation import not_answered, progress, target_name
from client.evaluation.asked import unanswered
from client.evaluation.items import ItemSet
from client.evaluation.journal import Journal, Settings
from client.evaluation.run import ask_all
from client.transport.targets import checked_url

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class How:
    """What holds for all contestants alike. api_key: of servers at a URL that ask for one."""

    concurrency: int
    deadline_seconds: float
    region: str | None = None
    api_key: str | None = None
    show_progress: bool = True


def target_of(contestant: Contestant, how: How) -> Target:
    """Raises Refused."""
    match contestant.place:
        case Local(path=path, settings=settings):
            if not path.exists():
                raise Refused(f"{contestant.name}: {path}: no such file or folder; a .gguf or a model folder is needed")
            return LocalTarget(model=str(path), settings=settings)
        case Endpoint(name=name):
            return SageMakerTarget(endpoint_name=name, region=how.region)
        case Url(url=url):
            return UrlTarget(url=checked_url(url), api_key=how.api_key)


def run_contestant(contestant: Contestant, data: ItemSet, folder: Path, how: How, say: Say) -> Run:
    """A local server runs only meanwhile, in processes of its own. Nothing is started where nothing is missing.

    Raises Refused, also for a folder of another run, and JobFailed.
    """
    target = target_of(contestant, how)
    with Journal(folder, _settings(contestant, target, data, how)) as journal:
        done, facts = len(journal.outcomes), known.read(folder)
        if done == len(data.items) and facts is not None:
            say(f"{contestant.name}: all {done} answers are there already")
            return Run(contestant=contestant, facts=facts, outcomes=journal.outcomes)
        if done:
            say(f"{contestant.name}: {done} of {len(data.items)} answers are there already")
        with (
            DecisionClient(target, deadline_seconds=how.deadline_seconds, say=say) as client,
            progress.bar(data.items, journal.outcomes, total=len(data.items), shown=how.show_progress) as tell,
        ):
            outcomes = ask_all(
                data.items,
                client,
                concurrency=how.concurrency,
                reversed_too=False,
                readout=contestant.readout,
                prompt_version=contestant.prompt_version,
                journal=journal,
                progress=tell,
                waiting=say,
            )
            # At the end: the first answer is a first one, and memory is at its peak.
            facts = _facts(client, enough=len(outcomes) - done >= len(outcomes) / 2)
            known.write(folder, facts)
    not_answered.tell(unanswered(data.items, outcomes), outcomes, say, whose=f"{contestant.name}: ")
    return Run(contestant=contestant, facts=facts, outcomes=outcomes)


def _settings(contestant: Contestant, target: Target, data: ItemSet, how: How) -> Settings:
    return replace(
        target_name.settings_of(data, target),
        readout=contestant.readout,
        prompt_version=contestant.prompt_version,
        concurrency=how.concurrency,
    )


def _facts(client: DecisionClient, *, enough: bool) -> Facts:
    """enough: whether this server answered so much that its peak of memory says something of all of it."""
    answer = probe(client)
    pid = client.local_process_id if enough else None
    return facts_of(answer.raw, model=answer.model, peak_bytes=None if pid is None else peak_bytes_below(pid))
