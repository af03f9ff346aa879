"""Swizzled layouts in CuTe's algebra: ``Sw<2,0,3> o _0 o (_8,_8):(_8,_1)``.

Index maps do not read them yet.

Source: CUTLASS, ``include/cute/swizzle.hpp``, ``swizzle_layout.hpp`` and ``layout_composed.hpp``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from morello_layouts.checks import as_int
from morello_layouts.errors import LayoutError
from morello_layouts.limits import CUTE_LEAVES
from morello_layouts.notations.cute.integers import Nested, Static, is_static
from morello_layouts.notations.cute.layout import CuteLayout
from morello_layouts.notations.cute.reader import parse_cute
from morello_layouts.plain import Displayed

_SWIZZLE: Final = re.compile(r"\s*Sw<(\d{1,2}),(\d{1,2}),(-?\d{1,2})>\s+o\s+(_?)(\d{1,18})\s+o\s+")


@dataclass(frozen=True, slots=True, repr=False)
class Swizzle(Displayed):
    """An exclusive or of some bits of an offset with others.

    Attributes:
        bits: how many bits.
        base: the place of the lowest of both groups.
        shift: how far the bits move down to those that they change; up if it is negative.

    >>> [Swizzle(1, 0, 2)(k) for k in range(8)]
    [0, 1, 2, 3, 5, 4, 7, 6]
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        for number in (self.bits, self.base):
            as_int(number, f"a number of {self}", 0, CUTE_LEAVES - 1)
        as_int(abs(self.shift), f"the shift of {self}", self.bits, CUTE_LEAVES - 1)

    @property
    def masks(self) -> tuple[int, int]:
        """The bits that are read, and those that are changed."""
        group = (1 << self.bits) - 1 << self.base
        return group << max(0, self.shift), group << max(0, -self.shift)

    def __call__(self, offset: Any) -> Any:
        """Return the swizzled offset, of ints or arrays of them."""
        read = offset & self.masks[0]
        return offset ^ (read >> self.shift if self.shift >= 0 else read << -self.shift)

    def moved(self, layout: CuteLayout) -> Swizzle:
        """Return the swizzle that does behind a layout what this one does before it.

        Raises:
            LayoutError: if the layout moves the bits apart, or has dynamic integers.
        """
        read, changed = (int(layout(mask)) for mask in self.masks)
        if (read, changed) == (0, 0):
            return Swizzle(0, 0, 0)
        lowest = [(mask & -mask).bit_length() - 1 for mask in (read, changed)]
        bits, base, shift = read.bit_count(), min(lowest), lowest[0] - lowest[1]
        is_known = all(is_static(x) for leaf in layout.leaves for x in leaf)
        if is_known and min(read, changed) > 0 and abs(shift) >= bits:
            found = Swizzle(bits, base, shift)
            if found.masks == (read, changed):
                return found
        raise LayoutError(
            f"{layout} o {self}: expected a static layout that keeps the bits together",
            "a swizzle reads neighbouring bits, and changes as many others",
            "use a layout whose sizes and strides are static powers of two",
        )

    def __str__(self) -> str:
        return f"Sw<{self.bits},{self.base},{self.shift}>"


@dataclass(frozen=True, slots=True, repr=False)
class ComposedLayout(Displayed):
    """A layout, an offset that is added, then a swizzle.

    Attributes:
        swizzle: what changes the sum.
        offset: what is added.
        layout: what gives the offset of a coordinate; it may be swizzled itself.
    """

    swizzle: Swizzle
    offset: int
    layout: CuteLayout | ComposedLayout

    def __call__(self, coordinate: Any) -> Any:
        """Return the offset of a coordinate."""
        return self.swizzle(self.offset + self.layout(coordinate))

    @property
    def shape(self) -> Nested:
        """The sizes."""
        return self.layout.shape

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.layout.size

    def behind(self, layout: CuteLayout) -> CuteLayout | ComposedLayout:
        """Return a layout after the swizzle alone, as CuTe writes it: the swizzle goes behind.

        Raises:
            LayoutError: if an offset is added, or the swizzle does not move behind the layout.
        """
        if not is_static(self.offset, 0):
            raise LayoutError(
                f"{self}: expected the offset _0, got {self.offset}",
                "CuTe moves a swizzle behind a layout if nothing is added between them",
                "write _0, and add the offset to the pointer",
            )
        swizzle = self.swizzle.moved(layout)
        return ComposedLayout(swizzle, self.offset, layout) if swizzle.bits else layout

    def __str__(self) -> str:
        return f"{self.swizzle} o {self.offset} o {self.layout}"


def parse_swizzled(text: str, depth: int = 0) -> CuteLayout | ComposedLayout:
    """Parse a layout, with any swizzles before it.

    >>> print(parse_swizzled("Sw<1,0,2> o _0 o (_4,_4):(_4,_1)"))
    Sw<1,0,2> o _0 o (_4,_4):(_4,_1)
    """
    match = _SWIZZLE.match(text) if depth < CUTE_LEAVES else None
    if match is None:
        return parse_cute(text)
    bits, base, shift = map(int, match.group(1, 2, 3))
    offset = Static(match[5]) if match[4] else int(match[5])
    return ComposedLayout(
        Swizzle(bits, base, shift), offset, parse_swizzled(text[match.end() :], depth + 1)
    )
