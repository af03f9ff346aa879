"""Names of coordinates: one place puts them on, and everything that users read has them."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import sympy

import morello_layouts as ml
from morello_layouts.check import check
from tests.support.tables import each_row

LAYOUTS = [
    ("f32[3,5]{1,0:T(2,2)}", None),
    ("[1, 0, 1 p(4)]", (6, 8)),
    ("bf16[10,200]{0,1:T(8,128)(2,1)}", None),
    (lambda i, j: 16 * i + (j + 3 * i) % 16, (4, 16)),
]


@each_row("layout, shape", LAYOUTS)
def test_a_named_map_is_the_same_map(layout: Any, shape: Any) -> None:
    m = ml.index_map(layout, shape)
    named = ml.index_map(layout, shape, names=("y", "x"))
    y, x = named.symbols
    assert (y.name, x.name) == ("y", "x")
    renaming = dict(zip(m.symbols, named.symbols, strict=True))
    assert m.expr.xreplace(renaming) == named.expr
    assert m.reference.xreplace(renaming) == named.reference
    assert list(named.bounds.items()) == list(zip((y, x), m.bounds.values(), strict=True))
    rows, columns = np.indices(m.shape)
    assert np.array_equal(named(rows, columns), m(rows, columns))
    assert np.array_equal(named(x=columns, y=rows), m(rows, columns))
    assert named.subs(y=1).subs(x, 2) == m(1, 2) == named(x=2, y=1)
    if m.decompose().is_complete:
        assert named.modes("x") == m.modes(1)
    assert named.named(*m.coordinate_names) == m


def test_everything_that_is_read_has_the_names() -> None:
    m = ml.index_map("f32[3,5]{1,0:T(2,2)}", names="y, x")
    texts = [
        *(str(m), repr(m), m._repr_latex_(), str(m.inverse), str(m.derivation)),
        *(str(m.decompose()), str(m.at()), repr(m.affine_map), ml.code(m), ml.code(m.inverse)),
        *(ml.code(m, "latex"), ml.code(m, "mlir"), ml.code(m.decompose(), "rust", function=True)),
    ]
    for text in texts:
        assert {"y", "x"} <= {*text}, text
        assert "d0" not in text, text
        assert "d_{" not in text, text


VIEWS: list[tuple[Any, str]] = [
    (lambda m: m[1:3, ::-1], "y x c"),
    (lambda m: m[1], "x c"),
    (lambda m: m[:, 2:3, 1], "y x"),
    (lambda m: m[None, :, 0], "d0 y c"),
    (lambda m: m.view(transpose=(2, 0, 1)), "c y x"),
    (lambda m: m.view(reverse=(0, 2)), "y x c"),
    (lambda m: m[:, 0:1].view(squeeze=1), "y c"),
    (lambda m: m.view(reshape=(24, 8)), "d0 c"),
    (lambda m: m.view(reshape=(4, 2, 3, 8)), "y d1 d2 c"),
    (lambda m: m.view(reshape=(4, 2, 3, 8), transpose=(1, 0, 3, 2)), "d0 y c d3"),
    (lambda m: m.view(windows={1: 3}), "y d1 c d3"),
    (lambda m: m.view(diagonal=(0, 1)), "c d1"),
    (lambda m: m.view(tiles=(2, 6, 8)), "d0 d1 d2 d3 x c"),
    (lambda m: m.view(broadcast=(2, 4, 6, 8)), "d0 y x c"),
    (lambda m: m.compose(ml.from_sympy({"a": 4, "b": 3}, ("a", "2*b", "b"))), "a b"),
    (lambda m: m.compose(ml.from_sympy((4, 3), ("d0", "2*d1", "d1"))), "y d1"),
]


@each_row("view, names", VIEWS)
def test_a_view_keeps_the_names_of_what_it_keeps(view: Any, names: str) -> None:
    m = ml.index_map("f32[4,6,8]{2,0,1:T(2,4)}", names=("y", "x", "c"))
    found = view(m)
    assert found.coordinate_names == tuple(names.split())
    plain = view(m.named())
    at = tuple(np.indices(found.shape, sparse=True))
    assert np.array_equal(found(*at), plain(*at))


def test_the_offset_keeps_its_name() -> None:
    slots = ml.from_sympy({"p": 48}, ("p//8", "p%8"))
    assert str(slots) == "(p) -> (p//8, p%8)"
    assert str(ml.index_map("[1, 0]", (6, 8)).compose(slots)) == "(d0) -> 6*(d0%8) + d0//8"


def test_a_name_that_a_language_keeps_for_itself() -> None:
    m = ml.index_map("[0, 1]", (6, 8), names=("in", "int"))
    assert ml.code(m, "mlir") == "affine_map<(in, int) -> (8 * in + int)>"


def test_loop_names_outlive_a_composition() -> None:
    packed = ml.index_map("[1, 0, 1 p(16)]", (64, 64))
    loops = ml.from_sympy({"jo": 4, "k": 64, "ji": 16}, ("k", "16*jo + ji"))
    view = packed.compose(loops)
    assert ml.code(view) == "1024 * jo + 16 * k + ji"
    scope: dict[str, Any] = {}
    exec(ml.code(view, "python", function=True), scope)
    for jo, k, ji in product(range(4), range(0, 64, 9), range(16)):
        assert scope["offset"](jo=jo, k=k, ji=ji) == packed(k, 16 * jo + ji)


def test_pictures_and_explanations_have_the_names() -> None:
    layout, names = "f32[3,5]{1,0:T(2,2)}", ("row", "col")
    picture = ml.draw(layout, names="row, col")
    for text in (
        str(picture),
        picture.svg(),
        picture.html(),
        str(ml.draw(ml.index_map(layout, names=names))),
    ):
        assert "row ↓" in text
        assert "12*(row//2) + 4*(col//2)" in text
        assert not re.search(r"\bd0\b", text)
    explained = str(ml.explain(layout, names=names, derivation=True))
    assert "row 3, col 5" in explained
    assert "formula    12*(row//2) + 4*(col//2) + 2*(row%2) + col%2" in explained
    assert "row ↓ col →" in explained
    assert "d0" not in explained
    assert ml.code(layout, names="row, col") == ml.code(ml.index_map(layout, names=names))


def test_proofs_have_the_names() -> None:
    pairs = ml.from_sympy({"y": 6, "x": 8}, "8*y + x%7")
    assert pairs.expr.free_symbols == set(pairs.symbols)
    answer = ml.is_injective(pairs)
    assert answer.counterexample == ((0, 0), (0, 7))
    assert "(y=0, x=0) and (y=0, x=7) share offset 0" in str(answer)
    rows = ml.index_map("f32[M,N]", names=("y", "x"))
    other = ml.are_equivalent(rows, "f32[M,N]{0,1}")
    assert other.counterexample.at == (0, 1)
    assert "puts (y=0, x=1) at offsets" in str(other)


@each_row("layout", ["bf16[10,200]{1,0:T(8,128)(2,1)}", "f32[M,N]{1,0:T(8,128)}", "f32[3,3]{0,1}"])
def test_formulas_with_names_are_judged(layout: str) -> None:
    m = ml.index_map(layout, names=("y", "x"))
    assert m.expr.free_symbols >= set(m.symbols)
    assert m.reference.free_symbols >= set(m.symbols)
    assert m.inverse.exprs
    assert ml.verify(m).holds
    assert ml.is_injective(m).judged == "formulas"
    check(ml.certificate(m, claim="padded"))
    check(ml.certificate(m, claim="verified"))
    wrong = ml.index_map(layout, names=("y", "x"))
    wrong.__dict__["expr"] = m.expr + sympy.Mod(m.symbols[0], 2)
    assert ml.verify(wrong).holds is False
    assert "the SymPy expression" in ml.verify(wrong).reason
