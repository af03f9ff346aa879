"""Families of relayouts beside memcpy: swizzles, Z-order, weights, fragments, views.

``python tests/benchmarks/relayout_families.py`` prints the processor time of each kernel as a
multiple of memcpy's of the target's bytes, at 0 and at 16 bytes past a cache line: the least of
the rounds, which are interleaved. ``--beside FOLDER`` measures in the same rounds the kernels of
the package in another folder; ``--table`` the cases of relayout_table.py instead; ``--write``
puts the means into docs/kernels_inside.md. Each result is compared with NumPy's. oneDNN reorders
its own formats beside us, at the same places.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import geometric_mean
from time import thread_time

import numpy as np
from relayout_cases import CASES, Case, Move, built, memcpy, onednn_by_tags, room
from relayout_table import PAGE, machine

import morello_layouts as ml
from morello_layouts.outputs.kernels.emit_c import c_file
from morello_layouts.outputs.kernels.plan import Kernel

BEGIN, END = "<!-- families: begin -->", "<!-- families: end -->"

# A case: its family, name, the bytes of an element, and both layouts.
Pair = tuple[ml.IndexMap, ml.IndexMap]
Row = tuple[str, str, int, Callable[[], Pair]]
ONEDNN = "oneDNN"  # the family of its own formats, of which it reorders one to another beside us


def _z_order(bits: int) -> str:
    rows, columns = (",".join(str(k << 2 * i) for i in range(bits)) for k in (1, 2))
    twos = ",".join("2" * bits)
    return f"(({twos}),({twos})):(({rows}),({columns}))"


def _pair(source: str, target: str, *shape: int) -> Callable[[], Pair]:
    return lambda: (ml.index_map(source, shape), ml.index_map(target, shape))


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
        rows.append(("swizzle", f"{kind} <-", itemsize, _pair("[0, 1]", swizzled, m, n)))
        rows.append(("swizzle", f"{kind} ->", itemsize, _pair(swizzled, "[0, 1]", m, n)))
        columns = _pair("[1, 0]", swizzled, m, n), _pair(swizzled, "[1, 0]", m, n)
        rows.append(("swizzle, columns", f"{kind} <-", itemsize, columns[0]))
        rows.append(("swizzle, columns", f"{kind} ->", itemsize, columns[1]))
    return rows


def _formats() -> list[Row]:
    """oneDNN's formats: images of 3, 17 and 64 channels, and weights."""
    rows: list[tuple[int, str, str, tuple[int, ...]]] = []
    for shape in ((4, 3, 224, 224), (8, 17, 100, 100), (16, 64, 56, 56)):
        for itemsize in (4, 2, 1):
            pairs = [("abcd", "aBcd16b"), ("aBcd16b", "abcd"), ("acdb", "aBcd16b")]
            pairs += [("aBcd16b", "acdb"), ("abcd", "acdb"), ("acdb", "abcd")]
            rows += [(itemsize, *pair, shape) for pair in pairs]
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
    names = {1: "s8", 2: "bf16", 4: "f32"}
    return [
        (ONEDNN, f"{names[n]} {a} → {b} {'x'.join(map(str, shape))}", n, _pair(a, b, *shape))
        for n, a, b, shape in rows
    ]


def _rows() -> list[Row]:
    rows = [*_swizzles(), *_formats()]
    for itemsize, bits in ((1, 10), (1, 12), (2, 10), (4, 10)):
        name, side = f"u{8 * itemsize} {1 << bits}^2", 1 << bits
        rows.append(
            ("Z-order", f"{name} <-", itemsize, _pair("[0, 1]", _z_order(bits), side, side))
        )
        rows.append(
            ("Z-order", f"{name} ->", itemsize, _pair(_z_order(bits), "[0, 1]", side, side))
        )
    for itemsize, tag, shape in (
        (1, "ABcd4b16a4b", (256, 256, 3, 3)),
        (1, "ABcd4b16a4b", (1024, 1024, 3, 3)),
        (1, "AB16b16a4b", (2048, 2048)),
        (2, "ABcd8b16a2b", (512, 512, 3, 3)),
        (1, "ABcd2b8a4b", (256, 256, 1, 1)),
    ):
        plain, name = str([*range(len(shape))]), f"u{8 * itemsize} {tag} {shape[0]}"
        rows.append(("weights", f"{name} <-", itemsize, _pair(plain, tag, *shape)))
        rows.append(("weights", f"{name} ->", itemsize, _pair(tag, plain, *shape)))
    for itemsize, m, n in ((2, 1024, 1024), (1, 2048, 2048)):
        text = f"((8,2,{m // 16}),(2,4,2,{n // 16})):((32,2,{16 * n}),(1,8,4,256))"
        rows.append(("fragment", f"u{8 * itemsize} <-", itemsize, _pair("[0, 1]", text, m, n)))
        rows.append(("fragment", f"u{8 * itemsize} ->", itemsize, _pair(text, "[0, 1]", m, n)))
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
            rows.append(("views", f"{name} {side}", itemsize, make))
        for itemsize in (1, 2, 4):
            columns = _broadcast((side, side), "d0")
            rows.append(("broadcast", f"u{8 * itemsize} column {side}", itemsize, columns))
        rows.append(("broadcast", f"u16 row {side}", 2, _broadcast((side, side), "d1")))
    for side in (512, 1024, 2048):
        rows.append(("16 bytes", f"{side}^2", 16, _pair("[0, 1]", "[1, 0]", side, side)))
    return rows


def _of_table(case: Case) -> Row:
    make = _pair(case.source, case.target, *case.shape)
    return case.family, case.name, case.itemsize, make


def rows_of(match: str, *, table: bool) -> list[Row]:
    """The cases whose families or names have a text."""
    rows = [_of_table(case) for case in CASES] if table else _rows()
    return [row for row in rows if match in f"{row[0]}: {row[1]}"]


def texts(rows: list[Row]) -> list[str]:
    """The kernels in C."""
    found = []
    for _, _, itemsize, make in rows:
        source, target = (m.recipe for m in make())
        full = target.size == np.prod(target.shape)
        kernel = Kernel(source, target, itemsize, None if full else bytes(itemsize))
        found.append(str(c_file(kernel)))
    return found


def texts_beside(folder: str, match: str, *, table: bool) -> list[str]:
    """The kernels in C of the package in another folder."""
    with tempfile.TemporaryDirectory() as place:
        words = [sys.executable, __file__, "--texts", place, "--match", match]
        words += ["--table"] * table
        subprocess.run(words, env={**os.environ, "PYTHONPATH": folder}, check=True)
        files = sorted(Path(place).iterdir(), key=lambda file: int(file.stem))
        return [file.read_text("utf-8") for file in files]


def items(itemsize: int) -> np.dtype[np.generic]:
    return np.dtype(f"u{itemsize}" if itemsize <= 8 else (np.void, itemsize))


def measure(row: Row, kernels: list[str], rounds: int) -> list[float]:
    """The least ratios to memcpy of each kernel, at both places; then those of oneDNN."""
    family, name, itemsize, make = row
    source, target = make()
    kind = items(itemsize)
    given = room(source.size * itemsize)
    given[...] = np.random.default_rng(0).integers(0, 256, given.size, np.uint8)
    array = ml.unpack(source, given.view(kind))
    expected = ml.pack(target, array) if itemsize <= 8 else None
    size = target.size * itemsize
    memory = room(size + 64)
    outs = memory[:size], memory[16 : 16 + size]
    moves: list[tuple[Move, np.ndarray]] = []
    for text in kernels:
        function = built(text, "relayout", 2)
        for out in outs:
            to, of = out.ctypes.data, given.ctypes.data
            moves.append((lambda f=function, to=to, of=of: f(to, of), out))
    if family == ONEDNN:
        _, a, _, b, _ = name.split()
        peers = [onednn_by_tags((a, b), source.shape, itemsize, given, out) for out in outs]
        moves += [(run, out) for run, out in zip(peers, outs, strict=True) if run]
    runs = [memcpy(outs[0])]
    for run, out in moves:
        out[...] = 0
        run()
        if expected is not None and out.tobytes() != expected.tobytes():
            raise SystemExit(f"{name} moves elements to wrong places")
        runs.append(run)
    again = max(1, (1 << 20) // size)
    times = [float("inf")] * len(runs)
    for _ in range(rounds):
        for k, run in enumerate(runs):
            run()
            start = thread_time()
            for _ in range(again):
                run()
            times[k] = min(times[k], thread_time() - start)
    return [time / times[0] for time in times[1:]]


def beside_onednn(found: dict[str, list[float]]) -> list[str]:
    """The means of oneDNN's formats, and the cases that it does faster by over 5 %."""
    lines = ["| formats | +0 | +16 | oneDNN, +0 | oneDNN, +16 |", "|---|---:|---:|---:|---:|"]
    groups: dict[str, list[list[float]]] = {}
    behind = []
    for name, ratios in found.items():
        kind, a, _, b, shape = name.split()
        sizes = shape.split("x")
        images = len(sizes) == 4 and "A" not in a + b and a + b != "abcdaBcd8b"
        group = f"{kind}, images of {sizes[1]} channels" if images else "weights, three dimensions"
        groups.setdefault(group, []).append(ratios)
        if ratios[0] > 1.05 * ratios[2] or ratios[1] > 1.05 * ratios[3]:
            behind.append(f"{name} {' '.join(f'{x:.2f}' for x in ratios)}")
    for group, rows in groups.items():
        means = (f"{geometric_mean(column):.2f}" for column in zip(*rows, strict=True))
        lines.append(f"| {group}: {len(rows)} | {' | '.join(means)} |")
    behind = behind or ["none"]
    return [
        *lines,
        "",
        f"oneDNN is ahead by over 5 % at one of the places in: {'; '.join(behind)}.",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--match", default="", help="a part of the cases' families or names")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    parser.add_argument("--beside", help="a folder with another package")
    parser.add_argument("--texts", help=argparse.SUPPRESS)
    given = parser.parse_args()
    rows = rows_of(given.match, table=given.table)
    kernels = [[text] for text in texts(rows)]
    if given.texts:
        for k, (text,) in enumerate(kernels):
            Path(given.texts, f"{k}.c").write_text(text, encoding="utf-8")
        return
    if given.beside:
        for own, text in zip(
            kernels, texts_beside(given.beside, given.match, table=given.table), strict=True
        ):
            own.append(text)
    every: dict[str, list[list[float]]] = {}
    formats: dict[str, list[float]] = {}
    for row, own in zip(rows, kernels, strict=True):
        found = measure(row, own, given.rounds)
        every.setdefault(row[0], []).append(found[: 2 * len(own)])
        if row[0] == ONEDNN and len(found) == 4:
            formats[row[1]] = found
        cells = " | ".join(f"{ratio:.2f}" for ratio in found)
        same = " same" if len(own) == 2 and own[0] == own[1] else ""
        sys.stdout.write(f"| {row[0]}: {row[1]} | {cells} |{same}\n")
        sys.stdout.flush()
    lines = list[str]()
    for family, ratios in every.items():
        columns = list(zip(*ratios, strict=True))
        cells = [f"{f(column):.2f}" for f in (geometric_mean, max) for column in columns]
        lines.append(f"| {family}: {len(ratios)} | {' | '.join(cells)} |")
    more = beside_onednn(formats) if formats else []
    sys.stdout.write("\n".join([*lines, "", *more, ""]))
    if given.write and not given.beside:
        head = "| cases | +0 | +16 | worst, +0 | worst, +16 |\n|---|---:|---:|---:|---:|"
        before, rest = PAGE.read_text("utf-8").split(BEGIN)
        own = [line for line in lines if not (formats and line.startswith(f"| {ONEDNN}:"))]
        text = "\n".join([BEGIN, machine(), "", head, *own, *([""] * bool(more)), *more, END])
        PAGE.write_text(f"{before}{text}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
