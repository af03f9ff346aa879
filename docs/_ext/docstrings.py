"""Docstrings with sections (Args, Attributes, Raises) as reStructuredText.

Napoleon reads the sections, but for two things. It takes what stands before a colon in a property's
docstring for its type; ours are sentences there too, so properties are read like methods. And it
makes one list of a class's attributes; here each attribute is an entry of its own, with its type and
a place to link to.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import GoogleDocstring

_CONFIG = Config()
_ATTRIBUTES = re.compile(r"^Attributes:\n((?:^ +.*\n|^\n)+)", re.MULTILINE)
_ATTRIBUTE = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)

_classes: dict[str, type] = {}


def attributes_of(docstring: str) -> dict[str, list[str]]:
    """The lines that a class's docstring has about each attribute.

    >>> attributes_of("A.\\n\\nAttributes:\\n    size: in\\n        bytes.\\n")
    {'size': ['in', 'bytes.']}
    """
    section = _ATTRIBUTES.search(docstring + "\n")
    found = _ATTRIBUTE.findall(section[1]) if section else []
    return {name: [line.strip() for line in text.splitlines()] for name, text in found}


def _about(name: str) -> list[str]:
    """What the class of an attribute, or one above it, says of it."""
    owner, _, attribute = name.rpartition(".")
    for cls in _classes[owner].__mro__ if owner in _classes else ():
        lines = attributes_of(inspect.cleandoc(cls.__doc__ or "")).get(attribute)
        if lines:
            return [lines[0][:1].upper() + lines[0][1:], *lines[1:]]
    return []


def _process(
    app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    if what in {"class", "exception"}:
        _classes[name] = value
        lines[:] = _ATTRIBUTES.sub("", "\n".join([*lines, ""])).splitlines()
    elif what in {"attribute", "property"}:
        lines[:] = (_about(name) if what == "attribute" else None) or lines
    kind = "method" if what in {"attribute", "data", "property"} else what
    lines[:] = GoogleDocstring(lines, _CONFIG, app, kind, name, value, options).lines()


def setup(app: Sphinx) -> dict[str, Any]:
    """Read docstrings as autodoc finds them."""
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
