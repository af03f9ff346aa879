"""Photograph the explorer's page in headless Chromium, as docs/explorer.md shows it.

Run it by ``python docs/explorer_screenshot.py``; it needs selenium, chromium and chromedriver.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from time import sleep

from selenium import webdriver

from morello_layouts.interfaces.explorer.server import Server, link
from morello_layouts.interfaces.explorer.subject import Question

FIGURE = Path(__file__).parent / "figures" / "explorer.png"
QUESTION = Question("f32[3,5]{1,0:T(2,2)}")


def main() -> None:
    """Write the figure."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        size = {"width": 1120, "height": 1120, "deviceScaleFactor": 0.75, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        with Server(0) as server:
            driver.get(link(server.start().port, QUESTION))
            while not driver.find_elements("css selector", "#code"):
                sleep(0.05)
            status = "document.getElementById('status').textContent = ''"
            driver.execute_script(status)
            driver.execute_script(
                "document.querySelector('#picture g.cell[data-o=\"17\"]')"
                ".dispatchEvent(new PointerEvent('pointerenter'))"
            )
            driver.save_screenshot(str(FIGURE))
    finally:
        driver.quit()


if __name__ == "__main__":
    main()
