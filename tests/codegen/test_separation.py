"""Each coordinate's part of an offset, and the strides along a dimension, against offsets."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.core.expr import AffineExpr, Digit, variable
from morello_layouts.core.maps.modes import Modes, decompose, modes_along
from tests.support.tables import each_row

LAYOUTS = [
    ("f32[7,9]{1,0}", None),
    ("f32[7,9]{0,1}", None),
    ("f32[19,300]{1,0:T(8,128)}", None),
    ("bf16[19,300]{1,0:T(8,128)(2,1)}", None),
    ("s8[70,300]{1,0:T(32,128)(4,1)}", None),
    ("f32[2,5,7]{2,0,1:T(2,4)}", None),
    ("[1, 0, 1 p(4)]", (6, 8)),
    ("[0, 1, 0 oe(4)]", (8, 6)),
    ("[0, 1, 2, 1 p(4)]", (2, 8, 3)),
    ("f32[1,1]{1,0:T(8,128)}", None),
    ("f32[]", None),
]


@pytest.mark.slow
@each_row(("layout", "shape"), LAYOUTS)
def test_the_parts_add_up(layout: str, shape: tuple[int, ...] | None) -> None:
    m = ml.index_map(layout, shape)
    parts = m.decompose()
    assert parts.is_complete
    assert len(parts.forms) == len(parts.exprs) == len(m.shape)
    for at in product(*(range(n) for n in m.shape)):
        own = [form.evaluate({f"d{k}": at[k]}) for k, form in enumerate(parts.forms)]
        assert sum(own) + parts.const == m(*at)
    assert all(form.evaluate({f"d{k}": 0}) == 0 for k, form in enumerate(parts.forms))


def test_what_does_not_separate_is_set_apart() -> None:
    m = ml.index_map("f32[3,5,7]{2,1,0:T(2,*,4)}")
    parts = m.decompose()
    assert not parts.is_complete
    assert {symbol.name for symbol in parts.mixed_expr.free_symbols} == {"d1", "d2"}
    for at in product(range(3), range(5), range(7)):
        values = {f"d{k}": x for k, x in enumerate(at)}
        terms = [form.evaluate(values) for form in (*parts.forms, parts.mixed)]
        assert sum(terms) + parts.const == m(*at)


PRINTED = [*LAYOUTS, ("f32[3,5,7]{2,1,0:T(2,*,4)}", None), ("f32[1,5]", None)]


@pytest.mark.slow
@each_row("simplified", ["readable", "cheapest"])
@each_row(("layout", "shape"), PRINTED)
def test_printed_parts_add_up(layout: str, shape: tuple[int, ...] | None, simplified: Any) -> None:
    m = ml.index_map(layout, shape)
    parts = m.decompose()
    whole = ["mixed", "base", *(f"offset{k}" for k in range(len(m.shape)))]
    printed, shown = ml.code(parts, "python", simplified=simplified), str(parts)
    lines, value = compile(printed, "code", "exec"), compile(shown, "parts", "eval")
    for at in product(*(range(n) for n in m.shape)):
        names = {f"d{k}": x for k, x in enumerate(at)}
        assert eval(value, {}, names) == m(*at)
        if "=" in printed:
            exec(lines, {}, names)
            assert sum(names.get(name, 0) for name in whole) == m(*at)


def test_printed_parts() -> None:
    known = ml.index_map("f32[M,N]{1,0:T(8,128)}", assuming="N <= 1000, M <= 1000")
    text = ml.code(known.decompose(), "c", function=True, asserts=True)
    assert "to the offset of f32[M,N]{1,0:T(8,128)}, in elements." in text
    assert "assert(N <= 1000);" in text
    assert "parts(uint32_t d0, uint32_t d1, uint32_t N, uint32_t *offset0" in text
    assert ml.code(ml.index_map("f32[]").decompose(), "python") == "0"
    user = decompose(variable("i", 0, 7) // 4 + 3, ("i",))
    assert str(user) == "i//4 + 3"
    combined = ml.index_map("f32[3,5,7]{2,1,0:T(2,*,4)}").decompose()
    assert ml.code(combined, "python").splitlines()[-3:] == [
        "mixed = 8*(t0//4) + t0%4",
        "offset1 = 0",
        "offset2 = 0",
    ]


def offset_by_runs(runs: Modes, x: int) -> int:
    """What the runs say of position x: a mixed radix."""
    total = 0
    for k, run in enumerate(runs.runs):
        if k + 1 < len(runs.runs):
            assert isinstance(run.length, int)
            x, step = divmod(x, run.length)
        else:
            x, step = 0, x
        total += step * int(run.stride)
    return total


@each_row(("layout", "shape"), LAYOUTS)
def test_runs_give_the_offsets(layout: str, shape: tuple[int, ...] | None) -> None:
    m = ml.index_map(layout, shape)
    for dim, n in enumerate(m.shape):
        runs = m.modes(dim)
        others = [0] * len(m.shape)
        line = [m(*others[:dim], x, *others[dim + 1 :]) for x in range(n)]
        assert [offset_by_runs(runs, x) for x in range(n)] == line
        # The innermost run is as long as it can be, and so is what lies side by side.
        steps = np.diff(line)
        changes = np.flatnonzero(steps != runs.stride)
        longest = int(changes[0]) + 1 if len(changes) else n
        assert not runs.runs or runs.runs[0].length == longest
        assert runs.contiguous == (longest if runs.stride == 1 else 1)


def test_known_runs() -> None:
    m = ml.index_map("bf16[20,300]{1,0:T(8,128)(2,1)}")
    assert [(r.length, r.stride) for r in m.modes(0).runs] == [
        (2, 1), (4, 256), (3, 3072),
    ]  # fmt: skip
    assert [(r.length, r.stride) for r in m.modes(-1).runs] == [(128, 2), (3, 1024)]
    assert m.modes(0).contiguous == 2
    assert m.modes(1).contiguous == 1


def test_runs_that_go_on_are_one() -> None:
    """Simplified forms have none such, forms as they are written do."""
    i = variable("i", 0, 47)
    middle = AffineExpr(((Digit(i, 4, 2), 12),), 0)
    runs = modes_along(3 * (i % 4) + middle + 100 * (i // 8), "i", 48).runs
    assert [(run.length, run.stride) for run in runs] == [(8, 3), (6, 100)]


def test_symbolic_sizes() -> None:
    import sympy

    m = ml.index_map("f32[M,N]{1,0:T(8,128)}", assuming="N % 128 == 0")
    size = sympy.Symbol("N", integer=True, positive=True)
    count = sympy.ceiling(sympy.Symbol("M", integer=True, positive=True) / 8)
    assert [(r.length, r.stride) for r in m.modes(0).runs] == [(8, 128), (count, 8 * size)]
    assert m.modes(1).contiguous == 128
    row_major = ml.index_map("f32[M,N]{1,0}")
    assert [(r.length, r.stride) for r in row_major.modes(1).runs] == [(size, 1)]
    assert row_major.decompose().exprs[0] == size * row_major.symbols[0]


def test_a_run_is_no_longer_than_the_dimension() -> None:
    i = variable("i", 0, 9)
    runs = modes_along(i % 16 + 100 * (i // 16), "i", 10).runs
    assert [(run.length, run.stride) for run in runs] == [(10, 1)]
