"""Strip the empty lines at the end of code blocks, which only the tests of examples need."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def _strip(_app: Sphinx, doctree: nodes.document) -> None:
    for block in doctree.findall(nodes.literal_block):
        text = block.astext()
        if text.endswith("\n"):
            text = text.rstrip("\n")
            if block.rawsource.rstrip("\n") == text:
                block.rawsource = text  # Sphinx highlights only if the two are equal
            block.children = [nodes.Text(text)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Strip blocks when a document was read."""
    app.connect("doctree-read", _strip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
