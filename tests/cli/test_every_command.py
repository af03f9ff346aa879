"""Every command beside its function: texts, JSON, parameters, help; and options given twice."""

from __future__ import annotations

import inspect
import json
import re
import shlex
from collections.abc import Callable
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

import morello_layouts as ml
from morello_layouts.core.fields import plain
from morello_layouts.interfaces.cli import table
from morello_layouts.interfaces.cli.main import commands
from tests.support import tpu_dumps
from tests.support.hlo_xla import programs
from tests.support.json_keys import told_keys, untold
from tests.support.paths import DATA
from tests.support.tables import each_row

TILED = "f32[3,5]{1,0:T(2,2)}"
NAMED = "f32[M,N]{1,0:T(8,128)}"
SCALES = "[0, 1, 0 p(4)]"
SHARDED = "f32[M,N], mesh={'x': 4}, spec=P('x', None)"
COLUMNS = "f32[M,N], mesh={'x': 4}, spec=P(None, 'x')"
EVEN = "M % 4 == 0, N % 4 == 0"
PROGRAM = programs()["v5e_small_second_minor"]
DUMP = tpu_dumps.path_of("out_of_memory.v5e")
TTGIR = DATA / "mlir" / "matmul_sm80.ttgir"
LOG = "go from sharding {devices=[2,1,4]<=[4,2]T(1,0)} to {devices=[1,8,1]<=[8]} without doing a"
REPORT = """  1. Size: 32.00G
     Shape: s32[8388608,8,4]{2,1,0:T(8,128)}
"""


def run(line: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(
        commands, shlex.split(line), input=stdin, env={"COLUMNS": None}, catch_exceptions=False
    )


CALLS: list[tuple[str, Callable[[], Any]]] = [
    (f"explain '{TILED}' --derivation", lambda: ml.explain(TILED, derivation=True)),
    (f"explain '{NAMED}' --assuming 'M % 8 == 0' --assuming 'N <= 128' --names y,x",
     lambda: ml.explain(NAMED, assuming="M % 8 == 0, N <= 128", names="y,x")),
    (f"draw '{TILED}' '{{1,0}}' --bits 16 --mark 1,2 --mark 0,0 --slots 0 --no-formula",
     lambda: ml.draw(TILED, "{1,0}", element_bits=16, dots=[(1, 2), (0, 0)], max_slots=0,
                     formula=False)),
    (f"draw '{NAMED}' --at M=3 --at N=5", lambda: ml.draw(NAMED, at={"M": 3, "N": 5})),
    ("convert '[1, 0, 1 p(4)]' --shape M,N --to xla --type f32",
     lambda: ml.convert("[1, 0, 1 p(4)]", "xla", ("M", "N"), "f32")),
    ("recover '0,1=1 1,0=128 8,0=4096' --shape 64x512",
     lambda: ml.recover([((0, 1), 1), ((1, 0), 128), ((8, 0), 4096)], (64, 512))),
    ("record 'q4_K[B]' --language c", lambda: ml.record("q4_K[B]").code("c")),
    ("record awq_128 --sizes G=1,N=2 --language rust --stores",
     lambda: ml.record("awq_128").at(G=1, N=2).code("rust", stores=True)),
    (f"prove '{TILED}'", lambda: ml.is_bijective(TILED, confirm=True)),
    (f"prove --injective '{TILED}'", lambda: ml.is_injective(TILED, confirm=True)),
    (f"prove --surjective '{NAMED}' --assuming 'M % 8 == 0'",
     lambda: ml.is_surjective(NAMED, assuming="M % 8 == 0", confirm=True)),
    (f"prove --verify '{TILED}'", lambda: ml.verify(TILED)),
    ("prove 'f32[5,7]{1,0:T(2,2)}' --budget 1",
     lambda: ml.is_bijective("f32[5,7]{1,0:T(2,2)}", budget=1, confirm=True)),
    ("equal 'f32[6,8]{1,0:T(6,4)}' '[1, 0, 1 p(4)]'",
     lambda: ml.are_equivalent("f32[6,8]{1,0:T(6,4)}", "[1, 0, 1 p(4)]")),
    ("equal 'f32[M,N]{1,0:T(2,128)}' 'f32[M,N]{1,0:T(8,128)}' --budget 1",
     lambda: ml.are_equivalent("f32[M,N]{1,0:T(2,128)}", "f32[M,N]{1,0:T(8,128)}", budget=1)),
    ("bitcast 'f32[2,3]{1,0}' 'f32[3,2]{0,1}' --transpose 1,0",
     lambda: ml.is_bitcast("f32[2,3]{1,0}", "f32[3,2]{0,1}", correspondence=(1, 0))),
    ("bitcast 'f32[64,64]{1,0}' 'f32[64,64]{0,1}' --any",
     lambda: ml.is_bitcast("f32[64,64]{1,0}", "f32[64,64]{0,1}", correspondence="any")),
    (f"agree '{SCALES}' '[0, 1]' --shape 16x8",
     lambda: ml.agree(SCALES, "[0, 1]", (16, 8))),
    ("agree mx128x4 mx128x4 --shape M,K --reads buffer --producer-bytes 'M*4*ceil(K/4)'",
     lambda: ml.agree("mx128x4", "mx128x4", ("M", "K"), reads="buffer",
                      producer_bytes="M*4*ceil(K/4)")),
    ("agree '[0, 1]' '[1, 0]' --shape 4x8 --element-bits 4",
     lambda: ml.agree("[0, 1]", "[1, 0]", (4, 8), element_bits=4)),
    ("code '[0, 1]' --shape 6x8 --language rust --function --shift --asserts --name at",
     lambda: ml.code("[0, 1]", "rust", (6, 8), function=True, shift=True, asserts=True,
                     name="at")),
    (f"code '{TILED}' --inverse --language python",
     lambda: ml.code(ml.index_map(TILED).inverse, "python")),
    (f"code '{NAMED}' --cheapest --assuming 'N % 128 == 0'",
     lambda: ml.code(ml.index_map(NAMED, assuming="N % 128 == 0"), simplified="cheapest")),
    ("code '(32*i + j)//8' --bounds i=0..31 --bounds j=0..31",
     lambda: ml.code("(32*i + j)//8", "c", {"i": (0, 31), "j": (0, 31)})),
    (f"loops '{NAMED}' --names i,j --order j,i --tile i=64/8 --edges peel --language rust",
     lambda: ml.loops(NAMED, names=("i", "j"), order=("j", "i"), tile={"i": (64, 8)},
                      edges="peel").code("rust")),
    (f"loops '{NAMED}' 'f32[M,N]{{0,1}}' --of b",
     lambda: ml.loops({"a": NAMED, "b": "f32[M,N]{0,1}"}, of="b")),
    (f"loops '{NAMED}' --language cuda --indices d0_0=blockIdx.x",
     lambda: ml.loops(NAMED).code("cuda", indices={"d0_0": "blockIdx.x"})),
    ("relayout '[0, 1]' '[1, 0]' --shape 6x8 --type bf16 --language python",
     lambda: ml.relayout("[0, 1]", "[1, 0]", (6, 8)).kernel("python", "bf16").rstrip()),
    ("relayout 'f32[4,6]' 'f32[6,4]' --transpose 1,0 --language rust",
     lambda: ml.code(ml.relayout("f32[4,6]", "f32[6,4]", transpose=(1, 0)), "rust",
                     function=True, name="relayout")),
    ("relayout '(4,M):(M,1)' '(4,M):(1,4)' --bits 4 --bitorder big --language rust",
     lambda: ml.relayout("(4,M):(M,1)", "(4,M):(1,4)").kernel(
         "rust", bits=4, bitorder="big", fill=0).rstrip()),
    ("banks 'f32[32,32]' column --coordinate 0,3",
     lambda: ml.bank_conflicts("f32[32,32]", "column", at=(0, 3))),
    ("banks 'f32[32,LD]' column", lambda: ml.bank_conflicts("f32[32,LD]", "column")),
    ("banks --in global 'f32[64,64]' column", lambda: ml.coalescing("f32[64,64]", "column")),
    ("banks --in cache --line 128 'f32[64,64]' column",
     lambda: ml.cache_lines("f32[64,64]", "column", line=128)),
    ("banks --best --shape 64x64 --bits 16 row.b128 ldmatrix",
     lambda: ml.best_swizzle((64, 64), 16, ["row.b128", "ldmatrix"])),
    ("fragments tdpbf16", lambda: "\n".join(ml.fragments("tdpbf16"))),
    ("shards 'f32[61], (GEN_BLOCK(14,15,16,16)) ONTO 4' --device 2",
     lambda: ml.index_map("f32[61], (GEN_BLOCK(14,15,16,16)) ONTO 4").local(2)),
    ("shards \"bf16[K], mesh={'x': 8}, spec=P('x')\" --blocks 32",
     lambda: ml.shards("bf16[K], mesh={'x': 8}, spec=P('x')", blocks=[32])),
    (f'reshard "{SHARDED}" "{COLUMNS}" --assuming "{EVEN}"',
     lambda: ml.reshard(SHARDED, COLUMNS, assuming=EVEN)),
    ("hlo - --top 2 --tpu v3", lambda: ml.diagnose(PROGRAM, "v3", top=2)),
    (f"hlo {DUMP} -", lambda: ml.compare_hlo(DUMP, PROGRAM)),
    (f"mlir {TTGIR}", lambda: ml.read_mlir(TTGIR)),
    (f"memory {DUMP} --top 3", lambda: ml.memory(DUMP, top=3)),
]  # fmt: skip
"""What is typed, and the function that it is."""


def text_of(answer: Any) -> str:
    if isinstance(answer, ml.Picture):
        return answer.text(80).replace("\n{1,0}", "\n\n{1,0}")  # a line between panels
    return str(answer)


def agrees(found: Any, answer: Any) -> bool:
    """Whether JSON is an answer, or has it as a part."""
    wanted = json.loads(json.dumps(plain(answer)))
    if isinstance(answer, ml.Picture):
        wanted = json.loads(json.dumps(plain(answer.panels)))
    if isinstance(answer, str) and "\n" in answer and "fragments" in found:
        wanted = answer.splitlines()
    if found == wanted or (isinstance(wanted, dict) and wanted.items() <= found.items()):
        return True
    parts = found if isinstance(found, list) else found.values()
    shown = [x.rstrip("\n") if isinstance(x, str) else x for x in parts]
    return wanted in (*parts, *shown) or [wanted] in parts


@each_row("line, function", CALLS)
def test_a_command_is_its_function(line: str, function: Callable[[], Any]) -> None:
    answer = function()
    result = run(line, PROGRAM)
    assert result.stdout == f"{text_of(answer)}\n", line
    found = run(f"{line} --json", PROGRAM)
    if "--language" not in line or line.startswith("code"):
        assert agrees(json.loads(found.stdout), answer), line
    assert found.exit_code == result.exit_code


def test_each_command_has_a_call() -> None:
    tested = {line.split()[0] for line, _ in CALLS}
    elsewhere = {
        *("check", "check-contracts", "default", "explore", "lsp", "notations", "oom", "simplify"),
        "tpu-compile",
    }
    assert tested | elsewhere == set(table.ROWS)
    assert not tested & elsewhere


@each_row("name", list(table.ROWS))
def test_no_parameter_is_forgotten(name: str) -> None:
    """Each parameter of the first public function is an argument, an option, or left out."""
    command: Any = commands.commands[name]
    said = {param.name for param in command.params} | set(table.LEFT_OUT)
    others = {  # what the command takes in another form
        "check": {"given", "make"}, "code": {"of", "given"}, "convert": {"layout"},
        "banks": {"shared", "access"}, "loops": {"maps"}, "hlo": {"program", "after"},
        "memory": {"source"}, "mlir": {"source"}, "oom": {"source"},
        "default": {"element_type", "shape"},
        "tpu-compile": {"keep"}, "simplify": {"verify", "target"},
    }  # fmt: skip
    if command.public:
        parameters = set(inspect.signature(command.public[0]).parameters) - {"notation"}
        assert parameters - others.get(name, set()) <= said


@each_row("name", list(table.ROWS))
def test_help_is_whole(name: str) -> None:
    """Each argument and option has words; lines fit 80 columns, but for examples."""
    command: Any = commands.commands[name]
    for param in command.params:
        words = param.help if isinstance(param, click.Option) else command.words.get(param.name)
        assert words, param.name
        assert "``" not in words
        assert "index_map" not in words
    text = CliRunner().invoke(commands, [name, "--help"], env={"COLUMNS": "80"}).stdout
    examples = {f"    {x}" for one in command.row.examples for x in one.splitlines()}
    for line in text.splitlines():
        assert len(line) <= 80 or "  morello-layouts " in line or line in examples, line
    assert run(f"{name} -h").stdout == run(f"{name} --help").stdout


JSON_OF = [
    (f"explain 'x = {TILED} add(a, b)' --derivation", ""),
    ("explain 'bf16[10,200]{1,0:T(8,128)(2,1)}'", ""),
    (f"draw '{TILED}' '{{1,0}}'", ""),
    (f"convert '{TILED}'", " of all notations"),
    (f"convert '{TILED}' --to xla", ""),
    ("recover '0,1=1 1,0=128' --shape 64x512", ""),
    ("default bf16[8,1,1280,1000] --tpu v5e", ""),
    (f"prove '{TILED}'", ""),
    (f"equal '{TILED}' '{{1,0}}'", ""),
    (f"bitcast '{TILED}' '{{1,0}}'", ""),
    (f"agree '{SCALES}' '[0, 1]' --shape 16x8", ""),
    (f"agree '{SCALES}' '[0, 1]' --shape T,S", ""),
    ("simplify 'i % 4 % 4' --bounds i=0..9 --derivation", ""),
    (f"code '{TILED}'", ""),
    (f"loops '{NAMED}'", ""),
    ("relayout 'f32[3,5]' '{0,1}'", ""),
    ("banks 'f32[32,32]' row column", ""),
    ("banks 'f32[32,LD]' row", ""),
    ("banks --in global 'f32[32,32]' row", ""),
    ("banks --in cache 'f32[32,32]' row", ""),
    ("banks --best --shape 64x64 --bits 16 row", " with --best"),
    ("fragments SM80", ""),
    ("shards 'f32[10,16]{1,0:T(8,128)}, sharding={devices=[4,2]<=[8]}'", ""),
    ("shards 'f32[61], (GEN_BLOCK(14,15,16,16)) ONTO 4' --device 2", " with --device"),
    (f'reshard "{SHARDED}" "{COLUMNS}"', ""),
    ("reshard 'f32[64], (BLOCK) ONTO 4' 'f32[64], (CYCLIC) ONTO 4' --limit 200", " with --limit"),
    ("reshard --shape 16x16x16 {devices=[2,1,4]<=[8]} {devices=[1,8,1]<=[8]} --device 5",
     " with --device or --table"),
    ("reshard --log -", " with --log"),
    ("hlo -", ""),
    (f"hlo {DUMP} -", " of two dumps"),
    (f"hlo '{DUMP.parent}/{DUMP.name[:8]}*optimizations*'", " of many dumps"),
    (f"mlir {TTGIR}", ""),
    (f"mlir {TTGIR.parent}", " of a folder"),
    (f"memory {DUMP}", ""),
    ("oom -", ""),
]  # fmt: skip


@each_row("line, title", JSON_OF)
def test_the_help_lists_the_keys_of_json(line: str, title: str) -> None:
    """The list follows from types; what is printed judges it."""
    words = " ".join(run(f"{line.partition(' ')[0]} --help").stdout.split())
    told = words.partition(f" JSON{title}: ")[2].partition(". ")[0]
    stdin = {"oom": REPORT, "reshard": LOG}.get(line.partition(" ")[0], PROGRAM)
    found = json.loads(run(f"{line} --json", stdin).stdout)
    assert found.keys() == told_keys(told).keys() or title
    assert not list(untold(found, told_keys(told)))


@each_row(
    "line, status, words",
    [
        (f"explain '{NAMED}' --names a,b --names c,d", 2, "--names: expected one, got 2"),
        (f"explain '{TILED}' --json --json", 2, "--json: expected one, got 2"),
        (f"prove '{TILED}' --injective --surjective", 2, "--injective and --surjective: expected"),
        (f"code '{TILED}' --language c --target rust", 2, "--language: expected one, got 2"),
        (f"draw '{NAMED}' --at M=3,N=5 --at M=4", 2, "--at: M has two values: 3 and 4"),
        (f"loops '{NAMED}' --names i,j --tile i=8 --tile i=4", 2, "--tile: i has two values"),
        (f"loops '{NAMED}' --names i,j --tile i=8 --tile j=4", 0, "i0: tiles of 8 i"),
        ("prove f32[M,N] --assuming 'M % 8 == 0' --assuming 'K <= 3'", 2, "is about K"),
        ("simplify i//8+j//8 --bounds i=0..7 --bounds j=0..7", 0, "0\n"),
        ("simplify i//8 --bounds i=0..9 --bounds i=0..7", 0, "0\n"),  # both hold
    ],
)
def test_an_option_given_twice_is_never_dropped(line: str, status: int, words: str) -> None:
    result = run(line)
    assert result.exit_code == status
    assert words in (result.stderr if status else result.stdout)


OLD = [
    ("code f32[3,5] --target rust", "code f32[3,5] --language rust"),
    ("relayout [0] [0] --shape 4 --dtype u8 --target cuda",
     "relayout [0] [0] --shape 4 --type u8 --language cuda"),
    ("loops f32[3,5] --target rust", "loops f32[3,5] --language rust"),
    ("draw [0] --shape 4 --colour word --element-bits 8",
     "draw [0] --shape 4 --color word --bits 8"),
]  # fmt: skip


@each_row("old, new", OLD)
def test_old_spellings_work_and_are_not_listed(old: str, new: str) -> None:
    assert run(old).stdout == run(new).stdout != ""
    help_text = run(f"{old.partition(' ')[0]} --help").stdout
    for flag in {*re.findall(r"--[a-z-]+", old)} - {*re.findall(r"--[a-z-]+", new)}:
        assert f"{flag} " not in help_text.partition("Examples")[0] or flag == "--colour"


def test_notation_is_that_of_each_text() -> None:
    both = "equal ab 'pad [6,8]' --notation"
    assert run(f"{both} onednn").exit_code == 2
    assert run("equal ab ba --notation onednn --shape 2x3").exit_code == 1
    assert run(f'reshard "{SHARDED}" "{COLUMNS}" --notation sharding').exit_code == 0
    assert run(f'reshard "{SHARDED}" "{COLUMNS}" --notation xla').exit_code == 2
    assert run("banks --notation onednn ab --shape 32x32 --bits 32 row").exit_code == 0
    assert run("banks --notation xla ab --shape 32x32 --bits 32 row").exit_code == 2


@pytest.mark.parametrize("more", ["--line 64", "--lanes 4"])
def test_lines_are_of_caches(more: str) -> None:
    result = run(f"banks f32[32,32] row {more}")
    assert result.exit_code == 2
    assert "was given for shared memory" in result.stderr
