"""From one buffer to another that holds the same array in another layout."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from morello_layouts.errors import ShapeError
from morello_layouts.expr import Linear, rewrite
from morello_layouts.expr.latex import mapping
from morello_layouts.expr.substitute import substitute
from morello_layouts.expr.sympy_bridge import to_sympy
from morello_layouts.formula.index_map import IndexMap
from morello_layouts.formula.inverse import Inverse

if TYPE_CHECKING:
    import sympy

__all__ = ["Relayout"]


@dataclass(frozen=True)
class Relayout:
    """For each offset ``p`` of the target's buffer, the offset in the source's.

    Attributes:
        source: the index map of the buffer that is read.
        target: the index map of the buffer that is written.

    >>> from morello_layouts import relayout
    >>> r = relayout("f32[4,8]{1,0}", "f32[4,8]{1,0:T(2,4)}")
    >>> print(r)
    p -> 16*(p//16) + 8*((p//4)%2) + 4*((p//8)%2) + p%4
    >>> r(5)
    9
    """

    source: IndexMap
    target: IndexMap

    def __post_init__(self) -> None:
        if self.source.shape != self.target.shape:
            raise ShapeError(
                f"the layouts are of arrays of shapes {self.source.shape} and {self.target.shape}",
                "a relayout moves each element of one array",
                "give both layouts at the same shape",
            )

    @property
    def inverse(self) -> Inverse:
        """From the target's offsets to coordinates."""
        return self.target.inverse

    @cached_property
    def form(self) -> Linear:
        """The offset in the source's buffer, in the simplifier's own form."""
        at = {f"d{k}": form for k, form in enumerate(self.inverse.forms)}
        return rewrite(substitute(self.source.textbook_form, at))

    @cached_property
    def expr(self) -> sympy.Expr:
        """The offset in the source's buffer, as a SymPy expression in ``p``."""
        symbols = {**self.source.size_symbols, **self.target.size_symbols}
        return to_sympy(self.form, symbols)

    @property
    def padding(self) -> sympy.Basic:
        """The condition that ``p`` is padding of the target, as a SymPy Boolean in ``p``."""
        return self.inverse.padding

    def __call__(self, offset: int) -> int | None:
        """The offset in the source's buffer of what lies at an offset of the target's.

        Returns:
            The offset in elements; None where the target holds padding.

        Raises:
            ShapeError: where the offset is outside of the target's buffer.
        """
        if self.target.coordinates(offset) is None:
            return None
        found: Any = self.form.evaluate({"p": offset})
        return int(found)

    def __str__(self) -> str:
        return f"p -> {self.form}"

    def _repr_latex_(self) -> str:
        return mapping(["p"], [self.form])
