"""Out-of-memory reports: numbers that users of TPUs posted, and what ``oom`` says of them."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

import morello_layouts as ml
from morello_layouts.programs.diagnostics.oom_messages import bytes_of_text, xla_size
from morello_layouts.programs.diagnostics.oom_report import OomAllocation
from morello_layouts.programs.diagnostics.wasteful import INSIDE_REASON, stored_hint
from morello_layouts.programs.report import bytes_text
from tests.support.tables import each_row

# Shape, unpadded size, size, extra memory, expansion; of these issue trackers:
# pytorch/xla 6674, 1965, flowpm 27, tensorflow 30803, ColabFold 62, jax 7404, and others.
KNOWN = [
    ("bf16[2048,1,2048,128]{0,1,3,2:T(4,128)(2,1)}", "1.00G", "4.00G", "3.00G", "4.0"),
    ("s32[8388608,8,4]{2,1,0:T(8,128)}", "1.00G", "32.00G", "31.00G", "32.0"),
    ("u32[12582912,1]{1,0:T(8,128)}", "48.00M", "6.00G", "5.95G", "128.0"),
    ("pred[64,512,2048]{2,1,0:T(8,128)E(32)}", "64.00M", "256.00M", "192.00M", "4.0"),
    ("s32[2048,1,128,128,4]{4,3,2,0,1:T(8,128)}", "512.00M", "16.00G", "15.50G", "32.0"),
    ("f32[4,128,128,9,18]{4,3,0,2,1:T(8,128)}", "40.50M", "512.00M", "471.50M", "12.6"),
    ("s32[29360128,10]{1,0:T(8,128)}", "1.09G", "14.00G", "12.91G", "12.8"),
    ("f32[128,256,896,18]{0,3,2,1:T(8,128)}", "1.97G", "2.62G", "672.00M", "1.3"),
    ("bf16[4,512,512,64]{3,0,2,1:T(4,128)(2,1)}", "128.00M", "256.00M", "128.00M", "2.0"),
    ("f32[1024,245,64]{1,2,0:T(8,128)}", "61.25M", "64.00M", "2.75M", "1.0"),
    ("f32[2000,5000]{1,0:T(8,128)}", "38.15M", "39.06M", "937.5K", "1.0"),
    ("f32[4,256,256,256]{3,0,2,1:T(4,128)}", "256.00M", "256.00M", None, None),
]

# The same, of a compiler that printed no tiles (tensorflow 30803, pytorch/xla 7942; the last made
# up, for a tile of fewer rows).
UNTILED = [
    ("f32[256,512,128,2]{3,2,1,0}", "128.00M", "8.00G", "7.88G", "64.0", "T(8,128)"),
    ("f32[32,128,32,64]{3,0,2,1}", "32.00M", "64.00M", "32.00M", "2.0", "T(8,128)"),
    ("f32[128,3]{1,0}", "1.5K", "64.0K", "62.5K", "42.7", "T(8,128)"),
    ("f32[1024,2,128]{2,1,0}", "1.00M", "2.00M", "1.00M", "2.0", "T(4,128)"),
]


def block(
    shape: str, unpadded: str, size: str, padding: str | None, times: str | None, *, number: int = 1
) -> str:
    lines = [f"  {number}. Size: {size}", f"     Shape: {shape}", f"     Unpadded size: {unpadded}"]
    if padding is not None:
        lines.append(f"     Extra memory due to padding: {padding} ({times}x expansion)")
    lines += ["     Allocation type: HLO temp", f"     {'=' * 26}", "", ""]
    return "\n".join(lines)


def only(text: str, generation: str | None = None) -> OomAllocation:
    (found,) = ml.oom(text, generation).allocations
    return found


@each_row("row", KNOWN, ids=lambda row: row[0])
def test_known_reports_are_reproduced(row: tuple[str, str, str, str | None, str | None]) -> None:
    found = only(block(*row))
    assert found.differences == ()
    assert not found.assumed_tiles
    assert (xla_size(found.reserved_bytes or 0), xla_size(found.data_bytes or 0)) == (
        row[2],
        row[1],
    )
    is_padded = row[3] is not None
    assert bool(found.wastes[0].reasons) == is_padded
    assert (found.alternative is not None) == is_padded


@each_row("column", [1, 2, 3, 4])
@each_row("row", KNOWN[:6], ids=lambda row: row[0])
def test_other_numbers_are_differences(row: tuple[str, ...], column: int) -> None:
    wrong = [*row]
    wrong[column] = wrong[column].replace("0", "7").replace("5", "8").replace("6", "9")
    assert wrong[column] != row[column]
    (difference,) = only(block(*wrong)).differences
    assert (difference.reported, difference.computed) == (wrong[column], row[column])
    assert str(difference) in str(ml.oom(block(*wrong)))


def test_the_second_fits_without_padding() -> None:
    text = block(*KNOWN[1]).replace("HLO temp", "arguments")
    found = only(text, "v3")
    assert found.alternative is not None
    best = found.alternative.suggestion
    assert best is not None
    assert best.factor == 1.0
    assert f"fewer bytes: {best.shape}, 1x: {stored_hint(best)}" in str(ml.oom(text, "v3"))


def test_no_shape_is_offered_for_a_value_inside_a_program() -> None:
    """There the compiler chooses the layout, whatever a reshape or transpose says."""
    found = only(block(*KNOWN[1]), "v3")
    assert found.alternative is not None
    assert found.alternative.suggestion is None
    text = str(ml.oom(block(*KNOWN[1]), "v3"))
    assert INSIDE_REASON in text
    assert "jnp." not in text


@pytest.mark.parametrize("row", UNTILED, ids=lambda row: row[0])
def test_tiles_that_a_report_leaves_out(row: tuple[str, ...]) -> None:
    found = only(block(*row[:5]))
    assert (found.assumed_tiles, found.differences) == (True, ())
    assert row[5] in str(found.wastes[0].shape)
    assert xla_size(found.reserved_bytes or 0) == row[2]


WHOLE = (
    """\
Compilation failure: Ran out of memory in memory space hbm. Used 41.74G of 16.00G hbm. Exceeded \
hbm capacity by 25.74G.

Total hbm usage >= 41.74G:
    reserved        528.00M
    arguments       unknown size

Output size unknown.

  Largest program allocations in hbm:

"""
    + "".join(block(*row, number=k) for k, row in enumerate(KNOWN, 1))
    + """\
  13. Size: 29.66M
     XLA label: register allocator spill slots call depth 2
     Allocation type: scoped
     ==========================

  14. Size: 512.00M
     Operator: op_type="FloorMod" op_name="jit(f)/mod" source_file="a/b c.py" source_line=12
     Shape: f32[4,128,128,9,18]{4,3,0,2,1:T(8,128)}
     Unpadded size: 40.50M
     Extra memory due to padding: 471.50M (12.6x expansion)
     XLA label: %fusion.1668 = f32[4,128,128,9,18]{4,3,0,2,1:T(8,128)} fusion(f32[]{:T(256)} %a), \
kind=kLoop, calls=%fused_computation.1304, metadata={op_type="OneHot" op_na...
     Allocation type: HLO temp
     ==========================

  15. Size: 5.0K
     Shape: (f32[4]{0:T(256)}, (s32[]{:T(256)}, f32[8,128]{1,0:T(8,128)}))
     ==========================

        TPU compilation failed
"""
)


def test_a_whole_report() -> None:
    report = ml.oom(WHOLE)
    assert (report.memory_space, report.used, report.capacity) == ("hbm", "41.74G", "16.00G")
    assert [each.number for each in report.allocations] == list(range(1, 16))
    assert report.generation.name == "v3"  # by the scalar in a label
    spill, fusion, several = report.allocations[12:]
    assert (spill.shape, spill.wastes, spill.alternative) == (None, (), None)
    assert spill.note == "the report gives no shape: this is not an array of the program"
    assert spill.reported_bytes == bytes_of_text("29.66M")
    assert (fusion.instruction, fusion.source) == ("fusion.1668", "a/b c.py:12")
    assert several.reserved_bytes == 1024 + 1024 + 4096
    assert [d.field for d in several.differences] == ["Size"]
    text = str(report)
    assert "Out of memory in HBM: 41.74 GiB needed of 16.00 GiB" in text
    assert "numbers that agree with the layout: 13; that differ: 1; without a layout: 1" in text
    assert "14. HLO temp fusion.1668 (a/b c.py:12)" in text


def test_json() -> None:
    whole = json.loads(json.dumps(ml.oom(WHOLE).to_dict()))
    assert list(whole) == [
        "memory_space", "used", "capacity", "generation", "generation_reason", "messages",
        "allocations", "warnings",
    ]  # fmt: skip
    assert all(
        list(each)
        == [
            "number", "line", "reported", "shape", "assumed_tiles", "data_bytes",
            "reserved_bytes", "agrees", "differences", "reasons", "alternative", "instruction",
            "source", "note",
        ]
        for each in whole["allocations"]
    )  # fmt: skip
    assert [each["agrees"] for each in whole["allocations"]] == [True] * 12 + [None, True, False]
    lines = WHOLE.splitlines()
    for each in whole["allocations"]:
        assert lines[each["line"] - 1].startswith(f"  {each['number']}. Size: ")


@pytest.mark.parametrize(
    "prefix",
    [
        "2020-05-04 09:05:40.719785: E    1578 tensorflow/compiler/xla/xla_util.cc:76] ",
        "(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184] ",
        "> ",
    ],
)
def test_prefixes_of_a_log(prefix: str) -> None:
    logged = "".join(f"{prefix}{line}\n" for line in WHOLE.splitlines())
    assert ml.oom(logged) == ml.oom(WHOLE)


def test_a_report_on_one_line() -> None:
    on_one = ml.oom(f'{{"message": "{json.dumps(WHOLE)[1:-1]}"}}')
    found = [(each.number, each.wastes, each.differences) for each in on_one.allocations]
    assert found == [(e.number, e.wastes, e.differences) for e in ml.oom(WHOLE).allocations]


def test_places_in_a_report_on_one_line() -> None:
    text = '1. Size: 4.0K\n  Operator: op_name="f" source_file="a.py" source_line=7\n'
    text += "  Shape: s32[]\n"
    for on_one in (json.dumps({"message": text}), repr(text)):
        (found,) = ml.oom(on_one).allocations
        assert found.source == "a.py:7"


@pytest.mark.parametrize("escape", ["\x1b", "\\x1b", "\\u001b"])
def test_colours_are_left_out(escape: str) -> None:
    green, end = f"{escape}[1;32m", f"{escape}[0m"
    coloured = re.sub(r"(Size|Shape):(.*)", lambda m: f"{green}{m[1]}:{end}{m[2]}{escape}[m", WHOLE)
    assert ml.oom(coloured) == ml.oom(WHOLE)


def test_numbers_are_those_of_the_report() -> None:
    text = block(*KNOWN[0], number=7) + block(*KNOWN[0], number=9) + "Size: 1.0K\n"
    report = ml.oom(text)
    assert [each.number for each in report.allocations] == [7, 9, 10]
    first, second, _ = report.allocations
    assert first.alternative is second.alternative  # equal arrays are asked about once
    assert "  4.00x      2  bf16[2048,1," in str(report)


def test_a_type_that_is_broken_over_lines() -> None:
    text = block("(f32[8]{0:T(256)},\n       f32[9]{0:T(256)})", "68B", "2.0K", "1.9K", "30.1")
    found = only(text)
    assert found.reserved_bytes == 2048
    assert found.differences == ()


def test_buffers_of_other_compilers() -> None:
    report = ml.oom(
        "Peak buffers:\n\tBuffer 1:\n\t\tSize: 6.00MiB\n"
        '\t\tOperator: op_name="jit(f)/concatenate[dimension=0]" source_file="m.py" source_line=9\n'
        "\t\tXLA Label: concatenate\n\t\tShape: f32[4096,128,3]\n\t\t==========================\n"
        "\n\tBuffer 2:\n\t\tSize: 384.0KiB\n\t\tEntry Parameter Subshape: f32[256,128,3]\n"
    )
    first, second = report.allocations
    assert [first.number, second.number] == [1, 2]
    assert (first.source, first.differences, second.differences) == ("m.py:9", (), ())
    assert second.reserved_bytes == 256 * 128 * 3 * 4


@pytest.mark.parametrize(
    ("shape", "note"),
    [
        ("f33[8]", "cannot be read: "),
        ("f32[8]{0:T(8", "cannot be read: "),
        ("{1,0}", "is not an XLA shape"),
        ("f32[N]", "sizes that are not numbers"),
    ],
)
def test_shapes_that_cannot_be_read(shape: str, note: str) -> None:
    found = only(f"1. Size: 4.0K\n   Shape: {shape}\n")
    assert note in found.note
    assert (found.wastes, found.differences) == ((), ())
    assert found.agrees is None


@pytest.mark.parametrize("text", ["", "\n", "HloModule m\n", "Sizes: 4\n", "Unpadded size: 4.0K\n"])
def test_text_without_a_report(text: str, tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text(text)
    with pytest.raises(ml.LayoutError, match="holds no out-of-memory report"):
        ml.oom(path)


def test_a_report_without_allocations_says_where_to_look() -> None:
    report = ml.oom("Ran out of memory in memory space vmem.\n")
    assert (report.memory_space, report.used, report.allocations) == ("vmem", None, ())
    (message,) = report.messages
    assert (message.needed, message.missing) == (None, None)
    assert "next: make the blocks or scratch of this kernel smaller" in str(report)


def test_an_unknown_generation_is_refused() -> None:
    with pytest.raises(ml.LayoutError, match="not a known generation"):
        ml.oom(WHOLE, "v9")


@pytest.mark.slow
def test_rubbish_gives_a_report_or_an_error() -> None:
    dice = random.Random(5)
    marks = [
        "Size: ",
        "Shape: ",
        "f32[",
        "]",
        "{",
        "}",
        "(",
        "\n",
        "9" * 30,
        "=====",
        "\\n",
        "%",
        "x",
    ]
    for _ in range(150):
        text = WHOLE
        for _ in range(dice.randrange(1, 6)):
            at = dice.randrange(len(text))
            match dice.randrange(3):
                case 0:
                    text = text[:at] + dice.choice(marks) + text[at:]
                case 1:
                    text = text[:at] + text[at + dice.randrange(1, 40) :]
                case _:
                    text = text[:at] + chr(dice.randrange(1, 0x2FFF)) + text[at + 1 :]
        try:
            report = ml.oom(text)
        except ml.LayoutError:
            continue
        json.dumps(report.to_dict())
        assert str(report)
        assert report.html()


def test_sizes_as_xla_prints_them() -> None:
    assert [xla_size(n) for n in (0, 1023, 1024, 1536, 1 << 20, (1 << 20) - 1)] == [
        "0B", "1023B", "1.0K", "1.5K", "1.00M", "1024.0K",
    ]  # fmt: skip
    assert xla_size(1053697) == "1.00M"  # whole KiB first, then the rest is rounded
    assert xla_size(1 << 70) == "1024.00E"
    for n in (5, 10_000, 123_456_789, 1 << 40):
        assert re.fullmatch(r"[\d.]+[KMGT]?B?", xla_size(n))
        assert abs((bytes_of_text(xla_size(n)) or 0) - n) <= n / 100
    assert bytes_text(-2048) == "-2.00 KiB"
    assert bytes_of_text("4.0Q") is bytes_of_text("") is None
