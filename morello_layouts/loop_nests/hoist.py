"""Values at the outermost loop at which they are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from morello_layouts.expr import AffineExpr, Atom, BitXor, Digit, Var, variable
from morello_layouts.expr.sizes import Int, SizeExpr, is_nonnegative
from morello_layouts.expr.substitution import substitute
from morello_layouts.loop_nests.space import Axis


@dataclass(frozen=True, slots=True)
class Value:
    """A named value."""

    name: str
    form: AffineExpr
    about: str = ""

    def __str__(self) -> str:
        return f"{self.name} = {self.form}"


@dataclass
class Hoist:
    """The values to compute at each level: before the loops, and inside of each loop.

    Attributes:
        axes: the loops in order.
        taken: names that values cannot have.
        values: the values at each level; level k is inside of the first k loops.
    """

    axes: Sequence[Axis]
    taken: set[str]
    values: list[list[Value]] = field(init=False)
    _levels: dict[str, int] = field(init=False)
    _known: dict[AffineExpr, AffineExpr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.values = [[] for _ in range(len(self.axes) + 1)]
        self._levels = {axis.name: k + 1 for k, axis in enumerate(self.axes)}

    def level(self, *forms: AffineExpr) -> int:
        """Return the level at which forms are known."""
        names = (v.name for form in forms for v in form.variables())
        return max((self._levels.get(name, 0) for name in names), default=0)

    def at(self, form: AffineExpr, level: int, stem: str) -> AffineExpr:
        """Return a form for a level whose parts of outer levels are named values there.

        Args:
            form: a form over the axes.
            level: the level at which it is used.
            stem: the beginning of the names of its values.

        >>> from morello_layouts.expr import variable
        >>> i, j = Axis("i", "i", 1, 4), Axis("j", "j", 1, 8)
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
        self.values[own].append(Value(name, form))
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
            self.values[0].append(Value(name, form))
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
            self.values[level].append(Value(name, form))
            known = self._known[form] = variable(name, *form.interval)
            self._levels[name] = level
        return known

    def _unused(self, stem: str) -> str:
        name = stem
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name


def expanded(form: AffineExpr, values: Iterable[Value]) -> AffineExpr:
    """Return a form with the forms of values in place of their names, outer values first."""
    known: dict[str, AffineExpr] = {}
    for value in values:
        known[value.name] = substitute(value.form, known)
    return substitute(form, known)
