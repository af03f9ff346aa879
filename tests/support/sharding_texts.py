"""Random arrays on devices, as each system writes them: JAX, Shardy, HLO, torch, HPF."""

from __future__ import annotations

from math import prod
from random import Random


def mesh_of(random: Random, most: int = 24) -> list[int]:
    sizes = [random.randrange(1, 5) for _ in range(random.randrange(1, 4))]
    return sizes if prod(sizes) <= most else mesh_of(random, most)


def devices_of(random: Random, count: int) -> str:
    ids = [*range(count)]
    random.shuffle(ids)
    return f", devices={ids}" if random.random() < 0.4 else ""


def array_of(random: Random, rank: int) -> str:
    sizes = ",".join(str(random.randrange(1, 14)) for _ in range(rank))
    order = [*range(rank)]
    random.shuffle(order)
    tiles = random.choice(["", "", ":T(4)", ":T(2,4)" if rank > 1 else ":T(4)(2)"])
    return f"f32[{sizes}]{{{','.join(map(str, order))}{tiles}}}"


def by_axes(random: Random) -> str:
    sizes, rank = mesh_of(random), random.randrange(1, 4)
    names = "xyzw"[: len(sizes)]
    free = random.sample(names, len(names))
    dims = [[free.pop() for _ in range(random.randrange(2)) if free] for _ in range(rank)]
    dims[0] += free[:1]
    if random.random() < 0.5:
        spec = ", ".join(f"({', '.join(map(repr, d))},)" if d else "None" for d in dims)
        mesh = ", ".join(f"{n!r}: {k}" for n, k in zip(names, sizes, strict=True))
        ids = devices_of(random, prod(sizes))
        return f"{array_of(random, rank)}, mesh={{{mesh}}}{ids}, spec=P({spec})"
    mesh = ", ".join(f'"{n}"={k}' for n, k in zip(names, sizes, strict=True))
    cuts = ", ".join(f"{{{', '.join(_part(random, n, sizes, names) for n in d)}}}" for d in dims)
    return f"{array_of(random, rank)}, #sdy.sharding<mesh<[{mesh}]>, [{cuts}]>"


def _part(random: Random, name: str, sizes: list[int], names: str) -> str:
    size = sizes[names.index(name)]
    return f'"{name}":({random.choice([1, 2])})2' if size == 4 else f'"{name}"'


def by_tiles(random: Random) -> str:
    tiles = mesh_of(random)
    digits = [n for n in tiles if n > 1] or [1]
    order = [*range(len(digits))]
    random.shuffle(order)
    box = [0] * len(digits)
    for k, axis in enumerate(order):
        box[axis] = digits[k]
    last = random.random() < 0.4 and len(tiles) > 1
    text = f"{{devices=[{','.join(map(str, tiles))}]<=[{','.join(map(str, box))}]"
    text += f"T({','.join(map(str, order))})" + (" last_tile_dim_replicate" if last else "") + "}"
    return f"{array_of(random, len(tiles) - last)}, sharding={text}"


def by_placements(random: Random) -> str:
    sizes, rank = mesh_of(random), random.randrange(1, 4)
    free, words = random.sample(range(rank), rank), []
    nested = random.random() < 0.3  # Shard(0) again: torch.chunk of a chunk
    for _ in sizes:
        if free and random.random() < 0.7:
            dim, factor = free[-1] if nested else free.pop(), random.choice([1, 1, 2, 3])
            words.append(f"_StridedShard(dim={dim}, sf={1 if nested else factor})")
        else:
            words.append("Replicate()")
    mesh, ids = ", ".join(map(str, sizes)), devices_of(random, prod(sizes))
    return f"{array_of(random, rank)}, placements=[{', '.join(words)}], mesh=({mesh}){ids}"


def by_blocks(random: Random) -> str:
    rank = random.randrange(1, 4)
    words, grid = [], []
    for _ in range(rank):
        count = random.randrange(1, 4)
        first = random.randrange(count)
        sizes = ", ".join(str(random.randrange(13)) for _ in range(count - 1))
        listed = f"GEN_BLOCK({sizes}{sizes and ', '}13)"
        cyclic = f"CYCLIC({random.randrange(1, 5)}, first={first})"
        kind = random.choice(["*", "BLOCK", cyclic, listed])
        words.append(kind)
        grid += [] if kind == "*" else [count]
    return f"{array_of(random, rank)}, ({', '.join(words)}) ONTO ({', '.join(map(str, grid))})"


def sharded_array(random: Random) -> str:
    """Return an array on devices, as one of the systems writes it."""
    return random.choice((by_axes, by_tiles, by_placements, by_blocks))(random)
