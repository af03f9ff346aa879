"""The report on one array, and the parts of an HLO instruction, as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypedDict

from morello_layouts.core.description import BufferSizes, Description, called, dimensions, word_of
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Layout
from morello_layouts.core.limits import EXPLANATION_WIDTH
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.maps.names import as_names, renamed
from morello_layouts.core.maps.subject import Subject
from morello_layouts.core.plain import Displayed
from morello_layouts.core.recipe import known
from morello_layouts.errors import UnsupportedError
from morello_layouts.interfaces import api
from morello_layouts.machines.tpu_layouts.facts import TpuFacts, tpu_facts
from morello_layouts.notations.registry import describe
from morello_layouts.notations.xla import XlaShape
from morello_layouts.outputs.picture import View, fitted_view

if TYPE_CHECKING:
    from morello_layouts.core.expr import AffineExpr
    from morello_layouts.core.expr.simplify import Derivation, RewriteStep
    from morello_layouts.core.recipe import Recipe
    from morello_layouts.proof import Proof

_NO_SHAPE: Final = (
    "sizes, formula, proof and picture need a shape: give the sizes, such as shape=(6, 8)"
)


@frozen
class Proofs:
    """The proofs about an index map."""

    bijective: Proof  #: the answer of ``is_bijective``.
    injective: Proof  #: the answer of ``is_injective``.
    verified: Proof  #: the answer of ``verify``.


class IndexFacts(TypedDict):
    """An index map in texts and sizes."""

    shape: tuple[Any, ...]
    physical_shape: tuple[Any, ...]
    recipe: Recipe
    reference: AffineExpr
    formula: AffineExpr
    derivation: tuple[RewriteStep, ...] | None


@frozen
class ArrayReport(Displayed):
    """The explanation of one array."""

    path: tuple[int, ...]  #: the array's positions in the tuples around it; () outside of tuples.
    description: Description  #: the layout in words.
    index: IndexMap | None = None  #: the index map; None if there is none.
    #: the steps from the reference formula to the simplified one, if asked for.
    derivation: Derivation | None = None
    #: the sizes of the array and its buffer; None if they are not numbers.
    sizes: BufferSizes | None = None
    proofs: Proofs | None = None  #: the proofs about the index map.
    #: how the array lies in a TPU's registers; None if it is not in a TPU's tiles.
    tpu: TpuFacts | None = None
    notes: tuple[str, ...] = ()  #: gaps in the explanation, and warnings about the rest.
    #: how the notation's document builds its formula, if the derivation is asked for and it does so
    #: in steps.
    document_steps: tuple[str, ...] = ()

    json_keys: ClassVar[tuple[str, ...]] = (
        "path", "*description", "sizes", "index=facts", "proofs", "tpu", "picture", "notes",
    )  # fmt: skip

    @property
    def facts(self) -> IndexFacts | None:
        """The shapes, recipe and formulas of the index map, by name."""
        m = self.index
        if m is None:
            return None
        return {
            "shape": m.shape,
            "physical_shape": m.physical_shape,
            "recipe": m.recipe,
            "reference": renamed(m.reference_form, m.names),
            "formula": renamed(m.form, m.names),
            "derivation": None if self.derivation is None else self.derivation.steps,
        }

    @property
    def picture(self) -> View | None:
        """The offsets that fit a line of text; None if sizes are not numbers."""
        if self.index is None or self.sizes is None:
            return None
        return fitted_view(self.index, self.names, EXPLANATION_WIDTH)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the dimensions: the user's, or those of the description."""
        own = () if self.index is None else self.index.names
        return own or self.description.names

    def __str__(self) -> str:
        words = self.description
        return f"{words.source}: {words.kind}, {words.headline}"


def report_of(
    one: Subject,
    *,
    derivation: bool = False,
    prove: bool = True,
    names: Sequence[str] | str | None = None,
) -> ArrayReport:
    """Return the report on one array; arguments as of ``explain``, which also proves."""
    layout = one.layout
    words = _words_of(one)
    if one.shape is None and one.value.sizes is None:
        return ArrayReport((), words, notes=(_NO_SHAPE,))
    try:
        m = one.map()
        m = m if names is None else m.named(*as_names(names))
    except UnsupportedError as error:
        notes = () if layout is None else _notes(layout)
        no_formula = f"no formula: {error.what}; {error.why}"
        return ArrayReport((), words, tpu=_on_tpu(layout, words), notes=(no_formula, *notes))
    words = words.with_symbols(m.coordinate_names)
    tpu = _on_tpu(layout, words)
    if tpu is not None and m.unused == 0:  # the assumptions on sizes may say so
        tpu = replace(tpu, padding=())
    return ArrayReport(
        (),
        words,
        m,
        m.derivation if derivation else None,
        sizes_of(layout, m),
        proofs_of(m) if prove else None,
        tpu,
        m.warnings,
        () if layout is None or not derivation else _document_steps(layout, m),
    )


def _words_of(one: Subject) -> Description:
    """Return a layout in words, which are about sizes that are numbers; formulas about any."""
    layout = one.layout
    if layout is None:  # a map has a recipe, but no text to explain
        m = one.map(())
        sizes = [n if isinstance(n, int) else str(n) for n in m.sizes]
        return Description(
            m.source, "index map", str(m.recipe), dimensions(sizes, names=m.names), ()
        )
    numbers = tuple(n for n in one.shape or () if isinstance(n, int))
    has_numbers = one.shape is not None and len(numbers) == len(one.shape)
    words = describe(layout, numbers if has_numbers else None)
    element = layout.element
    return replace(words, word=word_of(words, None if element is None else element.bits))


def _on_tpu(layout: Layout | None, words: Description) -> TpuFacts | None:
    return tpu_facts(layout, words.names) if isinstance(layout, XlaShape) else None


def _document_steps(layout: Layout, m: IndexMap) -> tuple[str, ...]:
    """Return the steps of the notation's document, with the names of the map."""
    steps = layout.document_steps(m.recipe.shape)
    return tuple(called(line, m.coordinate_names) for line in steps)


def proofs_of(m: IndexMap) -> Proofs:
    """Return the proofs about an index map."""
    return Proofs(api.is_bijective(m), api.is_injective(m), api.verify(m))


def _notes(layout: Layout) -> tuple[str, ...]:
    """Return facts about an array without an index map."""
    try:
        sizes = known(tuple(n for n in layout.sizes or () if n is not None))
        counts = layout.byte_counts(sizes)
    except UnsupportedError:
        return ()
    reserved = () if counts is None else (f"XLA reserves {counts[1]:,} bytes",)
    return (*layout.notes(sizes), *reserved)


def sizes_of(layout: Layout | None, m: IndexMap) -> BufferSizes | None:
    """Return the elements of an index map and, if its element type is known, the bytes.

    None if sizes are symbolic, or if elements share slots and are too many to be counted.

    Data that is stored narrower than its type counts as stored; data that ``E(bits)`` widens
    counts at the type's own width, so that widening counts as padding.
    """
    if m.recipe.names:
        return None
    count, size = prod(m.shape), m.size
    try:
        held = size - m.unused
    except UnsupportedError:
        return None
    if m.element_type is None:
        return BufferSizes(count, size, shared_elements=count - held)
    bits = m.element_type.bits
    data, spanned = (-(-n * bits // 8) for n in (held, size))
    counts = None if layout is None else layout.byte_counts(m.shape)
    data, reserved = counts if counts and held == count else (data, spanned)
    return BufferSizes(count, size, bits, data, spanned, reserved, count - held)
