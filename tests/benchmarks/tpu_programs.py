"""Programs of kinds that TPUs lay out badly: ten, more for hints, and six for advice alone."""

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


def grouped_decode(keys: Any, values: Any, token: Any, position: Any) -> Any:
    """Attend with 8 new queries for each of 4 heads of 100, and put one token into the caches."""
    q, k, v = token
    keys = lax.dynamic_update_slice(keys, k[:, :, None], (0, 0, position, 0))
    values = lax.dynamic_update_slice(values, v[:, :, None], (0, 0, position, 0))
    scores = jnp.einsum("bhgd,bhsd->bhgs", q, keys) / q.shape[-1] ** 0.5
    scores = jnp.where(jnp.arange(keys.shape[2]) <= position, scores, -1e9)
    return jnp.einsum("bhgs,bhsd->bhgd", jax.nn.softmax(scores), values), keys, values


def experts(x: Any, gates: Any, up: Any, down: Any) -> Any:
    """Send each token to the best of 6 experts, whose width is odd."""
    weights = jax.nn.softmax(x @ gates)
    chosen = jax.nn.one_hot(weights.argmax(-1), gates.shape[1], dtype=x.dtype)
    hidden = jax.nn.gelu(jnp.einsum("te,td,edh->teh", chosen, x, up))
    return jnp.einsum("teh,ehd,te->td", hidden, down, weights)


def group_norm(x: Any, filters: Any) -> Any:
    """Convolve images stored as NCHW, and normalise groups of channels."""
    names = ("NCHW", "OIHW", "NCHW")
    y = lax.conv_general_dilated(x, filters, (1, 1), "SAME", dimension_numbers=names)
    groups = y.reshape(y.shape[0], 3, -1, *y.shape[2:])
    mean = groups.mean((2, 3, 4), keepdims=True)
    return ((groups - mean) / (groups.std((2, 3, 4), keepdims=True) + 1e-5)).reshape(y.shape)


def narrow_norm(x: Any, scale: Any) -> Any:
    """Step against the gradient of a layer norm over 6 values."""

    def loss(x: Any) -> Any:
        y = (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) + 1e-5)
        return jnp.sum(jnp.tanh(y * scale))

    return x - 0.1 * jax.grad(loss)(x)


def scatter_rows(table: Any, index: Any, updates: Any) -> Any:
    """Add rows of 5 to a table, and look some up."""
    return table.at[index].add(updates), table[index[::2]]


def top_of(logits: Any) -> Any:
    """Find the 40 most likely of 50,257 words."""
    return lax.top_k(logits, 40)


def stacked_carry(x: Any) -> Any:
    """Keep each state of a scan over states of 20 by 70."""
    return lax.scan(lambda c, _: ((c * 0.9 + jnp.sin(c)), c), x, None, length=300)


def transposed_weight(x: Any, w: Any) -> Any:
    """Multiply by the transpose of a weight in eight bits."""
    return x @ w.astype(jnp.bfloat16).T


def colours(images: Any, matrix: Any) -> Any:
    """Turn the colours of images, channels last."""
    return jnp.einsum("bhwc,dc->bhwd", images, matrix) * 0.5


def normals(points: Any, weights: Any) -> Any:
    """Normalise 400,000 points of three coordinates, and weigh them."""
    length = jnp.sqrt((points * points).sum(-1, keepdims=True))
    return points / length * weights


def optimizer(weight: Any, gradient: Any, mean: Any, square: Any) -> Any:
    """Update weights of 7 by 33 by Adam."""
    mean = 0.9 * mean + 0.1 * gradient
    square = 0.99 * square + 0.01 * gradient * gradient
    return weight - 1e-3 * mean / (jnp.sqrt(square) + 1e-8), mean, square


def blend(one: Any, other: Any) -> Any:
    """Blend images, colours last, and clip them."""
    return jnp.clip(0.7 * one + 0.3 * other, 0, 1)


def mixed_types(weight: Any, gradient: Any, mean: Any) -> Any:
    """Update filters of 3 by 3 that are kept in bf16, by a mean in f32."""
    mean = 0.9 * mean + 0.1 * gradient.astype(jnp.float32)
    return weight - (1e-2 * jnp.sign(mean)).astype(weight.dtype), mean


def clipped(weight: Any, gradient: Any) -> Any:
    """Step against a gradient whose norm is bounded."""
    norm = jnp.sqrt(jnp.sum(gradient * gradient))
    return weight - 0.1 * gradient / jnp.maximum(norm, 1)


def masked(x: Any, mask: Any) -> Any:
    """Fill the places of a mask, and return how far each value is from 0.5."""
    filled = jnp.where(mask, 0.5, x)
    return filled, jnp.abs(filled - 0.5)


def scaled_rows(x: Any, scale: Any) -> Any:
    """Scale and shift the columns of rows of 9."""
    return jnp.tanh(x * scale) + 1


def rotated(x: Any, wq: Any, wk: Any, angles: Any) -> Any:
    """Return the scores of attention with rotated halves of heads of 100."""
    half = wq.shape[2] // 2
    cos, sin = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]

    def turned(y: Any) -> Any:
        a, b = y[..., :half], y[..., half:]
        return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1)

    q, k = (turned(jnp.einsum("bsm,mhd->bshd", x, w)) for w in (wq, wk))
    return jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k), -1)


def gated_recurrence(x: Any, gates: Any, first: Any) -> Any:
    """Mix channels by short windows, and accumulate them by gates of 3 by 20, step by step."""
    padded = jnp.pad(x, ((3, 0), (0, 0), (0, 0)))
    mixed = sum(padded[k : k + x.shape[0]] * (0.25 + k) for k in range(4))

    def step(state: Any, parts: Any) -> Any:
        value, gate = parts
        state = jax.nn.sigmoid(gate) * state + value
        return state, jnp.tanh(state)

    return lax.scan(step, first, (mixed, gates))


def batch_norm(images: Any, scale: Any, shift: Any, mean: Any, square: Any) -> Any:
    """Normalise images of 3 colours over all pixels, and update the averages."""
    now, power = images.mean((0, 1, 2)), (images * images).mean((0, 1, 2))
    normal = (images - now) * lax.rsqrt(power - now * now + 1e-5) * scale + shift
    return jnp.maximum(normal, 0), 0.9 * mean + 0.1 * now, 0.9 * square + 0.1 * power


def selective_scan(u: Any, delta: Any, weights: Any, b: Any, c: Any) -> Any:
    """Scan a state space of 16, as ``jimmy/ops/scan.py`` of clementpoiret/jimmy does."""
    a, d = weights
    decay = jnp.exp(jnp.einsum("bdl,dn->bldn", delta, a))
    entering = jnp.einsum("bdl,bnl,bdl->bldn", delta, b, u)

    def step(state: Any, t: Any) -> Any:
        state = decay[:, t] * state + entering[:, t]
        return state, jnp.einsum("bdn,bn->bd", state, c[:, :, t])

    first = jnp.zeros((u.shape[0], *a.shape))
    _, found = lax.scan(step, first, jnp.arange(u.shape[-1]))
    return jnp.moveaxis(found, 0, -1) + u * d[:, None]


def outer_product_mean(msa: Any, mask: Any, left: Any, right: Any, weight: Any) -> Any:
    """Update pairs of residues, as ``OuterProductMean`` of google-deepmind/alphafold does."""
    centred = msa - msa.mean(-1, keepdims=True)
    msa = centred * lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)
    left, right = (mask[..., None] * (msa @ w) for w in (left, right))
    outer = jnp.einsum("acb,ade->dceb", left.transpose(0, 2, 1), right)
    found = jnp.einsum("dceb,cef->dbf", outer, weight).transpose(1, 0, 2)
    return found / (1e-3 + jnp.einsum("ab,ad->bd", mask, mask)[..., None])


def graph_attention(nodes: Any, weight: Any, vectors: Any, senders: Any, receivers: Any) -> Any:
    """Attend along the edges of a graph, as ``GAT`` of google-deepmind/jraph does."""
    count = nodes.shape[0]
    heads = jnp.einsum("nf,fhd->nhd", nodes, weight)
    sent, received = heads[senders], heads[receivers]
    logits = jax.nn.leaky_relu((jnp.concatenate([sent, received], -1) * vectors).sum(-1))
    logits = jnp.exp(logits - jax.ops.segment_max(logits, receivers, count)[receivers])
    weights = logits / jax.ops.segment_sum(logits, receivers, count)[receivers]
    found = jax.ops.segment_sum(sent * weights[..., None], receivers, count)
    return jax.nn.leaky_relu(found).reshape(count, -1)


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


def hinted_programs() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Return more functions with their arguments, for hints."""
    cache, head = "bf16[16,4,3072,100]", "bf16[16,4,100]"
    matrices = [_f32(20_000, 7, 33)] * 4
    return {
        "grouped decode": (
            grouped_decode,
            (cache, cache, ("bf16[16,4,8,100]", head, head), "s32[]"),
        ),
        "experts": (experts, ("bf16[512,1000]", "bf16[1000,6]", "bf16[6,1000,700]",
                              "bf16[6,700,1000]")),
        "group norm": (group_norm, (_f32(8, 3, 224, 224), _f32(12, 3, 3, 3))),
        "narrow norm": (narrow_norm, (_f32(100_000, 6), _f32(6))),
        "scatter of rows": (scatter_rows, (_f32(200_000, 5), "s32[4096]", _f32(4096, 5))),
        "top of logits": (top_of, (_f32(4, 130, 50_257),)),
        "stacked carry": (stacked_carry, (_f32(20, 70),)),
        "transposed weight": (transposed_weight, ("bf16[300,1000]", "f8e4m3fn[3000,1000]")),
        "colours": (colours, (_f32(16, 224, 224, 3), _f32(3, 3))),
        "normals": (normals, (_f32(400_000, 3), _f32(400_000, 1))),
        "optimizer": (optimizer, tuple(matrices)),
        "blend": (blend, (_f32(16, 225, 225, 3),) * 2),
        "mixed types": (mixed_types, ("bf16[30000,3,3]", "bf16[30000,3,3]", _f32(30_000, 3, 3))),
        "clipped": (clipped, (_f32(9000, 11, 13),) * 2),
        "masked": (masked, (_f32(300, 17, 200), "pred[300,17,200]")),
        "scaled rows": (scaled_rows, (_f32(700, 9, 130), _f32(130))),
    }  # fmt: skip


def drawn_programs() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Return functions that came when all kinds of advice were there: written, then of others."""
    weights = [_f32(300, 3, 100)] * 2
    sequence, state, edges = _f32(2, 384, 512), _f32(2, 16, 512), "s32[60000]"
    projection = _f32(256, 32)
    return {
        "rotated heads": (rotated, (_f32(4, 300, 300), *weights, _f32(300, 50))),
        "gated recurrence": (gated_recurrence, (_f32(2000, 3, 20), _f32(2000, 3, 20), _f32(3, 20))),
        "batch norm": (batch_norm, (_f32(16, 112, 112, 3), *[_f32(3)] * 4)),
        "selective scan": (
            selective_scan,
            (sequence, sequence, (_f32(384, 16), _f32(384)), state, state),
        ),
        "outer product mean": (
            outer_product_mean,
            (_f32(128, 192, 256), _f32(128, 192), projection, projection, _f32(32, 32, 128)),
        ),
        "graph attention": (
            graph_attention,
            (_f32(20_000, 128), _f32(128, 8, 8), _f32(8, 16), edges, edges),
        ),
    }  # fmt: skip
