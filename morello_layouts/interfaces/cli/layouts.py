"""What the commands about layouts ask beyond one function, and how they show it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import click

import morello_layouts as ml
from morello_layouts.core.fields import plain
from morello_layouts.errors import LayoutError
from morello_layouts.interfaces import explanations
from morello_layouts.interfaces.api.layouts import Assuming, LayoutLike, Shape
from morello_layouts.interfaces.cli.command import Log, Order
from morello_layouts.interfaces.cli.terminal import Answer, in_options

if TYPE_CHECKING:
    from morello_layouts.core.maps import IndexMap
    from morello_layouts.interfaces.explanations.holding import DevicePart, Shards
    from morello_layouts.interfaces.explanations.rows import Explanation, Medium
    from morello_layouts.machines.resharding import Plan, Schedule
    from morello_layouts.outputs.picture import Line, Picture
    from morello_layouts.outputs.picture.panel import Panel
    from morello_layouts.programs.records.judge import RecordReport
    from morello_layouts.proof.bitcast import Bitcast, Correspondence


def with_options(found: Explanation | RecordReport, _file: str | None) -> Explanation | Answer:
    """Return an explanation whose notes name options instead of arguments."""
    if not isinstance(found, explanations.Explanation):
        return Answer({"record": found.record, "proof": found.proof}, str(found))
    command = click.get_current_context().command
    arrays = (
        replace(each, notes=tuple(in_options(note, command) for note in each.notes))
        for each in found.arrays
    )
    return replace(found, arrays=tuple(arrays))


def drawing(found: Picture, file: str | None) -> Answer:
    """Return a picture as the command shows it."""
    if not found.panels:  # of a record
        facts = {"file": file, "record": getattr(found, "record", None)}
        return Answer(facts, str(found), saves=found.save)
    facts = {"file": file, "panels": found.panels}
    return Answer(facts, partial(_picture_lines, found.panels), saves=found.save)


def _picture_lines(panels: Sequence[Panel], medium: Medium) -> Iterator[Line]:
    from morello_layouts.interfaces.explanations.rows import line
    from morello_layouts.outputs.picture import panel_lines

    for k, panel in enumerate(panels):
        if k:
            yield line("", medium)
        for found in panel_lines(panel, medium.picture_width + 2, medium.glyphs):
            text = medium.encode(found.plain)
            yield found if text == found.plain else line(text, medium)


def fragment_list(found: tuple[str, ...], _file: str | None) -> Answer:
    """Return the texts of fragments as the command shows them."""
    text = "\n".join(found) or "no name begins so; mlay fragments lists all"
    return Answer({"fragments": found}, text, holds=bool(found))


def notation_list(name: str | None = None) -> Answer:
    """List the notations that texts are read in, each with an example.

    Args:
        name: the beginning of a notation's name.
    """
    from morello_layouts.notations.registry import NOTATIONS

    found = [one for one in NOTATIONS if one.name.startswith(name or "")]
    facts = [{"name": one.name, "title": one.title, "example": one.example} for one in found]
    lines = [f"{one.name:10} {one.title}\n{'':10} {one.example}" for one in found]
    text = "\n".join(lines) or "no name begins so; mlay notations lists all"
    return Answer({"notations": facts}, text, holds=bool(found))


def bitcast(
    a: LayoutLike,
    b: LayoutLike,
    shape: Shape | None = None,
    *,
    transpose: Order | None = None,
    in_any_way: bool = False,
    **more: Any,
) -> Bitcast:
    """Prove or disprove that the bytes of an array of layout A serve as one of layout B.

    Elements correspond in row-major order unless an option says otherwise.

    Args:
        transpose: B is A with its dimensions in this order, as in NumPy.
        in_any_way: any reshape or transpose that is free.
    """
    found: Correspondence = "any" if in_any_way else "row-major"
    return ml.bitcast(a, b, shape, correspondence=transpose or found, **more)


Memory: TypeAlias = Literal["shared", "global", "cache"]

_MEMORIES: Final = {"shared": "banks", "global": "coalescing", "cache": "cache_lines"}


def banks(
    texts: Sequence[str],
    shape: Shape | None = None,
    *,
    bits: int | None = None,
    at: Sequence[int] | None = None,
    best: bool = False,
    memory: Memory = "shared",
    line: int | None = None,
    lanes: int | None = None,
    gpu: str | None = None,
    assuming: Assuming | None = None,
    notation: str | None = None,
) -> Answer:
    """Count how many times the banks of shared memory serve each access of a warp to a layout.

    Accesses: row, column (lanes along one row or down one column), rows, columns (on to the next
    one); row.b64, column.b128 (bits of a lane, along the row); ldmatrix.x1, .x2, .x4, stmatrix.x4;
    or a fragment. "load " or "store " may stand before.

    Args:
        texts: a layout and its accesses, or with --best, --shape and --bits accesses alone.
        best: find the best swizzle of a tile that lies row by row.
        memory: the memory of a GPU, or a CPU's cache.
        line: bytes of a line of a CPU's cache.
        lanes: elements, or vectors, of one run through a CPU's cache.
        gpu: nvidia, AMD's gfx942 (MI300) or gfx950 (MI350); by default nvidia.
        notation: the notation of the layout, if its text does not tell.
    """
    own = {} if gpu is None else {"gpu": gpu}
    if own and memory == "cache":
        raise LayoutError(
            "--gpu was given for the cache of a CPU",
            "banks, lines and swizzles differ between GPUs",
            "leave it out",
        )
    if best:
        return _best(texts, shape, bits, **own)
    layout, *accesses = texts
    _require_access(layout, accesses)
    given = {"line": line, "lanes": lanes}
    more: dict[str, Any] = {name: n for name, n in given.items() if n is not None}
    if more and memory != "cache":
        raise LayoutError(
            f"--{next(iter(more))} was given for {memory} memory",
            "lines, and runs of any length, are of a CPU's cache",
            "add --in cache, or leave it out",
        )
    more |= own
    m = ml.index_map(layout, shape, assuming=assuming, notation=notation)
    ask = partial(getattr(ml, _MEMORIES[memory]), m, bits=bits, at=at, **more)
    answers = [ask(access) for access in accesses]
    holds = not any(map(_has_conflicts, answers))
    return Answer({"answers": answers}, "\n".join(map(str, answers)), holds=holds)


def _require_access(layout: str, accesses: Sequence[str]) -> None:
    if not accesses:
        raise LayoutError(
            f"no access of {layout}",
            "an access says which elements the lanes of a warp touch",
            "give accesses after the layout: row, column, row.b128, ldmatrix, or a fragment",
        )


def _has_conflicts(answer: Any) -> bool:
    ways = getattr(answer, "ways", 1)  # lines of memory have none; a formula has several
    return bool((ways if isinstance(ways, int) else max(ways)) > 1)


def _best(accesses: Sequence[str], shape: Shape | None, bits: int | None, **own: str) -> Answer:
    if shape is None and (m := _tile(accesses[0])):
        _require_access(accesses[0], accesses[1:])
        shape, accesses = m.shape, accesses[1:]
        bits = m.element_type.bits if bits is None and m.element_type else bits
    if shape is None or bits is None:
        missing = {"the shape of the tile": shape, "the bits of an element": bits}
        raise LayoutError(
            f"missing: {' and '.join(name for name, value in missing.items() if value is None)}",
            "the best swizzle depends on the sizes of the tile and on the bits of its elements",
            "give for example shape=(64, 64) and bits=16, beside the accesses",
        )
    found = ml.best_swizzle(tuple(shape), bits, accesses, **own)
    return Answer(plain(found), str(found), holds=max(found.ways) <= 1)


def _tile(text: str) -> IndexMap | None:
    """Return the map of a tile whose text has all sizes; refuse one that is not row by row."""
    m = None
    with suppress(LayoutError):
        m = ml.index_map(text)
    if m is not None and m.recipe.steps and not m.recipe.axis_names:  # else a fragment
        raise LayoutError(
            f"{text}: expected a tile that lies row by row",
            "the best swizzle is chosen in place of another layout",
            f"give the tile alone, such as f16[{','.join(map(str, m.shape))}]",
        )
    return None if m is None or m.recipe.steps else m


def shards(
    layout: LayoutLike,
    shape: Shape | None = None,
    *,
    at: Sequence[int] | None = None,
    device: int | None = None,
    assuming: Assuming | None = None,
    **more: Any,
) -> Shards | DevicePart | Answer:
    """Say what each device holds of a sharded array: sizes, bytes, imbalance, copies.

    The array is on devices, as HLO, Shardy, JAX, torch or ScaLAPACK write it.

    Args:
        at: also say where the element at this coordinate is.
        device: say only which indices this device holds, and where its buffer has them.
    """
    m = ml.index_map(layout, shape, assuming=assuming)
    found = explanations.shards(m, **more) if device is None else m.local(device)
    if at is None:
        return found
    place = m.place(*at)
    facts = {**plain(found), "places": place.holders}
    return Answer(facts, f"{found}\n{at} is at {place}")


_NO_PAIRS: Final = (
    "names two shardings that XLA could not connect\nexpected lines such as: [SPMD] Involuntary "
    "full rematerialization. The compiler was not able to go from sharding "
    "{devices=[2,1,4]<=[8]} to {devices=[1,8,1]<=[8]} …\nXLA writes them to standard error while "
    "it compiles a sharded program, so run it with 2> training.log"
)


def reshard(
    source: LayoutLike | None = None,
    target: LayoutLike | None = None,
    shape: Shape | None = None,
    *,
    device: int | None = None,
    table: bool = False,
    limit: int | None = None,
    log: Log | None = None,
    **more: Any,
) -> Plan | Schedule | Answer:
    """Say what must move so that an array in one sharding is in another.

    The answer has the kind of the move, who sends what to whom as formulas of coordinates in the
    mesh (those of receivers have a prime), and the bytes.

    Args:
        device: the messages that this device sends and receives.
        table: the messages of all devices.
        limit: the bytes that a device may use: its messages are then pieces, in their order.
        log: a log with lines of "involuntary full rematerialization", - for standard input.
    """
    if log is not None:
        from morello_layouts.core.description import count

        pairs = ml.rematerializations(log, shape)
        nothing = f"none of {count(len(log.splitlines()), 'line')} {_NO_PAIRS}"
        return Answer({"pairs": pairs}, "\n".join(map(str, pairs)) or nothing, holds=bool(pairs))
    if source is None or target is None:
        raise LayoutError(
            f"shardings: expected two, got {'one' if source else 'none'}",
            "a plan leads from one sharding to another",
            "give both, or a log with --log",
        )
    plan = ml.reshard(source, target, shape, **more)
    found: Plan | Schedule = plan if limit is None else plan.schedule(limit)
    if device is None and not table:
        return found
    messages = plan.table() if device is None else (*found.sends(device), *found.receives(device))
    facts = {"messages": [*messages]}
    return Answer(facts, "\n".join(map(str, facts["messages"])))
