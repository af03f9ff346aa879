"""Loop nests over the elements of arrays: digits as loops, hoisted offsets, edges of tiles."""

from morello_layouts.outputs.loop_nests.nest import LoopNest
from morello_layouts.outputs.loop_nests.space import Access, Space

__all__ = ["Access", "LoopNest", "Space"]
