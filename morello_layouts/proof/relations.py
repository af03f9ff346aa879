"""Recipes and formulas read as kinds of values: ISL's relations, their inverse, and visits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from math import lcm
from operator import add, mul, xor
from typing import Any, Final, TypeAlias

from morello_layouts.core.expr import AffineExpr, Interval, variable
from morello_layouts.core.expr.assumptions import Assumption, apply_divisibility
from morello_layouts.core.expr.sizes import (
    Int,
    SizeExpr,
    ceil_quotient,
    exact_quotient,
    is_nonnegative,
)
from morello_layouts.core.expr.substitution import value_of
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import sympy
from morello_layouts.core.limits import PROOF_MERGED
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import (
    Merge,
    Recipe,
    Scatter,
    has_inverse,
    linear_index,
    logical_coordinates,
    physical_coordinates,
)
from morello_layouts.proof.ask import ask_isl, require_few
from morello_layouts.proof.isl import (
    NotAffineError,
    Parameters,
    Space,
    Value,
    at_least,
    axis_values,
    coordinates_of,
    differ,
    intersection,
    relation,
    union,
    value_of_form,
)
from morello_layouts.proof.library import isl
from morello_layouts.proof.verdict import Proof

Fraction: TypeAlias = tuple[Any, Int]
"""A numerator, and the denominator, which is at least 1."""


@frozen(slots=False)
class Interpreter:
    """Values for the coordinates; they have ``+``, ``*``, ``//``, ``%`` and ``^``."""

    names: Mapping[str, Any]  #: the values of coordinates by name; other names are sizes.
    constant: Callable[[Int], Any]  #: makes a value of a number or a symbolic size.
    #: facts about sizes; they say which quotients of sizes are exact.
    assumptions: Sequence[Assumption] = ()

    def recipe(self, recipe: Recipe) -> Any:
        """Return the offset that a recipe gives, read step by step."""
        zero = self.constant(0)
        coordinates = [self.names[f"d{k}"] for k in range(len(recipe.shape))]
        at = physical_coordinates(recipe, coordinates, zero)
        return linear_index(at, recipe.physical_shape, zero) + recipe.offset

    def form(self, form: AffineExpr) -> Any:
        """Return the value of an affine expression."""
        return value_of(form, self.names, self.constant)

    def expr(self, expr: Any) -> Any:
        """Return the value of SymPy's tree as it is: no function of SymPy rewrites it."""
        value, denominator = self.fraction(expr)
        if denominator != 1:
            raise unreadable(expr)
        return value

    def fraction(self, expr: Any) -> Fraction:
        """Return the value of an expression over a common denominator."""
        if expr.is_Symbol and expr.name in self.names:
            return self.names[expr.name], 1
        if self._is_number(expr):
            number, denominator = self._number(expr)
            return self.constant(number), denominator
        if expr.is_Add:
            return self._sum([self.fraction(arg) for arg in expr.args])
        if expr.is_Mul:
            return self._product(expr)
        match expr.func.__name__:
            case "floor":
                value, denominator = self.fraction(expr.args[0])
                return (value if denominator == 1 else value // denominator), 1
            case "Mod":
                number, denominator = self._number(expr.args[1])
                if denominator == 1:
                    return self.expr(expr.args[0]) % number, 1
            case "BitXor":
                return reduce(xor, [self.expr(arg) for arg in expr.args]), 1
        raise unreadable(expr)

    def _sum(self, parts: Sequence[Fraction]) -> Fraction:
        total, common = parts[0]
        for value, denominator in parts[1:]:
            one, other = common, denominator
            if isinstance(one, int) and isinstance(other, int):
                common = lcm(one, other)
                one, other = common // other, common // one
            elif one == other:
                one = other = 1
            else:
                common = one * other
            total = total * other + value * one
        return total, common

    def _product(self, expr: Any) -> Fraction:
        """Return a product with one factor that varies: the factors of a divisor stay together."""
        varying = [arg for arg in expr.args if not self._is_number(arg)]
        if len(varying) != 1:
            raise unreadable(expr)
        fixed = [arg for arg in expr.args if arg is not varying[0]]
        number, denominator = self._number(type(expr)(*fixed))
        value, own = self.fraction(varying[0])
        return (value if number == 1 else value * number), own * denominator

    def _is_number(self, expr: Any) -> bool:
        """Return whether an expression is a size; one such as Mod(0, 128) is read as a value."""
        if expr.is_Rational:
            return True
        symbols = expr.free_symbols
        return bool(symbols) and not any(s.name in self.names for s in symbols)

    def _number(self, expr: Any) -> tuple[Int, Int]:
        """Return a size, or a quotient of sizes, as numerator and denominator."""
        if expr.is_Rational:
            return int(expr.p), int(expr.q)
        above, below = expr.as_numer_denom()
        number = apply_divisibility(self.assumptions, size_of(above))
        if not below.is_Integer:
            return number, apply_divisibility(self.assumptions, size_of(below))
        divisor = int(below)
        if divisor == 1 or number % divisor == 0:
            return exact_quotient(number, divisor), 1
        return number, divisor


@frozen(slots=False)
class NamedExpr:
    """A SymPy expression of coordinates that have names."""

    expr: Any  #: the expression.
    names: tuple[str, ...]  #: the names, for each dimension.

    def values(self, inside: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of ``d0, d1, …`` and of others by the names too."""
        own = {name: inside[f"d{k}"] for k, name in enumerate(self.names)}
        return {**inside, **own}


@frozen
class AtOffset:
    """A formula of the offset ``p``, such as an inverse's, at the offset of each element."""

    formula: Any  #: the formula.
    offset: Any  #: the offset: a recipe, or a formula of the coordinates.


def read(source: Any, reading: Interpreter) -> Any:
    """Return the value of a number, a form or a SymPy expression, or the offset by a recipe."""
    if isinstance(source, AtOffset):
        p = read(source.offset, reading)
        return read(source.formula, replace(reading, names={**reading.names, "p": p}))
    if isinstance(source, NamedExpr):
        return replace(reading, names=source.values(reading.names)).expr(source.expr)
    if hasattr(source, "steps"):
        return reading.recipe(source)
    if isinstance(source, int | SizeExpr):
        return reading.constant(source)
    return reading.form(source) if isinstance(source, AffineExpr) else reading.expr(source)


def has_formulas(*maps: Any) -> bool:
    """Return whether a user may hold a simplified formula, or SymPy's, of a map."""
    return any(name in vars(m) for m in maps for name in ("forms", "expr", "exprs"))


def formulas_of(m: Any) -> list[tuple[str, Any]]:
    """Return a map's simplified formulas by name, and SymPy's expressions if a user got them."""
    own = [("the simplified formula", form) for form in m.forms]
    exprs = [] if _given(m, "expr") is None else [m.expr]
    exprs = exprs or _given(m, "exprs") or _given(vars(m).get("affine_map", m), "exprs") or []
    return [*own, *(("the SymPy expression", _with_names(expr, m)) for expr in exprs)]


def references_of(m: Any) -> list[tuple[str, Any]]:
    """Return an index map's reference formula by name, and SymPy's if a user got it."""
    given = _given(m, "reference")
    found = [m.reference_form] if given is None else [m.reference_form, _with_names(given, m)]
    return [("the reference formula", x) for x in found]


def _with_names(expr: Any, m: Any) -> Any:
    return NamedExpr(expr, m.names) if m.names else expr


def inverse_of(m: Any) -> list[Any]:
    """Return the formulas of an inverse: its forms, or SymPy's expressions if a user got them."""
    return [*(_given(m.inverse, "exprs") or m.inverse.forms)]


def padding_of(m: Any) -> list[tuple[Any, Any]]:
    """Return the condition for padding as ``limits_of`` does: the map's own, or SymPy's."""
    given = _given(m.inverse, "padding")
    return [*m.inverse.limits] if given is None else limits_of(given)


def _given(holder: Any, name: str) -> Any:
    """Return a value of SymPy if it was asked for: what no user got, no proof is about."""
    return vars(holder).get(name)


def limits_of(condition: Any) -> list[tuple[Any, Any]]:
    """Return SymPy's condition for padding as pairs (x, n): an element lies where each x < n.

    >>> from sympy import Gt, Or, Symbol
    >>> p = Symbol("p")
    >>> limits_of(Or(p % 4 >= 3, Gt(p, 9)))
    [(p, 10), (Mod(p, 4), 3)]
    """
    if condition.func.__name__ == "Or":
        return [limit for part in condition.args for limit in limits_of(part)]
    if not condition.args:  # true or false everywhere
        return [(sympy.Integer(0), sympy.Integer(0))] if condition else []
    least = condition.lts + 1 if "Strict" in condition.func.__name__ else condition.lts
    return [(condition.gts, least)]


def size_of(expr: Any) -> Int:
    """Return a size: numbers, names, sums, products, and quotients that are rounded up."""
    if expr.is_Integer:
        return int(expr)
    if expr.is_Symbol:
        return SizeExpr.named(expr.name)
    if expr.is_Add or expr.is_Mul:
        return reduce(add if expr.is_Add else mul, map(size_of, expr.args))
    if expr.is_Pow and expr.exp.is_Integer and expr.exp > 0:
        return reduce(mul, [size_of(expr.base)] * int(expr.exp))
    if expr.func.__name__ == "ceiling":
        above, below = expr.args[0].as_numer_denom()
        return ceil_quotient(size_of(above), size_of(below))
    raise unreadable(expr)


def unreadable(expr: Any) -> NotAffineError:
    """Return the error about an expression that has no quasi-affine value."""
    return NotAffineError(
        f"ISL cannot read {expr}",
        "ISL reads sums of coordinates times integers, floor, and Mod by integers",
        "write the formula with these, or ask at given sizes",
    )


_Limit: TypeAlias = "tuple[isl.Aff, Int]"
"""A function that is below a size at elements, and not at padding."""


@frozen(slots=False)
class RecipeRelation:
    """A recipe, or a piece of one, as an ISL relation between two boxes."""

    recipe: Recipe  #: the steps; the relation leaves out the padding at the ends of the buffer.
    space: Space  #: the logical coordinates.

    @cached_property
    def forward(self) -> list[isl.Aff]:
        """The physical coordinates as functions of the logical ones."""
        return [x.function for x in axis_values(self.recipe, self.space)]

    def inverse(self, axes: Sequence[isl.Aff], space: Space) -> tuple[list[Value], list[_Limit]]:
        """Return the recipe's inverse, unproved: logical coordinates, and limits of elements."""
        at, limits = logical_coordinates(self.recipe, [Value.of(x, space) for x in axes])
        return list(at), [(x.function, n) for x, n in limits]

    @cached_property
    def collisions(self) -> isl.Set | None:
        """Pairs of coordinates that share a physical one, as one set; None if there are none."""
        if has_inverse(self.recipe):
            inverse, _ = self.inverse(self.forward, self.space)
            pairs = zip(inverse, self.space.coordinates, strict=True)
            if all(differ(x.function, d, self.space.domain).is_empty() for x, d in pairs):
                return None
        image = relation(self.forward, self.space)
        if image.is_injective():
            return None
        shared = image.apply_range(image.reverse())
        shared = shared.intersect(isl.Map.lex_lt(shared.get_space().domain()))
        return shared.wrap().flatten()

    @cached_property
    def outside(self) -> isl.Set:
        """Logical coordinates whose physical ones are outside the box."""
        wrong = _outside(self.forward, self.recipe.physical_shape, self.space)
        return wrong.intersect(self.space.domain)

    @cached_property
    def physical(self) -> Space:
        """The box of physical coordinates."""
        return Space.of(self.recipe.physical_shape, self.space.context, self.space.parameters)

    @cached_property
    def padding(self) -> isl.Set:
        """The physical coordinates that the inverse calls padding."""
        return _beyond(self.limits, self.physical)

    @property
    def limits(self) -> list[_Limit]:
        """Functions of the physical coordinates; each is below its size at elements."""
        return self._inverse[1]

    @cached_property
    def elements(self) -> isl.Set:
        """The physical coordinates that the inverse does not call padding."""
        below = (x.lt_set(self.physical.number(n)) for x, n in self.limits)
        return intersection([self.physical.domain, *below])

    @cached_property
    def _inverse(self) -> tuple[list[Value], list[_Limit]]:
        return self.inverse(self.physical.coordinates, self.physical)

    @cached_property
    def cut(self) -> isl.Set:
        """Trailing padding slots that the buffer may not contain."""
        if is_nonnegative(self.recipe.tail_padding):
            return isl.Set.empty(self.padding.get_space())
        return self.padding.subtract(self.padding.lex_lt_set(self.elements).domain())

    @cached_property
    def inverse_is_wrong(self) -> bool:
        """True if the inverse calls an element padding, or padding an element."""
        _, limits = self.inverse(self.forward, self.space)
        if not _beyond(limits, self.space).is_empty():
            return True
        at = [x.function for x in self._inverse[0]]
        if not _outside(at, self.recipe.shape, self.physical).is_disjoint(self.elements):
            return True
        inner = replace(self.physical, variables={f"d{k}": x for k, x in enumerate(at)})
        pairs = zip(axis_values(self.recipe, inner), self.physical.coordinates, strict=True)
        return any(not differ(x.function, y, self.elements).is_empty() for x, y in pairs)


def _outside(at: Sequence[isl.Aff], shape: Sequence[Int], space: Space) -> isl.Set:
    """Return points of a box of coordinates, and others, at which functions are outside a box."""
    own = dict(zip(map(id, space.coordinates), space.shape, strict=True))
    bounds = [(x, n) for x, n in zip(at, shape, strict=True) if own.get(id(x)) != n]
    wrong = (x.lt_set(space.number(0)).union(x.ge_set(space.number(n))) for x, n in bounds)
    return union(wrong, space.domain.get_space())


def _beyond(limits: Sequence[_Limit], space: Space) -> isl.Set:
    """Return the points of a space at which some function reaches its limit."""
    reached = (x.ge_set(space.number(n)) for x, n in limits)
    return union(reached, space.domain.get_space()).intersect(space.domain)


def relations_of(
    m: IndexMap, context: isl.Context, *, most: int | None = PROOF_MERGED
) -> list[RecipeRelation]:
    """Return the relations of a map's recipe, one between merges of symbolic sizes.

    Merges of more than ``most`` axes also end a relation, for a merge is a bijection of boxes, and
    ISL takes the cube of the number of axes to see it; None for no such end.
    """
    require_few(m.recipe, splits=False)
    parameters = parameters_of([m.recipe], m.assumptions)
    return [
        RecipeRelation(piece, Space.of(piece.shape, context, parameters))
        for piece in _pieces(_unmerged(m.recipe), most if m.recipe.tail_padding == 0 else None)
    ]


def _unmerged(recipe: Recipe) -> Recipe:
    """Return a recipe without merges at its end, which change no slot."""
    steps = recipe.steps
    while steps and isinstance(steps[-1], Merge):
        steps = steps[:-1]
    return replace(recipe, steps=steps, axis_names=()) if steps != recipe.steps else recipe


def parameters_of(recipes: Sequence[Recipe], assumptions: Sequence[Assumption]) -> Parameters:
    """Return the parameters in the sizes along some recipes."""
    numbers = [n for r in recipes for n in r.numbers]
    forms = [f for r in recipes for s in r.steps if isinstance(s, Scatter) for f in s.forms]
    numbers += [SizeExpr.named(name) for form in forms for name in form.sizes()]
    return Parameters.of(numbers, assumptions, (pair for r in recipes for pair in r.requires))


def _pieces(recipe: Recipe, most: int | None) -> Iterator[Recipe]:
    """Yield the recipes between merges of symbolic sizes, or of more than so many axes.

    The next piece starts from the box of the merged axes.
    """
    start, shape = 0, recipe.shape
    for k, step in enumerate(recipe.steps):
        if isinstance(step, Merge):
            runs = step.groups(recipe.shapes[k])
            is_long = most is not None and max(map(len, runs)) > most
            if is_long or not all(isinstance(n, int) for run in runs for n in run[1:]):
                if k > start:  # else there is nothing before the merge
                    yield Recipe(shape, recipe.steps[start:k])
                start, shape = k + 1, recipe.shapes[k + 1]
    last = recipe.steps[start:]
    yield Recipe(shape, last, recipe.tail_padding if start == 0 else 0)


ONCE: Final = "visits each element once"


@frozen(slots=False)
class Visits:
    """The points that loops visit, and the elements at these points."""

    sizes: Mapping[str, Int]  #: the number of values of each loop's variable in a whole tile.
    #: forms over the variables that are at least 0 at the points that have an element.
    limits: tuple[AffineExpr, ...]
    #: for each copy of the body, forms that are at least 0 where it is.
    parts: tuple[tuple[AffineExpr, ...], ...]
    #: each coordinate of the elements over the variables, with its size.
    coordinates: Mapping[str, tuple[AffineExpr, Int]]
    assumptions: tuple[Assumption, ...] = ()  #: the assumptions about symbolic sizes.


@ask_isl(ONCE)
def are_visited_once(visits: Visits, *, context: isl.Context) -> Proof:
    """Decide whether the copies of the body share no point and have one for each element.

    >>> from morello_layouts.core.expr import variable
    >>> i, t = variable("i", 0, 3), variable("t", 0, 2)
    >>> form, body = 4 * t + i, (t, 2 - t, i, 3 - i)
    >>> wrong = Visits({"t": 3, "i": 4}, (10 - form,), (body,), {"x": (form, 11)})
    >>> are_visited_once(wrong).reason
    'a copy of the body is at (t=2, i=3), which is not an element'
    """
    space = _space(visits, context)
    wanted = _where([*_box(visits.sizes), *visits.limits], space)
    seen = isl.Set.empty(wanted.get_space())
    for part in visits.parts:
        own = _where(part, space)
        for wrong, what in (
            (own.subtract(wanted), "a copy of the body is at {}, which is not an element"),
            (own.intersect(seen), "two copies of the body are at {}"),
        ):
            if not wrong.is_empty():
                return Proof(ONCE, False, what.format(_at(wrong, visits.sizes)))
        seen = seen.union(own)
    missing = wanted.subtract(seen)
    if not missing.is_empty():
        return Proof(ONCE, False, f"nothing visits {_at(missing, visits.sizes)}")
    if any(size == 0 for _, size in visits.coordinates.values()):
        reason = (
            "the array has no elements"
            if seen.is_empty()
            else "the body runs, but no element is there"
        )
        return Proof(ONCE, seen.is_empty(), reason)
    for name, (form, size) in visits.coordinates.items():
        reason = _is_numbered(visits, name, form, size, context)
        if reason:
            return Proof(ONCE, False if "^" not in reason else None, reason)
    return Proof(ONCE, True, "the copies of the body share no point and leave none out")


def _is_numbered(
    visits: Visits, name: str, form: AffineExpr, size: Int, context: isl.Context
) -> str:
    """Return why the points do not have each value of a coordinate once; empty if they have."""
    own = {v.name for v in form.variables()}
    if form.has_xors:
        return f"ISL does not read ^ in {name} = {form}"
    sizes = {axis: n for axis, n in visits.sizes.items() if axis in own}
    limits = [limit for limit in visits.limits if {v.name for v in limit.variables()} <= own]
    alone = Visits(sizes, tuple(limits), (), {name: (form, size)}, visits.assumptions)
    space = _space(alone, context)
    points = _where(_box(sizes) + limits, space)
    value = value_of_form(form, space).function
    if not sizes:
        return "" if size == 1 else f"{name} has one value"
    found = relation([value], Space(space.context, points, space.variables, space.parameters))
    if not found.is_injective():
        return f"some {name} comes twice"
    line = Space.within({name: Interval(0, size - 1)}, context, space.parameters)
    if not found.reverse().domain().is_equal(line.domain):
        return f"{name} = {form} does not have all of its values"
    return ""


def _space(visits: Visits, context: isl.Context) -> Space:
    numbers: list[Int] = [*visits.sizes.values(), *(n for _, n in visits.coordinates.values())]
    for form in (*visits.limits, *(x for part in visits.parts for x in part)):
        numbers.append(form.const)
    parameters = Parameters.of(numbers, visits.assumptions)
    free = dict.fromkeys(visits.sizes, Interval(None, None))
    return Space.within(free, context, parameters)


def _box(sizes: Mapping[str, Int]) -> list[AffineExpr]:
    found = []
    for name, n in sizes.items():
        x = variable(name)
        found += [x, x * -1 + (n - 1)]
    return found


def _where(forms: Sequence[AffineExpr], space: Space) -> isl.Set:
    found = space.domain
    for form in forms:
        found = found.intersect(at_least(value_of_form(form, space).function, 0))
    return found


def _at(points: isl.Set, sizes: Mapping[str, Int]) -> str:
    at = coordinates_of(points.sample_point())
    return f"({', '.join(f'{name}={x}' for name, x in zip(sizes, at, strict=True))})"
