"""Everything that ``explain`` says about one layout, as values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from morello_layouts import api, notations
from morello_layouts.api.layouts import Assuming, Shape
from morello_layouts.description import BufferSizes, Description
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.explanations.explanation import arrays_of, describe, sizes_of
from morello_layouts.maps import IndexMap
from morello_layouts.notations.morello import MorelloLayout
from morello_layouts.notations.xla import XlaBuffer, XlaLayout, XlaShape, XlaTuple
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
    if isinstance(value, XlaTuple | XlaBuffer):
        if shape is not None:
            raise LayoutError(
                "a shape was given for text that carries its own",
                f"{value} holds the sizes of each array",
                "leave --shape out",
            )
        arrays = arrays_of(value)
        return str(value), (_report(path, array, None, assuming) for path, array in arrays)
    return str(value), iter([_report((), value, shape, assuming)])


def _report(
    path: tuple[int, ...],
    layout: XlaShape | XlaLayout | MorelloLayout,
    shape: Shape | None,
    assuming: Assuming | None,
) -> ArrayReport:
    carried = layout.dims if isinstance(layout, XlaShape) else shape
    # Words are about sizes that are numbers, formulas about any.
    known = tuple(n for n in shape or () if isinstance(n, int))
    named = shape is None or len(known) < len(shape)
    explanation = describe(layout, None if named else known)
    if carried is None:
        return ArrayReport(path, explanation, None, None, None, None, (_NO_SHAPE,))
    array = layout if isinstance(layout, XlaShape) else None
    tpu = None if array is None else tpu_facts(array, explanation.names)
    try:
        m = api.index_map(layout, shape, assuming=assuming)
    except UnsupportedError as error:
        notes = (f"no formula: {error.what}; {error.why}", *_notes(layout))
        return ArrayReport(path, explanation, None, None, None, tpu, notes)
    if tpu is not None and m.padding == 0:  # perhaps by what is assumed of sizes
        tpu = replace(tpu, padding=())
    proofs = Proofs(api.is_bijective(m), api.is_injective(m), api.verify(m))
    sizes = None
    if all(isinstance(n, int) for n in carried):
        sizes = sizes_of(m, array)
    return ArrayReport(path, explanation, m, sizes, proofs, tpu, m.warnings)


def _notes(layout: XlaShape | XlaLayout | MorelloLayout) -> tuple[str, ...]:
    """What holds of an array without an index map."""
    if not isinstance(layout, XlaShape):
        return ()
    try:
        return (*layout.warnings, f"XLA reserves {layout.byte_size:,} bytes")
    except UnsupportedError:
        return ()
