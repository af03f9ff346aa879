"""Relayouts of symbolic sizes as functions on NumPy buffers: one kernel, sizes at each call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from morello_layouts.errors import ShapeError
from morello_layouts.expr.assumptions import Assumption
from morello_layouts.expr.sizes import Int, SizeExpr
from morello_layouts.kernels.compiled import (
    Build,
    BuiltRelayout,
    CompiledRelayout,
    as_items,
    build_of,
    found_compiler,
)
from morello_layouts.kernels.moves import Kernel
from morello_layouts.recipe import Recipe

_MOST_KEPT = 256


@dataclass(frozen=True, slots=True)
class SizedRelayout(BuiltRelayout):
    """A relayout that runs at all sizes: it takes a buffer and the sizes, and gives the other.

    Its attributes are those of :class:`BuiltRelayout`, and one more. ``function`` takes the sizes
    after the addresses, in the order of ``names``.

    Attributes:
        assumptions: what is assumed of the sizes; each is checked at each call.

    >>> from morello_layouts import relayout
    >>> f = relayout("u8[M,N]{1,0}", "u8[M,N]{1,0:T(2,2)}").compile()
    >>> f([1, 2, 3, 4, 5, 6], M=2, N=3)
    array([1, 2, 4, 5, 3, 0, 6, 0], dtype=uint8)
    >>> f([[1, 2], [3, 4]])
    array([1, 2, 3, 4], dtype=uint8)
    """

    assumptions: tuple[Assumption, ...]
    _build: Build = field(repr=False, compare=False)
    _kept: dict[tuple[int | None, ...], CompiledRelayout] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def names(self) -> tuple[str, ...]:
        """The sizes that a call gives, in the order of the C function's arguments.

        >>> from morello_layouts import relayout
        >>> relayout("u8[M,N]{1,0}", "u8[M,N]{0,1}").compile().names
        ('M', 'N')
        """
        return self.source.names

    def __call__(
        self, buffer: Any, /, out: NDArray[Any] | None = None, **sizes: int
    ) -> NDArray[Any]:
        """The other buffer.

        Args:
            buffer: one item for each slot of the source layout, 1-D; where that layout is plain
                row-major order, also the array itself, whose shape then says the sizes.
            out: where to write, one item for each slot of the target layout; left out, a new array.
            sizes: each symbolic size by its name; for one that is called ``out``, see :meth:`at`.

        Raises:
            ShapeError: where a size is missing, unknown or not as assumed, or where a buffer is not
                of its layout's size.
        """
        buffer = as_items(buffer, self.dtype)
        plain = not self.source.steps and self.source.tail_padding == 0
        whole = plain and buffer.ndim == len(self.source.shape)
        if not sizes and whole:
            sizes = _sizes_of(self.source.shape, buffer.shape)
        move = self.at(**sizes)
        if whole and buffer.shape == move.source.shape:
            buffer = np.ascontiguousarray(buffer).reshape(-1)
        return move(buffer, out)

    def at(self, /, **sizes: int) -> CompiledRelayout:
        """The relayout at given sizes, by the same kernel.

        Raises:
            ShapeError: where a size is missing, unknown or not as assumed.

        >>> from morello_layouts import relayout
        >>> f = relayout("u8[M,N]{1,0}", "u8[M,N]{0,1}").compile()
        >>> f.at(M=2, N=3).target.size
        6
        """
        key = tuple(sizes.get(name) for name in self.names)
        if len(sizes) == len(self.names) and all(type(size) is int for size in key):
            kept = self._kept.get(key)
            if kept is not None:
                return kept
        values = _required(sizes, self.names, self.assumptions)

        def given(n: Int) -> Int:
            return n if isinstance(n, int) else n.evaluate(values)

        ordered = tuple(values[name] for name in self.names)
        found = CompiledRelayout(
            self.source.map_sizes(given),
            self.target.map_sizes(given),
            self.dtype,
            self.fill,
            self.threads,
            self.text,
            self.by,
            self._build.move(ordered, self.fill, self.threads),
        )
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[ordered] = found
        return found


def _sizes_of(shape: tuple[Int, ...], given: tuple[int, ...]) -> dict[str, int]:
    """The symbolic sizes of an array's shape."""
    values: dict[str, int] = {}
    for size, n in zip(shape, given, strict=True):
        names = size.names() if isinstance(size, SizeExpr) else ()
        for name in names if len(names) == 1 else ():
            if isinstance(size, SizeExpr) and size.evaluate({name: n}) == n:
                values.setdefault(name, n)
    return values


def _required(
    sizes: Mapping[str, Any], names: tuple[str, ...], assumptions: tuple[Assumption, ...]
) -> dict[str, int]:
    missing = [name for name in names if name not in sizes]
    unknown = sorted(sizes.keys() - set(names))
    if missing or unknown:
        what = f"{', '.join(missing)} not given" if missing else f"no size {', '.join(unknown)}"
        raise ShapeError(
            f"sizes: {what}",
            f"the kernel is for all {', '.join(names)}",
            f"give each by its name: f(buffer, {', '.join(f'{name}=…' for name in names)})",
        )
    values = {name: _whole(name, size) for name, size in sizes.items()}
    for fact in (*(Assumption(name) for name in names), *assumptions):
        if fact.name in values and not fact.holds_for(values[fact.name]):
            raise ShapeError(
                f"{fact.name} is {values[fact.name]}",
                f"the kernel assumes {fact}",
                "give a size that is so, or make a kernel that assumes less",
            )
    return values


def _whole(name: str, size: Any) -> int:
    try:
        value = index(size)
    except TypeError:
        value = 1 << 63
    if value >= 1 << 63:
        raise ShapeError(
            f"{name} is {size!r}",
            "a size is a whole number that the machine's integers hold",
            f"give for example {name}=8",
        )
    return value


def sized_relayout(
    source: Recipe,
    target: Recipe,
    dtype: np.dtype[Any],
    fill: bytes | None = None,
    assumptions: tuple[Assumption, ...] = (),
    *,
    threads: int = 1,
) -> SizedRelayout:
    """Build the kernel between two layouts of symbolic sizes; kept, so asking twice costs nothing.

    Raises:
        UnsupportedError: where the layouts share no digits at all sizes.
    """
    comment = f"{source}\nto {target}"
    kernel = Kernel(source, target, dtype.itemsize, fill, comment=comment, assumptions=assumptions)
    build = build_of(kernel, found_compiler(), share=threads > 1)

    def function(to: int, given: int, *sizes: int) -> None:
        move = build.move(sizes, fill, threads)
        if move is not None:
            move(to, given)

    return SizedRelayout(
        source,
        target,
        dtype,
        fill,
        threads,
        build.text,
        build.by,
        None if build.entry is None else function,
        assumptions,
        build,
    )
