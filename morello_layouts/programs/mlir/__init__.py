"""MLIR text as compilers dump it: TTGIR, StableHLO, memrefs; and what its statements move."""

from morello_layouts.programs.mlir.report import MlirFolder, MlirReport, read_mlir

__all__ = ["MlirFolder", "MlirReport", "read_mlir"]
