"""Questions about GPUs and caches: banks, sectors, lines, vectors and swizzles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final, TypeAlias

from morello_layouts import notations
from morello_layouts.core.checks import as_int, as_tuple, checked_coordinate, shown
from morello_layouts.core.description import amount, listed
from morello_layouts.core.layout import Layout
from morello_layouts.core.limits import ACCESS_ELEMENTS
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.maps.modes import require_dim
from morello_layouts.core.recipe import known
from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.interfaces.api.conversions import To, convert
from morello_layouts.interfaces.api.layouts import (
    Assuming,
    LayoutLike,
    Shape,
    index_map,
    index_maps,
)
from morello_layouts.machines.gpu.access import (
    Access,
    Copy,
    Fragment,
    Lanes,
    access_of_text,
    vector_width_of,
)
from morello_layouts.machines.gpu.banks import BankConflicts, BankFormula, conflicts_of, formula_of
from morello_layouts.machines.gpu.phases import (
    MEMORIES,
    CacheLines,
    Coalescing,
    SharedMemory,
    coalescing_of,
    lines_of,
    with_lanes,
)
from morello_layouts.machines.gpu.relayouts import (
    RegisterRelayout,
    register_relayout as relayout_of_registers,
)
from morello_layouts.machines.gpu.swizzle import BestSwizzle, best_swizzle_of
from morello_layouts.notations.fragments.instructions import instructions

AccessLike: TypeAlias = "str | Access | Layout | IndexMap | Callable[[int], Any]"
"""An access of a warp: its text, such as ``"column.b128"``, a fragment, or a function."""


def banks(
    shared: LayoutLike,
    access: AccessLike,
    shape: Shape | None = None,
    *,
    bits: int | None = None,
    vector: int = 1,
    at: Sequence[int] | None = None,
    gpu: str = "nvidia",
    assuming: Assuming | None = None,
    notation: str | None = None,
) -> BankConflicts | BankFormula:
    """Return how many rounds an access of a warp takes in the shared memory of a GPU.

    Args:
        shared: the layout in shared memory; its buffer begins at bank 0.
        access: what the 32 lanes read or write. ``"row"`` and ``"column"`` are loads of one element
            a lane, along a row or down a column, and lanes past its end take no part; in ``"rows"``
            and ``"columns"`` they go on with the next one. ``"row.b128"`` takes 128 bits a lane,
            along the row; ``"store column"`` is a store. ``"ldmatrix"`` is short for
            ``"ldmatrix.x4"``; there are ``.x1``, ``.x2``, ``.trans`` and ``stmatrix`` too. A
            register layout, as text, value or map, loads its registers, those that follow each
            other in memory as one vector: ``"SM80_16x8x16_F32F16F16F32_TN A"``; ``"store "``
            before it stores. A Python function takes a lane's number, from 0 on, to the
            coordinate of its first element, or to None if the lane takes no part.
        shape: the sizes, for a layout that carries none.
        bits: bits of an element, by default those of the layout's element type.
        vector: elements of a lane, for a function.
        at: the coordinate at which the access begins, by default every place in turn, as a loop
            over the tile does. A function begins at the origin.
        gpu: ``nvidia``; or AMD's ``gfx942`` (MI300) or ``gfx950`` (MI350), whose waves have 64
            lanes.
        assuming: assumptions about symbolic sizes, as for ``index_map``.
        notation: the notation of a text, as for ``parse``.

    Returns:
        The ways and the lanes that collide; with symbolic sizes a formula of the pitch.

    Raises:
        ParseError: if a text is not in any notation.
        ShapeError: if the shape is missing, or lanes leave the tile.
        UnsupportedError: if the elements of a lane are not one aligned vector, or nobody says
            which lanes of such an access a GPU serves together.

    >>> print(banks("f32[32,32]", "column"))
    32-way conflict: load column of f32[32,32]{1,0}, 32 bits
      lanes 0, 1, 2, 3, 4, 5, 6, … 31 ask for words 0, 32, 64, 96, 128, 160, 192, … 992 of bank 0 \
at (0, 0)
      words have rank 5 in the bits of the lane, banks rank 0: 2^(5 - 0) = 32
      1,024 wavefronts for 32 instructions: 32 at best
    >>> banks("(32,32):(33,1)", "column", bits=32).ways
    1
    >>> print(banks("f32[32,LD]", "column").verdict)
    gcd(LD, 32)-way conflict
    """
    m = _addressed(index_map(shared, shape, assuming=assuming, notation=notation))
    width = _bits(m, bits)
    memory = _memory(gpu)
    asked = _on(memory, _fitted(_access(access, vector), m))
    if m.recipe.names:
        if at is not None:
            raise UnsupportedError(
                f"at={tuple(at)} in an array of symbolic sizes",
                "a formula of the pitch is for the access at the origin",
                "leave out the argument at, or give the sizes numbers: .at(…)",
            )
        if 0 in m.recipe.shape:
            raise UnsupportedError(
                f"{m.source or m.shape} has no elements, whatever {', '.join(m.recipe.names)} is",
                "a formula of the pitch is for an access at the origin",
                "give sizes of 1 and more",
            )
        return formula_of(m, asked, width, memory)
    return conflicts_of(m, asked, width, _place(m, at), memory)


def _memory(gpu: object) -> SharedMemory:
    found = MEMORIES.get(gpu.lower()) if isinstance(gpu, str) else None
    if found is None:
        raise LayoutError(
            f"gpu: expected {', '.join(MEMORIES)}, got {shown(gpu)}",
            "the lanes that share a phase differ between GPUs",
            "give gfx942 for an MI300, gfx950 for an MI350; nvidia for all of NVIDIA's",
        )
    return found


def _on(memory: SharedMemory, access: Access) -> Access:
    """Return an access by the lanes of a GPU."""
    if memory.lanes == access.lanes:
        return access
    if not isinstance(access, Copy | Lanes | Fragment):
        if memory is MEMORIES["nvidia"]:
            return access  # ldmatrix of one or two matrices
        raise UnsupportedError(
            f"{access} on {memory.name}: not an instruction of this GPU",
            "ldmatrix and stmatrix are NVIDIA's",
            "give row.b128 or a register layout, such as v_mfma_f32_32x32x8_f16 A",
        )
    return replace(access, lanes=memory.lanes)


def coalescing(
    layout: LayoutLike,
    access: AccessLike,
    shape: Shape | None = None,
    *,
    bits: int | None = None,
    vector: int = 1,
    at: Sequence[int] | None = None,
    gpu: str = "nvidia",
    notation: str | None = None,
) -> Coalescing:
    """Return the sectors and lines of global memory that an access of a warp touches.

    NVIDIA's GPUs move sectors of 32 bytes, and their caches have lines of four sectors. AMD's move
    lines of 128 bytes.

    Args:
        layout: the layout in global memory; its buffer begins at a multiple of 128 bytes.
        access: what the lanes read or write, as for :func:`banks`.
        shape: the sizes, for a layout that carries none.
        bits: bits of an element; by default those of the layout's element type.
        vector: elements of a lane, for a function.
        at: the coordinate at which the access begins, as for :func:`banks`.
        gpu: the GPU, as for :func:`banks`.
        notation: the notation of a text, as for ``parse``.

    Raises:
        ParseError: if a text is not in any notation.
        ShapeError: if the shape is missing, or lanes leave the array.
        UnsupportedError: if sizes are symbolic, or a lane's elements do not follow each other.

    >>> print(coalescing("f32[64,64]", "column"))
    not coalesced: 12% of the bytes moved are used: load column of f32[64,64]{1,0}, 32 bits
      32 sectors of 32 bytes in the worst instruction, at (0, 0): 4 at best
      32 lines of 128 bytes in the worst instruction, at (0, 0): 1 at best
      131,072 bytes moved for 16,384 wanted by 128 instructions: 12%
    >>> coalescing("f32[64,64]", "row").sectors.worst
    4
    >>> coalescing("f32[64,64]", "column", gpu="gfx942").efficiency
    0.03125
    """
    m = _addressed(index_map(layout, shape, notation=notation))
    width = _bits(m, bits)
    memory = _memory(gpu)
    asked = _on(memory, _fitted(_access(access, vector), m))
    return coalescing_of(m, asked, width, _place(m, at), memory.sector)


def cache_lines(
    layout: LayoutLike,
    access: AccessLike,
    shape: Shape | None = None,
    *,
    bits: int | None = None,
    line: int = 64,
    lanes: int | None = None,
    vector: int = 1,
    at: Sequence[int] | None = None,
    notation: str | None = None,
) -> CacheLines:
    """Return the lines of a CPU's cache that an access touches.

    Args:
        layout: the layout in memory; its buffer begins at the start of a line.
        access: what is read or written, as for :func:`banks`.
        shape: the sizes, for a layout that carries none.
        bits: bits of an element; by default those of the layout's element type.
        line: bytes of a line.
        lanes: elements, or vectors, of one run: 16 for a gather of 16 lanes. By default a run is a
            whole row or column.
        vector: elements of a lane, for a function.
        at: the coordinate at which the only run begins, as for :func:`banks`.
        notation: the notation of a text, as for ``parse``.

    Raises:
        ParseError: if a text is not in any notation.
        ShapeError: if the shape is missing, or lanes leave the array.
        UnsupportedError: if sizes are symbolic, or a lane's elements do not follow each other.

    >>> print(cache_lines("f32[64,64]", "column"))
    64 lines of 64 bytes: 4 at best: load column of f32[64,64]{1,0}, 32 bits
      262,144 bytes moved for 16,384 wanted by 64 runs: 6%
    >>> cache_lines("f32[64,64]{1,0:T(4,4)}", "column").lines.worst    # tiles of 64 bytes
    16
    """
    m = _addressed(index_map(layout, shape, notation=notation))
    asked = with_lanes(_access(access, vector), lanes, known(m.recipe.shape))
    return lines_of(m, asked, _bits(m, bits), _place(m, at), as_int(line, "line", 1, 1 << 20))


def vector_width(
    layout: LayoutLike,
    dim: int,
    shape: Shape | None = None,
    *,
    bits: int | None = None,
    assuming: Assuming | None = None,
    notation: str | None = None,
) -> int:
    """Return how many neighbours along a dimension one aligned load can take: a power of two.

    Elements ``v*k`` to ``v*k + v - 1`` along the dimension follow each other in the buffer, from a
    multiple of v on, for every k and wherever they lie in the other dimensions; v divides the size.

    Args:
        layout: the layout; its buffer begins at a multiple of 16 bytes.
        dim: the dimension; -1 is the last.
        shape: the sizes, for a layout that carries none.
        bits: bits of an element, by default those of the layout's element type: a load has at most
            128 bits. If nothing tells, vectors have no end.
        assuming: assumptions about symbolic sizes, as for ``index_map``.
        notation: the notation of a text, as for ``parse``.

    Raises:
        ParseError: if a text is not in any notation.
        ShapeError: if the shape is missing, or has no such dimension.

    >>> vector_width("f32[64,64]", 1), vector_width("f32[64,64]", 0), vector_width("f16[64,50]", 1)
    (4, 1, 2)
    >>> vector_width("f16[M,N]", 1), vector_width("f16[M,N]", 1, assuming="N % 8 == 0")
    (1, 8)
    """
    m = index_map(layout, shape, assuming=assuming, notation=notation)
    k = require_dim(dim, m.coordinate_names)
    given = None if bits is None and m.element_type is None else _bits(m, bits)
    return vector_width_of(m, k, given)


def best_swizzle(
    shape: Shape, bits: int, accesses: AccessLike | Sequence[AccessLike], *, gpu: str = "nvidia"
) -> BestSwizzle:
    """Return the swizzle, or padding, of a tile in shared memory with the fewest bank conflicts.

    Vectors of the widest access stay whole and aligned. Placements without padding come first: rows
    as they are, a swizzle, any linear placement; then padding of the rows.

    Args:
        shape: the sizes of the tile; elements along the last dimension are neighbours.
        bits: bits of an element.
        accesses: what warps read and write, each as for :func:`banks`; one with a name at
            every place of the tile.
        gpu: the GPU, as for :func:`banks`.

    Raises:
        LayoutError: if there is no access, or a size is not a positive number.
        ShapeError: if a function's lanes leave the tile.

    >>> best = best_swizzle((64, 64), 16, ["row.b128", "ldmatrix"])
    >>> print(best)
    no conflicts: 64x64 elements of 16 bits
      load row.b128: 1 way
      ldmatrix.x4: 1 way instead of 8
      offset: (row * 64 + column) ^ ((row & 7) << 3)
      CuTe: Sw<3,3,3> o 0 o (64,64):(64,1)
      Triton: #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
      nothing is better: each phase takes one round
    >>> banks(best.layout, "ldmatrix", bits=16).verdict
    'no conflicts'
    >>> best_swizzle((10, 48), 32, ["row", "column"]).cuda
    'row * 48 + (column ^ ((row >> 1) & 7))'
    >>> best_swizzle((64, 64), 16, "column.b128", gpu="gfx942").cuda
    '(row * 64 + column) ^ ((row & 7) << 3)'
    """
    sizes = tuple(
        as_int(n, f"size {k} of the shape", 1)
        for k, n in enumerate(as_tuple(shape, "shape", "give (64, 64)"))
    )
    is_one = isinstance(accesses, str | Access | Layout) or callable(accesses)
    several = (accesses,) if is_one else as_tuple(accesses, "accesses", 'give ["row", "column"]')
    memory = _memory(gpu)
    given = tuple(_on(memory, _access(each)) for each in several)
    if not given or not sizes:
        raise LayoutError(
            f"best_swizzle of {shown(tuple(shape))} for {shown(accesses)}: nothing to place",
            "a swizzle is best for accesses of a tile",
            'give for example (64, 64), 16, ["row.b128", "ldmatrix"]',
        )
    return best_swizzle_of(sizes, _whole_bytes(bits), given, _written, memory)


def _written(layout: Layout, to: To) -> str | None:
    """Return a layout as text in another notation, or None if it has none."""
    with suppress(LayoutError):
        return str(convert(layout, to))
    return None


def register_relayout(
    source: LayoutLike, target: LayoutLike, shape: Shape | None = None, *, bits: int | None = None
) -> RegisterRelayout:
    """Return what it takes to change the layout of registers of a tensor.

    Elements stay, change registers of their lane, are shuffled between the lanes of a warp, or pass
    through shared memory: the first of these that suffices, decided by ranks of the bits' bases.

    Args:
        source: the layout that the registers have, of axes ``lane`` and ``register``, and possibly
            ``warp`` and ``block``.
        target: the layout that they shall have, on the same threads.
        shape: the sizes, for a layout that carries none.
        bits: bits of an element; by default those of a layout's element type. Without either, an
            element counts as 32 bits in shuffles, and bytes are not known.

    Raises:
        ParseError: if a text is not in any notation.
        ShapeError: if the shape is missing, or shapes or threads differ.
        UnsupportedError: if a layout has no registers, or is not linear in the bits of its places.

    >>> from_bases = "#ttg.linear<{{register = {}, lane = {}, warp = []}}>".format
    >>> rows, columns = from_bases("[[1]]", "[[2], [4]]"), from_bases("[[2]]", "[[1], [4]]")
    >>> found = register_relayout(rows, columns, (8,))
    >>> print(found)
    1 shuffle in each warp, lane xor 1
    >>> found.kind, found.is_least, found.bytes
    ('shuffle', True, 0)
    """
    one, other = index_maps(source, target, shape)
    widths = [m.element_type.bits for m in (one, other) if m.element_type is not None]
    width = as_int(bits, "bits", 1, 1024) if bits is not None else next(iter(widths), None)
    return relayout_of_registers(one.recipe, other.recipe, width)


def fragments(beginning: str = "") -> tuple[str, ...]:
    """List the operands of instructions whose names begin so: each is the text of a layout.

    They are instructions of NVIDIA by their names in PTX and in CuTe, AMD's MFMA and WMMA,
    Intel's AMX, Metal's matrices, and vectors of Arm and RISC-V. :func:`parse` reads each text, and
    spellings of it in other cases, with modifiers such as ``.satfinite``. Names with sizes beside
    them, as ``SM100_MMA_F16BF16_SS<…>``, are listed at one size.

    Args:
        beginning: the first letters of the names, in any case.

    >>> fragments("SM80_16x8x16_F32F16")
    ('SM80_16x8x16_F32F16F16F32_TN A', 'SM80_16x8x16_F32F16F16F32_TN B', \
'SM80_16x8x16_F32F16F16F32_TN C', 'SM80_16x8x16_F32F16F16F32_TN D')
    >>> fragments("v_mfma_f32_32x32x8_f16")[0], len(fragments("wgmma")) > 1000
    ('v_mfma_f32_32x32x8_f16 A', True)
    """
    if not isinstance(beginning, str):
        raise LayoutError(f"beginning: expected a str, got {shown(beginning)}", fix="give a str")
    found = (each for each in instructions().values())
    named = (each for each in found if each.name.lower().startswith(beginning.lower()))
    return tuple(f"{each.name} {operand}" for each in named for operand in each.operands())


def _access(access: AccessLike, vector: int = 1) -> Access:
    """Return an access from its text, a register layout or a function of the lane."""
    if isinstance(access, Access):
        return access
    if isinstance(access, Layout | IndexMap):  # the map of a register layout
        return Fragment(access)
    if isinstance(access, str):
        return _named(access)
    if callable(access):
        return Lanes(access, as_int(vector, "vector", 1, 128))
    raise _not_an_access(access)


def _named(text: str) -> Access:
    found = access_of_text(text)
    if found is not None:
        return found
    kind, _, rest = text.strip().partition(" ")
    is_copy = kind in ("load", "store")
    try:
        layout = notations.parse(rest if is_copy else text)
    except LayoutError as error:
        if any(c in text for c in "(<#_") or len(text.split()) > 1:
            raise
        raise _not_an_access(text) from error
    if not isinstance(layout, Layout) or text.startswith("lambda"):
        raise _not_an_access(text)
    return Fragment(layout, is_copy and kind == "store")


_NAMES: Final = (
    "row, rows, column and columns, also as row.b64 or row.b128, ldmatrix.x1, .x2 or .x4, "
    "stmatrix.x4 and fragments; Python's banks takes functions too, lambda lane: (lane, 0)"
)


def _not_an_access(access: object) -> LayoutError:
    near = get_close_matches(str(access)[:20], ("row", "column", "ldmatrix", "stmatrix"), 1, 0.75)
    return LayoutError(
        f"access: expected the name of an access or a function, got {shown(access)}",
        "an access says which elements the lanes of a warp touch",
        f"did you mean {near[0]}?" if near else f"the names are {_NAMES}",
    )


def _fitted(access: Access, m: IndexMap) -> Access:
    """Return an access by a fragment with the vectors that it has in a layout."""
    return replace(access, memory=m) if isinstance(access, Fragment) else access


def _addressed(m: IndexMap) -> IndexMap:
    """Return an array that has rows, and whose addresses fit 64 bits."""
    if not m.recipe.shape:
        raise ShapeError(
            f"{m.source or m.shape}: expected one dimension or more, got none",
            "an access goes along the dimensions of an array",
            "give a shape such as (64, 64)",
        )
    if {*m.recipe.axis_names} - {"block", "offset"}:
        raise UnsupportedError(
            f"{m.source or m.shape} lies along {listed(m.recipe.axis_names)}",
            "lanes ask a memory for addresses: registers, tiles and other devices have none in it",
            "give the layout in memory; a layout of registers stands for the access",
        )
    sizes = (*m.recipe.shape, m.recipe.size)
    numbers = [
        abs(c) for n in sizes for c in ([n] if isinstance(n, int) else [c for _, c in n.terms])
    ]
    if max(numbers, default=0) > ACCESS_ELEMENTS:
        raise UnsupportedError(
            f"{m.source or m.shape}: expected up to {amount(ACCESS_ELEMENTS)} elements, got more",
            "an address of a lane is a number of 64 bits",
            "ask about a tile of the array",
        )
    return m


def _bits(m: IndexMap, bits: int | None) -> int:
    """Return the bits of an element, from the layout or the argument."""
    if bits is not None:
        return _whole_bytes(bits)
    if m.element_type is None:
        raise LayoutError(
            f"{m.source or m.shape} names no element type",
            "banks and lines are counted in bytes",
            "give bits=16, the bits of an element",
        )
    return m.element_type.bits


def _whole_bytes(bits: int) -> int:
    found = as_int(bits, "bits", 1, 1024, why="an element has at least one bit")
    if found > 8 and found % 8:
        raise UnsupportedError(
            f"bits: expected a multiple of 8 from 8 on, got {found}",
            "lanes ask for bytes, which elements of other widths would share",
            f"give {found + -found % 8}, the bits between two elements",
        )
    return found


def _place(m: IndexMap, at: Sequence[int] | None) -> tuple[int, ...] | None:
    if at is None:
        return None
    given = as_tuple(at, "at", "give one int for each dimension")
    return checked_coordinate(given, m.shape, 0)
