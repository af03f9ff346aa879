"""Transpositions of run-time sizes that read rows where they lie, where the strides allow it.

Whether rows that are read by turns evict one another from the first cache is a matter of their
stride. Only the call knows it, so the call chooses; see :func:`choice`.
"""

from __future__ import annotations

from dataclasses import dataclass

from morello_layouts.codegen.kernel.boxes import Axis
from morello_layouts.codegen.kernel.extents import estimate, upper
from morello_layouts.codegen.kernel.moves import Kernel, boxes_of
from morello_layouts.codegen.kernel.names import Values
from morello_layouts.codegen.kernel.plan import merged

__all__ = ["Direct", "choice", "direct_lines", "direct_of", "helpers"]

_WIDTH = 64
_ROWS = 384  # of the source at once: a line of each stays in the first cache


@dataclass(frozen=True, slots=True)
class Direct:
    """A whole kernel that is one transposition.

    Attributes:
        element: bytes of an element.
        x: the axis that is dense in the source.
        y: the axis that is dense in the target.
        outer: all other axes.
    """

    element: int
    x: Axis
    y: Axis
    outer: tuple[Axis, ...]


def direct_of(kernel: Kernel) -> Direct | None:
    """The transposition that a kernel is; None where it is none, or several.

    >>> from morello_layouts import relayout
    >>> r = relayout("f32[M,N]{1,0}", "{0,1}")
    >>> direct_of(Kernel(r.source.recipe, r.target.recipe, 4)).x
    Axis(count=Size(N), source=4, target=Size(4*M), clamp=None)
    """
    elements, padding = boxes_of(kernel.source, kernel.target)
    e = kernel.itemsize
    if elements is None or len(elements) != 1 or padding or e not in (1, 2, 4, 8):
        return None
    axes = merged([Axis(a.count, a.source * e, a.target * e) for a in elements[0].axes])
    x = next((a for a in axes if a.source == e), None)
    y = next((a for a in axes if a.target == e), None)
    if x is None or y is None or x is y or any(upper(a.count) is not None for a in (x, y)):
        return None
    outer = [a for a in axes if a is not x and a is not y]
    return Direct(e, x, y, tuple(sorted(outer, key=lambda a: -estimate(a.target))))


def helpers(direct: Direct) -> list[str]:
    """The helpers that the loops call."""
    return [f"relayout_across_{direct.element}_{width}" for width in (16, 32, 64)]


def choice(direct: Direct, say: Values) -> str:
    """When rows are read where they lie, in C.

    There are vectors enough; rows of the target do not start at cache lines; and those of the
    source, and of the target, spread over the places of the first cache.
    """
    e, x, y = direct.element, direct.x, direct.y
    rows, row, column = say(y.count), say(y.source), say(x.target)
    return (
        f"{say(x.count)} >= {16 // e} && {rows} >= {_WIDTH // e} && {column} % {_WIDTH} != 0"
        f" && RELAYOUT_PLACES({row}) >= RELAYOUT_LEAST({rows}, {_ROWS})"
        f" && RELAYOUT_PLACES({column}) >= {16 // e}"
    )


def direct_lines(direct: Direct, say: Values) -> list[str]:
    """The loops from ``s`` to ``t``; the last vectors of a row and of a column start early."""
    e, x, y, across, unit = (
        direct.element,
        direct.x,
        direct.y,
        16 // direct.element,
        _WIDTH // direct.element,
    )
    rows, columns, row, column = say(y.count), say(x.count), say(y.source), say(x.target)
    t, s = "t", "s"
    heads = []
    for k, axis in enumerate(direct.outer):
        heads.append(f"for (size_t i{k} = 0; i{k} < {say(axis.count)}; i{k}++)")
        t += f" + i{k} * {say(axis.target)}"
        s += f" + i{k} * {say(axis.source)}"
    return [
        f"const size_t blocks = ({rows} + {_ROWS - 1}) / {_ROWS};",
        f"const size_t block = ({rows} / blocks + {unit}) / {unit} * {unit};",
        *heads,
        f"for (size_t b = 0; b < {rows}; b += block)",
        f"for (size_t j0 = 0; j0 < {columns}; j0 += {across}) {{",
        f"    const size_t x = RELAYOUT_LEAST(j0, {columns} - {across});",
        f"    const size_t end = RELAYOUT_LEAST(b + block, {rows});",
        f"    for (size_t j1 = b; j1 < end; j1 += {unit}) {{",
        f"        const size_t y = RELAYOUT_LEAST(j1, {rows} - {unit});",
        f"        {helpers(direct)[-1]}(",
        f"            {t} + x * {column} + y * {e}, {s} + y * {row} + x * {e}, {row},",
        f"            {across}, {column}, {1 << 20}, 0, 0, 0);",
        "    }",
        "}",
    ]
