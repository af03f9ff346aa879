"""Texts of arrays on devices: an array, then its sharding as a system prints it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, ClassVar, Final

from morello_layouts.core.description import count, listed
from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Layout
from morello_layouts.core.limits import EXPR_NESTING, SHARDING_TEXT
from morello_layouts.core.recipe import known
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.notations.grammar import (
    INT,
    Places,
    Source,
    Syntax,
    Terminal,
    Token,
    at_part,
    integer,
)
from morello_layouts.notations.mlir.text import parse_mlir
from morello_layouts.notations.registry import BEGINS
from morello_layouts.notations.sharding.calls import Call, placement_of, sharded
from morello_layouts.notations.sharding.hlo import HloSharding
from morello_layouts.notations.sharding.layout import Placement, ShardedLayout, ShardedTuple
from morello_layouts.notations.sharding.sharding import Mesh
from morello_layouts.notations.sharding.systems import AxisSharding, Ref
from morello_layouts.notations.xla import XlaTuple, parse_xla

_EXAMPLE: Final = "write for example f32[8,16], sharding={devices=[2,4]<=[8]}"
_WHOLE: Final = Terminal("'replicated'", r"(replicated|manual|unknown|unreduced)\b")
_GROUP: Final = Terminal("'shard_as'", "shard_(as|like)")
_METADATA: Final = Terminal("metadata in braces", r"\{(\{[^{}]*\}|[^{}])*\}")
_SDY: Final = Terminal("'sdy.sharding'", r"(sdy\.sharding\s*=\s*)?#?sdy\.sharding")
_VALUE: Final = Terminal("an SSA value", r"%\w+\s*:")
_TENSOR: Final = Terminal("a type of a tensor", "tensor<[^<>]*>")
_SYMBOL: Final = Terminal("the name of a mesh", r"@[\w.$-]+")
_PRIORITY: Final = Terminal("a priority", "p[0-9]+")
_STRING: Final = Terminal("a name in quotes", r"""\"[^\"\n]*\"|'[^'\n]*'""")
_INTS: Final = Terminal("numbers", r"[0-9]+(\s*,\s*[0-9]+)*")
_NAME: Final = Terminal("a name", r"[A-Za-z_][\w.]*")

_SYNTAX: Final = {
    "hlo_text": Syntax(
        "HLO's sharding is {devices=[tiles]<=[devices]}, {replicated} or {maximal device=0}",
        _EXAMPLE,
        longest=SHARDING_TEXT,
    ),
    "sdy_text": Syntax(
        "Shardy's sharding is a mesh, then the axes of each dimension in braces",
        'write for example tensor<8x16xf32>, #sdy.sharding<mesh<["x"=2, "y"=4]>, [{"x"}, {}]>',
        longest=SHARDING_TEXT,
    ),
    "args_text": Syntax(
        "a sharding is a mesh and spec, placements and mesh, or BLOCK and CYCLIC ONTO processes",
        "write for example f32[8,16], mesh={'x': 2, 'y': 4}, spec=P('x', None)",
        longest=SHARDING_TEXT,
    ),
}

_PARTS: Final = {
    kind: re.compile(rf"(?:\A|,|>\s*+\{{?|(?<=[\]}}]))\s*+(?={text})")
    for kind, text in BEGINS.items()
}


def parse_sharding(text: str) -> ShardedLayout | ShardedTuple:
    """Parse an array on devices, or a sharding whose array's sizes are given beside it."""
    found = [(match.end(), kind) for kind, part in _PARTS.items() if (match := part.search(text))]
    start, kind = min(found, default=(0, "hlo_text"))
    syntax = _SYNTAX[kind]
    head = text[:start].rstrip().rstrip("{,").rstrip()
    shape = _head(head, text) if head else None
    reader = _Reader(text, syntax, start)
    if kind == "hlo_text":
        return reader.hlo(shape)
    if kind == "sdy_text":
        placement, shape = reader.sdy(shape)
    else:
        placement = reader.calls()
    return reader.layout(placement, shape, start)


def placements_of(text: str) -> tuple[Placement, ...]:
    """Return the shardings in the attribute of an HLO instruction, several of a tuple.

    >>> [str(one) for one in placements_of("{{devices=[2]<=[2]}, {replicated}}")]
    ['{devices=[2]<=[2]}', '{replicated}']
    """
    read, _, count = _Reader(text, _SYNTAX["hlo_text"], 0).parts()
    return tuple(make(count) for _, make in read)


def _head(head: str, text: str) -> Any:
    read = parse_mlir if head.lstrip().startswith("tensor") else parse_xla
    try:
        return read(head)
    except ParseError as error:
        whole = re.match(r"[a-z]\w*\[[^\]]*\](\{[^}]*\})?\s+[\w-]+\(", head) is not None
        raise ParseError(
            error.what,
            "the array stands before its sharding, without the instruction" if whole else error.why,
            _EXAMPLE if whole else error.fix,
            text=text,
            position=error.position,
            reached=len(head) if whole else error.reached,
        ) from None


@frozen(slots=False)
class _Dim:
    """The axes in braces, and where they stand."""

    refs: tuple[Ref, ...]
    start: int


class _Reader:
    """Read values, and remember the place of each part in the text."""

    def __init__(self, text: str, syntax: Syntax, start: int) -> None:
        self.text, self.source = text, Source(text, syntax)
        self.source.move(start)
        self.depth = 0

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

    def parts(self) -> tuple[list[tuple[int, Callable[[int], Placement]]], bool, int]:
        """Read the shardings of HLO: each one, whether of a tuple, and the number of devices."""
        source = self.source
        if source.take("sharding"):
            source.need("=")
        source.need("{")
        is_tuple = source.take("{") is not None
        read = [self.tiles()]
        while is_tuple and not source.take("}"):
            source.need(",")
            source.need("{")
            read.append(self.tiles())
        count = 0
        if source.take(","):
            source.need("num_partitions")
            source.need("=")
            count = integer(source.need(INT), self.text)
        source.end()
        return read, is_tuple, count

    def hlo(self, shape: Any) -> ShardedLayout | ShardedTuple:
        """Return the layouts of HLO's text."""
        read, is_tuple, count = self.parts()
        parts = [make(count) for _, make in read]
        start = read[0][0]
        if not is_tuple:
            return self.layout(parts[0], shape, start)
        arrays = [*shape.arrays()] if isinstance(shape, XlaTuple) else []
        if len(arrays) != len(parts):
            raise self.error(
                f"shardings of a tuple: expected {len(arrays) or 'one'}, got {len(parts)}",
                "each array of a tuple has one sharding",
                "write the tuple before its shardings, or one sharding alone",
                start,
            )
        layouts = tuple(
            (at, self.layout(p, x, first))
            for (at, x), p, (first, _) in zip(arrays, parts, read, strict=True)
        )
        text = f"{shape}, sharding={{{', '.join(map(str, parts))}}}"
        return ShardedTuple(layouts, text)

    def tiles(self) -> tuple[int, Callable[[int], Placement]]:
        """Read a sharding of HLO behind its brace: its place, and its value for a device count."""
        source = self.source
        if kind := source.take(_WHOLE):
            self.more({}, {})
            return kind.start, lambda count: self.whole(kind, count)
        if source.take("mesh"):
            source.need("[")
            start, axes = source.at, self.axes("]", least=1)
            source.need(",")
            ids = None
            if source.take("device_ids"):
                source.need("=")
                ids = self.bracketed("(", ")")
                source.need(",")
            dims, kept = self.dims("}")
            return start, lambda _: self.named(axes, ids, dims, kept, "hlo")
        return self.tiled()

    def tiled(self) -> tuple[int, Callable[[int], Placement]]:
        """Read the numbers of tiles and of devices; results as of :meth:`tiles`."""
        source = self.source
        places: Places = {}
        given: dict[str, Any] = {}
        if source.need("maximal", "devices") == "maximal":
            source.need("device")
            source.need("=")
            first = source.need(INT)
            given["devices"] = (integer(first, self.text),)
        else:
            source.need("=")
            first = self.bracketed("[", "]")
            given["tiles"] = self.numbers(first, "tiles", places)
            if source.take("<="):
                given["reshape"] = self.numbers(self.bracketed("[", "]"), "reshape", places)
                if source.take("T"):
                    token = self.bracketed("(", ")")
                    given["transpose"] = self.numbers(token, "transpose", places)
            else:
                given["devices"] = self.numbers(source.need(_INTS), "devices", places)
        self.more(given, places)

        def make(count: int) -> Placement:
            try:
                return HloSharding(**given, count=count)
            except LayoutError as error:
                raise at_part(error, self.text, places, first.start) from None

        return first.start, make

    def bracketed(self, opening: str, close: str) -> Token:
        """Read numbers in brackets."""
        self.source.need(opening)
        token = self.source.need(_INTS)
        self.source.need(close)
        return token

    def whole(self, kind: Token, count: int) -> Placement:
        if kind == "replicated":
            return HloSharding(count=count)
        raise self.error(
            f"{kind} says nothing about devices",
            "the program moves the parts itself, or XLA has not decided yet",
            "give the sharding that the compiled program has",
            kind.start,
        )

    def more(self, given: dict[str, Any], places: Places) -> None:
        """Read what else may stand in a sharding of HLO, up to its closing brace."""
        source = self.source
        while not source.take("}"):
            word = source.need("last_tile_dim_replicate", "last_tile_dims", "metadata", _GROUP)
            if word == "last_tile_dim_replicate":
                given["uses"] = ("replicated",)
            elif word == "last_tile_dims":
                source.need("=")
                source.need("{")
                names = source.series(lambda: source.need(_NAME), "}", least=1)
                given["uses"] = tuple(map(str, names))
                places |= {("uses", k): name.start for k, name in enumerate(names)}
            elif word == "metadata":
                source.need("=")
                source.need(_METADATA)
            else:
                source.need(INT)

    def numbers(self, token: Token, name: str, places: Places) -> tuple[int, ...]:
        """The numbers of a list, with the place of each."""
        found, at = [], token.start
        for k, part in enumerate(token.split(",")):
            places[name, k] = at + len(part) - len(part.lstrip())
            found.append(integer(part.strip(), self.text, places[name, k]))
            at += len(part) + 1
        places[name,] = token.start
        return tuple(found)

    def sdy(self, shape: Any) -> tuple[Placement, Any]:
        """Return the sharding of a tensor, whose mesh may be defined before it."""
        source = self.source
        mesh = None
        name = source.need(_SYMBOL) if source.take("sdy.mesh") else source.take(_SYMBOL)
        if name:
            source.need("=")
            mesh = self.mesh()
        if tensor := source.need(_TENSOR) if source.take(_VALUE) else source.take(_TENSOR):
            source.take(",")
            shape = _head(" " * tensor.start + tensor, self.text)
        has_brace = source.take("{")
        source.need(_SDY)
        source.need("<")
        used = source.need(_SYMBOL, "mesh")
        if used == "mesh":
            mesh = self.mesh()
        source.need(",")
        dims, kept = self.dims(">")
        if has_brace:
            source.take("}")
        source.end()
        if mesh is None or (name and used not in ("mesh", name)):
            raise self.error(
                f"the mesh {used}: expected its axes, got its name",
                "a sharding names axes of a mesh, whose sizes the mesh gives",
                f'write {used} = <["x"=2, "y"=4]> before it, or mesh<["x"=2, "y"=4]> for it',
                used.start,
            )
        return self.named(*mesh, dims, kept, "sdy"), shape

    def mesh(self) -> tuple[list[tuple[Token, Token]], Token | None]:
        """Read a mesh of Shardy: its axes and the numbers of its devices."""
        source = self.source
        source.need("<")
        source.need("[")
        axes = self.axes("]")
        ids = None
        if source.take(","):
            source.need("device_ids")
            source.need("=")
            ids = self.bracketed("[", "]")
        source.need(">")
        return axes, ids

    def axes(self, close: str, least: int = 0) -> list[tuple[Token, Token]]:
        source = self.source

        def axis() -> tuple[Token, Token]:
            name = source.need(_STRING)
            source.need("=")
            return name, source.need(INT, _NAME)

        return source.series(axis, close, least=least)

    def dims(self, close: str) -> tuple[list[_Dim], list[tuple[Token, _Dim]]]:
        """Read the axes of each dimension, then those kept for other uses."""
        source = self.source
        source.need("[")
        dims = source.series(self.dim, "]")
        kept = []
        while not source.take(close):
            source.need(",")
            use = source.need(_NAME)
            source.need("=")
            kept.append((use, self.refs()))
        return dims, kept

    def dim(self) -> _Dim:
        found = self.refs()
        self.source.take(_PRIORITY)
        return found

    def refs(self) -> _Dim:
        """Read the axes in braces; an open end says only that the compiler may add some."""
        source = self.source
        source.need("{")
        start = source.at
        found = source.series(self.ref, "}")
        return _Dim(tuple(ref for ref in found if ref), start)

    def ref(self) -> Ref | None:
        source = self.source
        name = source.need(_STRING, "?")
        if name == "?":
            return None
        numbers = []
        if source.take(":"):
            source.need("(")
            numbers.append(source.need(INT))
            source.need(")")
            numbers.append(source.need(INT))
        return Ref(name[1:-1], *(integer(n, self.text) for n in numbers))

    def named(
        self,
        mesh: list[tuple[Token, Token]],
        numbers: Token | None,
        dims: list[_Dim],
        kept: list[tuple[Token, _Dim]],
        style: Any,
    ) -> Placement:
        """Return a sharding by mesh axes."""
        places: Places = {("axes", k): name.start for k, (name, _) in enumerate(mesh)}
        axes = tuple((name[1:-1], self.size(size)) for name, size in mesh)
        ids = self.numbers(numbers, "ids", places) if numbers else ()
        for k, dim in enumerate(dims):
            places["cuts", k] = places["dims", k] = dim.start
        uses = tuple((str(use), dim.refs) for use, dim in kept if use != "replicated")
        try:
            found = Mesh(axes, ids)
            return AxisSharding(found, tuple(dim.refs for dim in dims), style, uses)
        except LayoutError as error:
            raise at_part(error, self.text, places, dims[0].start if dims else 0) from None

    def size(self, token: Token) -> Int:
        """A size: a number or a name."""
        return integer(token, self.text) if token.kind is INT else SizeExpr.named(str(token))

    def calls(self) -> Placement:
        """Return the sharding that calls and values of Python say."""
        source = self.source
        found = Call("", [], {}, 0)
        self.argument(found)
        while source.take(","):
            if source.at < len(self.text):
                self.argument(found)
        onto = [self.value()] if source.take("ONTO") else []
        source.end()
        return placement_of(self.text, found, onto)

    def call(self, name: str, close: str, position: int) -> Call:
        """Read a call or brackets, up to the closing one: the values, and those with a name."""
        found = Call(name, [], {}, position)
        self.depth += 1
        if self.depth > EXPR_NESTING:
            raise self.error(
                f"brackets nest deeper than {EXPR_NESTING}",
                "a sharding has a few levels of brackets",
                "write it as the system prints it",
                position,
            )
        self.source.series(lambda: self.argument(found), close, trailing=True)
        self.depth -= 1
        return found

    def argument(self, call: Call) -> None:
        """Read a value of a call or of brackets, with its name if it has one."""
        source = self.source
        name = source.take(_NAME, _STRING)
        if name and source.take("=" if name.kind is _NAME else ":"):
            key = name.strip("'\"")
            if key in call.keys:
                what = f"{key} is given twice"
                raise self.error(what, "a name has one value", "leave one out", name.start)
            call.keys[key] = self.value()
        else:
            call.values.append(self.value(name))

    def value(self, name: Token | None = None) -> Any:
        """Read a value, whose name may have been read."""
        source = self.source
        token = name or source.need(INT, _NAME, _STRING, "*", "(", "[", "{")
        if token.kind is INT:
            return integer(token, self.text)
        if token.kind is _STRING:
            return token[1:-1]
        if token.kind is _NAME and source.take("("):
            return self.call(str(token), ")", token.start)
        if token.kind is _NAME or token == "*":
            return Call(str(token), [], {}, token.start, bare=True)
        close = {"(": ")", "[": "]", "{": "}"}[token]
        return self.call(token + close, close, source.at)


@frozen
class WrittenSharding:
    """How an array lies on the devices.

    Attributes:
        text: as the dump writes it.
        parts: the number of parts along each dimension; empty if it is not split.
        replicas: the devices that hold each part; None if the text does not say.

    >>> str(sharding_of("{devices=[2,1,1,2]<=[4] last_tile_dim_replicate}"))
    'split in 2 along dimension 0, each part on 2 devices'
    >>> str(sharding_of("{replicated}")), str(sharding_of("{maximal device=3}"))
    ('whole on every device', 'whole on one device')
    """

    json_keys: ClassVar = ("text", "parts", "replicas", "words=words")

    text: str
    parts: tuple[int, ...]
    replicas: int | None

    @property
    def words(self) -> str:
        """The same in words."""
        split = [f"in {n} along dimension {dim}" for dim, n in enumerate(self.parts) if n > 1]
        if split:
            each = f", each part on {count(self.replicas, 'device')}" if self.replicas else ""
            return f"split {listed(split)}{each}"
        if "maximal" in self.text:
            return "whole on one device"
        is_manual = "manual" in self.text
        return "as the program says, device by device" if is_manual else "whole on every device"

    def __str__(self) -> str:
        return self.words


@lru_cache(maxsize=1024)
def sharding_of(text: str) -> WrittenSharding:
    """Return the sharding in an attribute's text; of a tuple that of the first array."""
    try:
        first, *_ = placements_of(text)
    except LayoutError:  # manual, unknown, or not of HLO: the text says no parts
        return WrittenSharding(text, (), None)
    rank = first.rank
    if rank is None:
        return WrittenSharding(text, (), None)
    found = first.sharding(rank)
    parts = known(tuple(found.parts(dim) for dim in range(rank)))
    return WrittenSharding(text, parts, known((found.replicas,))[0])
