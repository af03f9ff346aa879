"""HLO instructions among texts: recognized, their opcodes in words, their parts by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypedDict

from morello_layouts.core.lazy import importing
from morello_layouts.errors import LayoutError

if TYPE_CHECKING:
    from morello_layouts.programs.hlo import HloInstruction


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
    "operands one behind the other": "concatenate",
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
_BEGINNING: Final = re.compile(
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
    """An operand by name."""

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
