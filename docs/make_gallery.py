"""The gallery of formats and the pictures of the explanations: ``python docs/make_gallery.py``.

The formats are those of ``tests/benchmarks/formats.py``. Formulas, sizes and verdicts are asked of
the package. ``--check`` writes nothing and fails where a file differs or does not belong.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Any, Final

DOCS: Final = Path(__file__).parent
FIGURES: Final = DOCS / "figures" / "gallery"
sys.path.append(str(DOCS.parent / "tests" / "benchmarks"))

from formats import FORMATS, GROUPS, Format  # noqa: E402

import morello_layouts as ml  # noqa: E402
from morello_layouts.maps import IndexMap  # noqa: E402

MORELLO_BITS: Final = 32
"""Morello's layouts name no type; sizes in bytes are those of f32."""

HEAD: Final = """\
# A gallery of formats

Popular formats, each with its picture, formula, size and verdict. `python docs/make_gallery.py`
makes this page and its pictures; the formats are listed in `tests/benchmarks/formats.py`, which the
benchmarks and the tests of proofs read as well. [Pictures of layouts](pictures.md) says how to read
a picture: the number in a cell is the element's offset, hatched cells are padding.

Every entry has

- the **layout** for any sizes, in Morello's notation (`[…]`, outermost first) or XLA's (`{…}`, the
  fastest dimension first);
- the **offset** of element (d0, d1, …), in elements, for any sizes;
- **this size**: the bytes of the array as drawn, and of its buffer. Where a layout names no type,
  elements take 4 bytes;
- the **verdict**, which ISL proves: whether no two elements share a slot, and for which sizes there
  is no padding, which makes it a bijection between elements and slots.

```python
>>> import morello_layouts as ml
>>> m = ml.index_map("bf16[M,N]{1,0:T(8,128)(2,1)}")
>>> ml.is_injective(m).when, ml.is_bijective(m).when
('for all sizes', 'exactly when 8 divides M and 128 divides N')

```
"""

TAIL: Final = """\
## Swizzles

Shared memory of a GPU is often swizzled: the column is combined with the row by exclusive or, so
that a column of a tile touches all banks. No recipe says that, since each step acts on axes one by
one. But it is a formula, a sum of bits modulo 2, and a formula can be asked as well:

```python
>>> swizzle = ml.from_sympy(
...     {"shape": (8, 8), "size": 64},
...     "8*d0 + 4*((d0//4 + d1//4) % 2) + 2*((d0//2 + d1//2) % 2) + (d0 + d1) % 2",
... )
>>> all(swizzle(i, j) == 8*i + (i ^ j) for i in range(8) for j in range(8))
True
>>> ml.is_bijective(swizzle).holds
True

```

There is no picture: tiles and padding come from a recipe.
"""


def figure(one: Format) -> str:
    """The picture of a format, as SVG."""
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
    """The section of a format."""
    drawn = one.index_map(one.at)
    general = drawn if one.formula else one.index_map()
    text = f"`{one.layout}`" if one.layout else "none; by its recipe"
    if one.dims:
        text += f" at [{','.join(one.dims)}]"
    rows = [
        ("layout", text),
        ("offset", f"`{str(general).partition(' -> ')[2]}`"),
        ("this size", size(one, drawn)),
        ("verdict", verdict(general)),
    ]
    if one.formula:
        rows.insert(1, ("recipe", f"`{drawn.recipe}`"))
    table = "\n".join(f"| **{name}** | {value} |" for name, value in rows)
    picture = f"![{one.name}: offsets in cells](figures/gallery/{one.slug}.svg)"
    return f"### {one.name}\n\n{one.about}\n\n{picture}\n\n| | |\n|---|---|\n{table}\n"


def size(one: Format, m: IndexMap) -> str:
    """The bytes of the elements and of the buffer at the drawn sizes."""
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
    """What is proved, in words."""
    injective, onto = ml.is_injective(m), ml.is_bijective(m)
    assert injective.holds is True, str(m)
    sizes = [str(n) for n in m.shape if not isinstance(n, int)]
    if not sizes:
        return "a bijection at these sizes" if onto.holds else "one-to-one, with padding"
    given = " and ".join(str(fact) for fact in m.assumptions)
    if onto.holds:
        return (
            f"a bijection for all sizes{f' where {given}, as the packs need it' if given else ''}"
        )
    return f"one-to-one for all sizes; a bijection {_plain(onto.when or '')}"


def _plain(text: str) -> str:
    """Text whose products Markdown does not take for emphasis."""
    return text.replace("*", r"\*")


def _link(one: Format) -> str:
    """A link to a format's entry, whose anchor is its heading as a forge and the site have it."""
    anchor = re.sub(r"[^\w -]", "", one.name.lower()).replace(" ", "-")
    return f"[{one.name}](#{anchor})"


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, overview(), *sections(), TAIL])


def overview() -> str:
    """All formats in one table."""
    lines = ["## At a glance", "", "| format | layout | no padding |", "|---|---|---|"]
    for one in FORMATS:
        if one.formula:
            lines.append(f"| {_link(one)} | by its recipe | at the size drawn |")
            continue
        m = one.index_map()
        facts = [str(fact) for fact in m.assumptions]
        when = " and ".join(facts) if facts else ml.is_bijective(m).when or ""
        if facts:
            when = f"always; the packs need that {when}"
        when = when.replace("exactly ", "").replace("for all sizes", "always")
        lines.append(f"| {_link(one)} | `{one.layout}` | {_plain(when)} |")
    return "\n".join([*lines, ""])


def sections() -> Iterator[str]:
    """The groups of formats, each with its entries."""
    for group in GROUPS:
        yield f"## {group}\n"
        if group == GROUPS[-1]:
            yield (
                "A recipe is a list of steps, and some lists of steps have no text in either\n"
                "notation. The package takes them as a recipe: `IndexMap.of(ml.Recipe(…), …)`.\n"
            )
        yield from (entry(one) for one in FORMATS if one.group == group)


def explained() -> dict[str, str]:
    """The pictures of docs/explanation: a recipe step by step, and what shares a word."""
    recipe = ml.index_map("f32[3,5]{1,0:T(2,2)}").recipe
    steps = {
        f"step_{count}_{name}": ml.draw(step_by_step(recipe, count)).svg()
        for count, name in enumerate(("row_major", "pad", "split", "transpose"))
    }
    words = {
        name: ml.draw(f"bf16[4,8]{{1,0:T(4,4){second}}}", colour="word").svg()
        for name, second in (("words_by_row", ""), ("words_by_column", "(2,1)"))
    }
    return steps | words


def step_by_step(recipe: ml.Recipe, count: int) -> IndexMap:
    """The index map of a recipe's first steps."""
    first = ml.Recipe(recipe.shape, recipe.steps[:count])
    sizes = first.physical_shape
    names = {
        0: "f32[3,5], no step",
        1: "padded to [4,6]",
        2: "split to [2,2,3,2]",
        3: "transposed to [2,3,2,2]",
    }

    def reference(d: Sequence[Any], _: object) -> Any:
        if count < 2:
            return sizes[1] * d[0] + d[1]
        if count == 2:
            return 12 * (d[0] // 2) + 6 * (d[0] % 2) + 2 * (d[1] // 2) + d[1] % 2
        return 12 * (d[0] // 2) + 4 * (d[1] // 2) + 2 * (d[0] % 2) + d[1] % 2

    return IndexMap.of(first, reference, names[count])


def files() -> dict[Path, str]:
    """Every file with its text."""
    made = {FIGURES / f"{one.slug}.svg": figure(one) for one in FORMATS}
    made |= {FIGURES / f"{name}.svg": text for name, text in explained().items()}
    return {DOCS / "gallery.md": page(), **made}


def main(arguments: list[str]) -> int:
    """Write the files, or compare them; 1 where one differs."""
    FIGURES.mkdir(exist_ok=True, parents=True)
    made, check = files(), arguments == ["--check"]
    wrong = [path for path in FIGURES.glob("*.svg") if path not in made]
    for path, text in made.items():
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            wrong.append(path)
    for path in wrong:
        print(f"{path} differs or does not belong; run python docs/make_gallery.py")  # noqa: T201
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
