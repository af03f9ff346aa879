"""Random layouts of every notation, and user formulas, with the places of elements in NumPy.

What a text means is written here again, from the notations' documents, as arithmetic on arrays of
coordinates; nothing of the package counts. Sizes, tiles and pitches may have names. A family is a
way to say where elements lie; it has several texts, in several notations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import morello_layouts as ml

SIZES = (1, 2, 3, 4, 5, 7, 8, 12, 16)
TILES = (1, 2, 3, 4, 5, 8)
PITCHES, STAR = ("LD", "P"), "*"

Sizes = Mapping[str, int]
Places = NDArray[np.int64]
"""The places of each element, row-major, in rows: one place but for replicas."""


class Drawn(NamedTuple):
    """A layout and its places.

    Attributes:
        source: the layout's text, or the arguments of ``from_sympy``.
        shape: sizes of the array; a name for each symbolic one.
        places: the places of all elements and the slots of the buffer, at sizes; None for the
            latter if the notation's documents do not say it.
        names: all names, those of pitches and tiles too.
        multiples: what a named size is a multiple of.
        of_devices: whether places are on several devices or in registers.
        assuming: what is assumed about the names, as Python writes it, too.
    """

    source: Any
    shape: tuple[Any, ...]
    places: Callable[[Sizes], tuple[Places, int | None]]
    names: tuple[str, ...]
    multiples: Mapping[str, int] = {}
    of_devices: bool = False
    assuming: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        given = f", assuming {' and '.join(self.assuming)}" if self.assuming else ""
        return f"{self.source!r} at {self.shape}{given}"

    def given(self) -> Any:
        """Return the layout as a user gives it."""
        return self.source if isinstance(self.source, str) else ml.from_sympy(*self.source)

    def map(self) -> Any:
        """Return the map of the layout, or of the formula."""
        if isinstance(self.source, str):
            return ml.index_map(self.source, self.shape)
        return self.given()


def assumed(random: Random, *layouts: Drawn) -> list[Drawn]:
    """Return layouts under an assumption about one of their names; it may fix the size."""
    names = [n for n in layouts[0].shape if isinstance(n, str)]
    if not names:  # only a pitch or a tile has a name
        return [*layouts]
    name, n = random.choice(names), random.choice((2, 3, 4, 8))
    facts = random.choice((
        (f"{name} % {n} == 0",), (f"{name} <= {n}",), (f"{name} >= {n}",), (f"{name} == {n}",),
        (f"{name} % {n} == 0", f"{name} <= {random.choice((n, 3 * n))}"),
    ))  # fmt: skip
    if name in layouts[0].multiples or name in layouts[-1].multiples:
        return [*layouts]
    multiples = {name: n} if "==" in facts[0] else {}
    return [x._replace(assuming=facts, multiples={**x.multiples, **multiples}) for x in layouts]


def at(shape: Sequence[Any], sizes: Sizes) -> tuple[int, ...]:
    """Return sizes by name and number as numbers."""
    return tuple(sizes[n] if isinstance(n, str) else n for n in shape)


def flat(offsets: Any, shape: tuple[int, ...]) -> Places:
    """Return offsets as one row for each element."""
    return np.broadcast_to(offsets, shape).reshape(-1, 1).astype(np.int64)


def shape_of(random: Random, rank: int, named: bool) -> tuple[Any, ...]:
    """Return sizes, of which one or two are names."""
    shape: list[Any] = [random.choice(SIZES) for _ in range(rank)]
    if named:
        dims = sorted(random.sample(range(rank), random.randint(1, min(rank, 2))))
        for dim, name in zip(dims, random.choice(("MN",) * 9 + ("MM",)), strict=False):
            shape[dim] = name
    return tuple(shape)


def names_of(*parts: Any) -> tuple[str, ...]:
    found = dict.fromkeys(n for part in parts for n in part if isinstance(n, str))
    return tuple(name for name in found if name != STAR)


class Tiled(NamedTuple):
    """XLA's layout: the order of dimensions, minor to major, and the tiles."""

    order: tuple[int, ...]
    tiles: tuple[tuple[Any, ...], ...]
    tail: int = 1

    def text(self, shape: tuple[Any, ...]) -> str:
        tiles = "".join(f"({','.join(map(str, tile))})" for tile in self.tiles)
        if not shape:
            return "f32[]"
        order, end = ",".join(map(str, self.order)), f"L({self.tail})" if self.tail > 1 else ""
        return f"f32[{','.join(map(str, shape))}]{{{order}{':T' + tiles + end if tiles else ''}}}"

    def buffer(self, shape: tuple[int, ...], sizes: Sizes | None = None) -> Places:
        """The row-major index of the element in each slot, -1 for padding."""
        held = np.arange(prod(shape)).reshape(shape).transpose(self.order[::-1])
        for given in self.tiles:
            if held.ndim < len(given):
                held = held.reshape((1,) * (len(given) - held.ndim) + held.shape)
            held = _joined(held, given)
            tile = at([t for t in given if t != STAR], sizes or {})
            keep = held.ndim - len(tile)
            ends = zip(held.shape[keep:], tile, strict=True)
            padded = np.full((*held.shape[:keep], *(n + -n % t for n, t in ends)), -1)
            padded[tuple(map(slice, held.shape))] = held
            held = padded
            parts = [x for n, t in zip(held.shape[keep:], tile, strict=True) for x in (n // t, t)]
            axes = [*range(keep), *range(keep, keep + len(parts), 2)]
            axes += range(keep + 1, keep + len(parts), 2)
            held = held.reshape(held.shape[:keep] + tuple(parts)).transpose(axes)
        held = held.reshape(-1)
        return np.append(held, np.full(-len(held) % self.tail, -1)) if self.tiles else held

    def offsets(self, shape: tuple[int, ...]) -> Places:
        """The slot of each element, in row-major order."""
        return _slots(self.buffer(shape), prod(shape))

    def drawn(self, shape: tuple[Any, ...]) -> Drawn:
        def places(sizes: Sizes) -> tuple[Places, int]:
            there = at(shape, sizes)
            held = self.buffer(there, sizes)
            return _slots(held, prod(there)).reshape(-1, 1), len(held)

        return Drawn(self.text(shape), shape, places, names_of(shape, *self.tiles))


def _joined(held: Places, tile: Sequence[Any]) -> Places:
    """Join each dimension at a star of the tile with the next one."""
    keep, joined, run = held.ndim - len(tile), list[int](), 1
    for n, t in zip(held.shape[keep:], tile, strict=True):
        run *= n
        if t != STAR:
            joined.append(run)
            run = 1
    return held.reshape(*held.shape[:keep], *joined)


def _slots(held: Places, count: int) -> Places:
    found = np.empty(count, np.int64)
    found[held[held >= 0]] = np.flatnonzero(held >= 0)
    return found


def tiled_of(random: Random, rank: int) -> Tiled:
    tiles = [
        (*(random.choice((*TILES, STAR)) for _ in range(random.randint(0, rank))),
         random.choice(TILES))
        for _ in range(random.choice((0, 1, 1, 2, 3)) if rank else 0)
    ]  # fmt: skip
    order, tail = tuple(random.sample(range(rank), rank)), random.choice((1,) * 9 + (5, 32))
    return Tiled(order, tuple(tiles), tail)


def tiled(random: Random, named: bool) -> tuple[Drawn, Drawn]:
    """Two tiled layouts, often nearly the same."""
    rank = random.choice((1, 2, 2, 3) if named else (1, 2, 2, 3, 1, 2, 2, 3, 0))
    shape, one = shape_of(random, rank, named), tiled_of(random, rank)
    if rank and random.random() < 0.03:
        shape = (*shape[:-1], 0)
    if named and random.random() < 0.1:
        one = Tiled(one.order, (("S", *(random.choice(TILES) for _ in range(rank - 1))),))
    return one.drawn(shape), changed(random, one, rank).drawn(shape)


def changed(random: Random, layout: Tiled, rank: int) -> Tiled:
    """Return a layout that differs in a tile or in the order, or has nothing to do with it."""
    kind = random.choice(("any", "order", "size", "size", "size", "less", "more", "lead"))
    if kind == "any" or not layout.tiles:
        return tiled_of(random, rank)
    tiles = [list(tile) for tile in layout.tiles]
    tile = random.choice(tiles)
    if kind == "size":
        tile[random.randrange(len(tile))] = random.choice(TILES)
    elif kind == "lead":
        tile.insert(0, random.choice((1, STAR)))
    elif kind == "less":
        tiles.remove(tile)
    elif kind == "more":
        tiles.append([random.choice(TILES) for _ in range(random.randint(1, rank))])
    order = tuple(random.sample(range(rank), rank)) if kind == "order" else layout.order
    return Tiled(order, tuple(map(tuple, tiles)), layout.tail)


def linear(random: Random, named: bool) -> tuple[Drawn, Drawn]:
    """Strides that may overlap, repeat, leave gaps, fall or have a name, in four notations."""
    rank = random.choice((1, 2, 2, 3))
    shape = shape_of(random, rank, named)
    strides: list[Any] = [random.choice((0, 1, 1, 2, 3, 4, 5, 8, 16, 24)) for _ in shape]
    if random.random() < 0.5:  # row-major, or nearly so
        step: int = 1
        for k in reversed(range(rank)):
            strides[k] = step
            n = shape[k] if isinstance(shape[k], int) else random.choice(SIZES)
            step *= n + random.choice((0, 0, 0, 1, 2))
    if named and random.random() < 0.6:
        strides[random.randrange(rank)] = random.choice((*names_of(shape), *PITCHES))
    start = random.choice((0, 0, 0, 1, 3, 8))
    if not named and random.random() < 0.3:
        k = random.randrange(rank)
        start += (shape[k] - 1) * strides[k]
        strides[k] *= -1
    other, moved = [*strides], start
    if random.random() < 0.5:
        other[random.randrange(rank)] = random.choice((1, 2, 3, 4, 8))
        moved = max(start, 64 if any(isinstance(s, int) and s < 0 for s in other) else 0)
    return _linear(random, shape, strides, start), _linear(random, shape, other, moved)


def _linear(random: Random, shape: Any, strides: Sequence[Any], start: int) -> Drawn:
    def places(sizes: Sizes) -> tuple[Places, int]:
        there = at(shape, sizes)
        steps = zip(np.indices(there, sparse=True), at(strides, sizes), strict=True)
        offsets = flat(start + sum(x * s for x, s in steps), there)
        return offsets, int(offsets.max()) + 1

    names, numbers = names_of(shape, strides), ", ".join(map(str, strides))
    dims = [f"d{k}" for k in range(len(shape))]
    terms = " + ".join([f"{d}*{s}" for d, s in zip(dims, strides, strict=True)] + [str(start)])
    kind = random.choice(("strided", "strided", "cute", "affine_map", "formula"))
    falls = any(isinstance(s, int) and s < 0 for s in strides)
    source: Any = f"strided<[{numbers}]{f', offset: {start}' if start else ''}>"
    if kind == "cute" and not start and not falls:
        source = f"({','.join(map(str, shape))}):({','.join(map(str, strides))})"
    elif kind == "affine_map" and not names_of(strides):
        source = f"affine_map<({', '.join(dims)}) -> ({terms})>"
    elif kind == "formula" and not set(names) - {*names_of(shape)}:
        own = [f"({shape[k]} - 1)*({s})" for k, s in enumerate(strides) if str(s)[0] != "-"]
        size = " + ".join([*own, str(start + 1)])
        if not falls:
            source = ({"shape": shape, "size": size}, terms)
    return Drawn(source, shape, places, names)


def nested(random: Random, named: bool) -> tuple[Drawn, Drawn]:
    """CuTe's nested modes, with and without a swizzle."""
    modes = [
        [(random.choice((2, 3, 4)), random.choice((1, 2, 4, 6, 8, 12))) for _ in range(n)]
        for n in (random.choice((1, 2)) for _ in range(random.choice((1, 2))))
    ]
    shape: tuple[Any, ...] = tuple(prod(n for n, _ in mode) for mode in modes)
    swizzle = None if named else random.choice((None, (1, 0, 1), (2, 0, 2), (1, 1, 2), (2, 1, 3)))
    if named:
        modes[-1], shape = [("M", modes[-1][0][1])], (*shape[:-1], "M")

    def places(sizes: Sizes) -> tuple[Places, int | None]:
        there = at(shape, sizes)
        offsets: Any = 0
        for x, mode in zip(np.indices(there, sparse=True), modes, strict=True):
            rest = x
            for n, stride in mode[:-1]:
                offsets, rest = offsets + rest % n * stride, rest // n
            offsets = offsets + rest * mode[-1][1]
        if swizzle is None:
            found = flat(offsets, there)
            return found, int(found.max()) + 1
        bits, base, shift = swizzle
        mask = (1 << bits) - 1 << base
        return flat(offsets ^ (offsets >> shift & mask), there), None

    def tree(k: int) -> str:
        parts = [
            str(mode[0][k]) if len(mode) == 1 else f"({','.join(str(m[k]) for m in mode)})"
            for mode in modes
        ]
        return f"({','.join(parts)})"

    text = f"{tree(0)}:{tree(1)}"
    if swizzle is not None:
        text = f"Sw<{','.join(map(str, swizzle))}> o 0 o {text}"
    found = Drawn(text, shape, places, names_of(shape))
    return found, found


class Blocked(NamedTuple):
    """Dimensions cut into blocks: the order of what is left, major first, and the inner blocks."""

    order: tuple[int, ...]
    blocks: tuple[tuple[int, int], ...]

    def offsets(self, shape: tuple[int, ...]) -> tuple[Places, int]:
        rest: list[Any] = [*np.indices(shape, sparse=True)]
        outer, offsets, step = [*shape], np.int64(0), 1
        for dim, n in reversed(self.blocks):
            offsets, rest[dim] = offsets + rest[dim] % n * step, rest[dim] // n
            outer[dim], step = -(-outer[dim] // n), step * n
        for dim in reversed(self.order):
            offsets, step = offsets + rest[dim] * step, step * outer[dim]
        return flat(offsets, shape), step

    def drawn(self, random: Random, shape: tuple[Any, ...]) -> Drawn:
        """Return the layout in a notation that can say it."""
        every = {"onednn": self.onednn(), "tiles": self.pack(), "morello": self.morello()}
        if len(shape) == 4 and self.order == (0, 1, 2, 3) and [d for d, _ in self.blocks] == [1]:
            every["tvm"] = f"NCHW{self.blocks[0][1]}c"
        wide = {d: prod(n for e, n in self.blocks if e == d) for d in self.order}
        whole = all(n % wide[d] == 0 for d, n in enumerate(shape) if isinstance(n, int))
        kinds = [k for k, text in every.items() if text and (whole or k != "morello")]
        kind = random.choice(kinds)
        multiples = {str(n): wide[d] for d, n in enumerate(shape) if isinstance(n, str)}

        def places(sizes: Sizes) -> tuple[Places, int]:
            return self.offsets(at(shape, sizes))

        names = names_of(shape)
        return Drawn(every[kind], shape, places, names, multiples if kind == "morello" else {})

    def onednn(self) -> str | None:
        if any(n < 2 for _, n in self.blocks):
            return None
        cut = {d for d, _ in self.blocks}
        letters = ("ABCD"[d] if d in cut else "abcd"[d] for d in self.order)
        return "".join(letters) + "".join(f"{n}{'abcd'[d]}" for d, n in self.blocks)

    def pack(self) -> str | None:
        dims = [d for d, _ in self.blocks]
        if len({*dims}) < len(dims) or not dims:
            return None
        sizes = [n for _, n in self.blocks]
        order = f"outer_dims_perm = {[*self.order]} "
        return f"{order}inner_dims_pos = {dims} inner_tiles = {sizes}"

    def morello(self) -> str:
        parts = [*map(str, self.order), *(f"{d} p({n})" for d, n in self.blocks)]
        return f"[{', '.join(parts)}]"


def blocked(random: Random, named: bool) -> tuple[Drawn, Drawn]:
    """Two blocked layouts, half of the time the same one in two notations."""
    rank = random.choice((2, 3, 4))
    shape = tuple(n if isinstance(n, str) else min(n, 8) for n in shape_of(random, rank, named))

    def one() -> Blocked:
        count = random.choice((0, 1, 1, 2))
        blocks = [(random.randrange(rank), random.choice((2, 4, 4, 8, 3))) for _ in range(count)]
        is_plain = random.random() < 0.5
        order = tuple(range(rank)) if is_plain else tuple(random.sample(range(rank), rank))
        return Blocked(order, tuple(blocks))

    first = one()
    second = first if random.random() < 0.5 else one()
    return first.drawn(random, shape), second.drawn(random, shape)


def packed(random: Random, named: bool) -> tuple[Drawn, Drawn]:
    """Two of Morello's layouts in another order: packs, even places before odd ones, any depth."""
    rank = random.choice((1, 2, 2, 3))
    columns = [
        [("", 0), *((random.choice(("p", "oe")), 0) for _ in range(random.randint(0, 2)))]
        for _ in range(rank)
    ]
    columns = [
        [(kind, random.choice({"": (0,), "p": (2, 3, 4, 5), "oe": (2, 4, 6)}[kind]))
         for kind, _ in column] for column in columns
    ]  # fmt: skip
    wide = [prod(n for _, n in column if n) for column in columns]
    shape = tuple(n * random.choice((1, 2, 3)) for n in wide)
    if named:
        k = random.randrange(rank)
        shape = (*shape[:k], "M", *shape[k + 1 :])

    def one() -> Drawn:
        owners = [d for d, column in enumerate(columns) for _ in column]
        left = [iter(column) for column in columns]
        dims = [(d, *next(left[d])) for d in random.sample(owners, len(owners))]
        words = (f"{d} {kind}({n})" if kind else str(d) for d, kind, n in dims)

        def places(sizes: Sizes) -> tuple[Places, int]:
            there = at(shape, sizes)
            rest: list[Any] = [*np.indices(there, sparse=True)]
            room, offsets, step = [*there], np.int64(0), 1
            for d, kind, given in reversed(dims):
                n = given or room[d]
                digit = rest[d] % n
                if kind == "oe":
                    digit = digit % 2 * (n // 2) + digit // 2
                offsets, rest[d] = offsets + digit * step, rest[d] // n
                room[d], step = room[d] // n, step * n
            return flat(offsets, there), step

        multiples = {n: w for n, w in zip(shape, wide, strict=True) if isinstance(n, str)}
        return Drawn(f"[{', '.join(words)}]", shape, places, names_of(shape), multiples)

    return one(), one()


def named_format(random: Random, named: bool) -> tuple[Drawn, Drawn]:
    """Arm's NHCWB16 and the scales of block-scaled matrices, odd sizes too."""
    if random.random() < 0.5:
        shape: tuple[Any, ...] = (
            "N" if named else random.choice((1, 2)),
            *(random.choice((1, 2, 3, 5)) for _ in range(2)),
            random.choice((7, 16, 20)),
        )
        form, text = Blocked((0, 1, 3, 2), ((3, 16),)), "NHCWB16"
        found = Drawn(text, shape, lambda s: form.offsets(at(shape, s)), names_of(shape))
        return found, found
    shape = ("M" if named else random.choice((5, 40, 130)), random.choice((3, 4, 7)))

    def places(sizes: Sizes) -> tuple[Places, int]:
        rows, columns = at(shape, sizes)
        m, k = np.indices((rows, columns), sparse=True)
        across = -(-columns // 4)
        inside = m % 32 * 16 + m // 32 % 4 * 4 + k % 4
        return flat((m // 128 * across + k // 4) * 512 + inside, (rows, columns)), (
            -(-rows // 128) * across * 512
        )

    found = Drawn("mx128x4", shape, places, names_of(shape))
    return found, found


def einops(random: Random, named: bool) -> tuple[Drawn, Drawn]:
    """Axes cut, permuted and joined as einops writes it."""
    rank = random.choice((1, 2, 3))
    shape: list[Any] = []
    left, atoms, given, multiples = [], [], [], {}
    for k in range(rank):
        n = random.choice(SIZES[:6])
        if random.random() < 0.5:
            p = random.choice((2, 3, 4))
            left.append(f"({'abc'[k]} {'xyz'[k]})")
            atoms += [(k, "abc"[k], p, True), (k, "xyz"[k], p, False)]
            given.append(f"{'xyz'[k]}={p}")
            n *= p
        else:
            left.append("abc"[k])
            atoms.append((k, "abc"[k], 1, True))
        shape.append(n)
    if named:
        k = random.randrange(rank)
        shape[k] = "M"
        multiples["M"] = max(p for dim, _, p, _ in atoms if dim == k)

    def one() -> Drawn:
        order = random.sample(atoms, len(atoms))
        right = " ".join(name for _, name, _, _ in order)
        text = ", ".join([f"{' '.join(left)} -> {right}", *given])

        def places(sizes: Sizes) -> tuple[Places, int]:
            there = at(shape, sizes)
            x, offsets, step = np.indices(there, sparse=True), np.zeros((), np.int64), 1
            for dim, _, p, is_high in reversed(order):
                offsets = offsets + (x[dim] // p if is_high else x[dim] % p) * step
                step *= there[dim] // p if is_high else p
            return flat(offsets, there), prod(there)

        return Drawn(text, tuple(shape), places, names_of(shape), multiples)

    return one(), one()


def bits(random: Random, _: bool) -> tuple[Drawn, Drawn]:
    """Triton's bases: places whose bits are exclusive ors of coordinates, replicas among them."""
    counts = (random.randint(1, 3), random.randint(1, 3))
    shape = (1 << counts[0], 1 << counts[1])
    vectors = [(1 << k, 0) for k in range(counts[0])] + [(0, 1 << k) for k in range(counts[1])]
    random.shuffle(vectors)
    for _times in range(random.randint(0, 3)):  # keeps them independent
        i, j = random.sample(range(len(vectors)), 2)
        vectors[i] = (vectors[i][0] ^ vectors[j][0], vectors[i][1] ^ vectors[j][1])
    replicas = random.choice((0, 0, 1))
    for _times in range(replicas):
        vectors.insert(random.randint(0, len(vectors)), (0, 0))
    in_registers = bool(replicas) or random.random() < 0.5
    cut = random.randint(0, len(vectors)) if in_registers else len(vectors)
    low, high = ([[*v] for v in part] for part in (vectors[:cut], vectors[cut:]))
    text = f"#ttg.shared_linear<{{offset = {low}}}>"
    if in_registers:
        text = f"#ttg.linear<{{register = {low}, lane = {high}, warp = [], block = []}}>"

    def places(_sizes: Sizes) -> tuple[Places, int]:
        slots = np.arange(1 << len(vectors))
        there = [np.zeros_like(slots), np.zeros_like(slots)]
        for bit, vector in enumerate(vectors):
            for k in (0, 1):
                there[k] ^= (slots >> bit & 1) * vector[k]
        order = np.argsort(there[0] * shape[1] + there[1], kind="stable")
        return order.reshape(prod(shape), -1), len(slots)

    found = Drawn(text, shape, places, (), of_devices=in_registers)
    return found, found


def sharded(random: Random, named: bool) -> tuple[Drawn, Drawn]:
    """A mesh of devices: parts of one dimension or two, and replicas along what is not named."""
    mesh = {"x": random.choice((1, 2, 3)), "y": random.choice((1, 2, 4))}
    rank = random.choice((1, 2, 2))
    shape = shape_of(random, rank, named)
    spec: list[str | None] = [*random.sample(("x", "y", None), rank)]
    words = ", ".join("None" if axis is None else f"'{axis}'" for axis in spec)
    text = f"f32[{','.join(map(str, shape))}], mesh={mesh}, spec=P({words})"

    def places(sizes: Sizes) -> tuple[Places, int]:
        there = at(shape, sizes)
        parts = [mesh[axis] if axis else 1 for axis in spec]
        local = [-(-n // part) for n, part in zip(there, parts, strict=True)]
        x = np.indices(there, sparse=True)
        inside: Any = 0
        for k in range(rank):
            inside = inside * local[k] + x[k] % local[k]
        at_part = {axis: x[k] // local[k] for k, axis in enumerate(spec) if axis}
        free = {axis: 1 if axis in at_part else n for axis, n in mesh.items()}
        columns = [
            flat((at_part.get("x", i) * mesh["y"] + at_part.get("y", j)) * prod(local) + inside,
                 there)
            for i in range(free["x"]) for j in range(free["y"])
        ]  # fmt: skip
        return np.concatenate(columns, axis=1), prod(mesh.values()) * prod(local)

    found = Drawn(text, shape, places, names_of(shape), of_devices=True)
    return found, found


BOXES = ((4, 2), (8, 4), (3, 5))


def boxes(random: Random, named: bool) -> tuple[Drawn, Drawn]:
    """Python functions and affine maps from coordinates to a box of coordinates."""
    (p, q), shape = random.choice(BOXES), shape_of(random, 2, named)
    shape = tuple(n if isinstance(n, str) else max(n, p, q) for n in shape)
    form = Blocked(random.choice(((0, 1), (1, 0))), random.choice((((0, p),), ((1, q), (0, p)))))
    cut = dict(form.blocks)
    floor, mod = ("//", "%") if random.random() < 0.5 else ("floordiv", "mod")
    outer = [f"d{d} {floor} {cut[d]}" if d in cut else f"d{d}" for d in form.order]
    results = ", ".join([*outer, *(f"d{d} {mod} {n}" for d, n in form.blocks)])
    text = (
        f"lambda d0, d1: ({results})" if floor == "//" else f"affine_map<(d0, d1) -> ({results})>"
    )
    found = Drawn(text, shape, lambda s: form.offsets(at(shape, s)), names_of(shape))
    return found, found


def atom(random: Random, rank: int, rich: bool) -> str:
    """Return a term of a formula without its factor."""
    d, n = f"d{random.randrange(rank)}", random.choice((2, 3, 4, 8))
    plain = (d, d, d, f"({d}//{n})", f"({d}%{n})", f"(({d} + d0)//{n})", f"(({d}%{2 * n})//{n})")
    e = f"d{random.randrange(rank)}"
    others = (f"({d} ^ {n})", f"({d} & {n - 1})", f"({d} | {n})", f"({d} ^ ({e} % {n}))",
              f"(({n} - {d})//{n})", f"(({d} - {e})//{n})", f"({d}//-{n})",
              f"(({d} & {n}) ^ {e})", f"(({d} + {e}) % {n})", f"(({d} ^ {e})//2)")  # fmt: skip
    return random.choice(others if rich and random.random() < 0.4 else plain)


def formula_text(random: Random, rank: int, factors: Sequence[str], rich: bool = True) -> str:
    terms = [
        f"{random.choice(factors)}*{atom(random, rank, rich)}" for _ in range(random.randint(1, 4))
    ]
    return " + ".join(terms)


def values(text: str, shape: tuple[int, ...], sizes: Sizes) -> Any:
    names = {f"d{k}": x for k, x in enumerate(np.indices(shape))} | dict(sizes)
    return eval(text, {}, names)  # what this module wrote itself


def formulas(random: Random, named: bool) -> tuple[Drawn, Drawn]:
    """User formulas over names of sizes and pitches, with bits, and how often nearly the same."""
    rank = random.choice((1, 2, 2, 3))
    shape = shape_of(random, rank, named)
    own = names_of(shape)
    factors = ("1", "1", "2", "3", "4", "8", "12", "24", *own, *(f"2*{name}" for name in own))
    if named and random.random() < 0.3:
        factors = (*factors, *PITCHES)
    text = formula_text(random, rank, factors)
    if random.random() < 0.4:
        strides, step = [], "1"
        for n in reversed(shape):
            strides.append(step)
            step = f"{n}*{step}"
        whole = [f"{s}*d{k}" for k, s in enumerate(reversed(strides))]
        if random.random() < 0.5:
            whole[-1] = atom(random, rank, True)
        text = " + ".join(whole)
    full = "*".join(map(str, shape))
    size = random.choice((full, full, full, f"2*{full}", f"{full} + 1", str(shape[0])))
    other = text
    if random.random() < 0.7:
        other = f"{text} + {atom(random, rank, True)} - {atom(random, rank, True)}"

    def drawn(form: str) -> Drawn:
        names = names_of(shape, [p for p in PITCHES if p in form])

        def places(sizes: Sizes) -> tuple[Places, int]:
            there = at(shape, sizes)
            return flat(values(form, there, sizes), there), eval(size, {}, dict(sizes))

        return Drawn(({"shape": shape, "size": size}, form), shape, places, names)

    return drawn(text), drawn(other)


FAMILIES: dict[Callable[[Random, bool], tuple[Drawn, Drawn]], int] = {
    tiled: 4, linear: 6, nested: 1, blocked: 3, packed: 1, named_format: 1, einops: 2, bits: 3,
    sharded: 3, boxes: 1, formulas: 6,
}  # fmt: skip
"""The families and how often they are drawn."""
WITHOUT_NAMES = (bits,)
