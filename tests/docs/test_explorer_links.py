"""The links from the documentation's code to the explorer."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from morello_layouts.interfaces.explorer.subject import Question
from tests.explorer.page import CHROMEDRIVER, CHROMIUM, browser
from tests.support.paths import ROOT
from tests.support.tables import each_row

pytest.importorskip("docutils", reason="the group docs is not installed")

_spec = importlib.util.spec_from_file_location(
    "explorer_links", ROOT / "docs" / "_ext" / "explorer_links.py"
)
assert _spec is not None
assert _spec.loader is not None
links = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(links)


@each_row(
    ("block", "questions"),
    [
        ('>>> ml.draw("f32[3,5]{1,0:T(2,2)}")', [Question("f32[3,5]{1,0:T(2,2)}")]),
        ('ml.index_map("[1, 0, 1 p(4)]", (6, 8))', [Question("[1, 0, 1 p(4)]", shape="6x8")]),
        ("f('[0, 1]', shape=('M', 'N'))", [Question("[0, 1]", shape="M,N")]),
        ('$ morello-layouts explain "[1, 0]" --shape 6x8', [Question("[1, 0]", shape="6x8")]),
        ('g("f32[2,3]", "f32[2,3]", "u8[4]")', [Question("f32[2,3]"), Question("u8[4]")]),
        ('ml.parse("[1, 0]")', []),  # no sizes
        ('print("no layout", "d0 + 1", "f32[3,")', []),
    ],
)
def test_layouts_in_a_block_of_code(block: str, questions: list[Question]) -> None:
    assert links.questions(block) == questions


CONF = f"""
import sys
sys.path.insert(0, {str(ROOT / "docs" / "_ext")!r})
extensions = ["explorer_links"]
html_theme = "basic"
html_static_path = [{str(ROOT / "docs" / "_static")!r}]
html_css_files = ["site.css"]
"""
PAGE = """\
Layouts
=======

.. raw:: html

   <!-- picture -->

.. code-block:: python

   ml.draw("f32[3,5]{1,0:T(2,2)}")
   ml.draw("f32[M,5]{1,0:T(2,2)}")

.. raw:: html

   <!-- picture 2 by row -->

.. code-block:: python

   ml.index_map("f32[3,5]{1,0:T(2,2)}")
   ml.index_map("f32[N,5]{1,0:T(2,2)}")

.. code-block:: python

   ml.index_map("f32[4,5]{1,0:T(2,2)}")

.. code-block:: python

   print("no layout")
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of one page below a folder, built by Sphinx."""
    pytest.importorskip("sphinx", reason="the group docs is not installed")
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("target")
    (source / "conf.py").write_text(CONF)
    (source / "how").mkdir()
    (source / "how" / "page.rst").write_text(PAGE)
    (source / "index.rst").write_text("Site\n====\n\n.. toctree::\n\n   how/page\n")
    options = ["-q", "-W", "-D", "explorer=explorer/index.html"]
    subprocess.run([sys.executable, "-m", "sphinx", *options, str(source), str(target)], check=True)
    return target


@pytest.mark.slow
def test_a_picture_is_drawn_where_one_is_asked_for(site: Path) -> None:
    text = (site / "how" / "page.html").read_text()
    pictures = re.findall(r'<a class="live" href="([^"]+)"[^>]*><img src="([^"]+)"', text)
    assert len(pictures) == 2
    assert text.count("explorer/index.html#layout=") == 5
    assert 'href="../explorer/index.html#layout=f32%5B3%2C5%5D%7B1%2C0%3AT%282%2C2%29%7D"' in text
    for file in (file for pair in pictures for file in pair):
        assert 'class="cell"' in (site / "how" / file).read_text(), file
    shown = [(site / "how" / svg).read_text() for _, svg in pictures]
    assert "f32[3,5]{1,0:T(2,2)}" in shown[0]
    assert "N = 10" in shown[1]  # a symbolic size has a number


@pytest.mark.slow
def test_a_click_makes_a_picture_live(site: Path) -> None:
    pytest.importorskip("selenium", reason="selenium is not installed")
    if not (CHROMIUM and CHROMEDRIVER):
        pytest.skip("no chromium and chromedriver are installed")
    driver = browser(390, 900)
    try:
        driver.get((site / "how" / "page.html").as_uri())  # no server
        first, second = driver.find_elements("css selector", "a.live")
        assert not driver.find_elements("css selector", "iframe")
        first.click()
        assert len(driver.find_elements("css selector", "iframe")) == 1
        first.click()
        second.click()
        (frame,) = driver.find_elements("css selector", "iframe")
        assert (first.aria_role, second.get_attribute("aria-expanded")) == ("link", "true")
        assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        driver.switch_to.frame(frame)
        driver.find_element("css selector", 'g.cell[data-o="1"]').click()
        assert "(0, 1)" in driver.find_element("css selector", ".details").text
        driver.switch_to.default_content()
        second.click()
        assert not driver.find_elements("css selector", "iframe")
    finally:
        driver.quit()
