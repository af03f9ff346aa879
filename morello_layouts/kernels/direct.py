"""Kernels of symbolic sizes that are one transposition without a staging buffer."""

from __future__ import annotations

from dataclasses import dataclass

from morello_layouts.expr.sizes import is_nonnegative
from morello_layouts.kernels.c_loops import Hoisted, loop_heads
from morello_layouts.kernels.c_vectors import Helper
from morello_layouts.kernels.domains import LoopAxis, estimate, upper_bound
from morello_layouts.kernels.nests import CACHE_LINE
from morello_layouts.kernels.plan import Kernel, domains_of
from morello_layouts.kernels.vectorize import SMALL_ROWS, axes_in_bytes, fuse_axes


@dataclass(frozen=True, slots=True)
class DirectTransposition:
    """A whole kernel of symbolic sizes that is one transposition without a staging buffer.

    Attributes:
        element: bytes of an element.
        x: the axis that is dense in the source.
        y: the axis that is dense in the target.
        outer: all other axes.
    """

    element: int
    x: LoopAxis
    y: LoopAxis
    outer: tuple[LoopAxis, ...]

    @property
    def helpers(self) -> list[Helper]:
        """The helpers that the loops call."""
        return [Helper("across", self.element, 16 // self.element, CACHE_LINE)]

    def condition(self, hoist: Hoisted) -> str:
        """Return the condition under which this is the fastest way, in C.

        There are enough vectors, rows of the target do not start at cache lines, and the rows of
        source and target spread over the sets of the first cache.
        """
        e, x, y = self.element, self.x, self.y
        rows, row, column = hoist(y.count), hoist(y.source), hoist(x.target)
        return (
            f"{hoist(x.count)} >= {16 // e} && {rows} >= {CACHE_LINE // e}"
            f" && {column} % {CACHE_LINE} != 0"
            f" && RELAYOUT_PLACES({row}) >= RELAYOUT_LEAST({rows}, {SMALL_ROWS})"
            f" && RELAYOUT_PLACES({column}) >= {16 // e}"
        )

    def lines(self, hoist: Hoisted) -> list[str]:
        """Return the loops; the last vectors of a row and of a column start early."""
        e, x, y = self.element, self.x, self.y
        across, unit = 16 // e, CACHE_LINE // e
        rows, columns = hoist(y.count), hoist(x.count)
        row, column = hoist(y.source), hoist(x.target)
        heads, (t, s) = loop_heads(self.outer, ("t", "s"), 0, hoist, None)
        return [
            f"const size_t blocks = ({rows} + {SMALL_ROWS - 1}) / {SMALL_ROWS};",
            f"const size_t block = ({rows} / blocks + {unit}) / {unit} * {unit};",
            *(head.replace(" {", "", 1) for head in heads),
            f"for (size_t b = 0; b < {rows}; b += block)",
            f"for (size_t j0 = 0; j0 < {columns}; j0 += {across}) {{",
            f"    const size_t x = RELAYOUT_LEAST(j0, {columns} - {across});",
            f"    const size_t end = RELAYOUT_LEAST(b + block, {rows});",
            f"    for (size_t j1 = b; j1 < end; j1 += {unit}) {{",
            f"        const size_t y = RELAYOUT_LEAST(j1, {rows} - {unit});",
            f"        {self.helpers[-1].name}(",
            f"            {t} + x * {column} + y * {e}, {s} + y * {row} + x * {e}, {row},",
            f"            {across}, {column}, {1 << 20}, 0, 0);",
            "    }",
            "}",
        ]


def direct_transposition(kernel: Kernel) -> DirectTransposition | None:
    """Return the transposition that a kernel is; None if it is not exactly one.

    >>> from morello_layouts import relayout
    >>> r = relayout("f32[M,N]{1,0}", "{0,1}")
    >>> direct_transposition(Kernel(r.source.recipe, r.target.recipe, 4)).x
    LoopAxis(count=SizeExpr(N), source=4, target=SizeExpr(4*M), clamp=None)
    """
    domains = domains_of(kernel.source, kernel.target, fill=kernel.fill is not None)
    elements, e = domains.elements, kernel.itemsize
    if elements is None or len(elements) != 1 or domains.padding or e not in (1, 2, 4, 8):
        return None
    if elements[0].source != 0 or elements[0].target != 0:
        return None
    axes = fuse_axes(axes_in_bytes(elements[0], e))
    x = next((a for a in axes if a.source == e), None)
    y = next((a for a in axes if a.target == e), None)
    if x is None or y is None or x is y or any(upper_bound(a.count) is not None for a in (x, y)):
        return None
    outer = [a for a in axes if a is not x and a is not y]
    if any(is_nonnegative(-a.source) and a.source != 0 for a in axes):
        return None
    return DirectTransposition(e, x, y, tuple(sorted(outer, key=lambda a: -estimate(a.target))))
