"""The simplifier's rules, as data.

Each rule is a small function named after its effect. The first paragraph of its docstring is an
identity, the second the side condition, the third its name in tinygrad or TVM if it has one. A rule
looks at one node, a digit ``(x // s) mod n``, a sum, or an exclusive or ``x ^ y ^ …``, and returns
the form that replaces it, or None if it does not apply. No rule looks below the node: the engine
simplifies operands first.

Notation: x, y, z, r, u are affine expressions; v a variable; s, t, n, m, g, k positive integers;
c, e, p, q integers; ``[x]`` the interval of x over the bounds of its variables. "mod n" may be
absent in every digit; an absent modulus counts as infinite.

CONTRIBUTING.md says how to add a rule.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from itertools import chain, permutations

from morello_layouts.core.expr.affine import AffineExpr, Atom, BitXor, Call, Digit, digit, xor
from morello_layouts.core.expr.calls import Var, magnitude
from morello_layouts.core.expr.choices import (
    COMPARE_RULES,
    EQUAL_RULES,
    EXTREMUM_RULES,
    SELECT_RULES,
    Rule,
    compare_not,
    divided,
    extremum_cancel,
    push_into_choice,
)
from morello_layouts.core.expr.sizes import Int, SizeExpr, common_divisor, is_nonnegative


def identity(d: Digit) -> AffineExpr | None:
    """(x // 1) = x, and x mod 1 = 0."""
    if d.modulus == 1:
        return AffineExpr((), 0)
    if d.divisor == 1 and d.modulus is None:
        return d.operand
    return None


def constant(d: Digit) -> AffineExpr | None:
    """(x // s) mod n = q.

    If q is the only value in [(x // s) mod n].

    tinygrad: cancel_divmod.
    """
    lo, hi = d.interval
    return AffineExpr((), lo) if lo is not None and lo == hi else None


def drop_mod(d: Digit) -> AffineExpr | None:
    """(x // s) mod n = x // s - q·n.

    If [x] lies in q·s·n..q·s·n + s·n - 1.

    tinygrad: cancel_divmod.
    """
    if d.modulus is None:
        return None
    q = d.operand.interval.constant_quotient(d.divisor * d.modulus)
    return None if q is None else _floor_div(d.operand, d.divisor) - q * d.modulus


def flatten_nested(d: Digit) -> AffineExpr | None:
    """(((y // t) mod m) // s) mod n = (y // (t·s)) mod k.

    If m is absent (then k = n), or s divides m and one of n and m/s divides the other (then k is
    the smaller).

    tinygrad: nested_div_mod.
    """
    inner = d.operand.as_atom()
    if not isinstance(inner, Digit):
        return None
    if inner.modulus is None:
        return digit(inner.operand, inner.divisor * d.divisor, d.modulus)
    if inner.modulus % d.divisor != 0:
        return None
    rest = inner.modulus // d.divisor
    if d.modulus is not None and rest % d.modulus != 0 and d.modulus % rest != 0:
        return None
    smaller = rest if d.modulus is None or d.modulus % rest == 0 else d.modulus
    return digit(inner.operand, inner.divisor * d.divisor, smaller)


def extract_multiples(d: Digit) -> AffineExpr | None:
    """(s·y + r) // s = y + r // s, and ((s·n·y + r) // s) mod n = (r // s) mod n.

    For any y and r; the constant of r ends up in 0..s-1, or in 0..s·n-1.

    tinygrad: factor_remainder.
    """
    period = d.divisor * (d.modulus or 1)
    multiples, const = divmod(d.operand.const, period)
    extracted = [(a, c // d.divisor) for a, c in d.operand.terms if c % period == 0]
    if not extracted and multiples == 0:
        return None
    rest = AffineExpr(tuple([t for t in d.operand.terms if t[1] % period != 0]), const)
    if d.modulus is not None:
        return digit(rest, d.divisor, d.modulus)
    return AffineExpr(tuple(extracted), multiples) + digit(rest, d.divisor, None)


def affine_on_box(d: Digit) -> AffineExpr | None:
    """(x // s) mod n = y - n·z.

    If [x - s·y] lies in 0..s - 1, and n is absent (then z = 0) or [x - s·n·z] lies in
    0..s·n - 1, for y and z affine in the operands of x: on a small box, a quotient may be affine.

    ISL: its affine hull of the integer points.
    """
    low = _affine_quotient(d.operand, d.divisor)
    if low is None or d.modulus is None:
        return low
    high = _affine_quotient(d.operand, d.divisor * d.modulus)
    return None if high is None else low - high * d.modulus


def _affine_quotient(x: AffineExpr, s: Int) -> AffineExpr | None:
    """Return the y that x // s is on the box, by the steps from the corner where x is least."""
    least = x.interval.lo
    if not isinstance(least, int) or not isinstance(s, int):
        return None
    y: list[tuple[Atom, Int]] = []
    rest: list[tuple[Atom, Int]] = []
    for atom, c in x.terms:
        if isinstance(c, SizeExpr):
            return None
        step = (least % s + abs(c)) // s * (1 if c > 0 else -1)
        if step:
            y.append((atom, step))
        rest.append((atom, c - step * s))
    q = AffineExpr(tuple(rest), x.const).interval.constant_quotient(s) if y else None
    return None if q is None else AffineExpr(tuple(y), q)


def drop_remainder(d: Digit) -> AffineExpr | None:
    """((g·y + r) // s) mod n = ((y + q) // (s/g)) mod n.

    If g divides s and [r] lies in q·g..q·g + g - 1.

    tinygrad: gcd_with_remainder and nest_by_factor.
    """
    for g, y, _, q in _remainders(d, d.divisor):
        return digit(y + q, d.divisor // g, d.modulus)
    return None


def split_remainder(d: Digit) -> AffineExpr | None:
    """((g·y + r) // s) mod n = (g/s)·((y + q) mod (n·s/g)) + (r - q·g) // s.

    If s divides g, g divides s·n, and [r] lies in q·g..q·g + g - 1.

    tinygrad: gcd_with_remainder and nest_by_factor.
    """
    if d.modulus is None:
        return None
    for g, y, r, q in _remainders(d, d.divisor * d.modulus):
        if g % d.divisor == 0:
            high = digit(y + q, 1, d.divisor * d.modulus // g)
            return high * (g // d.divisor) + _floor_div(r - q * g, d.divisor)
    return None


def _remainders(d: Digit, limit: Int) -> Iterator[tuple[Int, AffineExpr, AffineExpr, Int]]:
    """Yield ways to write d's operand as g·y + r with [r] in q·g..q·g + g - 1.

    These are tuples (g, y, r, q), largest g first; g > 1 divides ``limit``.
    """
    steps = {common_divisor(c, limit) for _, c in d.operand.terms}
    g: Int = 0
    for step in sorted(steps, key=magnitude, reverse=True):
        g = common_divisor(g, step)
        if g == 1 or not is_nonnegative(g - 1):
            return
        high, rest, q = divided(d.operand, g)
        if q is not None:
            yield g, high, rest, q


def drop_inner_mod(d: Digit) -> AffineExpr | None:
    """((c·(u mod m) + r) // s) mod n = ((c·u + r) // s) mod n.

    If s·n divides c·m.

    tinygrad: remove_nested_mod.
    """
    if d.modulus is None:
        return None
    period = d.divisor * d.modulus
    for atom, c in d.operand.terms:
        if isinstance(atom, Digit) and atom.modulus is not None and c * atom.modulus % period == 0:
            others = d.operand - AffineExpr(((atom, c),), 0)
            unbounded = _floor_div(atom.operand, atom.divisor) * c
            return digit(others + unbounded, d.divisor, d.modulus)
    return None


def flatten_inner_div(d: Digit) -> AffineExpr | None:
    """((y + u // g) // s) mod n = ((g·y + u) // (g·s)) mod n.

    For any y and u.

    tinygrad: (x//c + a)//d -> (x + a*c)//(c*d).
    """
    for atom, c in d.operand.terms:
        if c == 1 and isinstance(atom, Digit) and atom.modulus is None:
            others = d.operand - AffineExpr(((atom, c),), 0)
            return digit(others * atom.divisor + atom.operand, atom.divisor * d.divisor, d.modulus)
    return None


def turn_floor(d: Digit) -> AffineExpr | None:
    """(s - 1 - x) // s = -(x // s).

    For any x; here all factors of x are positive.
    """
    if d.operand.const != d.divisor - 1 or d.modulus is not None:
        return None
    if not all(is_nonnegative(-c) for _, c in d.operand.terms):
        return None
    return -digit(d.divisor - 1 - d.operand, d.divisor, None)


def push_into_xor(d: Digit) -> AffineExpr | None:
    """((x ^ y) // s) mod n = ((x // s) mod n) ^ ((y // s) mod n).

    If s is a power of two, and n is absent or a power of two.
    """
    inner = d.operand.as_atom()
    if not isinstance(inner, BitXor) or not _is_power_of_two(d.divisor):
        return None
    if d.modulus is not None and not _is_power_of_two(d.modulus):
        return None
    return xor(*(digit(part, d.divisor, d.modulus) for part in inner.parts))


def _is_power_of_two(n: Int) -> bool:
    return isinstance(n, int) and n.bit_count() == 1


def xor_nested(x: Call) -> AffineExpr | None:
    """(x ^ (y ^ z)) = x ^ y ^ z.

    For any x, y and z.
    """
    inner = [part.as_atom() for part in x.parts]
    if not any(isinstance(atom, BitXor) for atom in inner):
        return None
    pairs = zip(x.parts, inner, strict=True)
    return _xor(p for part, a in pairs for p in (a.parts if isinstance(a, BitXor) else (part,)))


def xor_equal(x: Call) -> AffineExpr | None:
    """(x ^ x) ^ y = y.

    For any x and y; two parts that are equal have no effect.
    """
    left: list[AffineExpr] = []
    for part in x.parts:
        if part in left:
            left.remove(part)
        else:
            left.append(part)
    return None if len(left) == len(x.parts) else _xor(left)


def xor_numbers(x: Call) -> AffineExpr | None:
    """(x ^ 0) = x, and x ^ p ^ q = x ^ r.

    If r is the number p ^ q.
    """
    numbers = [p.const for p in x.parts if not p.terms and isinstance(p.const, int)]
    if len(numbers) < 2 and 0 not in numbers:
        return None
    total = AffineExpr((), reduce(operator.xor, numbers))
    rest = [p for p in x.parts if p.terms or not isinstance(p.const, int)]
    return _xor(rest if total == _ZERO else [*rest, total])


def xor_split(x: Call) -> AffineExpr | None:
    """(g·x + r) ^ (g·y + u) = g·(x ^ y) + (r ^ u).

    If g is a power of two above 1, [r] and [u] lie in 0..g - 1, and of the exclusive ors on the
    right at most one has two parts that are not 0: bits that no two parts share become a sum.
    """
    for g in _powers_of_two_in(x.parts):
        parts = [divided(part, g) for part in x.parts]
        halves = [(y + q, r - q * g) for y, r, q in parts if q is not None]
        if len(halves) == len(x.parts):
            high = [y for y, _ in halves if y != _ZERO]
            low = [r for _, r in halves if r != _ZERO]
            if high and min(len(high), len(low)) < 2:
                return _xor(high) * g + _xor(low)
    return None


def _powers_of_two_in(parts: Iterable[AffineExpr]) -> list[int]:
    """The largest power of two in each factor and constant that is above 1, the largest first."""
    numbers = [n for part in parts for n in (part.const, *(c for _, c in part.terms))]
    powers = {n & -n for n in numbers if isinstance(n, int)}
    return sorted((g for g in powers if g > 1), reverse=True)


def _xor(parts: Iterable[AffineExpr]) -> AffineExpr:
    """Return an exclusive or of any number of parts."""
    some = list(parts)
    return xor(*some) if len(some) > 1 else some[0] if some else _ZERO


_ZERO = AffineExpr((), 0)


def constant_variable(form: AffineExpr) -> AffineExpr | None:
    """c·v = c·q.

    If q is the only value in [v].
    """
    const = form.const
    fixed: set[Var] = set()
    for atom, c in form.terms:
        if not isinstance(atom, Var):
            break  # variables come first
        if atom.value is not None:
            const = const + c * atom.value
            fixed.add(atom)
    if not fixed:
        return None
    return AffineExpr(tuple([t for t in form.terms if t[0] not in fixed]), const)


def join_digits(form: AffineExpr) -> AffineExpr | None:
    """c·((x // s) mod n) + c·n·((x // (s·n)) mod m) + … = c·((x // s) mod (n·m·…)).

    If each modulus is above 1 or absent (for n = 1, a digit would be joined to itself).

    tinygrad: fold_add_divmod_recombine.
    """
    for group in form.groups:
        if len(group) < 2:
            continue
        digits = [(d, c) for d, c in group if isinstance(d, Digit)]
        by_start = {(d.divisor, c): d for d, c in reversed(digits)}
        for low, c in digits:
            joined, n = [low], low.modulus
            for _ in digits:
                if n is None or n == 1:
                    break
                high = by_start.get((low.divisor * n, c * n))
                if high is None:
                    break
                joined.append(high)
                n = None if high.modulus is None else n * high.modulus
            if len(joined) > 1:
                gone = {id(d) for d in joined}
                others = [t for t in form.terms if id(t[0]) not in gone]
                whole = digit(low.operand, low.divisor, n) * c
                return AffineExpr.from_terms((*others, *whole.terms), form.const)
    return None


def join_shifted(form: AffineExpr) -> AffineExpr | None:
    """c·((x // s) mod n) + c·n·(((x + p) // (s·n)) mod m) = c·(((x + p) // s) mod (n·m)).

    If s·n divides p.
    """
    digits = [(d, c) for d, c in form.terms if isinstance(d, Digit)]
    for (low, c), (high, k) in permutations(digits, 2):
        n, apart = low.modulus, high.operand - low.operand
        if n is None or high.divisor != low.divisor * n or k != c * n:
            continue
        if not apart.terms and apart.const and apart.const % high.divisor == 0:
            m = None if high.modulus is None else n * high.modulus
            rest = form - AffineExpr(((low, c), (high, k)), 0)
            return rest + digit(high.operand, low.divisor, m) * c
    return None


def fold_div_mod(form: AffineExpr) -> AffineExpr | None:
    """c·((x // s) mod m) - c·n·((x // (s·n)) mod (m/n)) = c·((x // s) mod n).

    If n divides m, or m is absent.

    TVM: x - floordiv(x, c1) * c1 -> floormod(x, c1).
    """
    for whole, c, part, k in _wholes_and_parts(form, _end):
        n, rest = divmod(part.divisor, whole.divisor)
        if rest == 0 and k == -c * n:
            return _without(form, whole, c, part, k) + digit(whole.operand, whole.divisor, n) * c
    return None


def subtract_mod(form: AffineExpr) -> AffineExpr | None:
    """c·((x // s) mod m) - c·((x // s) mod n) = c·n·((x // (s·n)) mod (m/n)).

    If n divides m, or m is absent.
    """
    for whole, c, part, k in _wholes_and_parts(form, _start):
        n, m = part.modulus, whole.modulus
        if n is not None and k == -c and (m is None or m % n == 0):
            high = digit(whole.operand, whole.divisor * n, None if m is None else m // n)
            return _without(form, whole, c, part, k) + high * (c * n)
    return None


_start: Callable[[Digit], Int] = operator.attrgetter("divisor")


def _end(d: Digit) -> Int | None:
    return None if d.modulus is None else d.divisor * d.modulus


def _by_place(
    group: Iterable[tuple[Atom, Int]], place: Callable[[Digit], Int | None]
) -> dict[Int | None, list[tuple[Digit, Int]]]:
    """Return the digits of one operand by their place, each with its factor."""
    found: dict[Int | None, list[tuple[Digit, Int]]] = {}
    for atom, c in group:
        if isinstance(atom, Digit):
            found.setdefault(place(atom), []).append((atom, c))
    return found


def _neighbors(form: AffineExpr) -> Iterator[tuple[Digit, Int, Digit, Int]]:
    """Yield pairs of digits of one operand with factors; one begins at the other's end."""
    for group in form.groups:
        if len(group) > 1:
            by_start = _by_place(group, _start)
            for low, c in chain.from_iterable(by_start.values()):
                for high, k in by_start.get(_end(low), ()):
                    yield low, c, high, k


def _wholes_and_parts(
    form: AffineExpr, place: Callable[[Digit], Int | None]
) -> Iterator[tuple[Digit, Int, Digit, Int]]:
    """Yield two digits of one operand and place, each with its factor.

    The operand itself is one of them if it is a part of the sum.
    """
    factors = dict(form.terms)
    for group in form.groups:
        for where, parts in _by_place(group, place).items():
            wholes = parts
            x = parts[0][0].operand
            if x.terms and x.terms[0][0] in factors and where == place(Digit(x, 1, None)):
                c, _ = divmod(factors[x.terms[0][0]], x.terms[0][1])
                if all(factors.get(a) == c * f for a, f in x.terms):
                    wholes = [*parts, (Digit(x, 1, None), c)]
            yield from ((*whole, *part) for whole in wholes for part in parts)


def _without(form: AffineExpr, whole: Digit, c: Int, part: Digit, k: Int) -> AffineExpr:
    value = whole.operand if whole.is_group else AffineExpr(((whole, 1),), 0)
    return form - value * c - AffineExpr(((part, k),), 0)


def reduce_factor(form: AffineExpr) -> AffineExpr | None:
    """((c·v + r) // s) mod n = ((e·v + r) // s) mod n.

    If e is c mod s·n with the sign of c, and smaller than c, and no other digit of the sum has the
    same operand (two digits of one operand may join later).

    tinygrad: fold_divmod_congruence.
    """
    for d, c in form.terms:
        if not isinstance(d, Digit) or d.modulus is None:
            continue
        period = d.divisor * d.modulus
        factors = tuple([(a, _reduced(f, period)) for a, f in d.operand.terms])
        if factors == d.operand.terms or _shares_operand(d, form):
            continue
        less = digit(AffineExpr.from_terms(factors, d.operand.const), d.divisor, d.modulus)
        return form - AffineExpr(((d, c),), 0) + less * c
    return None


def _reduced(factor: Int, period: Int) -> Int:
    """Return the factor mod period, with the factor's sign, if both are numbers."""
    if isinstance(factor, SizeExpr) or isinstance(period, SizeExpr):
        return factor
    return factor % period if factor > 0 else -(-factor % period)


def _shares_operand(d: Digit, form: AffineExpr) -> bool:
    others = (a for a, _ in form.terms if isinstance(a, Digit) and a is not d)
    return any(a.operand == d.operand for a in others)


def split_middle(form: AffineExpr) -> AffineExpr | None:
    """c·((x // s) mod n) + e·(x // (s·n)) = c·(x // s) + (e - c·n)·(x // (s·n)).

    If s > 1 and e is a multiple of c·n, larger than c·n.
    """
    for low, c, high, e in _neighbors(form):
        stride = high.divisor // low.divisor * c
        if low.divisor != 1 and high.modulus is None and e % stride == 0 and e // stride > 1:
            quotient = digit(low.operand, low.divisor, None) * c
            return form - AffineExpr(((low, c), (high, stride)), 0) + quotient
    return None


def _floor_div(x: AffineExpr, s: Int) -> AffineExpr:
    """Return x // s, or x itself if s is 1."""
    return x if s == 1 else digit(x, s, None)


TOP_DOWN_DIGIT_RULES: tuple[Rule[Digit], ...] = (Rule("flatten-nested", flatten_nested),)
TOP_DOWN_SUM_RULES: tuple[Rule[AffineExpr], ...] = (Rule("join-digits", join_digits),)
"""Rules tried before operands are simplified, which could hide that operands are equal."""

DIGIT_RULES: tuple[Rule[Digit], ...] = (
    Rule("identity", identity),
    Rule("constant", constant),
    Rule("drop-mod", drop_mod),
    *TOP_DOWN_DIGIT_RULES,
    Rule("extract-multiples", extract_multiples),
    Rule("affine-on-box", affine_on_box),
    Rule("drop-remainder", drop_remainder),
    Rule("split-remainder", split_remainder),
    Rule("drop-inner-mod", drop_inner_mod),
    Rule("flatten-inner-div", flatten_inner_div),
    Rule("turn-floor", turn_floor),
    Rule("push-into-xor", push_into_xor),
    Rule("push-into-choice", push_into_choice),
)

XOR_RULES: tuple[Rule[Call], ...] = (
    Rule("xor-nested", xor_nested),
    Rule("xor-equal", xor_equal),
    Rule("xor-numbers", xor_numbers),
    Rule("xor-split", xor_split),
)

RULES_OF_CALLS: Mapping[str, tuple[Rule[Call], ...]] = {
    "xor": XOR_RULES,
    "min": EXTREMUM_RULES,
    "max": EXTREMUM_RULES,
    ">=": COMPARE_RULES,
    "==": EQUAL_RULES,
    "!=": EQUAL_RULES,
    "select": SELECT_RULES,
}
"""The rules of each operation on forms."""

SUM_RULES: tuple[Rule[AffineExpr], ...] = (
    *TOP_DOWN_SUM_RULES,
    Rule("join-shifted", join_shifted),
    Rule("constant-variable", constant_variable),
    Rule("fold-div-mod", fold_div_mod),
    Rule("subtract-mod", subtract_mod),
    Rule("compare-not", compare_not),
    Rule("extremum-cancel", extremum_cancel),
)

LAST_RULES: tuple[Rule[AffineExpr], ...] = (Rule("reduce-factor", reduce_factor),)
"""Rules for the whole sum if no other rule applies: they hide that operands are equal."""

READABLE_RULES: tuple[Rule[AffineExpr], ...] = (Rule("split-middle", split_middle),)
"""Rules that make a form shorter to read, but not simpler for other rules."""
