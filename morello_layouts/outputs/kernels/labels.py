"""What a loop walks over: the dimension that its strides belong to, and the elements of a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from morello_layouts.core.expr.sizes import Int
from morello_layouts.outputs.kernels.chains import DimensionDigits, chains_of, chains_to_read
from morello_layouts.outputs.kernels.domains import CopyAxis, estimate
from morello_layouts.outputs.kernels.plan import Kernel

# The dimension that a loop walks over, and the elements of one step; None if it has no words.
LoopLabel: TypeAlias = Callable[[CopyAxis], tuple[int, int] | None]


def label_of(kernel: Kernel) -> LoopLabel:
    """Return the function that says what the loops of a kernel walk over.

    A stride of 0 says nothing: it is of a buffer of the kernel's own, or of replicas.

    >>> from morello_layouts import index_map
    >>> a, b = (index_map(text, (64, 64)).recipe for text in ("[0, 1]", "[1, 0]"))
    >>> label = label_of(Kernel(a, b, 4))
    >>> label(CopyAxis(2, 32 * 256, 32 * 4)), label(CopyAxis(64, 4, 256)), label(CopyAxis(8, 3, 5))
    ((0, 32), (1, 1), None)
    """
    chains = chains_to_read(kernel.source), chains_of(kernel.target)

    def label(axis: CopyAxis) -> tuple[int, int] | None:
        items = 1 if axis.clamp is None else axis.clamp.unit
        strides = axis.source, axis.target
        found = [
            set(_steps(chain, stride, kernel.itemsize))
            for chain, stride in zip(chains, strides, strict=True)
            if chain is not None and stride != 0
        ]
        common = set.intersection(*found) if found else set()
        least = min(common, key=lambda one: one[1], default=None)
        return None if least is None else (least[0], least[1] * items)

    return label


def _steps(chains: DimensionDigits, stride: Int, itemsize: int) -> Iterator[tuple[int, int]]:
    """Yield each dimension along which a stride is a number of elements, and that number."""
    for dim, chain in enumerate(chains.chains):
        for digit in chain:
            steps = _ratio(stride, digit.stride * itemsize)
            if steps and steps < max(2, estimate(digit.radix)):
                yield dim, estimate(digit.unit) * steps


def _ratio(number: Int, by: Int) -> int:
    """Return how many times a number is another one; 0 if it is no such multiple."""
    least = estimate(by)
    times = estimate(number) // least if least else 0
    return times if by * times == number else 0
