"""Morello's shorthand: ``[1, 0, 1 p(4)]``, ``0, 0 oe(16)``, ``([0, 1], c1)``, ``NHWC``.

Also lists as its book writes them in Rust: ``Layout::new(vec![(0, PhysDim::Dynamic)])``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.expr.sizes import SizeExpr
from morello_layouts.limits import MAP_TEXT
from morello_layouts.notations.grammar import (
    INT,
    NAME,
    Places,
    Source,
    Syntax,
    Terminal,
    Token,
    at_part,
    integer,
)
from morello_layouts.notations.morello.dims import Dynamic, OddEven, Packed, PhysDim
from morello_layouts.notations.morello.layout import MorelloLayout

_SYNTAX = Syntax(
    form="a Morello layout lists physical dimensions, outermost first: d, d p(n) or d oe(n)",
    example="write for example [1, 0, 1 p(4)]",
    hints={
        "PhysDim": "write for example Layout::new(vec![(0, PhysDim::Dynamic)])",
        "Pack": "write Packed(4), as in (0, PhysDim::Packed(4))",
        "P": "packing is written in lower case: 1 p(4)",
        "d": "write dimensions as numbers: [1, 0]",
    },
    longest=MAP_TEXT,
)

_NAME: Final = Terminal("NHWC or NCHW", r"N[A-Z]+")
_CONTIG: Final = Terminal("the number of contiguous dimensions, such as c2", r"c[0-9]+")
_KINDS: Final = (Terminal("p(…)", "p"), Terminal("oe(…)", "oe"))
_PHYS_DIM: Final = Terminal("'PhysDim::'", r"PhysDim\s*::")
_U32: Final = Terminal("a number", r"[0-9]+u32")

_NAMED = {"NHWC": (0, 2, 3, 1), "NCHW": (0, 1, 2, 3)}


def parse_morello(text: str) -> MorelloLayout:
    """Parse a Morello layout from its shorthand."""
    source = Source(text, _SYNTAX)
    if name := source.take(_NAME):
        source.end()
        return _named(name, text)
    parts, contig = _parts(source)
    source.end()
    dims = [_dim(part, text) for part in parts]
    places: Places = {("phys_dims", k): part.dim.start for k, part in enumerate(parts)}
    count = None
    if contig is not None:
        places["contig",] = contig.start
        count = integer(contig[1:], text, contig.start)
    try:
        return MorelloLayout(dims, count)
    except LayoutError as error:
        raise at_part(error, text, places) from None


class _Part(NamedTuple):
    """A physical dimension as it is written."""

    dim: Token
    kind: Callable[[int], PhysDim] | None = None
    size: Token | None = None


def _parts(source: Source) -> tuple[list[_Part], Token | None]:
    """Read the physical dimensions, and the number of contiguous ones."""
    if source.take("("):
        source.need("[")
        parts = source.series(lambda: _shorthand(source), "]")
        source.need(",")
        contig = source.need(_CONTIG)
        source.need(")")
        return parts, contig
    if source.take("Layout"):
        for word in ("::", "new", "(", "vec!", "["):
            source.need(word)
        parts = source.series(lambda: _pair(source), "]", trailing=True)
        source.need(")")
        return parts, None
    if source.take("layout!"):
        source.need("[")
        return source.series(lambda: _shorthand(source), "]"), None
    if source.take("["):
        return source.series(lambda: _shorthand(source), "]"), None
    parts = [_shorthand(source)]
    while source.take(","):
        parts.append(_shorthand(source))
    return parts, None


def _shorthand(source: Source) -> _Part:
    """Read a dimension: ``1``, ``1 p(4)`` or ``1 oe(16)``."""
    dim = source.need(INT)
    kind = source.take(*_KINDS, optional=True)
    if kind is None:
        return _Part(dim)
    source.need("(")
    size = source.need(*([INT, NAME] if kind == "p" else [INT]))
    source.need(")")
    return _Part(dim, Packed if kind == "p" else OddEven, size)


def _pair(source: Source) -> _Part:
    """Read a dimension as Morello's book writes it: ``(1, PhysDim::Packed(nz!(4u32)))``."""
    source.need("(")
    dim = source.need(INT)
    source.need(",")
    source.take(_PHYS_DIM)
    kind = source.need("Dynamic", "Packed", "OddEven")
    size = None
    if kind != "Dynamic":
        source.need("(")
        size = source.take(INT)
        if size is None:
            source.need("nz!")
            source.need("(")
            size = source.need(_U32, INT)
            source.need(")")
        source.need(")")
    source.need(")")
    return _Part(dim, OddEven if kind == "OddEven" else Packed, size)


def _dim(part: _Part, text: str) -> tuple[int, PhysDim]:
    dim, size = integer(part.dim, text), part.size
    if size is None or part.kind is None:
        return dim, Dynamic()
    if size.kind is NAME:
        return dim, Packed(SizeExpr.named(str(size)))
    try:
        return dim, part.kind(integer(size.removesuffix("u32"), text, size.start))
    except ParseError:
        raise
    except LayoutError as error:
        raise at_part(error, text, {}, size.start) from None


def _named(token: Token, text: str) -> MorelloLayout:
    if token not in _NAMED:
        raise ParseError(
            f"a name: expected {' or '.join(_NAMED)}, got {token}",
            f"the names are {' and '.join(_NAMED)}",
            "write the list of physical dimensions: [0, 2, 3, 1]",
            text=text,
            position=token.start,
        )
    return MorelloLayout([(dim, Dynamic()) for dim in _NAMED[str(token)]])
