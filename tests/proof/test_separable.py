"""Sums of functions of one coordinate, and bits of several, against NumPy."""

from __future__ import annotations

import operator
from contextlib import suppress
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

from morello_layouts.core.expr.sizes import SizeExpr
from morello_layouts.proof.separable import (
    Floor,
    NotSeparableError,
    Parity,
    Separable,
    _most,
    increments,
    is_increasing,
)
from tests.support.tables import each_row

SHAPE = (6, 8, 4)
X, Y, Z = Separable.coordinates(SHAPE)
AT = [np.asarray(x) for x in np.indices(SHAPE)]
OPERATIONS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul,
    "//": operator.floordiv, "%": operator.mod, "^": operator.xor,
}  # fmt: skip

COORDINATES = st.sampled_from([0, 1, 2])
SMALL = st.integers(1, 9)
TREES: Any = st.recursive(
    COORDINATES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-^"), st.one_of(inner, SMALL.map(float))),
        st.tuples(inner, st.sampled_from(["*", "//", "%", "//", "%", "^"]), SMALL.map(float)),
    ),
    max_leaves=5,
)
"""A coordinate by its number, or a triple; a float is a number."""


def value(tree: Any, coordinates: Any) -> Any:
    if isinstance(tree, float):
        return int(tree)
    if isinstance(tree, int):
        return coordinates[tree]
    one, name, other = tree
    return OPERATIONS[name](value(one, coordinates), value(other, coordinates))


def of_atom(atom: Any, at: Any = AT) -> Any:
    """Return the values of an atom, by its document."""
    if isinstance(atom, int):
        return at[atom]
    if isinstance(atom, Floor):
        return of_terms(atom.terms, atom.const, at) // atom.divisor
    total = at[0] * 0
    for terms, const in atom.bits:
        total = total ^ of_terms(terms, const, at)
    return total


def of_terms(terms: Any, const: int, at: Any = AT) -> Any:
    return sum((c * of_atom(atom, at) for atom, c in terms), start=const + at[0] * 0)


def dims_in(atom: Any) -> set[int]:
    if isinstance(atom, int):
        return {atom}
    parts = [atom.terms] if isinstance(atom, Floor) else [terms for terms, _ in atom.bits]
    return {dim for terms in parts for inner, _ in terms for dim in dims_in(inner)}


@settings(max_examples=300)
@given(TREES)
def test_values_are_those_of_the_operations(tree: Any) -> None:
    with suppress(NotSeparableError):
        found = value(tree, (X, Y, Z))
        expected = value(tree, AT)
        assert (of_terms(found.terms.items(), found.const) == expected).all()
        assert found.shape == SHAPE
        assert found.most is None or found.most >= expected.max()
        for atom in found.terms:
            assert isinstance(atom, int) or atom.dims == dims_in(atom)
            assert not isinstance(atom, Parity) or len(atom.bits) > 1


@settings(max_examples=150)
@given(TREES)
def test_increments_are_the_differences_along_each_dimension(tree: Any) -> None:
    with suppress(NotSeparableError):
        found = increments(value(tree, (X, Y, Z)))
        values = value(tree, AT)
        kinds = {(one.dim, one.by) for one in found}
        expected: set[tuple[int | None, int]] = {(None, int(values[0, 0, 0]))}
        for dim in range(3):
            line = values.transpose(dim, *({0, 1, 2} - {dim}))[:, 0, 0]
            expected |= {(dim, int(by)) for by in np.diff(line)}
        assert kinds == {one for one in expected if one[1] != 0}
        assert bool(found) is bool(values.any())
        if found:
            at = [0, 0, 0]
            if found[0].dim is not None:
                at[found[0].dim] = found[0].at
            assert at == np.argwhere(values)[0].tolist()


@settings(max_examples=60)
@given(TREES, st.integers(2, 30))
def test_what_is_increasing_grows_at_each_step(tree: Any, size: int) -> None:
    coordinates = Separable.coordinates((1, size, 1))
    with suppress(NotSeparableError):
        steps = np.diff(value(tree, np.indices((1, size, 1))).reshape(-1))
        assert is_increasing(value(tree, coordinates)) is bool((steps > 0).all())


def digits_in_another_order() -> Separable:
    return (Y % 2) * 4 + (Y // 2 % 2) * 32 + Y // 4 * 8 + Z % 2 + Z // 2 * 16


EQUAL = [
    ("bits that meet again", (X % 2 ^ Y % 2) ^ Y % 2, X % 2),
    ("bits in another order", (X % 2 ^ Y % 2) ^ Z % 2, Z % 2 ^ (Y % 2 ^ X % 2)),
    ("a parity and a number", (X % 2 ^ Y % 2) * 4 // 4, X % 2 ^ Y % 2),
    ("half of a parity", ((X % 2 ^ Y % 2) * 6 + Z) // 2, (X % 2 ^ Y % 2) * 3 + Z // 2),
    ("a floor of a floor", (Y // 2) // 2, Y // 4),
    ("twice a floor of a floor", (Y // 2 * 2) // 4, Y // 4),
    ("a small rest", (X * 8 + Y) // 16, X // 2),
    ("digits in another order", digits_in_another_order() // 16, (Y // 2 % 2) * 2 + Z // 2),
    ("one of these digits", digits_in_another_order() // 4 % 2, Y % 2),
    ("numbers alone", (X ^ X) + 3, X * 0 + 3),
]


@each_row(("one", "other"), [row[1:] for row in EQUAL], ids=[row[0] for row in EQUAL])
def test_equal_functions_have_one_form(one: Separable, other: Separable) -> None:
    assert one.key == other.key


@each_row(
    ("function", "most"),
    [(X, 5), (X * 3 + Y // 3, 17), (X + 4, 9), (Y % 2 ^ X % 2, 1), (X * -1, None)],
)
def test_bounds_of_one_atom_are_exact(function: Separable, most: int | None) -> None:
    assert function.most == most


def test_the_largest_value_of_a_quotient() -> None:
    rows = SizeExpr.named("M")
    assert _most(Floor.of(((0, 2),), 1, 3), SHAPE) == 11 // 3
    for divisor, shape in ((rows, SHAPE), (3, (rows,))):
        assert _most(Floor.of(((0, 2),), 1, divisor), shape) is None
