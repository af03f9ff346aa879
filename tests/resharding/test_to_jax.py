"""Plans as JAX code, run on virtual devices where JAX is installed."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from morello_layouts import reshard
from morello_layouts.errors import LayoutError, UnsupportedError
from tests.support.paths import ROOT


@pytest.mark.slow
@pytest.mark.skipif(find_spec("jax") is None, reason="jax is not installed")
def test_code_does_what_the_plan_says() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.support.jax_plans"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "44 plans ran" in run.stdout


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


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("f32[10,8], sharding={devices=[4,1]<=[4]}", "f32[10,8], sharding={devices=[1,4]<=[4]}"),
        ("(CYCLIC(2), *) ONTO (4)", "(BLOCK, *) ONTO (4)"),
    ],
)
def test_what_jax_cannot_say_is_refused(source: str, target: str) -> None:
    with pytest.raises(UnsupportedError, match="equal blocks"):
        reshard(source, target, None if source.startswith("f32") else (8, 8)).jax()


def test_names_are_checked() -> None:
    plan = reshard("f32[8,8], sharding={devices=[4,1]<=[4]}", "f32[8,8], sharding={replicated}")
    with pytest.raises(LayoutError, match="a name of Python"):
        plan.jax(name="a b")
