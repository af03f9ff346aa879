"""The layout protocol: the methods by which everything else understands a notation."""

from __future__ import annotations

import ast
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod
from operator import eq, ge, gt, le, lt, mod
from typing import Any, Final

from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.sizes import Int, SizeAtom
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import from_front
from morello_layouts.core.plain import Displayed
from morello_layouts.core.recipe import Recipe, known
from morello_layouts.errors import LayoutError, ShapeError


@frozen
class ElementType:
    """The type of an array's elements."""

    #: the notation's name of the type, such as ``bf16``; None if only the width is given.
    name: str | None
    bits: int  #: bits that an element takes in the buffer.

    def __str__(self) -> str:
        return self.name or f"{self.bits} bits"


class Arrays(Displayed, ABC):
    """A text's meaning: the layout of one array, or of several in tuples."""

    __slots__ = ()

    @abstractmethod
    def arrays(self) -> Iterator[tuple[tuple[int, ...], Layout]]:
        """Yield each array's layout with its position in the tuples around it."""


class Layout(Arrays):
    """A layout in any notation: its recipe, and its reference formula written apart from it.

    ``index_map`` and every other function that takes a layout take such a value. ``verify`` proves
    that the reference formula and the recipe agree, so write the formula from the notation's own
    document, not from the recipe. The other members have defaults.

    >>> import morello_layouts as ml
    >>> class EvenFirst(ml.Layout):
    ...     "Even columns first, then odd ones."
    ...     def recipe(self, shape):
    ...         return ml.Recipe(shape, (ml.Split((None, 2)), ml.Transpose((2, 0, 1))))
    ...     def reference(self, coordinates, shape):
    ...         (i, j), (m, n) = coordinates, shape
    ...         return (j % 2) * m * (n // 2) + i * (n // 2) + j // 2
    >>> m = ml.index_map(EvenFirst(), (3, 4))
    >>> m(1, 3), ml.verify(m).holds
    (9, True)
    """

    __slots__ = ()

    @abstractmethod
    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        """Return the steps from an array of a shape to its buffer.

        Args:
            shape: sizes in elements; some may be symbolic.
        """

    @abstractmethod
    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """Return the offset in elements, by the formula of the notation's document.

        Args:
            coordinates: one expression for each dimension, to be combined by ``+``, ``*``, ``//``
                and ``%`` with each other and with sizes.
            shape: sizes in elements.
        """

    def document_steps(self, shape: Sequence[Int], /) -> tuple[str, ...]:
        """Return the lines by which the document builds its formula, if it does so in steps."""
        return ()

    def by_document(
        self, coordinate: Sequence[int], shape: Sequence[int], /
    ) -> tuple[int, int] | None:
        """Return the offset of an element and the size of the buffer, by the document alone.

        ``verify`` holds formulas, recipe and inverse against it at corners and random coordinates,
        so it is written in plain integers and calls nothing that ``recipe`` or ``reference`` call.

        Args:
            coordinate: one integer for each dimension.
            shape: sizes in elements, all of them numbers.

        Returns:
            Both in elements; None, as by default, if the document is not read a second time.
        """
        return None

    @property
    def sizes(self) -> tuple[Int | None, ...] | None:
        """The sizes that the layout itself carries; None if a shape is given beside it.

        An unbounded size is None.
        """
        return None

    @property
    def element(self) -> ElementType | None:
        """The element type that the layout itself names."""
        return None

    def names(self, rank: int, /) -> tuple[str, ...]:
        """Return what the layout's text calls its dimensions; () if it calls them nothing.

        Args:
            rank: the number of dimensions; 0 if it is not known.
        """
        return ()

    def assumptions(self, shape: Sequence[Int], /) -> tuple[Assumption, ...]:
        """Return what the layout assumes of the symbolic sizes of a shape."""
        return ()

    def with_numbers(self, values: Mapping[str, int], /) -> Layout:
        """Return the layout with numbers in place of names that it has itself, such as a tile's."""
        return self

    def notes(self, shape: Sequence[Int], /) -> tuple[str, ...]:
        """Return what a reader should know before relying on the sizes."""
        return ()

    def byte_counts(self, shape: Sequence[int], /) -> tuple[int, int] | None:
        """Return the bytes of the elements alone and of the buffer; None without element type."""
        if self.element is None:
            return None
        (size,) = known((self.recipe(shape).size,))
        data, whole = (-(-n * self.element.bits // 8) for n in (prod(shape), size))
        return data, whole

    def _repr_html_(self) -> str:
        if self.sizes is not None:
            with suppress(LayoutError):  # a notebook shows what it can
                shown: str = from_front("html_of")(self)
                return shown
        return super()._repr_html_()

    def arrays(self) -> Iterator[tuple[tuple[int, ...], Layout]]:
        """Yield the layout itself: it is one array's, outside of tuples."""
        yield (), self

    def __str__(self) -> str:
        return type(self).__name__


class _Adapted(Layout):
    """A value that has ``recipe`` and ``reference`` without inheriting from :class:`Layout`."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        found: Recipe = self.value.recipe(shape)
        return found

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        found: AffineExpr = self.value.reference(coordinates, shape)
        return found

    def by_document(
        self, coordinate: Sequence[int], shape: Sequence[int], /
    ) -> tuple[int, int] | None:
        own = getattr(self.value, "by_document", super().by_document)
        found: tuple[int, int] | None = own(coordinate, shape)
        return found

    def __str__(self) -> str:
        kind: Any = type(self.value)
        return kind.__name__ if kind.__str__ is object.__str__ else str(self.value)


def as_layout(value: object) -> Layout | None:
    """Return a value as a layout: any value with ``recipe`` and ``reference``; None for others."""
    if isinstance(value, Layout):
        return value
    methods = (getattr(value, name, None) for name in ("recipe", "reference"))
    return _Adapted(value) if all(map(callable, methods)) and not isinstance(value, type) else None


def notation_name(layout: Layout) -> str:
    """Return the name of the class that gives the layout's recipe."""
    return type(layout.value if isinstance(layout, _Adapted) else layout).__name__


def checked_recipe(layout: Layout, shape: tuple[Int, ...]) -> Recipe:
    """Return the layout's recipe for a shape."""
    recipe = layout.recipe(shape)
    if isinstance(recipe, Recipe) and recipe.shape == shape:
        return recipe
    raise ShapeError(
        f"{layout} gives no recipe for ({', '.join(map(str, shape))})",
        "recipe(shape) returns a Recipe that begins at the shape it was given",
        "return Recipe(shape, steps)",
    )


@frozen(slots=False)
class Provenance:
    """What an index map is of, as the user gave it: a layout, sizes, and facts about them."""

    layout: Layout  #: the layout.
    shape: tuple[Int, ...]  #: the sizes as given; no assumption is applied to them.
    #: assumptions as given: text, SymPy, ranges by name, or assumptions.
    stated: tuple[Any, ...] = ()

    def assume(self, assumptions: Iterable[Assumption]) -> Provenance:
        return replace(self, stated=(*self.stated, *assumptions))

    def at(self, values: Mapping[str, int]) -> Provenance:
        return Provenance(self.layout.with_numbers(values), self.sizes(values))

    def sizes(self, values: Mapping[str, int]) -> tuple[int, ...]:
        """Return the sizes as numbers, by arithmetic of their own."""
        return tuple(_value_of(n, values) for n in self.shape)

    def allows(self, values: Mapping[str, int]) -> bool:
        """Return whether sizes are as stated, by a reading apart from the assumptions'.

        What is stated about other names is left out.

        >>> from morello_layouts import parse
        >>> origin = Provenance(parse("[0]"), (), ("M % 8 == 0 and 1 <= N < 9", {"N": (2, None)}))
        >>> origin.allows({"M": 16, "N": 8}), origin.allows({"M": 16, "N": 9})
        (True, False)
        """
        return all(_allows(fact, values) for fact in self.stated)


def _value_of(n: Int, values: Mapping[str, int]) -> int:
    if isinstance(n, int):
        return n
    return sum(c * prod(_factor(x, values) ** power for x, power in m) for m, c in n.terms)


def _factor(x: SizeAtom, values: Mapping[str, int]) -> int:
    if isinstance(x, str):
        return values[x]
    return -(-_value_of(x.numerator, values) // _value_of(x.divisor, values))


_COMPARISONS: Final = {ast.LtE: le, ast.Lt: lt, ast.GtE: ge, ast.Gt: gt, ast.Eq: eq}


def _allows(fact: Any, values: Mapping[str, int]) -> bool:
    if isinstance(fact, str):
        text = re.sub(r"(?<!\d)(\d++)\s*+(?:\||divides)\s*(\w+)", r"\2 % \1 == 0", fact)
        parts = re.split(r"[,;&]|\band\b", text)
        trees = (ast.parse(part.strip(), mode="eval").body for part in parts)
        return all(
            _of_comparison(tree, values) for tree in trees if _names_in(tree) <= values.keys()
        )
    if isinstance(fact, Assumption):
        if fact.name not in values:
            return True
        n = values[fact.name]
        return n >= fact.lo and (fact.hi is None or n <= fact.hi) and n % fact.divisor == 0
    if isinstance(fact, Mapping):
        ends = [(values[str(n)], lo, hi) for n, (lo, hi) in fact.items() if str(n) in values]
        return all(n >= (lo or 1) and (hi is None or n <= hi) for n, lo, hi in ends)
    if hasattr(fact, "free_symbols"):
        given = {s: values[s.name] for s in fact.free_symbols if s.name in values}
        return bool(fact.subs(given) != False)  # noqa: E712
    return all(_allows(part, values) for part in fact)


def _names_in(tree: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _of_comparison(node: ast.expr, values: Mapping[str, int]) -> Any:
    """Return the value of a comparison of numbers, names and remainders."""
    match node:
        case ast.Compare(left, signs, others):
            numbers = [_of_comparison(one, values) for one in (left, *others)]
            pairs = zip(numbers, signs, numbers[1:], strict=False)
            return all(_COMPARISONS[type(sign)](a, b) for a, sign, b in pairs)
        case ast.BinOp(left, ast.Mod(), right):
            return mod(_of_comparison(left, values), _of_comparison(right, values))
        case ast.Name(name):
            return values[name]
        case ast.Constant(int() as number):
            return number
    raise ValueError(ast.unparse(node))
