"""HLO text, the programs that XLA prints: modules, computations, instructions."""

from morello_layouts.hlo.attributes import HloMetadata
from morello_layouts.hlo.module import HloComputation, HloInstruction, HloModule, HloProgramShape
from morello_layouts.hlo.reader import read_hlo

__all__ = [
    "HloComputation",
    "HloInstruction",
    "HloMetadata",
    "HloModule",
    "HloProgramShape",
    "read_hlo",
]
