"""Files of labelled decisions: each kind of line, CSV, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from client.decisions import Choice, Decision, Noul, Score
from client.errors import Refused
from client.evaluation.items import Item, read, read_set

ROOT = Path(__file__).resolve().parents[3]
JEVBENCH = ROOT.parent / "shared" / "jevbench" / "original.jsonl"
OURS = ROOT / "evaluation_sets"
DECISION = {
    "id": "d1",
    "state": {"order": 3},
    "question": "Which team?",
    "options": [{"id": "b", "description": "Billing"}, {"id": "a", "description": "Access"}],
}

QUESTION = {"type": "score", "instructions": None, "criteria": ["low", "high"]}


def lines(folder: Path, *told: Any, name: str = "set.jsonl") -> Path:
    path = folder / name
    path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in told))
    return path


def one(folder: Path, told: Any) -> Item:
    (found,) = read(lines(folder, told))
    return found


def jevbench(kind: str, criteria: object, expected: object, **more: object) -> dict[str, object]:
    return {
        "id": "j",
        "state": "s",
        "question": {"type": kind, "instructions": "Which?", "criteria": criteria},
        "expected": expected,
        "family": "routing",
        "group": "g",
        "split": "public",
        **more,
    }


def test_a_decision_with_its_answer_is_an_item(tmp_path: Path) -> None:
    found = one(tmp_path, {**DECISION, "expected": "a", "family": "teams", "language": "de", "readout": "letters"})
    assert isinstance(found.question, Decision)
    assert (found.id, found.state, found.expected, found.family) == ("d1", {"order": 3}, "a", "teams")
    assert (found.language, found.group, found.option_ids, found.question_type) == ("de", None, ("b", "a"), "choice")
    assert (found.question.readout, found.question.options[0].description) == ("letters", "Billing")
    assert one(tmp_path, {"decision": DECISION, "expected": "b"}).expected == "b"


def test_a_question_in_the_form_of_system_one_is_an_item(tmp_path: Path) -> None:
    choice = one(tmp_path, jevbench("choice", {"z": "Last", "a": None}, "a", labels=["a", "z"]))
    assert choice.question == Choice(instructions="Which?", options={"z": "Last", "a": None})
    assert choice.option_ids == ("z", "a")
    noul = one(tmp_path, jevbench("noul", {"true": "It is", "false": "It is not"}, "no"))
    assert noul.question == Noul(instructions="Which?", true="It is", false="It is not")
    assert (noul.option_ids, noul.question_type) == (("yes", "no"), "noul")
    score = one(tmp_path, jevbench("score", ["low", "high"], 1))
    assert score.question == Score(instructions="Which?", levels=("low", "high"))
    assert (score.expected, score.option_ids, score.question_type) == ("1", ("0", "1"), "score")


def test_a_cut_stays_with_its_question(tmp_path: Path) -> None:
    decision = one(tmp_path, {**DECISION, "expected": "a", "abstain_below": 0.7}).question
    assert decision.abstain_below == 0.7
    told = jevbench("score", ["low", "high"], 1)
    told["question"] = {**QUESTION, "x_abstain_below": 0.6}
    assert one(tmp_path, told).question.abstain_below == 0.6
    told["question"] = {**QUESTION, "x_abstain_below": 2}
    with pytest.raises(Refused, match=r"question\.x_abstain_below: 2; a number above 0, up to 1, is needed"):
        one(tmp_path, told)


@pytest.mark.parametrize(("told", "read_as"), [("yes", "yes"), (True, "yes"), (False, "no")])
def test_a_noul_s_answer_may_be_a_boolean(tmp_path: Path, told: object, read_as: str) -> None:
    assert one(tmp_path, jevbench("noul", None, told)).expected == read_as


def test_a_request_of_system_one_is_an_item_for_each_question(tmp_path: Path) -> None:
    questions = {
        "refund": {"type": "noul", "instructions": "Refund?"},
        "anger": {"type": "score", "instructions": None, "criteria": ["calm", "angry"]},
    }
    told = {"id": "r", "model": "m", "state": "s", "questions": questions, "expected": {"refund": True, "anger": 0}}
    found = read(lines(tmp_path, {**told, "group": "g"}))
    assert [(each.id, each.expected, each.group) for each in found] == [
        ("r/refund", "yes", "g/refund"),
        ("r/anger", "0", "g/anger"),
    ]


def test_a_table_s_options_stand_in_columns_or_in_a_cell(tmp_path: Path) -> None:
    path = tmp_path / "set.csv"
    path.write_text(
        "\ufeffid,state,question,expected,type,options,option:a,option:b,family,group\n"
        '1,"Two words, quoted",Which?,b,,,First,Second,f,g\n'
        '2,s,Which?,z,,"{""y"": ""Why"", ""z"": ""Zed""}",,,,\n'
        "3,s,So?,yes,noul,,,,,\n"
        '4,s,How?,1,score,"[""low"", ""high""]",,,,\n',
        encoding="utf-8",
    )
    found = read(path)
    assert [each.option_ids for each in found] == [("a", "b"), ("y", "z"), ("yes", "no"), ("0", "1")]
    assert (found[0].state, found[0].family, found[0].group, found[1].family) == ("Two words, quoted", "f", "g", "")


def test_the_name_and_digest_of_a_file_tell_sets_apart(tmp_path: Path) -> None:
    first = read_set(lines(tmp_path, {**DECISION, "expected": "a"}))
    second = read_set(lines(tmp_path, {**DECISION, "expected": "b"}))
    assert (first.name, second.name) == ("set", "set")
    assert first.sha256 != second.sha256


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({**DECISION}, "expected: missing"),
        ({**DECISION, "expected": "c"}, "'c' is none of the options; they are b, a"),
        ({**DECISION, "expected": 1.5}, "a number; the right answer is needed"),
        ({**DECISION, "expected": "a", "famly": "f"}, "famly: not a known field"),
        ({**DECISION, "expected": "a", "family": 3}, "family: a text that is not empty is needed"),
        (jevbench("choice", {"a": "x", "b": "y"}, "a", labels=["a", "c"]), "labels: are not the question's options"),
        (jevbench("choice", {"a": "x"}, "a"), "question.criteria: 1 options; 2 to 255 allowed"),
        (jevbench("vote", {}, "a"), "question.type: 'vote'; known are noul, choice, score"),
        (jevbench("noul", {"yes": "x"}, "yes"), "question.criteria.yes: not a known field"),
        (jevbench("score", ["low"], 0), "a list of 2 to 10 levels"),
        (
            {"id": "r", "state": "s", "questions": {"q": {}}, "expected": {}},
            "expected: an object with the right answer",
        ),
        ({"id": "x", "text": "y"}, "no kind of labelled decision"),
        ("[1]", "a list; an object is needed"),
        ("{", "not JSON"),
    ],
)
def test_a_line_that_is_no_labelled_decision_is_refused_with_its_number(tmp_path: Path, told: Any, why: str) -> None:
    with pytest.raises(Refused, match="1 line is no labelled decision") as refusal:
        read(lines(tmp_path, "", told))
    assert f"line 2: {why}" in str(refusal.value) or why in str(refusal.value)
    assert "line 2" in str(refusal.value)


def test_two_items_of_one_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="line 2: id: 'd1' stands in line 1 too"):
        read(lines(tmp_path, {**DECISION, "expected": "a"}, {**DECISION, "expected": "a"}))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("id,state,question\n", "expected: no such column"),
        ("id,state,question,expected,colour\n", "colour: not a known column"),
        ("id,state,question,expected\n1,s,q\n", "not as many cells"),
        ("id,state,question,expected\n1,s,q,a\n", "options: an object of descriptions by id is needed"),
        ('id,state,question,expected,options\n1,s,q,a,"{"\n', "options: not JSON"),
        ('id,state,question,expected,options,option:a\n1,s,q,a,"{}",x\n', "use one of the two"),
        ("id,state,question,expected\n", "no labelled decision in it"),
    ],
)
def test_a_table_that_is_none_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "set.csv"
    path.write_text(text)
    with pytest.raises(Refused, match=why):
        read(path)


@pytest.mark.parametrize(
    ("written", "read_as"), [("TRUE", "yes"), ("True", "yes"), ("true", "yes"), ("FALSE", "no"), ("no", "no")]
)
def test_a_noul_s_answer_in_a_table_may_be_what_a_spreadsheet_makes_of_a_boolean(
    tmp_path: Path, written: str, read_as: str
) -> None:
    path = tmp_path / "set.csv"
    path.write_text(f"id,state,question,expected,type\n1,s,So?,{written},noul\n")
    assert [each.expected for each in read(path)] == [read_as]


def test_true_is_an_option_s_name_elsewhere_in_a_table(tmp_path: Path) -> None:
    path = tmp_path / "set.csv"
    path.write_text("id,state,question,expected,option:TRUE,option:b\n1,s,Which?,TRUE,It is,It is not\n")
    assert [each.expected for each in read(path)] == ["TRUE"]


@pytest.mark.parametrize(("sign", "word"), [(";", "semicolons"), ("\t", "tabs")])
def test_a_table_of_another_separator_is_told_apart(tmp_path: Path, sign: str, word: str) -> None:
    path = tmp_path / "set.csv"
    path.write_text(sign.join(("id", "state", "question", "expected")) + "\n" + sign.join("1sqa") + "\n")
    with pytest.raises(Refused, match=f"line 1: its columns are parted by {word}; save the table as CSV with commas"):
        read(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be read"):
        read(tmp_path / "none.jsonl")


@pytest.mark.skipif(not JEVBENCH.is_file(), reason="the public tasks are not beside this checkout")
def test_the_public_tasks_are_read_as_they_are() -> None:
    found = read(JEVBENCH)
    assert len(found) == 72
    assert {each.question_type for each in found} == {"choice", "noul", "score"}
    assert len({each.group for each in found}) == 36


def test_the_project_s_own_set_is_read() -> None:
    for path in OURS.glob("*.jsonl"):
        assert len(read(path)) >= 60
