"""Relayouts of elements narrower than a byte: exchanges of bits between bytes, then of bytes.

Which element of a byte an element is, is a digit of it, as the byte is. Where the source has
another digit there than the target, two bytes exchange the elements in which both digits differ:
``a & 15 | b << 4`` and ``a >> 4 | b & 240``, which compilers write with vectors. Then bytes move
whole, by the kernel of all relayouts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from math import gcd, prod
from typing import Any, Final, NamedTuple

from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.maps.subject import Subject
from morello_layouts.core.recipe import Recipe, known
from morello_layouts.core.recipe.digits import digits_of, fused_axes
from morello_layouts.core.recipe.views import reshape_recipe
from morello_layouts.errors import UnsupportedError
from morello_layouts.notations import parse
from morello_layouts.outputs.kernels.emit_c import kernel_text, require_function_name
from morello_layouts.outputs.kernels.gather import Gather, NarrowFunction, built
from morello_layouts.outputs.kernels.plan import Kernel


class BitDigit(NamedTuple):
    """A digit of an element's index, and the bits from one value to the next on both sides."""

    radix: int
    source: int
    target: int


class ByteLoop(NamedTuple):
    """A loop over bytes: its length, and the bytes from one to the next on both sides."""

    size: int
    source: int
    target: int


class BitExchange(NamedTuple):
    """The digit at a bit of each byte, and another one, change places."""

    axes: tuple[ByteLoop, ...]  #: the loops over the bytes, or over the first one of each pair.
    bit: int  #: the bits from one value of the digit in a byte to the next.
    #: bytes from the first to the second of a pair, where they are read and where they are written;
    #: 0 if the other digit is in the same byte.
    apart: tuple[int, int] = (0, 0)
    other: int = 0  #: of the other digit in the same byte, its bits.


_SCRATCH: Final = "scratch"
_LOCAL: Final = 64  # bytes of the source within which exchanges order bytes as the target does
_LEAST_RUN: Final = 8  # bytes one after the other that compilers write as a vector


@frozen(slots=False)
class NarrowRelayout:
    """A relayout of elements of 1, 2 or 4 bits, all bytes of which both sides fill.

    >>> halves = BitDigit(16, 4, 8), BitDigit(2, 64, 4)    # two runs of 16 become 16 pairs
    >>> f = NarrowRelayout(4, halves, (0, 0), (16, 16)).compile()
    >>> f(np.arange(16, dtype=np.uint8))[:3]    # bytes 0 to 7 hold elements 0 to 15
    array([128,   0, 145], dtype=uint8)
    """

    width: int  #: the bits of an element.
    digits: tuple[BitDigit, ...]  #: an element's index, with the bits of each digit on both sides.
    starts: tuple[int, int]  #: the bit of the first element, in the source and in the target.
    sizes: tuple[int, int]  #: the bytes of the source and of the target.

    @cached_property
    def _plan(self) -> tuple[tuple[BitExchange, ...], tuple[ByteLoop, ...]]:
        """The exchanges, from source to scratch, and the bytes from there to the target."""
        digits = [d for one in self.digits if one.radix > 1 for d in _cut(one, self.width)]
        self._require_full_bytes(digits)
        place = {d: d.source for d in digits}  # in bits; of the source, then of the scratch
        found: list[BitExchange] = []
        for mine in sorted((d for d in digits if d.target < 8), key=lambda d: d.target):
            now = place[mine]
            if now == mine.target:
                continue
            other = next(d for d in digits if place[d] == mine.target)
            after = {**place, mine: mine.target, other: now}
            if not found:  # bytes nearby in the target's order, if loops over them stay long
                free = [d for d in digits if after[d] >= 8]
                near = after | _scratch(free, after, lambda d: d.target)
                axes = _axes(digits, place, near)
                is_long = axes and axes[-1].target == 1 and axes[-1].size >= _LEAST_RUN
                after = near if is_long else after | _scratch(free, after, after.__getitem__)
            apart = (now // 8, after[other] // 8)
            axes = _axes(digits, place, after)
            found.append(BitExchange(axes, mine.target, apart, now if now < 8 else 0))
            place = after
        left = [ByteLoop(d.radix, place[d] // 8, d.target // 8) for d in digits if d.target >= 8]
        return tuple(found), _fused(sorted(left, key=lambda axis: -axis.source))

    def require(self) -> None:
        """Raise an UnsupportedError unless whole bytes can move."""
        _ = self._plan

    def _require_full_bytes(self, digits: Sequence[BitDigit]) -> None:
        wanted = {self.width << k for k in range((8 // self.width).bit_length() - 1)}
        for side, strides in (
            ("source", [d.source for d in digits]),
            ("target", [d.target for d in digits]),
        ):
            inside = sorted(stride for stride in strides if stride < 8)
            if inside != sorted(wanted) or self.starts[side == "target"] % 8:
                raise UnsupportedError(
                    f"the {side}: expected bytes full of elements of {self.width} bits",
                    "a kernel writes whole bytes, and leaves no bits of others in them",
                    "move such elements one by one, with the functions that read and write them",
                )

    def text(self, name: str = "relayout", _: str = "c") -> str:
        """Return the kernel in C: a function of target, source and scratch memory.

        The scratch memory has as many bytes as the elements; kernels that exchange no bits do not
        touch it.
        """
        require_function_name(name, "c")
        exchanges, moved = self._plan
        source, target = self.starts[0] // 8, self.starts[1] // 8
        buffers = ("*restrict target", "*restrict source", "*restrict scratch")
        kinds = ("unsigned char", "const unsigned char", "unsigned char")
        arguments = ", ".join(map(" ".join, zip(kinds, buffers, strict=True)))
        head = f"void {name}({arguments})"
        lines = ["", f"{head};", head, "{"]
        for k, one in enumerate(exchanges):
            lines += _loops(one, _SCRATCH if k else f"source + {source}")
        of = _SCRATCH if exchanges else f"source + {source}"
        lines += [*([] if exchanges else ["    (void)scratch;"]),
                  f"    {name}_bytes(target + {target}, {of});", "}"]  # fmt: skip
        return "\n".join([self._moving(moved, f"{name}_bytes"), *lines, ""])

    def _moving(self, moved: Sequence[ByteLoop], name: str) -> str:
        """Return the relayout of bytes in C, or of the items that they lie in on both sides."""
        item = moved[-1].size if moved and moved[-1][1:] == (1, 1) else 1
        strides = [n for axis in moved[:-1] for n in axis[1:]]
        item = gcd(item, 16, *strides)
        axes = [
            ByteLoop(axis.size, axis.source // item, axis.target // item) for axis in moved[:-1]
        ]
        if moved and moved[-1].size > item:
            axes.append(ByteLoop(moved[-1].size // item, *(-(-n // item) for n in moved[-1][1:])))
        axes = axes or [ByteLoop(1, 1, 1)]
        order = sorted(range(len(axes)), key=lambda k: -axes[k].target)
        sizes = tuple(axis.size for axis in axes)
        given = ", ".join(str(axis.source) for axis in axes)
        wanted = ", ".join(str(axes[k].target) for k in order)
        source = _strided(given, sizes)
        target = reshape_recipe(sizes, _strided(wanted, tuple(sizes[k] for k in order)), order)
        return kernel_text(Kernel(source, target, item, None, name, ""), "c")

    def compile(self) -> NarrowFunction:
        """Return the kernel as a function on NumPy bytes; it works in NumPy without a compiler."""
        exchanges, _ = self._plan
        scratch = prod(digit.radix for digit in self.digits) * self.width // 8 if exchanges else 1
        return NarrowFunction(self, built(self.text()), scratch)

    def sizes_at(self, _: Mapping[str, int]) -> tuple[int, int]:
        """Return the bytes of the source and of the target."""
        return self.sizes

    def by_numpy(self, data: Any, made: Any, _: Mapping[str, int]) -> None:
        """Move each element by its bits."""
        places = []
        for k, start in enumerate(self.starts):
            at = np.zeros((1,) * len(self.digits), np.int64) + start
            for axis, digit in enumerate(self.digits):
                shape = [1] * len(self.digits)
                shape[axis] = digit.radix
                at = at + (np.arange(digit.radix) * digit[k + 1]).reshape(shape)
            places.append(at.reshape(-1))
        read, write = places
        numbers = data[read >> 3] >> (read & 7).astype(np.uint8) & (1 << self.width) - 1
        order = np.argsort(write)
        per_byte = 8 // self.width
        every = numbers[order].reshape(-1, per_byte) << np.arange(0, 8, self.width, dtype=np.uint8)
        made[write[order][::per_byte] >> 3] = np.bitwise_or.reduce(every, axis=1)


class IndexDigit(NamedTuple):
    """A digit of an index, ``index // unit % radix``, and the bits from one value to the next."""

    of: int | str  #: the dimension, or its name.
    unit: int
    radix: int
    bits: int


def places_of(recipe: Recipe, bits: int, first: int = 0) -> Iterator[IndexDigit]:
    """Yield the digits of a recipe's dimensions, numbered from a first one.

    Args:
        recipe: a recipe at sizes that are numbers.
        bits: from one slot to the next.
        first: the number of the first dimension.

    Raises:
        UnsupportedError: if it has padding, or is not made of digits.
    """
    sizes = known(recipe.shape)
    for digit in digits_of(recipe):
        (radix, stride), of = known((digit.radix, digit.stride)), digit.of
        if radix == 1:
            continue
        if not isinstance(of, int) or not digit.is_exact or digit.unit * radix > sizes[of]:
            raise UnsupportedError(
                f"elements narrower than a byte: {digit} has padding",
                "what lies in padding has no place in the other layout",
                "give sizes that the tiles divide",
            )
        yield IndexDigit(of + first, digit.unit, radix, stride * bits)


def refined(
    of: int | str, size: int, source: Sequence[IndexDigit], target: Sequence[IndexDigit]
) -> Iterator[BitDigit]:
    """Yield the digits of a dimension that are digits on both sides."""
    own = [[d for d in side if d.of == of] for side in (source, target)]
    ends = {1, size} | {end for side in own for d in side for end in (d.unit, d.unit * d.radix)}
    for low, high in pairwise(sorted(ends)):
        if high % low:
            raise UnsupportedError(
                f"elements narrower than a byte: {of} is cut at {low} on one side, at {high} on "
                "the other",
                "a kernel moves digits that both sides have",
                "choose sizes whose tiles divide each other",
            )
        bits = [next(d.bits * (low // d.unit) for d in side if d.unit <= low < d.unit * d.radix)
                for side in own]  # fmt: skip
        yield BitDigit(high // low, bits[0], bits[1])


def narrow_relayout(relayout: Gather) -> NarrowRelayout | Gather:
    """Return a relayout of 1, 2 or 4 bits a byte at a time if nothing pads; others as they are.

    Bytes move whole in C only, at sizes that are numbers, and where the lowest bits come first.

    >>> from morello_layouts import relayout
    >>> r = relayout("[0, 1]", "[1, 0]", (4, 4))
    >>> move = narrow_relayout(Gather(r.source, r.target, lambda: r.form, 4)).compile()
    >>> [f"{byte:02x}" for byte in move(bytes.fromhex("1032547698badcfe"))]
    ['40', 'c8', '51', 'd9', '62', 'ea', '73', 'fb']
    """
    width, ends = relayout.width, (relayout.source, relayout.target)
    keeps_gaps = relayout.fill is None or not ends[1].is_part
    if width not in (1, 2, 4) or relayout.names or "big" in relayout.orders or not keeps_gaps:
        return relayout
    sizes = known(ends[0].shape)
    try:
        both = [list(places_of(m.recipe, width)) for m in ends]
        digits = [d for dim, size in enumerate(sizes) for d in refined(dim, size, *both)]
        found = NarrowRelayout(width, tuple(digits), (0, 0), relayout.sizes_at({}))
        found.require()
        return found
    except UnsupportedError:
        return relayout


def _cut(digit: BitDigit, width: int) -> Iterator[BitDigit]:
    """Yield the parts of a digit, the lowest first; those in a byte on a side have radix 2."""
    radix, source, target = digit
    while radix > 1:
        part = 2 if min(source, target) < 8 else radix
        if radix % part or (min(source, target) < 8 and min(source, target) < width):
            raise UnsupportedError(
                f"a digit of {radix} values of {width} bits",
                "a byte holds 2, 4 or 8 elements, which are digits of 2 values",
                "move such elements one by one, with the functions that read and write them",
            )
        yield BitDigit(part, source, target)
        radix, source, target = radix // part, source * part, target * part


def _fused(axes: Sequence[ByteLoop]) -> tuple[ByteLoop, ...]:
    """Join axes that are one on both sides."""
    return tuple(map(ByteLoop._make, fused_axes(axes)))


def _strided(strides: str, sizes: tuple[int, ...]) -> Recipe:
    layout: Any = parse(f"strided<[{strides}]>")
    recipe: Recipe = Subject(layout, sizes).map().recipe
    return recipe


def _axes(
    digits: Sequence[BitDigit], before: Mapping[BitDigit, int], after: Mapping[BitDigit, int]
) -> tuple[ByteLoop, ...]:
    """Return the loops over bytes, those that are neighbours after it innermost."""
    over = [d for d in digits if min(before[d], after[d]) >= 8]
    found = (ByteLoop(d.radix, before[d] // 8, after[d] // 8) for d in over)
    return _fused(sorted(found, key=lambda axis: -axis.target))


def _scratch(
    digits: Sequence[BitDigit], place: Mapping[BitDigit, int], order: Callable[[BitDigit], int]
) -> dict[BitDigit, int]:
    """Return places without gaps in the source's order, those of nearby bytes in another one."""
    near = sorted((d for d in digits if place[d] < 8 * _LOCAL), key=order)
    found, end = {}, 8
    for d in [*near, *sorted((d for d in digits if d not in near), key=lambda d: place[d])]:
        found[d], end = end, end * d.radix
    return found


def _loops(one: BitExchange, source: str) -> list[str]:
    """Return the loops of an exchange, of pairs of bytes or inside of bytes, eight at a time."""
    *outer, last = one.axes or (ByteLoop(1, 1, 1),)
    wide = gcd(last.size, 8) if last[1:] == (1, 1) else 1
    kind = {8: "uint64_t", 4: "uint32_t", 2: "uint16_t"}.get(wide, "uint8_t")
    axes = [*outer, ByteLoop(last.size // wide, *(n * wide for n in last[1:]))]
    lines = [f"    for (size_t i{k} = 0; i{k} < {axis.size}; i{k}++)"
             for k, axis in enumerate(axes)]  # fmt: skip
    of = " + ".join([source, *(f"i{k} * {axis.source}" for k, axis in enumerate(axes))])
    to = " + ".join([_SCRATCH, *(f"i{k} * {axis.target}" for k, axis in enumerate(axes))])
    up, (read, write) = one.bit, one.apart
    low = sum(1 << bit for bit in range(8) if not bit // up % 2)  # where the digit is 0
    copies = [f"{kind} a, b;", f"memcpy(&a, {of}, {wide});"]
    if write and (wide, read) == (1, 1):  # neighbours, which compilers load as vectors of words
        copies = [f"const unsigned char *s = {of};", "const unsigned ab = s[0] | s[1] << 8;"]
        made = [
            f"(ab & {low}) | (ab >> {8 - up} & {255 - low})",
            f"(ab >> {up} & {low}) | (ab >> 8 & {255 - low})",
        ]
    elif write:
        copies += [f"memcpy(&b, {of} + {read}, {wide});"]
        made = [
            f"(a & {_mask(low, wide)}) | ((b << {up}) & {_mask(255 - low, wide)})",
            f"((a >> {up}) & {_mask(low, wide)}) | (b & {_mask(255 - low, wide)})",
        ]
    else:
        step = one.other - up
        mine = sum(1 << b for b in range(8) if b // up % 2 and not b // one.other % 2)
        rest, own = (_mask(bits, wide) for bits in (255 - mine - (mine << step), mine))
        copies[0] = f"{kind} a;"
        made = [f"(a & {rest}) | ((a & {own}) << {step}) | ((a >> {step}) & {own})"]
    lines[-1] += " {"
    for k, value in enumerate(made):
        copies += [f"{kind} {'xy'[k]} = ({kind})({value});"]
    for k in range(len(made)):
        copies += [f"memcpy({to} + {k * write}, &{'xy'[k]}, {wide});"]
    return [*lines, *("        " + line for line in copies), "    }"]


def _mask(bits: int, wide: int) -> str:
    return f"0x{bytes([bits] * wide).hex()}{'u' + 'll' * (wide == 8)}"
