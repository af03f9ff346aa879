"""What is proved in Coq is what the rules say, and it is proved from nothing else."""

from __future__ import annotations

import dataclasses
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from morello_layouts.core.expr import rules
from morello_layouts.core.expr.choices import (
    Rule,
)
from morello_layouts.core.expr.rules import (
    drop_mod,
)
from tests.support.coq import CLAUSES, NOT_NEEDED, assumed, code, stated, theorems
from tests.support.expr_rule_cases import rules_in
from tests.support.paths import ROOT
from tests.support.tables import each_row

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.v"))  # each requires earlier ones only
RULES = rules_in(rules)


def test_every_theorem_is_a_rule_and_says_what_the_rule_says() -> None:
    said = {name.replace("-", "_"): stated(rule) for name, rule in RULES.items()}
    assert theorems(HERE / "rules.v") == said


def test_the_page_of_certificates_names_every_theorem_of_the_checker() -> None:
    page = (ROOT / "docs/explanation/certificate_language.md").read_text("utf-8")
    _, _, section = page.partition("## What is proved in Coq")
    rows = [line.split("|")[-2] for line in section.splitlines() if line.startswith("| ")][1:]
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    proved = [name for path in FILES if path.name != "rules.v" for name in theorems(path)]
    assert named == proved


def test_every_way_to_read_a_condition_is_used() -> None:
    text = " ".join(rule.statement for rule in RULES.values())
    assert [p for p in (*map(re.escape, NOT_NEEDED), *CLAUSES) if not re.search(p, text)] == []


@each_row(
    "old, new",
    [
        ("s·n - 1", "s·n"),
        ("lies in", "is about"),
        ("If [x]", "For any [x]"),
        ("If [x] lies in q·s·n..q·s·n + s·n - 1", "For any x"),
        ("x // s - q·n", "x // s - q"),
        ("1.", "1, and s divides n."),
    ],
)
def test_another_docstring_is_another_statement(old: str, new: str) -> None:
    rule = Rule("drop-mod", drop_mod)
    other: Rule[Any] = dataclasses.replace(rule, apply=lambda _: None)
    other.apply.__doc__ = (drop_mod.__doc__ or "").replace(old, new)
    assert other.statement != rule.statement
    assert meant(other) != meant(rule)


def meant(rule: Rule[Any]) -> str:
    """Return the statement of a rule, or the error that says which clause is not read."""
    try:
        return stated(rule)
    except ValueError as error:
        return str(error)


@each_row("path", FILES, ids=[path.name for path in FILES])
def test_nothing_is_taken_for_granted(path: Path) -> None:
    unproved = r"\b(?:[Aa]dmit\w*|Axioms?|Conjecture|Parameters?|Hypothes[ei]s|Variables?|Abort)\b"
    assert not re.findall(unproved, code(path))


@pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed")
@each_row("path", FILES, ids=[path.name for path in FILES])
def test_coq_accepts_every_proof(path: Path, tmp_path: Path) -> None:
    assert assumed(path, tmp_path) == "Closed under the global context\n"


@pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed")
def test_an_assumption_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "assumes.v"
    path.write_text("Axiom more : 1 < 1.\nTheorem less : 1 < 1. Proof. exact more. Qed.\n", "utf-8")
    assert "more : 1 < 1" in assumed(path, tmp_path)
