"""Characters that the model's vocabulary cannot spell: refused by a code of their own, at the right place (contract 8).

SmolLM2's vocabulary has no tokens for the first byte of U+40000 to U+BFFFF.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.fixtures import models
from tests.serving.server import SERVE, Server, decision

CANNOT, CAN = "\U00040000", "\U0001f642"


@pytest.fixture(scope="module", params=["letters", "likelihood"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"DECISION_MODEL_PATH": str(models.smollm2_q8_0()), "DECISION_READOUT": request.param}
    with Server(SERVE, tmp_path_factory.mktemp("unspellable"), settings) as started:
        yield started


def options(text: str) -> list[dict[str, str]]:
    return [{"id": "a", "description": "First."}, {"id": "b", "description": text}]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"state": f"x {CANNOT}"}, "decision.state"),
        ({"state": {"key " + CANNOT: 1}}, "decision.state"),
        ({"question": f"Which {CANNOT}?"}, "decision.question"),
        ({"options": options(f"x {CANNOT}")}, "decision.options"),
    ],
)
def test_a_decision_is_refused_at_the_field_that_holds_the_character(
    server: Server, changes: dict[str, Any], field: str
) -> None:
    told = server.ask({"decision": decision(**changes)})
    assert (told.status, told.json["code"], told.json["field"]) == (400, "unspellable_text", field)
    assert "cannot spell U+40000;" in told.json["error"]


def test_other_astral_characters_are_read_and_ids_may_hold_any(server: Server) -> None:
    assert server.ask({"decision": decision(id=CANNOT, state=f"x {CAN}")}).status == 200


def test_many_characters_are_counted_and_the_first_are_named(server: Server) -> None:
    text = "".join(chr(0x40000 + number) for number in range(5)) * 2
    told = server.ask({"decision": decision(state=text)}).json
    assert "cannot spell U+40000, U+40001, U+40002 and 2 more;" in told["error"]


def test_system_one_is_told_by_path_with_its_own_status(server: Server) -> None:
    question = {"type": "noul", "instructions": f"Is it {CANNOT}?"}
    told = server.ask({"model": "jev-latest", "state": "s", "questions": {"q": question}}, "/v1/systemone")
    assert told.status == 422
    assert told.json["detail"][0]["loc"] == ["body", "questions", "q", "instructions"]
    assert told.json["detail"][0]["type"] == "unspellable_text"


def test_an_openai_question_s_instructions_are_named(server: Server) -> None:
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="any", max_retries=0)
    with client, pytest.raises(openai.BadRequestError, match=r"U\+40000") as caught:
        client.decisions.create(
            model="jev-latest", input="s", questions=[{"type": "predicate", "instructions": f"It is {CANNOT}."}]
        )
    assert (caught.value.code, caught.value.param) == ("unspellable_text", "questions[0].instructions")


def test_a_message_of_a_chat_is_refused_so_too(server: Server) -> None:
    told = server.ask({"messages": [{"role": "user", "content": CANNOT}], "max_tokens": 1})
    assert told.status == 400
    assert (told.json["error"]["code"], told.json["error"]["param"]) == ("unspellable_text", "messages")
    assert "U+40000" in told.json["error"]["message"]
