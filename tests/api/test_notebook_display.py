"""Values show themselves in notebooks: formulas as LaTeX, proofs as HTML, pictures as SVG."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

import morello_layouts as ml

TILED = "f32[3,5]{1,0:T(2,2)}"


def test_maps_are_shown_as_maps() -> None:
    m = ml.index_map("f32[6,8]{0,1}")
    assert m._repr_latex_() == r"$$ \left(d_{0}, d_{1}\right) \mapsto 6 d_{1} + d_{0} $$"
    assert ml.index_map("f32[6]")._repr_latex_() == r"$$ d_{0} \mapsto d_{0} $$"
    assert m.inverse._repr_latex_() == (
        r"$$ p \mapsto \left(\left(p \bmod 6\right), "
        r"\left\lfloor \frac{p}{6} \right\rfloor\right) $$"
    )
    several = ml.from_sympy((48,), ("d0//8", "d0%8"))
    assert several._repr_latex_() == (
        r"$$ d_{0} \mapsto \left(\left\lfloor \frac{d_{0}}{8} \right\rfloor, "
        r"\left(d_{0} \bmod 8\right)\right) $$"
    )
    moved = ml.relayout("f32[6,8]", "f32[6,8]{0,1}")
    assert moved._repr_latex_() == (
        r"$$ p \mapsto 8 \left(p \bmod 6\right) + \left\lfloor \frac{p}{6} \right\rfloor $$"
    )


def test_a_derivation_is_shown_row_by_row() -> None:
    shown = ml.index_map("bf16[10,200]{1,0:T(8,128)(2,1)}").derivation._repr_latex_()
    assert shown.startswith("$$\n\\begin{aligned}")
    assert r"\text{flatten-nested" in shown


def test_long_values_have_a_short_repr() -> None:
    m = ml.index_map("f32[6,8]{1,0:T(8,8)}")
    assert (
        repr(m.derivation)
        == "<Derivation: 64*(d0//8) + 64*(d1//8) + 8*(d0%8) + d1%8 = 8*d0 + d1 by 3 steps>"
    )
    text = "HloModule small\n\nENTRY main {\n  ROOT a = f32[8,128]{1,0} parameter(0)\n}\n"
    assert len(repr(ml.diagnose(text, "v5e"))) < 100
    assert repr(ml.draw(TILED)) == f"<Picture of {TILED}>"


def test_proofs_say_how_they_ended_and_why() -> None:
    padded = ml.is_bijective(TILED)._repr_html_()
    assert "<b>✗</b>" in padded
    assert "9 of 24 slots are padding (first: 9)" in padded
    assert "<b>✓</b>" in ml.is_injective(TILED)._repr_html_()
    assert "<b>?</b>" in ml.Proof("bijective", None, "ISL gave up")._repr_html_()
    tall = ml.are_equivalent("f32[M,N]{1,0:T(2,128)}", "f32[M,N]{1,0:T(8,128)}")._repr_html_()
    assert "equivalent iff N &lt;= 128" in tall
    padding = ml.is_bijective("f32[M,N]{1,0:T(8,128)}")._repr_html_()
    assert "<li>Padding: -M*N + 1024*ceil(M/8)*ceil(N/128) slots.</li>" in padding
    assert "✓" in ml.is_bitcast("f32[6,8]", "f32[48]")._repr_html_()


def test_html_is_escaped() -> None:
    assert "<img" not in ml.Proof("<img>", False, "<img src=x>")._repr_html_()


def test_a_picture_is_an_svg_and_nothing_else() -> None:
    """Forges show SVG of a notebook, but take it out of HTML."""
    picture = ml.draw(TILED)
    assert picture._repr_svg_().startswith('<svg style="max-width:100%;height:auto"')
    assert "style=" not in picture.svg().split(">")[0]
    assert not hasattr(picture, "_repr_html_")


PROGRAM = "HloModule small\n\nENTRY main {\n  ROOT a = f32[8,128]{1,0} parameter(0)\n}\n"
WAYS = ("_repr_html_", "_repr_latex_", "_repr_markdown_", "_repr_svg_")


def test_a_map_is_shown_with_formula_and_picture() -> None:
    m = ml.index_map(TILED)
    assert m._repr_html_() == ml.parse(TILED)._repr_html_()
    assert "<mo>⌊</mo>" in m._repr_html_()
    assert m._repr_html_().count('class="cell"') == 24  # padding too
    assert "<svg" not in ml.index_map("f32[M,5]{1,0:T(2,2)}")._repr_html_()
    assert ml.parse("bf16[?,8]")._repr_html_().startswith("<pre>")  # no formula
    assert m.table().tolist() == [[m(i, j) for j in range(5)] for i in range(3)]


def public_classes() -> dict[str, type]:
    """The classes whose values the documentation of the package names, but errors."""
    modules = {ml: [*ml._MODULE_OF], ml.gpu: ml.gpu.__all__, ml.tpu: ml.tpu.__all__}
    return {
        f"{module.__name__}.{name}": value
        for module, names in modules.items()
        for name in names
        if isinstance(value := getattr(module, name), type)
        and not issubclass(value, BaseException | str | tuple)
    }


def test_every_public_class_has_a_short_repr_and_a_display() -> None:
    """The generated repr of a dataclass lists every field: good for a few, such as ``Pad``'s."""
    long = [
        name
        for name, kind in public_classes().items()
        if is_dataclass(kind) and hasattr(kind.__repr__, "__wrapped__") and len(fields(kind)) > 5
    ]
    unseen = [
        name
        for name, kind in public_classes().items()
        if not any(hasattr(kind, way) for way in WAYS) and not is_dataclass(kind)
    ]
    assert (long, unseen) == ([], [])
    assert len(public_classes()) > 30


@pytest.mark.parametrize(
    "make",
    [
        lambda: ml.index_map(TILED),
        lambda: ml.index_map(TILED).inverse,
        lambda: ml.index_map(TILED).recipe,
        lambda: ml.index_map(TILED).derivation,
        lambda: ml.index_map("[1, 0, 1 p(4)]", (6, 8)).decompose(),
        lambda: ml.index_map("f32[M]", assuming="M % 8 == 0").assumptions[0],
        lambda: ml.from_sympy((6, 8), "8*d0 + d1"),
        lambda: ml.relayout("f32[4,6]", "{0,1}"),
        lambda: ml.relayout("f32[4,6]", "{0,1}").compile(),
        lambda: ml.parse("[1, 0, 1 p(4)]"),
        lambda: ml.parse(TILED),
        lambda: ml.parse("{1,0}"),
        lambda: ml.parse("(f32[2], s32[])"),
        lambda: ml.parse("b(f32[8])"),
        lambda: ml.is_bijective(TILED),
        lambda: ml.is_bitcast("f32[4,6]", "f32[6,4]"),
        lambda: ml.is_surjective("f32[M]{0:T(8)}").condition,
        lambda: ml.is_surjective("f32[M]{0:T(8)}").counterexample,
        lambda: ml.explain(TILED),
        lambda: ml.explain(TILED).arrays[0],
        lambda: ml.explain("(f32[8,128], token[])"),
        lambda: ml.draw(TILED),
        lambda: ml.tpu.waste(ml.parse("f32[3,5]{1,0:T(8,128)}")),
        lambda: ml.tpu.waste_formula(ml.parse("f32[M,N]{1,0:T(8,128)}")),
        lambda: ml.tpu.suggest("f32", (3, 5), "v5e")[0],
        lambda: ml.read_hlo(PROGRAM),
        lambda: ml.read_hlo(PROGRAM).entry,
        lambda: next(iter(ml.read_hlo(PROGRAM).instructions)),
        lambda: ml.diagnose(PROGRAM),
        lambda: ml.compare_hlo(PROGRAM, PROGRAM),
        lambda: ml.exercises.row_by_row,
        lambda: ml.exercises.row_by_row("4*i + j"),
    ],
)
def test_every_value_has_a_repr_of_one_line_and_a_display(make: Callable[[], Any]) -> None:
    value = make()
    assert 0 < len(repr(value)) < 300
    assert "\n" not in repr(value)
    shown = [getattr(value, way)() for way in WAYS if hasattr(value, way)]
    assert shown
    assert all(shown)


def test_an_explanation_shows_tables_and_a_picture() -> None:
    shown = ml.explain("(f32[2,3], s32[])")._repr_html_()
    assert shown.count("<svg") == 2
    assert "<caption>Proof</caption>" in shown
    many = ml.explain(f"({', '.join(f'f32[{n}]' for n in range(1, 9))})")._repr_html_()
    assert many.count("<svg") == 4
    assert "<p><code>f32[8]{0}</code></p>" in many
