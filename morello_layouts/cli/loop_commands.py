"""The command loops."""

from __future__ import annotations

import re
from typing import Any, get_args

import click

from morello_layouts import api
from morello_layouts.api.arguments import Shape
from morello_layouts.api.layouts import LayoutLike, index_maps
from morello_layouts.api.loops import loops as loops_of
from morello_layouts.cli.options import (
    assuming_option,
    checked_option,
    json_option,
    names_option,
    notation_option,
    output_option,
    shape_option,
    text_argument,
)
from morello_layouts.cli.results import Status, status_of
from morello_layouts.cli.terminal import print_result
from morello_layouts.errors import LayoutError
from morello_layouts.loop_nests.languages import WRITERS
from morello_layouts.loop_nests.tree import Edges
from morello_layouts.plain import plain

_PAIR = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*([^=,]{1,40}?)\s*", re.ASCII)


def _pairs(text: str, example: str = "i0=blockIdx.x") -> dict[str, str]:
    """Read pairs such as the example."""
    found = {}
    for part in text.split(","):
        pair = _PAIR.fullmatch(part)
        if pair is None or pair[1] in found:
            raise LayoutError(
                f"expected pairs of different names and values, got {part[:40]!r}",
                "a pair is a name, = and a value; commas are between pairs",
                f"write for example {example}",
            )
        found[pair[1]] = pair[2]
    return found


def _tiles(text: str) -> dict[str, tuple[int, ...]]:
    """Read tiles such as ``i=64,j=128/8``: of a coordinate the outer tiles first."""
    found = {}
    for name, sizes in _pairs(text, "i=64,j=128").items():
        if not re.fullmatch(r"[1-9][0-9]{0,17}(/[1-9][0-9]{0,17}){0,9}", sizes, re.ASCII):
            raise LayoutError(
                f"expected the size of a tile for {name}, got {sizes!r}",
                "a size is a number from 1; smaller tiles within follow after a slash",
                "write for example i=64 or i=64/8",
            )
        found[name] = tuple(map(int, sizes.split("/")))
    return found


@click.command(
    epilog="""\b
Examples:
  morello-layouts loops "f32[M,N]{1,0:T(8,128)}" --order physical --edges peel --target rust
  morello-layouts loops nChw16c --shape 2x20x3x3 --names n,c,h,w --order n,h,w,c
  morello-layouts loops "f32[M,N]{1,0}" --names i,j --tile i=64,j=64/8 --edges guards
  morello-layouts loops "f32[M,N]{1,0}" "f32[M,N]{0,1:T(8,128)}" --of b --target mlir --function
  morello-layouts loops "f32[M,N]{1,0:T(8,128)}" --names i,j --body "f({i}, {j}, x[{x}]);"

\b
Exit status with --verify: 0 proved, 1 disproved, 2 bad input, 3 undecided.
JSON: text, target, order, coordinates, edges, maps, runs, costs (operations
for one element), code; with --verify its proof as proof.
In Python: loops.
"""
)
@text_argument("text")
@text_argument("other", required=False)
@shape_option
@notation_option
@assuming_option
@names_option
@click.option(
    "--order",
    default="physical",
    show_default=True,
    metavar="i,j",
    help="Coordinates or loops, the outermost first; physical: as a buffer lies.",
)
@click.option("--of", help="Whose physical order, with two layouts: a or b.  [default: a]")
@click.option(
    "--tile",
    metavar="i=64,j=128/8",
    callback=checked_option(_tiles),
    help="Sizes of tiles to add; 128/8: tiles of 8 in tiles of 128.",
)
@click.option(
    "--edges",
    type=click.Choice(get_args(Edges)),
    default="bounds",
    show_default=True,
    help="Partial tiles: loops that end early (bounds), conditions (guards), "
    "loops of their own (peel).",
)
@click.option(
    "--target",
    type=click.Choice(tuple(WRITERS), case_sensitive=False),
    default="c",
    show_default=True,
    help="The language.",
)
@click.option(
    "--body",
    default="",
    help="The body: {x} is the offset (with two layouts {a} and {b}), {i} a coordinate i.",
)
@click.option(
    "--indices",
    metavar="i0=blockIdx.x",
    callback=checked_option(_pairs),
    help="Loops whose index the machine gives, in CUDA and Triton.",
)
@click.option("--function", is_flag=True, help="A whole function.")
@click.option("--name", default="nest", show_default=True, help="The name of the function.")
@click.option("--verify", is_flag=True, help="Prove it too.")
@output_option
@json_option
def loops(
    *,
    text: LayoutLike,
    other: LayoutLike | None,
    shape: Shape | None,
    assuming: str | None,
    names: str | None,
    order: str,
    target: str,
    indices: dict[str, str] | None,
    function: bool,
    name: str,
    verify: bool,
    output: str | None,
    as_json: bool,
    **options: Any,
) -> Status:
    """Print loops that visit each element of the layout TEXT once.

    With OTHER, a second layout of the array, they copy a, in the layout TEXT, to b.
    """
    if other is None:
        maps: Any = api.index_map(text, shape, assuming=assuming)
    else:
        a, b = index_maps(text, other, shape, assuming)
        if a.shape != b.shape:
            raise LayoutError(
                f"OTHER: expected the shape {a.shape} of TEXT, got {b.shape}",
                "the loops copy each element of one array",
                "give both layouts at the same shape",
            )
        maps = {"a": a, "b": b}
    ordered = order if order == "physical" else [part.strip() for part in order.split(",")]
    nest = loops_of(maps, order=ordered, names=names, **options)
    code = nest.code(target, function=function, name=name, indices=indices)
    proof = nest.verify() if verify else None
    facts = {"text": text, "target": target, **plain(nest), "code": code}
    facts |= {"proof": proof} if verify else {}
    shown = code if proof is None else f"{code}\n\n{proof}"
    print_result(shown, facts, output=output, as_json=as_json)
    return Status.DONE if proof is None else status_of([proof.holds])
