"""How long the explorer's static site takes: the first answer of a cold page, and the next ones.

Run it by ``python tests/benchmarks/explorer_site.py build/html/explorer``, after ``nox -s site``.
A cold page is one of a browser that has no cache. It prints what passes by the clock until the
picture is there, and until the proofs are.
"""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.explorer.page import browser  # noqa: E402
from tests.explorer.static_server import serving  # noqa: E402

PATIENCE = 120
"""Seconds."""


SEEN = """
const a = document.getElementById("answer"), title = a.querySelector("h2");
return [title ? title.textContent : "", a.ariaBusy === "true",
        document.getElementById("status").textContent];
"""
PUT = """
for (const name of ["shape", "other", "assuming"])
  document.getElementById(name).value = arguments[0][name] || "";
const layout = document.getElementById("layout");
layout.value = arguments[0].layout;
layout.dispatchEvent(new Event("input", { bubbles: true }));
"""


def waited(driver: Any, before: str) -> tuple[float, float]:
    """Return the seconds until another answer is there, and until it is whole."""
    began, first = perf_counter(), 0.0
    while perf_counter() - began < PATIENCE:
        title, is_busy, _ = driver.execute_script(SEEN)
        if title and title != before:
            first = first or perf_counter() - began
            if not is_busy:
                return first, perf_counter() - began
        sleep(0.01)
    raise SystemExit(f"no answer: {driver.execute_script(SEEN)}")


def main() -> None:
    presets = files("morello_layouts.interfaces.explorer").joinpath("static/presets.json")
    questions = [preset["question"] for preset in json.loads(presets.read_text(encoding="utf-8"))]
    driver, firsts, wholes = browser(), [], []
    try:
        with serving(Path(sys.argv[1])) as address:
            began = perf_counter()
            driver.get(address)
            opened = perf_counter() - began
            cold = waited(driver, "")
            print(f"{opened + cold[0]:6.2f} s, whole {opened + cold[1]:6.2f} s  of a cold page")
            for question in questions:
                title = driver.execute_script(SEEN)[0]
                driver.execute_script(PUT, question)
                if title == question["layout"]:
                    continue
                first, whole = waited(driver, title)
                firsts.append(first)
                wholes.append(whole)
                print(f"{first:6.2f} s, whole {whole:6.2f} s  {question}")
        print(f"{median(firsts):6.2f} s, whole {median(wholes):6.2f} s  median")
        print(f"{max(firsts):6.2f} s, whole {max(wholes):6.2f} s  largest")
    finally:
        driver.quit()


if __name__ == "__main__":
    main()
