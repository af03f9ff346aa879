"""What commands answer and refuse: exit statuses, and words of the output or of the error."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts.interfaces.api.conversions import NOTATIONS
from morello_layouts.interfaces.cli.main import commands
from morello_layouts.outputs.codegen import TARGETS
from tests.support.tables import each_row


def run(line: str) -> Result:
    return CliRunner().invoke(commands, shlex.split(line), catch_exceptions=False)


T = "u8[M,K]{1,0:T(8,128)}"
X = "bf16[10,200]{1,0:T(8,128)(2,1)}"
ANSWERS = [
    ("prove '[1, 0, 1 p(4)]' --shape 6x8", 0, "bijective: "),
    ("prove f32[3,5]{1,0:T(2,2)}", 1, "9 of 24 slots are padding"),
    ("prove f32[3,5]{1,0:T(2,2)} --bijective", 1, "not bijective"),
    ("prove f32[3,5]{1,0:T(2,2)} --injective", 0, "injective: "),
    ("prove f32[3,5]{1,0:T(2,2)} --surjective", 1, "not surjective"),
    ("prove f32[3,5]{1,0:T(2,2)} --verify", 0, "verified: "),
    ("equal f32[6,8]{1,0:T(6,4)} '[1, 0, 1 p(4)]'", 0, "equivalent: "),
    ("equal '[1, 0, 1 p(4)]' f32[6,8]{1,0:T(6,4)}", 0, "equivalent: "),
    ("equal '[0, 1]' {0,1} --shape 6,8", 1, "not equivalent: (0, 1) has offsets 1 and 6"),
    ("agree '[0, 1, 0 p(4)]' '[0, 1]' --shape T,S", 1, "agree on offsets iff S = 1"),
    (f"agree {T} {T}", 0, "producer and consumer agree for all sizes."),
    (f"agree {T} {T} --reads buffer", 1, "what nobody wrote unless 128 | K and 8 | M"),
    (f"agree {T} {T} --reads buffer --writes buffer", 0, "for all sizes"),
    (f"agree {T} {T} --reads buffer --assuming 'M % 8 == 0, K % 128 == 0'", 0, "agree"),
    (f"agree {T} {T} --producer-bytes M*K", 1, "the producer writes outside"),
    ("agree u8[5,7] u8[5,7] --consumer-bytes 34", 1, "element (4, 6) lies at byte 34"),
    ("banks f32[32,32] row column", 1, "32-way conflict: load column"),
    ("banks (32,32):(33,1) --bits 32 column", 0, "no conflicts"),
    ("banks f32[M,LD] column", 1, "gcd(LD, 32)-way conflict"),
    ("banks f32[32,64] --at 0,3 column", 1, "lanes 0, 1, 2"),
    ("banks --best --shape 64x64 --bits 16 ldmatrix", 0, "Sw<3,3,3> o 0 o"),
    ("banks --best --shape 64x64 --bits 16 row.b128 column", 1, "4 ways"),
    ("banks --in global f32[64,64] column", 0, "not coalesced"),
    ("banks --in cache f32[64,64] column", 0, "64 lines of 64 bytes: 4 at best"),
    ("fragments SM81", 1, ""),
    ("convert '[1, 0, 1 p(4)]' --shape MxN --type f32", 0, "f32[M,N]{0,1:T(4,1)}"),
    ("convert [] --shape () --to xla", 0, "{}"),
    ("convert {0,1:T(4,1)} --shape 6x8 --to morello", 0, "[1, 0, 1 p(4)]"),
    ("convert f32[M]{0:T(2)(2,1)} --to morello --assuming 'M % 4 == 0'", 0, "[0, 0 oe(4)]"),
    ("convert f32[2]{0:T(2)} --to xla --type s8", 0, "s8[2]{0:T(2)}"),
    ("convert f32[3,5]{1,0:T(2,2)} --to morello", 1, ""),
    ("convert '[0, 0 oe(4), 1, 0 p(2)]' --shape M,N --to xla", 3, ""),
    ("code 7//2 --bounds ''", 0, "3\n"),
    ("code '(N*i + j)//N' --bounds i=0..M-1,j=0..N-1", 0, "i\n"),
    (f"code {X} --inverse --function", 0, f"offset p of {X}.\n"),
    ("loops f32[6,8]{1,0} --verify", 0, "verified: the nest visits each element once"),
    ("explain f32[3,5]", 0, "row-major"),
    ("simplify i//8", 0, "i//8"),
    ("simplify -i//2 --bounds i=0..1", 0, "-i\n"),
    ("simplify '32*(i//8) + i%8' --bounds i=0..31 --cheapest", 0, "24*(i//8) + i\n"),
    ("--version", 0, ml.__version__),
]
REFUSED = [
    ("prove '[0, 1]'", "give the sizes, such as --shape 6x8"),
    ("prove nothing", "no layout begins like this"),
    ("equal '[0, 1]' '{0,1}'", "give the sizes, such as --shape 6x8"),
    ("equal f32[6] f32[7]", "shape"),
    ("equal f32[6]", "Missing argument 'B'"),
    ("explain f32[3,5", "^"),
    ("explain", "Missing argument 'LAYOUT'"),
    ("explain f32[3] --nonsense", "No such option"),
    ("simplify i*j", "product of two variables"),
    ("frobnicate", "No such command"),
    ("agree aBcd16b '[0, 1]' --notation onednn --shape M,N", "oneDNN"),
    ("agree '[0, 1]' '[1, 0]'", "--shape 6x8"),
    ("agree '[0, 1]' '[1, 0]' --shape M,N --producer-bytes 'M*('", "^"),
    ("agree '[0, 1]' '[1, 0]' --shape M,N --producer-bytes K", "K is not a size here"),
    ("banks f16[M,N] --assuming 'N % 64 == 8' row", "an assumption"),
    ("banks --best row", "missing: the shape of the tile and the bits of an element"),
    ("banks --best --shape MxN --bits 8 row", "size 0 of the shape"),
    ("banks f32[32,32]", "no access of f32[32,32]"),
    ("banks f32[32,32] diagonal", "expected the name of an access"),
    ("banks f32[32,32] 'SM80_16x8x16_F32F16F16F32_TN Q'", "^"),
    ("banks f32[32,32 row", "^"),
    ("banks (32,32):(32,1) row", "give --bits 16"),
    ("banks f32[32,32] --coordinate x row", "--coordinate: expected a coordinate"),
    ("banks f32[32,32] --bits -1 row", "bits: expected an integer from 1"),
    ("banks f32[32,33] row.b128", "are not one vector"),
    ("banks --in cache f32[32,32] ldmatrix", "the number of lanes is missing"),
    ("banks f32[32,32] row --line 64", "--line was given for shared memory"),
    ("banks", "Missing argument '[LAYOUT] ACCESS...'"),
    ("convert [0]", "--shape"),
    ("convert [0] --shape 2,3", "leaves out part of dimension 1"),
    ("convert [0] --shape 'a b'", "--shape: a shape: expected sizes"),
    ("convert f32[2] --to x86", "'x86' is not one of"),
    ("convert f32[2] --to morello --type f32", "leave out --type"),
    ("code '[0, 1]'", "no shape given for [0, 1]\n"),
    (f"code {X} --language latex --shift", "LaTeX has no shifts\n"),
    (f"code {X} --language cobol", "'cobol' is not one of 'c', 'cuda'"),
    (f"code {X} --asserts", "asserts: expected a function, got an expression\n"),
    (f"code {X} --function --name int", "'int' is not a name in C\n"),
    ("code i --bounds i=0..3 --inverse", "--inverse was given for an expression\n"),
    ("code i --bounds i=0..3 --shape 3", "--shape was given for an expression\n"),
    ("code N --bounds '' --assuming 'N <= 9'", "--assuming was given for an expression\n"),
    ("code i*j --bounds ''", "(i) * (j) is a product of two variables\n"),
    ("code i --bounds i=0..18446744073709551615", "the number is too large\n"),
    (f"code {X} -o /nowhere/f.c", "/nowhere/f.c could not be written\n"),
    ("code s8[9223372036854775807,3]{1,0}", "a value from 0 to "),
    ("code '(f32[2], f32[3])'", "expected one array, got (f32[2]{0}, f32[3]{0})\n"),
    ("loops f32[6,8] f32[8,6]", "OTHER: expected the shape (6, 8) of LAYOUT, got (8, 6)"),
    ("loops f32[6,8] --tile i", "--tile: expected a coordinate and the size of a tile, got 'i'"),
    ("loops f32[6,8] --tile i=0", "--tile: expected a coordinate and the size of a tile"),
    ("loops f32[6,8] --tile i=1,i=2", "--tile: i has two values"),
    (f"loops f32[6,8] --tile i={'9' * 10_000}", "--tile: expected a coordinate"),
    ("loops f32[6,8] --order i", "order: expected each of d0, d1"),
    ("loops f32[6,8] --indices d0=1", "indices: expected no loops"),
    ("loops f32[6,8] --indices d0", "--indices: expected pairs"),
    ("loops f32[6,8] --names if,j", "'if' is not a name in C"),
    ("draw '[0, 1]'", "such as --shape 6x8"),
    ("draw f32[M,8]", "numbers for the symbolic sizes M"),
    ("draw f32[3,5] --mark 3,0", "no element (3, 0)"),
    ("draw f32[3,5] --mark six", "--mark: expected a coordinate, got 'six'"),
    ("draw f32[3,5] --box 1,", "--box: expected a coordinate, got '1,'"),
    ("draw f32[3,5] --box-tiles 2", "from 0 to 0, got 2"),
    ("draw f32[3,5] f32[5,3]", "shapes differ"),
    ("draw f32[M,5]{1,0}", "give them: --at M=16"),
    ("draw f32[M,N] --at M=3", "give each of them once: --at M=16,N=16"),
    ("draw f32[M,N] --at M", "--at: expected name=number, got 'M'"),
    ("draw f32[3,5] --at M=3", "leave the numbers out: all sizes are numbers already"),
    ("draw f32[3,5] -o x.gif", "expected an ending of a picture format, got '.gif'"),
    ("draw f32[3,5] -o /nowhere/x.svg", "could not be written"),
    ("draw f32[3,5] --rows 0", "--rows"),
    ("draw f32[3,5] --colour red", "--colour"),
]


@each_row("line, status, words", ANSWERS)
def test_answers(line: str, status: int, words: str) -> None:
    result = run(line)
    assert result.exit_code == status, result.output
    assert words in result.stdout
    assert bool(result.stderr) == (line.startswith("convert") and status > 0)


@each_row("line, words", REFUSED)
def test_refusals(line: str, words: str) -> None:
    result = run(line)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr) < 2000
    assert len(result.stderr.splitlines()) >= 2


@pytest.mark.parametrize("name", ["convert f32[3,5]{1,0:T(2,2)}"])
def test_without_a_notation_all_are_tried(name: str) -> None:
    lines = dict(re.findall(r"^  (\w+) +(.+)", run(name).stdout, re.MULTILINE))
    assert [*lines] == [*NOTATIONS]
    assert lines["morello"].startswith("none: 9 of 24 slots are padding")
    assert run(f"{name} --to all").stdout == run(name).stdout
    answer = json.loads(run(f"{name} --json").stdout)
    assert [each["to"] for each in answer["conversions"]] == [*NOTATIONS]


@pytest.mark.parametrize(
    ("line", "exists"),
    [
        ("convert '[1, 0, 1 p(4)]' --shape 6x8 --to xla", True),
        ("convert f32[3,5]{1,0:T(2,2)} --to morello", False),
        ("convert '[0, 0 oe(4), 1, 0 p(2)]' --shape M,N --to xla", None),
    ],
)
def test_json_of_what_does_not_exist(line: str, exists: bool | None) -> None:
    result = run(f"{line} --json")
    answer = json.loads(result.stdout)
    assert (answer["exists"], result.stderr) == (exists, "")
    assert (answer["reason"] is None) == (answer["layout"] is not None) == (exists is True)


def test_code_goes_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    assert run(f"code {X} --function -o {path}").stdout == ""
    assert path.read_text() == ml.code(X, "c", function=True) + "\n"


def test_numbers_for_symbolic_sizes() -> None:
    sized = run("code f32[M,N]{1,0:T(8,128)} --at M=10,N=200").stdout
    assert sized == run("code f32[10,200]{1,0:T(8,128)}").stdout


@pytest.mark.parametrize("target", TARGETS)
def test_each_language(target: str) -> None:
    found = run(f"code {X} --language {target} --function --cheapest").stdout
    assert found == ml.code(X, target, function=True, simplified="cheapest") + "\n"
    pair = ("f32[60,64]{1,0}", "{1,0:T(8,128)}")
    printed = run(f"relayout {pair[0]} {pair[1]} --language {target}").stdout
    if target not in ("c", "cuda", "python"):
        is_code = target in ("triton", "rust")
        name = "relayout" if is_code else None
        assert printed == f"{ml.code(ml.relayout(*pair), target, function=is_code, name=name)}\n"


@given(
    st.text(alphabet="bf16s32[]{}(),:T*LESMC0123456789xpoe -?<=ijN/%", max_size=24),
    st.sampled_from(TARGETS),
    st.sampled_from([(), ("--function",), ("--shift",), ("--inverse",), ("--bounds", "i=0..9")]),
)
def test_rubbish_never_gives_a_traceback(text: str, target: str, more: tuple[str, ...]) -> None:
    result = CliRunner().invoke(commands, ("code", "--language", target, *more, "--", text))
    assert result.exit_code in (0, 2), (text, result.exception)
