"""A language that the package lacks, JavaScript over BigInt, as one class: formulas and loops."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import ClassVar

import pytest

import morello_layouts as ml
from morello_layouts.outputs.codegen import LANGUAGES, Formulas
from morello_layouts.outputs.codegen.language import PADDING_LAST
from morello_layouts.outputs.codegen.printer import ATOM, IntType, Text
from morello_layouts.outputs.codegen.programs import ProgramLanguage
from tests.support.loop_cases import random_cases
from tests.support.tables import each_row

NODE = shutil.which("node")


class JavaScriptLanguage(ProgramLanguage):
    """JavaScript, whose BigInt truncates as C does."""

    name: ClassVar[str] = "javascript"
    title: ClassVar[str] = "JavaScript"
    reserved: ClassVar[frozenset[str]] = frozenset(["const", "function", "let", "var"])
    has_widths: ClassVar[bool] = False
    binding: ClassVar[str] = "const {name} = {text};"
    check: ClassVar[str] = "console.assert({});"
    loop: ClassVar[str] = "for (let {v} = {start}; {v} < {stop}; ++{v}) {{"
    opening: ClassVar[str] = "function {name}({arguments}) {{"
    typed: ClassVar[str] = "{name}"
    array: ClassVar[str] = typed
    written: ClassVar[str] = typed
    counts: ClassVar[bool] = False

    def literal(self, value: int, kind: IntType | None) -> str:
        return f"{value}n"

    def truth_value(self, condition: Text, kind: IntType | None) -> Text:
        return Text(f"BigInt({condition.text})", ATOM)

    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        program = self.program(formulas, named_results=False, asserts=asserts)
        about = (f"// {line}" for line in formulas.comment(PADDING_LAST))
        results = ", ".join(text for _, text, _ in program.results)
        body = (*self.before(program), f"return [{results}];")
        head = f"function {formulas.name}({', '.join(formulas.arguments)}) {{"
        return "\n".join([*about, head, *(f"    {line}" for line in body), "}"])


@pytest.fixture(autouse=True)
def in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LANGUAGES, "javascript", JavaScriptLanguage)


def run(text: str) -> list[int]:
    """What a text puts into ``out``."""
    if NODE is None:
        pytest.skip("node is not installed")
    shown = "console.log(JSON.stringify(out.map(Number)));"
    source = f"const out = [];\n{text}\n{shown}"
    output = subprocess.run(
        [NODE, "-"], input=source, check=True, stdout=subprocess.PIPE, text=True
    )
    found: list[int] = json.loads(output.stdout)
    return found


def test_its_texts() -> None:
    m = ml.index_map("f32[M,256]{1,0:T(8,128)}", names=("i", "j"))
    assert ml.code("(i - 4)//8", "javascript", {"i": (0, 31)}) == "(i + 4n) / 8n - 1n"
    text = ml.code(m.inverse, "javascript", function=True, asserts=True)
    assert "function coordinates(p, M) {\n    console.assert(M >= 1n);" in text
    assert ml.loops(m).code("javascript", function=True).splitlines()[:3] == [
        "// x: f32[M,256]{1,0:T(8,128)}",
        "function nest(x, M) {",
        "    // i0: tiles of 8 i",
    ]


@each_row("shift", [False, True])
def test_its_formulas_run(shift: bool) -> None:
    m = ml.index_map("f32[19,140]{1,0:T(8,128)}")
    text = ml.code(m, "javascript", function=True, asserts=True, shift=shift)
    calls = (
        "for (let i = 0n; i < 19n; ++i) for (let j = 0n; j < 140n; ++j) out.push(offset(i, j)[0]);"
    )
    assert run(f"{text}\n{calls}") == [m(i, j) for i in range(19) for j in range(140)]


def test_its_nests_run() -> None:
    cases = list(random_cases(12, 5))
    texts = [case.nest("out.push({x});").code("javascript", function=True) for case in cases]
    calls = [
        "nest(" + ", ".join(["null", *(f"{case.sizes[n]}n" for n in case.nest().space.size_names)])
        for case in cases
    ]
    blocks = [f"{{\n{text}\n{call});\n}}" for text, call in zip(texts, calls, strict=True)]
    assert run("\n".join(blocks)) == [int(p) for case in cases for p in case.expected()[1]]
