"""The tables of questions on the front page and on the first page of the reference."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from morello_layouts.interfaces.questions import every_question

ROOT: Final = Path(__file__).parent.parent
BLOCK: Final = "<!-- questions -->\n"


def front() -> Iterator[str]:
    """Yield the lines of the front page's table: question, how to ask, what to read."""
    yield from ("| question | ask | read |", "|---|---|---|")
    for question in every_question():
        links = [line.split(" | ") for line in question.pages.splitlines()]
        pages = ", ".join(f"[{title}]({path})" for title, path in links)
        yield f"| {question.asks} | {question.ask} | {pages} |"


def reference() -> Iterator[str]:
    """Yield the lines of the reference's table: question, public functions, page."""
    yield from ("| question | call | page |", "|---|---|---|")
    for question in every_question():
        names = ", ".join(f"`{name}`" for name in question.python.split(", "))
        page = ROOT / "docs" / "reference" / f"{question.reference}.md"
        title = re.search(r"^# (.+)", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert title is not None
        yield f"| {question.asks} | {names} | [{title[1]}]({page.name}) |"


def pages() -> dict[Path, str]:
    """Return the committed pages with their tables as the questions are now."""
    found = {}
    for name, rows in (("README.md", front()), ("docs/reference/index.md", reference())):
        head, _, tail = (ROOT / name).read_text(encoding="utf-8").split(BLOCK)
        table = "\n".join(rows)
        found[ROOT / name] = f"{head}{BLOCK}\n{table}\n\n{BLOCK}{tail}"
    return found
