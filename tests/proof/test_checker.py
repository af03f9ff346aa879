"""The checker accepts recorded certificates, and nothing that is false."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from random import Random
from typing import Any, TypeAlias

import pytest

from morello_layouts import check as checker
from morello_layouts.check import check
from tests.support.certificate_judge import is_true, mutant_of
from tests.support.paths import DATA
from tests.support.tables import each_row

Certificate: TypeAlias = dict[str, Any]


@cache
def recorded() -> list[Certificate]:
    return [
        json.loads(line) for line in (DATA / "certificates.jsonl").read_text("utf-8").splitlines()
    ]


def test_recorded_certificates_are_accepted() -> None:
    for given in recorded():
        assert check(given) == given["claim"], given["about"]


def small(claim: str = "injective") -> Certificate:
    """Return a certificate about a matrix of 3 by 5 in tiles of 2 by 2."""
    found = next(x for x in recorded() if x["claim"] == "verified" and x["shape"] == ["3", "5"])
    return {**found, "claim": claim}


def test_a_text_sees_only_its_own_variables() -> None:
    given = small()
    check(given)
    for cheat in ({"inverse": ["d0", "d1"]}, {"offset": "p"}, {"size": "d0"}):
        with pytest.raises(KeyError):
            check({**given, **cheat})
    with pytest.raises(KeyError):
        check({**small("verified"), "limits": [["d0", "1"]]})


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
    "numbers that are too large": ("injective", {"offset": "*".join(["9" * 4000] * 9) + "*d0"}),
    "terms of a high degree": ("injective", {"offset": "*".join(["d0"] * 200)}),
    "nested too deep": ("injective", {"offset": "-" * 50_000 + "d0"}),
    "a size that is a float": ("injective", {"sizes": {"N": [1, 1, float("inf")]}}),
    "a size that is true": ("injective", {"sizes": {"N": [True, 1, None]}}),
}


TOO_MUCH: list[dict[str, Any]] = [
    {"digits": [{"name": f"a{k}", "is": "d0", "below": "2"} for k in range(50_000)]},
    {"offset": "*".join(["(d0+d1+1)"] * 60)},
]

PLAIN: Certificate = {
    "sizes": {},
    "shape": ["2", "3"],
    "size": "6",
    "offset": "3*d0 + d1",
    "inverse": ["p//3", "p%3"],
    "padding": "0",
    "view": ["3*d0 + d1"],
    "other_shape": ["6"],
    "order": [0, 1],
    "digits": [],
}


@each_row(("claim", "changed"), list(FORGED.values()), ids=list(FORGED))
def test_forgeries_are_refused(claim: str, changed: dict[str, Any]) -> None:
    plain = {
        **PLAIN,
        "claim": claim,
        "others": [PLAIN["offset"] if claim == "equivalent" else "d0"],
    }
    assert check(plain) == claim
    with pytest.raises((checker.Refused, SyntaxError, MemoryError, RecursionError)) as error:
        check({**plain, **changed})
    assert repr(error.value)


@each_row("changed", TOO_MUCH)
def test_too_much_work_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(checker.Refused):
        check({**PLAIN, "claim": "injective", **changed})


@each_row(
    "forged",
    [
        {"sizes": {"N": [1, 9, 9], "\uff2e": [1, 1, 1]}, "shape": ["\uff2e", "5"]},
        {"shape": ["0-1", "5"]},
        {"sizes": {"N": [1, 1, 5.0]}},
        {"claim": "equivalent", "others": []},
        {"offset": "(" * 5000 + "d0" + ")" * 5000},
        {"offset": "d0**2"},
        {"digits": [{"split": "d0", "by": "2", "high": "d1", "low": "x", "below": "2"}]},
        {"digits": [{"name": "x", "is": "d1", "below": "4"}]},
    ],
)
def test_a_forged_statement_is_refused(forged: dict[str, Any]) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011  whatever it raises, it refuses
        check({**small(), **forged})


def judged_mutants(count: int, seed: int) -> Counter[str]:
    """Count what the checker says of mutants; none that it accepts is false."""
    random, counts = Random(seed), Counter[str]()
    originals = recorded()
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
