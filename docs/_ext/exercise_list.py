"""The directive ``exercises``: one entry for each exercise of the package."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx

from morello_layouts.interfaces import exercises
from morello_layouts.interfaces.exercises import Exercise


class Exercises(Directive):
    """List the question and the hint of each exercise, or the solutions of those that are named."""

    option_spec: ClassVar = {"solutions": str.split}

    def run(self) -> list[nodes.Node]:
        """Return the entries."""
        lines = []
        for name in self.options.get("solutions", ()):
            exercise = getattr(exercises, name)
            (wrong, why), *_ = exercise.errors
            lines += [f"``{name}``: ``{exercise.solution}``", f"   {_text(exercise.reason)}", ""]
            lines += [f"   Wrong: ``{wrong}``. {_text(why)}", ""]
        if lines:
            return self._parsed(lines)
        for name in exercises.__all__:
            exercise = getattr(exercises, name)
            if isinstance(exercise, Exercise):
                lines += [f".. py:data:: {name}", "   :type: Exercise", ""]
                lines += [f"   {_text(exercise.question)}", ""]
                lines += [f"   *Hint:* {_text(exercise.hint)}", ""] if exercise.hint else []
        return self._parsed(lines)

    def _parsed(self, lines: list[str]) -> list[nodes.Node]:
        box = nodes.container()
        self.state.nested_parse(StringList(lines, "exercises"), self.content_offset, box)
        return list(box.children)


def _text(markdown: str) -> str:
    """Return Markdown with its code as in reStructuredText."""
    return re.sub(r"`+([^`]+)`+", r"``\1``", " ".join(markdown.split()))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("exercises", Exercises)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
