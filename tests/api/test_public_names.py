"""The names of the package: few, loaded on first use, with the rest in submodules."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from types import ModuleType

import pytest

import morello_layouts as ml
from morello_layouts.interfaces.cli.main import commands
from tests.support.paths import ROOT

NAMED = re.compile(r"In Python: ([\w., ]+)\.(?: |$)")


def test_there_are_few_public_names() -> None:
    assert len(ml.__all__) <= 64
    assert sorted(ml.__all__) == sorted(set(ml.__all__))


def test_every_name_loads_by_itself() -> None:
    """Each in a process of its own order: the last name first."""
    names = dir(ml)
    code = f"import morello_layouts as ml\nfor name in {names[::-1]!r}: getattr(ml, name)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_completion_lists_names_and_submodules() -> None:
    modules = {name for name in dir(ml) if isinstance(getattr(ml, name), ModuleType)}
    assert set(ml.__all__) | modules | {"__version__"} == set(dir(ml))
    assert {"exercises", "expr", "hlo", "maps", "morello", "proof", "tpu", "xla"} <= modules
    assert ml.xla.XlaTuple.__module__.startswith("morello_layouts.notations.xla")


def test_no_function_has_the_name_of_a_submodule() -> None:
    functions = {name for name in ml.__all__ if inspect.isfunction(getattr(ml, name))}
    packages = {path.stem for path in (ROOT / "morello_layouts").iterdir()}
    assert not functions & packages


@pytest.mark.parametrize(
    ("name", "use"),
    [("indexmap", "index_map"), ("equal", "are_equivalent"), ("prove", "is_bijective, is_inj"),
     ("oom", "read_oom"), ("default", "tpu.default_layout"), ("IndexMapp", "IndexMap")],
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
    assert bool(functions) == (name not in ("explore", "notations"))
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
