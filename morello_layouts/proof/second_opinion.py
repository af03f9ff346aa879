"""Hold a map against its notation's document at coordinates, with arithmetic of its own.

ISL's proofs compare the formulas with the recipe, and both come from one reading of the layout; so
do the sizes. Here nothing is shared: ``Layout.by_document`` gives offset and size in integers,
assumptions are read from what the user stated, and SymPy's trees are evaluated node by node.
"""

from __future__ import annotations

import operator
import sys
from _random import Random
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial, reduce
from itertools import islice, product
from math import ceil, floor, prod
from typing import Any, Final, TypeAlias

from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.sizes import SizeExpr, evaluated
from morello_layouts.core.expr.substitution import map_ints
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Layout, Provenance
from morello_layouts.core.limits import (
    OPINION_ELEMENTS,
    OPINION_POINTS,
    OPINION_REACH,
    OPINION_SIZES,
)
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import (
    Recipe,
    has_inverse,
    known,
    linear_index,
    physical_coordinates,
)
from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.proof.relations import (
    NamedExpr,
    formulas_of,
    inverse_of,
    padding_of,
    references_of,
)
from morello_layouts.proof.verdict import sizes_text

Values: TypeAlias = dict[Any, Any]
"""Values of names; those of sizes are kept beside them, under the sizes."""


def first_disagreement(m: IndexMap) -> tuple[str, Any] | None:
    """Return what disagrees with the document, in words, and the coordinate, slot or sizes.

    Returns:
        None if everything agrees at all points that were tried, or if the layout's notation has no
        second opinion.
    """
    if m.origin is None:
        return None
    given = {name for n in m.origin.shape if not isinstance(n, int) for name in n.names()}
    own = {*m.recipe.names} - given
    if own and m.origin.layout.with_numbers(dict.fromkeys(own, 2)) == m.origin.layout:
        return None  # a pitch has a name of its own, and the document no number for it
    names = sorted(given | own)
    if not names:
        points = OPINION_POINTS * 8 // max(8, len(m.recipe.shape))
        return next(_At(m, m.origin, {}, m.recipe).disagreements(points), None)
    for values in islice(_allowed(m.origin, names), OPINION_SIZES):
        where = sizes_text(values)
        try:
            recipe = m.at(**values).recipe
        except ShapeError as error:
            return f"{where} is allowed, and the map refuses it: {error.what}", values
        points = max(4, OPINION_POINTS // OPINION_SIZES)
        found = next(_At(m, m.origin, values, recipe).disagreements(points), None)
        if found is not None:
            return f"if {where}, {found[0]}", values
    return None


def _allowed(origin: Provenance, names: list[str]) -> Iterator[dict[str, int]]:
    """Yield sizes that the stated facts allow: the smallest of each name, then random ones."""
    reach = range(1, OPINION_REACH)
    columns = [[n for n in reach if origin.allows({name: n})] if origin.stated else reach
               for name in names]  # fmt: skip
    below = _below(1)
    small = product(*(column[:2] for column in columns))
    large = (tuple(column[below(len(column))] for column in columns) for _ in range(OPINION_SIZES))
    for values in (*islice(small, OPINION_SIZES // 2), *(large if all(columns) else ())):
        sizes = dict(zip(names, values, strict=True))
        if origin.allows(sizes):
            yield sizes


@frozen(slots=False)
class _At:
    """A map, what it was made from, and values of the names of sizes."""

    m: IndexMap
    origin: Provenance
    sizes: Values
    recipe: Recipe  #: the map's, at these sizes.

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The sizes as the user gave them."""
        return self.origin.sizes(self.sizes)

    @cached_property
    def layout(self) -> Layout:
        """The layout with numbers in place of its own names."""
        return self.origin.layout.with_numbers(self.sizes)

    def document(self, at: tuple[int, ...]) -> tuple[int, int] | None:
        """Return the offset at a coordinate and the buffer's size, by the document."""
        return self.layout.by_document(at, self.shape)

    @cached_property
    def is_invertible(self) -> bool:
        """Whether the map has formulas for its inverse."""
        try:
            return has_inverse(self.recipe) and self.m.inverse is not None
        except UnsupportedError:  # they would nest too deep
            return False

    def disagreements(self, points: int) -> Iterator[tuple[str, Any]]:
        """Yield what disagrees with the document at some coordinates and slots."""
        found = self.document((0,) * len(self.shape))
        if found is None or 0 in self.shape:
            return
        recipe, size = self.recipe, found[1]
        if recipe.shape != self.shape:
            yield f"the shape is {recipe.shape}, and {self.shape} is meant", self.shape
            return
        sizes = [("recipe", recipe.size)]
        if sys.modules.get("sympy") is not None:  # else nobody holds SymPy's size
            sizes.append(("public size", self.value(self.m.size)))
        for name, n in sizes:
            if n != size:
                yield f"the {name} spans {n} elements, the document {size}", self.shape
                return
        physical, (start,) = known(recipe.physical_shape), known((recipe.offset,))
        called = map_ints(self.m.form, partial(evaluated, values=self.sizes))
        formulas = (*formulas_of(self.m), *references_of(self.m))
        for at in _coordinates(self.shape, points):
            offset, _ = self.document(at) or (None, None)
            d = {f"d{k}": x for k, x in enumerate(at)}
            slot = linear_index(physical_coordinates(recipe, at, 0), physical, 0)
            self._names.update(d)
            ways = [(name, self.value(formula)) for name, formula in formulas]
            ways.append(("the recipe", start + slot))
            ways.append(("the offset of a call", called.evaluate(d)))
            for name, value in ways:
                if value != offset:
                    yield f"{name} gives {at} offset {value}, the document {offset}", at
            back = self.coordinate(offset) if self.is_invertible else at
            if back != at:
                yield (
                    f"the inverse gives offset {offset} {back or 'padding'}, the document {at}",
                    at,
                )
        if self.is_invertible:
            yield from self._wrong_padding(size, points)

    def _wrong_padding(self, size: int, points: int) -> Iterator[tuple[str, Any]]:
        """Yield slots that the inverse calls an element's or padding, and the document does not."""
        few = prod(self.shape) <= OPINION_ELEMENTS
        every = product(*map(range, self.shape)) if few else ()
        used = {found[0] for at in every if (found := self.document(at))}
        below = _below(size)
        for p in (0, size - 1, *(below(size) for _ in range(points))):
            at = self.coordinate(p)
            if at is None:
                if p in used:
                    yield f"the inverse calls slot {p} padding, the document does not", p
            elif any(not 0 <= x < n for x, n in zip(at, self.shape, strict=True)) or not (
                self._may_hold(self.document(at), p)
            ):
                yield f"the inverse finds {at} in slot {p}, the document does not", p

    def _may_hold(self, found: tuple[int, int] | None, p: int) -> bool:
        """Whether a slot holds an element by the document, which gives the first of its holders."""
        if found is None or self.m.recipe.replicas == 1:
            return found is not None and found[0] == p
        return found[0] <= p

    def coordinate(self, p: Any) -> tuple[Any, ...] | None:
        """Return the coordinate at a slot by the inverse's formulas; None for padding."""
        self._names["p"] = p
        if is_padding(self.m, self._names):
            return None
        return tuple(map(self.value, inverse_of(self.m)))

    @cached_property
    def _names(self) -> Values:
        return {**self.sizes}

    def value(self, expr: Any) -> Any:
        """Return the value of a formula, or of a number, at the names as they are."""
        return value_of(expr, self._names)


def _below(seed: int) -> Callable[[int], int]:
    """Return a function to draw a number below another; ``random`` loads hashes for its own."""
    bits = Random(seed).getrandbits

    def below(n: int) -> int:
        while (found := bits(n.bit_length())) >= n:
            pass
        return found

    return below


def _coordinates(shape: tuple[int, ...], points: int) -> Iterator[tuple[int, ...]]:
    """Yield all coordinates of a small array; of a large one, corners and random ones."""
    if prod(shape) <= points:
        yield from product(*map(range, shape))
        return
    yield from islice(product(*({0, n - 1} for n in shape)), points // 2)
    below = _below(prod(shape))
    for _ in range(points // 2):
        yield tuple(map(below, shape))


def is_padding(m: IndexMap, names: Values) -> bool:
    """Return whether the inverse's condition for padding holds at an offset ``p``."""
    return any(value_of(x, names) >= value_of(n, names) for x, n in padding_of(m))


def _value_of_form(form: AffineExpr, names: Values) -> Any:
    """Return the value of a form at values of its names, apart from the forms' own arithmetic."""
    total = value_of(form.const, names)
    for atom, factor in form.terms:
        if hasattr(atom, "name"):
            value = names[atom.name]
        elif hasattr(atom, "parts"):
            value = reduce(operator.xor, [_value_of_form(part, names) for part in atom.parts])
        else:
            value = _value_of_form(atom.operand, names) // value_of(atom.divisor, names)
            value = value if atom.modulus is None else value % value_of(atom.modulus, names)
        total += value_of(factor, names) * value
    return total


def value_of(expr: Any, names: Values) -> Any:
    """Return the value of a form, a size, or a SymPy expression or condition, exactly.

    >>> from sympy import Mod, Symbol, floor
    >>> x = Symbol("x")
    >>> value_of(3 * floor(x / 49) - 47 * Mod(x, 4), {"x": 99})
    -135
    """
    if isinstance(expr, int):
        return expr
    if isinstance(expr, NamedExpr):
        return value_of(expr.expr, expr.values(names))
    if isinstance(expr, AffineExpr):
        return _value_of_form(expr, names)
    if isinstance(expr, SizeExpr):
        if expr not in names:
            names[expr] = expr.evaluate(names)
        return names[expr]
    if expr.is_Symbol:
        return names[expr.name]
    if expr.is_Rational:
        return int(expr.p) if expr.q == 1 else _fraction(int(expr.p), int(expr.q))
    if not expr.args:
        return bool(expr)
    return _operation(type(expr))(*[value_of(arg, names) for arg in expr.args])


def _operation(kind: type) -> Callable[..., Any]:
    """Return the function that one of SymPy's types is, by its name or that of a base."""
    if kind not in _KNOWN:
        names = (base.__name__ for base in kind.__mro__)
        found = next((_OPERATIONS[name] for name in names if name in _OPERATIONS), None)
        if found is None:
            raise TypeError(f"no value of {kind.__name__}")
        _KNOWN[kind] = found
    return _KNOWN[kind]


def _fraction(above: int, below: int) -> Any:
    from fractions import Fraction  # loads decimals

    return Fraction(above, below)


def _product(*args: Any) -> Any:
    above = prod(x.numerator for x in args)
    below = prod(x.denominator for x in args)
    return above // below if above % below == 0 else _fraction(above, below)


def _power(base: Any, exponent: Any) -> Any:
    return _fraction(base, 1) ** exponent if exponent < 0 else base**exponent


_OPERATIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "GreaterThan": operator.ge,
    "StrictGreaterThan": operator.gt,
    "LessThan": operator.le,
    "StrictLessThan": operator.lt,
    "Equality": operator.eq,
    "Unequality": operator.ne,
    "Or": lambda *args: any(args),
    "And": lambda *args: all(args),
    "Add": lambda *args: sum(args),
    "Mul": _product,
    "Pow": _power,
    "floor": floor,
    "ceiling": ceil,
    "BitXor": lambda *args: reduce(operator.xor, args),
    "Mod": operator.mod,
}

_KNOWN: Final[dict[type, Callable[..., Any]]] = {}
