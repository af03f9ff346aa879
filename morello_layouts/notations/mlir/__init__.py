"""MLIR's layouts: memref, tensor and vector types, affine maps, and linalg.pack."""

from morello_layouts.notations.mlir.attributes import IreeEncoding, TpuTiled
from morello_layouts.notations.mlir.layout import MlirMap, MlirPack, MlirType
from morello_layouts.notations.mlir.registers import TpuVectorLayout, XegpuLayout

__all__ = [
    "IreeEncoding",
    "MlirMap",
    "MlirPack",
    "MlirType",
    "TpuTiled",
    "TpuVectorLayout",
    "XegpuLayout",
]
