"""Alignment, against the greatest common divisor of all addresses, counted in NumPy."""

from __future__ import annotations

from itertools import product
from math import gcd
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts.core.fields import plain
from tests.support.tables import each_row
from tests.support.xla_strategies import small_arrays


def brute(m: ml.IndexMap, tile: tuple[int, ...] | None = None) -> int:
    """The greatest common divisor of all offsets, or of those of the first elements of tiles."""
    steps = tile or (1,) * len(m.shape)
    at = np.meshgrid(*(range(0, n, t) for n, t in zip(m.shape, steps, strict=True)), indexing="ij")
    return int(np.gcd.reduce(np.asarray(m(*at)), axis=None))


NUMBERS: list[tuple[Any, Any, Any]] = [
    ("f32[16,256]{1,0:T(8,128)}", None, (8, 128)),
    ("f32[16,256]{1,0:T(8,128)}", None, (4, 64)),
    ("f32[16,250]{1,0:T(8,128)}", None, (3, 100)),
    ("bf16[10,200]{1,0:T(8,128)(2,1)}", None, (2, 1)),
    ("bf16[10,200]{1,0:T(8,128)(2,1)}", None, (1, 200)),
    ("[1, 0, 1 p(4)]", (6, 8), (1, 4)),
    ("[1, 0, 1 p(4)]", (6, 8), None),
    ("[0, 0 oe(8)]", (16,), (4,)),
    ("strided<[64, 4], offset: 12>", (5, 6), None),
    ("strided<[64, 4], offset: 16>", (5, 6), None),
    ("strided<[64, 4], offset: 16>", (1, 1), None),
    ("Sw<3,3,3> o 0 o (8,64):(64,1)", None, (1, 16)),
    (lambda i, j: 24 * ((i + j) // 4) + 6 * (i % 2), (8, 8), None),
    (lambda i: 10 * (i // 4) + 15 * (i // 6), (24,), None),
    (lambda i: 10 * (i // 4) + 15 * (i // 6), (5,), None),
]


@each_row("layout, shape, tile", NUMBERS)
def test_no_larger_number_divides_all_addresses(layout: Any, shape: Any, tile: Any) -> None:
    m = ml.index_map(layout, shape)
    found = ml.alignment(m, unit="elements", tile=tile)
    assert found.number == found.formula == brute(m, tile)
    assert found.is_greatest
    assert ml.alignment(m, tile=tile, bits=48).number == 6 * found.number
    for base in (1, 6, 64):
        with_base = ml.alignment(m, unit="elements", tile=tile, base_alignment=base)
        assert int(with_base) == gcd(base, brute(m, tile))


@given(small_arrays(), st.data())
def test_tiles_of_xla_arrays(array: ml.XlaShape, data: st.DataObject) -> None:
    m = ml.index_map(array)
    if 0 in m.shape:
        return
    tile = tuple(data.draw(st.integers(1, 8)) for _ in m.shape)
    found = ml.alignment(m, unit="elements", tile=tile)
    assert found.number == brute(m, tile)
    assert found.is_greatest


SYMBOLIC: list[tuple[str, str, Any, str, int]] = [
    ("f32[M,N]{1,0:T(8,128)}", "", (8, 128), "4096", 4096),
    ("f32[M,N]{1,0:T(8,128)}", "", (8, 64), "256", 256),
    ("f32[M,N]{1,0:T(8,128)}", "N <= 128", (8, 128), "4096", 4096),
    ("bf16[M,N]{1,0}", "N % 64 == 0", (1, 64), "128", 128),
    ("bf16[M,N]{1,0}", "N % 64 == 0", (1, 1), "2", 2),
    ("bf16[M,N]{0,1}", "M % 8 == 0", (8, 1), "16", 16),
    ("bf16[M,N,8]{2,1,0:T(8,128)(2,1)}", "", (1, 8, 8), "2048", 2048),
]


@pytest.mark.slow
@each_row("layout, assuming, tile, formula, number", SYMBOLIC)
def test_for_all_sizes(layout: str, assuming: str, tile: Any, formula: str, number: int) -> None:
    m = ml.index_map(layout, assuming=assuming or None)
    found = ml.alignment(m, tile=tile)
    assert (str(found.formula), found.number) == (formula, number)
    assert found.decider == "steps and ISL"
    bits = m.element_type
    assert bits is not None
    together = 0
    for sizes in product((8, 64, 72, 128, 192), repeat=2):
        known = {one.name: one for one in m.assumptions}
        numbers = dict(zip(("M", "N"), sizes, strict=True))
        if all(n not in known or known[n].holds_for(x) for n, x in numbers.items()):
            together = gcd(together, brute(m.at(**numbers), tile) * bits.bits // 8)
    assert together == number


ROWS: list[tuple[str, Any, str, int]] = [
    ("f32[M,N]{1,0}", None, "4*N", 4),
    ("f32[M,N]{1,0}", "N % 32 == 0", "4*N", 128),
    ("f32[M,N]{1,0:T(8,128)}", None, "512", 512),
    ("bf16[M,N,K]", None, "2*K*N", 2),
]


@each_row("layout, assuming, formula, number", ROWS)
def test_rows_begin_at_multiples_of_their_pitch(
    layout: str, assuming: Any, formula: str, number: int
) -> None:
    m = ml.index_map(layout, assuming=assuming)
    first = m[(slice(None), *([0] * (len(m.shape) - 1)))]
    found = ml.alignment(first)
    assert (str(found.formula), found.number) == (formula, number)
    for sizes in ({"M": 9, "N": 64, "K": 5}, {"M": 9, "N": 160, "K": 6}):
        own = {name: n for name, n in sizes.items() if name in m.recipe.names}
        row = first.at(**own)
        bits = row.element_type
        assert bits is not None
        symbols = getattr(found.formula, "free_symbols", ())
        value = found.formula.subs({s: sizes[s.name] for s in symbols}) if symbols else number
        assert brute(row) * bits.bits // 8 == value


def test_elements_of_four_bits() -> None:
    m = ml.index_map("s4[8,6]{1,0:E(4)}")
    assert ml.alignment(m, unit="bits").number == 4
    assert ml.alignment(m, tile=(1, 6)).number == 3


def test_it_is_a_value() -> None:
    found = ml.alignment("f32[16,256]{1,0:T(8,128)}", tile=(8, 128))
    assert str(found).startswith("every address is a multiple of 4096 bytes, and of no larger")
    assert plain(found) == {
        "number": 4096,
        "formula": 4096,
        "unit": "bytes",
        "is_greatest": True,
        "decider": "steps and ISL",
    }
    assert "4096" in found._repr_html_()
    assert str(ml.alignment("f32[1,1]")) == "the only address is 0"
    rows = ml.alignment(ml.index_map("f32[M,N]")[:, 0], assuming="N % 32 == 0")
    assert "a multiple of 4*N bytes, which is a multiple of 128 at all sizes" in str(rows)
