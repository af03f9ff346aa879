"""The checker accepts recorded certificates, and nothing that is false."""

from __future__ import annotations

import json
from contextlib import nullcontext
from functools import cache
from math import prod
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings, strategies as st

from morello_layouts import check as checker
from morello_layouts.check import check
from morello_layouts.proof.certificate_digits import certified
from tests.support.certificate_judge import is_true, judged, size_of
from tests.support.paths import DATA
from tests.support.tables import each_row

Certificate: TypeAlias = dict[str, Any]


@cache
def recorded() -> list[Certificate]:
    return [
        json.loads(line) for line in (DATA / "certificates.jsonl").read_text("utf-8").splitlines()
    ]


def test_recorded_certificates_are_accepted() -> None:
    for one in recorded():
        assert check(one) == one["claim"], one["about"]


MONOMIALS = st.lists(st.sampled_from("xyz"), max_size=3).map(lambda m: tuple(sorted(m)))
POLYNOMIALS = st.dictionaries(MONOMIALS, st.integers(-9, 9).filter(bool), max_size=4)
POINTS = st.fixed_dictionaries({name: st.integers(-20, 20) for name in "xyz"})


def at(polynomial: Any, point: Any) -> int:
    return sum(c * prod(point[atom] for atom in m) for m, c in polynomial.items())


@settings(max_examples=40)
@given(POLYNOMIALS, POLYNOMIALS, st.integers(-3, 3), POINTS)
def test_polynomials_are_computed_as_their_values_are(p: Any, q: Any, k: int, point: Any) -> None:
    checker.LEFT[0] = 10**6
    a, b = at(p, point), at(q, point)
    for found, value in (
        (checker.plus(p, q), a + b),
        (checker.plus(p, q, k), a + k * b),
        (checker.product(p, q), a * b),
        (checker.put(p, "x", q), at(p, {**point, "x": b})),
    ):
        assert at(found, point) == value
        assert 0 not in found.values()
    if q:
        quotient, rest = checker.divided(p, q)
        assert at(quotient, point) * b + at(rest, point) == a


@settings(max_examples=40)
@given(POLYNOMIALS, POLYNOMIALS.filter(bool))
def test_a_multiple_is_divided_without_rest(p: Any, q: Any) -> None:
    checker.LEFT[0] = 10**6
    assert checker.divided(checker.product(p, q), q) == (p, {})


@settings(max_examples=40)
@given(POLYNOMIALS, st.integers(1, 9))
def test_no_coefficient_of_a_rest_reaches_the_divisor(p: Any, n: int) -> None:
    checker.LEFT[0] = 10**6
    _, rest = checker.divided(p, {(): n})
    assert all(abs(c) < n for c in rest.values())
    assert rest.get((), 0) >= 0


def test_work_is_counted() -> None:
    one = {(): 1}
    for question, work in (
        (lambda: checker.require(True), 0),
        (lambda: checker.plus({("x",): 2}, one), 3),
        (lambda: checker.product({("x",): 2, (): 1}, {("x",): 1, (): 1, ("y",): 1}), 6 + 1 + 5),
    ):
        for left in (work, work - 1):
            checker.LEFT[0] = left
            with nullcontext() if left == work else pytest.raises(checker.Refused):
                question()


@each_row(
    ("value", "fits"),
    [
        ({(): 2**999 - 1}, True),
        ({(): 2**999}, False),
        ({(): -(2**999)}, False),
        ({("x",) * 98: 1}, True),
        ({("x",) * 99: 1}, False),
    ],
)
def test_numbers_and_degrees_are_limited(value: Any, fits: bool) -> None:
    checker.LEFT[0] = 10**6
    with nullcontext() if fits else pytest.raises(checker.Refused):
        checker.plus(value, {})


def test_an_object_with_a_key_twice_says_nothing() -> None:
    assert checker.once([("a", 1), ("b", 2)]) == {"a": 1, "b": 2}
    assert checker.once([("a", 1), ("a", 2)]) == {}


def small(claim: str = "injective") -> Certificate:
    """Return a certificate about a matrix of 3 by 5 in tiles of 2 by 2."""
    found = next(x for x in recorded() if x["claim"] == "verified" and x["shape"] == ["3", "5"])
    return {**found, "claim": claim}


def test_a_text_sees_only_its_own_variables() -> None:
    plain = small()
    check(plain)
    for cheat in ({"inverse": ["d0", "d1"]}, {"offset": "p"}, {"size": "d0"}):
        with pytest.raises(KeyError):
            check({**plain, **cheat})
    with pytest.raises(KeyError):
        check({**small("verified"), "limits": [["d0", "1"]]})


ANY = {"N": [1, 1, None]}
TILES = "8*(-(-N//8))"
LINE = {"offset": "d0", "inverse": ["p"]}
AFTER, BEFORE, AWAY = ["(p-1)//3", "(p-1)%3"], ["(p+1)//3", "(p+1)%3"], "d0//3*3 + 2 - d0%3"
HALVES = {"split": "d0", "by": "2", "low": "a", "high": "b", "below": "3"}
SWAPPED = {"offset": "d0 + 2*d1", "view": ["d1", "d0"], "others": ["2*d0 + d1"]}
SWAPPED_BACK = {"offset": "3*d0 + d1", "view": ["d1", "d0"], "others": ["d0 + 3*d1"]}

SQUARE = {"shape": ["4", "4"], "size": "16", "offset": "4*d0 + (d0 ^ d1)"}
THREE = {"shape": ["2", "2", "2"], "offset": "d0 ^ d1 ^ d2"}

TRUE: list[tuple[str, Certificate]] = [
    ("bijective", {**SQUARE, "inverse": ["p//4", "p%4 ^ p//4"]}),
    ("padded", {**SQUARE, "inverse": ["p//4", "p%4 ^ p//4"], "size": "17", "padding": "1"}),
    ("injective", {"sizes": ANY, "shape": ["N"], "offset": "d0 ^ 5", "inverse": ["p ^ 5"]}),
    ("equivalent", {**THREE, "others": ["(d0 ^ d2 ^ 3) ^ (d1 ^ 3)"]}),
    ("equivalent", {"offset": "(d0 ^ 8*d1) + d0", "others": ["2*d0 + 8*d1"]}),
    ("equivalent", {"offset": "d0*d0 + d1", "others": ["d0 + d1"]}),
    ("padded", {"size": "7", "padding": "1"}),
    ("padded", {"offset": "3*d0 + d1 + 1", "inverse": AFTER, "size": "7", "padding": "1"}),
    ("surjective", {"shape": ["0", "3"], "size": "0"}),
    ("injective", {"shape": ["0", "3"]}),
    ("bijective", {}),
    ("bitcast", {"other_shape": ["3", "2"], "order": [1, 0]} | SWAPPED),
    ("bitcast", {"other_shape": ["3", "2"], "other_order": [1, 0]} | SWAPPED_BACK),
    ("relayout", {}),
    ("verified", {}),
    ("verified", {"size": "8"}),
    ("verified", {"size": "8", "end": "7", "limits": [["p//3", "2"]]}),
    (
        "equivalent",
        {
            "shape": ["7"],
            "offset": "d0",
            "others": ["d0%2 + 2*(d0//2%4)"],
            "digits": [{**HALVES, "below": "4"}],
        },
    ),
    ("injective", {"sizes": ANY, "shape": [f"N + 8 - {TILES}"]} | LINE),
    (
        "padded",
        {"sizes": {"N": [2, 3, None]}, "shape": ["4"], "size": "N", "padding": "N - 4"} | LINE,
    ),
    ("padded", {"sizes": {"N": [2, 1, 9]}, "shape": ["N"], "size": "8", "padding": "8 - N"} | LINE),
    ("equivalent", {"sizes": ANY, "offset": f"d0 + {TILES} - N", "others": ["d0 + (-N)%8"]}),
    ("equivalent", {"sizes": {"N": [2, 2, None]}, "others": ["3*d0 + d1 + N%2"]}),
]


FORGED: dict[str, tuple[str, dict[str, Any]]] = {
    "an exclusive or as a sum": ("equivalent", {"offset": "d0 ^ d1", "others": ["d0 + d1"]}),
    "a wrong bit of an exclusive or": ("equivalent", {"offset": "d0 ^ 2", "others": ["d0 ^ 1"]}),
    "a square of 0 to 2": ("equivalent", {"offset": "d0 + d1*d1", "others": ["d0 + d1"]}),
    "a bit of another certificate": (
        "equivalent",
        {"shape": ["3", "2"], "offset": "d0*d0 + d1", "others": ["d0 + d1"]},
    ),
    "three values that are called a bit": (
        "equivalent",
        {
            "offset": "d0 + d1*d1",
            "others": ["d0 + d1"],
            "digits": [{"name": "x", "is": "d1", "below": "2"}],
        },
    ),
    "an exclusive or that leaves the buffer": (
        "padded",
        {**SQUARE, "inverse": ["p//4", "p%4 ^ p//4"], "size": "15", "padding": "-1"},
    ),
    "bits without end": ("injective", {"offset": "-1 ^ (3*d0 + d1)", "inverse": AFTER}),
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
    "padding that is not there": ("padded", {"padding": "1"}),
    "padding that is not counted": ("padded", {"size": "7"}),
    "the last offset outside": ("padded", {"offset": "3*d0 + d1 + 1", "inverse": AFTER}),
    "the first offset outside": ("padded", {"offset": "3*d0 + d1 - 1", "inverse": BEFORE}),
    "a wrong inverse": ("injective", {"inverse": ["p//3", "p%2"]}),
    "no inverse of the last dimension": ("injective", {"inverse": ["p//3"]}),
    "an inverse of a shared slot": ("injective", {"offset": "d0 + d1"}),
    "a buffer that is not filled": ("surjective", {"size": "7"}),
    "an inverse outside": ("surjective", {"shape": ["1", "3"]}),
    "an inverse of another slot": ("surjective", {"inverse": ["(p+1)//3%2", "(p+1)%3"]}),
    "slots for no elements": ("surjective", {"shape": ["0", "3"]}),
    "another offset": ("equivalent", {"others": ["3*d0 + 2*d1"]}),
    "a second offset": ("equivalent", {"others": ["3*d0 + d1", "3*d0 + d1 + d0//2 + d1//2"]}),
    "no other offset": ("equivalent", {"others": []}),
    "a view of another element": ("bitcast", {"view": ["3*d0 + 2 - d1"], "others": [AWAY]}),
    "a view outside": ("bitcast", {"view": ["3*d0 + d1 + 1"], "others": ["d0 - 1"]}),
    "a view in another order": ("bitcast", {"order": [1, 0]}),
    "a view in another order of its own": (
        "bitcast",
        {"other_shape": ["3", "2"], "other_order": [0, 1]} | SWAPPED_BACK,
    ),
    "an order of other truth values": ("bitcast", {"other_order": [False]}),
    "an order of more dimensions": ("bitcast", {"other_order": [0, 1]}),
    "a digit that a limit leaves": (
        "verified",
        {
            "size": "4",
            "end": "4",
            "shape": ["2"],
            "offset": "d0",
            "others": ["d0"],
            "inverse": ["p%2 + 2*(p//2)"],
            "limits": [["p%2 + 2*(p//2)", "3"]],
            "digits_of_slots": [
                {"split": "p", "by": "2", "low": "v", "high": "u", "below": "2"},
                {"name": "z", "is": "p//2", "below": "1", "limit": ["p%2 + 2*(p//2)", "3"]},
            ],
        },
    ),
    "an order without a dimension": ("bitcast", {"order": [0, 0]}),
    "a view with another offset": ("bitcast", {"others": ["5 - d0"]}),
    "a source of another slot": ("relayout", {"source": "5 - p"}),
    "a limit that leaves elements out": ("verified", {"limits": [["p//3", "1"]]}),
    "elements behind the end": ("verified", {"size": "5"}),
    "slots of padding without a limit": ("verified", {"size": "7", "end": "7"}),
    "a wrong second formula": ("verified", {"others": ["3*d0 + d1", "3*d0 + 2*d1"]}),
    "a split that is too short": (
        "equivalent",
        {"shape": ["7"], "offset": "d0", "others": ["d0%2 + 2*(d0//2%3)"], "digits": [HALVES]},
    ),
    "a digit that is too short": (
        "equivalent",
        {"others": ["(3*d0 + d1)%5"], "digits": [{"name": "x", "is": "3*d0 + d1", "below": "5"}]},
    ),
    "a coordinate of 1 and more": (
        "equivalent",
        {"shape": ["2"], "offset": "0*d0", "others": ["(d0 - 1)//2"]},
    ),
    "a size that may be 0": ("injective", {"sizes": ANY, "shape": [f"N + 7 - {TILES}"]} | LINE),
    "a size that is larger than assumed": (
        "padded",
        {"sizes": {"N": [2, 4, None]}, "shape": ["5"], "size": "N", "padding": "N - 5"} | LINE,
    ),
    "a size that is smaller than assumed": (
        "padded",
        {"sizes": {"N": [1, 1, 9]}, "shape": ["N"], "size": "8", "padding": "8 - N"} | LINE,
    ),
    "a size of no value": ("injective", {"sizes": {"N": [4, 5, 7]}}),
    "a size in steps of 0": ("injective", {"sizes": {"N": [0, 1, 7]}}),
    "a name that is taken": ("injective", {"digits": [{"name": "d0", "is": "d1", "below": "3"}]}),
    "a divisor that may be 0": ("equivalent", {"sizes": ANY, "others": ["3*d0 + d1 + 0//(N - 1)"]}),
    "a remainder below 0": ("equivalent", {"others": ["3*d0 + d1 + (-d1)//3"]}),
    "a comment": ("injective", {"offset": "3*d0 + d1  # + 5"}),
    "numbers that are too large": ("injective", {"offset": "*".join(["9" * 4000] * 9) + "*d0"}),
    "terms of a high degree": ("injective", {"offset": "*".join(["d0"] * 200)}),
    "nested too deep": ("injective", {"offset": "-" * 50_000 + "d0"}),
    "a size that is a float": ("injective", {"sizes": {"N": [1, 1, float("inf")]}}),
    "a size that is true": ("injective", {"sizes": {"N": [True, 1, None]}}),
}


REFUSALS = (checker.Refused, SyntaxError, ValueError, ArithmeticError, MemoryError, RecursionError)

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
    "source": "p",
    "end": "6",
    "limits": [],
    "digits": [],
    "digits_of_slots": [{"split": "p", "by": "3", "low": "v", "high": "u", "below": "2"}],
}


def plain_certificate(claim: str) -> Certificate:
    other = "d0" if claim == "bitcast" else PLAIN["offset"]
    return {**PLAIN, "claim": claim, "others": [other]}


@each_row(("claim", "changed"), TRUE)
def test_what_is_true_at_an_edge_is_accepted(claim: str, changed: dict[str, Any]) -> None:
    given = {**plain_certificate(claim), **changed}
    assert is_true(given)
    assert check(given if "digits" in changed else certified(given)) == claim


@each_row(("claim", "changed"), list(FORGED.values()), ids=list(FORGED))
def test_forgeries_are_refused(claim: str, changed: dict[str, Any]) -> None:
    plain = plain_certificate(claim)
    assert check(plain) == claim
    with pytest.raises(REFUSALS) as error:
        check({**plain, **changed})
    assert repr(error.value)


@pytest.mark.slow
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


def test_mutants_are_refused_or_true() -> None:
    small = [x for x in recorded() if size_of(x) <= 420]
    assert judged(small, 300, 1)["refused"] > 200


@pytest.mark.slow
def test_recorded_certificates_are_true() -> None:
    assert all(map(is_true, recorded()))


@pytest.mark.slow
def test_many_mutants_are_refused_or_true() -> None:
    assert judged(recorded(), 500, 2)["refused"] > 350
