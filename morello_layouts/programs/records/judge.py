"""Whether the fields of a record stay inside, share no bit, and cover it; for all sizes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, groupby
from math import prod
from typing import Any, ClassVar, Final

from morello_layouts.core.expr import AffineExpr, canonicalize, coordinate_variables
from morello_layouts.core.expr.assumptions import meet_all
from morello_layouts.core.expr.sizes import Int, evaluated, is_nonnegative
from morello_layouts.core.expr.substitution import substitute
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.lazy import numpy as np, sympy
from morello_layouts.core.limits import RECORD_BITS
from morello_layouts.core.maps import AffineMap
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.programs.records.block import Block, PieceMap, part_of
from morello_layouts.programs.records.values import bits_of, bytes_of_block, decode, places
from morello_layouts.proof import are_equivalent, is_injective
from morello_layouts.proof.certificate import at_seven, certificate_of_map, certificate_of_number
from morello_layouts.proof.certificate_digits import Certificate
from morello_layouts.proof.disjoint import DISJOINT, INSIDE, are_disjoint, is_below
from morello_layouts.proof.verdict import Condition, Proof, SymbolicCounterexample, sizes_text


class _Claims(Displayed):
    """What is proved of records, in several claims."""

    @property
    @abstractmethod
    def claims(self) -> tuple[Proof, ...]:
        """The proofs of all claims."""

    @property
    @abstractmethod
    def verdict(self) -> str:
        """The answer in one line."""

    @property
    def holds(self) -> bool | None:
        """Whether all claims hold: True, False, or None where one is undecided."""
        each = [one.holds for one in self.claims]
        return False if False in each else None if None in each else True

    def __bool__(self) -> bool:
        if self.holds is None:
            raise ValueError(f"undecided: {self.verdict}")
        return self.holds

    def __str__(self) -> str:
        return self.verdict


@frozen(slots=False)
class RecordProof(_Claims):
    """What is proved of a record: each of the three claims is about one block and all sizes.

    It is true if no two bits share a place and none is outside of its block, so that the blocks
    share none either.

    >>> from morello_layouts import record
    >>> print(record("q4_K[B]").check())
    exact: 9 pieces lie inside, share no bit, and cover 1152 of 1152 bits of a block, for each B
    """

    record: Block  #: what was asked about.
    inside: Proof  #: that each bit lies in its block.
    injective: Proof  #: that no two bits of one piece share a place.
    disjoint: Proof  #: that no two pieces share a bit.
    #: the bits of a block that no field uses, if the claims hold; an int, or a formula of sizes.
    unused: Int | None

    json_keys: ClassVar = ("record.name", "holds", "inside", "injective", "disjoint", "unused",
                           "covers", "verdict")  # fmt: skip

    @property
    def claims(self) -> tuple[Proof, ...]:
        """The proofs of all claims."""
        return self.inside, self.injective, self.disjoint

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is assumed of sizes, such as that a pack divides one."""
        found = (str(one) for part in self.record.parts for one in part.bits.assumptions)
        return tuple(dict.fromkeys(found))

    @property
    def covers(self) -> bool | None:
        """Whether each bit of a block is used; None if that is not known for all sizes."""
        if self.unused is None:
            return None
        return True if self.unused == 0 else False if isinstance(self.unused, int) else None

    @property
    def verdict(self) -> str:
        """The answer in one line."""
        if open_ones := [one for one in self.claims if not one.holds]:
            return "; ".join(one.verdict for one in open_ones)
        bits, count = self.record.bits, len(self.record.parts)
        used = bits if self.unused is None else bits - self.unused
        pieces = f"{count} piece{'s lie' if count != 1 else ' lies'} inside"
        names = ", ".join(self.record.names)
        where = f", for each {names}" if names else ""
        where += "".join(f", if {one}" for one in self.assumptions)
        apart, s = ", share no bit," if count > 1 else "", "s" if count == 1 else ""
        if self.unused == 0:
            return f"exact: {pieces}{apart} and cover{s} {used} of {bits} bits of a block{where}"
        return f"{pieces}{apart} and leave{s} {self.unused} of {bits} bits of a block unused{where}"


@frozen(slots=False)
class RecordReport(Displayed):
    """What a record is: its text, what is proved of it, and the document that it is from."""

    record: Block  #: what is explained.
    proof: RecordProof  #: that its fields stay inside and share no bit.

    json_keys: ClassVar = ("record", "proof")

    @property
    def holds(self) -> bool | None:
        """Whether the claims of the proof hold."""
        return self.proof.holds

    def __repr__(self) -> str:
        return f"<RecordReport of {self.record!r}: {self.proof}>"

    def __str__(self) -> str:
        source = f"\nsource: {self.record.source}" if self.record.source else ""
        return f"{self.record}\n{self.proof}{source}"


def explain(record: Block, *, budget: int | None = None) -> RecordReport:
    """Return the text, what is proved of it, and the document that it was written from."""
    return RecordReport(record, check(record, budget=budget))


def certificates(record: Block) -> dict[str, Certificate]:
    """Return certificates that the fields stay inside and share no bit, for ``check``.

    Returns:
        For each piece of a field ``"…: places"``: no two of its bits share a place, and all
        are inside of the buffer. If there are several pieces, also ``"…: number"``: one
        formula, the same in each of these, gives each bit of the piece the piece's number. So
        no place is of two pieces.

    Raises:
        UnsupportedError: if one is not found: the claim is false, or digits do not prove it.

    >>> from morello_layouts import check, record
    >>> found = record("q4_0[B]").certificates()
    >>> [(name, check.check(one)) for name, one in found.items()][:2]
    [('d: places', 'padded'), ('d: number', 'relayout')]
    >>> found["d: number"]["source"] == found["qs: number"]["source"]
    True
    >>> found["d: number"]["offset"], found["qs: number"]["offset"]
    ('0', '1')
    """
    found, starts = {}, _starts(record)
    for k, part in enumerate(record.parts):
        m = _in_buffer(record, part)
        found[f"{part.label}: places"] = certificate_of_map(m, "padded")
        if len(starts) > 1:
            number = certificate_of_number(m, k, starts, record.bits, len(record.blocks))
            found[f"{part.label}: number"] = number
    return found


def _in_buffer(record: Block, part: PieceMap) -> AffineMap:
    """Return the map from a block, an element and a bit of it to the bit of the buffer."""
    rank, stride = len(record.blocks), record.bits
    sizes = (*record.blocks, *part.bits.sizes)
    at = coordinate_variables(sizes)
    moved = {f"d{k}": x for k, x in enumerate(at[rank:])}
    form = substitute(part.bits.given[0], moved)
    for n, x in reversed([*zip(record.blocks, at, strict=False)]):
        form, stride = form + x * stride, stride * n
    return replace(part.bits, sizes=sizes, given=(canonicalize(form),), buffer_size=stride)


def _starts(record: Block) -> list[tuple[Int, int]]:
    """Return the bits of a block from which on they are of another piece, with its number."""
    groups: list[list[int]] = []
    for k in sorted(range(len(record.parts)), key=lambda k: at_seven(record.parts[k].first)):
        first = record.parts[k].first
        if groups and not all(is_nonnegative(first - record.parts[j].end) for j in groups[-1]):
            groups[-1].append(k)
        else:
            groups.append([k])
    found: list[tuple[Int, int]] = []
    for group in groups:
        if len(group) == 1:
            found.append((record.parts[group[0]].first, group[0]))
            continue
        if record.names and any(record.parts[k].bits.given[0].sizes() for k in group):
            raise UnsupportedError(
                f"no certificate: {', '.join(record.parts[k].label for k in group)} are not known "
                "to lie one after the other",
                "the pieces of such fields are told apart bit by bit, at sizes that are numbers",
                "give the sizes: record.at(…)",
            )
        owner = {int(bit): k for k in group for bit in np.ravel(bits_of(record.parts[k]))}
        runs = groupby(sorted(owner.items()), key=lambda pair: pair[1])
        found += [(next(run)[0], k) for k, run in runs]
    return found


def check(record: Block, *, budget: int | None = None) -> RecordProof:
    """Decide whether the fields stay inside, share no bit, and cover the record."""
    parts = record.parts
    each = _outermost(parts, record.bits)
    inside = _all(INSIDE, (_inside(part, record.bits, budget) for part in each))
    injective = _all("injective", (_injective(part, budget) for part in parts))
    disjoint = _all(DISJOINT, (_apart(a, b, budget) for a, b in combinations(parts, 2)))
    unused = None
    if inside.holds and injective.holds and disjoint.holds:
        used = sum(prod(part.bits.sizes, start=1) for part in parts)
        unused = record.bits - used
    return RecordProof(record, inside, injective, disjoint, unused)


def _all(claim: str, proofs: Iterable[Proof]) -> Proof:
    """Return whether all proofs hold: for sizes that are names, under all of their conditions."""
    each = [*proofs]
    wrong = [one for one in each if one.holds is False]
    open_ones = [one for one in each if one.holds is None]
    found = {str(one.condition): one.condition for one in wrong if one.condition is not None}
    never = [one for one in wrong if one.condition is None or one.condition.is_never]
    if never or not wrong:
        decider = next((one.decider for one in each if one.decider), "")
        return next(iter([*never, *open_ones]), Proof(claim, True, "every piece is", decider))
    if open_ones:  # some sizes fail, and nobody knows which all of them are
        return replace(wrong[0], condition=None)
    texts = (f"({text})" if " or " in text and len(found) > 1 else text for text in found)
    own = [one.relation for one in found.values()]

    def relation() -> Any:
        return sympy.And(*(one() for one in own if one is not None))

    joined = Condition(" and ".join(texts), None if None in own else relation)
    return replace(wrong[0], condition=joined)


def _outermost(parts: Sequence[PieceMap], end: Int) -> Iterator[PieceMap]:
    """Yield the parts that may leave a block; of those without names the one that ends last."""
    numbers = []
    for part in parts:
        if is_nonnegative(end - part.end):
            continue
        bits = prod(part.bits.sizes, start=1)
        if part.bits.given[0].sizes() or not isinstance(bits, int) or bits > RECORD_BITS:
            yield part
        else:
            numbers.append(part)
    if numbers:
        yield max(numbers, key=lambda part: bits_of(part).max())


def _inside(part: PieceMap, end: Int, budget: int | None) -> Proof:
    bits = prod(part.bits.sizes, start=1)
    if part.bits.given[0].sizes() or not isinstance(bits, int) or bits > RECORD_BITS:
        found = is_below(part.bits, end, budget=budget)
    else:  # the last place alone, of which ISL need not find out
        places = bits_of(part)
        found = is_below(AffineMap((), (AffineExpr((), int(places.max())),)), end, budget=budget)
        if found.holds is False:
            own: Any = found.counterexample
            is_sized = isinstance(own, SymbolicCounterexample)
            outside = places >= (evaluated(end, own.sizes) if is_sized else end)
            at = tuple(map(int, np.argwhere(outside)[0]))
            found = replace(found, counterexample=replace(own, at=at) if is_sized else at)
    return _told(found, part, part, "{0} lies at bit {2}, and the block ends at bit {4}", end=end)


def _injective(part: PieceMap, budget: int | None) -> Proof:
    lo, hi = part.field.piece_bits(part.piece)
    if part.units is None:
        return Proof("injective", True, "one number", "")
    if is_nonnegative(part.field.piece_unit(part.piece) - (hi - lo)):
        found = is_injective(part.units, budget=budget)
        return _told(found, part, part, "{0} and {1} share bit {2}", bit=(0,))
    found = is_injective(part.bits, budget=budget)
    return _told(found, part, part, "{0} and {1} share bit {2}")


def _apart(one: PieceMap, other: PieceMap, budget: int | None) -> Proof:
    if is_nonnegative(other.first - one.end) or is_nonnegative(one.first - other.end):
        return Proof(DISJOINT, True, f"{one.label} and {other.label} lie one after the other", "")
    found = are_disjoint(one.bits, other.bits, budget=budget)
    return _told(found, one, other, "{0} and {1} share bit {2}")


def _told(
    proof: Proof,
    one: PieceMap,
    other: PieceMap,
    words: str,
    *,
    end: Int = 0,
    bit: tuple[int, ...] = (),
) -> Proof:
    """Return a proof whose reason names fields, elements and bits, at sizes if they are names."""
    if proof.holds is not False:
        return replace(proof, reason=f"{one.label}: {proof.reason}")
    found, sizes = proof.counterexample, {}
    if isinstance(found, SymbolicCounterexample):
        found, sizes = found.at, dict(found.sizes)
    pair = found if found and isinstance(found[0], tuple) else (found, found)
    a, b = ((*at, *bit) for at in pair)
    parts = [(part.at(sizes), at) for part, at in ((one, a), (other, b))]
    elements, bits = ([f(*each) for each in parts] for f in (PieceMap.element, PieceMap.bit))
    last = end if isinstance(end, int) else evaluated(end, sizes)
    start = f"{sizes_text(sizes)}: " if sizes else ""
    return replace(proof, reason=start + words.format(*elements, *bits, last))


AGREE: Final = "read as written"


@frozen(slots=False)
class RecordAgreement(_Claims):
    """Whether a reader of a buffer finds the numbers of its writer, field by field.

    >>> from morello_layouts import record
    >>> linear = record("r[B]: 17 bytes { e: u8 at byte 0; qs: u4[32] at byte 1 }")
    >>> print(record("mxfp4[B]").agree(linear))
    do not agree: qs[1] bit 0 is written at bit 16 of a block and read at bit 12
    """

    fields: Mapping[str, Proof]  #: for each field of the reader, that its bits are read as written.
    size: Proof  #: that the blocks of both have one size.
    #: that both make the same values of the same numbers, if both have a formula of them.
    value: Proof | None = None

    json_keys: ClassVar = ("holds", "verdict", "fields", "size", "value")

    @property
    def claims(self) -> tuple[Proof, ...]:
        """The proofs of all claims."""
        return (*self.fields.values(), self.size, *([] if self.value is None else [self.value]))

    @property
    def verdict(self) -> str:
        """The answer in one line."""
        if self.holds:
            return f"agree: {', '.join(self.fields) or 'no field'} read as written in each block"
        wrong = [one for one in self.claims if one.holds is not True]
        decided = [one for one in wrong if one.holds is False] or wrong
        start = "do not agree" if self.holds is False else "undecided"
        conditions = [str(one.condition) for one in decided if one.condition is not None]
        if conditions and all(one.condition.depends for one in decided if one.condition):
            return f"agree iff {' and '.join(dict.fromkeys(conditions))}"
        return f"{start}: {'; '.join(one.reason for one in decided)}"


def agree(writer: Block, reader: Block, *, budget: int | None = None) -> RecordAgreement:
    """Decide whether a reader, as another record, finds each field where this one puts it."""
    fields = {one.name: _field_agrees(writer, reader, one.name, budget) for one in reader.fields}
    many = writer.blocks != () or reader.blocks != ()
    a, b = writer.bits, reader.bits
    reason = f"blocks of {a} bits are written, and of {b} bits read"
    size = Proof(AGREE, a == b or not many, reason, "")
    found = RecordAgreement(fields, size)
    same = writer.fields and found.holds and {one.name for one in writer.fields} == {*fields}
    return replace(found, value=_same_values(writer, reader)) if same else found


def _same_values(writer: Block, reader: Block) -> Proof | None:
    """Compare the formulas of values: their texts, else what they make of random bytes."""
    one, other = writer.value, reader.value
    if one is None or other is None:
        return None
    if one == other:
        return Proof(AGREE, True, "the values have one formula", "")
    random = np.random.default_rng(0)
    for size in (1, 2, 8, 64):
        try:
            both = [r.at(**dict.fromkeys(r.names, size)) for r in (writer, reader)]
            data = random.integers(0, 256, bytes_of_block(both[0]), np.uint8).tobytes()
            wrote, read = (decode(replace(r, blocks=()), data)[0] for r in both)
        except LayoutError:
            continue
        if wrote.shape != read.shape:
            reason = f"values {list(wrote.shape)} are written, and {list(read.shape)} read"
            return Proof(AGREE, False, reason, "enumeration")
        different = (wrote != read) & ~(np.isnan(wrote) & np.isnan(read))
        if different.any():
            at = tuple(map(int, np.argwhere(different)[0]))
            reason = (f"value[{','.join(map(str, at))}] of the same numbers is written as "
                      f"{wrote[at]:g} and read as {read[at]:g}")  # fmt: skip
            return Proof(AGREE, False, reason, "enumeration", counterexample=at)
    reason = "the formulas of values are not the same text, and no bytes that tell them apart are"
    return Proof(AGREE, None, f"{reason} known", "enumeration")


def _field_agrees(writer: Block, reader: Block, name: str, budget: int | None) -> Proof:
    wanted = reader[name]
    given = next((one for one in writer.fields if one.name == name), None)
    if given is None:
        others = ", ".join(one.name for one in writer.fields)
        return Proof(AGREE, False, f"{name} is read, and {others or 'nothing'} is written", "")
    if (given.type, given.shape) != (wanted.type, wanted.shape):
        kinds = [f"{f.type}[{', '.join(map(str, f.shape))}]" for f in (given, wanted)]
        return Proof(AGREE, False, f"{name} is written as {' and read as '.join(kinds)}", "")
    bits = prod(given.shape, start=1) * given.bits
    if isinstance(bits, int) and bits <= RECORD_BITS and not _open_names(writer, reader, name):
        return _same_places(writer, reader, name)
    parts = writer.parts_of(name), reader.parts_of(name)
    known = meet_all(fact for each in parts for part in each for fact in part.bits.assumptions)
    held = [{p.holds: part_of(p.field, p.piece, known) for p in each} for each in parts]
    if held[0].keys() != held[1].keys():
        reason = f"{name} has pieces of other elements and bits, and too many to compare each"
        return Proof(AGREE, None, reason, "")
    return _all(AGREE, (_same_bits(one, held[1][key], budget) for key, one in held[0].items()))


def _same_bits(one: PieceMap, other: PieceMap, budget: int | None) -> Proof:
    found = are_equivalent(one.bits, other.bits, budget=budget)
    return _told(found, one, other, "{0} is written at bit {2} and read at bit {3}")


def _open_names(writer: Block, reader: Block, name: str) -> bool:
    return any(
        part.bits.given[0].sizes() for one in (writer, reader) for part in one.parts_of(name)
    )


def _same_places(writer: Block, reader: Block, name: str) -> Proof:
    """Compare the place of each bit of each element of a block."""
    one, other = (places(record, name) for record in (writer, reader))
    if (one == other).all():
        return Proof(AGREE, True, f"each bit of {name} lies where it is read", "enumeration")
    *index, bit = map(int, np.argwhere(one != other)[0])
    element = f"{name}[{','.join(map(str, index))}]" if index else name
    at = (*index, bit)
    reason = (f"{element} bit {bit} is written at bit {one[at]} of a block "
              f"and read at bit {other[at]}")  # fmt: skip
    return Proof(AGREE, False, reason, "enumeration", counterexample=at)
