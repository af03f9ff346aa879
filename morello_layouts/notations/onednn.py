"""oneDNN's memory format tags: ``aBcd16b`` with letters for any array, ``nChw16c`` with names.

Source: oneDNN's developer guide, "Understanding Memory Formats", and ``dnnl_types.h``. OpenVINO's
names of such layouts, ``b_fs_yx_fsv16``, are read as tags (``intel_gpu``, ``layout.hpp``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Final

from morello_layouts.core.checks import as_int, require_rank, shown
from morello_layouts.core.description import (
    Description,
    Part,
    axes_in_words,
    dimensions,
    listed,
    memory_axes,
    sizes_in,
)  # fmt: skip
from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.sizes import Int, ceil_quotient
from morello_layouts.core.fields import checked, frozen, permutation, settle
from morello_layouts.core.layout import Layout
from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import MAP_TEXT, NESTED_TILES
from morello_layouts.core.recipe import Recipe
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.notations.coordinates import (
    ALPHABET,
    NAMES,
    ORDERS,
    blocked_recipe,
    blocks_of,
    padded_dims,
)  # fmt: skip
from morello_layouts.notations.documents import place_in_blocks
from morello_layouts.notations.grammar import AROUND, END, Syntax, Terminal
from morello_layouts.notations.text import NUMBER, field, made, many, word


@frozen
class OnednnLayout(Layout):
    """A layout of oneDNN: ``aBcd16b`` is four dimensions, the second one in blocks of 16.

    >>> print(OnednnLayout((0, 1, 2, 3), ((1, 16),), "nchw"))
    nChw16c
    """

    #: logical dimensions, the slowest varying first; of a dimension in blocks, the blocks.
    order: tuple[int, ...] = checked(permutation())
    #: pairs (logical dimension, size), outermost first. Several blocks of one dimension nest. A
    #: dimension is padded to a multiple of the product of its blocks.
    blocks: tuple[tuple[int, int], ...] = ()
    letters: str = ALPHABET  #: the letter of each logical dimension.

    def __post_init__(self) -> None:
        rank, depth = len(self.order), len(self.blocks)
        as_int(rank, "the number of dimensions", 1, len(self.letters), part=("order",))
        as_int(depth, "the number of blocks", 0, NESTED_TILES, part=("blocks", NESTED_TILES))
        for k, (dim, size) in enumerate(self.blocks):
            as_int(dim, "a block's dimension", 0, rank - 1, part=("blocks", k))
            as_int(size, "a block's size", 1, part=("blocks", k))
        settle(self, letters=self.letters[:rank])

    def padded_dims(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        """Return oneDNN's padded dimensions: multiples of the blocks.

        >>> OnednnLayout((0, 1, 2), ((1, 16),)).padded_dims((2, 20, 3))
        (2, 32, 3)
        """
        require_rank(shape, len(self.order), str(self))
        return padded_dims(shape, self.blocks)

    def strides(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        """Return oneDNN's strides: elements from one block of a dimension to the next.

        >>> OnednnLayout((0, 1, 2), ((1, 16),)).strides((2, 20, 3))
        (96, 48, 16)
        """
        require_rank(shape, len(self.order), str(self))
        found: dict[int, Int] = {}
        stride: Int = prod(size for _, size in self.blocks)
        for dim in reversed(self.order):
            found[dim] = stride
            stride *= ceil_quotient(shape[dim], prod(blocks_of(dim, self.blocks)))
        return tuple(found[dim] for dim in range(len(shape)))

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        require_rank(shape, len(self.order), str(self))
        return blocked_recipe(shape, self.order, self.blocks)

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """Return the offset as oneDNN computes it: blocks from the innermost, then strides."""
        left, offset = list(coordinates), AffineExpr((), 0)
        stride: Int = 1
        for dim, size in reversed(self.blocks):
            offset += left[dim] % size * stride
            left[dim] //= size
            stride *= size
        for x, step in zip(left, self.strides(shape), strict=True):
            offset += x * step
        return offset

    def by_document(self, coordinate: Sequence[int], shape: Sequence[int], /) -> tuple[int, int]:
        return place_in_blocks(coordinate, shape, self.order, self.blocks)

    @property
    def texts(self) -> tuple[str, ...]:
        """The text of each axis in memory, the slowest varying first."""
        blocked, letters = {dim for dim, _ in self.blocks}, self.letters
        outer = (letters[dim].upper() if dim in blocked else letters[dim] for dim in self.order)
        return *outer, *(f"{size}{letters[dim]}" for dim, size in self.blocks)

    def names(self, rank: int) -> tuple[str, ...]:
        return tuple(self.letters)

    def __str__(self) -> str:
        return "".join(self.texts)


# ---- the text

_SYNTAX: Final = Syntax(
    form="a oneDNN tag is the order of the dimensions, a capital for each in blocks, then blocks",
    example="write for example aBcd16b or nChw16c",
    hints={"_": "leave a prefix such as dnnl_ out"},
    longest=MAP_TEXT,
)


def _tag(order: tuple[str, ...], blocks: tuple[tuple[str, int], ...]) -> OnednnLayout:
    def wrong(what: str, fix: str, *part: str | int) -> LayoutError:
        return LayoutError(what, _SYNTAX.form, fix or _SYNTAX.example, part=part)

    if not order:
        what = "the order of the dimensions: expected a letter for each, got a block"
        raise wrong(what, "write it before the blocks: aB16b", "blocks", 0)
    given = [letter.lower() for letter in order]
    known = _orders(len(order))
    letters = max(known, key=lambda names: len({*names} & {*given}))
    for k, letter in enumerate(given):
        if letter not in letters or letter in given[:k]:
            wanted = " or ".join(filter(None, (", ".join(known[:-1]), known[-1])))
            what = f"letters: expected {wanted} in any order, got {shown(''.join(order))}"
            raise wrong(what, "", "order", k)
    for k, (letter, _) in enumerate(blocks):
        if letter not in letters:
            what = f"the letter of a block: expected one of {letters}, got {letter!r}"
            fix = f"write {letter.lower()}" if letter.lower() in letters else ""
            raise wrong(what, fix, "blocks", k, "letter")
    blocked = {letter for letter, _ in blocks}
    for k, letter in enumerate(order):
        is_blocked = letter.lower() in blocked
        if letter != (wanted := letter.upper() if is_blocked else letter.lower()):
            kind = "a dimension in blocks" if is_blocked else "a dimension without blocks"
            what = f"the letter of {kind}: expected {wanted}, got {letter}"
            raise wrong(what, f"write {wanted}", "order", k)
    sizes = tuple((letters.index(letter), size) for letter, size in blocks)
    return OnednnLayout(tuple(map(letters.index, given)), sizes, letters)


_LETTER: Final = word(Terminal("a letter", "[A-Za-z]"))
_BLOCK: Final = made(
    lambda size, letter: (letter, size), field("size", NUMBER), field("letter", _LETTER)
)
_TAG: Final = made(_tag, field("order", many(_LETTER)), field("blocks", many(_BLOCK)), END)

_IRREGULAR: Final = {
    "OhwI24o": "Ohwi24o", "OhwI32o": "Ohwi32o", "gOhwI24o": "gOhwi24o", "gOhwI32o": "gOhwi32o",
    "gIOhw2i8o16i2o": "gOIhw2i8o16i2o", "gIOdhw2i8o16i2o": "gOIdhw2i8o16i2o",
}  # fmt: skip
"""The names that oneDNN defines against its own rule, as the rule writes them."""


_OPENVINO: Final = regex(r"((?:[a-z]{1,7}_)+)((?:[a-z]s[av][0-9]{1,6}(?:_|\Z))+)")


def _of_openvino(text: str) -> str | None:
    """Return OpenVINO's name of a layout as a tag; None if it is another text.

    ``fs`` is a dimension in slices, and ``fsv16`` a slice of 16; the array is b, f, z, y, x or
    g, o, i, z, y, x.

    >>> _of_openvino("b_fs_yx_fsv16"), _of_openvino("g_os_is_zyx_isv16_osv16")
    ('aBcd16b', 'aBCdef16c16b')
    """
    match = _OPENVINO.fullmatch(text)
    if match is None:
        return None
    order, sliced = "", {block[0] for block in match[2].split("_")}
    for run in match[1].rstrip("_").split("_"):
        is_slice = len(run) == 2 and run[1] == "s"
        if is_slice != bool(sliced & {*run}):
            raise ParseError(
                f"{run}: expected a slice such as {run[0]}s with a block {run[0]}sv16, or neither",
                "in OpenVINO's names a dimension is in slices if a block of it follows",
                "write for example b_fs_yx_fsv16",
                text=text,
                position=text.index(run),
                reached=len(text),
            )
        order += run[0].upper() if is_slice else run
    dims = [x for x in ("goiwzyx" if "o" in order.lower() else "bfwzyx") if x in order.lower()]
    named = dict(zip(dims, ALPHABET, strict=False))
    if sorted(order.lower()) != sorted(dims):
        return None
    blocks = re.findall(r"([a-z])s[av]([0-9]+)", match[2])
    head = "".join(named[x.lower()].upper() if x.isupper() else named[x] for x in order)
    return head + "".join(f"{size}{named[x]}" for x, size in blocks)


def parse_onednn(text: str) -> OnednnLayout:
    text = _IRREGULAR.get(text.strip(), text)
    text = _of_openvino(text.strip()) or text
    try:
        layout: OnednnLayout = _TAG.parse(text, _SYNTAX, AROUND)
    except ParseError as error:
        error.reached = _reached(error, text)
        raise
    return layout


_WORD: Final = regex(r"\s*([A-Za-z]{0,40})")


def _reached(error: ParseError, text: str) -> int:
    """Return how far a wrong text is a tag: any word begins with a letter."""
    match = _WORD.match(text)
    word = match[1] if match else ""
    letters = {*word.lower()}
    if error.reached <= error.position:  # it has not the form of a tag
        known = any(letters <= {*names} for names in (ALPHABET, *ORDERS))
        is_word = len(letters) < len(word) or not known
        return -1 if is_word and not text.startswith("_", error.position) else error.reached
    if not any(letters == {*names} for names in _orders(len(word))):
        return error.position - 1
    is_letter = text[error.position : error.position + 1].isalpha()
    return 0 if word.isupper() and is_letter else error.reached


@cache
def _orders(rank: int) -> list[str]:
    """The letters of the dimensions, in their order: first those of any array of this rank."""
    return [ALPHABET[:rank], *(names for names in ORDERS if len(names) == rank)]


# ---- words


def describe(layout: OnednnLayout, shape: Sequence[int] | None = None) -> Description:
    dims = dimensions(shape or (None,) * len(layout.order), names=layout.letters)
    axes = memory_axes(layout.recipe(sizes_in(dims) if shape is None else shape), dims)
    kind = "oneDNN layout"
    if (letters := layout.letters) != "".join(letters[dim] for dim in layout.order):
        kind = f"{kind} of an array ({', '.join(letters)})"
    parts = tuple(map(Part, layout.texts, axes_in_words(axes, dims)))
    return Description(str(layout), kind, _headline(layout), dims, parts, axes)


def _headline(layout: OnednnLayout) -> str:
    names = {} if "a" in layout.letters else NAMES
    words = [names.get(letter, letter) for letter in layout.letters]
    if not layout.blocks:
        letter, name = layout.letters[layout.order[-1]], words[layout.order[-1]]
        return f"{letter} varies fastest" if name == letter else f"{letter} ({name}) varies fastest"
    return f"in blocks of {listed([words[dim] for dim in dict(layout.blocks)])}"
