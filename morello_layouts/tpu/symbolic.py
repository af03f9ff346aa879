"""What a layout costs as a formula, for an array with symbolic sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.expr.size import Number, Size
from morello_layouts.tpu.waste import Padding, Waste, bytes_of_data, reasons_of, waste
from morello_layouts.xla import XlaShape
from morello_layouts.xla.size import reserved_bytes

if TYPE_CHECKING:
    import sympy

__all__ = ["WasteFormula", "waste_formula"]


@dataclass(frozen=True, slots=True)
class WasteFormula:
    """Bytes of an array's data and of its buffer, for every value of its symbolic sizes.

    Attributes:
        shape: the array and its layout.
        data: bytes of the elements alone: a polynomial in the names of sizes.
        reserved: bytes that XLA reserves: a polynomial in names and quotients rounded up.
        reasons: why it reserves more; a reason applies unless the size is a multiple already.

    >>> from morello_layouts.xla import XlaLayout
    >>> f = waste_formula(XlaShape("bf16", ("M", "N"), XlaLayout((1, 0), ((8, 128), (2, 1)))))
    >>> f.data_bytes, f.reserved_bytes
    (2*M*N, 2048*ceiling(M/8)*ceiling(N/128))
    >>> f.at(M=10, N=200).reserved_bytes
    8192
    """

    shape: XlaShape
    data: Number
    reserved: Number
    reasons: tuple[Padding, ...]

    @property
    def data_bytes(self) -> sympy.Expr:
        """Bytes of the elements alone, in SymPy.

        >>> waste_formula(XlaShape("s32", ("M", 3))).data_bytes
        12*M
        """
        return _sympy(self.data)

    @property
    def reserved_bytes(self) -> sympy.Expr:
        """Bytes that XLA reserves, in SymPy.

        >>> waste_formula(XlaShape("s32", ("M", 3))).reserved_bytes
        12*M
        """
        return _sympy(self.reserved)

    @property
    def padding_bytes(self) -> sympy.Expr:
        """Bytes that hold no data, in SymPy.

        >>> waste_formula(XlaShape("s32", ("M", 3))).padding_bytes
        0
        """
        return _sympy(self.reserved - self.data)

    @property
    def factor(self) -> sympy.Expr:
        """Bytes reserved over bytes of data, in SymPy; 1 where there are neither.

        >>> waste_formula(XlaShape("s32", ("M", 3))).factor
        1
        """
        if self.data == self.reserved:
            return _sympy(1)
        return self.reserved_bytes / self.data_bytes

    def at(self, **sizes: int) -> Waste:
        """The bytes and reasons where the sizes have these values.

        Raises:
            ShapeError: where a name is not one of the array's, or one of these has no value.

        >>> waste_formula(XlaShape("s32", ("M", 3))).at(M=5).data_bytes
        60
        """
        names = {n for n in self.shape.dims if isinstance(n, str)}
        if names != sizes.keys():
            given = ", ".join(sorted(sizes)) or "none"
            raise ShapeError(
                f"values are given for {given}",
                f"the symbolic sizes of {self.shape} are {', '.join(sorted(names)) or 'none'}",
                "give one value for each of them",
            )
        dims = tuple(sizes[n] if isinstance(n, str) else n for n in self.shape.dims)
        return waste(replace(self.shape, dims=dims))

    def __str__(self) -> str:
        reasons = (f"  {reason.text}" for reason in self.reasons)
        bytes_ = f"{self.data} bytes of data in {self.reserved}"
        return "\n".join([f"{self.shape}: {bytes_}", *reasons])


def waste_formula(shape: XlaShape) -> WasteFormula:
    """What an array's layout costs, as a formula in its symbolic sizes, each at least 1.

    Raises:
        LayoutError: where it is given anything but an XlaShape.
        UnsupportedError: for a token or opaque value, an unbounded size, and where SC splits an
            array of symbolic sizes.

    >>> from morello_layouts.xla import XlaLayout
    >>> print(waste_formula(XlaShape("f32", ("N", 200), XlaLayout((1, 0), ((8, 128),)))))
    f32[N,200]{1,0:T(8,128)}: 800*N bytes of data in 8192*ceil(N/8)
      minor dimension 1 of size 200 is padded to 256: tiles (8,128) have 128 columns
      second-minor dimension 0 of size N is padded to 8*ceil(N/8): tiles (8,128) have 8 rows
    """
    if not isinstance(shape, XlaShape):
        raise LayoutError(
            f"{shape!r} is no array",
            "bytes are counted for an XlaShape",
            "give one; ml.parse reads it from text",
        )
    bits = shape.bits  # raises where there is no layout
    layout = shape.layout
    assert layout is not None
    if all(isinstance(n, int) for n in shape.dims):
        known = waste(shape)
        return WasteFormula(shape, known.data_bytes, known.reserved_bytes, known.reasons)
    if layout.splits_array:
        raise UnsupportedError(
            f"{shape} splits the array at fixed places",
            "which piece is the largest depends on the symbolic sizes",
            "write numbers for the sizes, or leave SC out",
        )
    sizes = tuple(map(_size_of(shape), shape.dims))
    data, reserved = bytes_of_data(shape, sizes), reserved_bytes(sizes, layout, bits)
    reasons = reasons_of(shape, layout.physical_sizes(sizes)) if reserved else ()
    return WasteFormula(shape, data, reserved, tuple(reasons))


def _size_of(shape: XlaShape) -> Callable[[Any], Number]:
    def size_of(n: Any) -> Number:
        if n is None:
            raise UnsupportedError(
                f"{shape} has an unbounded size",
                "'?' has no name, so no formula can speak of it",
                "write a name, such as N, for each '?'",
            )
        return Size.named(n) if isinstance(n, str) else int(n)

    return size_of


def _sympy(value: Number) -> Any:
    from morello_layouts.expr.sympy_bridge import size_to_sympy

    return size_to_sympy(value, {})
