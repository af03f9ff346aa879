"""Indexing maps, from text and of instructions."""

from __future__ import annotations

from collections.abc import Sequence

from morello_layouts.indexing import IndexingMap, parse_indexing_map


def indexing_map(
    text: str, *, dims: Sequence[int] | None = None, ranges: Sequence[int] = ()
) -> IndexingMap:
    """Return the indexing map that a text gives, as XLA prints it.

    Args:
        text: the map; MLIR's ``affine_map`` without its domain takes ``dims`` and ``ranges``.
        dims: the size of each dimension, for a text without a domain.
        ranges: the size of each symbol, likewise.

    Raises:
        ParseError: with a caret at the fault.

    >>> m = indexing_map("(d0, d1)[s0] -> (d0 mod 4, s0), domain: d0 in [0, 3], d1 in [0, 7], "
    ...                  "s0 in [0, 9]")
    >>> print(m.simplify())
    (d0, d1)[s0] -> (d0, s0), domain: d0 in [0, 3], d1 in [0, 7], s0 in [0, 9]
    >>> print(indexing_map("(d0) -> (d0 floordiv 8, d0 mod 8)", dims=(32,)))
    (d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]
    """
    return parse_indexing_map(text, None if dims is None else tuple(dims), tuple(ranges))
