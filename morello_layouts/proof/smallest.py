"""The smallest sizes in a set of them, names in a given order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, product
from typing import Final

import islpy as isl

from morello_layouts.expr.assumption import Assumption
from morello_layouts.proof.space import Parameters, Space

__all__ = ["first_sizes", "point_of"]

_TRIED: Final = {1: 4096, 2: 160, 3: 24, 4: 12}
"""Values of each name that are tried where products of sizes decide, by the number of names."""


def first_sizes(found: isl.Set, space: Space, names: tuple[str, ...]) -> dict[str, int] | None:
    """The lexicographically first sizes in a set of parameters; None where none are found.

    Where products of sizes are parameters, which ISL takes for independent, sizes are tried.
    """
    if found.is_empty():
        return None
    if not space.parameters.are_names:
        return _by_trial(found, space.parameters, names)
    monomials = space.parameters.monomials
    order = sorted(range(len(monomials)), key=lambda k: names.index(str(monomials[k][0][0])))
    points = found.insert_dims(isl.dim_type.set, 0, len(order))
    for place, k in enumerate(order):
        points = points.equate(isl.dim_type.param, k, isl.dim_type.set, place)
    points = points.project_out(isl.dim_type.param, 0, len(order))
    first = points.lexmin().sample_point()
    values = {
        str(monomials[k][0][0]): first.get_coordinate_val(isl.dim_type.set, place).to_python()
        for place, k in enumerate(order)
    }
    # A size that decides nothing is as small as it may be.
    assumed = {one.name: one.lo for one in space.parameters.assumptions}
    return {name: values.get(name, assumed.get(name, 1)) for name in names}


def point_of(sizes: Mapping[str, int], space: Space) -> isl.Set:
    """The parameters at given sizes, as a set of one point."""
    there = isl.Set.universe(space.sizes.get_space())
    for k, size in enumerate(space.parameters.sizes()):
        there = there.fix_val(isl.dim_type.param, k, space.val(size.evaluate(sizes)))
    return there


def _by_trial(
    found: isl.Set, parameters: Parameters, names: tuple[str, ...]
) -> dict[str, int] | None:
    assumed = {one.name: one for one in parameters.assumptions}
    count = _TRIED.get(len(names), 6)
    candidates = [list(islice(_values(assumed.get(n, Assumption(n))), count)) for n in names]
    products = list(enumerate(parameters.sizes()))
    context = found.get_ctx()
    for values in product(*candidates):
        sizes = dict(zip(names, values, strict=True))
        there = found
        for k, size in products:
            val = isl.Val.read_from_str(context, str(size.evaluate(sizes)))
            there = there.fix_val(isl.dim_type.param, k, val)
        if not there.is_empty():
            return sizes
    return None


def _values(one: Assumption) -> Iterator[int]:
    """The values that a size may have, ascending."""
    value = one.lo
    while one.hi is None or value <= one.hi:
        yield value
        value += one.divisor
