"""Text that is not HLO, or a part of it: errors with line and caret, warnings, the fuzzer."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.programs.diagnostics import diagnose
from morello_layouts.programs.hlo import read_hlo
from morello_layouts.programs.hlo.reader import platform_of
from tests.support import fuzz_hlo
from tests.support.hlo_xla import programs
from tests.support.tables import each_row

HEAD = "HloModule m\n\nENTRY %e {\n  %a = f32[8]{0} parameter(0)\n"


# What a file of bytes is called.
BYTES = [
    (gzip.compress(HEAD.encode()), "a compressed file"),
    (bz2.compress(HEAD.encode()), "a compressed file"),
    (lzma.compress(HEAD.encode()), "a compressed file"),
    (b"\x28\xb5\x2f\xfd\x04", "a compressed file"),
    (HEAD.encode("utf-16"), "text in UTF-16"),
    (b"\x0a\x05jit_f\x12\x04main", "a protocol buffer"),
]


@each_row(("data", "name"), BYTES)
def test_files_of_bytes_are_told_by_name(data: bytes, name: str, tmp_path: Path) -> None:
    path = tmp_path / "module_0000.after_optimizations.txt"
    path.write_bytes(data)
    with pytest.raises(LayoutError, match=f"^this is {name}"):
        read_hlo(path)


# Attributes that are not understood: the text, those that are, and words of the warning.
KEPT = [
    ("x = f32[8] abs(a), 5=3, kind=kLoop\n", {"kind": "kLoop"}, "an attribute's name"),
    ("x = f32[8] abs(a), kind=}\n", {}, "the value of kind"),
    ("x = f32[8] abs(a), kind\ny = f32[8] abs(a)\n", {}, "'=' and the value of kind"),
    ("x = f32[8] abs(a), b={c,\n d\ny = f32[8] abs(a)\n", {}, "the end of this '{'"),
    ('x = f32[8] abs(a), b={"}"\ny = f32[8] abs(a)\n', {}, "the end of this '{'"),
    ('x = f32[8] abs(a), b={"}\ny = f32[8] abs(a)\n', {}, "the end of this string"),
    ("x = f32[8] abs(a) /* never closed\n\ny = f32[8] abs(a)\n", {}, "expected */"),
    (
        "x = f32[8] abs(a), b=1 <new> form, c=2\n",
        {"b": "1 <new> form", "c": "2"},
        "end of the instruction",
    ),
    (
        "x = f32[8] abs(a), b=c] d, e={f}\ny = f32[8] abs(a)\n",
        {"b": "c] d", "e": "{f}"},
        "expected",
    ),
]


@each_row(("text", "attributes", "words"), KEPT)
def test_an_attribute_that_is_not_understood_is_kept_as_text(
    text: str, attributes: dict[str, str], words: str
) -> None:
    module = read_hlo(text)
    first, *others = module.instructions
    assert first.attributes == attributes
    assert first.attribute_text in text
    assert [i.name for i in others] == ["y"] * text.count("y = ")
    (warning,) = module.warnings
    assert "kept as text: 1, the first on line 1" in warning
    assert words in warning


@each_row(
    "groups",
    [
        "mesh['axis_0'=2,'axis_1'=1,'axis_2'=2] {'axis_2'}",
        "mesh['a'=4], device_ids=([2,2]T(1,0)) {'a':(1)2}",
        "[2,2]<=[2,2]T(1,0)",
        "{{0,2},{1,3}}",
    ],
)
def test_replica_groups_of_a_mesh_are_read(groups: str) -> None:
    text = f"x = f32[8] all-reduce(a), channel_id=5, replica_groups={groups}, to_apply=%add\n"
    module = read_hlo(text)
    (instruction,) = module.instructions
    assert module.warnings == ()
    assert groups in instruction.attribute_text
    assert instruction.attributes["replica_groups"] == groups.partition(", ")[0]
    assert instruction.attributes["to_apply"] == "%add"


def test_an_instruction_may_have_the_name_of_another_text() -> None:
    assert len(read_hlo("module = f32[8] abs(a)\nhlo = f32[8] abs(module)\n")) == 2


def test_lines_are_counted_from_the_top_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "dump.txt"
    path.write_text(
        HEAD + "  b = f32[8]{0} abs(%a)\n" * 0 + "\n" * 5000 + "  b = f32[8] abs(a a)\n}\n"
    )
    with pytest.raises(ParseError, match="line 5005: expected") as caught:
        read_hlo(path)
    assert (caught.value.line, caught.value.column) == (5005, 20)


@pytest.mark.parametrize("name", ["v3_matmul_int4", "tpu7x_sharded_allreduce"])
def test_a_cut_dump_gives_the_statements_before_the_cut(name: str) -> None:
    """Cut after every line, and inside of it: whole instructions stay, and one warning says so."""
    text = programs()[name]
    whole = read_hlo(text)
    lines = text.splitlines(keepends=True)
    for k in range(1, len(lines)):
        at = sum(map(len, lines[:k]))
        for cut in (at, at + len(lines[k]) // 2):
            module = read_hlo(text[:cut] + "\n" * (cut == at))
            kept = [i for i in whole.instructions if i.line <= k]
            found = list(module.instructions)
            assert found[: len(kept)] == kept
            assert len(found) <= len(kept) + 1
            assert bool(module.warnings) is bool(text[cut:].strip())


def test_the_whole_of_a_cut_statement_is_left_out() -> None:
    module = read_hlo(HEAD + "  %b = f32[8]{0} negate(%a), metadata={op_na")
    assert [i.name for i in module.instructions] == ["a"]
    assert module.warnings == (
        "the text ends early, in the statement on line 5",
        "the text ends inside computation e, on line 5",
    )


def test_a_dump_without_its_beginning() -> None:
    text = programs()["v3_matmul_int4"]
    body = text[text.index("  %param_0 = ") :]
    module = read_hlo(body)
    assert [c.name for c in module.computations] == ["main.1", ""]
    assert [i.name for i in module.computations[1]] == [
        "param_0", "fusion.1", "param_1", "fusion.2", "convolution.1",
    ]  # fmt: skip
    assert module.warnings == ("the text begins inside a computation, which ends on line 6",)
    assert read_hlo(text).computation("fused_computation").instructions == (
        module.computations[1].instructions
    )


def test_undefined_operands_give_a_warning() -> None:
    module = read_hlo(HEAD + "  %b = f32[8]{0} add(%a, %lost)\n}\n")
    assert module.warnings == (
        "operands that their computation does not define: 1, the first lost of b on line 5",
    )
    assert module.instruction("b").operands == (module.instruction("a"), "lost")
    assert read_hlo("HloModule m\n\n%f {\n  a = f32[] iota()\n}\n").warnings == (
        "no computation is marked ENTRY: the text may end early",
    )


def rubbish() -> Iterator[Any]:
    """Texts that have cost readers their time or their stack."""
    yield "x = " + "(" * 50000 + ")" * 50000 + " tuple()\n"
    yield "x = f32[8] abs(a), k=" + "{" * 200000 + "\n"
    yield "x = f32[8] abs(a), k=" + "{" * 200000 + "}" * 200000 + "\n"
    yield "x = f32[8] abs(" + "(" * 200000 + ")\n"
    yield "x = f32[8] abs(" + "a, " * 100000 + ")\n"
    yield "x = f32[8] abs(" + "f32[8] a, " * 50000 + "b)\n"
    yield "x = f32[8] abs(a)" + ", k=1" * 100000 + ", \n"
    yield "x = f32[8] abs(a), k=\n" * 20000
    yield "x = f32[8] abs(a),\n" + "k=1,\n" * 100000
    yield "x = f32[8] abs(a)\n" + ", k=1\n" * 3000
    yield "x = f32[8] constant({\n" + "{1, 2},\n" * 100000
    yield "x = f32[8] constant({" + "(1, 2), " * 100000 + "\n"
    yield "{\n" * 100000
    yield "}\n" * 100000
    yield "/*" * 100000 + "\n"
    yield "x = f32[8] abs(a) /*" + "*/ /*" * 100000 + "\n"
    yield '"' * 100001 + "\n"
    yield 'x = f32[8] abs(a), k="' + '\\"' * 100000 + "\n"
    yield "x = f32[" + "1," * 100000 + "\n"
    yield "x = f32[" + "1," * 20000 + "1] abs(a)\n"
    yield "x = f32[8]{" + "0," * 100000 + "\n"
    yield "x = (" + "f32[8], " * 50000 + "f32[8]) tuple()\n"
    yield "x = " + "a" * 200000 + "\n"
    yield "a" * 200000 + "\n"
    yield " " * 200000 + "\n"
    yield "ROOT " * 50000 + "\n"
    yield "ENTRY\n" * 20000
    yield "HloModule m" + ", a" * 50000 + "\n"
    yield "FileNames\n" + '1 "a\n' * 20000
    yield "a = f32[8] iota() " * 20000 + "\n"
    yield "%f (" + "a: (" * 50000 + "\n"
    yield "\x00\ud800\u2028\x85\x1c\n" * 10000


@pytest.mark.slow
@each_row("text", [*rubbish()], ids=range(32))
def test_long_rubbish_is_refused(text: str) -> None:
    assert fuzz_hlo.outcome(text) is None


@pytest.mark.slow
def test_damaged_programs_give_a_module_or_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """1,000 of them; ``python -m tests.support.fuzz_hlo`` tries 10,000."""
    assert fuzz_hlo.main(["--seed", "1", "--count", "1000"]) == 0, capsys.readouterr().out


@pytest.mark.slow
def test_the_fuzzer_finds_modules_and_errors() -> None:
    def is_read(text: Any) -> Any:
        try:
            return bool(read_hlo(text))
        except LayoutError:
            return False

    answers = [is_read(text) for text in fuzz_hlo.variants(3, 300)]
    assert 50 < sum(answers) < 250
    assert list(fuzz_hlo.variants(3, 20)) == list(fuzz_hlo.variants(3, 20))


def test_the_fuzzer_finds_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A reader that trips over a rare line is found, and the variant made small."""

    def tripping(text: Any) -> Any:
        module = read_hlo(text)
        assert "rsqrt" not in {i.opcode for i in module.instructions}
        return module

    monkeypatch.setattr(fuzz_hlo, "read_hlo", tripping)
    assert fuzz_hlo.main(["--seed", "1", "--count", "100"]) == 1
    kind, text, *_ = capsys.readouterr().out.splitlines()
    assert kind.startswith("AssertionError")
    assert text.count("\\n") <= 3
    assert "rsqrt(" in text


@each_row(
    ("text", "platform"),
    [
        ("%a = f32[8]{0:T(128)} add(%b, %c)\n", "TPU"),
        ("%a = f32[8]{0:S(1)} add(%b, %c)\n", "TPU"),
        ('HloModule m, frontend_attributes={fingerprint_before_lhs="ab"}\n', "GPU"),
        ('%a = f32[8] custom-call(%b), custom_call_target="__cublas$gemm"\n', "GPU"),
        ("HloModule m, is_scheduled=true\n", "CPU"),
        ("HloModule m\n", ""),
    ],
)
def test_the_platform_is_told_by_layouts_and_attributes(text: str, platform: str) -> None:
    module = read_hlo(text)
    assert platform_of(module) == platform
    words = f"compiled for a {platform}: its layouts have no tiles of a TPU"
    assert (words in str(diagnose(module))) is (platform in ("CPU", "GPU"))
