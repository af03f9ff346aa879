"""Random relayouts between views, with NumPy's own answer beside them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import morello_layouts as ml
from morello_layouts.core.maps import IndexMap
from tests.support.views import BASES, random_chain

PLAIN_BASES: Final = (*BASES, "f32[12,10]{0,1:T(4,2)}", "f32[4,3,8]{0,2,1}")
NOT_WRITTEN: Final = ("broadcast", "windows", "gather")


@dataclass(frozen=True)
class Moved:
    """A relayout between views, and the offsets of both sides as NumPy's indexing gives them."""

    source: IndexMap
    target: IndexMap
    read: NDArray[np.int64]
    written: NDArray[np.int64]
    told: str

    def expected(self, buffer: NDArray[Any], before: NDArray[Any]) -> NDArray[Any]:
        """Return the target's buffer after the move, of what it held before."""
        after = before.copy()
        after[self.written] = buffer[self.read]
        return after


def _view(random: Random, base: str, without: tuple[str, ...]) -> tuple[IndexMap, Any, str]:
    m = ml.index_map(base)
    chain, _ = random_chain(m(*np.indices(m.shape)), random, random.randint(1, 5))
    kept = []
    for name, argument in chain:
        if name in without:
            break
        m = m.view(**{name: argument})
        kept.append((name, argument))
    return m, m(*np.indices(m.shape)), f"{base} {kept}"


def random_move(seed: int) -> Moved:
    """Return a move between a chain of views and a layout, a view of one, or their reverse."""
    random = Random(seed)
    source, read, told = _view(random, random.choice(PLAIN_BASES), ())
    target, written, other = _view(random, random.choice(PLAIN_BASES), NOT_WRITTEN)
    if random.random() < 0.5:
        # The first is copied to a layout of its shape, perhaps amid a larger one.
        shape = source.shape
        grown = tuple(n + random.choice((0, 0, 3)) for n in shape)
        tile = ",".join(str(random.choice((2, 3, 4))) for _ in shape)
        order = random.sample(range(len(shape)), len(shape))
        sizes, text = ",".join(map(str, grown)), ",".join(map(str, order))
        tiled = random.choice((f":T({tile})", ""))
        target = ml.index_map(f"f32[{sizes}]{{{text}{tiled}}}")
        other = f"{target.source} from the end"
        if grown != shape:
            target = target[tuple(slice(m - n, m) for n, m in zip(shape, grown, strict=True))]
        written = target(*np.indices(shape))
    else:
        # Both are flattened, and their first elements moved.
        n = min(source.recipe.size, read.size, written.size)
        source, target = (m.view(reshape=-1, index=slice(None, n)) for m in (source, target))
        read, written = read.reshape(-1)[:n], written.reshape(-1)[:n]
    return Moved(source, target, read, written, f"seed {seed}: {told} to {other}")
