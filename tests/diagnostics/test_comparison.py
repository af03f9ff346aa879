"""Two dumps side by side."""

from __future__ import annotations

import json

import pytest

import morello_layouts as ml
from tests.support.diagnosed_programs import NAMES, diagnosis, module

BEFORE = """
ENTRY %main (a: f32[7,128]) -> f32[7,128] {
  %a = f32[7,128]{1,0:T(8,128)} parameter(0)
  %b = f32[7,128]{1,0:T(8,128)} negate(%a)
  ROOT %c = f32[7,128]{1,0:T(8,128)} add(%b, %a)
}
"""
AFTER = """
ENTRY %main (a: f32[7,128]) -> f32[7,128] {
  %a = f32[7,128]{1,0:T(8,128)} parameter(0)
  %copy.1 = f32[7,128]{0,1:T(8,128)} copy(%a)
  %copy.2 = f32[7,128]{0,1:T(8,128)} copy(%a)
  %b = f32[7,128]{0,1:T(8,128)} negate(%copy.1)
  %d = bf16[4,4]{1,0} convert(%b)
  ROOT %c = f32[7,128]{1,0:T(8,128)} add(%b, %copy.2)
}
"""


def test_what_changed() -> None:
    found = ml.compare_hlo(BEFORE, AFTER)
    assert [(t.type, t.difference) for t in found.types] == [
        ("f32[7,128]", 3 * 65536 - 4096),
        ("bf16[4,4]", 32),
    ]
    (layout,) = found.layouts
    assert (layout.instruction, layout.opcode, layout.difference) == ("b", "negate", 61440)
    (copies,) = found.moves
    assert (copies.opcode, copies.before, copies.after, copies.difference) == ("copy", 0, 2, 131072)
    assert copies.effect == "transposes"
    text = str(found)
    assert "New copies and the like" in text
    assert "gone" not in text


def test_swapped_programs_swap_signs() -> None:
    there, back = ml.compare_hlo(BEFORE, AFTER), ml.compare_hlo(AFTER, BEFORE)
    for one, other in ((there.types, back.types), (there.layouts, back.layouts)):
        assert [each.difference for each in one] == [-each.difference for each in other]
    assert [m.difference for m in there.moves] == [-m.difference for m in back.moves]
    assert (there.before, there.after) == (back.after, back.before)
    assert "Copies and the like that are gone" in str(back)


@pytest.mark.parametrize("name", NAMES[::5])
def test_a_program_is_like_itself(name: str) -> None:
    found = ml.compare_hlo(module(name), module(name))
    assert (found.types, found.layouts, found.moves) == ((), (), ())
    assert str(found).startswith("no difference in bytes, layouts and copies\n")


def test_renamed_instructions_do_not_count() -> None:
    found = ml.compare_hlo(BEFORE, BEFORE.replace("%b", "%negate.77"))
    assert (found.types, found.layouts, found.moves) == ((), (), ())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other"),
    [("v3_scan_while", "v5e_scan_while"), ("v3_conv", "tpu7x_conv"), ("v5e_conv", "v5e_reshapes")],
)
def test_differences_add_up(one: str, other: str) -> None:
    found = ml.compare_hlo(module(one), module(other))
    assert (found.before, found.after) == (diagnosis(one).totals, diagnosis(other).totals)
    before, after = (t.parameters + t.results for t in (found.before, found.after))
    whole = after.reserved_bytes - before.reserved_bytes
    assert sum(each.difference for each in found.types) == whole
    written = [sum(m.written_bytes for m in diagnosis(name).moves) for name in (one, other)]
    assert sum(each.difference for each in found.moves) == written[1] - written[0]
    for each in found.layouts:
        assert each.before != each.after
        assert each.before.partition("{")[0] == each.after.partition("{")[0]
    json.dumps(found.to_dict())


def test_warnings_say_which_dump() -> None:
    cut = BEFORE[: BEFORE.rindex("}")]
    found = ml.compare_hlo(cut, AFTER)
    (warning,) = found.warnings
    assert warning.startswith("before: the text ends inside computation main")
