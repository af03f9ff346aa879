"""Swizzled layouts of CuTe: ``Sw<3,3,3> o _0 o (_8,_64):(_64,_1)``.

A swizzle acts on offsets in elements; of a pointer, ``Sw<3,4,3> o smem_ptr[16b](unset) o …``,
on addresses in bytes.

Source: CUTLASS, ``include/cute/swizzle.hpp``, ``swizzle_layout.hpp``, ``layout_composed.hpp`` and
``pointer_flagged.hpp``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from morello_layouts.core.checks import as_int
from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.sizes import Int, round_up
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.layout import ElementType, Layout
from morello_layouts.core.limits import CUTE_LEAVES
from morello_layouts.core.recipe import Merge, Pad, Recipe, Split, Window, Xor
from morello_layouts.errors import LayoutError
from morello_layouts.notations.cute.layout import CuteLayout, Nested, Static, is_static, wrap
from morello_layouts.notations.documents import by_swizzle, longest_row


@frozen
class Swizzle(Displayed):
    """An exclusive or of some bits of an offset with others.

    >>> [Swizzle(1, 0, 2)(k) for k in range(8)]
    [0, 1, 2, 3, 5, 4, 7, 6]
    """

    bits: int  #: how many bits.
    base: int  #: the place of the lowest of both groups.
    shift: int  #: how far the bits move down to those that they change; up if it is negative.

    def __post_init__(self) -> None:
        for number in (self.bits, self.base):
            as_int(number, f"a number of {self}", 0, CUTE_LEAVES - 1)
        as_int(abs(self.shift), f"the shift of {self}", min(self.bits, 1), CUTE_LEAVES - 1)

    def require_apart(self) -> None:
        """Raise if the two groups of bits overlap, which C++ does not compile."""
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

    @property
    def block(self) -> int:
        """The size of the blocks inside of which offsets move."""
        return 1 << self._end if self.bits else 1

    @property
    def period(self) -> int:
        """The multiples of this number that may be added before the swizzle as well as after it."""
        return 1 << self.base + self.bits + abs(self.shift) if self.bits else 1

    @property
    def steps(self) -> tuple[list[int], list[Xor]]:
        """Sizes to split an axis by, one after the other, and the xors of the axes that result.

        The first axis holds the other bits. A bit that is changed must be read before: of groups
        that overlap, each bit is an axis of its own.

        >>> Swizzle(2, 1, 3).steps
        ([8, 2], [Xor(target=1, source=0, shift=1)])
        """
        if not self.bits:
            return [], []
        width = self.bits if abs(self.shift) >= self.bits else 1
        targets = range(self.base + max(0, -self.shift), self._end, width)
        sources = [place + self.shift for place in targets]
        edges = {x for start in (*targets, *sources) for x in (start, start + width)}
        inner = sorted({0, *(x for x in edges if x < self._end)}, reverse=True)
        lowest = [self._end, *inner]  # the lowest bit of each axis
        found = list[Xor]()
        for target, source in zip(targets, sources, strict=True):
            axis = next(k for k, low in enumerate(lowest) if low <= source)
            found.append(Xor(lowest.index(target), axis, source - lowest[axis]))
        return [1 << x for x in lowest[:-1]], found if self.shift > 0 else found[::-1]

    @property
    def _end(self) -> int:
        """The bit from which on offsets stay as they are."""
        return self.base + self.bits + max(0, -self.shift)

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


@frozen
class ComposedLayout(Layout):
    """A layout, an offset that is added, then a swizzle.

    >>> by_bytes = ComposedLayout(Swizzle(3, 4, 3), 0, CuteLayout((8, 64), (64, 1)), 16)
    >>> print(by_bytes, by_bytes.in_elements.swizzle)
    Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1) Sw<3,3,3>
    """

    swizzle: Swizzle  #: what changes the sum.
    offset: int  #: what is added, in elements.
    #: gives the offset of a coordinate; may be swizzled itself.
    layout: CuteLayout | ComposedLayout
    #: the width of an element after a pointer, where the swizzle acts on addresses in bytes; None
    #: if it acts on offsets in elements.
    bits: int | None = None

    def __post_init__(self) -> None:
        if self.bits is None:
            as_int(self.offset, "an offset", 0)
            return
        as_int(self.bits, "the bits of an element", 1, 128, part=("bits",))
        if self.bits.bit_count() > 1:
            raise LayoutError(
                f"the bits of an element: expected a power of two, got {self.bits}",
                "a swizzle of bytes keeps the elements whole if these are powers of two",
                "give 4, 8, 16, 32, 64 or 128",
                part=("bits",),
            )
        if self.swizzle.bits and self._base < 0:
            raise LayoutError(
                f"{self.swizzle}: expected a base of {self.swizzle.base - self._base} or more for "
                f"elements of {self.bits} bits, got {self.swizzle.base}",
                "a swizzle of bytes moves whole elements only",
                f"write {replace(self.swizzle, base=self.swizzle.base - self._base)}",
                part=("swizzle",),
            )

    @property
    def _base(self) -> int:
        if self.bits is None:
            return self.swizzle.base
        return self.swizzle.base + 3 - (self.bits.bit_length() - 1)

    @property
    def in_elements(self) -> ComposedLayout:
        """The same layout with a swizzle that acts on offsets in elements."""
        if self.bits is None:
            return self
        moved = replace(self.swizzle, base=max(self._base, 0))
        return ComposedLayout(moved, Static(0), self.layout)

    def __call__(self, coordinate: Any) -> Any:
        """Return the offset of a coordinate, in elements."""
        swizzle = self.in_elements.swizzle
        return swizzle(self.offset + self.layout(coordinate))

    @property
    def shape(self) -> Nested:
        """The sizes."""
        return self.layout.shape

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.layout.size

    @property
    def sizes(self) -> tuple[Int, ...]:
        return self.layout.sizes

    @property
    def element(self) -> ElementType | None:
        """The width of an element, if the layout is that of a pointer."""
        return self.layout.element if self.bits is None else ElementType(None, self.bits)

    @property
    def buffer(self) -> Int:
        """The slots of the buffer: whole rows, and whole blocks that a swizzle permutes."""
        inner = self.layout.buffer if isinstance(self.layout, ComposedLayout) else self.layout.span
        return round_up(self.offset + inner, self.in_elements.swizzle.block)

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        """Return the layout as steps: those before the swizzle, then an xor or several.

        Raises:
            ShapeError: if the shape is not the size of each mode.
            UnsupportedError: if an offset is negative.
        """
        swizzle, end = self.in_elements.swizzle, self.buffer
        recipe = self.layout.recipe(shape)
        start = recipe.offset + self.offset
        steps = [*recipe.steps, Merge((len(recipe.physical_shape),))]
        size = prod(recipe.physical_shape)
        after = start if start % swizzle.period == 0 else 0
        if start != after:
            steps.append(Window((start + size,), (start,), (1,)))
            size += start
        if size != end - after:
            steps.append(Pad((end - after,)))
        tiles, xors = swizzle.steps
        steps += (Split((*(None,) * k, tile)) for k, tile in enumerate(tiles))
        return Recipe(recipe.shape, (*steps, *xors), offset=after)

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """Return the offset as CuTe computes it: the bits that are read, shifted, and xored."""
        x = self.layout.reference(coordinates, shape) + self.offset
        swizzle = self.in_elements.swizzle
        if not swizzle.bits:
            return x
        lowest = swizzle.base + max(0, swizzle.shift)
        read = x // (1 << lowest) % (1 << swizzle.bits)
        return x ^ read * (1 << swizzle.base + max(0, -swizzle.shift))

    def by_document(self, coordinate: Sequence[int], shape: Sequence[int], /) -> tuple[int, int]:
        below = self.layout.by_document(coordinate, shape)
        own = self.swizzle
        place, size = (number + self.offset for number in below)
        if isinstance(self.layout, CuteLayout):
            size = max(size, self.offset + longest_row(wrap(self.shape), wrap(self.layout.stride)))
        return by_swizzle(place, size, (own.bits, own.base, own.shift), self.bits)

    def with_numbers(self, values: Mapping[str, int], /) -> ComposedLayout:
        return replace(self, layout=self.layout.with_numbers(values))

    def notes(self, shape: Sequence[Int], /) -> tuple[str, ...]:
        """Return what C++ does not compile."""
        told = []
        if abs(self.swizzle.shift) < self.swizzle.bits:
            told.append(f"CuTe's C++ does not compile {self.swizzle}: its groups of bits overlap")
        return (*told, *self.layout.notes(shape))

    @property
    def words(self) -> str:
        """What the swizzle does, and to what."""
        own, bits = self.swizzle, self.swizzle.bits
        if not bits:
            return f"{own} changes nothing"
        what = "offsets in elements" if self.bits is None else "addresses in bytes"
        low, high = own.base + max(0, -own.shift), own.base + max(0, own.shift)
        text = f"{own} acts on {what}: bits {_span(low, bits)} ^= bits {_span(high, bits)}"
        if self.bits is None:
            return text
        return (
            f"{text}; on offsets in elements of {self.bits} bits it is {self.in_elements.swizzle}"
        )

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
        middle = self.offset if self.bits is None else f"smem_ptr[{self.bits}b](unset)"
        return f"{self.swizzle} o {middle} o {self.layout}"


def _span(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first} to {first + count - 1}"
