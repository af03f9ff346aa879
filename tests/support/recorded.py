"""Recorded answers: what a text or an expression gives, in files that one command writes again.

    python -m tests.support.recorded [FILE ...]

A file has a question a line, and below it the answer, each line of it after ``→``:

    == parse tvm
    lambda i▲
    → expected ',' or ':', found the end of the text ‖ why ‖ fix

``==`` says how the questions below it are asked: as a text for all readers (``== parse``), for one
(``== parse tvm``) or both (``== parse and parse tvm``, whose answers are then the same), by an
expression of a long text (``== long``, ``== long tvm``; the answer says where the caret is), as HLO
(``== hlo``), as a text whose value reads what it prints (``== printed``), as a spelling of sources,
which prints otherwise (``== spelled``), as an expression
(``== python``), or as what is typed behind the command's name (``== command``), whose answer is the
output, the error after ``!``, and the exit status if it is not 0. Errors are the readers' own;
those below ``== mended`` may name a text that was meant. ``▲`` stands before the character that the
caret is under, ``⏎`` for the end of a line of a text. The answer to an expression is its text, or
the error with its type; lines such as ``m = ml.index_map("f32[8]")`` and ``from x import y`` give
names to the expressions below. Lines that begin with ``##`` are remarks.

After a change of wording run the command, and read the difference.
"""
# ruff: noqa: T201

from __future__ import annotations

import ast
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import sympy
from click.testing import CliRunner

import morello_layouts as ml
from morello_layouts.interfaces.cli.main import commands
from morello_layouts.notations import registry
from morello_layouts.programs.hlo import read_hlo
from tests.support.paths import DATA, ROOT
from tests.support.tables import report

RECORDED = DATA / "recorded"
CARET, NEWLINE, ANSWER, HOW, PART = "▲", "⏎", "→", "== ", " ‖ "
ADDRESS = re.compile(r"\b0x[0-9a-f]{8,}")
"""The address of an object in the text of one."""


class Row(NamedTuple):
    """A question and its answer.

    Attributes:
        how: how the question is asked, as the line with ``==`` says.
        question: the text or expression, with the caret if it is a wrong text.
        answer: what is recorded.
        names: the names that an expression may use.
    """

    how: str
    question: str
    answer: str
    names: dict[str, Any]

    def lines(self) -> list[str]:
        """Return the row as a file has it."""
        return [self.question, *(f"{ANSWER} {x}".rstrip() for x in self.answer.split("\n"))]

    def now(self) -> Row:
        """Return the row with today's answer, and the caret where it is today."""
        if self.how == "mended":
            new = self._asked()
        else:
            with patch.object(registry, "did_you_mean", lambda *_: None):  # the readers' own errors
                new = self._asked()
        return new._replace(answer="\n".join(line.rstrip() for line in new.answer.split("\n")))

    def _asked(self) -> Row:
        if self.how == "python":
            return self._replace(answer=self._value())
        if self.how == "command":
            return self._replace(answer=typed(self.question))
        text = self.question.replace(CARET, "").replace(NEWLINE, "\n")
        found = {how: read(how, text) for how in self.how.split(" and ")}
        if len({*found.values()}) == 1:
            marked, answer = found[self.how.partition(" and ")[0]]
            return self._replace(question=marked.replace("\n", NEWLINE), answer=answer)
        told = "\n".join(f"{how}: {answer}, {at}" for how, (at, answer) in found.items())
        return self._replace(answer=told)

    def _value(self) -> str:
        try:
            value = eval(self.question, self.names)
            found = str(value)
            if isinstance(value, ml.Proof):
                parts = {"at": value.counterexample, "padding": value.padding}
                found += "".join(f"\n{k}: {x}" for k, x in parts.items() if x is not None)
        except ml.LayoutError as error:
            at = f" at {error.position}" if isinstance(error, ml.ParseError) else ""
            found = f"{type(error).__name__}{at}: {told(error)}"
        return ADDRESS.sub("0x…", found)


def read(how: str, question: str) -> tuple[str, str]:
    """Return a text with the caret, and the error; or the text, and as what it is read."""
    kind, _, notation = how.partition(" ")
    text = eval(question) if kind == "long" else question
    try:
        value = read_hlo(text) if kind == "hlo" else ml.parse(text, notation or None)
    except ml.ParseError as error:
        at = position(error, text)
        if kind == "long":
            return question, f"at {at}: {told(error)}"
        return text[:at] + CARET + text[at:], told(error)
    if kind == "printed":
        assert ml.parse(str(value), notation or None) == value, question
    return question, f"read as {value}"


def typed(line: str) -> str:
    """Return what a command prints on a terminal of 100 columns, and its exit status."""
    found = CliRunner().invoke(
        commands, shlex.split(line), env={"COLUMNS": "100"}, catch_exceptions=False
    )
    lines = [*found.stdout.splitlines(), *(f"! {each}" for each in found.stderr.splitlines())]
    return "\n".join([*lines, *([f"status {found.exit_code}"] if found.exit_code else [])])


def told(error: ml.LayoutError) -> str:
    """Return what, why and what to do, after a look at the text that users see."""
    words = (error.what, error.why, error.fix)
    pointer = error.pointer() if isinstance(error, ml.ParseError) else ""
    assert str(error) == "\n".join(x for x in (error.what, pointer, *words[1:]) if x)
    assert not any(PART in word for word in words)
    assert not any("\n" in word for word in words[::2])
    return PART.join(words).replace("\n", NEWLINE)


def position(error: ml.ParseError, text: str) -> int:
    """Return where in a text of several lines the caret stands."""
    before = text.split("\n")[: error.line - 1]
    return sum(len(line) + 1 for line in before) + error.column - 1


def pieces(path: Path) -> Iterator[Row | str]:
    """Yield the rows of a file in order, and its other lines."""
    names: dict[str, Any] = {"ml": ml, "np": np, "sympy": sympy}
    how, question, answer = "parse", "", list[str]()
    for line in [*path.read_text("utf-8").split("\n"), ""]:
        if question and line.startswith(ANSWER):
            answer.append(line[2:])
            continue
        if question:
            yield Row(how, question, "\n".join(answer), names)
            question, answer = "", []
        if line.startswith(HOW):
            how = line.removeprefix(HOW)
        elif line and not line.startswith("##"):
            if how != "python" or isinstance(ast.parse(line).body[0], ast.Expr):
                question = line
                continue
            exec(line, names)
        yield line


def check(path: Path) -> None:
    """Fail if an answer of a file is another one now, or an error has no remedy."""
    faults, count = dict[str, str](), 0
    for row in pieces(path):
        if isinstance(row, str):
            continue
        count += 1
        new, parts = row.now(), row.answer.split(PART)
        if new[:3] != row[:3]:
            faults["\n".join(row.lines())] = "\n".join(new.lines())
        elif len(parts) == 3 and not parts[2]:
            faults["\n".join(row.lines())] = "an error without a remedy"
    assert count, f"{path} has no rows"
    command = f"python -m tests.support.recorded {path.relative_to(ROOT)}"
    assert not faults, f"{report(faults, count)}\n\nif the new answers are right: {command}"


def record(path: Path) -> int:
    """Write the file again with today's answers; return how many are other ones."""
    found, changed = list[str](), 0
    for piece in pieces(path):
        if isinstance(piece, str):
            found.append(piece)
            continue
        new = piece.now()
        changed += new[:3] != piece[:3]
        found += new.lines()
    path.write_text("\n".join(found).rstrip("\n") + "\n", "utf-8")
    return changed


def main(arguments: list[str]) -> None:
    """Record files, or all, and say what changed."""
    if {"-h", "--help"} & set(arguments):
        print(__doc__)
        return
    for path in [Path(name).resolve() for name in arguments] or sorted(RECORDED.glob("**/*.txt")):
        print(f"{record(path):5} other answers in {path.relative_to(DATA)}")


if __name__ == "__main__":
    main(sys.argv[1:])
