"""Bitcasts: those of the XLA compiler, and random pairs compared with their packed buffers."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import morello_layouts as ml
from morello_layouts.core.fields import plain
from tests.support.paths import table
from tests.support.tables import each_row
from tests.support.xla_strategies import small_arrays

FREE = {"same", "retile", "reshape"}
KINDS = {
    "reshape (row-major identity)": FREE,
    "transpose (mod unit dims/reshape)": {"transpose"},
    "pads differ (exposes/hides padding)": {"padding"},
    # Row-major reshapes, and copies between memory spaces that change no layout (by inspection).
    "too big": {"same", "reshape"},
}


@each_row("row", table("tpu_bitcasts.tsv"), ids=lambda row: f"{row['operand']}-{row['result']}")
def test_bitcasts_of_the_xla_compiler_are_bitcasts(row: dict[str, str]) -> None:
    answer = ml.is_bitcast(row["operand"], row["result"], correspondence="any")
    assert answer.holds is True
    assert answer.kind in KINDS[row["class"]]
    assert answer.slot is None
    spaces = tuple(ml.parse(row[k]).layout.memory_space for k in ("operand", "result"))
    assert answer.memory_spaces == spaces


def test_the_example_of_the_xla_document() -> None:
    """Pad, reshape, transpose: [4,6] to [2,2,3,2] is free, the transpose after it is not."""
    assert ml.is_bitcast("f32[4,6]", "f32[2,2,3,2]").kind == "reshape"
    moved = ml.is_bitcast("f32[2,2,3,2]", "f32[2,3,2,2]", correspondence=(0, 2, 1, 3))
    assert (moved.holds, moved.kind, moved.slot) == (False, "copy", 2)
    assert moved.verdict == (
        "not a bitcast: elements move, and slot 2 is the first that differs; "
        "(0, 0, 1, 0) has offsets 2 and 4"
    )
    # A tiled array is not the row-major transposed one.
    tiled = ml.is_bitcast("f32[4,6]{1,0:T(2,2)}", "f32[2,3,2,2]", correspondence="row-major")
    assert tiled.kind == "copy"


@each_row(
    ("a", "b", "correspondence", "kind"),
    [
        ("f32[3,5]{1,0:T(2,2)}", "f32[3,5]{1,0:T(2,2)S(1)}", "row-major", "same"),
        ("bf16[128,128]{1,0:T(16,128)(2,1)}", "bf16[128,128]{1,0:T(8,128)(2,1)}", "row-major",
         "retile"),
        ("f32[64,64]{1,0}", "f32[64,64]{0,1}", (1, 0), "transpose"),
        ("f32[64,64]{1,0}", "f32[64,64]{0,1}", "row-major", "copy"),
        ("f32[64,64]{1,0}", "f32[64,64]{0,1}", "any", "transpose"),
        ("f32[5,130]{1,0:T(8,128)}", "f32[5,256]{1,0:T(8,128)}", "row-major", "padding"),
        ("f32[5,128]{1,0:T(8,128)}", "f32[5,128]{1,0:T(1,128)}", "row-major", "padding"),
        ("f32[5,130]{1,0:T(8,128)}", "f32[5,130]{1,0:T(2,128)}", "any", "copy"),
        ("f32[8,128]{1,0}", "u16[8,128,2]{2,1,0}", "row-major", "same"),
        ("u8[8,4]{1,0}", "f32[8]{0}", "row-major", "same"),
        ("f32[8,4]{1,0}", "u16[8,4,2]{0,1,2}", "row-major", "copy"),
        ("f32[]{:T(128)}", "f32[1]{0:T(128)}", "row-major", "reshape"),
        ("f32[1,1]{1,0}", "f32[]", "row-major", "reshape"),
    ],
)  # fmt: skip
def test_kinds(a: str, b: str, correspondence: Any, kind: str) -> None:
    answer = ml.is_bitcast(a, b, correspondence=correspondence)
    assert answer.kind == kind
    assert answer.holds is (kind != "copy")
    assert (answer.slot is None) == answer.holds


def held(array: ml.XlaShape, elements: np.ndarray) -> np.ndarray:
    """Return the element in each slot of a buffer, -1 for padding."""
    return ml.pack(array, elements, fill=-1)


@pytest.mark.slow
@given(small_arrays(), st.data())
@settings(suppress_health_check=[HealthCheck.filter_too_much])
def test_random_pairs_against_their_buffers(a: ml.XlaShape, data: st.DataObject) -> None:
    """Answers agree with the packed buffers, and name the first slot of a copy that differs."""
    b = data.draw(small_arrays().filter(lambda x: prod(x.shape) == prod(a.shape)))
    if prod(a.shape) == 0:
        return
    answer = ml.is_bitcast(a, ml.XlaShape(a.element_type, b.dims, b.layout))
    elements = np.arange(prod(a.shape))
    one, other = held(a, elements.reshape(a.shape)), held(b, elements.reshape(b.shape))
    shared = min(len(one), len(other))
    moved = np.flatnonzero(one[:shared] != other[:shared])
    free = not len(moved) and (one[shared:] < 0).all() and (other[shared:] < 0).all()
    assert answer.holds is bool(free)
    if free:
        assert (answer.kind == "padding") == (len(one) != len(other))
    elif len(moved):
        assert answer.slot == moved[0]


def test_symbolic_sizes() -> None:
    answer = ml.is_bitcast("f32[M,N]{1,0:T(1,128)}", "f32[M,N]{1,0}")
    assert str(answer.condition) == "128 | N, or M = 1"
    assert (answer.holds, answer.kind, answer.slot) == (False, "retile", 1)
    assert ml.is_bitcast(tiled("M", "N"), transposed("N", "M"), correspondence=(1, 0)).holds


def tiled(*shape: str) -> ml.IndexMap:
    order = ",".join(map(str, reversed(range(len(shape)))))
    return ml.index_map(f"{{{order}:T(8,128)}}", shape)


def transposed(*shape: str) -> ml.IndexMap:
    return ml.index_map("{0,1:T(8,128)}", shape)


@pytest.mark.parametrize(
    ("a", "b", "assuming", "condition"),
    [
        (ml.index_map("f32[M,N]{1,0}"), ml.index_map("{0}", ("M*N",)), None, "all sizes"),
        (tiled("M", "N"), ml.index_map("{0}", ("M*N",)), "M % 8 == 0", "N = 128"),
        (tiled("A", "M", "N"), tiled("A*M", "N"), "M % 8 == 0", "all sizes"),
    ],
)
def test_reshapes_of_symbolic_sizes(
    a: ml.IndexMap, b: ml.IndexMap, assuming: str | None, condition: str
) -> None:
    answer = ml.is_bitcast(a, b, assuming=assuming)
    assert (str(answer.condition), answer.kind) == (condition, "reshape")


def test_sizes_that_are_proved_among_undecided_ones() -> None:
    answer = ml.is_bitcast(tiled("A", "M", "N"), tiled("A*M", "N"))
    assert answer.holds is False
    assert answer.condition is None
    assert answer.counterexample.sizes == {"A": 2, "M": 1, "N": 1}
    assert answer.slot == 128


def test_a_skipped_candidate_leaves_the_answer_undecided() -> None:
    assert ml.is_bitcast("f32[M,N]", "f32[N,M]").kind == "reshape"
    answer = ml.is_bitcast("f32[M,N]{1,0:T(8,128)}", "f32[N,M]")
    assert (answer.holds, answer.kind) == (None, "unknown")


def test_any_correspondence_at_symbolic_sizes() -> None:
    """One correspondence may be free at sizes at which another is not."""
    assert ml.is_bitcast("f32[M,N]{1,0}", "f32[M,N]{0,1}", correspondence="any").holds is True
    a, b = tiled("A", "M", "N"), tiled("M", "A", "N")
    answer = ml.is_bitcast(a, b, correspondence="any")
    assert (answer.holds, answer.condition) == (False, None)
    assert answer.counterexample.sizes == {"A": 2, "M": 1, "N": 1}
    concrete = [m.at(A=8, M=16, N=1) for m in (a, b)]
    assert ml.is_bitcast(*concrete, correspondence="any").holds is True


def test_the_right_transpose_is_found_among_thousands() -> None:
    a = ml.index_map("[0,1,2,3,4,5,6,0 p(2)]", (2, 3, 5, 2, 2, 2, 2))
    b = ml.index_map("[0,1,2,3,4,5,6]", (3, 5, 2, 2, 2, 2, 2))
    assert ml.is_bitcast(a, b, correspondence="any").kind == "transpose"
    assert ml.is_bitcast(a, b, correspondence=(1, 2, 3, 4, 5, 6, 0)).kind == "transpose"


def test_arrays_without_elements_and_elements_of_other_widths() -> None:
    assert ml.is_bitcast("f32[0,3]", "f32[3,0]").holds is True
    packed = ml.is_bitcast("s4[8]{0:E(4)}", "s4[8]{0}")
    assert (packed.holds, packed.kind) == (False, "copy")


def test_memory_spaces_never_decide() -> None:
    answer = ml.is_bitcast("f32[8,128]{1,0:S(1)}", "f32[8,128]{1,0:S(5)}")
    assert (answer.holds, answer.memory_spaces) == (True, (1, 5))
    assert plain(answer)["memory_spaces"] == [1, 5]


def test_a_candidate_that_was_skipped_may_be_free() -> None:
    """Of 720 transposes 120 are asked about; none of them is free, so nothing is decided."""
    sizes = ",".join("2" * 6)
    answer = ml.is_bitcast(
        f"f32[{sizes}]", f"f32[{sizes}]{{5,4,3,2,1,0:T(3)}}", correspondence="any"
    )
    assert answer.holds is None
    assert ml.is_bitcast(f"f32[{sizes}]", f"f32[{sizes}]{{5,4,3,2,1,0:T(3)}}").holds is False


def test_neither_of_two_arrays_is_the_smaller() -> None:
    assert ml.is_bitcast("f32[3,4]{1,0:T(4,8)}", "f32[4,5]{1,0:T(4,8)}").kind == "padding"


@each_row(
    ("a", "b", "shape", "slot"),
    [
        # Of runs of 128 slots the first are looked at, 64 in a turn; row 130 is padding in one.
        ("f32[256,130,100]{2,1,0:T(8,128)}", "f32[33280,100]{1,0:T(8,128)}", None, 130 * 128),
        # Behind a slot of padding, pairs that agree do not begin at even slots.
        ("strided<[16, 2, 1], offset: 1>", "strided<[2, 8, 1], offset: 1>", (4, 8, 2), 3),
    ],
)
def test_the_first_slot_behind_runs_that_agree(a: str, b: str, shape: Any, slot: int) -> None:
    one, other = (ml.index_map(text, shape) for text in (a, b))
    assert ml.is_bitcast(one, other).slot == slot
    held = [m.coordinates(np.arange(slot + 1)) for m in (one, other)]
    elements = [np.ravel_multi_index([np.maximum(x, 0) for x in at], m.shape)
                for at, m in zip(held, (one, other), strict=True)]  # fmt: skip
    assert np.flatnonzero(elements[0] != elements[1]).tolist() == [slot]
