"""Decompose an offset by coordinate, and list the strides along one dimension."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import TYPE_CHECKING, Any, Final

from morello_layouts.core.expr import AffineExpr, Atom, Digit, Var
from morello_layouts.core.expr.affine import floors_of
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.conversions import to_sympy
from morello_layouts.core.expr.sizes import Int, SizeExpr, ceil_quotient
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.limits import STRIDED_POINTS
from morello_layouts.core.maps.names import public_size
from morello_layouts.errors import ShapeError, UnsupportedError

if TYPE_CHECKING:
    import sympy


_IRREGULAR_FIX: Final = (
    "compute the offsets of the dimension, or tile by sizes that divide one another"
)


@frozen(slots=False)
class Decomposition(Displayed):
    """An offset as a sum of parts: ``forms[0] + forms[1] + … + mixed + const``.

    >>> from morello_layouts import index_map
    >>> parts = index_map("bf16[10,200]{1,0:T(8,128)(2,1)}").decompose()
    >>> [str(form) for form in parts.forms], parts.is_complete
    (['2048*(d0//8) + 256*((d0//2)%4) + d0%2', '1024*(d1//128) + 2*(d1%128)'], True)
    >>> print(parts)
    (2048*(d0//8) + 256*((d0//2)%4) + d0%2) + (1024*(d1//128) + 2*(d1%128))
    """

    #: for each dimension, the part that depends on its coordinate alone.
    forms: tuple[AffineExpr, ...]
    #: the part that depends on several coordinates at once; 0 if the offset separates.
    mixed: AffineExpr
    const: Int  #: the part that depends on no coordinate.
    #: the user's SymPy symbols of symbolic sizes, by name.
    size_symbols: Mapping[str, sympy.Symbol] = field(default_factory=dict, compare=False)
    source: str = field(default="", compare=False)  #: the layout as text, with its shape.
    assumptions: tuple[Assumption, ...] = ()  #: the assumptions about symbolic sizes.
    names: tuple[str, ...] = ()  #: the names of the coordinates.

    def __str__(self) -> str:
        parts = [form for form in (*self.forms, self.mixed) if form.terms]
        texts = [f"({form})" if len(form.terms) > 1 else str(form) for form in parts]
        if self.const or not texts:
            texts.append(f"({self.const})" if isinstance(self.const, SizeExpr) else str(self.const))
        return " + ".join(texts)

    @property
    def is_complete(self) -> bool:
        """Whether the offset separates: no part depends on several coordinates at once."""
        return not self.mixed.terms

    @cached_property
    def exprs(self) -> tuple[sympy.Expr, ...]:
        """The part of each coordinate as a SymPy expression."""
        return tuple(to_sympy(form, self.size_symbols) for form in self.forms)

    @cached_property
    def mixed_expr(self) -> sympy.Expr:
        """The part of several coordinates as a SymPy expression."""
        return to_sympy(self.mixed, self.size_symbols)


def decompose(
    form: AffineExpr,
    names: Sequence[str],
    size_symbols: Mapping[str, sympy.Symbol] | None = None,
    source: str = "",
    assumptions: tuple[Assumption, ...] = (),
) -> Decomposition:
    """Sort the terms of a form by the variable that they depend on.

    >>> from morello_layouts.core.expr import variable
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
        tuple(names),
    )


@frozen
class Mode:
    """Positions at one stride: ``length:stride`` in CuTe's notation.

    >>> from morello_layouts import index_map
    >>> index_map("f32[10,200]{1,0:T(8,128)}").modes(0).runs[0]
    Mode(length=8, stride=128)
    """

    #: the number of positions: an int, a SymPy expression, or None if it is not known.
    length: Any
    stride: Any  #: the distance of neighbors in elements: an int or a SymPy expression.


@frozen
class Modes(Displayed):
    """The strides of the offset along one dimension, for fixed other coordinates.

    >>> from morello_layouts import index_map
    >>> m = index_map("f32[10,200]{1,0:T(8,128)}")
    >>> m.modes(1)
    <Modes: (128,2):(1,1024)>
    >>> m.modes(1).contiguous, m.modes(0).contiguous
    (128, 1)
    """

    #: the modes, innermost first, as digits in mixed radix: after ``length`` positions, the first
    #: mode starts again and the second moves by its stride. The last mode may be cut short by the
    #: size of the dimension.
    runs: tuple[Mode, ...]

    def __str__(self) -> str:
        lengths = ",".join("?" if r.length is None else str(r.length) for r in self.runs)
        return _plain(f"({lengths}):({','.join(str(r.stride) for r in self.runs)})")

    @property
    def contiguous(self) -> Any:
        """The number of adjacent elements, at each multiple of that number; 1 if none are."""
        if not self.runs or self.runs[0].stride != 1:
            return 1
        return self.runs[0].length

    @property
    def stride(self) -> Any:
        """The distance of neighbors in the innermost mode; 0 along a dimension of size 1."""
        return self.runs[0].stride if self.runs else 0


@frozen(slots=False)
class Strided(Displayed):
    """An array as a strided view of its buffer.

    >>> from morello_layouts import index_map
    >>> print(index_map("f32[4,6]")[1:, ::-2].as_strided())
    offset 11, strides (6, -2)
    >>> print(index_map("f32[16,256]{1,0:T(8,128)}").as_strided())
    offset 0, modes (8,2):(128,2048), (128,2):(1,1024)
    >>> print(index_map("f32[16,256]{1,0:T(8,128)}")[::-1].as_strided())
    offset 2944, modes (8,2):(-128,-2048), (128,2):(1,1024)
    """

    offset: Any  #: the offset of the first element.
    modes: tuple[Modes, ...]  #: the strides along each dimension, of which tiles have several.
    sizes: tuple[Any, ...] = ()  #: the number of elements along each dimension.

    @property
    def strides(self) -> tuple[Any, ...] | None:
        """The stride of each dimension as ``torch.as_strided`` takes it; None if some has several.

        A dimension of one element has the stride that PyTorch gives a new one: the size of the next
        dimension times its stride, and 1 at the end.
        """
        found: list[Any] = []
        for modes, n in reversed(list(zip(self.modes, self.sizes, strict=True))):
            if len(modes.runs) > 1:
                return None
            step = modes.stride
            if n == 1:
                k = len(self.sizes) - len(found)
                step = found[-1] * self.sizes[k] if found else 1
            found.append(step)
        return tuple(reversed(found))

    def __str__(self) -> str:
        offset = _plain(f"offset {self.offset}")
        if self.strides is not None:
            return _plain(f"{offset}, strides ({', '.join(map(str, self.strides))})")
        return f"{offset}, modes {', '.join(map(str, self.modes))}"


def _plain(text: str) -> str:
    """Return a text with SymPy's function as formulas have it."""
    return text.replace("ceiling(", "ceil(")


def modes_along(
    form: AffineExpr, name: str, size: Int, size_symbols: Mapping[str, sympy.Symbol] | None = None
) -> Modes:
    """Return the modes of one variable of a form.

    >>> from morello_layouts.core.expr import variable
    >>> i = variable("i", 0, 31)
    >>> print(modes_along(64 * (i // 8) + i % 8, "i", 32))
    (8,4):(1,64)
    """
    floors = _floors_along(form, name)
    starts = sorted({1, *floors}, key=_order)
    for low, high in pairwise(starts):
        if high % low:
            raise UnsupportedError(
                f"the offset along {name} changes its stride at multiples of {low} and of {high}",
                f"modes need positions that divide one another, and {low} does not divide {high}",
                _IRREGULAR_FIX,
            )
    modes: list[tuple[Int | None, Int]] = []
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        count = _count(size, start)
        length = count if end is None else end // start
        if isinstance(count, int) and isinstance(length, int):
            length = min(length, count)
        stride = sum(c * (start // s) for s, c in floors.items() if start % s == 0)
        modes.append((length, stride))
    named = size_symbols or {}
    return Modes(
        tuple(
            Mode(None if length is None else public_size(length, named), public_size(stride, named))
            for length, stride in _joined(modes)
        )
    )


def _floors_along(form: AffineExpr, name: str) -> dict[Int, Int]:
    """Return the terms of a variable x as Σ c·(x // s): the factor c by the divisor s."""
    floors: dict[Int, Int] = {}
    for atom, c in form.terms:
        used = [var.name for var in AffineExpr(((atom, 1),), 0).variables()]
        if name not in used:
            continue
        if len(used) > 1:
            raise _irregular(name, atom, "depends on other coordinates too")
        operand = atom.operand if isinstance(atom, Digit) else AffineExpr(((atom, 1),), 0)
        (index, sign), *others = operand.terms
        if others or sign not in (1, -1) or not isinstance(index, Var):
            raise _irregular(name, atom, "is not a digit of it")
        for s, factor in floors_of(atom, c):
            # From (s - 1 - x) // s = -(x // s) follow the digits of a reversed dimension.
            if (operand.const + (1 if sign == -1 else 0)) % s != 0:
                raise _irregular(name, atom, "is not a digit of it")
            floors[s] = floors.get(s, 0) + sign * factor
    return floors


def _count(size: Int, start: Int) -> Int | None:
    """Return ⌈size / start⌉, or None if it is not known."""
    if isinstance(start, int):
        return ceil_quotient(size, start)
    whole, rest = divmod(size, start)
    return whole if rest == 0 else None


def _joined(modes: Iterable[tuple[Int | None, Int]]) -> list[tuple[Int | None, Int]]:
    """Join modes that continue at the stride of the mode before, and drop those of length 1."""
    joined: list[tuple[Int | None, Int]] = []
    for length, stride in modes:
        if length == 1:
            continue
        inner, step = joined[-1] if joined else (None, 0)
        if inner is not None and stride == step * inner:
            joined[-1] = (None if length is None else inner * length, step)
        else:
            joined.append((length, stride))
    return joined


def _order(number: Int) -> tuple[bool, object]:
    return not isinstance(number, int), number if isinstance(number, int) else str(number)


def _irregular(name: str, atom: Atom, why: str) -> UnsupportedError:
    return UnsupportedError(
        f"the offset along {name} has no regular strides", f"{atom} {why}", _IRREGULAR_FIX
    )


def require_dim(dim: int | str, names: Sequence[str]) -> int:
    """Return a dimension as an index from the left; a negative one counts from the right.

    >>> require_dim(-1, ("y", "x")), require_dim("y", ("y", "x"))
    (1, 0)
    """
    rank = len(names)
    if isinstance(dim, str) and dim in names:
        return names.index(dim)
    try:
        found = operator.index(dim)  # type: ignore[arg-type]
    except TypeError:
        found = rank
    if -rank <= found < rank:
        return found % rank
    raise ShapeError(
        f"there is no dimension {dim!r}",
        f"the array has {rank} dimensions, counted from 0: {', '.join(names)}",
        f"give a number from 0 to {rank - 1}, or a name" if rank else "a scalar has none",
    )


def linear(shape: tuple[int, ...], offset: Callable[..., int]) -> Strided | None:
    """Return the strides of a few elements whose offsets have one along each dimension, or None.

    A swizzle has none, but the elements of a view may lie between the places where it jumps.

    >>> from morello_layouts import index_map
    >>> print(index_map("Sw<2,2,3> o 0 o (16,32):(32,1)")[11, 19:21].as_strided())
    offset 383, strides (-7)
    """
    if prod(shape) > STRIDED_POINTS:
        return None
    first = offset(*(0 for _ in shape))
    corners = [tuple(int(j == k) for j in range(len(shape))) for k in range(len(shape))]
    steps = [offset(*at) - first if n > 1 else 0 for at, n in zip(corners, shape, strict=True)]
    for at in product(*map(range, shape)):
        if offset(*at) != first + sum(map(operator.mul, at, steps)):
            return None
    pairs = zip(shape, steps, strict=True)
    return Strided(first, tuple(Modes((Mode(n, s),) if n > 1 else ()) for n, s in pairs), shape)
