"""Ten programs of kinds that TPUs lay out badly, for the table of advice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec


def scan_matrices(matrices: Any, first: Any) -> Any:
    """Multiply 100,000 small matrices, one after the other, and keep each product."""

    def step(product: Any, matrix: Any) -> Any:
        product = product @ matrix
        return product, product

    return lax.scan(step, first, matrices)


def odd_heads(x: Any, wq: Any, wk: Any, wv: Any, wo: Any) -> Any:
    """Attend with 5 heads of 72."""
    q, k, v = (jnp.einsum("bsm,mhd->bshd", x, w) for w in (wq, wk, wv))
    weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / wq.shape[2] ** 0.5)
    return jnp.einsum("bhqd,hdm->bqm", jnp.einsum("bhqk,bkhd->bhqd", weights, v), wo)


def convolution(images: Any, filters: Any) -> Any:
    """Convolve images of three colours, stored as NCHW."""
    names = ("NCHW", "OIHW", "NCHW")
    return jax.nn.relu(
        lax.conv_general_dilated(images, filters, (2, 2), "SAME", dimension_numbers=names)
    )


def sort_triples(triples: Any) -> Any:
    """Sort rows of three integers."""
    columns = tuple(triples[:, k] for k in range(3))
    return jnp.stack(lax.sort(columns, num_keys=3), axis=-1)


def decode(keys: Any, values: Any, token: Any, position: Any) -> Any:
    """Attend with one new token, and put it into the caches."""
    q, k, v = token
    keys = lax.dynamic_update_slice(keys, k[:, :, None], (0, 0, position, 0))
    values = lax.dynamic_update_slice(values, v[:, :, None], (0, 0, position, 0))
    scores = jnp.einsum("bhd,bhsd->bhs", q, keys)
    scores = jnp.where(jnp.arange(keys.shape[2]) <= position, scores, -1e9)
    return jnp.einsum("bhs,bhsd->bhd", jax.nn.softmax(scores), values), keys, values


def embedding(table: Any, tokens: Any, targets: Any) -> Any:
    """Update a table of 50,257 words by a step of training."""

    def loss(table: Any) -> Any:
        logits = jnp.einsum("bsm,vm->bsv", table[tokens], table)
        found = jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], -1)
        return -jnp.mean(found)

    return table - 0.1 * jax.grad(loss)(table)


def trajectory(positions: Any, velocities: Any) -> Any:
    """Move 30 bodies in 20,000 steps, and keep each position."""

    def step(state: Any, _: Any) -> Any:
        x, v = state
        v = v - 0.01 * x / (1 + jnp.sum(x * x, -1, keepdims=True))
        return (x + 0.01 * v, v), x

    return lax.scan(step, (positions, velocities), None, length=20_000)


def small_products(a: Any, b: Any) -> Any:
    """Multiply 200,000 pairs of matrices of 4 by 4."""
    return jnp.einsum("nij,njk->nik", a, b)


def median(images: Any) -> Any:
    """Replace each pixel by the median of its 9 neighbours."""
    padded = jnp.pad(images, ((0, 0), (1, 1), (1, 1)), mode="edge")
    height, width = images.shape[1:]
    near = [padded[:, i : i + height, j : j + width] for i in range(3) for j in range(3)]
    return jnp.median(jnp.stack(near, -1), -1)


def sharded_step(params: Any, x: Any) -> Any:
    """Train a block of a transformer by one step, on 2 by 2 devices."""

    def loss(params: Any) -> Any:
        q, k, v = (jnp.einsum("bsm,mhd->bshd", x, params[name]) for name in ("q", "k", "v"))
        weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5)
        y = x + jnp.einsum("bhqk,bkhd,hdm->bqm", weights, v, params["o"])
        y = y + jax.nn.gelu(y @ params["up"]) @ params["down"]
        return jnp.mean(y * y)

    return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params))


def _f32(*sizes: int) -> str:
    return f"f32[{','.join(map(str, sizes))}]"


def _sharded() -> tuple[Any, ...]:
    mesh = AbstractMesh((2, 2), ("data", "model"))

    def array(sizes: tuple[int, ...], *axes: str | None) -> Any:
        sharding = NamedSharding(mesh, PartitionSpec(*axes))
        return jax.ShapeDtypeStruct(sizes, jnp.float32, sharding=sharding)

    params = {name: array((512, 8, 64), None, "model", None) for name in "qkv"}
    params["o"] = array((8, 64, 512), "model", None, None)
    params["up"] = array((512, 2048), None, "model")
    params["down"] = array((2048, 512), "model", None)
    return params, array((16, 512, 512), "data", None, None)


def programs() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Return each function with its arguments, by what it stands for."""
    cache, head = "bf16[8,12,2048,80]", "bf16[8,12,80]"
    weights = [_f32(360, 5, 72)] * 3
    return {
        "scan over small matrices": (scan_matrices, (_f32(100_000, 3, 3), _f32(3, 3))),
        "odd head sizes": (odd_heads, (_f32(8, 1000, 360), *weights, _f32(5, 72, 360))),
        "NCHW convolution": (convolution, (_f32(64, 3, 225, 225), _f32(40, 3, 7, 7))),
        "sort of triples": (sort_triples, ("s32[20000,3]",)),
        "KV cache decode": (decode, (cache, cache, (head, head, head), "s32[]")),
        "embedding, odd vocabulary": (embedding, (_f32(50_257, 300), "s32[4,257]", "s32[4,257]")),
        "stacked trajectory": (trajectory, (_f32(30, 3), _f32(30, 3))),
        "small batched matmul": (small_products, (_f32(200_000, 4, 4),) * 2),
        "median filter": (median, (_f32(4, 512, 512),)),
        "sharded transformer step": (sharded_step, _sharded()),
    }  # fmt: skip
