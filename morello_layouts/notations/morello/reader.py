"""Morello's shorthand: ``[1, 0, 1 p(4)]``, ``0, 0 oe(16)``, ``([0, 1], c1)``, ``NHWC``.

Also lists as its book writes them in Rust: ``Layout::new(vec![(0, PhysDim::Dynamic)])``.
"""

from __future__ import annotations

from typing import Any

from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.expr.sizes import SizeExpr
from morello_layouts.limits import MAP_TEXT
from morello_layouts.notations.grammar import Places, Syntax, at_part, integer, parse_tree
from morello_layouts.notations.morello.dims import Dynamic, OddEven, Packed, PhysDim
from morello_layouts.notations.morello.layout import MorelloLayout

_SYNTAX = Syntax(
    form="a Morello layout lists physical dimensions, outermost first: d, d p(n) or d oe(n)",
    example="write for example [1, 0, 1 p(4)]",
    names={
        "INT": "a number",
        "P": "p(…)",
        "OE": "oe(…)",
        "U32": "a number",
        "_PHYS_DIM": "'PhysDim::'",
        "CONTIG": "the number of contiguous dimensions, such as c2",
        "NAME": "NHWC or NCHW",
        "SIZE": "a name",
    },
    hints={
        "PhysDim": "write for example Layout::new(vec![(0, PhysDim::Dynamic)])",
        "Pack": "write Packed(4), as in (0, PhysDim::Packed(4))",
        "P": "packing is written in lower case: 1 p(4)",
        "d": "write dimensions as numbers: [1, 0]",
    },
    longest=MAP_TEXT,
)

_NAMED = {"NHWC": (0, 2, 3, 1), "NCHW": (0, 1, 2, 3)}


def parse_morello(text: str) -> MorelloLayout:
    """Parse a Morello layout from its shorthand.

    Raises:
        ParseError: with a caret at the fault.

    >>> parse_morello("[1, 0, 1 p(4)]").phys_dims[2]
    (1, Packed(size=4))
    """
    tree = parse_tree("morello/morello.lark", "layout_text", text, _SYNTAX)
    if tree.data == "name":
        return _named(tree.children[0], text)
    contig: int | None = None
    children: list[Any] = list(tree.children)
    places: Places = {}
    if tree.data == "partly":
        token = children.pop()
        places["contig",] = token.start_pos
        contig = integer(token.update(value=token[1:]), text)
    elif children and children[0].data == "dims":
        children = children[0].children
    dims: list[tuple[int, PhysDim]] = []
    for child in children:
        places["phys_dims", len(dims)] = child.children[0].start_pos
        dims.append(_dim(child, text))
    try:
        return MorelloLayout(dims, contig)
    except LayoutError as error:
        raise at_part(error, text, places) from None


def _dim(tree: Any, text: str) -> tuple[int, PhysDim]:
    dim = integer(tree.children[0], text)
    if tree.data == "dynamic":
        return dim, Dynamic()
    size = tree.children[1]
    size = size.update(value=size.removesuffix("u32"))
    kind = Packed if tree.data == "packed" else OddEven
    try:
        named = size.type == "SIZE"
        return dim, Packed(SizeExpr.named(str(size))) if named else kind(integer(size, text))
    except ParseError:
        raise
    except LayoutError as error:
        raise at_part(error, text, {}, size.start_pos) from None


def _named(token: Any, text: str) -> MorelloLayout:
    if token not in _NAMED:
        raise ParseError(
            f"a name: expected {' or '.join(_NAMED)}, got {token}",
            f"the names are {' and '.join(_NAMED)}",
            "write the list of physical dimensions: [0, 2, 3, 1]",
            text=text,
            position=token.start_pos,
        )
    return MorelloLayout([(dim, Dynamic()) for dim in _NAMED[str(token)]])
