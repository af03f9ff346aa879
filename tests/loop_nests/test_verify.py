"""Proofs about nests: true ones hold, and every planted mistake is found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import morello_layouts as ml
from morello_layouts.outputs.codegen.language import Guard, Loop, Statement, Visit
from morello_layouts.outputs.loop_nests.tree import PlannedNest
from morello_layouts.outputs.loop_nests.verify import verified
from tests.support.loop_cases import Case, random_cases
from tests.support.tables import each_row

CASES = list(random_cases(30, 3))
TILED = "f32[M,N]{1,0:T(4,8)}"


@each_row("case", CASES, ids=str)
def test_random_nests_are_proved(case: Case) -> None:
    proof = case.nest().verify()
    has_divisions = case.nest().costs.divisions
    assert proof.holds or (proof.holds is None and has_divisions), str(proof)


def changed(statements: tuple[Statement, ...], change: Any) -> tuple[Statement, ...]:
    """The statements with one of them changed, outer ones first."""
    for k, one in enumerate(statements):
        new = change(one)
        if new is None and isinstance(one, Loop | Guard):
            inner = changed(one.body, change)
            new = None if inner == one.body else replace(one, body=inner)
        if new is not None:
            return (*statements[:k], new, *statements[k + 1 :])
    return statements


def ends_later(one: Statement) -> Statement | None:
    if isinstance(one, Loop) and one.axis.name == "j1":
        return replace(one, stops=tuple(stop + 1 for stop in one.stops))
    return None


def starts_later(one: Statement) -> Statement | None:
    if isinstance(one, Loop) and one.axis.name == "i1":
        return replace(one, start=one.start + 1)
    return None


def guards_less(one: Statement) -> Statement | None:
    if isinstance(one, Guard):
        ((form, n), *others) = one.conditions
        return replace(one, conditions=((form, n + 1), *others))
    return None


@each_row(
    "edges, sizes, change, reason",
    [
        ("bounds", "13,20", ends_later, "which is not an element"),
        ("bounds", "M,N", ends_later, "which is not an element"),
        ("peel", "M,N", starts_later, "nothing visits"),
        ("guards", "M,N", guards_less, "which is not an element"),
        ("peel", "13,20", ends_later, "which is not an element|two copies"),
        ("bounds", "16,16", starts_later, "nothing visits"),
    ],
)
def test_a_wrong_edge_is_found(edges: Any, sizes: str, change: Any, reason: str) -> None:
    walk = ml.loops(TILED.replace("M,N", sizes), names=("i", "j"), edges=edges).walk
    assert verified(walk).holds
    wrong = replace(walk, statements=changed(walk.statements, change))
    assert wrong.statements != walk.statements
    proof = verified(wrong)
    assert proof.holds is False
    assert any(each in proof.reason for each in reason.split("|")), proof.reason


def test_copies_that_overlap_are_found() -> None:
    walk = ml.loops("f32[20]{0}", tile={"d0": 8}, edges="peel").walk
    twice = replace(walk, statements=(walk.statements[0], *walk.statements))
    assert "two copies of the body" in verified(twice).reason


@each_row("sizes", ["0,20", "13,0", "0,0"])
def test_an_empty_array_is_visited_nowhere(sizes: str) -> None:
    walk = ml.loops(TILED.replace("M,N", sizes), tile={"d0": 3}).walk
    assert verified(walk).holds
    assert verified(replace(walk, statements=(Visit(),))).holds is False


@each_row("sizes", ["13,20", "M,N"])
def test_a_wrong_offset_is_found(sizes: str) -> None:
    walk: PlannedNest = ml.loops(TILED.replace("M,N", sizes)).walk
    values = walk.plan.values
    wrong = replace(values[1][0], form=values[1][0].form * 2)
    plan = replace(walk.plan, values=(values[0], (wrong,), *values[2:]))
    proof = verified(replace(walk, plan=plan))
    assert proof.holds is False
    assert proof.reason.startswith("the offset in x")


def test_a_wrong_counter_is_found() -> None:
    groups = ml.from_sympy({"i": 96}, "7*(i//6) + i%6")
    walk = ml.loops(groups, tile={"i": 16}).walk
    assert verified(walk).holds
    (counter,) = walk.plan.counters
    plan = replace(walk.plan, counters=(replace(counter, divisor=5),))
    assert verified(replace(walk, plan=plan)).holds is False


def test_swizzles_are_proved_by_a_visit_of_few_elements() -> None:
    swizzle = ml.from_sympy({"i": 16, "j": 64}, "64*i + 8*((i%8) ^ (j//8)) + j%8")
    proof = ml.loops(swizzle).verify()
    assert proof.holds
    assert proof.decider == "enumeration"
    many = ml.from_sympy({"i": 4096, "j": 64}, "64*i + 8*((i%8) ^ (j//8)) + j%8")
    assert ml.loops(many).verify().holds is None


def test_the_budget() -> None:
    assert ml.loops(TILED).verify(budget=1).holds is None
