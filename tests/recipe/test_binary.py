"""Matrices over F2 against brute force over all vectors."""

import random
from collections.abc import Callable, Iterator

import pytest

from morello_layouts.core.recipe import bases


def _matrices(count: int, square: bool = False) -> Iterator[tuple[int, tuple[int, ...]]]:
    source = random.Random(7)
    for _ in range(count):
        width = source.randrange(6)
        rows = width if square else source.randrange(6)
        heavy = source.random() < 0.5
        draws = [source.randrange(1 << rows) for _ in range(width)]
        yield rows, tuple(x if heavy else x & source.randrange(1 << rows) for x in draws)


def _image(columns: tuple[int, ...]) -> list[int]:
    """The values at all vectors, by adding one column at a time."""
    values = [0]
    for column in columns:
        values += [value ^ column for value in values]
    return values


def test_apply_and_compose() -> None:
    for rows, columns in _matrices(200):
        assert [bases.apply(columns, x) for x in range(1 << len(columns))] == _image(columns)
        outer = tuple(3 * k + 1 for k in range(rows))
        both = bases.compose(outer, columns)
        assert _image(both) == [bases.apply(outer, y) for y in _image(columns)]


def test_transposed_twice_is_the_matrix() -> None:
    for rows, columns in _matrices(200):
        turned = bases.transposed(columns, rows)
        assert len(turned) == rows
        assert bases.transposed(turned, len(columns)) == columns


def test_rank_and_kernel_count_the_image() -> None:
    for _, columns in _matrices(400):
        image = _image(columns)
        assert 1 << bases.rank(columns) == len(set(image))
        zeros = {x for x, y in enumerate(image) if y == 0}
        basis = bases.kernel(columns)
        assert set(_image(basis)) == zeros
        assert 1 << len(basis) == len(zeros)


def test_the_least_of_a_class_names_it() -> None:
    for rows, columns in _matrices(200):
        span = bases.Span(columns)
        members = set(_image(columns))
        for value in range(1 << rows):
            least, used = span.reduced(value)
            assert least == min(value ^ member for member in members)
            assert least ^ value == bases.apply(columns, used)
            assert (value in span) == (value in members)


@pytest.mark.parametrize("decompose", [bases.inverse, bases.plu])
def test_a_singular_matrix_has_no_inverse(decompose: Callable[[tuple[int, ...]], object]) -> None:
    for rows, columns in _matrices(400):
        regular = rows == len(columns) and len(set(_image(columns))) == 1 << rows
        if rows <= len(columns):
            assert (decompose(columns) is not None) == regular
    assert decompose((0b100, 0b001)) is None  # a third row


def test_inverse() -> None:
    for rows, columns in _matrices(400, square=True):
        found = bases.inverse(columns)
        if found is not None:
            assert [_image(found)[y] for y in _image(columns)] == list(range(1 << rows))


def test_triangles_and_order_make_the_matrix() -> None:
    for _, columns in _matrices(600, square=True):
        found = bases.plu(columns)
        if found is None:
            continue
        order, lower, upper = found
        assert all(column >> k == 1 for k, column in enumerate(upper))
        assert all(column & -column == 1 << k for k, column in enumerate(lower))
        assert bases.compose([1 << k for k in order], bases.compose(lower, upper)) == columns


def test_a_reordering_needs_no_sums() -> None:
    unit = (0b001, 0b010, 0b100)
    assert bases.plu((0b100, 0b001, 0b010)) == ((2, 0, 1), unit, unit)
