"""Blocks of code without the empty lines at their end, which only the tests of examples need."""

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
                block.rawsource = text  # where the two differ Sphinx does not highlight
            block.children = [nodes.Text(text)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Strip them as documents are read."""
    app.connect("doctree-read", _strip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
