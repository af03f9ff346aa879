"""The command ``tpu-compile``: its texts, its errors, and programs that libtpu compiles."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import morello_layouts as ml
from morello_layouts.interfaces.cli.main import commands
from morello_layouts.interfaces.cli.programs import read_shapes
from tests.support.fake_compiler import marked

HAS_COMPILER = all(map(find_spec, ("jax", "libtpu")))
needs_libtpu = pytest.mark.skipif(not HAS_COMPILER, reason="the extra [tpu] is not installed")

MODEL = """\
import jax.numpy as jnp

def product(a, b):
    return jnp.einsum("nij,njk->nik", a, b)

def example():
    return ["f32[20000,4,4]", "f32[20000,4,4]"]
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "model.py").write_text(MODEL)
    return str(tmp_path / "model.py")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(commands, ["tpu-compile", *arguments])


def test_shapes_are_read() -> None:
    cases = {
        "": [],
        "f32[8]": ["f32[8]"],
        "f32[8,128]{0,1}, s32[4] pred[]": ["f32[8,128]{0,1}", "s32[4]", "pred[]"],
        "bf16[8,128]{1,0:T(8,128)(2,1)};f8e4m3fn[2]": [
            "bf16[8,128]{1,0:T(8,128)(2,1)}",
            "f8e4m3fn[2]",
        ],
    }
    assert {text: read_shapes(text) for text in cases} == cases


@pytest.mark.skipif(HAS_COMPILER, reason="the extra [tpu] is installed")
def test_missing_compiler_is_an_error_with_its_remedy(model: str) -> None:
    result = run(f"{model}:product", "--shapes", "f32[8,2,2] f32[8,2,2]")
    assert result.exit_code == 2
    assert "python -m pip install 'jax>=" in result.output.splitlines()[-1]
    assert "Traceback" not in result.output
    with pytest.raises(ml.LayoutError, match="the TPU compiler is not installed"):
        ml.tpu.diagnose(lambda x: x, "f32[8]")


@needs_libtpu
@pytest.mark.slow
def test_program_is_compiled_and_reported(model: str, tmp_path: Path) -> None:
    dumps = tmp_path / "dumps"
    result = run(f"{model}:product", "--arguments", "example", "--json", "--dumps", str(dumps))
    found = json.loads(result.stdout)
    (report,) = dumps.glob("*memory-usage-report.txt")
    assert f"Total bytes: {found['peak_bytes']} " in report.read_text()
    assert found["cycles"] > 0


BY_HAND = """
import jax.numpy as jnp
from jax import lax

def product(a, b):
    return a @ b

def product_by_hand(a, b):
    return sum(a[..., :, k, None] * b[..., k, None, :] for k in range(4))

def weight(x, w):
    return x @ w.astype(jnp.bfloat16).T

def weight_by_hand(x, w):
    return x @ w.T

def stack(x):
    return lax.scan(lambda c, _: (jnp.sin(c), c), x, None, length=20_000)[1].sum(0)

def stack_by_hand(x):
    def step(c, _):
        return jnp.sin(c), c.reshape(-1)
    return lax.scan(step, x, None, length=20_000)[1].reshape(-1, 20, 70).sum(0)

def average(w, a, s):
    return 0.99 * a + 0.01 * w, s / s.sum(-1, keepdims=True)

average_by_hand = average
"""


@needs_libtpu
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind", "shapes", "kept"),
    [
        ("product", "product as sums", ["f32[100000,4,4]"] * 2, ["f32[100000,4,4]"] * 2),
        ("weight", "conversion at the boundary", ["bf16[300,512]", "f32[3000,512]"],
         ["bf16[300,512]", "bf16[3000,512]"]),
        ("stack", "flat stacks", ["f32[20,70]"], ["f32[20,70]"]),
        ("average", "forms chosen together", ["f32[5000,7,33]"] * 3,
         ["f32[1155000]"] * 2 + ["f32[5000,7,33]"]),
    ],
)  # fmt: skip
def test_advice_is_better_when_compiled_again(
    name: str, kind: str, shapes: list[str], kept: list[str], tmp_path: Path
) -> None:
    """What is shown is better by the compiler's figures, if a user writes it by hand, too."""
    from morello_layouts.programs.tpu_compiler.program import load_function

    (tmp_path / "hand.py").write_text(BY_HAND)
    function, written = (
        load_function(f"{tmp_path / 'hand.py'}:{f}") for f in (name, f"{name}_by_hand")
    )
    advice = ml.tpu.advise(function, *shapes)
    found = next(each for each in (*advice.advice, *advice.memory_only) if each.kind == kind)
    rounded = name == "weight"  # XLA leaves the rounding out where it is inside the program
    assert found.difference == pytest.approx(0, abs=1e-2 if rounded else 1e-5)
    again = ml.tpu.diagnose(written, *kept)
    assert found.after.peak_bytes < advice.before.peak_bytes
    assert again.figures.peak_bytes == pytest.approx(found.after.peak_bytes, rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (("nowhere.py:f",), "nowhere.py is not a file"),
        (("{model}",), "function: expected FILE.py:FUNCTION"),
        (("{model}:f",), "{model} has nothing named f"),
        (("{model}:product", "--shapes", "f32[8"), "expected"),
        (("{model}:product", "--tpu", "v1"), "'v1' is not a known generation of TPUs"),
        (("{model}:product", "--shapes", "f32[8,2,2]"), "product could not be traced: TypeError"),
        (("{model}:product", "--arguments", "none"), "{model} has nothing named none"),
    ],
)
@needs_libtpu
def test_errors_are_lines(arguments: tuple[str, ...], first: str, model: str) -> None:
    result = run(*(each.format(model=model) for each in arguments))
    assert result.exit_code == 2
    assert result.output.startswith(first.format(model=model))
    assert "Traceback" not in result.output


@needs_libtpu
@pytest.mark.slow
def test_a_server_forks_for_each_compilation_and_leaves_nothing(model: str) -> None:
    """It gives the figures of a process of its own; what runs too long ends, and so does it."""
    from morello_layouts.programs.tpu_compiler.compilation import compile_module
    from morello_layouts.programs.tpu_compiler.process import kept_warm, libtpu_compiler
    from morello_layouts.programs.tpu_compiler.program import load_function, trace

    product = trace(load_function(f"{model}:product"), ("f32[2000,4,4]",) * 2)
    alone = compile_module(product.module(), "v5e").figures
    with kept_warm(libtpu_compiler()) as warm:
        assert warm.server is not None
        server = warm.server.process.pid
        for _ in range(2):
            assert compile_module(product.module(), "v5e", compiler=warm).figures == alone
        begun: list[int] = []
        begin = warm.server.begin

        def watched(folder: Path) -> int:
            begun.append(begin(folder))
            return begun[-1]

        warm.server.begin = watched  # type: ignore[method-assign]
        with pytest.raises(ml.LayoutError, match="took more than"):
            compile_module(product.module(), "v5e", compiler=replace(warm, seconds=0))
        with pytest.raises(ml.LayoutError, match="took more than"):
            compile_module(product.module(), "v5e", compiler=replace(warm, memory=1 << 20))
    assert [pid for pid in (server, *begun) if Path(f"/proc/{pid}").exists()] == []
    assert len(begun) == 2


@needs_libtpu
@pytest.mark.slow
def test_sigterm_lists_what_was_found_and_leaves_no_process(model: str, tmp_path: Path) -> None:
    """A second run does not compile again what the first one did."""
    environment = {**os.environ, "MORELLO_LAYOUTS_CACHE": str(tmp_path)}
    command = [sys.executable, "-m", "morello_layouts", "tpu-compile", f"{model}:product"]
    command += ["--arguments", "example", "--advise", "--json"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as running:
        while len(list(tmp_path.glob("tpu/*.json"))) < 5 and running.poll() is None:
            time.sleep(0.05)
        running.terminate()
        found = json.loads(running.communicate()[0])
    assert running.returncode == 0
    assert found["compiled"] >= 2
    assert found["left"] > 0
    assert marked(str(tmp_path), model) == []
