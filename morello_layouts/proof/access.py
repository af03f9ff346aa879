"""What one side touches of a buffer: whether it fits, and whether all that is read is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Final

from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.affine import Digit
from morello_layouts.core.expr.assumptions import Assumption, apply_divisibility
from morello_layouts.core.expr.conversions import as_number
from morello_layouts.core.expr.sizes import Int, SizeExpr, is_nonnegative
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.limits import ISL_OPERATIONS, PROOF_ELEMENTS, PROOF_FIRST
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.maps.names import at_text
from morello_layouts.core.recipe import Recipe, elements_at, has_inverse, known, offset_of
from morello_layouts.core.recipe.views import with_replicas_as_dims
from morello_layouts.errors import UnsupportedError
from morello_layouts.proof.ask import SymbolicQuestion, ask_isl, isl_budget
from morello_layouts.proof.bijective import is_surjective
from morello_layouts.proof.comparison import (
    DIGITS,
    has_symbolic_tiles,
    is_placed_by_steps,
    is_swizzled,
    separable,
)
from morello_layouts.proof.conditions import SizeSet
from morello_layouts.proof.difference import decide_by_sizes, negative, surely_negative
from morello_layouts.proof.isl import Parameters, Space, Value, first_point, offset_value
from morello_layouts.proof.library import isl
from morello_layouts.proof.relations import relations_of
from morello_layouts.proof.verdict import ALL_SIZES, Proof

if TYPE_CHECKING:
    import sympy
    from numpy.typing import NDArray


@frozen(slots=False)
class BufferUse:
    """What one side of a buffer touches."""

    map: IndexMap  #: the slot of each element.
    whole: bool = False  #: whether it touches padding too: every slot of the layout's buffer.
    bits: int = 8  #: bits of an element.
    #: the bytes that are allocated, a form over the names of sizes; None for the layout's own
    #: buffer.
    room: AffineExpr | None = None

    @property
    def sizes(self) -> tuple[Int, ...]:
        """The sizes of the array."""
        return self.map.recipe.shape

    @property
    def size_names(self) -> Sequence[str]:
        """The names of symbolic sizes."""
        return self.map.size_names

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """The assumptions about symbolic sizes."""
        return self.map.assumptions

    @property
    def size_symbols(self) -> dict[str, sympy.Symbol]:
        """The user's SymPy symbols of symbolic sizes."""
        return dict(self.map.size_symbols)

    def at(self, /, **sizes: int) -> BufferUse:
        """Return the access at numbers."""
        room = self.room and AffineExpr((), self.room.evaluate(sizes))
        return replace(self, map=self.map.steps_at(sizes), room=room)

    @property
    def slots(self) -> int:
        """The slots that fit the allocation; sizes must be numbers."""
        if self.room is None:
            return known((self.map.recipe.size,))[0]
        count: int = self.room.evaluate({})
        return count * 8 // self.bits

    def left_over(self, slots: Int) -> Int | None:
        """Return a number that is at least 0 exactly if some slots fit the allocation.

        Without remainders in it, it is a size; None if it is not.
        """
        assert self.room is not None
        names = self.room.sizes() | {v.name for v in self.room.variables()}
        values = {n: apply_divisibility(self.assumptions, SizeExpr.named(n)) for n in names}
        divisor = 1
        try:
            count = self.room.evaluate(values)
        except UnsupportedError:
            count = as_number(self.room)
            atom = self.room.as_atom()
            if count is None and (floor := _floor(atom)) is not None:
                count, divisor = floor
            if count is None:
                return None
            count = apply_divisibility(self.assumptions, count)
        if divisor != 1 and self.bits % 8:
            return None
        scale = 1 if self.bits % 8 == 0 else 8
        left: Int = count * scale - slots * (divisor * self.bits * scale // 8)
        return left

    def touched(self, end: int) -> NDArray[np.bool_]:
        """Return for each slot up to an end whether it is touched; sizes must be numbers.

        Elements outside, which a formula may have at some sizes, touch none of these.
        """
        slots = np.zeros(end, bool)
        held = with_replicas_as_dims(self.map.recipe)
        shape = known(held.shape)
        if 0 not in shape:
            offsets = np.asarray(offset_of(held, np.indices(shape, sparse=True), 0))
            slots[offsets[(offsets >= 0) & (offsets < end)]] = True
        slots[: known((self.map.recipe.size,))[0] if self.whole else 0] = True
        return slots


def _floor(atom: object) -> tuple[Int | None, int] | None:
    """Return numerator and divisor of a quotient that is rounded down."""
    if isinstance(atom, Digit) and atom.modulus is None and isinstance(atom.divisor, int):
        return as_number(atom.operand), atom.divisor
    return None


@frozen
class Outside(Displayed):
    """The first slot that is touched outside of an allocation."""

    offset: int  #: its offset in elements.
    byte: int  #: its offset in bytes.
    #: the element there, the first if there are several; None for padding.
    at: tuple[int, ...] | None
    allocated: int  #: the bytes of the allocation.
    needed: int  #: the bytes up to the last slot that is touched.
    names: tuple[str, ...] = field(default=(), compare=False)  #: the user's names of coordinates.

    json_keys: ClassVar[tuple[str, ...]] = ("offset", "byte", "at", "allocated", "needed")

    def __str__(self) -> str:
        what = "padding" if self.at is None else f"element {at_text(self.names, self.at)}"
        return (
            f"{what} lies at byte {self.byte} of {_count(self.allocated, 'byte')}, "
            f"and {_count(self.needed, 'byte')} are needed"
        )


FITS: Final = "inside the allocation"
COVERS: Final = "defined"

_ALL_INSIDE: Final = "every slot that is touched is allocated"
_ALL_WRITTEN: Final = "every slot that is read is written"


def fits(access: BufferUse) -> Proof:
    """Decide whether all that a side touches lies inside its allocation.

    A counterexample is an :class:`Outside`; for symbolic sizes at some that have one.
    """
    answer = _fits(access)
    if answer.holds is not None or not access.map.recipe.names:
        return answer
    with isl_budget(ISL_OPERATIONS // 4):
        found = _fits_question(access).sample(answer)
    is_part = found.holds is False and answer.reason.startswith("proved if")
    return replace(found, reason=f"{answer.reason}, open for other sizes") if is_part else found


def _fits(access: BufferUse) -> Proof:
    return _decide_fits(access.map, access)


def _fits_question(access: BufferUse) -> SymbolicQuestion:
    def effect(accesses: Sequence[Any], proof: Proof) -> str:  # noqa: ARG001
        wrong: Outside = proof.counterexample
        return f"needs {_count(wrong.needed, 'byte')} and has {wrong.allocated}"

    return SymbolicQuestion(FITS, (access,), _fits, effect)


@ask_isl(FITS)
def _decide_fits(m: IndexMap, access: BufferUse, *, context: isl.Context) -> Proof:
    if m.recipe.names:
        return _fits_for_sizes(access, context)
    limit, touches_padding = access.slots, access.whole and m.size > access.slots
    if prod(m.recipe.shape) == 0 and not touches_padding:
        return Proof(FITS, True, "the array is empty", decider="")
    if is_swizzled(m):
        return _evaluated_fits(access)
    if not touches_padding and _ends_by(m.recipe, limit):
        return Proof(FITS, True, _ALL_INSIDE, "ranges")
    if limit < known((m.recipe.size,))[0] <= PROOF_FIRST and has_inverse(m.recipe):
        return _evaluated_fits(access)
    space = Space.of(m.recipe.shape, context)
    offset = offset_value(m.recipe, space).function
    outside = offset.ge_set(space.number(limit)).union(offset.lt_set(space.number(0)))
    outside = outside.intersect(space.domain)
    if outside.is_empty() and not touches_padding:
        return Proof(FITS, True, _ALL_INSIDE)
    slot, last = limit, m.size - 1
    at = None
    if not outside.is_empty():
        first = outside.min_val(offset)
        last = max(space.domain.max_val(offset).to_python(), last if access.whole else 0)
        if not touches_padding or first.to_python() <= limit:
            slot = first.to_python()
            there = offset.add_constant_val(first.neg()).to_pw_aff().zero_set()
            at = first_point(there.intersect(outside))
    given = limit if access.room is None else access.room.evaluate({})
    needed = -(-(last + 1) * access.bits // 8)
    wrong = Outside(slot, slot * access.bits // 8, at, given, needed, m.names)
    return Proof(FITS, False, str(wrong), counterexample=wrong)


def _ends_by(recipe: Recipe, limit: int) -> bool:
    """Return whether the ranges of the digits alone keep all offsets below a limit."""
    try:
        offset = separable(recipe, recipe.shape)
    except UnsupportedError:
        return False
    least, most = known((offset.const, limit if offset.most is None else offset.most))
    return least >= 0 and most < limit


def _is_onto(m: IndexMap) -> Proof:
    """Return whether every slot holds an element, kept with the map: several questions ask."""
    if _ONTO not in vars(m):
        vars(m)[_ONTO] = is_surjective(m)
    found: Proof = vars(m)[_ONTO]
    return found


_ONTO: Final = "_is_onto"
"""The key of that answer among a map's cached values."""


def _evaluated_fits(access: BufferUse) -> Proof:
    """Decide slot by slot; a layout with exclusive ors or replicas has offsets not for ISL."""
    m, limit = access.map, access.slots
    (size,) = known((m.recipe.size,))
    if limit >= size:
        return Proof(FITS, True, _ALL_INSIDE, DIGITS)
    if not _is_small(m):
        return Proof(FITS, None, "the whole buffer does not fit, and the array is large")
    outside = np.flatnonzero(access.touched(size)[limit:]) + limit
    if not len(outside):
        return Proof(FITS, True, _ALL_INSIDE, "enumeration")
    first, needed = int(outside[0]), -(-(int(outside[-1]) + 1) * access.bits // 8)
    at, there = elements_at(m.recipe, outside[:1])
    element = tuple(int(x[0]) for x in at) if there[0] else None
    given = limit if access.room is None else access.room.evaluate({})
    wrong = Outside(first, first * access.bits // 8, element, given, needed, m.names)
    return Proof(FITS, False, str(wrong), "enumeration", counterexample=wrong)


def _fits_for_sizes(access: BufferUse, context: isl.Context) -> Proof:
    """Decide by the size of the whole buffer: exactly if it is all touched, else a sufficiency."""
    m = access.map
    if not has_symbolic_tiles(m) and not is_placed_by_steps(m):  # these stay inside
        relations = relations_of(m, context)
        if any(not one.outside.is_empty() for one in relations):
            return Proof(FITS, None, "elements may lie outside of the layout's own buffer")
    if access.room is None:
        return Proof(FITS, True, _ALL_INSIDE, condition=ALL_SIZES)
    if access.left_over(prod(m.recipe.shape)) == 0:  # room for the elements alone
        answer = _is_onto(m)
        condition = answer.condition
        if access.whole and condition is not None and answer.counterexample is not None:
            found = _fits_question(access).at(answer.counterexample.sizes)[1]
            return Proof(FITS, False, str(found), counterexample=found, condition=condition)
        if answer.holds:
            return replace(answer, claim=FITS, reason=_ALL_INSIDE, unused=None)
    else:
        gap = access.left_over(m.recipe.size)
        if gap is None:
            return Proof(FITS, None, f"{access.room} is not a polynomial for all sizes")
        proved, undecided = _nonnegative(gap, access, context)
        if access.whole or proved.is_always:
            return _fits_question(access).answer(proved, _ALL_INSIDE, undecided)
        condition = proved.condition(m)
    if condition is None or condition.is_never:
        return Proof(FITS, None, "the whole buffer does not always fit")
    return Proof(FITS, None, f"proved if {condition}")


def _nonnegative(gap: Int, access: BufferUse, context: isl.Context) -> tuple[SizeSet, isl.Set]:
    """Return the sizes for which a number is at least 0, and the undecided sizes."""
    space = Space.of((), context, Parameters.of([*access.sizes, gap], access.assumptions))
    value = Value.constant(gap, space)
    proved, undecided = decide_by_sizes([value], space, negative, surely_negative)
    return SizeSet(proved, space), undecided


def covers(producer: BufferUse, consumer: BufferUse, same: Proof) -> Proof:
    """Decide whether every slot that a consumer reads was written by a producer.

    The padding of the proof is the number of slots that are read and not written; a
    counterexample is the first of them.
    """
    maps = (producer.map, consumer.map)
    if not any(m.recipe.names for m in maps) and all(map(_is_small, maps)):
        return _enumerated(producer, consumer)
    answer = _by_rules(producer, consumer, same)
    if answer.holds is not None:
        return answer

    def decide(*sides: BufferUse) -> Proof:
        if all(_is_small(side.map) for side in sides):
            return _enumerated(*sides)
        return Proof(COVERS, None, "the arrays are large")

    with isl_budget(ISL_OPERATIONS // 4):
        return SymbolicQuestion(COVERS, (producer, consumer), decide, _gaps).sample(answer)


def _gaps(_sides: Sequence[Any], proof: Proof) -> str:
    return (
        f"leaves {_count(proof.unused or 0, 'slot')} undefined, the first at {proof.counterexample}"
    )


def _count(count: Int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _is_small(m: IndexMap) -> bool:
    return max(*known((prod(m.recipe.shape), m.recipe.size))) <= PROOF_ELEMENTS


def _enumerated(producer: BufferUse, consumer: BufferUse) -> Proof:
    end = max(known((producer.map.recipe.size, consumer.map.recipe.size)))
    read = consumer.touched(end)
    missing = read & ~producer.touched(end)
    count = int(missing.sum())
    if not count:
        return Proof(COVERS, True, _ALL_WRITTEN, "enumeration", unused=0)
    first = int(missing.argmax())
    part = f"{count} of {_count(int(read.sum()), 'slot')}"
    reason = f"{part} that are read are never written (first: {first})"
    return Proof(COVERS, False, reason, "enumeration", counterexample=first, unused=count)


def _by_rules(producer: BufferUse, consumer: BufferUse, same: Proof) -> Proof:
    """Decide by the sizes of the buffers, by the offsets that both share, or by padding."""
    m, n = producer.map, consumer.map
    reaches = is_nonnegative(m.recipe.size - n.recipe.size)
    dense = producer.whole or (reaches and bool(_is_onto(m).holds))
    if reaches and dense:
        return _defined("the consumer's buffer is written from end to end", same)
    if producer.whole and consumer.whole:
        return _by_buffers(producer, consumer)
    pairs = zip(m.recipe.shape, n.recipe.shape, strict=True)
    if same.holds and not consumer.whole and all(is_nonnegative(a - b) for a, b in pairs):
        return _defined("the elements that are read are written there", same)
    if same.holds and consumer.whole and not producer.whole and m.recipe.shape == n.recipe.shape:
        answer = _is_onto(n)
        if answer.holds is None:
            return replace(answer, claim=COVERS)
        reason = (
            _ALL_WRITTEN if answer.holds else f"padding is read and never written: {answer.reason}"
        )
        return replace(answer, claim=COVERS, reason=reason)
    return Proof(COVERS, None, "no rule compares these slots")


def _defined(reason: str, same: Proof) -> Proof:
    return Proof(COVERS, True, reason, condition=same.condition if same.holds else None, unused=0)


@ask_isl(COVERS)
def _by_buffers(producer: BufferUse, consumer: BufferUse, *, context: isl.Context) -> Proof:
    """Decide for two whole buffers, of which the consumer's may be larger."""
    gap = producer.map.recipe.size - consumer.map.recipe.size
    if isinstance(gap, int):
        first = known((producer.map.recipe.size,))[0]
        return Proof(COVERS, False, f"{_count(-gap, 'slot')} never written (first: {first})",
                     decider="", counterexample=first, unused=-gap)  # fmt: skip
    question = SymbolicQuestion(COVERS, (producer, consumer), _enumerated, _gaps)
    proved, undecided = _nonnegative(gap, consumer, context)
    answer = question.answer(proved, _ALL_WRITTEN, undecided)
    count = -gap if is_nonnegative(-gap) else None
    unused = count if not answer.holds else 0
    return replace(answer, unused=unused, size_symbols=consumer.size_symbols)
