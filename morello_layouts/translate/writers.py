"""The table of writers: from the digits of a layout to a layout of each notation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from morello_layouts.layout import Layout
from morello_layouts.maps import IndexMap
from morello_layouts.notations.onednn import OnednnLayout
from morello_layouts.recipe.digits import AxisDigit, Digits
from morello_layouts.translate.source import Source, have_same_offsets
from morello_layouts.translate.to_morello import morello_layout_of
from morello_layouts.translate.to_xla import xla_layout_of


@dataclass(frozen=True)
class Writer:
    """A notation that layouts are written in.

    Attributes:
        title: one layout of the notation, in errors.
        write: returns the layout with the offsets of a source, or raises an error of the source.
        proves: whether ``write`` has proved the result.
    """

    title: str
    write: Callable[[Source], Layout]
    proves: bool = False


def written(m: IndexMap, to: str) -> Layout:
    """Return the layout of a notation with the offsets of a map, proved equal.

    Args:
        m: the index map.
        to: the name of a writer.

    Raises:
        NoTranslationError: if none exists.
        TranslationNotFoundError: if none was found, or none was proved equal.

    >>> from morello_layouts import index_map
    >>> print(written(index_map("f32[2,20,3,4]{3,2,1,0:T(16,1,1)}"), "onednn"))
    aBcd16b
    """
    writer = WRITERS[to]
    source = Source(m, writer.title)
    found = writer.write(source)
    answer = None if writer.proves else have_same_offsets(m, found)
    if answer is None or answer.holds:
        return found
    raise source.not_found(
        f"{found} was built from its digits, and was not proved equal; {answer.reason}",
        f"compare it with {found} at smaller sizes",
    )


def _outer_and_blocks(digits: Digits) -> tuple[Digits, Digits]:
    """The leading digits that are highest of their dimensions, and the blocks inside them."""
    count = next((k for k, digit in enumerate(digits) if digit.modulus is not None), len(digits))
    return digits[:count], digits[count:]


def _order(outer: Digits, rank: int) -> tuple[int, ...]:
    """All dimensions in the order of these digits; those without one where row-major has them."""
    order = [digit.dim for digit in outer]
    for dim in range(rank):
        if dim not in order:
            order.insert(next((k for k, other in enumerate(order) if other > dim), rank), dim)
    return tuple(order)


def _sizes(source: Source, blocks: Digits) -> list[tuple[int, int]]:
    """Pairs (dimension, size) of blocks, the outermost first."""
    return [(digit.dim, _size(source, digit)) for digit in blocks]


def _size(source: Source, block: AxisDigit) -> int:
    if isinstance(block.radix, int):
        return block.radix
    raise source.none(
        f"{block} lies inside a block and has {block.radix} values; a block's size is a number",
        "give numbers for the sizes",
    )


def _onednn(source: Source) -> Layout:
    if len(source.shape) > (most := 12):
        raise source.none(
            f"oneDNN's tags name {most} dimensions, and the array has {len(source.shape)}",
            'give to="xla"',
        )
    outer, blocks = _outer_and_blocks(source.nested)
    for k, digit in enumerate(blocks):
        higher = [each for each in blocks[k:] if each.dim == digit.dim and each.unit > digit.unit]
        if higher:
            raise source.none(
                f"{higher[0]} lies inside {digit}; the blocks of a dimension nest in oneDNN, the "
                "outer block the higher part",
                'give to="xla": its tiles put digits in any order',
            )
    return OnednnLayout(_order(outer, len(source.shape)), tuple(_sizes(source, blocks)))


WRITERS: Final[Mapping[str, Writer]] = {
    "xla": Writer("XLA layout", xla_layout_of),
    "morello": Writer("Morello layout", morello_layout_of, proves=True),
    "onednn": Writer("oneDNN tag", _onednn),
}
"""The writers by the names of their notations."""
