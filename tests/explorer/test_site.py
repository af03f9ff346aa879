"""The explorer as a static site: Python in headless Chromium, from a server of files.

``nox -s site`` builds it; EXPLORER_SITE names the folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import morello_layouts as ml
from morello_layouts.core.maps.names import renamed
from morello_layouts.notations import parse_shape
from tests.explorer.page import CHROMEDRIVER, CHROMIUM, Page
from tests.explorer.static_server import serving

SITE = os.environ.get("EXPLORER_SITE", "")

pytest.importorskip("selenium", reason="selenium is not installed")
if not (CHROMIUM and CHROMEDRIVER):
    pytest.skip("no chromium and chromedriver are installed", allow_module_level=True)
if not SITE:
    pytest.skip("EXPLORER_SITE names no folder with the site", allow_module_level=True)

pytestmark = pytest.mark.slow

LAYOUTS = [
    ("f32[3,5]{1,0:T(2,2)}", ""),
    ("bf16[16,256]{1,0:T(8,128)(2,1)}", ""),
    ("f32[M,N]{1,0:T(8,128)}", ""),
    ("[1, 0, 1 p(4)]", "6x8"),
    ("[0, 1, 1 oe(8)]", "4x16"),
    ("nChw16c", "1x32x2x3"),
    ("((4,2),8):((1,32),4)", ""),
    ("memref<3x5xf32, strided<[8, 1]>>", ""),
    ("mx128x4", "128x8"),
    ("f32[16,16], sharding={devices=[4,1]<=[4]}", ""),
]


@pytest.fixture(scope="module")
def page(driver: Any) -> Iterator[Page]:
    """The page, loaded once: Python starts only once too."""
    with serving(Path(SITE)) as address:
        page = Page(driver, address)
        page.complaints()
        yield page.open(layout="f32[3,5]{1,0:T(2,2)}")
    assert page.complaints() == []


def test_layouts_of_every_notation(page: Page) -> None:
    for text, shape in LAYOUTS:
        page.put("shape", shape).put("layout", text)
        m = ml.index_map(text, parse_shape(shape) if shape else None)
        page.shows(str(renamed(m.form, m.names)))
        page.until(lambda: page.text("#proofs .rows"))
        page.until(lambda m=m: page.text("#code code") == ml.code(m, "c", function=True))
        assert page.all("#picture g.cell")
        assert "injective" in page.text("#proofs .rows") or "bijective" in page.text("#proofs")
        assert "ISL" not in page.text("#proofs .about").partition("Injective")[0], text
        assert page.text("#layout-error") == page.text("#shape-error") == ""


def test_wrong_text_has_a_caret(page: Page) -> None:
    page.put("shape", "").put("layout", "f32[3,x")
    page.until(lambda: page.text("#layout-error .pointer") == "f32[3,x\n       ^")
    page.put("layout", "f32[3,7]")
    page.shows("7*d0 + d1")
    page.until(lambda: page.text("#layout-error") == "")


def test_two_layouts_are_compared(page: Page) -> None:
    page.put("layout", "f32[3,5]{1,0}").put("other", "{1,0:T(2,2)}")
    page.until(lambda: page.text("#verdict").startswith("not equivalent"))
    relayout = str(ml.relayout("f32[3,5]{1,0}", "f32[3,5]{1,0:T(2,2)}"))
    assert page.text("#comparison .formula.main") == relayout
    page.put("other", "")


def test_bank_conflicts_are_counted(page: Page) -> None:
    page.put("layout", "(32,32):(32,1)").put("access", "column, 32 bits")
    page.until(lambda: page.text("#bank-verdict") == "32-way conflict")
    page.put("access", "ldmatrix, 16 bits")
    page.until(lambda: page.text("#bank-verdict") == "4-way conflict")
    page.put("access", "SM80_16x8x16_F32F16F16F32_TN A, 16 bits")
    page.until(lambda: page.text("#access-error .what") == "NumPy is only on a desktop")
    page.put("access", "")


def test_the_recipe_is_stepped_through(page: Page) -> None:
    page.put("layout", "f32[3,5]{1,0:T(2,2)}")
    page.shows("12*(d0//2) + 4*(d1//2) + 2*(d0%2) + d1%2")
    for _ in range(3):
        page.find(".player .next").click()
    assert page.text(".player .step") == "transpose [2,3,2,2]"


def test_it_opens_and_answers_without_a_server(driver: Any) -> None:
    with serving(Path(SITE)) as address:
        page = Page(driver, address).open(layout="[1, 0, 1 p(4)]", shape="6x8", other="{1,0}")
        page.shows("24*(d1//4) + 4*d0 + d1%4")
        page.until(lambda: page.text("#comparison h3") == "Compared with {1,0} at 6x8")
        page.until(lambda: page.script("return Boolean(navigator.serviceWorker.controller)"))
    page.put("other", "").put("layout", "[0, 1]")
    page.shows("8*d0 + d1")
    for link in (address, f"{address}index.html?from=mail"):  # the page anew
        page.address = link
        page.open(layout="[1, 0, 1 p(4)]", shape="6x8")
        page.shows("24*(d1//4) + 4*d0 + d1%4")
        page.until(lambda: "SymPy" in page.text("#code") and page.text("#proofs .rows"))
    assert page.all("#preset option")
    assert page.complaints() == []


def run_all(page: Page, name: str) -> list[str]:
    """Run the last cell of a notebook's page, so all of them; return the kinds of outputs."""
    page.driver.get(f"{page.address}{name}.html")
    page.all("main > .cell button")[-1].click()
    page.until(lambda: page.all("main > .cell output")[-1].text and not page.text("#state"))
    return [str(output.get_attribute("class")) for output in page.all("main > .cell output > *")]


def test_a_notebook_runs_without_installing(driver: Any) -> None:
    with serving(Path(SITE)) as address:
        page = Page(driver, address)
        kinds = run_all(page, "1_where_does_it_live")
        assert len(kinds) > 20
        assert set(kinds) == {"text", "svg", "html"}
        assert page.all("output .svg svg")
        (cell,) = (cell for cell in page.all("main > .cell") if "row_by_row(" in code_of(cell))
        assert "3 is the number of rows" in cell.text
        assert cell.find_elements("css selector", "details svg")
        field = cell.find_element("tag name", "textarea")
        field.clear()
        field.send_keys('ml.exercises.row_by_row("4*i + j")')
        cell.find_element("tag name", "button").click()
        page.until(lambda: "✓" in cell.text)
        page.until(lambda: page.script("return Boolean(navigator.serviceWorker.controller)"))
    page.script("location.reload()")  # without a server
    page.until(lambda: not page.all("main > .cell output > *"))
    page.all("main > .cell button")[1].click()
    page.until(lambda: page.all("output .svg svg"))


def code_of(cell: Any) -> str:
    return str(cell.find_element("tag name", "textarea").get_property("value"))


def test_a_cell_says_what_it_lacks(driver: Any) -> None:
    with serving(Path(SITE)) as address:
        kinds = run_all(Page(driver, address), "5_from_hlo_to_kernel")
    assert set(kinds) == {"text", "svg", "html", "absent"}
    assert kinds.count("absent") <= 4
