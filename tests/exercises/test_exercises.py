"""Each exercise takes its solution, and answers wrong tries with a counterexample."""

from __future__ import annotations

from itertools import count, product, repeat
from math import comb
from typing import Any

import numpy as np
import pytest
import sympy

import morello_layouts as ml
from tests.support.tables import each_row

EXERCISES = {
    name: value
    for name in ml.exercises.__all__
    if isinstance(value := getattr(ml.exercises, name), ml.exercises.Exercise)
}

# Answers that a learner may give, each with the place at which it goes wrong.
WRONG: dict[str, list[tuple[Any, Any]]] = {
    "two_way_pitch": [("33", 1), (64, 32), (36, 4)],
    "smallest_pitch": [("65", 65), (80, 2), (88, 88)],
    "swizzle_by_hand": [
        ("32*i + j", (0, 1)),
        ("32*j + i", 32),
        ("33*i + j", 2110),
        ("32*i + (i ^ j)", 2079),
        # right in the first row and column
        ("32*i + (i%32 ^ j ^ ((j//16 + i%2 - ((j//16) ^ (i%2)))//2))", (0, 1)),
    ],
    "half_rows": [
        ("32*i + j", (0, 2)),
        ("32*i + (j ^ 8*(i%4))", (0, 4)),
        (
            "32*i + (j ^ 8*((i//2)%4) ^ (8*((j//16 + (i//2)%2 - ((j//16) ^ ((i//2)%2)))//2)))",
            (0, 2),
        ),
    ],
    "swizzle_of_bytes": [("Sw<2,2,3>", 8), ("Sw<2,4,4>", 32)],
    "holder_of_an_element": [((0, 0), (0, 0)), ((7, 4), (1, 14))],
    "device_of_a_row": [
        ("i//4 + 4*(j//3)", (0, 3)),  # column by column
        ("2*(i//3) + j//3", (3, 0)),
    ],
    "empty_device": [(36, 1), ("40", 5), (16, None), ("x", None)],
    "row_on_its_process": [("i//3", (1,)), ("i//2%3", (1,))],
    "position_of_any_element": [("A*B*i + B*j + k", (0, 1, 0)), ("B*i + C*j + k", (1, 0, 0))],
    "bit_of_a_boolean": [("128*i + j", (0, 1)), ("32*j + i", (32, 0))],
    "rounded_quotient": [((99, 33), (99, 33)), ((49, 49), (49, 49)), ("x", None)],
    "longest_row": [(9, ((0, 8), (1, 0))), (7, None)],
    "least_moved": [(144, 144), ("108", 108)],
    "offset_of_a_loop": [
        ("36*i0 + 3*j0 + 12*i1 + j1", (0, 0, 1, 0)),  # row by row, without tiles
        ("48*i0 + 3*i1 + 4*j0 + j1", (0, 1, 0, 0)),
    ],
    "loops_column_by_column": [
        ("i0 j0 i1 j1", (0, 1)),  # the order of the buffer
        (["j0", "i0", "j1", "i1"], (0, 1)),
        (("j1", "j0", "i0", "i1"), (0, 3)),
        ("i j", None),
        (7, None),
    ],
    "rows_of_the_last_tile": [("(m + 1)%8", (7,)), ("m + 1 - 8*(m//8)%8", (8,)), ("8", (0,))],
    "offset_in_panels": [("16*k + c", (1, 0, 0)), ("16*P*k + 16*p + c", (0, 1, 0))],
    "right_by_luck": [((0, 1), (0, 1)), ((0, 0), (0, 0)), ((16, 0), None), ("x", None)],
    "sizes_that_hide_it": [((8, 8), (0, 4)), ((8, 2), None), ((1, 4), None), (8, None)],
    "nobody_wrote": [("8*(3 - m%4)", (0,)), ("2*(m + 1)", (0,))],
    "slot_of_the_writer": [("8*(p//8) + 2*(p%4) + (p//4)%2", (1,)), ("p", (1,))],
    "token_of_a_slot": [("p//2", (1,)), ("p%4", (8,))],
    "black_box": [("{1,0:T(8,8)}", (0, 8)), ("[0, 1]", (0, 8))],
    "row_by_row": [("i + 3*j", (0, 1)), ("[1, 0]", (0, 1)), ("3*i + j", (1, 0))],
    "middle_first": [
        ("[1, 2, 0]", (0, 0, 1)),  # Morello's order, which is XLA's from the other end
        ("{0,2,1}", (0, 0, 1)),
        ("12*i + 4*j + k", (0, 0, 1)),
    ],
    "minutes": [("s//60", (3600,)), ("s%60", (1,)), ("(s//60)%24", (1440,))],
    "blocks": [
        ("12*(i//2) + 6*(j//3) + 2*(i%2) + j%3", (1, 0)),
        ("12*(i//2) + 6*(j//3) + 3*i + j%3", (2, 0)),
        ("[0, 1, 1 p(3)]", (0, 3)),
    ],
    "fewer_mods": [
        ("32*((i//4)%1) + 16*((j//4)%2) + 4*(i%4) + j%4", None),  # right, but the question itself
        ("32*(i//4) + 16*(j//4) + 4*i + j%4", None),
        ("16*((j//4)%2) + 4*i + j%4", None),  # a floor and a mod of it are two
        ("16*(j//4) + 4*i + j", (0, 4)),
    ],
    "strips": [
        ("[1, 0, 0 p(3)]", (0, 1)),  # the pack lies beside the rest of its dimension: column-major
        ("[0, 0 p(3), 1]", (0, 1)),
        ("[0, 1, 0 p(2)]", (0, 1)),
    ],
    "each_term_once": [
        ("16*(i//2) + 2*j + 2*(i%2)", (1, 0)),  # the book's slip: one term twice
        ("8*(i//2) + 2*j + i%2", (2, 0)),
    ],
    "channels_last": [
        ("[0, 3, 1, 2]", (0, 0, 0, 1)),  # the order of the transpose the other way round
        ("[0, 1, 2, 3]", (0, 0, 0, 1)),
        ("{1,2,3,0}", (0, 0, 0, 1)),
    ],
    "evens_first": [
        ("8*(d//8) + 4*(d%2) + d//2", (8,)),
        ("[0 oe(16)]", None),
        ("8*(d//8) + 4*((d + 1)%2) + (d//2)%4", (0,)),  # odd ones first
        ("8*(d//8) + 2*(d%4) + (d//4)%2", (1,)),  # the way back
    ],
    "bytes_of_words": [
        ("[0 oe(32)]", (1,)),
        ("4*(d%8) + d//8", (1,)),  # the way back
    ],
    "ragged_tiles": [
        ("8*(i//2) + 8*(j//4) + 4*(i%2) + j%4", (2, 0)),  # one tile in a row, where there are two
        ("{1,0:T(3,2)}", (0, 2)),  # how many tiles, not how large
        ("{0,1:T(2,4)}", (0, 1)),
    ],
    "four_bytes": [
        ("{1,0:T(4,8)(2,1)}", (0, 1)),
        ("{1,0:T(4,8)(1,4)}", (0, 1)),
        ("{1,0:T(4,8)}", (0, 1)),
    ],
    "four_tiles": [
        ("{1,0:T(8,4)(4,1)}", (1, 0)),  # rows next to each other
        ("{1,0:T(2,4)(1,4,1,1)}", (0, 4)),  # side by side
        ("{1,0:T(2,4)(2,1,1,1)}", (0, 1)),
    ],
    "joined_rows": [
        ("{2,1,0:T(2,2)}", (1, 0, 0)),  # each matrix is padded
        ("8*((3*i + j)//2) + 4*(k//2) + 2*(j%2) + k%2", (1, 0, 0)),  # joined in one place only
        ("8*((3*i + j)//2) + 4*((3*i + j)%2) + k", (0, 0, 2)),  # as wide as the matrix
    ],
    "cheapest_order": [
        ("{2,1,0:T(8,128)}", 153_600),
        ("{1,2,0:T(8,128)}", 12_288),
        ("[0, 1, 2]", None),  # in no tiles
        ("1000*d0 + 5*d1 + d2", None),
        ("{1,0,2:T(*,8,128)}", None),  # fewer slots, but joins two dimensions
        ("{1,0,2:T(8,128)L(16384)}", None),  # a longer buffer
        ("f32[80,128]{1,0:T(8,128)}", None),  # another array, of as many slots as would do
    ],
    "every_slot_once": [
        ("12*i + 4*j + k", ((0, 0, 0), (0, 1, 0))),  # row-major: j is not the fastest
        ("2*i + j + 6*k", ((0, 2, 0), (1, 0, 0))),
        ("f32[4,3,4]{1,0,2}", None),  # another array
        (ml.from_sympy({"shape": (2, 3, 4), "size": 25}, "12*d0 + d1 + 3*d2"), 24),
        ("5", ((0, 0, 0), (0, 1, 0))),
        (lambda i, j, k: (i, j, k), None),
        ("4*i + j + 8*k", (0, 0, 3)),  # a gap after each run, so the last leave the buffer
    ],
    "find_a_collision": [
        (((0, 0), (63, 63)), (0, 4032)),
        (((0, 62), (1, 0)), (62, 63)),
        (((5, 1), (5, 1)), None),
        (((5, 1), (5, 2)), (316, 317)),
        (((0, 64), (1, 1)), None),
        (((0, -1), (1, 0)), None),
        ("63*i + j", None),
    ],
    "odd_even_of_pairs": [
        ("2*((2*(i%2) + (i%4)//2)//2) + i%2", (1,)),
        ("4*(i%2) + i//2", (1,)),  # OddEven of all eight
        ("i", (2,)),
    ],
    "pads_odd_heights": [
        ("{1,0:T(8,128)(2,1)}", ml.proof.SymbolicCounterexample({"M": 1, "N": 1}, 1)),
        ("{1,0:T(2,128)}", ml.proof.SymbolicCounterexample({"M": 1, "N": 1}, 1)),
        ("[0, 1]", None),  # never padded
        ("2*d0 + d1", None),
    ],
    "free_reshape": [
        ("{3,2,1,0}", (0, 0, 1, 0)),
        ("{2,3,1,0}", (0, 0, 0, 1)),
        ("{0,2,1,3}", (0, 0, 0, 1)),  # from slow to fast
    ],
    "result_offset": [
        ("{3,2,1,0:T(8,128)}", None),
        ("18720*b + 3120*i + 130*j + a", (0, 0, 0, 1)),  # without tiles
        (
            "18720*b + 3120*i + 2048*(j//8) + 1024*(a//128) + 128*(j%8) + a%128",
            (0, 0, 1, 0),
        ),  # without padding
    ],
    "no_padding": [
        ("{1,0,2:T(8,128)}", 2_097_152),
        ("{0,2,1:T(8,128)}", 262_144),
        ("{0,2,1:T(4,128)}", None),  # other tiles
        ("{0,2,1:T(*,8,128)}", None),  # full, but joins two dimensions
        ("f32[8,128]{1,0:T(8,128)}", None),  # another array
    ],
    "transpose_without_copy": [
        ("{2,1,0:T(32,128)(4,1)}", (0, 0, 1)),
        ("{0,2,1:T(8,128)(4,1)}", (0, 0, 128)),
        ("{0,2,1}", (0, 0, 1)),
    ],
    "slot_of_a_column": [("4*(p%6) + p//6", (1,)), ("6*p", (4,))],
    "slot_of_a_row": [
        ("24*(p//24) + 12*((p//4)%2) + 4*((p//8)%3) + p%4", (4,)),  # the other direction
        ("p", (4,)),
    ],
}


@each_row("name", EXERCISES)
def test_the_solution_is_right(name: str) -> None:
    feedback = EXERCISES[name](EXERCISES[name].solution)
    assert feedback.right is True, feedback


@pytest.mark.slow
@each_row("name", EXERCISES)
def test_a_wrong_answer_gets_a_counterexample(name: str) -> None:
    assert WRONG[name], "give two wrong answers at least"
    for answer, place in WRONG[name]:
        feedback = EXERCISES[name](answer)
        assert feedback.right is False
        found = feedback.counterexample
        assert place in (found, getattr(found, "at", found)), feedback


def test_every_wrong_answer_belongs_to_an_exercise() -> None:
    assert set(WRONG) == set(EXERCISES)


MATRIX = ml.exercises.Exercise("?", (6, 8), "24*(j//4) + 4*i + j%4", names=("i", "j"))


@each_row(
    "answer",
    [
        "24*(j//4) + 4*i + j%4",
        "j + 4*i + 20*(j//4)",
        "24*(d1//4) + 4*d0 + d1%4",
        "[1, 0, 1 p(4)]",
        "{1,0:T(6,4)}",
        "f32[6,8]{1,0:T(6,4)}",
        lambda i, j: 24 * (j // 4) + 4 * i + j % 4,
        ml.index_map("[1, 0, 1 p(4)]", (6, 8)),
        ml.index_map("[1, 0, 1 p(4)]", (6, 8)).expr,
        4 * sympy.Symbol("i") + sympy.Mod(sympy.Symbol("j"), 4) + 24 * (sympy.Symbol("j") // 4),
        lambda i, j: np.add(24 * (j // 4) + 4 * i, np.mod(j, 4)),
        lambda i, j: f"24*({j}//4) + 4*{i} + {j}%4",
        ml.from_sympy((6, 8), "24*(d1//4) + 4*d0 + d1%4"),
        ml.parse("[1, 0, 1 p(4)]"),
    ],
    ids=repr,
)
def test_answers_come_in_many_forms(answer: Any) -> None:
    assert MATRIX(answer).right is True


def test_the_reply_to_a_wrong_answer() -> None:
    said = MATRIX("24*(j//4) + 4*i + j%3")
    assert str(said) == "Not yet: at i = 0, j = 3 the offset is 3, yours is 0"
    assert not said


@each_row(
    ("answer", "told"),
    [
        ("24*(j//4", "expected"),
        ("T(6,4)", "write for example {1,0:T(6,4)}"),
        ("(6,4)(2,1)", "write for example {1,0:T(6,4)(2,1)}"),
        ("[1, 0, 1 p(3)]", "8"),
        ("[1, 0, 1 p(4]", "expected"),
        ("k", "found k"),
        ("f32[6,9]", "expected an answer for the shape [6,8], got the shape [6,9]"),
        (ml.index_map("[0, 1]", (8, 6)), "got the shape [8,6]"),
        (ml.from_sympy((8, 6), "d0"), "got the shape [8,6]"),
        (ml.from_sympy((6, 8), ("d0", "d1")), "expected one formula, got 2"),
        (lambda i, j: (i, j), "expected one formula, got 2"),
        (
            lambda i: i,
            "does not take 2 coordinates\nan element of the array has the coordinates i, j",
        ),
        (lambda i, j: 0 if i < 2 else j, "does not take symbols"),
        (max, "does not take symbols"),
        (MATRIX, "does not take 2 coordinates"),
        (ml.relayout("{1,0}", "{0,1}", (6, 8)), "does not take 2 coordinates"),
        (int, "expected a layout, got"),
        (ml.IndexMap, "expected a layout, got"),
        (True, "expected a layout, got True"),
        (iter("ij"), "expected a layout, got"),
        ("i + j\0", "expected"),
        ("<b>i</b>", "expected"),
        ("(" * 1000 + "i" + ")" * 1000, "an answer may have 2,000"),
        ("+".join("i" * 1001), "2,001 characters"),
        ("(" * 999 + "i", "expected"),
        ("9**9**9**9", ""),
        (None, "expected a layout, got None"),
        ("", ""),
        (0.5, ""),
    ],
    ids=repr,
)
def test_texts_that_are_not_answers_get_a_reason(answer: Any, told: str) -> None:
    said = MATRIX(answer)
    assert said.right is False
    assert told in said.comment


def test_a_layout_in_a_larger_buffer_is_another_one() -> None:
    tiled = ml.exercises.Exercise("which layout?", (8, 8), "{1,0:T(4,8)}")
    said = tiled("{1,0:T(4,8)L(128)}")
    assert (said.right, said.counterexample) == (False, 128)
    assert "the buffer has 128 slots instead of 64" in said.comment
    where = ml.exercises.Exercise("where?", (3, 4), "4*d0 + d1")  # asks for no buffer
    assert where("{1,0:T(4,4)}").right is True


def test_the_text_of_questions() -> None:
    """Numbers that the texts of exercises hold."""
    theirs = ml.from_sympy({"i": 8}, "2*((2*(i%2) + (i%4)//2)//2) + i%2")
    assert len({theirs(i) for i in range(8)}) == 2  # of odd_even_of_pairs
    slots = ml.index_map("s32[1024,8,4]{2,1,0:T(8,128)}").size
    assert slots == 32 * 1024 * 8 * 4  # of no_padding
    packed = np.pad(np.arange(35).reshape(5, 7), [(0, 1), (0, 1)]).reshape(3, 2, 2, 4)
    asked = ml.pack(ml.exercises.ragged_tiles.solution, np.arange(35).reshape(5, 7))
    assert np.array_equal(packed.transpose(0, 2, 1, 3).ravel(), asked)


def test_the_solutions_about_a_shared_buffer() -> None:
    """Counted: who wrote a slot, and which elements two layouts put in one place."""
    lucky = ml.exercises.right_by_luck
    written, read = (ml.index_map(x, (16, 8)) for x in ("[0, 1, 0 p(4)]", "[0, 1]"))
    same = {at for at in np.ndindex(16, 8) if written(*at) == read(*at)}
    assert {at for at in np.ndindex(16, 8) if lucky(at).right} == same - {(0, 0)}
    assert len(same) == 8
    asked = ml.from_sympy({"m": 64}, ml.exercises.nobody_wrote.solution)
    rows = ml.from_sympy({"m": 64}, ml.exercises.rows_of_the_last_tile.solution)
    for m in range(64):
        slots = np.zeros(ml.index_map("{1,0:T(4,8)}", (m + 1, 6)).size, bool)
        slots[ml.index_map("{1,0:T(4,8)}", (m + 1, 6))(*np.indices((m + 1, 6)))] = True
        assert asked(m) == (~slots).sum()
        assert rows(m) == np.bincount(np.arange(m + 1) // 8)[-1]
    rows_of = ml.index_map("[0, 1, 0 p(4)]", (8, 2))
    token = ml.from_sympy({"p": 16}, ml.exercises.token_of_a_slot.solution)
    assert [rows_of.coordinates(p)[0] for p in range(16)] == [token(p) for p in range(16)]
    old = ml.from_sympy({"p": 16}, ml.exercises.slot_of_the_writer.solution)
    assert [rows_of(*divmod(p, 2)) for p in range(16)] == [old(p) for p in range(16)]


def test_sizes_that_are_names() -> None:
    tiled = ml.exercises.Exercise("?", ("M", "N"), "{1,0:T(8,128)}")
    assert tiled("{1,0:T(8,128)}").right is True
    said = tiled("{1,0:T(4,128)}")
    assert "M = 1, N = 129, d0 = 0, d1 = 128 the offset is 1024, yours is 512" in said.comment


def test_questions_with_many_answers() -> None:
    exercise = ml.exercises.Exercise(
        "a layout without padding?", (6, 8), "[0, 1]", judge=ml.is_bijective
    )
    assert exercise("{1,0:T(3,2)}").right is True
    said = exercise("{1,0:T(4,8)}")
    assert (said.right, said.counterexample) == (False, 48)


def test_undecided_is_neither_right_nor_wrong() -> None:
    exercise = ml.exercises.Exercise("?", ("M", "N"), "[0, 1]", judge=ml.is_injective)
    said = exercise("2*(N*d0 + d1) + (N*d0 + d1) % 2")
    assert said.right is None
    assert not said
    assert str(said).startswith("Not decided: injective at small sizes")


def test_questions_for_a_short_formula() -> None:
    exercise = ml.exercises.Exercise("?", (4, 8), "16*(j//4) + 4*i + j%4", names=("i", "j"), most=2)
    assert exercise("16*(j//4) + 4*i + j%4").right is True
    assert exercise("12*(j//4) + 4*i + j").right is True
    assert exercise("{1,0:T(4,4)}").right is True
    said = exercise("16*((j//4)%2) + 4*(i%4) + j%4")
    assert (said.right, said.counterexample) == (False, None)
    assert "floors and mods: 4, and 2 are enough" in said.comment
    assert exercise("16*(j//4) + 4*i + j").counterexample == (0, 4)
    pairs = ml.exercises.Exercise("?", (8,), "4*((d0//2)%2) + 2*(d0//4) + d0%2", most=3)
    assert "floors and mods: 4" in pairs("[0, 0 oe(4), 0 p(2)]").comment


def test_answers_that_are_not_maps() -> None:
    exercise = ml.exercises.Exercise(
        "?", (1,), (11,), check=lambda n: ml.exercises.Feedback(n == (11,), "")
    )
    assert exercise((11,)).right is True
    assert exercise((12,)).right is False


def test_formulas_may_be_given_a_buffer() -> None:
    exercise = ml.exercises.Exercise("no gap?", (2, 3), "3*d0 + d1", judge=ml.is_bijective, size=6)
    assert exercise("d0 + 2*d1").right is True
    assert exercise("4*d0 + d1").counterexample == (1, 2)


def test_how_many_pairs_collide() -> None:
    """As the question of ``find_a_collision`` has it."""
    taken = [0] * (63 * 63 + 64)
    for i, j in product(range(64), repeat=2):
        taken[63 * i + j] += 1
    assert (sum(comb(n, 2) for n in taken), comb(64 * 64, 2)) == (63, 8_386_560)


@pytest.mark.parametrize("answer", [None, 5, "x", ((0, 63),), ((0, 63), 1), ((0.0, 63), (1, 0))])
def test_answers_that_are_not_pairs_of_elements(answer: Any) -> None:
    said = ml.exercises.find_a_collision(answer)
    assert said.right is False
    assert "give two elements" in said.comment


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("every_slot_once", "3*i + j + 6*k"),
        ("every_slot_once", "{1,0,2}"),
        ("every_slot_once", ml.from_sympy((2, 3, 4), "12*d0 + d1 + 3*d2")),
        ("find_a_collision", [(63, 0), (62, 63)]),
        ("find_a_collision", np.array([[0, 63], [1, 0]])),
        ("slot_of_a_column", 6 * sympy.Mod(sympy.Symbol("p"), 4) + sympy.Symbol("p") // 4),
        ("no_padding", "[2, 0, 1, 0 p(128)]"),
        ("pads_odd_heights", "[0, 1, 0 p(2)]"),
        ("pads_odd_heights", "{0,1:T(1,2)}"),
    ],
)
def test_other_right_answers(name: str, answer: Any) -> None:
    said = EXERCISES[name](answer)
    assert said.right is True


def test_a_judge_may_answer_itself() -> None:
    def smallest(given: ml.IndexMap | ml.AffineMap) -> ml.exercises.Feedback:
        return ml.exercises.Feedback(given.size < 50, f"{given.size} slots", given.size)

    exercise = ml.exercises.Exercise(
        "a layout in less than 50 slots?", (6, 8), "[0, 1]", judge=smallest
    )
    assert exercise("{1,0:T(3,2)}").right is True
    assert exercise("{1,0:T(4,8)}").counterexample == 64


def test_formulas_may_give_something_else_than_offsets() -> None:
    minutes = ml.exercises.Exercise("?", (86400,), "(s//60)%60", names=("s",), value="minute")
    assert str(minutes("s%60")) == "Not yet: at s = 1 the minute is 0, yours is 1"
    assert str(minutes("(s//60)%60")) == "Right: the same minute at every coordinate"


def test_how_it_shows_itself() -> None:
    assert "<details>" in ml.exercises.row_by_row._repr_markdown_()
    assert "<details>" not in MATRIX._repr_markdown_()
    page = ml.exercises.Exercise("?", (2,), "d0")("<b>")._repr_html_()
    assert "<b>✗</b>" in page
    assert "&lt;b&gt;" in page


PASTED = [
    ("evens_first", "[0, 0 oe(8)]"),
    ("result_offset", "f32[130,10,6,24]{0,3,2,1:T(8,128)}"),
    ("each_term_once", "[0, 1, 0 p(2)]"),
    ("position_of_any_element", "{2,1,0}"),
    ("fewer_mods", "[0, 1, 0 p(4), 1 p(4)]"),
    ("odd_even_of_pairs", "[0, 0 oe(4), 0 p(2)]"),
    ("swizzle_by_hand", "Sw<5,0,5> o 0 o (64,32):(32,1)"),
]


@each_row("name, layout", PASTED)
def test_the_pasted_layout_is_not_a_formula(name: str, layout: str) -> None:
    reply = EXERCISES[name](layout)
    assert reply.right is False
    assert "write a formula of" in reply.comment


@each_row("name", EXERCISES)
def test_known_errors_get_their_reason(name: str) -> None:
    """Each is wrong, and no other known error of the exercise is the same answer."""
    exercise = EXERCISES[name]
    assert exercise.reason
    assert len(exercise.errors) >= 1
    for answer, why in exercise.errors:
        said = exercise(answer)
        assert said.right is False
        assert said.why == why
        assert str(said).endswith(why)


def test_an_error_in_another_form_gets_its_reason() -> None:
    assert "3 is the number of rows" in ml.exercises.row_by_row("j + 3*i").why
    assert "3 is the number of rows" in ml.exercises.row_by_row(lambda i, j: 3 * i + j).why
    assert ml.exercises.two_way_pitch("LD = 33").why == ml.exercises.two_way_pitch(33).why != ""
    assert ml.exercises.row_by_row("7*i + j").why == ml.exercises.row_by_row("4*i + j").why == ""


def test_a_reply_draws_both_and_hides_the_right_text() -> None:
    said = ml.exercises.ragged_tiles("{1,0:T(4,2)}")
    page = said._repr_html_()
    assert page.count("<svg") == page.count("<details>") == 1
    assert "{1,0:T(4,2)}" in page
    assert "T(2,4)" not in page
    beside = str(said.picture())
    assert "in the other layout" in beside
    assert ml.exercises.ragged_tiles("{1,0:T(2,4)}").picture() is None
    assert ml.exercises.minutes("s//60").picture() is None  # a number of minutes is not an offset
    outside = ml.exercises.every_slot_once("4*i + j + 8*k")  # an offset outside of the buffer
    assert outside.picture() is not None
    named = ml.exercises.offset_in_panels("16*k + c")  # drawn at the sizes that show it
    assert named.picture() is not None


@each_row(
    "name, answer",
    [
        ("rounded_quotient", (98, 49)),
        ("longest_row", "N = 8"),
        ("two_way_pitch", "LD=34"),
        ("loops_column_by_column", "j0,j1,i0,i1"),
        ("find_a_collision", "((0,63),(1,0))"),
        ("holder_of_an_element", "lane 7, register 2"),
        ("row_by_row", "offset = 4*i + j"),
        ("sizes_that_hide_it", "(3, 4)"),
    ],
)
def test_the_form_of_a_right_answer_does_not_matter(name: str, answer: Any) -> None:
    assert EXERCISES[name](answer).right is True


@each_row(
    "name, answer, told",
    [
        ("each_term_once", "(0, Dynamic), (1, Dynamic), (0, Packed(2))", "a formula of i, j"),
        ("row_by_row", "4i + j", "write 4*i"),
        ("row_by_row", "4*row + col", "write i, j"),
        ("blocks", "12*(i/2) + 6*(j/3) + 3*(i%2) + j%3", "write //"),
        ("middle_first", "(1,2,0)", "write [1,2,0] from slow to fast"),
    ],
)
def test_what_students_write_gets_an_error_that_helps(name: str, answer: str, told: str) -> None:
    said = EXERCISES[name](answer)
    assert said.right is False
    assert told in said.comment


def test_no_answer_is_read_without_end() -> None:
    own: list[Any] = []
    own.append(own)
    for answer in (own, count(), repeat("a"), "9" * 1_900, 10**5_000, int, np.ndarray):
        assert ml.exercises.find_a_collision(answer).right is False
        assert ml.exercises.two_way_pitch(answer).right is False
        assert str(ml.exercises.least_moved(answer)).startswith("Not yet")


def test_an_exercise_of_another_name_names_the_nearest() -> None:
    with pytest.raises(AttributeError, match="has no exercise 'row_by': use row_by_row"):
        _ = ml.exercises.row_by
