"""What ``agree`` refuses, what it advises, and its JSON."""

from __future__ import annotations

import json
import pickle
from itertools import product
from typing import Any

import numpy as np
import pytest
import sympy

import morello_layouts as ml
from morello_layouts.core.fields import plain
from tests.support.tables import each_row


def test_bytes_may_be_sympy() -> None:
    m, n = sympy.symbols("M N", integer=True, positive=True)
    tiles = "{1,0:T(8,128)}"
    bytes_ = 1024 * sympy.ceiling(m / 8) * sympy.ceiling(n / 128)
    assert ml.agree(tiles, tiles, (m, n), reads="buffer", writes="buffer", consumer_bytes=bytes_)
    answer = ml.agree(tiles, tiles, (m, n), reads="buffer", consumer_bytes=m * n)
    assert str(answer.reads.condition) == "8 | M and 128 | N"
    assert answer.undefined == bytes_ - m * n


def test_assumptions_about_either_shape() -> None:
    wide = ml.index_map("{1,0}", ("M", "2*N"))
    answer = ml.agree(wide, "{1,0}", ("M", "N"), assuming="N % 4 == 0, M >= 2")
    assert answer.holds is False
    assert answer.counterexample is not None
    assert answer.counterexample.sizes == {"M": 2, "N": 4}


@each_row(
    "question, advice",
    [
        (("[0, 1]", "{0,1}", (4, 6)), ["make the consumer {1,0}", "make the producer [1, 0]"]),
        (("[0, 1, 0 p(4)]", "[0, 1]", ("T", "S")), ["make the consumer [0, 1, 0 p(4)]"]),
        (("ab", "ba", (4, 3)), ["slot p of the consumer is slot 3*(p%4) + p//4 of the producer"]),
    ],
)
def test_advice_about_offsets(question: tuple[Any, ...], advice: list[str]) -> None:
    text = "\n".join(ml.agree(*question).advice)
    assert all(each in text for each in advice), text
    assert "a view is not enough" in text


@each_row(
    "question, advice",
    [
        (("strided<[8, 1], offset: 3>", "strided<[8, 1]>", (4, 8)), "consumer read from slot 3 "),
        (("strided<[8, 1]>", "strided<[8, 1], offset: 3>", (4, 8)), "producer write from slot 3 "),
        (
            (
                "memref<?x8xf32, strided<[8, 1], offset: 5>>",
                "memref<?x8xf32, strided<[8, 1], offset: 3>>",
            ),
            "consumer read from slot 2 (byte 8)",
        ),
        (("strided<[8, 1], offset: 3>", "strided<[1, 4]>", (4, 8)), "a view is not enough"),
        (("strided<[9, 1], offset: 3>", "strided<[8, 1]>", (2, 8)), "a view is not enough"),
    ],
)
def test_a_shift_needs_no_copy(question: tuple[Any, ...], advice: str) -> None:
    answer = ml.agree(*question)
    (found,) = [each for each in answer.advice if each.startswith("if neither can change")]
    assert advice in found
    assert ("copy:" in found) == ("view" in found) == ("no copy is needed" not in found)


# Assumptions that fix a size, by each way to say so; the answer at the numbers says if it is right.
FIXED = ["K == 4", "M <= 1", "2 <= K <= 2", "M % 8 == 0, M <= 8", "M == 3, K == 5", "1 <= K, K < 2"]


@each_row("assuming", FIXED)
def test_assumptions_that_fix_a_size(assuming: str) -> None:
    tiles, rows = "mx8x4", "row-major"
    answer = ml.agree(tiles, rows, ("M", "K"), assuming=assuming)
    equal = ml.are_equivalent(tiles, rows, ("M", "K"), assuming=assuming)
    assert (answer.holds, str(answer.when)) == (equal.holds, str(equal.condition))
    text = ml.agree("u8[M,K]{1,0}", "u8[M,K]{0,1}", assuming=assuming)
    assert text.holds is ml.are_equivalent("u8[M,K]{1,0}", "u8[M,K]{0,1}", assuming=assuming).holds
    tried = 0
    for m, k in product(range(1, 17), range(1, 10)):
        if not eval(assuming.replace(", ", " and "), {"M": m, "K": k}):  # a row of our own file
            continue
        tried += 1
        found = ml.agree(tiles, rows, (m, k))
        expected = answer.holds
        if answer.when is not None:
            expr = answer.when.expr
            expected = bool(expr.subs({x: {"M": m, "K": k}[x.name] for x in expr.free_symbols}))
        assert found.holds is expected, (m, k)
    assert tried
    with pytest.raises(ml.ShapeError, match="an assumption is about Q"):
        ml.agree(tiles, rows, ("M", "K"), assuming=f"{assuming}, Q == 1")


def test_bytes_by_a_name_that_an_assumption_fixes() -> None:
    given = {"assuming": "K == 4", "writes": "buffer"}
    answer = ml.agree("mx8x4", "mx8x4", ("M", "K"), producer_bytes="M*K", **given)
    assert str(answer.writes.condition) == "8 | M"
    roomy = ml.agree(
        "mx8x4", "mx8x4", ("M", "K"), producer_bytes="8*ceil(M/8)*4*ceil(K/4)", **given
    )
    assert roomy.fits


def test_texts_have_the_users_names() -> None:
    m, n = (ml.index_map(text, (4, 8), names=("y", "x")) for text in ("[0, 1]", "[1, 0]"))
    for answer in (ml.agree(m, n), ml.agree("lambda y, x: (y, x)", "lambda y, x: (x, y)", (4, 8))):
        assert "element (y=0, x=1) is written at offset 1" in answer.verdict
        assert answer.counterexample.at == (0, 1)
    sizes = ml.agree("lambda y, x: (y, x)", "lambda y, x: (x, y)", ("M", "N"))
    assert "at M = N = 2 element (y=0, x=1) is written" in str(sizes)
    assert "element (y=3, x=7) lies at byte 31" in str(ml.agree(m, m, producer_bytes=31))


def test_no_text_is_advised_that_is_wrong_at_the_other_shape() -> None:
    answer = ml.agree("f32[8,128]{1,0}", "f32[128,8]{0,1}")
    assert not any(each.startswith("make") for each in answer.advice)
    answer = ml.agree("f32[8,128]{1,0}", "f32[16,128]{0,1}")
    assert answer.advice[0] == "make the consumer {1,0}"
    assert ml.agree("f32[8,128]{1,0}", "f32[16,128]{1,0}").holds


def test_advice_about_room_and_padding() -> None:
    scales = "mx128x4"
    answer = ml.agree(scales, scales, ("M", "K"), reads="buffer", consumer_bytes="M*K")
    assert answer.advice == (
        "allocate 512*ceil(K/4)*ceil(M/128) bytes for the consumer",
        "zero the buffer before the producer writes it, or let the producer write padding",
    )
    answer = ml.agree("u8[1,100]{1,0}", "u8[1,100]{1,0:T(1,128)}", reads="buffer")
    assert answer.advice == ("let the consumer read elements only",)


def test_json_and_display() -> None:
    answer = ml.agree("mx128x4", "mx128x4", (5, 7), reads="buffer", producer_bytes=35)
    found = json.loads(json.dumps(plain(answer)))
    assert (found["holds"], found["fits"], found["covers"]) == (True, False, False)
    assert (found["undefined"], found["first_undefined"]) == (989, 4)
    assert found["writes"]["counterexample"] == {
        "offset": 35, "byte": 35, "at": [2, 3], "allocated": 35, "needed": 579,
    }  # fmt: skip
    assert found["verdict"] == answer.verdict
    assert repr(answer).startswith("<Agreement: offsets agree, but the producer writes outside")
    assert "<pre>" in answer._repr_html_()
    assert pickle.loads(pickle.dumps(answer)).advice == answer.advice


def test_a_text_beside_an_array() -> None:
    rows = np.zeros((6, 8), np.uint8)
    assert ml.agree("u8[6,8]{1,0}", rows).holds
    assert ml.agree("u8[6,8]{0,1}", rows).holds is False
