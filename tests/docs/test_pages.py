"""The explanations name tests that exist, and count the recorded facts as they are."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path
from types import ModuleType

import pytest

import morello_layouts as ml
from tests.support.paths import ROOT
from tests.support.tables import each_row

DATA = ROOT / "tests" / "data"
GENERATED = ROOT / "docs" / "generated"
PAGES = sorted(p for p in (ROOT / "docs").rglob("*.md") if p.parent != GENERATED)
GENERATOR = (ROOT / "docs" / "generate.py").read_text("utf-8")
MADE = set(re.findall(r'"(\w+\.(?:md|svg))": make_', GENERATOR))
DIFFERENCES = (ROOT / "docs" / "explanation" / "differences.md").read_text(encoding="utf-8")


def defined() -> set[str]:
    """The names of all tests."""
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    return {name for text in sources for name in re.findall(r"^def (test_\w+)", text, re.MULTILINE)}


def named(text: str) -> set[str]:
    """The names of tests that a page has."""
    return set(re.findall(r"`(test_\w+)`", text))


def test_tests_that_pages_name_exist() -> None:
    missing = {
        name for path in PAGES for name in named(path.read_text(encoding="utf-8"))
    } - defined()
    assert not missing
    assert len(named(DIFFERENCES)) >= 8


@pytest.mark.parametrize(
    ("file", "header", "counted"),
    [
        ("morello_oracle.jsonl", 0, "{:,} layouts at shapes"),
        ("xla_parse_oracle.tsv", 1, "{:,} texts"),
        ("tpu_buffer_sizes.tsv.gz", 1, "{:,} arrays"),
        ("tpu_element_order.jsonl.gz", 0, "{:,} arrays"),
        ("onednn_tags.tsv", 0, "{:,} tags at shapes"),
    ],
)
def test_recorded_facts_are_counted_right(file: str, header: int, counted: str) -> None:
    data = (DATA / file).read_bytes()
    text = (gzip.decompress(data) if file.endswith(".gz") else data).decode()
    rows = [line for line in text.splitlines() if line and not line.startswith("#")][header:]
    assert counted.format(len(rows)) in DIFFERENCES


CODE = re.compile(r"^```.*?^```$|``[^`]+``|`[^`\n]+`|<!--.*?-->", re.MULTILINE | re.DOTALL)
PRODUCT = re.compile(r"(?<=[\w)\]])\*(?=[\w(\[])|(?<=[(,])\*(?=[,)])")


@each_row("path", PAGES, ids=lambda path: path.stem)
def test_no_product_in_prose_becomes_emphasis(path: Path) -> None:
    prose = CODE.sub("", path.read_text(encoding="utf-8"))
    assert not [line for line in prose.splitlines() if PRODUCT.search(line)]


def test_a_product_in_prose_would_be_seen() -> None:
    assert len(PRODUCT.findall(r"A*B and T(*,*,2), a*(b), not A\*B, *yes*, (*so*), **no**")) == 4


INDEX = ROOT / "docs" / "index.md"


def in_trees(text: str) -> set[str]:
    """The pages that the site's side bar has, from a page's hidden trees."""
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return {line for tree in trees for line in tree.splitlines() if line and line[0] != ":"}


def linked(text: str) -> set[str]:
    """The pages of ``docs`` and above it that links in plain Markdown name, without endings."""
    targets = re.findall(r"\]\(([^)#\s]+\.(?:md|ipynb))(?:#[^)]*)?\)", text)
    return {target.rpartition(".")[0] for target in targets}


def from_docs(path: Path) -> set[str]:
    """What a page links to, relative to ``docs``."""
    if not path.exists():  # made when the site is built
        return set()
    places = ((path.parent / one).resolve() for one in linked(path.read_text(encoding="utf-8")))
    return {Path(os.path.relpath(one, INDEX.parent)).as_posix() for one in places}


def test_each_page_is_two_links_from_the_front_page_in_plain_markdown_too() -> None:
    """A forge shows no side bar."""
    trees = in_trees(INDEX.read_text(encoding="utf-8"))
    trees |= in_trees((INDEX.parent / "contributors.md").read_text(encoding="utf-8"))
    near = from_docs(INDEX)
    near |= {"contributors"} | from_docs(INDEX.parent / "contributors.md")
    near |= {page for one in near.copy() for page in from_docs(INDEX.parent / f"{one}.md")}
    assert trees <= near
    pages = {path.relative_to(INDEX.parent).with_suffix("").as_posix() for path in PAGES}
    pages |= {f"generated/{Path(name).stem}" for name in MADE if name.endswith(".md")}
    assert pages - {"index"} <= trees | {path for path in pages if path.startswith("reference/")}


def is_name(text: str) -> bool:
    """Whether a text such as ``ml.tpu.waste`` names something; of values, only the first part."""
    here: object = ml
    for part in text.split(".")[1:]:
        if not hasattr(here, part):
            return False
        here = getattr(here, part)
        if not isinstance(here, ModuleType):
            break
    return True


LINK = re.compile(r"\]\(([^)\s]+)\)")
DOCUMENTS = sorted(
    {*PAGES, *ROOT.glob("*.md"), *ROOT.glob("notebooks/*.md"), *ROOT.glob("notebooks/*.ipynb")}
)


def prose(path: Path) -> str:
    """A page's text, or that of a notebook's cells of text, without code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(path: Path) -> set[str]:
    """What headings are called in links, on a forge and on the site."""
    found = re.findall(r"^#+ (.*)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.strip().lower()).replace(" ", "-") for head in found}


def dead_links(path: Path) -> list[str]:
    """The links of a page to files, or to headings, that are not there."""
    dead = []
    for target in LINK.findall(re.sub(r"`[^`\n]+`", "", prose(path))):
        file, _, anchor = target.partition("#")
        other = path.parent / file if file else path
        if other.resolve().parent == GENERATED:  # made by the build, which checks the heading
            if other.name not in MADE:
                dead.append(target)
        elif "://" not in target and (
            not other.exists() or (anchor and anchor not in anchors(other))
        ):
            dead.append(target)
    return dead


@each_row("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_files_and_headings(path: Path) -> None:
    assert not dead_links(path)


@each_row("path", DOCUMENTS, ids=lambda path: path.name)
def test_names_of_the_package_exist(path: Path) -> None:
    named = re.findall(r"(?<![\w./`])`*(ml(?:\.[a-zA-Z]\w*)+)", path.read_text(encoding="utf-8"))
    assert not {text for text in named if not is_name(text)}


def test_a_wrong_name_would_be_seen() -> None:
    names = ["ml.index_map", "ml.tpu.waste", "ml.tpu.wast", "ml.lambdify", "ml.relayout.kernel"]
    assert [is_name(text) for text in names] == [True, True, False, False, True]


def test_dead_links_would_be_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A (b)\n\n[1](#a-b) [2](#a) [3](page.md) [4](no.md) [5](https://x/#y)\n")
    assert dead_links(page) == ["#a", "no.md"]
    page.write_text(f"[1]({GENERATED}/rules.md) [2]({GENERATED}/no.md)\n")
    assert dead_links(page) == [f"{GENERATED}/no.md"]
