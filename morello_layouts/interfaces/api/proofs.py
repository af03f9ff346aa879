"""Prove properties of layouts, certify them, and ask whether a consumer reads what was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from morello_layouts.core.checks import as_int, as_tuple, require_rank, shown
from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.sizes import SizeExpr, ceil_quotient, evaluated
from morello_layouts.core.expr.substitution import map_ints, substitute
from morello_layouts.core.layout import Layout
from morello_layouts.core.lazy import importing
from morello_layouts.core.maps import AffineMap, IndexMap
from morello_layouts.core.maps.subject import Subject, met, met_formulas, shifted
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.interfaces.api.conversions import NOTATIONS, convert
from morello_layouts.interfaces.api.layouts import (
    Assuming,
    LayoutLike,
    MapLike,
    Shape,
    form_of,
    index_map,
    own_subjects,
    subject,
    subjects,
)
from morello_layouts.notations.registry import name_of
from morello_layouts.notations.xla import XlaShape
from morello_layouts.outputs.kernels.relayout import Relayout

if TYPE_CHECKING:
    import sympy

    from morello_layouts.core.maps.places import Unit
    from morello_layouts.proof import Proof
    from morello_layouts.proof.access import BufferUse
    from morello_layouts.proof.agreement import Agreement
    from morello_layouts.proof.bitcast import Bitcast, Correspondence
    from morello_layouts.proof.certificate_digits import Certificate
    from morello_layouts.proof.equivalent import Alignment


def bitcast(
    a: LayoutLike,
    b: LayoutLike,
    shape: Shape | None = None,
    *,
    correspondence: Correspondence = "row-major",
    assuming: Assuming | None = None,
    notation: str | None = None,
    budget: int | None = None,
) -> Bitcast:
    """Decide whether the bytes of one array serve as another, tiles and padding included.

    Args:
        a: the layout of the first array.
        b: the layout of the array that its bytes shall serve as.
        shape: the sizes, if a layout's text carries none.
        correspondence: ``"row-major"``: elements at one row-major position correspond, as in a
            reshape. An order of dimensions: b is a transposed, as by NumPy. ``"any"``: whichever
            is free, row-major first, then the dimensions in memory order, then transposes,
            regardless of sizes of 1; HLO's ``bitcast`` means this.
        assuming: facts about symbolic sizes.
        notation: the notation of each text, as for ``parse``.
        budget: ISL operations after which the answer is undecided.

    Elements of different widths correspond as in HLO's ``bitcast-convert``: the wide array has
    one dimension less.

    >>> bitcast("f32[4,6]{1,0}", "f32[2,2,3,2]{3,2,1,0}").kind
    'reshape'
    >>> bitcast("f32[2,2,3,2]", "f32[2,3,2,2]", correspondence=(0, 2, 1, 3)).slot
    2
    >>> print(bitcast("f32[M,N]{1,0:T(1,128)}", "f32[M,N]{1,0}").condition)
    128 | N, or M = 1
    """
    from morello_layouts import proof

    pair = subjects(a, b, shape, assuming=assuming, notation=notation)
    answer = proof.is_bitcast(*met(*pair), correspondence, budget=budget)
    values = [x.value for x in pair if isinstance(x.value, XlaShape)]
    if len(values) == 2:
        spaces = [x.layout.memory_space if x.layout else 0 for x in values]
        return replace(answer, memory_spaces=(spaces[0], spaces[1]))
    return answer


def is_injective(
    layout: MapLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    notation: str | None = None,
    budget: int | None = None,
    confirm: bool = False,
) -> Proof:
    """Decide whether no two coordinates share an offset.

    Args:
        layout: text in any notation; or a layout, or the map of a formula.
        shape: the sizes of the array, if the layout's text carries none: 6x8, or names: M,N.
        assuming: facts about symbolic sizes, as for ``index_map``.
        notation: the notation of a text, as for ``parse``.
        budget: ISL operations after which the answer is undecided, by default about a second's.
        confirm: ask ISL too, within the budget, and judge the simplified formula. Without it, a
            layout whose steps keep elements apart is decided by its digits alone, in microseconds;
            formulas are judged if you asked for them before.

    >>> print(is_injective("[1, 0, 1 p(4)]", (6, 8)))
    injective: no two coordinates share an offset. Decided by digits.
    >>> print(is_injective("[1, 0, 1 p(4)]", (6, 8), confirm=True))
    injective: no two coordinates share an offset. Decided by digits, confirmed by ISL.
    """
    from morello_layouts import proof

    one = subject(layout, shape, assuming=assuming, notation=notation)
    return _asked(proof.is_injective, one, budget, confirm)


def is_surjective(
    layout: MapLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    notation: str | None = None,
    budget: int | None = None,
    confirm: bool = False,
) -> Proof:
    """Decide whether every slot of the buffer holds an element: no padding.

    The arguments are those of ``is_injective``.

    >>> is_surjective("f32[3,5]{1,0:T(2,2)}").counterexample
    9
    >>> print(is_surjective("bf16[M,N]{1,0:T(8,128)(2,1)}").condition)
    8 | M and 128 | N
    """
    from morello_layouts import proof

    one = subject(layout, shape, assuming=assuming, notation=notation)
    return _asked(proof.is_surjective, one, budget, confirm)


def is_bijective(
    layout: MapLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    notation: str | None = None,
    budget: int | None = None,
    confirm: bool = False,
) -> Proof:
    """Decide whether a layout is injective and surjective.

    The arguments are those of ``is_injective``.

    >>> print(is_bijective("f32[3,5]{1,0:T(2,2)}"))
    not bijective: injective, but 9 of 24 slots are padding (first: 9). Decided by digits.
    """
    from morello_layouts import proof

    one = subject(layout, shape, assuming=assuming, notation=notation)
    return _asked(proof.is_bijective, one, budget, confirm)


Asked: TypeAlias = Literal["bijective", "injective", "surjective", "verify"]
"""What is to be proved of a layout."""


def prove(
    layout: MapLike,
    shape: Shape | None = None,
    *,
    question: Asked = "bijective",
    names: str | None = None,
    assuming: Assuming | None = None,
    notation: str | None = None,
    budget: int | None = None,
    confirm: bool = True,
) -> Proof:
    """Prove or disprove that a layout is bijective.

    Sizes may be names. The answer then says for which sizes the layout is bijective.

    Args:
        layout: text in any notation; or a layout, or the map of a formula.
        shape: the sizes of the array, if the layout's text carries none: 6x8, or names: M,N.
        question: what is asked instead: ``injective``, ``surjective``, or ``verify``.
        names: names of the coordinates, in place of d0, d1, ….
        assuming: facts about symbolic sizes, as for ``index_map``.
        notation: the notation of a text, as for ``parse``.
        budget: ISL operations after which the answer is undecided, by default about a second's.
        confirm: ask ISL too for what digits decide.

    >>> print(prove("[1, 0, 1 p(4)]", (6, 8)))
    bijective: injective, and all 48 slots hold an element. Decided by digits, confirmed by ISL.
    >>> prove("f32[M,N]{1,0:T(2,2)}", question="surjective").verdict
    'surjective iff 2 | M and 2 | N'
    """
    if question not in get_args(Asked):
        raise LayoutError(
            f"question: expected {', '.join(get_args(Asked))}, got {shown(question)}",
            "these can be proved of one layout",
            "give one of them",
        )
    from morello_layouts import proof

    if isinstance(layout, AffineMap):
        one = subject(layout, shape, assuming=assuming)
    else:
        one = subject(index_map(layout, shape, assuming=assuming, names=names, notation=notation))
    if question == "verify":
        return verify(one.formula(), budget=budget)  # which asks ISL anyway
    asked: dict[str, Callable[..., Proof]] = {
        "bijective": proof.is_bijective,
        "injective": proof.is_injective,
        "surjective": proof.is_surjective,
    }
    return _asked(asked[question], one, budget, confirm)


def equal(
    a: MapLike,
    b: MapLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    notation: str | None = None,
    budget: int | None = None,
    confirm: bool = False,
) -> Proof:
    """Decide whether two layouts give every coordinate the same offset.

    Args:
        a: text in any notation; or a layout, or the map of a formula. A map of several
            formulas is compared with another one, or with a layout's physical coordinates.
        b: the layout that it is compared with.
        shape: the sizes of the array, if no text carries them: 6x8, or names: M,N. A layout whose
            text carries none takes those of the other one.
        assuming: facts about symbolic sizes, as for ``index_map``.
        notation: the notation of each text, as for ``parse``.
        budget: ISL operations after which the answer is undecided, by default about a second's.
        confirm: ask ISL too for what digits decide.

    >>> print(equal("f32[6,8]{1,0:T(6,4)}", "[1, 0, 1 p(4)]").holds)
    True
    >>> equal("f32[M,N]{1,0:T(2,128)}", "f32[M,N]{1,0:T(8,128)}").verdict
    'equivalent iff N <= 128'
    """
    from morello_layouts import proof

    pair = subjects(a, b, shape, assuming=assuming, notation=notation)
    return proof.are_equivalent(*met_formulas(*pair), budget=budget, confirm=confirm)


def verify(
    layout: LayoutLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    notation: str | None = None,
    budget: int | None = None,
) -> Proof:
    """Decide whether formulas and inverse agree with the layout's recipe everywhere.

    The simplified and the reference formula are compared with the recipe at every coordinate, the
    inverse and its padding at every slot, all as SymPy holds them. The arguments are those of
    ``is_injective``.

    >>> print(verify("bf16[10,200]{1,0:T(8,128)(2,1)}"))
    verified: simplified formula, reference and inverse agree everywhere. Decided by digits and ISL.
    """
    from morello_layouts import proof

    m = index_map(layout, shape, assuming=assuming, notation=notation)
    return proof.verify(m, budget=budget)


def _asked(ask: Callable[..., Proof], one: Subject, budget: int | None, confirm: bool) -> Proof:
    """Return an answer about a map; beside a view may lie elements of the whole array."""
    m = one.formula()
    answer: Proof = ask(m, budget=budget, confirm=confirm)
    if not m.is_part:
        return answer
    return replace(answer, reason=answer.reason.replace("are padding", "are not in the view"))


def alignment(
    layout: LayoutLike,
    shape: Shape | None = None,
    *,
    unit: Unit = "bytes",
    tile: Sequence[int] | None = None,
    base_alignment: int | None = None,
    bits: int | None = None,
    assuming: Assuming | None = None,
    notation: str | None = None,
) -> Alignment:
    """Return the largest number that divides the address of every element, or of every tile.

    It says how wide aligned loads may be, and what a copy engine may be told. For symbolic sizes
    it is a formula, and the largest number that divides it at all of them.

    Args:
        layout: the layout, or a view of one: then only its elements count.
        shape: the sizes, for a layout that carries none.
        unit: ``"bytes"``, ``"bits"`` or ``"elements"``.
        tile: the sizes of tiles: only the first element of each counts.
        base_alignment: a number of that unit that divides the address of the buffer. By default
            the buffer begins at 0.
        bits: the bits of an element, if another number than the element type's.
        assuming: assumptions about symbolic sizes, as for ``index_map``.
        notation: the notation of a text, as for ``parse``.

    Raises:
        LayoutError: if nothing tells the bits of an element.
        ShapeError: if the shape is missing, or the tile has another number of sizes.
        UnsupportedError: if elements do not begin at whole bytes, or are not in memory.

    >>> import morello_layouts as ml
    >>> rows = ml.index_map("f32[M,N]{1,0}")[:, 0]    # the first element of each row
    >>> ml.alignment(rows).formula, ml.alignment(rows, assuming="N % 32 == 0").number
    (4*N, 128)
    >>> print(ml.alignment("bf16[M,N]{1,0:T(8,128)(2,1)}", tile=(8, 128), base_alignment=512))
    every address is a multiple of 512 bytes. Decided by steps and ISL.
    """
    with importing:
        from morello_layouts.proof import equivalent as proofs

    m = index_map(layout, shape, assuming=assuming, notation=notation)
    if tile is not None:
        sizes = as_tuple(tile, "tile", "give for example tile=(8, 128)")
        require_rank(sizes, len(m.recipe.shape), "tile")
        steps = [as_int(n, f"tile[{k}]", 1) for k, n in enumerate(sizes)]
        m = m.view(index=tuple(slice(None, None, step) for step in steps))
    start = 0 if base_alignment is None else as_int(base_alignment, "base_alignment", 1)
    return proofs.alignment(m, unit, start, bits)


Claim: TypeAlias = Literal[
    "injective", "surjective", "bijective", "padded", "verified", "equivalent", "bitcast"
]
"""What a certificate states; the last two are about two layouts."""

_OF_TWO = ("equivalent", "bitcast")


def certificate(
    layout: LayoutLike | AffineMap | Relayout,
    other: LayoutLike | AffineMap | None = None,
    shape: Shape | None = None,
    *,
    claim: Claim | None = None,
    transpose: tuple[int, ...] | Literal["any"] | None = None,
    assuming: Assuming | None = None,
) -> Certificate:
    """Return a certificate: a statement about formulas with its proof, as JSON.

    ``morello_layouts/check.py`` checks it. That file needs nothing but Python, so a reader who
    trusts neither this package nor ISL can read it, or write another from the page about
    certificates, which is its specification.

    Args:
        layout: a layout, or a map from a formula; or a relayout, whose formula is stated to give
            the source's offset.
        other: the layout or formula that it is compared with.
        shape: the sizes, if no text carries them. They may be names.
        claim: ``"bijective"``, as by default for one layout, ``"injective"``, ``"surjective"``;
            ``"padded"``: injective, with the exact number of slots that are padding;
            ``"verified"``: formula, reference, recipe and inverse agree; without an inverse
            formula, that the other three are ``"equivalent"``. For two layouts
            ``"equivalent"``, the default, or ``"bitcast"``.
        transpose: for a bitcast, the order of the first layout's dimensions in the second; by
            default their own. ``"any"``: the one that ``bitcast`` finds for ``"any"``; if that
            splits tiles or one array is larger, the views that it compares are ``"equivalent"``.
        assuming: facts about symbolic sizes, as for ``index_map``.

    Raises:
        UnsupportedError: if no certificate is found: the claim is false, or digits do not prove it.
        LayoutError: if the claim is not about as many layouts as are given.

    >>> import morello_layouts as ml
    >>> from morello_layouts.check import check
    >>> found = ml.certificate("f32[M,N]{1,0:T(8,128)}", claim="padded")
    >>> found["padding"]
    '(-1)*M*N + 1024*(-((-M)//8))*(-((-N)//128))'
    >>> check(found)
    'padded'
    """
    with importing:
        from morello_layouts.proof import certificate as proofs

    if isinstance(layout, Relayout):
        return proofs.certificate_of_relayout(layout.source, layout.target, layout.expr)
    claim = claim or ("bijective" if other is None else "equivalent")
    if claim not in get_args(Claim) or (claim in _OF_TWO) != (other is not None):
        raise LayoutError(
            f"claim: expected one about {'one layout' if other is None else 'two layouts'}, "
            f"got {shown(claim)}",
            "equivalent and bitcast are about two layouts, the other claims about one",
            f"give one of {', '.join(get_args(Claim))}",
        )
    if other is None:
        m = subject(layout, shape, assuming=assuming).formula()
        return proofs.certificate_of_map(m, claim)
    pair = subjects(layout, other, shape, assuming=assuming)
    if claim == "bitcast":
        return proofs.certificate_of_bitcast(*met(*pair), transpose or "row-major")
    return proofs.certificate_of_equality(*met_formulas(*pair))


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
    element_bits: int | None = None,
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
        element_bits: the bits of an element, for layouts that name no type; by default 8.

    Bytes are counted in elements of the type that a layout names.

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
    >>> print(agree("(h l) -> l h, h=2", "[0]", (32,), element_bits=4).counterexample)
    element (1,) is written at offset 2 (bit 0 of byte 1) and read at offset 1 (bit 4 of byte 0)
    """
    with importing:
        from morello_layouts.proof.access import BufferUse
        from morello_layouts.proof.agreement import agree as decide

    pair = own_subjects(producer, consumer, shape, assuming)
    maps = met(*pair)
    bits = _widths(*maps, 8 if element_bits is None else as_int(element_bits, "element_bits", 1))
    allocated = (producer_bytes, consumer_bytes)
    names = ("producer_bytes", "consumer_bytes")
    whole = (_is_whole(writes, "writes"), _is_whole(reads, "reads"))
    rooms = map(_room, allocated, names, maps)
    one, other = (BufferUse(*side) for side in zip(maps, whole, bits, rooms, strict=True))
    advise = partial(_advice, pair, (one, other))
    return replace(decide(one, other), adviser=advise)


def _widths(one: IndexMap, other: IndexMap, unnamed: int) -> tuple[int, int]:
    bits = [m.element_type.bits if m.element_type else None for m in (one, other)]
    return bits[0] or bits[1] or unnamed, bits[1] or bits[0] or unnamed


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
    given: tuple[Subject, Subject], sides: tuple[BufferUse, BufferUse], answer: Agreement
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


def _other_texts(
    given: tuple[Subject, Subject], sides: tuple[BufferUse, BufferUse]
) -> Iterator[str]:
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


def _start(sides: tuple[BufferUse, BufferUse], found: Any) -> str:
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


def _relayout(sides: tuple[BufferUse, BufferUse], found: Any) -> AffineExpr:
    """Return the producer's offset as a form of the consumer's."""
    with importing:
        from morello_layouts.proof.agreement import common_maps

    move = Relayout(*common_maps(*sides))
    if not move.form.sizes() <= {*found.sizes}:
        raise LayoutError("the first difference has no value of a pitch")
    if move.form.evaluate({"p": found.read, **found.sizes}) != found.written:
        raise LayoutError("the relayout is wrong at the first difference")
    return move.form
