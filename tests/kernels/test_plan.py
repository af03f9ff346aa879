"""Plans of kernels: exact domains, words and vectors that fit, aligned non-temporal stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.core.recipe import Recipe, Replicate
from morello_layouts.core.recipe.digits import AxisDigit
from morello_layouts.outputs.kernels.chains import (
    DimensionDigits,
    SharedJump,
    growth_of,
    shared_jumps,
)
from morello_layouts.outputs.kernels.domains import CopyAxis, Domain
from morello_layouts.outputs.kernels.emit_c import c_file
from morello_layouts.outputs.kernels.emit_cuda import _in_words
from morello_layouts.outputs.kernels.nests import (
    CopyRun,
    Deinterleave,
    FillRun,
    Interleave,
    LargeTransposition,
    Permutation,
    Transposition,
)
from morello_layouts.outputs.kernels.pieces import element_domains, held_by, padding_domains
from morello_layouts.outputs.kernels.plan import (
    Kernel,
    KernelPlan,
    domains_of,
    plan_kernel,
)
from morello_layouts.outputs.kernels.vectorize import vectorize

PADDED = [
    ("{1,0:T(2,2)}", (3, 5)),
    ("{1,0:T(3,5)(2,2)}", (7, 11)),
    ("{0,1:T(8,128)(2,1)}", (9, 130)),
    ("{1,0:T(4,6)(2,1)L(100)}", (9, 31)),
    ("{2,1,0:T(2,8,4)}", (3, 9, 5)),
    ("{1,0:T(2)}", (9, 31)),
]


def places(domain: Domain) -> Iterator[int]:
    steps = [[k * axis.target for k in range(axis.count)] for axis in domain.axes]
    return (domain.target + sum(chosen) for chosen in product(*steps))  # type: ignore[misc]


@pytest.mark.parametrize(("layout", "shape"), PADDED)
def test_domains_hold_each_place_once(layout: str, shape: tuple[int, ...]) -> None:
    plain = ml.index_map("[" + ", ".join(map(str, range(len(shape)))) + "]", shape).recipe
    recipe = ml.index_map(layout, shape).recipe
    a, b, slots = growth_of(plain), growth_of(recipe), held_by(recipe)
    assert a is not None
    assert b is not None
    assert slots is not None
    mixed = shared_jumps(a, b)
    assert mixed is not None
    elements = element_domains(shape, mixed)
    padding = padding_domains(slots, recipe.tail_padding, recipe.size)
    assert elements is not None
    assert padding is not None
    found = Counter(place for domain in [*elements, *padding] for place in places(domain))
    assert found == dict.fromkeys(range(recipe.size), 1)
    held = {place for domain in elements for place in places(domain)}
    packed = ml.pack(layout, np.ones(shape, bool))
    assert held == set(np.flatnonzero(packed).tolist())


def chain_digit(unit: int, radix: int, stride: int) -> AxisDigit:
    return AxisDigit(0, unit, radix, stride=stride)


@pytest.mark.parametrize(
    ("unit", "stride"), [(1, 7), (3, 5), (6, 10), (4, None), (12, 40), (24, 80)]
)
def test_a_digit_of_another_unit(unit: int, stride: int | None) -> None:
    """A unit steps as far as the largest own unit below it does, if that divides it."""
    own = (chain_digit(1, 3, 7), chain_digit(3, 4, 5), chain_digit(12, 4, 40))
    other: tuple[AxisDigit, ...] = (chain_digit(1, 48, 1),)
    if unit > 1:
        other = (chain_digit(1, unit, 1), chain_digit(unit, 48, 1000))
    a, b = (DimensionDigits((48,), (chain,)).growth for chain in (own, other))
    assert a is not None
    assert b is not None
    found = shared_jumps(a, b)
    if stride is None:
        assert found is None
        return
    assert found is not None
    (jumps,) = found
    assert stepped(jumps, unit) == stride


def stepped(jumps: tuple[SharedJump, ...], unit: int) -> object:
    """Return how far a step of a unit moves in the source."""
    return sum(jump.source * (unit // jump.unit) for jump in jumps if unit % jump.unit == 0)


def test_a_coordinate_without_a_digit_does_not_move() -> None:
    without = DimensionDigits((8,), ((chain_digit(2, 4, 3),),))
    rows = DimensionDigits((8,), ((chain_digit(1, 8, 1),),))
    a, b = without.growth, rows.growth
    (chain,) = (a and b and shared_jumps(a, b)) or ()
    assert [stepped(chain, unit) for unit in (1, 2)] == [0, 3]


@pytest.mark.parametrize(
    ("domain", "word"),
    [
        (Domain(0, 0, (CopyAxis(4, 1, 1), CopyAxis(9, 4, 8))), 16),
        (Domain(0, 2, (CopyAxis(4, 1, 1), CopyAxis(9, 4, 8))), 8),
        (Domain(1, 0, (CopyAxis(4, 1, 1), CopyAxis(9, 4, 8))), 4),
        (Domain(0, 0, (CopyAxis(4, 1, 1), CopyAxis(9, 6, 8))), 8),
        (Domain(0, 0, (CopyAxis(4, 1, 1), CopyAxis(9, 4, 7))), 4),
        (Domain(0, 0, (CopyAxis(2, 1, 1), CopyAxis(9, 4, 8))), 8),
    ],
)
def test_words_start_at_their_multiples(domain: Domain, word: int) -> None:
    found, within = _in_words(domain, 4)
    assert found == word
    assert within.source == 4 * domain.source
    assert within.target == 4 * domain.target
    for axis in within.axes:
        assert axis.source % word == axis.target % word == 0


@pytest.mark.parametrize(
    ("length", "widths"), [(4, {16}), (7, {16}), (8, {32}), (15, {32}), (16, {64}), (100, {64, 16})]
)
def test_the_widest_vectors_that_a_row_holds(length: int, widths: set[int]) -> None:
    for turned in (False, True):
        rows, column = CopyAxis(2, 1000, 1), CopyAxis(length, 1, 2)
        domain = Domain(0, 0, tuple(CopyAxis(a.count, a.target, a.source) if turned else a
                              for a in (rows, column)))  # fmt: skip
        found = vectorize(domain, 4)
        assert all(isinstance(nest.micro, Deinterleave if turned else Interleave) for nest in found)
        assert max(nest.micro.width for nest in found) == max(widths)


def moves(
    source: str, target: str, shape: tuple[int, int], itemsize: int, *, to: int
) -> KernelPlan:
    recipes = (ml.index_map(text, shape).recipe for text in (source, target))
    return plan_kernel(Kernel(*recipes, itemsize), to)


@pytest.mark.parametrize(
    ("source", "target", "shape", "streams"),
    [
        ("[0, 1]", "[1, 0]", (2048, 1024), True),
        ("[0, 1]", "[1, 0]", (2048, 1023), False),
        ("d0", "[0, 1]", (64, 1 << 19), False),  # a broadcast, which only writes
        ("d0", "[0, 1]", (64, 1 << 20), True),
        ("d0", "[0, 1]", (1 << 19, 8), False),  # it reads an eighth of what it writes
    ],
)
def test_broadcasts_bypass_the_caches_later(
    source: str, target: str, shape: tuple[int, ...], streams: bool
) -> None:
    read = ml.from_sympy({"shape": shape}, source) if source == "d0" else source
    pair = [ml.index_map(layout, shape).recipe for layout in (read, target)]
    assert plan_kernel(Kernel(*pair, 2), 1 << 22).streams == streams


def test_targets_beyond_the_caches_are_written_as_whole_lines() -> None:
    assert moves("[0, 1]", "{1,0:T(8,128)}", (64, 256), 4, to=0).streams
    assert not moves("[0, 1]", "{1,0:T(8,128)}", (64, 256), 4, to=1 << 60).streams
    size = 64 * 256 * 4
    assert moves("[0, 1]", "[1, 0]", (64, 256), 4, to=size).streams
    assert not moves("[0, 1]", "[1, 0]", (64, 256), 4, to=size + 1).streams


@pytest.mark.parametrize("shape", [(401, 399), (256, 256), (32, 4000), (4000, 17)])
def test_a_turn_has_rows_of_any_number_and_length(shape: tuple[int, int]) -> None:
    (nest,) = moves("[0, 1]", "[1, 0]", shape, 2, to=0).nests
    assert isinstance(nest.micro, LargeTransposition)
    assert (nest.micro.rows, nest.micro.columns, nest.loops) == (*shape, ())


def test_whole_axes_are_transposed_directly() -> None:
    def direct(shape: tuple[int, int], itemsize: int) -> set[bool]:
        found = [n.micro for n in moves("[0, 1]", "[1, 0]", shape, itemsize, to=1 << 60).nests]
        assert all(isinstance(micro, Transposition) for micro in found)
        return {micro.direct for micro in found if isinstance(micro, Transposition)}

    assert direct((360, 360), 2) == {True}
    assert direct((401, 399), 1) == {True}
    assert direct((256, 256), 4) == {True}
    assert direct((360, 2048), 2) == {True}
    assert direct((12, 99), 4) == {True}
    assert direct((12, 1024), 4) == {False}  # too few rows, which evict each other


@pytest.mark.parametrize("share", [False, True])
def test_blocks_that_are_staged_leave_past_the_caches(share: bool) -> None:
    tiles = "T(3,5)(2,2)", "T(8,128)"
    pair = [ml.index_map(f"{{1,0:{x}}}", (512, 512)).recipe for x in tiles]
    near, far = (c_file(Kernel(*pair, 8), to, share=share).function for to in (1 << 60, 0))
    assert "block" in near
    assert ("relayout_stream_store(" in near, "relayout_stream_store(" in far) == (False, True)


@pytest.mark.parametrize(
    ("source", "target", "itemsize", "staged"),
    [
        ("{1,0:T(8,128)(4,1)}", "{0,1:T(8,128)(4,1)}", 1, True),  # 16 bytes in another order
        ("{1,0:T(3,5)(2,2)}", "{0,1:T(8,128)}", 1, True),  # no digits in common
        ("{1,0:T(3,5)(2,2)}", "{1,0:T(8,128)}", 8, True),
        ("{1,0:T(8,128)(2,1,1,1)}", "{0,1:T(8,128)(2,1)}", 4, True),  # or blocks of 64 bytes
        ("[0, 1]", "{0,1:T(8,128)}", 1, False),
        ("{1,0:T(8,128)}", "{0,1:T(8,128)}", 1, False),
        ("[0, 1]", "{1,0:T(8,128)(4,1)}", 1, False),
    ],
)
def test_blocks_are_staged_if_that_costs_less(
    source: str, target: str, itemsize: int, staged: bool
) -> None:
    found = moves(source, target, (512, 512), itemsize, to=1 << 60)
    assert bool(found.staged) == staged
    assert bool(found.nests) != staged
    assert found.elementwise is None
    every = [nest.micro for nest in found.all_nests]
    if "T(3,5)" not in source:
        assert all(
            isinstance(micro, CopyRun | Interleave | Deinterleave | Transposition)
            for micro in every
        )


@pytest.mark.parametrize("streams", [True, False])
def test_blocks_are_written_beyond_the_caches_as_whole_lines(streams: bool) -> None:
    texts = "{1,0:T(3,5)(2,2)}", "{1,0:T(8,128)}"
    source, target = (ml.index_map(text, (512, 512)).recipe for text in texts)
    plan = plan_kernel(Kernel(source, target, 1), streams=streams)
    assert (plan.streams, plan.fill) == (streams, None)
    assert plan.staged
    assert any(nest.image for part in plan.staged for nest in part.out) == streams


def test_a_block_too_large_for_the_stack_is_none() -> None:
    source, target = "{1,0:T(121,127)}", "{1,0:T(128,128)}"
    assert not moves(source, target, (20000, 20000), 8, to=1 << 60).staged
    assert moves(source, target, (20000, 20000), 8, to=1 << 60).elementwise


def test_layouts_without_common_digits_are_moved_one_by_one() -> None:
    """Merged tiles that cut rows: loops over what holds elements, and what is filled overlaps."""
    rows, tiled = (ml.index_map(text, (9, 31)).recipe for text in ("[0, 1]", "{1,0:T(*,6)}"))
    found = domains_of(rows, tiled)
    assert found.overlap
    assert found.elements is not None
    assert sum(domain.size for domain in found.elements) == 9 * 31
    assert [domain.size for domain in found.padding] == [282]
    texts = "Sw<1,0,2> o 0 o (4,6):(6,1)", "(4,6):(6,1)"
    pair = [ml.index_map(text).recipe for text in texts]  # rows are not powers of two
    assert domains_of(*pair).elements is None
    assert plan_kernel(Kernel(*pair, 4)).elementwise == Kernel(*pair, 4)


def test_replicas_of_a_target_are_dimensions_that_the_source_ignores() -> None:
    rows = ml.index_map("f32[3,4]").recipe
    kernel = Kernel(rows, Recipe((3, 4), (Replicate((2,)),)), 4)
    assert (kernel.source.shape, kernel.target.shape) == ((3, 4, 2), (3, 4, 2))
    assert kernel.target.replicas == 1
    assert Kernel(rows, rows, 4).source == rows


def test_an_array_without_elements_leaves_all_slots_to_be_filled() -> None:
    empty, part = ml.index_map("f32[0,6]").recipe, ml.index_map("f32[4,6]")[2:2].recipe
    (domain,) = domains_of(empty, part).padding
    assert [*places(domain)] == [*range(24)]
    assert domains_of(empty, empty).padding == domains_of(empty, part, fill=False).padding == []


def test_each_domain_has_its_nests_and_each_padding_is_filled() -> None:
    rows, tiled = (ml.index_map(text).recipe for text in ("f32[3,5]", "f32[3,5]{1,0:T(2,2)}"))
    found = domains_of(rows, tiled)
    assert found.elements is not None
    assert (len(found.elements), sum(domain.size for domain in found.padding)) == (4, 9)
    plan = plan_kernel(Kernel(rows, tiled, 4, b"\0\0\0\0"))
    assert {nest.domain for nest in plan.all_nests} == set(range(4))
    assert (len(plan.fills), plan.fill) == (len(found.padding), b"\0\0\0\0")
    assert plan_kernel(Kernel(rows, tiled, 4)).fills == ()


def test_runs_that_are_parts_of_lines_go_through_the_caches() -> None:
    """64 bytes every 68 hold no whole line: no image collects them, and no store passes by."""
    images = (ml.index_map(tag, (1, 17, 40, 50)).recipe for tag in ("aBcd16b", "acdb"))
    kernel = Kernel(*images, 4)
    plan = plan_kernel(kernel, streams=True)
    assert [nest.image for nest in plan.nests] == [0, 0]
    assert "relayout_stream_store" not in str(c_file(kernel, 1))


def test_images_that_continue_one_another_join() -> None:
    shapes = "u8[64,9999]{1,0:T(8,128)(4,1)}", "u8[64,9999]"
    tiles, rows = (ml.index_map(shape).recipe for shape in shapes)
    assert "ends + run++" in str(c_file(Kernel(tiles, rows, 1), 1))
    assert "ends + run++" not in str(c_file(Kernel(tiles, rows, 1), 1 << 60))


def test_an_element_that_fills_a_line_is_a_fill() -> None:
    for columns, micros in ((16, [FillRun(64, 4)]), (300, [FillRun(1200, 4)]), (15, [])):
        column = ml.index_map(ml.from_sympy({"shape": (64, columns)}, "d0"))
        plan = plan_kernel(Kernel(column.recipe, ml.index_map("[0, 1]", (64, columns)).recipe, 4))
        assert [nest.micro for nest in plan.nests if isinstance(nest.micro, FillRun)] == micros


def test_stepped_rows_are_turned_through_blocks() -> None:
    """Registers take the steps apart on the way into a block, and transpose on the way out."""
    source = ml.index_map("[1, 0, 2, 0 p(4)]", (64, 3, 64)).view()[:, :, ::2]
    target = ml.index_map("[1, 2, 0]", (64, 3, 32))
    plan = plan_kernel(Kernel(source.recipe, target.recipe, 1))
    ways = [[type(nest.micro) for nest in way] for p in plan.staged for way in (p.into, p.out)]
    assert ways == [[Permutation], [Transposition]]
