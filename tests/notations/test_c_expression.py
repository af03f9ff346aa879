"""Index expressions of C: what is read has the values that a C compiler computes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from itertools import product
from pathlib import Path
from random import Random

import pytest
import sympy

import morello_layouts as ml
from morello_layouts.core.expr import Interval
from morello_layouts.notations.c_expression import parse_c_expression
from tests.support.tables import each_row

BOUNDS = {"a": (0, 12), "b": (0, 70000), "s": (-9, 9), "threadIdx.x": (0, 31), "n": (48, 48)}
POINTS = [
    dict(zip(BOUNDS, point, strict=True))
    for point in product(
        (0, 1, 5, 7, 12), (0, 3, 64, 255, 46341, 70000), (-9, -8, -1, 0, 4, 9), (0, 1, 8, 31), (48,)
    )
]
INTERVALS = {name: Interval(*ends) for name, ends in BOUNDS.items()}  # fmt: skip


def random_text(rng: Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(
            [*BOUNDS, "a", "b", "1", "7", "8", "16u", "0x1F", "3LL", "65536", "(long)b", "(int)a",
             "(unsigned)a", "~7", "~7u", "-a", "-3"]
        )  # fmt: skip
    sign = rng.choice(["+", "-", "*", "/", "%", "<<", ">>", "&", "^", "|", "+", "/", "%"])
    left, right = random_text(rng, depth - 1), random_text(rng, depth - 1)
    if sign in ("/", "%", "<<", ">>"):
        right = rng.choice(["2", "3", "8", "31", "n", "16u"])
    text = f"{left} {sign} {right}"
    return f"({text})" if rng.random() < 0.4 else text


def compiled(texts: list[str], folder: Path) -> ctypes.CDLL:
    """Functions of the texts, by GCC, whose integers wrap around."""
    lines = ["struct three { unsigned x, y, z; };"]
    lines += [
        f"long long f{k}(int a, int b, int s, unsigned x, int n)"
        f" {{ struct three threadIdx = {{x, 0, 0}}; return {text}; }}"
        for k, text in enumerate(texts)
    ]
    (folder / "f.c").write_text("\n".join(lines))
    command = ["gcc", "-w", "-O0", "-fwrapv", "-shared", "-fPIC", "-o", folder / "f.so"]
    subprocess.run([*command, folder / "f.c"], check=True, timeout=120)
    return ctypes.CDLL(str(folder / "f.so"))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="GCC is not installed")
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_what_is_read_has_the_values_of_a_compiler(seed: int, tmp_path: Path) -> None:
    rng, read = Random(seed), {}
    tried = 400 if seed == 1 else 6000
    for _ in range(tried):
        text = random_text(rng, rng.randint(1, 4))
        try:
            read[text] = parse_c_expression(text, INTERVALS)
        except ml.LayoutError:
            continue
    assert len(read) > tried / 5
    library = compiled([*read], tmp_path)
    for k, (text, form) in enumerate(read.items()):
        function = getattr(library, f"f{k}")
        function.restype = ctypes.c_longlong
        for point in POINTS[:: 1 if seed == 1 else 7]:
            assert form.evaluate(point) == function(*point.values()), (text, point)


@each_row(
    ("text", "words"),
    [
        ("(s + 1) / 2", "/: s + 1 may be negative"),
        ("s % 8", "%: s may be negative"),
        ("s >> 1", ">>: s may be negative"),
        ("a ^ s", "^: s may be negative"),
        ("a / 0", "/: expected 1 or more, got 0"),
        ("a / -2", "/: expected 1 or more, got -2"),
        ("a / b", "b is not a divisor"),
        ("b * 65536", "65536*b may be 4587520000"),
        ("b << 16", "65536*b may be 4587520000"),
        ("(long)b << 64", "<<: expected 0 to 63, got 64"),
        ("a >> 32", ">>: expected 0 to 31, got 32"),
        ("b >> a", ">>: expected 0 to 31, got a"),
        ("threadIdx.x - 1", "threadIdx.x - 1 may be -1, and is unsigned"),
        ("a - 13u", "a - 13 may be -13, and is unsigned"),
        ("(long)b & ~7u", "-8 may be -8, and is unsigned"),
        ("-3 * 16u", "-48 may be -48, and is unsigned"),
        ("(a + 1", "expected"),
        ("a // 8", "found '/'"),
        ("010 + a", "an octal number"),
        ("(long)(a * b)", "a cast of more than a name or a number"),
        ("blockIdx.x * blockDim.x", "is a product of two variables"),
        ("q + 1", "q + 1 has no known bounds"),
        ("printf(a)", "expected an operator"),
    ],
)
def test_what_c_may_compute_otherwise_is_refused(text: str, words: str) -> None:
    with pytest.raises(ml.ParseError) as caught:
        parse_c_expression(text, INTERVALS)
    assert words in str(caught.value)
    assert caught.value.position >= 0


def test_precedence_is_that_of_c() -> None:
    def read(text: str) -> str:
        return str(parse_c_expression(text, INTERVALS))

    assert read("a & 7 << 1") == read("a & (7 << 1)") != read("(a & 7) << 1")
    assert read("1 + a << 2") == "4*a + 4"
    assert read("a & 1 ^ 2 | 4") == read("((a & 1) ^ 2) | 4")


def test_the_public_functions_read_c() -> None:
    tid = sympy.Symbol("tid", integer=True, nonnegative=True)
    text = "(tid & 7) * 64 + (tid >> 3)"
    assert ml.simplify(text, {"tid": 128}, language="c") == ml.simplify(text, {"tid": 128})
    assert tid not in ml.simplify("tid % 64 / 64", {"tid": 128}, language="c").free_symbols
    rows = ml.from_sympy({"i": 8, "j": 64}, "i / 4 * 256 + j * 4 + i % 4", language="c")
    assert ml.are_equivalent(rows, "{0,1:T(4,1)}").holds or rows(5, 3) == 269
    with pytest.raises(ml.LayoutError, match="expected 'python' or 'c'"):
        ml.simplify("i", language="rust")
    found = ml.simplify("blockIdx.x * blockDim.x + threadIdx.x",
                        "blockDim.x==256, blockIdx.x=0..99", language="c")  # fmt: skip
    assert str(found) == "256*blockIdx.x + threadIdx.x"


def test_inductor_s_functions_are_read() -> None:
    floor_div, modular = sympy.Function("FloorDiv"), sympy.Function("ModularIndexing")
    i, j = sympy.symbols("i j", integer=True, nonnegative=True)
    expected = ml.simplify("(32*i + j)//8 + j//2%8", {"j": (0, 31)})
    assert (
        ml.simplify("FloorDiv(32*i + j, 8) + ModularIndexing(j, 2, 8)", {"j": (0, 31)}) == expected
    )
    given = floor_div(32 * i + j, 8) + modular(j, 2, 8)
    assert str(ml.simplify(given, {i: (0, None), j: (0, 31)})) == str(expected)
    with pytest.raises(ml.LayoutError, match="expected ','"):
        ml.simplify("ModularIndexing(i, 2)")


def test_maps_of_functions_compute_with_bits() -> None:
    swizzled = ml.from_sympy((8, 64), lambda i, j: (i << 6) + (j ^ ((i & 7) << 3)))
    assert [swizzled(5, j) for j in range(64)] == [320 + (j ^ 40) for j in range(64)]
    assert ml.are_equivalent(swizzled, "Sw<3,3,3> o 0 o (8,64):(64,1)").holds
    halves = ml.from_sympy((8, 64), lambda i, j: sympy.floor(i / 2) * 128 + j)
    assert halves(3, 5) == 133
    with pytest.raises(ml.ShapeError, match="expected 2 parameters, got 1"):
        ml.from_sympy((8, 64), lambda i: i)
