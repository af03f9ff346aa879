"""Convert layouts from any notation to another.

Objects of JAX and PyTorch are made, too; these libraries are imported when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, Final, Literal, TypeAlias, get_args

from morello_layouts.core.checks import shown
from morello_layouts.core.description import listed
from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Layout
from morello_layouts.core.lazy import importing, missing
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.maps.subject import Subject
from morello_layouts.core.recipe import known
from morello_layouts.errors import (
    LayoutError,
    NoTranslationError,
    TranslationNotFoundError,
    UnsupportedError,
)
from morello_layouts.interfaces.api.layouts import Assuming, LayoutLike, Shape, subject
from morello_layouts.notations.strided import MemoryFormat, StridedLayout
from morello_layouts.notations.xla import XlaLayout, XlaShape

To: TypeAlias = Literal[
    "xla",
    "morello",
    "onednn",
    "cute",
    "strided",
    "pack",
    "mlir",
    "tvm",
    "einops",
    "named",
    "triton",
]
"""The name of a notation that layouts are written in."""

NOTATIONS: Final[tuple[To, ...]] = get_args(To)
"""The notations that layouts are written in."""

TYPED: Final = ("xla", "mlir", "cute")
"""The notations that name an element type."""


def convert(
    layout: LayoutLike,
    to: To,
    shape: Shape | None = None,
    element_type: str | None = None,
    *,
    assuming: Assuming | None = None,
    notation: str | None = None,
) -> Layout:
    """Return a layout of another notation with the same offsets, proved equal.

    The result is the shortest that has the fewest blocks. The proof is about the offsets of
    elements: padding after the last element is left out, and element types, memory spaces and the
    contiguity of a Morello layout (``c2``) are lost.

    - ``"xla"``: if all sizes are numbers and nothing is padded, a layout always exists, also for
      OddEven; blocks that pad the end of a dimension become tiles. A layout of very many packs may
      get more tiles than the fewest.
    - ``"morello"``: at sizes that are numbers at most one layout exists, up to lists that are equal
      at these sizes. Morello has no padding between elements.
    - ``"onednn"``: blocks of one dimension nest, and pad its end.
    - ``"cute"``: nested shapes and strides, of any sum of digits. CuTe has no padding inside of a
      mode: then the error tells the layout of the padded array, and which elements are its own.
      Exclusive ors are swizzles before it: of elements, or with an element type of bytes.
    - ``"strided"``: a stride for each dimension, as in NumPy; 0 and negative ones too.
    - ``"pack"``: ``linalg.pack`` tiles a dimension once.
    - ``"mlir"``: an affine map; with an element type a memref, which has strides if the array has.
    - ``"tvm"``: an index map. Both say any order of digits, and any formula without symbolic sizes.
    - ``"einops"``: a pattern of ``rearrange``, which pads nothing.
    - ``"named"``: a named format that has these offsets, such as ``row-major``.
    - ``"triton"``: an encoding of registers or of shared memory, at sizes that are powers of two.

    With symbolic sizes the result holds for all sizes within the assumptions, and for a Morello
    layout for all that its packs divide.

    Args:
        layout: text in any notation; or a layout, or an index map.
        to: the notation's name.
        shape: the sizes, if the layout does not carry them: numbers, or names; or SymPy
            expressions.
        element_type: the notation's name of an element type; if given, the result is an XLA shape
            or a memref, or a swizzle of CuTe acts on bytes.
        assuming: assumptions about symbolic sizes, as for ``index_map``.
        notation: the notation of a text, as for ``parse``.

    Raises:
        ShapeError: if the layout does not fit the shape.
        NoTranslationError: if no such layout exists. For symbolic sizes: if none exists at some
            sizes, which the error names.
        TranslationNotFoundError: if none was found, and none was proved not to exist.

    >>> print(convert("[1, 0, 1 p(4)]", "xla", (6, 8)))
    {0,1:T(4,1)}
    >>> print(convert("[0, 1, 0 p(4), 1 p(128), 0 p(2)]", "xla", ("M", "N"), "bf16"))
    bf16[M,N]{1,0:T(8,128)(2,1)}
    >>> print(convert("f32[M,N]{1,0:T(8,128)}", "morello", assuming="M % 8 == 0, N % 128 == 0"))
    [0, 1, 0 p(8), 1 p(128)]
    >>> print(convert("f32[M,N]{1,0:T(8,128)}", "onednn"))
    AB8a128b
    >>> print(convert("f32[3,5]{1,0:T(1,8)}", "mlir", element_type="f32"))
    memref<3x5xf32, strided<[8, 1]>>
    >>> print(convert("Sw<3,3,3> o 0 o (8,64):(64,1)", "cute", element_type="f16"))
    Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)
    >>> convert("f32[3,5]{1,0:T(2,2)}", "morello")
    Traceback (most recent call last):
    morello_layouts.errors.NoTranslationError: no Morello layout has the offsets of \
f32[3,5]{1,0:T(2,2)}
    9 of 24 slots are padding, and the first, slot 9, lies between elements
    choose sizes that the tiles divide
    """
    if to not in NOTATIONS:
        raise LayoutError(
            f"to: expected {', '.join(map(repr, NOTATIONS[:-1]))} or {NOTATIONS[-1]!r}, "
            f"got {shown(to)}",
            "a layout is converted to one of these notations",
            'give for example to="xla"',
        )
    if to not in TYPED and element_type is not None:
        raise LayoutError(
            f"element_type: expected none for {to}, got {shown(element_type)}",
            f"only {listed(TYPED)} name element types",
            f'leave out element_type="{element_type}"',
        )
    one = subject(layout, shape, assuming=assuming, notation=notation)
    return converted(one, one.map(), to, element_type)


def converted(one: Subject, m: IndexMap, to: To, element_type: str | None = None) -> Layout:
    """Return a layout of another notation, proved equal to a subject's map; as ``convert``."""
    own = one.value.layout if isinstance(one.value, XlaShape) else one.value
    if to == "xla" and isinstance(own, XlaLayout):
        found: Layout = own
    else:
        with importing:
            from morello_layouts.outputs.translate.writers import written  # loads ISL

        found = written(m, to, element_type)
    if element_type is None or not isinstance(found, XlaLayout):
        return found
    sizes = m.recipe.shape if one.shape is None else one.shape
    return _with_type(found, sizes, element_type)


@frozen
class Conversion:
    """A layout in one notation, or the reason why it cannot be written there."""

    json_keys: ClassVar = ("to", "exists", "layout", "reason")

    to: To  #: the notation's name.
    layout: Layout | None = None  #: the layout; None if there is none, or none was found.
    error: LayoutError | None = None  #: says why; None if there is a layout.

    @property
    def exists(self) -> bool | None:
        """Whether the notation has such a layout; None if unknown."""
        return None if isinstance(self.error, TranslationNotFoundError) else self.error is None

    @property
    def reason(self) -> str | None:
        """The reason why there is none, in lines of text."""
        return None if self.error is None else str(self.error)


def convert_all(
    layout: LayoutLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    notation: str | None = None,
) -> tuple[Conversion, ...]:
    """Return a layout in every notation that can say it, each proved equal.

    Args:
        layout: text in any notation, a layout, or an index map.
        shape: the sizes, if the layout does not carry them.
        assuming: assumptions about symbolic sizes, as for ``index_map``.
        notation: the notation of a text, as for ``parse``.

    Raises:
        ShapeError: if the layout does not fit the shape.

    >>> for each in convert_all("f32[3,5]{1,0:T(2,2)}"):
    ...     print(each.to, each.layout)
    xla {1,0:T(2,2)}
    morello None
    onednn AB2a2b
    cute None
    strided None
    pack inner_dims_pos = [0, 1] inner_tiles = [2, 2]
    mlir affine_map<(d0, d1) -> (d0 floordiv 2, d1 floordiv 2, d0 mod 2, d1 mod 2)>
    tvm lambda d0, d1: (d0//2, d1//2, d0%2, d1%2)
    einops None
    named None
    triton None
    """
    one = subject(layout, shape, assuming=assuming, notation=notation)
    m = one.map()
    return tuple(_tried(partial(converted, one, m), to) for to in NOTATIONS)


def conversion(
    layout: LayoutLike,
    to: To,
    shape: Shape | None = None,
    element_type: str | None = None,
    *,
    assuming: Assuming | None = None,
) -> Conversion:
    """Return what ``convert`` returns, or its error as a reason."""
    return _tried(lambda to: convert(layout, to, shape, element_type, assuming=assuming), to)


def _tried(write: Callable[[To], Layout], to: To) -> Conversion:
    try:
        return Conversion(to, write(to))
    except (NoTranslationError, TranslationNotFoundError) as error:
        return Conversion(to, error=error)


def _with_type(layout: XlaLayout, shape: tuple[Int, ...], element_type: str) -> XlaShape:
    sizes = [n.as_atom() if isinstance(n, SizeExpr) else n for n in shape]
    dims = tuple(n for n in sizes if isinstance(n, int | str))
    if len(dims) < len(sizes):
        raise UnsupportedError(
            f"the shape ({', '.join(map(str, shape))}) cannot be written in XLA's notation",
            "a size in XLA's text is a number or a name, not an expression",
            "leave the element type out to get the layout alone",
        )
    return XlaShape(element_type, dims, layout)


def to_jax(m: IndexMap) -> Any:
    """Return an index map as JAX's ``Layout``; errors as of ``IndexMap.to_jax``."""
    found: Any = None if m.origin is None else m.origin.layout
    if not isinstance(found, XlaLayout | XlaShape):
        found = convert(m, "xla")
    own: Any = found.layout if isinstance(found, XlaShape) else found
    bits = own.element_size_in_bits
    if own != XlaLayout(own.minor_to_major, own.tiles, element_size_in_bits=bits) or any(
        n < 0 for tile in own.tile_numbers for n in tile
    ):
        raise UnsupportedError(
            f"JAX has no layout {own}",
            "its Layout has the order of dimensions, and tiles of sizes",
            "leave out what stands beside them",
        )
    try:
        module = import_module("jax.experimental.layout")
    except ImportError:
        raise missing("JAX", "the layout is a value of it", "jax") from None
    kind = getattr(module, "Layout", None) or module.DeviceLocalLayout
    more = {"sub_byte_element_size_in_bits": bits} if bits else {}
    return kind(own.major_to_minor, own.tile_numbers, **more)


def to_torch(m: IndexMap) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Return an index map as ``torch.as_strided`` takes it; errors as of ``IndexMap.to_torch``."""
    sizes, found = known(m.recipe.shape), None if m.origin is None else m.origin.layout
    if isinstance(found, MemoryFormat):
        return sizes, known(found.strides(sizes)), 0
    own: Any = found if isinstance(found, StridedLayout) else convert(m, "strided")
    return sizes, known(own.strides), known((own.offset,))[0]
