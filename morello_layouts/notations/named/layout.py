"""Named formats as layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from morello_layouts.checks import shown
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.expr import AffineExpr, standard
from morello_layouts.expr.conversions import divide
from morello_layouts.expr.sizes import Int
from morello_layouts.expr.substitution import substitute
from morello_layouts.notations.coordinates import CoordinateLayout
from morello_layouts.notations.expression import parse_function
from morello_layouts.notations.named.document import by_name
from morello_layouts.notations.named.formats import FORMATS, Format

_FORMATS = {each.name: each for each in FORMATS}

_formula = cache(parse_function)


@dataclass(frozen=True, slots=True, repr=False)
class NamedLayout(CoordinateLayout):
    """A layout that a public document defines by a name.

    Attributes:
        name: the name, as ``FORMATS`` has it.

    Raises:
        LayoutError: if no format has the name.

    >>> NamedLayout("COL32").box((5, 40))
    (2, 5, 32)
    """

    name: str

    kind = "named format"

    def __post_init__(self) -> None:
        if self.name not in _FORMATS:
            raise LayoutError(
                f"name: expected a named format, got {shown(self.name)}",
                fix=f"the names are {', '.join(_FORMATS)}",
            )

    @property
    def format(self) -> Format:
        """The row of the table of formats."""
        return _FORMATS[self.name]

    def results(
        self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /
    ) -> tuple[AffineExpr, ...]:
        """Return the coordinate in the box by the format's formula, after those of batches."""
        if not self.format.formula:
            general = _GENERAL[self.name]
            return tuple(general(tuple(coordinates), tuple(shape)))
        parameters, forms = _formula(self.format.formula)
        batches = len(shape) - len(parameters)
        if batches < 0:
            raise ShapeError(
                f"{self}: expected at least {len(parameters)} sizes, got {len(shape)}",
                f"the last dimensions of the array are {', '.join(parameters)}",
                "give a size for each of them",
            )
        values = dict(zip(parameters, coordinates[batches:], strict=True))
        return (*coordinates[:batches], *(substitute(form, values) for form in forms))

    def by_document(
        self, coordinate: Sequence[int], shape: Sequence[int], /
    ) -> tuple[int, int] | None:
        """Return an element's offset and the buffer's size by the format's document."""
        return by_name(self.name, coordinate, shape)

    def names(self, rank: int) -> tuple[str, ...]:
        """Return the formula's parameters, after names of batches."""
        if not self.format.formula:
            return standard(rank or 2)
        parameters, _ = _formula(self.format.formula)
        batches = max(rank - len(parameters), 0)
        first = ("n",) if "n" not in parameters else ("batch",)
        return (*(first if batches == 1 else [f"b{k}" for k in range(batches)]), *parameters)

    def texts(self, rank: int) -> tuple[str, ...]:
        """Return the formula of each coordinate in the box."""
        if not self.format.formula:
            return ()
        parameters, forms = _formula(self.format.formula)
        return (*self.names(rank)[: max(rank - len(parameters), 0)], *map(str, forms))

    @property
    def headline(self) -> str:
        """What the format is for, and the document that defines it."""
        return f"{self.format.words} ({self.format.source})"

    def __str__(self) -> str:
        return self.name


def _morton(coordinates: tuple[AffineExpr, ...], shape: tuple[Int, ...]) -> tuple[AffineExpr, ...]:
    """Return the bits of the coordinates, the highest first, those of the last dimension last."""
    bits = []
    for k, n in enumerate(shape):
        if not isinstance(n, int) or n < 1 or n & (n - 1):
            raise ShapeError(
                f"morton: expected sizes that are powers of two, got {n} for dimension {k}",
                "the order interleaves the bits of the coordinates",
                f"pad the dimension to {1 << (n - 1).bit_length()}"
                if isinstance(n, int) and n > 0
                else "give sizes that are numbers",
            )
        bits.append(n.bit_length() - 1)
    levels = reversed(range(max(bits, default=0)))
    return tuple(
        divide(x, 1 << level) % 2
        for level in levels
        for x, count in zip(coordinates, bits, strict=True)
        if level < count
    )


_GENERAL: Final[dict[str, Callable[[tuple[AffineExpr, ...], tuple[Int, ...]], Any]]] = {
    "row-major": lambda coordinates, _: coordinates,
    "column-major": lambda coordinates, _: coordinates[::-1],
    "morton": _morton,
}
