"""The swizzle, or padding, of a tile in shared memory with the fewest bank conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from morello_layouts.description import count
from morello_layouts.gpu.access import WIDEST, Access
from morello_layouts.gpu.candidates import PlacedTile
from morello_layouts.gpu.fragment import Fragment
from morello_layouts.gpu.placing import Asked, Task
from morello_layouts.plain import Displayed


@dataclass(frozen=True, slots=True, repr=False)
class BestSwizzle(Displayed):
    """A placement of a tile with as few bank conflicts as can be.

    Attributes:
        shape: the sizes of the tile.
        bits: bits of an element.
        accesses: the accesses in words.
        ways: the ways of each access.
        plain_ways: their ways in rows without swizzle and padding.
        padding: elements of padding in the buffer.
        pitch: elements from one row to the next.
        layout: the placement as a layout, which every function takes.
        cute: the placement in CuTe's notation, on elements; None if it has none.
        triton: the placement as an attribute of Triton; None if it has none.
        cuda: the offset of ``row`` and ``column`` in C.
        reason: why no placement is better, or what was tried.
        is_best: whether it is known that none is better, among all linear placements if sizes are
            powers of two, and among those of the reason if not.
        tried: the placements that were tried.
        padded: the smallest pitch with as few ways as vectors that stay whole allow, if there is
            one: without conflicts unless an access is down a column and another one is wide.
    """

    json_keys: ClassVar = ("verdict", "*", "padding_bytes")

    shape: tuple[int, ...]
    bits: int
    accesses: tuple[str, ...]
    ways: tuple[int, ...]
    plain_ways: tuple[int, ...]
    padding: int
    pitch: int
    layout: PlacedTile
    cute: str | None
    triton: str | None
    cuda: str
    reason: str
    is_best: bool
    tried: int
    padded: int | None

    @property
    def padding_bytes(self) -> int:
        """Bytes of padding in the buffer."""
        return -(-self.padding * self.bits // 8)

    @property
    def verdict(self) -> str:
        """The answer in words."""
        worst = max(self.ways, default=1)
        return "no conflicts" if worst == 1 else f"{worst}-way conflict"

    def __str__(self) -> str:
        sizes = "x".join(map(str, self.shape))
        lines = [f"{self.verdict}: {sizes} elements of {self.bits} bits"]
        each = zip(self.accesses, self.plain_ways, self.ways, strict=True)
        lines += [
            f"  {access}: {count(after, 'way')}{'' if after == before else f' instead of {before}'}"
            for access, before, after in each
        ]
        lines.append(f"  offset: {self.cuda}")
        lines += [
            f"  {name}: {text}"
            for name, text in (("CuTe", self.cute), ("Triton", self.triton))
            if text
        ]
        if self.padding:
            lines.append(f"  {count(self.padding_bytes, 'byte')} of padding")
        lines.append(f"  {self.reason}")
        return "\n".join(lines)


def best_swizzle_of(shape: tuple[int, ...], bits: int, accesses: Sequence[Access]) -> BestSwizzle:
    """Return the placement of a tile with the fewest conflicts, and among those the least padding.

    Args:
        shape: the sizes of the tile.
        bits: bits of an element.
        accesses: the accesses, each at every place of the tile.
    """
    task, accesses = _task(shape, bits, accesses), tuple(accesses)
    best, ways = task.best()
    for widest in (8, 4, 2, 1) if max(ways) > 1 else ():
        narrow = _narrowed(accesses, widest)
        if narrow == accesses:
            continue
        # Narrower vectors of a fragment take more instructions, but not more rounds.
        other = _task(shape, bits, narrow)
        found, fewer = other.best()
        if max(fewer) < max(ways) and other.rounds(found) <= task.rounds(best):
            task, accesses, best, ways = other, narrow, found, fewer
    is_least = task.is_least(ways)
    return BestSwizzle(
        shape,
        bits,
        tuple(str(access) for access in accesses),
        ways,
        task.ways(task.plain),
        best.padding,
        best.pitch,
        PlacedTile(best),
        best.cute(),
        best.triton(),
        best.formula(),
        task.reason(is_least),
        is_least or task.is_searched,
        task.tried,
        task.padded(),
    )


def _task(shape: tuple[int, ...], bits: int, accesses: Sequence[Access]) -> Task:
    return Task(shape, bits, tuple(Asked.of(access, shape, bits) for access in accesses))


def _narrowed(accesses: tuple[Access, ...], widest: int) -> tuple[Access, ...]:
    """Return accesses with fewer elements in the vectors of fragments."""
    return tuple(
        replace(each, widest=widest)
        if isinstance(each, Fragment) and widest < (each.widest or WIDEST)
        else each
        for each in accesses
    )
