"""Rubbish text gives a LayoutError or a value, within a second; never anything else."""

from __future__ import annotations

from collections.abc import Callable

import patterns
import pytest
from hypothesis import example, given, strategies as st

import morello_layouts as ml
from morello_layouts.notations import parse_bounds, parse_expression
from tests.support.tables import each_row
from tests.support.xla_strategies import shapes

ALPHABET = "0123456789,[](){}:*#?<=+~-/ \n∗DTLESCMNbfpred32oeuxyz%_.\x00é"
PIECES = [
    *("f32", "bf16", "[", "]", "{", "}", "(", ")", ",", ":", "1", "0", "2", "128", "T", "E", "S"),
    *("SC", "L", "M", "D", "#", "*", "b(", "/*", "*/", "<=", "?", "-1", "p(", "oe(", "c1", " "),
]
VALID = [
    "bf16[10,200]{1,0:T(8,128)(2,1)}",
    "(f32[2,<=3]{1,0:SC(0:1,2)(1:1)M(16)}, /*index=1*/ b(token[]), ())",
    "f32[M,N]{0,1:D(D,C+~)T(*,2)(4)L(7)#(u32)*(u8)E(4)S(5)}",
    "{2,0,1:T(8,128)}",
    "[1, 0, 1 p(4)]",
    "([0, 1, 0 oe(16)], c2)",
    "T.index_map(lambda i, j: (i // T.int64(8), j, i % 8))",
    "NCHW16c",
    "(h p) ... w 1 -> h (w ...) p, p=2",
    "mx128x4",
    "memref<4x?xf32, strided<[8, 1], offset: ?>, 3>",
    "memref<4x8xf32, affine_map<(d0, d1)[s0] -> (d1 floordiv 4 + s0, d0, d1 mod 4)>>",
    "outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 2]",
    "linalg.pack %s inner_dims_pos=[0] inner_tiles=[8] into %d : tensor<8xi1> -> tensor<1x8xi1>",
]


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
    text = draw(st.sampled_from(VALID) | shapes().map(str))
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


TEN_KB = 10_000
LONG = {
    "digits": "9" * TEN_KB,
    "a size": f"f32[{'9' * TEN_KB}]",
    "leading zeros": f"f32[{'0' * TEN_KB}7]",
    "many sizes": f"f32[{'1,' * (TEN_KB // 2)}1]",
    "many sizes and an order": f"f32[{'1,' * 2000}1]{{{','.join(map(str, range(2001)))}}}",
    "open parentheses": "(" * TEN_KB,
    "nested tuples": "(" * (TEN_KB // 2) + ")" * (TEN_KB // 2),
    "flat tuple": f"({'f32[],' * (TEN_KB // 6)}s32[])",
    "many tiles": f"f32[2]{{0:T{'(1)' * (TEN_KB // 3)}}}",
    "a long tile": f"f32[2]{{0:T({'*,' * (TEN_KB // 2)}1)}}",
    "many splits": f"f32[2]{{0:SC{'(0:1)' * (TEN_KB // 5)}}}",
    "open comments": "f32[2]" + "/*" * (TEN_KB // 2),
    "a comment": f"f32[2]/*{'*' * TEN_KB}*/",
    "spaces": " " * TEN_KB,
    "spaces inside": f"f32[{' ' * TEN_KB}!",
    "open braces": "{" * TEN_KB,
    "open buffers": "b(" * (TEN_KB // 2),
    "open brackets": "[" * TEN_KB,
    "Morello dims": "[" + "0 p(2)," * (TEN_KB // 7) + "0]",
    "many Morello dims": "[" + ",".join(map(str, range(2500))) + "]",
    "letters": "N" * TEN_KB,
    "newlines": "\n" * TEN_KB + "f32[x y]",
    "stars": "f32[2]{0:" + "∗" * TEN_KB,
    "zero bytes": "\x00" * TEN_KB,
}


@pytest.mark.slow
@each_row("name", LONG)
def test_ten_kilobytes_are_read_or_refused(name: str) -> None:
    read(LONG[name])


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["many tiles", "many sizes", "a long tile", "a size", "many splits"]
)
def test_index_maps_of_ten_kilobytes(name: str) -> None:
    attempt(lambda text: str(ml.index_map(text)), LONG[name])
