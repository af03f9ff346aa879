"""Maps at coordinates that are SymPy symbols and expressions."""

from __future__ import annotations

import sympy

import morello_layouts as ml

ROW, COL = sympy.symbols("i j", integer=True, nonnegative=True)
TILED = "f32[6,8]{1,0:T(2,4)}"


def test_a_formula_of_other_symbols_has_the_values_of_the_map() -> None:
    m = ml.index_map(TILED)
    assert {s.name for s in m(ROW, COL).free_symbols} == {"i", "j"}
    rows = 2 * ROW + 1  # lies within the dimension for i up to 2
    for i in range(3):
        for j in range(8):
            assert m(ROW, COL).subs({ROW: i, COL: j}) == m(i, j)
            assert m(rows, COL).subs({ROW: i, COL: j}) == m(2 * i + 1, j)
            physical = m.physical_coordinates(rows, COL)
            assert tuple(x.subs({ROW: i, COL: j}) for x in physical) == m.physical_coordinates(
                2 * i + 1, j
            )


def test_symbols_may_have_the_names_of_coordinates() -> None:
    m = ml.index_map(TILED)
    d0, d1 = m.symbols
    swapped = ml.index_map("f32[6,6]{1,0:T(2,3)}")(d1, d0)
    assert swapped.subs({d0: 4, d1: 1}, simultaneous=True) == ml.index_map("f32[6,6]{1,0:T(2,3)}")(
        1, 4
    )


def test_numbers_in_place_of_some_coordinates() -> None:
    m = ml.index_map(TILED)
    d0, d1 = m.symbols
    for given in (m.subs(d0=5), m.subs({"d0": 5}), m.subs({d0: 5}), m(5, d1)):
        assert [given.subs(d1, j) for j in range(8)] == [m(5, j) for j in range(8)]
    assert m.subs(d0=5, d1=7) == m(5, 7) == m(sympy.Integer(5), sympy.Integer(7))
    several = ml.from_sympy({"shape": (6,)}, ("d0//4", "d0%4"))
    assert several.subs(d0=ROW) == (sympy.floor(ROW / 4), sympy.Mod(ROW, 4))


def test_bounds_are_those_that_simplify_and_code_take() -> None:
    m = ml.index_map(("f32[M,N]{1,0:T(8,128)}"), assuming="128 | N")
    assert ml.simplify(m.reference, {**m.bounds, "N": (128, None)}).has(sympy.floor)
    p = m.at(M=9, N=256).inverse
    (limits,) = p.bounds.values()
    assert limits == (0, 16 * 256 - 1)
    assert "uint64_t" not in ml.code(p.exprs[1], "c", bounds=p.bounds)
