"""Write pages of the notebooks whose cells run in the browser; ``make_explorer.py`` calls this.

A page holds the edition for students: without outputs and assertions. Its cells run in the
explorer's engine, so NumPy, ISL and compilers are missing, and a cell that needs one says so.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
from html import escape
from pathlib import Path
from typing import Any, Final

import nbformat
from markdown_it import MarkdownIt

ROOT: Final = Path(__file__).parents[1]
HERE: Final = ROOT / "docs" / "_explorer"
PARTS: Final = ("notebook.css", "notebook.js", "cells.py")
_LINK: Final = re.compile(r'href="([\w./-]+?)\.(ipynb|md)(#[^"]*)?"')


def harness() -> Any:
    """Return the module that runs notebooks."""
    spec = importlib.util.spec_from_file_location("run", ROOT / "notebooks" / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def title_of(notebook: nbformat.NotebookNode) -> str:
    """Return the heading of a notebook."""
    return str(notebook.cells[0].source).splitlines()[0].removeprefix("# ")


def html_of(cells: list[nbformat.NotebookNode]) -> str:
    """Return the cells as HTML: text, and fields whose code can be changed and run."""
    markdown, parts = MarkdownIt("commonmark").enable("table"), []
    for number, cell in enumerate(cells, 1):
        if cell.cell_type == "markdown":
            text = _LINK.sub(r'href="\1.html\3"', markdown.render(cell.source))
            parts.append(f'<div class="text">{text}</div>')
            continue
        rows = cell.source.count("\n") + 1
        parts.append(
            f'<div class="cell"><textarea rows="{rows}" spellcheck="false" autocapitalize="off" '
            f'aria-label="Code of cell {number}">{escape(cell.source)}</textarea>'
            f'<button type="button" aria-label="Run cell {number}">Run</button>'
            f'<output aria-label="Output of cell {number}"></output></div>'
        )
    return "\n".join(parts)


def write(target: Path, policy: str) -> None:
    """Write the pages, and the files that their cells read, into the explorer's folder."""
    run = harness()
    editions = {
        path: run.for_students(nbformat.read(path, as_version=4)) for path in run.notebooks()
    }
    pages = [
        f'<a href="{path.stem}.html">{path.stem.partition("_")[0]}. {escape(title_of(edition))}</a>'
        for path, edition in editions.items()
    ]
    pages = ['<a href="index.html">Layout explorer</a>', *pages]
    frame = (HERE / "notebook.html").read_text(encoding="utf-8")
    files = {path.name: path for path in (ROOT / "notebooks").glob("*.txt")}
    for path, edition in editions.items():
        code = "\n".join(cell.source for cell in edition.cells)
        read = [name for name in files if name in code]
        for name in read:
            shutil.copyfile(files[name], target / name)
        filled = {
            "POLICY": policy,
            "TITLE": escape(title_of(edition)),
            "FILES": " ".join(read),
            "PAGES": "\n".join(pages),
            "CELLS": html_of(edition.cells),
        }
        page = re.sub("|".join(filled), lambda found, by=filled: by[found[0]], frame)
        (target / f"{path.stem}.html").write_text(page, encoding="utf-8")
    for name in PARTS:
        shutil.copyfile(HERE / name, target / name)
