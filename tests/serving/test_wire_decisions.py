"""Bytes to typed decisions: what contract 3.1 and 8 let in, and how everything else is named."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decision_server.errors import Refusal
from decision_server.wire.asked import Asked
from decision_server.wire.dialects import Dialect, check_media_type
from decision_server.wire.error_bodies import error_answer
from tests.serving.wire import read_bytes


def decision(**changes: Any) -> dict[str, Any]:
    options = [{"id": "a", "description": "First."}, {"id": "b", "description": "Second."}]
    return {"id": "d", "state": "Some evidence.", "question": "Which?", "options": options} | changes


def read(body: object, max_decisions: int = 64) -> Asked:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read_bytes(raw, max_decisions=max_decisions)


def refusal(body: object, max_decisions: int = 64) -> Refusal:
    with pytest.raises(Refusal) as caught:
        read(body, max_decisions)
    return caught.value


def refused(body: object) -> Refusal | None:
    try:
        read(body)
    except Refusal as error:
        return error
    return None


def test_one_decision_is_read_with_its_options_in_order() -> None:
    asked = read({"decision": decision()})
    assert asked.dialect is Dialect.DECISION
    assert (asked.place(0, None), asked.place(0, "state")) == (("decision",), ("decision", "state"))
    assert [option.id for option in asked.decisions[0].options] == ["a", "b"]
    assert asked.decisions[0].readout is None


def test_several_decisions_are_read_in_order_with_their_places() -> None:
    asked = read({"decisions": [decision(id="x"), decision(id="y", readout="letters", state={"k": [1, None]})]})
    assert [item.id for item in asked.decisions] == ["x", "y"]
    assert [asked.place(index, "options") for index in (0, 1)] == [
        ("decisions", 0, "options"),
        ("decisions", 1, "options"),
    ]
    assert asked.decisions[1].readout == "letters"
    assert asked.decisions[1].state == {"k": [1, None]}


def test_ids_that_differ_only_by_normalisation_are_different_ids() -> None:
    options = [{"id": "é", "description": "one"}, {"id": "e\u0301", "description": "two"}]
    assert [option.id for option in read({"decision": decision(options=options)}).decisions[0].options] == [
        "é",
        "e\u0301",
    ]


def test_astral_characters_nul_and_an_inner_byte_order_mark_are_kept() -> None:
    state = "\U0001f600\x00\ufeffend"
    assert read({"decision": decision(state=state)}).decisions[0].state == state


@pytest.mark.parametrize(
    ("body", "code", "field", "words"),
    [
        (b"", "not_json", None, ["not JSON"]),
        (b"{", "not_json", None, ["line 1"]),
        (b"\xff", "not_json", None, ["UTF-8"]),
        (b"\xef\xbb\xbf{}", "not_json", None, ["byte order mark"]),
        (b"[]", "wrong_type", None, ["a list", "an object"]),
        (b"null", "wrong_type", None, ["null"]),
        (b'{"decision": {"state": {"x": NaN}}}', "not_finite", "decision.state.x", ["nan"]),
        (b'{"decision": {"state": [1, -Infinity]}}', "not_finite", "decision.state[1]", ["inf"]),
        (b'{"decision": {"state": [1e999]}}', "not_finite", "decision.state[0]", ["inf"]),
        (b'{"decisions": [{"id": "a", "id": "b"}]}', "repeated_key", "decisions[0]", ['"id"']),
        (b'{"decision": {"state": "\\ud800"}}', "lone_surrogate", "decision.state", ["U+D800"]),
        (b'{"decision": {"state": {"a\\udc00": 1}}}', "lone_surrogate", "decision.state", ["U+DC00"]),
        (b'{"decision": {"state": [' + b"9" * 5000 + b"]}}", "bad_value", None, ["5000 digits"]),
        ({}, "unknown_dialect", None, ["no keys", "exactly one"]),
        ({"foo": 1, "bar": 2}, "unknown_dialect", None, ["'foo'", "'bar'"]),
        ({"decision": {}, "decisions": []}, "unknown_dialect", None, ["'decision'", "'decisions'", "more than one"]),
        ({"decision": {}, "messages": []}, "unknown_dialect", None, ["'messages'", "more than one"]),
        ({"decision": decision(), "model": "m"}, "unknown_field", "model", ['"model"']),
        ({"decision": 3}, "wrong_type", "decision", ["a number (3)", "an object"]),
        ({"decision": decision(extra=1)}, "unknown_field", "decision.extra", ['"extra"', "remove"]),
        ({"decision": decision(id="")}, "bad_value", "decision.id", ["empty"]),
        ({"decision": decision(id=7)}, "wrong_type", "decision.id", ["a number (7)"]),
        ({"decision": decision(question=None)}, "wrong_type", "decision.question", ["null"]),
        ({"decision": decision(state="")}, "bad_value", "decision.state", ["empty"]),
        ({"decision": decision(state={})}, "bad_value", "decision.state", ["empty"]),
        ({"decision": decision(state=[])}, "bad_value", "decision.state", ["empty"]),
        ({"decision": decision(state=True)}, "wrong_type", "decision.state", ["a boolean"]),
        ({"decision": decision(state=0)}, "wrong_type", "decision.state", ["a number"]),
        ({"decision": decision(readout=None)}, "wrong_type", "decision.readout", ["null"]),
        ({"decision": decision(abstain_below=None)}, "wrong_type", "decision.abstain_below", ["null", "a number"]),
        ({"decision": decision(abstain_below="0.5")}, "wrong_type", "decision.abstain_below", ["a string"]),
        ({"decision": decision(abstain_below=True)}, "wrong_type", "decision.abstain_below", ["a boolean"]),
        ({"decision": decision(abstain_below=0)}, "bad_value", "decision.abstain_below", ["0;", "at most 1"]),
        ({"decision": decision(abstain_below=1.5)}, "bad_value", "decision.abstain_below", ["1.5;", "more than 0"]),
        ({"decision": decision(options={})}, "wrong_type", "decision.options", ["an object"]),
        ({"decision": decision(options="ab")}, "wrong_type", "decision.options", ["a string"]),
        ({"decision": decision(options=[decision()])}, "bad_value", "decision.options", ["1 given", "2 to 255", '"d"']),
        ({"decision": decision(options=[1, 2])}, "wrong_type", "decision.options[0]", ["a number (1)"]),
        ({"decisions": []}, "bad_value", "decisions", ["0 given", "1 to 64"]),
        ({"decisions": {}}, "wrong_type", "decisions", ["an object"]),
        ({"decisions": [decision(id="x"), decision(id="x")]}, "bad_value", "decisions[1].id", ['"x"', "unique"]),
    ],
)
def test_a_bad_body_is_refused_with_code_place_and_reason(
    body: object, code: str, field: str | None, words: list[str]
) -> None:
    error = refusal(body)
    assert (error.code, error.field) == (code, field)
    assert error.status == 400
    assert not error.retryable
    for word in words:
        assert word in error.message


@pytest.mark.parametrize("missing", ["id", "state", "question", "options"])
def test_an_item_without_a_required_field_is_refused_with_its_place(missing: str) -> None:
    item = decision(id="second")
    del item[missing]
    error = refusal({"decisions": [decision(), item]})
    assert (error.code, error.field) == ("missing_field", f"decisions[1].{missing}")


def test_two_hundred_and_fifty_five_options_are_read_and_one_more_is_refused_with_id_count_and_cap() -> None:
    options = [{"id": str(n), "description": str(n)} for n in range(256)]
    assert len(read({"decision": decision(options=options[:255])}).decisions[0].options) == 255
    error = refusal({"decision": decision(options=options)})
    assert error.field == "decision.options"
    assert error.message == 'decision.options: 256 given for decision "d"; 2 to 255 allowed'


def test_a_repeated_option_id_is_refused_with_both_places() -> None:
    options = [{"id": i, "description": "x"} for i in ("a", "b", "a")]
    error = refusal({"decision": decision(options=options)})
    assert error.field == "decision.options[2].id"
    assert "decision.options[0]" in error.message


def test_one_decision_more_than_the_setting_allows_is_refused() -> None:
    items = [decision(id=str(n)) for n in range(4)]
    assert len(read({"decisions": items[:3]}, max_decisions=3).decisions) == 3
    assert "4 given; 1 to 3 allowed" in refusal({"decisions": items}, max_decisions=3).message


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"a":'])
def test_a_hundred_thousand_nested_brackets_are_refused_by_depth(opening: bytes) -> None:
    assert refusal(opening * 100_000).code == "too_deep"


def test_sixty_four_levels_are_read_and_sixty_five_are_refused() -> None:
    def nested(levels: int) -> bytes:  # the body and the decision are two of them
        return json.dumps(
            {"decision": decision(state=json.loads("[" * (levels - 2) + "1" + "]" * (levels - 2)))}
        ).encode()

    assert read(nested(64)).decisions[0].state is not None
    assert refusal(nested(65)).code == "too_deep"


def test_brackets_inside_strings_do_not_count_as_nesting() -> None:
    state = '[{"\\' * 1000
    assert read({"decision": decision(state=state)}).decisions[0].state == state


@settings(deadline=None)  # a busy machine is no fault of the parser
@given(st.binary(max_size=300))
def test_whatever_bytes_come_they_are_read_or_refused(body: bytes) -> None:
    error = refused(body)
    assert error is None or 400 <= error.status < 500


@settings(deadline=None)  # a busy machine is no fault of the parser
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_whatever_stands_in_a_decision_is_read_or_refused_by_place(value: object) -> None:
    for name in ("id", "state", "question", "options"):
        error = refused({"decision": decision(**{name: value})})
        assert error is None or (error.status, (error.field or "")[:8]) == (400, "decision")


@pytest.mark.parametrize(
    "media_type",
    [
        None,
        "",
        "application/json",
        "APPLICATION/JSON",
        "application/json; charset=utf-8",
        "application/octet-stream",
        "text/json",
        "application/problem+json",
    ],
)
def test_json_types_in_any_spelling_octet_streams_and_no_type_are_read(media_type: str | None) -> None:
    check_media_type(media_type, "/invocations")


@pytest.mark.parametrize("media_type", ["text/plain", "application/xml", "text/csv", "multipart/form-data; boundary=x"])
def test_other_media_types_are_refused_by_name(media_type: str) -> None:
    with pytest.raises(Refusal) as caught:
        check_media_type(media_type, "/invocations")
    assert caught.value.status == 415
    assert media_type.split(";")[0] in caught.value.message


def test_an_error_body_holds_every_field_of_the_contract_and_the_retry_hint_twice() -> None:
    told = Refusal("queue_full", "5 are waiting", retry_after_seconds=7)
    answer = error_answer(told, "r1", None)
    assert json.loads(answer.body) == {
        "error": "5 are waiting",
        "code": "queue_full",
        "field": None,
        "retryable": True,
        "retry_after_seconds": 7,
        "request_id": "r1",
    }
    assert answer.headers["Retry-After"] == "7"
    assert "retry_after_seconds" not in json.loads(error_answer(refusal({}), "r2", None).body)


def test_a_retry_hint_on_an_error_that_no_retry_helps_is_a_fault_of_ours() -> None:
    with pytest.raises(ValueError, match="no retry helps"):
        Refusal("bad_value", "x", retry_after_seconds=1)
