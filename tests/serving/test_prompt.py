"""The prompt's text: contract 3.5, 3.6, 3.7."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decision_server import prompt
from decision_server.model_errors import TooManyOptions
from decision_server.template import frame
from tests.fixtures.tiny_gguf import CHATML_NO_THINKING
from tests.serving.model_side import decision

GOLDEN = "016267542103ab91422c425d2234ec7e1b9aef77f9d3e481b96db2de7cca470a"
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
JSON = st.recursive(SCALARS | TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=8)


def test_the_published_prompt_hash_is_reproduced() -> None:
    rendered = prompt.render(decision(), "ABC", "direct-options-v1")
    around = frame(CHATML_NO_THINKING, system=rendered.system, bos_token="", eos_token="<|im_end|>")
    assert hashlib.sha256(around.around(rendered.user).encode()).hexdigest() == GOLDEN


@given(state=JSON, question=TEXTS, descriptions=st.lists(TEXTS, min_size=2, max_size=16))
def test_the_user_turn_is_plain_json_with_the_keys_in_the_published_order(
    state: str, question: str, descriptions: list[str]
) -> None:
    labels = "ABCDEFGHIJKLMNOP"[: len(descriptions)]
    expected = {
        "evidence": state,
        "criterion": question,
        "options": [{"letter": letter, "description": text} for letter, text in zip(labels, descriptions, strict=True)],
    }
    rendered = prompt.render(decision(state, question, descriptions), labels, "direct-options-v1")
    assert rendered.user == json.dumps(expected, ensure_ascii=False)


@given(state=JSON, first=TEXTS, second=TEXTS)
def test_prompts_of_one_state_are_equal_up_to_the_second_branch_and_all_prompts_up_to_the_first(
    state: str, first: str, second: str
) -> None:
    one = prompt.render(decision(state, first), "ABC", "direct-options-v1")
    other = prompt.render(decision(state, second, ["x", "y"]), "AB", "direct-options-v1")
    different = prompt.render(decision("quite another", first), "ABC", "direct-options-v1")
    assert one.branches == other.branches
    assert one.user[: one.branches[1]] == other.user[: other.branches[1]]
    assert one.user[: one.branches[0]] == different.user[: different.branches[0]]


def test_option_ids_never_reach_the_prompt() -> None:
    rendered = prompt.render(decision(), "ABC", "direct-options-v1")
    assert '"aa"' not in rendered.user


def test_past_sixteen_options_the_prompt_version_says_so() -> None:
    labels = [*"ABCDEFGHIJKLMNOPQ"]
    rendered = prompt.render(decision(descriptions=["x"] * 17), labels, "direct-options-v1-wide")
    assert json.loads(rendered.user)["options"][16] == {"label": "Q", "description": "x"}
    assert rendered.system is not None
    assert "label of one or two uppercase letters" in rendered.system


def test_the_published_version_never_lists_more_than_sixteen_options() -> None:
    with pytest.raises(TooManyOptions, match="17 given; at most 16"):
        prompt.render(decision(descriptions=["x"] * 17), "ABCDEFGHIJKLMNOPQ", "direct-options-v1")


@given(state=JSON, question=TEXTS, descriptions=st.lists(TEXTS, min_size=2, max_size=16))
def test_with_the_criterion_first_the_evidence_stands_last_and_nothing_else_changes(
    state: str, question: str, descriptions: list[str]
) -> None:
    labels = "ABCDEFGHIJKLMNOP"[: len(descriptions)]
    rendered = prompt.render(decision(state, question, descriptions), labels, "criterion-first-v1")
    options = [{"letter": letter, "description": text} for letter, text in zip(labels, descriptions, strict=True)]
    assert rendered.user == json.dumps(
        {"criterion": question, "options": options, "evidence": state}, ensure_ascii=False
    )
    assert rendered.system == prompt.system_turn("direct-options-v1")


@given(first=JSON, second=JSON, question=TEXTS)
def test_with_the_criterion_first_prompts_of_one_question_are_equal_up_to_the_evidence(
    first: str, second: str, question: str
) -> None:
    one = prompt.render(decision(first, question), "ABC", "criterion-first-v1")
    other = prompt.render(decision(second, question), "ABC", "criterion-first-v1")
    assert one.branches == other.branches
    assert one.user[: one.branches[1]] == other.user[: one.branches[1]]
    assert one.user[: one.branches[1]].endswith('"evidence":')
    unlike = prompt.render(decision(first, "quite another?"), "ABC", "criterion-first-v1")
    assert unlike.user[: unlike.branches[0]] == one.user[: one.branches[0]]


def test_with_the_criterion_first_more_than_sixteen_options_are_listed_as_labels() -> None:
    asked = decision(descriptions=["x"] * 17)
    rendered = prompt.render(asked, [*"ABCDEFGHIJKLMNOPQ"], "criterion-first-v1-wide")
    assert json.loads(rendered.user)["options"][16] == {"label": "Q", "description": "x"}
    assert rendered.system == prompt.system_turn("direct-options-v1-wide")
    with pytest.raises(TooManyOptions, match="17 given; at most 16"):
        prompt.render(asked, "ABCDEFGHIJKLMNOPQ", "criterion-first-v1")


@given(state=JSON, other=JSON, question=TEXTS)
def test_the_prompt_of_likelihood_is_evidence_and_criterion_alone(state: str, other: str, question: str) -> None:
    rendered = prompt.render_likelihood(state, question)
    assert rendered.user == json.dumps({"evidence": state, "criterion": question}, ensure_ascii=False)
    assert rendered.system is None
    unlike = prompt.render_likelihood(other, question)
    assert unlike.user[: unlike.branches[0]] == rendered.user[: rendered.branches[0]]
    same_state = prompt.render_likelihood(state, "quite another?")
    assert same_state.user[: same_state.branches[1]] == rendered.user[: rendered.branches[1]]
