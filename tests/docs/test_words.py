"""The reader's pages stay short: words that are written by hand, without code."""

from __future__ import annotations

import re

from tests.support.paths import ROOT

MOST = 25_000
CODE = r"^```.*?^```$"
MADE = (
    r"<!-- begin.*?<!-- end.*?-->",
    r"<!-- (\w+): begin.*?<!-- \1: end -->",
    r"<!-- questions -->.*?<!-- questions -->",
    r"<!-- the table: .*?\n\n",
)


def words(page: str) -> int:
    """Return the words of a page outside of code and of tables that a script writes."""
    for part in (CODE, *MADE):
        page = re.sub(part, "", page, flags=re.MULTILINE | re.DOTALL)
    return len(page.split())


def test_words_are_counted_without_code_and_without_what_scripts_write() -> None:
    page = "# A page\n\n```python\nx = 1\n```\n\nfive <!-- begin x: y -->\na b\n<!-- end x -->\n"
    assert words(page) == 4


def test_the_readers_pages_have_at_most_25_000_words() -> None:
    docs = ROOT / "docs"
    contributors = (docs / "contributors.md").read_text(encoding="utf-8")
    _, _, inside = contributors.partition("```{toctree}")
    pages = {*docs.rglob("*.md"), ROOT / "README.md", ROOT / "notebooks" / "README.md"}
    pages -= {*(docs / "generated").rglob("*")}
    pages -= {docs / f"{line}.md" for line in inside.splitlines()}
    pages -= {docs / "contributors.md"}
    found = {page: words(page.read_text(encoding="utf-8")) for page in pages}
    longest = sorted(found.items(), key=lambda item: -item[1])[:5]
    assert sum(found.values()) <= MOST, longest
