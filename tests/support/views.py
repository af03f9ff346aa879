"""Random views of layouts, with NumPy's own indexing beside them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from morello_layouts import from_sympy

BASES: Final = (
    "f32[6,10]{1,0:T(4,4)}",
    "bf16[10,20]{1,0:T(8,8)(2,1)}",
    "f32[5,4,6]{0,2,1:T(2,4)}",
    "f32[24]{0:T(16)}",
    "(4,6):(8,1)",
    "f32[3,5]{1,0:T(2,2)L(32)}",
    "f32[7,3,4]{2,1,0}",
)

Offsets = NDArray[np.int64]


def _index(a: Offsets, random: Random) -> Any:
    parts: list[Any] = []
    for n in a.shape:
        kind = random.randrange(8)
        if kind == 0 and a.ndim > 1:
            parts.append(random.randrange(-n, n))
        elif kind < 5:
            ends = sorted(random.sample(range(n + 1), 2))
            step = random.choice((1, 1, 2, 3))
            parts.append(slice(ends[0], ends[1], step))
        elif kind == 5:
            parts.append(slice(None, None, -random.choice((1, 2))))
        else:
            parts.append(slice(None))
    if random.random() < 0.2:
        parts.insert(random.randrange(len(parts) + 1), None)
    return tuple(parts)


def _window(a: Offsets, random: Random) -> tuple[dict[int, Any], Offsets]:
    axis = random.randrange(a.ndim)
    size, step = random.randint(1, a.shape[axis]), random.choice((1, 2))
    seen = sliding_window_view(a, size, axis)
    every = (slice(None),) * axis + (slice(None, None, step),)
    return {axis: (size, step)}, seen[every]


def _factors(n: int, random: Random) -> tuple[int, ...]:
    divisors = [d for d in range(1, n + 1) if n % d == 0]
    d = random.choice(divisors)
    return random.choice([(d, n // d), (-1, d), (n,)])


def _diagonal(a: Offsets, random: Random) -> tuple[Any, Offsets]:
    axes = random.sample(range(a.ndim), 2)
    return tuple(axes), np.diagonal(a, 0, *axes)


def _gather(a: Offsets, random: Random) -> tuple[Any, Offsets]:
    n = random.randint(1, max(1, a.shape[0]))
    flip = random.random() < 0.5
    first = f"{a.shape[0] - 1} - d0" if flip else "d0"
    others = [f"{random.randrange(m)}" for m in a.shape[1:]]
    at = np.arange(n)
    rows = a.shape[0] - 1 - at if flip else at
    return from_sympy({"shape": (n,)}, (first, *others)), a[(rows, *map(int, others))]


def _tiles(a: Offsets, random: Random) -> tuple[Any, Offsets]:
    sizes = [random.choice([d for d in range(1, n + 1) if n % d == 0]) for n in a.shape]
    split = a.reshape([x for n, t in zip(a.shape, sizes, strict=True) for x in (n // t, t)])
    order = [*range(0, split.ndim, 2), *range(1, split.ndim, 2)]
    return tuple(sizes), split.transpose(order)


def _with(argument: Any, see: Callable[[Any], Offsets]) -> tuple[Any, Offsets]:
    return argument, see(argument)


OPERATIONS: Final[dict[str, Callable[[Offsets, Random], tuple[Any, Offsets]]]] = {
    "index": lambda a, r: _with(_index(a, r), lambda at: a[at]),
    "transpose": lambda a, r: _with(tuple(r.sample(range(a.ndim), a.ndim)), a.transpose),
    "reshape": lambda a, r: _with(_factors(a.size, r), a.reshape),
    "reverse": lambda a, r: _with(r.randrange(a.ndim), lambda k: np.flip(a, k)),
    "squeeze": lambda a, _: (..., a.squeeze()),
    "broadcast": lambda a, r: _with((r.randint(1, 3), *a.shape), lambda s: np.broadcast_to(a, s)),
    "diagonal": _diagonal,
    "windows": _window,
    "tiles": _tiles,
    "gather": _gather,
}


def random_chain(offsets: Offsets, random: Random, count: int) -> tuple[list[Any], Offsets]:
    """Return operations with their arguments, and the offsets as NumPy gives them.

    Arrays stay within 2,000 elements and five dimensions, and keep an element and a dimension.
    """
    found: list[Any] = []
    for _ in range(count):
        name = random.choice(list(OPERATIONS))
        if name == "diagonal" and offsets.ndim < 2:
            continue
        argument, seen = OPERATIONS[name](offsets, random)
        if 0 < seen.size <= 2000 and 1 <= seen.ndim <= 5:
            found.append((name, argument))
            offsets = seen
    return found, offsets
