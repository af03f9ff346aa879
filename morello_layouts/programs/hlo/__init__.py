"""HLO text, the programs that XLA prints: modules, computations, instructions."""

from morello_layouts.programs.hlo.module import (
    HloComputation,
    HloInstruction,
    HloMetadata,
    HloModule,
    HloProgramShape,
)
from morello_layouts.programs.hlo.reader import read_hlo

__all__ = [
    "HloComputation",
    "HloInstruction",
    "HloMetadata",
    "HloModule",
    "HloProgramShape",
    "read_hlo",
]
