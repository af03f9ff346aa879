"""Plans as JAX code: one collective for each step, or the compiler's own choice of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.limits import RESHARD_ROWS
from morello_layouts.recipe import known
from morello_layouts.resharding.exchange import Axis, End, Exchange
from morello_layouts.resharding.steps import Names, Step, is_even, spec_text


def jax_code(
    exchange: Exchange, steps: Sequence[Step], verdict: str, *, name: str, collectives: bool
) -> str:
    """Return the file of ``Plan.jax``, which has its steps and begins with its verdict."""
    if not name.isidentifier():
        raise LayoutError(f"name: expected a name of Python, got {name!r}")
    ends = exchange.ends
    before, after = (_spec(end, known(exchange.shape)) for end in ends)
    if not exchange.is_common:
        body = [
            *_mesh_lines("mesh", ends[0]),
            *_mesh_lines("mesh_after", ends[1]),
            f"before = NamedSharding(mesh, {before})",
            f"after = NamedSharding(mesh_after, {after})",
            "",
            "",
            f"def {name}(a):",
            "    return jax.device_put(a, after)",
        ]
        return _file(verdict, body)
    lines = [*_mesh_lines("mesh", ends[0]), f"before, after = {before}, {after}"]
    if not collectives or (not steps and before != after):
        body = [*lines, f"{name} = jax.jit(lambda a: a, out_shardings=NamedSharding(mesh, after))"]
        return _file(verdict, body)
    axes = {axis.name: axis.size for axis in ends[0].axes.values()}
    text, at = list[str](), _names(ends[0])
    for step in steps:
        text += [f"# {step}", *_step_lines(step, axes, at)]
        at = step.specs
    options = "mesh=mesh, in_specs=before, out_specs=after, check_vma=False"
    head = ["", "", "@jax.jit", f"@partial(jax.shard_map, {options})", f"def {name}(a):"]
    return _file(verdict, [*lines, *head, *(f"    {line}" for line in (*text, "return a"))])


def _file(verdict: str, body: Sequence[str]) -> str:
    def used(*words: str) -> list[str]:
        return [word for word in words if any(f"{word}(" in line for line in body)]

    lines = [f'"""{verdict}."""', ""]
    lines += ["from functools import partial", ""] if used("partial") else []
    lines += ["import jax", "import numpy as np"]
    names = [*used("Mesh", "NamedSharding"), "PartitionSpec as P"]
    return "\n".join([*lines, f"from jax.sharding import {', '.join(names)}", "", *body, ""])


def _mesh_lines(name: str, end: End) -> Iterator[str]:
    """Yield the line of a mesh; its devices are numbered as ``jax.devices()`` has them."""
    ids, count = end.sharding.mesh.ids, known((end.sharding.mesh.count,))[0]
    devices = f"[[{', '.join(map(str, ids))}]]" if ids else f"[:{count}]"
    axes = [*end.axes.values()] or [Axis("all", ((1, 1),))]
    sizes, names = (_tuple(x) for x in ([x.size for x in axes], [repr(x.name) for x in axes]))
    yield f"{name} = Mesh(np.array(jax.devices()){devices}.reshape({sizes}), {names})"


def _tuple(items: Sequence[object]) -> str:
    return f"({', '.join(map(str, items))}{',' if len(items) == 1 else ''})"


def _names(end: End) -> Names:
    """Return the names of the axes that cut each dimension."""
    return tuple(
        tuple(end.axes[x.axis].name for x in cut if x.axis is not None) for cut in end.cuts
    )


def _spec(end: End, shape: Sequence[int]) -> str:
    """Return a sharding as a PartitionSpec."""
    if not is_even(end, shape):
        raise UnsupportedError(
            f"{end.sharding.mesh}: the parts are not equal blocks, one for each device",
            "JAX shards arrays in equal blocks of neighbours",
            "pad the array to a multiple, or run the plan over MPI",
        )
    return spec_text(_names(end))


def _step_lines(step: Step, sizes: Mapping[str, int], before: Names) -> Iterator[str]:
    """Yield the lines of a step on a device's own part ``a``."""
    axes = _tuple([repr(name) for name in step.axes])
    count = prod(sizes[name] for name in step.axes)
    match step.kind:
        case "all-to-all":
            ends = f"split_axis={step.target}, concat_axis={step.source}"
            yield f"a = jax.lax.all_to_all(a, {axes}, {ends}, tiled=True)"
        case "all-gather":
            yield f"a = jax.lax.all_gather(a, {axes}, axis={step.source}, tiled=True)"
        case "slice":
            yield f"size = a.shape[{step.target}] // {count}"
            start = f"jax.lax.axis_index({axes}) * size"
            yield f"a = jax.lax.dynamic_slice_in_dim(a, {start}, size, {step.target})"
        case _:
            pairs = _pairs(step, sizes, before)
            yield f"a = jax.lax.ppermute(a, {axes}, [{', '.join(map(str, pairs))}])"


def _pairs(step: Step, sizes: Mapping[str, int], before: Names) -> list[tuple[int, int]]:
    """Return who sends its part to whom, by the row-major numbers along the axes of a step."""
    own = [sizes[name] for name in step.axes]
    if prod(own) > RESHARD_ROWS:
        raise UnsupportedError(
            f"a permutation of {prod(own)} devices",
            "JAX takes it as a list of pairs",
            "give collectives=False, and XLA finds it",
        )

    def devices(names: Names) -> list[int]:
        """The devices in the order of the parts that they hold, copies by their number."""
        found = []
        for number, at in enumerate(product(*map(range, own))):
            place = dict(zip(step.axes, at, strict=True))
            part = [[place[name] for name in cut if name in place] for cut in names]
            found.append((part, number))
        return [number for _, number in sorted(found)]

    return sorted(zip(devices(before), devices(step.specs), strict=True))
