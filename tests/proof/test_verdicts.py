"""The words of proofs: verdicts, texts, displays and JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import sympy

import morello_layouts as ml
from morello_layouts.core.plain import plain
from morello_layouts.proof import Condition
from morello_layouts.proof.verdict import ALL_SIZES, NO_SIZES
from tests.support.tables import each_row

M = sympy.Symbol("M")
PADDED = "f32[3,5]{1,0:T(2,2)}"
TILED = "f32[M,N]{1,0:T(8,128)}"
SHARED = ("bf16[B,M,N]{2,1,0:T(8,128)(2,1)}", "bf16[B,M,N]{2,1,0:T(*,8,128)(2,1)}")


@each_row(
    ("proof", "text"),
    [
        (
            lambda: ml.is_injective(PADDED),
            "injective: no two coordinates share an offset. Decided by ISL.",
        ),
        (
            lambda: ml.is_surjective(PADDED),
            "not surjective: 9 of 24 slots are padding (first: 9). Decided by ISL.",
        ),
        (
            lambda: ml.is_bijective(PADDED),
            "not bijective: injective, but 9 of 24 slots are padding (first: 9). Decided by ISL.",
        ),
        (
            lambda: ml.is_bijective("f32[6,8]"),
            "bijective: injective, and all 48 slots hold an element. Decided by ISL.",
        ),
        (lambda: ml.is_bijective("f32[0,3]"), "bijective: injective, and the buffer is empty."),
        (
            lambda: ml.is_bijective("f32[M,N]"),
            "bijective for all sizes: injective, and every slot holds an element. Decided by ISL.",
        ),
        (
            lambda: ml.is_bijective(TILED),
            (
                "bijective iff 8 | M and 128 | N. "
                "Counterexample: M = N = 1 leaves 1023 of 1024 slots empty. Decided by ISL.\n"
                "Padding: -M*N + 1024*ceil(M/8)*ceil(N/128) slots."
            ),
        ),
        (
            lambda: ml.is_bijective(TILED, assuming="M <= 4"),
            (
                "not bijective for any sizes. "
                "Counterexample: M = N = 1 leaves 1023 of 1024 slots empty. Decided by ISL.\n"
                "Padding: -M*N + 1024*ceil(N/128) slots.\n"
                "Assumed: M <= 4."
            ),
        ),
        (
            lambda: ml.verify(PADDED),
            (
                "verified: simplified formula, reference and inverse agree everywhere. "
                "Decided by digits and ISL."
            ),
        ),
        (
            lambda: ml.verify(replace(ml.index_map(PADDED), reference_form=zero())),
            (
                "refuted: the simplified formula differs from the recipe at (0, 1). "
                "Decided by evaluation."
            ),
        ),
        (
            lambda: ml.are_equivalent("[0, 1]", "[1, 0]", (2, 3)),
            "not equivalent: (0, 1) has offsets 1 and 2. Decided by evaluation.",
        ),
        (
            lambda: ml.are_equivalent("[1, 0, 1 p(4)]", "f32[6,8]{0,1:T(4,1)}"),
            "equivalent: every coordinate has the same offset. Decided by digits.",
        ),
        (
            lambda: ml.are_equivalent(*SHARED),
            (
                "not always equivalent: proved if 8 | M, open for other sizes. "
                "Counterexample: B = 2, M = N = 1 puts (1, 0, 0) at offsets 1024 and 1. "
                "Decided by ISL at sampled sizes."
            ),
        ),
        (
            lambda: ml.is_bitcast("f32[4,6]", "f32[24]"),
            "a bitcast: the reshape moves no element. Decided by digits.",
        ),
        (
            lambda: ml.is_bitcast("s4[8]{0:E(4)}", "s4[8]{0}"),
            "not a bitcast: elements take 4 bits in one and 8 in the other.",
        ),
        (
            lambda: ml.is_bijective(ml.from_sympy({"shape": (4, 4), "size": 20}, "3*d0 + d1")),
            "not bijective: not injective, (0, 3) and (1, 0) share offset 3. Decided by ISL.",
        ),
        (
            lambda: ml.is_injective(ml.from_sympy(("M", "N"), "d0 + d1")),
            (
                "not always injective: open for other sizes. "
                "Counterexample: M = N = 2 gives (0, 1) and (1, 0) one offset. Decided by sampling."
            ),
        ),
        (
            lambda: ml.is_injective(ml.from_sympy((4096, 4096), "4096*d0 + d1")),
            "injective: no two coordinates share an offset. Decided by digits and ISL.",
        ),
        (
            lambda: ml.is_surjective(TILED, budget=1),
            "undecided whether surjective: ISL spent its budget of 1 operations.",
        ),
        (
            lambda: ml.verify(TILED, budget=1),
            "undecided whether the formulas agree: ISL spent its budget of 1 operations.",
        ),
    ],
)
def test_texts(proof: Any, text: str) -> None:
    found = proof()
    assert str(found) == text
    assert text.startswith(f"{found.verdict}.")
    assert repr(found) == f"<{type(found).__name__}: {found.verdict}>"


def zero() -> Any:
    return ml.index_map(PADDED).reference_form * 0


@pytest.mark.parametrize(
    ("condition", "expr", "always", "never", "mark"),
    [
        (ALL_SIZES, sympy.true, True, False, "✓"),
        (NO_SIZES, sympy.false, False, True, "✗"),
        (Condition("M > 3", lambda: M > 3), M > 3, False, False, "◐"),
        (Condition("text"), None, False, False, "◐"),
    ],
)
def test_conditions(condition: Condition, expr: Any, always: bool, never: bool, mark: str) -> None:
    assert condition.expr == expr
    assert (condition.is_always, condition.is_never) == (always, never)
    assert condition.depends is (not always and not never)
    proof = ml.Proof("bijective", always, "why", condition=condition)
    assert f"<b>{mark}</b>" in proof._repr_html_()


def test_json() -> None:
    found = plain(ml.is_surjective(TILED, assuming="M % 8 == 0"))
    assert found == {
        "claim": "surjective",
        "holds": False,
        "verdict": "surjective iff 128 | N",
        "reason": "M = 8, N = 1 leaves 1016 of 1024 slots empty",
        "decider": "ISL",
        "counterexample": {
            "sizes": {"M": 8, "N": 1},
            "at": 1,
            "effect": "leaves 1016 of 1024 slots empty",
        },
        "condition": "128 | N",
        "padding": "-M*N + 128*M*ceiling(N/128)",
        "assumptions": ["8 divides M"],
        "judged": "formulas",
    }


def test_two_elements_of_a_large_array_that_share_an_offset_are_found_soon() -> None:
    """ISL's search for the first such pair is outside of its budget: it took minutes."""
    n = 4096
    text = f"(d0 + {n}*d1 + 7*((d0 + d1)%3)) % ({n * n - 3})"
    m = ml.from_sympy({"shape": (n, n)}, text)
    answer = ml.is_injective(m)
    assert answer.holds is False
    one, other = answer.counterexample
    assert one != other
    assert m(*one) == m(*other)
