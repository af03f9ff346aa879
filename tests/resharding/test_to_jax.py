"""Plans as JAX code, run on virtual devices where JAX is installed."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from morello_layouts import reshard
from tests.support.paths import ROOT


@pytest.mark.slow
@pytest.mark.skipif(find_spec("jax") is None, reason="jax is not installed")
def test_code_does_what_the_plan_says() -> None:
    """Random pairs, on meshes that share names, with axes of size 1, on listed devices."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.resharding", "--jax", "--count", "300"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    for kind in ("all-gather", "all-to-all", "permute", "slice", "programs"):
        assert f"{kind} " in run.stdout.partition("JAX: ")[2]


def test_the_pair_of_xla_15207_needs_all_to_alls_only() -> None:
    array = "f32[16,16], mesh={'x': 2, 'y': 4}, spec="
    code = reshard(array + "P('x', 'y')", array + "P(('x', 'y'), None)").jax()
    assert "jax.lax.all_to_all(a, ('y',), split_axis=0, concat_axis=1, tiled=True)" in code
    assert "all_gather" not in code
    compile(code, "reshard", "exec")


def test_other_meshes_are_put() -> None:
    ends = "f32[8,8], sharding={devices=[4,1]<=[4]}", "f32[8,8], sharding={devices=[1,8]<=[8]}"
    code = reshard(*ends).jax()
    assert "jax.device_put(a, after)" in code
    compile(code, "reshard", "exec")


def test_axes_of_one_device_and_cuts_that_cut_nothing_are_written() -> None:
    mesh = "f32[16], mesh={'a': 2, 'b': 1, 'c': 4}, spec="
    assert "before, after = P(None), P('c')" in reshard(mesh + "P('b')", mesh + "P('c')").jax()
    block = reshard("(CYCLIC(2), *) ONTO (4)", "(BLOCK, *) ONTO (4)", (8, 8))
    assert block.kind == "nothing"
    assert "before, after = P('p', None), P('p', None)" in block.jax()


def test_meshes_that_share_names() -> None:
    """The axis b of the mesh before is c of the mesh after, whose b is a half of a."""
    before = "f32[8,16,24], mesh={'a': 4, 'b': 2}, spec=P(None, 'b', None)"
    after = "f32[8,16,24], mesh={'a': 2, 'b': 2, 'c': 2}, spec=P('c', 'b', 'a')"
    plan = reshard(before, after)
    assert plan.axes == ("a.0", "a.1", "b")
    assert "after   a.0' = d2//12, a.1' = d1//8, b' = d0//4" in str(plan)
    assert "named as in the mesh before; in the mesh after, a and b are other axes" in str(plan)
    code = plan.jax()
    assert "reshape((2, 2, 2)), ('a.0', 'a.1', 'b'))" in code
    assert "P(None, 'b', None), P('b', 'a.1', 'a.0')" in code
