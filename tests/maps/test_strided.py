"""Whether an array is a strided view of its buffer, beside what PyTorch 2.14.1 answers."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import morello_layouts as ml
from morello_layouts.core.maps import IndexMap
from tests.support.paths import rows
from tests.support.tables import each_row

ROWS = rows("torch_views.jsonl")


def chained(row: dict[str, Any]) -> IndexMap:
    """Return the map of a chain of PyTorch's views of a contiguous array."""
    rank = len(row["base"])
    m = ml.index_map(f"[{', '.join(map(str, range(rank)))}]", row["base"])
    for name, *given in row["ops"]:
        before = (slice(None),) * (given[0] if isinstance(given[0], int) else 0)
        match name:
            case "permute":
                m = m.view(transpose=tuple(given[0]))
            case "slice":
                m = m.view(index=(*before, slice(*given[1:])))
            case "unsqueeze":
                m = m.view(index=(*before, None))
            case "expand":
                m = m.view(broadcast=tuple(given[0]))
    return m


def longer(shape: list[int], strides: Any) -> Any:
    """Return the strides of dimensions of several elements: the others follow no rule."""
    if strides is None:
        return None
    return [stride for n, stride in zip(shape, strides, strict=True) if n != 1]


@each_row("row", ROWS)
def test_views_have_pytorchs_strides(row: dict[str, Any]) -> None:
    m = chained(row)
    found = m.as_strided()
    assert found is not None
    assert (list(m.shape), found.offset) == (row["shape"], row["offset"])
    assert longer(row["shape"], found.strides) == longer(row["shape"], row["stride"])
    reshaped = m.view(reshape=tuple(row["reshape"])).as_strided()
    strides = None if reshaped is None else reshaped.strides
    assert longer(row["reshape"], strides) == longer(row["reshape"], row["view"])


@each_row(
    "text, operations, strides",
    [
        ("f32[16,256]{1,0:T(8,128)}", {"tiles": (8, 128)}, (2048, 1024, 128, 1)),
        ("f32[16,256]{1,0:T(8,128)}", {"index": (3,)}, None),
        ("f32[16,256]{1,0:T(8,128)}", {"index": (slice(8, 16), slice(128, 256))}, (128, 1)),
        ("f32[16,128]{1,0:T(8,128)}", {}, (128, 1)),
        ("f32[16,128]{1,0:T(8,128)}", {"reshape": (2048,)}, (1,)),
        ("f32[4,6]", {"reverse": 1, "transpose": (1, 0)}, (-1, 6)),
        ("f32[4,6]", {"diagonal": (0, 1)}, (7,)),
        ("f32[1,6,1]", {"transpose": (2, 1, 0)}, (6, 1, 1)),
        ("f32[0,6]", {}, (0, 0)),
    ],
)
def test_any_layout(text: str, operations: Any, strides: Any) -> None:
    m = ml.index_map(text).view(**operations)
    found = m.as_strided()
    assert found is not None
    assert found.strides == strides
    if strides is not None and np.prod(m.shape):
        at = np.indices(m.shape)
        steps = sum(x * step for x, step in zip(at, strides, strict=True))
        assert (m(*at) == found.offset + steps).all()


@each_row(
    "text, index, is_regular",
    [
        ("f32[16,256]{1,0:T(8,128)}", np.s_[::-1, ::-2], True),
        ("f32[13,10]{1,0:T(4,4)(2,1)}", np.s_[11::-1, 7::-1], True),
        ("f32[13,10]{1,0:T(4,4)(2,1)}", np.s_[6::-1, :8], False),
        ("f32[16,24]{1,0:T(8,4)}", np.s_[7::-4, ::-1], True),
    ],
)
def test_reversed_tiles(text: str, index: Any, is_regular: bool) -> None:
    m = ml.index_map(text)[index]
    found = m.as_strided()
    assert (found is not None) == is_regular
    if found is not None:
        offsets = found.offset
        for at, modes in zip(np.indices(m.shape), found.modes, strict=True):
            step = 1
            for run in modes.runs:
                offsets = offsets + at // step % run.length * run.stride
                step *= run.length
        assert (m(*np.indices(m.shape)) == offsets).all()


def test_tiles_have_several_strides_and_some_layouts_none() -> None:
    tiled = ml.index_map("f32[16,256]{1,0:T(8,128)}")
    assert str(tiled.as_strided()) == "offset 0, modes (8,2):(128,2048), (128,2):(1,1024)"
    assert tiled[3:].as_strided() is None
    assert "strides   none" in str(ml.explain(tiled[3:]))
    assert "strides   offset 2048, modes (8):(128)" in str(ml.explain(tiled[8:]))
    sized = ml.index_map("f32[M,N]{1,0:T(8,128)}", assuming="M % 8 == 0")[::-1, 0]
    assert str(sized.as_strided()) == (
        "offset 128*M*ceil(N/128) - 1024*ceil(N/128) + 896, modes (8,M/8):(-128,-1024*ceil(N/128))"
    )
    assert str(ml.index_map("f32[M,N]{0,1}")[2:].as_strided()) == "offset 2, strides (1, M)"


SWIZZLED = ml.index_map("Sw<2,2,3> o 0 o (16,32):(32,1)")
SWIZZLED_VIEWS = [
    (11, slice(19, 21)), (slice(None, -13, -5), 14), (slice(0, 4), slice(0, 4)),
    (slice(3, 9), slice(2, 9, 3)), (slice(0, 16, 8), slice(0, 8)), (5, slice(0, 32)),
]  # fmt: skip


@each_row("view", SWIZZLED_VIEWS)
def test_a_swizzled_view_has_strides_exactly_if_its_offsets_do(view: Any) -> None:
    """Judged at each element, from the offsets of its neighbours along each dimension."""
    part = SWIZZLED[view]
    shape = part.shape
    found = part.as_strided()
    at = list(product(*map(range, shape)))
    corner = (0,) * len(shape)
    steps = [
        part(*(int(j == k) for j in range(len(shape)))) - part(*corner) if n > 1 else 0
        for k, n in enumerate(shape)
    ]
    is_linear = all(
        part(*x) == part(*corner) + sum(a * b for a, b in zip(x, steps, strict=True)) for x in at
    )
    assert (found is not None and found.strides is not None) == is_linear
    if is_linear:
        kept = [k for k, n in enumerate(shape) if n > 1]
        assert found.offset == part(*corner)
        assert [found.strides[k] for k in kept] == [steps[k] for k in kept]
