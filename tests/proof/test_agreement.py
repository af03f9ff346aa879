"""``agree``: reported bugs between producers and consumers, and a brute-force judge."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import morello_layouts as ml
from morello_layouts.proof.agreement import Agreement
from tests.support.tables import each_row

TILES, TILES8 = "mx128x4", "mx8x4"
V_SCALES = "[0, 1, 0 p(4)]"  # token, group of 16 elements

# What was reported: how to ask, and the answer. A shape of names asks for all sizes.
BUGS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (  # the swizzled buffer was reshaped to the unpadded sizes
        "vllm#23140",
        {"producer": TILES, "consumer": TILES, "shape": ("M", "K"), "consumer_bytes": "M*K",
         "reads": "buffer"},
        {"fits": False, "reads.condition": "4 | K and 128 | M", "needs": 512, "sizes": (1, 1)},
    ),
    (
        "vllm#23140 at 130 rows",
        {"producer": TILES, "consumer": TILES, "shape": (130, 4), "consumer_bytes": 520,
         "reads": "buffer"},
        {"fits": False, "outside": (520, None), "needs": 1024},
    ),
    (  # torch.zeros became torch.empty, and the kernel reads padding
        "vllm#45739",
        {"producer": TILES, "consumer": TILES, "shape": (1, 8), "reads": "buffer"},
        {"holds": True, "covers": False, "undefined": 1016, "first": 4},
    ),
    (
        "vllm#45739 for all sizes",
        {"producer": TILES, "consumer": TILES, "shape": ("M", "K"), "reads": "buffer"},
        {"holds": True, "covers": False, "definition.condition": "4 | K and 128 | M",
         "undefined": "-K*M + 512*ceiling(K/4)*ceiling(M/128)", "first": 1},
    ),
    (  # blocks of 32 elements straddle the ranks unless 32 divides the elements of a rank
        "vllm#48898",
        {"producer": "u8[R,K]{1,0}", "consumer": "u8[R,K]{1,0:T(1,32)}"},
        {"holds": False, "when": "32 | K, or R = 1", "at": (1, 0), "offsets": (1, 32),
         "sizes": (2, 1)},
    ),
    (
        "vllm#48898 at 2 ranks of 80",
        {"producer": "u8[2,80]{1,0}", "consumer": "u8[2,80]{1,0:T(1,32)}"},
        {"holds": False, "at": (1, 0), "offsets": (80, 96)},
    ),
    (  # V's scales: groups of 4 tokens interleaved, read row-major
        "vllm#50084",
        {"producer": V_SCALES, "consumer": "[0, 1]", "shape": (16, 8)},
        {"holds": False, "at": (0, 1), "offsets": (4, 1), "covers": True},
    ),
    (
        "vllm#50084 for all sizes",
        {"producer": V_SCALES, "consumer": "[0, 1]", "shape": ("T", "S"), "assuming": "S % 4 == 0"},
        {"holds": False, "when": "no sizes", "at": (0, 1), "offsets": (4, 1), "sizes": (4, 4)},
    ),
    (  # tiles of 128 rows are written, and storage was allocated for the rows alone
        "vllm#55456",
        {"producer": TILES, "consumer": TILES, "shape": (5, 16), "producer_bytes": 80},
        {"holds": True, "fits": False, "outside": (512, (0, 4)), "needs": 1604},
    ),
    (
        "vllm#55456 for all sizes",
        {"producer": TILES, "consumer": TILES, "shape": ("M", "K"), "writes": "buffer",
         "producer_bytes": "M*4*ceil(K/4)"},
        {"fits": False, "writes.condition": "128 | M", "needs": 512, "sizes": (1, 1)},
    ),
    (  # row-major scales given to a kernel that reads tiles
        "cudnn-frontend#221",
        {"producer": "[0, 1]", "consumer": TILES, "shape": (128, 8)},
        {"holds": False, "at": (0, 4), "offsets": (4, 512)},
    ),
    (
        "cudnn-frontend#221 for all sizes",
        {"producer": "[0, 1]", "consumer": TILES, "shape": ("M", "K")},
        {"holds": False, "when": "K <= 4 and M = 1", "at": (0, 4), "offsets": (4, 512),
         "sizes": (1, 5)},
    ),
    (
        "ao#4929",
        {"producer": "{1,0}", "consumer": TILES, "shape": (256, 64)},
        {"holds": False, "at": (0, 4), "offsets": (4, 512)},
    ),
    (
        "flashinfer#4574",
        {"producer": TILES8, "consumer": TILES, "shape": (64, 8)},
        {"holds": False, "at": (0, 4), "offsets": (32, 512)},
    ),
    (  # weights [K, O], output-contiguous, described as K-contiguous
        "oneDNN#5903",
        {"producer": "ab", "consumer": "ba", "shape": (4, 3)},
        {"holds": False, "at": (0, 1), "offsets": (1, 4)},
    ),
]  # fmt: skip

# The same pairs as they were mended; both sides agree, for all sizes unless given.
MENDED: list[tuple[str, dict[str, Any]]] = [
    ("vllm#23140", {"producer": TILES, "consumer": TILES, "shape": ("M", "K"), "writes": "buffer",
                    "reads": "buffer", "consumer_bytes": "128*ceil(M/128)*4*ceil(K/4)"}),
    ("vllm#45739", {"producer": TILES, "consumer": TILES, "shape": ("M", "K"), "writes": "buffer",
                    "reads": "buffer"}),
    ("vllm#48898", {"producer": "u8[R,K]{1,0}", "consumer": "u8[R,K]{1,0:T(1,32)}",
                    "assuming": "K % 32 == 0"}),
    ("vllm#50084", {"producer": "[0, 1]", "consumer": "{1,0}", "shape": ("T", "S")}),
    ("vllm#55456", {"producer": TILES, "consumer": TILES, "shape": ("M", "K"), "writes": "buffer",
                    "producer_bytes": "128*ceil(M/128)*4*ceil(K/4)"}),
    ("cudnn-frontend#221", {"producer": TILES, "consumer": TILES, "shape": ("M", "K")}),
    ("flashinfer#4574", {"producer": TILES8, "consumer": TILES8, "shape": ("M", "K")}),
    ("oneDNN#5903", {"producer": "ab", "consumer": "{1,0}", "shape": ("K", "O")}),
]  # fmt: skip


def facts(answer: Agreement) -> dict[str, Any]:
    """What the tables above say, read from an answer."""
    found: dict[str, Any] = {
        "holds": answer.holds,
        "fits": answer.fits,
        "covers": answer.covers,
        "when": str(answer.when),
        "undefined": answer.undefined,
        "first": answer.first_undefined,
    }
    for name in ("writes", "reads", "definition"):
        found[f"{name}.condition"] = str(getattr(answer, name).condition)
    if difference := answer.counterexample:
        found["at"] = difference.at
        found["offsets"] = (difference.written, difference.read)
        found["sizes"] = tuple(difference.sizes.values())
    for proof in (answer.writes, answer.reads):
        if proof.holds is False:
            wrong = proof.counterexample
            if isinstance(wrong, ml.proof.SymbolicCounterexample):
                found["sizes"], wrong = tuple(wrong.sizes.values()), wrong.at
            found |= {"outside": (wrong.offset, wrong.at), "needs": wrong.needed}
    return found


@each_row("name, question, expected", BUGS, ids=[name for name, *_ in BUGS])
def test_reported_bugs_are_refuted(
    name: str, question: dict[str, Any], expected: dict[str, Any]
) -> None:
    answer = ml.agree(**question)
    found = facts(answer)
    wanted = {key: str(x) if key == "undefined" else x for key, x in expected.items()}
    found["undefined"] = str(found["undefined"])
    assert {key: found.get(key) for key in wanted} == wanted, name
    assert not answer
    assert answer.advice, name


@each_row("name, question", MENDED, ids=[name for name, _ in MENDED])
def test_mended_pairs_are_proved(name: str, question: dict[str, Any]) -> None:
    answer = ml.agree(**question)
    assert answer, name
    assert (answer.holds, answer.fits, answer.covers) == (True, True, True)
    assert answer.undefined == 0
    assert answer.counterexample is None
    assert answer.advice == ()
    assert str(answer).startswith("producer and consumer agree for all sizes.")


def test_the_swizzle_of_v_scales_is_a_morello_layout() -> None:
    """The formula of the kernel in vllm#50084, for pages of 16 tokens."""
    for groups in (4, 8, 16):
        m = ml.index_map(V_SCALES, (16, groups))
        for t, s in product(range(16), range(groups)):
            row, column = t // 4 * 4 + s // (groups // 4), s % (groups // 4) * 4 + t % 4
            assert m(t, s) == row * groups + column


def test_the_scales_are_those_of_the_documents() -> None:
    assert all(ml.verify(layout, ("M", "K")).holds for layout in (TILES, TILES8))


class Brute:
    """One side by brute force: the slots it touches, as a set."""

    def __init__(self, m: Any, touched: str, allocated: int | None) -> None:
        self.shape = m.shape
        offsets = m(*np.indices(m.shape)).reshape(-1).tolist()
        self.offset = dict(zip(product(*map(range, m.shape)), offsets, strict=True))
        whole = range(m.size) if touched == "buffer" else ()
        self.slots = {*self.offset.values(), *whole}
        self.allocated = m.size if allocated is None else allocated
        self.outside = {p for p in self.slots if p >= self.allocated}
        self.needed = max(self.slots) + 1


def judge(answer: Agreement, one: Brute, other: Brute) -> None:
    """Compare every verdict with brute force; elements are bytes."""
    common = [at for at in one.offset if at in other.offset]
    differing = [at for at in common if one.offset[at] != other.offset[at]]
    assert answer.holds is (not differing)
    if differing:
        difference = answer.counterexample
        assert difference is not None
        at = differing[0]
        assert (difference.at, difference.written, difference.read) == (
            at, one.offset[at], other.offset[at])  # fmt: skip
    for side, proof in ((one, answer.writes), (other, answer.reads)):
        assert proof.holds is (not side.outside)
        if side.outside:
            wrong = proof.counterexample
            assert (wrong.offset, wrong.needed) == (min(side.outside), side.needed)
            here = [at for at, p in side.offset.items() if p == wrong.offset]
            assert wrong.at == (here[0] if here else None)
    assert answer.fits is (not one.outside and not other.outside)
    missing = other.slots - one.slots
    assert answer.covers is (not missing)
    assert answer.undefined == len(missing)
    assert answer.first_undefined == min(missing, default=None)
    assert bool(answer) is (not differing and not one.outside and not other.outside and not missing)


LAYOUTS = [
    "{1,0}", "{0,1}", "{1,0:T(2,2)}", "{1,0:T(4,2)}", "{0,1:T(3)}", "{1,0:T(1,4)}",
    "{1,0:T(4,4)(2,1)}", "[0, 1]", "[1, 0]", "[0, 1, 0 p(2)]", "[1, 0, 1 p(2)]",
    "ab", "ba", "aB4b", "Ab2a", "BA4b2a", "AB8b4a2b", TILES8, TILES,
]  # fmt: skip
TOUCHED = st.sampled_from(["elements", "buffer"])


@given(st.data())
@settings(deadline=None)
def test_numbers_agree_with_brute_force(data: st.DataObject) -> None:
    layouts = [data.draw(st.sampled_from(LAYOUTS)) for _ in range(2)]
    shape = data.draw(st.tuples(st.integers(1, 12), st.integers(1, 12)))
    grown = data.draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    shapes = [shape, tuple(n + more for n, more in zip(shape, grown, strict=True))]
    if data.draw(st.booleans()):
        shapes.reverse()
    touched = data.draw(TOUCHED), data.draw(TOUCHED)
    try:
        maps = [ml.index_map(*pair) for pair in zip(layouts, shapes, strict=True)]
    except ml.LayoutError:  # a pack that does not divide
        return
    room = [data.draw(st.none() | st.integers(0, m.size + 4)) for m in maps]
    answer = ml.agree(
        *maps, writes=touched[0], reads=touched[1], producer_bytes=room[0], consumer_bytes=room[1]
    )
    judge(answer, *(Brute(*side) for side in zip(maps, touched, room, strict=True)))


SYMBOLIC = [(a, b) for a in LAYOUTS[:-2] for b in LAYOUTS[:-2]]
ROOMS = [None, "M*N", "M*N//2", "4*M*ceil(N/4)", "8*ceil(M/4)*ceil(N/2)", "2*M*N - 1"]


@pytest.mark.slow
@given(st.data())
@settings(deadline=None)
def test_names_agree_with_brute_force(data: st.DataObject) -> None:
    """For all sizes: what the conditions and formulas say holds at every small size."""
    pair = data.draw(st.sampled_from(SYMBOLIC))
    options: dict[str, Any] = {
        "writes": data.draw(TOUCHED), "reads": data.draw(TOUCHED),
        "producer_bytes": data.draw(st.sampled_from(ROOMS)),
        "consumer_bytes": data.draw(st.sampled_from(ROOMS)),
    }  # fmt: skip
    answer = ml.agree(*pair, ("M", "N"), **options)
    seen = {"holds": True, "writes": True, "reads": True, "covers": True}
    proofs = {"holds": answer.offsets, "writes": answer.writes, "reads": answer.reads,
              "covers": answer.definition}  # fmt: skip
    maps_for_all = [ml.index_map(x, ("M", "N")) for x in pair]
    assumed = {one.name: one for m in maps_for_all for one in m.assumptions}
    for m, n in product(range(1, 8), repeat=2):
        if not all(
            assumed[k].holds_for(v) for k, v in zip("MN", (m, n), strict=True) if k in assumed
        ):
            continue
        maps = [ml.index_map(x, (m, n)) for x in pair]
        rooms = [bytes_at(options[f"{side}_bytes"], m, n) for side in ("producer", "consumer")]
        touched = (options["writes"], options["reads"])
        one, other = (Brute(*side) for side in zip(maps, touched, rooms, strict=True))
        missing = other.slots - one.slots
        truth = {
            "holds": all(other.offset[at] == p for at, p in one.offset.items()),
            "writes": not one.outside, "reads": not other.outside, "covers": not missing,
        }  # fmt: skip
        for name, proof in proofs.items():
            seen[name] = seen[name] and truth[name]
            if proof.condition is not None and proof.condition.expr is not None:
                assert bool(value_at(proof.condition.expr, m, n)) is truth[name], (name, m, n)
            found = proof.counterexample
            if found is not None and tuple(found.sizes.values()) == (m, n):
                assert not truth[name], (name, m, n)
        if answer.undefined is not None:
            assert value_at(answer.undefined, m, n) == len(missing)
    for name, proof in proofs.items():
        assert proof.holds is not True or seen[name], name
        assert proof.holds is not None or seen[name], f"{name} fails at a small size"


def bytes_at(text: str | None, m: int, n: int) -> int | None:
    expected = {
        "M*N": m * n, "M*N//2": m * n // 2, "4*M*ceil(N/4)": 4 * m * -(-n // 4),
        "8*ceil(M/4)*ceil(N/2)": 8 * -(-m // 4) * -(-n // 2), "2*M*N - 1": 2 * m * n - 1,
    }  # fmt: skip
    return None if text is None else expected[text]


def value_at(expr: Any, m: int, n: int) -> Any:
    named = {s: {"M": m, "N": n}[s.name] for s in getattr(expr, "free_symbols", ())}
    return expr.subs(named) if named else expr


def test_large_arrays_need_no_enumeration() -> None:
    answer = ml.agree(TILES, TILES, (1 << 20, 1792), reads="buffer")
    assert answer.covers
    answer = ml.agree(TILES, TILES, ((1 << 20) + 1, 1791), reads="buffer")
    slots = ((1 << 20) + 128) * 1792
    assert answer.undefined == slots - ((1 << 20) + 1) * 1791
    assert not ml.agree("[0, 1]", TILES, (1 << 20, 1792)).holds


def test_shapes_may_differ() -> None:
    unpadded, padded = (ml.index_map(TILES, shape) for shape in ((5, 7), (128, 8)))
    answer = ml.agree(padded, unpadded)
    assert answer
    assert "the producer sees (128, 8), the consumer (5, 7)" in str(answer)
    answer = ml.agree(unpadded, padded)
    assert (answer.holds, answer.covers, answer.undefined) == (True, False, 1024 - prod((5, 7)))
    rows = ml.agree("u8[M,8]{1,0}", ml.index_map("{1,0}", ("8*ceil(M/8)", 8)))
    assert rows.holds is True
    assert rows.covers is False


def test_elements_narrower_than_a_byte() -> None:
    answer = ml.agree("u4[3,5]{1,0:E(4)}", "u4[3,5]{0,1:E(4)}", producer_bytes=7)
    difference = answer.counterexample
    assert difference is not None
    assert (difference.written, difference.written_byte) == (1, 0)
    assert (difference.read, difference.read_byte) == (3, 1)
    assert "offset 1 (bit 4 of byte 0) and read at offset 3 (bit 4 of byte 1)" in str(difference)
    wrong = answer.writes.counterexample
    assert (wrong.offset, wrong.byte, wrong.needed) == (14, 7, 8)
    assert ml.agree("u4[3,5]{1,0:E(4)}", "u4[3,5]{1,0:E(4)}", producer_bytes=8)


def test_elements_of_different_widths_do_not_agree() -> None:
    answer = ml.agree("f32[4,4]", "bf16[4,4]")
    assert answer.holds is False
    assert answer.covers is None
    assert "32 bits in one and 16 in the other" in str(answer)


def test_an_undecided_answer_is_not_a_boolean() -> None:
    unknown = ml.proof.Proof("defined", None, "too large")
    agreed = replace(ml.agree("[0, 1]", "[0, 1]", (4, 4)), definition=unknown)
    assert str(agreed).startswith("undecided: too large.")


def test_a_formula_may_leave_its_buffer_at_some_sizes() -> None:
    shape = {"shape": ("M", "N", 1), "size": "2*M*N"}
    one = ml.from_sympy(shape, "3*(d2//-4) + 3*((d0 & 3) ^ d1)")
    other = ml.from_sympy(shape, "3*(d2//-4) + 3*((d0 & 3) ^ d1) + (d1 + d0)//4 - (d0 - d2)//4")
    assert ml.agree(one, other, assuming="M >= 4").holds is not True


def test_a_name_that_no_size_has_leaves_a_formula_undecided() -> None:
    shape = {"shape": ("M", 8, 7), "size": "M*8*7 + 1"}
    text = "2*((d1%8)//4) + P*((d0 - d2)//8) + 8*(d1 ^ 8) + (3 - d1)//3"
    one, other = (ml.from_sympy(shape, each) for each in (text, f"{text} - (d1 + d2) % 2"))
    assert ml.agree(one, other, assuming="M == 3").holds is not True


def test_a_pitch_that_one_row_or_column_does_not_need_has_no_copy() -> None:
    answer = str(ml.agree("strided<[2, LD]>", "{1,0:T(7)}", (2, 1)))
    assert answer.startswith("do not agree: element (1, 0)")
    assert "copy" not in answer


def test_slots_of_no_elements_of_any_size_are_not_touched() -> None:
    assert ml.agree("{1,0}", "{0,1}", (2**63, 0)).holds


def test_a_scalar_is_written_and_read() -> None:
    assert ml.agree("f32[]", "f32[]").holds


@each_row("rows, columns", [(8, 128), (4, 256)])
@each_row(("writes", "room"), [("elements", 999), ("buffer", 999), ("buffer", 1_000_001)])
def test_the_bytes_that_large_arrays_need(rows: int, columns: int, writes: Any, room: int) -> None:
    """Too many elements to count: up to the last one, or to the end of a whole buffer."""
    i, j = np.ogrid[:1000, :1000]
    tile = i // rows * -(-1000 // columns) + j // columns
    offsets = tile * rows * columns + i % rows * columns + j % columns
    m = ml.index_map(f"u8[1000,1000]{{1,0:T({rows},{columns})}}")
    answer = ml.agree(m, m, producer_bytes=room, writes=writes)
    last = offsets.max() if writes == "elements" else 1000 * 1024 - 1
    assert answer.writes.counterexample.needed == last + 1


def test_a_budget_that_two_whole_buffers_spend(monkeypatch: pytest.MonkeyPatch) -> None:
    """ISL's error was not caught."""
    monkeypatch.setattr("morello_layouts.proof.ask.ISL_OPERATIONS", 3000)
    pair = (f"f32[A,B,C,D]{{{how}}}" for how in ("0,1,3,2:T(3)", "0,1,2,3:T(128,2)(2,8)"))
    answer = ml.agree(*pair, writes="buffer", reads="buffer")
    assert (answer.covers, answer.definition.reason) == (False, "open for other sizes")
