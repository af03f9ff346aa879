"""Reading HLO: what each part of the text becomes."""

from __future__ import annotations

import contextlib
import copy
import gc
import pickle
import re
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import morello_layouts as ml
from morello_layouts.programs import hlo
from morello_layouts.programs.hlo import read_hlo
from tests.support.hlo_xla import programs
from tests.support.paths import DATA
from tests.support.tables import each_row

ADD = "add.936 = bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)} add(exponential.183, broadcast.3115)"
FUSION = (
    "%fusion.3 = bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)} "
    "fusion(bf16[32,32,8192]{2,1,0:T(8,128)(2,1)S(1)} %fusion.32), "
    "kind=kCustom, calls=%all-reduce-scatter.3"
)


def one(text: Any) -> Any:
    (found,) = read_hlo(text + "\n").instructions
    return found


def entry(*lines: Any) -> Any:
    return read_hlo("\n".join(["HloModule m", "", "ENTRY %e {", *lines, "}", ""]))


@pytest.mark.parametrize("text", [ADD, ADD.replace(" ", "\n"), ADD.replace(", ", ",\r\n\t")])
def test_a_bare_instruction(text: str) -> None:
    i = one(text)
    assert (i.name, i.opcode) == ("add.936", "add")
    assert i.shape == ml.parse("bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)}")
    assert i.operands == i.operand_names == ("exponential.183", "broadcast.3115")
    assert i.attributes == {}


@pytest.mark.parametrize("text", [FUSION, FUSION.replace(" ", "\n "), FUSION.replace("%", "")])
def test_a_bare_fusion(text: str) -> None:
    i = one(text)
    assert (i.name, i.opcode) == ("fusion.3", "fusion")
    assert i.shape == ml.parse("bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)}")
    assert i.operands == ("fusion.32",)
    assert i.operand_shapes == (ml.parse("bf16[32,32,8192]{2,1,0:T(8,128)(2,1)S(1)}"),)
    assert i.attributes["kind"] == "kCustom"
    assert i.called_computations == ("all-reduce-scatter.3",)


def test_several_bare_instructions_know_each_other() -> None:
    module = read_hlo("a = f32[8] parameter(0)\nb = f32[8] negate(%a)\nc = f32[8] add(a, z)\n")
    a, b = module.instruction("a"), module.instruction("%b")
    assert b.operands == (a,)
    assert b.operands[0] is a
    assert module.instruction("c").operands == (a, "z")
    assert module.name == ""
    assert module.warnings == ()


def test_operands_may_have_types_of_every_kind() -> None:
    i = one(
        "x = b(f32[8]{0}) custom-call((f32[2], /*index=1*/s32[]) %t, %u, b(f32[8]) %y, f32[] v)"
    )
    assert i.operand_names == ("t", "u", "y", "v")
    assert [str(s) for s in i.operand_shapes] == [
        "(f32[2]{0}, s32[])",
        "None",
        "b(f32[8]{0})",
        "f32[]",
    ]
    assert str(i.shape) == "b(f32[8]{0})"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("iota()", ()),
        ("tuple( )", ()),
        ("tuple(%a, b ,c-1.2_)", ("a", "b", "c-1.2_")),
        ("tuple(%a, %b, /*index=5*/%c)", ("a", "b", "c")),
        ("tuple(%a /* (one) */, %b)", ("a", "b")),
    ],
)
def test_operands(text: str, names: Any) -> None:
    i = one(f"x = f32[8] {text}")
    assert i.operand_names == names
    assert i.operand_shapes == ()
    assert i.literal is None


@each_row(
    "shape",
    [
        "()",
        "(f32[])",
        "((f32[8]{0:T(128)}, bf16[2,3]{1,0:T(8,128)(2,1)}), f32[8]{0}, u32[]{:S(2)})",
        "(f32[8]{0}, token[], opaque[])",
        "(/*index=0*/ (f32[2], /*index=1*/ s32[] ), () , b(u8[2]))",
        "(((((f32[2])))), (((((((((((((((((((((((s8[1]))))))))))))))))))))))))",
        "f32[<=8,3]{1,0}",
        "f32[M,N]{1,0:T(8,128)}",
        "f32[2,7,8]{2,1,0:T(*,2)}",
        "pred[64,512]{1,0:T(32,128)(32,1)E(1)S(1)}",
        "s4[8,128]{1,0:T(8,128)(8,1)E(4)SC(0:24)}",
        "f32[8]{0:T(8)L(16)M(4)}",
    ],
)
def test_shapes_are_those_of_the_layout_grammar(shape: Any) -> None:
    assert one(f"x = {shape} copy-start(%h)").shape == ml.parse(shape)


def test_all_shapes_of_the_programs_are_those_of_the_layout_grammar() -> None:
    lines = (DATA / "hlo_shapes.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 318
    module = read_hlo("".join(f"x{k} = {line} copy(y)\n" for k, line in enumerate(lines)))
    assert [i.shape for i in module.instructions] == [ml.parse(line) for line in lines]


def test_shapes_are_analysed_once() -> None:
    module = read_hlo("".join(f"x{k} = f32[{k % 3},8]{{1,0}} copy(y)\n" for k in range(300)))
    assert module.distinct_shapes == 3
    assert len({id(i.shape) for i in module.instructions}) == 3


@each_row(
    ("text", "literal"),
    [
        ("constant(1)", "1"),
        ("constant(-inf)", "-inf"),
        ("constant({ { 1, 2 }, { 3, 4 } })", "{ { 1, 2 }, { 3, 4 } }"),
        ("constant({(1, -2), (3, nan)})", "{(1, -2), (3, nan)}"),
        ("constant(({1,2},{...},\n 5))", "({1,2},{...},\n 5)"),
        ("constant(" + "1" * 1024 + ")", "1" * 1024),
        ("constant(" + "1" * 1025 + ")", "{...}"),
        ("constant({" + "1," * 5000 + "1})", "{...}"),
        ("constant({\n" + "{ 1, 2 },\n" * 5000 + "{1, 2} })", "{...}"),
        ("parameter(12)", "12"),
    ],
)
def test_literals(text: str, literal: str) -> None:
    i = one(f'x = f32[8] {text}, metadata={{op_name="n"}}')
    assert i.literal == literal
    assert i.operands == ()
    assert i.metadata.op_name == "n"
    assert i.parameter_number == (12 if literal == "12" else None)


def test_every_part_on_a_line_of_its_own() -> None:
    parts = "x = f32[8]{0} fusion ( f32[8]{0} %a , %b , %c ) , kind=kLoop , calls=%f , index=5"
    assert one(parts.replace(" ", "\n")) == one(parts)


def test_the_root_is_the_marked_instruction() -> None:
    lines = ("a = f32[8] parameter(0)", "ROOT b = f32[8] abs(a)", "c = f32[8] negate(a)")
    assert entry(*lines).entry.root.name == "b"
    assert entry(*(line.removeprefix("ROOT ") for line in lines)).entry.root.name == "c"


ATTRIBUTES = {
    "kind": "kLoop",
    "dim_labels": "b01f_01io->b01f",
    "window": "{size=3x3 pad=1_1x1_1}",
    "slice": "{[0:1], [2:5:2]}",
    "padding": "0_0x1_-1_2",
    "replica_groups": "[2,4]<=[4,2]T(1,0)",
    "sharding": "{devices=[2,1]<=[2] last_tile_dim_replicate}",
    "custom_call_target": r'"a \"b\" }, c=(["',
    "frontend_attributes": '{a="b}",c={{d}}}',
    "output_to_operand_aliasing": "{{0}: (0, {}), {1}: (2, {1})}",
    "control-predecessors": "{%copy.1, add-2}",
    "origin": '{{"x" {0}}, {"y"}}',
    "comment": '"/* kept */"',
    "backend_config": '{"flag_configs":[],"a":{"b":["64","3"],"c":"}\\""},"used":true}',
}


def test_attributes_are_kept_as_they_are_written() -> None:
    text = ", ".join(f"{name}={value}" for name, value in ATTRIBUTES.items())
    i = one(f"x = f32[8] fusion(%y), {text}")
    assert i.attributes == ATTRIBUTES
    assert i.attribute_text == text
    assert i.control_predecessors == ("copy.1", "add-2")
    # The scanner reads them as the pattern does.
    broken = "\n ,\n ".join(f"{name}={value}" for name, value in ATTRIBUTES.items())
    assert one(f"x = f32[8]\nfusion(%y)\n, {broken} /* . */").attributes == ATTRIBUTES


@pytest.mark.parametrize("levels", [1, 6, 7, 30, 3000])
def test_braces_nest_to_any_depth(levels: Any) -> None:
    value = "[1]" + "{" * levels + '"}"' + "}" * levels
    i = one(f"x = f32[8] abs(y), a=1, deep={value}, kind=kLoop")
    assert i.attributes == {"a": "1", "deep": value, "kind": "kLoop"}


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("while(t), condition=%c, body=%b", ("b", "c")),
        ("fusion(t), kind=kLoop, calls=%f", ("f",)),
        ("fusion(t), calls=f-1.2, to_apply=%g", ("f-1.2", "g")),
        ("conditional(p, a, b), branch_computations={%b0, b1}", ("b0", "b1")),
        ("conditional(p, a), true_computation=%t, false_computation=%f", ("t", "f")),
        ("select-and-scatter(a), select=%ge, scatter=%add", ("ge", "add")),
        ("custom-call(a), called_computations={%x}", ("x",)),
        ("async-start(a), calls=%wrapped", ("wrapped",)),
        ("add(a, b)", ()),
    ],
)
def test_called_computations(text: str, called: Any) -> None:
    assert one(f"x = f32[8] {text}").called_computations == called


def test_called_computations_are_those_of_the_module() -> None:
    module = read_hlo(programs()["v5e_scan_while"])
    loop = module.instruction("while")
    body, condition = loop.called_computations
    assert body is module.computation("wide.region_0.5.sunk")
    assert condition is module.computation("%wide.region_2.6")
    assert condition.root.opcode == "compare"


def test_computations_inside_attributes_stay_text() -> None:
    module = entry(
        "p = f32[2] parameter(0)",
        "z = f32[] constant(0)",
        "ROOT b = f32[] reduce(p, z), dimensions={0}, to_apply={",
        "  x = f32[] parameter(0)",
        "  y = f32[] parameter(1)",
        "  ROOT q = f32[] add(x, y)",
        '}, metadata={op_name="s"}',
    )
    assert [i.name for i in module.entry] == ["p", "z", "b"]
    assert module.entry.root.called_computations == ()
    assert "ROOT q = f32[] add(x, y)" in module.entry.root.attributes["to_apply"]
    assert module.entry.root.metadata.op_name == "s"


def test_metadata() -> None:
    record = (
        'metadata={op_type="add" op_name="jit(f)/\\"x\\"/\\303\\274{}, a=b" '
        'source_file="a b.py" source_line=7 source_end_line=9}'
    )
    found = one(f"x = f32[8] abs(y), {record}").metadata
    assert found == hlo.HloMetadata('jit(f)/"x"/ü{}, a=b', "add", "a b.py", 7)
    assert found.source == "a b.py:7"
    assert one("x = f32[8] abs(y)").metadata == hlo.HloMetadata()
    assert hlo.HloMetadata().source is None


def test_stack_frames() -> None:
    module = read_hlo(programs()["v3_matmul_int4"])
    found = module.instruction("convolution.1").metadata
    assert found.source == "progs.py:25"
    assert found.source_function == "matmul_int4"
    assert module.instruction("a.1").metadata.source is None
    assert read_hlo("x = f32[8] abs(y), metadata={stack_frame_id=3}").instruction(
        "x"
    ).metadata == hlo.HloMetadata(stack_frame_id=3)


def test_a_source_of_its_own_comes_before_the_tables() -> None:
    tables = (
        'FileNames\n1\n"a.py"\n\nFileLocations\n1 {file_name_id=1 line=2}\n\n'
        "StackFrames\n1 {file_location_id=1\nparent_frame_id=1}\n\n"
    )
    module = read_hlo(
        f"{tables}x = f32[8] abs(y), metadata={{stack_frame_id=1}}\n"
        'z = f32[8] abs(y), metadata={stack_frame_id=1 source_file="b.py" source_line=3}\n'
    )
    assert [i.metadata.source for i in module.instructions] == ["a.py:2", "b.py:3"]


def test_the_header() -> None:
    module = read_hlo(
        "HloModule jit_f.1, is_scheduled=true, "
        "entry_computation_layout={(f32[8]{0:T(256)}, /*index=1*/(s32[], b(u8[4])))->f32[]}, "
        "input_output_alias={ {0}: (0, {}, may-alias) }, num_partitions=4\n"
        "ENTRY %main.2_spmd (a: f32[8], t: (s32[], b(u8[4]))) -> f32[] {\n"
        "  ROOT %c = f32[] constant(0)\n"
        '}, execution_thread="main"\n'
    )
    assert module.name == "jit_f.1"
    assert module.is_scheduled
    assert str(module.entry_computation_layout) == "(f32[8]{0:T(256)}, (s32[], b(u8[4]{0})))->f32[]"
    assert module.attributes["num_partitions"] == "4"
    assert module.attributes["input_output_alias"] == "{ {0}: (0, {}, may-alias) }"
    assert module.entry.signature == "(a: f32[8], t: (s32[], b(u8[4]))) -> f32[]"
    assert module.entry.attributes == {"execution_thread": '"main"'}
    assert not entry("a = f32[] constant(1)").is_scheduled
    assert entry("a = f32[] constant(1)").entry_computation_layout is None


def test_statements_may_share_a_line() -> None:
    module = read_hlo(
        "HloModule m f { a = f32[8]parameter(0) } ENTRY e { %b=f32[8]{0}parameter(0), "
        "sharding={replicated} /* one */ ROOT\nc = f32[8] call(b), to_apply=f // two\n}"
    )
    assert [c.name for c in module.computations] == ["f", "e"]
    assert module.entry.root.called_computations == (module.computation("f"),)
    assert module.entry.root.operands == (module.instruction("b"),)
    assert module.instruction("b").attributes == {"sharding": "{replicated}"}
    assert module.warnings == ()


def test_the_usual_lines_are_read_as_the_others() -> None:
    """The scanner reads all lines of the second text: none of them is as XLA prints it."""
    for text in programs().values():
        usual, other = ml.read_hlo(text), ml.read_hlo(re.sub(r"(?m)([{}])$", r"\1  // end", text))
        assert usual == other
        assert [i.line for i in usual.instructions] == [i.line for i in other.instructions]


def test_python_collects_again_after_reading() -> None:
    for text in ("%a = f32[8]{0} negate(%b)", "%a = f32[8]{0 negate(%b)"):
        with contextlib.suppress(ml.LayoutError):
            ml.diagnose(text)
        assert gc.isenabled()


def test_names_belong_to_their_computation() -> None:
    module = read_hlo(
        "HloModule m\n\n%f {\n  x = f32[1] parameter(0)\n  y = f32[1] negate(x)\n}\n\n"
        "ENTRY %e {\n  x = f32[2] parameter(0)\n  ROOT r = f32[2] negate(x)\n}\n"
    )
    assert module.instruction("x").shape.dims == (2,)
    assert module.computation("f")["x"].shape.dims == (1,)
    assert module.computation("f")["y"].operands[0].shape.dims == (1,)
    assert module.computation("f").root.name == "y"
    assert "y" in module.computation("f")
    assert "y" not in module.entry
    assert module.entry.parameters == (module.entry["x"],)


def test_parameters_are_in_their_order() -> None:
    module = entry("b = f32[2] parameter(1)", "c = f32[3] parameter(10)", "a = f32[1] parameter(0)")
    assert [i.name for i in module.entry.parameters] == ["a", "b", "c"]


def test_values_made_by_hand() -> None:
    shape = ml.parse("f32[8]")
    a = hlo.HloInstruction("a", "parameter", shape, literal="0")
    b = hlo.HloInstruction("b", "abs", shape, ("a",), attribute_text="calls=%f", is_root=True)
    computation = hlo.HloComputation("e", (a, b), is_entry=True)
    module = hlo.HloModule("m", (computation,))
    assert b.operands == ("a",)
    assert b.called_computations == ("f",)
    assert computation["%a"] is a
    assert read_hlo(str(module)) == module


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_values_are_copied_with_what_they_point_to(duplicate: Any) -> None:
    module = read_hlo(programs()["v5e_scan_while"])
    again = duplicate(module)
    assert again == module
    assert again.entry.root.operands[0] is again.entry[again.entry.root.operand_names[0]]


def test_equal_modules_have_equal_hashes() -> None:
    text = programs()["v5e_scan_while"]
    assert len({read_hlo(text), read_hlo(text), read_hlo(ADD)}) == 2


def test_reprs_are_short() -> None:
    module = read_hlo(programs()["v5e_scan_while"])
    assert repr(module) == "HloModule('jit_scan_while', 11 computations, 94 instructions)"
    assert repr(module.entry) == "HloComputation('main.9', 21 instructions, is_entry=True)"
    assert repr(read_hlo(FUSION).instruction("fusion.3")) == (
        "HloInstruction('%fusion.3 = bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)} "
        "fusion(bf16[32,32,8192]{2,1,0:T(8,128)(2,1)S(1)} %fusion.32)')"
    )


def test_files_are_read_line_by_line(tmp_path: Path) -> None:
    text = programs()["v5e_scan_while"]
    path = tmp_path / "dump.txt"
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert read_hlo(path) == read_hlo(str(path)) == read_hlo(text)
    path.write_text(
        "c = f32[] constant(0)\n" + ("z = f32[4096] constant({" + "1, " * 90000 + "1})\n") * 40
    )
    assert path.stat().st_size > 10e6
    tracemalloc.start()
    module = read_hlo(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(module) == 41
    assert peak < 3e6, "memory is for what is kept, and a line or two"


@pytest.mark.slow
def test_progress_is_reported(tmp_path: Path) -> None:
    text = "HloModule m\n\nENTRY e {\n" + "".join(
        f"  x{k} = f32[8]{{0}} iota()\n" for k in range(20000)
    )
    path = tmp_path / "dump.txt"
    path.write_text(text + "}\n")
    for source, total in ((path, path.stat().st_size), (text + "}\n", len(text) + 2)):
        seen: list[tuple[int, int]] = []

        def note(done: int, of: int, seen: list[tuple[int, int]] = seen) -> None:
            seen.append((done, of))

        read_hlo(source, progress=note)
        assert len(seen) >= 4
        assert seen == sorted(seen)
        assert {of for _, of in seen} == {total}
        assert 0 < seen[0][0] < total
        assert seen[-1][0] == total
