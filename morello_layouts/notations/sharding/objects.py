"""Shardings of JAX's and torch's objects, by their attributes: neither is imported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from morello_layouts.core.checks import shown, whole
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.layout import Layout, nearest_type
from morello_layouts.errors import UnsupportedError
from morello_layouts.notations.sharding.calls import sharded
from morello_layouts.notations.sharding.layout import Placement, ShardedLayout
from morello_layouts.notations.sharding.reader import placements_of
from morello_layouts.notations.sharding.sharding import Mesh
from morello_layouts.notations.sharding.systems import AxisSharding, DTensorSharding, Ref
from morello_layouts.notations.xla import XlaShape, parse_xla


def sharding(value: Any, array: str | Layout | Sequence[Int] | None = None) -> ShardedLayout:
    """Return the layout of an array on devices, from objects of JAX or torch.

    Args:
        value: a ``jax.Array`` or a ``DTensor``; or a ``NamedSharding``, an ``HloSharding`` or a
            pair of a mesh and a ``PartitionSpec`` or placements, and the array beside it.
        array: the array: its sizes, or a layout of XLA with type and sizes, whose tiles are those
            of each device's buffer. By default that of the value itself.

    Raises:
        UnsupportedError: if the object is none of these.

    >>> from types import SimpleNamespace as Object
    >>> mesh = Object(axis_names=("x", "y"), axis_sizes=(2, 4))
    >>> print(sharding(Object(mesh=mesh, spec=("x", None)), (8, 16)).recipe((8, 16)))
    [8,16] → split [2,4,16] → replicate [2,4,16,4] → transpose [2,4,4,16] → merge [8,64] \
(device, offset)
    """
    own = getattr(value, "sharding", None)
    inner = value if own is None else own
    placement = _placement(inner)
    if array is None and hasattr(value, "shape"):
        array = _array(value)
    if isinstance(array, str):
        return sharded(placement, parse_xla(array))
    if array is None or isinstance(array, Layout):
        return sharded(placement, array)
    return ShardedLayout(placement, tuple(array))


def _placement(value: Any) -> Placement:
    if hasattr(value, "mesh") and hasattr(value, "spec"):
        return AxisSharding(_jax_mesh(value.mesh), tuple(map(_refs, value.spec)))
    if isinstance(value, tuple) and len(value) == 2:
        if hasattr(value[0], "axis_names"):
            return AxisSharding(_jax_mesh(value[0]), tuple(map(_refs, value[1])))
        return _dtensor(*value)
    if hasattr(value, "device_mesh") and hasattr(value, "placements"):
        return _dtensor(value.device_mesh, value.placements)
    if "HloSharding" in type(value).__name__:
        return placements_of(str(value))[0]
    raise UnsupportedError(
        f"a sharding: expected an object of JAX or torch, got {shown(value)}",
        "an object has mesh and spec, or device_mesh and placements",
        "give an array of them, or text such as f32[8,16], mesh={'x': 2}, spec=P('x')",
    )


def _jax_mesh(mesh: Any) -> Mesh:
    devices = None if "Abstract" in type(mesh).__name__ else getattr(mesh, "devices", None)
    flat = getattr(devices, "flat", None)
    ids = () if flat is None else tuple(int(one.id) for one in flat)
    sizes = getattr(mesh, "axis_sizes", None) or devices.shape  # type: ignore[union-attr]
    axes = tuple(zip(map(str, mesh.axis_names), map(int, sizes), strict=True))
    return Mesh(axes, ids)


def _refs(entry: Any) -> tuple[Ref, ...]:
    if entry is None or isinstance(entry, str):
        return () if entry is None else (Ref(entry),)
    if isinstance(entry, tuple | list):
        return tuple(Ref(str(axis)) for axis in entry)
    raise UnsupportedError(
        f"an entry of the spec: expected axes or None, got {shown(entry)}",
        "the compiler chooses what is unconstrained",
        "give the sharding of the array that the compiled program has",
    )


def _dtensor(mesh: Any, placements: Sequence[Any]) -> DTensorSharding:
    ranks = mesh.mesh
    sizes = tuple(map(int, ranks.shape))
    names = getattr(mesh, "mesh_dim_names", None) or tuple("xyzuvw"[: len(sizes)])
    ids = tuple(int(one) for one in ranks.flatten().tolist())
    found: list[tuple[int, int] | None] = []
    partial = []
    for name, one in zip(names, placements, strict=True):
        dim = whole(getattr(one, "dim", None))
        found.append(None if dim is None else (dim, int(getattr(one, "split_factor", 1))))
        if dim is None and "Partial" in type(one).__name__:
            partial.append(str(name))
    axes = tuple(zip(map(str, names), sizes, strict=True))
    return DTensorSharding(Mesh(axes, ids), tuple(found), tuple(partial))


def _array(value: Any) -> Layout | Sequence[int]:
    """The type and sizes of an array; its sizes alone if XLA has no such type."""
    shape = tuple(map(int, value.shape))
    name = str(getattr(value, "dtype", "")).removeprefix("torch.")
    element = nearest_type(name)
    return XlaShape(element, shape) if element else shape
