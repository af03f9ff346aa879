"""Values at the outermost loop at which they are known, and counters in place of divisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from morello_layouts.core.expr import (
    OPERATIONS,
    AffineExpr,
    Atom,
    BitXor,
    Digit,
    Var,
    variable,
)
from morello_layouts.core.expr.sizes import Int, SizeExpr, is_nonnegative
from morello_layouts.core.expr.substitution import replace_digits, substitute
from morello_layouts.outputs.codegen.statements import Counter, LoopAxis, NamedValue, fresh


@dataclass
class Hoist:
    """The values to compute at each level: before the loops, and inside of each loop."""

    axes: Sequence[LoopAxis]  #: the loops in order.
    taken: set[str]  #: names that values cannot have.
    #: the values at each level; level k is inside of the first k loops.
    values: list[list[NamedValue]] = field(init=False)
    _levels: dict[str, int] = field(init=False)
    _known: dict[AffineExpr, AffineExpr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.values = [[] for _ in range(len(self.axes) + 1)]
        self._levels = {axis.name: k + 1 for k, axis in enumerate(self.axes)}

    def level(self, *forms: AffineExpr) -> int:
        names = (v.name for form in forms for v in form.variables())
        return max((self._levels.get(name, 0) for name in names), default=0)

    def at(self, form: AffineExpr, level: int, stem: str) -> AffineExpr:
        """Return a form for a level whose parts of outer levels are named values there.

        >>> from morello_layouts.core.expr import variable
        >>> i, j = LoopAxis("i", "i", 1, 4), LoopAxis("j", "j", 1, 8)
        >>> hoist = Hoist((i, j), {"i", "j"})
        >>> print(hoist.at(8 * i.variable + j.variable, 2, "a"), "with", hoist.values[1][0])
        a1 + j with a1 = 8*i
        """
        parts: dict[int, list[tuple[Atom, Int]]] = {}
        for atom, c in form.terms:
            own = self.level(AffineExpr(((atom, 1),), 0))
            factor = self._factor(c, f"{stem}_{atom}" if isinstance(atom, Var) else stem)
            parts.setdefault(own, []).append((self._atom(atom, own, stem), factor))
        base = AffineExpr((), form.const)
        for own in sorted(parts):
            base = base + AffineExpr.from_terms(parts[own])
            if own < level:
                base = self._named(base, own, stem)
        return base

    def whole(self, form: AffineExpr, level: int, name: str) -> AffineExpr:
        """Return a form for a level; of an outer level, as a value with a name of its own."""
        own = self.level(form)
        if own == level or not form.terms or isinstance(form.as_atom(), Var):
            return form
        self.values[own].append(NamedValue(name, form))
        return variable(name, *form.interval)

    def _atom(self, atom: Atom, level: int, stem: str) -> Atom:
        if isinstance(atom, Var):
            return atom
        if isinstance(atom, BitXor):
            return BitXor(self.at(part, level, f"{stem}_") for part in atom.parts)
        return Digit(self.at(atom.operand, level, f"{stem}_"), atom.divisor, atom.modulus)

    def _factor(self, factor: Int, stem: str) -> Int:
        """Return a factor; a polynomial of sizes as a value before the loops, if its sign is known.

        The value has a name like that of a size, which is never negative.
        """
        if isinstance(factor, int) or str(factor).lstrip("-").isidentifier():
            return factor
        negated = not is_nonnegative(factor)
        if negated and not is_nonnegative(-factor):
            return factor
        form = AffineExpr((), -factor if negated else factor)
        if form not in self._known:
            name = self._unused(stem)
            self.values[0].append(NamedValue(name, form))
            self._known[form] = AffineExpr((), SizeExpr.named(name))
        return self._known[form].const * (-1 if negated else 1)

    def _named(self, form: AffineExpr, level: int, stem: str) -> AffineExpr:
        """Return the value of a form at its level; a variable or a number needs none."""
        atom = form.as_atom()
        if not form.terms or isinstance(atom, Var):
            return form
        known = self._known.get(form)
        if known is None:
            name = self._unused(f"{stem}{level}")
            self.values[level].append(NamedValue(name, form))
            known = self._known[form] = variable(name, *form.interval)
            self._levels[name] = level
        return known

    def _unused(self, stem: str) -> str:
        name = fresh(stem, self.taken)
        self.taken.add(name)
        return name


def expanded(form: AffineExpr, values: Iterable[NamedValue]) -> AffineExpr:
    """Return a form with the forms of values in place of their names, outer values first."""
    known: dict[str, AffineExpr] = {}
    for value in values:
        known[value.name] = substitute(value.form, known)
    return substitute(form, known)


_LARGEST = 2**31
"""Counters stay below this, so that their type never depends on a step."""


def counted(
    forms: Mapping[str, AffineExpr], axis: LoopAxis, taken: set[str]
) -> tuple[dict[str, AffineExpr], tuple[Counter, ...]]:
    """Return forms with counters of an innermost loop in place of digits, where that is less work.

    >>> from morello_layouts.core.expr import variable
    >>> i, j = variable("i", 0, 9), LoopAxis("j", "j", 1, 9)
    >>> forms, (counter,) = counted({"x": 8 * ((i + j.variable) // 4)}, j, {"i", "j"})
    >>> print(forms["x"], "with", counter.operand, counter.step, counter.divisor)
    8*q0 with i + j 1 4
    """
    found = _Counters(axis, taken)
    changed = {name: replace_digits(form, found.change) for name, form in forms.items()}
    before = sum(map(OPERATIONS.cost, forms.values()))
    after = sum(map(OPERATIONS.cost, changed.values())) + sum(c.cost for c in found.counters())
    return (changed, found.counters()) if after < before else (dict(forms), ())


class _Counters:
    """The counters of a loop so far, by operand and divisor."""

    def __init__(self, axis: LoopAxis, taken: set[str]) -> None:
        self.axis, self.taken = axis, taken
        self.known: dict[tuple[AffineExpr, int, int | None], list[str]] = {}

    def change(self, digit: Digit) -> AffineExpr:
        s, n = digit.divisor, digit.modulus
        if s == 1 and n is not None:
            s, n, is_rest = n, None, True
        else:
            is_rest = False
        step = dict(digit.operand.terms).get(self.axis.variable.as_atom() or digit, 0)
        if not self._is_counted(digit.operand, step, s, n):
            operand = replace_digits(digit.operand, self.change)
            return AffineExpr(((Digit(operand, digit.divisor, digit.modulus), 1),), 0)
        assert isinstance(s, int)
        key = self._key(digit.operand, s, n if isinstance(n, int) else None, is_rest)
        names = self.known.setdefault(key, ["", self._fresh("r")])
        if is_rest:
            return variable(names[1], *digit.interval)
        names[0] = names[0] or self._fresh("q")
        return variable(names[0], *digit.interval)

    def _key(
        self, operand: AffineExpr, s: int, n: int | None, is_rest: bool
    ) -> tuple[AffineExpr, int, int | None]:
        """Return the key of a counter; a rest is that of any quotient."""
        same = [key for key in self.known if key[:2] == (operand, s)]
        return same[0] if is_rest and same else (operand, s, n)

    def _is_counted(self, operand: AffineExpr, step: object, s: object, n: object) -> bool:
        if not isinstance(step, int) or not isinstance(s, int) or not 0 < step < _LARGEST - s:
            return False
        if operand.has_digits or not (n is None or isinstance(n, int)):
            return False
        lo = operand.interval.lo
        if lo is None or not is_nonnegative(lo):
            return False
        return step % s != 0 and (n is None or step // s + 1 <= n)

    def _fresh(self, stem: str) -> str:
        k = 0
        while f"{stem}{k}" in self.taken:
            k += 1
        self.taken.add(f"{stem}{k}")
        return f"{stem}{k}"

    def counters(self) -> tuple[Counter, ...]:
        found = []
        for (operand, s, n), (quotient, rest) in self.known.items():
            step = dict(operand.terms)[self.axis.variable.terms[0][0]]
            assert isinstance(step, int)
            found.append(Counter(quotient, rest, operand, step, s, n))
        return tuple(found)
