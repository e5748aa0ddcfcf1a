"""One real server with a tiny model, one playground in front of it and one browser for all tests of the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver

from tests.client.playground.browser import asked_for, chromium, console
from tests.client.playground.page import Page
from tests.client.playground.process import Playground, playground
from tests.fixtures.tiny_gguf import write_tiny_llama
from tests.serving.server import SERVE, Server


@pytest.fixture(scope="package")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llama(tmp_path_factory.mktemp("model") / "tiny.gguf", seed=3)


@pytest.fixture(scope="package")
def server(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"DECISION_MODEL_PATH": str(tiny), "DECISION_N_THREADS": "1", "DECISION_CHAT_N_CTX": "0"}
    with Server(SERVE, tmp_path_factory.mktemp("server"), settings) as running:
        yield running


@pytest.fixture(scope="package")
def running(server: Server, tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    url = f"http://127.0.0.1:{server.port}"
    with playground(tmp_path_factory.mktemp("playground"), "--url", url, "--prompts-of", str(tiny)) as started:
        yield started


@pytest.fixture(scope="package")
def driver() -> Iterator[webdriver.Chrome]:
    with chromium() as started:
        yield started


@pytest.fixture
def page(running: Playground, driver: webdriver.Chrome) -> Iterator[Page]:
    """Fresh, with nothing stored. The browser has nothing to complain of and asks nobody else, whatever a test does."""
    driver.get(running.url + "api/target")  # the same storage, without a page that fills it
    driver.execute_script("localStorage.clear()")
    opened = Page(driver=driver, url=running.url).open()
    console(driver)
    asked_for(driver)
    yield opened
    refused = "the server responded with a status of 4"  # said of every answer that is an error, however it is handled
    assert [line for line in console(driver) if refused not in line] == []
    assert [url for url in asked_for(driver) if not url.startswith((running.url, "data:,"))] == []
