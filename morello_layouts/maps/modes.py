"""The offset split by coordinate, and the strides along one dimension."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.expr import AffineExpr, Atom, Digit, Var
from morello_layouts.expr.assumptions import Assumption
from morello_layouts.expr.conversions import size_to_sympy, to_sympy
from morello_layouts.expr.sizes import Int, SizeExpr, ceil_quotient

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True)
class Decomposition:
    """An offset as a sum of parts: ``forms[0] + forms[1] + … + mixed + const``.

    Attributes:
        forms: for each dimension what its coordinate contributes by itself; 0 at coordinate 0.
        mixed: what depends on several coordinates at once; 0 where the offset separates.
        const: what depends on none.
        size_symbols: the user's symbols of symbolic sizes.
        source: what the layout was read from.
        assumptions: what is known of symbolic sizes.

    >>> from morello_layouts import index_map
    >>> parts = index_map("bf16[10,200]{1,0:T(8,128)(2,1)}").decompose()
    >>> [str(form) for form in parts.forms], parts.is_complete
    (['2048*(d0//8) + 256*((d0//2)%4) + d0%2', '1024*(d1//128) + 2*(d1%128)'], True)
    >>> print(parts)
    (2048*(d0//8) + 256*((d0//2)%4) + d0%2) + (1024*(d1//128) + 2*(d1%128))
    """

    forms: tuple[AffineExpr, ...]
    mixed: AffineExpr
    const: Int
    size_symbols: Mapping[str, sympy.Symbol] = field(default_factory=dict, compare=False)
    source: str = field(default="", compare=False)
    assumptions: tuple[Assumption, ...] = ()

    def __str__(self) -> str:
        parts = [form for form in (*self.forms, self.mixed) if form.terms]
        texts = [f"({form})" if len(form.terms) > 1 else str(form) for form in parts]
        if self.const or not texts:
            texts.append(f"({self.const})" if isinstance(self.const, SizeExpr) else str(self.const))
        return " + ".join(texts)

    @property
    def is_complete(self) -> bool:
        """Whether the offset separates: nothing depends on several coordinates at once."""
        return not self.mixed.terms

    @cached_property
    def exprs(self) -> tuple[sympy.Expr, ...]:
        """The part of each coordinate as a SymPy expression."""
        return tuple(to_sympy(form, self.size_symbols) for form in self.forms)

    @cached_property
    def mixed_expr(self) -> sympy.Expr:
        """What does not decompose, as a SymPy expression."""
        return to_sympy(self.mixed, self.size_symbols)


def decompose(
    form: AffineExpr,
    names: Sequence[str],
    size_symbols: Mapping[str, sympy.Symbol] | None = None,
    source: str = "",
    assumptions: tuple[Assumption, ...] = (),
) -> Decomposition:
    """The terms of a form by the variable that they depend on.

    >>> from morello_layouts.expr import variable
    >>> i, j = variable("i", 0, 7), variable("j", 0, 7)
    >>> parts = decompose(16 * i + j // 4 + (i + j) % 3, ("i", "j"))
    >>> [str(part) for part in parts.forms], str(parts.mixed)
    (['16*i', 'j//4'], '(i + j)%3')
    """
    parts: dict[str, list[tuple[Atom, Int]]] = {name: [] for name in names}
    mixed: list[tuple[Atom, Int]] = []
    for atom, c in form.terms:
        used = AffineExpr(((atom, 1),), 0).variables()
        terms = parts[used[0].name] if len(used) == 1 else mixed
        terms.append((atom, c))
    return Decomposition(
        tuple(AffineExpr(tuple(parts[name]), 0) for name in names),
        AffineExpr(tuple(mixed), 0),
        form.const,
        size_symbols or {},
        source,
        assumptions,
    )


@dataclass(frozen=True, slots=True)
class Mode:
    """So many steps of one stride.

    Attributes:
        length: how many positions: an int, SymPy where sizes are symbolic, None where neither says.
        stride: how far apart neighbours are, in elements: an int or SymPy.

    >>> from morello_layouts import index_map
    >>> index_map("f32[10,200]{1,0:T(8,128)}").modes(0).runs[0]
    Mode(length=8, stride=128)
    """

    length: Any
    stride: Any


@dataclass(frozen=True, slots=True)
class Modes:
    """How the offset moves along one dimension while the other coordinates stay.

    Attributes:
        runs: a mixed radix, the innermost first: a coordinate moves by the first stride, and after
            ``length`` positions the first starts again while the second moves by its own stride.
            The last run of the dimension may be cut short.

    >>> from morello_layouts import index_map
    >>> m = index_map("f32[10,200]{1,0:T(8,128)}")
    >>> m.modes(1)
    Modes(runs=(Mode(length=128, stride=1), Mode(length=2, stride=1024)))
    >>> m.modes(1).contiguous, m.modes(0).contiguous
    (128, 1)
    """

    runs: tuple[Mode, ...]

    @property
    def contiguous(self) -> Any:
        """How many elements lie side by side, at each multiple of that many; 1 where none do."""
        if not self.runs or self.runs[0].stride != 1:
            return 1
        return self.runs[0].length

    @property
    def stride(self) -> Any:
        """The distance of neighbours within the innermost run; 0 along a dimension of size 1."""
        return self.runs[0].stride if self.runs else 0


def modes_along(
    form: AffineExpr,
    name: str,
    size: Int,
    size_symbols: Mapping[str, sympy.Symbol] | None = None,
) -> Modes:
    """The runs of constant stride of one variable of a form.

    Args:
        form: the offset.
        name: the variable, whose values are 0 .. size - 1.
        size: how many values the variable has.
        size_symbols: the user's symbols of symbolic sizes.

    Raises:
        UnsupportedError: where the strides depend on other coordinates, or change at places that
            are no multiples of one another.
    """
    digits: list[tuple[Int, Int | None, Int]] = []
    for atom, c in form.terms:
        used = [var.name for var in AffineExpr(((atom, 1),), 0).variables()]
        if name not in used:
            continue
        if len(used) > 1:
            raise _irregular(name, atom, "depends on other coordinates too")
        digits.append((*_digit(name, atom), c))
    starts = sorted({1, *_ends(digits)}, key=_order)
    for low, high in pairwise(starts):
        if high % low:
            what = f"changes its stride at multiples of {low} and of {high}"
            raise UnsupportedError(
                f"the offset along {name} {what}",
                "its runs are no multiples of one another, so that they have no one length",
                "read the runs from offsets of your own, or tile by sizes that divide one another",
            )
    found = _merged(_levels(starts, digits, size))

    def public(number: Int | None) -> Any:
        return size_to_sympy(number, size_symbols or {}) if isinstance(number, SizeExpr) else number

    return Modes(tuple(Mode(public(n), public(stride)) for n, stride in found))


def _levels(
    starts: Sequence[Int], digits: Sequence[tuple[Int, Int | None, Int]], size: Int
) -> list[tuple[Int | None, Int]]:
    """Lengths and strides between the starts: a stride is Σ c·(start // s) over moving digits."""
    levels: list[tuple[Int | None, Int]] = []
    for k, start in enumerate(starts):
        stride: Int = 0
        for s, end, c in digits:
            if start % s == 0 and (end is None or (start != end and end % start == 0)):
                stride = stride + c * (start // s)
        length = _count(size, start) if k + 1 == len(starts) else starts[k + 1] // start
        if isinstance(size, int) and isinstance(start, int) and isinstance(length, int):
            length = min(length, -(-size // start))
        levels.append((length, stride))
    return levels


def _count(size: Int, start: Int) -> Int | None:
    """⌈size / start⌉, where it can be told."""
    if isinstance(size, int) and isinstance(start, int):
        return -(-size // start)
    if isinstance(start, int):
        return ceil_quotient(size, start)
    whole, rest = divmod(size, start)
    return whole if rest == 0 else None


def _merged(
    levels: Sequence[tuple[Int | None, Int]],
) -> list[tuple[Int | None, Int]]:
    """Runs that go on at the stride of those before them are one run; runs of one are none."""
    merged: list[tuple[Int | None, Int]] = []
    for length, stride in levels:
        if length == 1:
            continue
        inner, step = merged[-1] if merged else (None, 0)
        if inner is not None and stride == step * inner:
            merged[-1] = (None if length is None else inner * length, step)
        else:
            merged.append((length, stride))
    return merged


def _digit(name: str, atom: Atom) -> tuple[Int, Int | None]:
    """A digit of the variable as (where it first moves, where it starts again)."""
    if isinstance(atom, Var):
        return 1, None
    inner = atom.operand.as_atom()
    if not isinstance(inner, Var):
        raise _irregular(name, atom, "is no digit of it")
    end = None if atom.modulus is None else atom.divisor * atom.modulus
    return atom.divisor, end


def _ends(digits: Sequence[tuple[Int, Int | None, Int]]) -> list[Int]:
    return [end for s, e, _ in digits for end in (s, e) if end is not None]


def _order(number: Int) -> tuple[bool, object]:
    return not isinstance(number, int), number if isinstance(number, int) else str(number)


def _irregular(name: str, atom: Atom, why: str) -> UnsupportedError:
    part = str(atom) if isinstance(atom, Digit) else atom.name
    return UnsupportedError(
        f"the offset along {name} has no regular strides",
        f"{part} {why}",
        "read the runs from offsets of your own, or tile by sizes that divide one another",
    )


def require_dim(dim: int, rank: int) -> int:
    """A dimension counted from the left, from the right where negative.

    Raises:
        ShapeError: where the array has no such dimension.
    """
    try:
        found = operator.index(dim)
    except TypeError:
        found = rank
    if -rank <= found < rank:
        return found % rank
    raise ShapeError(
        f"there is no dimension {dim!r}",
        f"the array has {rank} dimensions, counted from 0",
        f"give a number from 0 to {rank - 1}" if rank else "a scalar has none",
    )
