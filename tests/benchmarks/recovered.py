"""How many layouts ``recover`` finds: ``python tests/benchmarks/recovered.py [PART ...]``.

Each part gives recover the offsets alone, and compares what it finds with the layout that they are
of. Offsets are those that the systems themselves recorded, in ``tests/data``, where there are some;
a random layout's are those of its text. Parts: onednn, tpu, triton, atoms, packers, xla, tables,
sizes, million.
"""

from __future__ import annotations

import gzip
import json
import lzma
import random
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import morello_layouts as ml
from morello_layouts.outputs.recover import observed
from morello_layouts.outputs.recover.layouts import has_offsets

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.support.packers import PACKERS, q4_k_scales

DATA = Path(__file__).parents[1] / "data"


def table(layout: Any, shape: Any = None) -> Any:
    """The offset of each element."""
    m = ml.index_map(layout, None if getattr(layout, "sizes", None) is not None else shape)
    return m(*np.indices(m.shape)), m.size


def has(layout: Any, shape: tuple[int, ...], offsets: Any) -> bool:
    """Whether a layout has these offsets; one of other sizes has not."""
    try:
        found, _ = table(layout, shape)
    except ml.LayoutError:
        return False
    return np.array_equal(found, offsets)


def larger(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Three shapes that recover does not see."""
    return [tuple(2 * n + 1 for n in shape), tuple(3 * n + 5 for n in shape),
            tuple(n + 17 for n in shape)]  # fmt: skip


def onednn() -> Iterator[tuple[str, bool, str]]:
    """Tags, of tables of their own text: the tag is among the texts, or the offsets are right."""
    lines = (DATA / "onednn_tags.tsv").read_text().splitlines()[1:]
    rows = [line.split("\t") for line in lines]
    for tag, dims, *_ in random.Random(1).sample(rows, 400):
        shape = tuple(map(int, dims.split(",")))
        offsets, size = table(tag, shape)
        found = ml.recover(offsets, size=size)
        yield tag, has(found.layouts[0], shape, offsets), verdict(found, tag, shape)


def tpu() -> Iterator[tuple[str, bool, str]]:
    """Buffers of the TPU compiler: the order of elements in memory, -1 for padding."""
    with gzip.open(DATA / "tpu_element_order.jsonl.gz", "rt") as lines:
        for row in map(json.loads, lines):
            text, order = row["shape"], np.array(row["order"])
            shape = ml.index_map(text).shape
            offsets = np.empty(np.prod(shape, dtype=int), int)
            offsets[order[order >= 0]] = np.flatnonzero(order >= 0)
            offsets = offsets.reshape(shape)
            found = ml.recover(offsets, size=len(order))
            own = ml.XlaLayout if not hasattr(ml.parse(text), "layout") else ml.parse(text).layout
            yield text, has(found.layouts[0], shape, offsets), verdict(found, own, shape)


def triton() -> Iterator[tuple[str, bool, str]]:
    """Encodings of shared memory, by the bases that Triton has for them."""
    with lzma.open(DATA / "triton_encodings.jsonl.xz", "rt") as lines:
        rows = [row for row in map(json.loads, lines) if row["text"].startswith("!ttg.memdesc")]
    for row in random.Random(2).sample(rows, min(len(rows), 120)):
        bases = row["bases"]
        if set(bases) - {"offset"} or not bases.get("offset"):
            continue
        shape = ml.index_map(row["text"]).shape
        offsets = np.zeros(shape, int)
        for k in range(1 << len(bases["offset"])):
            at = np.zeros(len(shape), int)
            for bit, basis in enumerate(bases["offset"]):
                at ^= np.array(basis) * (k >> bit & 1)
            offsets[tuple(at)] = k
        found = ml.recover(offsets)
        yield row["text"], has(found.layouts[0], shape, offsets), verdict(found, row["text"], shape)


def atoms() -> Iterator[tuple[str, bool, str]]:
    """Swizzle atoms of CUTLASS, by the offsets that its own code printed."""
    with lzma.open(DATA / "cute_atoms.tsv.xz", "rt") as lines:
        for kind, name, _, text, numbers in (line.rstrip("\n").split("\t")[:5] for line in lines):
            if kind != "smem":
                continue
            text = text.replace("_", "")  # noqa: PLW2901
            shape = ml.index_map(text).shape
            first = np.array([int(x) for x in numbers.split()])
            offsets, _ = table(text)
            flat = offsets.reshape(-1, order="F")
            assert np.array_equal(flat[: len(first)], first), name
            found = ml.recover(offsets)
            yield name, has(found.layouts[0], shape, offsets), verdict(found, text, shape)


def packers() -> Iterator[tuple[str, bool, str]]:
    """Packers of public kernels, recovered at two shapes: they pack three others as it says."""
    for name, packer in PACKERS.items():
        found = ml.recover(packer.pack, packer.seen)
        fit = all(has_offsets(found.layouts[0], observed(packer.pack, each))
                  for each in packer.unseen)  # fmt: skip
        bits = f", {found.given[0].bits} bits" if found.given[0].bits else ""
        yield f"{name}: {found.layouts[0]}{bits}", fit, "all sizes" if fit else "sizes differ"
    boxes = ml.recover(q4_k_scales, (2, 8)).boxes
    bits = {box.offset + sum(x * y for x, y in zip(at, box.strides, strict=True))
            for box in boxes for at in np.ndindex(*box.shape)}  # fmt: skip
    fit = bits == {*range(96)}
    yield "GGUF q4_K, scales: " + "; ".join(map(str, boxes)), fit, f"{len(boxes)} boxes"


def million() -> Iterator[tuple[str, bool, str]]:
    """A million elements: within a second, and five times the table's memory."""
    wrong = table("{1,0:T(8,128)}", (1000, 1000))[0]
    wrong[400, 7] += 1
    shuffled = np.random.default_rng(0).permutation(10**6)
    for name, offsets in {
        "tiles": table("{1,0:T(8,128)(2,1)}", (1000, 1000))[0],
        "swizzle": table("Sw<3,3,3> o 0 o (1024,1024):(1024,1)")[0],
        "one wrong": wrong,
        "shuffled": shuffled.reshape(1000, 1000),
        "shuffled line": shuffled,
        "random": np.random.default_rng(1).integers(0, 10**9, (100, 100, 100)),
    }.items():
        start = process_time()
        with suppress(ml.LayoutError):
            ml.recover(offsets)
        seconds = process_time() - start
        tracemalloc.start()
        with suppress(ml.LayoutError):
            ml.recover(offsets)
        memory = tracemalloc.get_traced_memory()[1] / offsets.nbytes
        tracemalloc.stop()
        yield f"{name}: {seconds:.2f} s, {memory:.1f} tables", seconds < 1 and memory < 5, "in time"


def random_tiling(rng: random.Random, *, ones: bool) -> tuple[str, tuple[int, ...]]:
    """An XLA tiling: any order, one or two tiles of one to three sizes, a size of 1 on demand."""
    rank = rng.randint(1 + ones, 4)
    shape = [rng.choice([*range(2, 20), 24, 32, 33, 40]) for _ in range(rank)]
    if ones:
        shape[rng.randrange(rank)] = 1
    order = rng.sample(range(rank), rank)
    first = [rng.choice([1, 2, 3, 4, 8, 16]) for _ in range(rng.randint(1, min(rank, 3)))]
    tiles = [first]
    if rng.random() < 0.4:
        tiles.append([rng.choice([t for t in (1, 2, 4, 8) if n % t == 0]) for n in first])
    text = f"{{{','.join(map(str, order))}:"
    text += "T" + "".join(f"({','.join(map(str, tile))})" for tile in tiles)
    return text + "}", tuple(shape)


def xla() -> Iterator[tuple[str, bool, str]]:
    """Random tilings, with and without a dimension of size 1."""
    rng = random.Random(3)
    for k in range(600):
        text, shape = random_tiling(rng, ones=k % 3 == 2)
        offsets, size = table(text, shape)
        for known in (size, None):
            found = ml.recover(offsets, size=known)
            name = f"{text} {shape} size={known}"
            yield name, has(found.layouts[0], shape, offsets), verdict(found, text, shape)


TEXTS = ("{1,0:T(8,128)(2,1)}", "{0,1:T(4,2)}", "[1, 0, 1 p(4)]", "[0, 1, 0 oe(8)]", "BA4a8b2a",
         "aB16b", "lambda i, j: (i%4, j, i//4)", "lambda i, j: (i//2, j%3, j//3, i%2)", "mx128x4",
         "outer_dims_perm = [1, 0] inner_dims_pos = [0] inner_tiles = [3]", "(8,4):(40,1)",
         "strided<[0,1]>", "strided<[-40,1], offset: 2000>", "strided<[57,1], offset: 3>",
         "Sw<2,3,3> o 0 o (16,64):(64,1)", "Sw<3,3,3> o 0 o (10,50):(50,1)", "morton")  # fmt: skip


def tables() -> Iterator[tuple[str, bool, str]]:
    """Tables of layouts and of none, in turn: what is found has the offsets, and is in time."""
    rng, numbers = random.Random(4), np.random.default_rng(4)
    for k in range(COUNT["tables"]):
        text = rng.choice(TEXTS)
        shape = tuple(rng.choice([1, 2, 3, 4, 7, 8, 16, 17, 30, 32]) for _ in range(2))
        with suppress(ml.LayoutError):
            offsets = table(text, None if ":(" in text else shape)[0].copy()
            how = "a layout's" if k % 3 else rng.choice(("few wrong", "shuffled", "random", "cut"))
            flat = offsets.reshape(-1)
            if how == "few wrong":
                at = numbers.integers(0, flat.size, rng.randint(1, 4))
                flat[at] = numbers.integers(0, 5000, len(at))
            elif how == "shuffled":
                numbers.shuffle(flat)
            elif how == "random":
                flat[:] = numbers.integers(0, rng.choice((2, 50, 10**9)), flat.size)
            elif how == "cut":
                flat[flat.size // 2 :] += rng.randint(1, 9)
            try:
                found = ml.recover(offsets)
            except ml.LayoutError:
                yield f"{how} {text} {shape}", True, f"{how}: refused"
                continue
            fit = all(has(layout, offsets.shape, offsets) for layout in found.layouts)
            yield f"{how} {text} {shape}", fit, f"{how}: found"


def sizes() -> Iterator[tuple[str, bool, str]]:
    """Packers at two shapes: the best layout packs arrays of three other shapes alike.

    The two shapes have more elements than a tile, and not whole tiles, along each dimension. While
    the answer names an element of a larger array that would decide, it is asked there too.
    """
    rng = random.Random(6)
    for _ in range(COUNT["sizes"]):
        text, _ = random_tiling(rng, ones=False)
        rank = text.partition(":")[0].count(",") + 1
        tile = [int(n) for n in text.partition("(")[2].partition(")")[0].split(",")]
        order = [int(n) for n in text[1 : text.index(":")].split(",")]
        least = dict(zip(order, reversed(tile), strict=False))
        shapes = [tuple(rng.randint(least.get(k, 1) + 1, 2 * least.get(k, 1) + 3)
                        for k in range(rank)) for _ in "12"]  # fmt: skip

        def pack(array: Any, text: str = text) -> Any:
            return ml.pack(text, array)

        given = [*shapes]
        found = ml.recover(pack, given)
        while found.deciders and len(given) < 4:
            given.append(found.deciders[0].shape)
            found = ml.recover(pack, given)
        best = found.layouts[0]
        fit = all(np.array_equal(at_random(text, each), at_random(best, each)) for each in shapes)
        how = f"all sizes, of {len(given)} shapes" if fit else "other sizes differ"
        yield f"{text} {given} {best}", fit, how


COUNT = {"tables": 10_000, "sizes": 1_000}


def verdict(found: Any, text: Any, shape: tuple[int, ...]) -> str:
    """How the text that was lost is found again: as the best, as another one, or not."""
    try:
        truth = at_random(text, shape)
    except ml.LayoutError:
        return "best"  # a text of one shape
    for k, layout in enumerate(found.layouts):
        try:
            if np.array_equal(at_random(layout, shape), truth):
                return "best" if k == 0 else "listed"
        except ml.LayoutError:  # a layout of this shape alone
            continue
    return "not listed"


def at_random(layout: Any, shape: tuple[int, ...]) -> Any:
    """The offsets of some elements of larger arrays, the last one among them."""
    found = []
    for each in larger(shape):
        at = [np.append(np.random.default_rng(k).integers(0, n, 500), n - 1)
              for k, n in enumerate(each)]  # fmt: skip
        found.append(ml.index_map(layout, each)(*at))
    return np.array(found)


PARTS: dict[str, Callable[[], Iterator[tuple[str, bool, str]]]] = {
    each.__name__: each
    for each in (onednn, tpu, triton, atoms, packers, xla, tables, sizes, million)
}


def main(names: list[str], *, verbose: bool = False) -> None:
    """Print the counts of each part, and what is not found."""
    for name in names or PARTS:
        counts, fits, start = Counter[str](), 0, process_time()
        rows = PARTS[name]()
        while True:
            try:
                text, fit, how = next(rows)
            except StopIteration:
                break
            counts[how] += 1
            fits += fit
            is_lost = how in ("not listed", "other sizes differ") or not fit
            if name in ("packers", "million") or (verbose and is_lost):
                print("   ", how, text)
        total = sum(counts.values())
        print(f"{name}: {fits} of {total} fit; at larger shapes {dict(counts)}; "
              f"{(process_time() - start) * 1e3 / max(total, 1):.0f} ms each")  # fmt: skip


if __name__ == "__main__":
    main([x for x in sys.argv[1:] if x != "-v"], verbose="-v" in sys.argv)
