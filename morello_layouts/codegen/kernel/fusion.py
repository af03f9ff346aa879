"""Loops that several boxes share: what is done to one block of rows is done while it is near."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from morello_layouts.codegen.kernel.boxes import Axis
from morello_layouts.codegen.kernel.cost import work
from morello_layouts.codegen.kernel.micro import Fill
from morello_layouts.codegen.kernel.nest import Nest

__all__ = ["Shared", "Tree", "fused"]


@dataclass(frozen=True, slots=True)
class Shared:
    """A loop around several nests.

    Attributes:
        axis: the loop.
        body: what is done in it, in this order.
    """

    axis: Axis
    body: tuple[Tree, ...]


Tree: TypeAlias = "Shared | Nest"


def fused(nests: Sequence[Nest]) -> tuple[Tree, ...]:
    """The nests, those with the outermost loop of the largest among them within that loop.

    >>> from morello_layouts.codegen.kernel.micro import Copy, Move
    >>> rows = Axis(9, 700, 512)
    >>> main, rest = Nest(0, 0, (rows, Axis(5, 32, 64)), Copy(32)), Nest(640, 960, (rows,), Move(4))
    >>> (tree,) = fused([main, rest])
    >>> tree.axis.count, [[axis.count for axis in nest.loops] for nest in tree.body]
    (9, [[5], []])
    """
    left = list(nests)
    found: list[Tree] = []
    while left:
        largest = max(left, key=work)
        inside = [part for nest in left if (part := _within(nest, largest.loops[:1])) is not None]
        if len(inside) < 2:
            found.append(largest)
            left.remove(largest)
            continue
        left = [nest for nest in left if _within(nest, largest.loops[:1]) is None]
        found.append(Shared(largest.loops[0], fused(inside)))
    return tuple(found)


def _within(nest: Nest, loop: tuple[Axis, ...]) -> Nest | None:
    """The nest without a loop, one of its own; None where it has no such loop."""
    for wanted in loop:
        for k, axis in enumerate(nest.loops[: len(nest.loops) - nest.inner]):
            if axis.clamp != wanted.clamp or (axis.clamp and axis.count != wanted.count):
                continue
            if axis.count % wanted.count != 0:
                continue
            inner = axis.count // wanted.count
            steps = replace(axis, count=inner)
            fits = axis.target * inner == wanted.target
            if fits and (isinstance(nest.micro, Fill) or axis.source * inner == wanted.source):
                rest = [*nest.loops[:k], *([steps] if inner != 1 else []), *nest.loops[k + 1 :]]
                return replace(nest, loops=tuple(rest))
    return None
