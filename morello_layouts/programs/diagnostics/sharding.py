"""Programs for several devices: what each device holds, and what collectives move."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod
from typing import ClassVar, Final

from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import regex
from morello_layouts.notations.sharding.reader import WrittenSharding, sharding_of
from morello_layouts.notations.xla import XlaTuple
from morello_layouts.programs.diagnostics.buffers import WasteCache
from morello_layouts.programs.diagnostics.forces import Neighbours
from morello_layouts.programs.diagnostics.moves import HloMove, ProgramPlace, instruction_place
from morello_layouts.programs.hlo import HloInstruction, HloModule
from morello_layouts.programs.hlo.module import number_of

# The bytes that a device sends for each byte of its larger side, times n/(n-1) for n devices.
_RING: Final = {
    "all-reduce": 2,
    "all-gather": 1,
    "reduce-scatter": 1,
    "all-to-all": 1,
    "ragged-all-to-all": 1,
    "collective-permute": 1,
    "collective-broadcast": 1,
}

_MESH_AXIS: Final = regex(r"'(\w{1,60})'=([0-9]{1,9})", re.ASCII)
_USED_AXIS: Final = regex(r"'(\w{1,60})'(?::\([0-9]+\)([0-9]{1,9}))?", re.ASCII)
_FIRST_GROUP: Final = regex(r"\{\{([0-9, ]*)\}", re.ASCII)
_IOTA_GROUPS: Final = regex(r"\[([0-9]{1,9}),([0-9]{1,9})\]<=", re.ASCII)


def group_size_of(groups: str) -> int | None:
    """Return how many devices work together; None if the text does not say.

    >>> [group_size_of(t) for t in ("{{0,2},{1,3}}", "[2,4]<=[8]", "mesh['x'=2,'y'=4] {'y'}")]
    [2, 4, 4]
    """
    if groups.startswith("mesh["):
        sizes = {match[1]: int(match[2]) for match in _MESH_AXIS.finditer(groups)}
        used = _USED_AXIS.finditer(groups[groups.rfind("{") :])
        return prod(int(m[2]) if m[2] else sizes.get(m[1], 1) for m in used)
    if match := _IOTA_GROUPS.match(groups):
        return int(match[2])
    if match := _FIRST_GROUP.match(groups):
        return match[1].count(",") + 1 if match[1].strip() else None
    return None


@frozen
class HloCollective:
    """A collective: devices exchange the parts of arrays."""

    json_keys: ClassVar = (
        *("*place", "groups", "devices", "buffer_bytes", "padding_bytes", "sent_bytes"),
        "copy_before",
    )

    place: ProgramPlace  #: its place in the program.
    opcode: str  #: such as ``all-gather``.
    groups: str  #: the groups of devices, as the dump writes them.
    devices: int | None  #: the devices of a group; None if the text does not say.
    buffer_bytes: int  #: the bytes of its larger side on each device, padding included.
    padding_bytes: int  #: those of them that hold no data.
    copy_before: str | None  #: the copy or relayout that makes its operand, or None.

    @property
    def sent_bytes(self) -> int:
        """Bytes that each device sends at least: of n devices it keeps one n-th."""
        n = self.devices or 2
        times = _RING.get(self.opcode.removesuffix("-start"), 1)
        if "permute" in self.opcode or "broadcast" in self.opcode:
            return self.buffer_bytes
        return times * self.buffer_bytes * (n - 1) // n


@frozen
class ShardedParameter:
    """A parameter of a program for several devices."""

    json_keys: ClassVar = ("*place", "shape", "held_bytes", "sharding")

    place: ProgramPlace  #: its place in the program.
    shape: str  #: the part that one device holds, as text.
    held_bytes: int  #: the bytes of this part.
    sharding: WrittenSharding  #: how the whole array lies on the devices.


def collectives_of(
    near: Neighbours, moves: tuple[HloMove, ...], cache: WasteCache
) -> tuple[HloCollective, ...]:
    """Return the collectives of a program, each channel once, the most bytes first."""
    found = dict[object, HloCollective]()
    relayouts = {move.name for move in moves if move.verdict.effect != "free"}
    for computation in near.module.computations:
        for i in computation.instructions:
            if i.opcode.removesuffix("-start") in _RING:
                each = _collective(i, computation.name, near, relayouts, cache)
                key = i.attributes.get("channel_id", i.name)
                kept = found.get(key)
                if kept is None or (kept.copy_before is None and each.copy_before is not None):
                    found[key] = each
    return tuple(sorted(found.values(), key=lambda each: -each.sent_bytes))


def _collective(
    i: HloInstruction, computation: str, near: Neighbours, relayouts: set[str], cache: WasteCache
) -> HloCollective:
    results = i.shape.shapes[1:2] if isinstance(i.shape, XlaTuple) else (i.shape,)
    sides = [cache.sum_of(array for r in results for _, array in r.arrays())]
    operands = [each for each in i.operands if not isinstance(each, str)]
    sides.append(cache.sum_of(array for each in operands for _, array in each.shape.arrays()))
    largest = max(sides, key=lambda side: side.reserved_bytes)
    maker = near.producer(i)
    direct = next((each.name for each in operands if each.name in relayouts), None)
    groups = i.attributes.get("replica_groups", "")
    return HloCollective(
        instruction_place(i, computation),
        i.opcode,
        groups,
        group_size_of(groups),
        largest.reserved_bytes,
        largest.padding_bytes,
        direct or (maker.name if maker is not None and maker.name in relayouts else None),
    )


def partitions_of(module: HloModule) -> int:
    """Return the number of devices that a program runs on together."""
    attributes = module.attributes
    counts = (number_of(attributes.get(n)) or 1 for n in ("num_partitions", "replica_count"))
    return prod(counts)


def sharded_parameters(module: HloModule, cache: WasteCache) -> Iterator[ShardedParameter]:
    """Yield the parameters that have a sharding, in a program for several devices."""
    entry = next((c for c in module.computations if c.is_entry), None)
    if entry is None or partitions_of(module) == 1:
        return
    for i in entry.parameters:
        text = i.attributes.get("sharding")
        if text is not None:
            held = cache.sum_of(array for _, array in i.shape.arrays()).reserved_bytes
            place = instruction_place(i, entry.name)
            yield ShardedParameter(place, str(i.shape), held, sharding_of(text))
