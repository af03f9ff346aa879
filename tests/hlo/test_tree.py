"""``hlo --tree``, and operations in words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import morello_layouts as ml
from morello_layouts.interfaces.explanations.report import opcode_words
from morello_layouts.programs.hlo import HloModule
from morello_layouts.programs.hlo.module import HloTree
from tests.cli.test_explain import run
from tests.support.hlo_xla import programs

LINE = re.compile(r" *(ROOT )?(\S+) = (\S+)\(")


@pytest.fixture(scope="module")
def modules() -> dict[str, HloModule]:
    return {name: ml.read_hlo(text) for name, text in programs().items()}


def test_each_instruction_stands_in_the_tree_once(modules: dict[str, HloModule]) -> None:
    for name, module in modules.items():
        lines = list(HloTree(module).lines())
        found = [match[2] for line in lines if (match := LINE.match(line))]
        assert sorted(found) == sorted(i.name for i in module.instructions), name
        assert lines[1] == f"ENTRY {module.entry.name}", name


def test_what_is_called_stands_below_its_first_caller() -> None:
    call = "ROOT %x = f32[] call(%p), to_apply=%{}"
    text = "\n".join(
        f"%{name} (p: f32[]) -> f32[] {{\n%p = f32[] parameter(0)\n{call.format(other)}\n}}"
        for name, other in (("a", "b"), ("b", "a"))
    )
    assert [*HloTree(ml.read_hlo(text)).lines()] == [
        "HloModule: 2 computations, 4 instructions",
        "a",
        "  p = parameter(0)  f32[]",
        "  ROOT x = call(p)  f32[]",
        "    b",
        "      p = parameter(0)  f32[]",
        "      ROOT x = call(p)  f32[]",
        "        a, as above",
    ]


def test_the_command_prints_it(tmp_path: Path) -> None:
    file = tmp_path / "dump.txt"
    file.write_text("HloModule m\nENTRY %e () -> s32[] {\nROOT %c = s32[] constant(7)\n}\n")
    assert run("hlo", str(file), "--tree").stdout == (
        "HloModule m: 1 computation, 1 instruction\nENTRY e\n  ROOT c = constant(7)  s32[]\n"
    )


def test_every_operation_that_compilers_wrote_has_words(
    modules: dict[str, HloModule],
) -> None:
    unknown = {i.opcode for m in modules.values() for i in m.instructions if not opcode_words(i)}
    assert unknown == set()


@pytest.mark.parametrize("more", [("--tree",), ("--indexing", "a")])
def test_a_tree_has_no_page_and_no_second_program(tmp_path: Path, more: tuple[str, ...]) -> None:
    file = tmp_path / "a.txt"
    file.write_text("%a = f32[8]{0} parameter(0)")
    page = run("hlo", str(file), *more, "--html", str(tmp_path / "a.html"))
    assert (page.exit_code, page.stderr.splitlines()[1]) == (2, "a page shows a report")
    both = run("hlo", str(file), str(file), *more)
    assert (both.exit_code, both.stderr.partition(":")[0]) == (2, more[0])
