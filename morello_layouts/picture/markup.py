"""Elements of SVG and HTML as text.

A library of SVG elements takes too long for the thousands of cells of a picture; what it would do
for us, escaping, is done here, in one place.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

__all__ = ["element", "escaped", "number"]

# What XML cannot hold, escaped or not.
_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escaped(text: object) -> str:
    """Text as it stands in markup; what XML cannot hold becomes a replacement character.

    >>> escaped('<a b="c">' + chr(0))
    '&lt;a b=&quot;c&quot;&gt;\ufffd'
    """
    return escape(_NO_XML.sub("\ufffd", str(text)))


def number(value: float) -> str:
    """A length: with at most one decimal.

    >>> number(12.0), number(12.345)
    ('12', '12.3')
    """
    return f"{round(value, 1):.12g}"


def element(tag: str, *children: str, **attributes: object) -> str:
    """An element with children that are markup already, and attributes that are not.

    An underscore at the end of an attribute's name is dropped, others become dashes; an attribute
    that is None is left out.

    >>> element("rect", x=1.25, class_="c0", stroke_width=2)
    '<rect x="1.2" class="c0" stroke-width="2"/>'
    >>> element("text", escaped("a < b"))
    '<text>a &lt; b</text>'
    """
    given = "".join(
        f' {name.removesuffix("_").replace("_", "-")}="{_value(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{given}>{''.join(children)}</{tag}>" if children else f"<{tag}{given}/>"


def _value(value: object) -> str:
    return number(value) if isinstance(value, int | float) else escaped(value)
