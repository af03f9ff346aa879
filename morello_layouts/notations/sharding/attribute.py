"""The sharding that an instruction of HLO carries, in words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from morello_layouts.description import count, listed
from morello_layouts.errors import LayoutError
from morello_layouts.notations.sharding.reader import placements_of
from morello_layouts.recipe import known


@dataclass(frozen=True, slots=True)
class WrittenSharding:
    """How an array lies on the devices.

    Attributes:
        text: as the dump writes it.
        parts: the number of parts along each dimension; empty if it is not split.
        replicas: the devices that hold each part; None if the text does not say.

    >>> str(sharding_of("{devices=[2,1,1,2]<=[4] last_tile_dim_replicate}"))
    'split in 2 along dimension 0, each part on 2 devices'
    >>> str(sharding_of("{replicated}")), str(sharding_of("{maximal device=3}"))
    ('whole on every device', 'whole on one device')
    """

    json_keys: ClassVar = ("text", "parts", "replicas", "words=words")

    text: str
    parts: tuple[int, ...]
    replicas: int | None

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
