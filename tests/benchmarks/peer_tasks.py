"""The same nine tasks for each system, for docs/comparison.md: who has the right answer?

    python -m venv peers
    peers/bin/pip install . tensor-layouts einops apache-tvm triton
    peers/bin/pip install --no-deps nvidia-cutlass
    peers/bin/python tests/benchmarks/peer_tasks.py [--write]

The array has 10 rows and 200 columns in tiles of 8 by 128, or 16 by 256, which the tiles divide.
If a system has a function for a task, its answer is compared with the right one: yes or no. A dash
means that we found none. Then one question is asked at growing sizes.
"""

from __future__ import annotations

import datetime
import os
import platform
import re
import statistics
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from time import process_time
from typing import Any, TypeAlias

import numpy as np

import morello_layouts as ml

PAGE = Path(__file__).parents[2] / "docs" / "comparison.md"
Task: TypeAlias = "Callable[[], Any]"
PACKAGES = ("tensor-layouts", "nvidia-cutlass", "triton", "apache-tvm", "islpy", "einops", "sympy")
FULL, PART = (16, 256), (10, 200)
TILES = "f32[{},{}]{{1,0:T(8,128)}}"
AT = (5, 130)
OFFSET = 1024 + 5 * 128 + 2
PADDING = 16 * 256 - 10 * 200
MODES = ((8, 2), (128, 2)), ((128, 2048), (1, 1024))
FORMULA = "2048*floor(i/8) + 1024*floor(j/128) + 128*(i mod 8) + (j mod 128)"
WRONG = FORMULA.replace("128*(i mod 8)", "128*(i mod 7)")

TVM_SCRIPT = """
@T.prim_func
def f(a: T.handle, o: T.handle):
    A = T.match_buffer(a, (1,), "int64")
    O = T.match_buffer(o, (1,), "int64")
    O[0] = A[0] // T.int64(8)
"""

TASKS = {
    "offset": "the offset of an element, where tiles divide",
    "partial": "counts the padding, where they do not",
    "symbols": "M by N, row by row: injective for all sizes",
    "inverse": "the element of a slot",
    "equal": "two descriptions are equal at every element",
    "differ": "names an element at which a wrong one differs",
    "compose": "every second row, as a layout again",
    "banks": "bank conflicts of a column",
    "C": "source text in C that is right at 3·2⁵³",
}


def tensor_layouts() -> dict[str, Task]:
    from tensor_layouts import Layout, analysis, compose, right_inverse

    full, rows = Layout(*MODES), Layout((32, 32), (32, 1))
    column = Layout(32, 32)
    return {
        "offset": lambda: full(*AT) == OFFSET,
        "partial": lambda: prod_of(full) == 2000,
        "symbols": lambda: Layout(("M", "N"), ("N", 1)),
        "inverse": lambda: right_inverse(full)(OFFSET) == AT[0] + 16 * AT[1],
        "equal": lambda: (
            analysis.functionally_equal(full, compose(full, Layout(4096, 1)))
            and not analysis.functionally_equal(full, Layout(4096, 1))
        ),
        "compose": lambda: compose(full, Layout((8, 256), (2, 16)))(3, 130) == full(6, 130),
        "banks": lambda: (
            analysis.bank_conflicts(column, element_bytes=4)["max_ways"] == 32 and rows(3, 0) == 96
        ),
    }


def prod_of(layout: Any) -> int:
    """The number of elements of a layout of tensor-layouts or pycute."""
    from tensor_layouts import size

    return int(size(layout))


def pycute() -> dict[str, Task]:
    import pycute

    full = pycute.Layout(*MODES)
    return {
        "offset": lambda: full(*AT) == OFFSET,
        "partial": lambda: full.size() == 2000,
        "symbols": lambda: pycute.size(pycute.Layout(("M", "N"), ("N", 1))),
        "inverse": lambda: pycute.right_inverse(full)(OFFSET) == AT[0] + 16 * AT[1],
        "compose": lambda: (
            pycute.composition(full, pycute.Layout((8, 256), (2, 16)))(3, 130) == full(6, 130)
        ),
    }


def triton() -> dict[str, Task]:
    from triton._C.libtriton.linear_layout import LinearLayout

    def linear(offsets: Callable[[int, int], int]) -> Any:
        rows = [[offsets(1 << k, 0)] for k in range(4)]
        columns = [[offsets(0, 1 << k)] for k in range(8)]
        return LinearLayout.from_bases([("i", rows), ("j", columns)], ["o"], [4096])

    full = linear(ml.index_map(TILES.format(*FULL)))
    at = {"i": AT[0], "j": AT[1]}
    every_second = LinearLayout.from_bases(
        [("r", [[2, 0], [4, 0], [8, 0]]), ("c", [[0, 1 << k] for k in range(8)])],
        ["i", "j"],
        [16, 256],
        False,
    )
    return {
        "offset": lambda: full.apply(at) == {"o": OFFSET},
        "partial": lambda: False,  # LinearLayout ends the process if a size is not a power of two
        "inverse": lambda: full.invert().apply({"o": OFFSET}) == at,
        "equal": lambda: (
            full == linear(lambda i, j: i // 8 * 2048 + i % 8 * 128 + j // 128 * 1024 + j % 128)
        ),
        "compose": lambda: (
            every_second.compose(full).apply({"r": 3, "c": 130}) == full.apply({"i": 6, "j": 130})
        ),
    }


def tvm() -> dict[str, Task]:
    import tvm.ir
    from tvm import tirx
    from tvm.sym import detect_iter_map
    from tvm.sym.iter_affine_map import IterMapLevel

    tiles = tirx.IndexMap.from_func(
        lambda i, j: (i // 8, j // 128, i % 8, j % 128), index_dtype="int64"
    )
    other = tirx.IndexMap.from_func(
        lambda i, j: (i // 8, j // 128, i % 8, j % 64), index_dtype="int64"
    )
    same = tirx.IndexMap.from_func(
        lambda i, j: ((i * 2) // 16, j // 128, i - i // 8 * 8, j % 128), index_dtype="int64"
    )

    def padding() -> int:
        _, predicate = tiles.non_surjective_inverse(list(PART))
        at = np.indices([int(n) for n in tiles.map_shape(list(PART))])
        text = re.sub(r"T\.int64\((\d+)\)", r"\1", str(predicate))
        text = re.sub(r"(axis\d \S+ \d+|\d+ \S+ axis\d)", r"(\1)", text)
        text = text.replace(" and ", " & ").replace(" or ", " | ")
        return int(np.count_nonzero(eval(text, {f"axis{k}": x for k, x in enumerate(at)})))

    def symbols() -> bool:
        i, j, n, m = (tirx.Var(x, "int64") for x in "ijnm")
        ranges = {i: tvm.ir.Range(0, m), j: tvm.ir.Range(0, n)}
        found = detect_iter_map([i * n + j], ranges, check_level=IterMapLevel.Bijective)
        return len(found.indices) == 1

    def in_c() -> bool:
        source = tvm.compile(tvm.script.from_source(TVM_SCRIPT), target="c").mod.inspect_source()
        return runs_in_c(source.partition("O[0] = ")[2].partition(";")[0].replace("A[0]", "i"), "i")

    back = tiles.inverse(list(FULL))
    return {
        "offset": lambda: (
            np.ravel_multi_index([int(x) for x in tiles.map_indices(list(AT))], (2, 2, 8, 128))
            == OFFSET
        ),
        "partial": lambda: padding() == PADDING,
        "symbols": symbols,
        "inverse": lambda: (
            tuple(int(x) for x in back.map_indices(list(np.unravel_index(OFFSET, (2, 2, 8, 128)))))
            == AT
        ),
        "equal": lambda: tiles.is_equivalent_to(same) and not tiles.is_equivalent_to(other),
        "C": in_c,
    }


def isl() -> dict[str, Task]:
    import islpy as isl

    def layout(shape: tuple[int, int], formula: str = FORMULA) -> Any:
        box = f"0 <= i < {shape[0]} and 0 <= j < {shape[1]}"
        return isl.Map(f"{{ [i,j] -> [o] : {box} and o = {formula} }}")

    full, part = layout(FULL), layout(PART)
    slot = isl.Set(f"{{ [{OFFSET}] }}")
    every_second = isl.Map("{ [r,c] -> [2r,c] : 0 <= r < 8 and 0 <= c < 256 }")

    def in_c() -> bool:
        build = isl.AstBuild.from_context(isl.Set("[i] -> { : i >= 0 }"))
        quotient = isl.PwAff("[i] -> { [(floor(i/8))] }")
        return runs_in_c(build.expr_from_pw_aff(quotient).to_C_str(), "i")

    return {
        "offset": lambda: isl.Map(f"{{ [{AT[0]},{AT[1]}] -> [{OFFSET}] }}").is_subset(full),
        "partial": lambda: (
            isl.Set("{ [o] : 0 <= o < 4096 }").subtract(part.range()).count_val().to_python()
            == PADDING
        ),
        "symbols": lambda: isl.Map(
            "[M,N] -> { [i,j] -> [o] : 0 <= i < M and 0 <= j < N and o = N*i + j }"
        ).is_injective(),
        "inverse": lambda: (
            full.reverse()
            .intersect_domain(slot)
            .range()
            .is_equal(isl.Set(f"{{ [{AT[0]},{AT[1]}] }}"))
        ),
        "equal": lambda: full.is_equal(layout(FULL, FORMULA.replace("1024*", "512*2*"))),
        "differ": lambda: not full.subtract(layout(FULL, WRONG)).sample().is_empty(),
        "compose": lambda: isl.Map(f"{{ [3,130] -> [{1024 + 6 * 128 + 2}] }}").is_subset(
            every_second.apply_range(full)
        ),
        "C": in_c,
    }


def einops() -> dict[str, Task]:
    from einops import rearrange

    pattern, back = "(a b) (c d) -> a c b d", "a c b d -> (a b) (c d)"
    array = np.arange(16 * 256).reshape(FULL)
    buffer = rearrange(array, pattern, b=8, d=128)
    return {
        "offset": lambda: buffer.ravel()[OFFSET] == array[AT],
        "partial": lambda: rearrange(np.zeros(PART), pattern, b=8, d=128).size,
        "inverse": lambda: np.array_equal(rearrange(buffer, back), array),
    }


def sympy() -> dict[str, Task]:
    import sympy

    i, j = sympy.symbols("i j", integer=True, nonnegative=True)
    o = 2048 * sympy.floor(i / 8) + 1024 * sympy.floor(j / 128) + 128 * (i % 8) + j % 128
    same = o.subs(i % 8, i - 8 * sympy.floor(i / 8))
    return {
        "offset": lambda: o.subs({i: AT[0], j: AT[1]}) == OFFSET,
        "inverse": lambda: sympy.solve(sympy.Eq(8 * sympy.floor(i / 8) + i % 8, 13), i) == [13],
        "equal": lambda: sympy.simplify(o - same) == 0,
        "compose": lambda: o.subs({i: 6, j: 130}) == 1024 + 6 * 128 + 2,
        "C": lambda: runs_in_c(sympy.ccode(sympy.floor(i / 8)), "i"),
    }


def ours() -> dict[str, Task]:
    full, part = (ml.index_map(TILES.format(*shape)) for shape in (FULL, PART))
    wrong = ml.from_sympy({"i": 16, "j": 256}, WRONG.replace(" mod ", " % "))
    return {
        "offset": lambda: full(*AT) == OFFSET,
        "partial": lambda: ml.is_surjective(part).padding == PADDING,
        "symbols": lambda: ml.is_injective("f32[M,N]").holds,
        "inverse": lambda: full.coordinates(OFFSET) == AT,
        "equal": lambda: ml.are_equivalent(full, "[0, 1, 0 p(8), 1 p(128)]").holds,
        "differ": lambda: ml.are_equivalent(full, wrong).counterexample is not None,
        "compose": lambda: full[::2](3, 130) == full(6, 130),
        "banks": lambda: ml.bank_conflicts("f32[32,32]", "column").ways == 32,
        "C": lambda: runs_in_c(ml.code("i//8", {"i": (0, 2**62)}), "i"),
    }


def runs_in_c(expression: str, name: str) -> bool:
    """Whether gcc's value of an expression at 3·2⁵³ + 7 is that number's eighth."""
    import subprocess
    import tempfile

    value = 3 * 2**53 + 7
    text = "#include <math.h>\n#include <stdio.h>\n#include <stdint.h>\nint main(void) {"
    text += f'int64_t {name} = {value}LL; printf("%lld", (long long)({expression})); }}'
    with tempfile.TemporaryDirectory() as folder:
        file, program = Path(folder, "a.c"), Path(folder, "a.out")
        file.write_text(text)
        subprocess.run(["gcc", "-o", program, file, "-lm"], check=True, capture_output=True)
        done = subprocess.run([program], check=True, capture_output=True, text=True)
    return int(done.stdout) == value // 8


SYSTEMS: dict[str, Callable[[], dict[str, Task]]] = {
    "ours": ours,
    "tensor-layouts": tensor_layouts,
    "pycute": pycute,
    "Triton": triton,
    "TVM": tvm,
    "ISL": isl,
    "einops": einops,
    "SymPy": sympy,
}


def answer(tasks: dict[str, Task], name: str) -> str:
    """Yes, no, or a dash."""
    if name not in tasks:
        return "–"
    try:
        return "yes" if tasks[name]() else "no"
    except Exception as error:
        print("   ", name, repr(error)[:160], file=sys.stderr)  # noqa: T201
        return "no"


SIZES = (16, 256), (512, 1024), (4096, 4096)
SLOW = 512 * 1024  # elements: what visits each of them takes seconds


def bijective() -> dict[str, Callable[[int, int], bool]]:
    """Is the layout of tiles of 8 by 128 bijective? Each system's own way to ask."""
    import islpy as isl
    import tvm.ir
    from tensor_layouts import Layout, analysis
    from triton._C.libtriton.linear_layout import LinearLayout
    from tvm import tirx
    from tvm.sym import detect_iter_map
    from tvm.sym.iter_affine_map import IterMapLevel

    def by_triton(m: int, n: int) -> bool:
        rows = [128 << k if k < 3 else n << k for k in range(m.bit_length() - 1)]
        columns = [1 << k if k < 7 else 8 << k for k in range(n.bit_length() - 1)]
        bases = [("i", [[x] for x in rows]), ("j", [[x] for x in columns])]
        return bool(LinearLayout.from_bases(bases, ["o"], [m * n]).is_invertible)

    def by_tensor_layouts(m: int, n: int) -> bool:
        modes = (8, m // 8), (128, n // 128)
        return analysis.is_bijective(Layout(modes, ((128, 8 * n), (1, 1024))))

    def by_tvm(m: int, n: int) -> bool:
        i, j = tirx.Var("i", "int64"), tirx.Var("j", "int64")
        total = i // 8 * (8 * n) + j // 128 * 1024 + i % 8 * 128 + j % 128
        ranges = {i: tvm.ir.Range(0, m), j: tvm.ir.Range(0, n)}
        found = detect_iter_map([total], ranges, check_level=IterMapLevel.Bijective)
        return len(found.indices) == 1

    def by_isl(m: int, n: int) -> bool:
        formula = FORMULA.replace("2048", str(8 * n))
        text = f"{{ [i,j] -> [o] : 0 <= i < {m} and 0 <= j < {n} and o = {formula} }}"
        stored = isl.Map(text)
        whole = isl.Set(f"{{ [o] : 0 <= o < {m * n} }}")
        return bool(stored.is_injective() and stored.range().is_equal(whole))

    return {
        "ours": lambda m, n: bool(ml.is_bijective(TILES.format(m, n))),
        "Triton": by_triton,
        "TVM": by_tvm,
        "ISL": by_isl,
        "tensor-layouts": by_tensor_layouts,
    }


def timed(call: Task, rounds: int) -> str:
    """Processor time in milliseconds, the median of some rounds, from the text on."""
    times = []
    for _ in range(rounds):
        start = process_time()
        assert call()
        times.append((process_time() - start) * 1e3)
    return f"{statistics.median(times):,.2f}" if rounds > 1 else f"{times[0]:,.0f}"


def report() -> str:
    """Both tables, with the versions that ran."""
    used = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    day = datetime.date.today().isoformat()
    load = f"{os.getloadavg()[0]:.0f} processes on {os.cpu_count()} cores"
    lines = [f"{day}, {load}, Python {platform.python_version()}, {used}.", ""]
    lines += ["| task | " + " | ".join(SYSTEMS) + " |", "| --- |" + " --- |" * len(SYSTEMS)]
    found = {system: tasks() for system, tasks in SYSTEMS.items()}
    for name, text in TASKS.items():
        cells = [answer(tasks, name) for tasks in found.values()]
        lines.append(f"| {text} | " + " | ".join(cells) + " |")
    heads = " | ".join(f"{m:,} by {n:,}" for m, n in SIZES)
    lines += [
        "",
        f"| milliseconds to decide: bijective? | {heads} |",
        "| --- |" + " ---: |" * len(SIZES),
    ]
    for system, ask in bijective().items():
        cells = []
        for m, n in SIZES:
            visits = system == "tensor-layouts" and m * n >= SLOW
            rounds = 0 if visits and m * n > SLOW else 1 if visits else 21
            cells.append(
                timed(lambda m=m, n=n, ask=ask: ask(m, n), rounds) if rounds else "not asked"
            )
        lines.append(f"| {system} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    """Print the tables, or put them into the page."""
    text = report()
    print(text)  # noqa: T201
    if arguments == ["--write"]:
        page = PAGE.read_text(encoding="utf-8")
        before, after = (
            f"<!-- {x} tasks: made by tests/benchmarks/peer_tasks.py -->" for x in ("begin", "end")
        )
        start, end = page.index(before) + len(before), page.index(after)
        PAGE.write_text(f"{page[:start]}\n{text}\n{page[end:]}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
