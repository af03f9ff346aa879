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
from dataclasses import field
from functools import cached_property
from typing import ClassVar, Final, Literal, TypeAlias

from morello_layouts.core.description import amount, count, listed
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.recipe import Recipe, bases_of_recipe, known, linear_index
from morello_layouts.core.recipe.bases import Span, apply, kernel
from morello_layouts.errors import ShapeError, UnsupportedError

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


@frozen
class RegisterRelayout(Displayed):
    """What a change of the layout of registers takes."""

    #: ``nothing``; ``registers`` of the same lane; ``shuffle`` between lanes of a warp; ``shared
    #: memory``; or ``between blocks`` of a cluster.
    kind: Kind
    shuffles: int  #: 32-bit shuffles of each warp; 0 if the kind is another one.
    #: the shuffles' xors of the lane's number, if they are xors: lane l receives from lane l ^ x.
    #: Else for the first shuffle of warp 0 the lane that each one receives from.
    lanes: tuple[int, ...]
    are_xors: bool  #: whether ``lanes`` are xors.
    is_least: bool  #: whether no schedule has fewer shuffles: each lane lacks as many elements.
    elements: int  #: elements that each block holds afterwards.
    bits: int | None  #: bits of an element; None if no layout says it.
    _bases: BasisPair = field(compare=False)

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
        return self._bases.rounds(warp, block)

    def __str__(self) -> str:
        return self.verdict


def register_relayout(source: Recipe, target: Recipe, bits: int | None) -> RegisterRelayout:
    """Return what a change from one layout of registers to another takes."""
    found = BasisPair.of(source, target)
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


@frozen(slots=False)
class BasisPair:
    """Two layouts as bases, each a row-major number of the element at a bit of an axis."""

    source: Mapping[str, tuple[int, ...]]
    target: Mapping[str, tuple[int, ...]]
    size: int

    @staticmethod
    def of(source: Recipe, target: Recipe) -> BasisPair:
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
        return BasisPair(one, other, size)

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
        return tuple(map(self.lane_of, self.received))

    @cached_property
    def xors(self) -> tuple[int, ...]:
        """The different xors of lanes, without that of a lane and itself."""
        basis = Span(self.steps).basis
        return tuple(sorted(apply(basis, k) for k in range(1, 1 << len(basis))))

    @cached_property
    def turn(self) -> Turn:
        """What the lanes send if some of them keep nothing."""
        return Turn(self)

    def lane_of(self, vector: int) -> int:
        """The lane of the source that holds a class."""
        return self.lanes.reduced(vector)[1]

    def value(self, registers: int) -> int:
        """The element of some of the registers that receive."""
        return apply([self.target["register"][k] for k in self.registers], registers)

    @cached_property
    def count(self) -> int:
        """The number of shuffles of one element for each lane."""
        every = 1 << len(self.received)
        if self.keeps is not None:
            return every - (1 << self.together)
        return every << self.turn.clashes

    @cached_property
    def is_least(self) -> bool:
        """Whether some lane lacks as many elements as there are shuffles."""
        return self.keeps is not None or self.turn.clashes == 0

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
            register = k ^ apply(self.turn.first, thread)
            lane = step ^ apply(self.turn.lanes, thread)
        threads = [v for name in _THREADS for v in self.target[name]]
        own = (1 << len(self.source["lane"])) - 1
        others = [v for name in _THREADS for v in self.source[name]]
        element = apply(threads, thread) ^ self.value(register)
        missing = element ^ apply(others, thread & ~own | lane & own)
        rest, sent = self.own.reduced(missing)
        assert not rest, "the lane that sends has the element"
        received = apply([1 << k for k in self.registers], register)
        return received, lane & own, sent


class Turn:
    """For each bit of a thread the registers that receive first, and the lane that sends to them.

    Registers are chosen so that lanes receive from as many different lanes as there are. Where the
    source holds an element in several lanes, lanes that want different registers of one class ask
    different ones; ``clashes`` is the dimension of those for which there are too few.
    """

    def __init__(self, m: BasisPair) -> None:
        self.first: list[int] = []
        self.lanes: list[int] = []
        self.clashes = 0
        self._seen, self._sent = Span(), Span()
        self._values: list[int] = []
        self._given: list[int] = []
        self._spare = [*kernel(map(m.modulo, m.source["lane"]))]
        for element in m.target["lane"]:
            self._add_lane(m, element)
        for name in ("warp", "block"):
            for one, other in zip(m.source[name], m.target[name], strict=True):
                self.first.append(0)
                self.lanes.append(m.lane_of(m.modulo(one ^ other)))

    def _add_lane(self, m: BasisPair, element: int) -> None:
        vector, register = m.modulo(element), 0
        if vector in self._seen:
            new = (1 << k for k, v in enumerate(m.received) if v not in self._seen)
            register = next(new, 0)
        vector ^= apply(m.received, register)
        self.first.append(register)
        self._values.append(element ^ m.value(register))
        rest, used = self._seen.reduced(vector)
        self._seen.add(vector)
        if rest:
            self.lanes.append(m.lane_of(vector))
        else:
            difference = self._values[-1] ^ apply(self._values, used)
            self.lanes.append(self._other_lane(difference) ^ apply(self.lanes, used))

    def _other_lane(self, difference: int) -> int:
        """The lane, relative to another of its class, that sends registers that differ so."""
        rest, used = self._sent.reduced(difference)
        self._sent.add(difference)
        lane = apply(self._given, used)
        if rest:
            lane = self._spare.pop() if self._spare else 0
            self.clashes += not lane
        self._given.append(lane)
        return lane


def _numbers(recipe: Recipe) -> dict[str, tuple[int, ...]]:
    """The bases of a recipe as row-major numbers of elements."""
    bases = bases_of_recipe(recipe)
    strange = {*recipe.axis_names} - {"register", *_THREADS}
    has_axes = "register" in recipe.axis_names and not strange
    if bases is None and has_axes:
        raise UnsupportedError(
            f"a layout of registers at {recipe.shape}: its places are not linear in their bits",
            "elements move between registers by bits of lanes and registers: sizes are powers of "
            "two, and each place holds an element",
            "give a layout of registers such as #ttg.blocked<…>",
        )
    if bases is None or not has_axes:
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
