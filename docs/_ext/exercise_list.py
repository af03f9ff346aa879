"""The directive ``exercises``: one entry for each exercise of the package."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx

from morello_layouts.interfaces import exercises
from morello_layouts.interfaces.exercises import Exercise


class Exercises(Directive):
    """List the question and the hint of each exercise."""

    def run(self) -> list[nodes.Node]:
        """Return the entries."""
        lines = []
        for name in exercises.__all__:
            exercise = getattr(exercises, name)
            if isinstance(exercise, Exercise):
                lines += [f".. py:data:: {name}", "   :type: Exercise", ""]
                lines += [f"   {_text(exercise.question)}", ""]
                lines += [f"   *Hint:* {_text(exercise.hint)}", ""] if exercise.hint else []
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
