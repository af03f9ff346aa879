"""Texts of arrays on devices: an array, then its sharding as a system prints it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, ClassVar, Final

from morello_layouts.core.description import count, listed
from morello_layouts.core.expr.sizes import SizeExpr
from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import SHARDING_TEXT
from morello_layouts.core.recipe import known
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.notations import grammar
from morello_layouts.notations.calls import NAME, STRING
from morello_layouts.notations.mlir.text import parse_mlir
from morello_layouts.notations.registry import BEGINS
from morello_layouts.notations.sharding.calls import read_calls, sharded
from morello_layouts.notations.sharding.layout import Placement, ShardedLayout, ShardedTuple
from morello_layouts.notations.sharding.sharding import Mesh
from morello_layouts.notations.sharding.systems import AxisSharding, HloSharding, Ref
from morello_layouts.notations.text import (
    ABSENT,
    NUMBER,
    Note,
    Rule,
    choice,
    field,
    made,
    many,
    row,
    word,
)
from morello_layouts.notations.xla import XlaTuple, parse_xla

_EXAMPLE: Final = "write for example f32[8,16], sharding={devices=[2,4]<=[8]}"
_WHOLE: Final = grammar.Terminal("'replicated'", r"(replicated|manual|unknown|unreduced)\b")
_GROUP: Final = grammar.Terminal("'shard_as'", "shard_(as|like)")
_METADATA: Final = grammar.Terminal("metadata in braces", r"\{(\{[^{}]*\}|[^{}])*\}")
_SDY: Final = grammar.Terminal("'sdy.sharding'", r"(sdy\.sharding\s*=\s*)?#?sdy\.sharding")
_VALUE: Final = grammar.Terminal("an SSA value", r"%\w+\s*:")
_TENSOR: Final = grammar.Terminal("a type of a tensor", r"tensor<[^<>]*>(\s*,)?")
_SYMBOL: Final = grammar.Terminal("the name of a mesh", r"@[\w.$-]+")
_PRIORITY: Final = grammar.Terminal("a priority", "p[0-9]+")
_INTS: Final = grammar.Terminal("numbers", r"[0-9]+(\s*,\s*[0-9]+)*")

_SYNTAX: Final = {
    kind: grammar.Syntax(form, example, longest=SHARDING_TEXT)
    for kind, form, example in (
        ("hlo_text",
         "HLO's sharding is {devices=[tiles]<=[devices]}, {replicated} or {maximal device=0}",
         _EXAMPLE),
        ("sdy_text", "Shardy's sharding is a mesh, then the axes of each dimension in braces",
         'write for example tensor<8x16xf32>, #sdy.sharding<mesh<["x"=2, "y"=4]>, [{"x"}, {}]>'),
        ("args_text",
         "a sharding is a mesh and spec, placements and mesh, or BLOCK and CYCLIC ONTO processes",
         "write for example f32[8,16], mesh={'x': 2, 'y': 4}, spec=P('x', None)"),
    )
}  # fmt: skip

_PARTS: Final = {
    kind: re.compile(rf"(?:\A|,|>\s*+\{{?|(?<=[\]}}]))\s*+(?={text})")
    for kind, text in BEGINS.items()
}


# ---- meshes, and the axes of dimensions


def _int_row(source: grammar.Source, note: Note | None, must: bool) -> Any:
    """Read numbers with commas between them as one token: lists of devices are long."""
    token = source.need(_INTS) if must else source.take(_INTS)
    if token is None:
        return ABSENT
    found, at = list[int](), token.start
    for k, part in enumerate(token.split(",")):
        place = at + len(part) - len(part.lstrip())
        if note is not None:
            note.part(k).mark(place)
            note.places[note.path] = token.start  # after the bracket
        found.append(grammar.integer(part.strip(), source.text, place))
        at += len(part) + 1
    return tuple(found)


_NUMBERS: Final = Rule(_int_row)
_QUOTED: Final = word(STRING, lambda token, _: token[1:-1])
_SIZE: Final = choice(NUMBER, word(NAME, lambda token, _: SizeExpr.named(str(token))))
_AXIS: Final = made(lambda name, n: (name, n), field("name", _QUOTED), "=", field("n", _SIZE))
_SLICE: Final = made(
    lambda before, size: (before, size), "(", field("before", NUMBER), ")", field("size", NUMBER)
)
_REF: Final = choice(
    word("?", lambda *_: None),  # an open end: the compiler may add axes
    made(
        lambda axis, part=(): Ref(axis, *part),
        field("axis", _QUOTED),
        field("part", ":", _SLICE, default=()),
    ),
)
_REFS: Final = row("{", many(_REF, ",", "}"))
_DIM: Final = made(
    lambda refs: refs, field("refs", _REFS), field("", word(_PRIORITY), default=None)
)
_CUTS: Final = field("cuts", "[", many(_DIM, ",", "]"))
_USE: Final = made(
    lambda use, refs: (use, refs), ",", field("use", word(NAME)), "=", field("refs", _REFS)
)
_KEPT: Final = field("kept", many(_USE))
_MESH: Final = made(
    Mesh,
    *("<", "[", field("axes", many(_AXIS, ",", "]"))),
    field("ids", ",", "device_ids", "=", "[", _NUMBERS, "]", default=()),
    ">",
)


def _by_mesh(style: Any, mesh: Mesh, cuts: tuple[Any, ...], kept: tuple[Any, ...]) -> AxisSharding:
    dims = tuple(tuple(filter(None, refs)) for refs in cuts)
    uses = tuple((use, tuple(filter(None, refs))) for use, refs in kept if use != "replicated")
    return AxisSharding(mesh, dims, style, uses)


# ---- HLO

_BOX: Final = row("[", _NUMBERS, "]")
_LISTED: Final = made(
    Mesh,
    *("[", field("axes", many(_AXIS, ",", "]", least=1)), ","),
    field("ids", "device_ids", "=", "(", _NUMBERS, ")", ",", default=()),
)
_NAMED: Final = made(partial(_by_mesh, "hlo"), "mesh", field("mesh", _LISTED), _CUTS, _KEPT, "}")
_FIELDS: Final = {
    "device": row("device", "=", NUMBER),
    "tiles": row("=", _BOX),
    "reshape": _BOX,
    "transpose": row("(", _NUMBERS, ")"),
    "devices": _NUMBERS,
    "uses": row("=", "{", many(word(NAME), ",", "}", least=1)),
    "": row("=", word(_METADATA)),
}


def _tiles(source: grammar.Source, note: Note | None, must: bool) -> Any:
    """Read the fields of a sharding by tiles, up to its closing brace."""
    kinds, given = (_WHOLE, "maximal", "devices"), dict[str, Any]()
    kind = source.need(*kinds) if must else source.take(*kinds)
    if kind is None:
        return ABSENT
    if note is not None:
        note.mark(kind.start)

    def keep(name: str) -> None:
        given[name] = _FIELDS[name].read(source, note and note.part(name), True)

    if kind == "maximal":
        keep("device")
    elif kind == "devices":
        keep("tiles")
        keep("reshape" if source.take("<=") else "devices")
        if "reshape" in given and source.take("T"):
            keep("transpose")
    else:
        given["kind"] = str(kind)
    while not source.take("}"):
        more = source.need("last_tile_dim_replicate", "last_tile_dims", "metadata", _GROUP)
        if more == "last_tile_dim_replicate":
            given["uses"] = ("replicated",)
        elif more.kind is _GROUP:
            source.need(grammar.INT)
        else:
            keep("uses" if more == "last_tile_dims" else "")
    return given


def _by_tiles(kind: str = "replicated", device: int | None = None, **given: Any) -> HloSharding:
    if kind != "replicated":
        raise LayoutError(
            f"{kind} says nothing about devices",
            "the program moves the parts itself, or XLA has not decided yet",
            "give the sharding that the compiled program has",
        )
    given.pop("", None)
    return HloSharding(**given) if device is None else HloSharding(devices=(device,), **given)


def _placements(parts: Any, count: int = 0) -> tuple[tuple[Placement, ...], bool]:
    """Return the shardings, and whether they are those of a tuple."""
    is_tuple = isinstance(parts, tuple)
    found = list[Placement]()
    for k, part in enumerate(parts if is_tuple else (parts,)):
        try:
            found.append(_by_tiles(count=count, **part) if isinstance(part, dict) else part)
        except LayoutError as error:
            own = ("devices" if x == "ids" else x for x in error.part)  # as the mesh calls them
            error.part = ("parts", *((k,) if is_tuple else ()), *own)
            raise
    return tuple(found), is_tuple


_PART: Final = choice(_NAMED, Rule(_tiles))
_HLO: Final = made(
    _placements,
    field("", word("sharding"), "=", default=None),
    "{",
    field("parts", choice(_PART, many(row("{", _PART), ",", "}", least=1))),
    field("count", ",", "num_partitions", "=", NUMBER, default=0),
    grammar.END,
)


def _read(text: str, start: int, note: Note | None = None) -> tuple[tuple[Placement, ...], bool]:
    source = grammar.Source(text, _SYNTAX["hlo_text"])
    source.move(start)
    return _HLO.read(source, note, True)  # type: ignore[no-any-return]


def _hlo(text: str, start: int, shape: Any) -> ShardedLayout | ShardedTuple:
    found, is_tuple = _read(text, start)

    def place(*at: int) -> int:
        places: grammar.Places = {}
        _read(text, start, Note(places))
        path: tuple[str | int, ...] = ("parts", *at)
        return places.get((*path, "tiles"), places.get(path, start))

    if not is_tuple:
        return _layout(found[0], shape, text, place)
    arrays = [*shape.arrays()] if isinstance(shape, XlaTuple) else []
    if len(arrays) != len(found):
        raise ParseError(
            f"shardings of a tuple: expected {len(arrays) or 'one'}, got {len(found)}",
            "each array of a tuple has one sharding",
            "write the tuple before its shardings, or one sharding alone",
            text=text,
            position=place(0),
        )
    layouts = tuple(
        (path, _layout(one, array, text, partial(place, k)))
        for k, ((path, array), one) in enumerate(zip(arrays, found, strict=True))
    )
    return ShardedTuple(layouts, f"{shape}, sharding={{{', '.join(map(str, found))}}}")


def placements_of(text: str) -> tuple[Placement, ...]:
    """Return the shardings in the attribute of an HLO instruction, several of a tuple.

    >>> [str(one) for one in placements_of("{{devices=[2]<=[2]}, {replicated}}")]
    ['{devices=[2]<=[2]}', '{replicated}']
    """
    return _read(text, 0)[0]


# ---- Shardy

_NAMED_MESH: Final = word(_SYMBOL)
_ARRAY: Final = word(_TENSOR, lambda token, _: token)


def _of_tensor(
    mesh: Any, array: Any = None, defined: Any = None, **given: Any
) -> tuple[AxisSharding, Any]:
    """Return the sharding, whose mesh may be defined before it, and the text of the tensor."""
    name, known_mesh = defined or (None, None)
    if isinstance(mesh, str):
        if name != mesh:
            raise LayoutError(
                f"the mesh {mesh}: expected its axes, got its name",
                "a sharding names axes of a mesh, whose sizes the mesh gives",
                f'write {mesh} = <["x"=2, "y"=4]> before it, or mesh<["x"=2, "y"=4]> for it',
                part=("mesh",),
            )
        mesh = known_mesh
    return _by_mesh("sdy", mesh, given["cuts"], given["kept"]), array


_SHARDY: Final = made(
    _of_tensor,
    field(
        "defined",
        made(
            lambda name, mesh: (name, mesh),
            field("name", choice(row("sdy.mesh", _NAMED_MESH), _NAMED_MESH)),
            *("=", field("mesh", _MESH)),
        ),
        default=None,
    ),
    field("array", choice(row(_VALUE, _ARRAY), _ARRAY), default=None),
    field("", word("{"), default=None),
    *(_SDY, "<", field("mesh", choice(row("mesh", _MESH), _NAMED_MESH)), ","),
    *(_CUTS, _KEPT, ">", field("", word("}"), default=None), grammar.END),
)


# ---- any of them


def parse_sharding(text: str) -> ShardedLayout | ShardedTuple:
    """Parse an array on devices, or a sharding whose array's sizes are given beside it."""
    found = [(match.end(), kind) for kind, part in _PARTS.items() if (match := part.search(text))]
    start, kind = min(found, default=(0, "hlo_text"))
    head = text[:start].rstrip().rstrip("{,").rstrip()
    shape = _head(head, text) if head else None
    if kind == "hlo_text":
        return _hlo(text, start, shape)
    source = grammar.Source(text, _SYNTAX[kind])
    source.move(start)
    if kind == "args_text":
        return _layout(read_calls(source), shape, text, lambda: start)
    placement, array = _SHARDY.read(source, None, True)
    if array is not None:
        shape = _head(" " * array.start + array.rstrip(", \t\r\n"), text)
    return _layout(placement, shape, text, lambda: start)


def _layout(placement: Placement, shape: Any, text: str, place: Callable[[], int]) -> ShardedLayout:
    """Return the layout of an array whose parts lie on devices."""
    try:
        return sharded(placement, shape)
    except ParseError:
        raise
    except LayoutError as error:
        raise grammar.at_part(error, text, {}, place()) from None


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


@frozen
class WrittenSharding:
    """How an array lies on the devices.

    >>> str(sharding_of("{devices=[2,1,1,2]<=[4] last_tile_dim_replicate}"))
    'split in 2 along dimension 0, each part on 2 devices'
    >>> str(sharding_of("{replicated}")), str(sharding_of("{maximal device=3}"))
    ('whole on every device', 'whole on one device')
    """

    json_keys: ClassVar = ("text", "parts", "replicas", "words=words")

    text: str  #: as the dump writes it.
    parts: tuple[int, ...]  #: the number of parts along each dimension; empty if it is not split.
    replicas: int | None  #: the devices that hold each part; None if the text does not say.

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
