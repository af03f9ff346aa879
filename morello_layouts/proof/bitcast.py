"""Decide whether the bytes of one array serve as another.

A view by what lies where makes one array another of the other's shape: split, transpose, merge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import groupby, islice
from math import prod
from typing import Any, ClassVar, Final, Literal, TypeAlias

from morello_layouts.core.checks import as_permutation
from morello_layouts.core.expr import coordinate_variables
from morello_layouts.core.expr.sizes import Int, is_nonnegative
from morello_layouts.core.fields import frozen, late, later
from morello_layouts.core.lazy import has_numpy, numpy as np
from morello_layouts.core.limits import BITCAST_SLOTS, BITCAST_TRANSPOSES, PROOF_WIDE
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.maps.subject import cropped, reshape_view, split_elements
from morello_layouts.core.recipe import Recipe, has_inverse, known, offset_of
from morello_layouts.core.recipe.digits import digits_of, fused, has_digits, major_order, refined
from morello_layouts.core.recipe.steps import brackets
from morello_layouts.core.recipe.views import elements_of
from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.proof.ask import isl_budget
from morello_layouts.proof.equivalent import are_equivalent
from morello_layouts.proof.verdict import Proof, SymbolicCounterexample

Kind: TypeAlias = Literal["same", "retile", "reshape", "transpose", "padding", "copy", "unknown"]

Correspondence: TypeAlias = 'Literal["row-major", "any"] | Sequence[int]'
"""How elements correspond: row-major, by a transpose, or by any reshapes and transposes."""


@frozen(slots=False)
class BitcastCandidate:
    """Two layouts of one array, and how the array became the second one."""

    #: the layouts; the bytes serve both if they are equivalent.
    first: IndexMap
    second: IndexMap
    kind: Kind  #: the kind of the bitcast if they are.
    correspondence: str  #: how elements correspond, in words.
    also: tuple[IndexMap, IndexMap] | None = None  #: another pair that must be equivalent, too.
    #: the orders of both arrays' dimensions in which they correspond row-major; None if tiles
    #: become dimensions, or one array is larger.
    orders: tuple[Sequence[int], Sequence[int]] | None = None


def _candidates(
    a: IndexMap, b: IndexMap, correspondence: Correspondence
) -> Iterator[BitcastCandidate | None]:
    """Yield the candidates of a correspondence, the simplest first; None for a skipped one."""
    if isinstance(correspondence, str):
        if correspondence not in ("row-major", "any"):
            raise LayoutError(
                f'correspondence: expected "row-major" or "any", got {correspondence!r}',
                "elements correspond in row-major order, by a transpose, or by any free reshape",
                'give "row-major", "any", or an order of dimensions such as (1, 0)',
            )
        yield from _row_major(a, b)
        if correspondence == "any":
            yield from _in_memory_order(a, b)
            yield from _transposed(a, b)
            yield from _by_what_lies_where(a, b)
        return
    order = as_permutation(correspondence, "transpose", len(a.recipe.shape))
    moved = tuple(a.recipe.shape[dim] for dim in order)
    if moved != b.recipe.shape:
        raise ShapeError(
            f"transpose {list(order)}: expected the shape {b.shape}, "
            f"got ({', '.join(map(str, moved))})",
            "a transpose makes the first array's shape the second one's",
            "give the order that does, or reshape first",
        )
    yield BitcastCandidate(
        a, reshape_view(b, a.recipe.shape, order), "transpose", f"transpose {list(order)}"
    )


def _row_major(a: IndexMap, b: IndexMap) -> Iterator[BitcastCandidate | None]:
    one, other = a.recipe.shape, b.recipe.shape
    if one == other:
        kind: Kind = "same" if a.recipe == b.recipe else "retile"
        own = range(len(one))
        yield BitcastCandidate(a, b, kind, "the same coordinates", orders=(own, own))
    elif prod(one) == prod(other) != 0:
        orders = range(len(one)), range(len(other))
        yield _reshaped(a, b, "reshape", "row-major", orders)
    elif len(one) == len(other) and a.recipe.size == b.recipe.size:
        # In buffers of one size, further elements of one array are padding of the other.
        small = _smaller(one, other)
        if small is not None:
            yield BitcastCandidate(
                cropped(a, small), cropped(b, small), "padding", "the same coordinates"
            )


def _reshaped(
    a: IndexMap, b: IndexMap, kind: Kind, words: str, orders: tuple[Sequence[int], Sequence[int]]
) -> BitcastCandidate | None:
    """Return both as layouts of one array, of a shape to which both reshape; None if none is."""
    for first, second in ((a, b), (b, a)):
        try:
            view = reshape_view(second, first.recipe.shape)
        except UnsupportedError:  # it would split a symbolic size
            continue
        pair = (a, view) if first is a else (view, b)
        return BitcastCandidate(*pair, kind, words, orders=orders)
    count = prod(a.recipe.shape)
    flat = IndexMap(Recipe((count,)), coordinate_variables((count,))[0], f"[{count}]")
    try:
        one, other = (reshape_view(flat, m.recipe.shape) for m in (a, b))
    except UnsupportedError:
        return None
    return BitcastCandidate(a, one, kind, words, also=(b, other), orders=orders)


def _smaller(one: Sequence[Int], other: Sequence[Int]) -> tuple[Int, ...] | None:
    """Return the shape that is not larger along any dimension."""
    for small, large in ((one, other), (other, one)):
        if all(is_nonnegative(m - n) for n, m in zip(small, large, strict=True)):
            return tuple(small)
    return None


def _in_memory_order(a: IndexMap, b: IndexMap) -> Iterator[BitcastCandidate | None]:
    """Yield both arrays with their dimensions in memory order, one reshaped to the other."""
    if prod(a.recipe.shape) != prod(b.recipe.shape) or not a.recipe.shape or not b.recipe.shape:
        return
    if not has_digits(a.recipe) or not has_digits(b.recipe):
        return
    orders = [major_order(m.recipe) for m in (a, b)]
    if all(order == tuple(range(len(order))) for order in orders):
        return
    first, second = (_in_order(m, order) for m, order in zip((a, b), orders, strict=True))
    words = " and ".join(str(list(order)) for order in orders)
    words = f"dimensions in the orders {words}, then row-major"
    yield _reshaped(first, second, "transpose", words, (orders[0], orders[1]))


def _in_order(m: IndexMap, order: Sequence[int]) -> IndexMap:
    shape = tuple(m.recipe.shape[dim] for dim in order)
    back = tuple(order.index(dim) for dim in range(len(order)))
    return reshape_view(m, shape, back)


def _transposed(a: IndexMap, b: IndexMap) -> Iterator[BitcastCandidate | None]:
    """Yield every transpose that fits, regardless of dimensions of size 1."""
    wide = [k for k, n in enumerate(a.recipe.shape) if n != 1]
    narrow = [k for k, n in enumerate(a.recipe.shape) if n == 1]
    target = [n for n in b.recipe.shape if n != 1]
    if len(wide) != len(target):
        return
    orders = _orders(wide, target, a.recipe.shape)
    for order in islice(orders, BITCAST_TRANSPOSES):
        if list(order) != wide:
            moved = (*narrow, *order)
            words = f"transpose {[*moved]}, regardless of unit sizes"
            orders_of_both = moved, range(len(b.recipe.shape))
            yield _reshaped(_in_order(a, moved), b, "transpose", words, orders_of_both)
    if next(orders, None) is not None:
        yield None


def _by_what_lies_where(a: IndexMap, b: IndexMap) -> Iterator[BitcastCandidate | None]:
    """Yield the arrays, one as a view of the other's shape that splits, transposes and merges."""
    if a.recipe.names or b.recipe.names or a.recipe.size != b.recipe.size or not a.recipe.size:
        return
    try:
        found = tile_view(a, b)
        other = tile_view(b, a) if found is None else None
    except UnsupportedError:
        yield None
        return
    if found is not None:
        yield found
    elif other is not None:
        words = f"the reverse of: {other.correspondence}"
        yield replace(other, first=a, second=other.first, correspondence=words)


@frozen(slots=False)
class _Atom:
    """A part of a dimension that stays whole: one common digit, or several that padding ends."""

    digits: tuple[int, ...]  #: the numbers of the common digits, the most major first.
    size: int  #: the elements along it.
    is_padded: bool = False  #: whether the digits have room for more.


def tile_view(a: IndexMap, b: IndexMap) -> BitcastCandidate | None:
    """Return a as an array of b's shape by what lies where, and b; None if padding lies elsewhere.

    >>> from morello_layouts import index_map
    >>> a, b = "f32[16,256]{1,0:T(8,128)}", "f32[2,2,8,128]{3,2,1,0:T(8,128)}"
    >>> tile_view(index_map(a), index_map(b)).correspondence
    'split to [2,8,2,128], then transpose [0, 2, 1, 3]'
    """
    radices, ours, theirs = _common(a.recipe, b.recipe)
    own = [
        _atoms(n, digits, radices) for n, digits in zip(known(a.recipe.shape), ours, strict=True)
    ]
    atoms = [atom for dim in own for atom in dim]
    wanted = _atoms_in_order(atoms, theirs)
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
    words = _words(known(a.recipe.shape), shape, order, full)
    return BitcastCandidate(view, b, "padding" if sizes != full else "transpose", words)


def _words(
    own: Sequence[int], shape: Sequence[int], order: Sequence[int], full: Sequence[int]
) -> str:
    parts = [f"split to {brackets(shape)}"] if tuple(own) != tuple(shape) else []
    if order != sorted(order):
        parts.append(f"transpose {list(order)}")
    moved = tuple(shape[k] for k in order)
    if moved != tuple(full):
        parts.append(f"merge to {brackets(full)}")
    return ", then ".join(parts) or "the same coordinates"


def _common(a: Recipe, b: Recipe) -> tuple[list[int], list[list[int]], list[list[int]]]:
    """Return the radices of the common digits, and for each dimension of both its digits.

    Two buffers of one size have common digits: the axes in memory of both, cut until they are the
    same. A digit is a part of a dimension of each array, which says which element is which.
    """
    sides = [fused(digits_of(recipe)) for recipe in (a, b)]
    cuts = None
    if all(digit.is_exact and isinstance(digit.radix, int) for side in sides for digit in side):
        cuts = refined(*(known([digit.radix for digit in side]) for side in sides))
    if cuts is None:
        raise UnsupportedError(
            "the axes in memory are not cut at the same places",
            "a view by what lies where needs digits that both arrays share",
            "ask about another correspondence",
        )
    found = []
    for side, (digits, recipe) in enumerate(zip(sides, (a, b), strict=True)):
        dims: list[list[tuple[int, int]]] = [[] for _ in recipe.shape]
        for number, (_, places) in enumerate(cuts):
            k, unit = places[side]
            dims[digits[k].dim].append((-digits[k].unit * unit, number))
        found.append([[number for _, number in sorted(dim)] for dim in dims])
    return [radix for radix, _ in cuts], found[0], found[1]


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


def _atoms_in_order(
    atoms: Sequence[_Atom], dims: Sequence[Sequence[int]]
) -> list[list[int]] | None:
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


def _orders(
    dims: Sequence[int], target: Sequence[Int], shape: Sequence[Int]
) -> Iterator[tuple[int, ...]]:
    """Yield the orders of dimensions that have the target's sizes."""
    if not target:
        yield ()
        return
    for dim in dims:
        if shape[dim] == target[0]:
            rest = [other for other in dims if other != dim]
            for order in _orders(rest, target[1:], shape):
                yield (dim, *order)


BITCAST: Final = "a bitcast"

_CHUNK: Final = 1 << 14  # slots compared at once

_SKIPPED: Final = "ways remain untried: they split a symbolic size or a tile, or are too many"

_REASONS: Final[dict[Kind, str]] = {
    "same": "the layouts are the same",
    "retile": "the tiles or the order differ, and every element has the same slot",
    "reshape": "the reshape moves no element",
    "transpose": "the transpose moves no element",
    "padding": "every element has the same slot, and padding is exposed or hidden",
}


@frozen
class Bitcast(Proof):
    """The answer to whether the bytes of one array serve as another.

    >>> from morello_layouts import is_bitcast
    >>> is_bitcast("f32[4,6]{1,0}", "f32[2,2,3,2]{3,2,1,0}").kind
    'reshape'
    """

    #: ``"same"``; ``"retile"``, another layout with the same slots; ``"reshape"`` or
    #: ``"transpose"``, which are free; ``"padding"``, if one array or buffer is larger; ``"copy"``,
    #: if elements move; ``"unknown"`` if undecided.
    kind: Kind = "unknown"
    correspondence: str = "row-major"  #: how elements correspond, in words.
    #: the first slot of a copy that differs; for symbolic sizes at the counterexample's.
    slot: int | None = late(default=None)
    #: the memory spaces of both, if the layouts name them. They do not decide.
    memory_spaces: tuple[int, int] | None = None

    json_keys: ClassVar[tuple[str, ...]] = (
        *Proof.json_keys, "kind", "correspondence", "slot", "memory_spaces"
    )  # fmt: skip


def is_bitcast(
    a: IndexMap,
    b: IndexMap,
    correspondence: Correspondence = "row-major",
    *,
    budget: int | None = None,
) -> Bitcast:
    """Decide whether each element of b has the slot of the corresponding element of a."""
    with isl_budget(budget):
        return _is_bitcast(a, b, correspondence)


def _is_bitcast(a: IndexMap, b: IndexMap, correspondence: Correspondence) -> Bitcast:
    if prod(a.recipe.shape) == prod(b.recipe.shape) == 0:
        return Bitcast(BITCAST, True, "the arrays are empty", decider="", kind="same")
    if a.element_type is not None and b.element_type is not None:
        wide, narrow = a.element_type.bits, b.element_type.bits
        name = a.element_type.name
        if wide != narrow and name is not None and name == b.element_type.name:
            reason = f"elements take {wide} bits in one and {narrow} in the other"
            return Bitcast(BITCAST, False, reason, decider="", kind="copy")
    a, b = in_parts(a, b)
    best, skipped = _best(_candidates(a, b, correspondence))
    if best is None:
        if skipped:
            return Bitcast(BITCAST, None, _SKIPPED)
        raise ShapeError(
            f"bitcast: expected arrays of equally many elements, got {a.shape} and {b.shape}, "
            f"which have {prod(a.shape)} and {prod(b.shape)}",
            "a bitcast keeps the number of elements, or the buffer and all dimensions but padding",
            "give layouts of arrays that hold the same elements",
        )
    candidate, same = best
    if correspondence == "any" and not same.holds and (a.recipe.names or b.recipe.names):
        return _any_at_some_sizes(a, b, candidate, same)
    if skipped and not same.holds and not _starts_apart(a, b):
        # The skipped candidate may be free.
        return Bitcast(BITCAST, None, _SKIPPED, correspondence=candidate.correspondence)
    return _answer(candidate, same)


def _starts_apart(a: IndexMap, b: IndexMap) -> bool:
    """Whether the first elements, which correspond in every way, have different slots."""
    one, other = (offset_of(m.recipe, (0,) * len(m.recipe.shape), 0) for m in (a, b))
    return isinstance(one, int) and isinstance(other, int) and one != other


def free_correspondence(
    a: IndexMap, b: IndexMap, correspondence: Correspondence
) -> BitcastCandidate | None:
    """Return how elements correspond if one array's bytes serve as the other's; else None."""
    with isl_budget():
        best, _ = _best(_candidates(a, b, correspondence))
    return best[0] if best is not None and best[1].holds else None


def in_parts(a: IndexMap, b: IndexMap) -> tuple[IndexMap, IndexMap]:
    """Return two maps; wider elements of one are split into parts of the other's width."""
    if a.element_type is None or b.element_type is None:
        return a, b
    return _in_parts(a, b.element_type.bits), _in_parts(b, a.element_type.bits)


def _in_parts(m: IndexMap, bits: int) -> IndexMap:
    """Return a map whose elements are split into parts of some bits, if they are wider."""
    assert m.element_type is not None
    own = m.element_type.bits
    if own % bits and bits % own:
        raise ShapeError(
            f"widths of elements: expected one a multiple of the other, got {own} and {bits} bits",
            "a wide element corresponds to a whole number of narrow ones",
            "give types of such widths",
        )
    return split_elements(m, own // bits) if own > bits else m


def _best(
    candidates: Iterator[BitcastCandidate | None],
) -> tuple[tuple[BitcastCandidate, Proof] | None, bool]:
    """Return the candidate that says most, with its proof, and whether any was skipped."""
    best: tuple[BitcastCandidate, Proof] | None = None
    skipped = False
    for candidate in candidates:
        if candidate is None:
            skipped = True
            continue
        same = are_equivalent(candidate.first, candidate.second)
        if candidate.also is not None:
            # Unless both layouts are row-major, the candidate says nothing.
            both = same.holds and are_equivalent(*candidate.also).holds
            if not both:
                skipped = True
                continue
        if best is None or _rank(same) > _rank(best[1]):
            best = candidate, same
        if same.holds:
            break
    return best, skipped


def _any_at_some_sizes(
    a: IndexMap, b: IndexMap, candidate: BitcastCandidate, same: Proof
) -> Bitcast:
    """Answer for any correspondence: at sizes at which one moves elements, another may be free."""
    reason = "which correspondence is free may depend on the sizes"
    if same.condition is not None and same.condition.depends:
        reason = f"proved if {same.condition}, open for other sizes"
    if isinstance(same.counterexample, SymbolicCounterexample):
        sizes = same.counterexample.sizes
        one, other = (m.at(**{n: sizes[n] for n in m.recipe.names if n in sizes}) for m in (a, b))
        there = _is_bitcast(one, other, "any")
        if there.holds is False:
            effect = "moves elements" if there.slot is None else f"moves slot {there.slot}"
            at = SymbolicCounterexample(sizes, there.counterexample, effect)
            return replace(there, reason=reason, counterexample=at)
    return Bitcast(BITCAST, None, reason, correspondence=candidate.correspondence)


def _rank(answer: Proof) -> int:
    """Return how much an answer says: free, free for some sizes, undecided, a copy."""
    if answer.holds is not False:
        return 3 if answer.holds else 1
    return 2 if _may_hold(answer) else 0


def _may_hold(answer: Proof) -> bool:
    """Return whether a disproved claim holds for some sizes, or is open for some."""
    if answer.condition is None:
        return isinstance(answer.counterexample, SymbolicCounterexample)
    return answer.condition.depends


def _answer(candidate: BitcastCandidate, same: Proof) -> Bitcast:
    kind = candidate.kind
    if same.holds is False and not _may_hold(same):
        kind = "copy"
    elif same.holds and candidate.also is None:
        kind = kind if candidate.first.recipe.size == candidate.second.recipe.size else "padding"

    def reason() -> str:
        if same.holds or kind != "copy":
            return _REASONS[kind] if same.holds else same.reason
        at = found.slot
        differs = "" if at is None else f", and slot {at} is the first that differs"
        return f"elements move{differs}; {same.reason}"

    slot = later(lambda: _first_slot(candidate, same)) if same.holds is False else None
    values: dict[str, Any] = {
        **{f.name: getattr(same, f.name) for f in fields(same) if f.name != "reason"},
        "claim": BITCAST,
        "reason": later(reason),
        "slot": slot,
    }
    found = Bitcast(**values, kind=kind, correspondence=candidate.correspondence)
    return found


def _first_slot(candidate: BitcastCandidate, same: Proof) -> int | None:
    """Return the first slot at which the buffers differ, or one of them has padding."""
    first, second = candidate.first, candidate.second
    if isinstance(same.counterexample, SymbolicCounterexample):
        sizes = same.counterexample.sizes
        first, second = (m.at(**{n: sizes[n] for n in m.recipe.names}) for m in (first, second))
    recipes = first.recipe, second.recipe
    if any(recipe.names or not has_inverse(recipe) for recipe in recipes):
        return None
    end = min(first.size, second.size, BITCAST_SLOTS)
    # By digits, both buffers begin with the same element; the lower of two places of one differs.
    start, at = _common_run(*recipes), same.counterexample
    run, length = max(start, 1), 4
    if isinstance(at, tuple) and start < end:
        differs = min(offset_of(recipe, at, 0) for recipe in recipes)
        if start <= differs < start + run:
            return start
        end = min(end, differs + 1)
    while start < end:
        slots = range(start, min(start + length * run, end), run)
        wrong: Any
        if length <= PROOF_WIDE:  # NumPy need not be loaded for the first ones
            pairs = zip(*(elements_of(recipe, [*slots]) for recipe in recipes), strict=True)
            wrong = [x != y for x, y in pairs]
        elif not has_numpy():
            return None
        else:
            at = (m.coordinates(np.asarray(slots)) for m in (first, second))
            wrong = sum((x != y for x, y in zip(*at, strict=True)), np.zeros(len(slots), bool))
        if any(wrong):
            return slots[[*wrong].index(True)]
        start, length = start + length * run, min(8 * length, _CHUNK)
    return None


def _common_run(one: Recipe, other: Recipe) -> int:
    """Return a number of slots, in each run of which both hold elements in one order, or none.

    If a run differs or has padding at all, so does its first slot. Without digits it is 0.
    """
    if not (has_digits(one) and has_digits(other)) or (one.offset, other.offset) != (0, 0):
        return 0
    run = 1
    for x, y in zip(reversed(digits_of(one)), reversed(digits_of(other)), strict=False):
        if replace(x, stride=1) != replace(y, stride=1):
            break
        run *= known((x.radix,))[0]
    return run
