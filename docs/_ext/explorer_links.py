"""Below each code block with layouts, put links that open them in the site's explorer.

The links are there if the site has an explorer: ``sphinx-build -D explorer=explorer/index.html``.
"""

from __future__ import annotations

import re
from functools import cache
from posixpath import relpath
from typing import Any, Final
from urllib.parse import urlencode

from docutils import nodes
from sphinx.application import Sphinx

from morello_layouts.errors import LayoutError
from morello_layouts.explorer.subject import FieldError, Question, subject_of

MOST: Final = 3
"""Links below one block."""

_LAYOUT: Final = re.compile(
    r"""(?P<quote>["'])(?P<text>[^"'\n]{2,200})(?P=quote)"""
    r"""(?:,\s*(?:shape=)?\((?P<shape>[\w, '\"]+)\)|[^"'\n]*?--shape\s+(?P<sizes>\w+))?"""
)


@cache
def _question(text: str, shape: str) -> Question | None:
    """Return the question about a layout; None if the text is none, or does not have sizes."""
    question = Question(text, shape=shape)
    try:
        return question if subject_of(question).report.index is not None else None
    except (FieldError, LayoutError):
        return None


def questions(block: str) -> list[Question]:
    """Return the layouts in a block of code, each once."""
    found = []
    for match in _LAYOUT.finditer(block):
        sizes = re.findall(r"\w+", match["shape"] or "")
        joint = "x" if all(map(str.isdigit, sizes)) else ","
        found.append(_question(match["text"], match["sizes"] or joint.join(sizes)))
    return list(dict.fromkeys(one for one in found if one is not None))


def _link(app: Sphinx, doctree: nodes.document, page: str) -> None:
    if not app.config.explorer or app.builder.format != "html":
        return
    here = app.builder.get_target_uri(page).rpartition("/")[0]
    address = relpath(app.config.explorer, here or ".")
    for block in list(doctree.findall(nodes.literal_block)):
        links = nodes.paragraph(classes=["explorer-links"])
        for question in questions(block.astext())[:MOST]:
            links += nodes.Text("Open in the explorer: " if not links.children else ", ")
            to = f"{address}#{urlencode(question.filled())}"
            links += nodes.reference("", question.layout, refuri=to, internal=False)
        if links.children:
            place = block.parent if isinstance(block.parent, nodes.container) else block
            place.parent.insert(place.parent.index(place) + 1, links)


def setup(app: Sphinx) -> dict[str, Any]:
    """Link when a page is written."""
    app.add_config_value("explorer", "", "html")
    app.connect("doctree-resolved", _link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
