"""Loop nests over the elements of arrays: digits as loops, hoisted offsets, edges of tiles."""

from morello_layouts.outputs.loop_nests.nest import LoopNest

__all__ = ["LoopNest"]
