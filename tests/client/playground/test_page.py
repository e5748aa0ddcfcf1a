"""The page in headless Chromium, in front of a real server with a model."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from tests.client.playground.browser import needs_chromium, resize
from tests.client.playground.page import Page
from tests.serving.server import Server

pytestmark = needs_chromium

QUEUES = [
    {"id": "account", "description": "Account access."},
    {"id": "billing", "description": "Billing and payment."},
]
ROUTING = {"type": "choice", "state": "The invoice was paid twice.", "question": "Which queue?", "options": QUEUES}
CONTRAST = Path(__file__).with_name("contrast.js").read_text()


def result(server: Server, **decision: Any) -> dict[str, Any]:
    answer = server.ask({"decision": {"id": "d", **decision}}, "/v1/decisions")
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json["result"]
    return found


def routing(**changes: Any) -> dict[str, Any]:
    return {"state": ROUTING["state"], "question": ROUTING["question"], "options": QUEUES, **changes}


def test_a_first_visit_shows_an_example_with_its_answer(page: Page) -> None:
    assert page.text("#general-error") == ""
    assert set(page.bars()) == {"account_access", "billing", "sales"}


def test_bars_are_the_servers_probabilities_to_the_last_bit_and_sum_to_1(page: Page, server: Server) -> None:
    page.load(**ROUTING)
    told = result(server, **routing())
    assert list(page.bars().values()) == told["probabilities"]
    assert math.fsum(page.bars().values()) == pytest.approx(1, abs=1e-9)
    track = float(page.one(".track").value_of_css_property("width").removesuffix("px"))
    page.until("document.getAnimations().length === 0")
    widths = [float(bar.value_of_css_property("width").removesuffix("px")) for bar in page.all(".fill")]
    assert widths == pytest.approx([track * p for p in told["probabilities"]], abs=0.5)


def test_a_decision_is_made_by_keyboard_alone(page: Page, server: Server) -> None:
    page.tab_to("state")
    page.press("a", holding=Keys.CONTROL)
    page.press("The chair came with a crack.")
    page.tab_to("question")
    page.press("a", holding=Keys.CONTROL)
    page.press("What is it about?")
    page.press("a", holding=Keys.ALT)
    page.press("Damaged goods.")
    page.press(Keys.ARROW_UP, holding=Keys.ALT)
    page.press(Keys.ARROW_UP, holding=Keys.ALT)
    page.press(Keys.ENTER, holding=Keys.CONTROL)
    page.settled()
    ids = ["account_access", "option_4", "billing", "sales"]
    assert list(page.bars()) == ids
    told = result(
        server,
        state="The chair came with a crack.",
        question="What is it about?",
        options=[
            {"id": "account_access", "description": "Account access and authentication support."},
            {"id": "option_4", "description": "Damaged goods."},
            {"id": "billing", "description": "Billing and payment support."},
            {"id": "sales", "description": "Sales and product evaluation."},
        ],
    )
    assert list(page.bars().values()) == told["probabilities"]
    page.press(Keys.DELETE, holding=Keys.ALT)
    page.settled()
    assert list(page.bars()) == ["account_access", "billing", "sales"]
    page.press("r", holding=Keys.ALT)
    assert page.focused() == "answers"
    page.press("?")
    assert page.one("#help").is_displayed()
    page.press(Keys.ESCAPE)
    assert not page.one("#help").is_displayed()


def test_tab_reaches_every_control_and_shows_where_it_is(page: Page) -> None:
    page.load(**ROUTING, compare=True)
    controls = """const all = [...document.querySelectorAll('button, input, select, textarea, summary')];
        return all.filter((one) => one.checkVisibility() && !one.disabled && !(one.type === 'radio' && !one.checked))"""
    missing = set(page.script(controls))
    page.script("document.activeElement.blur()")
    shown = """const one = arguments[0].type === 'radio' ? arguments[0].nextElementSibling : arguments[0];
        return getComputedStyle(one).outlineStyle"""
    for _ in range(2 * len(missing)):
        page.press(Keys.TAB)
        here = page.driver.switch_to.active_element
        if here in missing:
            assert page.script(shown, here) == "solid", here.get_attribute("outerHTML")
            missing.remove(here)
    assert [one.get_attribute("outerHTML") for one in missing] == []


def test_every_control_has_a_name_for_screen_readers(page: Page) -> None:
    page.load(**ROUTING, compare=True)
    controls = [one for one in page.all("button, input, select, textarea") if one.is_displayed()]
    assert [one.get_attribute("outerHTML") for one in controls if not one.accessible_name.strip()] == []


def test_the_answer_is_told_to_screen_readers_in_a_sentence(page: Page) -> None:
    page.load(**ROUTING)
    best = max(page.bars(), key=page.bars().__getitem__)
    assert page.one("#spoken").get_attribute("aria-live") == "polite"
    assert page.text("#spoken") == f"{best}, {100 * page.bars()[best]:.1f} %."


def test_a_second_question_shows_which_tokens_came_from_the_cache(page: Page) -> None:
    page.load(**ROUTING | {"state": "A state that was never asked about: " + "The order was sent on Monday. " * 8})
    page.write("#question", "Is it about money?")
    cached = int(page.fact("from cache").split()[0])
    assert cached > 50
    chips = page.all("#prompts [data-name='0-0'] > .chips .chip")
    marked = ["cached" in str(chip.get_attribute("class")) for chip in chips]
    assert marked == [True] * cached + [False] * (len(chips) - cached)
    assert len(chips) == int(page.fact("input tokens"))


def test_the_prompt_is_the_one_that_was_answered(page: Page, server: Server) -> None:
    page.load(**ROUTING)
    told = result(server, **routing())
    assert page.text("[data-matches]").endswith(f"sha256 {told['prompt_sha256'][:12]}…")
    assert json.dumps(ROUTING["state"]) in page.prompt()
    assert [chip.text for chip in page.all("[data-name='0-options'] .chip")] == ["A", "B"]


def test_by_likelihood_the_options_texts_and_the_prompt_without_evidence_are_shown(page: Page) -> None:
    page.load(**ROUTING, sides=[{"readout": "likelihood", "version": ""}, {"readout": "", "version": ""}])
    baseline = page.text("#prompts [data-kind='baseline'] .prompt-text")
    assert '{"evidence": "N/A", "criterion": "Which queue?"}' in baseline
    spelled = [
        "".join(
            str(chip.get_property("textContent"))
            for chip in page.all(f"[data-name='0-options'] [data-option='{option['id']}'] .chip")
        )
        for option in QUEUES
    ]
    assert spelled == [option["description"].replace(" ", "·") for option in QUEUES]


def test_by_rotations_every_prompt_is_shown_and_no_token_is_called_cached(page: Page) -> None:
    page.load(**ROUTING, sides=[{"readout": "letters-rotated", "version": ""}, {"readout": "", "version": ""}])
    titles = [one.text.split(" · ")[0] for one in page.all("#prompts [data-kind='rotation'] > summary")]
    assert titles == ["Prompt 1, options as account, billing", "Prompt 2, options as billing, account"]
    assert page.all("#prompts .chip.cached") == []
    assert "of all 2 prompts came from the cache" in page.text("#prompts")


def test_two_readouts_stand_side_by_side_each_with_its_own_answer(page: Page, server: Server) -> None:
    page.load(**ROUTING)
    page.press("c", holding=Keys.ALT)
    page.settled()
    for side, readout in enumerate(("letters", "likelihood")):
        told = result(server, **routing(readout=readout))
        assert page.one(f".answer[data-side='{side}']").get_attribute("data-readout") == readout
        assert list(page.bars(side).values()) == told["probabilities"]
    a, b = page.bars(0)["account"], page.bars(1)["account"]
    shown = page.one(".answer[data-side='1'] tr[data-option='account'] td:last-child").text
    assert float(shown.removesuffix(" pp").replace("−", "-")) == pytest.approx(100 * (b - a), abs=0.051)


def test_two_readouts_have_bars_of_one_scale_and_names_in_one_piece(page: Page) -> None:
    """At the width that the browser begins with."""
    names = {"account": "account_access", "billing": "billing_questions"}
    options = [{"id": names[each["id"]], "description": each["description"]} for each in QUEUES]
    page.load(
        **ROUTING | {"options": options},
        compare=True,
        sides=[{"readout": "letters", "version": ""}, {"readout": "likelihood", "version": ""}],
    )
    sides = [one.rect for one in page.all(".answer")]
    assert sides[0]["y"] == sides[1]["y"]  # beside each other
    widths = {track.rect["width"] for track in page.all(".answer .track")}
    assert len(page.all(".answer .track")) == 4
    assert len(widths) == 1, widths
    lines = """
        return [...document.querySelectorAll(".answer tbody th")].map((cell) => {
            const range = document.createRange();
            range.selectNodeContents(cell.firstChild);
            return range.getClientRects().length;
        })"""
    assert page.script(lines) == [1, 1, 1, 1]


@pytest.mark.parametrize("name", ["constructor", "toString", "other"])
def test_a_setup_with_a_part_that_is_none_is_not_loaded(page: Page, name: str) -> None:
    page.one("#open-setup").click()
    page.script("document.querySelector('#setup-text').value = arguments[0]", json.dumps({name: "x"}))
    page.one("#load-setup").click()
    assert page.text("#setup-error") == f"This is no setup: {name}: not a part of a setup"
    page.one("#close-setup").click()


def test_yes_or_no_and_scores_are_asked_as_system_one_with_the_logits_of_the_same_prompt(
    page: Page, server: Server
) -> None:
    page.load(type="noul", state="Paid twice.", question="Is a refund due?", yes="It is due.")
    question = {"type": "noul", "instructions": "Is a refund due?", "criteria": {"true": "It is due."}}
    told = system_one(server, "Paid twice.", question)
    assert page.bars() == {"yes": told["noul"], "no": 1 - told["noul"]}
    logit = page.one("tr[data-option='yes'] td:last-child").get_attribute("title")
    descriptions = [{"id": "yes", "description": "Yes. It is due."}, {"id": "no", "description": "No."}]
    same = result(server, state="Paid twice.", question="Is a refund due?", options=descriptions)
    assert (float(str(logit)), told["x_prompt_sha256"]) == (same["option_logits"][0], same["prompt_sha256"])

    page.load(type="score", state="Paid twice.", question="", levels=["Low.", "Middle.", "High."])
    told = system_one(server, "Paid twice.", {"type": "score", "criteria": ["Low.", "Middle.", "High."]})
    assert page.bars() == told["probabilities"]
    assert page.fact("expected level") == f"{told['score']:.3f}"
    assert page.text("[data-matches]").endswith(f"sha256 {told['x_prompt_sha256'][:12]}…")


def test_a_yes_or_no_question_is_read_as_chosen(page: Page, server: Server) -> None:
    sides = [{"readout": "likelihood", "version": ""}, {"readout": "letters", "version": "criterion-first-v1"}]
    page.load(type="noul", state="Paid twice.", question="Is a refund due?", compare=True, sides=sides)
    shown = [page.one(f".answer[data-side='{side}']") for side in (0, 1)]
    read = [(one.get_attribute("data-readout"), one.get_attribute("data-version")) for one in shown]
    assert read == [("likelihood", "likelihood-v1"), ("letters", "criterion-first-v1")]
    question = {"type": "noul", "instructions": "Is a refund due?"}
    for side, (readout, version) in enumerate(read):
        told = system_one(server, "Paid twice.", question, x_readout=readout, x_prompt_version=version)
        assert page.bars(side)["yes"] == told["noul"]


def system_one(server: Server, state: str, question: dict[str, Any], **more: Any) -> dict[str, Any]:
    body = {"model": "jev-latest", "state": state, "questions": {"q": question}, **more}
    told: dict[str, Any] = server.ask(body, "/v1/systemone").json["answers"]["q"]
    return told


def test_json_goes_to_the_model_as_it_was_typed(page: Page) -> None:
    page.load(**ROUTING | {"stateFormat": "json", "state": '{"b": 12345678901234567890, "2": 1, "1": 2}'})
    assert '{"evidence": {"b": 12345678901234567890, "2": 1, "1": 2}' in page.prompt()


@pytest.mark.parametrize(
    ("changes", "message", "control"),
    [
        ({"state": ""}, "#state-error", "#state"),
        ({"stateFormat": "json", "state": "{"}, "#state-error", "#state"),
        ({"stateFormat": "json", "state": '{"a": 1, "a": 2}'}, "#state-error, #general-error", None),
        ({"question": ""}, "#question-error", "#question"),
        ({"options": [QUEUES[0], {"id": "b", "description": ""}]}, "#row-1-error", "[data-index='1'] .text"),
        ({"options": [{"id": "", "description": "x"}, QUEUES[1]]}, "#row-0-error", "[data-index='0'] .id"),
        ({"options": QUEUES[:1]}, "#options-error", None),
        ({"type": "score", "levels": ["low", ""]}, "#row-1-error", "[data-index='1'] .text"),
        ({"type": "noul", "question": ""}, "#question-error", "#question"),
        (
            {"sides": [{"readout": "likelihood", "version": "direct-options-v1"}, {"readout": "", "version": ""}]},
            "#side-0-error",
            "#version-0",
        ),
    ],
)
def test_an_error_stands_beside_the_field_that_it_names(
    page: Page, changes: dict[str, Any], message: str, control: str | None
) -> None:
    page.load(**ROUTING | changes)
    assert any(one.text for one in page.all(message))
    assert len([one for one in page.all(".error") if one.text]) == 1
    if control is not None:
        assert page.one(control).get_attribute("aria-invalid") == "true"
    assert page.text("#spoken").startswith("Error: ")
    page.load(**ROUTING)
    assert [one.text for one in page.all(".error") if one.text] == []
    assert page.all("[aria-invalid]") == []


def test_an_error_of_the_second_readout_stands_beside_the_second(page: Page) -> None:
    sides = [{"readout": "letters", "version": ""}, {"readout": "letters", "version": "likelihood-v1"}]
    page.load(**ROUTING, compare=True, sides=sides)
    assert page.text("#side-1-error")
    assert page.text("#side-0-error") == ""


def test_what_a_person_writes_is_shown_and_never_run(page: Page) -> None:
    evil = '<script>window.ran = 1</script><img src=x onerror="window.ran = 1">'
    options = [{"id": evil, "description": evil}, {"id": "b", "description": "B"}]
    for kind in ({"options": options}, {"type": "noul", "yes": evil}, {"type": "score", "levels": [evil, "b"]}):
        page.load(**ROUTING | {"state": evil, "question": evil} | kind)
        assert json.dumps(evil) in page.prompt()
        assert page.script("return document.querySelectorAll('img, main script').length") == 0
        assert page.script("return window.ran === undefined")
    page.load(**{evil: 1})
    assert evil in page.text("#setup-error")
    assert page.script("return document.querySelectorAll('img, dialog script').length") == 0
    page.one("#close-setup").click()


def test_what_is_filled_in_comes_back_after_a_reload_and_as_a_setup(page: Page) -> None:
    page.load(**ROUTING, compare=True)
    bars = page.bars(1)
    page.open()
    assert page.one("#state").get_property("value") == ROUTING["state"]
    assert page.bars(1) == bars
    page.one("#open-setup").click()
    setup = json.loads(str(page.one("#setup-text").get_property("value")))
    page.one("#close-setup").click()
    assert (setup["options"], setup["compare"]) == (QUEUES, True)


def test_what_is_no_setup_is_refused_with_what_is_wrong(page: Page) -> None:
    page.one("#open-setup").click()
    page.script("document.querySelector('#setup-text').value = '{\"type\": \"maybe\"}'")
    page.one("#load-setup").click()
    assert page.text("#setup-error").startswith('This is no setup: type: "maybe"; one of "choice"')
    page.one("#close-setup").click()


def test_every_example_gets_an_answer(page: Page) -> None:
    for example in [one.get_attribute("value") for one in page.all("#example option")]:
        page.choose("#example", str(example))
        assert [one.text for one in page.all(".error") if one.text] == [], example
        assert math.fsum(page.bars().values()) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_its_ground(page: Page, scheme: str) -> None:
    page.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    page.load(
        **ROUTING, compare=True, sides=[{"readout": "letters", "version": ""}, {"readout": "likelihood", "version": ""}]
    )
    page.until("document.getAnimations().length === 0")
    assert page.script(CONTRAST) == []
    page.load(**ROUTING | {"question": ""})
    page.until("document.getAnimations().length === 0")
    assert page.script(CONTRAST) == []


def test_at_a_phones_width_nothing_sticks_out(page: Page) -> None:
    resize(page.driver, 390, 844)
    try:
        for example in [one.get_attribute("value") for one in page.all("#example option")]:
            page.choose("#example", str(example))
            assert page.script("return document.documentElement.scrollWidth") == 390, example
        page.load(
            **ROUTING | {"state": "long" * 200, "options": [{"id": "i" * 90, "description": "d" * 300}, QUEUES[0]]},
            compare=True,
        )
        assert page.script("return document.documentElement.scrollWidth") == 390
        page.one("#open-help").click()
        assert page.script("return document.documentElement.scrollWidth") == 390
        page.press(Keys.ESCAPE)
    finally:
        resize(page.driver, 1280, 900)
