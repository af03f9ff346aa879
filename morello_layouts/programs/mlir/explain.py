"""What a statement moves: between registers, through shared memory, from a memref to a vector."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import Any, ClassVar, Final, NamedTuple

from morello_layouts.core.description import count, listed
from morello_layouts.core.fields import frozen
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.maps.subject import Subject
from morello_layouts.core.recipe import known
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.machines.gpu.access import Fragment
from morello_layouts.machines.gpu.banks import BankConflicts, conflicts_of
from morello_layouts.machines.gpu.phases import MEMORIES, SharedMemory
from morello_layouts.machines.gpu.relayouts import register_relayout
from morello_layouts.notations.mlir.registers import XegpuLayout
from morello_layouts.notations.mlir.text import parse_mlir, parse_pack
from morello_layouts.notations.triton.encoding import Encoding
from morello_layouts.notations.triton.layout import TritonLayout
from morello_layouts.programs.mlir.reader import Raw, Statement, stages
from morello_layouts.programs.report import bytes_text


@frozen
class MlirStatement:
    """What the statements of one operation on the same types do."""

    json_keys: ClassVar = ("*",)

    operation: str  #: such as ``ttg.convert_layout``; empty for types outside of operations.
    #: how elements move. Of a conversion ``nothing``, ``registers``, ``shuffle``, ``shared memory``
    #: or ``between blocks``; ``load``, ``store`` or ``allocate`` of shared memory; ``vector``,
    #: ``pack`` or ``unpack`` of memory; ``other`` if layouts stay; ``not read``.
    kind: str
    words: str  #: the same in words; the reason, if it is not read.
    types: str = ""  #: the types that it takes and makes, of statements that move.
    #: bytes that each block moves, allocates or packs; of shuffles four for each lane.
    bytes: int | None = None
    shuffles: int = 0  #: 32-bit shuffles of each warp.
    ways: int | None = None  #: rounds of the worst phase of a load or store: 1 without conflict.
    wavefronts: int | None = None  #: rounds of all its instructions together.
    lines: tuple[int, ...] = ()  #: the lines of the statements, the first ones if there are many.
    times: int = 1  #: the number of statements.


class Machine(NamedTuple):
    """What the module says of the GPU; nothing and 0 if it does not."""

    target: str = ""
    warps: int = 0
    lanes: int = 0
    blocks: int = 0

    @staticmethod
    def of(text: str) -> Machine:
        """Return what the attributes of a module say."""
        given = dict(_MACHINE.findall(text))
        numbers = (
            int(given.get(name, 0)) for name in ("num-warps", "threads-per-warp", "num-ctas")
        )
        return Machine(given.get("target", ""), *numbers)

    @property
    def memory(self) -> SharedMemory:
        """The shared memory of the target; NVIDIA's if nothing is said."""
        kind, _, name = self.target.partition(":")
        found = MEMORIES.get(name if kind == "hip" else "nvidia")
        if found is None:
            raise _unknown(f"nobody says which lanes of {self.target} share a phase")
        return found

    @property
    def has_ldmatrix(self) -> bool:
        """Whether it is a GPU of NVIDIA from compute capability 7.5 on."""
        kind, _, name = self.target.partition(":")
        return kind == "cuda" and name.isdecimal() and int(name) >= 75


_MACHINE: Final = re.compile(
    r'(?:ttg|triton_gpu)\.(target|num-warps|threads-per-warp|num-ctas)"?\s*=\s*"?([\w:]{1,40})'
)


def _unknown(what: str) -> UnsupportedError:
    return UnsupportedError(what, "a report lists what is not read", "read the other statements")


def _map(layout: Any) -> IndexMap:
    return Subject(layout, None).map()


def _bits(layout: Any) -> int:
    if layout.element is None:
        raise _unknown(f"{layout} has no element type")
    return int(layout.element.bits)


def _pair(types: list[Any]) -> tuple[Any, Any]:
    found = [
        each
        for each in types
        if isinstance(each, TritonLayout) or isinstance(getattr(each, "layout", None), XegpuLayout)
    ]
    if len(found) < 2:
        raise _unknown(f"expected two types with encodings, got {len(found)}")
    return found[0], found[-1]


def _convert(statement: Statement, texts: list[str], types: list[Any], _: Machine) -> MlirStatement:
    source, target = _pair(types)
    one, other = (each.recipe(each.sizes) for each in (source, target))
    found = register_relayout(one, other, _bits(target))
    size = found.bytes
    if found.kind == "shuffle":
        axes = dict(zip(other.axis_names, known(other.physical_shape), strict=True))
        size = 4 * found.shuffles * axes.get("lane", 1) * axes.get("warp", 1)
    types_text = f"{texts[0]} -> {texts[-1]}"
    words = found.verdict
    if found.kind == "shuffle":  # Triton does if shuffles are many
        words += "; a compiler may use shared memory"
    return MlirStatement(statement.op, found.kind, words, types_text, size, found.shuffles)


def _local(
    statement: Statement, texts: list[str], types: list[Any], machine: Machine
) -> MlirStatement:
    """Return what a load or store of shared memory costs."""
    source, target = _pair(types)
    is_store = target.encoding.is_memory
    registers, shared = (source, target) if is_store else (target, source)
    if registers.encoding.is_memory or not shared.encoding.is_memory:
        raise _unknown("expected a tensor and a memdesc")
    m, bits, memory = _map(shared), _bits(shared), machine.memory
    access = Fragment(TritonLayout(registers.encoding), is_store, memory=m, lanes=memory.lanes)
    found = conflicts_of(m, access, bits, (0,) * len(shared.shape), memory)
    words = f"{found.verdict} with vectors of {bits * found.vector} bits"
    if (
        not is_store
        and machine.has_ldmatrix
        and (least := by_matrices(registers, shared, m, memory))
    ):
        name, found = least
        words = f"{found.verdict} with {name}; {words}"
    words += f"; {found.reason}" if found.has_conflicts else ""
    kind, size = "store" if is_store else "load", prod(registers.shape) * bits // 8
    types_text = f"{texts[0]} -> {texts[-1]}"
    return MlirStatement(
        statement.op, kind, words, types_text, size, 0, found.ways, found.wavefronts
    )


def by_matrices(
    registers: TritonLayout, shared: TritonLayout, m: IndexMap, memory: SharedMemory
) -> tuple[str, BankConflicts] | None:
    """Return what ``ldmatrix`` costs, if registers hold 8 by 8 matrices as it leaves them.

    Lane l has row ``l // 4`` of a matrix, and there the elements ``2*(l % 4)`` and the next one.
    The rows lie in memory in one piece each; ``.trans`` if the columns do. Triton takes it then.
    """
    shape = shared.shape or ()
    bases = registers.bases(registers.shape or ())
    first = [*bases["register"][:1], *bases["lane"][:5]]
    if _bits(shared) != 16 or len(first) < 6 or sum(map(bool, first[0])) != 1:
        return None
    along = next(k for k, n in enumerate(first[0]) if n)
    across = next((k for k, n in enumerate(first[3]) if n), along)

    def unit(dim: int, n: int) -> tuple[int, ...]:
        return tuple(n * (k == dim) for k in range(len(shape)))

    wanted = [*(unit(along, 1 << k) for k in range(3)), *(unit(across, 1 << k) for k in range(3))]
    if first != wanted or across == along:
        return None
    ways = ((along, across, "ldmatrix"), (across, along, "ldmatrix.trans"))
    runs = (
        way for way in ways if all(m(*unit(way[0], k)) == m(*unit(way[0], 0)) + k for k in range(8))
    )
    dim, other, name = next(runs, (along, across, ""))
    if not name:
        return None
    # A lane of each 8 gives the address of a row; the other two bits name the matrix.
    more = [unit(d, 8) if shape[d] > 8 else unit(d, 0) for d in (other, dim)]
    lanes = (*(unit(other, 1 << k) for k in range(3)), *more)
    rows = tuple(unit(dim, 1 << k) for k in range(3))
    fields = (("register", rows), ("lane", lanes), ("warp", ()))
    one = TritonLayout(Encoding("linear", fields))
    return name, conflicts_of(m, Fragment(one, memory=m, lanes=memory.lanes), 16, None, memory)


def _alloc(statement: Statement, texts: list[str], types: list[Any], _: Machine) -> MlirStatement:
    shared = types[-1]
    number = stages(texts[-1], shared.shape)
    size = number * -(-_map(shared).size * _bits(shared) // 8)
    words = bytes_text(size) + (f" in {number} buffers" if number > 1 else "")
    return MlirStatement(statement.op, "allocate", words, texts[-1], size)


def _transfer(
    statement: Statement, texts: list[str], types: list[Any], _: Machine
) -> MlirStatement:
    """Return how many pieces of memory a vector is read from or written to."""
    array, vector = sorted(types, key=lambda each: each.kind == "vector")[:2]
    m, rank, width = _map(array), len(vector.dims), _bits(vector)
    m = m.at(**dict.fromkeys(m.recipe.names, 1 << 20)) if m.recipe.names else m
    given = re.search(r"affine_map<\([^()]*\)\s*->\s*\([^()]*\)>", statement.text)
    results = [f"d{len(array.dims) - rank + k}" for k in range(rank)]
    if given is not None:
        results = parse_mlir(given[0]).texts()
    run, total = 1, prod(vector.dims)
    for name, n in zip(reversed(results), reversed(vector.dims), strict=True):
        step = [int(f"d{k}" == name) for k in range(len(array.dims))]
        if n > 1 and (not any(step) or m(*step) - m(*[0] * len(step)) != run):
            break
        run *= n
    words = f"{count(total // run, 'piece')} of {run * width // 8} bytes in memory"
    return MlirStatement(
        statement.op, "vector", words, f"{texts[0]}, {texts[-1]}", total * width // 8
    )


def _pack(statement: Statement, texts: list[str], *_: Any) -> MlirStatement:
    layout: Any = parse_pack(re.sub(r" loc\(.*", "", " ".join(statement.text.split())))
    kind, types_text = statement.op.partition(".")[2], f"{texts[0]} -> {texts[-1]}"
    dims = listed([*map(str, layout.inner_dims_pos)])
    tiles = f"tiles {'x'.join(map(str, layout.inner_tiles))} of dimensions {dims}"
    if None in layout.unpacked.dims:
        return MlirStatement(statement.op, kind, tiles, types_text)
    slots, width = _map(layout).size, _bits(layout.unpacked)
    padding = (slots - prod(layout.unpacked.dims)) * width // 8
    words = f"{tiles}, {bytes_text(padding)} of padding"
    return MlirStatement(statement.op, kind, words, types_text, slots * width // 8)


_TRITON: Final = ("ttg", "triton_gpu")
CONVERT: Final = "xegpu.convert_layout"
"""The conversion whose layouts are attributes of its own."""
_MOVES: Final[dict[str, Callable[..., MlirStatement]]] = {
    **{f"{name}.convert_layout": _convert for name in _TRITON},
    "amdg.in_thread_transpose": _convert,
    CONVERT: _convert,
    **{
        f"{name}.{op}": _local
        for name in _TRITON
        for op in ("local_load", "local_store", "async_copy_global_to_local")
    },
    **{f"{name}.local_alloc": _alloc for name in _TRITON},
    **{f"vector.transfer_{way}": _transfer for way in ("read", "write")},
    **{f"{name}.{op}": _pack for name in ("linalg", "tensor") for op in ("pack", "unpack")},
}

# What operations do that move no layout to another, by name or dialect.
_WORDS: Final = {
    name: words
    for words, names in {
        "computes element by element: nothing moves": "arith math ub tt.addptr tt.bitcast "
        "tt.clampf tt.int_to_ptr tt.ptr_to_int tt.fp_to_fp tt.mulhiui",
        "each lane makes what its layout gives it": "tt.make_range tt.splat tt.broadcast",
        "no element moves: a dimension of size 1": "tt.expand_dims",
        "no element moves if both layouts say the same": "tt.trans tt.reshape tt.join tt.split",
        "each lane reads what its layout gives it": "tt.load amdg.buffer_load "
        "xegpu.load_nd xegpu.load xegpu.prefetch_nd xegpu.prefetch xegpu.load_matrix",
        "each lane writes what it holds": "tt.store amdg.buffer_store tt.atomic_rmw xegpu.store_nd "
        "xegpu.store xegpu.store_matrix",
        "each lane combines what it holds, then lanes and warps exchange": "tt.reduce tt.scan",
        "tensor cores, or multiply-adds of each lane": "tt.dot tt.dot_scaled xegpu.dpas",
        "tensor cores read shared memory themselves": "ttng.warp_group_dot ttng.tc_gen5_mma",
        "a view: nothing moves": "ttg.memdesc_index ttg.memdesc_subslice ttg.memdesc_subview "
        "ttg.memdesc_trans ttg.memdesc_reshape ttg.memdesc_reinterpret memref.subview memref.cast "
        "xegpu.create_nd_tdesc xegpu.update_nd_offset xegpu.create_mem_desc "
        "memref.transpose memref.reinterpret_cast memref.expand_shape memref.collapse_shape",
        "vector registers are rearranged": "tpu.relayout",
        "waits, or orders copies": "ttg.async_wait ttg.async_commit_group ttng.warp_group_dot_wait "
        "ttng.fence_async_shared ttng.init_barrier ttng.wait_barrier ttng.inval_barrier "
        "ttng.barrier_expect gpu.barrier rocdl",
        "the end of a buffer": "ttg.local_dealloc memref.dealloc",
        "moves between registers and tensor memory": "ttng.tmem_load ttng.tmem_store",
        "memory": "ttng.tmem_alloc memref.alloc memref.alloca memref.global memref.get_global",
        "copies all elements": "memref.copy",
        "one element": "memref.load memref.store affine.load affine.store",
        "the number of the block": "tt.get_program_id tt.get_num_programs",
        "computes on vectors": "vector",
        "computes on whole arrays, or takes parts": "linalg tensor",
        "computes; what moves is decided with the layouts": "stablehlo mhlo chlo vhlo",
        "devices: what must move, reshard says": "sdy",
        "structure": "scf cf func gpu affine call return module builtin tt.func tt.return tt.call "
        "tt.reduce.return tt.scan.return ttg.warp_specialize ttg.warp_yield ttg.warp_return "
        "stablehlo.return",
    }.items()
    for name in names.split()
}


def needs_all(operation: str) -> bool:
    """Return whether what an operation does follows from its attributes, too."""
    return _MOVES.get(operation) in (_transfer, _pack)


def explained(
    statement: Statement, texts: list[str], types: list[Any], machine: Machine
) -> list[MlirStatement]:
    """Return what a statement does; an allocation that is written at once does two things."""
    op = statement.op
    ask = _MOVES.get(op)
    words = _WORDS.get(op) or _WORDS.get(op.partition(".")[0])
    if ask is None:
        kind, why = ("other", words) if words else ("not read", "this operation is not known here")
        return [MlirStatement(op, kind, why or "")]
    try:
        unread = next((each for each in types if isinstance(each, Raw)), None)
        if unread is not None or not types:
            raise _unknown(f"its type is not read: {unread or 'it has none'}")
        found = [ask(statement, texts, types, machine)]
        if ask is _alloc and len(types) > 1:
            found.append(_local(statement, texts, types, machine))
    except LayoutError as error:
        why = error.what.partition(" on gfx")[2].partition(": ")[2] or error.what
        return [MlirStatement(op, "not read", why, ", ".join(texts))]
    except (AttributeError, LookupError, TypeError, ValueError):
        why = "its types are not those of this operation"
        return [MlirStatement(op, "not read", why, ", ".join(texts))]
    return found
