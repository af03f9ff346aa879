"""``prove``, ``equal``, ``simplify``; help; exit statuses; the text of errors."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts.interfaces.cli.main import commands, main
from morello_layouts.interfaces.cli.terminal import Status, status_of
from morello_layouts.notations.expression import parse_shape
from morello_layouts.proof import Proof
from tests.support import tpu_dumps
from tests.support.paths import ROOT
from tests.support.tables import each_row
from tests.support.weights import gguf


def run(*arguments: str) -> Result:
    return CliRunner().invoke(commands, arguments, catch_exceptions=False)


PLACES = [
    (("explain",), 'write for example morello-layouts explain "bf16[10,200]{1,0:T(8,128)(2,1)}"'),
    (("explain", "[1, 0]", "6x8"), 'write --shape "6x8"'),
    (("simplify", "i//2", "i<8", "j<3"), 'write --bounds "i<8,j<3"'),
    (("simplify", "i//2 + j", "i<8, j<3"), 'write --bounds "i<8,j<3"'),
    (("simplify", "i//2", "--range", "i=0..3"), 'write --bounds "i=0..3"'),
    (("simplify", "i", "//", "2"), "write a text that has spaces in quotes"),
    (("banks", "f16[64,64]", "--access", "column"), "write the value without --access"),
    (("agree", "--producer", "f32[6]", "f32[6]"), "write the value without --producer"),
    (("prove", "f32[M]", "--bounds", "M=8"), 'write --assuming "M % 8 == 0, N <= 128"'),
]


@each_row("arguments, fix", PLACES)
def test_a_value_in_the_wrong_place_is_told_the_right_one(
    arguments: tuple[str, ...], fix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == Status.BAD_INPUT
    assert capsys.readouterr().err.splitlines()[-1] == fix


@each_row(
    "arguments",
    [("explain", "[1, 0]", "x" * 5000 + "!"), ("loops", "f32[6,8]", "--tile", f"i={'9' * 10_000}")],
)
def test_a_long_value_is_refused_at_once(arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == Status.BAD_INPUT


def test_a_name_that_no_fragment_has_is_told() -> None:
    result = run("fragments", "za1")
    assert (result.exit_code, result.stdout) == (1, "no name begins so; mlay fragments lists all\n")


def test_an_option_that_is_a_value_is_not_likened_to_another(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(("banks", "f16[64,64]", "--access", "column"))
    assert "Did you mean" not in capsys.readouterr().err


def test_a_file_in_place_of_a_layout(tmp_path: Path) -> None:
    file = tmp_path / "module.txt"
    file.write_text("HloModule m")
    assert "got the name of a file" in run("explain", str(file)).stderr


@pytest.mark.parametrize("command", [("prove", "f32[6]"), ("equal", "f32[6]", "f32[6]")])
def test_undecided(command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    undecided = Proof("bijective", None, "ISL spent its budget of 5 operations")
    monkeypatch.setattr(commands.commands[command[0]], "function", lambda *_, **__: undecided)
    result = run(*command)
    assert result.exit_code == 3
    assert result.stdout == "undecided whether bijective: ISL spent its budget of 5 operations.\n"
    assert json.loads(run(*command, "--json").stdout)["holds"] is None


def test_one_disproof_outweighs_the_undecided() -> None:
    assert status_of([None, True, False]) is Status.DISPROVED
    assert status_of([None, True]) is Status.UNDECIDED
    assert status_of([]) is Status.DONE


@pytest.mark.parametrize("text", ["", "   ", "\n", "f32[3,5", "Bf16[3]", "\x1b[31m", "f32[3\x00]"])
def test_an_error_is_the_error_s_own_text(text: str) -> None:
    with pytest.raises(ml.LayoutError) as caught:
        ml.parse(text)
    for command in ("explain", "prove"):
        result = run(command, text)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == f"{caught.value}\n"
        assert "\x1b" not in result.stderr


@pytest.mark.parametrize("text", ["", "6x", "x8", "-6x8", "6.5x8", "6 8", "[6", "²x3", "9" * 20])
def test_bad_shapes(text: str) -> None:
    with pytest.raises(ml.ShapeError, match="a shape: expected sizes, got"):
        parse_shape(text)


def examples() -> list[str]:
    texts = [run(name, "--help").stdout for name in commands.commands] + [run("--help").stdout]
    lines = (line for t in texts for line in t.replace("\\\n", "").splitlines())
    return sorted({" ".join(line.split()) for line in lines if "  morello-l" in line} | in_pages())


def in_pages() -> set[str]:
    """The commands of the pages; neither servers nor programs of the page's own."""
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    text = "\n".join(path.read_text("utf-8") for path in pages if path.parent.name != "generated")
    found = re.findall(r"^(?:\$ )?morello-layouts (.+)|`mlay (\w[^`]+)`", text, re.MULTILINE)
    lines = {f"morello-layouts {block or inline}" for block, inline in found}
    return {x for x in lines if "explore" not in x or "--check" in x} - {
        x
        for x in lines
        if ":distances" in x or re.search(r" [A-Z]+( |$)|FILE", x) or x.count(" ") < 2
    }


PROGRAM = """HloModule small

negated {
  a = f32[1000,3]{1,0:T(8,128)} parameter(0)
  ROOT b = f32[1000,3]{1,0:T(8,128)} negate(a)
}

ENTRY main {
  p = f32[1000,3]{1,0:T(8,128)} parameter(0)
  fusion.3 = f32[1000,3]{1,0:T(8,128)} fusion(p), kind=kLoop, calls=negated
  ROOT copy = f32[1000,3]{0,1:T(8,128)} copy(fusion.3)
}
"""
REPORT = """  1. Size: 32.00G
     Shape: s32[8388608,8,4]{2,1,0:T(8,128)}
     Unpadded size: 1.00G
     Extra memory due to padding: 31.00G (32.0x expansion)
"""


def write_dump(folder: Path) -> None:
    """Write a program and its buffer assignment, as the compiler does, and a model."""
    folder.mkdir(exist_ok=True)
    program = tpu_dumps.path_of("out_of_memory.v5e")
    for path in (program, program.with_stem(f"{program.stem}-buffer-assignment")):
        end = path.name.removeprefix("out_of_memory.v5e.")
        shutil.copy(path, folder / f"module.{end}")
    (folder / "model.py").write_text(MODEL, encoding="utf-8")


LOG = """\
W0101 spmd_partitioner.cc:652] [SPMD] Involuntary full rematerialization. The compiler cannot go \
from sharding {devices=[1,4,2]<=[8]} to {devices=[4,1,2]<=[2,4]T(1,0)} efficiently for HLO \
operation %copy = f32[16,16]{1,0} copy(%p). As the last resort, SPMD will replicate.
"""


def dumped(name: str) -> str:
    """Return the file of the dump that holds what a file of this name does."""
    kind = "-buffer-assignment" if "assignment" in name else ""
    return f"module.after_optimizations{kind}.txt"


MODEL = """import jax.numpy as jnp

example = (jnp.ones((8, 128)),)


def step(x, y=1.0):
    return x @ y if getattr(y, "ndim", 0) else x + y
"""


CODE = """def pack(weights):
    m, k = weights.shape
    return weights.reshape(m, k // 8, 8).swapaxes(0, 1).copy()


def f(i, j):
    return 128 * i + j
"""


def write_inputs() -> None:
    """Write the files that examples of ``recover`` and ``check-contracts`` name."""
    table = ml.index_map("f32[64,64]{1,0:T(8,8)}").table()
    np.save("offsets.npy", table)
    np.savetxt("offsets.csv", table, fmt="%d", delimiter=",")
    weights = np.arange(1024, dtype=np.uint16).reshape(16, 64)
    for name in ("a.npy", "weights.npy"):
        np.save(name, weights)
    Path("dump.bin").write_bytes(ml.pack("{1,0:T(8,8)}", weights).tobytes())
    for name in ("file.py", "pack.py"):
        Path(name).write_text(CODE, encoding="utf-8")
    Path("tests").mkdir()
    for place in (Path(), Path("tests")):
        for path in (ROOT / "tests" / "data" / "contracts").glob("*.toml"):
            (place / "kernels.layouts.toml").write_bytes(path.read_bytes())


@pytest.mark.slow
@pytest.mark.parametrize("line", examples())
def test_the_examples_of_the_help_work(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files that examples name are there; what they write goes elsewhere."""
    import shlex

    monkeypatch.chdir(tmp_path)
    name, *arguments = shlex.split(line)
    if arguments[0] == "tpu-compile":
        pytest.importorskip("libtpu", reason="the extra [tpu] is not installed")
    write_dump(tmp_path / "dumps")
    for argument in arguments:
        if argument.endswith(".txt"):
            texts = {"oom": REPORT, "memory": Path("dumps", dumped(argument)).read_text()}
            Path(argument).write_text(texts.get(arguments[0], PROGRAM), encoding="utf-8")
            write_dump(tmp_path)
        if argument.endswith(".gguf"):
            Path(argument).write_bytes(gguf({"blk.0.attn_q.weight": (2, (4, 1024), bytes(2304))}))
        if argument.endswith((".ttgir", ".mlir")):
            source = "matmul_sm80.ttgir" if argument.endswith("ttgir") else "mlp_sdy.mlir"
            text = (ROOT / "tests" / "data" / "mlir" / source).read_text("utf-8")
            Path(argument).write_text(text, encoding="utf-8")
        if argument.endswith(".log"):
            Path(argument).write_text(LOG, encoding="utf-8")
        if argument == "proof.json" and arguments[0] == "check":
            run("prove", "[1, 0, 1 p(4)]", "--shape", "6x8", "--certificate", argument)
    if arguments[0] in ("recover", "check-contracts"):
        write_inputs()
    assert name == "morello-layouts"
    ended = run(*arguments)
    if "no converter from SVG to PNG" in ended.output:
        pytest.skip("neither cairosvg nor rsvg-convert nor chromium is installed")
    assert ended.exit_code in {0, 1}  # done or proved, or disproved


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["prove", "f32[4]"], 0),
        (["prove", "f32[3,5]{1,0:T(2,2)}"], 1),
        (["prove", "f32["], 2),
        (["frobnicate"], 2),
        ([], 2),
        (["--version"], 0),
    ],
)
def test_main_ends_the_process(arguments: list[str], status: int) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == status


def test_an_interrupt_is_not_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands.commands["prove"], "function", interrupted)
    with pytest.raises(SystemExit) as caught:
        main(["prove", "f32[4]"])
    assert caught.value.code == 130


def test_the_help_explains_exit_statuses() -> None:
    assert "0 done or proved, 1 disproved, 2 bad input, 3 undecided" in run("--help").stdout
    assert run("--version").stdout == f"morello-layouts, version {ml.__version__}\n"


@given(st.text(alphabet="bf16s32[]{}(),:T*LESMC0123456789xpoe -?<=\u2217\ud800", max_size=24))
def test_rubbish_never_gives_a_traceback(text: str) -> None:
    for arguments in (("explain", "--", text), ("simplify", "--", text)):
        result = CliRunner().invoke(commands, arguments)
        assert result.exit_code in (0, 2), (text, result.exception)


def test_dimensions_of_any_number_take_no_memory() -> None:
    assert run("explain", f"[0, {2**62} p(4)]").stdout.startswith(f"[0, {2**62} p(4)]\n")


def test_to_import_the_command_leaves_the_process_as_it_was() -> None:
    code = "import gc; a = gc.get_threshold(); import morello_layouts.interfaces.cli as cli, "
    code += "morello_layouts.__main__; print(a == gc.get_threshold())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "True\n"
