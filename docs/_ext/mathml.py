"""Render formulas as MathML, which browsers draw without a script, a font or the network.

Docutils translates LaTeX. A formula that it cannot read stays LaTeX and gives a warning, which
fails the build.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

_LOG = logging.getLogger(__name__)


def translated(latex: str, *, block: bool) -> str:
    """Return a formula as a ``<math>`` element.

    Raises:
        MathError: if docutils cannot read the LaTeX.
    """
    return str(latex2mathml.tex2mathml(latex, as_block=block))


def _visit(block: bool) -> Any:
    def visit(self: HTML5Translator, node: nodes.Element) -> None:
        latex = node.astext()
        try:
            html = translated(latex, block=block)
        except MathError as error:
            _LOG.warning("no MathML for %r: %s", latex, error, location=node)
            html = f"<code>{self.encode(latex)}</code>"
        self.body.append(f'<div class="math">{html}</div>' if block else html)
        raise nodes.SkipNode

    return visit


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_visit(False), None), (_visit(True), None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
