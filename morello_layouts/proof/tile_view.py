"""View an array as one of another shape by what lies where: split, transpose, then merge.

Two buffers of one size have common digits: the axes in memory of both, cut until they are the same.
A digit is a part of a dimension of each array, which says which element is which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from math import prod
from typing import Final

from morello_layouts.core.fields import frozen
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.maps.subject import cropped, reshape_view
from morello_layouts.core.recipe import Recipe, known
from morello_layouts.core.recipe.digits import AxisDigit, digits_of, fused
from morello_layouts.errors import UnsupportedError


@frozen(slots=False)
class TileView:
    """One array as an array of another's shape, so that both have the same bytes if they agree."""

    view: IndexMap  #: the first array, of the second one's shape.
    words: str  #: how the first one becomes the second one.
    is_cropped: bool  #: whether elements of the first one are padding of the second one.


@frozen(slots=False)
class _Atom:
    """A part of a dimension that stays whole: one common digit, or several that padding ends."""

    digits: tuple[int, ...]  #: the numbers of the common digits, the most major first.
    size: int  #: the elements along it.
    is_padded: bool = False  #: whether the digits have room for more.


class _NotDigitsError(UnsupportedError):
    """Arrays whose axes in memory have no common digits."""


_NO_DIGITS: Final = _NotDigitsError(
    "the axes in memory are not cut at the same places",
    "a view by what lies where needs digits that both arrays share",
    "ask about another correspondence",
)


def tile_view(a: IndexMap, b: IndexMap) -> TileView | None:
    """Return a as an array of b's shape by what lies where; None if padding lies elsewhere.

    >>> from morello_layouts import index_map
    >>> a, b = "f32[16,256]{1,0:T(8,128)}", "f32[2,2,8,128]{3,2,1,0:T(8,128)}"
    >>> tile_view(index_map(a), index_map(b)).words
    'split to [2,8,2,128], then transpose [0, 2, 1, 3]'
    """
    radices, ours, theirs = _common(a.recipe, b.recipe)
    own = [
        _atoms(n, digits, radices) for n, digits in zip(known(a.recipe.shape), ours, strict=True)
    ]
    atoms = [atom for dim in own for atom in dim]
    wanted = _in_order(atoms, theirs)
    if wanted is None:
        return None
    full = tuple(prod(atoms[k].size for k in dim) for dim in wanted)
    sizes = known(b.recipe.shape)
    if any(n > m for n, m in zip(sizes, full, strict=True)):
        return None
    order = [k for dim in wanted for k in dim]
    shape = tuple(atom.size for atom in atoms)
    view = reshape_view(a, shape)
    view = reshape_view(
        view, tuple(shape[k] for k in order), [order.index(k) for k in range(len(order))]
    )
    view = cropped(reshape_view(view, full), sizes)
    return TileView(view, _words(known(a.recipe.shape), shape, order, full), sizes != full)


def _words(
    own: Sequence[int], shape: Sequence[int], order: Sequence[int], full: Sequence[int]
) -> str:
    parts = [f"split to {_list(shape)}"] if tuple(own) != tuple(shape) else []
    if order != sorted(order):
        parts.append(f"transpose {list(order)}")
    moved = tuple(shape[k] for k in order)
    if moved != tuple(full):
        parts.append(f"merge to {_list(full)}")
    return ", then ".join(parts) or "the same coordinates"


def _list(sizes: Sequence[int]) -> str:
    return f"[{','.join(map(str, sizes))}]"


def _common(a: Recipe, b: Recipe) -> tuple[list[int], list[list[int]], list[list[int]]]:
    """Return the radices of the common digits, and for each dimension of both its digits."""
    pairs = list(_refined(_exact(a), _exact(b)))
    radices = known(tuple(one.radix for one, _ in pairs))
    sides = []
    for side, shape in ((0, a.shape), (1, b.shape)):
        dims: list[list[int]] = [[] for _ in shape]
        for k, pair in enumerate(pairs):
            dims[pair[side].dim].append(k)
        for dim in dims:
            dim.sort(key=lambda k: -pairs[k][side].unit)
        sides.append(dims)
    return list(radices), sides[0], sides[1]


def _exact(recipe: Recipe) -> list[AxisDigit]:
    digits = list(fused(digits_of(recipe)))
    if not all(digit.is_exact and isinstance(digit.radix, int) for digit in digits):
        raise _NO_DIGITS
    return digits


def _refined(one: list[AxisDigit], other: list[AxisDigit]) -> Iterator[tuple[AxisDigit, AxisDigit]]:
    """Yield the common digits, the most minor first."""
    left, right = [*one], [*other]
    while left and right:
        a, b = left.pop(), right.pop()
        m, n = known((a.radix, b.radix))
        small = min(m, n)
        if m % small or n % small:
            raise _NO_DIGITS
        for digit, radix, rest in ((a, m, left), (b, n, right)):
            if radix != small:
                rest.append(replace(digit, unit=digit.unit * small, radix=radix // small))
        yield replace(a, radix=small), replace(b, radix=small)
    if left or right:
        raise _NO_DIGITS


def _atoms(n: int, digits: Sequence[int], radices: Sequence[int]) -> list[_Atom]:
    """Return the atoms of a dimension: its digits, those whose end is padding as one."""
    inner: list[_Atom] = []
    outer = [*digits]
    while outer and prod(radices[k] for k in outer) != n and n % radices[outer[-1]] == 0:
        k = outer.pop()
        inner.insert(0, _Atom((k,), radices[k]))
        n //= radices[k]
    if prod(radices[k] for k in outer) == n:
        return [*(_Atom((k,), radices[k]) for k in outer), *inner]
    return [_Atom(tuple(outer), n, is_padded=True), *inner]


def _in_order(atoms: Sequence[_Atom], dims: Sequence[Sequence[int]]) -> list[list[int]] | None:
    """Return the atoms of each dimension of the other array; None if it cuts one of them."""
    place = {k: (number, atom) for number, atom in enumerate(atoms) for k in atom.digits}
    found: list[list[int]] = []
    for dim in dims:
        runs = [(number, [*run]) for number, run in groupby(dim, key=lambda k: place[k][0])]
        for at, (number, run) in enumerate(runs):
            # Digits whose end is padding stay together, and before all others.
            if tuple(run) != atoms[number].digits or (atoms[number].is_padded and at > 0):
                return None
        found.append([number for number, _ in runs])
    return found
