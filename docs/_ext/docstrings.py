"""Docstrings with sections (Args, Attributes, Raises) as reStructuredText, by Napoleon.

Napoleon takes the text before a colon in a property's docstring for its type. Ours starts with a
sentence, so properties are read like methods. The fields of a class are described beside them, in
``#:`` comments; its entry lists them as one section. A default made by a factory is written as
``...``, so that the signature stays valid Python and its types are found. An attribute with the
name of a builtin is not indexed, or ``bytes`` in every signature would link to it. A public name in
code links to its entry, except within the entry.
"""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import GoogleDocstring
from sphinx.pycode import ModuleAnalyzer

import morello_layouts as ml

_CONFIG = Config(napoleon_attr_annotations=True)
_CLASSES = {"class", "exception"}
_VALUES = {"attribute", "data", "property"}
_ATTRIBUTE = re.compile(r"( *)\.\. attribute:: (\w+)$")
_TYPE = re.compile(r" *:type: .*$")
_NAME = re.compile(r"(?<!`)``(\w+)``(?!`)")
_PUBLIC = {name for name in ml.__all__ if callable(getattr(ml, name))}


def _attributes_with_types(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines, with the type of each attribute directly below its name."""
    for number, line in enumerate(lines):
        found = _ATTRIBUTE.match(line)
        if found:
            yield line
            rest = takewhile(lambda x: not _ATTRIBUTE.match(x), lines[number + 1 :])
            yield from (x for x in rest if _TYPE.match(x))
            if hasattr(builtins, found[2]):
                yield f"{found[1]}   :no-index:"
        elif not _TYPE.match(line):
            yield line


def _fields(value: type) -> dict[str, list[str]]:
    """Return the words beside each field of a class, by its name."""
    documented = ModuleAnalyzer.for_module(value.__module__).find_attr_docs()
    return {
        field: [line for line in words if line.strip()]
        for (where, field), words in documented.items()
        if where == value.__qualname__ and not isinstance(vars(value).get(field), property)
    }


def _section(fields: dict[str, list[str]]) -> list[str]:
    """Return the section that describes fields."""
    entries = (
        line
        for name, (first, *more) in fields.items()
        for line in (f"    {name}: {first}", *(f"        {line}" for line in more))
    )
    return ["", "Attributes:", *entries, ""] if fields else []


def _skip(app: Sphinx, *event: Any) -> bool | None:
    """Leave out the entry of a field, which the section of its class describes."""
    name = event[1]
    now = app.env.current_document
    owner = getattr(sys.modules.get(now.autodoc_module), now.autodoc_class, None)
    return True if isinstance(owner, type) and name in _fields(owner) else None


def _process(app: Sphinx, what: str, name: str, *rest: Any) -> None:
    value, options, lines = rest
    if what in _CLASSES:
        lines.extend(_section(_fields(value)))
    kind = "method" if what in _VALUES else what
    read = GoogleDocstring(lines, _CONFIG, app, kind, name, value, options)
    read_lines = read.lines()
    found = _attributes_with_types(read_lines) if what in _CLASSES else read_lines
    lines[:] = [_NAME.sub(lambda match: _linked(match, name), line) for line in found]


def _linked(match: re.Match[str], at: str) -> str:
    """Return a public name as a link to its entry, unless it is in that entry."""
    own = match[1] not in _PUBLIC or match[1] in at.split(".")
    return match[0] if own else f":py:obj:`{match[1]} <morello_layouts.{match[1]}>`"


def _process_signature(*event: Any) -> tuple[str | None, str | None]:
    signature, returned = event[-2:]
    return signature and signature.replace("<factory>", "..."), returned


def setup(app: Sphinx) -> dict[str, Any]:
    """Read docstrings when autodoc finds them."""
    app.connect("autodoc-process-signature", _process_signature)
    app.connect("autodoc-process-docstring", _process)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
