"""The explorer's answers as plain values: no server, no page."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from math import prod
from typing import Any

import pytest
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts.core.maps.names import renamed
from morello_layouts.interfaces.explanations.rows import proof_rows
from morello_layouts.interfaces.explorer.answer import answer, parts
from morello_layouts.interfaces.explorer.engine import answered, joined
from morello_layouts.interfaces.explorer.subject import FieldError, Question, at_numbers, is_formula
from morello_layouts.outputs.picture.picture import size_of
from tests.support.presets import PRESETS
from tests.support.tables import each_row


def asked(layout: str, **fields: str) -> dict[str, Any]:
    """An answer, as JSON brings it to the page."""
    found: dict[str, Any] = json.loads(json.dumps(answer({"layout": layout, **fields})))
    return found


def texts(rows: list[dict[str, Any]]) -> dict[str, str]:
    return {row["label"]: row["text"] for row in rows}


@pytest.mark.slow
@each_row("preset", PRESETS, ids=lambda one: one["name"])
def test_every_preset_is_answered_in_every_part(preset: Any) -> None:
    question = Question.of(preset["question"])
    found = asked(**preset["question"])
    assert found["errors"] == []
    m = ml.index_map(question.layout, _shape(question.shape), assuming=question.assuming or None)
    assert found["formula"]["simplified"] == str(renamed(m.form, m.names))
    assert found["formula"]["reference"] == str(renamed(m.reference_form, m.names))
    assert len(found["formula"]["derivation"]) == len(m.derivation)
    assert found["words"]
    assert found["memory"]
    assert found["sizes"]
    assert [(one["target"], one["title"]) for one in found["code"]] == [
        ("c", "C"), ("cuda", "CUDA"), ("python", "Python"), ("rust", "Rust"), ("mlir", "MLIR"),
        ("triton", "Triton"), ("latex", "LaTeX"), ("sympy", "SymPy"),
    ]  # fmt: skip
    assert found["code"][0]["offset"] == ml.code(m, "c", function=True)
    assert found["code"][2]["coordinates"] == ml.code(m.inverse, "python", function=True)
    assert "not injective" not in texts(found["proofs"])["layout"]
    assert texts(found["proofs"])["formulas"].startswith("verified")
    assert bool(found["comparisons"]) == bool(question.other)
    is_pair = question.other and not is_formula(question.other)
    assert len(found["picture"]["panels"]) == (2 if is_pair else 1)


def _shape(text: str) -> tuple[int | str, ...] | None:
    from morello_layouts.notations import parse_shape

    return parse_shape(text) if text else None


def test_presets_have_names_of_their_own_and_groups_in_one_piece() -> None:
    assert len({one["name"] for one in PRESETS}) == len(PRESETS)
    groups = [one["group"] for one in PRESETS]
    assert sorted(groups, key=list(dict.fromkeys(groups)).index) == groups


def test_proofs_are_those_of_explain() -> None:
    from morello_layouts.interfaces.explanations import explain

    text = "bf16[10,200]{1,0:T(8,128)(2,1)}"
    (report,) = explain(text).arrays
    assert report.proofs is not None
    assert texts(asked(text)["proofs"]) == {r.label: r.text for r in proof_rows(report.proofs)}


def test_sizes_are_in_bytes() -> None:
    sizes = texts(asked("bf16[10,200]{1,0:T(8,128)(2,1)}")["sizes"])
    assert sizes["bytes"].startswith("4,000 of data in 8,192 (8.0 KiB) that XLA reserves")


def test_a_layout_without_sizes_is_explained_and_asks_for_them() -> None:
    found = asked("[1, 0, 1 p(4)]")
    assert texts(found["words"])["1 p(4)"] == "fastest: 4 neighbours along d1"
    assert "field Sizes" in found["notes"][0]
    assert "formula" not in found
    assert found["picture"]["example"] == "6x8"
    assert asked("[0, 1, 0 p(4)]")["picture"]["example"] == "8x16"
    assert asked("nChw16c")["picture"]["example"] == "2x3x6x8"
    assert "example" not in asked("[1, 0]", shape="6x8")["picture"]
    assert asked("[1, 0, 1 p(4)]", shape="6x8")["notes"] == []
    for text in ("token[]", "f32[?,4]"):
        assert not any("field Sizes" in note for note in asked(text)["notes"])


def test_fields_that_are_numbers() -> None:
    """The array of a tuple, and the first slice."""
    arrays = "(f32[2,3], s32[4,5,6,7]{3,2,1,0})"
    assert [asked(arrays, array=k)["formula"]["simplified"] for k in ("", "0", "1")] == [
        "3*d0 + d1",
        "3*d0 + d1",
        "210*d0 + 42*d1 + 7*d2 + d3",
    ]
    pictures = [asked("f32[40,4,4]", slice=k)["picture"]["markup"] for k in ("", "0", "9")]
    assert pictures[0] == pictures[1] != pictures[2]
    assert Question.of({"layout": "", "width": "900"}).room == 900


def test_sizes_are_unused_if_the_text_has_its_own() -> None:
    found = asked("f32[3,5]", shape="6x8")
    assert found["unused"] == {"shape": "the layout's text has its own sizes"}
    assert found["formula"]["simplified"] == "5*d0 + d1"
    assert asked("{1,0}", shape="6x8")["unused"] == {}


def test_assumptions_are_unused_without_symbolic_sizes() -> None:
    found = asked("f32[3,5]", assuming="8 | M", at="M=16, N")
    assert found["errors"] == []
    assert found["unused"] == dict.fromkeys(("assuming", "at"), "no size is symbolic")
    assert found["formula"]["simplified"] == "5*d0 + d1"
    assert asked("[1, 0]", other="f32[M,N]", assuming="8 | M")["unused"] == {}


def test_a_layout_takes_the_sizes_of_the_one_that_it_is_compared_with() -> None:
    found = asked("[1, 0]", other="f32[2,3]")
    assert found["formula"]["simplified"] == "2*d1 + d0"
    assert found["comparisons"][0]["verdict"].startswith("not equivalent")


def test_layouts_without_sizes_keep_their_text() -> None:
    found = asked("{0,1}", shape="6x8", other="{1,0:T(2,4)}")
    assert "of {0,1} at 6x8, in elements" in found["code"][0]["offset"]
    assert found["comparisons"][0]["text"] == "{1,0:T(2,4)} at 6x8"
    assert "u8" not in found["picture"]["markup"]


def test_equivalent_layouts() -> None:
    found = asked("f32[6,8]{1,0:T(6,4)}", other="[1, 0, 1 p(4)]")["comparisons"][0]
    assert found["verdict"].startswith("equivalent: every coordinate")
    assert found["sign"] == "="
    assert texts(found["rows"])["bitcast"].startswith("a bitcast: ")
    assert found["relayout"] == "p -> p"


def test_different_layouts_have_a_counterexample_and_a_relayout() -> None:
    a, b = "f32[3,5]{1,0}", "f32[3,5]{1,0:T(2,2)}"
    found = asked(a, other="{1,0:T(2,2)}")
    rows = texts(found["comparisons"][0]["rows"])
    *at, here, there = map(int, re.findall(r"\d+", found["comparisons"][0]["verdict"])[:4])
    assert (ml.index_map(a)(*at), ml.index_map(b)(*at)) == (here, there)
    assert here != there
    assert rows["bitcast"].startswith("not a bitcast: elements move")
    assert found["comparisons"][0]["sign"] == "≠"
    assert found["comparisons"][0]["relayout"] == str(ml.relayout(a, b))
    assert found["comparisons"][0]["way_back"] == str(ml.relayout(b, a))
    moved = [cell["e"] for cell in found["picture"]["panels"][0]["cells"]]
    m, other = ml.index_map(a), ml.index_map(b)
    expected = [other(*divmod(k, 5)) if m(*divmod(k, 5)) != other(*divmod(k, 5)) else None
                for k in range(15)]  # fmt: skip
    assert moved == expected, "what moves is marked, with where it goes"


def test_a_formula_that_is_right() -> None:
    for layout, shape, formula in (
        ("[1, 0, 1 p(4)]", "6x8", "24*(d1//4) + 4*d0 + d1%4"),
        ("f32[3,5]{1,0:T(2,2)}", "", "d1 + 6*d0 - d1//2*2 + 4*floor(d1/2) - 4*Mod(d0, 2)"),
        ("f32[M,N]", "", " N*d0 + d1 "),
    ):
        found = asked(layout, shape=shape, other=formula)
        m = ml.index_map(layout, _shape(shape))
        assert found["errors"] == []
        (comparison,) = found["comparisons"]
        assert (comparison["sign"], comparison["is_formula"]) == ("=", True), formula
        assert comparison["verdict"].startswith("equivalent")
        assert texts(comparison["rows"])["layout"] == str(renamed(m.form, m.names))
        assert comparison["text"] == formula.strip()
        assert len(found["picture"]["panels"]) == 1
        assert "dots" not in found["picture"]["markup"]


def test_a_formula_that_is_wrong_has_a_counterexample_with_a_dot() -> None:
    m = ml.index_map("[1, 0, 1 p(4)]", (6, 8))
    found = asked("[1, 0, 1 p(4)]", shape="6x8", other="24*(d1//4) + 4*d0 + d1%3")
    verdict = found["comparisons"][0]["verdict"]
    *at, here, there = map(int, re.findall(r"\d+", verdict))
    assert at == [0, 3], "the first"
    assert (here, there) == (m(*at), 24 * (3 // 4) + 3 % 3)
    assert verdict == f"not equivalent: (0, 3) has offsets {here} and {there}"
    assert found["comparisons"][0]["sign"] == "≠"
    plain = asked("[1, 0, 1 p(4)]", shape="6x8")["picture"]["markup"]
    marked = found["picture"]["markup"]
    assert f"(0, 3) lies at offset {m(*at)}" in marked
    assert (plain.count('class="dot"'), marked.count('class="dot"')) == (0, 3), "cell, slot, legend"


def test_a_formula_of_names_is_right_for_some_sizes() -> None:
    found = asked("f32[M,N]{1,0:T(8,128)}", other="N*d0 + d1", assuming="8 | M, 128 | N")
    assert found["comparisons"][0]["sign"] == "?"
    assert found["comparisons"][0]["verdict"] == "equivalent iff N = 128"
    assert (
        "M = 8, N = 256 puts (0, 128) at"
        in texts(found["comparisons"][0]["rows"])["counterexample"]
    )
    assert found["picture"]["panels"]


def test_a_formula_that_is_wrong_at_all_sizes() -> None:
    found = asked("f32[M,N]", other="N*d0 + d1 + 1")["comparisons"][0]
    assert (found["sign"], found["verdict"]) == ("≠", "not equivalent for any sizes")
    assert found["rows"][0]["label"] == "counterexample"


def test_is_formula() -> None:
    for text in ("d0", "5*d0 + d1", "(d0 & 7)", "5*y + x", "d0//8*2,", "i - j"):
        assert is_formula(text), text
    for text in ("", "NHWC", "f32[d0,d1]", "{1,0:T(2,*)}", "()", "<img src=x/>", "[1, 0]", "token"):
        assert not is_formula(text), text
    for text in (
        "lambda i, j: (i//8, j, i%8)",
        "lambda d0: (d0//4, d0%4)",
        "row-major",
        "a b -> b a",
    ):
        assert not is_formula(text)


def test_layouts_that_are_equivalent_for_some_sizes() -> None:
    found = asked("f32[M,N]{1,0:T(2,128)}", other="{1,0:T(8,128)}")["comparisons"][0]
    assert (found["sign"], found["verdict"]) == ("?", "equivalent iff N <= 128")
    assert "M = 1, N = 129 puts (0, 128) at" in texts(found["rows"])["counterexample"]


def test_symbolic_sizes_with_and_without_assumptions() -> None:
    plain = asked("bf16[M,N]{1,0:T(8,128)(2,1)}")
    assert texts(plain["proofs"])["layout"] == "bijective iff 8 | M and 128 | N"
    assert plain["formula"]["symbols"] == ["M", "N"]
    known = asked("bf16[M,N]{1,0:T(8,128)(2,1)}", assuming="8 | M, N % 128 == 0")
    assert texts(known["proofs"])["layout"].startswith("bijective for all sizes")
    assert "ceil" in plain["formula"]["simplified"]
    assert "ceil" not in known["formula"]["simplified"]
    assert "padding" in texts(plain["tpu"])
    assert "padding" not in texts(known["tpu"])
    assert texts(known["tpu"])["lanes"] == texts(plain["tpu"])["lanes"]


def test_pictures_of_symbolic_sizes_are_drawn_at_numbers() -> None:
    found = asked("f32[M,N]{1,0:T(2,2)}", at="M=3, N=5")["picture"]
    assert found["at"] == {"M": 3, "N": 5}
    assert [cell["o"] for cell in found["panels"][0]["cells"]] == [
        cell["o"] for cell in asked("f32[3,5]{1,0:T(2,2)}")["picture"]["panels"][0]["cells"]
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("a", "b", "shape"),
    [
        ("f32[M,N]{1,0}", "{1,0:T(8,128)}", ""),
        ("f32[M,N]{1,0:T(8,128)}", "{0,1}", ""),
        ("[0, 1, 0 p(8), 1 p(128)]", "{1,0:T(8,128)}", "M,N"),
        ("{1,0:T(5,5)}", "[0, 1, 1 p(7)]", "M,N"),
    ],
)
def test_two_layouts_are_drawn_at_the_same_numbers(a: str, b: str, shape: str) -> None:
    found = asked(a, other=b, shape=shape)
    assert found["errors"] == []
    assert len(found["picture"]["panels"]) == 2


@pytest.mark.parametrize(
    ("text", "assuming"),
    [
        ("f32[M,N]{1,0:T(8,128)}", None),
        ("f32[M,N]{1,0:T(8,128)}", "8 | M, N <= 3"),
        ("f32[M,N]{1,0}", "7 | M, M >= 30, 100 <= N <= 101"),
        ("f32[M]{0:T(1024)}", "M == 5"),
    ],
)
def test_numbers_are_as_assumed(text: str, assuming: str | None) -> None:
    m = ml.index_map(text, assuming=assuming)
    (numbered,), sizes = at_numbers([m], "")
    assert numbered.size == m.at(**sizes).size


def test_a_layout_of_names_is_drawn_at_numbers_that_are_not_mostly_padding() -> None:
    for text in ("f32[M,N]{1,0:T(8,128)}", "f32[M]{0:T(256)}"):
        (numbered,), sizes = at_numbers([ml.index_map(text)], "")
        assert numbered.size <= 2 * prod(sizes.values())


def test_sizes_of_the_field_come_first() -> None:
    m = ml.index_map("f32[M,N]")
    assert at_numbers([m], "N=7")[1]["N"] == 7
    assert at_numbers([m], " ")[1]["N"] > 0


def test_tuples_are_looked_at_one_array_at_a_time() -> None:
    text = "(f32[8,128], (s32[], pred[4]))"
    first, last = asked(text), asked(text, array="2")
    assert [one["place"] for one in first["arrays"]] == ["[0]", "[1][0]", "[1][1]"]
    assert (first["text"], last["text"]) == ("f32[8,128]{1,0}", "pred[4]{0}")
    assert asked(text, array="99")["array"] == 2


def test_of_many_arrays_the_first_are_listed() -> None:
    found = asked(f"({', '.join(f'f32[{k}]' for k in range(1, 251))})", array="249")
    assert [one["text"] for one in found["arrays"]] == [f"f32[{k}]{{0}}" for k in range(1, 201)]
    assert found["text"] == "f32[250]{0}", "also one that is not listed is shown"


def test_any_slice_is_shown() -> None:
    for first, leads in (("", {(0, 0), (0, 1)}), ("4", {(1, 1), (1, 2)}), ("99", {(1, 1), (1, 2)})):
        picture = asked("NHWC", shape="2x3x4x5", slice=first)["picture"]
        assert {tuple(cell["c"][:2]) for cell in picture["panels"][0]["cells"]} == leads, first
        assert picture["slices"] == {"first": int(first or 0), "last": 4}


def test_a_narrow_page_has_more_lines_of_memory() -> None:
    wide, narrow = (
        asked("f32[3,5]{1,0:T(2,2)}", width=width)["picture"]["markup"] for width in ("", "420")
    )
    assert size_of(narrow)[0] < 460 < size_of(wide)[0]
    assert wide.count('class="slot"') == narrow.count('class="slot"') == 24


def test_instructions_of_hlo_are_explained() -> None:
    found = asked("add.1 = bf16[8,1280]{1,0:T(8,128)(2,1)} add(a, b)")
    assert texts(found["instruction"])["opcode"].startswith("add")
    assert found["text"] == "bf16[8,1280]{1,0:T(8,128)(2,1)}"


LABELLED = "%fusion.1 = bf16[8,128]{1,0:T(8,128)(2,1)} fusion(%p), kind=kLoop"
MESSAGE = (  # its lines joined, as a field of a page joins them
    '1. Size: 160.00M     Operator: op_name="jit(f)/Shape: f32[9]"     Shape: (f32[7], u8[2])     '
    "Unpadded size: 80.00M     Extra memory due to padding: 80.00M (2.0x expansion)     "
    f"XLA label: {LABELLED}     Allocation type: HLO temp     ======="
)


@pytest.mark.parametrize(
    ("copied", "text"),
    [
        ('"f32[8,128]{1,0}"', "f32[8,128]{1,0}"),
        ("`f32[8,128]{1,0}`, ", "f32[8,128]{1,0}"),
        ("f32[8,128]{1,0:T(8,128)},", "f32[8,128]{1,0:T(8,128)}"),
        ("     Shape: bf16[8,1]{1,0:T(8,128)(2,1)}", "bf16[8,1]{1,0:T(8,128)(2,1)}"),
        ("Shape: f32[2,128]{1,0} Unpadded size: 1.0K", "f32[2,128]{1,0}"),
        (MESSAGE, "f32[7]{0}"),
        (f"XLA label: {LABELLED}     Allocation type: HLO temp", "bf16[8,128]{1,0:T(8,128)(2,1)}"),
        ('a = f32[2]{0} add(b), metadata={op_name="Shape: f32[9] Size: 3"}', "f32[2]{0}"),
    ],
)
def test_copied_surroundings_are_left_out(copied: str, text: str) -> None:
    found = asked(copied)
    assert found["errors"] == []
    assert found["text"] == text


def test_message_fields_without_a_shape_are_not_a_layout() -> None:
    for text in ("Size: 160.00M", "1. Size: 4.0K Unpadded size: 1.0K", "Shape:", "Shape: !", '""'):
        assert [error["field"] for error in answer({"layout": text})["errors"]] == ["layout"]


@pytest.mark.slow
def test_pictures_are_bounded() -> None:
    for text in ("f32[1000000,1000000]", "bf16[8,4,1280,16384]{3,2,0,1:T(8,128)(2,1)}"):
        found = asked(text)["picture"]
        assert sum(len(panel["cells"]) for panel in found["panels"]) <= 20 * 26
    assert len(json.dumps(asked("f32[1000000,1000000]", other="{0,1:T(3,7)}"))) < 2_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "f32[" + ",".join(["3"] * 120) + "]",
        "f32[" + ",".join(["9223372036854775807"] * 30) + "]",
        "f32[0,3]",
        "f32[]",
        "f32[<=8,4]",
        "s4[8,8]{1,0:T(2,4)E(4)}",
    ],
)
def test_unusual_layouts_are_answered(text: str) -> None:
    found = asked(text)
    assert found["errors"] == []
    assert found["text"].startswith(text[:5])


class Tags(HTMLParser):
    """The elements and attributes of markup."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.slow
@each_row("preset", PRESETS, ids=lambda one: one["name"])
def test_markup_holds_nothing_that_runs_or_loads(preset: Any) -> None:
    picture = asked(**preset["question"])["picture"]
    tags = Tags()
    tags.feed(picture["markup"])
    assert not tags.tags & {"script", "style", "img", "iframe", "object", "a", "use", "image"}
    assert not {name for name in tags.attributes if name.startswith("on")}
    assert not tags.attributes & {"style", "src", "href", "xlink:href"}
    assert "url(" not in re.sub(r"url\(#ml-[0-9a-f]{8}\)", "", picture["style"])


HOSTILE = "<img src=x onerror=alert(1)>\"'&\x00\u202e"


@pytest.mark.parametrize("field", ["layout", "shape", "assuming", "at", "other", "access"])
def test_hostile_text_appears_only_in_errors(field: str) -> None:
    fields = {"layout": "[1, 0]", "shape": "6xM"} | {field: HOSTILE}
    found = answer(fields)
    assert [error["field"] for error in found["errors"]] == [field]
    assert "<img" not in found.get("picture", {}).get("markup", "")


@given(
    st.dictionaries(
        st.sampled_from(["layout", "shape", "assuming", "at", "other", "access", "array"]),
        st.text(alphabet="f32sMN[]{}(),:T*0123456789xpoe |%=<>-\x00\u202e<\ud800", max_size=24)
        | st.sampled_from(["f32[M,N]", "[1, 0]", "{1,0:T(2,2)}", "6x8", "8 | M", "M=3", "NHWC"]),
    )
)
def test_rubbish_is_answered(fields: dict[str, str]) -> None:
    found = answer(fields)
    assert found["errors"] or "source" in found
    json.dumps(found).encode()


def test_a_question_knows_its_fields() -> None:
    with pytest.raises(FieldError) as caught:
        Question.of({"layout": "x", "page": "y"})
    assert caught.value.field == "layout"
    assert Question.of({}).layout == ""


def test_bank_conflicts_of_an_access() -> None:
    found = asked("(32,32):(32,1)", access="column, 16 bits")
    banks = found["banks"]
    assert banks["verdict"] == "16-way conflict"
    assert texts(banks["rows"])["bank"].startswith("bank 0 gives one after the other")
    assert found["picture"]["markup"].count('class="dot"') >= 8
    assert found["errors"] == []
    assert asked("(32,32):(34,1)", access="column, 16 bits")["banks"]["verdict"] == "no conflicts"
    assert found["banks"]["assumed_for"] == ""
    assert asked("(32,32):(32,1)", access="column")["banks"]["assumed_for"] == "column"
    assert asked("f16[32,32]", access="column")["banks"]["assumed_for"] == ""
    assert asked("f32[M,N]", access="column")["banks"]["verdict"] == "gcd(N, 32)-way conflict"
    assert asked("f32[32,32]")["banks"] is None
    fragment = "SM80_16x8x16_F32F16F16F32_TN A, 16 bits"
    assert asked("(16,64):(64,1)", access=fragment)["banks"]["verdict"] == "8-way conflict"


def test_two_shardings_say_what_moves_between_them() -> None:
    array = "f32[16,16], sharding="
    found = asked(array + "{devices=[4,1]<=[4]}", other=array + "{devices=[1,4]<=[4]}")
    rows = {row["label"]: row["text"] for row in found["comparisons"][0]["rows"]}
    assert rows["resharding"].startswith("all-to-all over m0")
    assert found["picture"]
    other = asked(array + "{devices=[4,1]<=[4]}", other="{0,1}")["comparisons"][0]["rows"]
    assert "resharding" not in {row["label"] for row in other}


def test_an_answer_comes_in_parts() -> None:
    question = {"layout": "f32[3,5]{1,0:T(2,2)}", "other": "{1,0}"}
    first, *later = parts(question)
    assert {"source", "formula", "picture", "compared"} <= {*first}
    keys = [{"comparisons", "errors"}, {"code"}, {"proofs", "deciders"}]
    assert [{*part} for part in later] == keys
    assert answer(question) == first | later[0] | later[1] | later[2]
    assert json.loads(joined([*answered(question)])) == asked(question["layout"], other="{1,0}")


def test_several_layouts_and_formulas_are_compared_with_the_first() -> None:
    found = asked("f32[3,5]{1,0}", other="{0,1}\n5*d0 + d1\n{1,0:T(2,2)}")
    assert [one["sign"] for one in found["comparisons"]] == ["≠", "=", "≠"]
    assert len(found["picture"]["panels"]) == 3
    wrong = asked("f32[3,5]{1,0}", other="{0,1}\n{0,1,2}")
    assert [error["field"] for error in wrong["errors"]] == ["other"]
    assert len(wrong["comparisons"]) == 1


@each_row(
    ("layout", "colour", "wanted", "others"),
    [
        ("f32[6,8]", "", "offset", ["offset", "row", "column", "word", "bank"]),
        ("f32[6,8]", "tile", "offset", ["offset", "row", "column", "word", "bank"]),
        ("f32[6,8]", "row", "row", ["offset", "row", "column", "word", "bank"]),
        ("bf16[6,8]{1,0:T(2,4)}", "", "tile", ["tile", "offset", "row", "column", "word", "bank"]),
        ("(6,8):(8,1)", "word", "offset", ["offset", "row", "column"]),
        ("SM80_16x8x16_F32F16F16F32_TN C", "", "lane",
         ["offset", "row", "column", "lane", "register"]),
        ("f32[8,8], sharding={devices=[4,1]<=[4]}", "", "device",
         ["offset", "row", "column", "device"]),
    ],
)  # fmt: skip
def test_what_a_colour_stands_for(layout: str, colour: str, wanted: str, others: list[str]) -> None:
    picture = asked(layout, colour=colour)["picture"]
    assert (picture["colour"], picture["colours"]) == (wanted, others)
