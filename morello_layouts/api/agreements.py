"""Ask whether a consumer finds in a buffer what a producer wrote."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from morello_layouts.api.arguments import Assuming, Shape, form_of
from morello_layouts.api.conversions import NOTATIONS, convert
from morello_layouts.api.layouts import LayoutLike, index_map, own_subjects
from morello_layouts.checks import shown
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.expr import AffineExpr
from morello_layouts.expr.sizes import SizeExpr, ceil_quotient, evaluated
from morello_layouts.expr.substitution import map_ints, substitute
from morello_layouts.kernels.relayout import Relayout
from morello_layouts.layout import Layout
from morello_layouts.lazy import importing
from morello_layouts.maps import IndexMap
from morello_layouts.maps.derived import shifted
from morello_layouts.maps.subject import Subject, met
from morello_layouts.notations.registry import name_of

if TYPE_CHECKING:
    import sympy

    from morello_layouts.proof.access import Access
    from morello_layouts.proof.agreement import Agreement

Touched: TypeAlias = Literal["elements", "buffer"]
"""What is written or read: the elements alone, or every slot of the buffer."""

Bytes: TypeAlias = "int | str | sympy.Expr"
"""Bytes of an allocation: a number, or an expression of sizes such as ``"M*ceil(K/32)"``."""


def agree(
    producer: LayoutLike,
    consumer: LayoutLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    reads: Touched = "elements",
    writes: Touched = "elements",
    producer_bytes: Bytes | None = None,
    consumer_bytes: Bytes | None = None,
) -> Agreement:
    """Decide whether a consumer finds in a buffer what a producer wrote.

    Three questions are answered: is each element read where it is written, does everything lie
    inside the allocations, and is everything that is read written.

    Args:
        producer: the layout in which an array is written.
        consumer: the layout in which it is read.
        shape: the sizes, for a layout whose text carries none. Without them, such a layout takes
            the shape of the other one. Arrays of different shapes are compared on the elements that
            both have.
        assuming: facts about symbolic sizes, as for ``index_map``.
        reads: what the consumer reads: its elements, or its whole buffer, padding too.
        writes: what the producer writes, likewise.
        producer_bytes: the bytes that are allocated for the producer's buffer, a number or an
            expression of sizes such as M*ceil(K/32); by default as many as its layout spans.
        consumer_bytes: the same for the consumer's buffer.

    Bytes are counted in elements of the type that a layout names; without one an element is a byte.

    Raises:
        ShapeError: if the arrays do not correspond.

    >>> tiles = "u8[M,N]{1,0:T(8,128)}"
    >>> print(agree("u8[M,N]{1,0}", tiles).counterexample)
    at M = 1, N = 129 element (0, 128) is written at offset 128 (byte 128) and read at offset \
1024 (byte 1024)
    >>> print(agree(tiles, tiles, reads="buffer").verdict)
    offsets agree, but the consumer reads what nobody wrote unless 8 | M and 128 | N
    >>> print(agree(tiles, tiles, writes="buffer", producer_bytes="M*N").advice[0])
    allocate 1024*ceil(M/8)*ceil(N/128) bytes for the producer
    """
    with importing:
        from morello_layouts.proof.access import Access
        from morello_layouts.proof.agreement import agree as decide

    pair = own_subjects(producer, consumer, shape, assuming)
    maps = met(*pair)
    bits = _widths(*maps)
    allocated = (producer_bytes, consumer_bytes)
    names = ("producer_bytes", "consumer_bytes")
    whole = (_is_whole(writes, "writes"), _is_whole(reads, "reads"))
    rooms = map(_room, allocated, names, maps)
    one, other = (Access(*side) for side in zip(maps, whole, bits, rooms, strict=True))
    advise = partial(_advice, pair, (one, other))
    return replace(decide(one, other), adviser=advise)


def _widths(one: IndexMap, other: IndexMap) -> tuple[int, int]:
    bits = [m.element_type.bits if m.element_type else None for m in (one, other)]
    return bits[0] or bits[1] or 8, bits[1] or bits[0] or 8


def _is_whole(touched: str, name: str) -> bool:
    if touched not in ("elements", "buffer"):
        raise LayoutError(
            f'{name}: expected "elements" or "buffer", got {shown(touched)}',
            "padding is touched only if a whole buffer is",
            f'give {name}="elements" or {name}="buffer"',
        )
    return touched == "buffer"


def _room(given: Bytes | None, name: str, m: IndexMap) -> AffineExpr | None:
    if given is None:
        return None
    form = form_of(given, name)
    fixed = {one.name: one.lo for one in m.assumptions if one.lo == one.hi}
    if fixed:
        names = {n: fixed.get(n, SizeExpr.named(n)) for n in form.sizes()}
        form = map_ints(form, partial(evaluated, values=names))
        form = substitute(form, {n: AffineExpr((), end) for n, end in fixed.items()})
    for unknown in (form.sizes() | {v.name for v in form.variables()}) - set(m.recipe.names):
        raise ShapeError(
            f"{name}: {unknown} is not a size here",
            f"the symbolic sizes are {', '.join(m.recipe.names) or 'none'}",
            "write the bytes with these, or as a number",
        )
    return form


def _advice(
    given: tuple[Subject, Subject], sides: tuple[Access, Access], answer: Agreement
) -> Iterator[str]:
    """Yield what to do; each was tried."""
    with importing:
        from morello_layouts.proof.access import covers, fits

    if answer.holds is False and answer.counterexample is not None:
        yield from _other_texts(given, sides)
        with suppress(LayoutError):
            form = _relayout(sides, answer.counterexample)
            same = f"slot p of the consumer is slot {form} of the producer"
            start = _start(sides, answer.counterexample)
            yield f"if neither can change, {start or f'copy: {same}; a view is not enough'}"
    proofs = {"producer": answer.writes, "consumer": answer.reads}
    for side, (name, proof) in zip(sides, proofs.items(), strict=True):
        size = ceil_quotient(side.map.recipe.size * side.bits, 8)
        if proof.holds is False and fits(replace(side, room=AffineExpr((), size))).holds:
            yield f"allocate {size} bytes for the {name}"
    producer, consumer = sides
    if answer.covers is False:
        filled = replace(producer, whole=True)
        if covers(filled, consumer, answer.offsets).holds:
            yield "zero the buffer before the producer writes it, or let the producer write padding"
        elif covers(producer, replace(consumer, whole=False), answer.offsets).holds:
            yield "let the consumer read elements only"


def _other_texts(given: tuple[Subject, Subject], sides: tuple[Access, Access]) -> Iterator[str]:
    """Yield the layout of each side in the notation of the other, if it is right at its shape."""
    with importing:
        from morello_layouts.proof.agreement import agree as decide

    write: Any = convert
    names = ("consumer", "producer")
    for one, source, changed, name in zip(given[::-1], sides, sides[::-1], names, strict=True):
        notation = name_of(one.value) if isinstance(one.value, Layout) else None
        if notation in NOTATIONS:
            with suppress(LayoutError):
                found = write(source.map, notation)
                if source.sizes != changed.sizes:  # proved equal at one shape only
                    there = index_map(found, changed.sizes)
                    if not decide(source, replace(changed, map=there)).holds:
                        continue
                yield f"make the {name} {found}"


def _start(sides: tuple[Access, Access], found: Any) -> str:
    """Return who begins at a later slot, if every element is then read where it is written."""
    with importing:
        from morello_layouts.proof.agreement import common_maps
        from morello_layouts.proof.equivalent import have_equal_offsets

    one, other = common_maps(*sides)
    slots = found.written - found.read
    late = "the consumer read" if slots > 0 else "the producer write"
    one, other = (one, shifted(other, slots)) if slots > 0 else (shifted(one, -slots), other)
    if sides[0].bits != sides[1].bits or not have_equal_offsets(one, other).holds:
        return ""
    byte = abs(slots) * sides[0].bits // 8
    return f"let {late} from slot {abs(slots)} (byte {byte}) of the buffer on: no copy is needed"


def _relayout(sides: tuple[Access, Access], found: Any) -> AffineExpr:
    """Return the producer's offset as a form of the consumer's."""
    with importing:
        from morello_layouts.proof.agreement import common_maps

    move = Relayout(*common_maps(*sides))
    if move.form.evaluate({"p": found.read, **found.sizes}) != found.written:
        raise LayoutError("the relayout is wrong at the first difference")
    return move.form
