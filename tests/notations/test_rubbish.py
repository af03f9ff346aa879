"""Rubbish text gives a LayoutError or a value, within a second; never anything else."""

from __future__ import annotations

from collections.abc import Callable

import patterns
import pytest
from hypothesis import example, given, strategies as st

import morello_layouts as ml
from morello_layouts.notations import parse_bounds, parse_expression
from tests.support.notations import LAYOUTS
from tests.support.xla_strategies import shapes

ALPHABET = "0123456789,[](){}:*#?<=+~-/ \n∗DTLESCMNbfpred32oeuxyz%_.\x00é"
PIECES = [
    *("f32", "bf16", "[", "]", "{", "}", "(", ")", ",", ":", "1", "0", "2", "128", "T", "E", "S"),
    *("SC", "L", "M", "D", "#", "*", "b(", "/*", "*/", "<=", "?", "-1", "p(", "oe(", "c1", " "),
]
VALID = [
    "(f32[2,<=3]{1,0:SC(0:1,2)(1:1)M(16)}, /*index=1*/ b(token[]), ())",
    "f32[M,N]{0,1:D(D,C+~)T(*,2)(4)L(7)#(u32)*(u8)E(4)S(5)}",
    "([0, 1, 0 oe(16)], c2)",
    "T.index_map(lambda i, j: (i // T.int64(8), j, i % 8))",
    "(h p) ... w 1 -> h (w ...) p, p=2",
    "memref<4x?xf32, strided<[8, 1], offset: ?>, 3>",
    "memref<4x8xf32, affine_map<(d0, d1)[s0] -> (d1 floordiv 4 + s0, d0, d1 mod 4)>>",
    "linalg.pack %s inner_dims_pos=[0] inner_tiles=[8] into %d : tensor<8xi1> -> tensor<1x8xi1>",
]
TEXTS = st.one_of(
    st.sampled_from(VALID),
    shapes().map(str),
    *(strategy.map(lambda case: str(case.layout)) for strategy in LAYOUTS.values()),
)


def attempt(reader: Callable[[str], object], text: str) -> object:
    """What the text means, or the error, which says something."""
    try:
        return reader(text)
    except ml.LayoutError as error:
        return error


def read(text: str) -> None:
    """Parse; a value prints as text that means the same."""
    value = attempt(ml.parse, text)
    assert str(value)
    if not isinstance(value, ml.LayoutError) and str(value) != "{}":
        assert ml.parse(str(value)) == value


@st.composite
def mutations(draw: st.DrawFn) -> str:
    """A valid text with parts cut out, doubled, or replaced by other parts."""
    text: str = draw(TEXTS)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 6)))
        middle = draw(st.sampled_from(["", *PIECES]) | st.just(text[start:end] * 2))
        text = text[:start] + middle + text[end:]
    return text


@given(st.text(ALPHABET, max_size=60))
def test_random_characters(text: str) -> None:
    read(text)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_random_pieces_of_the_grammar(text: str) -> None:
    read(text)


@given(mutations())
@example("f32[2]{0:T(1)T(1)}")
def test_mutations_of_valid_text(text: str) -> None:
    read(text)


@given(st.text("ijk0123456789+-*/%(), floorMd.^=<", max_size=60))
def test_random_expressions(text: str) -> None:
    for reader in (parse_bounds, lambda t: parse_expression(t, {})):
        assert str(attempt(reader, text)) or not text.strip()


@pytest.mark.slow
def test_each_pattern_of_the_package_ends_within_ten_seconds() -> None:
    """Of the longest text that is read; the seconds are far more than a linear time takes."""
    known = patterns.patterns()
    assert len(known) > 250
    for pattern, (place, methods) in known.items():
        seconds, text = patterns.slowest(pattern, methods, heads=("",))
        assert seconds < patterns.SECONDS, f"{place} is slow: {text}"


def test_long_texts_that_are_read() -> None:
    """Those that are refused are in tests/data/recorded/notations."""
    read("(" * 100 + ")" * 100)
    read(f"({'f32[],' * 1_666}s32[])")
    read(f"f32[2]/*{'*' * 10_000}*/")
    read(f"({', '.join(['f32[8,128]{1,0:T(8,128)}'] * 1000)})")
