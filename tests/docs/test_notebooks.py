"""The notebooks run from top to bottom, and show what they were committed with."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest

import morello_layouts as ml
from tests.support.paths import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
ONE_OF_THEM = [
    path if path.stem.startswith("1_") else pytest.param(path, marks=pytest.mark.slow)
    for path in NOTEBOOKS
]
"""All notebooks; the first is run in every run of the tests."""

LARGEST = 1_500_000  # bytes: what a forge still shows


def cells(path: Path, kind: str) -> list[dict[str, object]]:
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == kind]


def source(cell: dict[str, object]) -> str:
    return "".join(cell["source"])


@pytest.mark.parametrize("path", ONE_OF_THEM, ids=lambda p: p.stem)
def test_a_run_shows_what_is_committed(path: Path) -> None:
    run = subprocess.run(
        [sys.executable, str(ROOT / "notebooks" / "run.py"), "--check", path.name],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_short_and_asserts(path: Path) -> None:
    code, text = cells(path, "code"), cells(path, "markdown")
    assert len(code) + len(text) < 46
    assert source(text[0]).startswith("# ")
    assert path.stat().st_size < LARGEST
    assert sum("assert" in source(cell) for cell in code) >= 3
    assert any('"image/svg+xml"' in json.dumps(cell["outputs"]) for cell in code)
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_each_section_ends_with_an_exercise(path: Path) -> None:
    """A section is what a second-level heading begins; the last says where to go on."""
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    sections: list[list[str]] = []
    for cell in found:
        if cell["cell_type"] == "markdown" and source(cell).startswith("## "):
            sections.append([])
        if sections:
            sections[-1].append(source(cell))
    assert len(sections) >= 3
    without = [s[0].splitlines()[0] for s in sections[:-1] if "ml.exercises." not in "\n".join(s)]
    assert not without


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_the_end_sums_up_each_section(path: Path) -> None:
    text = [source(cell) for cell in cells(path, "markdown")]
    sections = sum(cell.startswith("## ") for cell in text) - 1
    title, _, rest = text[-1].partition("\n")
    assert title == "## What you know now"
    summary, _, onward = rest.partition("### Where to go on")
    assert summary.count("\n- ") >= sections
    assert "](" in onward


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_text_reads_without_a_renderer_of_formulas(path: Path) -> None:
    assert not [source(cell) for cell in cells(path, "markdown") if "$" in source(cell)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_no_answer_stands_above_its_exercise(path: Path) -> None:
    """Neither in text, code and outputs above, nor in the question and the hint."""
    above = ""
    for cell in nbformat.read(path, as_version=4).cells:
        asked = re.fullmatch(r"ml\.exercises\.(\w+)", cell.source)
        if asked is not None:
            exercise = getattr(ml.exercises, asked[1])
            seen = "".join(f"{above} {exercise.question} {exercise.hint}".split())
            answer = "".join(str(exercise.solution).split())
            assert len(answer) < 4 or answer not in seen, asked[1]
        if "ml.exercises" not in cell.source:
            above += cell.source
            shown = [text for one in cell.get("outputs", ()) for text in _texts(one)]
            above += "".join(shown)


def _texts(output: nbformat.NotebookNode) -> list[str]:
    data = output.get("data", {})
    return [output.get("text", ""), data.get("text/plain", ""), data.get("text/html", "")]


LACKING = """
import json, os, sys
absent, folder, name = sys.argv[1:]
sys.modules.update(dict.fromkeys(absent.split(",")))
sys.path.insert(0, os.path.join(folder, "docs", "_explorer"))
import cells
os.chdir(os.path.join(folder, "notebooks"))
with open(name, encoding="utf-8") as file:
    sources = ["".join(x["source"]) for x in json.load(file)["cells"] if x["cell_type"] == "code"]
print(json.dumps([json.loads(text)["outputs"] for code in sources for text in cells.ran(code)]))
"""


def lacking(path: Path, *modules: str) -> list[list[tuple[str, str]]]:
    """What each cell shows, as a page runs it, in a Python without some modules."""
    command = [sys.executable, "-c", LACKING, ",".join(modules), str(ROOT), path.name]
    run = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False
    )
    assert run.returncode == 0, run.stderr
    return list(json.loads(run.stdout.splitlines()[-1]))


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_cells_that_need_isl_say_so(path: Path) -> None:
    marked = [source(cell).startswith("# Needs ISL.") for cell in cells(path, "code")]
    need = [
        any(kind in {"error", "absent"} or "ISL is not installed" in text for kind, text in outputs)
        for outputs in lacking(path, "islpy")
    ]
    assert need == marked


@pytest.mark.slow
@pytest.mark.parametrize(("number", "most"), [(1, 0), (3, 2), (6, 4)])
def test_most_cells_run_in_a_page(number: int, most: int) -> None:
    """A page has neither NumPy nor ISL."""
    shown = lacking(NOTEBOOKS[number - 1], "numpy", "islpy")
    absent = [text for outputs in shown for kind, text in outputs if kind in {"error", "absent"}]
    assert len(absent) <= most, absent


PAGE_CELLS = ROOT / "docs" / "_explorer" / "cells.py"


@pytest.mark.parametrize(
    ("code", "outputs"),
    [
        ("x = 2\nprint(x)\nx + 1", [["text", "2\n"], ["text", "3"]]),
        ("x = 2", []),
        ("1/0", [["error", "ZeroDivisionError: division by zero"]]),
        ("print(1)\nx", [["text", "1\n"], ["error", "NameError: name 'x' is not defined"]]),
        (
            "import absent_module",
            [["error", "ModuleNotFoundError: No module named 'absent_module'"]],
        ),
    ],
)
def test_what_a_cell_of_a_page_shows(code: str, outputs: list[list[str]]) -> None:
    (text,) = module_of(PAGE_CELLS).ran(code)
    assert json.loads(text)["outputs"] == outputs


def test_cells_of_a_page_share_names_and_show_exercises() -> None:
    ran = module_of(PAGE_CELLS).ran

    def outputs(code: str) -> list[list[str]]:
        return list(json.loads("".join(ran(code)))["outputs"])

    assert outputs("import morello_layouts as ml\nseen = 4") == []
    assert outputs("seen") == [["text", "4"]]
    ((kind, page),) = outputs("ml.exercises.row_by_row")
    assert kind == "html"
    assert "<b>Exercise.</b> A matrix" in page
    assert "<code>i</code>" in page
    assert "<details><summary>Hint</summary>" in page
    ((kind, page),) = outputs('ml.draw("[0, 1]", (2, 3))')
    assert (kind, page[:4]) == ("svg", "<svg")


def test_the_notebooks_ask_every_exercise() -> None:
    asked = set()
    for path in NOTEBOOKS:
        asked |= set(
            re.findall(r"ml\.exercises\.(\w+)", "\n".join(map(source, cells(path, "code"))))
        )
    assert asked == set(ml.exercises.__all__) - {"Exercise", "Feedback"}


def run_module() -> ModuleType:
    return module_of(ROOT / "notebooks" / "run.py")


def module_of(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def harness(tmp_path: Path) -> ModuleType:
    """``run.py``, in a folder of its own with a notebook ``one``, as a run leaves it."""
    module = run_module()
    module.HERE = tmp_path
    v4 = nbformat.v4
    first = v4.new_code_cell("print(1)\n2", execution_count=1)
    first.outputs = [
        v4.new_output("stream", name="stdout", text="1\n"),
        v4.new_output("execute_result", {"text/plain": "2"}, execution_count=1),
    ]
    second = v4.new_code_cell("7", metadata={"tags": ["varies"]}, execution_count=2)
    second.outputs = [v4.new_output("execute_result", {"text/plain": "6"}, execution_count=2)]
    text = v4.new_markdown_cell("# One")
    nbformat.write(v4.new_notebook(cells=[text, first, second]), tmp_path / "one.ipynb")
    return module


def change(harness: ModuleType, **values: Any) -> str:
    """Change the first code cell of the harness's notebook; the file as it is then."""
    path = harness.HERE / "one.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[1].update(values)
    nbformat.write(notebook, path)
    return str(path.read_text())


@pytest.mark.slow
def test_what_a_run_leaves_is_as_committed(harness: ModuleType) -> None:
    assert harness.main(["--check"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("source", ["1/0", "print(3)\n2", "print(1)"])
def test_another_result_is_told_and_not_written(harness: ModuleType, source: str) -> None:
    before = change(harness, source=source)
    assert harness.main(["--check", "one"]) == 1
    assert (harness.HERE / "one.ipynb").read_text() == before


@pytest.mark.slow
def test_one_that_fails_among_several_is_a_failure(harness: ModuleType) -> None:
    (harness.HERE / "two.ipynb").write_bytes((harness.HERE / "one.ipynb").read_bytes())
    change(harness, source="1/0")
    assert harness.main(["--check"]) == 1
    assert harness.main(["--check", "two.ipynb"]) == 0


@pytest.mark.slow
def test_a_run_writes_its_outputs(harness: ModuleType) -> None:
    change(harness, outputs=[])
    assert harness.main(["--check"]) == 1
    assert harness.main(["one.ipynb"]) == 0
    assert harness.main(["--check"]) == 0


@pytest.mark.slow
def test_a_run_that_fails_writes_nothing(harness: ModuleType) -> None:
    before = change(harness, source="1/0")
    assert harness.main([]) == 1
    assert (harness.HERE / "one.ipynb").read_text() == before


def test_what_is_compared(harness: ModuleType) -> None:
    """Each output, errors too; of a cell that varies only which kinds there are."""
    path = harness.HERE / "one.ipynb"
    compared = ["cell 1, stdout: 1", "cell 1, text/plain: 2", "cell 2, text/plain: varies"]
    assert harness.shown(nbformat.read(path, as_version=4)) == compared
    error = nbformat.v4.new_output("error", ename="ValueError", evalue="no", traceback=["at 0x7f"])
    change(harness, outputs=[error])
    assert harness.shown(nbformat.read(path, as_version=4)) == [
        "cell 1, error: ValueError: no",
        "cell 2, text/plain: varies",
    ]


@pytest.mark.parametrize("arguments", [["--check", "one", "two"], ["--chek"], ["two"]])
def test_unknown_arguments_run_nothing(harness: ModuleType, arguments: list[str]) -> None:
    before = change(harness, source="3")
    with pytest.raises(SystemExit) as caught:
        harness.main(arguments)
    assert caught.value.code == 2
    assert (harness.HERE / "one.ipynb").read_text() == before


def test_without_notebooks_there_is_nothing_to_pass(harness: ModuleType) -> None:
    (harness.HERE / "one.ipynb").unlink()
    with pytest.raises(SystemExit):
        harness.main(["--check"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_student_sees_no_answer_and_runs_the_rest(path: Path) -> None:
    ours = nbformat.read(path, as_version=4)
    edition = run_module().for_students(ours)
    code = [cell for cell in edition.cells if cell.cell_type == "code"]
    assert not any(cell.outputs for cell in code)
    trees = [ast.parse(cell.source) for cell in code]
    assert not any(isinstance(one, ast.Assert) for tree in trees for one in tree.body)
    kept = sum(len(tree.body) for tree in trees)
    theirs = [ast.parse(cell.source) for cell in ours.cells if cell.cell_type == "code"]
    assert kept == sum(not isinstance(x, ast.Assert) for tree in theirs for x in tree.body)


def test_the_edition_for_students_has_what_its_cells_read(tmp_path: Path) -> None:
    assert run_module().main(["--student", str(tmp_path), "5_from_hlo_to_kernel"]) == 0
    code = (tmp_path / "5_from_hlo_to_kernel.ipynb").read_text(encoding="utf-8")
    (name,) = (path.name for path in (ROOT / "notebooks").glob("*.txt"))
    assert name in code
    assert ml.read_hlo((tmp_path / name).read_text(encoding="utf-8")).entry
