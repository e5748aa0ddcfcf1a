"""A bulk run from its checked input to the file of answers. Knows the order of the steps, not how each is done.

SageMaker answers a part of the input whole or not at all: one line that the server refuses costs its whole part its
answers, and the job then counts as failed. So the parts that a first round leaves without answers are asked once more,
each line a part of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from client import bulk_answers, bulk_input, bulk_record
from client.bulk_input import Checked
from client.bulk_record import Part, Round, Run
from client.bulk_store import BulkStore
from client.errors import JobFailed, Refused
from client.transform_jobs import LOG_GROUP, RUNNING, JobState, TransformJobs

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Summary:
    answered: int
    refused: int
    left_out: int


class BulkRunner:
    def __init__(self, store: BulkStore, jobs: TransformJobs, *, say: Say, wait: Callable[[], Iterator[float]]) -> None:
        self._store, self._jobs, self._say, self._wait = store, jobs, say, wait

    def start(self, checked: Checked, definition: dict[str, Any], *, name: str) -> Run:
        """Uploads the good lines and starts the first job. Raises Refused, then no job was started."""
        if self._store.record(name) is not None or self._jobs.state(name) is not None:
            raise Refused(f"job {name}: there is one of this name already. Remedy: --resume {name}, or another name")
        instances = int(definition["TransformResources"]["InstanceCount"])
        parts = bulk_record.cut(checked.good, checked.sizes, instances=instances)
        run = Run(name=name, definition=definition, lines=checked.lines, problems=checked.problems, rounds=())
        bodies = bulk_input.bodies(checked)
        self._say(f"uploading {len(checked.good)} lines in {len(parts)} parts to {self._store.where(name)}/")
        self._store.put_parts(name, ((part.name, _content(islice(bodies, len(part.lines)))) for part in parts))
        for _ in bodies:  # nothing is left in it; its end compares the file with what was checked
            raise AssertionError("more bodies than lines")
        return self._begin(run, Round(job=name, parts=parts))

    def go_on(self, run: Run) -> Run:
        """What a resume needs before waiting: the last job, made where it never was, or a next one where it was
        stopped or failed."""
        state = self._jobs.state(run.rounds[-1].job)
        if state is None:
            self._say(f"job {run.rounds[-1].job} was never started; starting it")
            self._jobs.create(run.definition, job=run.rounds[-1].job)
            return run
        answered = self._answered(run)
        missing = bulk_answers.unanswered(run, answered)
        if not missing or state.status in RUNNING:
            return run
        if state.status == "Stopped":
            return self._again(run, missing, missing)
        if _alone(missing) and any(answered):  # asked alone already, by a job that did answer others
            return run
        return self._again(run, missing, bulk_record.one_line_each(missing))

    def finish(self, run: Run) -> Run:
        """Waits for the run's jobs. Raises JobFailed when nothing at all was answered, or the job was stopped."""
        state = self._wait_for(run)
        answered = self._answered(run)
        missing = bulk_answers.unanswered(run, answered)
        if state.status == "Stopped" and missing:
            raise JobFailed(
                f"job {run.rounds[-1].job} was stopped with {len(missing)} of its parts unanswered. "
                f"To go on: --resume {run.name}"
            )
        if state.status == "Failed":
            if not any(answered):
                job = run.rounds[-1].job
                raise JobFailed(
                    f"job {job} failed and answered nothing: {state.reason}. Its log: group {LOG_GROUP}, streams "
                    f"{job}/…\nTo ask line by line, once the cause is mended: --resume {run.name}"
                )
            if not _alone(missing):
                lines = sum(len(part.lines) for part in missing)
                self._say(f"{len(missing)} parts were not answered; asking their {lines} lines one by one")
                return self.finish(self._again(run, missing, bulk_record.one_line_each(missing)))
        elif missing:
            raise JobFailed(f"job {run.rounds[-1].job} is {state.status}, and {missing[0].name} has no answers")
        return run

    def collect(self, run: Run, output: Path) -> Summary:
        """Writes an answer for each line; the file is there whole or not at all."""
        answered = self._answered(run)
        temporary = output.with_name(output.name + ".incomplete")
        results = others = 0
        with temporary.open("wb") as out:
            for is_result, answer in bulk_answers.in_order(run, answered, self._reader(run, answered)):
                out.write(answer + b"\n")
                results, others = results + is_result, others + (not is_result)
        os.replace(temporary, output)
        return Summary(answered=results, refused=others - len(run.problems), left_out=len(run.problems))

    def _again(self, run: Run, missing: tuple[Part, ...], parts: tuple[Part, ...]) -> Run:
        """A further round over the same lines, which are taken from the round before."""
        before, job = run.rounds[-1].job, bulk_record.next_job(run)
        bodies = (body for part in missing for body in self._store.part(before, part.name).split(b"\n")[:-1])
        self._store.put_parts(job, ((part.name, _content(islice(bodies, len(part.lines)))) for part in parts))
        try:
            return self._begin(run, Round(job=job, parts=parts))
        except Refused as error:
            raise JobFailed(f"{error}\nWhat was answered so far is kept. To go on: --resume {run.name}") from error

    def _begin(self, run: Run, next_round: Round) -> Run:
        run = replace(run, rounds=(*run.rounds, next_round))
        self._store.put_record(run.name, bulk_record.to_json(run))  # first, so that whatever happens can be resumed
        self._jobs.create(run.definition, job=next_round.job)
        self._say(f"job {next_round.job} started")
        return run

    def _wait_for(self, run: Run) -> JobState:
        last, told = run.rounds[-1], ""
        for _ in self._wait():
            state = self._jobs.state(last.job)
            if state is None:
                raise JobFailed(f"job {last.job} is gone")
            now = f"job {last.job} {state.status}: {len(self._store.answered(last.job))} of {len(last.parts)} parts"
            if now != told:
                self._say(now)
                told = now
            if state.status not in RUNNING:
                return state
        raise JobFailed(f"job {last.job} still runs. To go on waiting: --resume {run.name}")

    def _answered(self, run: Run) -> list[dict[str, str]]:
        return [self._store.answered(each.job) for each in run.rounds]

    def _reader(self, run: Run, answered: Sequence[dict[str, str]]) -> bulk_answers.Read:
        keys = {each.job: found for each, found in zip(run.rounds, answered, strict=True)}
        return lambda each, part: (
            self._store.part(each.job, part.name),
            self._store.answers(keys[each.job][part.name]),
        )


def _alone(parts: Sequence[Part]) -> bool:
    return all(len(part.lines) == 1 for part in parts)


def _content(bodies: Iterator[bytes]) -> bytes:
    return b"".join(body + b"\n" for body in bodies)
