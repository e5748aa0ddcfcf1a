"""Answers that come in another order than they were asked for, from a target that says when it answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from selenium import webdriver

from client.playground.target import TargetFacts
from client.transport.exchange import Answer, Request, Whole
from client.transport.failures import Failure
from tests.client.playground.browser import needs_chromium
from tests.client.playground.page import Page
from tests.client.playground.sockets import made_up_answer, served


@dataclass
class Held:
    """Answers with the state as the id of the first option; a state that begins with `slow` waits until released."""

    name: str = "held"
    asked: list[str] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)
    released: threading.Event = field(default_factory=threading.Event)
    answered: list[str] = field(default_factory=list)

    def send(self, request: Request, *, timeout: float) -> Answer:
        state = json.loads(request.body)["decision"]["state"]
        self._note(self.asked, state)
        if state == "gone":
            raise Failure("unreachable", "held: the connection broke")
        if state.startswith("slow"):
            self.released.wait(30)
        body = made_up_answer()
        body["result"]["option_ids"][0] = state
        self._note(self.answered, state)
        return Whole(status=200, body=json.dumps(body).encode())

    def close(self) -> None: ...

    def until(self, noted: list[str], state: str) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: state in noted, 30), noted

    def _note(self, noted: list[str], state: str) -> None:
        with self.changed:
            noted.append(state)
            self.changed.notify_all()


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
def page(held: Held, driver: webdriver.Chrome) -> Iterator[Page]:
    facts = TargetFacts(kind="url", name="held", models=("m",), no_prompts="Not here.", url="http://127.0.0.1:1")
    with served(held, facts) as url:
        try:
            yield Page(driver=driver, url=url).open()
        finally:
            held.released.set()


# Counts the requests whose end the page has been told. None can be given up: an answer may be on its way already when
# the page gives its request up, and only then does the page have to know by itself that it is an older one.
COUNTED = """
window.asked = 0; window.ended = 0;
const fetched = window.fetch, read = Response.prototype.json;
window.fetch = (path, { signal, ...given } = {}) => { window.asked += 1; return fetched(path, given); };
const later = () => setTimeout(() => { window.ended += 1; });
Response.prototype.json = function () { return read.call(this).finally(later); };
"""


@needs_chromium
def test_an_older_answer_never_overwrites_a_newer_one(page: Page, held: Held) -> None:
    page.script(COUNTED)
    state = page.one("#state")
    state.clear()
    state.send_keys("slow")
    held.until(held.asked, "slow")
    state.clear()
    state.send_keys("quick")
    page.settled()
    assert next(iter(page.bars())) == "quick"
    held.released.set()
    held.until(held.answered, "slow")
    page.until("window.asked >= 2 && window.ended === window.asked")
    assert next(iter(page.bars())) == "quick"


@needs_chromium
def test_what_is_shown_while_a_newer_question_is_open_says_that_it_is_old(page: Page, held: Held) -> None:
    state = page.one("#state")
    state.clear()
    state.send_keys("slow")
    held.until(held.asked, "slow")
    assert "stale" in str(page.one("#answers").get_attribute("class"))
    held.released.set()
    page.settled()
    assert "stale" not in str(page.one("#answers").get_attribute("class"))


@needs_chromium
def test_why_prompts_cannot_be_shown_is_said(page: Page) -> None:
    assert page.text("#prompts") == "Not here."


@needs_chromium
def test_an_answer_that_never_came_is_an_error_in_words_and_not_a_silence(page: Page) -> None:
    page.write("#state", "gone")
    assert page.text("#general-error") == "held: the connection broke"
