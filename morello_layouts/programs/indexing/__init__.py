"""Indexing maps: which elements of one array an element of another reads."""

from morello_layouts.programs.indexing.programs import InstructionIndexing, OperandRead
from morello_layouts.programs.indexing.symbols import parse_indexing_map
from morello_layouts.programs.indexing.values import IndexingMap

__all__ = ["IndexingMap", "InstructionIndexing", "OperandRead", "parse_indexing_map"]
