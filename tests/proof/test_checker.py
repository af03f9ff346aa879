"""The checker accepts recorded certificates, and nothing that is false."""

from __future__ import annotations

import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from functools import cache
from math import prod
from time import process_time
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings, strategies as st

from morello_layouts import check as checker
from morello_layouts.check import CLAIMS, SHARED, Checker, Refused, check, statement
from morello_layouts.proof.certificate_digits import certified
from tests.support.certificate_judge import is_true, size_of
from tests.support.forgeries import judged
from tests.support.paths import rows
from tests.support.tables import each_row

Certificate: TypeAlias = dict[str, Any]


@cache
def recorded() -> list[Certificate]:
    return rows("certificates.jsonl")


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
    c = Checker()
    a, b = at(p, point), at(q, point)
    for found, value in (
        (c.plus(p, q), a + b),
        (c.plus(p, q, k), a + k * b),
        (c.product(p, q), a * b),
        (c.put(p, "x", q), at(p, {**point, "x": b})),
    ):
        assert at(found, point) == value
        assert 0 not in found.values()
    if q:
        quotient, rest = c.divided(p, q)
        assert at(quotient, point) * b + at(rest, point) == a


@settings(max_examples=40)
@given(POLYNOMIALS, POLYNOMIALS.filter(bool))
def test_a_multiple_is_divided_without_rest(p: Any, q: Any) -> None:
    c = Checker()
    assert c.divided(c.product(p, q), q) == (p, {})


@settings(max_examples=40)
@given(POLYNOMIALS, st.integers(1, 9))
def test_no_coefficient_of_a_rest_reaches_the_divisor(p: Any, n: int) -> None:
    _, rest = Checker().divided(p, {(): n})
    assert all(abs(c) < n for c in rest.values())
    assert rest.get((), 0) >= 0


@each_row(
    ("question", "work"),
    [
        (lambda c: c.work(0), 0),
        (lambda c: c.plus({(0,): 2}, {(): 1}), 3),
        (lambda c: c.product({(0,): 2, (): 1}, {(0,): 1, (): 1, (1,): 1}), 7),
        (lambda c: c.parts({(0,): 2, (): 1}, 0), 3),
        (lambda c: c.divided({(0,): 2, (): 1}, {(): 4}), 2 + 1),
        (lambda c: c.is_nonnegative({(): 1}), 2),
        (lambda c: c.value("  12 "), 5 + 2),
    ],
)
def test_work_is_counted(question: Any, work: int) -> None:
    for left in (work, work - 1):
        c = Checker()
        c.left = left
        with nullcontext() if left == work else pytest.raises(Refused, match="too much work"):
            question(c)
            assert c.left == 0


@each_row(
    ("value", "fits"),
    [
        ({(): 10**150 - 1}, True),
        ({(): 10**150}, False),
        ({(): -(10**150)}, False),
        ({("x",) * 40: 1}, True),
        ({("x",) * 41: 1}, False),
    ],
)
def test_numbers_and_degrees_are_limited(value: Any, fits: bool) -> None:
    with nullcontext() if fits else pytest.raises(Refused):
        Checker().plus(value, {})


def test_an_object_with_a_key_twice_says_nothing() -> None:
    assert checker.once([("a", 1), ("b", 2)]) == {"a": 1, "b": 2}
    with pytest.raises(Refused):
        checker.once([("a", 1), ("a", 2)])


def small(claim: str = "injective") -> Certificate:
    """Return a certificate about a matrix of 3 by 5 in tiles of 2 by 2."""
    found = next(x for x in recorded() if x["claim"] == "verified" and x["shape"] == ["3", "5"])
    return of_claim(found, claim)


def of_claim(given: Certificate, claim: str) -> Certificate:
    """Return a certificate of another claim, with the keys that it has."""
    keys = SHARED | CLAIMS[claim][0]
    return {**{key: x for key, x in given.items() if key in keys}, "claim": claim}


def test_a_text_sees_only_its_own_variables() -> None:
    plain = small()
    check(plain)
    for cheat in ({"inverse": ["d0", "d1"]}, {"offset": "p"}, {"shape": ["3", "d0"]}):
        with pytest.raises(Refused, match="means nothing here"):
            check({**plain, **cheat})
    with pytest.raises(Refused, match="means nothing here"):
        check({**small("verified"), "limits": [["d0", "1"]]})


def size(step: int = 1, least: int = 1, most: int | None = None, name: str = "N") -> Any:
    """Return what a certificate says of a size."""
    found = {"name": name, "multiple_of": str(step), "least": str(least)}
    return found if most is None else {**found, "most": str(most)}


ANY = [size()]
TILES, LEFT = "8*(-(-N//8))", "4*(-(-N//4)) - N"
LINE = {"offset": "d0", "inverse": ["p"]}
AFTER, BEFORE, AWAY = ["(p-1)//3", "(p-1)%3"], ["(p+1)//3", "(p+1)%3"], "d0//3*3 + 2 - d0%3"
HALVES = {"split": "d0", "by": "2", "low": "a", "high": "b", "below": "3"}
SWAPPED = {"offset": "d0 + 2*d1", "view": ["d1", "d0"], "others": ["2*d0 + d1"]}
SWAPPED_BACK = {"offset": "3*d0 + d1", "view": ["d1", "d0"], "others": ["d0 + 3*d1"]}

SQUARE = {"shape": ["4", "4"], "size": "16", "offset": "4*d0 + (d0 ^ d1)"}
THREE = {"shape": ["2", "2", "2"], "offset": "d0 ^ d1 ^ d2"}

EACH_0, EACH_1, HALF = [{"each": "d0"}], [{"each": "d1"}], {"name": "x", "is": "d0", "below": "2"}
CARRIES = {
    "shape": ["3"],
    "offset": "6*d0 ^ (3*d0)//2",
    "inverse": ["((p%4 ^ p//4%4) + 4*(p//4))//6"],
}
REMAINDERS = {
    "sizes": ANY,
    "shape": ["N", "3"],
    "offset": "3*d0 + (2*d1 + 2)%3",
    "inverse": ["p//3", "(2*p + 2)%3"],
}
SUMS = {"shape": ["3", "2"], "offset": "d0 + d1", "size": "4", "inverse": ["p - p//3", "p//3"]}

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
    ("bitcast", {"other_shape": ["3", "2"], "order": ["1", "0"]} | SWAPPED),
    ("bitcast", {"other_shape": ["3", "2"], "other_order": ["1", "0"]} | SWAPPED_BACK),
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
    ("injective", {**CARRIES, "digits": EACH_0}),
    ("injective", {**CARRIES, "digits": [*EACH_0, *EACH_0]}),
    ("injective", {**REMAINDERS, "digits": EACH_1}),
    ("surjective", {**SUMS, "digits": [], "digits_of_slots": [{"each": "p"}]}),
    ("bijective", {"digits": [HALF, *EACH_0]}),
    ("bijective", {"shape": ["1", "6"], "inverse": ["0*p", "p"], "digits": EACH_0}),
    ("injective", {"sizes": ANY, "shape": [f"N + 8 - {TILES}"]} | LINE),
    ("injective", {"sizes": ANY, "shape": ["5 + 9*(-(-N//16)) - 9*(-(-(-(-N//4))//4))"]} | LINE),
    (
        "padded",
        {"sizes": [size(2, 3)], "shape": ["4"], "size": "N", "padding": "N - 4"} | LINE,
    ),
    ("padded", {"sizes": [size(2, 1, 9)], "shape": ["N"], "size": "8", "padding": "8 - N"} | LINE),
    ("equivalent", {"sizes": ANY, "offset": f"d0 + {TILES} - N", "others": ["d0 + (-N)%8"]}),
    ("equivalent", {"sizes": [size(2, 2)], "others": ["3*d0 + d1 + N%2"]}),
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
            "sizes": [size(2, 2, 8)],
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
        {"sizes": [size(1, 9, 9), size(1, 1, 1, "Ｎ")], "shape": ["Ｎ", "3"], "size": "3*N"},
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
    "a view outside in one dimension": (
        "bitcast",
        {"other_shape": ["2", "3"], "view": ["0*d0", "3*d0 + d1"], "others": ["3*d0 + d1"]},
    ),
    "a view in another order": ("bitcast", {"order": ["1", "0"]}),
    "a view in another order of its own": (
        "bitcast",
        {"other_shape": ["3", "2"], "other_order": ["0", "1"]} | SWAPPED_BACK,
    ),
    "an order of other truth values": ("bitcast", {"other_order": [False]}),
    "an order of more dimensions": ("bitcast", {"other_order": ["0", "1"]}),
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
                {"name": "z", "is": "p//2", "below": "1", "using": ["0"]},
            ],
        },
    ),
    "an exclusive or in the size of a limit": (
        "verified",
        {
            "size": "16",
            "end": "16",
            "shape": ["8"],
            "offset": "d0",
            "others": ["d0"],
            "inverse": ["p % 8"],
            "limits": [["8*(p//8)+7-p%8", "7^8"]],
            "digits_of_slots": [
                {"split": "p", "by": "8", "high": "h", "low": "l", "below": "2"},
                {"split": "l", "by": "2", "high": "l1", "low": "b0", "below": "4"},
                {"split": "l1", "by": "2", "high": "b2", "low": "b1", "below": "2"},
                {"name": "z", "is": "h", "below": "1", "using": ["0"]},
            ],
        },
    ),
    "an order without a dimension": ("bitcast", {"order": ["0", "0"]}),
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
    "a definition that is folded where it has no inverse": (
        "equivalent",
        {
            "shape": ["2", "2"],
            "offset": "2*d0 + d1",
            "others": ["2*d0 + d1 + d0*d1"],
            "digits": [{"name": "x", "is": "d0 - d0*d1", "below": "2"}],
        },
    ),
    **{
        f"a definition that is folded with another sign, {form}": (
            "equivalent",
            {
                "shape": ["2", "2"],
                "offset": f"({form})//3",
                "others": ["0"],
                "digits": [{"name": "x", "is": "d0 + d1", "below": "3"}],
            },
        )
        for form in ("d0 - d1", "d1 - d0")
    },
    "the last of the elements that are taken singly": (
        "injective",
        {**CARRIES, "inverse": [f"({CARRIES['inverse'][0]})%2"], "digits": EACH_0},
    ),
    "the last of the slots that are taken singly": (
        "surjective",
        {**SUMS, "size": "5", "digits": [], "digits_of_slots": [{"each": "p"}]},
    ),
    "the first of the slots that are taken singly": (
        "surjective",
        {**SUMS, "offset": "d0 + d1 + (3 - d0 - d1)//3", "digits_of_slots": [{"each": "p"}]},
    ),
    "a variable of any number of values that is taken singly": (
        "injective",
        {"sizes": ANY, "shape": ["N"], "offset": "d0//2", "inverse": ["2*p"], "digits": EACH_0},
    ),
    "the slot, taken singly among the elements": (
        "injective",
        {"shape": ["2"], "offset": "d0//2", "inverse": ["p"], "digits": [{"each": "p"}]},
    ),
    "a number that is split": (
        "injective",
        {
            "shape": ["3"],
            "offset": "d0//2",
            "inverse": ["2*p"],
            "digits": [*EACH_0, {**HALVES, "below": "2"}],
        },
    ),
    "a number that is taken singly": (
        "surjective",
        {**SUMS, "size": "5", "digits": EACH_0, "digits_of_slots": EACH_0},
    ),
    "a rounded size below 0": (
        "padded",
        {"sizes": [size(1, 1, 4)], "shape": ["2"], "size": "2 - N//4", "padding": "-(N//4)"} | LINE,
    ),
    "a coordinate of 1 and more": (
        "equivalent",
        {"shape": ["2"], "offset": "0*d0", "others": ["(d0 - 1)//2"]},
    ),
    "a quotient that is rounded more": ("injective", {"sizes": ANY, "shape": [LEFT]} | LINE),
    "a part that is rounded up": ("injective", {"sizes": ANY, "shape": [f"2*({LEFT})"]} | LINE),
    "a size that may be 0": ("injective", {"sizes": ANY, "shape": [f"N + 7 - {TILES}"]} | LINE),
    "a size that is larger than assumed": (
        "padded",
        {"sizes": [size(2, 4)], "shape": ["5"], "size": "N", "padding": "N - 5"} | LINE,
    ),
    "a size that is smaller than assumed": (
        "padded",
        {"sizes": [size(1, 1, 9)], "shape": ["N"], "size": "8", "padding": "8 - N"} | LINE,
    ),
    "a size of no value": ("injective", {"sizes": [size(4, 5, 7)]}),
    "a size in steps of 0": ("injective", {"sizes": [size(0, 1, 7)]}),
    "a name that is taken": ("injective", {"digits": [{"name": "d0", "is": "d1", "below": "3"}]}),
    "a divisor that may be 0": ("equivalent", {"sizes": ANY, "others": ["3*d0 + d1 + 0//(N - 1)"]}),
    "a remainder below 0": ("equivalent", {"others": ["3*d0 + d1 + (-d1)//3"]}),
    "a comment": ("injective", {"offset": "3*d0 + d1  # + 5"}),
    "numbers that are too large": ("injective", {"offset": "*".join(["9" * 4000] * 9) + "*d0"}),
    "terms of a high degree": ("injective", {"offset": "*".join(["d0"] * 200)}),
    "nested too deep": ("injective", {"offset": "-" * 50_000 + "d0"}),
    "nested too deep after others that ended": (
        "injective",
        {"inverse": [f"{'(0)+' * 60}{'(' * 51}p//3{')' * 51}", "p%3"]},
    ),
    "a size that is a float": ("injective", {"sizes": [{**size(), "most": float("inf")}]}),
    "a size that is true": ("injective", {"sizes": [{**size(), "least": True}]}),
}


PLAIN: Certificate = {
    "format": checker.FORMAT,
    "sizes": [],
    "shape": ["2", "3"],
    "size": "6",
    "offset": "3*d0 + d1",
    "inverse": ["p//3", "p%3"],
    "padding": "0",
    "view": ["3*d0 + d1"],
    "other_shape": ["6"],
    "order": ["0", "1"],
    "other_order": ["0"],
    "source": "p",
    "end": "6",
    "limits": [],
    "digits": [],
    "digits_of_slots": [{"split": "p", "by": "3", "low": "v", "high": "u", "below": "2"}],
}


def plain_certificate(claim: str) -> Certificate:
    other = "d0" if claim == "bitcast" else PLAIN["offset"]
    return of_claim({**PLAIN, "others": [other]}, claim)


def changed_by(change: dict[str, Any], claim: str) -> Certificate:
    """Return the plain certificate with a change of what its claim has."""
    found = plain_certificate(claim)
    ranks = {"other_order": [*map(str, range(len(change.get("other_shape", "1"))))]}
    return of_claim({**found, **ranks, **change}, claim)


@each_row(("claim", "changed"), TRUE)
def test_what_is_true_at_an_edge_is_accepted(claim: str, changed: dict[str, Any]) -> None:
    given = changed_by(changed, claim)
    assert is_true(given)
    if "digits" not in changed:
        given = certified({k: x for k, x in given.items() if not k.startswith("digits")})
    assert check(given) == claim
    assert statement(given).startswith(claim)


@each_row(("claim", "changed"), list(FORGED.values()), ids=list(FORGED))
def test_forgeries_are_refused(claim: str, changed: dict[str, Any]) -> None:
    plain, forged = plain_certificate(claim), changed_by(changed, claim)
    assert check(plain) == claim
    assert forged.keys() == plain.keys()
    assert forged != plain
    with pytest.raises(Refused) as error:
        check(forged)
    assert "key" not in str(error.value)


@each_row(
    ("change", "words"),
    [
        ({"format": "morello-layouts certificate 1"}, "certificate 1', but this checker reads"),
        ({"format": 2}, "format: 2"),
        ({"claim": "true"}, "claim: 'true' is not known"),
        ({"claim": ["injective"]}, "claim: "),
        ({"size": "6"}, "unknown key ['size']"),
        ({"about": 3}, "about: not a list"),
        ({"offset": 3}, "not a text"),
        ({"offset": "d0\nd1"}, "not a text"),
        ({"inverse": "p"}, "inverse: not a list"),
        ({"digits": [{"name": "x", "is": "d0", "below": "2", "using": []}]}, "'using'"),
        ({"digits": [{"name": "x", "is": "d0"}]}, "no key ['below']"),
        ({"sizes": [{"name": "N", "multiple_of": "1"}]}, "no key ['least']"),
        ({"sizes": [{"name": "p", "multiple_of": "1", "least": "1"}]}, "name 'p'"),
        ({"sizes": [size(), size()]}, "name 'N'"),
        ({"sizes": {}}, "sizes: not a list"),
    ],
)
def test_another_form_is_refused_in_words(change: dict[str, Any], words: str) -> None:
    with pytest.raises(Refused) as error:
        check({**plain_certificate("injective"), **change})
    assert words in str(error.value)


def test_a_least_size_below_1_is_refused() -> None:
    """At N = 0, slot 0 would hold no element."""
    given = changed_by(
        {"shape": ["N"], "size": "1", "offset": "0*d0", "inverse": ["0"], "digits_of_slots": []},
        "surjective",
    )
    assert check({**given, "sizes": [size(least=1)]}) == "surjective"
    with pytest.raises(Refused, match="a size and its step are at least 1"):
        check({**given, "sizes": [size(least=0)]})


def test_two_checks_share_nothing() -> None:
    """d0 is a bit in one certificate, and equal to its square; in the other it is not."""
    square = {"shape": ["9"], "offset": "d0*d0", "others": ["d0"]}
    false = changed_by(square, "equivalent")
    true = changed_by({**square, "shape": ["2"]}, "equivalent")

    def verdicts(given: Certificate) -> set[str]:
        found = set()
        for _ in range(300):
            try:
                found.add(check(given))
            except Refused as error:
                found.add(str(error))
        return found

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(verdicts, [false, true] * 2))
    finally:
        sys.setswitchinterval(interval)
    assert found[1] == found[3] == {"equivalent"}
    assert found[0] == found[2]
    assert "equivalent" not in found[0]


def nested(depth: int) -> str:
    text = "N"
    for _ in range(depth):
        text = f"(-((-{text})//3)+1)"
    return text


LONG = "+".join(f"{k}*d{k % 2}*d0" for k in range(3000))
HEAVY: list[Certificate] = [
    *({"sizes": ANY, "shape": [nested(depth), "3"]} for depth in (5, 12, 36, 200, 3000)),
    {"offset": f"({LONG})*({LONG})"},
    {"offset": "*".join(["(d0 + 3*d1 + 7)"] * 38)},
    {"offset": "*".join(["9" * 150] * 600)},
    {"offset": "9" * 90_000},
    {"digits": [*EACH_0, *EACH_1] * 3000},
    {"shape": ["1", "9" * 150], "digits": [*EACH_1, *EACH_0]},
    {"shape": ["1", "99999"], "digits": [*EACH_1, *EACH_0 * 3000]},
    {"shape": ["1", "99999"], "digits": [*EACH_0 * 3000, *EACH_1]},
    {"shape": ["2"] * 90, "digits": [{"each": f"d{k}"} for k in range(90)], "inverse": ["p"] * 90},
    {"offset": " ^ ".join(["d0", "d1", "(3*d0 + d1)", "-1"] * 200)},
    {"offset": "d1" + "^1^d0" * 4000},
    {"offset": "(" * 5000 + "d0" + ")" * 5000},
    {"offset": "-" * 50_000 + "d0"},
    {"shape": ["2"] * 5000, "inverse": ["p"] * 5000},
    {"sizes": [size(name=f"N{k}") for k in range(5000)]},
    {"digits": [{"name": f"a{k}", "is": "d0", "below": "2"} for k in range(5000)]},
    {"digits": [{"name": f"a{k}", "is": "d0", "below": "2"} for k in range(100)]},
    {
        "sizes": [size(name=f"N{k}") for k in range(30)],
        "shape": ["*".join(f"(N{k} - 1 + N{k + 1}*N{k + 2})" for k in range(12)), "3"],
    },
]


@each_row("change", HEAVY, ids=[f"heavy-{k}" for k in range(len(HEAVY))])
def test_nothing_takes_long_or_much_memory(change: Certificate) -> None:
    """A machine ten times as slow may need more; a name that doubles needs gigabytes."""
    tracemalloc.start()
    began = process_time()
    with suppress(Refused):
        check(changed_by(change, "injective"))
    assert process_time() - began < 60
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 << 20


@each_row(
    "forged",
    [
        {"sizes": [size(1, 9, 9), size(1, 1, 1, "\uff2e")], "shape": ["\uff2e", "5"]},
        {"shape": ["0-1", "5"]},
        {"sizes": [{**size(), "most": 5.0}]},
        {"others": []},
        {"offset": "(" * 5000 + "d0" + ")" * 5000},
        {"offset": "d0**2"},
        {"digits": [{"split": "d0", "by": "2", "high": "d1", "low": "x", "below": "2"}]},
        {"digits": [{"name": "x", "is": "d1", "below": "4"}]},
    ],
)
def test_a_forged_statement_is_refused(forged: dict[str, Any]) -> None:
    given = small("equivalent" if "others" in forged else "injective")
    with pytest.raises(Refused):
        check({**given, **forged})


def test_mutants_are_refused_or_true() -> None:
    small = [x for x in recorded() if size_of(x) <= 420]
    assert judged(small, range(300), 1)["refused"] > 150


@pytest.mark.slow
def test_recorded_certificates_are_true() -> None:
    assert all(map(is_true, recorded()))


@pytest.mark.slow
def test_many_mutants_are_refused_or_true() -> None:
    assert judged(recorded(), range(3000), 2)["refused"] > 1500
