"""Questions about arrays on devices: what must move between two shardings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from morello_layouts.core.lazy import importing
from morello_layouts.core.maps.subject import met
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.interfaces.api.layouts import Assuming, LayoutLike, Shape, own_subjects

if TYPE_CHECKING:
    from morello_layouts.machines.resharding.plan import Plan, Rematerialization


def reshard(
    source: LayoutLike,
    target: LayoutLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
) -> Plan:
    """Return what must move so that an array in one sharding is in another.

    The plan has the kind of the move, who sends what to whom as formulas, the bytes, and the proof
    that no plan moves fewer if each element comes from one device. Messages are computed when they
    are asked for, of one device at a time.

    Args:
        source: the sharding before: text of HLO, JAX, Shardy, DTensor or ScaLAPACK; or a value.
        target: the sharding afterwards, of the same array, perhaps on other devices.
        shape: the sizes of the array, if neither text carries them.
        assuming: assumptions about symbolic sizes, as for ``index_map``.

    Raises:
        ParseError: if a text is not in any notation.
        ShapeError: if the shapes differ.
        LayoutError: if a layout is not on devices, or types of elements differ.
        UnsupportedError: if the size of a mesh is symbolic.

    >>> rows = "f32[M,N], mesh={'x': 4}, spec=P('x', None)"
    >>> columns = "f32[M,N], mesh={'x': 4}, spec=P(None, 'x')"
    >>> print(reshard(rows, columns, assuming="M % 4 == 0, N % 4 == 0"))
    all-to-all over x: f32[M,N] on 4 devices
      before  x = d0//(M//4)
      after   x' = d1//(N//4)
      message from (x) to (x'):
        d0 in [M//4*x, M//4*x + M//4)
        d1 in [N//4*x', N//4*x' + N//4)
      3*M*N of 4*M*N bytes move
      minimal for all sizes: each device receives what it lacks, once. Decided by arithmetic.
    """
    with importing:
        from morello_layouts.machines.resharding.plan import plan_of

    one, other = met(*own_subjects(source, target, shape, assuming))
    if one.recipe.shape != other.recipe.shape:
        raise ShapeError(
            f"reshard: the array has the shape {one.shape} before and {other.shape} afterwards",
            "a resharding moves the elements of one array",
            "give both shardings at the same shape",
        )
    types = one.element_type, other.element_type
    if None not in types and types[0] != types[1]:
        raise LayoutError(
            f"reshard: the elements are {types[0]} before and {types[1]} afterwards",
            "a resharding moves elements and converts none",
            "give one type on both sides",
        )
    return plan_of(one, other)


def rematerializations(log: str, shape: Shape | None = None) -> tuple[Rematerialization, ...]:
    """Return a plan for each pair of shardings that XLA could not connect, by what it logged.

    XLA warns of an "involuntary full rematerialization" if it finds no collective between two
    shardings: it then gathers the array on each device. Each pair is answered once.

    Args:
        log: the text of a log; other lines are passed over.
        shape: the sizes, for lines of older versions, which do not name the array; by default the
            sizes are the symbols n0, n1, ….

    >>> before, after = "{devices=[2,1,4]<=[4,2]T(1,0)}", "{devices=[1,8,1]<=[8]}"
    >>> line = f"The compiler was not able to go from sharding {before} to {after} without doing a"
    >>> (found,) = rematerializations(line, (16, 16, 16))
    >>> found.plan.verdict
    'all-to-all over m0, m1'
    >>> found.advice
    "put with_sharding_constraint between: P('m1', 'm0', None); each step is one collective"
    """
    with importing:
        from morello_layouts.machines.resharding.plan import pairs_of

    return tuple(_planned(pair, shape) for pair in pairs_of(log))


def _planned(pair: tuple[int, str, str, str, str], shape: Shape | None) -> Rematerialization:
    head, (_, _, source, target, array) = pair[:4], pair
    with importing:
        from morello_layouts.machines.resharding.plan import Rematerialization

    array = array and f"{array}, "
    if not array and shape is None:
        rank = max(each.count(",") for each in map(_tile, (source, target))) + 1
        shape = [f"n{dim}" for dim in range(rank)]
    before, after = (f"{array}sharding={each}" for each in (source, target))
    try:
        return Rematerialization(*head, reshard(before, after, None if array else shape), "")
    except LayoutError as error:
        return Rematerialization(*head, None, str(error))


def _tile(text: str) -> str:
    """Return the numbers of parts along dimensions in a sharding's text, without replicas."""
    numbers = text.partition("devices=[")[2].partition("]")[0]
    return numbers.rpartition(",")[0] if "last_tile_dim_replicate" in text else numbers
