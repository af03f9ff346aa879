"""A user's formula and a view are maps like any other: every public function takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sympy import Mod, floor, symbols

import morello_layouts as ml
from morello_layouts.core.maps import IndexMap
from tests.support.tables import each_row

BASE = ml.index_map("f32[16,256]{1,0:T(8,128)}")
ROW, COLUMN = symbols("d0 d1", integer=True, nonnegative=True)
SIX: Any = {"shape": (6, 8)}


def made(domain: Any, *formula: Any) -> IndexMap:
    return ml.index_map(ml.from_sympy(domain, formula if len(formula) > 1 else formula[0]))


MAPS: dict[str, IndexMap] = {
    "row-major": made(SIX, "8*d0 + d1"),
    "of SymPy": made(SIX, 24 * floor(COLUMN / 4) + 4 * ROW + Mod(COLUMN, 4)),
    "names": made({"y": 6, "x": 8}, "8*y + x"),
    "a pitch and a start": made(SIX, "20*d0 + d1 + 3"),
    "gaps": made(SIX, "32*d0 + 2*d1"),
    "backwards": made(SIX, "8*d0 + 7 - d1"),
    "a swizzle": made({"shape": (8, 8)}, "8*d0 + (d1 ^ d0)"),
    "a swizzle of tiles": made({"shape": (16, 32)}, "32*d0 + 4*((d1//4) ^ (d0//2)) + d1%4"),
    "skewed": made(SIX, "8*d0 + (d0 + d1)%8"),
    "digits in no order": made(SIX, "10*(d0//4) + 33*(d0%4) + 4*d1"),
    "one dimension": made({"shape": (24,)}, "4*(d0%6) + d0//6"),
    "shared": made(SIX, "d0 + d1"),
    "a stride of 0": made(SIX, "d1"),
    "of a function": made(SIX, lambda i, j: (j // 4, i, j % 4)),
    "a slice": BASE[3:11, 5:200:2],
    "a slice backwards": BASE[::-1, ::-3],
    "broadcast": BASE[0:1].view(broadcast=(5, 256)),
    "a diagonal": BASE.view(diagonal=(0, 1)),
    "windows": BASE[:, :16].view(windows={1: 3}),
    "tiles": BASE.view(tiles=(8, 128)),
    "gathered": BASE.view(gather=ml.from_sympy({"shape": (4, 5)}, ("2*d0 + 1", "50*d1"))),
}
SYMBOLIC: dict[str, IndexMap] = {
    "rows": made(("M", "N"), "N*d0 + d1"),
    "a pitch": made({"shape": ("M", "N"), "sizes": "ld"}, "ld*d0 + d1"),
    "padded rows": made(("M", "N"), "16*((N + 15)//16)*d0 + d1"),
    "a slice": ml.index_map("f32[M,N]{1,0:T(8,128)}")["i":"i + 8"],
    "reversed": ml.index_map("f32[M,N]{0,1}")[::-1],
}


def offsets(m: IndexMap) -> np.ndarray:
    found: np.ndarray = m(*np.indices(m.shape))
    return found


def is_injective(m: IndexMap) -> bool:
    return len(np.unique(offsets(m))) == offsets(m).size


@each_row("name", MAPS)
def test_proofs(name: str) -> None:
    m = MAPS[name]
    assert ml.verify(m).holds
    assert ml.is_injective(m).holds == is_injective(m)
    assert ml.is_surjective(m).holds == (len(np.unique(offsets(m))) == m.size)
    assert ml.are_equivalent(m, m).holds


@each_row("name", MAPS)
def test_arrays_and_coordinates(name: str) -> None:
    m = MAPS[name]
    at, array = offsets(m), np.arange(np.prod(m.shape), dtype=np.int32).reshape(m.shape)
    buffer = np.arange(m.size, dtype=np.int32) + 7
    assert (ml.unpack(m, buffer) == buffer[at]).all()
    if not is_injective(m):
        with pytest.raises(ml.UnsupportedError, match="share slot"):
            ml.pack(m, array)
        return
    packed = ml.pack(m, array, fill=-1)
    assert (packed[at] == array).all()
    assert np.count_nonzero(packed == -1) == m.size - array.size
    for coordinate in np.ndindex(*m.shape[:2]) if array.ndim == 2 else ():
        assert m.coordinates(int(at[coordinate])) == coordinate


@each_row("name", MAPS)
def test_moves(name: str) -> None:
    m = MAPS[name]
    rows = f"[{', '.join(map(str, range(len(m.shape))))}]"
    names: dict[str, Any] = {}
    buffer = np.arange(m.size, dtype=np.int32) + 7
    exec(ml.relayout(m, rows).kernel("python", "int32", name="read"), names)
    assert (names["read"](buffer).reshape(m.shape) == buffer[offsets(m)]).all()
    if is_injective(m):
        exec(ml.relayout(rows, m).kernel("python", "int32", name="write"), names)
        array = np.arange(np.prod(m.shape), dtype=np.int32)
        assert (names["write"](array)[offsets(m)].reshape(-1) == array).all()


@each_row("name", [*MAPS, *SYMBOLIC])
def test_text_and_pictures(name: str) -> None:
    m = {**SYMBOLIC, **MAPS}[name]
    for language in ("c", "cuda", "rust", "python"):
        assert ml.code(m, language, function=True)
    assert str(ml.explain(m))
    assert m._repr_latex_()
    assert m.decompose().forms
    if not m.recipe.names:
        assert "<svg" in ml.draw(m).svg()


@each_row("name", MAPS)
def test_code_in_python(name: str) -> None:
    m = MAPS[name]
    names: dict[str, Any] = {}
    exec(ml.code(m, "python", function=True), names)
    coordinate = tuple(n - 1 for n in m.shape)
    assert names["offset"](*coordinate) == m(*coordinate)


@each_row("name", SYMBOLIC)
def test_symbolic_sizes(name: str) -> None:
    m = SYMBOLIC[name]
    assert ml.verify(m).holds
    assert ml.is_injective(m).holds
    sizes = {"M": 20, "N": 9, "ld": 12, "i": 5}
    values = {size: sizes[size] for size in m.recipe.names}
    fixed = m.at(**values)
    at = dict(zip(("d0", "d1"), np.indices(fixed.shape), strict=True))
    assert (m.form.evaluate({**sizes, **at}) == offsets(fixed)).all()
    names: dict[str, Any] = {}
    exec(ml.relayout(m, "[0, 1]").kernel("python", "int32", name="read"), names)
    buffer = np.arange(fixed.size, dtype=np.int32)
    found = names["read"](buffer, **values)
    assert (found.reshape(fixed.shape) == buffer[offsets(fixed)]).all()
