"""From one layout of registers to another: what must move, and how.

All is linear over F2. An element stays with its lane if, modulo what the registers of a lane hold,
both layouts put the same there; then registers are renamed. Otherwise the same question is asked
modulo registers and lanes, which shuffles reach, and modulo warps, which shared memory reaches.

Source: Zhou et al., "Linear Layouts", arXiv 2505.23819, on layout conversions. Beyond the paper,
where each lane keeps some of its elements, lane xors bring the others in the fewest shuffles that
there can be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import xor
from typing import ClassVar, Final, Literal, TypeAlias

from morello_layouts.description import amount, count, listed
from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.plain import Displayed
from morello_layouts.recipe import Recipe, bases_of_recipe, known, linear_index
from morello_layouts.recipe.binary import Span, apply, kernel

Kind: TypeAlias = Literal["nothing", "registers", "shuffle", "shared memory", "between blocks"]
"""How elements move: the first of these that suffices."""

Move: TypeAlias = tuple[int, int, int]
"""A register that receives, the lane that sends, and the register that it sends."""

_THREADS: Final = ("lane", "warp", "block")
_FIXED: Final[Mapping[Kind, tuple[str, ...]]] = {
    "nothing": ("register", *_THREADS),
    "registers": _THREADS,
    "shuffle": ("warp", "block"),
    "shared memory": ("block",),
    "between blocks": (),
}
_WORD: Final = 32
_SHOWN: Final = 8


@dataclass(frozen=True, slots=True, repr=False)
class RegisterRelayout(Displayed):
    """What a change of the layout of registers takes.

    Attributes:
        kind: ``nothing``; ``registers`` of the same lane; ``shuffle`` between lanes of a warp;
            ``shared memory``; or ``between blocks`` of a cluster.
        shuffles: 32-bit shuffles of each warp; 0 if the kind is another one.
        lanes: the shuffles' xors of the lane's number, if they are xors: lane l receives from lane
            l ^ x. Else for the first shuffle of warp 0 the lane that each one receives from.
        are_xors: whether ``lanes`` are xors.
        is_least: whether no schedule has fewer shuffles: each lane lacks as many elements.
        elements: elements that each block holds afterwards.
        bits: bits of an element; None if no layout says it.
    """

    kind: Kind
    shuffles: int
    lanes: tuple[int, ...]
    are_xors: bool
    is_least: bool
    elements: int
    bits: int | None
    _matrices: Matrices = field(compare=False)

    json_keys: ClassVar = ("verdict", "kind", "shuffles", "lanes", "are_xors", "elements", "bytes")

    @property
    def bytes(self) -> int | None:
        """Bytes that each block writes and reads in memory: 0 if none; None without bits."""
        if self.kind in ("nothing", "registers", "shuffle"):
            return 0
        return None if self.bits is None else -(-self.elements * self.bits // 8)

    @property
    def verdict(self) -> str:
        """The answer in words."""
        if self.kind == "shuffle":
            lanes = ", ".join(map(str, self.lanes[:_SHOWN]))
            more = ", …" if len(self.lanes) > _SHOWN else ""
            which = "lane xor" if self.are_xors else "from lanes"
            return f"{count(self.shuffles, 'shuffle')} in each warp, {which} {lanes}{more}"
        if self.bytes:
            return f"through {self.kind}, {amount(self.bytes)} bytes for each block"
        words = {
            "nothing": "nothing moves",
            "registers": "registers of each lane are renamed",
            "shared memory": f"through shared memory, {self.elements:,} elements for each block",
        }
        return words.get(self.kind, f"between blocks, {self.elements:,} elements for each block")

    def rounds(self, warp: int = 0, block: int = 0) -> Iterator[list[Move | None]]:
        """Yield for each shuffle of elements what each lane of a warp receives; None for nothing.

        Elements narrower than 32 bits share shuffles; here each has its own.
        """
        return self._matrices.rounds(warp, block)

    def __str__(self) -> str:
        return self.verdict


def register_relayout(source: Recipe, target: Recipe, bits: int | None) -> RegisterRelayout:
    """Return what a change from one layout of registers to another takes.

    Raises:
        ShapeError: if shapes or numbers of lanes, warps or blocks differ.
        UnsupportedError: if a layout is not linear over F2, or has no registers.
    """
    found = Matrices.of(source, target)
    kind = next(kind for kind, fixed in _FIXED.items() if found.reaches(fixed))
    elements = 1 << Span(v for n in ("register", "lane", "warp") for v in found.target[n]).rank
    if kind != "shuffle":
        return RegisterRelayout(kind, 0, (), False, True, elements, bits, found)
    width = bits or _WORD
    shared = min(found.together, max(_WORD // width, 1).bit_length() - 1)
    shuffles = (found.count >> shared) * -(-width // _WORD)
    if found.keeps is not None:
        lanes = found.xors
    else:
        lanes = tuple(move[1] if move else lane for lane, move in enumerate(next(found.rounds())))
    is_xor = found.keeps is not None
    return RegisterRelayout(kind, shuffles, lanes, is_xor, found.is_least, elements, bits, found)


@dataclass(frozen=True)
class Matrices:
    """Two layouts as bases, each a row-major number of the element at a bit of an axis."""

    source: Mapping[str, tuple[int, ...]]
    target: Mapping[str, tuple[int, ...]]
    size: int

    @staticmethod
    def of(source: Recipe, target: Recipe) -> Matrices:
        """Return the matrices of two recipes."""
        if source.shape != target.shape:
            raise ShapeError(
                f"two layouts of one array: expected {source.shape}, got {target.shape}",
                "elements correspond by their coordinates",
                "give the second layout the shape of the first one",
            )
        one, other = (_numbers(recipe) for recipe in (source, target))
        for name in _THREADS:
            if len(one[name]) != len(other[name]):
                sizes = 1 << len(one[name]), 1 << len(other[name])
                raise ShapeError(
                    f"{name}s: expected {sizes[0]}, got {sizes[1]}",
                    "both layouts are of the same threads",
                    f"give both layouts {sizes[0]} {name}s",
                )
        size = max((v.bit_length() for part in one.values() for v in part), default=0)
        return Matrices(one, other, size)

    def reaches(self, fixed: Sequence[str]) -> bool:
        """Whether each place finds its element where the fixed axes have the same coordinate."""

        def columns(bases: Mapping[str, tuple[int, ...]]) -> Iterator[int]:
            shift = self.size
            for name in ("register", *_THREADS):
                for k, vector in enumerate(bases[name]):
                    yield vector | (name in fixed) << (shift + k)
                shift += max(len(self.source[name]), len(self.target[name]))

        held = Span(columns(self.source))
        return all(column in held for column in columns(self.target))

    # Below, numbers are taken modulo what the registers of one lane hold in the source.

    @cached_property
    def own(self) -> Span:
        """What the registers of one lane hold in the source."""
        return Span(self.source["register"])

    def modulo(self, vector: int) -> int:
        """The class of an element modulo the registers of a lane."""
        return self.own.reduced(vector)[0]

    @cached_property
    def lanes(self) -> Span:
        """The classes that lanes of the source hold."""
        return Span(map(self.modulo, self.source["lane"]))

    @cached_property
    def registers(self) -> tuple[int, ...]:
        """The registers of the target that are no copies of others, as numbers of bits."""
        span = Span()
        return tuple(k for k, vector in enumerate(self.target["register"]) if span.add(vector))

    @cached_property
    def received(self) -> tuple[int, ...]:
        """For each of these registers the class of its element."""
        return tuple(self.modulo(self.target["register"][k]) for k in self.registers)

    @cached_property
    def together(self) -> int:
        """The dimension of the elements that come from one lane at a time."""
        return len(kernel(self.received))

    @cached_property
    def keeps(self) -> tuple[int, ...] | None:
        """For each bit of a thread registers that its lane keeps; None if some lane keeps none."""
        span = Span(self.received)
        found = []
        for name in _THREADS:
            for one, other in zip(self.source[name], self.target[name], strict=True):
                rest, used = span.reduced(self.modulo(one ^ other))
                if rest:
                    return None
                found.append(used)
        return tuple(found)

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """For each register that receives the xor of lanes to the one that holds its element."""
        return tuple(self.lanes.reduced(vector)[1] for vector in self.received)

    @cached_property
    def xors(self) -> tuple[int, ...]:
        """The different xors of lanes, without that of a lane and itself."""
        return tuple(sorted({apply(self.steps, k) for k in range(1 << len(self.steps))} - {0}))

    @cached_property
    def turn(self) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """For each bit of a thread: registers of its first round; the lane that sends then.

        The third number is the dimension of what a lane must send to several lanes at once.
        """
        first, lanes, seen, sent = list[int](), list[int](), Span(), Span()
        spare = [*kernel(map(self.modulo, self.source["lane"]))]
        given: list[int] = []
        values: list[int] = []
        clashes = 0
        for name in _THREADS:
            for one, other in zip(self.source[name], self.target[name], strict=True):
                vector = self.modulo(other if name == "lane" else one ^ other)
                extra = 0
                if name != "lane":
                    first.append(0)
                    lanes.append(self.lanes.reduced(vector)[1])
                    continue
                if vector in seen:
                    more = (k for k, v in enumerate(self.received) if v not in seen)
                    extra = sum(1 << k for k in [next(more, -1)] if k >= 0)
                vector ^= apply(self.received, extra)
                value = other ^ apply([self.target["register"][k] for k in self.registers], extra)
                rest, used = seen.reduced(vector)
                seen.add(vector)
                first.append(extra)
                values.append(value)
                if rest:
                    lanes.append(self.lanes.reduced(vector)[1])
                    continue
                left = value ^ apply(values, used)
                rest, known_by = sent.reduced(left)
                sent.add(left)
                lane = apply(given, known_by)
                if rest:
                    lane = spare.pop() if spare else 0
                    clashes += not lane
                given.append(lane)
                lanes.append(lane ^ apply(lanes, used))
        return tuple(first), tuple(lanes), clashes

    @cached_property
    def count(self) -> int:
        """The number of shuffles of one element for each lane."""
        every = 1 << len(self.received)
        if self.keeps is not None:
            return every - (1 << self.together)
        return every << self.turn[2]

    @cached_property
    def is_least(self) -> bool:
        """Whether some lane lacks as many elements as there are shuffles."""
        return self.keeps is not None or self.turn[2] == 0

    def rounds(self, warp: int = 0, block: int = 0) -> Iterator[list[Move | None]]:
        """Yield for each shuffle of one element what each lane of a warp receives."""
        bits = [len(self.source[name]) for name in _THREADS]
        others = warp << bits[0] | block << (bits[0] + bits[1])
        for k in range(1 << len(self.received)):
            step = apply(self.steps, k)
            if self.keeps is not None and not step:
                continue
            moves: list[Move | None] = [
                self._move(lane | others, k, step) for lane in range(1 << bits[0])
            ]
            while any(moves):
                chosen: dict[int, int] = {}
                now = [m if m and chosen.setdefault(m[1], m[2]) == m[2] else None for m in moves]
                yield now
                moves = [None if m in now else m for m in moves]

    def _move(self, thread: int, k: int, step: int) -> Move:
        """What a thread receives in a round."""
        if self.keeps is not None:
            register, lane = k ^ apply(self.keeps, thread), thread ^ step
        else:
            register = k ^ apply(self.turn[0], thread)
            lane = step ^ apply(self.turn[1], thread)
        threads = [v for name in _THREADS for v in self.target[name]]
        values = [self.target["register"][i] for i in self.registers]
        own = (1 << len(self.source["lane"])) - 1
        others = [v for name in _THREADS for v in self.source[name]]
        element = apply(threads, thread) ^ apply(values, register)
        missing = element ^ apply(others, thread & ~own | lane & own)
        rest, sent = self.own.reduced(missing)
        assert not rest, "the lane that sends has the element"
        places = (1 << self.registers[i] for i in range(len(values)) if register >> i & 1)
        return reduce(xor, places, 0), lane & own, sent


def _numbers(recipe: Recipe) -> dict[str, tuple[int, ...]]:
    """The bases of a recipe as row-major numbers of elements."""
    bases = bases_of_recipe(recipe)
    strange = {*recipe.axis_names} - {"register", *_THREADS}
    if bases is None or "register" not in recipe.axis_names or strange:
        axes = listed([*recipe.axis_names]) or "memory"
        raise UnsupportedError(
            f"a layout of registers: expected axes lane and register, got {axes}",
            "elements move between registers by bits of lanes and registers",
            "give a layout of registers whose sizes are powers of two, such as #ttg.blocked<…>",
        )
    shape = known(recipe.shape)
    return {
        name: tuple(linear_index(v, shape, 0) for v in bases.get(name, ()))
        for name in ("register", *_THREADS)
    }
