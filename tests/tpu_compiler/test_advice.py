"""Which programs are better, what advice prints, and how results are compared."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.programs.tpu_compiler.advise import Advice, Advised, is_better, saved
from morello_layouts.programs.tpu_compiler.compare import SIZES, argument, difference
from morello_layouts.programs.tpu_compiler.compilation import Figures
from morello_layouts.programs.tpu_compiler.operations import _worth_blocks
from morello_layouts.programs.tpu_compiler.program import argument_struct

MIB = 1 << 20
BEFORE = Figures(100 * MIB, 0, 50 * MIB, 1000)


def test_better_programs() -> None:
    cases = [
        (Figures(90 * MIB, 9 * MIB, 50 * MIB, 1000), True),  # VMEM is there to be used
        (Figures(100 * MIB, 0, 40 * MIB, 1000), True),
        (Figures(100 * MIB, 0, 50 * MIB, 500), False),  # fewer cycles alone
        (Figures(90 * MIB, 0, 51 * MIB, 1000), False),
        (Figures(101 * MIB, 0, 10 * MIB, 1000), False),
        (Figures(50 * MIB, 0, 0, 1100), False),
        (Figures(50 * MIB, 0, 0, None), True),
        (BEFORE, False),
    ]
    assert [pair for pair in cases if is_better(BEFORE, pair[0]) is not pair[1]] == []


def test_report_of_advice() -> None:
    one = Advised("donation", "jax.jit(f, donate_argnums=…)", "x for y", Figures(80 * MIB, 0, 0, 7))
    both = Advised("a and b", "do both", "together", Figures(60 * MIB, 0, 0, 7), True, "the same")
    text = str(Advice("f", "v5e", 4, BEFORE, (one,), both, 9, 2, 5, 3))
    assert text.splitlines()[:3] == [
        "f: HBM at the peak 100.00 MiB → 60.00 MiB, copies and relayouts 50.00 MiB → 0 B",
        "TPU v5e on each of 4 devices: 9 changes compiled, 5 of them not better, 2 refused",
        "warning: 3 changes left untried",
    ]
    assert "x for y: jax.jit(f, donate_argnums=…)" in text
    halved = replace(one, after=Figures(50 * MIB, 0, 60 * MIB, 2000, 0))
    before = replace(BEFORE, async_bytes=9 * MIB)
    wide = replace(both, equal=False, note="largest difference: 0.19; yours to judge")
    lines = str(Advice("f", "v5e", 1, before, (), wide, 9, 2, 5, 0, (halved,))).splitlines()
    assert lines[0].endswith("copies and relayouts 50.00 MiB → 0 B, and largest difference: 0.19")
    assert lines[1] == (
        "donation saves more memory, 100.00 MiB → 50.00 MiB, copies and relayouts 50.00 MiB → "
        "60.00 MiB; estimated cycles 1,000 → 2,000; asynchronous copies to HBM, which the estimate "
        "leaves out, 9.00 MiB → 0 B"
    )
    slow = replace(one, after=Figures(50 * MIB, 0, 0, None))
    assert "its estimated cycles were not asked" in str(
        Advice("f", "v5e", 1, BEFORE, (), None, 9, 2, 5, 0, (slow,))
    )
    nothing = Advice("f", "v5e", 1, BEFORE, (), None, 9, 0, 9, 0)
    assert (
        nothing.summary().title == "f: no change that was tried saves memory or copies at no cost"
    )
    assert nothing.to_dict()["before"]["peak_bytes"] == 100 * MIB
    assert saved(BEFORE, one.after) == 70 * MIB


def test_differences_of_results() -> None:
    nan, inf = float("nan"), float("inf")
    cases = [
        ([1.0, nan, inf], [1.0, nan, inf], 0.0),
        ([1.0, 2.0], [1.0, 2.5], 0.25),
        ([1.0, 2.0], [1.0, nan], inf),
        ([1.0, inf], [1.0, -inf], inf),
        ([1, 2], [1, 3], inf),
        ([True], [True], 0.0),
    ]
    found = [difference(np.array(a), np.array(b)) for a, b, _ in cases]
    assert found == [wanted for _, _, wanted in cases]


def test_random_arguments() -> None:
    one = argument(np.empty((50, 3), np.int32), 1)
    assert one.dtype == np.int32
    assert set(np.unique(one)) <= set(range(8))
    assert argument(np.empty(4, bool), 2).dtype == bool
    assert argument(np.empty((), np.float32), 1, "with NaN and infinities").shape == ()
    odd = argument(np.empty((50, 3), np.float32), 1, "with NaN and infinities")
    assert (np.isnan(odd).sum(), (odd == np.inf).sum(), (odd == -np.inf).sum()) == (1, 1, 1)
    sizes = [argument(np.empty(999, np.float32), 1, kind).std() for kind in SIZES][:3]
    assert np.allclose(sizes, [1, 1e-3, 1e3], rtol=0.1)
    assert abs(argument(np.empty(1000, np.float32), 3).mean()) < 0.2


def test_the_texts_of_arguments_name_layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text without a layout leaves the choice to the compiler; a layout is itself."""
    sharding = SimpleNamespace(NamedSharding=int)
    jax = SimpleNamespace(ShapeDtypeStruct=lambda *x, **_: x, sharding=sharding)
    monkeypatch.setitem(sys.modules, "jax", jax)
    monkeypatch.setitem(sys.modules, "ml_dtypes", SimpleNamespace())
    arguments = ["f32[8,128]", "f32[8,128]{0,1}", ml.parse("f32[8,128]"), ml.parse("s8[4]{0:T(4)}")]
    modes: list[str] = []
    structs = [argument_struct(each, modes) for each in arguments]
    assert modes == ["", "{0,1}", "{1,0}", "{0:T(4)}"]
    assert [each[:2] for each in structs] == [((8, 128), np.float32)] * 3 + [((4,), np.int8)]


def test_scans_of_steps_that_fill_half_a_tile_stay() -> None:
    """A tile has 128 elements of the last dimension: blocks are worth it below half of them."""
    for shape, is_worth in (((9, 63), True), ((9, 64), False), ((9, 0), False), ((9,), False)):
        stacked = [SimpleNamespace(aval=SimpleNamespace(shape=shape))]
        equation = SimpleNamespace(
            params={"num_consts": 0, "num_carry": 0}, invars=stacked, outvars=[]
        )
        assert _worth_blocks(equation) is is_worth
