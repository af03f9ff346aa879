"""Proofs for all sizes of layouts in common use; the conditions are written by hand."""

from __future__ import annotations

from typing import Any

import pytest
import sympy
from popular import POPULAR as BENCHMARKED
from sympy import Eq, Mod, ceiling

import morello_layouts as ml
from tests.support.tables import each_row

M, N, K, B = sympy.symbols("M N K B", integer=True, positive=True)
NAMED = {"M": M, "N": N, "K": K, "B": B}


def divides(divisor: int, size: Any) -> Any:
    return Eq(Mod(size, divisor), 0)


def same(found: Any, expected: Any) -> bool:
    """Return whether two SymPy values are equal, regardless of assumptions on symbols."""
    if isinstance(found, int):
        return bool(found == expected)
    return bool(found.subs({s: NAMED[s.name] for s in found.free_symbols}) == expected)


def bf16(m: Any, n: Any) -> Any:
    """Return the elements of a buffer in tiles of 8 by 128."""
    return 1024 * ceiling(m / 8) * ceiling(n / 128)


def test_bf16_of_any_size() -> None:
    m = ml.index_map("bf16[M,N]{1,0:T(8,128)(2,1)}")
    injective, surjective, both = ml.is_injective(m), ml.is_surjective(m), ml.is_bijective(m)
    assert (injective.holds, str(injective.condition)) == (True, "all sizes")
    assert injective.condition.expr == sympy.true
    for proof in (surjective, both):
        assert proof.holds is False
        assert same(proof.condition.expr, Eq(Mod(M, 8), 0) & Eq(Mod(N, 128), 0))
        assert str(proof.condition) == "8 | M and 128 | N"
        assert (proof.counterexample.sizes, proof.counterexample.at) == ({"M": 1, "N": 1}, 1)
        assert str(proof.counterexample) == "M = N = 1 leaves 1023 of 1024 slots empty"
        assert same(proof.padding, bf16(M, N) - M * N)
    assert same(m.size, bf16(M, N))
    assert ml.verify(m).holds is True
    fitting = ml.index_map("bf16[M,N]{1,0:T(8,128)(2,1)}", assuming="8 divides M, 128 divides N")
    assert ml.is_bijective(fitting).holds is True
    assert ml.is_bijective(fitting).padding == 0


# The layouts of benchmarks/popular.py with a name in place of every free size: the text,
# the shape, when it is surjective, and the elements of its buffer.
POPULAR: tuple[tuple[str, tuple[str, ...] | None, Any, Any], ...] = (
    ("[0, 1]", ("M", "N"), True, M * N),
    ("[1, 0]", ("M", "N"), True, M * N),
    ("[0, 2, 1]", ("B", "M", "N"), True, B * M * N),
    ("NCHW", ("B", "K", "M", "N"), True, B * K * M * N),
    ("NHWC", ("B", "K", "M", "N"), True, B * K * M * N),
    ("[0, 1, 2, 3, 1 p(16)]", ("B", "K", "M", "N"), True, B * K * M * N),
    ("[1, 0, 1 p(4)]", ("M", "N"), True, M * N),
    ("[0, 1, 0 p(8), 1 p(16)]", ("M", "N"), True, M * N),
    ("[0, 1, 1 oe(16)]", ("M", "N"), True, M * N),
    ("f32[M,N]{1,0}", None, True, M * N),
    ("f32[M,N]{1,0:T(8,128)}", None, divides(8, M) & divides(128, N), bf16(M, N)),
    (
        "f32[M,N]{1,0:T(2,128)}",
        None,
        divides(2, M) & divides(128, N),
        256 * ceiling(M / 2) * ceiling(N / 128),
    ),
    ("f32[N]{0:T(128)}", None, divides(128, N), 128 * ceiling(N / 128)),
    ("bf16[M,N]{1,0:T(8,128)(2,1)}", None, divides(8, M) & divides(128, N), bf16(M, N)),
    (
        "bf16[B,K,M,N]{3,2,0,1:T(8,128)(2,1)S(1)}",
        None,
        divides(8, M) & divides(128, N),
        B * K * bf16(M, N),
    ),
    ("s8[M,N]{1,0:T(8,128)(4,1)}", None, divides(8, M) & divides(128, N), bf16(M, N)),
    # The second tile takes rows of tiles in pairs.
    (
        "bf16[M,N]{1,0:T(8,128)(2,1,1,1)}",
        None,
        divides(16, M) & divides(128, N),
        2048 * ceiling(M / 16) * ceiling(N / 128),
    ),
    (
        "pred[M,N]{1,0:T(32,128)(32,1)E(1)}",
        None,
        divides(32, M) & divides(128, N),
        4096 * ceiling(M / 32) * ceiling(N / 128),
    ),
    # The first three are joined and cut by 2, the last two by 3.
    (
        "f32[2,B,K,M,N]{4,3,2,1,0:T(*,*,2,*,3)}",
        None,
        divides(3, M * N),  # 2·B·K is even
        6 * B * K * ceiling(M * N / 3),
    ),
    (
        "f32[3,B,K,M,N]{4,3,2,1,0:T(*,*,2,*,3)}",
        None,
        divides(2, B * K) & divides(3, M * N),  # as 2 divides 3·B·K
        6 * ceiling(3 * B * K / 2) * ceiling(M * N / 3),
    ),
    (
        "f32[M,N]{1,0:T(2,2)L(32)}",
        None,
        divides(2, M) & divides(2, N) & divides(8, ceiling(M / 2) * ceiling(N / 2)),
        32 * ceiling(ceiling(M / 2) * ceiling(N / 2) / 8),
    ),
)


@pytest.mark.slow
@each_row(("text", "shape", "surjective", "size"), POPULAR, ids=[p[0] for p in POPULAR])
def test_popular_layouts_of_any_size(text: str, shape: Any, surjective: Any, size: Any) -> None:
    m = ml.index_map(text, shape)
    assert ml.is_injective(m).holds is True
    assert ml.verify(m).holds is not False
    assert same(m.size, size)
    for proof in (ml.is_surjective(m), ml.is_bijective(m)):
        if surjective is True:
            assert (proof.holds, proof.condition.expr, proof.padding) == (True, sympy.true, 0)
            assert proof.counterexample is None
        else:
            assert proof.holds is False
            assert same(proof.condition.expr, surjective)
            assert same(proof.padding, size - sympy.Mul(*m.shape).subs(by_name(m.shape)))
            assert set(proof.counterexample.sizes.values()) == {1}  # all need multiples


def by_name(shape: tuple[Any, ...]) -> dict[Any, Any]:
    return {s: NAMED[s.name] for n in shape for s in sympy.sympify(n).free_symbols}


@each_row(("name", "text", "shape"), BENCHMARKED)
def test_every_popular_layout_has_a_condition(name: str, text: str, shape: Any) -> None:
    """The texts above are those of the benchmarks, with other sizes."""
    layout = text[max(0, text.find("{")) :]
    assert any(one.endswith(layout) for one, *_ in POPULAR), (name, shape)


EQUIVALENT = [
    # Packed layouts of Morello, and the equivalent tilings.
    ("[1, 0, 1 p(4)]", "f32[M,N]{0,1:T(4,1)}"),
    ("[0, 1, 2, 3, 1 p(16)]", "f32[B,K,M,N]{3,2,1,0:T(16,1,1)}"),
    ("[0, 1, 0 p(8), 1 p(16)]", "f32[M,N]{1,0:T(8,16)}"),
    ("[1, 0, 0 p(8), 1 p(16)]", "f32[M,N]{0,1:T(16,8)(16,1)}"),
    ("[0, 1, 0 p(4), 1 p(128), 0 p(2)]", "bf16[M,N]{1,0:T(8,128)(2,1)}"),
    ("NHWC", "f32[B,K,M,N]{1,3,2,0}"),
    ("[0, 2, 1]", "f32[B,M,N]{1,2,0}"),
    # bf16 tiles, with tiles of ones and stars.
    ("bf16[M,N]{1,0:T(8,128)(2,1)}", "bf16[M,N]{1,0:T(8,128)(1,2,1)}"),
    ("bf16[M,N]{1,0:T(8,128)(2,1)}", "bf16[M,N]{1,0:T(1,8,128)(1,2,1)}"),
    ("bf16[M,N]{1,0:T(8,128)(2,1)}", "bf16[M,N]{1,0:T(*,8,128)(2,1)}"),
    ("bf16[M,N]{1,0:T(8,128)(2,1)}", "bf16[M,N]{1,0:T(8,128)(2,128)(2,1)}"),
    ("bf16[M,N]{1,0:T(8,128)(2,1)}", "bf16[M,N]{1,0:T(8,128)(*,2,1)}"),
    ("bf16[M,N]{1,0:T(8,128)(2,1)}", "bf16[M,N]{1,0:T(8,128)(*,*,2,1)}"),
    ("bf16[B,M,N]{2,1,0:T(8,128)(2,1)}", "bf16[B,M,N]{2,1,0:T(1,8,128)(2,1)}"),
    ("bf16[B,M,N]{2,1,0:T(8,128)(2,1)}", "bf16[B,M,N]{2,1,0:T(8,128)(2,1)(1,1)}"),
    ("bf16[M,1,N]{2,1,0:T(*,8,128)(2,1)}", "bf16[M,1,N]{2,0,1:T(8,128)(2,1)}"),
    ("f32[N]{0:T(1024)}", "f32[N]{0:T(128)}"),
    ("f32[N]{0:T(1024)(128)}", "f32[N]{0}"),
]


@each_row(("one", "other"), EQUIVALENT)
def test_layouts_that_are_equivalent_at_every_size(one: str, other: str) -> None:
    for proof in (ml.are_equivalent(one, other), ml.are_equivalent(other, one)):
        assert (proof.holds, proof.condition.expr) == (True, sympy.true)
        assert proof.counterexample is None


# The condition for equivalence, and the smallest sizes and coordinate that violate it.
DEPENDS = [
    ("f32[M,N]{1,0:T(2,128)}", "f32[M,N]{1,0:T(8,128)}", N <= 128, (1, 129), (0, 128)),
    ("f32[M,N]{1,0:T(1,128)}", "f32[M,N]{1,0}", divides(128, N) | Eq(M, 1), (2, 1), (1, 0)),
    ("f32[M,N]{1,0}", "f32[M,N]{0,1}", Eq(M, 1) | Eq(N, 1), (2, 2), (0, 1)),
    ("NCHW", "f32[B,K,M,N]{1,3,2,0}", Eq(K, 1) | Eq(M, 1) & Eq(N, 1), (1, 2, 1, 2), (0, 0, 0, 1)),
    ("bf16[M,N]{1,0:T(8,128)(2,1)}", "f32[M,N]{1,0:T(8,128)}", Eq(M, 1) & Eq(N, 1), (1, 2), (0, 1)),
    (
        "bf16[M,N]{1,0:T(8,128)(2,1)}",
        "s8[M,N]{1,0:T(8,128)(4,1)}",
        (M <= 2) & Eq(N, 1),
        (1, 2),
        (0, 1),
    ),
    (
        "bf16[M,N]{1,0:T(8,128)(2,1)}",
        "bf16[M,N]{1,0:T(8,128)(2,1,1,1)}",
        Eq(M, 1) & (N <= 128),
        (1, 129),
        (0, 128),
    ),
    (
        "f32[B,M,N]{2,1,0:T(8,128)}",
        "f32[B,M,N]{2,0,1:T(8,128)}",
        Eq(B, 1) & Eq(M, 1),
        (1, 2, 1),
        (0, 1, 0),
    ),
    # Packs that take the wrong dimension, or nest in the wrong order.
    ("[1, 0, 1 p(4)]", "f32[M,N]{1,0:T(*,4)}", Eq(M, 1) | Eq(N, 4), (2, 8), (0, 4)),
    ("[0, 1, 0 p(8), 1 p(16)]", "f32[M,N]{1,0:T(16,8)}", sympy.false, (8, 16), (0, 8)),
    (
        "[0, 1, 0 p(8), 1 p(128), 0 p(2)]",
        "bf16[M,N]{1,0:T(8,128)(2,1)}",
        Eq(N, 128),
        (16, 256),
        (0, 128),
    ),
    (
        "[0, 1, 2, 3, 1 p(16)]",
        "f32[B,K,M,N]{3,2,1,0}",
        Eq(M, 1) & Eq(N, 1),
        (1, 16, 1, 2),
        (0, 0, 0, 1),
    ),
    ("[0, 1, 1 oe(16)]", "f32[M,N]{1,0}", sympy.false, (1, 16), (0, 1)),
]


@pytest.mark.slow
@each_row(("one", "other", "when", "sizes", "at"), DEPENDS)
def test_layouts_that_are_equivalent_at_some_sizes(
    one: str, other: str, when: Any, sizes: tuple[int, ...], at: tuple[int, ...]
) -> None:
    for proof in (ml.are_equivalent(one, other), ml.are_equivalent(other, one)):
        assert proof.holds is False
        assert same(proof.condition.expr, when)
        assert tuple(proof.counterexample.sizes.values()) == sizes
        assert proof.counterexample.at == at


@pytest.mark.parametrize(
    ("assuming", "holds"), [("8 divides M", (True,)), ("B == 1", (True,)), (None, (False, None))]
)
def test_batches_that_share_tiles(assuming: str | None, holds: tuple[bool | None, ...]) -> None:
    """Batches whose rows share a run of tiles are equivalent only if they fill whole tiles."""
    one, other = "bf16[B,M,N]{2,1,0:T(8,128)(2,1)}", "bf16[B,M,N]{2,1,0:T(*,8,128)(2,1)}"
    assert ml.are_equivalent(one, other, assuming=assuming).holds in holds


def test_verdicts_on_symbolic_sizes() -> None:
    f32 = "f32[M,N]{1,0"
    tiles = ml.are_equivalent(f32 + ":T(2,128)}", f32 + ":T(8,128)}")
    assert tiles.verdict == "equivalent iff N <= 128"
    rows = ml.are_equivalent(f32 + ":T(1,128)}", f32 + "}")
    assert rows.verdict == "equivalent iff 128 | N, or M = 1"
