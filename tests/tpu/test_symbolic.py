"""Waste as a formula: equal to the count wherever the sizes are numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sympy
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts import tpu
from morello_layouts.core.expr.sizes import Int, SizeExpr
from tests.support.xla_strategies import arrays


def formula(text: str) -> tpu.WasteFormula:
    x = ml.parse(text)
    assert isinstance(x, ml.XlaShape)
    return tpu.waste_formula(x)


def test_the_formula_of_a_16_bit_tiling() -> None:
    m, n = sympy.symbols("M N", integer=True, positive=True)
    f = formula("bf16[M,N]{1,0:T(8,128)(2,1)}")
    reserved = 2048 * sympy.ceiling(m / 8) * sympy.ceiling(n / 128)
    assert f.data_bytes == 2 * m * n
    assert f.reserved_bytes == reserved
    assert f.padding_bytes == reserved - 2 * m * n
    assert f.factor == reserved / (2 * m * n)
    assert [reason.text for reason in f.reasons] == [
        "minor dimension d1 of size N is padded to 128*ceil(N/128): tiles (8,128) have 128 columns",
        "second-minor dimension d0 of size M is padded to 8*ceil(M/8): tiles (8,128) have 8 rows",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s4[M]{0:T(1024)(128)(8,1)E(4)}", "ceil(M/2) bytes of data in 512*ceil(M/1024)"),
        ("pred[M,128]{1,0:T(8,128)E(32)}", "128*M bytes of data in 4096*ceil(M/8)"),
        ("f32[M,8,128]{2,1,0:T(8,128)}", "4096*M bytes of data in 4096*M"),
        ("f32[M,M]", "4*M**2 bytes of data in 4*M**2"),
        ("f32[0,M]{1,0:T(8,128)}", "0 bytes of data in 0"),
        ("f32[3,5]{1,0:T(8,128)}", "60 bytes of data in 4096"),
        ("f32[M,3]{1,0:T(*,4)L(32)}", "12*M bytes of data in 128*ceil(3*M/32)"),
    ],
)
def test_formulas(text: str, expected: str) -> None:
    assert str(formula(text)).splitlines()[0] == f"{ml.parse(text)}: {expected}"


def value(n: Int, sizes: dict[str, int]) -> int:
    found = n.evaluate(sizes) if isinstance(n, SizeExpr) else n
    assert isinstance(found, int)
    return found


@pytest.mark.slow
@given(arrays(), st.data())
def test_the_formula_equals_the_count(x: ml.XlaShape, data: st.DataObject) -> None:
    """With some of the sizes named; then with a number for each name."""
    sizes: dict[str, int] = {}
    dims: list[int | str] = []
    for k, n in enumerate(x.shape):
        if n > 0 and data.draw(st.booleans()):
            sizes[f"n{k}"] = n
            dims.append(f"n{k}")
        else:
            dims.append(n)
    f = tpu.waste_formula(replace(x, dims=tuple(dims)))
    known = tpu.waste(x)
    assert (value(f.data, sizes), value(f.reserved, sizes)) == (
        known.data_bytes,
        known.reserved_bytes,
    )
    reasons = [(r.dimensions, value(r.size, sizes), value(r.padded, sizes)) for r in f.reasons]
    applying = [(dims, size, padded) for dims, size, padded in reasons if size != padded]
    assert applying == [(r.dimensions, r.size, r.padded) for r in known.reasons]
    assert f.at(**sizes) == known


@pytest.mark.parametrize(("m", "n"), [(1, 1), (8, 128), (9, 129), (10, 200)])
def test_sympy_gives_the_count_too(m: int, n: int) -> None:
    f = formula("bf16[M,N]{1,0:T(8,128)(2,1)}")
    found = {symbol.name: symbol for symbol in f.factor.free_symbols}
    values = {found["M"]: m, found["N"]: n}
    known = f.at(M=m, N=n)
    assert f.reserved_bytes.subs(values) == known.reserved_bytes
    assert f.padding_bytes.subs(values) == known.padding_bytes
    assert float(f.factor.subs(values)) == known.factor


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("f32[?]", "f32[?]{0} has an unbounded size"),
        ("f32[M]{0:T(8)SC(0:4)}", "f32[M]{0:T(8)SC(0:4)} splits the array at fixed places"),
        ("token[]", "token[] is not an array"),
    ],
)
def test_unsupported(text: str, what: str) -> None:
    with pytest.raises(ml.UnsupportedError) as caught:
        formula(text)
    assert caught.value.what == what
    assert caught.value.why
    assert caught.value.fix


def test_numbers_with_sc_have_a_formula() -> None:
    assert formula("f32[8,128]{1,0:T(8,128)SC(0:3)}").reserved == 4096


@pytest.mark.parametrize("sizes", [{}, {"M": 1}, {"M": 1, "N": 2, "K": 3}])
def test_values_for_each_name(sizes: dict[str, int]) -> None:
    with pytest.raises(
        ml.ShapeError,
        match=r"expected M, N, got .*\nthese are the symbolic sizes of .*\ngive one value",
    ):
        formula("f32[M,N]").at(**sizes)
