"""The reference names every public name and nothing else; pages made from code are up to date."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import inspect
import re
import sys
from types import ModuleType
from typing import Any

import pytest

import morello_layouts as ml
import morello_layouts.programs.hlo as hlo_package
from morello_layouts.core.expr import rules
from morello_layouts.interfaces.cli.main import commands
from morello_layouts.interfaces.exercises import Exercise
from tests.support.paths import ROOT
from tests.support.tables import each_row

DOCS = ROOT / "docs"
REFERENCE = sorted((DOCS / "reference").glob("*.md"))

MODULE = re.compile(r"^\.\. (?:py:)?currentmodule:: (\S+)$")
ENTRY = re.compile(r"^\.\. (?:auto(?:function|class|exception|data)|py:data):: (\S+)$")
ALIAS = re.compile(r"^\.\. py:type:: (\S+)$", re.MULTILINE)


def entries(text: str) -> list[str]:
    """The dotted names that a page has entries for."""
    module, found = "", []
    for line in text.splitlines():
        if at := MODULE.match(line):
            module = at[1]
        elif entry := ENTRY.match(line):
            is_whole = entry[1].startswith("morello_layouts.")
            found.append(entry[1] if is_whole else f"{module}.{entry[1]}")
    return found


ENTRIES = [name for page in REFERENCE for name in entries(page.read_text(encoding="utf-8"))]


def named(dotted: str) -> Any:
    """The object that a dotted name refers to."""
    module, _, name = dotted.rpartition(".")
    return getattr(importlib.import_module(module), name)


CLASSES = [name for name in ENTRIES if inspect.isclass(named(name))]


def public() -> dict[str, Any]:
    """What the package and its public modules name."""
    found: dict[str, Any] = {}
    modules = ("gpu", "tpu", "diagnostics", "exercises", "explanations")
    for value in (hlo_package, *(getattr(ml, name) for name in (*ml._MODULE_OF, *modules))):
        if isinstance(value, ModuleType):
            found |= {f"{value.__name__}.{inner}": getattr(value, inner) for inner in value.__all__}
        else:
            found[f"morello_layouts.{value.__name__}"] = value
    return found


def script(name: str) -> ModuleType:
    """A script of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


make_rules, make_commands = script("make_rules"), script("make_commands")


def test_every_public_name_is_in_the_reference() -> None:
    documented = {id(named(name)) for name in ENTRIES if callable(named(name))}
    lists_exercises = any(".. exercises::" in p.read_text(encoding="utf-8") for p in REFERENCE)
    missing = [
        name
        for name, value in public().items()
        if not (
            name in ENTRIES
            or id(value) in documented
            or (isinstance(value, Exercise) and lists_exercises)
        )
    ]
    assert not missing, "add them to the page of their theme in docs/reference"


def test_every_function_is_in_the_table_of_tasks_once() -> None:
    table = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    calls = re.findall(r"^\|[^|]+\|([^|]+)\| \[", table, re.MULTILINE)
    said = re.findall(r"`(\w+)`", " ".join(calls))
    functions = [name for name in ml.__all__ if inspect.isfunction(getattr(ml, name))]
    assert {*functions, "exercises"} <= {*said}
    assert len(said) == len({*said})


def test_the_reference_names_what_exists_and_once() -> None:
    for name in ENTRIES:
        named(name)  # raises if there is none
    assert len(set(ENTRIES)) == len(ENTRIES)


def test_a_missing_name_would_be_seen() -> None:
    assert entries(".. currentmodule:: a.b\n\n.. autoclass:: C\n.. py:data:: D\n") == [
        "a.b.C",
        "a.b.D",
    ]
    with pytest.raises(AttributeError):
        named("morello_layouts.indexmap")


def test_types_of_signatures_are_aliases_of_the_package() -> None:
    aliases = ALIAS.findall((DOCS / "reference" / "types.md").read_text(encoding="utf-8"))
    sources = "\n".join(p.read_text("utf-8") for p in (ROOT / "morello_layouts").rglob("*.py"))
    assert aliases
    for alias in aliases:
        assert re.search(rf"^{alias}(: TypeAlias)? = ", sources, re.MULTILINE), alias


@each_row("name", [n for n in CLASSES if dataclasses.is_dataclass(named(n))])
def test_fields_of_values_are_explained(name: str) -> None:
    value = named(name)
    code = "\n".join(inspect.getsource(cls) for cls in value.__mro__[:-1])
    said = "\n".join(inspect.cleandoc(cls.__doc__ or "") for cls in value.__mro__)
    for field in dataclasses.fields(value):
        if not field.name.startswith("_"):
            beside = rf"^    {field.name}: .*  #: |^    #: .*\n    {field.name}: "
            listed = re.search(rf"^ +{field.name}: ", said, re.MULTILINE)
            assert listed or re.search(beside, code, re.MULTILINE), field.name


@each_row("name", CLASSES)
def test_methods_of_values_are_explained(name: str) -> None:
    value = named(name)
    members = {k: v for k, v in vars(value).items() if not k.startswith("_") or k == "__call__"}
    for member, found in members.items():
        if inspect.isroutine(found) or isinstance(found, property | staticmethod | classmethod):
            assert inspect.getdoc(getattr(value, member)), f"{name}.{member}"


def test_every_command_and_option_is_in_the_reference() -> None:
    page = make_commands.page()
    sections = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    assert set(sections) == set(commands.commands)
    for name, command in commands.commands.items():
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert all(f"{option}" in sections[name] for option in parameter.opts), name
        assert f"morello-layouts {name}" in sections[name].partition("```sh")[2], name


def test_every_rule_has_its_section() -> None:
    page = make_rules.page()
    tables = [table for name, table in vars(rules).items() if name.endswith("_RULES")]
    names = {rule.name for table in tables for rule in table}
    sections = re.findall(r"^### (\S+)$", page, re.MULTILINE)
    assert len(sections) == len(set(sections))
    assert set(sections) == set(make_rules.EXAMPLES) == names
    assert page.count("\n- Fires: ") == page.count("\n- Stays: ") == len(names)


def test_the_rule_page_refuses_examples_that_are_wrong() -> None:
    nest = next(rule for rule in rules.DIGIT_RULES if rule.name == "flatten-nested")
    other = make_rules.EXAMPLES["flatten-nested"]
    with pytest.raises(AssertionError, match="does not become"):
        make_rules.fired(nest, other.stays)
    with pytest.raises(AssertionError, match="fires on"):
        make_rules.stayed(nest, dataclasses.replace(other, stays=other.fires))
    with pytest.raises(AssertionError, match="everywhere"):
        make_rules.stayed(nest, dataclasses.replace(other, loose=other.stays))
