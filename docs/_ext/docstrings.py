"""Docstrings with sections (Args, Attributes, Raises) as reStructuredText, by Napoleon.

Napoleon takes what stands before a colon in a property's docstring for its type. Ours are
sentences there too, so properties are read like methods. A default that a factory makes is written
so that a signature stays Python, else its types would not be found. An attribute with a builtin's
name is no place to link to, else ``bytes`` in every signature would lead there.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Iterator
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import GoogleDocstring

_CONFIG = Config(napoleon_attr_annotations=True)
_VALUES = {"attribute", "data", "property"}
_ATTRIBUTE = re.compile(r"( *)\.\. attribute:: (\w+)$")


def _without_builtins(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield line
        found = _ATTRIBUTE.match(line)
        if found and hasattr(builtins, found[2]):
            yield f"{found[1]}   :no-index:"


def _process(app: Sphinx, what: str, name: str, *rest: Any) -> None:
    value, options, lines = rest
    kind = "method" if what in _VALUES else what
    read = GoogleDocstring(lines, _CONFIG, app, kind, name, value, options)
    lines[:] = _without_builtins(read.lines())


def _process_signature(*event: Any) -> tuple[str | None, str | None]:
    signature, returned = event[-2:]
    return signature and signature.replace("<factory>", "..."), returned


def setup(app: Sphinx) -> dict[str, Any]:
    """Read docstrings as autodoc finds them."""
    app.connect("autodoc-process-signature", _process_signature)
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
