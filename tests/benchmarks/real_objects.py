"""Objects of JAX, PyTorch, Triton, CuTe and SymPy, asked with the functions that take a layout.

    python tests/benchmarks/real_objects.py

Every value is compared with the library's own: the shards of an array, strides, CuTe's offsets,
Triton's views of registers and shared memory. Libraries that are not installed are left out.
"""
# ruff: noqa: T201

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

import morello_layouts as ml

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
warnings.simplefilter("ignore")

Case = tuple[str, Any, Any, Callable[[Any], bool]]
"""A name, an object, the shape beside it, and what the library says of its index map."""


def by_offsets(expected: Any) -> Callable[[Any], bool]:
    """Return whether a map's offsets are those of an array of offsets."""
    wanted = np.asarray(expected)
    return lambda m: all(m(*at) == wanted[at] for at in np.ndindex(*wanted.shape))


def by_strides(array: Any, strides: tuple[int, ...], first: int = 0) -> Callable[[Any], bool]:
    """Return whether a map's offsets are coordinates times strides."""
    grid = np.indices(tuple(array.shape))
    return by_offsets(
        sum((x * s for x, s in zip(grid, strides, strict=True)), np.full(grid.shape[1:], first))
    )


def by_shards(array: Any) -> Callable[[Any], bool]:
    """Return whether each device holds what JAX says."""

    def judge(m: Any) -> bool:
        for shard in array.addressable_shards:
            first = [part.start or 0 for part in shard.index]
            local = np.asarray(shard.data)
            for number, at in enumerate(np.ndindex(*local.shape)):
                wanted = tuple(a + b for a, b in zip(first, at, strict=True))
                if m.element(device=shard.device.id, offset=number) != wanted:
                    return False
        return True

    return judge


def of_numpy() -> Iterator[Case]:
    base = np.zeros((4, 8), np.float32)
    for name, view in {
        "ndarray": base,
        "slice": base[1:, ::2],
        "reversed": base[:, ::-1],
        "transposed": base.T,
    }.items():
        start = (view.ctypes.data - base.ctypes.data) // 4
        yield (
            f"numpy {name}",
            view,
            None,
            by_strides(view, tuple(s // 4 for s in view.strides), start),
        )
    yield "numpy broadcast", np.broadcast_to(base[:1], (4, 8)), None, lambda m: m(3, 5) == 5

    class Cupy:
        __cuda_array_interface__ = {  # noqa: RUF012
            "shape": (4, 8), "typestr": "<f4", "data": (4096, False), "strides": (4, 16),
        }  # fmt: skip

    class Dlpack:
        def __dlpack__(self) -> Any:
            return base[:, ::2].__dlpack__()

    yield "__cuda_array_interface__", Cupy(), None, by_strides(base, (1, 4))
    yield "__dlpack__", Dlpack(), None, by_strides(base[:, ::2], (8, 2))


def of_jax() -> Iterator[Case]:
    import jax
    import jax.numpy as jnp
    from jax.experimental.layout import Format, Layout
    from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

    x, one = jnp.arange(32.0).reshape(4, 8), jax.devices()[0]
    mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))
    rows = by_strides(x, (8, 1))
    column = Format(Layout((1, 0)), SingleDeviceSharding(one))
    yield "jax.Array", x, None, rows
    yield (
        "jax.Array, column-major",
        jax.jit(lambda a: a + 0, out_shardings=column)(x),
        None,
        by_strides(x, (1, 4)),
    )
    yield "jax.Array, int4", jnp.zeros((4, 8), jnp.int4), None, rows
    for spec in (("x", None), ("y", "x"), (("x", "y"), None), (None, "y"), ()):
        sharding = NamedSharding(mesh, PartitionSpec(*spec))
        array = jax.device_put(jnp.arange(128.0).reshape(16, 8), sharding)
        yield f"jax.Array on {PartitionSpec(*spec)}", array, None, by_shards(array)
        yield f"NamedSharding {PartitionSpec(*spec)}", sharding, (16, 8), by_shards(array)
    array = jax.device_put(
        jnp.arange(128.0).reshape(16, 8), NamedSharding(mesh, PartitionSpec("x", "y"))
    )
    yield "(mesh, PartitionSpec)", (mesh, PartitionSpec("x", "y")), (16, 8), by_shards(array)
    yield "jax.Array.format", x.format, (4, 8), rows
    yield "Layout", Layout((1, 0)), (4, 8), by_strides(x, (1, 4))
    tiled = np.arange(2048).reshape(2, 1, 8, 128).transpose(0, 2, 1, 3).reshape(16, 128)
    yield "Layout, tiled", Layout((0, 1), ((8, 128),)), (16, 128), by_offsets(tiled)
    yield "ShapeDtypeStruct", jax.ShapeDtypeStruct((4, 8), jnp.bfloat16), None, rows
    yield (
        "ShapeDtypeStruct, sharded",
        jax.ShapeDtypeStruct((16, 8), jnp.float32, sharding=array.sharding),
        None,
        by_shards(array),
    )
    yield "ShapedArray", jax.typeof(x), None, rows


def of_torch() -> Iterator[Case]:
    import torch

    base = torch.zeros(2, 3, 4, 5)
    for name, tensor in {
        "Tensor": base,
        "channels_last": base.to(memory_format=torch.channels_last),
        "permuted": base.permute(0, 2, 3, 1),
        "sliced": base[:, 1:, ::2],
        "expanded": torch.zeros(4, 1).expand(4, 8),
        "meta": torch.zeros(4, 8, device="meta").t(),
        "Parameter": torch.nn.Parameter(base),
        "bfloat16": base.bfloat16(),
    }.items():
        yield (
            f"torch {name}",
            tensor,
            None,
            by_strides(tensor, tensor.stride(), tensor.storage_offset()),
        )
    last = base.to(memory_format=torch.channels_last)
    yield "torch.channels_last", torch.channels_last, (2, 3, 4, 5), by_strides(last, last.stride())
    with suppress(ImportError):
        import torch.distributed as dist
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import Replicate, Shard, distribute_tensor
        from torch.testing._internal.distributed.fake_pg import FakeStore

        dist.init_process_group("fake", rank=0, world_size=8, store=FakeStore())
        mesh = init_device_mesh("cpu", (2, 4), mesh_dim_names=("x", "y"))
        tensor = distribute_tensor(torch.zeros(16, 8), mesh, [Shard(0), Replicate()])
        held = tuple(tensor.to_local().shape)
        yield (
            "DTensor",
            tensor,
            None,
            lambda m: m(held[0] - 1, held[1] - 1) == held[0] * held[1] - 1,
        )


def of_cute() -> Iterator[Case]:
    import tensor_layouts as tl

    for name, layout in {
        "row-major": tl.Layout((4, 8), (8, 1)),
        "nested": tl.Layout(((4, 2), 8), ((1, 32), 4)),
        "swizzled": tl.compose(tl.Swizzle(3, 3, 3), tl.Layout((8, 64), (64, 1))),
    }.items():
        sizes = tuple(int(np.prod(n)) for n in layout.shape)
        offsets = np.array([layout(*at) for at in np.ndindex(*sizes)]).reshape(sizes)
        yield f"tensor_layouts {name}", layout, None, by_offsets(offsets)


def by_view(layout: Any, shape: list[int]) -> Callable[[Any], bool]:
    """Return whether Triton shows each element where the map has it."""
    view = layout.format_tensor_view(shape)

    def judge(m: Any) -> bool:
        if "lane" not in m.recipe.axis_names:
            found = re.findall(r"\(\s*(\d+):\s*(\d+)\)", view)
            return all(m(int(i), int(j)) == k for k, (i, j) in enumerate(found)) and bool(found)
        for i, row in enumerate(view.strip().splitlines()):
            for j, cell in enumerate(row.strip(" []").split(",")[: shape[1]]):
                holders = {(int(t), int(r)) for t, r in re.findall(r"T(\d+):\s*(\d+)", cell)}
                place = m.place(i, j)
                lanes = dict(zip(m.recipe.axis_names, m.recipe.physical_shape, strict=True))["lane"]
                if (place.get("warp", 0) * lanes + place["lane"], place["register"]) not in holders:
                    return False
        return True

    return judge


def of_triton() -> Iterator[Case]:
    from triton.experimental.gluon.language import _layouts as gl
    from triton.experimental.gluon.language.amd._layouts import AMDMFMALayout, AMDWMMALayout

    blocked = gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])
    mma = gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8])
    bases = [[0, 2], [1, 0], [2, 0], [4, 0], [8, 0]]
    for layout, shape in (
        (blocked, [64, 32]),
        (mma, [32, 32]),
        (gl.DotOperandLayout(0, mma, 2), [32, 32]),
        (gl.DistributedLinearLayout([[0, 1]], bases, [[16, 0]], [], [32, 4]), [32, 4]),
        (gl.SwizzledSharedLayout(8, 1, 8, [1, 0]), [32, 64]),
        (gl.NVMMASharedLayout(128, 16), [64, 64]),
        (gl.NVMMASharedLayout(64, 8, transposed=True), [64, 64]),
        (gl.SharedLinearLayout([[0, 1], [0, 2], [1, 0], [2, 2]]), [4, 4]),
        (AMDMFMALayout(3, [32, 32, 8], True, [2, 2]), [64, 64]),
        (AMDWMMALayout(2, True, [[0, 1], [1, 0]], [[2, 0]]), [64, 64]),
    ):
        yield f"gluon {type(layout).__name__}", layout, tuple(shape), by_view(layout, shape)


def of_sympy() -> Iterator[Case]:
    import sympy

    i, j = sympy.symbols("i j", integer=True)
    rows = np.arange(32).reshape(4, 8)
    yield "SymPy expression", 8 * i + j, (4, 8), by_offsets(rows)
    yield "formula", "8*i + j", (4, 8), by_offsets(rows)
    yield "named formula", "row, col -> 8*row + col", (4, 8), by_offsets(rows)


def asked(value: Any, shape: Any, judge: Callable[[Any], bool]) -> dict[str, str]:
    """Return the outcome of each function: index maps are compared, others have to answer."""
    questions: dict[str, Callable[[], Any]] = {
        "index_map": lambda: judge(ml.index_map(value, shape)),
        "explain": lambda: str(ml.explain(value, shape)),
        "agree": lambda: ml.agree(value, value, shape),
        "draw": lambda: ml.draw(value, shape).svg().startswith("<svg"),
    }
    if "device" in ml.index_map(value, shape).recipe.axis_names:
        questions["reshard"] = lambda: str(ml.reshard(value, value, shape))
    found = {}
    for name, question in questions.items():
        try:
            right = bool(question())
            found[name] = ("equal" if name == "index_map" else "answered") if right else "WRONG"
        except ml.LayoutError as error:
            found[name] = f"refused: {error.what[:40]}"
    return found


def main() -> None:
    """Print the table."""
    count = wrong = refused = 0
    for family in (of_numpy, of_jax, of_torch, of_cute, of_triton, of_sympy):
        try:
            for name, value, shape, judge in family():
                answers = asked(value, shape, judge)
                count += 1
                wrong += "WRONG" in answers.values()
                refused += sum(each.startswith("refused") for each in answers.values())
                print(f"{name:34} {'  '.join(f'{k}: {v}' for k, v in answers.items())}")
        except ImportError as error:
            print(f"{family.__name__}: {error.name} is not installed")
    print(f"{count} objects, {wrong} with a wrong answer, {refused} refusals")


if __name__ == "__main__":
    main()
