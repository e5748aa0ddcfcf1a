"""One decision → one task, with all that its answer will say about it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from decision_server.engine import LlamaEngine
from decision_server.model_errors import ContextOverflow, StartupFailure, TooManyOptions, UnknownChoice
from decision_server.plans import Likelihood
from decision_server.preparation import Preparer
from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.serving.model_side import QUEUES, decision, loaded, preparer
from tests.serving.test_prompt import GOLDEN


@pytest.fixture(scope="module")
def engine(tiny_llama: Path) -> Iterator[LlamaEngine]:
    with loaded(tiny_llama, n_ctx=4096) as engine:
        yield engine


def test_the_golden_decision_keeps_its_published_hash_through_the_whole_path(engine: LlamaEngine) -> None:
    prepared = preparer(engine).prepare(decision())
    assert prepared.prompt_sha256 == GOLDEN
    assert (prepared.prompt_version, prepared.readout) == ("direct-options-v1", "letters")
    assert [engine.vocabulary.piece(token) for token in prepared.plan.answer_token_ids] == [b"A", b"B", b"C"]
    assert [prepared.input_tokens] == [len(task.tokens) for task in prepared.plan.tasks]


def test_two_hundred_and_fifty_five_options_get_a_label_each_and_the_version_says_so(engine: LlamaEngine) -> None:
    prepared = preparer(engine, n_ctx=8192).prepare(decision(descriptions=[f"n{i}" for i in range(255)]))
    assert prepared.prompt_version == "direct-options-v1-wide"
    assert len(set(prepared.plan.answer_token_ids)) == 255


def test_more_options_than_labels_are_refused_with_both_numbers(engine: LlamaEngine) -> None:
    with pytest.raises(TooManyOptions, match="options: 256 given; at most 255 here"):
        preparer(engine).prepare(decision(descriptions=["x"] * 256))


def test_a_decision_s_own_wishes_win_over_the_settings(engine: LlamaEngine) -> None:
    prepared = preparer(engine).prepare(decision(prompt_version="direct-options-v1-wide"))
    assert prepared.prompt_version == "direct-options-v1-wide"
    assert prepared.prompt_sha256 != GOLDEN


@pytest.mark.parametrize("field", ["readout", "prompt_version"])
def test_an_unknown_wish_is_refused_by_field_and_an_unknown_setting_stops_the_start(
    engine: LlamaEngine, field: str
) -> None:
    asked = decision(readout="v9") if field == "readout" else decision(prompt_version="v9")
    with pytest.raises(UnknownChoice, match=f"{field}: 'v9' is not known") as refused:
        preparer(engine).prepare(asked)
    assert refused.value.field == field
    settings = {"readout": "letters", "prompt_version": "direct-options-v1", field: "v9"}
    with pytest.raises(StartupFailure, match=f"{field}: 'v9' is not known"):
        Preparer(engine.vocabulary, n_ctx=512, **settings)


def test_astral_characters_nul_and_bom_reach_the_model_uncut(engine: LlamaEngine) -> None:
    text = "\ufeffa\x00b 🧭 é é"
    prepared = preparer(engine).prepare(decision(text))
    spelled = b"".join(engine.vocabulary.piece(token) for token in prepared.plan.tasks[0].tokens)
    assert "\ufeffa\\u0000b 🧭 é é".encode() in spelled
    assert hashlib.sha256(spelled).hexdigest() == prepared.prompt_sha256


def test_many_threads_prepare_at_once_as_one_does_alone(engine: LlamaEngine) -> None:
    prepare = preparer(engine).prepare
    asked = [decision(f"state {i} " * 20, f"question {i}?") for i in range(40)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(prepare, asked)) == [prepare(one) for one in asked]


def test_a_model_without_a_chat_template_stops_the_start(tmp_path: Path) -> None:
    path = write_tiny_llama(tmp_path / "bare.gguf", chat_template=None)
    with loaded(path) as engine, pytest.raises(StartupFailure, match=r"no tokenizer\.chat_template"):
        preparer(engine)


def spelled(engine: LlamaEngine, tokens: Sequence[int]) -> bytes:
    return b"".join(engine.vocabulary.piece(token) for token in tokens)


def test_by_likelihood_the_options_are_answers_and_not_part_of_the_prompt(engine: LlamaEngine) -> None:
    prepared = preparer(engine).prepare(decision(readout="likelihood"))
    assert (prepared.readout, prepared.prompt_version, prepared.warnings) == ("likelihood", "likelihood-v1", ())
    plan = prepared.plan
    assert isinstance(plan, Likelihood)
    assert hashlib.sha256(spelled(engine, plan.task.tokens)).hexdigest() == prepared.prompt_sha256
    assert b"Billing" not in spelled(engine, plan.task.tokens)
    texts = [spelled(engine, tokens) for tokens in plan.task.continuations]
    assert [texts[index].decode() for index in plan.text_of_option] == list(QUEUES)
    assert plan.answer_token_ids == tuple(plan.task.continuations[index][0] for index in plan.text_of_option)
    assert prepared.input_tokens == len(plan.task.tokens) + sum(map(len, plan.task.continuations))


def test_the_baseline_of_a_likelihood_has_no_evidence_and_depends_on_question_and_options_alone(
    engine: LlamaEngine,
) -> None:
    prepare = preparer(engine).prepare
    one, other = (prepare(decision(state, readout="likelihood")).plan for state in ("It rains.", ["It", "rains."]))
    turned = prepare(decision(descriptions=QUEUES[::-1], readout="likelihood")).plan
    assert one.baseline is not None
    assert one.baseline == other.baseline == turned.baseline
    assert b'{"evidence": "N/A", "criterion": "Which queue' in spelled(engine, one.baseline.tokens)
    assert one.baseline.continuations == one.tasks[0].continuations
    assert prepare(decision("N/A", readout="likelihood")).plan.tasks[0] == one.baseline


def test_by_likelihood_options_with_the_same_text_are_one_answer_and_the_caller_is_told(engine: LlamaEngine) -> None:
    prepared = preparer(engine).prepare(decision(descriptions=["Yes.", "No.", "Yes."], readout="likelihood"))
    assert isinstance(prepared.plan, Likelihood)
    assert len(prepared.plan.task.continuations) == 2
    assert prepared.plan.text_of_option[0] == prepared.plan.text_of_option[2]
    (warning,) = prepared.warnings
    assert "'aa' and 'ac' have the same description" in warning


def test_by_likelihood_there_is_no_cap_but_the_contract_s_and_the_context(engine: LlamaEngine) -> None:
    many = preparer(engine).prepare(decision(descriptions=[f"number {i}" for i in range(255)], readout="likelihood"))
    assert len(set(many.plan.answer_token_ids)) >= 1
    assert len(many.plan.tasks[0].continuations) == 255
    asked = decision("s", descriptions=["x", "y" * 300], readout="likelihood")
    length = preparer(engine).prepare(asked).plan.baseline
    assert length is not None
    needed = len(length.tokens) + max(map(len, length.continuations))  # the baseline is the longer one here
    assert preparer(engine, n_ctx=needed).prepare(asked)
    with pytest.raises(ContextOverflow, match=f"has {needed} tokens; the context holds {needed - 1}"):
        preparer(engine, n_ctx=needed - 1).prepare(asked)


def test_rotated_letters_ask_for_each_order_of_the_options_under_the_same_labels(engine: LlamaEngine) -> None:
    prepared = preparer(engine).prepare(decision(readout="letters-rotated"))
    assert (prepared.readout, prepared.prompt_version) == ("letters-rotated", "direct-options-v1")
    prompts = [spelled(engine, task.tokens).decode() for task in prepared.plan.tasks]
    places = [[prompt.index(text) for text in QUEUES] for prompt in prompts]
    assert {tuple(sorted(range(3), key=row.__getitem__)) for row in places} == {(0, 1, 2), (1, 2, 0), (2, 0, 1)}
    assert all(prompt.index('"A"') < prompt.index('"B"') < prompt.index('"C"') for prompt in prompts)
    assert len({task.tokens[: task.shared_lengths[-1]] for task in prepared.plan.tasks}) == 1
    assert prepared.input_tokens == sum(len(task.tokens) for task in prepared.plan.tasks)
    turned = preparer(engine).prepare(decision(descriptions=[*QUEUES[1:], QUEUES[0]], readout="letters-rotated"))
    assert (turned.plan.tasks, turned.prompt_sha256) == (prepared.plan.tasks, prepared.prompt_sha256)


def test_with_the_criterion_first_one_question_over_many_states_shares_all_but_the_state(engine: LlamaEngine) -> None:
    prepare = preparer(engine).prepare
    one, other = (
        prepare(decision(state, prompt_version="criterion-first-v1")).plan.tasks[0]
        for state in ("It rains.", ["dry", "21 °C"])
    )
    length = one.shared_lengths[-1]
    assert one.shared_lengths == other.shared_lengths
    assert one.tokens[:length] == other.tokens[:length]
    assert spelled(engine, one.tokens[:length]).endswith(b'"evidence":')
    wide = prepare(decision(descriptions=["x"] * 17, prompt_version="criterion-first-v1"))
    assert wide.prompt_version == "criterion-first-v1-wide"


@pytest.mark.parametrize("count", [2, 16, 17, 26, 27, 100, 254, 255])
def test_letters_answer_any_allowed_number_of_options(engine: LlamaEngine, count: int) -> None:
    prepared = preparer(engine, n_ctx=8192).prepare(decision(descriptions=["x"] * count))
    assert len(set(prepared.plan.answer_token_ids)) == count
    assert prepared.prompt_version == ("direct-options-v1" if count <= 16 else "direct-options-v1-wide")


def test_what_is_far_too_long_is_refused_before_its_tokens_are_counted_and_names_the_longest_field(
    tiny_llama: Path,
) -> None:
    with loaded(tiny_llama, n_ctx=512) as engine:
        prepare = preparer(engine).prepare
        for readout in ("letters", "likelihood"):
            for field, asked in (
                ("state", decision("word " * 200_000, readout=readout)),
                ("question", decision(question="word " * 200_000, readout=readout)),
                ("options", decision(descriptions=("word " * 200_000, "b"), readout=readout)),
            ):
                with pytest.raises(ContextOverflow, match=r"at least \d+ tokens; the context holds 512") as refused:
                    prepare(asked)
                assert refused.value.field == field
