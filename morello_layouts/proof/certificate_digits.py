"""Find the digits that prove a statement, by asking the checker what it cannot divide."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from math import gcd
from typing import Any, Final, TypeAlias

from morello_layouts import check as checker
from morello_layouts.check import BITS, ONE, Refused, World, divided, plus, product, put
from morello_layouts.errors import UnsupportedError
from morello_layouts.limits import CERTIFICATE_DIGITS, CERTIFICATE_TEXT, CERTIFICATE_WORK

Certificate: TypeAlias = dict[str, Any]
"""A statement and its proof as JSON: numbers, texts, lists and dictionaries."""

FROM: Final = "p_from_"
"""How names for p begin that count from a first slot."""


def certified(statement: Certificate) -> Certificate:
    """Return a statement with the digits that prove it."""
    if sum(map(len, map(str, statement.values()))) <= CERTIFICATE_TEXT:
        left = [CERTIFICATE_WORK]
        for first in ("one variable", "sums", "large divisors"):
            with suppress(Refused, MemoryError, RecursionError, StopIteration):
                return _found(statement, first, left)
    raise UnsupportedError(
        f"no certificate that {' and '.join(statement['about'])} is {statement['claim']}",
        "the claim is false, or not provable by digits in which floors and remainders are exact",
        "ask whether it holds; if there is padding, give claim='padded' or assume sizes without",
    )


def _found(statement: Certificate, first: str, left: list[int]) -> Certificate:
    """Return a statement with the digits that the checker needs to divide."""
    found = {**statement, "digits": [], "digits_of_slots": []}
    limits = statement.get("limits", [])
    for k, (text, n) in enumerate(limits):
        if [text, n] != ["p", statement["end"]]:  # known of p
            found["digits_of_slots"] += [*_zeros(k, text, n)]
            found["digits_of_slots"] += [*_of_limit(k, limits, statement["end"])]
    lists = {key: [*found[key]] for key in ("digits", "digits_of_slots")}
    try:
        checker.check({**found, **lists}, lambda sizes: _Search(sizes, found, first, left))
    finally:
        left[0] = checker.LEFT[0]
    checker.check(found)
    return found


def _of_limit(k: int, limits: list[list[str]], end: str) -> Iterator[dict[str, Any]]:
    """Yield the name that says that a text of p is below a size, or p at least a number."""
    text, n = limits[k]
    known = [one for one in limits if one[1].isdecimal()]
    opposite = [(x, int(least), total) for x, least in known for total in _total(text, x)]
    falls = "(-1)*" in text and n.isdecimal()
    if not falls and opposite:
        other, least, total = opposite[0]
        more = least - 1 - total
        entry = {"name": f"p_below_{k}", "is": f"{more} + {text}", "below": f"{more} + {n}"}
        yield {**entry, "limit": [text, n], "also": [other, str(least)]}
    elif n == "0" or (falls and not opposite):
        form = f"{int(n) - 1} - ({text})"
        last = re.sub(r"(?:\(p//\w+\)|\bp) % (\d+)", lambda found: f"({found[1]} - 1)", form)
        last = re.sub(r"\bp\b", f"({end} - 1)", last)
        yield {"name": f"{FROM}{k}", "is": form, "below": f"1 + {last}", "limit": [text, n]}
    elif not falls:
        yield {"name": f"p_below_{k}", "is": text, "below": n}


def _total(one: str, other: str) -> Iterator[int]:
    """Yield the sum of two texts if one is a number minus the other.

    >>> [*_total("-2 + p//8", "3 + (-1)*(p//8)")]
    [1]
    """
    parts = Counter[str]()
    for text in (one, other):
        for factor, term in _terms(ast.parse(text, mode="eval").body):
            parts[term] += factor
    if not any(c for term, c in parts.items() if not _is_number(term)):
        yield sum(int(term) * c for term, c in parts.items() if _is_number(term))


def _is_number(term: str) -> bool:
    return term.removeprefix("-").isdecimal()


def _zeros(k: int, text: str, n: str) -> Iterator[dict[str, Any]]:
    """Yield names that say which terms of a text are 0 because it is below a small number."""
    terms = (
        [*_terms(ast.parse(text, mode="eval").body)] if n.isdecimal() and "-" not in text else []
    )
    for at, (factor, term) in enumerate(terms):
        if factor >= int(n) > 0 and len(terms) > 1:
            yield {"name": f"p_zero_{k}_{at}", "is": term, "below": "1", "limit": [text, n]}


def _terms(tree: ast.expr) -> Iterator[tuple[int, str]]:
    """Yield the terms of a sum with their factors.

    >>> [*_terms(ast.parse("p % 4 + 128*(p//512)", mode="eval").body)]
    [(1, 'p % 4'), (128, 'p // 512')]
    """
    match tree:
        case ast.BinOp(left, ast.Add(), right):
            yield from (*_terms(left), *_terms(right))
        case ast.BinOp(ast.Constant(int(factor)), ast.Mult(), right):
            yield factor, ast.unparse(right)
        case ast.BinOp(ast.UnaryOp(ast.USub(), ast.Constant(int(factor))), ast.Mult(), right):
            yield -factor, ast.unparse(right)
        case _:
            yield 1, ast.unparse(tree)


class _Search(World):
    """A world that defines the digits which a division needs.

    Attributes:
        found: the certificate, whose lists of digits grow.
        first: what is tried first: to split one variable, to name sums of them, or to split a
            coordinate by the largest number that it is divided by.
    """

    def __init__(self, sizes: Any, found: Certificate, first: str, left: list[int]) -> None:
        super().__init__(sizes)
        checker.LEFT[0] = left[0]
        self.found, self.first = found, first

    def divisors(self, v: str) -> list[int]:
        """Return the numbers that a statement divides a coordinate by."""
        texts = " ".join([self.found["offset"], *self.found.get("others", ())])
        return [int(n) for n in re.findall(rf"\bd{v[1:]} ?(?://|%) ?(\d+)", texts)]

    def divide(self, p: Any, s: Any) -> Any:
        while True:
            try:
                return super().divide(p, s)
            except Refused as why:
                entry = _missing_digits(self, *why.args[1:]) if self in why.args else None
                if entry is None or len(self.definitions) >= CERTIFICATE_DIGITS:
                    raise
                self.add(entry)

    def lies_below(self, p: Any, n: Any) -> bool:
        while not super().lies_below(p, n):
            entry = _exclusive_or(self, p)
            if entry is None:
                return False
            self.add(entry)
        return True

    def add(self, entry: dict[str, str]) -> None:
        """Add digits to the list that they belong to, before the definition that needs them."""
        digits, of_slots = self.found["digits"], self.found["digits_of_slots"]
        defined = len(self.definitions)
        if next(iter(entry.values())).startswith("p"):
            of_slots.insert(max(0, defined - len(digits)), entry)
        else:
            digits.insert(defined, entry)
        self.define(entry)


def _missing_digits(world: _Search, dividend: Any, s: Any) -> dict[str, str] | None:
    """Return digits of one variable that bring a remainder nearer to below its divisor."""
    for name, form, _ in world.definitions:
        if name.startswith(FROM):
            dividend = world.renamed(dividend, name, form)
    exclusive = _exclusive_or(world, dividend)
    if exclusive is not None:
        return exclusive
    _, rest = divided(dividend, s)
    factors = {
        v: divided(rest, {(v,): 1})[0]
        for v in world.names.keys() - world.sizes.keys()
        if any(v in m for m in rest)
    }
    in_order = sorted(factors.items(), key=lambda x: (_weight(x[1]), x[0]), reverse=True)
    is_named = world.first == "sums" and len(factors) > 1 and min(factors).startswith("d")
    for v, factor in [] if is_named else in_order:
        by, left = divided(s, factor)
        if left:
            break
        lower = [(w, f) for w, f in factors.items() if w != v and divided(f, factor)[1]]
        reach: Any = {}
        for w, f in lower:
            reach = plus(reach, product(f, world.high[w]))
        is_high = world.is_nonnegative(plus(plus(factor, ONE, -1), reach, -1))
        if not is_high:
            break
        if not world.is_nonnegative(plus(plus(by, ONE, -1), world.high[v], -1)):
            return _split(world, v, by)
    left_over = {m: c for m, c in dividend.items() if factors.keys() & set(m) or m in rest}
    return _named_sum(world, left_over, s, factors)


def _named_sum(world: _Search, left_over: Any, s: Any, factors: Any) -> dict[str, str] | None:
    """Return a name for the rest of a sum, or digits of the name that it has."""
    shared = gcd(*left_over.values(), *s.values())
    form = {m: c // shared for m, c in left_over.items()}
    known = next((v for v, known, _ in world.definitions if known == form), None)
    if known is not None:
        if not any(v == known and kind == "split" for v, _, kind in world.definitions):
            return _split(world, known, {m: c // shared for m, c in s.items()})
        *_, named, _ = world.ways(left_over)
        return _missing_digits(world, named, s) if named != left_over else None
    if len(factors) < 2:
        return None
    _, whole, *_ = world.ways(form)
    end = plus(_largest(world, whole), ONE)
    name = f"{min(factors)[0]}_{len(world.definitions)}"
    text = _Texts(world)
    return {"name": name, "is": text(form), "below": text(end)}


def _exclusive_or(world: World, dividend: Any) -> dict[str, str] | None:
    """Return a name for the exclusive or of two bits that has none."""
    for bit in sorted({v for m in dividend if len(m) > 1 for v in m} & BITS):
        factor, _ = divided(dividend, {(bit,): 1})
        sign, left = divided(factor, {(): factor.get((), 1)})  # 1 - 2 * the other bit
        if not left and product(sign, sign) == ONE:
            other, _ = divided(plus(ONE, sign, -1), {(): 2})
            form = plus(plus({(bit,): 1}, other), product({(bit,): 1}, other), -2)
            if all(known != form for _, known, _ in world.definitions):
                name = f"{bit}_{len(world.definitions)}x"
                return {"name": name, "is": _Texts(world)(form), "below": "2"}
    return None


def _split(world: _Search, v: str, by: Any) -> dict[str, str] | None:
    text = _Texts(world)
    v = next((name for name, form, _ in world.definitions if form == {(v,): 1}), v)
    if world.first == "large divisors" and by.keys() == {()}:
        by = {(): max(n for n in (by[()], *world.divisors(v)) if n % by[()] == 0)}
    below = text.ceiling(plus(world.high[v], ONE), by)
    high, low = (f"{v}_{len(world.definitions)}{end}" for end in "hl")
    return {"split": v, "by": text(by), "high": high, "low": low, "below": below}


def _largest(world: World, form: Any) -> Any:
    """Return a size that no value of a form is above."""
    total: Any = {}
    for m, c in form.items():
        term = {m: c}
        for v in {*m} - world.sizes.keys() - world.rounded.keys():
            term = put(term, v, world.high[v] if c > 0 else {})
        total = plus(total, term)
    return total


def _weight(factor: Any) -> tuple[int, int]:
    return max((len(m), c) for m, c in factor.items())


class _Texts:
    """Texts of a checker's polynomials."""

    def __init__(self, world: World) -> None:
        self.world = world

    def __call__(self, p: Any) -> str:
        parts = ("*".join([str(c), *map(self.atom, m)]) for m, c in p.items())
        return " + ".join(parts) or "0"

    def atom(self, atom: str) -> str:
        if atom in self.world.rounded:
            inner, n = self.world.rounded[atom]
            return f"(-(-({self(inner)})//{n}))"
        named = self.world.sizes.get(atom)
        step = 1 if named is None else named[atom,]
        return atom if step == 1 else f"({atom}//{step})"

    def ceiling(self, p: Any, by: Any) -> str:
        """Return a size that is at least p / by: ``ceil(P/n)`` in a divisor is at least P/n."""
        for atom in {v for m in by for v in m} & self.world.rounded.keys():
            inner, n = self.world.rounded[atom]
            if not divided(p, {(atom,): 1})[0]:
                p, by = product(p, {(): n}), put(by, atom, inner)
        quotient, left = divided(p, by)
        if left and by.keys() == {()}:
            return f"-(-({self(p)})//{self(by)})"
        return self(plus(quotient, ONE) if left else quotient)
