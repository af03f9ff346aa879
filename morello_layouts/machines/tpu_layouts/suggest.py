"""Suggest layouts that take fewer bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice, pairwise
from math import prod
from typing import ClassVar, Final, NamedTuple, TypeAlias

from morello_layouts.core.checks import LARGEST, as_int
from morello_layouts.core.description import listed
from morello_layouts.core.expr.sizes import round_up
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.limits import SUGGESTED_DIMENSIONS
from morello_layouts.errors import UnsupportedError
from morello_layouts.machines.tpu_layouts.layouts import (
    LANES,
    Packing,
    best_pair,
    default_layout,
    fewest_rows,
    packing,
    pairs,
    sizes_of,
    tiled,
)
from morello_layouts.machines.tpu_layouts.waste import Waste, waste
from morello_layouts.notations.xla import XlaShape
from morello_layouts.notations.xla.layout import bytes_of

_MODULE = "jax.experimental.layout"


def _folds(sizes: Sequence[int], groups: Sequence[Sequence[int]]) -> list[str]:
    return [
        f"{listed([f'd{dim}' for dim in group])} become one dimension of {size:,}"
        for size, group in zip(sizes, groups, strict=True)
        if len(group) > 1
    ]


Groups: TypeAlias = tuple[tuple[int, ...], ...]


@frozen
class Suggestion(Displayed):
    """One way to lay out an array.

    >>> best = suggest("s32", (8388608, 8, 4), "v5e")[0]
    >>> print(best.shape, best.factor, best.changes)
    s32[8388608,8,4]{0,2,1:T(4,128)} 1.0 ()
    """

    json_keys: ClassVar = ("layout=shape", "changes", "reserved_bytes=byte_size", "factor", "hint")

    shape: XlaShape  #: the array after folding, with its layout.
    waste: Waste  #: its bytes, factor and padding.
    groups: Groups  #: for each dimension of ``shape`` the dimensions that are folded into it.
    #: the differences from the compiler's own choice: some of ``fold``, ``order`` and ``tile``;
    #: empty for that choice.
    changes: tuple[str, ...]

    @property
    def hint(self) -> str:
        """Advice in words: the expression to write in the program for the array ``a``.

        >>> suggest("f32", (9, 1024), "v5e")[0].hint
        'write jnp.reshape(a, (9216,)): d0 and d1 become one dimension of 9,216'
        """
        x, changes = self.shape, self.changes
        assert x.layout is not None
        order, array, words = x.layout.major_to_minor, "a", ""
        is_row_major = order == tuple(range(len(order)))
        if "fold" in changes:
            array = f"jnp.reshape(a, {x.shape})"
            words = f": {'; '.join(_folds(x.shape, self.groups))}"
        use = f"write {array}{words}" if "fold" in changes else "keep the shape"
        transposed = f"write jnp.transpose({array}, {order}), whose row-major layout this is"
        layout = f"major_to_minor={order}"
        if "tile" in changes:
            return (
                f"{use}; the compiler takes this tile only if told to, and some programs then do "
                f"not compile: Layout({layout}, tiling={x.layout.tiles}) of {_MODULE}"
            )
        if "order" in changes and is_row_major:
            return (
                f"{use}; for a parameter or result the compiler takes the row-major order only if "
                f"told to: Layout({layout}) of {_MODULE}"
            )
        if "order" in changes:
            return transposed + words
        if "fold" in changes:
            return use
        use += ": the compiler chooses this layout for a parameter or result"
        return use if is_row_major else f"{use}; for a value inside, {transposed}"

    @property
    def byte_size(self) -> int:
        """Bytes that XLA reserves."""
        return self.waste.reserved_bytes

    @property
    def factor(self) -> float:
        """Bytes reserved over bytes of data."""
        return self.waste.factor

    def __str__(self) -> str:
        return f"{self.shape}: {self.byte_size:,} bytes, {self.factor:.2f}x; {self.hint}"


class _LayoutCandidate(NamedTuple):
    """A candidate; candidates rank in the order of these fields.

    The fewest bytes come first. Of equal bytes the compiler's own choice comes first, then another
    order, a folding, both, and last another tile; then the fewest folded dimensions, and the order
    that the compiler prefers.
    """

    bytes: int
    cost: int
    folded: int
    place: int
    groups: Groups
    pair: tuple[int, int] | None
    rows: int
    changes: tuple[str, ...]


def suggest(
    element_type: str, shape: Sequence[int], generation: str, *, limit: int | None = 10
) -> tuple[Suggestion, ...]:
    """Return the layouts of an array that take the fewest bytes, the smallest first.

    The search tries each folding of adjacent dimensions, each pair of minor and second-minor
    dimension, and each tile of a power of two rows up to a whole vector register. Of layouts of
    equal bytes the one with the smallest change comes first.

    Args:
        element_type: XLA's name of the type; one of :data:`TYPES`.
        shape: sizes in elements, dimension 0 first.
        generation: one of :data:`GENERATIONS`.
        limit: the largest number of layouts to return; None for all.

    Raises:
        LayoutError: as :func:`default_layout`, and if ``limit`` is not a number of layouts.
        UnsupportedError: as :func:`default_layout`, and if there are more than eight dimensions.

    >>> for each in suggest("f32", (9, 1024), "v5e", limit=3):
    ...     print(each.shape, each.byte_size, each.changes)
    f32[9216]{0:T(1024)} 36864 ('fold',)
    f32[9,1024]{1,0:T(1,128)} 36864 ('tile',)
    f32[9,1024]{1,0:T(8,128)} 65536 ()
    """
    if limit is not None:
        limit = as_int(limit, "limit", 1, fix="give an int from 1, or None for all layouts")
    return tuple(islice(suggestions(element_type, shape, generation), limit))


def suggestions(element_type: str, shape: Sequence[int], generation: str) -> Iterator[Suggestion]:
    """Yield what :func:`suggest` returns, each as it is asked for."""
    kind = packing(element_type, generation)
    sizes = sizes_of(element_type, shape)
    if len(sizes) > SUGGESTED_DIMENSIONS:
        raise UnsupportedError(
            f"shape: expected at most {SUGGESTED_DIMENSIONS} dimensions, got {len(sizes)}",
            "the number of foldings doubles with each dimension",
            "fold some dimensions first",
        )
    for each in sorted(_candidates(element_type, sizes, generation, kind)):
        own = _folded(sizes, each.groups)
        if each.pair is None:
            x = default_layout(element_type, own, generation)
        else:
            x = tiled(element_type, own, each.pair, each.rows, kind)
        yield Suggestion(x, waste(x), each.groups, each.changes)


# An order of dimensions is a smaller change than a folding, and both are smaller than a tile.
_COSTS: Final = {"order": 1, "fold": 2, "tile": 4}


def _cost(changes: Iterable[str]) -> int:
    return sum(_COSTS[change] for change in changes)


def _candidates(
    element_type: str, shape: tuple[int, ...], generation: str, kind: Packing
) -> Iterator[_LayoutCandidate]:
    by_sizes: dict[tuple[int, ...], Groups] = {}  # dimensions of 1 fold to one shape in many ways
    for groups in _foldings(len(shape)):
        sizes = _folded(shape, groups)
        if max(sizes, default=0) <= LARGEST:
            by_sizes.setdefault(sizes, groups)
    for sizes, groups in by_sizes.items():
        folded = len(shape) - len(groups)
        fold = ("fold",) if folded else ()
        if len(sizes) < 2 or 0 in sizes:
            size = default_layout(element_type, sizes, generation).byte_size
            yield _LayoutCandidate(size, _cost(fold), folded, 0, groups, None, 0, fold)
            continue
        chosen = best_pair(sizes, kind)
        for place, pair in enumerate(pairs(len(sizes))):
            order = () if pair == chosen else ("order",)
            for rows, tile in _rows(sizes[pair[1]], kind):
                size, changes = _bytes(sizes, pair, rows, kind), (*fold, *order, *tile)
                cost = _cost(changes)
                yield _LayoutCandidate(size, cost, folded, place, groups, pair, rows, changes)


def _foldings(rank: int) -> Iterator[Groups]:
    """Return each way to fold adjacent dimensions, as groups that become one dimension.

    >>> list(_foldings(2))
    [((0,), (1,)), ((0, 1),)]
    """
    if rank == 0:
        yield ()
    for count in range(rank - 1, -1, -1):
        for cuts in combinations(range(1, rank), count):
            yield tuple(tuple(range(i, j)) for i, j in pairwise((0, *cuts, rank)))


def _folded(shape: Sequence[int], groups: Groups) -> tuple[int, ...]:
    return tuple(prod(shape[dim] for dim in group) for group in groups)


def _rows(size: int, kind: Packing) -> list[tuple[int, tuple[str, ...]]]:
    """Return the rows of the compiler's tile, and of the largest tile if one pads less.

    >>> _rows(9, packing("f32", "v5e")), _rows(16, packing("f32", "v5e"))
    ([(8, ()), (1, ('tile',))], [(8, ())])
    """

    def padded(rows: int) -> int:
        return round_up(size, rows)

    usual, powers = fewest_rows(size, kind), kind.register_rows.bit_length()
    tiles = [1 << k for k in range(powers) if 1 << k >= kind.least_rows]
    best = min(reversed(tiles), key=padded)
    return [(usual, ()), *([(best, ("tile",))] if padded(best) < padded(usual) else [])]


def _bytes(sizes: Sequence[int], pair: tuple[int, int], rows: int, kind: Packing) -> int:
    minor, second = sizes[pair[0]], sizes[pair[1]]
    tiled = round_up(minor, LANES) * round_up(second, rows)
    return bytes_of(prod(sizes) // (minor * second) * tiled, kind.stored)
