"""Find the digits that prove a statement, by asking the checker what it cannot divide."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from math import gcd
from typing import Any, Final, TypeAlias

from morello_layouts import check as checker
from morello_layouts.check import CLAIMS, ONE, Checker, Refused
from morello_layouts.core.limits import CERTIFICATE_DIGITS, CERTIFICATE_TEXT, CERTIFICATE_WORK
from morello_layouts.errors import UnsupportedError

Certificate: TypeAlias = dict[str, Any]
"""A statement and its proof as JSON: numbers, texts, lists and dictionaries."""

UNCLEAR: Final = "a remainder is not clear"
"""What the checker says if digits are missing."""

FROM: Final = "p_from_"
"""How names for p begin that count from a first slot."""


def certified(statement: Certificate, singly: Iterable[int] | None = None) -> Certificate:
    """Return a statement with the digits that prove it; without, the elements are taken singly.

    ``singly`` are the coordinates whose values are then taken one by one; by default all.
    """
    if sum(map(len, map(str, statement.values()))) <= CERTIFICATE_TEXT:
        left = [CERTIFICATE_WORK]
        for first in ("one variable", "sums", "large divisors", "rounded sizes"):
            with suppress(Refused, MemoryError, RecursionError, StopIteration):
                return _found(statement, first, left)
        with suppress(Refused):
            return _singly(statement, singly)
    raise UnsupportedError(
        f"no certificate that {' and '.join(statement['about'])} is {statement['claim']}",
        "the claim is false, or not provable by digits in which floors and remainders are exact",
        "ask whether it holds; if there is padding, give claim='padded' or assume sizes without",
    )


def _found(statement: Certificate, first: str, left: list[int]) -> Certificate:
    """Return a statement with the digits that the checker needs to divide."""
    has_slots = "digits_of_slots" in CLAIMS[statement["claim"]][0]
    found = {**statement, "digits": [], **({"digits_of_slots": []} if has_slots else {})}
    limits = statement.get("limits", [])
    for k, (text, n) in enumerate(limits):
        if [text, n] != ["p", statement["end"]]:  # known of p
            found["digits_of_slots"] += [*_zeros(k, text, n)]
            found["digits_of_slots"] += [*_of_limit(k, limits, statement["end"])]
    if first == "rounded sizes":  # then they are known before the digits that lie below them
        rounded = dict.fromkeys(re.findall(r"\(-\(\(-\w+\)//\d+\)\)", statement["offset"]))
        found["digits"] = [
            {"name": f"rounded_{k}", "is": "0", "below": x} for k, x in enumerate(rounded)
        ]
    lists = {key: [*found[key]] for key in found.keys() & {"digits", "digits_of_slots"}}
    search = _Search(found, first, left[0])
    try:
        checker.check({**found, **lists}, lambda: search)
    finally:
        left[0] = search.left
    checker.check(found)
    return found


def _singly(statement: Certificate, which: Iterable[int] | None) -> Certificate:
    """Return a statement about numbers that the checker asks of each element, and of each slot."""
    every = range(len(statement["shape"])) if which is None else which
    found = {**statement, "digits": [{"each": f"d{k}"} for k in every]}
    if "digits_of_slots" in CLAIMS[statement["claim"]][0]:
        found["digits_of_slots"] = [{"each": "p"}]
    checker.check(found)
    return found


def _of_limit(k: int, limits: list[list[str]], end: str) -> Iterator[dict[str, Any]]:
    """Yield the name that says that a text of p is below a size, or p at least a number."""
    text, n = limits[k]
    known = [(at, one) for at, one in enumerate(limits) if one[1].isdecimal()]
    opposite = [(at, int(least), total) for at, (x, least) in known for total in _total(text, x)]
    falls = "(-1)*" in text and n.isdecimal()
    if not falls and opposite:
        other, least, total = opposite[0]
        more = least - 1 - total
        entry = {"name": f"p_below_{k}", "is": f"{more} + {text}", "below": f"{more} + {n}"}
        yield {**entry, "using": [str(k), str(other)]}
    elif n == "0" or (falls and not opposite):
        form = f"{int(n) - 1} - ({text})"
        last = re.sub(r"(?:\(p//\w+\)|\bp) % (\d+)", lambda found: f"({found[1]} - 1)", form)
        last = re.sub(r"\bp\b", f"({end} - 1)", last)
        yield {"name": f"{FROM}{k}", "is": form, "below": f"1 + {last}", "using": [str(k)]}
    elif not falls:
        yield {"name": f"p_below_{k}", "is": text, "below": n, "using": [str(k)]}


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
            yield {"name": f"p_zero_{k}_{at}", "is": term, "below": "1", "using": [str(k)]}


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


class _Search(Checker):
    """A checker that defines the digits which a division needs.

    Attributes:
        found: the certificate, whose lists of digits grow.
        first: what is tried first: to split one variable, to name sums of them, to split a
            coordinate by the largest number that it is divided by, or to name rounded sizes.
    """

    def __init__(self, found: Certificate, first: str, left: int) -> None:
        super().__init__()
        self.left, self.found, self.first = left, found, first

    def name(self, atom: int) -> str:
        """Return the name of a variable."""
        return str(next(name for name, p in self.variables.items() if p == {(atom,): 1}))

    def atoms(self, p: Any) -> list[int]:
        """Return the variables of a polynomial."""
        return sorted({a for m in p for a in m} - self.known)

    def new_name(self, kind: str) -> str:
        """Return a name that nothing has: its kind, and the number of definitions before it."""
        found = f"{kind}{len(self.definitions)}"
        while found in self.sizes or found in self.variables:
            found += "_"
        return found

    def divisors(self, v: str) -> list[int]:
        """Return the numbers that a statement divides a coordinate by."""
        texts = " ".join([self.found["offset"], *self.found.get("others", ())])
        return [int(n) for n in re.findall(rf"\bd{v[1:]} ?(?://|%) ?(\d+)", texts)]

    def divide(self, p: Any, s: Any) -> Any:
        while True:
            try:
                return super().divide(p, s)
            except Refused as why:
                entry = None if str(why) != UNCLEAR else _missing_digits(self, p, s)
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
        digits, at = self.found["digits"], len(self.definitions)
        if "p" in self.variables:
            self.found["digits_of_slots"].insert(at - len(digits), entry)
        else:
            digits.insert(at, entry)
        self.define(entry)


def _missing_digits(search: _Search, p: Any, s: Any) -> dict[str, str] | None:
    """Return digits of one variable that bring a remainder nearer to below its divisor."""
    *_, of_limits, dividend = search.ways(p)
    for name, v, form in search.definitions:
        if name == "using" and v and search.name(next(iter(v))[0]).startswith(FROM):
            dividend = search.folded(dividend, v, form)
    return _digits_for(search, dividend, s) or _digits_for(search, of_limits, s)


def _digits_for(search: _Search, dividend: Any, s: Any) -> dict[str, str] | None:
    """Return the digits that one way to write a dividend lacks."""
    exclusive = _exclusive_or(search, dividend)
    if exclusive is not None:
        return exclusive
    _, rest = search.divided(dividend, s)
    factors = {v: search.parts(rest, v)[0] for v in search.atoms(rest)}
    for v, factor in factors.items():
        if factor.keys() == s.keys() == {()} and factor[()] < 0 == s[()] % factor[()]:
            return _turned(search, v, s[()] // -factor[()])
    in_order = sorted(factors.items(), key=lambda x: (_weight(x[1]), -x[0]), reverse=True)
    is_named = search.first == "sums" and len(factors) > 1 and "p" not in search.variables
    for v, factor in [] if is_named else in_order:
        by, left = search.divided(s, factor)
        if left:
            break
        lower = [(w, f) for w, f in factors.items() if w != v and search.divided(f, factor)[1]]
        reach: Any = {}
        for w, f in lower:
            reach = search.plus(reach, search.product(f, search.high[w]))
        is_high = search.is_nonnegative(search.minus(search.minus(factor, ONE), reach))
        if not is_high:
            break
        if not search.is_nonnegative(search.minus(search.minus(by, ONE), search.high[v])):
            return _split(search, v, by)
    left_over = {m: c for m, c in dividend.items() if factors.keys() & set(m) or m in rest}
    return _named_sum(search, left_over, s, factors)


def _turned(search: _Search, v: int, by: int) -> dict[str, str] | None:
    """Return a name for a variable that is taken away, from which its quotients count down.

    With s = v + by - 1, it is -v = by - 1 - s: as many as the remainder of s lacks, and a multiple.
    """
    own: Any = next((form for _, w, form in search.definitions if w == {(v,): 1}), {})
    if own.get((), 0) == by - 1 and len(own) == 2:
        splits = [w for kind, w, _ in search.definitions if kind == "split"]
        return None if {(v,): 1} in splits else _split(search, v, {(): by})
    text = _Texts(search)
    form = search.plus({(v,): 1}, {(): by - 1})
    below = search.plus(search.high[v], {(): by})
    return {"name": search.new_name("t"), "is": text(form), "below": text(below)}


def _named_sum(search: _Search, left_over: Any, s: Any, factors: Any) -> dict[str, str] | None:
    """Return a name for the rest of a sum, or digits of the name that it has."""
    shared = gcd(*left_over.values(), *s.values())
    form = {m: c // shared for m, c in left_over.items()}
    known = next((v for _, v, known in search.definitions if v and known == form), None)
    if known is not None:
        if not any(v == known and kind == "split" for kind, v, _ in search.definitions):
            by = {m: c // shared for m, c in s.items()}
            return _split(search, next(iter(known))[0], by)
        *_, named = search.ways(left_over)
        return _missing_digits(search, named, s) if named != left_over else None
    if len(factors) < 2:
        return None
    whole = form
    for kind, v, known in reversed(search.definitions):
        if kind == "split":
            whole = search.folded(whole, v, known)
        elif v:
            whole = search.put(whole, next(iter(v))[0], known)
    end = search.plus(_largest(search, whole), ONE)
    text = _Texts(search)
    return {"name": search.new_name("s"), "is": text(form), "below": text(end)}


def _exclusive_or(search: _Search, dividend: Any) -> dict[str, str] | None:
    """Return a name for the exclusive or of two bits that has none."""
    for bit in sorted({v for m in dividend if len(m) > 1 for v in m} & search.bits):
        factor, _ = search.parts(dividend, bit)
        sign, left = search.divided(factor, {(): factor.get((), 1)})  # 1 - 2 * the other bit
        if not left and search.product(sign, sign) == ONE:
            other, _ = search.divided(search.minus(ONE, sign), {(): 2})
            form = search.plus({(bit,): 1}, other)
            form = search.plus(form, search.product({(bit,): 1}, other), -2)
            if all(known != form for *_, known in search.definitions):
                return {"name": search.new_name("x"), "is": _Texts(search)(form), "below": "2"}
    return None


def _split(search: _Search, v: int, by: Any) -> dict[str, str] | None:
    text = _Texts(search)
    v = next((next(iter(w))[0] for _, w, form in search.definitions if w and form == {(v,): 1}), v)
    name = search.name(v)
    if search.first == "large divisors" and by.keys() == {()}:
        by = {(): max(n for n in (by[()], *search.divisors(name)) if n % by[()] == 0)}
    below = text.ceiling(search.plus(search.high[v], ONE), by)
    high, low = search.new_name("h"), search.new_name("l")
    return {"split": name, "by": text(by), "high": high, "low": low, "below": below}


def _largest(search: _Search, form: Any) -> Any:
    """Return a size that no value of a form is above."""
    total: Any = {}
    for m, c in form.items():
        term = {m: c}
        for v in search.atoms(term):
            term = search.put(term, v, search.high[v] if c > 0 else {})
        total = search.plus(total, term)
    return total


def _weight(factor: Any) -> tuple[int, int]:
    return max((len(m), c) for m, c in factor.items())


class _Texts:
    """Texts of a checker's polynomials."""

    def __init__(self, search: _Search) -> None:
        self.search = search

    def __call__(self, p: Any) -> str:
        parts = (
            "*".join([*([str(c)] if c != 1 or not m else []), *map(self.atom, m)])
            for m, c in p.items()
        )
        return " + ".join(parts) or "0"

    def atom(self, atom: int) -> str:
        if atom in self.search.rounded:
            inner, n = self.search.rounded[atom]
            return f"(-(-({self(inner)})//{n}))"
        for name, p in self.search.sizes.items():
            if (atom,) in p:
                return str(name if p[atom,] == 1 else f"({name}//{p[atom,]})")
        return self.search.name(atom)

    def ceiling(self, p: Any, by: Any) -> str:
        """Return a size that is at least p / by: ``ceil(P/n)`` in a divisor is at least P/n."""
        for atom in {v for m in by for v in m} & self.search.rounded.keys():
            inner, n = self.search.rounded[atom]
            if not self.search.parts(p, atom)[0]:
                p = self.search.product(p, {(): n})
                by = self.search.put(by, atom, inner)
        quotient, left = self.search.divided(p, by)
        if left and by.keys() == {()}:
            return f"-(-({self(p)})//{self(by)})"
        return self(self.search.plus(quotient, ONE) if left else quotient)
