"""What simplify reads and refuses, by its text; what is printed reads back."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import ceil, floor
from typing import Any

import pytest

import morello_layouts as ml
from tests.support.codegen_cases import cases
from tests.support.tables import each_row


@each_row(
    "bounds",
    [
        {"i": "0..7", "j": "0<=j<4"},
        {"i": "0<=i<8", "j": "range(4)"},
        {"i": 8, "j": "j in 0..3"},
        {"i": "M", "j": 4},
        {"i": "(M + 1)*2", "j": 4},
    ],
)
def test_bounds_of_one_name_as_text(bounds: Any) -> None:
    assert str(ml.simplify("(4*i + j)//4", bounds)) == "i"


def test_verified_results_are_proved() -> None:
    found = ml.simplify("(32*i + j)//8", {"i": (0, 31), "j": (0, 31)}, verify=True)
    assert str(found) == "4*i + floor(j/8)"


class Whole(int):
    """An integer whose quotients are exact, as those of mathematics."""

    def __truediv__(self, other: int) -> Fraction:  # type: ignore[override]
        return Fraction(self, other)

    def __mul__(self, other: Any) -> Any:
        return Fraction(self) * other

    __rmul__ = __mul__

    def __neg__(self) -> Fraction:  # type: ignore[override]
        return -Fraction(self)


@pytest.mark.slow
@each_row(
    "text",
    [
        "floor(3*i/8 + 5*j/8)",
        "floor(i + j/8)",
        "floor(i - j/8 + 1/2)",
        "floor(-i/4)",
        "floor(i/-4)",
        "floor(i/2/3)",
        "floor(2*(i/3 + j/2)/5)",
        "floor(i/2 + 7*floor(j/3 + 1/3)/4) + 1",
        "ceil(i/2 + j/3)",
        "ceiling(3*i/4)",
        "2*i/2 + (8*j)/8",
        "floor((i/2)**1 + j/2**3)",
        "i//2**2",
        "-2**2 + i",
        "(i + 3)**0",
    ],
)
def test_fractions_and_powers(text: str) -> None:
    found = ml.code(text, "python", {"i": (0, 40), "j": (0, 40)})
    names = {"floor": floor, "ceil": ceil, "ceiling": ceil}
    for i, j in product(range(0, 41, 3), range(41)):
        assert eval(found, {}, {"i": i, "j": j}) == eval(
            text, dict(names), {"i": Whole(i), "j": Whole(j)}
        ), (i, j, found)


LAYOUTS = [
    "f32[M,N]{1,0:T(8,128)}",
    "bf16[M,N]{0,1:T(8,128)(2,1)}",
    "f32[M,N,K]{1,0,2:T(8,128)}",
    "f32[M,N]{1,0:T(3,5)}",
    "f32[M,N,N]{2,1,0}",
    "bf16[20,300]{1,0:T(8,128)(2,1)}",
]


@pytest.mark.slow
@each_row("simplified", ["readable", "cheapest"])
@each_row("target", ["python", "sympy"])
@each_row("layout", LAYOUTS)
def test_printed_formulas_of_sizes_read_back(layout: str, target: str, simplified: Any) -> None:
    m = ml.index_map(layout)
    back = ml.from_sympy({"shape": m.shape}, ml.code(m, target, simplified=simplified))
    assert ml.are_equivalent(back, m).holds
    assert ml.are_equivalent(ml.from_sympy({"shape": m.shape}, str(m.form)), m).holds


def test_a_size_rounded_up_to_tiles_is_read_as_one() -> None:
    bounds = {"i": (0, 99), "N": (1, None)}
    for text in ("8*((N + 7)//8)*i", "8*floor(N/8 + 7/8)*i", "8*ceil(N/8)*i", "-8*(-N//8)*i"):
        assert ml.code(text, "python", bounds) == "8*((N + 7)//8)*i"


@pytest.mark.slow
def test_printed_expressions_read_back() -> None:
    """The text of SymPy has fractions, and so does what str() gives of a result."""
    checked = 0
    for case in [case for case in cases() if isinstance(case.of, str)]:
        if "-9223372036854775807 - 1" in case.of:
            continue  # which is written as the negative of a number past 64 bits
        for text in (
            case.code("python"),
            case.code("sympy"),
            str(ml.simplify(case.of, case.bounds)),
        ):
            back = ml.code(text, "python", case.bounds)
            for at in range(0, len(case.arguments), max(1, len(case.arguments) // 30)):
                values = dict(zip(case.names, case.arguments[at], strict=True))
                assert eval(back, {}, values) == case.results[at][0], (case.label, text)
                checked += 1
    assert checked > 1000
