"""CuTe's algebra of layouts, as its C++ computes it.

Every function takes layouts or their texts. What C++ refuses to compile is an error here, with the
condition that does not hold; static integers are those that C++ knows when it compiles.

Source: CUTLASS, ``include/cute/layout.hpp``; each function has the name that it has there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate, zip_longest
from operator import itemgetter
from typing import Any, TypeAlias

from morello_layouts.core.checks import shown
from morello_layouts.core.limits import CUTE_COMPARED
from morello_layouts.errors import LayoutError
from morello_layouts.notations.cute.layout import (
    CuteLayout,
    Nested,
    ScaledBasis,
    Static,
    absolute,
    ceil_divide,
    ceil_quotient,
    common_divisor,
    compact,
    flatten,
    is_static,
    least,
    map_leaves,
    product,
    quotient,
    remainder,
    sign,
    text,
    times,
    unwrap,
    wrap,
)
from morello_layouts.notations.cute.swizzle import ComposedLayout
from morello_layouts.notations.cute.text import parse_cute, parse_plain

LayoutLike: TypeAlias = "CuteLayout | str | int"
"""A layout, its text, or a size: the layout of that many elements in a row."""

Swizzled: TypeAlias = "LayoutLike | ComposedLayout"
"""A layout, or one with a swizzle."""

Tiler: TypeAlias = "LayoutLike | Sequence[Tiler] | None"
"""A layout for all modes; or a tuple of tilers, one for each mode; None leaves a mode whole."""

ONE = CuteLayout(Static(1), Static(0))


def as_layout(value: Swizzled, name: str = "layout") -> CuteLayout:
    if isinstance(value, CuteLayout | str):
        layout = parse_plain(value) if isinstance(value, str) else value
        if layout.is_symbolic:
            raise LayoutError(
                f"{name}: expected numbers as sizes and strides, got {layout}",
                "CuTe's algebra divides and compares them",
                "give numbers for the names",
            )
        return layout
    if isinstance(value, int) and not isinstance(value, bool):
        return CuteLayout(value)
    raise LayoutError(
        f"{name}: expected a CuTe layout without a swizzle, got {shown(value)}",
        "the algebra takes layouts and their texts",
        'give for example "(4,2):(1,4)"',
    )


def _shape(value: Any) -> Nested:
    if isinstance(value, str | CuteLayout):
        return as_layout(value).shape
    return CuteLayout(value).shape


def joined(layouts: Sequence[CuteLayout]) -> CuteLayout:
    return CuteLayout(tuple(x.shape for x in layouts), tuple(x.stride for x in layouts))


def by_mode(
    f: Callable[[CuteLayout, Any], CuteLayout],
    layout: CuteLayout,
    others: Any,
    name: str,
    rest: bool = True,
) -> CuteLayout:
    """Apply a function to the modes that have a partner; the rest stays, or is dropped."""
    modes = layout.modes
    if len(others) > len(modes):
        raise LayoutError(
            f"{name}: expected at most {len(modes)} parts, got {len(others)}",
            f"{layout} has {len(modes)} modes" if len(modes) > 1 else f"{layout} has one mode",
            "leave out the others",
        )
    found = [f(mode, other) for mode, other in zip(modes, others, strict=False)]
    return joined([*found, *modes[len(found) :]] if rest else found)


# Coalesce


def _coalesced(leaves: Sequence[tuple[Any, Any]], size: Any, stride: Any) -> CuteLayout:
    """CuTe's ``bw_coalesce``: join each mode with the front of the next one if they fit."""
    found = [(size, stride)]
    for n, d in reversed(leaves):
        (m, e), alone = found[0], len(found) == 1
        if is_static(n, 1):
            continue
        if alone and is_static(m, 1):
            found = [(n, d)]
        elif is_static(m) and _is_known_equal(times(n, d), e):
            found[0] = times(n, m), d
        else:
            found.insert(0, (n, d))
    shape, strides = zip(*found, strict=True)
    result = CuteLayout(shape, strides) if len(found) > 1 else CuteLayout(shape[0], strides[0])
    return ONE if is_static(result.shape, 1) else result


def _is_known_equal(a: Any, b: Any) -> bool:
    """Whether C++ knows when it compiles that two strides are equal."""
    if isinstance(a, ScaledBasis) and isinstance(b, ScaledBasis):
        return a.modes == b.modes and _is_known_equal(a.value, b.value)
    return isinstance(a, Static) and isinstance(b, Static) and a == b


def _coalesce_x(layout: CuteLayout, profile: Nested) -> CuteLayout:
    """Coalesce at the leaves of a profile so that offsets past the end stay as they are."""
    if isinstance(profile, tuple):
        return by_mode(_coalesce_x, layout, profile, "modes of the right layout's strides")
    *leaves, (n, d) = layout.leaves
    return _coalesced(leaves, Static(2) if is_static(n, 1) else n, d)


def coalesce(layout: LayoutLike, profile: Any = None) -> CuteLayout:
    """Join neighbouring modes that are one mode together, and drop static sizes of 1.

    Args:
        layout: the layout.
        profile: a tuple: coalesce each mode by itself, as deep as the tuple is nested.

    >>> print(coalesce("(_2,(_1,_6)):(_1,(_6,_2))"))
    _12:_1
    >>> print(coalesce("(_2,(_1,_6)):(_1,(_6,_2))", (1, 1)))
    (_2,_6):(_1,_2)
    """
    layout = as_layout(layout)
    if isinstance(profile, tuple | list):
        return by_mode(coalesce, layout, profile, "profile")
    *leaves, (n, d) = layout.leaves
    return _coalesced(leaves, n, d)


def filter_zeros(layout: LayoutLike) -> CuteLayout:
    """Give static strides of 0 the static size 1.

    >>> print(filter_zeros("(4,2):(_0,1)"))
    (_1,2):(_0,1)
    """
    layout = as_layout(layout)

    def kept(n: Nested, d: Nested) -> Nested:
        if isinstance(d, tuple):
            return tuple(map(kept, wrap(n), d))
        return Static(1) if is_static(d, 0) else n

    return CuteLayout(kept(layout.shape, layout.stride), layout.stride)


def filter(layout: LayoutLike) -> CuteLayout:  # noqa: A001
    """Drop static strides of 0, and coalesce.

    >>> print(filter("(4,2):(_0,1)"))
    2:1
    """
    return coalesce(filter_zeros(layout))


# Composition

# What to do with a condition that C++ does not check, as an integer in it is dynamic.
ConditionHandler: TypeAlias = Callable[[LayoutError], None]


def ignore_condition(_: LayoutError) -> None:
    """Let a condition be: a division that leaves a rest gives what CuTe gives."""


def _undivided(what: str, a: Any, b: Any, mode: int, left: Any) -> LayoutError:
    return LayoutError(
        f"{a} does not divide {b}: {what} meets mode {mode} of {left}",
        "a composition is a layout only if sizes and strides divide each other",
        "choose sizes that divide, or pad the layout",
    )


def _compose(left: CuteLayout, n: Any, d: Any, handle: ConditionHandler) -> CuteLayout:
    """CuTe's ``composition_impl``, of a coalesced layout and a shape with its strides."""
    if isinstance(n, tuple):
        return joined([_compose(left, *pair, handle) for pair in zip(n, d, strict=True)])
    if isinstance(d, ScaledBasis):
        for mode in d.modes:
            left = left.modes[mode]
        return _compose(left, n, d.value, handle)
    if is_static(d, 0):
        return CuteLayout(n, d)
    if not isinstance(left.shape, tuple):
        return CuteLayout(n, times(d, left.stride))
    return _cut(left, n, d, handle)


def _cut(left: CuteLayout, n: Any, d: Any, handle: ConditionHandler) -> CuteLayout:
    """The elements 0, d, 2d, … of a flat layout, n of them."""
    shape: list[Any] = []
    stride: list[Any] = []
    rest, step = n, d
    for k, (size, move) in enumerate(left.leaves[:-1]):
        if 0 in (size, step, n):
            raise _undivided(f"{n}:{d}", 0, size, k, left)
        if remainder(step, size) and not step < size:
            error = _undivided(f"the stride {step} of {n}:{d}", size, step, k, left)
            _refuse_or_handle(error, handle, size, step)
        elif remainder(size, step) and n != 1:
            handle(_undivided(f"the stride of {n}:{d}", step, size, k, left))
        count = ceil_quotient(size, absolute(step))
        further = times(ceil_quotient(absolute(step), size), sign(step))
        if not (is_static(count, 1) or is_static(rest, 1)):
            taken = least(count, rest)
            if remainder(rest, taken):
                error = _undivided(f"the size {rest} of {n}:{d}", taken, rest, k, left)
                _refuse_or_handle(error, handle, taken, rest)
            shape.append(taken)
            stride.append(times(step, move))
            rest = quotient(rest, taken)
        step = further
    if not shape or not is_static(rest, 1):
        shape.append(rest)
        stride.append(times(step, left.leaves[-1][1]))
    return CuteLayout(unwrap(tuple(shape)), unwrap(tuple(stride)))


def _refuse_or_handle(error: LayoutError, handle: ConditionHandler, *operands: Any) -> None:
    """Raise what C++ refuses to compile; handle what it does not check."""
    if all(map(is_static, operands)):
        raise error
    handle(error)


def composed(a: CuteLayout, b: CuteLayout, handle: ConditionHandler) -> CuteLayout:
    """Return CuTe's composition; conditions that it does not check are told to ``handle``."""
    left = _coalesce_x(a, map_leaves(lambda _: Static(0), b.coshape))
    return _compose(left, b.shape, b.stride, handle)


def composition(a: Swizzled, b: Tiler | ComposedLayout) -> CuteLayout | ComposedLayout:
    """Return the layout of ``a(b(c))`` for each coordinate c of b; or by mode, if b is a tuple.

    Raises:
        LayoutError: if that is no layout: some size or stride does not divide another. C++ does
            not see this for dynamic integers, and gives a layout of other offsets.

    >>> print(composition("(_8,_8):(_8,_1)", "(_4,_2):(_2,_16)"))
    (_4,_2):(_16,_2)
    """
    a, b = _swizzled(a), _swizzled(b)
    if isinstance(a, ComposedLayout):
        return replace(a, layout=composition(a.layout, b))
    if isinstance(b, ComposedLayout):
        moved, layout = b.behind(as_layout(a)), composition(a, b.layout)
        return replace(moved, layout=layout) if isinstance(moved, ComposedLayout) else layout
    return _composition(as_layout(a), b)


def _composition(a: CuteLayout, b: Tiler) -> CuteLayout:
    if b is None:
        return a
    if not isinstance(b, CuteLayout | str | int):
        return by_mode(_composition, a, b, "composition", rest=False)
    b, doubts = as_layout(b), list[LayoutError]()
    found = composed(a, b, doubts.append)
    if doubts and not _equal(found, a, b):
        raise doubts[0]
    return found


def _swizzled(value: Any) -> Any:
    """A text with swizzles as the layout that it says; anything else as it is.

    A swizzle of bytes acts on offsets in elements from here on.
    """
    found = parse_cute(value) if isinstance(value, str) else value
    if isinstance(found, ComposedLayout):
        found = found.in_elements
        found.swizzle.require_apart()
    return found


def _equal(found: CuteLayout, a: CuteLayout, b: CuteLayout) -> bool:
    """Whether a layout is a composition at each element; False if these are too many to look."""
    if found.size != b.size or b.size > CUTE_COMPARED:
        return False
    import numpy as np

    at = np.arange(b.size)
    pairs = zip(flatten(found(at)), flatten(a(_filled(b(at), a.shape))), strict=True)
    return all(bool(np.all(x == y)) for x, y in pairs)


def _filled(coordinate: Any, shape: Nested) -> Any:
    """A coordinate with zeros for the modes of a shape that it leaves out."""
    if not isinstance(coordinate, tuple):
        return coordinate
    if not isinstance(shape, tuple):
        return _filled(coordinate[0], shape)
    return tuple(_filled(x, n) for x, n in zip_longest(coordinate, shape, fillvalue=0))


# Complement


def complement(layout: LayoutLike, cotarget: Any = None) -> CuteLayout:
    """Return the layout of what a layout leaves out: ordered, and disjoint from it.

    Args:
        layout: the layout. Its static strides of 0 are left aside.
        cotarget: the size to fill, or a shape or layout of it; by default the layout's cosize.

    Raises:
        LayoutError: if offsets overlap, strides are negative, or there are several and one of them
            is dynamic.

    >>> print(complement("_4:_2", 24))
    (_2,3):(_1,_8)
    """
    layout = filter(layout)
    target = layout.cosize if cotarget is None else _shape(cotarget)
    if is_static(layout.stride, 0):
        return CuteLayout(_coalesced_shape(target))
    if len(layout.leaves) > 1:
        _require_static("complement", layout)
    shape, stride, end = list[Any](), list[Any](), product(())
    for n, d in sorted(layout.leaves, key=itemgetter(1)):
        if not isinstance(d, int) or d < end:
            raise LayoutError(
                f"complement of {layout}: expected strides of {end} or more, got {d}",
                "offsets of a layout with a complement do not overlap, and none is negative",
                "give an injective layout",
            )
        shape.append(quotient(d, end))
        stride.append(end)
        end = times(d, n)
    rest = _coalesced_shape(ceil_divide(target, end))
    return coalesce(CuteLayout((*shape, rest), (*stride, compact(rest, end))))


def _require_static(name: str, layout: CuteLayout) -> None:
    if not all(is_static(d) for _, d in layout.leaves):
        raise LayoutError(
            f"{name} of {layout}: expected static strides, got {text(layout.stride)}",
            "strides are sorted, and CuTe sorts when it compiles",
            "write static strides, _4 in place of 4",
        )


def _coalesced_shape(shape: Nested) -> Nested:
    """Multiply neighbouring sizes if both are static or both dynamic."""
    found: list[Any] = []
    for n in flatten(shape):
        if found and is_static(found[-1]) == is_static(n):
            found[-1] = times(found[-1], n)
        else:
            found.append(n)
    return tuple(found) if len(found) > 1 else found[0]


# Inverses


def _order(keys: Sequence[int]) -> list[int]:
    """Sort by exchange, as CuTe does: equal keys may change places."""
    found = list(range(len(keys)))
    for i in range(len(found)):
        for j in range(i + 1, len(found)):
            if keys[found[j]] < keys[found[i]]:
                found[i], found[j] = found[j], found[i]
    return found


def _prefixes(layout: CuteLayout) -> list[Any]:
    return list(accumulate((n for n, _ in layout.leaves), times, initial=Static(1)))


def _require_integers(name: str, layout: CuteLayout) -> None:
    if any(isinstance(d, ScaledBasis) for _, d in layout.leaves):
        raise LayoutError(
            f"{name} of {layout}: expected integers as strides",
            "an inverse begins at offsets, and this layout gives coordinates",
            "give a layout of integer strides",
        )


def right_inverse(layout: Swizzled) -> CuteLayout | ComposedLayout:
    """Return the longest layout r found with ``layout(r(i)) == i`` for each i.

    Dynamic strides are left aside, as CuTe does not know their order.

    >>> print(right_inverse("(_8,_4):(_4,_1)"))
    (_4,_8):(_8,_1)
    """
    return _behind(_swizzled(layout), _right_inverse)


def _behind(
    layout: CuteLayout | ComposedLayout, inverse: Callable[[CuteLayout], CuteLayout]
) -> CuteLayout | ComposedLayout:
    """Return the inverse of a layout; of one after a swizzle, with the swizzle before it."""
    if isinstance(layout, ComposedLayout):
        return layout.behind(inverse(as_layout(layout.layout)))
    return inverse(as_layout(layout))


def _right_inverse(layout: CuteLayout) -> CuteLayout:
    layout = coalesce(layout)
    _require_integers("right_inverse", layout)
    starts, end = _prefixes(layout), Static(1)
    shape: list[int] = [Static(1)]
    stride: list[int] = [Static(0)]
    known = [k for k, (_, d) in enumerate(layout.leaves) if is_static(d)]
    for k in (known[i] for i in _order([layout.leaves[k][1] for k in known])):
        n, d = layout.leaves[k]
        if is_static(end, d):
            shape.append(n)
            stride.append(starts[k])
            end = times(n, d)
    return coalesce(CuteLayout(tuple(shape), tuple(stride)))


def left_inverse(layout: Swizzled) -> CuteLayout | ComposedLayout:
    """Return a layout l with ``layout(l(layout(i))) == layout(i)`` for each i.

    Raises:
        LayoutError: if a stride is dynamic, or does not divide the next.

    >>> print(left_inverse("(_4,_2):(_1,_16)"))
    (_16,_2):(_1,_4)
    """
    return _behind(_swizzled(layout), _left_inverse)


def _left_inverse(layout: CuteLayout) -> CuteLayout:
    layout = coalesce(layout)
    _require_integers("left_inverse", layout)
    _require_static("left_inverse", layout)
    starts, shape, stride = _prefixes(layout), list[Any](), list[Any]([Static(0)])
    order = _order([d for _, d in layout.leaves])
    for k in order:
        _, d = layout.leaves[k]
        if d == 0:
            continue
        size = product(tuple(shape))
        if remainder(d, size):
            raise LayoutError(
                f"left_inverse of {layout}: {size} does not divide {d}",
                "each stride divides the next larger one",
                "change the strides, or pad what they span",
            )
        shape.append(quotient(d, size))
        stride.append(starts[k])
    shape.append(layout.leaves[order[-1]][0])
    return coalesce(CuteLayout(tuple(shape), tuple(stride)))


# Others


def nullspace(layout: LayoutLike) -> CuteLayout:
    """Return the layout of the elements along static strides of 0: each has the offset 0.

    >>> print(nullspace("(_2,_2,_2):(_1,_0,_2)"))
    _2:_2
    """
    layout = as_layout(layout)
    places = flatten(compact(flatten(layout.shape)))
    found = [(n, p) for (n, d), p in zip(layout.leaves, places, strict=True) if is_static(d, 0)]
    if not found:
        return ONE
    shape, stride = zip(*found, strict=True)
    return CuteLayout(unwrap(shape), unwrap(stride))


def domain_distribute(shape: Any, size: LayoutLike) -> CuteLayout:
    """Take as many elements of a shape as divide it, mode by mode, up to a size.

    Args:
        shape: a static shape, or a layout.
        size: a static size, or a layout of it.

    >>> print(domain_distribute("(_15,_14)", "_6"))
    (_3,_2):(_1,_15)
    """
    sizes, left = flatten(_shape(shape)), as_layout(size, "size").size
    if not all(map(is_static, (*sizes, left))):
        raise LayoutError(
            f"domain_distribute: expected static sizes, got {text(sizes)} and {left}",
            "CuTe distributes when it compiles",
            'write static sizes, for example "(_15,_14)" and "_6"',
        )
    found = []
    for n in sizes:
        found.append(common_divisor(n, left))
        left = quotient(left, found[-1])
    return coalesce(CuteLayout(tuple(found), compact(sizes)))
