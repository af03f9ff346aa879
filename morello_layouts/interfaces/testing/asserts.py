"""Assertions that fail with the proof's own words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from morello_layouts.core.limits import PROOF_ELEMENTS
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import known
from morello_layouts.errors import LayoutError
from morello_layouts.interfaces.api import gpu, proofs
from morello_layouts.interfaces.api.layouts import Assuming, LayoutLike, Shape, index_map

if TYPE_CHECKING:
    from morello_layouts.proof import Proof
    from morello_layouts.proof.agreement import Agreement


def assert_agree(
    producer: LayoutLike,
    consumer: LayoutLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    **more: Any,
) -> Agreement:
    """Fail unless a consumer is proved to find in a buffer what a producer wrote.

    Args:
        producer: the layout in which an array is written.
        consumer: the layout in which it is read.
        shape: the sizes, for a layout whose text carries none; names are proved for all sizes.
        assuming: facts about symbolic sizes, as for ``index_map``.
        more: as for ``agree``: what is written and read, and the bytes that are allocated.

    Raises:
        AssertionError: if it is disproved, or undecided; with the element, its two offsets, what
            to do, and the sizes at which a test could not have seen it.

    >>> assert_agree("[0, 1, 2, 3]", "[0, 2, 1, 3]", ("B", "N", "H", "D"))
    Traceback (most recent call last):
    AssertionError: producer and consumer agree on offsets iff H = 1, or N = 1.
    Tests where H = 1, or N = 1 cannot see this.
    ...
    """
    found: Agreement = proofs.agree(producer, consumer, shape, assuming=assuming, **more)
    if found.holds and found.fits and found.covers:
        return found
    raise AssertionError(str(found))


def assert_bijective(
    layout: LayoutLike, shape: Shape | None = None, *, assuming: Assuming | None = None
) -> Proof:
    """Fail unless each slot of a layout's buffer is proved to hold exactly one element.

    Args:
        layout: text in any notation; or a layout, an array, or a function of coordinates.
        shape: the sizes, if the layout does not carry them.
        assuming: facts about symbolic sizes, as for ``index_map``.

    Raises:
        AssertionError: if it is disproved, or undecided.

    >>> assert_bijective("f32[3,5]{1,0:T(2,2)}")
    Traceback (most recent call last):
    AssertionError: f32[3,5]{1,0:T(2,2)}: not bijective: injective, but 9 of 24 slots are padding \
(first: 9). Decided by digits.
    """
    m = index_map(layout, shape, assuming=assuming)
    found: Proof = proofs.is_bijective(m)
    if found.holds:
        return found
    raise AssertionError(f"{m.source}: {found}")


def assert_no_conflicts(
    layout: LayoutLike,
    *accesses: str,
    shape: Shape | None = None,
    bits: int | None = None,
    assuming: Assuming | None = None,
) -> tuple[Any, ...]:
    """Fail if an access of a warp to a layout in shared memory has bank conflicts.

    Args:
        layout: the layout in shared memory.
        accesses: such as ``"row"``, ``"column.b128"`` or ``"ldmatrix"``, as for ``banks``.
        shape: the sizes, if the layout does not carry them.
        bits: of an element, if the layout names no type.
        assuming: facts about symbolic sizes, as for ``index_map``.

    Raises:
        AssertionError: if one has conflicts; with the lanes that meet.
        LayoutError: if no access is given.

    >>> [found.ways for found in assert_no_conflicts("(32,32):(33,1)", "row", "column", bits=32)]
    [1, 1]
    """
    if not accesses:
        raise LayoutError(
            "no access was given",
            "conflicts are those of an access",
            'give for example "row" and "column.b128"',
        )
    m = index_map(layout, shape, assuming=assuming)
    found = tuple(gpu.banks(m, access, bits=bits) for access in accesses)
    wrong = [str(each) for each in found if has_conflicts(each)]
    if wrong:
        raise AssertionError("\n".join(wrong))
    return found


def has_conflicts(answer: Any) -> bool:
    """Return whether an answer of ``banks`` has any, at some sizes."""
    ways = answer.ways
    return bool((ways if isinstance(ways, int) else max(ways)) > 1)


def assert_matches(
    function: Callable[..., Any],
    layout: LayoutLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
) -> None:
    """Fail unless a function of coordinates gives a layout's offset of each element.

    A function that computes with ``+ - * // %`` alone is proved equal, for symbolic sizes too. Any
    other one is called for each element.

    Args:
        function: from one integer for each dimension to the offset in elements.
        layout: the layout that it computes.
        shape: the sizes, if the layout does not carry them.
        assuming: facts about symbolic sizes, as for ``index_map``.

    Raises:
        AssertionError: if an offset differs; with the first element at which it does.
        LayoutError: if the function is not a formula, and a size is a name.

    >>> assert_matches(lambda i, j: 24 * (j // 4) + 4 * i + j % 4, "[1, 0, 1 p(4)]", (6, 8))
    >>> assert_matches(lambda i, j: i * 8 + j if i < 3 else 0, "{1,0}", (4, 8))
    Traceback (most recent call last):
    AssertionError: the function gives 0 for element (3, 0), the layout 24
    """
    m = index_map(layout, shape, assuming=assuming)
    try:
        answer = proofs.equal(function, m, shape if shape is not None else m.recipe.shape)
    except LayoutError:
        _require_each(function, m)
        return
    if not answer.holds:
        raise AssertionError(f"the function and {m.source}: {answer}")


def _require_each(function: Callable[..., Any], m: IndexMap) -> None:
    sizes: Sequence[int] = known(m.recipe.shape)
    if prod(sizes) > PROOF_ELEMENTS:
        raise LayoutError(
            f"the function: expected a formula, or at most {PROOF_ELEMENTS:,} elements",
            "a function that is not a formula of + - * // % is called for each element",
            "give a smaller shape",
        )
    for at in product(*map(range, sizes)):
        given, wanted = function(*at), m(*at)
        if given != wanted:
            raise AssertionError(
                f"the function gives {given} for element {at}, the layout {wanted}"
            )
