"""Shardings from values of Python: those in a text, and objects of JAX and torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from morello_layouts.core.checks import shown
from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.layout import Layout
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.notations.calls import CallReader, Written
from morello_layouts.notations.grammar import INT, Source
from morello_layouts.notations.sharding import systems
from morello_layouts.notations.sharding.layout import Placement, ShardedLayout
from morello_layouts.notations.sharding.sharding import Mesh
from morello_layouts.notations.xla import XlaLayout, XlaShape

_LETTERS: Final = "xyzuvw"


class _Refusal(ValueError):  # noqa: N818
    """What is wrong with a value, why, what to write, and the value."""


def read_calls(source: Source) -> Placement:
    """Return the sharding that calls and values of Python say."""
    reader, found = CallReader(source, INT, signs=("*",)), Written("")
    reader.argument(found)
    while source.take(","):
        if source.at < len(source.text):
            reader.argument(found)
    onto = [reader.value()] if source.take("ONTO") else []
    source.end()
    return placement_of(source.text, found, onto)


def placement_of(text: str, given: Written, onto: Sequence[Any]) -> Placement:
    """Return the sharding that values of Python say."""
    keys = dict(given.keys)
    for value in list(given.values):
        name = value.name if isinstance(value, Written) and not value.is_bare else ""
        if name == "NamedSharding":
            keys |= value.keys
            keys |= dict(zip(("mesh", "spec"), value.values, strict=False))
        elif name in {"P", "PartitionSpec"}:
            keys["spec"] = value
    first = given.values[0] if given.values else None
    try:
        if "spec" in keys:
            return _spec(keys)
        if "desc" in keys:
            return _descriptor(keys)
        if "nb" in keys:
            return _dimensions(keys)
        if "placements" in keys or _holds(first, "Shard", "Replicate", "_StridedShard", "Partial"):
            return _placements(keys, keys.get("placements", first))
        if "mesh" in keys:
            raise _Refusal(
                "the spec: expected the mesh axes of each dimension, got nothing",
                "a mesh has the devices, and a spec says along which axes each dimension is cut",
                "write spec=P('x', None) or placements=[Shard(0)] after the mesh",
                None,
            )
        return _distribution(given.values, onto)
    except _Refusal as refusal:
        what, why, fix, value = refusal.args
        position = value.start if isinstance(value, Written) else given.start
    except LayoutError as error:
        if isinstance(error, ParseError):
            raise
        what, why, fix, position = error.what, error.why, error.fix, _position(given)
    raise ParseError(what, why, fix, text=text, position=position or _first(text))


def sharded(placement: Placement, shape: Any) -> ShardedLayout:
    """Return the layout of an array, with or without its sizes, whose parts lie on devices."""
    if shape is not None and not isinstance(shape, Layout):
        raise LayoutError(
            f"{shape}: expected one array, got a tuple",
            "each array of a tuple has its own sharding",
            "write one for each: sharding={{devices=[2]<=[2]}, {replicated}}",
        )
    if isinstance(placement, systems.BlockCyclic) and placement.descriptor:
        return _by_descriptor(placement, shape)
    if isinstance(placement, systems.BlockCyclic) and placement.sizes:
        _require_same(placement.sizes, shape)
        return ShardedLayout(placement, placement.sizes, None, getattr(shape, "element", None))
    if shape is None:
        return ShardedLayout(placement)
    local = None
    if isinstance(shape, XlaShape):
        order = XlaLayout.descending(len(shape.dims))
        local = None if shape.layout == order else shape.layout
    return ShardedLayout(placement, _known_sizes(shape), local, shape.element, str(shape))


def _known_sizes(shape: Layout) -> tuple[Int, ...]:
    sizes = tuple(n for n in shape.sizes or () if n is not None)
    if shape.sizes is None or len(sizes) != len(shape.sizes):
        raise LayoutError(
            f"{shape}: expected sizes, got an unbounded one",
            "a dimension is cut into parts by its size",
            "write a number or a name for each size",
        )
    return sizes


def _by_descriptor(placement: systems.BlockCyclic, shape: Any) -> ShardedLayout:
    _, _, m, n, *_, lead = placement.descriptor
    _require_same((m, n), shape)
    rows = placement.sharding(2).held(0, m, {"p": placement.dims[0].first, "q": 0})
    if lead < max(rows, 1):
        raise LayoutError(
            f"LLD_: expected {max(rows, 1)} or more, got {lead}",
            "the leading dimension has room for the rows of each process",
            f"write {max(rows, 1)} for the last number of the descriptor",
        )
    local = systems.ColumnMajor(lead)
    return ShardedLayout(placement, (m, n), local, getattr(shape, "element", None))


def _require_same(sizes: Sequence[Int], shape: Any) -> None:
    if shape is not None and tuple(shape.sizes) != tuple(sizes):
        raise LayoutError(
            f"sizes of {shape}: expected {tuple(sizes)}, got {tuple(shape.sizes)}",
            "the array and its distribution have the same sizes",
            "leave the array out",
        )


def _spec(keys: dict[str, Any]) -> Placement:
    mesh = _mesh(keys.get("mesh"), keys.get("devices"))
    spec = keys["spec"]
    if not isinstance(spec, Written) or spec.is_bare:
        spec = Written("P", [spec], {})
    dims = tuple(_axes_of(entry) for entry in spec.values)
    kept = tuple((kind, _axes_of(spec.keys[kind])) for kind in spec.keys if kind == "unreduced")
    return systems.AxisSharding(mesh, dims, "jax", kept)


def _axes_of(entry: Any) -> tuple[systems.Ref, ...]:
    if isinstance(entry, str):
        return (systems.Ref(entry),)
    if isinstance(entry, Written) and entry.name in {"None", "()", "[]", "{}"}:
        return tuple(ref for inner in entry.values for ref in _axes_of(inner))
    raise _Refusal(
        f"an entry of the spec: expected axes or None, got {shown(str(entry))}",
        "a spec has the mesh axes of each dimension",
        "write 'x', ('x', 'y') or None",
        entry,
    )


def _mesh(given: Any, ids: Any = None) -> Mesh:
    devices = _flat(ids)
    if isinstance(given, Written) and given.name in {"Mesh", "AbstractMesh", "DeviceMesh"}:
        boxes = [value for value in given.values if isinstance(value, Written)]
        if given.name == "DeviceMesh" and boxes and boxes[0].name == "[]":
            devices, boxes[0] = _flat(boxes[0]), Written("()", _box(boxes[0]))
        given = _sizes_of(given, boxes)
    if given is None or isinstance(given, str):
        raise _Refusal(
            "the mesh: expected its axes, got nothing" if given is None else f"the mesh: {given}",
            "a sharding names axes of a mesh",
            "write it before the sharding, as in mesh={'x': 4}, spec=P('x', None)",
            given,
        )
    pairs = [("x", given)]
    if isinstance(given, Written) and (given.keys or given.name in {"()", "[]", "{}"}):
        letters = (_LETTERS[k % 6] + "'" * (k // 6) for k in range(len(given.values)))
        pairs = [*given.keys.items(), *zip(letters, given.values, strict=True)]
    return Mesh(tuple((name, _size(n)) for name, n in pairs), devices)


def _sizes_of(mesh: Written, boxes: Sequence[Written]) -> Any:
    """The sizes of a mesh's axes, by name if it has names; boxes are its values in brackets."""
    names = mesh.keys.get("axis_names") or mesh.keys.get("mesh_dim_names")
    sizes = boxes[0] if boxes else mesh.keys.get("axis_sizes")
    if names is not None and isinstance(sizes, Written):
        return Written("()", [], dict(zip(names.values, sizes.values, strict=False)))
    others = ("axis_types", "stride")
    given = {name: n for name, n in mesh.keys.items() if name not in others}
    return Written("{}", [], given) if sizes is None else sizes


def _size(value: Any) -> Int:
    if isinstance(value, int):
        return value
    if isinstance(value, Written) and value.is_bare and value.name.isidentifier():
        return SizeExpr.named(value.name)
    raise _Refusal(
        f"a size: expected a number or a name, got {shown(str(value))}",
        "an axis has a number of devices",
        "write for example 4 or N",
        value,
    )


def _flat(value: Any) -> tuple[int, ...]:
    found, left = list[int](), [value]
    while left:
        each = left.pop()
        if isinstance(each, Written):
            left += reversed(each.values)
        elif isinstance(each, int):
            found.append(each)
    return tuple(found)


def _box(value: Any) -> list[int]:
    """The sizes of nested brackets."""
    found = []
    while isinstance(value, Written):
        found.append(len(value.values))
        value = value.values[0] if value.values else None
    return found


def _holds(value: Any, *names: str) -> bool:
    return isinstance(value, Written) and any(
        isinstance(each, Written) and each.name in names for each in (value, *value.values)
    )


def _placements(keys: dict[str, Any], given: Any) -> Placement:
    mesh = _mesh(keys.get("mesh", keys.get("device_mesh")), keys.get("devices"))
    found: list[tuple[int, int] | None] = []
    partial = []
    listed = given.values if getattr(given, "name", "") in {"()", "[]"} else [given]
    for k, each in enumerate(listed):
        name = getattr(each, "name", "")
        if name in {"Shard", "_StridedShard"}:
            values = dict(zip(("dim", "sf"), each.values, strict=False)) | each.keys
            factor = values.get("sf", values.get("split_factor", 1))
            found.append((_number(values.get("dim"), each), _number(factor, each)))
        elif name in {"Replicate", "Partial"}:
            found.append(None)
            partial += [mesh.names[k]] if name == "Partial" and k < len(mesh.names) else []
        else:
            raise _Refusal(
                f"a placement: expected Shard, Replicate or _StridedShard, got {shown(str(each))}",
                "each axis of the mesh has one placement",
                "write for example Shard(dim=0)",
                each,
            )
    return systems.DTensorSharding(mesh, tuple(found), tuple(partial))


def _number(value: Any, call: Any) -> int:
    if isinstance(value, int):
        return value
    raise _Refusal(
        f"{call}: expected a number, got {shown(str(value))}",
        "a shard has a dimension, a strided one a split factor",
        "write Shard(dim=0) or _StridedShard(dim=0, sf=2)",
        call,
    )


def _descriptor(keys: dict[str, Any]) -> Placement:
    desc, grid = _flat(keys["desc"]), _flat(keys.get("grid"))
    if len(desc) != 9 or desc[0] != 1 or len(grid) != 2:
        raise _Refusal(
            f"desc: expected 9 numbers from DTYPE_ = 1 on and a grid of 2, "
            f"got {len(desc)} and {len(grid)}",
            "a descriptor is DTYPE_, CTXT_, M_, N_, MB_, NB_, RSRC_, CSRC_, LLD_",
            "write desc=[1, 0, 1000, 800, 64, 64, 0, 0, 512], grid=(2, 4)",
            keys["desc"],
        )
    blocks, sources = desc[4:6], desc[6:8]
    dims = (systems.Cyclic(nb, src, p) for nb, src, p in zip(blocks, sources, grid, strict=True))
    return systems.BlockCyclic(tuple(dims), desc)


def _dimensions(keys: dict[str, Any]) -> Placement:
    """ScaLAPACK's four numbers of each dimension, as ``n=1000, nb=64, src=0, P=4``."""
    lists = []
    for name in ("n", "nb", "src", "P"):
        value = keys.get(name, 0 if name == "src" else None)
        own = value.values if isinstance(value, Written) and not value.is_bare else [value]
        lists.append([_size(each) for each in own])
    ns, nbs, sources, counts = lists
    sources = sources * len(nbs) if "src" not in keys else sources
    if len({len(ns), len(nbs), len(sources), len(counts)}) > 1:
        raise _Refusal(
            f"dimensions: expected one number of them, got {', '.join(str(len(x)) for x in lists)}",
            "each dimension has n, nb, src and P",
            "write n=(1000, 800), nb=(64, 64), src=(0, 0), P=(2, 4)",
            keys["nb"],
        )
    rows = zip(nbs, sources, counts, strict=True)
    dims = (systems.Cyclic(nb, _number(src, "src"), p) for nb, src, p in rows)
    return systems.BlockCyclic(tuple(dims), (), tuple(ns))


def _distribution(values: Sequence[Any], onto: Sequence[Any]) -> Placement:
    """HPF's formats of the dimensions, and the sizes of the processes' array."""
    first = values[0] if values else None
    formats = first.values if isinstance(first, Written) and first.name == "()" else list(values)
    grid = [] if not onto else [onto[0]] if not isinstance(onto[0], Written) else onto[0].values
    if onto and isinstance(onto[0], Written) and onto[0].is_bare:
        grid = [onto[0]]
    counts = iter([_size(n) for n in grid])
    dims: list[systems.Cyclic] = []
    for each in formats:
        name = getattr(each, "name", "")
        if name == "*":
            dims.append(systems.Cyclic(None, 0, None, cycles=False))
        elif name in {"BLOCK", "CYCLIC", "GEN_BLOCK"}:
            own = dict(zip(("block", "first"), each.values, strict=False)) | each.keys
            block = _size(own["block"]) if "block" in own else 1 if name == "CYCLIC" else None
            process = next(counts, None)
            first = _number(own.get("first", 0), each)
            dims.append(systems.Cyclic(block, first, process, name == "CYCLIC"))
            if name == "GEN_BLOCK":
                dims[-1] = systems.Cyclic(None, 0, process, cycles=False, sizes=_flat(each))
            if process is None:
                first = each
                break
        else:
            raise _Refusal(
                f"a distribution: expected BLOCK, CYCLIC, GEN_BLOCK or *, got {shown(str(each))}",
                "each dimension has a format",
                "write for example (BLOCK, CYCLIC(2), *) ONTO (2, 4)",
                each if isinstance(each, Written) else first,
            )
    cut = [one for one in dims if one.processes is not None or one.block or one.cycles]
    if next(counts, None) is not None or any(one.processes is None for one in cut):
        raise _Refusal(
            f"ONTO: expected {len(cut)} sizes, got {len(grid)}",
            "each dimension that is not * is on one axis of processes",
            "write for example (BLOCK, *) ONTO 4",
            first,
        )
    return systems.BlockCyclic(tuple(dims))


def _position(value: Any) -> int:
    return value.start if isinstance(value, Written) else 0


def _first(text: str) -> int:
    """The first character after the array."""
    depth = 0
    for k, letter in enumerate(text):
        depth += {"[": 1, "{": 1, "(": 1, "]": -1, "}": -1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            return k + 2 if k + 2 < len(text) else k
    return 0
