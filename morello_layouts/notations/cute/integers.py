"""Integers and nested tuples of them, as CuTe has them: static or dynamic, scaled basis elements.

A dynamic integer is an ``int``. A static one is a :class:`Static`, which CuTe prints with an
underscore. Operations give what CuTe's operators give: static only if both operands are static,
or if one of them decides the result.

Source: CUTLASS, ``include/cute/int_tuple.hpp``, ``numeric/integral_constant.hpp``,
``numeric/arithmetic_tuple.hpp`` and ``algorithm/tuple_algorithms.hpp``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from math import gcd
from typing import Any, Final, TypeAlias

from morello_layouts.core.expr.sizes import SizeExpr
from morello_layouts.core.fields import frozen, number
from morello_layouts.core.limits import CUTE_LEAVES


class Static(int):
    """An integer that is known to CuTe's compiler: ``_4``.

    >>> Static(4), Static(4) == 4
    (_4, True)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"_{int(self)}"

    __str__ = __repr__


MODE: Final = number(0, CUTE_LEAVES - 1, named="the number of a mode")
"""The kind of a mode's number."""


@frozen
class ScaledBasis:
    """A stride in one mode of a coordinate: ``1@0`` moves by 1 in mode 0.

    >>> print(ScaledBasis(Static(1), (0, 2)))
    _1@2@0
    """

    value: int  #: how far.
    modes: tuple[int, ...]  #: the path to the mode, from the outermost; CuTe prints it reversed.

    def __post_init__(self) -> None:
        for mode in (len(self.modes) - 1, *self.modes):
            MODE(mode, "", ("stride",))

    def __str__(self) -> str:
        return f"{self.value}{''.join(f'@{mode}' for mode in reversed(self.modes))}"


Leaf: TypeAlias = "int | ScaledBasis"
Nested: TypeAlias = "Leaf | tuple[Nested, ...]"
"""An integer or a scaled basis element, or a tuple of nested ones: a shape, or strides."""


def is_static(value: Any, number: int | None = None) -> bool:
    """Whether a leaf is static, and the number if one is given."""
    if isinstance(value, ScaledBasis):
        return number is None and is_static(value.value)
    return isinstance(value, Static) and (number is None or value == number)


def _like(value: Any, *operands: Any) -> Any:
    """A result: static if all operands are."""
    return Static(value) if all(isinstance(x, Static) for x in operands) else value


# The operations take arrays of integers too, and these are dynamic.


def plus(a: Any, b: Any) -> Any:
    return _like(a + b, a, b)


def times(a: Any, b: Any) -> Any:
    """Return the product; a static 0 stays static.

    >>> times(Static(2), Static(3)), times(2, Static(3)), times(2, Static(0))
    (_6, 6, _0)
    >>> print(times(Static(2), ScaledBasis(Static(3), (1,))))
    _6@1
    """
    for one, other in ((a, b), (b, a)):
        if isinstance(one, ScaledBasis):
            return ScaledBasis(times(one.value, other), one.modes)
        if is_static(one, 0):
            return Static(0)
    return _like(a * b, a, b)


def quotient(a: Any, b: int) -> Any:
    """Return the quotient, rounded towards 0 as C++ does.

    >>> quotient(-7, 2), quotient(Static(7), Static(-2))
    (-3, _-3)
    """
    if is_static(a, 0):
        return a
    size = abs(b)
    found = (a + (a < 0) * (size - 1)) // size
    return _like(found if b > 0 else -found, a, b)


def remainder(a: Any, b: int) -> Any:
    """Return what the quotient leaves; it has the sign of ``a``."""
    return a - quotient(a, b) * b


def ceil_quotient(a: int, b: int) -> int:
    """Return ``(a + b - 1) / b``."""
    return quotient(plus(plus(a, b), Static(-1)), b)  # type: ignore[no-any-return]


def absolute(a: Any) -> Any:
    if isinstance(a, ScaledBasis):
        return ScaledBasis(absolute(a.value), a.modes)
    if isinstance(a, SizeExpr):
        return a
    return _like(abs(a), a)


def sign(a: int) -> int:
    return _like((a > 0) - (a < 0), a)  # type: ignore[no-any-return]


def least(a: int, b: int) -> int:
    return _like(int(min(a, b)), a, b)  # type: ignore[no-any-return]


def common_divisor(a: int, b: int) -> int:
    return _like(gcd(a, b), a, b)  # type: ignore[no-any-return]


# Tuples


def wrap(t: Nested) -> tuple[Nested, ...]:
    return t if isinstance(t, tuple) else (t,)


def unwrap(t: Nested) -> Nested:
    """Take off the tuples around a single value."""
    while isinstance(t, tuple) and len(t) == 1:
        t = t[0]
    return t


def flatten(t: Nested) -> tuple[Any, ...]:
    return tuple(x for part in t for x in flatten(part)) if isinstance(t, tuple) else (t,)


def like(leaves: Iterable[Any], profile: Nested) -> Any:
    """Return leaves in the nesting of another value."""
    left = iter(leaves)

    def build(part: Nested) -> Any:
        return tuple(map(build, part)) if isinstance(part, tuple) else next(left)

    return build(profile)


def congruent(a: Nested, b: Nested) -> bool:
    """Whether two values are nested alike."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(congruent, a, b))
    return not isinstance(a, tuple) and not isinstance(b, tuple)


def product(t: Nested) -> int:
    """Return the product of the leaves; static if none of them is dynamic."""
    if not isinstance(t, tuple):
        return t  # type: ignore[return-value]
    return reduce(times, map(product, t), Static(1))


def compact(shape: Nested, first: int = Static(1)) -> Nested:
    """Return the strides of a shape without gaps, the first mode fastest; static sizes 1 get 0.

    >>> compact((Static(4), Static(1), (2, 3)))
    (_1, _0, (_4, 8))
    """

    def step(n: Nested) -> int:
        nonlocal first
        if is_static(n, 1):
            return Static(0)
        stride, first = first, times(first, n)
        return stride

    return like([step(n) for n in flatten(shape)], shape)  # type: ignore[no-any-return]


def ceil_divide(a: Nested, b: int) -> Nested:
    """Divide a shape by a size, its modes one after the other.

    >>> ceil_divide((12, 32), 32)
    (1, 11)
    """
    if not isinstance(a, tuple):
        return ceil_quotient(a, b)  # type: ignore[arg-type]
    found = []
    for part in a:
        found.append(ceil_divide(part, b))
        b = ceil_quotient(b, product(part))
    return tuple(found)


def text(t: Nested) -> str:
    """Return the text as CuTe prints it."""
    return f"({','.join(map(text, t))})" if isinstance(t, tuple) else str(t)


def map_leaves(f: Callable[[Any], Any], t: Nested) -> Any:
    return tuple(map_leaves(f, part) for part in t) if isinstance(t, tuple) else f(t)
