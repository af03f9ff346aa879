"""The interactive page: what it holds, and what it does in a browser without a network."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import morello_layouts as ml

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


def data(page: str) -> list[dict[str, Any]]:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    found: list[dict[str, Any]] = json.loads(text)
    return found


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("f32[3,5]{1,0:T(2,2)}", None),
        ("bf16[8,8]{1,0:T(2,4)(2,1,1,1)}", None),
        ("f32[2,2,5]{2,1,0:T(2,*,3)}", None),
        ("[1, 0, 1 p(4)]", (6, 8)),
        ("[0, 0 oe(8)]", (16,)),
        ("f32[3,5]{1,0:T(2,2)L(16)}", None),
    ],
)
def test_the_page_knows_terms_coordinates_and_steps(
    text: str, shape: tuple[int, ...] | None
) -> None:
    m = ml.index_map(text, shape)
    (panel,) = data(ml.draw(m).html())
    assert [stage["name"] for stage in panel["stages"]][1:] == [s.name for s in m.recipe.steps]
    assert [tuple(s["shape"]) for s in panel["stages"]] == list(m.recipe.shapes)
    elements = 0
    for cell in panel["cells"]:
        offset, at = int(cell["o"]), tuple(cell["c"])
        steps = panel["steps"][cell["o"]]
        if cell["k"] is None:
            assert cell["o"] not in panel["values"]
            assert steps[0] is None
            continue
        elements += 1
        assert m(*at) == offset
        assert sum(map(int, panel["values"][cell["o"]])) == offset
        assert tuple(steps[0]) == at
        assert tuple(steps[-1]) == m.physical_coordinates(*at)
        assert panel["numbers"][cell["o"]][-1] == cell["o"], "after the last step it is the offset"
    assert elements == len([c for c in panel["cells"] if c["k"] is not None]) > 0
    assert " + ".join(panel["terms"]) == str(m.form)


class Tags(HTMLParser):
    """What a page would fetch, and whether its elements are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "input"):
            self.open.append(tag)
        self.fetched += [f"{tag} {name}" for name, _ in attrs if name in ("src", "href")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Closed already."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("texts", [("f32[3,5]{1,0:T(2,2)}",), ("f32[3,5]{1,0:T(2,2)}", "{1,0}")])
def test_the_page_loads_nothing(texts: tuple[str, ...]) -> None:
    page = ml.draw(*texts).html()
    tags = Tags()
    tags.feed(page)
    assert (tags.open, tags.fetched) == ([], [])
    assert "default-src 'none'" in page
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert "fetch(" not in page
    assert "innerHTML" not in page


def test_large_pictures_are_not_played() -> None:
    page = ml.draw("bf16[32,128]{1,0:T(8,128)(2,1)}").html()
    assert '<section class="player"' not in page
    assert '<section class="player"' in ml.draw("f32[3,5]").html()


def test_elements_that_share_slots_are_not_played() -> None:
    assert '<section class="player"' not in ml.draw("((4,2),8):((1,2),4)").html()
    assert '<section class="player"' in ml.draw("((4,2),8):((1,32),4)").html()


DRIVER = """
<pre id="result"></pre><script>
const log = [];
const enter = (kind, offset) => document.querySelector(`#picture g.${kind}[data-o="${offset}"]`)
  .dispatchEvent(new PointerEvent("pointerenter"));
const details = k => [...document.querySelectorAll(`.details section[data-panel="${k}"] tr`)]
  .map(row => [...row.cells].map(cell => cell.textContent));
const chosen = () => [...document.querySelectorAll("#picture .on")]
  .map(g => g.getAttribute("class").split(" ")[0] + g.dataset.o);
const numbers = () => Object.fromEntries([...document.querySelectorAll(".player .cell")]
  .filter(g => !g.classList.contains("away"))
  .map(g => [g.dataset.o, g.querySelector("text").textContent]));
const failed = [];
addEventListener("error", event => failed.push(event.message));
try { STEPS } catch (error) { failed.push(String(error)); }
log.push(failed);
document.getElementById("result").textContent = JSON.stringify(log);
</script></body>"""


def driven(page: str, steps: str, place: Path) -> list[Any]:
    """What a script logs in the page, in headless Chromium; the last entry are errors."""
    if BROWSER is None:
        pytest.skip("no chromium is installed")
    source = place / "page.html"
    source.write_text(page.replace("</body>", DRIVER.replace("STEPS", steps)), encoding="utf-8")
    run = subprocess.run(
        [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            f"--user-data-dir={place / 'profile'}", "--virtual-time-budget=20000", "--dump-dom",
            source.as_uri(),
        ],
        check=False, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    found = re.search(r'<pre id="result">(.*?)</pre>', run.stdout, re.DOTALL)
    assert found, run.stderr[-2000:]
    text = found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    log: list[Any] = json.loads(text)
    assert log[-1] == [], log[-1]
    return log


@pytest.mark.slow
def test_hovering_shows_where_an_element_lies_and_why(tmp_path: Path) -> None:
    steps = """
      enter("cell", 17); log.push(chosen(), details(0));
      enter("slot", 9); log.push(chosen(), details(0));
      log.push([...document.querySelectorAll("#picture .ring")].map(r => r.parentNode.dataset.o));
    """
    both, cell, padding, hole, rings, _ = driven(
        ml.draw("f32[3,5]{1,0:T(2,2)}").html(), steps, tmp_path
    )
    assert sorted(both) == ["cell17", "slot17"]
    assert cell == [
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
    assert sorted(padding) == ["cell9", "slot9"]
    assert hole[1] == ["holds", "padding", "(0, 5) is outside"]
    assert rings == ["9", "9"], "a frame in the cell and in the slot, and none left behind"


@pytest.mark.slow
def test_clicks_keep_and_arrow_keys_move(tmp_path: Path) -> None:
    steps = """
      const picture = document.getElementById("picture");
      document.querySelector('g.cell[data-o="0"]').dispatchEvent(new MouseEvent("click"));
      enter("cell", 20); log.push(chosen());
      for (const key of ["ArrowRight", "ArrowDown", "ArrowRight"])
        picture.dispatchEvent(new KeyboardEvent("keydown", { key }));
      log.push(chosen());
      picture.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
      enter("cell", 20); log.push(chosen());
    """
    kept, moved, free, _ = driven(ml.draw("f32[3,5]{1,0:T(2,2)}").html(), steps, tmp_path)
    assert sorted(kept) == ["cell0", "slot0"]
    assert sorted(moved) == ["cell6", "slot6"], "(1, 2) lies at 6"
    assert sorted(free) == ["cell20", "slot20"]


@pytest.mark.slow
def test_the_steps_are_played_one_by_one(tmp_path: Path) -> None:
    steps = """
      const next = document.querySelector(".next"), back = document.querySelector(".back");
      const said = () => log.push([document.querySelector(".step").textContent, numbers()]);
      said();
      for (let k = 0; k < 4; k++) { next.click(); said(); }
      next.click(); back.click(); said();
      document.querySelector(".play").click();
    """
    log = driven(ml.draw("f32[3,5]{1,0:T(2,2)}").html(), steps, tmp_path)
    names = [name for name, _ in log[:-1]]
    assert names == [
        "array [3,5]", "pad [4,6]", "split [2,2,3,2]", "transpose [2,3,2,2]", "memory, 24 slots",
        "transpose [2,3,2,2]",
    ]  # fmt: skip
    m = ml.index_map("f32[3,5]{1,0:T(2,2)}")
    array, pad, split, transpose, memory = (numbers for _, numbers in log[:5])
    assert array == {str(m(r, c)): str(5 * r + c) for r in range(3) for c in range(5)}
    shown = {offset: number for offset, number in pad.items() if number}
    assert shown == {str(m(r, c)): str(6 * r + c) for r in range(3) for c in range(5)}
    assert len(pad) == 24, "padding is there now"
    assert split == pad, "a split gives no place another number"
    assert all(number in ("", offset) for offset, number in transpose.items())
    assert memory == transpose


@pytest.mark.slow
@pytest.mark.parametrize(("text", "is_there"), [("f32[3,5]", True), ("f32[300,500]", False)])
def test_the_line_runs_only_where_no_cell_is_left_out(
    text: str, is_there: bool, tmp_path: Path
) -> None:
    steps = 'log.push(document.querySelector(".trail").getAttribute("d"));'
    line, _ = driven(ml.draw(text, max_rows=5, max_columns=6).html(), steps, tmp_path)
    assert bool(line) == is_there


@pytest.mark.slow
def test_two_layouts_are_pointed_at_together(tmp_path: Path) -> None:
    steps = """
      enter("cell", 17); log.push(chosen(), details(0)[0], details(1)[0]);
    """
    page = ml.draw("f32[3,5]{1,0:T(2,2)}", "{1,0}").html()
    both, first, second, _ = driven(page, steps, tmp_path)
    assert sorted(both) == ["cell13", "cell17", "slot13", "slot17"]
    assert (first[1], second[1]) == ("17", "13")


@pytest.mark.slow
def test_offsets_beyond_javascript_integers_are_exact(tmp_path: Path) -> None:
    size = 2**40
    text = f"u8[{size},{size}]{{1,0:T(8,128)(4,1)}}"
    last = ml.index_map(text)(size - 1, size - 1)
    assert last > 2**53
    steps = f'enter("cell", "{last}"); log.push(details(0).pop(), details(0)[0]);'
    total, slot, _ = driven(ml.draw(text).html(), steps, tmp_path)
    assert total == ["=", str(last), ""]
    assert slot == ["slot", str(last), f"of {2**80}"]


@pytest.mark.slow
def test_hostile_titles_do_nothing(tmp_path: Path) -> None:
    from morello_layouts.outputs.picture import Limits, Style, picture_of

    hostile = '</script><img src=x onerror="window.harm = 1"><!-- \' & </title>'
    page = picture_of([replace(ml.index_map("f32[2,3]"), source=hostile)], Style(), Limits()).html()
    steps = 'enter("cell", 1); log.push([document.querySelector("h1").textContent, window.harm]);'
    (title, harm), _ = driven(page, steps, tmp_path)
    assert title == hostile
    assert harm is None


@pytest.mark.slow
def test_a_lane_is_lit_in_all_operands(tmp_path: Path) -> None:
    name = "SM80_16x8x16_F32F16F16F32_TN"
    steps = """
      enter("cell", 5);
      const lit = [...document.querySelectorAll("#picture g.panel")].map(panel =>
        [...panel.querySelectorAll(".ring")].map(ring => Number(ring.parentNode.dataset.o)));
      log.push(lit.map(held => held.sort((a, b) => a - b)));
      log.push([...document.querySelectorAll(".details .hint")].map(hint => hint.textContent));
    """
    lit, hints, _ = driven(ml.draw(name).html(), steps, tmp_path)
    lane = ml.index_map(f"{name} A").place(*ml.index_map(f"{name} A").coordinates(5))["lane"]
    for held, operand in zip(lit, "ABC", strict=True):
        m = ml.index_map(f"{name} {operand}")
        assert held == [p for p in range(m.size) if m.place(*m.coordinates(p))["lane"] == lane]
    assert [hint.partition(" holds ")[0] for hint in hints][1:] == [f"lane {lane}"] * 2
