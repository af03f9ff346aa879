"""The checker in JavaScript, written from the page alone, says what Python's checker says."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.explorer.page import CHROMEDRIVER, CHROMIUM, PATIENCE, browser
from tests.explorer.static_server import serving
from tests.fuzz.certificates import forge

ROOT = Path(__file__).parents[2]
NODE = shutil.which("node")


def version() -> tuple[int, ...]:
    """Of Node, which reads check.js as a module from 20.19 on."""
    said = subprocess.run([str(NODE), "--version"], capture_output=True, text=True, check=True)
    return tuple(map(int, said.stdout.strip("v\n").split(".")))


if NODE is None or version() < (20, 19):
    pytest.skip("no Node.js of at least 20.19 is installed", allow_module_level=True)


def compared(lines: Path) -> tuple[list[dict[str, str]], dict[str, int]]:
    """What the checkers say differently, and the counts."""
    command = [str(NODE), "tests/support/second_checker.mjs", str(lines)]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert not said.stderr
    *different, counts = map(json.loads, said.stdout.splitlines())
    return different, counts


def written(lines: Path, said: list[tuple[Any, str]]) -> Path:
    rows = ({"text": x if isinstance(x, str) else json.dumps(x), "python": y} for x, y in said)
    lines.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return lines


def test_recorded_certificates_are_accepted(tmp_path: Path) -> None:
    recorded = (ROOT / "tests/data/certificates.jsonl").read_text(encoding="utf-8").splitlines()
    lines = written(tmp_path / "recorded.jsonl", [(x, "accepted") for x in recorded])
    different, counts = compared(lines)
    assert not different
    assert counts["both_accept"] == len(recorded)


def test_both_judge_forgeries_alike(tmp_path: Path) -> None:
    lines = tmp_path / "forged.jsonl"
    forge(seed=26, start=0, count=400, lines=lines)
    different, counts = compared(lines)
    assert not different
    assert not counts["work"]
    assert min(counts["both_accept"], counts["both_refuse"]) >= 20


EMPTY = {
    "format": "morello-layouts certificate 2", "claim": "injective", "sizes": [],
    "shape": ["0"], "offset": "9" * 151, "inverse": [], "digits": [],
}  # fmt: skip
FULL = {**EMPTY, "shape": ["4"], "offset": "d0", "inverse": ["p"]}
LARGE = f"({6 * 10**149}*(d0 + d1 + d2))*(d1*d2 + d0*d2 - d0*d1)"
WIDE = {
    **{key: value for key, value in EMPTY.items() if key != "inverse"},
    "claim": "equivalent", "shape": ["9", "9", "9"], "offset": "d0",
    "others": [f"d0 + 0*({LARGE})"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("certificate", "verdict"),
    [
        # What an array without elements leaves unread.
        (EMPTY, "accepted"),
        # A text that no generator of forgeries writes: JSON, characters, nesting, coefficients.
        (FULL, "accepted"),
        ({**FULL, "about": ["\ud800 {"]}, "accepted"),
        (json.dumps(FULL) + "\u00a0", "refused"),
        ("\ufeff" + json.dumps(FULL), "refused"),
        ("[" * 50_000 + "]" * 50_000, "refused"),
        (json.dumps(FULL)[:-1] + ', "\\u0064igits": []}', "refused"),
        (json.dumps(FULL)[:-1] + ', "__proto__": []}', "refused"),
        (json.dumps(FULL) + " " * 100_000, "refused"),
        ({**FULL, "inverse": ["(" * 50 + "p" + ")" * 50]}, "accepted"),
        ({**FULL, "inverse": ["(" * 51 + "p" + ")" * 51]}, "refused"),
        ({**FULL, "inverse": ["p%(p-p+4)"]}, "accepted"),
        ({**FULL, "inverse": ["p +" + "9" * 150 + "+ 1 - 1 -" + "9" * 150]}, "refused"),
        # A coefficient is limited once a product is whole: 6 + 6 is too large, 6 + 6 - 6 is not.
        (WIDE, "accepted"),
        ({**FULL, "sizes": [{"name": "d", "multiple_of": "01", "least": "1"}]}, "accepted"),
        ({**FULL, "format": "morello-layouts certificate 1"}, "refused"),
        # The formula of a forged certificate would be right if a divisor might be 0.
        ({**FULL, "inverse": ["p + 0 // (4 - 4)"]}, "refused"),
    ],
)
def test_questions_that_a_reader_of_the_page_had(
    certificate: Any, verdict: str, tmp_path: Path
) -> None:
    from morello_layouts.check import Refused, check, read

    text = certificate if isinstance(certificate, str) else json.dumps(certificate)
    try:
        check(read(text))
        said = "accepted"
    except Refused:
        said = "refused"
    assert said == verdict
    assert not compared(written(tmp_path / "one.jsonl", [(text, said)]))[0]


@pytest.mark.slow
def test_the_page_says_what_is_proved_or_why_not() -> None:
    pytest.importorskip("selenium", reason="selenium is not installed")
    if not (CHROMIUM and CHROMEDRIVER):
        pytest.skip("no chromium and chromedriver are installed")
    from selenium.webdriver.support import expected_conditions
    from selenium.webdriver.support.ui import WebDriverWait

    driver = browser(390, 900)
    try:
        with serving(ROOT / "docs" / "_static") as address:
            driver.get(f"{address}check.html")
            for inverse, words in (
                ("p", "Proved: injective"),
                ("p + 1", "Refused"),
                ("", "Refused"),
            ):
                field = driver.find_element("css selector", "textarea")
                field.clear()
                field.send_keys(json.dumps({**FULL, "inverse": [inverse]}))
                shown = expected_conditions.text_to_be_present_in_element
                WebDriverWait(driver, PATIENCE).until(shown(("css selector", "#answer"), words))
            assert 'inverse 0, ""' in driver.find_element("css selector", "#answer").text
            assert driver.execute_script(
                "return document.documentElement.scrollWidth <= innerWidth"
            )
    finally:
        driver.quit()
