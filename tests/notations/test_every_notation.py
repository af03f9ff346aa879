"""Each notation of the table works in everything that takes a layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.core.layout import Layout
from morello_layouts.interfaces.explorer.answer import answer
from morello_layouts.notations.morello import row_major
from morello_layouts.notations.registry import NOTATIONS, Notation, describe
from tests.support.paths import ROOT

SHAPES = {
    "[1, 0, 1 p(4)]": (6, 8),
    "{1,0:T(8,128)}": (10, 200),
    "outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 2]": (13, 15),
    "aBcd16b": (2, 20, 3, 4),
    "i, j -> 8*i + j": (6, 8),
    "NCHW16c": (2, 20, 3, 4),
    "strided<[5, 1], offset: 2>": (3, 4),
    "(h p) w -> h w p, p=2": (6, 5),
    "mx128x4": (130, 7),
}

every = pytest.mark.parametrize("notation", NOTATIONS, ids=lambda notation: notation.example)


def layout_of(notation: Notation) -> tuple[Layout, tuple[int, ...]]:
    layout = ml.parse(notation.example)
    assert isinstance(layout, notation.types)
    sizes = SHAPES.get(notation.example) or layout.sizes
    assert sizes is not None, f"give {notation.example} a shape in SHAPES"
    return layout, tuple(n for n in sizes if isinstance(n, int))


@every
def test_text_map_and_proofs(notation: Notation) -> None:
    layout, shape = layout_of(notation)
    assert str(layout) == notation.example
    m = ml.index_map(layout, shape)
    assert ml.verify(m).holds
    assert ml.is_injective(m).holds
    assert ml.are_equivalent(layout, notation.example, shape).holds


@every
def test_the_repr_is_the_text(notation: Notation) -> None:
    layout, _ = layout_of(notation)
    assert repr(layout) == f"<{type(layout).__name__}: {notation.example}>"


@every
def test_words(notation: Notation) -> None:
    layout, shape = layout_of(notation)
    for found in (describe(layout, shape), describe(layout)):
        assert found.source == notation.example
        assert len(found.dimensions) == len(shape)
        if notation.name == "formula" and len(found.axes) == 1:
            continue  # without sizes a formula is one axis
        assert found.parts
        assert len(found.axes) == len(ml.index_map(layout, shape).recipe.physical_shape)


@every
def test_picture_and_code(notation: Notation) -> None:
    layout, shape = layout_of(notation)
    m = ml.index_map(layout, shape)
    last = tuple(n - 1 for n in shape)
    code = ml.code(layout, "python", shape=shape, function=True, name="f")
    scope: dict[str, Any] = {}
    exec(code, scope)
    assert scope["f"](*last) == (
        m(*last) if not m.recipe.axis_names else (*m.place(*last).values(),)
    )
    assert ml.draw(layout, shape).svg().startswith("<svg")


@every
def test_relayout_pack_and_conversion(notation: Notation) -> None:
    layout, shape = layout_of(notation)
    array = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    buffer = ml.pack(layout, array, fill=0)
    relayout = ml.relayout(layout, row_major(shape), shape)
    assert np.array_equal(relayout.compile("int32")(buffer), array.reshape(-1))
    if ml.index_map(layout, shape).padding == 0:
        assert ml.are_equivalent(ml.convert(layout, "xla", shape), layout, shape).holds
    else:
        with pytest.raises(ml.NoTranslationError, match="slots are padding"):
            ml.convert(layout, "morello", shape)


@every
def test_explorer(notation: Notation) -> None:
    layout, shape = layout_of(notation)
    given = "" if layout.sizes is not None else "x".join(map(str, shape))
    found = answer({"layout": notation.example, "shape": given})
    assert not found["errors"]
    assert found["words"]
    assert found["picture"]["panels"]


def test_no_module_outside_names_the_notation() -> None:
    """A notation is its module, one row of the table of notations and one of writers.

    ``ml`` names its submodule, and ``convert`` the notations that it writes.
    """
    package = ROOT / "morello_layouts"
    named = [f for f in package.rglob("*.py") if "onednn" in f.read_text(encoding="utf-8").lower()]
    outside = {f.relative_to(package).as_posix() for f in named if f.stem != "onednn"}
    modules = (
        *("__init__", "interfaces/api/conversions"),
        *("notations/registry", "outputs/translate/writers"),
    )
    assert outside == {f"{name}.py" for name in modules}
