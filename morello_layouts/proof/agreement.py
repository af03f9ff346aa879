"""Decide whether a consumer finds in a buffer what a producer wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Any, ClassVar

from morello_layouts.core.expr.sizes import Int, is_nonnegative
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.maps.names import at_text
from morello_layouts.core.maps.subject import cropped
from morello_layouts.core.recipe import offset_of
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.proof.access import BufferUse, covers, fits
from morello_layouts.proof.equivalent import EQUIVALENT, have_equal_offsets
from morello_layouts.proof.verdict import Condition, Proof, SymbolicCounterexample, sizes_text


@frozen
class Difference(Displayed):
    """The first element, in row-major order, that two layouts place differently."""

    #: symbolic sizes at which one differs, by name, as of a
    #: :class:`~morello_layouts.proof.verdict.SymbolicCounterexample`; empty for numbers.
    sizes: Mapping[str, int]
    at: tuple[int, ...]  #: the coordinate of the first such element.
    written: int  #: its offset in elements as the producer writes it.
    read: int  #: its offset in elements as the consumer reads it.
    written_byte: int  #: the byte in which it begins as the producer writes it.
    read_byte: int  #: the byte in which it begins as the consumer reads it.
    names: tuple[str, ...] = field(default=(), compare=False)  #: the user's names of coordinates.
    element_bits: int = field(default=8, compare=False)  #: bits of an element in the buffer.

    json_keys: ClassVar[tuple[str, ...]] = (
        "sizes", "at", "written", "read", "written_byte", "read_byte",
    )  # fmt: skip

    def __hash__(self) -> int:
        return hash((tuple(self.sizes.items()), self.at, self.written, self.read))

    def __str__(self) -> str:
        where = f"at {sizes_text(self.sizes)} " if self.sizes else ""
        return (
            f"{where}element {at_text(self.names, self.at)} is written at offset {self.written} "
            f"({self._place(self.written)}) and read at offset {self.read} "
            f"({self._place(self.read)})"
        )

    def _place(self, offset: int) -> str:
        byte, bit = divmod(offset * self.element_bits, 8)
        return f"byte {byte}" if self.element_bits % 8 == 0 else f"bit {bit} of byte {byte}"


def no_advice(_answer: Agreement) -> Iterable[str]:
    """Stand in for the advice of machines, which this room does not see."""
    return ()


@frozen(slots=False)
class Agreement(Displayed):
    """Whether a consumer finds in a buffer what a producer wrote, and why.

    It is true if offsets agree, everything fits, and everything that is read was written.

    >>> from morello_layouts import agree
    >>> answer = agree("[0, 1]", "[1, 0]", (4, 8))
    >>> answer.holds, answer.counterexample.at, answer.counterexample.read
    (False, (0, 1), 4)
    """

    offsets: Proof  #: the proof that each element is read where it is written.
    #: the proof that the producer stays inside its allocation. A counterexample is the first slot
    #: outside, an :class:`~morello_layouts.proof.Outside`.
    writes: Proof
    reads: Proof  #: the same for the consumer.
    #: the proof that each slot that is read was written. Its ``padding`` is the number of slots
    #: that are read and not written, its counterexample the first of them.
    definition: Proof
    #: the first element that differs, for symbolic sizes at some that have one; None if none does.
    counterexample: Difference | None = None
    shapes: str = ""  #: how the shapes of both differ, in words; empty if they do not.
    #: finds the advice when it is asked for.
    adviser: Callable[[Agreement], Iterable[str]] = field(default=no_advice, compare=False)

    json_keys: ClassVar[tuple[str, ...]] = (
        "holds", "verdict", "when", "counterexample", "fits", "covers", "undefined",
        "first_undefined", "unseen", "advice", "offsets", "writes", "reads", "definition",
    )  # fmt: skip

    @property
    def holds(self) -> bool | None:
        """Whether each element is read at the offset at which it is written; None if undecided."""
        return self.offsets.holds

    @property
    def when(self) -> Condition | None:
        """The exact sizes for which offsets agree; None for numbers, and if unknown."""
        return self.offsets.condition

    @property
    def fits(self) -> bool | None:
        """Whether all that is written and read lies inside the allocations."""
        return _all(self.writes.holds, self.reads.holds)

    @property
    def covers(self) -> bool | None:
        """Whether each slot that is read was written."""
        return self.definition.holds

    @property
    def undefined(self) -> Any:
        """How many slots are read and not written: an int, or a SymPy expression of sizes.

        None if it is not known for all sizes.
        """
        return self.definition.padding

    @property
    def first_undefined(self) -> int | None:
        """The first slot that is read and not written; for symbolic sizes at some that have one."""
        found = self.definition.counterexample
        first: int | None = found.at if isinstance(found, SymbolicCounterexample) else found
        return first

    @property
    def unseen(self) -> str | None:
        """The sizes at which a test could not have seen that offsets differ; None without any.

        >>> from morello_layouts import agree
        >>> agree("[0, 1, 2]", "[1, 0, 2]", ("H", "N", "D")).unseen
        'H = 1, or N = 1'
        """
        is_seen = self.holds is not False or self.when is None or not self.when.depends
        return None if is_seen else str(self.when)

    @cached_property
    def advice(self) -> tuple[str, ...]:
        """What to do, each tried before it is said."""
        return tuple(self.adviser(self))

    @property
    def verdict(self) -> str:
        """The answer in one line."""
        match bool_of(self):
            case True:
                everywhere = " for all sizes" if self.when is not None else ""
                return f"producer and consumer agree{everywhere}"
            case None:
                return (
                    f"undecided: {next(p.reason for p in self._named.values() if p.holds is None)}"
                )
        if self.holds is False:
            if self.when is not None and self.when.depends:
                return f"producer and consumer agree on offsets iff {self.when}"
            return f"do not agree: {self.counterexample or self.offsets.reason}"
        name, why = next(pair for pair in self._named.items() if pair[1].holds is False)
        if why.condition is not None and why.condition.depends:
            return f"offsets agree, but {name} unless {why.condition}"
        if isinstance(why.counterexample, SymbolicCounterexample):
            return f"offsets agree, but {name} at some sizes: {why.counterexample}"
        return f"offsets agree, but {name}: {why.reason}"

    @property
    def _named(self) -> dict[str, Proof]:
        """The proofs by what is said if they fail."""
        return {
            "they do not": self.offsets,
            "the producer writes outside its allocation": self.writes,
            "the consumer reads outside its allocation": self.reads,
            "the consumer reads what nobody wrote": self.definition,
        }

    @property
    def _open(self) -> list[Proof]:
        return [proof for proof in self._named.values() if proof.holds is None]

    def __bool__(self) -> bool:
        found = bool_of(self)
        if found is None:
            raise LayoutError(
                "undecided whether producer and consumer agree",
                "; ".join(proof.reason for proof in self._open),
                "look at .holds, .fits and .covers, or give sizes that are numbers",
            )
        return found

    def __str__(self) -> str:
        shapes = [f"Tests where {self.unseen} cannot see this."] if self.unseen else []
        shapes += [f"Shapes: {self.shapes}."] if self.shapes else []
        titles = ("Offsets", "Producer", "Consumer", "Slots that are read")
        proofs = zip(titles, self._named.values(), strict=True)
        return "\n".join(
            [
                f"{self.verdict}.",
                *shapes,
                *(f"{title}: {self._shown(proof)}." for title, proof in proofs),
                *(f"Advice: {each}." for each in self.advice),
            ]
        )

    def _shown(self, proof: Proof) -> str:
        if not isinstance(proof.counterexample, SymbolicCounterexample):
            return proof.verdict
        found = self.counterexample if proof is self.offsets else proof.counterexample
        return f"{proof.verdict}; {found}"


def bool_of(answer: Agreement) -> bool | None:
    """Return whether all of an agreement holds: None if part is undecided and none fails."""
    return _all(answer.holds, answer.fits, answer.covers)


def _all(*verdicts: bool | None) -> bool | None:
    if False in verdicts:
        return False
    return None if None in verdicts else True


def agree(producer: BufferUse, consumer: BufferUse) -> Agreement:
    """Decide whether a consumer finds what a producer wrote.

    Arrays of different shapes are compared on the elements that both have.
    """
    one, other = common_maps(producer, consumer)
    common = one.recipe.shape
    if producer.bits != consumer.bits:
        widths = f"elements take {producer.bits} bits in one and {consumer.bits} in the other"
        offsets = Proof(EQUIVALENT, False, widths, decider="")
        definition = replace(offsets, claim="defined", holds=None)
    else:
        offsets = have_equal_offsets(one, other)
        definition = covers(producer, consumer, offsets)
    shapes = ""
    if producer.sizes != consumer.sizes:
        texts = [
            f"({', '.join(map(str, sizes))})" for sizes in (producer.sizes, consumer.sizes, common)
        ]
        shapes = "the producer sees {}, the consumer {}; compared on {}".format(*texts)
    difference = _difference(one, other, offsets, producer.bits)
    return Agreement(offsets, fits(producer), fits(consumer), definition, difference, shapes=shapes)


def common_maps(producer: BufferUse, consumer: BufferUse) -> tuple[IndexMap, IndexMap]:
    """Return the maps of the elements that both sides have."""
    shape = _common(producer.sizes, consumer.sizes)
    return cropped(producer.map, shape), cropped(consumer.map, shape)


def _common(one: tuple[Int, ...], other: tuple[Int, ...]) -> tuple[Int, ...]:
    """Return the shape of the elements that two arrays share."""
    if len(one) != len(other):
        raise ShapeError(
            f"shapes of producer and consumer: expected equally many dimensions, got {len(one)} "
            f"and {len(other)}",
            "elements correspond by their coordinates",
            "write both layouts for the same array",
        )
    found = []
    for n, m in zip(one, other, strict=True):
        if not is_nonnegative(m - n) and not is_nonnegative(n - m):
            raise ShapeError(
                f"sizes {n} and {m} of one dimension: nothing says which is smaller",
                "different shapes are compared on the elements that both have",
                "give both the same name, or numbers",
            )
        found.append(n if is_nonnegative(m - n) else m)
    return tuple(found)


def _difference(one: IndexMap, other: IndexMap, same: Proof, bits: int) -> Difference | None:
    sizes: Mapping[str, int] = {}
    at = same.counterexample
    if isinstance(at, SymbolicCounterexample):
        sizes, at = at.sizes, at.at
    if at is None:
        return None
    written, read = (offset_of(m.recipe.at(sizes), at, 0) for m in (one, other))
    names = tuple(one.names or other.names)
    bytes_at = written * bits // 8, read * bits // 8
    return Difference(sizes, at, written, read, *bytes_at, names, bits)
