"""Everything that ``explain`` says about one layout, as values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from morello_layouts import api, notations
from morello_layouts.api.layouts import Assuming, Shape, needs_shape
from morello_layouts.description import BufferSizes, Description
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.explanations.word import word_of
from morello_layouts.layout import Layout
from morello_layouts.maps import IndexMap
from morello_layouts.notations.registry import describe
from morello_layouts.notations.xla import XlaShape
from morello_layouts.recipe import known
from morello_layouts.tpu.facts import TpuFacts, tpu_facts

if TYPE_CHECKING:
    from morello_layouts.proof import Proof

_NO_SHAPE = (
    "sizes, formula, proof and picture need a shape: add --shape 6x8 with the sizes of yours"
)


@dataclass(frozen=True, slots=True)
class Proofs:
    """What ISL says of an index map."""

    bijective: Proof
    injective: Proof
    verified: Proof


@dataclass(frozen=True, slots=True)
class ArrayReport:
    """One array of a layout's text.

    Attributes:
        path: its positions in the tuples around it; () outside of tuples.
        explanation: the text in words.
        index: the index map, None where there is none.
        sizes: None where they are not numbers.
        proofs: None without an index map.
        tpu: how it lies in a TPU's registers; None where it is not in a TPU's tiles.
        notes: what could not be said, and what to know about the rest.
    """

    path: tuple[int, ...]
    explanation: Description
    index: IndexMap | None
    sizes: BufferSizes | None
    proofs: Proofs | None
    tpu: TpuFacts | None
    notes: tuple[str, ...]


def reports_of(
    text: str, shape: Shape | None, assuming: Assuming | None = None
) -> tuple[str, Iterator[ArrayReport]]:
    """The text as it is printed, and a report on each of its arrays.

    Args:
        text: a layout, or a tuple of shapes, in any notation.
        shape: the sizes, where the text carries none.
        assuming: what is known of symbolic sizes, as for ``index_map``.

    Raises:
        LayoutError: where the text or the shape means nothing.
    """
    value = notations.parse(text)
    if not isinstance(value, Layout) and shape is not None:
        raise LayoutError(
            "a shape was given for text that carries its own",
            f"{value} holds the sizes of each array",
            "leave --shape out",
        )
    return str(value), (_report(path, x, shape, assuming) for path, x in value.arrays())


def _report(
    path: tuple[int, ...], layout: Layout, shape: Shape | None, assuming: Assuming | None
) -> ArrayReport:
    # Words are about sizes that are numbers, formulas about any.
    numbers = tuple(n for n in shape or () if isinstance(n, int))
    named = shape is None or len(numbers) < len(shape)
    explanation = describe(layout, None if named else numbers)
    explanation = replace(explanation, word=word_of(layout, explanation))
    if shape is None and needs_shape(layout):
        return ArrayReport(path, explanation, None, None, None, None, (_NO_SHAPE,))
    tpu = tpu_facts(layout, explanation.names) if isinstance(layout, XlaShape) else None
    try:
        m = api.index_map(layout, shape, assuming=assuming)
    except UnsupportedError as error:
        notes = (f"no formula: {error.what}; {error.why}", *_notes(layout))
        return ArrayReport(path, explanation, None, None, None, tpu, notes)
    if tpu is not None and m.padding == 0:  # it may follow from the assumptions on sizes
        tpu = replace(tpu, padding=())
    proofs = Proofs(api.is_bijective(m), api.is_injective(m), api.verify(m))
    sizes = None if m.recipe.names else sizes_of(layout, m)
    return ArrayReport(path, explanation, m, sizes, proofs, tpu, m.warnings)


def _notes(layout: Layout) -> tuple[str, ...]:
    """What holds of an array without an index map."""
    try:
        sizes = known(tuple(n for n in layout.sizes or () if n is not None))
        counts = layout.byte_counts(sizes)
    except UnsupportedError:
        return ()
    reserved = () if counts is None else (f"XLA reserves {counts[1]:,} bytes",)
    return (*layout.notes(sizes), *reserved)


def sizes_of(layout: Layout, m: IndexMap) -> BufferSizes:
    """Elements of an index map and, if its element type is known, bytes.

    Data that is stored narrower than its type is counted as stored; data that ``E(bits)`` widens
    is counted at the type's own width, so that widening counts as padding.
    """
    counts = layout.byte_counts(m.shape)
    if m.element_type is None or counts is None:
        return BufferSizes(prod(m.shape), m.size)
    bits = m.element_type.bits
    return BufferSizes(prod(m.shape), m.size, bits, counts[0], -(-m.size * bits // 8), counts[1])
