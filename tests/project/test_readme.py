"""The front page, the documents and the docstrings are true."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import inspect
import re
import shlex
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner

import morello_layouts as ml
from morello_layouts.interfaces.cli.main import commands
from tests.support.paths import ROOT
from tests.support.tables import each_row

README = (ROOT / "README.md").read_text(encoding="utf-8")
GENERATED = ROOT / "docs" / "generated"
DOCUMENTS = [
    path
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
    if path.is_file() and path.parent != GENERATED
]
SOURCES = sorted((ROOT / "morello_layouts").rglob("*.py"))

FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def fences(text: str, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return [body for name, body in FENCE.findall(text) if name == language]


def examples() -> list[Path]:
    return [
        path
        for path in DOCUMENTS
        if path.name != "CONTRIBUTING.md"  # its first block is no session: it has its own test
        and ">>>" in path.read_text(encoding="utf-8")
    ]


@pytest.mark.slow
@each_row("path", examples(), ids=lambda path: path.relative_to(ROOT))
def test_python_blocks_run_as_shown(path: Path) -> None:
    """The blocks of one page share their names, from the top down."""
    code = "\n".join(fences(path.read_text(encoding="utf-8"), "python"))
    test = doctest.DocTestParser().get_doctest(code, {}, path.name, str(path), 0)
    assert test.examples
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert not report, "".join(report)


def test_the_readme_shows_what_the_command_prints() -> None:
    (block,) = fences(README, "console")
    command, *shown = block.splitlines()
    wide = CliRunner(env={"COLUMNS": "120"})
    printed = wide.invoke(commands, shlex.split(command)[2:]).output.splitlines()
    at = [printed.index(line) for line in shown if line != "…"]
    assert at == sorted(at)


@pytest.mark.parametrize("name", re.findall(r"`mlay ([a-z-]+)", README))
def test_the_readme_names_commands_that_exist(name: str) -> None:
    assert name in commands.commands or name == "--help"


def test_the_readme_has_a_dozen_examples() -> None:
    assert README.count(">>> ml.") <= 12


@pytest.mark.parametrize("name", ["run", "test"])
def test_the_readme_marks_its_two_commands(name: str) -> None:
    """The commands that .ci/run reads out of it: one line each."""
    found = re.findall(rf"<!-- ci: {name} -->\n```sh\n(.+)\n```\n", README)
    assert len(found) == 1


def test_documents_name_files_that_exist() -> None:
    named = re.compile(r"`((?:morello_layouts|tests|docs|notebooks|\.ci)/[\w./-]*)`")
    for path in DOCUMENTS:
        for target in named.findall(path.read_text(encoding="utf-8")):
            there = (ROOT / target).exists() or ROOT / target == GENERATED
            assert there, f"{path.name} names {target}"


def test_documents_name_modules_that_exist() -> None:
    for path in DOCUMENTS:
        for dotted in re.findall(r"\bmorello_layouts(?:\.\w+)+", path.read_text(encoding="utf-8")):
            *above, last = dotted.split(".")
            module = importlib.import_module(".".join(above))
            there = hasattr(module, last) or importlib.util.find_spec(dotted) is not None
            assert there, f"{path.name} names {dotted}"


def test_the_architecture_page_names_every_package() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    packages = {
        p.name for p in (ROOT / "morello_layouts").iterdir() if (p / "__init__.py").exists()
    }
    assert not {name for name in packages if f"`{name}`" not in page}


def test_types_are_shipped() -> None:
    assert files("morello_layouts").joinpath("py.typed").is_file()


def test_the_version_is_one() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert version("morello_layouts") == ml.__version__
    assert re.findall(r"^## \[(\d[^\]]*)\]", changes, re.MULTILINE)[0] == ml.__version__


@pytest.mark.slow
@each_row("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_text_is_never_run_as_code(path: Path) -> None:
    builtin = {"eval", "exec", "compile", "__import__"}
    if path.name == "fields.py":  # writes the __init__ of a class of the names of its fields
        builtin.remove("exec")
    sympys = {"sympify", "parse_expr", "lambdify", "S"}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            bad = called in builtin or called.rpartition(".")[2] in sympys
            assert not bad, f"line {node.lineno} calls {called}"


@each_row("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_modules_are_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 600


@each_row("name", [*ml._MODULE_OF])
def test_public_names_explain_themselves(name: str) -> None:
    value = getattr(ml, name)
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return  # a constant: its docstring stands below it in the source
    assert ">>>" in (inspect.getdoc(value) or ""), f"{name} has no example in its docstring"


def test_public_names_are_there_once() -> None:
    assert len(set(ml.__all__)) == len(ml.__all__)
    assert set(ml.__all__) <= set(dir(ml))
    assert not [name for name in ml.__all__ if not hasattr(ml, name)]


def test_no_public_function_bears_a_module_s_name() -> None:
    """Else ``ml.name`` would be the one or the other, depending on what was imported before."""
    modules = {path.stem for path in (ROOT / "morello_layouts").iterdir()}
    functions = {name for name in ml._MODULE_OF if inspect.isfunction(getattr(ml, name))}
    assert not functions & modules
