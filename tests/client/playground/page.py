"""The page in a browser, as a person sees it: fields, bars, chips, errors."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

SECONDS = 60


@dataclass(frozen=True, kw_only=True)
class Page:
    driver: webdriver.Chrome
    url: str

    def open(self) -> Page:
        self.driver.get(self.url)
        self.settled()
        return self

    def script(self, code: str, *arguments: object) -> Any:
        return self.driver.execute_script(code, *arguments)

    def one(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def until(self, condition: str) -> None:
        """condition: JavaScript."""
        WebDriverWait(self.driver, SECONDS, poll_frequency=0.02).until(
            lambda driver: driver.execute_script(f"return Boolean({condition})"), message=condition
        )

    def settled(self) -> None:
        """What was asked last has been answered, or refused, and is shown."""
        shown = "document.querySelector('#code').textContent"
        self.until(f"{shown} && !document.querySelector('#answers').hasAttribute('aria-busy')")

    def load(self, **setup: object) -> None:
        """Through the dialog that loads a setup."""
        self.one("#open-setup").click()
        self.script("document.querySelector('#setup-text').value = arguments[0]", json.dumps(setup))
        self.one("#load-setup").click()
        self.settled()

    def write(self, selector: str, text: str) -> None:
        """As a person replaces a text."""
        field = self.one(selector)
        field.click()
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text or Keys.DELETE)
        self.settled()

    def choose(self, selector: str, value: str) -> None:
        Select(self.one(selector)).select_by_value(value)
        self.settled()

    def press(self, *keys: str, holding: str | None = None) -> None:
        chain = ActionChains(self.driver)
        if holding:
            chain.key_down(holding)
        chain.send_keys(*keys)
        if holding:
            chain.key_up(holding)
        chain.perform()

    def bars(self, side: int = 0) -> dict[str, float]:
        rows = self.all(f".answer[data-side='{side}'] tbody tr")
        return {
            str(row.get_attribute("data-option")): float(str(row.get_attribute("data-probability"))) for row in rows
        }

    def fact(self, name: str, side: int = 0) -> str:
        return self.one(f".answer[data-side='{side}'] [data-fact='{name}'] dd").text

    def text(self, selector: str) -> str:
        return str(self.one(selector).get_property("textContent"))

    def prompt(self, side: int = 0) -> str:
        return self.text(f"#prompts [data-name='{side}-0'] .prompt-text")

    def focused(self) -> str:
        """The id of what has the focus."""
        return str(self.driver.switch_to.active_element.get_attribute("id"))

    def tab_to(self, id_: str) -> None:
        for _ in range(80):
            self.press(Keys.TAB)
            if self.focused() == id_:
                return
        raise AssertionError(f"80 times Tab did not get to {id_}")
