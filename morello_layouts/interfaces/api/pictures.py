"""Draw layouts, with a slider for each size in notebooks; HTML, with formulas in MathML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from morello_layouts.core.checks import as_index, as_int
from morello_layouts.core.lazy import NotInstalledError, escape, importing, regex
from morello_layouts.core.limits import TYPESET
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.maps.names import as_names
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.interfaces.api.layouts import (
    LayoutLike,
    Shape,
    index_map,
    index_maps,
    record_in,
)

if TYPE_CHECKING:
    from morello_layouts.outputs.picture import Picture
    from morello_layouts.outputs.picture.panel import Colour
    from morello_layouts.programs.records import Record


def draw(
    layout: LayoutLike | Record,
    other: LayoutLike | Shape | None = None,
    shape: Shape | None = None,
    *,
    colour: Colour = "",
    word_bits: int = 32,
    element_bits: int | None = None,
    dots: Iterable[Sequence[int]] = (),
    boxes: Iterable[Sequence[int]] = (),
    box_tiles: int = 0,
    formula: bool = True,
    max_rows: int | None = None,
    max_columns: int | None = None,
    max_slices: int = 4,
    max_slots: int = 128,
    at: Mapping[str, int] | None = None,
    notation: str | None = None,
    names: Sequence[str] | str | None = None,
) -> Picture:
    """Draw a layout, or two side by side: offsets, tiles, padding and the memory strip.

    Args:
        layout: text in any notation; or a layout, or an index map, of known sizes. A matrix
            instruction without an operand is drawn with all that are in registers; a page lights
            what one lane holds of each. Of a record, or a packed format by name, the bits of a
            block are drawn.
        other: a second layout of the same array, drawn beside the first. Elements that lie
            elsewhere in it are marked. A tuple or list of sizes is the shape.
        shape: the sizes, for a layout that carries none.
        colour: what a colour stands for: tile, offset, row, column, word, bank, swizzle, or the
            name of an axis, such as lane; by default the lane or the device if the layout has them,
            and else the tile. A tile is an outermost one, ``"offset"`` a scale from the first to
            the last, and of the 32 banks of shared memory bank k mod 32 has word k. A layout with
            exclusive ors is drawn beside itself without them, in colours of the bits that they
            change (swizzle).
        word_bits: bits of a word.
        element_bits: bits of an element, by default those of the layout's element type.
        dots: put a dot on the cell at this coordinate; several may be given.
        boxes: put a box around the cell at this coordinate; several may be given.
        box_tiles: the level whose tiles get a box each, 1 for the outermost; 0 for none.
        formula: show the formula above the picture.
        max_rows: the most rows to show of a slice, at least 5; by default all of up to 32x128
            cells, and about 20 of more.
        max_columns: the most columns to show, likewise.
        max_slices: the most slices to show of an array of more than two dimensions.
        max_slots: show all slots of a buffer of at most so many, and 0 for no memory strip.
        at: numbers for the symbolic sizes. In Python a mapping, ``{"M": 16}``.
        notation: the notation of each text, as for ``parse``.
        names: names of the coordinates, as for ``index_map``.

    Raises:
        ParseError: if text is not in any notation.
        ShapeError: if the shape is missing, shapes differ, or a mark is outside the array.
        UnsupportedError: if sizes are symbolic, and ``at`` has no number for one.

    >>> print(draw("f32[3,5]{1,0:T(2,2)}", max_slots=0))
    f32[3,5]{1,0:T(2,2)}
    (d0, d1) -> 12*(d0//2) + 4*(d1//2) + 2*(d0%2) + d1%2
    d0 ↓ d1 →  0  1 │  2  3 │  4  5
            0  0  1 │  4  5 │  8 ░░
            1  2  3 │  6  7 │ 10 ░░
             ───────┼───────┼──────
            2 12 13 │ 16 17 │ 20 ░░
            3 ░░ ░░ │ ░░ ░░ │ ░░ ░░
    ░ padding
    >>> draw("[0, 1]", "[1, 0]", (6, 8), dots=[(2, 3)]).svg().count('class="cell"')
    96
    """
    with importing:
        from morello_layouts.outputs.picture import Limits, Style, picture_of, unswizzled

    second, sizes = _second_and_shape(other, shape)
    given: Any = layout
    operands = _operands(given) if second is None and sizes is None else []
    maps: Sequence[IndexMap]
    try:
        if second is not None:
            maps = index_maps(given, second, sizes, notation=notation)
        else:
            maps = operands or [index_map(given, sizes, notation=notation)]
    except LayoutError:
        if second is not None or (record := record_in(given, sizes)) is None:
            raise
        return record.at(**at or {}).draw()
    maps = maps if names is None else [m.named(*as_names(names)) for m in maps]
    maps = maps if at is None else list(_at(maps, at))
    plain = None if second is not None or colour or operands else unswizzled(maps[0])
    maps = maps if plain is None else [plain.named(*maps[0].names), *maps]
    style = Style(
        colour=colour,
        word_bits=as_index(word_bits),
        element_bits=None if element_bits is None else as_index(element_bits),
        dots=tuple(tuple(map(as_index, at)) for at in dots),
        boxes=tuple(tuple(map(as_index, at)) for at in boxes),
        box_tiles=as_index(box_tiles),
        formula=bool(formula),
    )
    slices, slots = as_int(max_slices, "max_slices", 1), as_int(max_slots, "max_slots")
    limits = Limits(max_rows, max_columns, slices, 0 if operands else slots)
    return picture_of(maps, style, limits, marks=plain is None, joined=bool(operands))


def _operands(layout: LayoutLike) -> list[IndexMap]:
    """Return the operands of a matrix instruction named without one; D only if C lies otherwise."""
    with importing:
        from morello_layouts.notations.fragments.text import instruction_of

    found = instruction_of(layout) if isinstance(layout, str) else None
    if found is None or found.default is not None:
        return []
    maps = {operand: index_map(f"{found.name} {operand}") for operand in found.operands()}
    if "C" in maps and "D" in maps and maps["C"].recipe == maps["D"].recipe:
        del maps["D"]
    return [*maps.values()]


def html_of(layout: LayoutLike) -> str:
    """Return a layout or an index map as a notebook shows it: the formula, and the picture."""
    m = index_map(layout)
    formula = mathml(m._repr_latex_())
    if m.recipe.names:  # without numbers there are no cells
        return f"<p><code>{escape(m.source)}</code></p>{formula}"
    return formula + draw(m, max_slots=0, formula=False).svg()


def _at(maps: Sequence[IndexMap], at: Mapping[str, int]) -> Iterator[IndexMap]:
    """Yield maps at numbers for their sizes; the first one answers for names that none has."""
    first, *others = maps
    foreign = {name for m in others for name in m.recipe.names} - {*first.recipe.names}
    yield first.at(**{name: n for name, n in at.items() if name not in foreign})
    for m in others:
        yield m.at(**{name: n for name, n in at.items() if name in m.recipe.names})


def _second_and_shape(
    other: LayoutLike | Shape | None, shape: Shape | None
) -> tuple[LayoutLike | None, Shape | None]:
    """Return a second layout and the shape: the second argument may be either."""
    if not isinstance(other, tuple | list):
        return cast("LayoutLike | None", other), shape
    if shape is not None:
        raise LayoutError(
            f"two shapes were given: {other} and {shape}",
            "a second layout is text, a layout or an index map",
            "leave one of them out",
        )
    return None, other


_SCRIPT: Final = """
export default { render({ model, el }) {
  const picture = document.createElement("div");
  el.dataset.lmSuppressShortcuts = "true";  // the arrow keys choose no cells
  const show = () => { picture.innerHTML = model.get("html"); };
  for (const [name, [low, high]] of Object.entries(model.get("ranges"))) {
    const label = el.appendChild(document.createElement("label"));
    const slider = document.createElement("input"), value = document.createElement("output");
    Object.assign(slider, { type: "range", min: low, max: high, value: model.get("sizes")[name] });
    value.textContent = slider.value;
    slider.addEventListener("input", () => {
      value.textContent = slider.value;
      model.set("sizes", { ...model.get("sizes"), [name]: slider.valueAsNumber });
      model.save_changes();
    });
    slider.addEventListener("keydown", event => {  // JupyterLab prevents what a slider would do
      const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      slider.value = slider.valueAsNumber + step;
      slider.dispatchEvent(new Event("input"));
    });
    label.append(`${name} `, slider, value);
    label.style.display = "block";
  }
  el.append(picture);
  model.on("change:html", show);
  show();
} };
"""


def sliders(m: IndexMap, ranges: Mapping[str, tuple[int, int]]) -> Any:
    """Return the widget of an index map; arguments and errors as of ``IndexMap.sliders``."""
    names = m.recipe.names
    for name, bounds in ranges.items():
        if name not in names or len(bounds) != 2 or not 1 <= bounds[0] <= bounds[1]:
            raise ShapeError(
                f"{name}={bounds}: expected the smallest and the largest number of a size",
                f"the symbolic sizes are {', '.join(names) or 'none'}",
                "give for example M=(1, 32)",
            )
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise NotInstalledError(
            "anywidget is not installed", "it shows the sliders", 'pip install "anywidget>=0.9"'
        ) from None

    class Sliders(anywidget.AnyWidget):
        """A picture with sliders: ``sizes`` are the numbers, ``html`` what is shown."""

        _esm = _SCRIPT
        ranges = traitlets.Dict().tag(sync=True)
        sizes = traitlets.Dict().tag(sync=True)
        html = traitlets.Unicode().tag(sync=True)

        @traitlets.observe("sizes")
        def _draw(self, _change: Any) -> None:
            try:
                self.html = html_of(m.at(**self.sizes))
            except LayoutError as error:  # a size that the assumptions leave out
                self.html = f"<p>{error.what}</p>"

    every = {name: list(ranges.get(name, (1, 32))) for name in names}
    return Sliders(ranges=every, sizes={name: high for name, (_, high) in every.items()})


_TOKEN: Final = regex(r"\\[A-Za-z]+|[A-Za-z](?:[A-Za-z0-9]|\\_)*|\d+|\s+|.", re.DOTALL)
_SIGNS: Final = {
    r"\lfloor": "⌊", r"\rfloor": "⌋", r"\lceil": "⌈", r"\rceil": "⌉", r"\bmod": "mod",
    r"\oplus": "⊕", r"\mapsto": "↦", "-": "−",
}  # fmt: skip
_SCRIPTS: Final = {"_": "msub", "^": "msup"}


def mathml(latex: str) -> str:
    """Return a formula as a ``<math>`` element; as code if it is very long.

    >>> mathml("2 x + 1")
    '<math display="block"><mn>2</mn><mspace width="0.17em"/><mi>x</mi><mo>+</mo><mn>1</mn></math>'
    """
    text = latex.strip().strip("$").strip()
    if len(text) > TYPESET:
        return f"<code>{escape(text)}</code>"
    tokens = (match[0] for match in _TOKEN.finditer(text))
    return f'<math display="block">{"".join(_row(tokens))}</math>'


def _row(tokens: Iterator[str]) -> list[str]:
    """Return the elements up to a closing brace or bracket, or to the end."""
    found: list[str] = []
    gap = False
    for token in tokens:
        if token in ("}", r"\right"):
            break
        if token.isspace():
            gap = True
        elif token in _SCRIPTS:
            found.append(f"<{_SCRIPTS[token]}>{found.pop()}{_group(tokens)}</{_SCRIPTS[token]}>")
        else:
            element = _element(token, tokens)
            if gap and found and not any("<mo>" in each[:4] for each in (element, found[-1])):
                found.append('<mspace width="0.17em"/>')  # a product
            found.append(element)
            gap = False
    return found


def _group(tokens: Iterator[str]) -> str:
    next(tokens, None)  # the opening brace
    return f"<mrow>{''.join(_row(tokens))}</mrow>"


def _element(token: str, tokens: Iterator[str]) -> str:
    if token == r"\frac":
        return f"<mfrac>{_group(tokens)}{_group(tokens)}</mfrac>"
    if token == r"\left":
        opening, inside = _element(next(tokens), tokens), "".join(_row(tokens))
        return f"<mrow>{opening}{inside}{_element(next(tokens), tokens)}</mrow>"
    if token[0].isdecimal():
        return f"<mn>{token}</mn>"
    if token[0].isalpha():
        return f"<mi>{token.replace(chr(92), '')}</mi>"
    return f"<mo>{escape(_SIGNS.get(token, token))}</mo>"
