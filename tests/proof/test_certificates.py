"""Certificates: the checker alone accepts them, and accepts nothing that is false."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import morello_layouts as ml
from morello_layouts import check as checker
from morello_layouts.check import check
from morello_layouts.proof import certificate_digits
from morello_layouts.proof.certificate_digits import Certificate, certified
from tests.proof.test_checker import recorded
from tests.support.certificate_judge import is_true
from tests.support.planted_bugs import LAYOUTS, map_of
from tests.support.tables import each_row

CHECKER = Path(checker.__file__)
SWIZZLED = ["Sw<1,0,2> o 0 o (4,4):(4,1)", "Sw<2,0,2> o 0 o (M,4):(4,1)"]
SINGLY = {
    "Sw<2,0,2> o 0 o (3):(6)": "injective",
    "Sw<1,1,2> o 0 o (3,3):(12,2)": "padded",
    "Sw<1,1,2> o 0 o ((4,3),2):((6,2),1)": "bijective",
}
"""Strides whose sums carry into the bits of a swizzle: no digits show what comes out."""


@cache
def certificates() -> list[Certificate]:
    """Return small certificates of every claim."""
    found = []
    for row in LAYOUTS[::2]:
        m = map_of(*row)
        for claim in ("verified", "padded"):
            found.append(ml.certificate(m, claim=claim))
        if ml.is_bijective(m).holds:
            found.append(ml.certificate(m))
            found.append(ml.certificate(m, claim="surjective"))
    found += [ml.certificate(text, claim="verified") for text in SWIZZLED]
    found += [ml.certificate(text, claim=claim) for text, claim in SINGLY.items()]
    return found + of_pairs()


def of_pairs() -> list[Certificate]:
    """Return certificates about two layouts."""
    pairs: list[tuple[Any, Any, Any]] = [
        ("f32[6,8]{1,0:T(6,4)}", "[1, 0, 1 p(4)]", None),
        ("f32[M,N]{1,0:T(2,128)}", "f32[M,N]{1,0:T(8,128)}", "N <= 128"),
    ]
    found = [ml.certificate(a, b, assuming=assuming) for a, b, assuming in pairs]
    found.append(ml.certificate("f32[4,6]{1,0}", "f32[2,2,3,2]{3,2,1,0}", claim="bitcast"))
    swapped = ("f32[2,3]{1,0}", "f32[3,2]{0,1}")
    found.append(ml.certificate(*swapped, claim="bitcast", transpose=(1, 0)))
    found.append(ml.certificate(ml.relayout("f32[4,8]{1,0}", "f32[4,8]{1,0:T(2,4)}")))
    return found


@pytest.mark.parametrize(
    "layouts", [LAYOUTS[::8], pytest.param(LAYOUTS, marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_every_positive_verdict_has_a_certificate(layouts: tuple[Any, ...]) -> None:
    questions = {
        "injective": ml.is_injective,
        "surjective": ml.is_surjective,
        "bijective": ml.is_bijective,
        "verified": ml.verify,
    }
    for layout in layouts:
        m = map_of(*layout)
        for claim, question in questions.items():
            if question(m).holds:
                found = json.loads(json.dumps(ml.certificate(m, claim=claim)))
                assert check(found) == claim


def test_certificates_of_pairs_are_those_recorded() -> None:
    assert of_pairs() == recorded()[-5:]


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
def test_digits_are_found_again(step: int) -> None:
    for one in recorded()[::step]:
        require_same_digits(one)


def require_same_digits(given: Certificate) -> None:
    digits = {"digits", "digits_of_slots"}
    assert certified({key: x for key, x in given.items() if key not in digits}) == given


ENDS = [
    ("strided<[8, 1], offset: 3>", (4, 8), "35"),
    ("strided<[5, 2]>", (3, 2), "13"),
    ("strided<[16, 1], offset: 5>", ("M", 8), "-3 + 16*M"),
    ("f32[3,5,8]{2,1,0:T(*,2,4)L(100)}", None, "128"),
    ("f32[A,B,4]{2,1,0:T(*,2,3)}", None, "12*(-((-(A*B))//2))"),
    ("f32[M,N]{0,1:T(16,8)(16,1)}", None, "128*(-((-M)//8))*(-((-N)//16))"),
    ("u8[2,11]{0,1:T(5,5)(5,*,4)}", None, "420"),
    ("OIhw4i16o4i", ("O", "I", 3, 3), "2304*(-((-I)//16))*(-((-O)//16))"),
]


@pytest.mark.parametrize(
    "rows", [ENDS[:5], pytest.param(ENDS[5:], marks=pytest.mark.slow)], ids=["some", "others"]
)
def test_what_follows_the_end_is_padding(rows: Any) -> None:
    """Offsets, gaps, tails, and tiles that end elsewhere than the sizes do."""
    for text, shape, end in rows:
        found = ml.certificate(text, shape=shape, claim="verified")
        assert (check(found), found["end"]) == ("verified", end), text


FORMULAS = [
    (("M", "N"), "M*N", "N*d0 + d1", "bijective"),
    (("M", "N"), "2*M*N", "N*d0 + d1", "padded"),
    ((8, 16), 128, "64*(d0//4) + 16*(d0%4) + d1", "surjective"),
    (("M",), "4*M", "3*d0 + 2*((d0%6)//3)", "injective"),
]


@each_row("shape, size, formula, claim", FORMULAS, ids=[row[2] for row in FORMULAS])
def test_a_formula_of_one_s_own_has_a_certificate(
    shape: Any, size: Any, formula: str, claim: Any
) -> None:
    m = ml.from_sympy({"shape": shape, "size": size}, formula)
    assert check(ml.certificate(m, claim=claim)) == claim


SELDOM = [
    ("f32[M,N]{1,0:T(3,8)(3,2)}", "injective"),  # a rounded size is needed before the digits
    ("f32[5,M,2]{1,0,2:T(4,3)(5,1)(2)}", "injective"),
    (ml.from_sympy({"i": "M"}, "(-i)//8"), "equivalent"),  # quotients that count down
    (ml.from_sympy({"i": "M", "j": "N"}, "N*((5 - 2*i)//4) + (-j)%3"), "equivalent"),
]


@each_row("layout, claim", SELDOM, ids=[str(row[0]) for row in SELDOM])
def test_digits_that_are_seldom_needed(layout: Any, claim: Any) -> None:
    other = layout if claim == "equivalent" else None
    found = ml.certificate(layout, other, claim=claim)
    assert check(found) == claim
    require_same_digits(found)


@each_row(
    ("shape", "given", "formula", "size", "names"),
    [
        (("M",), {}, "d0", "M", "M"),
        (("M", "N"), {}, "2*N*d0 + d1", "(-1)*N + 2*M*N", "MN"),
        ((4, 5), {}, "4096*d0 + d1", "12293", ""),
        (("M",), {"size": "M + K"}, "d0", "K + M", "KM"),
    ],
)
def test_a_formula_s_buffer_ends_where_it_says_or_behind_the_last_offset(
    shape: Any, given: dict[str, Any], formula: str, size: str, names: str
) -> None:
    m = ml.from_sympy({"shape": shape, **given}, formula)
    found = ml.certificate(m, claim="padded")
    assert (found["about"], found["size"], "".join(names_of(found))) == ([str(m)], size, names)
    assert check(found) == "padded"
    assert check(ml.certificate(m, m)) == "equivalent"


@each_row(
    ("text", "shape", "assuming", "claim", "inverse"),
    [
        ("strided<[16, 1]>", (4, "M"), "M <= 16", "injective", ["p//16", "p % 16"]),
        ("strided<[9, 1], offset: 3>", (4, "M"), "M <= 9", "padded", None),
        ("strided<[8, 3]>", (6, "N"), "N <= 8", "injective",
         ["(p + (-3)*((3*p) % 8))//8", "(3*p) % 8"]),
        ("strided<[-9, 0, 8], offset: 64>", (4, 1, 5), None, "padded", None),
        ("strided<[6, 10, 15]>", (5, 3, 2), None, "injective", None),
        ("strided<[0, 1]>", (5, "N"), None, "surjective", ["0", "p"]),
    ],
)  # fmt: skip
def test_overlapping_strides_have_an_inverse_where_they_are_coprime(
    text: str, shape: Any, assuming: str | None, claim: Any, inverse: list[str] | None
) -> None:
    m = ml.index_map(text, shape, assuming=assuming)
    found = ml.certificate(m, claim=claim)
    assert (check(found), is_true(found)) == (claim, True)
    assert inverse in (None, found["inverse"])


@pytest.mark.slow
def test_a_statement_that_isl_leaves_open_has_one() -> None:
    m = ml.index_map("f32[A,B,C,D,E]{4,3,2,1,0:T(*,*,2,*,3)}")
    assert check(ml.certificate(m, claim="verified")) == "verified"


WAYS = [
    ("f32[6,5,3]{2,0,1:T(8,128)}", "f32[5,3,6]{1,2,0:T(8,128)}", "bitcast", ["1", "0", "2"]),
    ("f32[M,N]{1,0}", "f32[N,M]{0,1}", "bitcast", ["0", "1"]),
    ("f32[8,12]{1,0}", "u16[8,12,2]{2,1,0}", "bitcast", ["0", "1", "2"]),
    ("f32[0,3]", "f32[3,0]", "bitcast", ["1", "0"]),
    ("s16[8,16]{1,0}", "s16[8,16]{1,0:T(2,4)}", "equivalent", None),
    ("f32[5,13]{1,0:T(8,16)}", "f32[5,16]{1,0:T(8,16)}", "equivalent", None),
]


@each_row(("one", "other", "claim", "order"), WAYS)
def test_a_free_move_of_any_kind_has_a_certificate(
    one: str, other: str, claim: str, order: list[str] | None
) -> None:
    found = ml.certificate(one, other, claim="bitcast", transpose="any")
    assert (check(found), found.get("order"), is_true(found)) == (claim, order, True)


def test_a_formula_is_one_of_the_two_arrays_of_a_bitcast() -> None:
    formula = ml.from_sympy({"shape": (4, 6)}, "6*d0 + d1")
    for pair in ((formula, "f32[2,12]{1,0}"), ("f32[2,12]{1,0}", formula), (formula, formula)):
        found = ml.certificate(*pair, claim="bitcast")
        assert (check(found), is_true(found)) == ("bitcast", True)
    equal = ml.certificate(formula, "f32[4,6]{1,0}")
    assert (check(equal), equal["about"][0]) == ("equivalent", "(d0, d1) -> 6*d0 + d1")


@each_row("text", ["strided<[1, 1]>", "strided<[0, 3], offset: 2>"])
def test_formulas_without_an_inverse_are_equivalent(text: str) -> None:
    found = ml.certificate(text, shape=(3, 4), claim="verified")
    assert check(found) == "equivalent"
    assert len(found["others"]) == 2


def names_of(found: Certificate) -> list[str]:
    return [one["name"] for one in found["sizes"]]


@each_row("text", ["strided<[LD, 1]>", "strided<[LD, 1], offset: 5>"])
def test_a_pitch_is_a_row_and_more(text: str) -> None:
    found = ml.certificate(text, shape=("M", "N"), claim="injective")
    assert (check(found), is_true(found)) == ("injective", True)
    assert found["about"][1] == "LD = N + LD_more - 1"
    assert names_of(found) == ["M", "N", "LD_more"]


def test_all_places_of_replicas_are_compared() -> None:
    text = "f32[8]{0}, mesh={'x': 2, 'y': 3}, spec=P('x')"
    found = ml.certificate(text, text)
    assert (check(found), found["shape"], is_true(found)) == ("equivalent", ["8", "3"], True)


def test_a_larger_array_in_the_same_slots_has_one() -> None:
    found = ml.certificate("f32[5,13]{1,0:T(8,16)}", "f32[5,16]{1,0:T(8,16)}", claim="bitcast")
    assert (check(found), is_true(found)) == ("equivalent", True)


ALL = slice(None)
VIEWS = [
    ("f32[10,8]", (slice(2, 8),), []),
    ("f32[10,8]", (ALL, slice(3, None)), []),
    ("f32[M,8]{1,0:T(8,128)}", (ALL, slice(3, None)), ["M"]),
    ("f32[M,8]", (ALL, slice(3, 7)), ["M"]),
    ("f32[10,8]", (3,), []),
    ("f32[4,10,8]", (ALL, slice(1, 9), slice(None, None, -1)), []),
    ("f32[4,10,8]", (2, slice(1, 9)), []),
]


@each_row(("text", "window", "sizes"), VIEWS)
def test_windows_have_certificates(text: str, window: Any, sizes: Any) -> None:
    """A slot outside of a window is known by both of its ends."""
    m = ml.index_map(text)[window]
    for claim in ("injective", "padded", "verified"):
        found = ml.certificate(m, claim=claim)
        assert (check(found), is_true(found), names_of(found)) == (claim, True, sizes)


NARROW = [
    "bf16[1,300]{1,0:T(4,128)(2,1)}",
    "s8[4,3,2,66]{3,0,2,1:T(8,128)(4,1)}",
    "f8e5m2[3,130]{1,0:T(8,128)(4,1)}",
    "u4[300]{0:T(1024)(128)(4,1)}",
]


@each_row("text", NARROW)
def test_digits_past_the_end_of_a_small_dimension_are_zero(text: str) -> None:
    """Slot p holds an element of 3 rows if ``p % 4 + 4*(p//512 % 2) < 3``: so p//512 % 2 is 0."""
    found = ml.certificate(text, claim="verified")
    assert check(found) == "verified"
    assert any(x.get("name", "").startswith("p_zero") for x in found["digits_of_slots"])


def test_the_checker_is_short_and_alone() -> None:
    source = CHECKER.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 560
    tree = ast.parse(source)
    imported = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    names = {a.name for n in imported if isinstance(n, ast.Import) for a in n.names}
    names |= {n.module or "" for n in imported if isinstance(n, ast.ImportFrom)}
    assert names <= sys.stdlib_module_names
    called = {
        n.func.id
        for n in ast.walk(tree)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    assert not called & {"eval", "exec", "compile", "__import__"}


def test_the_checker_runs_when_copied_out(tmp_path: Path) -> None:
    alone = tmp_path / "sceptic.py"
    alone.write_bytes(CHECKER.read_bytes())
    given = ml.certificate("f32[M,N]{1,0:T(8,128)}", claim="padded")
    for changed, status, words in ((None, 0, "proved: padded. In "), ("1", 1, "refused")):
        file = tmp_path / "proof.json"
        file.write_text(json.dumps({**given, "padding": changed or given["padding"]}))
        ran = subprocess.run(
            [sys.executable, "-I", str(alone), str(file)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == status
        assert words in ran.stdout + ran.stderr


def test_a_key_twice_is_refused(tmp_path: Path) -> None:
    text = json.dumps(ml.certificate("f32[3,5]{1,0}"))
    file = tmp_path / "twice.json"
    file.write_text(text.replace('"size": ', '"size": "7", "size": ', 1), encoding="utf-8")
    assert check(json.loads(file.read_text(encoding="utf-8"))) == "bijective"
    for command in ([str(CHECKER)], ["-m", "morello_layouts", "check"]):
        ran = subprocess.run(
            [sys.executable, *command, str(file)], capture_output=True, text=True, check=False
        )
        assert ran.returncode == 1
        assert "refused: " in ran.stdout + ran.stderr


def test_work_that_ends_anywhere_leaves_no_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    found = 0
    for work in range(2000, 34000, 2000):
        monkeypatch.setattr(certificate_digits, "CERTIFICATE_WORK", work)
        with suppress(ml.UnsupportedError):
            assert check(ml.certificate("f32[3,5]{1,0:T(2,2)}", claim="verified")) == "verified"
            found += 1
    assert 0 < found < 16
