"""The words of proofs: verdicts, texts, displays and JSON."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import sympy

import morello_layouts as ml
from morello_layouts.core.fields import plain
from morello_layouts.proof import Condition
from morello_layouts.proof.verdict import ALL_SIZES, NO_SIZES
from tests.support.tables import each_row

M = sympy.Symbol("M")
PADDED = "f32[3,5]{1,0:T(2,2)}"
TILED = "f32[M,N]{1,0:T(8,128)}"


@each_row("question", [ml.is_injective, ml.is_surjective, ml.is_bijective, ml.verify])
def test_a_text_begins_with_the_verdict(question: Any) -> None:
    """Texts themselves are in tests/data/recorded/proof."""
    for layout in (PADDED, TILED):
        found = question(layout)
        assert str(found).startswith((f"{found.verdict}.", f"{found.verdict}:"))
        assert repr(found) == f"<{type(found).__name__}: {found.verdict}>"


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
    found = plain(ml.is_surjective(TILED, assuming="M % 8 == 0", confirm=True))
    assert found == {
        "claim": "surjective",
        "holds": False,
        "verdict": "surjective iff 128 | N",
        "reason": "M = 8, N = 1 leaves 1016 of 1024 slots empty",
        "decider": "digits, confirmed by ISL",
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


@each_row("text", ["f32[1,M]{1,0:T(S,4)}", "f32[M,1]{1,0:T(4,S)}", "f32[1,M]{1,0:T(S,4)(2,1)}"])
def test_one_element_in_a_tile_of_a_name(text: str) -> None:
    """A dimension of size 1 is padded to S: not always, but unless S = 1."""
    found = ml.is_surjective(text)
    assert found.condition is not None
    for m, s in product(range(1, 9), range(1, 5)):
        at = ml.index_map(text).at(M=m, S=s)
        offsets = {int(p) for p in np.ravel(at(*np.indices(at.shape)))}
        given = {x: {"M": m, "S": s}[x.name] for x in found.condition.expr.free_symbols}
        assert bool(found.condition.expr.subs(given)) is (len(offsets) == at.size)


def test_a_condition_says_each_case_once() -> None:
    found = ml.is_bijective("strided<[4, 4]>", ("M", "N"))
    assert str(found.condition) == "M = 1 and N = 1"
