"""From Morello's notation to XLA's and back: judged by arrays."""

from __future__ import annotations

import re
from itertools import product
from math import prod

import numpy as np
import pytest
import sympy
from hypothesis import given, strategies as st
from popular import POPULAR

import morello_layouts as ml
from morello_layouts import proof
from morello_layouts.core.recipe.digits import AxisDigit, Digits, row_major
from morello_layouts.errors import NoTranslationError, TranslationNotFoundError
from morello_layouts.outputs.translate import searches as translation
from morello_layouts.outputs.translate.searches import (
    Tiling,
    _constructed_keys,
    _orders,
    _tiling,
    best_tiling,
)
from morello_layouts.outputs.translate.source import Writable, joined, probed_digits
from tests.support.notations import morello
from tests.support.paths import DATA, rows
from tests.support.tables import each_row
from tests.support.translation_judges import morello_or_none, offsets

# ---- popular formats


EXPECTED = {
    "row-major": "{1,0}",
    "column-major": "{0,1}",
    "batched column-major": "{1,2,0}",
    "NCHW": "{3,2,1,0}",
    "NHWC": "{1,3,2,0}",
    "NCHWc": "{3,2,1,0:T(16,1,1)}",
    "packed": "{0,1:T(4,1)}",
    "packed twice": "{1,0:T(8,16)}",
    "odd-even": "{1,0:T(2)(8,1)}",
    "untiled": "[0, 1]",
    "f32 (8,128)": "24000 of 1024000 slots are padding",
    "f32 (2,128)": "48 of 2048 slots are padding",
    "vector (128)": "[0]",
    "bf16": "2096 of 4096 slots are padding",
    "bf16, rank 4": "[0, 2, 3, 2 p(4), 3 p(128), 2 p(2)]",
    "int8": "[0, 1, 0 p(2), 1 p(128), 0 p(4)]",
    "bf16, alternative": "(d0//8)%2 lies inside d0%8",
    "1-bit": "[0, 1, 0 p(32)]",
    "combined dims": "112 of 12432 slots are padding",
    "tail padding": "17 of 32 slots are padding",
}


@each_row(("name", "text", "shape"), POPULAR, ids=[name for name, *_ in POPULAR])
def test_popular_formats(name: str, text: str, shape: tuple[int, ...] | None) -> None:
    expected = EXPECTED[name]
    if shape is not None:
        found = ml.convert(text, "xla", shape)
        assert str(found) == expected
        assert ml.are_equivalent(text, found, shape).holds
        back = ml.convert(found, "morello", shape)
        assert ml.are_equivalent(text, back, shape).holds
    elif expected.startswith("["):
        morello = ml.convert(text, "morello")
        assert str(morello) == expected
        assert ml.are_equivalent(text, morello).holds
    else:
        with pytest.raises(NoTranslationError, match=re.escape(expected)):
            ml.convert(text, "morello")


def test_an_element_type_makes_a_shape() -> None:
    found = ml.convert("[1, 0, 1 p(4)]", "xla", (6, 8), "bf16")
    assert isinstance(found, ml.XlaShape)
    assert str(found) == "bf16[6,8]{0,1:T(4,1)}"
    assert ml.convert(found, "morello") == ml.parse("[1, 0, 1 p(4)]")


# ---- random layouts


def morello_layouts() -> st.SearchStrategy[tuple[ml.MorelloLayout, tuple[int, ...]]]:
    return morello(100_000).map(lambda case: case[:2])


@given(morello_layouts())
def test_there_and_back(pair: tuple[ml.MorelloLayout, tuple[int, ...]]) -> None:
    layout, shape = pair
    found = ml.convert(layout, "xla", shape)
    places = offsets(layout, shape)
    assert offsets(found, shape) == places
    back = ml.convert(found, "morello", shape)
    assert offsets(back, shape) == places
    assert len(back.phys_dims) <= len(layout.canonicalize(shape).phys_dims)
    assert back.canonicalize(shape) == back
    assert ml.convert(back, "xla", shape) == found


def digits_of(layout: ml.Layout, shape: tuple[int, ...]) -> Digits | str:
    return Writable(ml.index_map(layout, shape), "layout").dense


@given(morello_layouts())
def test_the_construction_always_does(pair: tuple[ml.MorelloLayout, tuple[int, ...]]) -> None:
    layout, shape = pair
    digits = digits_of(layout, shape)
    keys, count = _constructed_keys(digits)
    for order in _orders(digits, keys, len(shape)):
        tiling = _tiling(digits, keys, count, order)
        found = ml.XlaLayout(tiling.major_to_minor[::-1], tiling.tiles)
        assert digits_of(found, shape) == digits


@given(morello_layouts())
def test_probing_finds_what_the_steps_say(pair: tuple[ml.MorelloLayout, tuple[int, ...]]) -> None:
    assert probed_digits(ml.index_map(*pair)) == digits_of(*pair)


def test_many_packs() -> None:
    """More digits than the search takes on: the construction serves."""
    text = (
        "[" + ", ".join("1 p(2), 0 p(2)" if k % 3 else "0 oe(4), 1 oe(4)" for k in range(5)) + "]"
    )
    layout = ml.parse(text)
    shape = (layout.demand(0), layout.demand(1))
    digits = digits_of(layout, shape)
    tiling = best_tiling(digits, 2)
    found = ml.XlaLayout(tiling.major_to_minor[::-1], tiling.tiles)
    assert digits_of(found, shape) == digits


# ---- corpora


def corpus() -> list[str]:
    shapes = (DATA / "hlo_shapes.txt").read_text().split("\n")
    rows = (DATA / "hlo_entry_layouts.tsv").read_text().split("\n")[1:]
    texts = [*shapes, *(row.split("\t")[2] for row in rows if row)]
    return [text for text in dict.fromkeys(texts) if re.fullmatch(r"\w+\[[\d,]*\]\{.*\}", text)]


@pytest.mark.slow
def test_layouts_of_compiled_programs() -> None:
    found, none = 0, 0
    for text in corpus():
        x = ml.parse(text)
        assert isinstance(x, ml.XlaShape)
        assert x.layout is not None
        if x.layout.splits_array:
            continue
        layout = morello_or_none(x.layout, x.shape)
        if layout is None:
            none += 1
            continue
        found += 1
        back = ml.convert(layout, "xla", x.shape)
        assert len(back.tiles) <= len(x.layout.tiles), f"{text} is {layout} is {back}"
        assert len(str(back)) <= len(str(ml.XlaLayout(x.layout.minor_to_major, x.layout.tiles)))
    assert (found, none) == (129, 92)


def test_offsets_that_morello_computed() -> None:
    tried = 0
    for row in rows("morello_oracle.jsonl"):
        shape = tuple(row["shape"])
        if row["status"] != "ok" or not row["injective"] or not row["in_range"]:
            continue
        tried += 1
        found = ml.convert(f"[{row['layout']}]", "xla", shape)
        assert list(offsets(found, shape)) == row["offsets"], f"{row['layout']} at {shape}"
    assert tried > 100


# ---- symbolic sizes


@pytest.mark.parametrize(
    ("text", "shape", "expected"),
    [
        ("[1, 0, 1 p(4)]", ("M", "N"), "{0,1:T(4,1)}"),
        ("[1, 0, 1 p(4)]", ("M", 8), "{0,1:T(4,1)}"),
        ("[0, 1, 0 p(4), 1 p(128), 0 p(2)]", ("M", "N"), "{1,0:T(8,128)(2,1)}"),
        ("[0, 1, 2, 3, 1 p(16)]", ("N", "C", "H", "W"), "{3,2,1,0:T(16,1,1)}"),
        ("[0, 1, 1 oe(16)]", ("M", "N"), "{1,0:T(2)(8,1)}"),
        ("[1, 0, 1 p(4)]", ("2*M", "N"), "{0,1:T(4,1)}"),
        ("[1, 1 p(4), 0]", ("M", 8), "{0,1}"),
        ("NHWC", ("N", "C", "H", "W"), "{1,3,2,0}"),
    ],
)
def test_to_xla_for_all_sizes(text: str, shape: tuple[str | int, ...], expected: str) -> None:
    found = ml.convert(text, "xla", shape)
    assert str(found) == expected
    layout = ml.parse(text)
    for scale in (1, 2, 3):
        numbers = []
        for dim, n in enumerate(shape):
            factor = 2 if n == "2*M" else 1
            numbers.append(n if isinstance(n, int) else layout.demand(dim) * scale * factor)
        array = np.arange(prod(numbers)).reshape(numbers)
        assert np.array_equal(
            ml.pack(ml.index_map(found, numbers), array),
            ml.pack(ml.index_map(layout, numbers), array),
        )


@pytest.mark.parametrize(
    ("text", "shape"), [("[1, 2, 1 p(4), 0]", ("M", 8, 3)), ("[0, 0 oe(4), 1, 0 p(2)]", ("M", "N"))]
)
def test_a_symbolic_size_in_the_way(text: str, shape: tuple[str | int, ...]) -> None:
    with pytest.raises(TranslationNotFoundError, match="a low part of dimension"):
        ml.convert(text, "xla", shape)
    numbers = tuple(n if isinstance(n, int) else 16 for n in shape)
    assert ml.are_equivalent(text, ml.convert(text, "xla", numbers), numbers).holds


@st.composite
def symbolic_arrays(draw: st.DrawFn) -> tuple[ml.XlaShape, dict[str, int]]:
    """An XLA shape with one or two names for sizes, and what divides them."""
    dims = draw(st.permutations(["M", draw(st.sampled_from(["N", 1, 2, 4, 6]))]))
    tile = st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=3)
    tiles = draw(st.lists(tile, max_size=2))
    layout = ml.XlaLayout(draw(st.permutations(range(2))), tiles)
    divisors = {n: draw(st.sampled_from([1, 2, 4, 12])) for n in dims if isinstance(n, str)}
    return ml.XlaShape("f32", dims, layout), divisors


@given(symbolic_arrays())
def test_what_holds_for_all_sizes_holds_at_each(pair: tuple[ml.XlaShape, dict[str, int]]) -> None:
    x, divisors = pair
    assuming = [f"{name} % {n} == 0" for name, n in divisors.items()]
    try:
        found = ml.convert(x, "morello", assuming=assuming)
    except TranslationNotFoundError:
        return
    except NoTranslationError as error:
        sizes = {k: int(n) for k, n in re.findall(r"([MN]) = (\d+)", error.what)}
        assert sizes.keys() == divisors.keys()
        assert not any(sizes[name] % n for name, n in divisors.items())
        assert morello_or_none(x.layout, tuple(sizes.get(n, n) for n in x.dims)) is None  # type: ignore[misc]
        return
    for scales in product((1, 2, 3, 5), repeat=len(divisors)):
        sizes = {name: n * k for (name, n), k in zip(divisors.items(), scales, strict=True)}
        shape = tuple(sizes.get(n, n) for n in x.dims)
        assert offsets(found, shape) == offsets(x.layout, shape)
    back = ml.convert(found, "xla", x.dims, assuming=assuming)
    assert ml.are_equivalent(
        ml.index_map(x, assuming=assuming), ml.index_map(back, x.dims, assuming=assuming)
    ).holds


# ---- padded layouts


@pytest.mark.parametrize(
    ("text", "shape", "expected"),
    [
        ("aBcd16b", (2, 20, 3, 4), "{3,2,1,0:T(16,1,1)}"),
        ("ABcd4a8b", (5, 20, 3, 4), "{3,2,1,0:T(4,8,1,1)}"),
        ("ABcd16b16a2b", (20, 40, 2, 3), "{3,2,1,0:T(16,32,1,1)(16,2,1,1)}"),
        ("BA4b8a", (5, 3), "{0,1:T(4,8)}"),
        ("acdB8b", (1, 3, 2, 2), "{1,3,2,0:T(8)}"),  # one block holds all of a dimension
        ("Ab8a", (3, 2), "{0,1:T(8)}"),
    ],
)
def test_padded_blocks_are_tiles(text: str, shape: tuple[int, ...], expected: str) -> None:
    found = ml.convert(text, "xla", shape)
    assert str(found) == expected
    array = np.arange(1, prod(shape) + 1).reshape(shape)
    assert np.array_equal(ml.pack(text, array), ml.pack(found, array))


def test_padded_blocks_of_all_sizes() -> None:
    found = ml.convert("aBcd16b", "xla", ("N", "C", "H", "W"))
    assert str(found) == "{3,2,1,0:T(16,1,1)}"


# ---- refusals


def test_sympy_s_symbols_are_sizes() -> None:
    m, n = sympy.symbols("M N", positive=True, integer=True)
    found = ml.convert("[1, 0, 1 p(4)]", "xla", (m, n), "f32")
    assert str(found) == "f32[M,N]{0,1:T(4,1)}"
    assert found.layout is not None
    back = ml.convert(found.layout, "morello", (m, n), assuming=sympy.Eq(sympy.Mod(n, 4), 0))
    assert str(back) == "[1, 0, 1 p(4)]"
    assert ml.convert(found.layout, "morello", (m, 4 * n)) == back


def test_a_size_that_xla_cannot_write() -> None:
    assert str(ml.convert("[0]", "xla", (2**63 - 1,))) == "{0}"


def test_what_is_not_proved_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    undecided = proof.Proof("equal?", None, "ISL spent its budget of 5 operations")
    monkeypatch.setattr(proof, "are_equivalent", lambda *_: undecided)
    with pytest.raises(TranslationNotFoundError, match="spent its budget"):
        ml.convert("[1, 0, 1 p(4)]", "xla", (6, 8))
    with pytest.raises(TranslationNotFoundError, match="spent its budget"):
        ml.convert("f32[6,8]{0,1:T(4,1)}", "morello")


def test_what_is_wrong_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translation, "best_tiling", lambda *_: Tiling((0, 1), (), 0))
    with pytest.raises(TranslationNotFoundError):
        ml.convert("[1, 0, 1 p(4)]", "xla", (6, 8))


# ---- digits


def test_joined_leaves_what_is_no_neighbour() -> None:
    digits = (AxisDigit(0, 1, 2, 2), AxisDigit(0, 2, 4, 4), AxisDigit(1, 1, 2), AxisDigit(0, 8, 2))
    assert joined(row_major(digits), (16, 2)) == row_major(digits)
