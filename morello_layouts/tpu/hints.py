"""What to write in a JAX program for an array to be laid out in a given way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from morello_layouts.xla import XlaShape

__all__ = ["hint_of"]

_MODULE = "jax.experimental.layout"


def hint_of(x: XlaShape, groups: Sequence[Sequence[int]], changes: Sequence[str]) -> str:
    """What to write for the array ``a`` of the program, in words.

    Args:
        x: the array after folding, with its layout.
        groups: for each of its dimensions the dimensions that are folded into it.
        changes: what the compiler would not do unasked: some of fold, order and tile.

    >>> from morello_layouts.xla import XlaLayout
    >>> x = XlaShape("f32", (32, 128), XlaLayout((1, 0), ((8, 128),)))
    >>> hint_of(x, ((0, 1), (2,)), ("fold",))
    'write jnp.reshape(a, (32, 128)): dimensions 0 and 1 become one of 32'
    """
    assert x.layout is not None
    order, array, words = x.layout.major_to_minor, "a", ""
    is_row_major = order == tuple(range(len(order)))
    if "fold" in changes:
        array = f"jnp.reshape(a, {_tuple(x.shape)})"
        words = f": {'; '.join(_folds(x.shape, groups))}"
    use = f"write {array}{words}" if "fold" in changes else "keep the shape"
    transposed = f"jnp.transpose({array}, {_tuple(order)})"
    layout = f"major_to_minor={_tuple(order)}"
    if "tile" in changes:
        tiling = _tuple(_tuple(tile) for tile in x.layout.tiles)
        layout = f"Layout({layout}, tiling={tiling}) of {_MODULE}"
        return f"{use}; the compiler takes this tile only where it is told to: {layout}"
    if "order" in changes and is_row_major:
        layout = f"Layout({layout}) of {_MODULE}"
        return (
            f"{use}; for a parameter or result the compiler takes the row-major order only where "
            f"it is told to: {layout}"
        )
    if "order" in changes:
        return f"write {transposed}, whose row-major layout this is{words}"
    if "fold" in changes:
        return use
    words = f"{use}: the compiler chooses this layout for a parameter or result"
    if is_row_major:
        return words
    return f"{words}; for a value inside, write {transposed}, whose row-major layout this is"


def _folds(sizes: Sequence[int], groups: Sequence[Sequence[int]]) -> list[str]:
    return [
        f"dimensions {', '.join(map(str, group[:-1]))} and {group[-1]} become one of {size:,}"
        for size, group in zip(sizes, groups, strict=True)
        if len(group) > 1
    ]


def _tuple(values: Iterable[object]) -> str:
    """A tuple as Python writes it.

    >>> _tuple([8]), _tuple([8, 128])
    ('(8,)', '(8, 128)')
    """
    parts = [str(value) for value in values]
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
