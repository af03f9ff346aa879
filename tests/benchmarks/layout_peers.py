"""The formats of the gallery as other systems say and judge them, for docs/peers_measured.md.

``python tests/benchmarks/layout_peers.py [--write]`` needs ``tensor-layouts``, ``einops`` and
``apache-tvm`` beside this package. Each format stands at the sizes of its picture. Nothing is
believed: a system's answer is evaluated at every coordinate, and verdicts are compared with
counting. ``--write`` puts the sums, and the rows of some formats, into the page.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import statistics
import sys
from collections.abc import Sequence
from importlib.metadata import version
from math import prod
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parent))

from formats import FORMATS

import morello_layouts as ml
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import digits
from morello_layouts.core.recipe.digits import AxisDigit

PAGE = Path(__file__).parents[2] / "docs" / "peers_measured.md"
CASES = Path(__file__).parents[1] / "data" / "simplify_cases.json"
SYSTEMS = {
    "ISL": "isl",
    "loopy": "loopy",
    "tinygrad": "tinygrad",
    "TVM": "tvm",
    "XLA": "xla",
    "LLVM": "llvm",
    "Inductor": "torch",
    "Morello": "morello",
    "Halide": "halide",
    "SymPy": "sympy",
}
"""The systems of the recorded cases, and how the names of the ways to ask them begin."""
SHOWN = (
    "row-major",
    "NCHWc",
    "packed",
    "odd-even",
    "Z-order",
    "vector (128)",
    "bf16",
    "combined dims",
    "tail padding",
    "mma A fragment",
)
"""The formats that the page shows."""
ROUNDS = 21


class NoDigitsError(Exception):
    """The recipe cuts across the joint of two dimensions, or pads within tiles."""


def digits_of(recipe: ml.Recipe) -> list[AxisDigit]:
    """The digits of a recipe in memory order, the slowest first."""
    found = [digit for digit in digits.digits_of(recipe) if digit.radix != 1]
    if all(digit.is_exact for digit in found):
        return found
    is_padded = prod(recipe.physical_shape) != prod(recipe.shape)
    raise NoDigitsError(
        "pads joined or split dimensions" if is_padded else "cuts across joined dimensions"
    )


def cute(m: IndexMap) -> str:
    """The layout in CuTe's words, made by tensor-layouts and evaluated at every coordinate."""
    from tensor_layouts import Layout

    try:
        found = digits_of(m.recipe)
    except NoDigitsError as error:
        return f"no: {error}"
    modes = []
    for dim in range(len(m.shape)):
        low_first = by_unit(found, dim) or [AxisDigit(dim, 1, 1, stride=0)]
        modes.append(([d.radix for d in low_first], [d.stride for d in low_first]))
    layout = Layout(tuple(nested(a) for a, _ in modes), tuple(nested(b) for _, b in modes))
    for at in np.ndindex(*m.shape):
        assert layout(*at) == m(*at), (m, at)
    padded = any(prod(sizes) != n for (sizes, _), n in zip(modes, m.shape, strict=True))
    return f"`{layout}`".replace(" ", "") + (" of the padded array" if padded else "")


def nested(sizes: list[int]) -> Any:
    """CuTe's tuple: a single size stands alone."""
    return sizes[0] if len(sizes) == 1 else tuple(sizes)


def einops_pattern(m: IndexMap) -> str:
    """The pattern of einops, run on an array and compared with the buffer."""
    from einops import rearrange

    try:
        found = digits_of(m.recipe)
    except NoDigitsError as error:
        return f"no: {error}"
    names = {d: "abcdefghijklmnop"[k] for k, d in enumerate(found)}
    left = [by_unit(found, dim)[::-1] for dim in range(len(m.shape))]
    pattern = " ".join(group([names[d] for d in one]) for one in left) + " -> "
    pattern += " ".join(names[d] for d in found)
    array = np.arange(prod(m.shape)).reshape(m.shape)
    grown = [prod(d.radix for d in one) for one in left]
    widths = [(0, big - small) for big, small in zip(grown, m.shape, strict=True)]
    sizes = {names[d]: d.radix for d in names}
    given = rearrange(np.pad(array, widths, constant_values=-1), pattern, **sizes).reshape(-1)
    tail = m.recipe.tail_padding
    assert np.array_equal(
        np.pad(given, (0, tail), constant_values=-1), ml.pack(m, array, fill=-1)
    ), m
    padded = " after `np.pad`" if any(high for _, high in widths) else ""
    return f"`{pattern}`{padded}" + (", and a tail" if tail else "")


def by_unit(digits: Sequence[AxisDigit], dim: int) -> list[AxisDigit]:
    """The digits of a dimension, the lowest first."""
    return sorted((d for d in digits if d.dim == dim), key=lambda d: d.unit)


def group(names: Sequence[str]) -> str:
    """Names as einops groups them; nothing stands as 1."""
    return names[0] if len(names) == 1 else f"({' '.join(names)})" if names else "1"


def tvm_says(m: IndexMap) -> bool:
    """Whether ``detect_iter_map`` takes the formula for a bijection; it knows of no buffer."""
    import tvm.ir
    from tvm import tirx
    from tvm.sym import detect_iter_map
    from tvm.sym.iter_affine_map import IterMapLevel

    names = [tirx.Var(f"d{k}", "int64") for k in range(len(m.shape))]
    total = tirx.IntImm("int64", 0)
    for factor, dim, divisor, modulus in map(term_parts, terms(m)):
        value = tirx.floordiv(names[dim], tirx.IntImm("int64", divisor))
        if modulus:
            value = tirx.floormod(value, tirx.IntImm("int64", modulus))
        total = total + value * tirx.IntImm("int64", factor)
    ranges = {v: tvm.ir.Range(0, n) for v, n in zip(names, m.shape, strict=True)}
    found = detect_iter_map([total], ranges, check_level=IterMapLevel.Bijective)
    return len(found.indices) == 1


def terms(m: IndexMap) -> list[str]:
    """The terms of the formula, as text."""
    return str(m.named()).partition(" -> ")[2].split(" + ")


def term_parts(text: str) -> tuple[int, int, int, int]:
    """Factor, dimension, divisor, modulus (0 for none) of a term such as ``256*((d0//2)%4)``.

    Raises:
        ValueError: if the term has a digit of a sum.
    """
    match = re.fullmatch(r"(?:(\d+)\*)?\(*d(\d+)(?://(\d+))?\)?(?:%(\d+))?\)*", text)
    if match is None:
        raise ValueError(text)
    factor, dim, divisor, modulus = match.groups()
    return int(factor or 1), int(dim), int(divisor or 1), int(modulus or 0)


def fragments() -> int:
    """The gallery's fragments against the atoms of tensor-layouts: elements that were compared."""
    from tensor_layouts import atoms_nv

    atom, compared = atoms_nv.SM80_16x8x16_F32F16F16F32_TN, 0
    maps = {one.name: one.index_map() for one in FORMATS if one.formula}
    for name, layout in (("mma A fragment", atom.a_layout), ("mma C fragment", atom.c_layout)):
        values = maps[name].size // 32
        for lane, value in np.ndindex(32, values):
            column, row = divmod(int(layout(lane, value)), 16)
            assert maps[name](row, column) == values * lane + value, (name, lane, value)
            compared += 1
    return compared


def swizzled() -> int:
    """The gallery's swizzle against that of tensor-layouts: elements that were compared."""
    from tensor_layouts import Layout, Swizzle, compose

    theirs = compose(Swizzle(3, 0, 3), Layout((8, 8), (8, 1)))
    text = "8*d0 + 4*((d0//4 + d1//4) % 2) + 2*((d0//2 + d1//2) % 2) + (d0 + d1) % 2"
    ours = ml.from_sympy({"shape": (8, 8), "size": 64}, text)
    assert all(theirs(i, j) == ours(i, j) for i, j in np.ndindex(8, 8))
    return 64


def recorded() -> str:
    """What the simplifiers of tests/data/simplify_cases.json cost in all, the best way for each."""
    cases = json.loads(CASES.read_text(encoding="utf-8"))
    rows = []
    for system, prefix in SYSTEMS.items():
        costs = (
            [
                cost
                for way, cost in case["cost"].items()
                if way.startswith(prefix) and cost is not None
            ]
            for case in cases
        )
        rows.append((sum(map(min, costs)), system))
    lines = ["| simplifier | cost of its answers |", "| --- | ---: |"]
    return "\n".join(lines + [f"| {system} | {cost:,} |" for cost, system in sorted(rows)])


def timed(call: Any) -> float:
    """Microseconds of processor time, the median of some rounds."""
    times = []
    for _ in range(ROUNDS):
        start = process_time()
        call()
        times.append((process_time() - start) * 1e6)
    return statistics.median(times)


def report() -> tuple[str, list[str]]:
    """What the table adds up to, and its lines."""
    lines = ["| format | ours | TVM | CuTe | einops |", "| --- | --- | --- | --- | --- |"]
    agree, said, ours_us, tvm_us = [], {"cute": 0, "einops": 0}, [], []
    for one in FORMATS:
        m = one.index_map(one.at)
        truth = len(np.unique(m(*np.indices(m.shape)))) == m.size
        proof = ml.is_bijective(m)
        assert proof.holds is truth
        try:
            found = tvm_says(m)
            offsets = np.sort(np.ravel(m(*np.indices(m.shape))))
            dense = np.array_equal(offsets, np.arange(len(offsets)))
            tvm = ("yes" if found else "no") + ("" if found is dense else ": wrong")
            agree.append(found is dense)
            ours_us.append(timed(lambda m=m: ml.is_bijective(m)))
            tvm_us.append(timed(lambda m=m: tvm_says(m)))
        except ValueError:
            tvm = "not asked"
        in_cute, in_einops = cute(m), einops_pattern(m)
        said["cute"] += not in_cute.startswith("no")
        said["einops"] += not in_einops.startswith("no")
        mine = "yes" if proof.holds else f"no, {proof.padding:,} slots of padding"
        lines.append(f"| {one.name} | {mine} | {tvm} | {in_cute} | {in_einops} |")
    counts = f"{len(FORMATS)} formats: CuTe says {said['cute']} of them in one layout, einops "
    counts += (
        f"{said['einops']} in one pattern. TVM was asked of {len(agree)} and agrees with counting "
    )
    counts += f"on {sum(agree)}. One question takes {statistics.median(ours_us):.0f} µs here and "
    counts += (
        f"{statistics.median(tvm_us):.0f} µs in TVM (medians, making TVM's expression included). "
    )
    counts += f"The fragments agree with tensor-layouts' atoms at {fragments()} elements, "
    counts += f"the swizzle with its `Swizzle(3, 0, 3)` at {swizzled()}."
    names = ("tensor-layouts", "einops", "apache-tvm", "islpy")
    used = ", ".join(f"{name} {version(name)}" for name in names)
    day = datetime.date.today().isoformat()
    load = f"{os.getloadavg()[0]:.0f} processes on {os.cpu_count()} cores"
    head = f"{day}, {load}, Python {platform.python_version()}, {used}, "
    head += f"morello_layouts {ml.__version__}."
    return "\n".join([head, "", counts]), lines


def shown(lines: list[str]) -> list[str]:
    """The head of the table, and the rows that the page shows."""
    return lines[:2] + [line for line in lines[2:] if line.split(" | ")[0][2:] in SHOWN]


def main(arguments: list[str]) -> None:
    """Print the tables, or put them into the page, the first one cut."""
    counts, lines = report()
    print("\n".join([counts, "", *lines, "", recorded()]))  # noqa: T201
    if arguments != ["--write"]:
        return
    cut = "\n".join([counts, "", *shown(lines)])
    for part, text in (("formats", cut), ("recorded", recorded())):
        page = PAGE.read_text(encoding="utf-8")
        before, after = marks(part)
        start, end = page.index(before) + len(before), page.index(after)
        PAGE.write_text(f"{page[:start]}\n{text}\n{page[end:]}", encoding="utf-8")


def marks(part: str) -> tuple[str, str]:
    """The comments around a part of the page."""
    made = f"<!-- begin {part}: made by tests/benchmarks/layout_peers.py -->"
    return made, f"<!-- end {part} -->"


if __name__ == "__main__":
    main(sys.argv[1:])
