"""Files of MLIR: what their statements move, judged by NumPy, by PTX and by hand."""

from __future__ import annotations

import json
import random
import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import morello_layouts as ml
from morello_layouts.core.limits import MLIR_QUESTIONS, MLIR_TYPES
from morello_layouts.interfaces.cli.main import commands
from morello_layouts.programs.mlir import MlirFolder, MlirReport
from tests.support.paths import DATA, rows
from tests.support.tables import each_row

FILES = DATA / "mlir"
AXES = ("warp", "lane", "register")


def report(source: Any) -> MlirReport:
    found = ml.read_mlir(source)
    assert isinstance(found, MlirReport)
    return found


def places(bases: dict[str, Any], shape: tuple[int, ...], axes: tuple[str, ...]) -> Any:
    """The element at each place, as Triton's bases say: an array over the axes."""
    found = np.zeros((1,) * len(axes), np.int64)
    strides = [int(np.prod(shape[k + 1 :])) for k in range(len(shape))]
    for k, name in enumerate(axes):
        values = np.zeros(1, np.int64)
        for vector in bases.get(name, []):
            values = np.concatenate([values, values ^ int(np.dot(vector, strides))])
        found = found ^ values.reshape([-1 if j == k else 1 for j in range(len(axes))])
    return found


def kind_of(source: Any, target: Any) -> str:
    """What suffices, by looking for each element of the target among those of the source."""
    threads = [*product(range(target.shape[0]), range(target.shape[1]))]
    registers = min(source.shape[2], target.shape[2])
    if source.shape[2] >= target.shape[2] and (source[..., :registers] == target).all():
        return "nothing"
    if all({*target[w, lane]} <= {*source[w, lane]} for w, lane in threads):
        return "registers"
    if all({*target[w].ravel()} <= {*source[w].ravel()} for w in range(len(target))):
        return "shuffle"
    return "shared memory"


def test_conversions_are_as_numpy_finds_them() -> None:
    """Pairs of recorded encodings, and those with a bit of registers and lanes exchanged."""
    draw, every, seen = random.Random(4), dict[Any, Any](), dict[str, int]()
    for row in rows("triton_encodings.jsonl.xz"):
        text, bases = row["text"], row["bases"]
        if text.startswith("tensor") and "lane" in bases and not bases.get("block"):
            shape = tuple(map(int, re.match(r"tensor<([\dx]+)x", text)[1].split("x")))  # type: ignore[index]
            threads = len(bases["lane"]), len(bases.get("warp", []))
            if np.prod(shape) <= 1024 and threads[1] < 3:
                every.setdefault((shape, threads), []).append((text, bases))
    pairs = []
    for (shape, _), own in every.items():
        for text, bases in own:
            pairs.append((shape, (text, bases), draw.choice(own)))
            other = {name: [*bases.get(name, [])] for name in AXES}
            k, name = draw.randrange(len(other["lane"])), draw.choice(("register", "warp", "lane"))
            if other[name]:
                j = draw.randrange(len(other[name]))
                other["lane"][k], other[name][j] = other[name][j], other["lane"][k]
            fields = ", ".join(f"{name} = {json.dumps(other[name])}" for name in AXES)
            head = text.partition(", #")[0]
            pairs.append((shape, (text, bases), (f"{head}, #ttg.linear<{{{fields}}}>>", other)))
    for shape, (text, bases), (other, target) in pairs:
        head, own = text.partition(", #")[0], other.partition(", #")[2]
        whole = report(f"%1 = ttg.convert_layout %0 : {text} -> {head}, #{own}\n")
        assert whole.moves, str(whole)
        found = whole.moves[0]
        one, two = (places(each, shape, AXES) for each in (bases, target))
        assert found.kind == kind_of(one, two), (text, other)
        seen[found.kind] = seen.get(found.kind, 0) + 1
        if found.kind == "shared memory":
            width = ml.parse(text).element.bits
            assert found.bytes == len({*two.ravel()}) * width // 8
        elif found.kind != "shuffle":
            assert (found.bytes, found.shuffles) == (0, 0)
    assert len(pairs) > 150
    assert min(seen[kind] for kind in ("nothing", "registers", "shuffle", "shared memory")) > 3


def test_triton_never_takes_less() -> None:
    """It takes more where lanes hold copies already, or shuffles are many."""
    order, equal = ("nothing", "registers", "shuffle", "shared memory"), 0
    every = rows("triton_conversions.jsonl.xz")
    for row in every:
        text = f"%1 = ttg.convert_layout %0 : {row['source']} -> {row['target']}\n"
        found = report(text).moves[0]
        kind = "registers" if found.kind == "nothing" else found.kind
        assert order.index(kind) <= order.index(row["emits"]), text
        if kind == row["emits"]:
            assert found.shuffles <= row["shuffles"] or kind != "shuffle", text
            equal += 1
    assert (equal, len(every)) == (45, 67)


def test_loads_of_shared_memory_are_as_triton_counts_them() -> None:
    others, instructions = 0, set()
    for row in rows("triton_conflicts.jsonl.xz"):
        text = f"%1 = ttg.local_load %0 : {row['shared']} -> {row['registers']}\n"
        found = report(text).moves[0]
        assert (found.kind, found.wavefronts is not None) == ("load", True), text
        others += (found.ways != 1) != bool(row["conflicts"])
        instructions.add(found.words.partition(" with ")[2])
    assert others == 1  # phases that merge, which Triton does not count
    assert len(instructions) > 2


def test_what_triton_compiles_to() -> None:
    """PTX of this file, by Triton 3.9: 20 ldmatrix.x4, 20 with .trans, 48 cp.async of 16 bytes.

    A load of 128x16 halves by 2 rows of warps takes 4 ldmatrix.x4 of a warp, and there are five.
    """
    found = report(FILES / "matmul_sm80.ttgir")
    assert (found.name, found.machine) == ("matmul", ("cuda:80", 4, 32, 1))
    told = {(m.operation, m.words.partition(";")[0], m.times, m.bytes) for m in found.moves}
    tile = 128 * 64 * 2
    assert told == {
        ("ttg.convert_layout", "through shared memory, 32,768 bytes for each block", 1, 2 * tile),
        ("ttg.local_alloc", "32.00 KiB in 2 buffers", 1, 2 * tile),
        ("ttg.async_copy_global_to_local", "no conflicts with vectors of 128 bits", 3, tile),
        ("ttg.local_load", "no conflicts with ldmatrix", 5, tile // 4),
        ("ttg.local_load", "no conflicts with ldmatrix.trans", 5, tile // 4),
    }
    assert found.shared_bytes == 4 * tile
    assert found.unread == ()
    summary = found.summary().lines
    assert summary[0] == "1 conversion: 32.00 KiB through shared memory"
    assert summary[1] == "no bank conflicts in 16 loads and stores"


def test_attention_and_tensor_memory() -> None:
    """PTX of the first: 24 ldmatrix.x4 (4 of Q, 16 of K, 4 of the conversion), 16 .trans of V."""
    ampere, blackwell = (report(FILES / f"attention_{name}.ttgir") for name in ("sm80", "sm100"))
    kinds = [m.kind for m in ampere.moves if m.operation == "ttg.convert_layout"]
    assert kinds == ["shared memory", "nothing"]
    loads = [m.words.partition(";")[0] for m in ampere.moves if m.kind == "load"]
    ways = ["no conflicts with ldmatrix", "no conflicts with ldmatrix.trans"]
    assert loads == [ways[0], *ways]
    assert blackwell.unread[0].startswith("#tmem = #ttng.tensor_memory_encoding")
    assert all(each.startswith("#tmem") for each in blackwell.unread)
    said = {m.operation: m.words for m in blackwell.statements}
    assert said["ttng.tmem_load"] == "moves between registers and tensor memory"


@each_row("name", sorted(path.name for path in FILES.iterdir()))
def test_no_statement_is_passed_over(name: str) -> None:
    """Operations counted line by line: each is explained or listed as not read."""
    text = (FILES / name).read_text()
    lines = [line.strip() for line in text.splitlines()]
    operation = re.compile(r'(?:%[^=]*= )?"?([a-z]\w*(?:\.[\w.]+)+|module|call|return)\b')
    named = [match[1] for line in lines if (match := operation.match(line))]
    found = report(FILES / name)
    told = dict[Any, Any]()
    for m in found.statements:  # an allocation that is written at once is two statements
        told.setdefault((m.operation, m.lines), m)
    assert sum(m.times for m in told.values()) == len(named)
    assert {m.operation for m in found.statements} == {*named}
    assert all(m.words for m in found.statements)
    aliases = {
        line.partition(" =")[0] for line in lines if re.match(r"#(?!smem|space)\w+ = ", line)
    }
    assert aliases <= {each.name.partition(" =")[0] for each in found.layouts}


def test_arguments_of_a_sharded_function() -> None:
    for name in ("mlp_sdy", "mlp_gspmd"):
        found = report(FILES / f"{name}.mlir")
        told = [(a.name, a.sharding, a.bytes, a.device_bytes) for a in found.arguments]
        assert told == [
            ("%arg0", "d0 in 4 parts, each on 2 devices", 64 * 512 * 4, 64 * 512),
            ("%arg1", "d1 in 2 parts, each on 4 devices", 512 * 1024 * 4, 512 * 1024 * 2),
            ("%arg2", "d0 in 2 parts, each on 4 devices", 512 * 1024 * 4, 512 * 1024 * 2),
            ("result 0", "d1 in 4 parts, each on 2 devices", 64 * 512 * 4, 64 * 512),
        ]
        assert found.unread == ()


def test_layouts_that_arguments_ask_for() -> None:
    found = report(FILES / "layouts.mlir")
    assert [a.layout for a in found.arguments] == [
        "{0,1}: column-major, untiled",
        *("as the compiler chooses",) * 2,
    ]


def test_memrefs_vectors_and_packs() -> None:
    """By hand: a column-major memref has neighbours down a column, 64 elements a column."""
    found = report(FILES / "memory.mlir")
    vectors = [m.words for m in found.moves if m.kind == "vector"]
    assert sorted(vectors) == [
        "1 piece of 32 bytes in memory",
        "1 piece of 512 bytes in memory",
        "2 pieces of 32 bytes in memory",
        "32 pieces of 4 bytes in memory",
    ]
    (pack,) = (m for m in found.moves if m.kind == "pack")
    assert pack.bytes == 4 * 3 * 64 * 4
    assert (
        pack.words
        == f"tiles 8x8 of dimensions 0 and 1, {(768 - 510) * 4 / 1024:.2f} KiB of padding"
    )
    words = {each.name: each.words for each in found.layouts}
    assert words["#columns"] == "offset 64*d1 + d0 of 2048 slots"
    assert found.unread[1] == "test.unknown"
    assert found.unread[0].startswith("#sparse = #sparse_tensor.encoding")


ALIAS = (
    "#a = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], "
    "order = [0]}>\n"
)


@each_row(
    "text, line, column, what",
    [
        (
            "%0 = arith.addi %a, %b : i32\nhello world\n",
            2,
            1,
            "expected a statement, found 'hello'",
        ),
        ("module {\n  }\n}\n", 3, 1, "'}' closes nothing"),
        ("%0 = foo.bar(%a]\n", 1, 16, "']' closes nothing"),
        ("%0 = foo.bar(%a\n", 1, 13, "expected the end of this '('"),
        ('%0 = foo.bar "x\n', 1, 14, "expected the end of this string"),
        ("%0 = tt.load %p : tensor<32xf32, #b>\n", 1, 34, "#b is not defined"),
        (ALIAS + ALIAS.replace("[32]", "[16]"), 2, 1, "#a is defined twice, first on line 1"),
        ("\n" + ALIAS.replace("[32]", "[x]"), 2, 59, "an unexpected x"),
        (ALIAS + "%1 = tt.load %p :\n  tensor<32yf32, #a>\n", 3, 10, "expected"),
        ("%1 = foo.bar " + "(" * 101 + "\n", 1, 114, "brackets nest deeper than 100"),
    ],
)
def test_wrong_texts(text: str, line: int, column: int, what: str) -> None:
    with pytest.raises(ml.ParseError) as caught:
        report(text)
    error = caught.value
    assert (error.line, error.column) == (line, column), str(error)
    assert error.what.startswith(f"line {line}: {what}"), error.what
    assert error.fix


def test_what_is_known_but_means_nothing_is_not_read() -> None:
    """A newer field, an unknown encoding, sizes that are not powers of two: named, no error."""
    text = (
        ALIAS.replace("order", "colour = [0], order"),
        "#b = #foo.bar<1>\n%1 = tt.load %p : tensor<32xf32, #a>\n",
        "%2 = ttg.convert_layout %1 : tensor<32xf32, #a> -> tensor<32xf32, #b>\n",
    )
    found = report("".join(text))
    told = [each.partition(":")[0] for each in found.unread]
    assert told == ["#a = #ttg.blocked", "#b = #foo.bar<1>", "ttg.convert_layout"]
    odd = report(f"{ALIAS}%2 = ttg.convert_layout %1 : tensor<48xf32, #a> -> tensor<48xf32, #a>\n")
    assert odd.unread[-1] == "ttg.convert_layout"
    assert "power of two, got 48" in odd.layouts[0].name


def test_texts_that_end_early_or_go_on() -> None:
    cut = report("module @m {\n  func.func @main() {\n    return\n")
    assert cut.warnings == ("the text ends inside the region of line 1",)
    row = "%1 = ttg.convert_layout %0 : tensor<64xf32, #a> -> tensor<64xf32, #b>\n"
    other = ALIAS.replace("#a", "#b").replace("[1]", "[2]", 1)
    two = report(f"{ALIAS}{other}{row}// -----\n{ALIAS}{ALIAS.replace('#a', '#b')}{row}")
    assert sorted(m.kind for m in two.moves) == ["nothing", "shuffle"]
    assert [each.name for each in two.layouts] == ["#a", "#b"] * 2
    resources = 'module @m {\n}\n{-#\n  dialect_resources: { builtin: { a: "0x08" } }\n#-}\n'
    assert report(resources).count == 1


def test_work_is_bounded() -> None:
    types = MLIR_TYPES + 5
    text = "".join(
        f"%{k} = memref.alloc() : memref<{k}x4xf32, strided<[9, 1]>>\n" for k in range(1, types)
    )
    found = report(text)
    assert found.count == types - 1
    assert found.unread == (f"types after the first {MLIR_TYPES:,}",)
    kinds = "".join(f"%{k} = foo.op{k} %a : i32\n" for k in range(MLIR_QUESTIONS + 7))
    many = report(kinds)
    assert sum(m.times for m in many.statements) == MLIR_QUESTIONS + 7
    assert "other statements" in many.unread


def test_a_folder(tmp_path: Path) -> None:
    """Triton's cache, and a dump of XLA, whose HLO is reported as hlo does."""
    for k, name in enumerate(("matmul_sm80.ttgir", "mlp_sdy.mlir")):
        (tmp_path / f"HASH{k}").mkdir()
        (tmp_path / f"HASH{k}" / name).write_text((FILES / name).read_text())
    (tmp_path / "wrong.mlir").write_text("module {\n")
    (tmp_path / "worse.ttgir").write_text("hello\n")
    program = "HloModule m\n\nENTRY e {\n  ROOT a = f32[3]{0} parameter(0)\n}\n"
    (tmp_path / "m.cpu_after_optimizations.txt").write_text(program)
    found = ml.read_mlir(tmp_path)
    assert isinstance(found, MlirFolder)
    assert [Path(path).name for path, _ in found.files] == [
        "matmul_sm80.ttgir",
        "mlp_sdy.mlir",
        "wrong.mlir",
    ]
    assert [Path(path).name for path, _ in found.failures] == ["worse.ttgir"]
    assert found.hlo is not None
    assert found.hlo.programs == 1
    text = CliRunner().invoke(commands, ["mlir", str(tmp_path)]).stdout
    assert "1 conversion: 32.00 KiB through shared memory" in text
    (tmp_path / "empty").mkdir()
    with pytest.raises(ml.LayoutError, match="has no files of MLIR"):
        ml.read_mlir(tmp_path / "empty")


def test_dictionaries_and_pages() -> None:
    found = report(FILES / "matmul_sm80.ttgir")
    facts = found.to_dict()
    assert json.loads(json.dumps(facts)) == facts
    assert (facts["target"], facts["warps"], facts["shared_bytes"]) == ("cuda:80", 4, 65536)
    assert "<table>" in found.html()


def _xegpu(source: str, target: str) -> str:
    return (
        "gpu.module @m {\n  %1 = xegpu.convert_layout %0 <{\n"
        f"    input_layout = #xegpu.layout<{source}>,\n"
        f"    target_layout = #xegpu.layout<{target}>}}> : vector<32x32xf32>\n}}\n"
    )


@each_row("source, target, kind, size", [
    ("lane_layout = [1, 16], lane_data = [1, 1]",
     "inst_data = [8, 16], lane_layout = [1, 16], lane_data = [1, 1]", "registers", 0),
    ("lane_layout = [1, 16], lane_data = [1, 1]", "lane_layout = [1, 16]", "shuffle", None),
    ("lane_layout = [1, 16], lane_data = [1, 1]", "lane_layout = [16, 1]", "shuffle", None),
    ("sg_layout = [2, 1], lane_layout = [1, 16], lane_data = [1, 1]",
     "sg_layout = [1, 2], lane_layout = [1, 16], lane_data = [1, 1]", "shared memory", 4096),
])  # fmt: skip
def test_conversions_of_xegpu(source: str, target: str, kind: str, size: int | None) -> None:
    """By hand: lanes have the same columns in another order, or pairs of them, or rows."""
    found = report(_xegpu(source, target))
    assert [m.kind for m in found.moves] == [kind]
    assert size is None or found.moves[0].bytes == size
    assert [each.uses for each in found.layouts] == [1, 1]
    assert found.unread == ()


def test_layouts_of_mosaic_stand_in_attributes() -> None:
    found = report(
        '%1 = tpu.relayout %0 {in_layout = [#tpu.vpad<"32,{0,*},(8,128)">], '
        'out_layout = [#tpu.vpad<"none">]} : vector<8x8xf32> -> vector<8x8xf32>\n'
    )
    assert [(each.name, each.uses) for each in found.layouts] == [
        ('#tpu.vpad<"32,{0,*},(8,128)">', 1)
    ]
    assert "all columns are the same" in found.layouts[0].words


@each_row("text", [
    "%1 = vector.transfer_read %0 : vector<4xf32>",
    "%1 = vector.transfer_read %0 : memref<4xf32>, vector<?xf32>",
    "%1 = ttg.convert_layout %0 : memref<4xf32>",
    "%1 = ttg.local_alloc %0 : memref<4xf32>",
])  # fmt: skip
def test_types_that_an_operation_does_not_have(text: str) -> None:
    (found,) = report(f"{text}\n").statements
    assert found.kind == "not read"
    assert found.words.startswith(("its types are not", "expected two types"))
