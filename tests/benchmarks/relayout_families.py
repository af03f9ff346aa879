"""Relayout kernels beside memcpy, oneDNN, torch, HPTT and NumPy: docs/kernels_inside.md.

``python tests/benchmarks/relayout_families.py`` prints the processor time of each kernel as a
multiple of memcpy's of the target's bytes, at 0 and at 16 bytes past a cache line: the least of
the rounds, in which all take turns. The others move the same elements, where they are installed:
strided boxes, or oneDNN its own formats by their tags. Usual relayouts come first, then families
that they lack: swizzles, Z-order, weights, fragments, views; then random pairs of layouts of all
notations that take any shape. ``--draw 20 --seed 1 --match drawn`` draws twenty new ones and asks
those alone. ``--beside FOLDER`` measures the kernels of the package in another folder, too;
``--write`` puts means and machine into the page. Each result is compared with NumPy's. ``HPTT``
names the folder in which HPTT was built.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata
from math import prod
from pathlib import Path
from random import Random
from statistics import geometric_mean
from textwrap import wrap
from time import thread_time

import numpy as np
from relayout_cases import (
    CASES,
    PEERS,
    Move,
    Pair,
    Row,
    boxes_of,
    built,
    hptt_library,
    memcpy,
    onednn_by_tags,
    onednn_library,
    pair,
    repeated,
    room,
)

import morello_layouts as ml
from morello_layouts.outputs.kernels.build import FLAGS
from morello_layouts.outputs.kernels.emit_c import c_file
from morello_layouts.outputs.kernels.plan import Kernel

PAGE = Path(__file__).parents[2] / "docs" / "kernels_inside.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
LARGE = 1 << 26  # bytes of few rounds, and none by NumPy
SLOW = 6  # others who take so many times as long as memcpy run three times
AHEAD = 1.05
ALL_SIZES = "all sizes"


def _z_order(bits: int) -> str:
    rows, columns = (",".join(str(k << 2 * i) for i in range(bits)) for k in (1, 2))
    twos = ",".join("2" * bits)
    return f"(({twos}),({twos})):(({rows}),({columns}))"


def _view(shape: tuple[int, ...], *parts: slice, turned: bool = False) -> Callable[[], Pair]:
    def make() -> Pair:
        view = ml.index_map("[0, 1]", shape).view()[parts]
        return view, ml.index_map("[1, 0]" if turned else "[0, 1]", view.shape)

    return make


def _broadcast(shape: tuple[int, int], formula: str) -> Callable[[], Pair]:
    return lambda: (
        ml.index_map(ml.from_sympy({"shape": shape}, formula)),
        ml.index_map("[0, 1]", shape),
    )


def _swizzles() -> list[Row]:
    rows: list[Row] = []
    for m, itemsize, text, n in (
        (8192, 2, "Sw<3,3,3>", 64),
        (131072, 2, "Sw<3,3,3>", 64),
        (65536, 4, "Sw<3,2,3>", 32),
        (8192, 1, "Sw<3,4,3>", 128),
        (65536, 1, "Sw<3,4,3>", 128),
        (8192, 2, "Sw<2,1,3>", 64),
    ):
        swizzled = f"{text} o 0 o ({m},{n}):({n},1)"
        kind = f"u{8 * itemsize} {text} {m}x{n}"
        rows.append(Row("swizzle", f"{kind} <-", itemsize, pair("[0, 1]", swizzled, m, n)))
        rows.append(Row("swizzle", f"{kind} ->", itemsize, pair(swizzled, "[0, 1]", m, n)))
        columns = pair("[1, 0]", swizzled, m, n), pair(swizzled, "[1, 0]", m, n)
        plain = pair("[1, 0]", "[0, 1]", m, n), pair("[0, 1]", "[1, 0]", m, n)
        rows.append(Row("swizzle, columns", f"{kind} <-", itemsize, columns[0]))
        rows.append(Row("swizzle, columns", f"{kind} ->", itemsize, columns[1]))
        rows.append(Row("these columns without a swizzle", f"{kind} <-", itemsize, plain[0]))
        rows.append(Row("these columns without a swizzle", f"{kind} ->", itemsize, plain[1]))
    return rows


def _formats() -> list[Row]:
    """oneDNN's formats: images of 3, 17 and 64 channels, and weights."""
    rows: list[tuple[int, str, str, tuple[int, ...]]] = []
    for shape in ((4, 3, 224, 224), (8, 17, 100, 100), (16, 64, 56, 56)):
        for itemsize in (4, 2, 1):
            pairs = [("abcd", "aBcd16b"), ("aBcd16b", "abcd"), ("acdb", "aBcd16b")]
            pairs += [("aBcd16b", "acdb"), ("abcd", "acdb"), ("acdb", "abcd")]
            rows += [(itemsize, *both, shape) for both in pairs]
    for itemsize, tag, shape in (
        (1, "ABcd4b16a4b", (256, 256, 3, 3)),
        (1, "ABcd2b8a4b", (256, 256, 1, 1)),
        (1, "AB16b16a4b", (2048, 2048)),
        (2, "ABcd8b16a2b", (512, 512, 3, 3)),
        (4, "ABcd16b16a", (256, 256, 3, 3)),
        (4, "AB16b16a", (1024, 1024)),
        (4, "aBcde16b", (2, 32, 16, 56, 56)),
        (4, "aBcd8b", (8, 64, 56, 56)),
    ):
        plain = "abcde"[: len(shape)]
        rows += [(itemsize, plain, tag, shape), (itemsize, tag, plain, shape)]
    names, found = {1: "s8", 2: "bf16", 4: "f32"}, list[Row]()
    for n, a, b, shape in rows:
        images = len(shape) == 4 and "A" not in a + b and a + b != "abcdaBcd8b"
        what = f"{names[n]}, images of {shape[1]} channels" if images else "its weights, 3-D"
        name = f"{names[n]} {a} → {b} {'x'.join(map(str, shape))}"
        found.append(Row(f"oneDNN: {what}", name, n, pair(a, b, *shape), (a, b)))
    return found


SIZES = (3, 16, 17, 48, 64, 96, 100, 128, 255, 256, 512, 1000, 1024)
ITEMS = (1, 2, 4, 8)


def _drawn_text(random: Random, shape: tuple[int, ...]) -> str:
    """A layout of any notation at a shape of two to four dimensions, in 1 of 8 cases plain."""
    rank = len(shape)
    order = random.sample(range(rank), rank)
    letters = "abcd"[:rank]
    blocks = [(random.randrange(rank), random.choice((2, 4, 8, 16))) for _ in range(2)]
    blocks = blocks[: random.randint(1, 2)]
    tile = random.choice(("(8,128)", "(8,128)(2,1)", "(8,128)(4,1)", "(2,4)", "(16,16)", "(128)"))
    inner = "".join(f"{n}{letters[dim]}" for dim, n in blocks)
    blocked = {dim for dim, _ in blocks}
    steps, pitch = [0] * rank, 1
    for dim in reversed(order):
        steps[dim], pitch = pitch, pitch * (shape[dim] + random.choice((0, 3)) * (shape[dim] > 48))
    dim, n = blocks[0]
    digits = [(k, size) for k, size in enumerate(shape) if k != dim] + [(dim, n), (dim, -n)]
    random.shuffle(digits)
    strides, at = dict[tuple[int, int], int](), 1
    for k, size in digits:
        strides[k, size], at = at, at * (size if size > 0 else -(-shape[k] // -size))
    sizes, own = list(map(str, shape)), [str(strides.get((k, m), 0)) for k, m in enumerate(shape)]
    sizes[dim] = f"({n},{-(-shape[dim] // n)})"
    own[dim] = f"({strides[dim, n]},{strides[dim, -n]})"
    bits, (rows, columns) = random.choice(((3, 3, 3), (2, 3, 3), (3, 4, 3))), shape[-2:]
    is_power = rank == 2 and rows % 64 == 0 and columns.bit_count() == 1 and columns >= 64
    texts = {
        "morello": f"[{', '.join(map(str, order))}{f', {dim} p({n})' * (shape[dim] % n == 0)}]",
        "xla": f"{{{','.join(map(str, order))}:T{tile}}}",
        "onednn": "".join(letters[k].upper() if k in blocked else letters[k] for k in order)
        + "".join(f"{m}{letters[k]}" for k, m in blocks),
        "tvm": "".join(letters[k].upper() for k in order) + inner if len(blocked) == 1 else "",
        "pack": f"outer_dims_perm = {order} inner_dims_pos = {[k for k, _ in blocks]} "
        f"inner_tiles = {[m for _, m in blocks]}"
        if len(blocked) == len(blocks)
        else "",
        "strided": f"strided<{steps}>",
        "einops": f"{' '.join(letters)} -> {' '.join(letters[k] for k in order)}",
        "cute": f"({','.join(sizes)}):({','.join(own)})" if shape[dim] % n == 0 else "",
        "swizzle": f"Sw<{','.join(map(str, bits))}> o 0 o ({rows},{columns}):({columns},1)"
        if is_power
        else "",
    }
    return random.choice([text for text in texts.values() if text])


def drawn(count: int, seed: int) -> list[Row]:
    """Random pairs of layouts of 0.25 to 16 MiB; some sources are reversed and stepped views."""
    random, rows = Random(seed), list[Row]()
    while len(rows) < count:
        shape = tuple(random.choice(SIZES) for _ in range(random.randint(2, 4)))
        itemsize = random.choice(ITEMS)
        if not 1 << 18 <= prod(shape) * itemsize <= 1 << 24:
            continue
        steps = tuple(random.choice((1, 1, -1, 2)) * (random.random() < 0.25) or 1 for _ in shape)
        whole = tuple(n * abs(step) for n, step in zip(shape, steps, strict=True))
        source, target = (_drawn_text(random, sizes) for sizes in (whole, shape))
        name = f"u{8 * itemsize} {'x'.join(map(str, shape))} {source} → {target}"

        def make(
            source: str = source, target: str = target, shape: tuple[int, ...] = shape,
            whole: tuple[int, ...] = whole, steps: tuple[int, ...] = steps,
        ) -> Pair:  # fmt: skip
            m = ml.index_map(source, whole)
            parts = tuple(slice(None, None, step) for step in steps)
            return m.view()[parts] if {*steps} != {1} else m, ml.index_map(target, shape)

        if source != target:
            is_view = {*steps} != {1}
            name += f" of [{', '.join(f'::{step}' for step in steps)}]" * is_view
            family = f"drawn, {'views' if is_view else 'layouts'}"
            rows.append(Row(family, name, itemsize, make))
    return rows


def _rows() -> list[Row]:
    rows = [*_swizzles(), *_formats()]
    for itemsize, bits in ((1, 10), (1, 12), (2, 10), (4, 10)):
        name, side = f"u{8 * itemsize} {1 << bits}^2", 1 << bits
        rows.append(
            Row("Z-order", f"{name} <-", itemsize, pair("[0, 1]", _z_order(bits), side, side))
        )
        rows.append(
            Row("Z-order", f"{name} ->", itemsize, pair(_z_order(bits), "[0, 1]", side, side))
        )
    for itemsize, tag, shape in (
        (1, "ABcd4b16a4b", (256, 256, 3, 3)),
        (1, "ABcd4b16a4b", (1024, 1024, 3, 3)),
        (1, "AB16b16a4b", (2048, 2048)),
        (2, "ABcd8b16a2b", (512, 512, 3, 3)),
        (1, "ABcd2b8a4b", (256, 256, 1, 1)),
    ):
        plain, name = str([*range(len(shape))]), f"u{8 * itemsize} {tag} {shape[0]}"
        rows.append(Row("weights", f"{name} <-", itemsize, pair(plain, tag, *shape)))
        rows.append(Row("weights", f"{name} ->", itemsize, pair(tag, plain, *shape)))
    for itemsize, m, n in ((2, 1024, 1024), (1, 2048, 2048)):
        text = f"((8,2,{m // 16}),(2,4,2,{n // 16})):((32,2,{16 * n}),(1,8,4,256))"
        rows.append(Row("fragment", f"u{8 * itemsize} <-", itemsize, pair("[0, 1]", text, m, n)))
        rows.append(Row("fragment", f"u{8 * itemsize} ->", itemsize, pair(text, "[0, 1]", m, n)))
    back, third, half = slice(None, None, -1), slice(None, None, 3), slice(None, None, 2)
    every = slice(None)
    for side in (1024, 4096):
        for itemsize, name, parts, turned in (
            (1, "u8 [:, ::-1]", (every, back), False),
            (4, "u32 [:, ::-1]", (every, back), False),
            (1, "u8 [::-1, ::-1].T", (back, back), True),
            (2, "u16 [::-1, ::-1].T", (back, back), True),
            (1, "u8 [:, ::3]", (every, third), False),
            (2, "u16 [:, ::3]", (every, third), False),
            (4, "u32 [:, ::2]", (every, half), False),
        ):
            make = _view((side, side), *parts, turned=turned)
            rows.append(Row("views", f"{name} {side}", itemsize, make))
        for itemsize in (1, 2, 4):
            columns = _broadcast((side, side), "d0")
            rows.append(Row("broadcast", f"u{8 * itemsize} column {side}", itemsize, columns))
        rows.append(Row("broadcast", f"u16 row {side}", 2, _broadcast((side, side), "d1")))
    for side in (512, 1024, 2048):
        rows.append(Row("16 bytes", f"{side}^2", 16, pair("[0, 1]", "[1, 0]", side, side)))
    return rows


def texts(rows: list[Row]) -> list[str]:
    """The kernels in C."""
    found = []
    for row in rows:
        source, target = (m.recipe for m in row.make())
        full = target.size == np.prod(target.shape)
        kernel = Kernel(source, target, row.itemsize, None if full else bytes(row.itemsize))
        found.append(str(c_file(kernel)))
    return found


def texts_beside(folder: str) -> list[str]:
    """The kernels in C of the package in another folder."""
    with tempfile.TemporaryDirectory() as place:
        words = [sys.executable, __file__, "--texts", place, *sys.argv[1:]]
        subprocess.run(words, env={**os.environ, "PYTHONPATH": folder}, check=True)
        files = sorted(Path(place).iterdir(), key=lambda file: int(file.stem))
        return [file.read_text("utf-8") for file in files]


def items(itemsize: int) -> np.dtype[np.generic]:
    return np.dtype(f"u{itemsize}" if itemsize <= 8 else (np.void, itemsize))


def several(run: Move, times: int) -> Move:
    return lambda: [run() for _ in range(times)]


def measure(row: Row, kernels: list[str], rounds: int) -> dict[str, list[float]]:
    """The least ratios to memcpy at both places: of each kernel, by its number, and of others."""
    itemsize, (source, target) = row.itemsize, row.make()
    kind = items(itemsize)
    given = room(source.size * itemsize)  # of finite numbers: HPTT multiplies by 1
    given[...] = np.random.default_rng(0).integers(0, 120, given.size, np.uint8)
    array = ml.unpack(source, given.view(kind))
    expected = ml.pack(target, array) if itemsize <= 8 else None
    size = target.size * itemsize
    memory = room(size + 64)
    outs = memory[:size], memory[16 : 16 + size]
    boxes = boxes_of(source.recipe, target.recipe)
    rounds, again = max(3, rounds // 3) if size >= LARGE else rounds, max(1, (1 << 20) // size)
    functions = {str(k): built(text, "relayout", 2) for k, text in enumerate(kernels)}
    runs: list[tuple[str, Move]] = [("memcpy", memcpy(outs[0], again))]
    for out in outs:
        moves: list[tuple[str, Move | None]] = []
        arrays = given.view(kind), out.view(kind)
        if row.at:
            f = ml.relayout("[0, 1]", "[1, 0]", ("M", "N")).compile(kind)
            f = f.at(M=row.at[0], N=row.at[1]).function
            to_of = out.ctypes.data, given.ctypes.data
            moves.append((ALL_SIZES, several(lambda f=f, to_of=to_of: f(*to_of), again)))
        for name, make in PEERS.items():
            if size >= LARGE and name == "NumPy":
                continue
            if row.tags and name == "oneDNN":
                run = onednn_by_tags(row.tags, source.shape, itemsize, given, out)
            else:
                run = make(boxes, *arrays) if boxes else None
            moves.append((name, None if run is None else several(run, again)))
        own = ((name, repeated(f, given, out, again)) for name, f in functions.items())
        for name, run in (*own, *moves):
            if run is None:
                continue
            out[...] = 0
            run()
            if expected is None or out.tobytes() == expected.tobytes():
                runs.append((name, run))
                continue
            told = f"{name} moves elements of {row.name} to wrong places"
            if name not in PEERS:
                raise SystemExit(told)
            sys.stderr.write(f"{told}: it has no figure\n")
    times = [float("inf")] * len(runs)
    for turn in range(rounds):
        for k in Random(turn).sample(range(len(runs)), len(runs)):  # whom one follows matters
            name, run = runs[k]
            if turn > 2 and name in PEERS and times[k] > SLOW * times[0]:
                continue
            run()
            start = thread_time()
            run()
            times[k] = min(times[k], thread_time() - start)
    found: dict[str, list[float]] = {}
    for (name, _), time in zip(runs[1:], times[1:], strict=True):
        found.setdefault(name, []).append(time / times[0])
    return found


Found = dict[Row, dict[str, list[float]]]


def ahead_of_us(every: Found) -> list[str]:
    """The cases that somebody else does faster by over 5 % at one of the places."""
    lines = list[str]()
    for row, found in every.items():
        mine = found["0"]
        for name in PEERS:
            if any(a > AHEAD * b for a, b in zip(mine, found.get(name, ()), strict=False)):
                told = " ".join(f"{x:.2f}" for x in [*mine, *found[name]])
                lines.append(f"{name} in {row.name} {told}")
    return lines


def table(every: Found) -> list[str]:
    """The means of the families at both places, the worst, and the means of others."""
    others = [name for name in PEERS if any(name in found for found in every.values())]
    head = ["cases", "+0", "+16", "worst, +0", "worst, +16", *others]
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    for family in dict.fromkeys(row.family for row in every):
        rows = [found for row, found in every.items() if row.family == family]
        columns = list(zip(*(found["0"] for found in rows), strict=True))
        cells = [f"{f(column):.2f}" for f in (geometric_mean, max) for column in columns]
        for name in others:
            both = list(zip(*(found[name] for found in rows if name in found), strict=True))
            cells.append(" ".join(f"{geometric_mean(x):.2f}" for x in both) or "—")
        lines.append(f"| {family}: {len(rows)} | {' | '.join(cells)} |")
    ahead = ahead_of_us(every) or ["none"]
    return [*lines, "", f"Ahead by over 5 % at one of the places: {'; '.join(ahead)}."]


def of_sizes(every: Found) -> list[str]:
    """How much longer kernels for all sizes take, in words."""
    parts: dict[bool, list[float]] = {}
    for row, found in every.items():
        for mine, other in zip(found["0"], found.get(ALL_SIZES, ()), strict=False):
            size = prod(row.at or ()) * row.itemsize
            parts.setdefault(size >= 1 << 20, []).append(other / mine)
    if len(parts) < 2:
        return []
    far, near = (f"{geometric_mean(parts[is_far]):.2f}" for is_far in (True, False))
    told = f"A kernel for all sizes takes {far} times as long as one for constant sizes"
    return ["", f"{told}, and {near} times below 1 MiB."]


def machine() -> str:
    lscpu = subprocess.run(["lscpu"], capture_output=True, text=True, check=False).stdout
    told = dict(line.split(":", 1) for line in lscpu.splitlines() if ":" in line)
    caches = [f"{name} {told[name].strip()}" for name in told if "cache" in name]
    gcc = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=False).stdout
    flags = told.get("Flags", "").split()
    widest = next((f for f in ("avx512bw", "avx2", "sse2") if f in flags), platform.machine())
    versions = [f"NumPy {np.__version__}"]
    try:
        versions.append(f"torch {metadata.version('torch')}")
    except metadata.PackageNotFoundError:
        versions.append("no torch")
    versions.append("HPTT" if hptt_library() else "no HPTT (its folder is not in HPTT)")
    library = onednn_library()
    if library is None:
        versions.append("no oneDNN")
    else:
        library.dnnl_version.restype = ctypes.POINTER(ctypes.c_int)
        versions.append(f"oneDNN {'.'.join(map(str, library.dnnl_version()[:3]))}")
    model = (
        f"{told.get('Model name', platform.processor()).strip()} "
        f"(family {told.get('CPU family', '?').strip()}, {widest}), "
        f"{told.get('CPU(s)', '?').strip()} cores of a virtual machine with "
        f"{os.getloadavg()[0]:.0f} processes running"
    )
    parts = [
        model,
        "; ".join(caches),
        f"{gcc.splitlines()[0] if gcc else 'no gcc'}, {FLAGS[1]} {FLAGS[2]}",
        ", ".join(versions),
    ]
    return "\n".join(wrap("Machine: " + ". ".join(parts) + ".", 100))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--match", default="", help="a part of the cases' families or names")
    parser.add_argument("--draw", type=int, default=20, metavar="N", help="random pairs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    parser.add_argument("--beside", help="a folder with another package")
    parser.add_argument("--texts", help=argparse.SUPPRESS)
    given = parser.parse_args()
    every_row = [*CASES, *_rows(), *drawn(given.draw, given.seed)]
    rows = [row for row in every_row if given.match in f"{row.family}: {row.name}"]
    kernels = [[text] for text in texts(rows)]
    if given.texts:
        for k, (text,) in enumerate(kernels):
            Path(given.texts, f"{k}.c").write_text(text, encoding="utf-8")
        return
    if given.beside:
        for own, text in zip(kernels, texts_beside(given.beside), strict=True):
            own.append(text)
    every: Found = {}
    for row, own in zip(rows, kernels, strict=True):
        every[row] = found = measure(row, own, given.rounds)
        names = ["0", *(["1"] if given.beside else []), *PEERS]
        cells = (" ".join(f"{x:.2f}" for x in found.get(name, ())) or "—" for name in names)
        same = " same" if len(own) == 2 and own[0] == own[1] else ""
        sys.stdout.write(f"| {row.family}: {row.name} | {' | '.join(cells)} |{same}\n")
        sys.stdout.flush()
    lines = [*table(every), *of_sizes(every)]
    sys.stdout.write("\n".join([*lines, ""]))
    if given.write and not given.beside:
        before, rest = PAGE.read_text("utf-8").split(BEGIN)
        text = "\n".join([BEGIN, machine(), "", *lines, END])
        PAGE.write_text(f"{before}{text}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
