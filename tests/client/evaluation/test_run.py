"""Asking all items: order, what a busy or a dead target means, and going on where a journal ends."""

from __future__ import annotations

import errno
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from client.decisions import Choice, Decision, DecisionError
from client.errors import JobFailed, Refused
from client.evaluation import journal
from client.evaluation.item import Item
from client.evaluation.journal import Journal, Settings
from client.evaluation.metrics import summarise
from client.evaluation.outcomes import GIVEN, REVERSED, Outcome
from client.evaluation.run import Target, ask_all
from tests.client.evaluation.fake_target import FakeTarget
from tests.client.evaluation.made import item, noul, score

SETTINGS = Settings(data="set", data_sha256="0" * 64, target="fake")
CHOICE = Item(id="c", state="choice", question=Choice(instructions=None, options={"x": "X", "y": None}), expected="x")
ITEMS = [item("d1", "a"), noul("n", "yes"), CHOICE, score("s", "2"), item("d2", "b", options=2)]
BUSY = DecisionError("queue_full", "no place", status=503, retryable=True)


def run(
    folder: Path,
    target: Target,
    *,
    items: list[Item] | None = None,
    concurrency: int = 1,
    reversed_too: bool = True,
    readout: str | None = None,
    progress: Callable[[Outcome], None] = lambda outcome: None,
    waiting: Callable[[str], None] = lambda why: None,
) -> tuple[Outcome, ...]:
    with Journal(folder, SETTINGS) as kept:
        return ask_all(
            ITEMS if items is None else items,
            target,
            concurrency=concurrency,
            reversed_too=reversed_too,
            readout=readout,
            prompt_version=None,
            journal=kept,
            progress=progress,
            waiting=waiting,
            pause_seconds=0.0,
        )


def test_items_are_asked_in_their_order_and_choices_once_more_with_their_options_reversed(tmp_path: Path) -> None:
    target = FakeTarget()
    outcomes = run(tmp_path, target)
    assert target.asked == ["d1", "s", "choice", "s", "d2", "d1", "choice", "d2"]
    assert [(each.item_id, each.order) for each in outcomes] == [
        *((name, GIVEN) for name in ("d1", "n", "c", "s", "d2")),
        *((name, REVERSED) for name in ("d1", "c", "d2")),
    ]
    answers = [each.answer.option_ids for each in outcomes if each.answer]
    assert answers[0] == ("a", "b", "c")
    assert answers[5:] == [("c", "b", "a"), ("y", "x"), ("b", "a")]
    assert [each.started for each in outcomes] == list(range(8))


def test_the_run_s_readout_goes_before_an_item_s_own(tmp_path: Path) -> None:
    target = FakeTarget()
    run(tmp_path, target, readout="likelihood", reversed_too=False)
    assert [each.readout if isinstance(each, Decision) else "asked" for each in target.given].count("likelihood") == 2
    assert all(each[1] == "likelihood" for each in target.given if isinstance(each, tuple))


def test_as_many_are_asked_at_once_as_the_concurrency_says(tmp_path: Path) -> None:
    together = threading.Barrier(3, timeout=30)
    run(
        tmp_path,
        FakeTarget(lambda name: void(together.wait())),
        items=[item(str(n), "a") for n in range(3)],
        concurrency=3,
        reversed_too=False,
    )


def test_a_busy_target_is_asked_until_it_answers(tmp_path: Path) -> None:
    left = Counter(d1=30, d2=2)
    told: list[str] = []

    def busy(name: str) -> None:
        if left[name] > 0:
            left[name] -= 1
            raise BUSY

    outcomes = run(tmp_path, FakeTarget(busy), waiting=told.append)
    assert all(each.valid for each in outcomes)
    assert len(told) == 32
    assert told[0] == "item d1: queue_full: no place; it is asked again"


def test_a_refusal_is_that_item_s_outcome_and_the_others_are_asked(tmp_path: Path) -> None:
    def refuse(name: str) -> None:
        if name == "d1":
            raise DecisionError("too_long", "9 tokens; 8 allowed", status=413)

    outcomes = run(tmp_path, FakeTarget(refuse), reversed_too=False)
    assert [each.error for each in outcomes] == ["too_long: 9 tokens; 8 allowed", None, None, None, None]


FAULTS = [
    DecisionError("deadline_exceeded", "no answer in time"),
    DecisionError("internal", "it broke", status=500),
    DecisionError("model_timeout", "too slow", status=504),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda each: each.code)
def test_a_fault_that_may_pass_is_asked_three_times_and_again_when_the_run_goes_on(
    tmp_path: Path, fault: DecisionError
) -> None:
    target = FakeTarget(lambda name: fail(fault) if name == "d1" else None)
    outcomes = run(tmp_path, target, reversed_too=False)
    assert target.asked.count("d1") == 3
    assert [each.error for each in outcomes] == [f"{fault.code}: {fault}", None, None, None, None]
    assert [each.passing for each in outcomes] == [True, False, False, False, False]
    assert [each.item_id for each in journal.read(tmp_path)[1]] == ["n", "c", "s", "d2"]
    second = FakeTarget()
    again = run(tmp_path, second, reversed_too=False)
    assert second.asked == ["d1"]
    assert all(each.valid for each in again)


def test_a_fault_that_passes_leaves_no_trace(tmp_path: Path) -> None:
    left = Counter(d1=2)

    def once(name: str) -> None:
        if left[name] > 0:
            left[name] -= 1
            raise FAULTS[1]

    assert all(each.valid for each in run(tmp_path, FakeTarget(once)))


def test_five_decisions_in_a_row_that_end_in_faults_end_the_run(tmp_path: Path) -> None:
    items = [item(f"i{number}", "a") for number in range(12)]
    target = FakeTarget(lambda name: fail(FAULTS[1]) if name != "i0" and name != "i3" else None)
    with pytest.raises(
        JobFailed, match="5 decisions in a row were not answered; the last: internal: it broke\nWhat was"
    ):
        run(tmp_path, target, items=items)
    assert [each.item_id for each in journal.read(tmp_path)[1]] == ["i0", "i3"]
    assert target.asked[-1] == "i8"


@pytest.mark.parametrize("error", [DecisionError("not_connected", "nobody there"), DecisionError("x", "y", status=401)])
@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_target_that_is_gone_ends_the_run_which_goes_on_later_to_the_same_result(
    tmp_path: Path, error: DecisionError, concurrency: int
) -> None:
    items = [item(f"i{number}", "abc"[number % 3]) for number in range(20)]
    target = FakeTarget(lambda name: fail(error) if name == "i7" else None)
    with pytest.raises(JobFailed, match="To go on: the same command again"):
        run(tmp_path / "cut", target, items=items, concurrency=concurrency)
    kept = {each.item_id for each in journal.read(tmp_path / "cut")[1]}
    assert kept >= {f"i{number}" for number in range(7)}
    assert "i7" not in kept
    second = FakeTarget()
    outcomes = run(tmp_path / "cut", second, items=items, concurrency=concurrency)
    assert kept.isdisjoint(second.asked[: 20 - len(kept)])
    whole = run(tmp_path / "whole", FakeTarget(), items=items, concurrency=concurrency)
    assert [untimed(each) for each in outcomes] == [untimed(each) for each in whole]
    assert {each.session for each in outcomes} == {0, 1}
    assert summarise(items, outcomes).whole == summarise(items, whole).whole


def test_ctrl_c_leaves_what_was_answered_in_the_journal(tmp_path: Path) -> None:
    target = FakeTarget(lambda name: fail(KeyboardInterrupt()) if name == "d2" else None)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, target)
    assert [each.item_id for each in journal.read(tmp_path)[1]] == ["d1", "n", "c", "s"]


def test_a_run_that_is_whole_asks_nothing(tmp_path: Path) -> None:
    first = run(tmp_path, FakeTarget())
    target = FakeTarget()
    assert run(tmp_path, target) == first
    assert target.asked == []


def test_progress_hears_of_each_new_outcome_once(tmp_path: Path) -> None:
    heard: list[str] = []
    run(tmp_path, FakeTarget(), concurrency=4, progress=lambda outcome: heard.append(outcome.item_id))
    assert Counter(heard) == Counter(["d1", "n", "c", "s", "d2", "d1", "c", "d2"])


@pytest.mark.parametrize("left", [0, 1, 10, 200])
def test_a_journal_whose_last_line_is_cut_goes_on_with_the_lines_before(tmp_path: Path, left: int) -> None:
    whole = run(tmp_path, FakeTarget())
    path = tmp_path / journal.NAME
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:4]) + lines[4][:left])
    target = FakeTarget()
    again = run(tmp_path, target)
    assert target.asked == ["s", "d2", "d1", "choice", "d2"]
    assert [untimed(each) for each in again] == [untimed(each) for each in whole]
    assert {untimed(each) for each in journal.read(tmp_path)[1]} == {untimed(each) for each in whole}


def test_a_journal_cut_in_its_first_line_begins_anew(tmp_path: Path) -> None:
    (tmp_path / journal.NAME).write_bytes(b'{"journal_version": 1, "sett')
    assert len(run(tmp_path, FakeTarget())) == 8


def test_another_run_s_folder_is_refused_with_what_differs(tmp_path: Path) -> None:
    run(tmp_path, FakeTarget())
    before = (tmp_path / journal.NAME).read_bytes()
    other = Settings(data="set", data_sha256="0" * 64, target="another", readout="letters")
    with pytest.raises(Refused) as refusal:
        Journal(tmp_path, other)
    assert "target: 'fake' there, 'another' now\n  readout: None there, 'letters' now" in str(refusal.value)
    assert "data" not in str(refusal.value)
    assert (tmp_path / journal.NAME).read_bytes() == before


def test_a_run_goes_on_with_another_concurrency_and_each_outcome_says_its_own(tmp_path: Path) -> None:
    first = FakeTarget(lambda name: fail(DecisionError("x", "y", status=401)) if len(first.asked) == 4 else None)
    with pytest.raises(JobFailed):
        run(tmp_path, first)
    with Journal(tmp_path, replace(SETTINGS, concurrency=3)) as kept:
        outcomes = ask_all(
            ITEMS, FakeTarget(), concurrency=3, reversed_too=False, readout=None, prompt_version=None, journal=kept,
            progress=lambda outcome: None,
        )  # fmt: skip
    assert {each.item_id: each.concurrency for each in outcomes} == {"d1": 1, "n": 1, "c": 1, "s": 3, "d2": 3}
    assert [each.concurrency for each in journal.read(tmp_path)[1]][:3] == [1, 1, 1]


def test_a_journal_that_does_not_say_how_many_were_asked_at_once_had_its_settings(tmp_path: Path) -> None:
    run(tmp_path, FakeTarget())
    path = tmp_path / journal.NAME
    path.write_bytes(
        path.read_bytes().replace(b',"concurrency":1', b"").replace(b'"concurrency": 1', b'"concurrency": 7')
    )
    assert {each.concurrency for each in journal.read(tmp_path)[1]} == {7}


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/evaluation"])
def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match=r"nothing was asked\. Remedy: --out with a folder that can be written"):
        Journal(tmp_path / place, SETTINGS)


def test_a_journal_that_can_no_longer_be_written_says_that_what_is_there_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    target = FakeTarget(lambda name: monkeypatch.setattr("os.fsync", full) if name == "choice" else None)
    with pytest.raises(JobFailed, match="No space left on device\nWhat was answered before is kept"):
        run(tmp_path, target)


def test_two_processes_do_not_write_to_one_folder(tmp_path: Path) -> None:
    with Journal(tmp_path, SETTINGS), pytest.raises(Refused, match="another evaluation writes there now"):
        Journal(tmp_path, SETTINGS)
    Journal(tmp_path, SETTINGS).__exit__(None, None, None)


def test_a_line_that_no_journal_has_is_refused_with_its_number(tmp_path: Path) -> None:
    run(tmp_path, FakeTarget())
    path = tmp_path / journal.NAME
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b'{"item_id": 1}\n', *lines[2:]]))
    with pytest.raises(Refused, match="line 3: cannot be read"):
        Journal(tmp_path, SETTINGS)
    path.write_bytes(b"something else\n")
    with pytest.raises(Refused, match="line 1: no journal of an evaluation"):
        Journal(tmp_path, SETTINGS)


def untimed(outcome: Outcome) -> tuple[object, ...]:
    return (outcome.item_id, outcome.order, outcome.answer, outcome.error)


def void(value: object) -> None:
    """Of no use to who asks."""


def fail(error: BaseException) -> None:
    raise error
