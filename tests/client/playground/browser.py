"""Headless Chromium from Debian's packages, with nothing but loopback to go to."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

WHERE = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
MISSING = [name for name, path in WHERE.items() if path is None]
needs_chromium = pytest.mark.skipif(
    bool(MISSING),
    reason=f"THE PLAYGROUND'S PAGE IS NOT TESTED: no {' and no '.join(MISSING)} here; "
    "apt-get install -y --no-install-recommends chromium chromium-driver",
)
_ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",  # there is none for root
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


@contextmanager
def chromium(*, width: int = 1280, height: int = 900) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    for argument in _ARGUMENTS:
        options.add_argument(argument)
    options.binary_location = str(WHERE["chromium"])
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(WHERE["chromedriver"]))
    try:
        driver.set_script_timeout(30)
        resize(driver, width, height)
        yield driver
    finally:
        driver.quit()


def resize(driver: webdriver.Chrome, width: int, height: int) -> None:
    """The page's own size; a window would not get as narrow as a phone."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def console(driver: webdriver.Chrome) -> list[str]:
    """What the browser complained of since it was asked last."""
    return [line["message"] for line in _log(driver, "browser")]


def asked_for(driver: webdriver.Chrome) -> list[str]:
    """The addresses of all requests since it was asked last."""
    events = [json.loads(line["message"])["message"] for line in _log(driver, "performance")]
    return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]


def _log(driver: webdriver.Chrome, kind: str) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = driver.get_log(kind)  # type: ignore[no-untyped-call]
    return lines
