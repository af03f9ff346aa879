"""Find the digits that prove a statement, by asking the checker what it cannot divide."""

from __future__ import annotations

from contextlib import suppress
from math import gcd
from typing import Any, TypeAlias

from morello_layouts import check as checker
from morello_layouts.check import ONE, Refused, World, divided, plus, product
from morello_layouts.errors import UnsupportedError
from morello_layouts.limits import CERTIFICATE_DIGITS, CERTIFICATE_TEXT

Certificate: TypeAlias = dict[str, Any]
"""A statement and its proof as JSON: numbers, texts, lists and dictionaries."""

_Polynomial: TypeAlias = dict[tuple[str, ...], int]


def certified(statement: Certificate) -> Certificate:
    """Return a statement with the digits that prove it.

    Raises:
        UnsupportedError: if they were not found, which says nothing about the statement.
    """
    found = {**statement, "digits": [], "digits_of_slots": []}
    for k, (text, n) in enumerate(statement.get("limits", ())):
        found["digits_of_slots"].append({"name": f"p_below_{k}", "is": text, "below": n})
    is_short = sum(map(len, map(str, statement.values()))) <= CERTIFICATE_TEXT
    for _ in range(CERTIFICATE_DIGITS if is_short else 0):
        try:
            checker.check(found)
        except Refused as why:
            entry = None
            with suppress(Refused):  # too much work
                if isinstance(why.args[0], World):
                    entry = _missing_digits(*why.args)
            if entry is None:
                break
            _insert(found, len(why.args[0].definitions), entry)
        except (MemoryError, RecursionError, StopIteration):
            break
        else:
            return found
    raise UnsupportedError(
        f"no certificate that {' and '.join(statement['about'])} is {statement['claim']}",
        "the claim is false, or not provable by digits in which floors and remainders are exact",
        "ask whether it holds; if there is padding, give claim='padded' or assume sizes without",
    )


def _insert(found: Certificate, defined: int, entry: dict[str, str]) -> None:
    """Add digits to the list that they belong to, before the definition that needs them."""
    digits, of_slots = found["digits"], found["digits_of_slots"]
    if next(iter(entry.values())).startswith("p"):
        of_slots.insert(max(0, defined - len(digits)), entry)
    else:
        digits.insert(defined, entry)


def _missing_digits(world: World, dividend: Any, s: Any) -> dict[str, str] | None:
    """Return digits of one variable that bring a remainder nearer to below its divisor."""
    _, rest = divided(dividend, s)
    factors = {
        v: divided(rest, {(v,): 1})[0]
        for v in world.names.keys() - world.sizes.keys()
        if any(v in m for m in rest)
    }
    text = _Texts(world)
    for v, factor in sorted(
        factors.items(), key=lambda pair: (_weight(pair[1]), pair[0]), reverse=True
    ):
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
    return {"name": name, "is": text(form), "below": text(end)}


def _split(world: World, v: str, by: Any) -> dict[str, str] | None:
    text = _Texts(world)
    below = text.ceiling(plus(world.high[v], ONE), by)
    high, low = (f"{v}_{len(world.definitions)}{end}" for end in "hl")
    return {"split": v, "by": text(by), "high": high, "low": low, "below": below}


def _largest(world: World, form: Any) -> Any:
    total: Any = {}
    for m, c in form.items():
        v = next(
            (atom for atom in m if atom not in world.sizes and atom not in world.rounded), None
        )
        term = {m: c} if v is None else product(divided({m: c}, {(v,): 1})[0], world.high[v])
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
        """Return a size that is at least p / by."""
        quotient, left = divided(p, by)
        if left and by.keys() == {()}:
            return f"-(-({self(p)})//{self(by)})"
        return self(plus(quotient, ONE) if left else quotient)
