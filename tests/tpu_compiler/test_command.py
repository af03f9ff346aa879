"""The command ``tpu-compile``: its texts, its errors, and programs that libtpu compiles."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import morello_layouts as ml
from morello_layouts.interfaces.cli.main import commands
from morello_layouts.interfaces.cli.programs import read_shapes

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


@needs_libtpu
@pytest.mark.slow
def test_advice_is_better_when_compiled_again() -> None:
    """What is shown is better by the compiler's figures, and the function is the same."""

    def product(a, b):  # type: ignore[no-untyped-def]
        return a @ b

    def written_as_advised(a, b):  # type: ignore[no-untyped-def]
        return sum(a[..., :, k, None] * b[..., k, None, :] for k in range(4))

    shapes = ("f32[100000,4,4]", "f32[100000,4,4]")
    advice = ml.tpu.advise(product, *shapes, budget=2)
    found = advice.advice[0]
    assert (found.kind, found.difference) == ("product as sums", pytest.approx(0, abs=1e-5))
    assert "for k in range(4)" in found.change
    written = ml.tpu.diagnose(written_as_advised, *shapes)
    assert found.after.peak_bytes < advice.before.peak_bytes / 4
    assert written.figures.peak_bytes == pytest.approx(found.after.peak_bytes, rel=0.01)


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
