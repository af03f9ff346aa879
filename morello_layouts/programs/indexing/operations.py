"""Which elements of each operand an element of an HLO instruction's result reads.

Source: XLA's "Operation Semantics", docs/indexing.md and xla/hlo/analysis/indexing_analysis.cc. One
function for each kind of instruction; the table ``OPERATIONS`` names it for each opcode.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from math import prod
from typing import Final, NoReturn, TypeAlias

from morello_layouts.core.expr import variable
from morello_layouts.core.expr.substitution import substitute
from morello_layouts.core.fields import frozen, later
from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import CHAIN_MAPS
from morello_layouts.core.maps import IndexMap
from morello_layouts.errors import UnsupportedError
from morello_layouts.notations.xla import XlaShape
from morello_layouts.notations.xla.shape import XlaTuple
from morello_layouts.programs.hlo import HloInstruction
from morello_layouts.programs.indexing.domain import Constraint
from morello_layouts.programs.indexing.expressions import Expr, Forms, add, floordiv, mod, times
from morello_layouts.programs.indexing.symbols import fewer_symbols
from morello_layouts.programs.indexing.values import IndexingMap, Read, Variable

Maps: TypeAlias = "list[list[IndexingMap]]"
"""For each operand, the maps from the result's index to the operand's."""

_LITERAL: Final = regex(r"-?[0-9]{1,18}", re.ASCII)
_WINDOW: Final = regex(r"\b(\w++)=([-0-9_x]+)", re.ASCII)
_SLICE: Final = regex(r"\[(\d+):(\d+)(?::(\d+))?\]", re.ASCII)
_PADDING: Final = regex(r"(?<!\d)(-?\d++)_(-?\d++)(?:_(\d++))?", re.ASCII)
_LABELS: Final = regex(r"([0-9a-z?]+)_([0-9a-z?]+)->([0-9a-z?]+)", re.ASCII)


@frozen(slots=False)
class OpCall:
    """An instruction whose reads are asked, and which of its results."""

    instruction: HloInstruction
    output: int = 0

    @cached_property
    def attributes(self) -> Mapping[str, str]:
        return self.instruction.attributes

    @cached_property
    def array(self) -> XlaShape:
        """The result that is asked about."""
        shape = self.instruction.shape
        if isinstance(shape, XlaTuple) and self.output < len(shape.shapes):
            shape = shape.shapes[self.output]
        return self._require(shape, "its result")

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @property
    def dims(self) -> list[Expr]:
        """The index in the result."""
        return [f"d{k}" for k in range(self.rank)]

    @property
    def count(self) -> int:
        return len(self.instruction.operand_names)

    @cached_property
    def operands(self) -> tuple[HloInstruction | str, ...]:
        """The instruction's operands, which it looks up anew at each question."""
        return self.instruction.operands

    def operand(self, k: int) -> XlaShape:
        found: object = None
        if k < self.count:
            operand = self.operands[k]
            shapes = self.instruction.operand_shapes
            if not isinstance(operand, str):
                found = operand.shape
            elif shapes:
                found = shapes[k]
        if isinstance(found, XlaTuple) and self.output < len(found.shapes):
            found = found.shapes[self.output]
        return self._require(found, f"operand {k}")

    def _require(self, shape: object, what: str) -> XlaShape:
        if not isinstance(shape, XlaShape) or not all(isinstance(n, int) for n in shape.sizes):
            self.refuse(f"{what} is {shape or 'of unknown type'}, not an array of known sizes")
        return shape

    def refuse(self, why: str) -> NoReturn:
        """Say that the instruction has no indexing map."""
        name, opcode = self.instruction.name, self.instruction.opcode
        raise UnsupportedError(
            f"{name}: a {opcode} has no indexing map here",
            why,
            "ask about its operands by their own names",
        )

    def numbers(self, name: str) -> tuple[int, ...]:
        """Return the numbers of an attribute such as ``dimensions={1,0}``; empty without it."""
        return tuple(map(int, re.findall(r"-?\d{1,18}", self.attributes.get(name, ""))))

    def number(self, name: str, default: int = 0) -> int:
        """Return the first number of an attribute, or another one without it."""
        return (*self.numbers(name), default)[0]

    def window(self) -> list[dict[str, tuple[int, ...]]]:
        """Return size, stride, padding, dilations and reversal of each dimension of a window."""
        given = dict(_WINDOW.findall(self.attributes.get("window", "")))
        rank = len(given.get("size", "").split("x")) if given.get("size") else 0
        plain = {"stride": "1", "pad": "0_0", "lhs_dilate": "1", "rhs_dilate": "1"}
        found: list[dict[str, tuple[int, ...]]] = [{} for _ in range(rank)]
        for name in ("size", *plain, "rhs_reversal"):
            values = given[name].split("x") if name in given else [plain.get(name, "0")] * rank
            for one, value in zip(found, values, strict=False):
                one[name] = tuple(map(int, value.split("_")))
        return found

    def map(
        self,
        results: Sequence[Expr],
        ranges: Sequence[int] = (),
        constraints: Sequence[Constraint] = (),
        bounds: Mapping[int, tuple[int, int]] | None = None,
        runtimes: Sequence[Variable] = (),
    ) -> IndexingMap:
        """Return a map of the result's index, with tighter bounds for some dimensions."""
        ends = [(bounds or {}).get(k, (0, n - 1)) for k, n in enumerate(self.sizes)]
        symbols = [Variable(0, n - 1) for n in ranges]
        return IndexingMap.of(
            [Variable(*end) for end in ends], symbols, runtimes, results, constraints
        )

    def scalar(self) -> IndexingMap:
        return self.map(())


def _nothing(call: OpCall) -> Maps:
    """Return the maps of an instruction that reads no array."""
    return [[] for _ in range(call.count)]


def _elementwise(call: OpCall) -> Maps:
    """Return identities; a scalar beside arrays is read by every element."""
    ranks = (len(call.operand(k).shape) for k in range(call.count))
    return [[call.map(call.dims if rank else ())] for rank in ranks]


def _first(call: OpCall) -> Maps:
    """Return the identity for the first operand alone, whatever its type is as a whole."""
    return [[call.map(call.dims)], *([] for _ in range(call.count - 1))]


def _tuple(call: OpCall) -> Maps:
    return [[call.map(call.dims)] if k == call.output else [] for k in range(call.count)]


def _broadcast(call: OpCall) -> Maps:
    return [[call.map([f"d{k}" for k in call.numbers("dimensions")])]]


def _transpose(call: OpCall) -> Maps:
    order = call.numbers("dimensions")
    return [[call.map([f"d{order.index(k)}" for k in range(call.rank)])]]


def _reshape(call: OpCall) -> Maps:
    return [[call.map(reshaped(call.operand(0).shape, call.sizes))]]


def reshaped(before: Sequence[int], after: Sequence[int]) -> list[Expr]:
    """Return the index before a reshape of the element with index ``d0, d1, …`` after it.

    Dimensions are taken in the smallest groups that have equally many elements on both sides.

    >>> from morello_layouts.programs.indexing.expressions import text_of
    >>> [text_of(x) for x in reshaped((4, 8, 12), (32, 3, 4))]
    ['d0 floordiv 8', 'd0 mod 8', 'd1 * 4 + d2']
    """
    if prod(before) == 0:
        return [0 for _ in before]
    found: list[Expr] = []
    i = j = 0
    while i < len(before) or j < len(after):
        first, second, left, right = i, j, 1, 1
        while left != right or (i, j) == (first, second):
            if j == len(after) or (i < len(before) and left <= right):
                left *= before[i]
                i += 1
            else:
                right *= after[j]
                j += 1
        found += _joined(before[first:i], after[second:j], second)
    return found


def _joined(before: Sequence[int], after: Sequence[int], start: int) -> list[Expr]:
    """Return the index in one group of dimensions; those after begin at dimension ``start``."""
    strides = [prod(after[k + 1 :]) for k in range(len(after))]
    linear = add(*(times(f"d{start + k}", n) for k, n in enumerate(strides) if after[k] > 1))
    return digits_of(linear, before)


def digits_of(linear: Expr, sizes: Sequence[int]) -> list[Expr]:
    """Return the index in a row-major array of the element at a place in its order."""
    found: list[Expr] = []
    for k, n in enumerate(sizes):
        high = floordiv(linear, prod(sizes[k + 1 :]))
        is_first = prod(sizes[:k]) == 1
        found.append(0 if n == 1 else high if is_first else mod(high, n))
    return found


def _bitcast(call: OpCall) -> Maps:
    """Return the map that keeps bytes: from the result's offset back to the operand's index."""
    before, after = call.operand(0), call.array
    if before.bits != after.bits or prod(before.shape) != prod(after.shape):
        call.refuse(f"it makes {after} of {before}, which has other elements")
    if 0 in after.shape:
        return [[call.map([0] * len(before.shape))]]
    return [[_same_place(before, after)]]


@lru_cache(CHAIN_MAPS)
def _same_place(x: XlaShape, y: XlaShape) -> IndexingMap:
    """Return the map from an index of y to that of the element of x at the same offset."""
    return from_offset(x).compose(offset_of(y)).simplify()


@lru_cache(CHAIN_MAPS)
def index_map_of(x: XlaShape) -> IndexMap:
    """Return the index map of an array, with the formulas that earlier questions made."""
    recipe = x.recipe(x.shape)
    form = later(lambda: IndexMap.of(recipe, x.reference).reference_form)
    return IndexMap(recipe, form, str(x), element_type=x.element)


@lru_cache(CHAIN_MAPS)
def offset_of(x: XlaShape) -> IndexingMap:
    """Return the map from an array's index to the offset in its buffer, in elements."""
    forms = Forms({})
    return IndexingMap.from_sizes(x.shape, (forms.expr(index_map_of(x).form),))


@lru_cache(CHAIN_MAPS)
def from_offset(x: XlaShape) -> IndexingMap:
    """Return the map from the offset in an array's buffer to the index there, without padding."""
    inverse = index_map_of(x).inverse
    forms, p = Forms({}), {"p": variable("d0")}
    size = inverse.size
    assert isinstance(size, int)
    results = [forms.expr(substitute(form, p)) for form in inverse.forms]
    constraints = [
        Constraint(forms.expr(substitute(form, p)), -(1 << 62), n - 1)
        for form, n in inverse.limits
        if isinstance(n, int)
    ]
    return IndexingMap.of([Variable(0, size - 1, "p")], (), (), results, constraints)


def _bitcast_convert(call: OpCall) -> Maps:
    """Return the identity; elements of another width split into, or join, a last dimension."""
    rank = len(call.operand(0).shape)
    if rank > call.rank:
        return [[call.map([*call.dims, "s0"], [call.operand(0).shape[-1]])]]
    return [[call.map(call.dims[:rank])]]


def _reverse(call: OpCall) -> Maps:
    dims = call.dims
    for k in call.numbers("dimensions"):
        dims[k] = add(times(dims[k], -1), call.sizes[k] - 1)
    return [[call.map(dims)]]


def _slice(call: OpCall) -> Maps:
    given = _SLICE.findall(call.attributes.get("slice", ""))
    dims = [
        add(times(d, int(step or 1)), int(start))
        for d, (start, _, step) in zip(call.dims, given, strict=True)
    ]
    return [[call.map(dims)]]


def _pad(call: OpCall) -> Maps:
    given = _PADDING.findall(call.attributes.get("padding", ""))
    ends = [(int(low), int(high), int(inside or 0)) for low, high, inside in given]
    return [[padded(call.sizes, ends)], [call.scalar()]]


def padded(sizes: Sequence[int], ends: Sequence[tuple[int, int, int]]) -> IndexingMap:
    """Return the map of a pad: low, high and interior padding of each dimension.

    >>> print(padded((12, 16), [(1, 4, 1), (4, 8, 0)]))
    (d0, d1) -> ((d0 - 1) floordiv 2, d1 - 4), domain: d0 in [1, 7], d1 in [4, 7], \
(d0 - 1) mod 2 in [0, 0]
    """
    dims, results, constraints = [], [], []
    for k, (n, (low, high, inside)) in enumerate(zip(sizes, ends, strict=True)):
        dims.append(Variable(max(0, low), min(n - 1, n - 1 - high)))
        moved = add(f"d{k}", -low)
        results.append(floordiv(moved, inside + 1))
        if inside:
            constraints.append(Constraint(mod(moved, inside + 1), 0, 0))
    return IndexingMap.of(dims, (), (), results, constraints)


def _concatenate(call: OpCall) -> Maps:
    (axis,) = call.numbers("dimensions")
    sizes = [call.operand(k).shape[axis] for k in range(call.count)]
    found: Maps = []
    for n, end in zip(sizes, accumulate(sizes), strict=True):
        dims = call.dims
        dims[axis] = add(dims[axis], n - end)
        found.append([call.map(dims, bounds={axis: (end - n, end - 1)})])
    return found


def _reduce(call: OpCall) -> Maps:
    gone = call.numbers("dimensions")
    sizes = call.operand(0).shape
    left = iter(call.dims)
    index: list[Expr] = [
        f"s{gone.index(k)}" if k in gone else next(left) for k in range(len(sizes))
    ]
    found = call.map(index, [sizes[k] for k in gone])
    half = call.count // 2
    return [[found] if k < half else [call.scalar()] for k in range(call.count)]


def _sort(call: OpCall) -> Maps:
    """Return maps that read all along the sorted dimension, of each operand."""
    axis = call.number("dimensions")
    dims: list[Expr] = ["s0" if k == axis else d for k, d in enumerate(call.dims)]
    return [[call.map(dims, [call.sizes[axis]])] for _ in range(call.count)]


def _dot(call: OpCall) -> Maps:
    found: Maps = []
    free = len(call.numbers("lhs_batch_dims"))
    for k, side in enumerate(("lhs", "rhs")):
        batch = call.numbers(f"{side}_batch_dims")
        summed = call.numbers(f"{side}_contracting_dims")
        sizes = call.operand(k).shape
        index: list[Expr] = []
        for dim in range(len(sizes)):
            if dim in batch:
                index.append(f"d{batch.index(dim)}")
            elif dim in summed:
                index.append(f"s{summed.index(dim)}")
            else:
                index.append(f"d{free}")
                free += 1
        found.append([call.map(index, [sizes[dim] for dim in summed])])
    return found


def _windowed(
    sizes: Sequence[int], outputs: Sequence[Expr], window: Sequence[Mapping[str, tuple[int, ...]]]
) -> tuple[list[Expr], list[Constraint]]:
    """Return the index that a window reads, over its own place ``s0, s1, …``, and its conditions.

    Padding and dilation of the operand are a pad before the window.
    """
    index, conditions = [], []
    for k, (n, at, one) in enumerate(zip(sizes, outputs, window, strict=True)):
        (stride,), (wide,), (apart,) = one["stride"], one["rhs_dilate"], one["lhs_dilate"]
        moved = add(times(at, stride), times(f"s{k}", wide), -one["pad"][0])
        index.append(floordiv(moved, apart))
        conditions.append(Constraint(moved, 0, (n - 1) * apart))
        if apart > 1:
            conditions.append(Constraint(mod(moved, apart), 0, 0))
    return index, conditions


def _reduce_window(call: OpCall) -> Maps:
    window = call.window()
    index, conditions = _windowed(call.operand(0).shape, call.dims, window)
    found = call.map(index, [one["size"][0] for one in window], conditions)
    simple = fewer_symbols(found)
    half = call.count // 2
    return [[simple] if k < half else [call.scalar()] for k in range(call.count)]


def _convolution(call: OpCall) -> Maps:
    labels = _LABELS.match(call.attributes.get("dim_labels", ""))
    if labels is None:
        call.refuse("it has no dim_labels")
    data, kernel, result = labels.groups()
    window, sizes = call.window(), call.operand(0).shape
    places = [str(k) for k in range(len(window))]
    outputs: list[Expr] = [f"d{result.index(k)}" for k in places]
    spatial = [sizes[data.index(k)] for k in places]
    index, conditions = _windowed(spatial, outputs, window)
    features = call.operand(1).shape[kernel.index("i")]
    batch, feature = f"d{result.index('b')}", f"d{result.index('f')}"
    depth: Expr = f"s{len(window)}"
    ranges = [*(one["size"][0] for one in window), features]

    groups, batches = (call.number(f"{x}_group_count", 1) for x in ("feature", "batch"))
    of_group = call.sizes[result.index("f")] // max(groups, batches)
    group = floordiv(feature, of_group)
    channel = add(times(group, features), depth) if groups > 1 else depth
    row = add(times(group, call.sizes[result.index("b")]), batch) if batches > 1 else batch
    one = _placed(data, {"b": row, "f": channel, **dict(zip(places, index, strict=True))})

    inside: dict[str, Expr] = {"i": depth, "o": feature}
    for k, each in enumerate(window):
        is_reversed = each["rhs_reversal"][0] == 1
        last = each["size"][0] - 1
        inside[str(k)] = add(times(f"s{k}", -1), last) if is_reversed else f"s{k}"
    other = call.map(_placed(kernel, inside), ranges)
    first = call.map(one, ranges, conditions)
    return [[fewer_symbols(x)] for x in (first, other)]


def _placed(labels: str, values: Mapping[str, Expr]) -> list[Expr]:
    return [values[label] for label in labels]


def _dynamic_slice(call: OpCall) -> Maps:
    sizes = call.operand(0).shape
    rooms = [n - m for n, m in zip(sizes, call.sizes, strict=True)]
    starts, runtimes = _starts(call, 1, rooms)
    dims = [add(d, start) for d, start in zip(call.dims, starts, strict=True)]
    scalars: Maps = [[call.scalar()] for _ in range(call.count - 1)]
    return [[call.map(dims, runtimes=runtimes)], *scalars]


def _dynamic_update_slice(call: OpCall) -> Maps:
    """Return the identity for the array, which is read where it is not updated, and the update's.

    XLA's own map of the update lets an element lie outside of it; here a constraint says it.
    """
    sizes = call.operand(1).shape
    rooms = [n - m for n, m in zip(call.sizes, sizes, strict=True)]
    starts, runtimes = _starts(call, 2, rooms)
    dims = [add(d, times(start, -1)) for d, start in zip(call.dims, starts, strict=True)]
    inside = [Constraint(x, 0, n - 1) for x, n in zip(dims, sizes, strict=True)]
    scalars: Maps = [[call.scalar()] for _ in range(call.count - 2)]
    update = call.map(dims, constraints=inside, runtimes=runtimes)
    return [[call.map(call.dims)], [update], *scalars]


def _starts(call: OpCall, first: int, rooms: Sequence[int]) -> tuple[list[Expr], list[Variable]]:
    """Return where a slice starts along each dimension: a number if known, else a new variable."""
    if call.count == first + 1 and len(rooms) != 1:
        call.refuse("its start indices are one array, the form of old programs")
    starts: list[Expr] = []
    runtimes: list[Variable] = []
    for room, operand, name in zip(
        rooms,
        call.operands[first:],
        call.instruction.operand_names[first:],
        strict=True,
    ):
        literal = None if isinstance(operand, str) else operand.literal
        is_known = not isinstance(operand, str) and operand.opcode == "constant"
        if room == 0 or (is_known and _LITERAL.fullmatch(literal or "")):
            starts.append(min(max(int(literal or 0), 0), room) if room else 0)
        else:
            starts.append(f"rt{len(runtimes)}")
            runtimes.append(Variable(0, room, source=Read(name, ())))
    return starts, runtimes


def _gather(call: OpCall) -> Maps:
    """Return the maps of a gather, of any form, not only the simplified one of XLA's analysis."""
    sizes, slices = call.operand(0).shape, call.numbers("slice_sizes")
    offsets, starts = call.numbers("offset_dims"), call.numbers("start_index_map")
    gone = (*call.numbers("collapsed_slice_dims"), *call.numbers("operand_batching_dims"))
    batching = call.numbers("start_indices_batching_dims")
    axis = call.number("index_vector_dim")
    batch: list[Expr] = [d for k, d in enumerate(call.dims) if k not in offsets]
    is_whole = axis == len(call.operand(1).shape)

    def at(k: Expr) -> tuple[Expr, ...]:
        return tuple(batch) if is_whole else (*batch[:axis], k, *batch[axis:])

    left, index = iter(offsets), list[Expr]()
    runtimes: list[Variable] = []
    for k, (n, m) in enumerate(zip(sizes, slices, strict=True)):
        x: Expr = 0 if k in gone else f"d{next(left)}"
        if k in call.numbers("operand_batching_dims"):
            place = batching[call.numbers("operand_batching_dims").index(k)]
            x = batch[place - (place > axis)]
        elif k in starts and n > m:
            x = add(x, f"rt{len(runtimes)}")
            source = Read(call.instruction.operand_names[1], at(starts.index(k)))
            runtimes.append(Variable(0, n - m, source=source))
        index.append(x)
    indices = call.map(at("s0"), () if is_whole else [len(starts)])
    return [[call.map(index, runtimes=runtimes)], [indices]]


def _all_gather(call: OpCall) -> Maps:
    """Return the index in the part of one device; the quotient says which device it is."""
    axis = call.number("dimensions")
    dims = call.dims
    dims[axis] = mod(dims[axis], call.operand(0).shape[axis])
    return [[call.map(dims)]]


ELEMENTWISE: Final = (
    "abs add and atan2 cbrt ceil clamp clz compare complex convert copy cosine count-leading-zeros"
    " divide erf exponential exponential-minus-one floor imag is-finite log log-plus-one logistic"
    " map maximum minimum multiply negate not or popcnt population-count power real"
    " reduce-precision remainder round-nearest-afz round-nearest-even rsqrt select"
    " shift-left shift-right-arithmetic shift-right-logical sign sine sqrt stochastic-convert"
    " subtract tan tanh xor acos acosh asin asinh atanh cosh sinh"
    " all-reduce all-reduce-start all-reduce-done collective-permute domain"
)

OPERATIONS: Final[Mapping[str, Callable[[OpCall], Maps]]] = {
    **dict.fromkeys(ELEMENTWISE.split(), _elementwise),
    **dict.fromkeys(
        ("constant", "iota", "parameter", "partition-id", "replica-id", "after-all", "rng"),
        _nothing,
    ),
    **dict.fromkeys(
        ("copy-start", "copy-done", "get-tuple-element", "optimization-barrier"), _first
    ),
    "tuple": _tuple,
    "broadcast": _broadcast,
    "transpose": _transpose,
    "reshape": _reshape,
    "bitcast": _bitcast,
    "bitcast-convert": _bitcast_convert,
    "reverse": _reverse,
    "slice": _slice,
    "pad": _pad,
    "concatenate": _concatenate,
    "reduce": _reduce,
    "sort": _sort,
    "dot": _dot,
    "reduce-window": _reduce_window,
    "convolution": _convolution,
    "dynamic-slice": _dynamic_slice,
    "dynamic-update-slice": _dynamic_update_slice,
    "gather": _gather,
    "all-gather": _all_gather,
}
"""The function that gives the maps of an instruction, by its opcode."""
