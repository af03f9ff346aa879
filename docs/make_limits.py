"""The page of limits: every constant of limits.py with its value and its reason."""

from __future__ import annotations

import ast
import inspect
import re
from itertools import takewhile

from morello_layouts.core import limits

HEAD = """# Limits

A question ends in an answer, or in an error that says which limit it met. Limits are in work,
such as operations, terms or characters; the few in seconds are about other programs and about
people who wait.
`budget=` of the functions that ask ISL gives a question more or less work than the default.
"""

TABLE = ("| limit | value | what, and why |", "|---|--:|---|")


def page() -> str:
    """Return the page in Markdown."""
    source = inspect.getsource(limits)
    subjects = {
        source[: found.start()].count("\n") + 1: found[1]
        for found in re.finditer(r"^# (.+)$", source, re.MULTILINE)
    }
    lines, above, text = [HEAD], 0, source.splitlines()
    for constant in ast.parse(source).body:
        if not isinstance(constant, ast.AnnAssign):
            continue
        assert isinstance(constant.target, ast.Name)
        beside = text[constant.end_lineno - 1].partition("  #: ")[2]  # type: ignore[operator]
        before = takewhile(lambda line: line.startswith("#: "), text[constant.lineno - 2 :: -1])
        words = beside or " ".join(line.removeprefix("#: ") for line in reversed([*before]))
        subject = max(line for line in (0, *subjects) if line < constant.lineno)
        if subject > above:
            lines += [
                f"\n## {subjects[subject]}\n",
                "| limit | value | what, and why |",
                "|---|--:|---|",
            ]
            above = subject
        name = constant.target.id
        value = getattr(limits, name)
        shown = f"{value:,}" if isinstance(value, int | float) else str(dict(value))
        lines.append(f"| `{name}` | {shown} | {words} |")
    return "\n".join([*lines, ""])
