"""The table of formats that have a name, from the same rows that the parser reads."""

from __future__ import annotations

from typing import Final

from morello_layouts.notations.named import FORMATS

HEAD: Final = """# Formats that have a name

`mlay explain NAME --shape …` takes each of these, in any case, and `-` for `_`. The map says where
an element lies, as a coordinate in a row-major box. Leading dimensions that it lacks are batches.

| name | what it is | map | document |
|---|---|---|---|
"""


def page() -> str:
    """Return the page."""
    rows = []
    for each in FORMATS:
        names = ", ".join(f"`{name}`" for name in (each.name, *each.aliases))
        made = f"`{each.formula.removeprefix('lambda ')}`" if each.formula else "any dimensions"
        rows.append(f"| {names} | {each.words} | {made} | {each.source} |\n")
    return HEAD + "".join(rows)
