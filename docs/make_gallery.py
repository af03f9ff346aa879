"""The gallery of formats: its page and its pictures.

The formats are those of ``tests/benchmarks/formats.py``. The package gives formulas, sizes and
verdicts.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Final

sys.path.append(str(Path(__file__).parents[1] / "tests" / "benchmarks"))

from formats import FORMATS, GROUPS, Format

import morello_layouts as ml
from morello_layouts.core.maps import IndexMap
from morello_layouts.interfaces.api.conversions import conversion

MORELLO_BITS: Final = 32
"""Morello's layouts name no type; sizes in bytes are those of f32."""

HEAD: Final = """\
# A gallery of formats

Popular formats, each with its picture, formula, size and verdict. The formats are listed in
`tests/benchmarks/formats.py`. [Pictures of layouts](../pictures.md) says how to read a picture: the
number in a cell is the element's offset, and hatched cells are padding.

Every entry has

- the **layout** for any sizes, in Morello's notation (`[…]`, outermost first), in XLA's (`{…}`, the
  fastest dimension first), or as a oneDNN tag (letters, outermost first);
- the **offset** of element (d0, d1, …), in elements, for any sizes;
- **elsewhere**: the same offsets at the sizes of the picture as a oneDNN tag, a CuTe layout and a
  pattern of einops, where there is one; `convert_all` writes the other notations too;
- **this size**: the bytes of the array as drawn, and of its buffer. If a layout names no type,
  elements take 4 bytes;
- the **verdict**, proved by ISL: whether the layout is injective (no two elements share a slot),
  and for which sizes it is bijective (there is no padding either). `8 | M` means that 8 divides M.

```python
>>> import morello_layouts as ml
>>> m = ml.index_map("bf16[M,N]{1,0:T(8,128)(2,1)}")
>>> print(ml.is_bijective(m).verdict)
bijective iff 8 | M and 128 | N

```
"""

TAIL: Final = """\
## Swizzles

Shared memory of a GPU is often swizzled: the column is combined with the row by exclusive or, so
that a column of a tile touches all banks. CuTe, Triton and formulas say it; in a recipe it is one
step:

```python
>>> swizzle = ml.index_map("Sw<3,0,3> o 0 o (8,8):(8,1)")
>>> print(swizzle)
(d0, d1) -> 8*d0 + (d0 ^ d1)
>>> print(swizzle.recipe)
[8,8] → merge [64] → split [8,8] → xor axis 1 with axis 0
>>> ml.are_equivalent(swizzle, ml.from_sympy((8, 8), "8*d0 + (d0 ^ d1)")).holds
True

```

[No bank conflicts in my kernel](../how_to/no_bank_conflicts.md) finds the best one.
"""


def figure(one: Format) -> str:
    """Return the picture of a format as SVG."""
    layout: str | IndexMap = one.index_map(one.at)
    shape = None
    if one.drawn is not None:
        layout, shape = one.drawn
    elif one.formula is None:
        layout, shape = one.sized(one.at)
    if shape is None:
        return ml.draw(layout, **one.limits).svg()
    return ml.draw(layout, shape, **one.limits).svg()


def entry(one: Format) -> str:
    """Return the section of a format."""
    drawn = one.index_map(one.at)
    general = drawn if one.formula else one.index_map()
    text = f"`{one.layout}`" if one.layout else "none; by its recipe"
    if one.dims:
        text += f" at [{','.join(one.dims)}]"
    rows = [
        ("layout", text),
        ("offset", f"`{str(general).partition(' -> ')[2]}`"),
        ("elsewhere", elsewhere(drawn)),
        ("this size", size(one, drawn)),
        ("verdict", verdict(general)),
    ]
    if one.formula:
        rows.insert(1, ("recipe", f"`{drawn.recipe}`"))
    head, *body = (f"| {name} | {value} |" for name, value in rows)
    table = "\n".join([head, "|---|---|", *body])
    picture = f"![{one.name}: offsets in cells](gallery/{one.slug}.svg)"
    return f"### {one.name}\n\n{one.about}\n\n{picture}\n\n{table}\n"


def elsewhere(m: IndexMap) -> str:
    """Return the layout in short notations that can say it."""
    found = (conversion(m, to) for to in ("onednn", "cute", "einops"))
    return ", ".join(f"`{each.layout}`" for each in found if each.error is None) or "none of these"


def size(one: Format, m: IndexMap) -> str:
    """Return the bytes of the elements and of the buffer at the drawn sizes."""
    times = "x".join(map(str, one.at))
    elements, bits, reserved = prod(m.shape), MORELLO_BITS, m.size * MORELLO_BITS // 8
    if one.layout and not one.dims:
        parsed = ml.parse(one.sized(one.at)[0])
        assert isinstance(parsed, ml.XlaShape)
        bits, reserved = parsed.bits, parsed.byte_size
    data = -(-elements * bits // 8)
    if data == reserved:
        return f"{times}: {data:,} bytes, none of them padding"
    return f"{times}: {data:,} bytes of data in {reserved:,}, {reserved / data:.2f}x"


def verdict(m: IndexMap) -> str:
    """Return the proved answers in words."""
    injective, bijective = ml.is_injective(m), ml.is_bijective(m)
    assert injective.holds is True, str(m)
    sizes = [str(n) for n in m.shape if not isinstance(n, int)]
    if not sizes:
        return "bijective at these sizes" if bijective.holds else "injective, with padding"
    given = " and ".join(str(fact) for fact in m.assumptions)
    if bijective.holds:
        return f"bijective for all sizes{f' if {given}, as the packs need' if given else ''}"
    return f"injective for all sizes; {_plain(bijective.verdict)}"


def _plain(text: str) -> str:
    """Escape products and bars, which Markdown would take for emphasis and for a table's cells."""
    return re.sub(r"([*|])", r"\\\1", text)


def _link(one: Format) -> str:
    """Return a link to the section of a format."""
    anchor = re.sub(r"[^\w -]", "", one.name.lower()).replace(" ", "-")
    return f"[{one.name}](#{anchor})"


def page() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, overview(), *sections(), TAIL])


def overview() -> str:
    """Return the table of all formats."""
    lines = ["## At a glance", "", "| picture | format | layout | no padding |", "|-|-|-|-|"]
    for one in FORMATS:
        thumbnail = f"![](gallery/{one.slug}.svg)"
        if one.formula:
            lines.append(f"| {thumbnail} | {_link(one)} | by its recipe | at the size drawn |")
            continue
        m = one.index_map()
        facts = [str(fact) for fact in m.assumptions]
        when = f"always, given that {' and '.join(facts)}" if facts else _when_bijective(m)
        lines.append(f"| {thumbnail} | {_link(one)} | `{one.layout}` | {_plain(when)} |")
    return "\n".join([*lines, ""])


def _when_bijective(m: IndexMap) -> str:
    condition = ml.is_bijective(m).condition
    assert condition is not None, str(m)
    return "always" if condition.is_always else f"if {condition}"


def sections() -> Iterator[str]:
    """Yield the groups of formats with their sections."""
    for group in GROUPS:
        yield f"## {group}\n"
        if group == GROUPS[-1]:
            yield (
                "Some recipes have no text in any of the notations. The package takes them as\n"
                "recipes: `IndexMap.of(ml.Recipe(…), …)`.\n"
            )
        yield from (entry(one) for one in FORMATS if one.group == group)


def pictures() -> dict[str, str]:
    """Return each format's picture, by the name of its file."""
    return {one.slug: figure(one) for one in FORMATS}
