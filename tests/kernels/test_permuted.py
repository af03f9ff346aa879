"""Tiles that registers permute, and swizzles in blocks: random layouts, each kind of vectors."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.outputs.kernels import Kernel
from morello_layouts.outputs.kernels.emit_c import CFile, c_file
from morello_layouts.outputs.kernels.nests import Permutation
from morello_layouts.outputs.kernels.plan import plan_kernel
from tests.support.kernel_runs import QUICK, library_of, need, run_at

# Vectors of 64 bytes, of 32, of 16 with and without a shuffle of bytes, and none.
FLAGS = {
    "native": ("-march=native",),
    "avx512bw": ("-march=skylake-avx512",),
    "avx2": ("-march=haswell",),
    "ssse3": ("-march=x86-64-v2",),
    "sse2": ("-march=x86-64",),
    "none": ("-march=x86-64", "-DRELAYOUT_VECTOR=0"),
}
# These run on any x86-64 processor.
PLAIN = ("sse2", "none")

Pair = tuple[ml.IndexMap, ml.IndexMap]


def _bits(random: Random, shape: tuple[int, int]) -> ml.IndexMap:
    """All bits of both coordinates in a random order: Z-order is one."""
    bits = [(dim, k) for dim, n in enumerate(shape) for k in range(n.bit_length() - 1)]
    if random.random() < 0.5:
        bits.sort(key=lambda bit: (bit[1], bit[0]))
    else:
        random.shuffle(bits)
    strides = {bit: str(1 << k) for k, bit in enumerate(bits)}
    modes = [[strides[bit] for bit in sorted(strides) if bit[0] == dim] for dim in (0, 1)]
    sizes = ",".join(f"({','.join('2' * len(mode))})" for mode in modes)
    steps = ",".join("(" + ",".join(mode) + ")" for mode in modes)
    return ml.index_map(f"({sizes}):({steps})", shape)


def _grown(random: Random, shape: tuple[int, ...]) -> ml.IndexMap:
    """A tile of up to four times the array's size, cut again within."""
    order = random.sample(range(len(shape)), len(shape))
    sizes = [shape[dim] * random.choice((1, 1, 2, 4)) for dim in reversed(order)]
    inner = [random.choice([x for x in (1, 2, 4) if n % x == 0]) for n in sizes]
    tiles = "".join(f"({','.join(map(str, each))})" for each in (sizes, inner))
    return ml.index_map(f"{{{','.join(map(str, order))}:T{tiles}}}", shape)


def _tiled(random: Random, shape: tuple[int, ...]) -> ml.IndexMap:
    order = random.sample(range(len(shape)), len(shape))
    tiles = "".join(
        f"({','.join(str(random.choice((1, 2, 3, 4, 8, 16))) for _ in shape)})" for _ in range(2)
    )
    text = f"{{{','.join(map(str, order))}:T{tiles}}}" if random.random() < 0.7 else str(order)
    return ml.index_map(text, shape)


def _swizzled(random: Random, shape: tuple[int, int]) -> ml.IndexMap:
    rows, columns = shape
    numbers = random.randint(1, 3), random.randint(0, 4), random.randint(1, 4)
    bits, base, shift = numbers[0], numbers[1], max(numbers[0], numbers[2])
    strides = random.choice((f"({columns},1)", f"(1,{rows})"))
    return ml.index_map(f"Sw<{bits},{base},{shift}> o 0 o ({rows},{columns}):{strides}", shape)


def _view(random: Random, shape: tuple[int, int]) -> Pair:
    steps = [random.choice((-3, -2, -1, 1, 2, 3, 5)) for _ in shape]
    parts = tuple(slice(None, None, step) for step in steps)
    source = _tiled(random, shape) if random.random() < 0.3 else ml.index_map("[0, 1]", shape)
    view = source.view()[parts]
    return view, ml.index_map(random.choice(("[0, 1]", "[1, 0]")), view.shape)


def _again(random: Random, shape: tuple[int, int]) -> Pair:
    formula = random.choice(("d0", "d1", "d0 + d1", "d1//2", "d0*2 + d1//8"))
    source = ml.index_map(ml.from_sympy({"shape": shape}, formula))
    return source, ml.index_map(random.choice(("[0, 1]", "[1, 0]")), shape)


def _pair(random: Random) -> Pair:
    kind = random.choice(("bits", "tiled", "swizzled", "view", "again", "weights", "grown"))
    shape = random.choice((8, 16, 32, 64, 128)), random.choice((16, 32, 64, 128))
    ragged = random.randint(1, 90), random.randint(1, 150)
    if kind in ("view", "again"):
        make = _view if kind == "view" else _again
        return make(random, random.choice((shape, ragged)))
    if kind == "weights":
        sizes = random.choice((32, 20)), random.choice((32, 48)), random.choice((3, 5)), 3
        tag = random.choice(("ABcd4b16a4b", "ABcd8b16a2b", "ABcd2b8a4b", "acdb", "aBcd16b"))
        pair = [ml.index_map("[0, 1, 2, 3]", sizes), ml.index_map(tag, sizes)]
    elif kind == "grown":
        sizes3 = random.choice((8, 16)), random.choice((8, 16)), random.choice((4, 8, 16))
        pair = [ml.index_map(random.choice(("[0, 1, 2]", "[1, 0, 2]")), sizes3),
                _grown(random, sizes3)]  # fmt: skip
    elif kind == "tiled":
        sizes3 = *ragged, random.randint(1, 20)
        pair = [_tiled(random, sizes3), _tiled(random, sizes3)]
    else:
        other = random.choice(("[0, 1]", "[1, 0]", "{1,0:T(8,16)(2,1)}", "{0,1:T(4,4)}"))
        make_one = _bits if kind == "bits" else _swizzled
        pair = [make_one(random, shape), ml.index_map(other, shape)]
        if random.random() < 0.2:
            pair[1] = _swizzled(random, shape)
    random.shuffle(pair)
    return pair[0], pair[1]


Run = tuple[CFile, np.ndarray, np.ndarray, bool]


def runs(seed: int, *, share: bool = False) -> Iterator[Run]:
    """Kernels k0, k1, …, a source of each, what NumPy expects, and whether tiles are permuted."""
    random, number = Random(seed), 0
    while True:
        pair = _pair(random)
        itemsize = random.choice((1, 1, 1, 2, 2, 4, 8, 12))
        yield run_of(pair, itemsize, number, random.choice((1 << 60, 0)), share=share)
        number += 1


def run_of(
    pair: tuple[ml.IndexMap, ml.IndexMap], itemsize: int, number: int, near: int, *, share: bool
) -> Run:
    """Return the kernel of a number, and the same of it."""
    source, target = pair
    fill = None if math.prod(source.shape) == target.size else bytes(range(1, itemsize + 1))
    kernel = Kernel(source.recipe, target.recipe, itemsize, fill, f"k{number}")
    given = np.random.default_rng(number).integers(0, 256, (source.size, itemsize), np.uint8)
    expected = np.empty((target.size, itemsize), np.uint8)
    expected[...] = np.frombuffer(fill or bytes(itemsize), np.uint8)
    at: Any = np.indices(source.shape)
    expected[target(*at)] = given[source(*at)]
    plan = plan_kernel(kernel, near)
    permuted = any(isinstance(nest.micro, Permutation) for nest in plan.all_nests)
    file = c_file(kernel, near, share=share)
    return file, given.reshape(-1), expected.reshape(-1), permuted


def check(seed: int, count: int, place: Path, *flags: str) -> int:
    """Run many kernels at every alignment, between pages that cannot be read."""
    return checked(list(islice(runs(seed), count)), place, *flags)


def checked(made: list[Run], place: Path, *flags: str) -> int:
    library = library_of([file for file, *_ in made], place, "gcc", *QUICK, *flags)
    for k, (_, given, expected, _) in enumerate(made):
        run_at(getattr(library, f"k{k}"), given, expected)
    return sum(permuted for *_, permuted in made)


@pytest.mark.parametrize("flags", PLAIN)
def test_some_tiles_are_permuted(flags: str, tmp_path: Path) -> None:
    need("gcc")
    assert check(1, 40, tmp_path, *FLAGS[flags]) > 5


@pytest.mark.slow
@pytest.mark.parametrize("flags", FLAGS)
def test_many_tiles_are_permuted(flags: str, tmp_path: Path) -> None:
    need("gcc")
    told = Path("/proc/cpuinfo").read_text("utf-8")
    if any(name in flags and name not in told for name in ("avx512bw", "avx2")):
        pytest.skip(f"the processor has no {flags}")
    assert check(2, 300, tmp_path, *FLAGS[flags]) > 40


@pytest.mark.parametrize("flags", PLAIN)
def test_padding_between_the_runs_of_a_tile_is_written(flags: str, tmp_path: Path) -> None:
    """The tile takes all steps of the axis that is padded, but not all of the run below it."""
    need("gcc")
    source = ml.index_map("[1, 0, 2]", (8, 16, 16))
    texts = [f"{{1,2,0:T(8,{n},16)({inner})}}" for n in (32, 64) for inner in ("4,2,2", "2,2,2")]
    pairs = [(source, ml.index_map(text, source.shape)) for text in texts]
    made = [run_of(pair, 1, k, 1 << 60, share=False) for k, pair in enumerate(pairs)]
    assert checked(made, tmp_path, *FLAGS[flags]) >= 2


@pytest.mark.parametrize("flags", PLAIN)
def test_pairs_at_the_end_of_a_load_are_whole(flags: str, tmp_path: Path) -> None:
    """Pairs of items three apart: one begins in the first load, and ends behind it."""
    need("gcc")
    cases = [("{0,1:T(8,5)(1,2)}", "{0,1}", (4, 24), 2), ("{1,0:T(3)}", "{1,0:T(8,2)}", (32, 2), 1)]
    made = []
    for k, (*texts, shape, itemsize) in enumerate(cases):
        source, target = (ml.index_map(text, shape) for text in texts)
        made.append(run_of((source, target), itemsize, k, 1 << 60, share=False))
    assert checked(made, tmp_path, *FLAGS[flags]) == 2


@pytest.mark.parametrize("flags", PLAIN)
def test_an_element_fills_a_row(flags: str, tmp_path: Path) -> None:
    need("gcc")
    column = ml.index_map(ml.from_sympy({"shape": (3, 5, 99)}, "d0 + 3*d1"))
    pair = column, ml.index_map("[0, 1, 2]", column.shape)
    sizes = enumerate((1, 2, 4, 8, 12))
    made = [run_of(pair, itemsize, k, 1 << 60, share=False) for k, itemsize in sizes]
    assert checked(made, tmp_path, *FLAGS[flags]) == 0


def test_shares_of_threads_make_the_whole(tmp_path: Path) -> None:
    """Shares of three threads make the whole, phase by phase, in any order of shares."""
    need("gcc")
    made = list(islice(runs(3, share=True), 40))
    library = library_of([file for file, *_ in made], tmp_path, "gcc", *QUICK)
    for k, (file, given, expected, _) in enumerate(made):
        found = np.zeros_like(expected)
        addresses = [ctypes.c_void_p(x.ctypes.data) for x in (found, given)]
        for phase in range(len(file.phases)):
            for part in (2, 0, 1):
                numbers = map(ctypes.c_size_t, (part, 3, phase))
                getattr(library, f"k{k}")(*addresses, *numbers)
        assert found.tobytes() == expected.tobytes(), k
