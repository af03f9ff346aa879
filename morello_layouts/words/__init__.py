"""What each part of a layout's text means, in words, as values that anything may print."""

from morello_layouts.words.axes import Axis
from morello_layouts.words.explanation import arrays_of, explain
from morello_layouts.words.names import dimension_names
from morello_layouts.words.tpu_facts import TpuFacts, tpu_facts
from morello_layouts.words.values import Dimension, Explanation, Part, Sizes, Word

__all__ = [
    "Axis",
    "Dimension",
    "Explanation",
    "Part",
    "Sizes",
    "TpuFacts",
    "Word",
    "arrays_of",
    "dimension_names",
    "explain",
    "tpu_facts",
]
