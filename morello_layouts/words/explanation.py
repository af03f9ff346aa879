"""A layout in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from morello_layouts.morello import MorelloLayout
from morello_layouts.words import morello_parts, xla_parts
from morello_layouts.words.formats import format_name
from morello_layouts.words.names import dimension_names
from morello_layouts.words.sharing import shared_word
from morello_layouts.words.values import Dimension, Explanation
from morello_layouts.xla import XlaBuffer, XlaLayout, XlaShape, XlaTuple

__all__ = ["arrays_of", "explain"]

Value: TypeAlias = XlaShape | XlaTuple | XlaBuffer
Path: TypeAlias = tuple[int, ...]

_MOST_NAMES = 4  # dimensions up to this rank have names of their own


def arrays_of(value: Value, path: Path = ()) -> Iterator[tuple[Path, XlaShape]]:
    """Every array of a tuple or buffer, with its positions in the tuples around it.

    >>> s = XlaShape("s32", ())
    >>> [path for path, _ in arrays_of(XlaTuple((s, XlaTuple((s, s)))))]
    [(0,), (1, 0), (1, 1)]
    """
    match value:
        case XlaTuple(shapes):
            for k, inner in enumerate(shapes):
                yield from arrays_of(inner, (*path, k))
        case XlaBuffer(shape):
            yield path, shape
        case XlaShape():
            yield path, value


def explain(
    layout: XlaShape | XlaLayout | MorelloLayout, shape: Sequence[int] | None = None
) -> Explanation:
    """What each part of a layout means.

    Args:
        layout: the layout; of a tuple, explain each of :func:`arrays_of`.
        shape: the sizes, for a layout that carries none; without them less can be said.

    Raises:
        ShapeError: where the shape does not fit the layout.

    >>> for part in explain(XlaShape("f32", (3, 5), XlaLayout((1, 0), ((2, 2),)))).parts[2:4]:
    ...     print(part.text, "-", part.meaning)
    {1,0} - row-major: x varies fastest, then y
    T(2,2) - 2 × 2 tiles over (y, x): 2 × 3 of them; pads y from 3 to 4 and x from 5 to 6
    """
    match layout:
        case XlaShape():
            return _explain_shape(layout)
        case XlaLayout():
            return _explain_xla_layout(layout, shape)
        case MorelloLayout():
            return _explain_morello(layout, shape)


def _explain_shape(x: XlaShape) -> Explanation:
    layout = x.layout or XlaLayout(())
    dims = _dimensions(x.dims, x.dynamic_dimensions)
    kind = xla_parts.type_part(x.element_type, layout)
    if x.element_type in ("token", "opaque"):
        return Explanation(str(x), "no array", kind.meaning, (), (kind,))
    parts = (
        kind,
        xla_parts.shape_part(dims),
        *xla_parts.layout_parts(layout, dims, x.element_type),
    )
    axes = xla_parts.memory_axes(layout, dims)
    word = shared_word(axes, x.bits, x.dims) if layout.tiles and 0 not in x.dims else None
    return Explanation(str(x), "XLA array", _headline(layout, dims), dims, parts, axes, word)


def _explain_xla_layout(layout: XlaLayout, shape: Sequence[int] | None) -> Explanation:
    if shape is not None:
        layout.physical_sizes(shape)  # raises where the ranks differ
    dims = _dimensions(shape or (None,) * len(layout.minor_to_major))
    parts = tuple(xla_parts.layout_parts(layout, dims, ""))
    axes = xla_parts.memory_axes(layout, dims)
    return Explanation(str(layout), "XLA layout", _headline(layout, dims), dims, parts, axes)


def _headline(layout: XlaLayout, dims: Sequence[Dimension]) -> str:
    return f"{xla_parts.order_in_words(layout, dims)}, {format_name(layout.tiles)}"


def _explain_morello(layout: MorelloLayout, shape: Sequence[int] | None) -> Explanation:
    sizes = None if shape is None else layout.physical_shape(shape)
    dims = _named_dimensions(layout) if shape is None else dict(enumerate(_dimensions(shape)))
    axes = morello_parts.memory_axes(layout, dims, sizes)
    parts = tuple(morello_parts.morello_parts(layout, dims, axes))
    headline = morello_parts.morello_headline(layout)
    return Explanation(str(layout), "Morello layout", headline, tuple(dims.values()), parts, axes)


def _named_dimensions(layout: MorelloLayout) -> dict[int, Dimension]:
    """What a layout without a shape names; numbers may be as large as one types them."""
    named = sorted({dim for dim, _ in layout.phys_dims})
    rank = max(named, default=-1) + 1
    if rank <= _MOST_NAMES:
        return dict(enumerate(_dimensions((None,) * rank)))
    return {dim: Dimension(f"d{dim}", f"d{dim}", None) for dim in named}


def _dimensions(
    sizes: Sequence[int | str | None], dynamic: Sequence[bool] = ()
) -> tuple[Dimension, ...]:
    names = dimension_names(len(sizes))
    flags = dynamic or (False,) * len(sizes)
    return tuple(
        Dimension(name, f"d{k}", size, flag)
        for k, (name, size, flag) in enumerate(zip(names, sizes, flags, strict=True))
    )
