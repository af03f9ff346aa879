"""What the lanes of a warp touch, instruction by instruction: rows, columns, fragments, vectors."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import field
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from morello_layouts.core.checks import checked_coordinate, shown, whole
from morello_layouts.core.description import count
from morello_layouts.core.expr import AffineExpr, canonicalize, coordinate_variables, variable
from morello_layouts.core.expr.sizes import exact_quotient
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.layout import Layout
from morello_layouts.core.lazy import numpy as np, regex
from morello_layouts.core.limits import ACCESS_INSTRUCTIONS
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.maps.subject import Subject
from morello_layouts.core.recipe import Recipe, known
from morello_layouts.core.recipe.readings import (
    delinearize,
    linear_index,
    logical_coordinates,
    offset_of,
)
from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError

if TYPE_CHECKING:
    from numpy.typing import NDArray


Array: TypeAlias = "NDArray[np.int64]"
Mask: TypeAlias = "NDArray[np.bool_]"
Sizes: TypeAlias = tuple[int, ...]
Start: TypeAlias = "tuple[int, ...] | None"
"""Where the only instruction of an access begins; None for all instructions of the tile."""

LANES: Final = 32
"""Lanes of a warp."""

MATRIX_BYTES: Final = 16
"""Bytes of a row of the 8 by 8 matrix that ``ldmatrix`` reads: one lane gives its address."""


@frozen(eq=False)
class LaneRequests:
    """The elements that lanes ask for, each lane ``vector`` of them."""

    coordinates: Array  #: the first element of each lane: instructions by lanes by dimensions.
    active: Mask  #: which lanes take part: instructions by lanes.
    vector: int  #: elements of a lane.
    total: int  #: instructions of the access; fewer are looked at if there are too many.
    #: all elements of each lane: instructions by lanes by elements by dimensions. None if they
    #: follow the first one along the last dimension.
    elements: Array | None = None

    def element(self, k: int) -> Array:
        """Return the coordinate of each lane's element ``k``; the first one is 0."""
        if self.elements is not None:
            return self.elements[:, :, k]
        found = self.coordinates.copy()
        found[..., -1] += k
        return found

    def past_edge(self, shape: Sequence[int]) -> int:
        """Return how many lanes ask for more elements than are left up to the array's edge."""
        there = self.element(self.vector - 1)
        return int((self.active & (there >= np.array(shape)).any(axis=-1)).sum())


class Access(Displayed, ABC):
    """A way in which a warp reads or writes an array."""

    is_store: bool  #: whether it writes.
    lanes: int  #: lanes that take part in an instruction.

    @property
    def merges_equal_pairs(self) -> bool:
        """Whether two phases become one if lanes ask for the same address in pairs."""
        return not self.is_store

    @abstractmethod
    def requests(self, shape: Sizes, bits: int, at: Start) -> LaneRequests:
        """Return what an access of a tile asks for.

        Args:
            shape: the sizes of the tile.
            bits: bits of an element.
            at: where the only instruction begins; None for all instructions of the tile.
        """


class Numbering(NamedTuple):
    """The lanes of all instructions of an access, numbered one after the other."""

    #: from numbers, an array or another column, to the coordinate of the lane's first element, and
    #: whether it takes part; a lane without part has zeros.
    place: Callable[[Any], tuple[list[Any], Any]]
    first: int  #: the number of the first lane.
    total: int  #: instructions.
    vector: int  #: elements of a lane.


class Numbered(Access):
    """An access whose lanes follow from their numbers."""

    @abstractmethod
    def numbering(self, shape: Sizes, bits: int, at: Start) -> Numbering:
        """Return the lanes; arguments as for :meth:`requests`."""

    def requests(self, shape: Sizes, bits: int, at: Start) -> LaneRequests:
        """Return what each instruction asks for."""
        place, first, total, vector = self.numbering(shape, bits, at)
        kept = min(total, ACCESS_INSTRUCTIONS)
        number = first + np.arange(kept * self.lanes, dtype=np.int64).reshape(kept, self.lanes)
        coordinate, active = place(number)
        return LaneRequests(np.stack(coordinate, axis=-1), active, vector, total)


@frozen
class Copy(Numbered):
    """Lanes one after the other along a row of a tile, or down a column.

    >>> Copy("column", wraps=True).requests((4, 2), 32, None).coordinates[0, :5].tolist()
    [[0, 0], [1, 0], [2, 0], [3, 0], [0, 1]]
    >>> Copy("column").requests((4, 2), 32, None).active.sum(axis=1)
    array([4, 4])
    """

    order: str  #: ``"row"`` or ``"column"``: the last dimension, or the first.
    width: int | None = None  #: bits of a lane, along the row; None for one element.
    is_store: bool = False  #: whether it writes.
    #: whether the next lane begins the next row after the end of one; if not, the lanes that are
    #: left take no part.
    wraps: bool = False
    lanes: int = LANES  #: lanes of an instruction.

    def numbering(self, shape: Sizes, bits: int, at: Start) -> Numbering:
        """Return the lanes: ``lanes`` vectors of an instruction in their order."""
        vector = vector_of(self.width, bits, str(self))
        sizes = self._turned((*shape[:-1], -(-shape[-1] // vector)))
        run = sizes[-1] if self.wraps else -(-sizes[-1] // self.lanes) * self.lanes
        runs, first = (*sizes[:-1], run), 0
        count = prod(runs)
        total = -(-count // self.lanes)
        if at is not None:
            first = linear_index(self._turned(self._vector_at(at, vector)), runs, 0)
            count = count if self.wraps else (first // run + 1) * run
            total = 1

        def place(number: Any) -> tuple[list[Any], Any]:
            found = delinearize(number, runs)
            active = (number < count) & (found[-1] < sizes[-1])
            *others, last = self._turned(found)
            return [x * active for x in (*others, last * vector)], active

        return Numbering(place, first, total, vector)

    def _turned(self, sizes: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return sizes or a coordinate with the dimension along which lanes lie at the end."""
        return sizes if self.order == "row" else sizes[::-1]

    def _vector_at(self, at: tuple[int, ...], vector: int) -> tuple[int, ...]:
        """Return the coordinate of a vector from that of its first element."""
        whole_vectors, rest = divmod(at[-1], vector)
        if rest:
            raise ShapeError(
                f"at={at}: expected a multiple of {vector} at the end, got {at[-1]}",
                f"lanes of {self} touch {vector} elements each",
                f"give at={(*at[:-1], at[-1] - rest)}",
            )
        return (*at[:-1], whole_vectors)

    def __str__(self) -> str:
        width = "" if self.width is None else f".b{self.width}"
        return f"{'store' if self.is_store else 'load'} {self.order}{'s' * self.wraps}{width}"


@frozen
class Ldmatrix(Numbered):
    """``ldmatrix`` or ``stmatrix``: a lane gives the address of 16 bytes, a row of a matrix.

    Matrices of 8 rows lie below each other two by two, as operand A of ``mma.m16n8k16`` takes them:
    lane l has row ``l % 16`` of the left two, or of the right two from lane 16 on.

    >>> Ldmatrix(4).requests((16, 16), 16, None).coordinates[0, ::8].tolist()
    [[0, 0], [8, 0], [0, 8], [8, 8]]
    """

    count: int = 4  #: 1, 2 or 4 matrices.
    is_store: bool = False  #: whether it writes.
    #: whether the registers get the matrices transposed; it changes no address.
    transposes: bool = False

    @property
    def lanes(self) -> int:  # type: ignore[override]
        """Lanes that give an address: 8 for each matrix."""
        return 8 * self.count

    @property
    def merges_equal_pairs(self) -> bool:
        """Never: each matrix is a phase of its own."""
        return False

    def numbering(self, shape: Sizes, bits: int, at: Start) -> Numbering:
        """Return the lanes: one block of the tile for each instruction."""
        if len(shape) != 2:
            raise ShapeError(
                f"{self}: expected a tile of 2 dimensions, got {len(shape)}",
                "a matrix has rows and columns",
                "give a layout of two dimensions, or a function from a lane to a coordinate",
            )
        vector = vector_of(8 * MATRIX_BYTES, bits, str(self))
        block = min(16, self.lanes), -(-self.lanes // 16) * vector
        counts = tuple(-(-n // b) for n, b in zip(shape, block, strict=True))

        def place(number: Any) -> tuple[list[Any], Any]:
            lane, (i, j) = number % self.lanes, delinearize(number // self.lanes, counts)
            row, column = (i * block[0], j * block[1]) if at is None else at
            row, column = row + lane % block[0], column + lane // 16 * vector
            active = (row < shape[0]) & (column < shape[1])
            return [row * active, column * active], active

        return Numbering(place, 0, prod(counts) if at is None else 1, vector)

    def __str__(self) -> str:
        name = "stmatrix" if self.is_store else "ldmatrix"
        return f"{name}.x{self.count}{'.trans' if self.transposes else ''}"


@frozen
class Lanes(Access):
    """An access that a Python function tells: the coordinate of each lane's first element.

    >>> Lanes(lambda lane: (lane // 4, lane % 4)).requests((8, 4), 32, None).coordinates[0, 5]
    array([1, 1])
    """

    #: from a lane's number to a coordinate, or None for a lane that takes no part.
    function: Callable[[int], Any]
    vector: int = 1  #: elements of a lane, along the last dimension.
    is_store: bool = False  #: whether it writes.
    lanes: int = LANES  #: lanes of the instruction.

    def requests(self, shape: Sizes, bits: int, at: Start) -> LaneRequests:
        """Return what the one instruction asks for, from the place ``at`` on."""
        origin = at or (0,) * len(shape)
        active = np.zeros((1, self.lanes), bool)
        coordinates = np.zeros((1, self.lanes, len(shape)), np.int64)
        for lane in range(self.lanes):
            given = self._called(lane)
            if given is None:
                continue
            values = (given,) if whole(given) is not None else given
            is_flat = isinstance(values, tuple | list) or np.ndim(values) == 1
            if not is_flat or any(np.ndim(x) for x in values):
                raise LayoutError(
                    f"the access at lane {lane}: expected a coordinate, got {shown(given)}",
                    "the function returns one int for each dimension, or None",
                    "return for example (lane, 0)",
                )
            try:
                there = checked_coordinate([*values], shape, 0)
            except ShapeError as error:
                what = f"the access at lane {lane}: {error.what}"
                raise ShapeError(what, error.why, error.fix) from None
            coordinates[0, lane] = np.add(there, origin)
            active[0, lane] = True
        if (coordinates >= shape).any():
            raise ShapeError(
                f"at={at}: lanes leave the tile {shape}",
                "at is added to the coordinate of each lane",
                "give a place from which all lanes stay inside",
            )
        return LaneRequests(coordinates, active, self.vector, 1)

    def _called(self, lane: int) -> Any:
        try:
            return self.function(lane)
        except Exception as error:
            raise LayoutError(
                f"the access at lane {lane}: {type(error).__name__}: {error}",
                "the function takes a lane's number and returns a coordinate, or None",
                "try it by itself with this lane",
            ) from error

    def __str__(self) -> str:
        name = getattr(self.function, "__name__", "function")
        each = "" if self.vector == 1 else f", {self.vector} elements each"
        return f"{'store' if self.is_store else 'load'} {name}(lane){each}"


def vector_of(width: int | None, bits: int, text: str) -> int:
    """Return the elements that a lane touches."""
    if width is None:
        return 1
    if width % bits:
        raise UnsupportedError(
            f"{text}: expected a multiple of {bits} bits, got {width}",
            f"a lane touches whole elements, which have {bits} bits here",
            "give another width, or the true bits=… of an element",
        )
    return width // bits


def places(shape: Sizes, block: Sizes, at: Start, most: int) -> tuple[Array, int]:
    """Return where blocks of a tile begin, as many as are looked at, and how many there are."""
    if at is not None:
        return np.array([at], np.int64), 1
    counts = [-(-n // b) for n, b in zip(shape, block, strict=True)]
    total = prod(counts)
    index = np.unravel_index(np.arange(min(total, most)), counts)
    return np.stack(index, axis=-1).astype(np.int64) * np.array(block), total


def first_offsets(m: IndexMap, requests: LaneRequests, access: Access) -> Array:
    """Return the offset of each lane's first element, in elements."""
    *shape, _ = known((*m.recipe.shape, m.recipe.size))  # the size has each pitch by name
    edge = np.array(shape)
    first = _offsets(m, requests.coordinates)
    for k in range(1, requests.vector):
        at = requests.element(k)
        inside = requests.active & (at < edge).all(axis=-1)
        wrong = inside & (_offsets(m, np.minimum(at, edge - 1)) != first + k)
        require_vectors(requests, wrong, m, access)
    return first


def _offsets(m: IndexMap, at: Array) -> Array:
    found = np.asarray(offset_of(m.recipe, [*np.moveaxis(at, -1, 0)], 0), np.int64)
    return np.broadcast_to(found, at.shape[:-1])


def require_vectors(requests: LaneRequests, wrong: Mask, m: IndexMap, access: Access) -> None:
    """Refuse lanes whose elements are not one vector."""
    if wrong.any():
        at = tuple(map(int, requests.coordinates[tuple(np.argwhere(wrong)[0])]))
        raise no_vector(m, access, requests.vector, at)


def no_vector(m: IndexMap, access: Access, vector: int, at: tuple[int, ...]) -> UnsupportedError:
    """Return the error about the elements of a lane that are not one vector."""
    return UnsupportedError(
        f"{access}: the {vector} elements at {at} of {m.source} are not one vector",
        "its elements follow each other in memory, from a multiple of the vector's bytes on",
        "give a narrower access, or ask vector_width for the widest",
    )


_COPY: Final = regex(r"(?:(load|store) )?(row|column)(s?)(?:\.b(8|16|32|64|128))?", re.ASCII)
_MATRIX: Final = regex(r"(ld|st)matrix(?:\.x([124]))?(\.trans)?", re.ASCII)


def access_of_text(text: str) -> Access | None:
    """Return the access that a text names, or None.

    >>> print(access_of_text("column"), access_of_text("ldmatrix.x2.trans"), sep=", ")
    load column, ldmatrix.x2.trans
    >>> access_of_text("store row.b128")
    <Copy: store row.b128>
    """
    words = " ".join(text.split())
    if found := _COPY.fullmatch(words):
        kind, order, wraps, width = found.groups()
        return Copy(order, int(width) if width else None, kind == "store", bool(wraps))
    if found := _MATRIX.fullmatch(words):
        kind, number, transposes = found.groups()
        return Ldmatrix(int(number or 4), kind == "st", bool(transposes))
    return None


WIDEST: Final = 128
"""Bits of the widest load or store of a lane."""

_UNLIMITED: Final = 1 << 20  # elements, if their bits are unknown


def vector_width_of(m: IndexMap, dim: int, bits: int | None) -> int:
    """Return the widest aligned vector along a dimension, in elements: a power of two.

    Args:
        m: the layout.
        dim: the dimension, from 0.
        bits: bits of an element, so that a vector has at most 128; None for no end.
    """
    width, most = 1, _UNLIMITED if bits is None else WIDEST // bits
    while 2 * width <= most and _is_vector(m, dim, 2 * width):
        width *= 2
    return width


def _is_vector(m: IndexMap, dim: int, width: int) -> bool:
    """Whether each ``width`` indices from a multiple on are one aligned vector.

    With the index written as ``width * q + r``, the offset must be r plus a multiple of the width.
    """
    size = m.recipe.shape[dim]
    if size % width != 0 or size == 0:
        return False
    inner = variable("r", 0, width - 1)
    at: list[AffineExpr] = list(coordinate_variables(m.recipe.shape))
    at[dim] = variable("q", 0, exact_quotient(size, width) - 1) * width + inner
    form = canonicalize(offset_of(m.recipe, at, AffineExpr((), 0)) - inner)
    names = {each.name for each in form.variables()}
    factors = (form.const, *(factor for _, factor in form.terms))
    return "r" not in names and all(factor % width == 0 for factor in factors)


_MFMA: Final = "v_mfma_f32_32x32x8_f16 A"  # an operand of 64 lanes


@frozen
class Fragment(Access):
    """The registers of a fragment, loaded from a tile or stored to it.

    Registers whose elements are neighbours come in one vector, whatever their numbers: a compiler
    is free to name registers. Registers that hold the same element are loaded once.

    >>> from morello_layouts.notations import parse
    >>> pairs = Fragment(parse("SM80_16x8x16_F32F16F16F32_TN A")).requests((16, 16), 16, None)
    >>> pairs.vector, pairs.coordinates[:, 5].tolist()
    (2, [[1, 2], [1, 10], [9, 2], [9, 10]])
    """

    #: the fragment: a layout with an axis ``lane`` and others, such as ``register``, or the map of
    #: one.
    layout: Layout | IndexMap
    is_store: bool = False  #: whether it writes.
    #: elements that a vector has at most; None for as many as fit 128 bits.
    widest: int | None = None
    #: the array of which neighbours are neighbours; None for rows of a tile. If sizes are names,
    #: vectors lie along one dimension.
    memory: IndexMap | None = field(default=None, compare=False)
    lanes: int = LANES  #: lanes of an instruction.

    def requests(self, shape: Sizes, bits: int, at: Start) -> LaneRequests:
        """Return what each instruction asks for: one vector of registers at one place."""
        recipe = self.recipe(shape)
        block = known(recipe.shape)
        if len(block) != len(shape):
            raise ShapeError(
                f"{self}: expected a tile of {len(block)} dimensions, got {len(shape)}",
                "a fragment is a part of a tile",
                "give a layout with as many dimensions",
            )
        elements, held = _once(*_elements(recipe, self.lanes))
        warps, _, registers, rank = elements.shape
        most = max(1, WIDEST // bits)
        most = min(most, self.widest or most)
        origins, count = places(
            shape, block, at, max(1, most * ACCESS_INSTRUCTIONS // (warps * registers))
        )
        every = (origins[:, None, None, None] + elements).reshape(-1, self.lanes, registers, rank)
        active = np.tile(held, (len(origins), 1, 1)) & np.less(every, shape).all(axis=-1)
        order, vector = self._vectors(every * active[..., None], active, most, bits)
        groups = registers // vector
        kept = warps * max(1, ACCESS_INSTRUCTIONS // (warps * groups))
        shares = (-1, self.lanes, groups, vector)
        every = every[:kept, :, order].reshape(*shares, rank).swapaxes(1, 2)
        every = every.reshape(-1, self.lanes, vector, rank)
        active = active[:kept, :, order].reshape(shares)[..., 0]
        active = active.swapaxes(1, 2).reshape(-1, self.lanes)
        every = every * active[..., None, None]
        own = None if self.memory is None else every
        return LaneRequests(every[:, :, 0], active, vector, count * warps * groups, own)

    def recipe(self, shape: Sizes) -> Recipe:
        """Return the fragment's recipe: at its own shape, or at that of the tile.

        Raises:
            UnsupportedError: if it has another number of lanes.
        """
        recipe = Subject(self.layout, shape if self.layout.sizes is None else None).map().recipe
        sizes = dict(zip(recipe.axis_names, recipe.physical_shape, strict=False))
        if sizes.get("lane") != self.lanes:
            other = "SM80_16x8x16_F32F16F16F32_TN A" if self.lanes == LANES else _MFMA
            raise UnsupportedError(
                f"{self.text}: expected an axis lane of {self.lanes}, got "
                f"{sizes or 'plain memory'}",
                "an access by a fragment says which lane of a warp has which element",
                f"give a fragment, such as {other}"
                + (", or the gpu that has these lanes" if "lane" in sizes else ""),
            )
        return recipe

    def _vectors(self, elements: Array, active: Mask, most: int, bits: int) -> tuple[Array, int]:
        """Return the order of the registers, and how many one after the other make a vector."""
        m, rank = self.memory, elements.shape[-1]
        if m is not None and not m.recipe.names:
            return _runs(_offsets(m, elements), active, most)
        found = []
        for dim in range(rank)[::-1] if m is not None else (rank - 1,):
            widest = most if m is None else min(most, vector_width_of(m, dim, bits))
            order = [*(k for k in range(rank) if k != dim), dim]
            places = [elements[..., k] for k in order]
            sizes = [1 << int(each.max(initial=0)).bit_length() + 7 for each in places]
            offsets = linear_index(places, sizes, np.zeros_like(places[0]))
            found.append(_runs(offsets, active, widest))
        return max(found, key=lambda each: each[1])

    def __str__(self) -> str:
        width = "" if self.widest is None else f", up to {count(self.widest, 'element')} at once"
        return f"{'store' if self.is_store else 'load'} {self.text}{width}"

    @property
    def text(self) -> str:
        """What the user wrote: the layout, or the source of the map."""
        return str(getattr(self.layout, "source", self.layout)) or "a view of registers"


def _runs(offsets: Array, active: Mask, most: int) -> tuple[Array, int]:
    """Return an order of the registers, and how many one after the other make an aligned vector.

    The same bits of a register's number tell its place in the vector in all instructions and lanes:
    so compilers group registers, Triton's ``largestVectorisation`` for example. A number of
    registers that is not a power of two has no such bits; then they lie in the order of offsets.

    Args:
        offsets: instructions by lanes by registers.
        active: which of them take part.
        most: elements that a vector has at most.
    """
    if not len(offsets):
        return np.arange(offsets.shape[-1]), 1
    first, order = offsets[0, 0], np.zeros(1, np.int64)
    if len(first) & (len(first) - 1):
        order = np.argsort(first, kind="stable")
    else:
        units = sorted(
            1 << np.arange(len(first).bit_length() - 1), key=lambda k: first[k] ^ first[0]
        )
        for unit in units:
            order = np.concatenate([order, order + unit])
    offsets, active = offsets[..., order], active[..., order]
    width = 1
    while 2 * width <= most and len(order) % (2 * width) == 0:
        groups = offsets.reshape(*offsets.shape[:2], -1, 2 * width)
        takes_part = active.reshape(groups.shape)
        is_run = (groups == groups[..., :1] + np.arange(2 * width)).all(axis=-1)
        is_run &= groups[..., 0] % (2 * width) == 0
        if not (takes_part.all(axis=-1) & is_run | ~takes_part.any(axis=-1)).all():
            break
        width *= 2
    return order, width


def _once(elements: Array, held: Mask) -> tuple[Array, Mask]:
    """Return places without the registers that hold the same as an earlier one in every lane."""
    both = np.concatenate([elements, held[..., None]], axis=-1)
    registers = np.moveaxis(both, 2, 0).reshape(both.shape[2], -1)
    kept = np.sort(np.unique(registers, axis=0, return_index=True)[1])
    return elements[:, :, kept], held[:, :, kept]


def _elements(recipe: Recipe, lanes: int) -> tuple[Array, Mask]:
    """Return the element at each place and whether there is one: warps by lanes by registers."""
    names, sizes = recipe.axis_names, known(recipe.physical_shape)
    lane = names.index("lane")
    inner = [k for k, name in enumerate(names) if name == "register"]
    order = [*(k for k in range(len(names)) if k not in (lane, *inner)), lane, *inner]
    grid = np.indices(sizes).transpose(0, *(k + 1 for k in order))
    shape = (-1, lanes, prod(sizes[k] for k in inner))
    found, limits = logical_coordinates(recipe, [axis.reshape(shape) for axis in grid])
    held = np.ones(grid[0].reshape(shape).shape, bool)
    for x, n in limits:
        held &= np.asarray(x < n, bool)
    spread = [np.broadcast_to(np.asarray(x, np.int64), held.shape) for x in found]
    return np.stack(spread, axis=-1), held
