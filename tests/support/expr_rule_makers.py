"""Nodes at the edge of each rule's side condition, and one past it.

A maker draws its numbers with ``pick(lo, hi)``, an integer of lo..hi, so both Hypothesis and a
seeded generator can drive it. ``expr_rule_cases`` says which makers belong to a rule.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import TypeAlias

from morello_layouts.core.expr import AffineExpr, BitXor, Call, Digit, digit, variable
from morello_layouts.core.expr.affine import call
from morello_layouts.core.expr.sizes import Int, SizeExpr

Pick: TypeAlias = Callable[[int, int], int]
"""Draws an integer from the first number to the second one."""


def take(x: AffineExpr, s: Int, n: Int | None) -> Digit:
    """Return the digit (x // s) mod n as an atom."""
    return Digit(x, s, n)


def some(pick: Pick, name: str = "y") -> AffineExpr:
    """Return a variable with bounds of any kind: on both sides, on one, on none."""
    lo, hi = pick(-6, 3), pick(4, 9)
    return variable(name, *[(lo, hi), (lo, hi), (lo, None), (None, hi), (None, None)][pick(0, 4)])


def span(pick: Pick, lo: Int | None, hi: Int | None) -> AffineExpr:
    """Return a form with the values lo..hi (None: no end): a variable, shifted or negated."""
    shift = pick(-3, 3)
    low = None if lo is None else lo - shift
    high = None if hi is None else hi - shift
    if pick(0, 1):
        return variable("r", low, high) + shift
    negated = (None if high is None else -high), (None if low is None else -low)
    return -variable("r", *negated) + shift


def out_of_span(pick: Pick, lo: Int, hi: Int) -> AffineExpr:
    """Return a form with the values lo..hi and one more at either end, or without an end."""
    return span(
        pick, *[(lo - 1, hi), (lo, hi + 1), (None, hi), (lo, None), (None, None)][pick(0, 4)]
    )


def astride(pick: Pick, edge: Int) -> AffineExpr:
    """Return a form of the two values around the end of a block."""
    return span(pick, edge - 1, edge)


def number(pick: Pick, lo: int, hi: int) -> Int:
    """Return an integer of lo..hi, or its multiple of a symbolic size."""
    sizes: list[Int] = [1, 1, 1, SizeExpr.named("N")]
    return pick(lo, hi) * sizes[pick(0, 3)]


def maybe(pick: Pick, n: Int) -> Int | None:
    """Return the modulus n or None."""
    return n if pick(0, 1) else None


def nonzero(pick: Pick, most: int) -> int:
    """Return a factor of either sign."""
    return pick(1, most) * (1 if pick(0, 2) else -1)


def coprime(pick: Pick, to: Int) -> int:
    """Return a factor that shares no divisor with a number."""
    if not isinstance(to, int):
        return 1
    return [k for k in range(1, 8) if gcd(k, to) == 1][pick(0, 1) if to != 1 else 0]


# identity


def identity_mod_one(pick: Pick) -> Digit:
    return take(some(pick), pick(1, 5), 1)


def identity_group(pick: Pick) -> Digit:
    return take(some(pick) * nonzero(pick, 3) + pick(-3, 3), 1, None)


def identity_mod_two(pick: Pick) -> Digit:
    return take(some(pick), 1, pick(2, 5))


def identity_half(pick: Pick) -> Digit:
    return take(some(pick), pick(2, 5), None)


# constant


def constant_of_floor(pick: Pick) -> Digit:
    s, q = number(pick, 2, 5), pick(-3, 3)
    return take(span(pick, s * q, s * q + s - 1), s, None)


def constant_of_digit(pick: Pick) -> Digit:
    s, n, q = number(pick, 1, 4), pick(2, 5), pick(-7, 7)
    return take(span(pick, s * q, s * q + s - 1), s, n)


def constant_past(pick: Pick) -> Digit:
    s, q = number(pick, 2, 5), pick(-3, 3)
    return take(out_of_span(pick, s * q, s * q + s - 1), s, None)


def constant_past_digit(pick: Pick) -> Digit:
    s, n, q = number(pick, 1, 4), pick(2, 5), pick(-7, 7)
    return take(out_of_span(pick, s * q, s * q + s - 1), s, n)


# drop-mod


def drop_mod_block(pick: Pick) -> Digit:
    s, n, q = number(pick, 1, 4), number(pick, 2, 5), pick(-3, 3)
    return take(span(pick, s * n * q, s * n * (q + 1) - 1), s, n)


def drop_mod_past(pick: Pick) -> Digit:
    s, n, q = number(pick, 1, 4), number(pick, 2, 5), pick(-3, 3)
    return take(out_of_span(pick, s * n * q, s * n * (q + 1) - 1), s, n)


def drop_mod_astride(pick: Pick) -> Digit:
    s, n = number(pick, 1, 4), number(pick, 2, 5)
    return take(astride(pick, s * n * pick(-3, 3)), s, n)


def drop_mod_without_mod(pick: Pick) -> Digit:
    return take(span(pick, 0, pick(0, 5)), pick(2, 5), None)


# flatten-nested


def flatten_nested_in_floor(pick: Pick) -> Digit:
    return take(
        digit(some(pick), number(pick, 2, 5), None),
        number(pick, 1, 4),
        maybe(pick, number(pick, 2, 5)),
    )


def flatten_nested_floor_in_digit(pick: Pick) -> Digit:
    s = number(pick, 2, 5)
    return take(digit(some(pick), pick(1, 4), s * number(pick, 1, 4)), s, None)


def flatten_nested_smaller_mod(pick: Pick) -> Digit:
    s, n = number(pick, 1, 4), number(pick, 1, 5)
    return take(digit(some(pick), pick(1, 4), s * n * pick(1, 3)), s, n)


def flatten_nested_larger_mod(pick: Pick) -> Digit:
    s, rest = number(pick, 1, 4), number(pick, 1, 5)
    return take(digit(some(pick), pick(1, 4), s * rest), s, rest * pick(2, 3))


def flatten_nested_no_divisor(pick: Pick) -> Digit:
    s = number(pick, 2, 5)
    inner = s * pick(1, 4) + [-1, 1][pick(0, 1)]
    return take(digit(some(pick), pick(1, 4), inner), s, maybe(pick, pick(2, 5)))


def flatten_nested_neither_divides(pick: Pick) -> Digit:
    s, a = pick(1, 3), pick(2, 4)
    g, b = pick(1, 2), a + 1  # a and a + 1 share nothing
    m, n = (g * a, g * b) if pick(0, 1) else (g * b, g * a)
    return take(digit(some(pick), pick(1, 3), s * m), s, n)


def flatten_nested_not_alone(pick: Pick) -> Digit:
    inner = digit(some(pick), pick(2, 4), maybe(pick, 12))
    scaled = inner * 2 if pick(0, 1) else inner + 1
    return take(scaled, pick(2, 4), maybe(pick, pick(2, 3)))


def flatten_nested_variable(pick: Pick) -> Digit:
    return take(some(pick), pick(2, 4), maybe(pick, pick(2, 3)))


# extract-multiples


def _last(period: Int) -> int:
    """Return the largest constant that is not a multiple; 1 for a symbolic size."""
    return period - 1 if isinstance(period, int) else 1


def extract_factor(pick: Pick) -> Digit:
    s = number(pick, 2, 5)
    return take(
        some(pick) * (s * nonzero(pick, 3)) + some(pick, "z") + _last(s) * pick(0, 1), s, None
    )


def extract_const(pick: Pick) -> Digit:
    s = pick(2, 5)
    const = s + pick(0, 5) if pick(0, 1) else -pick(1, 6)
    return take(some(pick) * coprime(pick, s) + const, s, None)


def extract_factor_under_mod(pick: Pick) -> Digit:
    s, n = number(pick, 1, 4), number(pick, 2, 4)
    return take(some(pick) * (s * n * nonzero(pick, 3)) + some(pick, "z"), s, n)


def extract_const_under_mod(pick: Pick) -> Digit:
    s, n = pick(1, 4), pick(2, 4)
    return take(some(pick) + (s * n + pick(0, 5) if pick(0, 1) else -pick(1, 6)), s, n)


def extract_next_factor(pick: Pick) -> Digit:
    s = number(pick, 3, 6)
    return take(some(pick) * (s * pick(1, 2) + [-1, 1][pick(0, 1)]) + _last(s), s, None)


def extract_factor_of_floor_only(pick: Pick) -> Digit:
    s, n = number(pick, 2, 4), pick(2, 4)
    multiple = n * pick(0, 2) + pick(1, n - 1)
    return take(some(pick) * (s * multiple) + _last(s * n), s, n)


# drop-remainder


def _with_remainder(pick: Pick, remainder: AffineExpr, s: Int, n: Int | None, g: Int) -> Digit:
    """Return (g·y + r) // s with g the greatest common divisor of s and the factor of y."""
    return take(some(pick) * (g * coprime(pick, s // g)) + remainder, s, n)


def drop_remainder_block(pick: Pick) -> Digit:
    g, q, n = number(pick, 2, 4), pick(-3, 3), maybe(pick, pick(2, 4))
    return _with_remainder(pick, span(pick, g * q, g * q + g - 1), g * pick(1, 3), n, g)


def drop_remainder_const(pick: Pick) -> Digit:
    g = pick(2, 4)
    return take(some(pick) * g + pick(-5, 5), g * pick(2, 3), maybe(pick, pick(2, 4)))


def drop_remainder_of_two(pick: Pick) -> Digit:
    # The larger factor alone leaves too much; both together leave the variable r only.
    g, q = pick(2, 3), pick(-2, 2)
    y, z = variable("y", -4, 9), variable("z", 0, 7)
    return take(y * (2 * g) + z * g + span(pick, g * q, g * q + g - 1), 4 * g, None)


def drop_remainder_past(pick: Pick) -> Digit:
    g, q, n = number(pick, 2, 4), pick(-3, 3), maybe(pick, pick(2, 4))
    return _with_remainder(pick, out_of_span(pick, g * q, g * q + g - 1), g * pick(1, 3), n, g)


def drop_remainder_astride(pick: Pick) -> Digit:
    g, n = number(pick, 2, 4), maybe(pick, pick(2, 4))
    return _with_remainder(pick, astride(pick, g * pick(-3, 3)), g * pick(1, 3), n, g)


def drop_remainder_no_divisor(pick: Pick) -> Digit:
    s = pick(2, 5)
    c = [k for k in range(2, 12) if gcd(k, s) == 1][pick(0, 2)]
    return take(some(pick) * c + span(pick, 0, pick(0, 1)), s, None)


def drop_remainder_of_mod(pick: Pick) -> Digit:
    g = number(pick, 2, 4)
    return take(some(pick) * g + span(pick, 0, g - 1), 1, g * pick(1, 3))


# split-remainder


def split_remainder_block(pick: Pick) -> Digit:
    s, a, b, q = number(pick, 1, 3), number(pick, 1, 3), number(pick, 2, 3), pick(-3, 3)
    g, n = (s * a, a * b) if s * a != 1 else (2, 2 * b)
    return take(some(pick) * (g * coprime(pick, b)) + span(pick, g * q, g * q + g - 1), s, n)


def split_remainder_past(pick: Pick) -> Digit:
    s, a, b, q = number(pick, 1, 3), pick(2, 3), number(pick, 2, 3), pick(-3, 3)
    g, n = s * a, a * b
    rest = out_of_span(pick, g * q, g * q + g - 1)
    return take(some(pick) * (g * coprime(pick, b)) + rest, s, n)


def split_remainder_astride(pick: Pick) -> Digit:
    s, a, b = number(pick, 1, 3), pick(2, 3), number(pick, 2, 3)
    g = s * a
    return take(some(pick) * (g * coprime(pick, b)) + astride(pick, g * pick(-3, 3)), s, a * b)


def split_remainder_finer(pick: Pick) -> Digit:
    # g divides s·n, but s does not divide g.
    s, g = [(4, 6), (2, 3), (4, 2), (6, 4), (6, 9)][pick(0, 4)]
    n = g * pick(1, 2) if s * g % 4 else g * 2
    return take(some(pick) * g + span(pick, 0, g - 1), s, n)


def split_remainder_without_mod(pick: Pick) -> Digit:
    s = pick(2, 4)
    return take(some(pick) * s + span(pick, 0, s - 1), s, None)


# affine-on-box


def _ramp(pick: Pick, s: int, whole: int, beyond: int = 0) -> AffineExpr:
    """Return (whole + r)·v + c, with r·v + c in a block of s numbers, or one past its end.

    The factor r is 1 or -1, s divides ``whole``, and v has three values or more.
    """
    r, lo, hi = [-1, 1][pick(0, 1)], pick(-3, 3), pick(2, s - 1)
    first = [-beyond, s - 1 - hi + beyond][pick(0, 1)]
    const = first - min(r * lo, r * (lo + hi)) + s * pick(-2, 2)
    return variable("v", lo, lo + hi) * (whole + r) + const


def affine_floor(pick: Pick) -> Digit:
    s = pick(3, 9)
    y = variable("y", pick(-2, 0), 4) * (s * pick(0, 1))
    return take(_ramp(pick, s, s * nonzero(pick, 3)) + y, s, None)


def affine_mod(pick: Pick) -> Digit:
    n = pick(3, 9)
    return take(_ramp(pick, n, n * nonzero(pick, 3)), 1, n)


def affine_digit(pick: Pick) -> Digit:
    s, n, v = pick(2, 4), pick(3, 5), variable("v", 0, 1)
    return take(v * (s * n * nonzero(pick, 3) + s) + pick(0, s * (n - 1) - 1), s, n)


def affine_past(pick: Pick) -> Digit:
    s = pick(3, 9)
    return take(_ramp(pick, s, s * nonzero(pick, 3), 1), *[(s, None), (1, s)][pick(0, 1)])


def affine_of_low_part(pick: Pick) -> Digit:
    # The quotient by s is not affine, that by s·n is.
    s, n, v = pick(2, 4), pick(3, 5), variable("v", 0, 2)
    return take(v * (s * n * nonzero(pick, 3) + 1) + s - 2, s, n)


def affine_of_names(pick: Pick) -> Digit:
    n, v = SizeExpr.named("N"), variable("v", 0, 1)
    others = [v * n + 3, v * 5 + n, variable("v", None, 1) * 5, variable("v", 0) * 5]
    return take(others[pick(0, 3)], 4, maybe(pick, 3)) if pick(0, 1) else take(v * 5 + 3, n, None)


def affine_constant(pick: Pick) -> Digit:
    return take(variable("v", 0, 1) * pick(1, 3), 4, None)


# drop-inner-mod


def _mod_inside(pick: Pick, c: Int, m: Int, s: Int, n: Int | None) -> Digit:
    inner = digit(some(pick), pick(1, 3), m)
    return take(inner * c + some(pick, "z") * pick(0, 2) + pick(-2, 2), s, n)


def drop_inner_mod_period(pick: Pick) -> Digit:
    s, n, c = pick(1, 4), pick(2, 4), nonzero(pick, 4)
    m = s * n // gcd(s * n, c) * pick(1, 2)
    return _mod_inside(pick, c, m if m > 1 else 2, s, n)


def drop_inner_mod_part(pick: Pick) -> Digit:
    s, n, c = pick(1, 4), pick(2, 4), nonzero(pick, 4)
    m = pick(2, 9)
    while c * m % (s * n) == 0:
        m, c = m + 1, 1
    return _mod_inside(pick, c, m, s, n)


def drop_inner_mod_in_floor(pick: Pick) -> Digit:
    m = pick(2, 4)
    return _mod_inside(pick, pick(1, 3), m, m, None)


def drop_inner_mod_of_floor(pick: Pick) -> Digit:
    n = pick(2, 4)
    return take(digit(some(pick), pick(2, 4), None) * n, 1, n)


# flatten-inner-div


def flatten_inner_div_once(pick: Pick) -> Digit:
    inner = digit(some(pick), pick(2, 4), None)
    others = some(pick, "z") * nonzero(pick, 3) + pick(-3, 3)
    return take(inner + others, pick(1, 4), maybe(pick, pick(2, 4)))


def flatten_inner_div_scaled(pick: Pick) -> Digit:
    factor = [-1, 2, 3, -2][pick(0, 3)]
    inner = digit(some(pick), pick(2, 4), None)
    return take(inner * factor + some(pick, "z"), pick(2, 4), maybe(pick, pick(2, 4)))


def flatten_inner_div_of_digit(pick: Pick) -> Digit:
    inner = digit(some(pick), pick(1, 4), pick(2, 4))
    return take(inner + some(pick, "z"), pick(1, 4), pick(2, 4))


# push-into-xor


def bounded(pick: Pick, name: str = "y", lo: int = -6) -> AffineExpr:
    """Return a variable with bounds on both sides."""
    return variable(name, pick(lo, 3), pick(4, 9))


def _of_xor(pick: Pick, s: Int, n: Int | None) -> Digit:
    return take(bounded(pick) * nonzero(pick, 3) ^ bounded(pick, "z") + pick(-3, 3), s, n)


def push_digit(pick: Pick) -> Digit:
    return _of_xor(pick, 2 ** pick(0, 3), maybe(pick, 2 ** pick(0, 3)))


def push_other_numbers(pick: Pick) -> Digit:
    other: Int = [3, 5, 12, 4 * SizeExpr.named("N")][pick(0, 3)]
    if pick(0, 1):
        return _of_xor(pick, other, maybe(pick, 4))
    return _of_xor(pick, 2 ** pick(0, 3), other)


def push_not_alone(pick: Pick) -> Digit:
    inner = bounded(pick) ^ bounded(pick, "z")
    return take(inner * 2 if pick(0, 1) else inner + 1, 2, maybe(pick, 2))


def push_of_digit(pick: Pick) -> Digit:
    return take((bounded(pick) ^ bounded(pick, "z")) % 4, 2, maybe(pick, 2))


# xor-nested


def xor_in_xor(pick: Pick) -> BitXor:
    inner = bounded(pick) ^ bounded(pick, "z") * nonzero(pick, 3)
    other = bounded(pick, "w")
    return BitXor((inner, other ^ bounded(pick) + 1 if pick(0, 1) else other))


def xor_of_multiples(pick: Pick) -> BitXor:
    inner = bounded(pick) ^ bounded(pick, "z")
    return BitXor((inner * -1 if pick(0, 1) else inner + pick(1, 3), bounded(pick, "w")))


# xor-equal


def xor_twice(pick: Pick) -> BitXor:
    x, others = bounded(pick) * nonzero(pick, 3) + pick(-3, 3), [bounded(pick, "z"), bounded(pick)]
    return BitXor((x, *others[: pick(0, 2)], x))


def xor_once(pick: Pick) -> BitXor:
    x = bounded(pick)
    return BitXor((x, x + [-1, 1][pick(0, 1)], bounded(pick, "z")))


# xor-numbers


def xor_two_numbers(pick: Pick) -> BitXor:
    numbers = [AffineExpr((), pick(-4, 9)), AffineExpr((), pick(0, 9))]
    others = [bounded(pick), AffineExpr((), SizeExpr.named("N"))]
    return BitXor((*numbers, *others[: pick(0, 2)]))


def xor_zero(pick: Pick) -> BitXor:
    return BitXor((bounded(pick) + pick(-2, 2), AffineExpr((), 0)))


def xor_one_number(pick: Pick) -> BitXor:
    size = [AffineExpr((), SizeExpr.named("N"))]
    return BitXor((bounded(pick), AffineExpr((), nonzero(pick, 9)), *size[: pick(0, 1)]))


# xor-split


def split_disjoint(pick: Pick) -> BitXor:
    g = 2 ** pick(1, 4)
    return BitXor((bounded(pick) * (g * nonzero(pick, 3)), span(pick, 0, g - 1)))


def split_high_part(pick: Pick) -> BitXor:
    g = 2 ** pick(2, 4)
    low, other = variable("z", 0, g - 1), variable("w", 0, g - 1)
    return BitXor((bounded(pick) * (g * nonzero(pick, 3)) + low, other))


def split_low_part(pick: Pick) -> BitXor:
    g = 2 ** pick(1, 4)
    rest = span(pick, 0, g - 1) if pick(0, 1) else AffineExpr((), pick(1, g - 1))
    return BitXor((bounded(pick) * (g * coprime(pick, 2)) + rest, bounded(pick, "z") * g))


def split_factor(pick: Pick) -> BitXor:
    g = 2 ** pick(1, 4)
    return BitXor((bounded(pick) * g, bounded(pick, "z") * (3 * g) + g * pick(-2, 2)))


def split_past(pick: Pick) -> BitXor:
    g = 2 ** pick(1, 4)
    shift = pick(-1, 0)
    return BitXor((bounded(pick) * g, variable("r", shift, g + shift)))


def split_both(pick: Pick) -> BitXor:
    g = 2 ** pick(1, 4)
    low, other = variable("v", 0, g - 1), variable("w", 0, g - 1)
    return BitXor((bounded(pick) * g + low, bounded(pick, "z") * g + other))


def split_odd_factor(pick: Pick) -> BitXor:
    factor: Int = [3, 5, -3, 4 * SizeExpr.named("N")][pick(0, 3)]
    return BitXor((bounded(pick) * factor, variable("r", 0, pick(1, 2))))


def split_of_shifted(pick: Pick) -> BitXor:
    g = 2 ** pick(1, 4)  # the constant is a multiple, but no value reaches g
    return BitXor((variable("r", -g, -1) + g, variable("z", 0, g - 1)))


def split_of_unit(pick: Pick) -> BitXor:
    return BitXor((bounded(pick), variable("r", 0, pick(1, 3))))


# constant-variable


def constant_variable_one_value(pick: Pick) -> AffineExpr:
    q = pick(-4, 4)
    return variable("v", q, q) * nonzero(pick, 3) + some(pick) * nonzero(pick, 3) + pick(-3, 3)


def constant_variable_two_values(pick: Pick) -> AffineExpr:
    q = pick(-4, 4)
    ends = [(q, q + 1), (q, None), (None, q), (None, None)][pick(0, 3)]
    return variable("v", *ends) * nonzero(pick, 3) + pick(-3, 3)


def constant_variable_of_digit(pick: Pick) -> AffineExpr:
    return digit(variable("v", 0, 2), 4, maybe(pick, 3)) + pick(-1, 1)


# join-digits


def _two_digits(
    pick: Pick,
    c: Int,
    k: Int,
    n: Int,
    m: Int | None,
    *,
    low: AffineExpr | None = None,
    high: AffineExpr | None = None,
) -> AffineExpr:
    x = low or some(pick)
    s = pick(1, 3)
    rest = some(pick, "z") * pick(0, 2) + pick(-2, 2)
    return digit(x, s, n) * c + digit(high or x, s * n, m) * k + rest


def join_neighbours(pick: Pick) -> AffineExpr:
    c, n = nonzero(pick, 3), number(pick, 2, 4)
    return _two_digits(pick, c, c * n, n, maybe(pick, pick(2, 4)))


def join_beside_variable(pick: Pick) -> AffineExpr:
    c, n, v = nonzero(pick, 3), number(pick, 2, 4), variable("v", 0, 30)
    return _two_digits(pick, c, c * n, n, maybe(pick, pick(2, 4)), low=v, high=v) + v * pick(1, 3)


def join_next_factor(pick: Pick) -> AffineExpr:
    c, n = nonzero(pick, 3), number(pick, 2, 4)
    return _two_digits(pick, c, c * n + [-1, 1][pick(0, 1)], n, maybe(pick, pick(2, 4)))


def join_other_operand(pick: Pick) -> AffineExpr:
    c, n, x = nonzero(pick, 3), pick(2, 4), some(pick)
    return _two_digits(pick, c, c * n, n, maybe(pick, 3), low=x, high=x + [-1, 1][pick(0, 1)])


def join_apart(pick: Pick) -> AffineExpr:
    c, n, x, s = nonzero(pick, 3), pick(2, 4), some(pick), pick(1, 3)
    return digit(x, s, n) * c + digit(x, s * n + [-1, 1][pick(0, 1)], maybe(pick, 3)) * (c * n)


def join_one(pick: Pick) -> AffineExpr:
    x, s, c = some(pick), pick(1, 3), nonzero(pick, 3)
    return digit(x, s, 1) * c + digit(x, s, maybe(pick, pick(2, 3))) * pick(1, 3)


def join_floors(pick: Pick) -> AffineExpr:
    x, s = some(pick), pick(2, 3)
    return digit(x, s, None) + digit(x, 2 * s, None) * 2


# fold-div-mod


def fold_operand(pick: Pick) -> AffineExpr:
    x, c, n = some(pick) * pick(1, 2) + pick(-3, 3), nonzero(pick, 3), number(pick, 2, 4)
    if pick(0, 1):
        x = x + some(pick, "w") * nonzero(pick, 3)
    return x * c - digit(x, n, None) * (c * n) + some(pick, "z") * pick(0, 2) + pick(-2, 2)


def fold_quotients(pick: Pick) -> AffineExpr:
    x, s, c, n = some(pick), number(pick, 2, 3), nonzero(pick, 3), number(pick, 2, 4)
    rest = some(pick, "z") * pick(0, 2) + pick(-2, 2)
    return digit(x, s, None) * c - digit(x, s * n, None) * (c * n) + rest


def fold_parts(pick: Pick) -> AffineExpr:
    x, s, c = some(pick), number(pick, 1, 3), nonzero(pick, 3)
    n, top = number(pick, 2, 4), number(pick, 2, 4)
    return digit(x, s, n * top) * c - digit(x, s * n, top) * (c * n) + pick(-2, 2)


def fold_other_top(pick: Pick) -> AffineExpr:
    x, s, n, top = some(pick), pick(1, 3), pick(2, 4), pick(3, 4)
    other = [-1, 1][pick(0, 1)] if pick(0, 1) else n
    return digit(x, s, n * top + other) - digit(x, s * n, top) * n


def fold_next_factor(pick: Pick) -> AffineExpr:
    x, c, n = some(pick), nonzero(pick, 3), pick(3, 4)
    return x * c - digit(x, n, None) * (c * n + [-1, 1, 1 - n, n - 1][pick(0, 3)])


def fold_same_sign(pick: Pick) -> AffineExpr:
    x, c, n = some(pick), nonzero(pick, 3), number(pick, 2, 4)
    return x * c + digit(x, n, None) * (c * n)


def fold_part_of_operand(pick: Pick) -> AffineExpr:
    y, w, n = some(pick), some(pick, "w"), pick(2, 4)
    other = [0, 2, -1][pick(0, 2)]
    parts = (y, w * other) if pick(0, 1) else (y * other, w)
    return sum(parts, AffineExpr((), 0)) - digit(y + w, n, None) * n


def fold_quotients_next_factor(pick: Pick) -> AffineExpr:
    x, s, c, n = some(pick), pick(2, 3), nonzero(pick, 3), pick(3, 4)
    return digit(x, s, None) * c - digit(x, s * n, None) * (c * n + [-1, 1][pick(0, 1)])


def fold_no_divisor(pick: Pick) -> AffineExpr:
    x, s = some(pick), pick(2, 4)
    t = s * pick(1, 3) + pick(1, s - 1)
    return digit(x, s, None) - digit(x, t, None) * (t // s)


def fold_other_operand(pick: Pick) -> AffineExpr:
    x, s, n = some(pick), pick(2, 3), pick(2, 4)
    return digit(x, s, None) - digit(x + [-1, 1][pick(0, 1)], s * n, None) * n


def fold_digits(pick: Pick) -> AffineExpr:
    x, s, n = some(pick), pick(2, 3), pick(2, 4)
    low, high = [(None, 5), (5, None)][pick(0, 1)]
    return digit(x, s, low) - digit(x, s * n, high) * n


def fold_of_mod(pick: Pick) -> AffineExpr:
    x, n = some(pick), pick(2, 4)
    return x - digit(x, n, pick(2, 4)) * n


def fold_of_number(pick: Pick) -> AffineExpr:
    n = pick(2, 4)
    return some(pick) - digit(AffineExpr((), pick(-4, 9)), n, None) * n


# subtract-mod


def subtract_from_operand(pick: Pick) -> AffineExpr:
    x, c, n = some(pick) * pick(1, 2) + pick(-3, 3), nonzero(pick, 3), number(pick, 2, 4)
    if pick(0, 1):
        x = x + some(pick, "w") * nonzero(pick, 3)
    return x * c - digit(x, 1, n) * c + some(pick, "z") * pick(0, 2) + pick(-2, 2)


def subtract_from_digit(pick: Pick) -> AffineExpr:
    x, s, c, n = some(pick), number(pick, 2, 3), nonzero(pick, 3), number(pick, 2, 4)
    whole = n * number(pick, 2, 4) if pick(0, 1) else None
    return digit(x, s, whole) * c - digit(x, s, n) * c + pick(-2, 2)


def subtract_other_factor(pick: Pick) -> AffineExpr:
    x, s, c, n = some(pick), pick(2, 3), pick(2, 4), pick(2, 4)
    return digit(x, s, None) * c - digit(x, s, n) * [c + 1, c - 1, -c][pick(0, 2)]


def subtract_no_divisor(pick: Pick) -> AffineExpr:
    x, s, n = some(pick), pick(1, 3), pick(2, 4)
    return digit(x, s, n * pick(1, 3) + 1) - digit(x, s, n)


def subtract_other_place(pick: Pick) -> AffineExpr:
    x, s, n = some(pick), pick(2, 3), pick(2, 4)
    part = digit(x + [-1, 1][pick(0, 1)], s, n) if pick(0, 1) else digit(x, s + 1, n)
    whole = digit(x, s, None)
    return [whole - part, x - digit(x, s, n)][pick(0, 1)]


def subtract_floors(pick: Pick) -> AffineExpr:
    x, s = some(pick), pick(2, 3)
    return x - digit(x, s, None)


# reduce-factor


def _digit_in_sum(pick: Pick, factor: Int, s: Int, n: Int) -> AffineExpr:
    x = some(pick) * factor + some(pick, "z") * pick(0, 1) + pick(-2, 2)
    return digit(x, s, n) * nonzero(pick, 3) + some(pick, "w") * pick(0, 2) + pick(-2, 2)


def reduce_past_period(pick: Pick) -> AffineExpr:
    s, n = pick(1, 3), pick(2, 4)
    factor = s * n + pick(0, 2 * s * n)
    return _digit_in_sum(pick, factor if pick(0, 1) else -factor, s, n)


def reduce_beside_other_operand(pick: Pick) -> AffineExpr:
    s, n = pick(1, 3), pick(2, 4)
    x = some(pick) * (s * n + pick(0, 3)) + pick(-2, 2)
    other = digit(x + [-1, 1][pick(0, 1)], s * n, None)
    return digit(x, s, n) * nonzero(pick, 3) + other


def reduce_within_period(pick: Pick) -> AffineExpr:
    s, n = pick(1, 3), pick(2, 4)
    return _digit_in_sum(pick, (s * n - 1) * (1 if pick(0, 1) else -1), s, n)


def reduce_shared_operand(pick: Pick) -> AffineExpr:
    s, n = pick(1, 3), pick(2, 4)
    x = some(pick) * (s * n + pick(0, 3)) + pick(-2, 2)
    other = digit(x, s * n, None) if pick(0, 1) else digit(x, s, n + 1)
    return digit(x, s, n) * nonzero(pick, 3) + other


def reduce_floor(pick: Pick) -> AffineExpr:
    s = pick(2, 4)
    return digit(some(pick) * (s + pick(0, 5)), s, None) + pick(-2, 2)


# split-middle


def _middle(pick: Pick, s: Int, e_of: Callable[[Int], Int]) -> AffineExpr:
    x, c, n = some(pick), nonzero(pick, 3), pick(2, 4)
    rest = some(pick, "z") * pick(0, 2) + pick(-2, 2)
    return digit(x, s, n) * c + digit(x, s * n, None) * e_of(c * n) + rest


def split_middle_twice(pick: Pick) -> AffineExpr:
    return _middle(pick, number(pick, 2, 4), lambda stride: 2 * stride)


def split_middle_more(pick: Pick) -> AffineExpr:
    return _middle(pick, pick(2, 4), lambda stride: pick(3, 5) * stride)


def split_middle_once(pick: Pick) -> AffineExpr:
    return _middle(pick, pick(2, 4), lambda stride: stride * pick(-2, 1))


def split_middle_no_multiple(pick: Pick) -> AffineExpr:
    return _middle(pick, pick(2, 4), lambda stride: 2 * stride + [-1, 1][pick(0, 1)])


def split_middle_of_digit(pick: Pick) -> AffineExpr:
    x, s, n, c = some(pick), pick(2, 4), pick(2, 4), nonzero(pick, 3)
    return digit(x, s, n) * c + digit(x, s * n, pick(2, 4)) * (c * n * pick(2, 3))


def split_middle_of_mod(pick: Pick) -> AffineExpr:
    return _middle(pick, 1, lambda stride: 2 * stride)


def split_middle_of_floors(pick: Pick) -> AffineExpr:
    x, s = some(pick), pick(2, 3)
    return digit(x, s, None) + digit(x, 2 * s, None) * 4


# min, max, choices and comparisons


def extremum(pick: Pick, *parts: AffineExpr) -> Call:
    """Return the min or the max of some forms."""
    return Call(["min", "max"][pick(0, 1)], parts)


def at_least_zero(x: AffineExpr) -> AffineExpr:
    return call(">=", x)


def equals(pick: Pick, x: AffineExpr) -> Call:
    return Call(["==", "!="][pick(0, 1)], (x,))


def choice(condition: AffineExpr, x: AffineExpr, y: AffineExpr) -> Call:
    return Call("select", (condition, x, y))


def constant_form(n: Int) -> AffineExpr:
    return AffineExpr((), n)


def condition_of(pick: Pick, name: str = "w") -> AffineExpr:
    """Return a comparison that is not decided."""
    return at_least_zero(variable(name, -9, 9) + pick(-3, 3))


def extremum_in_extremum(pick: Pick) -> Call:
    inner = extremum(pick, bounded(pick), bounded(pick, "z"))
    return Call(inner.kind, (AffineExpr(((inner, 1),), 0), bounded(pick, "w") + pick(-2, 2)))


def extremum_in_another(pick: Pick) -> Call:
    inner = Call("min", (bounded(pick), bounded(pick, "z")))
    return Call("max", (AffineExpr(((inner, 1),), 0), bounded(pick, "w")))


def extremum_apart(pick: Pick) -> Call:
    y, k = bounded(pick), pick(0, 3)
    return extremum(pick, y, variable("z", 9 + k, 12 + k), bounded(pick, "w"))


def extremum_same(pick: Pick) -> Call:
    y = some(pick) * nonzero(pick, 3)
    return extremum(pick, y, y + pick(0, 3))


def extremum_overlapping(pick: Pick) -> Call:
    return extremum(pick, variable("y", -3, 5), variable("z", 4, 9))


def extremum_with_common(pick: Pick) -> Call:
    z = some(pick, "z") * nonzero(pick, 3)
    return extremum(pick, variable("y", -3, 5) + z, variable("x", -3, 5) * pick(1, 3) + z)


def extremum_of_sum_and_number(pick: Pick) -> Call:
    return extremum(pick, variable("y", -30, 30) * pick(1, 8) + nonzero(pick, 7), constant_form(3))


def extremum_without_common(pick: Pick) -> Call:
    return extremum(pick, variable("y", -3, 5), variable("z", -3, 5) + pick(-2, 2))


def extremum_of_multiples(pick: Pick) -> Call:
    g = pick(2, 5)
    return extremum(pick, variable("y", -9, 9) * g, constant_form(g * pick(-2, 2)))


def extremum_of_negatives(pick: Pick) -> Call:
    return extremum(pick, variable("y", -9, 9) * -pick(1, 3), variable("z", -9, 9) * -pick(1, 3))


def extremum_of_coprimes(pick: Pick) -> Call:
    return extremum(pick, variable("y", -9, 9) * 2, variable("z", -9, 9) * 3)


def push_extremum(pick: Pick) -> Digit:
    s = pick(2, 5)
    inner = extremum(pick, variable("y", -30, 30) * s, variable("z", -30, 30))
    return take(AffineExpr(((inner, [1, -1][pick(0, 1)]),), pick(0, 3)), s, None)


def push_select(pick: Pick) -> Digit:
    s, n = pick(1, 4), pick(2, 4)
    inner = choice(condition_of(pick), variable("y", -9, 9) * (s * n), variable("z", -9, 9))
    return take(AffineExpr(((inner, nonzero(pick, 3)),), 0), s, n)


def push_two_divisions(pick: Pick) -> Digit:
    inner = extremum(pick, variable("y", -30, 30), variable("z", -30, 30))
    return take(AffineExpr(((inner, 1),), pick(0, 3)), pick(2, 5), None)


def push_extremum_of_mod(pick: Pick) -> Digit:
    inner = extremum(pick, variable("y", -30, 30) * 6, variable("z", -30, 30))
    return take(AffineExpr(((inner, 1),), 0), pick(1, 2), 3)


def compare_known(pick: Pick) -> Call:
    lo, hi = [(0, 3), (0, None), (-4, -1), (None, -1)][pick(0, 3)]
    return Call(">=", (span(pick, lo, hi),))


def compare_unknown(pick: Pick) -> Call:
    lo, hi = [(-2, 0), (-2, 3), (-2, None), (None, 0)][pick(0, 3)]
    return Call(">=", (span(pick, lo, hi),))


def compare_of_bit(pick: Pick) -> Call:
    return Call(">=", (span(pick, -1, 0),))


def compare_of_three(pick: Pick) -> Call:
    return Call(">=", (span(pick, *[(-2, 0), (-1, 1)][pick(0, 1)]),))


def compare_multiples(pick: Pick) -> Call:
    g = number(pick, 2, 5)
    return Call(">=", (variable("y", -9, 9) * g + span(pick, g, 2 * g - 1),))


def compare_past_multiples(pick: Pick) -> Call:
    g = pick(2, 5)
    return Call(">=", (variable("y", -9, 9) * g + out_of_span(pick, g, 2 * g - 1),))


def compare_of_floor(pick: Pick) -> Call:
    floor = variable("y", -40, 40) // number(pick, 2, 5)
    return Call(">=", (floor * [1, -1][pick(0, 1)] + pick(-3, 3),))


def compare_of_two_floors(pick: Pick) -> Call:
    floor = variable("y", -40, 40) // pick(2, 5)
    return Call(">=", (floor - [variable("z", -9, 9) // 3, floor % 4 * 2][pick(0, 1)],))


def compare_of_mod(pick: Pick) -> Call:
    return Call(">=", (variable("y", -40, 40) % 5 - pick(1, 4),))


def equal_known(pick: Pick) -> Call:
    lo, hi = [(1, 3), (1, None), (-4, -1), (0, 0)][pick(0, 3)]
    return equals(pick, span(pick, lo, hi))


def equal_unknown(pick: Pick) -> Call:
    lo, hi = [(0, 3), (0, None), (-4, 0), (None, None)][pick(0, 3)]
    return equals(pick, span(pick, lo, hi))


def equal_of_bit(pick: Pick) -> Call:
    return equals(pick, span(pick, *[(0, 1), (-1, 0)][pick(0, 1)]))


def equal_of_three(pick: Pick) -> Call:
    return equals(pick, span(pick, *[(0, 2), (-1, 1), (-2, 0)][pick(0, 2)]))


def equal_multiples(pick: Pick) -> Call:
    g = pick(2, 5)
    return equals(pick, variable("y", -9, 9) * g + g * pick(-2, 2))


def equal_between(pick: Pick) -> Call:
    g = pick(3, 5)
    return equals(pick, variable("y", -9, 9) * g + variable("r", 1, g - 1))


def equal_past_multiples(pick: Pick) -> Call:
    g = pick(3, 5)
    ends = [(0, g - 1), (1, g)][pick(0, 1)]
    return equals(pick, variable("y", -9, 9) * g + variable("r", *ends))


def select_known(pick: Pick) -> Call:
    lo, hi = [(1, 4), (-3, -1), (0, 0), (1, None)][pick(0, 3)]
    return choice(variable("w", lo, hi), bounded(pick), bounded(pick, "z"))


def select_unknown(pick: Pick) -> Call:
    lo, hi = [(0, 4), (-3, 0), (-1, 1), (0, None)][pick(0, 3)]
    return choice(variable("w", lo, hi), bounded(pick), bounded(pick, "z"))


def select_of_same(pick: Pick) -> Call:
    y = some(pick) + pick(-2, 2)
    return choice(condition_of(pick), y, y)


def select_of_next(pick: Pick) -> Call:
    y = some(pick)
    return choice(condition_of(pick), y, y + 1)


def select_larger(pick: Pick) -> Call:
    x, z = variable("w", -9, 9) + pick(-2, 2), some(pick, "z")
    g = nonzero(pick, 3)
    return choice(at_least_zero(x), z + (x + pick(0, 1)) * g, z)


def select_shifted(pick: Pick) -> Call:
    x, z = variable("w", -9, 9) + pick(-2, 2), some(pick, "z")
    return choice(at_least_zero(x), z + (x + [2, -1][pick(0, 1)]) * nonzero(pick, 3), z)


def select_with_common(pick: Pick) -> Call:
    z = some(pick, "z") * nonzero(pick, 3)
    return choice(condition_of(pick), bounded(pick) + z, z + pick(-3, 3))


def select_of_neighbours(pick: Pick) -> Call:
    k, step = nonzero(pick, 9), [1, -1][pick(0, 1)]
    return choice(condition_of(pick), constant_form(k + step), constant_form(k))


def select_of_numbers(pick: Pick) -> Call:
    k = nonzero(pick, 9)
    return choice(condition_of(pick), constant_form(k + pick(2, 3)), constant_form(k))


def select_number_or_zero(pick: Pick) -> Call:
    return choice(condition_of(pick), constant_form(nonzero(pick, 9)), constant_form(0))


def select_number_by_number(pick: Pick) -> Call:
    lo, hi = [(0, 2), (-1, 1)][pick(0, 1)]
    return choice(variable("w", lo, hi), constant_form(nonzero(pick, 9)), constant_form(0))


def select_form_or_zero(pick: Pick) -> Call:
    return choice(condition_of(pick), bounded(pick), constant_form(0))


def select_zero_first(pick: Pick) -> Call:
    either = [condition_of(pick), call("==", variable("w", -9, 9)), call("min", condition_of(pick),
              condition_of(pick, "v"))][pick(0, 2)]  # fmt: skip
    return choice(either, constant_form(0), bounded(pick))


def select_zero_by_number(pick: Pick) -> Call:
    return choice(variable("w", -1, 1), constant_form(0), bounded(pick))


def opposite_condition(pick: Pick) -> AffineExpr:
    k = nonzero(pick, 4)
    two = call(["min", "max"][pick(0, 1)], condition_of(pick), condition_of(pick, "v"))
    one = [condition_of(pick), two, call("!=", variable("w", -9, 9))][pick(0, 2)]
    return one * -k + k


def other_multiple_of_condition(pick: Pick) -> AffineExpr:
    k = nonzero(pick, 4)
    return condition_of(pick) * -k + k * [2, -1][pick(0, 1)]


def extremum_of_bit(pick: Pick) -> Call:
    x, kind = span(pick, -pick(1, 9), 1), pick(0, 1)
    return Call(["max", "min"][kind], (x * [1, -1][kind], constant_form(0)))


def extremum_of_two(pick: Pick) -> Call:
    x, kind = span(pick, -pick(1, 9), 2), pick(0, 1)
    return Call(["max", "min"][kind], (x * [1, -1][kind], constant_form(0)))


def extremum_less_part(pick: Pick) -> AffineExpr:
    y, c = variable("y", -9, 9) * nonzero(pick, 3) + pick(-3, 3), nonzero(pick, 3)
    inner = extremum(pick, y, [variable("z", -9, 9), constant_form(5)][pick(0, 1)])
    return AffineExpr(((inner, c),), 0) - y * c


def extremum_less_other(pick: Pick) -> AffineExpr:
    y, c = variable("y", -9, 9) * pick(1, 3), nonzero(pick, 3)
    inner = extremum(pick, y, variable("z", -9, 9))
    return AffineExpr(((inner, c),), 0) - y * c + variable("y", -9, 9)


# join-shifted, turn-floor


def _shifted(pick: Pick, shift: int, factor: int) -> AffineExpr:
    x, s, n = some(pick) * nonzero(pick, 3), pick(1, 3), pick(2, 4)
    low, c = digit(x, s, n), nonzero(pick, 3)
    high = digit(x + s * n * pick(1, 3) + shift, s * n, maybe(pick, pick(2, 4)))
    return (low + high * (n * factor)) * c + [variable("w", 0, 9), constant_form(0)][pick(0, 1)]


def unshifted_digits(pick: Pick) -> AffineExpr:
    x, s, n = some(pick) + pick(0, 3), pick(1, 3), pick(1, 3)
    return digit(x, s, n) + digit(x, s * n, maybe(pick, 2)) * n


def shifted_other_divisor(pick: Pick) -> AffineExpr:
    x, s, n = some(pick), pick(1, 3), pick(2, 4)
    return digit(x, s, n) + digit(x + 12 * s * n, s * n * 2, maybe(pick, 2)) * n


def shifted_of_other(pick: Pick) -> AffineExpr:
    x, s, n = some(pick), pick(1, 3), pick(2, 4)
    other = x + some(pick, "z") if pick(0, 1) else x * 3
    return digit(x, s, n) + digit(other + s * n, s * n, maybe(pick, 2)) * n


def shifted_digits(pick: Pick) -> AffineExpr:
    return _shifted(pick, 0, 1)


def shifted_by_part(pick: Pick) -> AffineExpr:
    return _shifted(pick, 1, 1)


def shifted_other_factor(pick: Pick) -> AffineExpr:
    return _shifted(pick, 0, [2, -1][pick(0, 1)])


def turned_floor(pick: Pick) -> Digit:
    s = number(pick, 2, 5)
    return take(some(pick) * -pick(1, 3) + (s - 1), s, None)


def turned_without_ends(pick: Pick) -> Digit:
    s = number(pick, 2, 5)
    return take(-variable("y") - variable("z") * pick(1, 3) + (s - 1), s, None)


def turned_by_one_less(pick: Pick) -> Digit:
    s = pick(2, 5)
    return take(some(pick) * -pick(1, 3) + (s - [2, 0][pick(0, 1)]), s, None)


def turned_mod(pick: Pick) -> Digit:
    s = pick(2, 5)
    return take(some(pick) * -pick(1, 3) + (s - 1), s, pick(2, 4))


def turned_and_not(pick: Pick) -> Digit:
    s = pick(2, 5)
    return take(some(pick) * -pick(1, 3) + some(pick, "z") + (s - 1), s, None)
