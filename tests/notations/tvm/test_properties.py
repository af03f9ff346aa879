"""TVM's layouts beside other notations; tests/notations/test_laws.py has random ones."""

from __future__ import annotations

import morello_layouts as ml
from tests.support.tables import each_row

SAME = [
    ("NCHW16c", "nChw16c", "NCHW"),
    ("NHWC", "nhwc", "NCHW"),
    ("OIHW4i16o4i", "OIhw4i16o4i", "OIHW"),
    ("HWIO", "hwio", "OIHW"),
    ("OI8i16o", "OI8i16o", "OI"),
    ("BA16a64b4a", "BA16a64b4a", "AB"),
    ("NCHW", "[0, 1, 2, 3]", "NCHW"),
    ("lambda i, j: (i//8, j//128, i%8, j%128)", "{1,0:T(8,128)}", "MN"),
    ("lambda i, j: (j, i)", "column-major", "MN"),
    ("lambda m, k: (m//128, k//4, m%32, m//32%4, k%4)", "mx128x4", "MK"),
]


@each_row(("text", "other", "shape"), SAME, ids=[row[0] for row in SAME])
def test_the_same_layout_in_other_notations(text: str, other: str, shape: str) -> None:
    answer = ml.are_equivalent(ml.parse(text, "tvm"), other, tuple(shape.upper()))
    assert answer.holds, answer


def test_symbolic_sizes() -> None:
    m = ml.index_map("NCHW16c", ("N", "C", "H", "W"))
    assert ml.verify(m).holds
    assert str(ml.is_surjective(m).condition) == "16 | C"
    assert ml.index_map("NCHW16c", tuple("NCHW"), assuming="C % 16 == 0").padding == 0


def test_what_is_not_injective_is_said() -> None:
    assert ml.is_injective("lambda i, j: (i + j,)", (3, 4)).counterexample == ((0, 1), (1, 0))
    assert ml.is_surjective("lambda i: (2*i,)", (4,)).counterexample == 1
