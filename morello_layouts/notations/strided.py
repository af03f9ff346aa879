"""Arrays with strides: NumPy's and PyTorch's, their views, and ``strided<[5, 1], offset: 2>``.

The views are the operations of PyTorch that move no element. Source: ATen's ``computeStride``,
``inferUnsqueezeGeometry`` and ``inferExpandGeometry``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Final

from morello_layouts.core.checks import as_int, as_permutation, require_inside, require_rank
from morello_layouts.core.description import Description, Part, dimensions, memory_axes, sizes_in
from morello_layouts.core.expr import AffineExpr, coordinate_variables
from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.fields import checked, frozen, one_of
from morello_layouts.core.layout import ElementType, Layout, short_name
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.limits import NESTED_TILES
from morello_layouts.core.recipe import Recipe, known, recipe_of_formula
from morello_layouts.errors import ParseError, ShapeError, UnsupportedError
from morello_layouts.notations.grammar import NAME, Syntax, Terminal, Token, integer
from morello_layouts.notations.text import (
    Rule,
    Sign,
    choice,
    either,
    field,
    made,
    many,
    row,
    word,
)  # fmt: skip


@frozen
class StridedLayout(Layout):
    """A layout that gives the offset as ``offset + Σ stride * coordinate``, in elements.

    Strides may be 0 (elements are shared), negative (a dimension runs backwards) and symbolic.

    >>> m = StridedLayout((5, 1), 2).recipe((2, 3))
    >>> print(m)
    [2,3] → pad [2,5] → start at 2 → cut to 10 elements
    """

    strides: tuple[Int, ...]  #: elements from one coordinate to the next, for each dimension.
    offset: Int = 0  #: the offset of the element at coordinate 0, in elements.
    #: the sizes, if the layout is an array's; else they are given beside it.
    shape: tuple[Int, ...] | None = None
    #: the elements of the buffer; by default it ends after the largest offset.
    buffer: Int | None = None
    element: ElementType | None = None  #: the type of an element.

    def __post_init__(self) -> None:
        part = ("strides", NESTED_TILES)
        as_int(len(self.strides), "the number of strides", 0, NESTED_TILES, part=part)
        if self.shape is not None:
            require_rank(self.shape, len(self.strides), str(self))

    @property
    def sizes(self) -> tuple[Int, ...] | None:
        return self.shape

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        """Return the layout at a shape as steps; as a scatter if the strides are not nested.

        Raises:
            ShapeError: if the shape has another number of dimensions, or an offset is negative.
        """
        form = self.reference(coordinate_variables(shape), shape)
        return recipe_of_formula(tuple(shape), form, self.buffer)

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """Return the offset plus each coordinate times its stride."""
        require_rank(shape, len(self.strides), str(self))
        total = AffineExpr((), self.offset)
        for x, stride in zip(coordinates, self.strides, strict=True):
            total = total + x * stride
        return total

    def by_document(
        self, coordinate: Sequence[int], shape: Sequence[int], /
    ) -> tuple[int, int] | None:
        """Return the offset and the buffer's size in integers; None if strides are symbolic."""
        offset, *steps = (s for s in (self.offset, *self.strides) if isinstance(s, int))
        if len(steps) < len(self.strides):
            return None
        end = offset + sum(max(s * (n - 1), 0) for n, s in zip(shape, steps, strict=True)) + 1
        size = self.buffer if isinstance(self.buffer, int) else end if prod(shape) else 0
        return offset + sum(x * s for x, s in zip(coordinate, steps, strict=True)), size

    def __str__(self) -> str:
        return _STRIDED.write(self)


_ORDERS: Final = {
    "contiguous_format": {},
    "channels_last": {3: (1, 2, 0), 4: (0, 2, 3, 1)},
    "channels_last_3d": {4: (1, 2, 3, 0), 5: (0, 2, 3, 4, 1)},
}
"""The dimensions in memory order, the slowest first, by the number of dimensions."""

MEMORY_FORMATS: Final = tuple(_ORDERS)
"""The names of PyTorch's memory formats."""


@frozen
class MemoryFormat(Layout):
    """A memory format of PyTorch. The batch may be missing from channels_last formats.

    >>> MemoryFormat("channels_last").strides((2, 3, 4, 5))
    (60, 1, 15, 3)
    """

    name: str = checked(one_of(MEMORY_FORMATS))  #: its name in PyTorch.

    def order(self, rank: int) -> tuple[int, ...]:
        """Return the dimensions in memory order, the slowest varying first.

        Raises:
            ShapeError: if the format has no order for this rank.
        """
        found = _ORDERS[self.name].get(rank)
        if found is None and self.name != "contiguous_format":
            least, most = _ORDERS[self.name]
            raise ShapeError(
                f"{self.name}: expected {least} or {most} dimensions, got {rank}",
                "the dimensions are batch (or none), channels, and those of space",
                f"give such a shape, or {'contiguous_format' if rank < 4 else 'another format'}",
            )
        return tuple(range(rank)) if found is None else found

    def strides(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        """Return the strides that PyTorch gives a dense array of the format."""
        found: dict[int, Int] = {}
        step: Int = 1
        for dim in reversed(self.order(len(shape))):
            found[dim] = step
            step *= shape[dim] if shape[dim] != 0 else 1
        return tuple(found[dim] for dim in range(len(shape)))

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        return StridedLayout(self.strides(shape)).recipe(shape)

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """Return the position in row-major order of the dimensions in memory order."""
        total = AffineExpr((), 0)
        for dim in self.order(len(shape)):
            total = total * shape[dim] + coordinates[dim]
        return total

    def __str__(self) -> str:
        return self.name


def format_of(layout: StridedLayout) -> str | None:
    """Return the channels_last format that an array's strides are, where row-major ones differ.

    As in PyTorch, the stride of a dimension of size 1 does not count.

    >>> format_of(StridedLayout((60, 1, 15, 3), shape=(2, 3, 4, 5)))
    'channels_last'
    """
    if layout.shape is None or len(layout.shape) not in (4, 5):
        return None
    names = ("contiguous_format", "channels_last" if len(layout.shape) == 4 else "channels_last_3d")
    for name in names:
        wanted = MemoryFormat(name).strides(layout.shape)
        pairs = zip(layout.shape, layout.strides, wanted, strict=True)
        if all(n == 1 or own == each for n, own, each in pairs):
            return None if name == "contiguous_format" else name
    return None


# ---- the text

_SYNTAX: Final = Syntax(
    form="a strided layout has a stride for each dimension, and an offset if it is not 0",
    example="write for example strided<[5, 1], offset: 2>",
    hints={
        "?": "give an unknown stride a name of its own, such as LD",
        "torch": "leave torch. out",
    },
)


def _name(token: Token, text: str) -> SizeExpr:
    if re.fullmatch(r"d[0-9]+|p", token):
        what = f"expected a name such as LD, got {token}, which is a coordinate or an offset"
        raise ParseError(what, _SYNTAX.form, _SYNTAX.example, text=text, position=token.start)
    return SizeExpr.named(str(token))


_COMMA: Final = Sign(", ", "','", ",")


def strides_rule(make: Callable[..., Any], number: Rule) -> Rule:
    """Return the rule of ``<[5, 1], offset: 2>``, which makes a value of strides and an offset."""
    return made(
        make,
        *("<", "[", field("strides", many(number, _COMMA, "]"))),
        field("offset", _COMMA, "offset", Sign(": ", "':'", ":"), number, default=0),
        ">",
    )


_NUMBER: Final = either((Terminal("a number", "-?[0-9]+"), integer), (NAME, _name))
_STRIDED: Final = row("strided", strides_rule(StridedLayout, _NUMBER))
_FORMAT: Final = Terminal(
    "a memory format such as channels_last", "contiguous_format|channels_last_3d|channels_last"
)
_LAYOUT: Final = choice(made(MemoryFormat, field("name", word(_FORMAT))), _STRIDED)


def parse_strided(text: str) -> StridedLayout | MemoryFormat:
    if text.count(",") > NESTED_TILES + 1:
        what, last = f"strides: expected at most {NESTED_TILES}, got more", text.rfind(",")
        raise ParseError(what, _SYNTAX.form, _SYNTAX.example, text=text, position=last)
    layout: StridedLayout | MemoryFormat = _LAYOUT.parse(text, _SYNTAX)
    return layout


# ---- words


def describe(
    layout: StridedLayout | MemoryFormat, shape: Sequence[int] | None = None
) -> Description:
    if isinstance(layout, MemoryFormat):
        rank = {"channels_last": 4, "channels_last_3d": 5}.get(layout.name, 2)
        kind, words = "memory format of PyTorch", f"{layout} of an array"
    else:
        rank, kind, words = len(layout.strides), "strided layout", "strides times coordinates"
        words += "" if (name := format_of(layout)) is None else f", PyTorch's {name}"
        shape = known(layout.shape) if shape is None and layout.shape is not None else shape
    dims = dimensions((None,) * rank if shape is None else tuple(shape))
    sizes = sizes_in(dims)
    # Without sizes, larger strides are taken to leave room for the smaller ones.
    nested = layout if shape is not None else _with_room(layout)
    axes = memory_axes(nested.recipe(sizes), dims)
    strides = layout.strides(sizes) if isinstance(layout, MemoryFormat) else layout.strides
    parts = [Part(str(n), _meaning(n, dim.name)) for n, dim in zip(strides, dims, strict=True)]
    if isinstance(layout, StridedLayout) and layout.offset != 0:
        parts.append(Part(f"offset: {layout.offset}", "elements before the first one"))
    return Description(str(layout), kind, words, dims, tuple(parts), axes)


def _with_room(layout: StridedLayout | MemoryFormat) -> StridedLayout | MemoryFormat:
    """The layout with names for strides above 1, if no two dimensions share a stride."""
    if isinstance(layout, MemoryFormat) or len({*layout.strides}) < len(layout.strides):
        return layout
    names = (f"S{k}" for k in range(len(layout.strides)))
    pairs = zip(layout.strides, names, strict=True)
    return replace(layout, strides=tuple(1 if n == 1 else SizeExpr.named(x) for n, x in pairs))


def _meaning(stride: object, dim: str) -> str:
    if stride == 0:
        return f"all along {dim} share their elements"
    if isinstance(stride, int) and stride < 0:
        return f"elements back from one {dim} to the next"
    return f"{'element' if stride == 1 else 'elements'} from one {dim} to the next"


_INTERFACES: Final = ("__array_interface__", "__cuda_array_interface__")


def of(array: Any) -> StridedLayout | None:
    """Return the layout of an array in its memory; None if it is not an array.

    Args:
        array: a NumPy array; one that has ``stride()``, ``storage_offset()`` and ``shape``, as
            PyTorch's have; or one with ``__array_interface__`` or ``__cuda_array_interface__``.

    Returns:
        Strides in elements. The buffer of a NumPy view is the memory of the array that it views.
        PyTorch's begins where the storage does, and those of others at the lowest address.

    Raises:
        UnsupportedError: if strides are not whole elements.

    >>> image = np.zeros((4, 6), np.float32)
    >>> layout = of(image[::2, ::-1])
    >>> print(layout, layout.shape, layout.buffer, layout.element)
    strided<[12, -1], offset: 5> (2, 6) 24 f32
    """
    if isinstance(array, np.ndarray):
        return _of_numpy(array)
    if callable(getattr(array, "stride", None)) and callable(
        getattr(array, "storage_offset", None)
    ):
        return _of_torch(array)
    if isinstance(array, type):
        return None
    found = (getattr(array, name, None) for name in _INTERFACES)
    interface = next((each for each in found if isinstance(each, dict)), None)
    return None if interface is None else _of_interface(interface)


def _of_numpy(array: np.ndarray[Any, Any]) -> StridedLayout:
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    start, end = _span(owner.ctypes.data, owner.shape, owner.strides, owner.itemsize)
    first = array.ctypes.data - start
    return _strided(array.shape, array.strides, first, array.dtype, end - start)


def _of_interface(interface: dict[str, Any]) -> StridedLayout:
    dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
    strides = interface.get("strides")
    if strides is None:  # in C order
        strides = tuple(dtype.itemsize * prod(shape[k + 1 :]) for k in range(len(shape)))
    start, _ = _span(0, shape, strides, dtype.itemsize)
    return _strided(shape, tuple(strides), -start, dtype, None)


def _of_torch(array: Any) -> StridedLayout:
    item = int(array.element_size())
    storage = getattr(array, "untyped_storage", None)
    size = storage().nbytes() // item if callable(storage) else None
    shape, strides = tuple(map(int, array.shape)), tuple(map(int, array.stride()))
    name = str(array.dtype).rpartition(".")[2]
    element = ElementType(_short(name), 8 * item)
    return StridedLayout(strides, int(array.storage_offset()), shape, size, element)


def _span(
    first: int, shape: Sequence[int], strides: Sequence[int], itemsize: int
) -> tuple[int, int]:
    """The lowest address of an array's elements, and the end of the highest."""
    if 0 in shape:
        return first, first
    reach = [stride * (n - 1) for n, stride in zip(shape, strides, strict=True)]
    low, high = (sum(f(0, x) for x in reach) for f in (min, max))
    return first + low, first + high + itemsize


def _strided(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    first: int,
    dtype: np.dtype[Any],
    size: int | None,
) -> StridedLayout:
    item = dtype.itemsize
    if item == 0 or any(step % item for step in (*strides, first)):
        raise UnsupportedError(
            f"strides: expected multiples of the {item} bytes of {dtype}, got {strides}",
            "offsets count whole elements",
            "take a view of the bytes, or of the whole record",
        )
    steps = tuple(step // item for step in strides)
    whole = None if size is None else size // item
    element = ElementType(_short(dtype.name), 8 * item)
    return StridedLayout(steps, first // item, shape, whole, element)


def _short(name: str) -> str | None:
    """The short name of an element type, f32 for float32; None for records and the like."""
    short = "pred" if name == "bool" else short_name(name)
    return None if short == name else short


def view(layout: StridedLayout, shape: Sequence[int]) -> StridedLayout | None:
    """Return the layout of an array's view of another shape, as ``Tensor.view`` gives it.

    Args:
        layout: the layout of an array with its shape.
        shape: the sizes of the view, whose product is that of the array's; no -1.

    Returns:
        The layout with PyTorch's strides; None if no strides say it, so that elements must move.

    Raises:
        ShapeError: if the shapes hold different numbers of elements.

    >>> rows = StridedLayout((1, 4), shape=(4, 6))
    >>> print(view(rows, (2, 2, 6)), view(rows, (24,)))
    strided<[2, 1, 4]> None
    """
    sizes, strides, to = _sizes(layout), known(layout.strides), tuple(shape)
    if prod(sizes) != prod(to) or any(n < 0 for n in to):
        raise ShapeError(
            f"view: expected {prod(sizes)} elements, got ({', '.join(map(str, to))})",
            "a view holds the elements of its array",
            "give sizes whose product is that, without -1",
        )
    found = _view_strides(sizes, strides, to)
    return None if found is None else replace(layout, strides=found, shape=to)


def _view_strides(
    sizes: tuple[int, ...], strides: tuple[int, ...], to: tuple[int, ...]
) -> tuple[int, ...] | None:
    if not sizes:
        return (1,) * len(to)
    if prod(sizes) == 0:
        dense = (prod(max(n, 1) for n in to[k + 1 :]) for k in range(len(to)))
        return strides if sizes == to else tuple(dense)
    left, found = list(to), list[int]()
    for count, step in _runs(sizes, strides):
        taken = 1
        while left and (taken < count or left[-1] == 1):
            found.insert(0, taken * step)
            taken *= left.pop()
        if taken != count:
            return None
    return None if left else tuple(found)


def _runs(sizes: tuple[int, ...], strides: tuple[int, ...]) -> list[tuple[int, int]]:
    """The runs of dimensions that one step leads through, the innermost first: count and step."""
    runs: list[tuple[int, int]] = []
    count, step = 1, strides[-1]
    for k in reversed(range(len(sizes))):
        count *= sizes[k]
        if k == 0 or (sizes[k - 1] != 1 and strides[k - 1] != count * step):
            runs.append((count, step))
            count, step = 1, strides[k - 1]
    return runs


def permute(layout: StridedLayout, order: Sequence[int]) -> StridedLayout:
    """Return the layout with dimension ``order[k]`` as dimension k.

    >>> print(permute(StridedLayout((6, 1), shape=(4, 6)), (1, 0)))
    strided<[1, 6]>
    """
    dims = as_permutation(order, "order", len(layout.strides))
    shape, strides = _sizes(layout), layout.strides
    return replace(
        layout, strides=tuple(strides[d] for d in dims), shape=tuple(shape[d] for d in dims)
    )


def slice_dim(
    layout: StridedLayout, dim: int, start: int, stop: int, step: int = 1
) -> StridedLayout:
    """Return the layout of the elements from ``start`` to before ``stop`` along a dimension.

    As Python's slices do, ends past the array count as its end.

    >>> print(slice_dim(StridedLayout((6, 1), shape=(4, 6)), 1, 1, 6, 2))
    strided<[6, 2], offset: 1>
    """
    sizes = _sizes(layout)
    require_inside(dim, len(sizes), dim, dim)
    kept = range(sizes[dim])[slice(start, stop, step)]
    shape, strides = list(sizes), list(layout.strides)
    shape[dim], strides[dim] = len(kept), strides[dim] * step
    offset = layout.offset + layout.strides[dim] * kept.start
    return replace(layout, strides=tuple(strides), offset=offset, shape=tuple(shape))


def unsqueeze(layout: StridedLayout, dim: int) -> StridedLayout:
    """Return the layout with a new dimension of size 1 before a dimension.

    >>> print(unsqueeze(StridedLayout((6, 1), shape=(4, 6)), 1))
    strided<[6, 6, 1]>
    """
    sizes, strides = _sizes(layout), layout.strides
    step = strides[dim] * sizes[dim] if dim < len(sizes) else 1
    return replace(
        layout,
        strides=(*strides[:dim], step, *strides[dim:]),
        shape=(*sizes[:dim], 1, *sizes[dim:]),
    )


def expand(layout: StridedLayout, shape: Sequence[int]) -> StridedLayout:
    """Return the layout of the array broadcast to a shape: new places have stride 0.

    Raises:
        UnsupportedError: if a size other than 1 changes.

    >>> print(expand(StridedLayout((1, 1), shape=(4, 1)), (2, 4, 3)))
    strided<[0, 1, 0]>
    """
    sizes, strides = _sizes(layout), list(layout.strides)
    count = max(len(shape) - len(sizes), 0)  # of new dimensions
    for k, (n, m) in enumerate(zip(sizes, shape[count:], strict=True)):
        if n not in (1, m):
            raise UnsupportedError(
                f"expand: expected size {n} or 1 of dimension {k + count}, got {m}",
                "only dimensions of size 1 are repeated",
                f"give ({', '.join(map(str, sizes))}) with other numbers in place of 1",
            )
        strides[k] = strides[k] if n == m else 0
    found = replace(layout, strides=tuple(strides), shape=tuple(shape[count:]))
    for m in reversed(shape[:count]):
        found = unsqueeze(found, 0)
        step = found.strides[0] if m == 1 and sizes else 0
        found = replace(found, strides=(step, *found.strides[1:]), shape=(m, *_sizes(found)[1:]))
    return found


def _sizes(layout: StridedLayout) -> tuple[int, ...]:
    if layout.shape is None:
        raise ShapeError(
            f"{layout} carries no shape",
            "a view is one of an array, whose sizes must be known",
            "give the shape: StridedLayout(strides, offset, shape)",
        )
    return known(layout.shape)
