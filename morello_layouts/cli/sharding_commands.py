"""``reshard``: what must move between two shardings."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

import click

from morello_layouts import api
from morello_layouts.cli.options import assuming_option, json_option, shape_option, text_argument
from morello_layouts.cli.results import Status
from morello_layouts.cli.terminal import print_json, print_text
from morello_layouts.description import count
from morello_layouts.errors import LayoutError

if TYPE_CHECKING:
    from morello_layouts.api.arguments import Shape
    from morello_layouts.resharding import Message, Plan


@click.command(
    epilog="""\b
Examples:
  morello-layouts reshard "f32[16,16], mesh={'x': 2, 'y': 4}, spec=P('x', 'y')" \\
    "f32[16,16], mesh={'x': 2, 'y': 4}, spec=P(('x', 'y'), None)"
  morello-layouts reshard --shape 16x16x16 "{devices=[2,1,4]<=[4,2]T(1,0)}" \\
    "{devices=[1,8,1]<=[8]}" --device 5
  morello-layouts reshard --log training.log

\b
JSON: kind, axes, verdict, source, target, shape, devices, element_bits, totals (held, needed, kept,
moved, condition), moved_bytes, most_received_bytes, minimal (as of prove), formulas (sender,
receiver, holds (axis, formula), needs (as holds), message (dim, text, period)), steps (kind, axes,
source, target, spec). With --device or --table, messages (sender, receiver, runs (start, block,
period, count)). With --log, pairs (line, operation, source, target, plan, reason, advice).
In Python: reshard, rematerializations.
"""
)
@text_argument("source", required=False)
@text_argument("target", required=False)
@shape_option
@assuming_option
@click.option("--device", type=int, help="The messages that one device sends and receives.")
@click.option("--table", is_flag=True, help="The messages of all devices.")
@click.option(
    "--log", metavar="FILE", type=click.File(errors="replace"),
    help='A log with lines of "involuntary full rematerialization"; - reads standard input.',
)  # fmt: skip
@json_option
def reshard(  # noqa: PLR0917  click gives each option by its name
    source: str | None,
    target: str | None,
    shape: Shape | None,
    assuming: str | None,
    device: int | None,
    table: bool,
    log: TextIO | None,
    as_json: bool,
) -> Status:
    """Say what must move so that an array in the sharding SOURCE is in the sharding TARGET.

    The answer has the kind of the move, who sends what to whom as formulas of coordinates in the
    mesh (those of receivers have a prime), and the bytes.
    """
    if log is not None:
        return _log(log.read(), shape, as_json)
    if source is None or target is None:
        raise LayoutError(
            f"shardings: expected two, got {'one' if source else 'none'}",
            "a plan leads from one sharding to another",
            "give both, or a log with --log",
        )
    plan = api.reshard(source, target, shape, assuming=assuming)
    messages = _messages(plan, device, table)
    if messages is not None:
        print_json({"messages": messages}) if as_json else print_text("\n".join(map(str, messages)))
    elif as_json:
        print_json(plan)
    else:
        print_text(str(plan))
    return Status.DONE


def _messages(plan: Plan, device: int | None, table: bool) -> list[Message] | None:
    if device is not None:
        return [*plan.sends(device), *plan.receives(device)]
    return [*plan.table()] if table else None


def _log(text: str, shape: Shape | None, as_json: bool) -> Status:
    found = api.rematerializations(text, shape)
    if as_json:
        print_json({"pairs": found})
    elif found:
        print_text("\n".join(map(str, found)))
    else:
        print_text(
            f"none of {count(len(text.splitlines()), 'line')} names two shardings that XLA could "
            "not connect\nexpected lines such as: [SPMD] Involuntary full rematerialization. The "
            "compiler was not able to go from sharding {devices=[2,1,4]<=[8]} to "
            "{devices=[1,8,1]<=[8]} …\nXLA writes them to standard error while it compiles a "
            "sharded program, so run it with 2> training.log"
        )
    return Status.DONE if found else Status.DISPROVED
