"""The report on one array, and the parts of an HLO instruction, as values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypedDict

from morello_layouts.core.description import BufferSizes, Description, called, dimensions, word_of
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.layout import Layout
from morello_layouts.core.lazy import importing, regex
from morello_layouts.core.limits import EXPLANATION_WIDTH
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.maps.names import as_names, renamed
from morello_layouts.core.maps.subject import Subject
from morello_layouts.core.recipe import known
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.notations.registry import describe
from morello_layouts.notations.xla import XlaShape
from morello_layouts.outputs.picture import View, fitted_view

if TYPE_CHECKING:
    from morello_layouts.core.expr import AffineExpr
    from morello_layouts.core.expr.simplify import Derivation, RewriteStep
    from morello_layouts.core.recipe import Recipe
    from morello_layouts.machines.tpu_layouts.layouts import TpuFacts
    from morello_layouts.programs.hlo import HloInstruction
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
        dims = dimensions(m.sizes, names=m.names)
        return Description(m.source, "index map", str(m.recipe), dims, ())
    numbers = tuple(n for n in one.shape or () if isinstance(n, int))
    has_numbers = one.shape is not None and len(numbers) == len(one.shape)
    words = describe(layout, numbers if has_numbers else None)
    element = layout.element
    return replace(words, word=word_of(words, None if element is None else element.bits))


def _on_tpu(layout: Layout | None, words: Description) -> TpuFacts | None:
    if not isinstance(layout, XlaShape):
        return None
    with importing:
        from morello_layouts.machines.tpu_layouts.layouts import tpu_facts

    return tpu_facts(layout, words.names)


def _document_steps(layout: Layout, m: IndexMap) -> tuple[str, ...]:
    """Return the steps of the notation's document, with the names of the map."""
    steps = layout.document_steps(m.recipe.shape)
    return tuple(called(line, m.coordinate_names) for line in steps)


def proofs_of(m: IndexMap) -> Proofs:
    """Return the proofs about an index map."""
    with importing:
        from morello_layouts import proof  # loads ISL
        from morello_layouts.interfaces.api import proofs

    ask: Any = proofs if m.is_part else proof  # that of a part says so
    return Proofs(ask.is_bijective(m), ask.is_injective(m), ask.verify(m))


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


_GROUPS: Final = {
    "each element from one of the operand": "abs cbrt ceil clz convert cos cosine erf exp "
    "exponential expm1 exponential-minus-one floor imag is-finite log log-plus-one logistic negate "
    "not popcnt popcount-nonzero-bits real reduce-precision round-nearest-afz round-nearest-even "
    "rsqrt sign sin sine sqrt stochastic-convert tan tanh acos acosh asin asinh atanh "
    "count-leading-zeros cosh sinh",
    "each element from those at its place": "add and atan2 clamp compare complex divide maximum "
    "minimum multiply or power remainder select shift-left shift-right-arithmetic "
    "shift-right-logical subtract xor map",
    "the same elements, in another layout": "copy",
    "the same bytes, under another shape": "bitcast bitcast-convert",
    "the same elements, in another order of dimensions": "transpose",
    "the same elements in row-major order, under another shape": "reshape dynamic-reshape",
    "repeats the operand along new dimensions": "broadcast",
    "a part of the operand": "slice dynamic-slice",
    "the operand with a part replaced": "dynamic-update-slice",
    "the operand with elements around it": "pad",
    "operands one after the other": "concatenate",
    "elements in reverse order along dimensions": "reverse",
    "a matrix product: sums of products over contracted dimensions": "dot ragged-dot scaled-dot",
    "sums of products over a window": "convolution",
    "combines elements along dimensions": "reduce",
    "combines the elements of each window": "reduce-window select-and-scatter",
    "sorts along a dimension": "sort",
    "the largest elements along the last dimension": "topk",
    "slices of an array at indices that an array holds": "gather",
    "an array with slices at indices replaced or combined": "scatter",
    "a value that the text holds": "constant",
    "numbers that count along a dimension": "iota",
    "an argument of its computation": "parameter",
    "several values as one; no bytes move": "tuple",
    "one value of a tuple; no bytes move": "get-tuple-element",
    "several operations compiled as one; values inside do not reach memory": "fusion",
    "runs a computation": "call",
    "runs its body as long as its condition holds": "while",
    "runs one of several computations": "conditional",
    "calls code that XLA does not know": "custom-call",
    "combines arrays of all devices; each gets the result": "all-reduce",
    "joins the parts of all devices; each gets all": "all-gather",
    "combines arrays of all devices; each gets a part": "reduce-scatter",
    "sends a part to each device": "all-to-all ragged-all-to-all",
    "sends an array to another device": "collective-permute",
    "sends the array of one device to all": "collective-broadcast",
    "sends to another program or the host": "send outfeed",
    "receives from another program or the host": "recv infeed",
    "the number of this device": "partition-id replica-id",
    "random numbers": "rng rng-bit-generator rng-get-and-update-state",
    "keeps the compiler from moving operations across it": "optimization-barrier opt-barrier",
    "orders operations; no bytes": "after-all add-dependency",
    "the number of elements along a dynamic dimension": "get-dimension-size set-dimension-size",
    "a Fourier transform": "fft",
    "a factor of a matrix, or a solution with it": "cholesky triangular-solve",
    "normalizes a batch": "batch-norm-training batch-norm-inference batch-norm-grad",
    "runs beside what follows": "async",
}  # fmt: skip
_WORDS: Final = {opcode: words for words, names in _GROUPS.items() for opcode in names.split()}

_FUSIONS: Final = {
    "kLoop": "one loop over the elements of the result",
    "kInput": "a reduction or the like over elements that it computes",
    "kOutput": "a matrix product, and what follows it",
    "kCustom": "as the target chooses",
}


def opcode_words(instruction: HloInstruction) -> str:
    """Return what the operation of an instruction does; "" if it is unknown."""
    opcode = instruction.opcode
    for ending, before in (("-start", "begins: "), ("-done", "ends: "), ("-update", "goes on: ")):
        if opcode.endswith(ending) and (words := _WORDS.get(opcode.removesuffix(ending))):
            return before + words
    words, kind = _WORDS.get(opcode, ""), instruction.attributes.get("kind", "")
    return f"{words}; {kind}: {_FUSIONS[kind]}" if kind in _FUSIONS else words


# A list or an operation after the sign is linalg.pack's.
_BEGINNING: Final = regex(
    r"\s*+(?:ROOT\s++)?+%?+[A-Za-z_][\w.\-]*+\s*+=(?!\s*+(?:\[|array\s*+<|\w++\.))", re.ASCII
)

_SIZES: Final = "once the program is partitioned, sizes are those of one part"


def instruction_in(text: object) -> HloInstruction | None:
    """Return the HLO instruction that a text holds; None for other texts."""
    if not isinstance(text, str):
        with importing:
            from morello_layouts.programs.hlo import HloInstruction as Instruction

        return text if isinstance(text, Instruction) else None
    if _BEGINNING.match(text) is None:
        return None
    with importing:
        from morello_layouts.programs.hlo import read_hlo

    found = list(read_hlo(text).instructions)
    if len(found) != 1:
        raise LayoutError(
            f"expected one instruction, got {len(found)}",
            "explain takes one instruction at a time",
            "give one of them; diagnose takes a whole program",
        )
    return found[0]


class OperandFacts(TypedDict):
    """An operand of an instruction; the type is None where the line does not give it."""

    name: str
    type: str | None


class InstructionFacts(TypedDict):
    """The parts of an instruction."""

    name: str
    opcode: str
    meaning: str | None
    is_root: bool
    literal: str | None
    operands: list[OperandFacts]
    calls: list[str]
    attributes: dict[str, str]
    sharding: str | None
    op_name: str | None
    source: str | None


def instruction_facts(instruction: HloInstruction) -> InstructionFacts:
    """Return the parts of an instruction by name; None for a missing part."""
    with importing:
        from morello_layouts.notations.sharding.reader import sharding_of

    shapes = instruction.operand_shapes or (None,) * len(instruction.operand_names)
    operands = zip(instruction.operand_names, shapes, strict=True)
    called = instruction.called_computations
    sharding = instruction.attributes.get("sharding")
    return {
        "name": instruction.name,
        "opcode": instruction.opcode,
        "meaning": opcode_words(instruction) or None,
        "is_root": instruction.is_root,
        "literal": instruction.literal,
        "operands": [
            {"name": name, "type": None if shape is None else str(shape)}
            for name, shape in operands
        ],
        "calls": [each if isinstance(each, str) else each.name for each in called],
        "attributes": dict(instruction.attributes),
        "sharding": sharding and f"{sharding}: {sharding_of(sharding)}; {_SIZES}",
        "op_name": instruction.metadata.op_name,
        "source": instruction.metadata.source,
    }
