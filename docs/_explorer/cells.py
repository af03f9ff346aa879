"""Run the cells of a notebook, one after the other; a page's worker calls ``ran``."""

import ast
import json
import re
import traceback
from collections.abc import Iterator
from contextlib import redirect_stdout
from html import escape
from io import StringIO
from typing import Any

ABSENT = {"numpy": "NumPy", "islpy": "ISL", "subprocess": "a C compiler", "ctypes": "a C compiler"}
KINDS = ("svg", "html", "markdown")
NAMES: dict[str, Any] = {"__name__": "__main__"}
GAPS: list[str] = []  # cells that could not run, whose names are missing below them


class Absent:
    """A module that is not there: asking it for anything raises an error that says so."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, attribute: str) -> Any:
        raise ModuleNotFoundError(f"no {attribute}", name=self.name)


def ran(source: str) -> Iterator[str]:
    """Yield what a cell shows, as JSON: the kind and the text of each output."""
    said = StringIO()
    with redirect_stdout(said):
        shown = _shown(source)
    outputs = [*([("text", said.getvalue())] if said.getvalue() else []), *shown]
    yield json.dumps({"outputs": outputs})


def _shown(source: str) -> list[tuple[str, str]]:
    """Run a cell; return its value as the page shows it, or the error."""
    try:
        value = None
        for statement in ast.parse(source).body:
            value = _value(statement)
    except Exception as error:
        kind, text = _reason(error)
        if kind == "absent":
            GAPS.append(source)
        return [(kind, text)]
    if value is None:
        return []
    for kind in KINDS:
        if show := getattr(value, f"_repr_{kind}_", None):
            return [(kind, show()) if kind != "markdown" else ("html", _page(show()))]
    return [("text", repr(value))]


def _page(markdown: str) -> str:
    """Return an exercise's Markdown as HTML: code, bold text, and a hint to open."""
    parts = re.split(r"(`[^`]+`|\*\*[^*]+\*\*|</?(?:details|summary)>)", markdown)
    for k in range(0, len(parts), 2):
        parts[k] = escape(parts[k])
    for k in range(1, len(parts), 2):
        if parts[k][0] != "<":
            tag = "code" if parts[k][0] == "`" else "b"
            parts[k] = f"<{tag}>{escape(parts[k].strip('`*'))}</{tag}>"
    return "".join(parts)


def _value(statement: ast.stmt) -> Any:
    """Run one statement; return what an expression gives."""
    if isinstance(statement, ast.Expr):
        return eval(compile(ast.Expression(statement.value), "cell", "eval"), NAMES)
    try:
        exec(compile(ast.Module([statement], []), "cell", "exec"), NAMES)
    except ModuleNotFoundError as error:
        if not isinstance(statement, ast.Import) or error.name not in ABSENT:
            raise
        NAMES.update({one.asname or one.name: Absent(one.name) for one in statement.names})
    return None


def _reason(error: Exception) -> tuple[str, str]:
    """Return the words about an error; one about what this page lacks says so."""
    cause: BaseException | None = error
    while cause is not None:
        name = getattr(cause, "name", None)
        if isinstance(cause, ImportError) and name in ABSENT:
            return "absent", f"This cell needs {ABSENT[name]}, which this page does not have."
        cause = cause.__cause__ or cause.__context__
    if "ISL is not installed" in str(error):
        return "absent", "This cell needs ISL, which this page does not have."
    if isinstance(error, NameError) and GAPS:
        return "absent", "This cell needs one above it, which cannot run in this page."
    return "error", "".join(traceback.format_exception_only(error)).strip()
