"""The explorer's page in a headless browser, as a reader sees and uses it."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

if TYPE_CHECKING:
    from selenium.webdriver.remote.webelement import WebElement

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
CHROMEDRIVER = shutil.which("chromedriver")

PATIENCE = 60.0
"""Seconds that a step may take on a busy machine; no test waits longer than it must."""


def browser(width: int = 1300, height: int = 1000) -> Any:
    """A headless Chromium that logs what its console says."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for argument in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        f"--window-size={width},{height}",
    ):  # fmt: skip
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=CHROMEDRIVER)
    running = webdriver.Chrome(options=options, service=service)
    running.set_page_load_timeout(2 * PATIENCE)
    running.set_script_timeout(2 * PATIENCE)
    return running


class Page:
    """The page as a reader sees and uses it."""

    def __init__(self, driver: Any, address: str) -> None:
        self.driver, self.address = driver, address

    def open(self, **fields: str) -> Page:
        """A page that was not there before, at a link."""
        self.driver.get("about:blank")
        self.driver.get(f"{self.address}#{urlencode(fields)}" if fields else self.address)
        self.until(lambda: self.script("return document.querySelector('#preset optgroup')"))
        self.settle()
        return self

    def until(self, condition: Any) -> Any:
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, PATIENCE, 0.02).until(lambda _: condition())

    def script(self, text: str, *arguments: object) -> Any:
        return self.driver.execute_script(text, *arguments)

    def settle(self) -> None:
        """Wait for the whole answer to what is typed."""
        self.until(
            lambda: self.script(
                "const a = document.getElementById('answer');"
                "return Boolean(a.dataset.answered || !layout.value) && !a.ariaBusy"
            )
        )

    def find(self, selector: str) -> WebElement:
        found: WebElement = self.until(
            lambda: self.driver.find_elements("css selector", selector) or False
        )[0]
        return found

    def all(self, selector: str) -> list[WebElement]:
        found: list[WebElement] = self.driver.find_elements("css selector", selector)
        return found

    def text(self, selector: str) -> str:
        """The text of an element, empty if there is none."""
        return str(
            self.script(
                "const e = document.querySelector(arguments[0]); return e ? e.textContent : ''",
                selector,
            )
        )

    def type(self, field: str, text: str) -> Page:
        """Type key by key, in place of the present text."""
        from selenium.webdriver.common.keys import Keys

        box = self.find(f"#{field}")
        box.send_keys(Keys.CONTROL, "a")
        box.send_keys(Keys.DELETE)
        box.send_keys(text)
        return self

    def put(self, field: str, text: str) -> Page:
        """At once, as one pastes; also what has no key."""
        self.script(
            "const e = document.getElementById(arguments[0]); e.value = JSON.parse(arguments[1]);"
            "e.dispatchEvent(new Event('input', { bubbles: true }))",
            field,
            json.dumps(text),
        )
        return self

    def shows(self, formula: str) -> None:
        self.until(lambda: self.text("#formula .main") == formula)

    def point(self, selector: str) -> Page:
        """Move the mouse over the middle of an element, which is scrolled to first."""
        x, y = self.script(
            "arguments[0].scrollIntoView({ block: 'center' });"
            "const r = arguments[0].getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]",
            self.find(selector),
        )
        move = {"type": "mouseMoved", "x": x, "y": y}
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", move)
        return self

    def details(self, panel: int = 0) -> list[list[str]]:
        found: list[list[str]] = self.script(
            "return [...document.querySelectorAll("
            "`.details section[data-panel='${arguments[0]}'] tr`)]"
            ".map(row => [...row.cells].map(cell => cell.textContent))",
            panel,
        )
        return found

    def complaints(self) -> list[str]:
        """What the console holds since the last look."""
        return [entry["message"] for entry in self.driver.get_log("browser")]
