"""Formulas as MathML: well formed, and nothing of the formula is lost."""

from __future__ import annotations

from xml.etree import ElementTree

import morello_layouts as ml
from morello_layouts.core.expr.conversions import latex
from morello_layouts.core.limits import TYPESET
from morello_layouts.interfaces.api.pictures import mathml

TEXTS = (
    "bf16[10,200]{1,0:T(8,128)(2,1)}",
    "f32[M,N]{1,0:T(8,128)}",
    "f32[my_size,5]{0,1:T(2,2)}",
    "Sw<3,3,3> o 0 o (8,64):(64,1)",
    "f32[4,6,5]",
)


def test_every_name_and_number_is_kept_in_order() -> None:
    for text in TEXTS:
        form = ml.index_map(text).form
        found = ElementTree.fromstring(mathml(latex(form)))
        words = [each.text for each in found.iter() if each.tag in ("mi", "mn")]
        spelt = latex(form).replace("\\_", "_").replace("\\", " \\")
        for sign in "{}()+-_^,":
            spelt = spelt.replace(sign, " " if sign != "_" else "_")
        kept = [w.replace("_", "") for w in spelt.split() if not w.startswith("\\")]
        assert "".join(filter(None, words)).replace("_", "") == "".join(kept), text


def test_a_floor_is_a_fraction_in_brackets() -> None:
    found = ElementTree.fromstring(mathml(r"3 \left\lfloor \frac{x}{4} \right\rfloor + y"))
    assert [each.tag for each in found] == ["mn", "mspace", "mrow", "mo", "mi"]
    assert [each.text or each.tag for each in found[2]] == ["⌊", "mfrac", "⌋"]
    assert [part[0].text for part in found[2][1]] == ["x", "4"]


def test_a_long_formula_is_code() -> None:
    assert mathml("x + " * TYPESET).startswith("<code>x + x")
