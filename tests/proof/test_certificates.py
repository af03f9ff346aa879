"""Certificates: the checker alone accepts them, and accepts nothing that is false."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

import morello_layouts as ml
from morello_layouts import check as checker
from morello_layouts.check import check
from morello_layouts.proof.certificate_digits import Certificate
from tests.support.certificate_judge import is_true, mutant_of
from tests.support.planted_bugs import LAYOUTS, map_of
from tests.support.tables import each_row

CHECKER = Path(checker.__file__)


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
    pairs: list[tuple[Any, Any, Any]] = [
        ("f32[6,8]{1,0:T(6,4)}", "[1, 0, 1 p(4)]", None),
        ("f32[M,N]{1,0:T(2,128)}", "f32[M,N]{1,0:T(8,128)}", "N <= 128"),
    ]
    found += [ml.certificate(a, b, assuming=assuming) for a, b, assuming in pairs]
    found.append(ml.certificate("f32[4,6]{1,0}", "f32[2,2,3,2]{3,2,1,0}", claim="bitcast"))
    swapped = ("f32[2,3]{1,0}", "f32[3,2]{0,1}")
    found.append(ml.certificate(*swapped, claim="bitcast", transpose=(1, 0)))
    found.append(ml.certificate(ml.relayout("f32[4,8]{1,0}", "f32[4,8]{1,0:T(2,4)}")))
    return found


@pytest.mark.parametrize(
    "layouts", [LAYOUTS[::4], pytest.param(LAYOUTS, marks=pytest.mark.slow)], ids=["some", "all"]
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


@pytest.mark.slow
def test_a_statement_that_isl_leaves_open_has_one() -> None:
    m = ml.index_map("f32[A,B,C,D,E]{4,3,2,1,0:T(*,*,2,*,3)}")
    assert check(ml.certificate(m, claim="verified")) == "verified"


@each_row(
    ("about", "claim"),
    [
        (("f32[3,5]{1,0:T(2,2)}",), "bijective"),
        (("f32[M,N]{1,0:T(8,128)}",), "surjective"),
        (("[0, 1]", "[1, 0]", (2, 3)), "equivalent"),
        (("f32[4,6]{1,0}", "f32[2,2,3,2]{2,3,1,0}"), "bitcast"),
    ],
)
def test_a_false_claim_has_none(about: tuple[Any, ...], claim: Any) -> None:
    with pytest.raises(ml.UnsupportedError, match="no certificate"):
        ml.certificate(*about, claim=claim)


def test_the_checker_is_short_and_alone() -> None:
    source = CHECKER.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 250
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
    for changed, status, words in ((None, 0, "proved: padded"), ("1", 1, "refused")):
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


def test_a_text_sees_only_its_own_variables() -> None:
    given = ml.certificate("f32[3,5]{1,0:T(2,2)}", claim="injective")
    check(given)
    for cheat in ({"inverse": ["d0", "d1"]}, {"offset": "p"}, {"size": "d0"}):
        with pytest.raises(KeyError):
            check({**given, **cheat})
    with pytest.raises(KeyError):
        check({**ml.certificate("f32[7]{0:T(4)}", claim="verified"), "limits": [["d0", "1"]]})


FORGED: dict[str, tuple[str, dict[str, Any]]] = {
    "a split of a size that is even": (
        "equivalent",
        {
            "sizes": {"N": [2, 2, 8]},
            "shape": ["2"],
            "offset": "d0 + N%4",
            "others": ["d0 + 2*N - 4*(N//4)"],
            "digits": [{"split": "N", "by": "2", "low": "a", "high": "b", "below": "3"}],
        },
    ),
    "sizes below 0": (
        "padded",
        {
            "shape": ["0-2", "0-3"],
            "offset": "0",
            "inverse": ["0", "0"],
            "digits": [{"name": f"a{k}", "is": f"d{k}", "below": "1"} for k in (0, 1)],
        },
    ),
    "a bitcast to more elements": ("bitcast", {"other_shape": ["7"]}),
    "a bitcast of no elements to seven": (
        "bitcast",
        {"shape": ["0", "3"], "size": "0", "other_shape": ["7"]},
    ),
    "an order of truth values": ("bitcast", {"order": [False, True]}),
    "two names that Python reads as one": (
        "padded",
        {"sizes": {"N": [1, 9, 9], "Ｎ": [1, 1, 1]}, "shape": ["Ｎ", "3"], "size": "3*N"},
    ),
    "a comment": ("injective", {"offset": "3*d0 + d1  # + 5"}),
    "too many digits": (
        "injective",
        {"digits": [{"name": f"a{k}", "is": "d0", "below": "2"} for k in range(50_000)]},
    ),
    "numbers that are too large": ("injective", {"offset": "*".join(["9" * 4000] * 9) + "*d0"}),
    "too many terms": ("injective", {"offset": "*".join(["(d0+d1+1)"] * 60)}),
    "terms of a high degree": ("injective", {"offset": "*".join(["d0"] * 200)}),
    "nested too deep": ("injective", {"offset": "-" * 50_000 + "d0"}),
    "a size that is a float": ("injective", {"sizes": {"N": [1, 1, float("inf")]}}),
    "a size that is true": ("injective", {"sizes": {"N": [True, 1, None]}}),
}


@each_row(("claim", "changed"), list(FORGED.values()), ids=list(FORGED))
def test_forgeries_are_refused(claim: str, changed: dict[str, Any]) -> None:
    plain: dict[str, Any] = {
        "claim": claim,
        "sizes": {},
        "shape": ["2", "3"],
        "size": "6",
        "offset": "3*d0 + d1",
        "inverse": ["p//3", "p%3"],
        "padding": "0",
        "view": ["3*d0 + d1"],
        "other_shape": ["6"],
        "order": [0, 1],
        "others": ["3*d0 + d1" if claim == "equivalent" else "d0"],
        "digits": [],
    }
    assert check(plain) == claim
    with pytest.raises((checker.Refused, SyntaxError, MemoryError, RecursionError)) as error:
        check({**plain, **changed})
    assert repr(error.value)


def test_a_key_twice_is_refused(tmp_path: Path) -> None:
    text = json.dumps(ml.certificate("f32[3,5]{1,0}"))
    file = tmp_path / "twice.json"
    file.write_text(text.replace('"size": ', '"size": "7", "size": ', 1), encoding="utf-8")
    assert check(json.loads(file.read_text(encoding="utf-8"))) == "bijective"
    for command in ([str(CHECKER)], ["-m", "morello_layouts", "check"]):
        ran = subprocess.run(
            [sys.executable, *command, str(file)], capture_output=True, text=True, check=False
        )
        assert ran.returncode == 1, ran.stderr
        assert "refused: " in ran.stdout + ran.stderr


@each_row(
    "forged",
    [
        {"sizes": {"N": [1, 9, 9], "\uff2e": [1, 1, 1]}, "shape": ["\uff2e", "5"]},
        {"shape": ["0-1", "5"]},
        {"sizes": {"N": [1, 1, 5.0]}},
        {"claim": "equivalent", "others": []},
        {"offset": "(" * 5000 + "d0" + ")" * 5000},
        {"offset": "*".join(["(d0 + d1 + 1)"] * 200)},
        {"offset": "d0**2"},
        {"digits": [{"split": "d0", "by": "2", "high": "d1", "low": "x", "below": "2"}]},
        {"digits": [{"name": "x", "is": "d1", "below": "4"}]},
    ],
)
def test_a_forged_statement_is_refused(forged: dict[str, Any]) -> None:
    given = ml.certificate("f32[3,5]{1,0:T(2,2)}", claim="injective")
    with pytest.raises(Exception):  # noqa: B017, PT011  whatever it raises, it refuses
        check({**given, **forged})


def judged_mutants(count: int, seed: int) -> Counter[str]:
    """Count what the checker says of mutants; none that it accepts is false."""
    random, counts = Random(seed), Counter[str]()
    originals = certificates()
    assert all(map(is_true, originals))
    for _ in range(count):
        given = random.choice(originals)
        mutant = mutant_of(given, random)
        if mutant == given:
            counts["unchanged"] += 1
            continue
        try:
            check(mutant)
        except Exception:
            counts["refused"] += 1
        else:
            verdict = is_true(mutant)
            assert verdict is not False, json.dumps(mutant)
            counts["accepted, and true" if verdict else "accepted, too large to judge"] += 1
    return counts


@pytest.mark.slow
def test_mutants_are_refused_or_true() -> None:
    assert judged_mutants(100, 1)["refused"] > 60


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_many_mutants_are_refused_or_true(seed: int) -> None:
    assert judged_mutants(1000, seed)["refused"] > 700
