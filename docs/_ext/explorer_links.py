"""Below code blocks with layouts, put links to the site's explorer, and the pictures asked for.

``<!-- picture -->`` above a block asks for a picture of its first layout, ``<!-- picture 2 by bank
-->`` for the second one in the colours of banks. A picture is a link to an interactive page of the
same layout, which a click opens in place (``_static/live.js``). The links to the explorer, and of
notebooks to pages that run them, are there if the site has one: ``sphinx-build -D
explorer=explorer/index.html``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from posixpath import relpath
from typing import Any, Final
from urllib.parse import urlencode

from docutils import nodes
from sphinx.application import Sphinx

from morello_layouts.core.maps import IndexMap
from morello_layouts.errors import LayoutError
from morello_layouts.interfaces.explorer.answer import colours_of, usual_colour
from morello_layouts.interfaces.explorer.subject import FieldError, Question, at_numbers, subject_of
from morello_layouts.outputs.picture import Limits, Style, picture_of
from morello_layouts.outputs.picture.picture import size_of

MOST: Final = 3
"""Layouts below one block."""

FOLDER: Final = "_live"
_SMALL: Final = Limits(rows=8, columns=14, slices=1, slots=0)
_ASKED: Final = re.compile(r"<!-- picture(?: (?P<which>\d))?(?: by (?P<colour>\w+))? -->")
_LIVE: Final = Limits(rows=12, columns=16, slices=2)

_LAYOUT: Final = re.compile(
    r"""(?P<quote>["'])(?P<text>[^"'\n]{2,200})(?P=quote)"""
    r"""(?:,\s*(?:shape=)?\((?P<shape>[\w, '\"]+)\)|[^"'\n]*?--shape\s+(?P<sizes>\w+))?"""
)


@cache
def _map(question: Question) -> IndexMap | None:
    """Return the map of a layout; None if the text is none, or does not have sizes."""
    try:
        return subject_of(question).report.index
    except (FieldError, LayoutError):
        return None


def questions(block: str) -> list[Question]:
    """Return the layouts in a block of code, each once."""
    found = []
    for match in _LAYOUT.finditer(block):
        sizes = re.findall(r"\w+", match["shape"] or "")
        joint = "x" if all(map(str.isdigit, sizes)) else ","
        found.append(Question(match["text"], shape=match["sizes"] or joint.join(sizes)))
    return [one for one in dict.fromkeys(found) if _map(one) is not None]


def asked_above(block: nodes.Element) -> re.Match[str] | None:
    """Return the comment above a block that asks for a picture."""
    place = block.parent if isinstance(block.parent, nodes.container) else block
    before = place.previous_sibling() if place.parent.index(place) else None
    return _ASKED.search(before.astext()) if isinstance(before, nodes.raw) else None


@cache
def drawn(question: Question, folder: Path) -> tuple[str, float, float] | None:
    """Write a layout's picture and its page; return their name and the picture's size.

    Both have the same name, but for the ending. A layout without a picture gives None.
    """
    name = sha256(repr(question).encode()).hexdigest()[:12]
    m = _map(question)
    if m is None:
        return None
    try:
        (known,), _ = at_numbers([m], question.at)
        bits = None if known.element_type is None else known.element_type.bits
        colours = colours_of(known, bits)
        colour = question.colour or usual_colour(colours)
        if colour not in colours:
            raise ValueError(f"{question.layout} has no colours by {colour}: {', '.join(colours)}")
        small = picture_of([known], Style(colour, formula=False, element_bits=bits), _SMALL).svg()
        live = picture_of([known], Style(colour, strip=600, element_bits=bits), _LIVE)
    except (FieldError, LayoutError):
        return None
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.svg").write_text(small, encoding="utf-8")
    (folder / f"{name}.html").write_text(live.html(), encoding="utf-8")
    return (name, *size_of(small))


def _figure(question: Question, picture: tuple[str, float, float] | None, root: str) -> str:
    """Return a layout's picture, which leads to its page, and its text below."""
    if picture is None:
        return ""
    name, width, height = picture
    text = escape(" at ".join(filter(None, (question.layout, question.shape))))
    return (
        f'<a class="live" href="{root}/{name}.html" title="Point at its cells">'
        f'<img src="{root}/{name}.svg" alt="the cells of {text}" loading="lazy" '
        f'width="{width:.0f}" height="{height:.0f}"></a>'
    )


def _show(app: Sphinx, doctree: nodes.document, page: str) -> None:
    if app.builder.format != "html":
        return
    here = app.builder.get_target_uri(page).rpartition("/")[0] or "."
    root, explorer = relpath(FOLDER, here), relpath(app.config.explorer or ".", here)
    _run_here(app, doctree, page)
    for block in list(doctree.findall(nodes.literal_block)):
        found, figures = questions(block.astext())[:MOST], ""
        if asked := asked_above(block):
            one = found[int(asked["which"] or 1) - 1]
            one = replace(one, colour=asked["colour"] or "")
            figures = _figure(one, drawn(one, Path(app.outdir, FOLDER)), root)
        box = nodes.container(classes=["explorer-links"])
        box += nodes.raw("", figures, format="html")
        links = nodes.paragraph()
        for question in found if app.config.explorer else ():
            links += nodes.Text("Open in the explorer: " if not links.children else ", ")
            to = f"{explorer}#{urlencode(question.filled())}"
            links += nodes.reference("", question.layout, refuri=to, internal=False)
        box += links
        if figures or links.children:
            place = block.parent if isinstance(block.parent, nodes.container) else block
            place.parent.insert(place.parent.index(place) + 1, box)


def _run_here(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Link a notebook to the page beside the explorer, in which its cells run."""
    folder, _, name = page.rpartition("/")
    if folder != "notebooks" or name == "README" or not app.config.explorer:
        return
    there = f"{app.config.explorer.rpartition('/')[0]}/{name}.html"
    link = nodes.reference(
        "", "Run it in the browser", refuri=relpath(there, folder), internal=False
    )
    title = next(doctree.findall(nodes.title))
    title.parent.insert(title.parent.index(title) + 1, nodes.paragraph("", "", link))


def setup(app: Sphinx) -> dict[str, Any]:
    """Draw and link when a page is written."""
    app.add_config_value("explorer", "", "html")
    app.add_js_file("live.js", loading_method="defer")
    app.connect("doctree-resolved", _show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
