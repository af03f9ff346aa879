"""Questions about maps that are given by formulas: nothing is known of them but what they compute.

An array of moderate size is looked at element by element, which is exact. Of a larger one the
formula is taken apart: where each term's step is larger than all that the terms below it can add
up to, the sum tells the terms apart, and ISL decides whether the terms tell the coordinates apart.
"""

from __future__ import annotations

from itertools import islice
from math import prod
from typing import Any, Final

import numpy as np

from morello_layouts.errors import ShapeError
from morello_layouts.expr import Linear
from morello_layouts.expr.size import Number, absolute, is_nonnegative, magnitude
from morello_layouts.formula import FormulaMap
from morello_layouts.proof.proof import AtSizes, Proof
from morello_layouts.proof.relation import value_of_form
from morello_layouts.proof.space import Space
from morello_layouts.proof.stages import parameters_of
from morello_layouts.proof.trial import small_sizes
from morello_layouts.proof.value import together
from morello_layouts.recipe import Recipe, known

__all__ = ["is_injective", "is_surjective"]

_MOST_ELEMENTS: Final = 1 << 22
_LARGEST_TRIED: Final = 6  # sizes for which a symbolic map is looked at
_MOST_TRIED: Final = 500


def is_injective(m: FormulaMap, question: str, context: Any) -> Proof:
    """Whether no two coordinates have the same value."""
    symbolic = any(not isinstance(n, int) for n in m.sizes)
    if not symbolic and prod(known(m.sizes)) <= _MOST_ELEMENTS:
        return _by_looking(m, question)
    if len(m.forms) == 1 and m.form.terms and _tells_terms_apart(m.form):
        parameters = parameters_of([Recipe(m.sizes)], m.assumptions)
        space = Space.of(m.sizes, context, parameters)
        # A factor does not matter to whether terms tell coordinates apart.
        terms = [value_of_form(Linear(((atom, 1),), 0), space) for atom, _ in m.form.terms]
        if together([x.function for x in terms], space).is_injective():
            return Proof(
                question,
                True,
                "terms are apart by their ranges; ISL: no two coordinates share all of them",
            )
    if symbolic:
        return _for_some_sizes(m, question, context)
    return Proof(question, None, f"more than {_MOST_ELEMENTS} elements, and no recipe to read")


def _by_looking(m: FormulaMap, question: str) -> Proof:
    values = _values(m)
    if values.dtype == object:  # integers past 64 bits: what matters is which of them are equal
        numbers: dict[Any, int] = {}
        values = np.array([[numbers.setdefault(x, len(numbers)) for x in row] for row in values])
    _, first, inverse = np.unique(values, axis=1, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[inverse.reshape(-1)] != np.arange(values.shape[1]))
    if not len(again):
        return Proof(question, True, f"all {values.shape[1]} elements were looked at")
    # Of all that share a value with an earlier one, the pair that comes first.
    earlier = first[inverse.reshape(-1)[again]]
    one = int(earlier.min())
    other = int(again[earlier == one].min())
    both = tuple(tuple(map(int, np.unravel_index(k, known(m.sizes)))) for k in (one, other))
    shared = m(*both[0])
    what = f"the offset {shared}" if len(m.given) == 1 else f"{shared}"
    reason = f"{both[0]} and {both[1]} share {what}"
    return Proof(question, False, reason, both)


def _values(m: FormulaMap) -> Any:
    """What the map gives at every coordinate, one column each, in row-major order."""
    shape = known(m.sizes)
    at = np.indices(shape).reshape(len(shape), prod(shape))
    given = m(*at) if shape else m()
    rows = given if isinstance(given, tuple) else (given,)
    return np.stack([np.asarray(row).reshape(-1) for row in rows])


def _for_some_sizes(m: FormulaMap, question: str, context: Any) -> Proof:
    """A collision at small sizes; without one nothing is decided."""
    names = list(dict.fromkeys(x for n in m.sizes if not isinstance(n, int) for x in n.names()))
    for sizes in islice(small_sizes(names, m.assumptions, _LARGEST_TRIED), _MOST_TRIED):
        found = is_injective(m.at(**sizes), question, context)
        if found.holds is False:
            at = AtSizes(sizes, found.counterexample)
            words = ", ".join(f"{name} = {n}" for name, n in sizes.items())
            return Proof(question, False, f"at {words}: {found.reason}", at)
    return Proof(question, None, "no collision at small sizes, and no recipe to read")


def _tells_terms_apart(form: Linear) -> bool:
    """Whether each term's factor is above the range of all terms with smaller ones."""
    steps: list[tuple[Number, Number]] = []
    for atom, c in form.terms:
        lo, hi = atom.interval
        if lo is None or hi is None:
            return False
        steps.append((absolute(c), hi - lo))
    reach: Number = 0
    for step, most in sorted(steps, key=lambda pair: magnitude(pair[0])):
        if not is_nonnegative(step - reach - 1):
            return False
        reach = reach + step * most
    return True


def is_surjective(m: FormulaMap, question: str) -> Proof:
    """Whether every offset of the buffer is reached.

    Raises:
        ShapeError: where the size of the buffer was not given.
    """
    if m.buffer_size is None:
        raise ShapeError(
            "the map has no buffer",
            "whether every offset is reached depends on how many there are",
            'give "size" with the shape: from_sympy({"shape": …, "size": 24}, …)',
        )
    if len(m.given) != 1:
        raise ShapeError(
            f"the map gives {len(m.given)} numbers",
            "offsets of a buffer are one number each",
            "compose it with the index map of the array that it leads into",
        )
    if not isinstance(m.buffer_size, int) or any(not isinstance(n, int) for n in m.sizes):
        return Proof(question, None, "sizes are symbolic, and there is no recipe to read")
    if max(prod(known(m.sizes)), m.buffer_size) > _MOST_ELEMENTS:
        return Proof(question, None, f"more than {_MOST_ELEMENTS} elements, and no recipe to read")
    reached = np.zeros(m.buffer_size, bool)
    offsets = _values(m)[0]
    inside = (offsets >= 0) & (offsets < m.buffer_size)
    if not inside.all():
        at = tuple(map(int, np.unravel_index(int(inside.argmin()), known(m.sizes))))
        return Proof(question, False, f"the element at {at} lies outside of the buffer", at)
    reached[offsets] = True
    padding = m.buffer_size - int(reached.sum())
    if padding == 0:
        return Proof(question, True, f"all {m.buffer_size} offsets were looked at", padding=0)
    first = int(reached.argmin())
    reason = f"{padding} of {m.buffer_size} offsets hold padding, the first is {first}"
    return Proof(question, False, reason, first, padding=padding)
