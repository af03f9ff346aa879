"""The names of the package: few, loaded on first use, with the rest in submodules."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

import morello_layouts as ml
from morello_layouts.interfaces.api.proofs import Asked
from morello_layouts.interfaces.cli.main import commands
from morello_layouts.interfaces.questions import every_question
from tests.support.paths import ROOT

NAMED = re.compile(r"In Python: ([\w., ]+)\.(?: |$)")


def test_there_are_few_public_names() -> None:
    assert len(ml.__all__) <= 50
    assert sorted(ml.__all__) == sorted(set(ml.__all__))


def test_every_name_loads_by_itself() -> None:
    """Each in a process of its own order: the last name first."""
    names = dir(ml)
    code = f"import morello_layouts as ml\nfor name in {names[::-1]!r}: getattr(ml, name)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_completion_lists_names_and_submodules() -> None:
    modules = {name for name in dir(ml) if isinstance(getattr(ml, name), ModuleType)}
    assert set(ml.__all__) | modules | {"__version__"} == set(dir(ml))
    assert {"exercises", "expr", "indexing", "maps", "morello", "proof", "tpu", "xla"} <= modules
    assert ml.xla.XlaTuple.__module__.startswith("morello_layouts.notations.xla")


def test_no_function_has_the_name_of_a_submodule() -> None:
    functions = {name for name in ml._MODULE_OF if inspect.isfunction(getattr(ml, name))}
    packages = {path.stem for path in (ROOT / "morello_layouts").iterdir()}
    assert not functions & packages


@pytest.mark.parametrize(
    ("name", "use"),
    [("indexmap", "index_map"), ("plot", "draw"), ("equals", "prove"), ("IndexMapp", "IndexMap"),
     ("default", "tpu.default_layout"), ("to_cute", "convert"), ("conflicts", "banks")],
)  # fmt: skip
def test_unknown_names_are_refused(name: str, use: str) -> None:
    with pytest.raises(AttributeError, match=f"has no attribute '{name}': use {use}"):
        getattr(ml, name)


def test_names_without_a_near_one_are_refused() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'qqqq'$"):
        ml.qqqq  # noqa: B018


@pytest.mark.parametrize("name", sorted(commands.commands))
def test_a_command_is_a_function_or_names_one(name: str) -> None:
    command = commands.commands[name]
    text = " ".join(f"{command.help} {command.epilog}".split())
    functions = [each for names in NAMED.findall(text) for each in names.split(", ")]
    assert bool(functions) == (name not in ("explore", "lsp", "notations"))
    for function in functions:
        value: object = ml
        for part in function.split("."):
            value = getattr(value, part)
        assert callable(value)


def test_a_shape_may_be_text() -> None:
    for text in ("6x8", "6, 8", "(6, 8)", " 6 × 8"):
        assert ml.index_map("[1, 0]", text).shape == (6, 8), text
    assert [*map(str, ml.index_map("[1, 0]", "M,8").shape)] == ["M", "8"]
    assert str(ml.index_map("[0]", "8*N").shape[0]) == "8*N"


def test_the_dimensions_of_morello_are_names_too() -> None:
    dims = [(1, ml.Dynamic()), (0, ml.Dynamic()), (1, ml.Packed(4))]
    assert str(ml.MorelloLayout(dims)) == "[1, 0, 1 p(4)]"
    assert not {"Dynamic", "OddEven", "Packed"} & {*ml.__all__}


QUESTIONS = [*every_question()]


def test_the_questions_name_what_there_is() -> None:
    """Commands and public functions that answer, explorer fields, and pages."""
    asked = " ".join(question.commands for question in QUESTIONS).split()
    assert sorted(asked) == sorted(commands.commands)  # each in one group of the help
    fields = {each.field for each in QUESTIONS if each.field}
    page = (ROOT / "morello_layouts/interfaces/explorer/static/index.html").read_text("utf-8")
    assert not [field for field in fields if f'<label for="{field}">' not in page]
    for question in QUESTIONS:
        for name in question.python.split(", "):
            value: object = ml
            for part in name.split("."):
                value = getattr(value, part)
        for command in re.findall(r"`mlay ([a-z-]+)", question.ask):
            assert command in commands.commands
        for line in question.pages.splitlines():
            assert (ROOT / line.split(" | ")[1].partition("#")[0]).is_file(), line


def test_every_listed_function_answers_a_question() -> None:
    answering = {name for question in QUESTIONS for name in question.python.split(", ")}
    functions = {name for name in ml.__all__ if inspect.isfunction(getattr(ml, name))}
    assert functions <= answering


def test_a_hint_leads_to_what_the_name_means() -> None:
    """No word is a public name, none has two meanings, and each leads to a name that works."""
    words = [word for question in QUESTIONS for word in question.words.split()]
    assert sorted(words) == sorted(set(words))
    for question in QUESTIONS:
        for word in question.words.split():
            if word not in dir(ml):
                with pytest.raises(AttributeError, match="use ") as error:
                    getattr(ml, word)
                hint = str(error.value).split(": use ")[1].split(" (")[0]
                assert hint == question.python.split(", ")[0]


@pytest.mark.parametrize("longer", ["are_equivalent", "is_bitcast", "bank_conflicts", "read_oom"])
def test_longer_names_mean_the_same(longer: str) -> None:
    short = {"are_equivalent": "equal", "is_bitcast": "bitcast", "bank_conflicts": "banks"}
    assert getattr(ml, longer) is getattr(ml, short.get(longer, "oom"))


def test_prove_asks_each_question() -> None:
    tiles = "f32[3,5]{1,0:T(2,2)}"
    assert [ml.prove(tiles, question=one).holds for one in get_args(Asked)] == [
        False, True, False, True,
    ]  # fmt: skip
    assert ml.prove(ml.index_map("[0]", (4,)), names="x").holds
    with pytest.raises(ml.LayoutError, match="question: expected bijective, injective"):
        ml.prove(tiles, question="nice")


def test_hlo_takes_one_program_two_or_many(tmp_path: Path) -> None:
    one = "%a = f32[8]{0} negate(%b)"
    (tmp_path / "a.txt").write_text(one)
    names = [type(ml.hlo(*each)).__name__ for each in ((one,), (one, one), (tmp_path,))]
    assert names == ["Diagnosis", "HloComparison", "FleetReport"]
