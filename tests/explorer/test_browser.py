"""The explorer's page in headless Chromium: typed at, pointed at, compared, stepped, reloaded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import morello_layouts as ml
from morello_layouts.core.maps.names import renamed
from morello_layouts.interfaces.explorer.server import Server
from morello_layouts.interfaces.explorer.worker import Worker
from tests.explorer.page import CHROMEDRIVER, CHROMIUM, PATIENCE, Page
from tests.support.presets import PRESETS

pytest.importorskip("selenium", reason="selenium is not installed")
if not (CHROMIUM and CHROMEDRIVER):
    pytest.skip("no chromium and chromedriver are installed", allow_module_level=True)

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

LAYOUTS = [
    ("f32[3,5]{1,0:T(2,2)}", ""),
    ("[1, 0, 1 p(4)]", "6x8"),
    ("[0, 1, 1 oe(8)]", "4x16"),
    ("bf16[10,200]{1,0:T(8,128)(2,1)}", ""),
    ("{0,1:T(2,4)}", "4,6"),
    ("NHWC", "2x3x4x5"),
    ("nChw16c", "1x32x2x3"),
    ("s8[64,256]{1,0:T(8,128)(4,1)}", ""),
    ("f32[2,2,5]{2,1,0:T(2,*,3)}", ""),
    ("f32[1000]{0:T(128)}", ""),
    ("pred[64,512]{1,0:T(32,128)(32,1)E(1)}", ""),
]


@pytest.fixture
def page(server: Server, driver: Any) -> Iterator[Page]:
    """The page; whatever a test does, the console stays empty."""
    page = Page(driver, f"http://127.0.0.1:{server.port}/")
    page.complaints()
    yield page
    assert page.complaints() == []


@pytest.mark.slow
def test_layouts_of_every_notation(page: Page) -> None:
    page.open()
    for text, shape in LAYOUTS:
        m = ml.index_map(text, _shape(shape))
        if page.find("#shape").get_property("value") != shape:
            page.type("shape", shape)
        page.type("layout", text)
        title = str(ml.parse(text)).replace(" ", "")
        page.until(lambda title=title: page.text("#answer h2").replace(" ", "") == title)
        page.shows(str(renamed(m.form, m.names)))
        assert "formulasverified" in page.text("#proofs .rows")
        assert page.text("#code code") == ml.code(m, "c", function=True)
        assert page.all("#picture g.cell")
        assert page.text("#layout-error") == page.text("#shape-error") == ""
        assert page.find("#layout").get_attribute("aria-invalid") == "false"


def _shape(text: str) -> tuple[int | str, ...] | None:
    from morello_layouts.notations import parse_shape

    return parse_shape(text) if text else None


@pytest.mark.slow
def test_picture_formula_and_proof_share_the_first_screen(page: Page) -> None:
    page.driver.set_window_size(1400, 900)
    page.open(layout="f32[M,N]{1,0:T(8,128)}")
    page.until(lambda: "bijective iff" in page.text("#proofs"))
    for selector in ("#picture", "#formula .main", "#proofs .rows"):
        top = page.script(
            "return document.querySelector(arguments[0]).getBoundingClientRect().top", selector
        )
        assert 0 < top < 600, selector


@pytest.mark.slow
def test_assumed_bits_are_said_and_changed_by_a_button(page: Page) -> None:
    page.open(layout="Sw<3,3,3> o 0 o (8,64):(64,1)", access="column")
    page.until(lambda: "32-bit elements are assumed" in page.text("#verdicts"))
    page.find("#verdicts .assumed button:nth-of-type(2)").click()
    page.until(lambda: "no conflicts" in page.text("#verdicts"))
    assert page.find("#access").get_property("value") == "column, 16 bits"
    assert "assumed" not in page.text("#verdicts")


@pytest.mark.slow
def test_wrong_text_shows_a_caret_as_one_types(page: Page) -> None:
    page.open(layout="f32[3,5]")
    page.put("layout", "f32[3,x")
    page.until(lambda: page.text("#layout-error .pointer") == "f32[3,x\n       ^")
    assert "expected ',' or ']'" in page.text("#layout-error .what")
    assert page.find("#layout").get_attribute("aria-invalid") == "true"
    assert "stale" in page.find("#answer").get_attribute("class")
    assert page.text("#formula .main") == "5*d0 + d1", "the last one that was right stays"
    box, shown = page.find("#layout"), page.find("#layout-error .pointer")
    assert 0 < shown.rect["y"] - box.rect["y"] < 60, "directly below the field"
    page.find("#layout").send_keys(Keys.BACKSPACE, "2]")
    page.shows("2*d0 + d1")
    page.until(lambda: page.text("#layout-error") == "")
    page.type("other", "{0,1,2}")
    page.until(lambda: page.text("#other-error .what"))
    assert page.text("#formula .main") == "2*d0 + d1"


def test_two_layouts_are_compared(page: Page) -> None:
    page.open(layout="f32[3,5]{1,0}")
    page.type("other", "{1,0:T(2,2)}")
    page.until(lambda: page.text("#verdict").startswith("not equivalent"))
    relayout = str(ml.relayout("f32[3,5]{1,0}", "f32[3,5]{1,0:T(2,2)}"))
    assert page.text("#comparison .formula.main") == relayout
    assert len(page.all("#picture g.panel")) == 2
    page.point('#picture g.panel:first-of-type g.cell[data-o="13"]')
    page.until(lambda: page.details(0) and page.details(1))
    assert page.details(0)[0] == ["slot", "13", "of 15"]
    assert page.details(1)[0] == ["slot", "17", "of 24"], "the same element in the other layout"
    page.find("#swap").click()
    page.until(lambda: page.text("#answer h2").startswith("{1,0:T(2,2)}"))
    assert page.find("#other").get_property("value") == "f32[3,5]{1,0}"
    page.type("layout", "f32[6,8]{1,0:T(6,4)}").type("other", "[1, 0, 1 p(4)]")
    page.until(lambda: page.text("#verdict").startswith("equivalent"))


@pytest.mark.slow
def test_a_formula_is_compared_with_the_layout(page: Page) -> None:
    page.open(layout="[1, 0, 1 p(4)]", shape="6x8", other="{1,0}")
    assert page.find("#swap").is_displayed()
    page.type("other", "24*(d1//4) + 4*d0 + d1%3")
    page.until(lambda: page.text("#comparison h3").endswith("formula 24*(d1//4) + 4*d0 + d1%3"))
    verdict = "not equivalent: (0, 3) has offsets 3 and 0"
    assert page.text("#verdict") == verdict
    assert page.text("#verdicts").endswith(f": {verdict}")
    assert len(page.all("#picture g.panel")) == 1
    assert page.all("#picture circle.dot")
    assert not page.all("#comparison .formula"), "a formula has no relayout"
    assert not page.find("#swap").is_displayed(), "a formula is not a layout"
    page.find("#other").send_keys(Keys.BACKSPACE, "4")
    page.until(lambda: page.text("#verdict").startswith("equivalent"))
    assert not page.all("#picture circle.dot")
    page.find("#other").send_keys(" + x")
    page.until(lambda: page.text("#other-error .what") == "x is not a coordinate")
    under = "24*(d1//4) + 4*d0 + d1%4 + x"
    assert page.text("#other-error .pointer") == f"{under}\n{' ' * (len(under) - 1)}^"


@pytest.mark.slow
def test_the_bank_conflicts_of_an_access(page: Page) -> None:
    page.open(layout="f32[32,32]")
    assert not page.all("#banks")
    page.type("access", "column")
    page.until(lambda: page.text("#bank-verdict") == "32-way conflict")
    assert page.text("#verdicts") == "load column: 32-way conflict"
    assert len(page.all("#picture circle.dot")) > 4
    page.type("layout", "(32,32):(33,1)")
    page.until(lambda: page.text("#bank-verdict") == "no conflicts")
    assert not page.all("#picture circle.dot")
    page.type("access", "diagonal")
    page.until(lambda: page.text("#access-error .what").startswith("access: expected the name"))
    page.open(layout="f32[M,N]", access="column")
    assert page.text("#bank-verdict") == "gcd(N, 32)-way conflict"


@pytest.mark.slow
def test_the_page_waits_for_its_turn(page: Page, server: Server) -> None:
    page.open(layout="f32[2,3]")
    with server.worker._lock:
        page.put("layout", "f32[2,4]")
        page.until(lambda: page.find("#answer").get_attribute("aria-busy") == "true")
        assert page.text("#layout-error") == ""
        assert page.text("#formula .main") == "3*d0 + d1"
        page.put("layout", "f32[2,5]")
    page.shows("5*d0 + d1")
    assert not page.all("#answer.stale")


@pytest.mark.slow
def test_pointing_at_a_cell_says_where_it_lies_and_why(page: Page) -> None:
    page.open(layout="f32[3,5]{1,0:T(2,2)}")
    page.point('#picture g.cell[data-o="17"]')
    page.until(lambda: len(page.details()) == 12)
    assert page.details() == [
        ["slot", "17", "of 24"],
        ["element", "(2, 3)", "d0, d1"],
        ["tile 2x2", "(1, 1)", "number"],
        ["array", "(2, 3)", "in [3,5]"],
        ["pad", "(2, 3)", "in [4,6]"],
        ["split", "(1, 0, 1, 1)", "in [2,2,3,2]"],
        ["transpose", "(1, 1, 0, 1)", "in [2,3,2,2]"],
        ["offset", "12*(d0//2)", "= 12"],
        ["+", "4*(d1//2)", "= 4"],
        ["+", "2*(d0%2)", "= 0"],
        ["+", "d1%2", "= 1"],
        ["=", "17", ""],
    ]
    picture = page.find("#picture")
    picture.click()
    picture.send_keys(Keys.ESCAPE)
    page.find("#picture").send_keys(Keys.ARROW_RIGHT)
    page.until(lambda: page.details() and page.details()[1][0] in ("element", "holds"))


@pytest.mark.slow
def test_terms_and_steps_show_their_numbers_in_the_cells(page: Page) -> None:
    def over(selector: str, k: int, kind: str = "pointerenter") -> None:
        page.script(
            "document.querySelectorAll(arguments[0])[arguments[1]]"
            ".dispatchEvent(new PointerEvent(arguments[2]))",
            selector, k, kind,
        )  # fmt: skip

    def cells() -> str:
        found: str = page.script(
            "return [...document.querySelectorAll('#picture g.cell text.o')]"
            ".map(e => e.textContent).filter(text => text).join(' ')"
        )
        return found

    page.open(layout="f32[3,5]{1,0:T(2,2)}")
    offsets = "0 1 4 5 8 2 3 6 7 10 12 13 16 17 20"
    assert cells() == offsets
    over("#formula .term", 1)
    assert cells() == "0 0 4 4 8 0 0 4 4 8 0 0 4 4 8", "4*(d1//2)"
    assert len(page.all("#picture .faint")) == 6
    over("#formula .term", 1, "pointerleave")
    assert cells() == offsets
    over('#picture g.cell[data-o="6"]', 0)
    marked = "return [...document.querySelectorAll('#formula .term.on')].map(e => e.textContent)"
    assert page.script(marked) == ["4*(d1//2)", "2*(d0%2)"]
    over(".details tr", 4)
    assert cells() == "0 1 2 3 4 6 7 8 9 10 12 13 14 15 16", "after the step pad"
    over(".details tr", 2)
    assert len(page.all("#picture .faint")) == 11, "other tiles"
    over('#picture g.cell[data-o="7"]', 0)
    assert not page.all("#picture .faint")
    assert cells() == offsets, "another cell has other rows"
    over("#words .term", 0)
    assert len(page.all("#picture .faint")) == 11, "elements outside of the first T(2,2)"
    over("#words .term", 0, "pointerleave")
    typeset = "".join(page.text("#formula math").split())
    assert typeset == "12·⌊d02⌋+4·⌊d12⌋+2·(d0mod2)+d1mod2"


@pytest.mark.slow
def test_every_slice_can_be_shown(page: Page) -> None:
    page.open(layout="NHWC", shape="2x3x4x5")
    assert "n = 0, c = 1" in page.text("#picture")
    page.script(
        "const e = document.getElementById('slice'); e.value = 4;"
        "e.dispatchEvent(new Event('change', { bubbles: true }))"
    )
    page.until(lambda: "n = 1, c = 2" in page.text("#picture"))
    assert "slice=4" in page.driver.current_url
    page.put("layout", "NCHW")
    page.until(lambda: "d0 = 0, d1 = 1" in page.text("#picture"))


@pytest.mark.slow
def test_arrow_keys_choose_a_cell(page: Page) -> None:
    page.open(layout="f32[3,5]{1,0:T(2,2)}")
    page.script("document.getElementById('picture').focus()")
    keys = ActionChains(page.driver)
    keys.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_RIGHT).perform()
    page.until(lambda: page.details() and page.details()[1][:2] == ["element", "(1, 2)"])
    assert page.all("#picture .ring")
    ActionChains(page.driver).send_keys(Keys.ESCAPE).perform()
    page.until(lambda: not page.all("#picture .ring"))
    assert page.details() == []
    assert page.text(".details .hint") == "no cell is chosen: click one"


@pytest.mark.slow
def test_the_recipe_is_stepped_through(page: Page) -> None:
    page.open(layout="f32[3,5]{1,0:T(2,2)}")
    names = [page.text(".player .step")]
    for _ in range(4):
        page.find(".player .next").click()
        names.append(page.text(".player .step"))
    assert names == [
        "array [3,5]", "pad [4,6]", "split [2,2,3,2]", "transpose [2,3,2,2]", "memory, 24 slots",
    ]  # fmt: skip
    page.find(".player .back").click()
    assert page.text(".player .step") == "transpose [2,3,2,2]"
    # In one script: the next step comes by itself.
    states = page.script(
        "const state = () => ['.step', '.play'].map(e => document.querySelector(e).textContent);"
        "const found = [], play = document.querySelector('.player .play');"
        "for (let k = 0; k < 2; k++) { play.click(); found.push(state()); } return found"
    )
    here = "transpose [2,3,2,2]"
    assert states == [[here, "Pause"], [here, "Play"]], "it plays on from here, and pauses"
    page.find(".player .play").click()
    page.until(lambda: page.text(".player .step") == "memory, 24 slots")
    page.until(lambda: page.text(".player .play") == "Play")
    page.find(".player .play").click()
    assert page.text(".player .step").startswith("array"), "at the end it begins again"
    page.type("layout", "f32[2,3]")  # the picture goes while it plays
    page.shows("3*d0 + d1")


@pytest.mark.slow
def test_the_details_stay_beside_the_pointer(page: Page) -> None:
    one = {"layout": "bf16[10,200]{1,0:T(8,128)(2,1)}"}
    for fields, is_beside in ((one, True), ({**one, "other": "{0,1}"}, False)):
        page.open(**fields)
        page.point("#picture g.cell")
        for selector in ("#picture", ".player"):
            overlap = page.script(
                "document.querySelector(arguments[0]).scrollIntoView({ block: 'start' });"
                "const box = e => document.querySelector(e).getBoundingClientRect();"
                "const a = box(arguments[0]), b = box('.details');"
                "return [b.top >= 0 && b.top < innerHeight, a.right <= b.left]",
                selector,
            )
            assert overlap == [True, is_beside], (fields, selector)


@pytest.mark.slow
def test_a_link_carries_the_state_and_back_goes_back(page: Page) -> None:
    page.open(layout="[1, 0, 1 p(4)]", shape="6x8", other="{1,0}")
    page.shows("24*(d1//4) + 4*d0 + d1%4")
    page.type("layout", "[0, 1]")
    page.shows("8*d0 + d1")
    page.settle()
    link = page.driver.current_url
    page.driver.refresh()
    page.shows("8*d0 + d1")
    assert page.find("#shape").get_property("value") == "6x8"
    assert page.text("#comparison h3") == "Compared with {1,0} at 6x8"
    page.driver.back()
    page.shows("24*(d1//4) + 4*d0 + d1%4")
    assert page.find("#layout").get_property("value") == "[1, 0, 1 p(4)]"
    page.driver.forward()
    page.shows("8*d0 + d1")
    page.driver.get("about:blank")
    page.driver.get(link)
    page.shows("8*d0 + d1")


@pytest.mark.slow
def test_presets_fill_the_fields(page: Page) -> None:
    page.open()
    labels = page.script("return [...document.querySelectorAll('#preset option')].map(o => o.text)")
    assert labels[1:] == [preset["name"] for preset in PRESETS]
    chosen = next(k for k, one in enumerate(PRESETS) if one["name"].startswith("packed: "))
    page.script(
        "preset.value = arguments[0]; preset.dispatchEvent(new Event('change', {bubbles: true}))",
        str(chosen),
    )
    page.shows("24*(d1//4) + 4*d0 + d1%4")
    assert page.find("#shape").get_property("value") == "6x8"
    page.until(lambda: "p%284%29" in page.driver.current_url)


@pytest.mark.slow
def test_symbolic_sizes(page: Page) -> None:
    page.open(layout="f32[2,3]")
    assert not page.find("#assuming").is_displayed()
    page.type("layout", "f32[M,N]{1,0:T(8,128)}")
    page.until(lambda: page.find("#assuming").is_displayed())
    page.until(lambda: "bijective iff 8 | M and 128 | N" in page.text("#proofs"))
    page.type("assuming", "8 | M, 128 | N")
    page.until(lambda: "layoutbijective for all sizes" in page.text("#proofs .rows"))
    page.shows("8*N*(d0//8) + 1024*(d1//128) + 128*(d0%8) + d1%128")
    page.type("at", "M=16, N=256")
    page.until(lambda: "Drawn at M = 16, N = 256." in page.text("#picture-card"))
    page.type("at", "M=9, N=128")
    page.until(lambda: "not as assumed" in page.text("#at-error .what"))
    page.type("layout", "f32[2,3]")
    page.until(lambda: page.text("#at-error") == "Not used: no size is symbolic.")
    page.shows("3*d0 + d1")


@pytest.mark.slow
def test_code_in_each_language_and_both_ways(page: Page) -> None:
    page.open(layout="f32[3,5]{1,0:T(2,2)}")
    m = ml.index_map("f32[3,5]{1,0:T(2,2)}")
    for target in ("cuda", "python", "rust", "mlir", "triton"):
        page.find(f'#code input[value="{target}"]').click()
        code = ml.code(m, target, function=True)
        page.until(lambda code=code: page.text("#code code") == code)
    page.find('#code input[value="coordinates"]').click()
    back = ml.code(m.inverse, "triton", function=True)
    page.until(lambda: page.text("#code code") == back)
    page.type("layout", "f32[3,4]{1,0:T(2,2)}")
    page.until(lambda: "f32[3,4]" in page.text("#code code"))
    assert "triton" in page.text("#code code"), "the choice of language stays"


@pytest.mark.slow
def test_arrays_of_a_tuple_are_chosen(page: Page) -> None:
    page.open(layout="(f32[8,128], s32[7])")
    assert page.text("#answer h2") == "f32[8,128]{1,0}"
    page.script(
        "array = document.querySelector('select#array'); array.value = '1';"
        "array.dispatchEvent(new Event('change'))"
    )
    page.until(lambda: page.text("#answer h2") == "s32[7]{0}")
    page.until(lambda: "array=1" in page.driver.current_url)


@pytest.mark.slow
def test_errors_in_a_link_are_shown(page: Page) -> None:
    page.open(layout="f32[2,3]", array="x")
    assert page.text("#layout-error .what") == "array: expected a number, got 'x'"
    page.type("layout", "f32[2,4]")
    page.shows("4*d0 + d1")
    page.put("other", "x" * 4001)
    page.until(lambda: "too long" in page.text("#other-error .what"))
    page.until(lambda: "stale" in page.find("#answer").get_attribute("class"))
    assert page.text("#status").startswith("Not readable yet")
    page.put("other", "")
    page.until(lambda: not page.all("#answer.stale"))
    assert page.text("#formula .main") == "4*d0 + d1"


def is_right(page: Page) -> bool:
    """Whether what is typed is answered, without errors."""
    return bool(page.text("#formula")) and not page.all("#question [aria-invalid=true]")


HOSTILE = {
    "a short image": "<img src=x onerror=harm=1>",
    "an image": "<img src=x onerror=\"document.title='harm'; window.harm=1\">",
    "a script": "</script><script>window.harm=1</script>",
    "quotes": "\"'><svg onload=window.harm=1>&quot;&#39;",
    "null bytes": "f32[\x00\x00]\x00",
    "right to left": "f32[\u202e3,5\u2066]",
    "deep nesting": "(" * 3000,
    "deep brackets": "[" * 1000 + "]" * 1000,
    "half a pair": "f32[\ud83d]",
    "a percent": "%<%s%00",
    "much": "<b>" * 350_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_stays_text(page: Page, name: str) -> None:
    page.open(layout="f32[2,3]")
    page.put("layout", HOSTILE[name])
    page.until(lambda: page.text("#layout-error .what"))
    # Each text in two of the other fields, each field by half of the texts.
    halves = (("other", "shape"), ("assuming", "at"))
    for field in halves[list(HOSTILE).index(name) % 2]:
        page.put("layout", "{1,0}").put("shape", "2xN").until(lambda: is_right(page))
        page.put(field, HOSTILE[name])
        page.until(lambda field=field: page.text(f"#{field}-error .what"))
        assert (
            page.script("return document.querySelectorAll('form :is(img, b, script)').length") == 0
        )
        page.put(field, "")
    if len(HOSTILE[name]) < 4000 and "\ud83d" not in HOSTILE[name]:
        page.open(layout=HOSTILE[name], shape=HOSTILE[name], other=HOSTILE[name])
        page.until(lambda: page.text("#layout-error .what"))
    assert page.script("return window.harm === undefined")
    assert page.script("return document.querySelectorAll('img, main script, b').length") == 0
    assert page.script("return document.title") != "harm"


@pytest.mark.slow
def test_narrow_screens_need_no_sideways_scroll(page: Page) -> None:
    page.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True},
    )
    try:
        for fields in (
            {"layout": "bf16[10,200]{1,0:T(8,128)(2,1)}"},
            {"layout": "f32[3,5]{1,0}", "other": "{1,0:T(2,2)}"},
            {"layout": "bf16[10,200]{1,0:T(8,x)(2,1)}"},
        ):
            page.open(**fields)
            wide = page.script("return document.documentElement.scrollWidth")
            assert wide <= 360, fields
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


CONTRAST = """
const light = text => { const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map(x => {
  x /= 255; return x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4; });
  return .2126 * r + .7152 * g + .0722 * b; };
const behind = e => { for (; e; e = e.parentElement) {
  const c = getComputedStyle(e).backgroundColor;
  if (!/, 0\\)$|transparent/.test(c)) return c; } return "rgb(255, 255, 255)"; };
const poor = [];
const told = "h1,h2,h3,h4,p,dt,dd,label,input,select,button,pre,li,legend,th,td";
for (const e of document.querySelectorAll(told))
  if (e.checkVisibility() && e.textContent.trim() || e.tagName === "INPUT" && e.checkVisibility()) {
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) poor.push(e.tagName + " " + e.className + " "
      + e.textContent.slice(0, 30) + " " + getComputedStyle(e).color + " on " + behind(e));
  }
return poor;
"""


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast_in_light_and_dark(page: Page, scheme: str) -> None:
    feature = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", feature)
    try:
        page.open(layout="bf16[M,N]{1,0:T(8,128)(2,1)}", other="{1,0:T(8,128)}", at="x")
        page.until(lambda: page.text("#at-error .what"))
        ground = page.script("return getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
        assert page.script(CONTRAST) == []
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.slow
def test_every_field_has_a_name_and_the_keyboard_reaches_it(page: Page) -> None:
    page.open(layout="f32[3,5]{1,0:T(2,2)}")
    nameless = page.script(
        "return [...document.querySelectorAll('input,select,button')].filter(e => "
        "!(e.labels && e.labels.length) && !e.textContent.trim() && !e.ariaLabel).length"
    )
    assert nameless == 0
    page.script("document.activeElement.blur(); scrollTo(0, 0)")
    reached = []
    for _ in range(28):
        ActionChains(page.driver).send_keys(Keys.TAB).perform()
        reached.append(
            page.script("const e = document.activeElement; return e.id || e.className || e.name")
        )
    assert [name for name in reached if name in ("layout", "shape", "other", "picture")] == [
        "layout", "shape", "other", "picture",
    ]  # fmt: skip
    assert {"back", "next", "play", "target"} <= set(reached)


@pytest.mark.slow
def test_the_page_says_that_the_server_does_not_answer(driver: Any) -> None:
    with Server(0, Worker(PATIENCE)) as leaving:
        page = Page(driver, f"http://127.0.0.1:{leaving.start().port}/").open(layout="f32[2,3]")
        page.shows("3*d0 + d1")
    page.type("layout", "f32[2,4]")
    page.until(lambda: "morello-layouts explore" in page.text("#status"))
    page.complaints()


@pytest.mark.slow
def test_the_picture_comes_first_on_a_desk_and_on_a_phone(page: Page) -> None:
    for width, height in ((1400, 900), (390, 844)):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        try:
            page.open(layout="f32[6,8]{1,0:T(2,4)}")
            top, bottom = page.script(
                "const box = document.querySelector('#picture').getBoundingClientRect();"
                "return [box.top, box.bottom]"
            )
            assert top < height / 2, width
            assert bottom <= height, width
        finally:
            page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.slow
def test_sizes_slide_and_colours_are_chosen(page: Page) -> None:
    page.open(layout="f32[3,5]{1,0}")
    assert page.find("#colour").get_property("value") == "offset", "without tiles"
    slide = (
        "const e = document.getElementById(arguments[0]); e.focus(); e.value = arguments[1];"
        "e.dispatchEvent(new Event('input', { bubbles: true }))"
    )
    page.script(slide, "size-1", 12)
    page.shows("12*d0 + d1")
    assert page.find("#layout").get_property("value") == "f32[3,12]{1,0}"
    page.script(slide, "size-0", 10)
    page.until(lambda: page.text("#answer h2") == "f32[10,12]{1,0}")
    page.open(layout="f32[M,N]")
    page.script(slide, "size-0", 3)
    page.until(lambda: "M = 3" in page.text("#picture-card .about"))
    page.script(
        "colour.value = 'row'; colour.dispatchEvent(new Event('change', { bubbles: true }))"
    )
    page.until(lambda: "cells of one row have one colour" in page.text("#picture"))
    assert "colour=row" in page.driver.current_url


@pytest.mark.slow
def test_three_layouts_are_compared(page: Page) -> None:
    page.open(layout="f32[6,8]{1,0}", other="{1,0:T(2,4)}")
    page.find("#add").click()
    page.driver.switch_to.active_element.send_keys("{0,1}")
    page.until(lambda: len(page.all("#picture g.panel")) == 3)
    page.point("#picture g.cell")
    path = "return document.querySelector('.arrows path').getAttribute('d')"
    page.until(lambda: page.script(path).count("M") == 2)
    assert page.text("#comparison-1 h3") == "Compared with {0,1} at 6x8"
    link = page.driver.current_url
    page.driver.get("about:blank")
    page.driver.get(link)
    page.until(lambda: len(page.all("#picture g.panel")) == 3)
    assert [e.get_property("value") for e in page.all("input.other")] == ["{1,0:T(2,4)}", "{0,1}"]


@pytest.mark.slow
def test_the_picture_is_saved_and_the_theme_changes(page: Page) -> None:
    page.open(layout="f32[3,5]{1,0:T(2,2)}")
    page.script(
        "window.saved = []; URL.createObjectURL = (make => blob => {"
        " saved.push(blob); return make.call(URL, blob); })(URL.createObjectURL);"
        "HTMLAnchorElement.prototype.click = function () {"
        " saved.push(this.getAttribute('download')); }"
    )
    for k, (name, kind) in enumerate((("svg", "image/svg+xml"), ("png", "image/png"))):
        page.all(".saving button")[k].click()
        page.until(lambda name=name: page.script("return saved.at(-1)") == f"layout.{name}")
        assert page.script("return saved.at(-2).type") == kind
    page.all(".saving button")[2].click()
    page.until(lambda: page.script("return saved.at(-1)") == "layout.html")
    text = page.driver.execute_async_script("saved.at(-2).text().then(arguments[0])")
    assert text.startswith("<!DOCTYPE html>")
    assert "byOffset" in text
    ground = "return getComputedStyle(document.body).backgroundColor"
    found = []
    for _ in range(3):
        page.find("#theme").click()
        paper = "return getComputedStyle(document.querySelector('#picture .paper')).fill"
        found.append((page.text("#theme"), page.script(ground), page.script(paper)))
    light, dark = ("rgb(255, 255, 255)",) * 2, ("rgb(21, 24, 28)",) * 2
    assert found == [
        ("Theme: light", *light), ("Theme: dark", *dark), ("Theme: system", *light),
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("AXE"), reason="AXE names no axe.min.js")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page: Page, scheme: str) -> None:
    feature = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", feature)
    try:
        page.open(layout="f32[M,N]{1,0:T(2,4)}", other="{1,0}\n{0,1}", access="column")
        page.script(Path(os.environ["AXE"]).read_text(encoding="utf-8"))
        found = page.driver.execute_async_script(
            "axe.run().then(r => arguments[0](r.violations.map("
            "v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 200)])))"
        )
        assert found == []
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
