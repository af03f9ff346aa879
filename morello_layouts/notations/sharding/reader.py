"""Texts of arrays on devices: an array, then its sharding as a system prints it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.expr.sizes import Int, SizeExpr
from morello_layouts.layout import Layout
from morello_layouts.limits import SHARDING_TEXT
from morello_layouts.notations.grammar import Places, Syntax, at_part, integer, parse_tree
from morello_layouts.notations.mlir.reader import parse_mlir
from morello_layouts.notations.sharding.calls import Call, placement_of, sharded
from morello_layouts.notations.sharding.layout import Placement, ShardedLayout, ShardedTuple
from morello_layouts.notations.sharding.sharding import Mesh
from morello_layouts.notations.sharding.systems import AxisSharding, HloSharding, Ref
from morello_layouts.notations.xla import XlaTuple
from morello_layouts.notations.xla.reader import parse_xla

_EXAMPLE: Final = "write for example f32[8,16], sharding={devices=[2,4]<=[8]}"
_NAMES: Final = {
    "NAME": "a name",
    "INT": "a number",
    "INTS": "numbers",
    "WHOLE": "'replicated'",
    "METADATA": "metadata in braces",
    "GROUP": "'shard_as'",
    "SDY": "'sdy.sharding'",
    "VALUE": "an SSA value",
    "TENSOR": "a type of a tensor",
    "SYMBOL": "the name of a mesh",
    "OPEN": "'?'",
    "PRIORITY": "a priority",
    "STRING": "a name in quotes",
    "STAR": "'*'",
}
_SYNTAX: Final = {
    "hlo_text": Syntax(
        "HLO's sharding is {devices=[tiles]<=[devices]}, {replicated} or {maximal device=0}",
        _EXAMPLE,
        _NAMES,
        longest=SHARDING_TEXT,
    ),
    "sdy_text": Syntax(
        "Shardy's sharding is a mesh, then the axes of each dimension in braces",
        'write for example tensor<8x16xf32>, #sdy.sharding<mesh<["x"=2, "y"=4]>, [{"x"}, {}]>',
        _NAMES,
        longest=SHARDING_TEXT,
    ),
    "args_text": Syntax(
        "a sharding is a mesh and spec, placements and mesh, or BLOCK and CYCLIC ONTO processes",
        "write for example f32[8,16], mesh={'x': 2, 'y': 4}, spec=P('x', None)",
        _NAMES,
        longest=SHARDING_TEXT,
    ),
}

BEGINS: Final = {
    "hlo_text": r"sharding\s*=\s*\{|\{\s*(devices\s*=|replicated|maximal|manual|unknown|"
    r"unreduced|mesh\s*\[|\{\s*(devices\s*=|replicated|maximal))",
    "sdy_text": r"(sdy\.mesh\b|@[\w.$-]+\s*=\s*<|%\w+\s*:\s*tensor<[^<>]*>\s*\{|#?sdy\.sharding\b)",
    "args_text": r"NamedSharding\s*\(|(mesh|spec|placements|desc|nb?|grid)\s*=|"
    r"[\[(]\s*(_?(Strided)?Shard|Replicate|Partial)\s*\(|"
    r"\(?\s*(\*\s*,\s*)*(BLOCK|CYCLIC)\b",
}
"""How the sharding begins, after the array."""

_PARTS: Final = {
    kind: re.compile(rf"(?:\A|,|>\s*\{{?)\s*(?={text})") for kind, text in BEGINS.items()
}
STARTS: Final = re.compile(
    rf"\s*(?:(?:\(|/\*|[a-z]\w*\s*[\[<])[^\n]{{0,4000}}?(?:,|>\s*\{{?)\s*)?(?:{'|'.join(BEGINS.values())})"
)
"""Matches the beginning of a text with a sharding."""


def parse_sharding(text: str) -> ShardedLayout | ShardedTuple:
    """Parse an array on devices, or a sharding whose array's sizes are given beside it.

    Raises:
        ParseError: with a caret at the fault.

    >>> print(parse_sharding("f32[8,16], sharding={devices=[2,1,4]<=[8] last_tile_dim_replicate}"))
    f32[8,16]{1,0}, {devices=[2,1,4]<=[8] last_tile_dim_replicate}
    >>> parse_sharding("f32[8,16], mesh={'x': 2, 'y': 4}, spec=P('x')").recipe((8, 16)).axis_names
    ('device', 'offset')
    """
    found = [(match.end(), kind) for kind, part in _PARTS.items() if (match := part.search(text))]
    start, kind = min(found, default=(0, "hlo_text"))
    syntax = _SYNTAX[kind]
    head = text[:start].rstrip().rstrip("{,").rstrip()
    shape = _head(head, text) if head else None
    tree = parse_tree("sharding/sharding.lark", kind, " " * start + text[start:], syntax)
    reader = _Reader(text, syntax)
    if kind == "hlo_text":
        return reader.hlo(tree, shape)
    if kind == "sdy_text":
        placement, shape = reader.sdy(tree, shape)
    else:
        placement = reader.calls(tree)
    return reader.layout(placement, shape, start)


def _head(head: str, text: str) -> Any:
    read = parse_mlir if head.lstrip().startswith("tensor") else parse_xla
    try:
        return read(head)
    except ParseError as error:
        raise ParseError(
            error.what,
            error.why,
            error.fix,
            text=text,
            position=error.position,
            reached=error.reached,
        ) from None


class _Reader:
    """Turn trees into values, and remember the place of each part in the text."""

    def __init__(self, text: str, syntax: Syntax) -> None:
        self.text, self.syntax = text, syntax

    def error(self, what: str, why: str, fix: str, position: int) -> ParseError:
        return ParseError(what, why, fix, text=self.text, position=position)

    def layout(self, placement: Placement, shape: Layout | None, start: int) -> ShardedLayout:
        """Return the layout of an array whose parts lie on devices."""
        try:
            return sharded(placement, shape)
        except ParseError:
            raise
        except LayoutError as error:
            raise at_part(error, self.text, {}, start) from None

    def hlo(self, tree: Any, shape: Any) -> ShardedLayout | ShardedTuple:
        first, *rest = tree.children
        count = integer(rest[0], self.text) if rest else 0
        if first.data != "hlos":
            return self.layout(self.tiles(first, count), shape, _start(first))
        parts = [self.tiles(each, count) for each in first.children]
        arrays = [*shape.arrays()] if isinstance(shape, XlaTuple) else []
        if len(arrays) != len(parts):
            raise self.error(
                f"shardings of a tuple: expected {len(arrays) or 'one'}, got {len(parts)}",
                "each array of a tuple has one sharding",
                "write the tuple before its shardings, or one sharding alone",
                _start(first),
            )
        pairs = zip(arrays, parts, first.children, strict=True)
        layouts = tuple((at, self.layout(p, x, _start(each))) for (at, x), p, each in pairs)
        text = f"{shape}, sharding={{{', '.join(map(str, parts))}}}"
        return ShardedTuple(layouts, text)

    def tiles(self, tree: Any, count: int) -> Placement:
        """Return one sharding of HLO."""
        if tree.data == "whole":
            (kind,) = tree.children[:1]
            if kind != "replicated":
                raise self.error(
                    f"{kind} says nothing about devices",
                    "the program moves the parts itself, or XLA has not decided yet",
                    "give the sharding that the compiled program has",
                    kind.start_pos,
                )
            return HloSharding(count=count)
        if tree.data == "meshed":
            mesh = [x for x in tree.children if getattr(x, "data", "axes") == "axes"]
            dims = next(x for x in tree.children if getattr(x, "data", "") == "dims")
            kept = [x for x in tree.children if getattr(x, "data", "") == "kept"]
            return self.named(mesh, dims, kept, "hlo")
        tokens: list[Any] = list(tree.children)
        places: Places = {}
        if tree.data == "maximal":
            given: dict[str, Any] = {"devices": (integer(tokens[0], self.text),)}
        else:
            given = {"tiles": self.numbers(tokens[0], "tiles", places)}
            if tree.data == "listed":
                given["devices"] = self.numbers(tokens[1], "devices", places)
            else:
                for name, token in zip(("reshape", "transpose"), tokens[1].children, strict=False):
                    given[name] = self.numbers(token, name, places)
            for more in tokens[2:]:
                if more.data == "last_replicate":
                    given["uses"] = ("replicated",)
                elif more.data == "last_dims":
                    given["uses"] = tuple(map(str, more.children))
                    places |= {("uses", k): t.start_pos for k, t in enumerate(more.children)}
        try:
            return HloSharding(**given, count=count)
        except LayoutError as error:
            raise at_part(error, self.text, places, tokens[0].start_pos) from None

    def numbers(self, token: Any, name: str, places: Places) -> tuple[int, ...]:
        """The numbers of a list, with the place of each."""
        found, at = [], token.start_pos
        for k, part in enumerate(token.split(",")):
            places[name, k] = at + len(part) - len(part.lstrip())
            found.append(integer(part.strip(), self.text, places[name, k]))
            at += len(part) + 1
        places[name,] = token.start_pos
        return tuple(found)

    def sdy(self, tree: Any, shape: Any) -> tuple[Placement, Any]:
        """Return the sharding of a tensor, whose mesh may be defined before it."""
        parts = {getattr(each, "data", None) or each.type: each for each in tree.children}
        names = [each for each in tree.children if getattr(each, "type", "") == "SYMBOL"]
        if "TENSOR" in parts:
            tensor = parts["TENSOR"]
            shape = _head(" " * tensor.start_pos + tensor, self.text)
        if "mesh" not in parts or len({*names}) > 1:
            raise self.error(
                f"the mesh {names[-1]}: expected its axes, got its name",
                "a sharding names axes of a mesh, whose sizes the mesh gives",
                f'write {names[-1]} = <["x"=2, "y"=4]> before it, or mesh<["x"=2, "y"=4]> for it',
                names[-1].start_pos,
            )
        dims = parts["dims"]
        kept = [each for each in tree.children if getattr(each, "data", "") == "kept"]
        return self.named(parts["mesh"].children, dims, kept, "sdy"), shape

    def named(self, mesh: Sequence[Any], dims: Any, kept: Sequence[Any], style: Any) -> Placement:
        """Return a sharding by mesh axes."""
        axes: list[tuple[str, Int]] = []
        ids: tuple[int, ...] = ()
        places: Places = {}
        for part in mesh:
            if getattr(part, "data", "") == "axes":
                for k, axis in enumerate(part.children):
                    places["axes", k] = axis.children[0].start_pos
                    axes.append((axis.children[0][1:-1], self.size(axis.children[1])))
            else:
                ids = self.numbers(part, "ids", places)
        refs = []
        for k, dim in enumerate(dims.children):
            places |= {("cuts", k): _start(dim), ("dims", k): _start(dim)}
            refs.append(self.refs(dim))
        uses = tuple((str(each.children[0]), self.refs(each)) for each in kept)
        uses = tuple(use for use in uses if use[0] != "replicated")
        try:
            plain = ids == tuple(range(len(ids)))
            found = Mesh(tuple(axes), () if plain else ids)
            return AxisSharding(found, tuple(refs), style, uses)
        except LayoutError as error:
            raise at_part(error, self.text, places, _start(dims)) from None

    def refs(self, tree: Any) -> tuple[Ref, ...]:
        """The axes in braces; an open end says only that the compiler may add some."""
        lists = [each for each in tree.children if getattr(each, "data", "") == "refs"]
        tokens = [ref.children for refs in lists for ref in refs.children]
        return tuple(
            Ref(name[1:-1], *(integer(n, self.text) for n in part))
            for name, *part in tokens
            if name.type == "STRING"
        )

    def size(self, token: Any) -> Int:
        """A size: a number or a name."""
        return integer(token, self.text) if token.type == "INT" else SizeExpr.named(str(token))

    def calls(self, tree: Any) -> Placement:
        """Return the sharding that calls and values of Python say."""
        arguments, *onto = tree.children
        return placement_of(self.text, self.call(arguments, ""), [*map(self.value, onto)])

    def call(self, tree: Any | None, name: str, position: int = 0) -> Call:
        """A call or brackets: the values, and those with a name."""
        found = Call(name, [], {}, position)
        for child in () if tree is None else tree.children:
            if child.data in {"keyed", "entry"}:
                key = str(child.children[0]).strip("'\"")
                found.keys[key] = self.value(child.children[1])
            else:
                found.values.append(self.value(child))
        return found

    def value(self, tree: Any) -> Any:
        kind, children = tree.data, tree.children
        if kind == "number":
            return integer(children[0], self.text)
        if kind in {"name", "star"}:
            return Call(str(children[0]), [], {}, children[0].start_pos, bare=True)
        if kind == "string":
            return str(children[0])[1:-1]
        if kind == "call":
            inner = children[1] if len(children) > 1 else None
            return self.call(inner, str(children[0]), children[0].start_pos)
        brackets = {"round": "()", "square": "[]", "curly": "{}"}[kind]
        return self.call(children[0] if children else None, brackets, _start(tree))


def _start(tree: Any) -> int:
    """The position at which a tree or token begins; an empty one begins at 0."""
    if hasattr(tree, "start_pos"):
        return int(tree.start_pos)
    return next(((_start(each)) for each in tree.children), 0)
