"""The simplifier's rules for ``min``, ``max``, choices and comparisons, and what a condition says.

They follow the conventions of ``rules``. ``(x >= 0)`` and ``(x == 0)`` are 1 or 0;
``select(c, x, y)`` is x unless c is 0, and then y.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, reduce
from typing import Generic, TypeVar

from morello_layouts.core.expr.affine import AffineExpr, Call, Digit, call, digit, is_condition
from morello_layouts.core.expr.bounds import Interval
from morello_layouts.core.expr.calls import Var
from morello_layouts.core.expr.sizes import Int, common_divisor, is_nonnegative, sign
from morello_layouts.core.fields import frozen

Node = TypeVar("Node", Digit, AffineExpr, Call)


@frozen
class Rule(Generic[Node]):
    """A named rewriting of a digit or of a sum."""

    name: str
    apply: Callable[[Node], AffineExpr | None]

    @property
    def statement(self) -> str:
        """The identity and its side condition."""
        return _statement(self.apply.__doc__ or "")


@cache
def _statement(doc: str) -> str:
    return " ".join(" ".join(doc.split("\n\n")[:2]).split())


_OPPOSITE = {"min": "max", "max": "min", "select": "select"}
_ZERO, _ONE = AffineExpr((), 0), AffineExpr((), 1)


def is_at_least(form: AffineExpr, least: int) -> bool:
    """Return whether every value is proved to be at least a number."""
    lo = form.interval.lo
    return lo is not None and is_nonnegative(lo - least)


def compared(sign: str, left: AffineExpr, right: AffineExpr) -> AffineExpr:
    """Return a comparison as 1 or 0.

    >>> from morello_layouts.core.expr.affine import variable
    >>> i, j = variable("i"), variable("j")
    >>> print(compared("<", i, j), compared("!=", i, j))
    (j > i) (i != j)
    """
    if sign in ("==", "!="):
        return call(sign, left - right)
    more = left - right if sign[0] == ">" else right - left
    return call(">=", more if sign[1:] else more - 1)


def extremum_nested(x: Call) -> AffineExpr | None:
    """max(x, max(y, z)) = max(x, y, z), and min(x, min(y, z)) = min(x, y, z).

    For any x, y and z.
    """
    inner = [part.as_atom() for part in x.parts]
    if not any(isinstance(atom, Call) and atom.kind == x.kind for atom in inner):
        return None
    pairs = zip(x.parts, inner, strict=True)
    parts = [a.parts if isinstance(a, Call) and a.kind == x.kind else (p,) for p, a in pairs]
    return call(x.kind, *(one for some in parts for one in some))


def extremum_decided(x: Call) -> AffineExpr | None:
    """max(x, y) = x, and min(x, y) = y.

    If [x - y] is at least 0.

    TVM: max(x, y) -> x by CanProveGreaterEqual.
    """
    return without_smaller(x, lambda more: is_at_least(more, 0))


def without_smaller(x: Call, holds: Callable[[AffineExpr], bool]) -> AffineExpr | None:
    """Return a min or max without the parts that another one decides; None if there are none."""
    left = list(x.parts)
    up = 1 if x.kind == "max" else -1
    for part in x.parts:
        others = [other for other in left if other is not part]
        if any(holds((other - part) * up) for other in others):
            left = others
    if len(left) == len(x.parts):
        return None
    return call(x.kind, *left) if len(left) > 1 else left[0]


def extremum_shift(x: Call) -> AffineExpr | None:
    """max(x + z, y + z) = max(x, y) + z, and min(x + z, y + z) = min(x, y) + z.

    For any x, y and z.

    TVM: max(x + y, x + z) -> max(y, z) + x.
    """
    return _shifted(x.kind, (), x.parts)


def select_shift(x: Call) -> AffineExpr | None:
    """select(c, x + z, y + z) = select(c, x, y) + z.

    For any x, y and z.
    """
    return _shifted("select", x.parts[:1], x.parts[1:])


def _shifted(
    kind: str, before: Sequence[AffineExpr], parts: Sequence[AffineExpr]
) -> AffineExpr | None:
    """Return a call with what is in each of the parts outside of it; None if nothing is."""
    common = [term for term in parts[0].terms if all(term in part.terms for part in parts[1:])]
    const = _common_const(kind, [part - AffineExpr(tuple(common), 0) for part in parts])
    if not common and const == 0:
        return None
    z = AffineExpr(tuple(common), const)
    return call(kind, *before, *(part - z for part in parts)) + z


def _common_const(kind: str, parts: Sequence[AffineExpr]) -> Int:
    """Return the constant whose removal leaves fewest additions, and as few numbers as parts."""
    consts = Counter(part.const for part in parts if part.terms)
    if not consts:  # numbers that differ by 1 are a comparison and the smaller one
        one, *others = (part.const for part in parts)
        return others[0] if kind == "select" and one - others[0] in (1, -1) else 0
    best, count = max(consts.items(), key=lambda item: (item[1], item[0] == 0))
    # A sum of k parts with this constant costs k additions, and one with the rest of the others.
    saved = count - 1 - consts.get(0, 0)
    # Beside a number it costs the same, and 8·x + 7 and 63 become multiples of 8.
    numbers = [part.const for part in parts if not part.terms]
    alone = kind != "select" and len(consts) == 1 and all(isinstance(n, int) for n in numbers)
    alone = alone and bool(numbers)
    return best if best != 0 and (saved >= 1 or (saved == 0 and alone)) else 0


def extremum_scale(x: Call) -> AffineExpr | None:
    """max(g·x, g·y) = g·max(x, y), and min(g·x, g·y) = g·min(x, y), and
    max(-g·x, -g·y) = -g·min(x, y), and min(-g·x, -g·y) = -g·max(x, y).

    For any x and y.
    """  # noqa: D205
    numbers = [c for part in x.parts for c in (part.const, *(c for _, c in part.terms))]
    g: Int = reduce(common_divisor, numbers)
    leads = [sign(part.terms[0][1]) for part in x.parts if part.terms]
    is_negative = bool(leads) and max(leads) < 0
    if not is_nonnegative(g - 1) or (g == 1 and not is_negative):
        return None
    by = -g if is_negative else g
    parts = (AffineExpr(tuple([(a, c // by) for a, c in p.terms]), p.const // by) for p in x.parts)
    return call(_OPPOSITE[x.kind] if is_negative else x.kind, *parts) * by


def extremum_bit(x: Call) -> AffineExpr | None:
    """max(x, 0) = (x - 1 >= 0), and min(-x, 0) = -(x - 1 >= 0).

    If [1 - x] is at least 0.
    """
    left = [part for part in x.parts if part != _ZERO]
    up = 1 if x.kind == "max" else -1
    if len(x.parts) != 2 or len(left) != 1 or not is_at_least(1 - left[0] * up, 0):
        return None
    return call(">=", left[0] * up - 1) * up


def extremum_cancel(form: AffineExpr) -> AffineExpr | None:
    """p·max(x, y) + z - p·x = p·max(0, y - x) + z, and p·min(x, y) + z - p·x = p·min(0, y - x) + z.

    For any x, y and z; all terms of x cancel.
    """
    factors = dict(form.terms)
    for atom, c in form.terms:
        if isinstance(atom, Call) and atom.kind in ("min", "max") and len(atom.parts) == 2:
            for part in atom.parts:
                if part.terms and all(factors.get(a) == -c * k for a, k in part.terms):
                    rest = form - AffineExpr(((atom, c),), 0) + part * c
                    return rest + call(atom.kind, *(other - part for other in atom.parts)) * c
    return None


def push_into_choice(d: Digit) -> AffineExpr | None:
    """(g·max(x, y) + r) // s = max((g·x + r) // s, (g·y + r) // s), and
    (g·min(x, y) + r) // s = min((g·x + r) // s, (g·y + r) // s), and
    (r - g·max(x, y)) // s = min((r - g·x) // s, (r - g·y) // s), and
    (r - g·min(x, y)) // s = max((r - g·x) // s, (r - g·y) // s), and
    ((p·select(c, x, y) + r) // s) mod n =
    select(c, ((p·x + r) // s) mod n, ((p·y + r) // s) mod n).

    If at most one part on the right has a division.

    Halide: min(x*c0 + y, z)/c0 -> min(y/c0 + x, fold(z)/c0).
    """  # noqa: D205
    for atom, c in d.operand.terms:
        if isinstance(atom, Call) and atom.kind in _OPPOSITE:
            if atom.kind != "select" and d.modulus is not None:
                continue
            rest = d.operand - AffineExpr(((atom, c),), 0)
            chosen = atom.parts[atom.kind == "select" :]
            parts = [part * c + rest for part in chosen]
            if sum(not _is_free(part, d.divisor, d.modulus) for part in parts) > 1:
                continue
            kind = atom.kind if is_nonnegative(c) else _OPPOSITE[atom.kind]
            before = atom.parts[: atom.kind == "select"]
            if is_nonnegative(c) or is_nonnegative(-c):
                return call(kind, *before, *(digit(p, d.divisor, d.modulus) for p in parts))
    return None


def _is_free(x: AffineExpr, s: Int, n: Int | None) -> bool:
    """Return whether a digit of x is seen to need no division."""
    for period in (s,) if n is None else (s * n, s):
        rest = AffineExpr(tuple([t for t in x.terms if t[1] % period != 0]), x.const)
        if rest.interval.constant_quotient(period) is None:
            return False
    return True


def compare_decided(x: Call) -> AffineExpr | None:
    """(x >= 0) = 1, and (y >= 0) = 0.

    If [x] is at least 0, and [-y] is at least 1.
    """
    return decided(x, is_at_least)


def decided(x: Call, holds: Callable[[AffineExpr, int], bool]) -> AffineExpr | None:
    """Return the value of a comparison, if a prover of lower bounds finds it."""
    form = x.parts[0]
    if x.kind == ">=":
        return _ONE if holds(form, 0) else _ZERO if holds(-form, 1) else None
    same, other = (_ONE, _ZERO) if x.kind == "==" else (_ZERO, _ONE)
    if holds(form, 1) or holds(-form, 1):
        return other
    return same if holds(form, 0) and holds(-form, 0) else None


def compare_bit(x: Call) -> AffineExpr | None:
    """(x >= 0) = x + 1.

    If [x] lies in -1..0.
    """
    return x.parts[0] + 1 if x.parts[0].interval.within(-1, 0) else None


def compare_scale(x: Call) -> AffineExpr | None:
    """(g·y + r >= 0) = (y + q >= 0).

    If [r] lies in q·g..q·g + g - 1.
    """
    for y, _, q in _multiples(x.parts[0]):
        return call(">=", y + q)
    return None


def divided(x: AffineExpr, g: Int) -> tuple[AffineExpr, AffineExpr, Int | None]:
    """Return y, r and q with x = g·y + r and [r] in q·g..q·g + g - 1; q is None if not seen."""
    high = tuple([(a, c // g) for a, c in x.terms if c % g == 0])
    rest = AffineExpr(tuple([t for t in x.terms if t[1] % g != 0]), x.const)
    return AffineExpr(high, 0), rest, rest.interval.constant_quotient(g)


def _multiples(x: AffineExpr) -> Iterator[tuple[AffineExpr, AffineExpr, Int]]:
    """Yield y, r and q with x = g·y + r and [r] in q·g..q·g + g - 1, for a g above 1."""
    steps = [c for _, c in x.terms]
    for step in {*steps, reduce(common_divisor, steps, steps[0])} if steps else ():
        g = step if is_nonnegative(step) else -step
        if g != 1 and is_nonnegative(g - 1):
            high, rest, q = divided(x, g)
            if q is not None:
                yield high, rest - q * g, q


def compare_floor(x: Call) -> AffineExpr | None:
    """(x // s + q >= 0) = (x + s·q >= 0), and (q - x // s >= 0) = (s·q + s - 1 - x >= 0).

    For any x and q.
    """
    form = x.parts[0]
    if len(form.terms) != 1:
        return None
    ((d, c),) = form.terms
    if not isinstance(d, Digit) or d.modulus is not None or c not in (1, -1):
        return None
    if c == 1:
        return call(">=", d.operand + d.divisor * form.const)
    return call(">=", -d.operand + (d.divisor * form.const + d.divisor - 1))


def equal_decided(x: Call) -> AffineExpr | None:
    """(x == 0) = 0, and (y == 0) = 1, and (x != 0) = 1, and (y != 0) = 0.

    If [x] or [-x] is at least 1, and [y] lies in 0..0.
    """
    return decided(x, is_at_least)


def equal_bit(x: Call) -> AffineExpr | None:
    """(x == 0) = 1 - x, and (x != 0) = x, and (-x == 0) = 1 - x, and (-x != 0) = x.

    If [x] lies in 0..1.
    """
    (form,) = x.parts
    bit = form if form.interval.within(0, 1) else -form
    if not bit.interval.within(0, 1):
        return None
    return 1 - bit if x.kind == "==" else bit


def equal_scale(x: Call) -> AffineExpr | None:
    """(g·y == 0) = (y == 0), and (g·y != 0) = (y != 0), and (g·y + r == 0) = 0, and
    (g·y + r != 0) = 1.

    If [r] lies in 1..g - 1.
    """  # noqa: D205
    for y, r, q in _multiples(x.parts[0]):
        if not r.terms and r.const == 0:
            return call(x.kind, y + q)
        if is_at_least(r, 1):
            return _ZERO if x.kind == "==" else _ONE
    return None


def select_decided(x: Call) -> AffineExpr | None:
    """select(c, x, y) = x, and select(e, x, y) = y.

    If [c] or [-c] is at least 1, and [e] lies in 0..0.
    """
    condition, one, other = x.parts
    if is_at_least(condition, 1) or is_at_least(-condition, 1):
        return one
    return other if condition.interval.within(0, 0) else None


def select_equal(x: Call) -> AffineExpr | None:
    """select(c, x, x) = x.

    For any c and x.
    """
    return x.parts[1] if x.parts[1] == x.parts[2] else None


def select_number(x: Call) -> AffineExpr | None:
    """select(c, p, 0) = p·c.

    If [c] lies in 0..1.
    """
    condition, one, other = x.parts
    if one.terms or other != _ZERO or not condition.interval.within(0, 1):
        return None
    return condition * one.const


def select_swap(x: Call) -> AffineExpr | None:
    """select(c, 0, y) = select(1 - c, y, 0).

    If [c] lies in 0..1.
    """
    condition, one, other = x.parts
    turned = opposite(condition) if one == _ZERO else None
    return None if turned is None else call("select", turned, other, one)


def select_extremum(x: Call) -> AffineExpr | None:
    """select((x >= 0), z + g·x, z) = max(z + g·x, z), and
    select((x >= 0), z + g·x + g, z) = max(z + g·x + g, z), and
    select((x >= 0), z - g·x, z) = min(z - g·x, z), and
    select((x >= 0), z - g·x - g, z) = min(z - g·x - g, z).

    For any x and z.

    TVM: select(x >= y, x, y) -> max(x, y).
    """  # noqa: D205
    condition, one, other = x.parts
    atom = condition.as_atom()
    if not isinstance(atom, Call) or atom.kind != ">=":
        return None
    form, difference = atom.parts[0], one - other
    if not form.terms or not difference.terms:
        return None
    g, left = divmod(difference.terms[0][1], form.terms[0][1])
    if left != 0 or g == 0 or difference - form * g not in (_ZERO, AffineExpr((), g)):
        return None
    if not is_nonnegative(g) and not is_nonnegative(-g):
        return None
    return call("max" if is_nonnegative(g) else "min", one, other)


def compare_not(form: AffineExpr) -> AffineExpr | None:
    """p - p·(x >= 0) = p·(-x - 1 >= 0), and p - p·(x == 0) = p·(x != 0), and
    p - p·min(c, e) = p·max(1 - c, 1 - e), and p - p·max(c, e) = p·min(1 - c, 1 - e).

    For any x and p, and conditions c and e.
    """  # noqa: D205, D403
    for atom, c in form.terms:
        if c == -form.const and (other := opposite(AffineExpr(((atom, 1),), 0))) is not None:
            rest = AffineExpr(tuple([t for t in form.terms if t[0] is not atom]), 0)
            return rest + other * form.const
    return None


def opposite(condition: AffineExpr) -> AffineExpr | None:
    """Return the condition that holds where this one does not; None if it is none.

    >>> from morello_layouts.core.expr.affine import variable
    >>> print(opposite(call("min", call(">=", variable("i") - 4), call("==", variable("j")))))
    ((j != 0) or (i <= 3))
    """
    if not is_condition(condition):
        return None
    atom = condition.as_atom()
    assert isinstance(atom, Call)
    if atom.kind == ">=":
        return call(">=", -atom.parts[0] - 1)
    if len(atom.parts) == 1:
        return call("!=" if atom.kind == "==" else "==", *atom.parts)
    return call(_OPPOSITE[atom.kind], *(opposite(part) or part for part in atom.parts))


def facts_of(condition: AffineExpr, holds: bool) -> Iterator[AffineExpr]:
    """Yield forms that are at least 0 where a condition holds, or where it does not.

    >>> from morello_layouts.core.expr.affine import variable
    >>> print(*facts_of(call(">=", variable("i") - 4), False))
    -i + 3
    """
    atom = condition.as_atom()
    if isinstance(atom, Call) and atom.kind == ("min" if holds else "max"):
        for part in atom.parts:  # all of them hold, or none does
            yield from facts_of(part, holds)
    elif isinstance(atom, Call) and atom.kind == ">=":
        yield atom.parts[0] if holds else -atom.parts[0] - 1
    elif isinstance(atom, Call) and len(atom.parts) == 1:
        form = atom.parts[0]
        if holds == (atom.kind == "=="):
            yield from (form, -form)
        else:
            yield from (one - 1 for one in (form, -form) if is_at_least(one, 0))
    elif condition.interval.within(0, 1):
        yield condition - 1 if holds else -condition


def follows(form: AffineExpr, least: int, facts: Iterable[AffineExpr]) -> bool:
    """Return whether a form is at least a number where the facts are at least 0."""
    return any(
        is_at_least(form - fact * times, least)
        for fact in facts
        for times in {1, *_multiples_in(form, fact)}
    )


def _multiples_in(form: AffineExpr, fact: AffineExpr) -> Iterator[int]:
    """Yield how often a fact goes into a form, by its first term."""
    for atom, c in form.terms:
        if fact.terms and atom == fact.terms[0][0]:
            step = fact.terms[0][1]
            if isinstance(c, int) and isinstance(step, int) and c % step == 0 and c // step > 1:
                yield c // step


def narrowed(variables: Iterable[Var], facts: Iterable[AffineExpr]) -> dict[str, AffineExpr]:
    """Return variables with tighter bounds where some forms are at least 0.

    >>> from morello_layouts.core.expr.affine import variable
    >>> i, j = variable("i", 0, 31), variable("j", 2, 5)
    >>> print(narrowed(i.variables(), [8 - i - 2 * j])["i"].interval)
    0..4
    """
    known = {v.name: v.interval for v in variables}
    found: dict[str, Interval] = {}
    for fact in facts:
        for atom, c in fact.terms:
            if not isinstance(atom, Var) or atom.name not in known or c not in (1, -1):
                continue
            most = (fact - AffineExpr(((atom, c),), 0)).interval.hi
            lo, hi = found.get(atom.name, known[atom.name])
            if most is None:
                continue
            if c == 1 and (lo is None or is_nonnegative(-most - lo - 1)):
                found[atom.name] = Interval(-most, hi)
            if c == -1 and (hi is None or is_nonnegative(hi - most - 1)):
                found[atom.name] = Interval(lo, most)
    return {name: _variable(name, ends) for name, ends in found.items() if not _is_empty(ends)}


def quotients(
    variables: Iterable[Var], facts: Iterable[AffineExpr]
) -> dict[str, tuple[AffineExpr, int]]:
    """Return variables that a number divides where some forms are at least 0: quotient, number.

    >>> from morello_layouts.core.expr.affine import variable
    >>> i, j = variable("i", 0, 31), variable("j", 2, 5)
    >>> (quotient, number), = quotients(i.variables(), [-(i % 8), j - i]).values()
    >>> print(quotient.interval, number)
    0..3 8
    """
    known = {v.name: v.interval for v in variables}
    found = {}
    for fact in facts:
        rest = (-fact).as_atom()
        if isinstance(rest, Digit) and rest.divisor == 1 and isinstance(rest.modulus, int):
            v, d = rest.operand.as_atom(), rest.modulus
            if isinstance(v, Var) and v.name in known:
                lo, hi = known[v.name]
                ends = Interval(None if lo is None else lo + d - 1, hi).floordiv(d)
                if not _is_empty(ends):
                    found[v.name] = _variable(f"{v.name}//{d}", ends), d
    return found


def _variable(name: str, ends: Interval) -> AffineExpr:
    return AffineExpr(((Var(name, ends), 1),), 0)


def _is_empty(ends: Interval) -> bool:
    return ends.lo is not None and ends.hi is not None and is_nonnegative(ends.lo - ends.hi - 1)


EXTREMUM_RULES: tuple[Rule[Call], ...] = (
    Rule("extremum-nested", extremum_nested),
    Rule("extremum-decided", extremum_decided),
    Rule("extremum-bit", extremum_bit),
    Rule("extremum-shift", extremum_shift),
    Rule("extremum-scale", extremum_scale),
)

COMPARE_RULES: tuple[Rule[Call], ...] = (
    Rule("compare-decided", compare_decided),
    Rule("compare-bit", compare_bit),
    Rule("compare-scale", compare_scale),
    Rule("compare-floor", compare_floor),
)

EQUAL_RULES: tuple[Rule[Call], ...] = (
    Rule("equal-decided", equal_decided),
    Rule("equal-bit", equal_bit),
    Rule("equal-scale", equal_scale),
)

SELECT_RULES: tuple[Rule[Call], ...] = (
    Rule("select-decided", select_decided),
    Rule("select-equal", select_equal),
    Rule("select-extremum", select_extremum),
    Rule("select-shift", select_shift),
    Rule("select-number", select_number),
    Rule("select-swap", select_swap),
)
