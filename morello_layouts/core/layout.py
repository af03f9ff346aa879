"""The layout protocol: the methods by which everything else understands a notation."""

from __future__ import annotations

import ast
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from math import prod
from operator import eq, ge, gt, le, lt, mod
from typing import Any, Final, NamedTuple

from morello_layouts.core.checks import Part, shown
from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.sizes import Int, SizeAtom
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.lazy import from_front, regex
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

    def bound(self, shape: Sequence[Int], /) -> Layout | None:
        """Return the layout at sizes that its text leaves open with ``?``.

        None, as by default, if it leaves none open, or if the shape is not one of its own.
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
        self.value: Layout = value

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        return self.value.recipe(shape)

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        return self.value.reference(coordinates, shape)

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
        >>> origin = Provenance(parse("[0]"), (), ("M % 8 == 0 && 1 <= N < 9", {"N": (2, None)}))
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
        return all(
            _of_comparison(tree, values) for tree, names in _parts(fact) if names <= values.keys()
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


@lru_cache(maxsize=64)  # asked of a thousand sizes
def _parts(fact: str) -> list[tuple[ast.expr, set[str]]]:
    """Return the comparisons of a fact, and the names in each."""
    text = re.sub(r"(?<!\d)(\d++)\s*+(?:\||divides)\s*(\w+)", r"\2 % \1 == 0", fact)
    parts = re.split(r"[,;&]|\band\b", text)
    trees = [ast.parse(part.strip(), mode="eval").body for part in parts if part.strip()]
    return [(t, {n.id for n in ast.walk(t) if isinstance(n, ast.Name)}) for t in trees]


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


class Element(NamedTuple):
    """An element type."""

    name: str  #: as MLIR spells it, if it is a float; XLA writes it in lower case.
    bits: int  #: of a value; XLA keeps each value in whole bytes.
    numpy: str  #: NumPy's type that holds it, or its bits; ``-`` of a type that XLA lacks.


_TABLE: Final = """
    pred 1 bool; s1 1 int8; s2 2 int8; s4 4 int8; s8 8 int8; u1 1 uint8; u2 2 uint8; u4 4 uint8;
    u8 8 uint8; s16 16 int16; u16 16 uint16; f16 16 float16; bf16 16 uint16; s32 32 int32;
    u32 32 uint32; f32 32 float32; s64 64 int64; u64 64 uint64; f64 64 float64; c64 64 complex64;
    c128 128 complex128; f4E2M1FN 4 uint8; f6E2M3FN 6 uint8; f6E3M2FN 6 uint8; f8E3M4 8 uint8;
    f8E4M3 8 uint8; f8E4M3B11FNUZ 8 uint8; f8E4M3FN 8 uint8; f8E4M3FNUZ 8 uint8; f8E5M2 8 uint8;
    f8E5M2FNUZ 8 uint8; f8E8M0FNU 8 uint8; tf32 32 -; f80 80 -; f128 128 -;
"""

ELEMENTS: Final = [
    Element(name, int(bits), numpy)
    for name, bits, numpy in (row.split() for row in _TABLE.split(";")[:-1])
]
"""All element types, XLA's in its order."""

FLOATS: Final = {each.name for each in ELEMENTS if "f" in each.name}
"""MLIR's names of floats."""

_OF_XLA: Final = {each.name.lower(): each for each in ELEMENTS if each.numpy != "-"}

ELEMENT_BITS: Final = {name: max(each.bits, 8) for name, each in _OF_XLA.items()}
"""The bits of one element in a buffer of XLA without an ``E(bits)``."""

REGISTER_BITS: Final = {
    name: bits
    for bits, names in {
        1: "b1 u1",
        4: "s4 u4 e2m1 iu4 b4",
        8: "s8 u8 e4m3 e5m2 e3m2 e2m3 i8 iu8 fp8 bf8 b8 hf8 ue8m0",
        16: "f16 bf16 b16 s16 u16",
        32: "f32 tf32 s32 u32 i32 xf32 b32",
        64: "f64 s64 u64 b64",
        128: "c64 b128",
        192: "gc64",
    }.items()
    for name in names.split()
}
"""The bits that an operand of a matrix instruction takes in registers, by the vendors' names.

``c64`` is CuTe's complex number of two f64; a value of 6 bits takes 8.
"""

_ANY: Final = f"one of {', '.join(ELEMENT_BITS)}"

# Types of values that are not arrays: they have no dimensions, no layout and no size.
OPAQUE_TYPES: Final = ("token", "opaque")

# How other systems write the types.
_OTHER_NAMES: Final = regex(r"(b?float|uint|int|complex|i)([0-9]+)(?:_?(e[a-z0-9]+))?_?")
_WORDS: Final = {
    "bool": "pred", "half": "f16", "float": "f32", "double": "f64",
    "int": "s32", "char": "s8", "byte": "u8", "fp32": "f32", "fp16": "f16",
}  # fmt: skip
_LETTERS: Final = {"float": "f", "bfloat": "bf", "uint": "u", "int": "s", "i": "s", "complex": "c"}


def bits_of(element_type: str) -> int:
    """Return the bits of one element without an ``E(bits)``.

    >>> bits_of("bf16"), bits_of("s4")
    (16, 8)
    """
    check_type(element_type, ("element_type",), others=())
    return ELEMENT_BITS[element_type]


def check_type(value: object, part: Part, others: tuple[str, ...] = OPAQUE_TYPES) -> None:
    if isinstance(value, str) and (value in ELEMENT_BITS or value in others):
        return
    near = nearest_type(value.lower()) if isinstance(value, str) else None
    raise LayoutError(
        f"{shown(value)} is not an XLA element type",
        "XLA has its own names for types, all in lower case",
        f"write {near or _ANY}",
        part=part,
    )


def type_name(given: Any, _: str, part: Part) -> str:
    """The kind of a field that names an element type, or a type that is not of arrays."""
    check_type(given, part)
    return str(given)


def nearest_type(text: str) -> str | None:
    """Return the element type that a name in lower case means, here or in other systems.

    >>> nearest_type("float32"), nearest_type("half"), nearest_type("bf16"), nearest_type("nhwc")
    ('f32', 'f16', 'bf16', None)
    """
    text = short_name(_WORDS.get(text, text))
    return text if text in ELEMENT_BITS else None


def short_name(text: str) -> str:
    """Return the short name of a type that NumPy or PyTorch names; another text as it is.

    >>> short_name("float32"), short_name("float8_e4m3fn"), short_name("float128")
    ('f32', 'f8e4m3fn', 'f128')
    """
    match = _OTHER_NAMES.fullmatch(text)
    return f"{_LETTERS[match[1]]}{match[2]}{match[3] or ''}" if match else text


def numpy_type(element_type: str) -> str:
    """Return the NumPy type that holds an element; types that NumPy lacks are held as their bits.

    >>> numpy_type("s4"), numpy_type("f32"), numpy_type("bf16")
    ('int8', 'float32', 'uint16')
    """
    check_type(element_type, ("element_type",), others=())
    return _OF_XLA[element_type].numpy
