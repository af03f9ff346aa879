"""Exercises of the first notebook: where an element lives."""

from __future__ import annotations

from morello_layouts.exercises.exercise import Exercise

__all__ = ["row_by_row"]

row_by_row = Exercise(
    "A matrix of 3 rows and 4 columns lies in memory row by row. "
    "At which offset lies the element in row `i`, column `j`?",
    (3, 4),
    "4*i + j",
    names=("i", "j"),
    hint="How many elements lie before the first one of row `i`?",
)
