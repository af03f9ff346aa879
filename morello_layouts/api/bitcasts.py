"""Whether the bytes of one array serve another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from morello_layouts import notation
from morello_layouts.api.layouts import LayoutLike, index_maps
from morello_layouts.api.sizes import Assuming, Shape
from morello_layouts.errors import ShapeError
from morello_layouts.formula.view import of_parts
from morello_layouts.xla import XlaShape

if TYPE_CHECKING:
    from morello_layouts.proof.bitcast import Bitcast, Correspondence

__all__ = ["is_bitcast"]


def is_bitcast(
    a: LayoutLike,
    b: LayoutLike,
    shape: Shape | None = None,
    *,
    correspondence: Correspondence = "row-major",
    assuming: Assuming | None = None,
    budget: int | None = None,
) -> Bitcast:
    """Whether the bytes of one array serve another, tiles and padding taken into account.

    Args:
        a: the layout of the array that is there.
        b: the layout of the array that it is to be seen as.
        shape: the shape of layouts whose text carries none.
        correspondence: ``"row-major"``: the element at a place in row-major order is the same in
            both, which a reshape keeps. An order of dimensions: b is a transposed, as by NumPy.
            ``"any"``: whichever is free, row-major first, then the dimensions as they come in
            memory, then transposes, sizes of 1 aside; so HLO's ``bitcast`` is meant.
        assuming: what is known of symbolic sizes, as for ``index_map``.
        budget: ISL operations before the answer is undecided.

    Returns:
        A proof with the kind of the bitcast; of a copy, the first slot that differs. Elements of
        different widths correspond as in HLO's ``bitcast-convert``: the wide array has one
        dimension less.

    >>> is_bitcast("f32[4,6]{1,0}", "f32[2,2,3,2]{3,2,1,0}").kind
    'reshape'
    >>> answer = is_bitcast("f32[2,2,3,2]", "f32[2,3,2,2]", correspondence=(0, 2, 1, 3))
    >>> answer.kind, answer.slot
    ('copy', 2)
    >>> is_bitcast("f32[M,N]{1,0:T(1,128)}", "f32[M,N]{1,0}").when
    'exactly when 128 divides N, or M = 1'
    """
    from morello_layouts.proof.bitcast import QUESTION
    from morello_layouts.proof.bitcast import Bitcast as Answer
    from morello_layouts.proof.bitcast import is_bitcast as decide

    one, other = (notation.parse(x) if isinstance(x, str) else x for x in (a, b))
    first, second = index_maps(one, other, shape, assuming)
    shapes = [x for x in (one, other) if isinstance(x, XlaShape)]
    if len(shapes) == 2:
        wide, narrow = (x.bits for x in shapes)
        if wide % narrow and narrow % wide:
            raise ShapeError(
                f"elements of {wide} and of {narrow} bits do not correspond",
                "one width must be a multiple of the other",
                "give types of such widths",
            )
        if wide != narrow and shapes[0].element_type == shapes[1].element_type:
            reason = f"elements take {wide} bits in one and {narrow} in the other"
            return Answer(QUESTION, False, reason, kind="copy", memory_spaces=_spaces(shapes))
        first = of_parts(first, wide // narrow) if wide > narrow else first
        second = of_parts(second, narrow // wide) if narrow > wide else second
    answer = decide(first, second, correspondence, budget=budget)
    if len(shapes) == 2:
        return replace(answer, memory_spaces=_spaces(shapes))
    return answer


def _spaces(shapes: Sequence[XlaShape]) -> tuple[int, int]:
    first, second = (x.layout.memory_space if x.layout else 0 for x in shapes)
    return first, second
