"""What a process loads before others fork from it: everything that an answer needs."""

from __future__ import annotations

from morello_layouts.explorer.answer import answer
from morello_layouts.explorer.worker import WARMING

answer(WARMING)  # grammars, SymPy and ISL load at the first question
