"""The command tpu-compile: programs compiled for a TPU without one, and advice that was tried."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from morello_layouts.checks import as_int
from morello_layouts.cli.options import checked_option, files, generations, json_option
from morello_layouts.cli.program_commands import html_option, print_report
from morello_layouts.cli.results import Status
from morello_layouts.errors import LayoutError

if TYPE_CHECKING:
    from morello_layouts.tpu_compiler.process import Progress

_SEPARATOR = re.compile(
    r"(?<!\s)\s*+(?:;|(?<=\s)(?=[a-z][a-z0-9]*\[)|,\s*+(?=[a-z][a-z0-9]*\[))\s*+"
)


def read_shapes(text: str) -> list[str]:
    """Return the texts of arrays, separated by blanks, commas or semicolons.

    >>> read_shapes("f32[8,128]{0,1}, s32[4] pred[]")
    ['f32[8,128]{0,1}', 's32[4]', 'pred[]']
    """
    return [part for part in _SEPARATOR.split(text.strip()) if part]


def read_mesh(text: str) -> dict[str, int]:
    """Return the sizes of a mesh's axes by name.

    >>> read_mesh("data=2,model=4")
    {'data': 2, 'model': 4}
    """
    pairs = [part.partition("=") for part in text.replace(" ", "").split(",")]
    if not all(name.isidentifier() and size.isdecimal() for name, _, size in pairs):
        raise LayoutError(
            f"expected axes with sizes, got {text!r}",
            "a mesh has named axes, each with a number of devices",
            "write for example data=2,model=4",
        )
    return {name: as_int(int(size), "an axis", fix="give 1 or more") for name, _, size in pairs}


@click.command(
    "tpu-compile",
    epilog="""\b
Examples:
  morello-layouts tpu-compile model.py:step --shapes "f32[64,512], f32[512,512]"
  morello-layouts tpu-compile model.py:step --arguments example --tpu v6e --advise
  morello-layouts tpu-compile model.py:step --shapes "f32[8,128]{0,1}" --dumps dumps

\b
JSON: generation, devices, error, peak_bytes, vmem_bytes, moved_bytes, cycles, async_bytes, memory
(as of the command memory), diagnosis (as of hlo).

\b
JSON of --advise: name, generation, devices, before (peak_bytes, vmem_bytes, moved_bytes,
cycles, async_bytes), advice (kind, change, where, after (as before), equal, note, difference),
together (as one of advice, or null), compiled, refused, worse, left, memory_only (as advice).
An unknown value is null.
""",
)
@click.argument("function", metavar="FILE.py:FUNCTION", shell_complete=files)
@click.option("--shapes", default="", metavar="SHAPES", help="The arrays that it takes, in order.")
@click.option(
    "--arguments", metavar="NAME",
    help="Instead: a value of FILE, or a function of it without arguments, that gives them.",
)  # fmt: skip
@click.option(
    "--tpu",
    "generation",
    default="v5e",
    shell_complete=generations,
    show_default=True,
    help="The TPU.",
)
@click.option(
    "--mesh", metavar="data=2,model=4", callback=checked_option(read_mesh),
    help="The axes of a mesh, for a function that is sharded.",
)  # fmt: skip
@click.option("--advise", "advised", is_flag=True, help="Try changes, and list what is better.")
@click.option("--dumps", metavar="DIR", help="Keep the compiler's dumps in a folder.")
@click.option("--seconds", type=click.IntRange(1), help="The time of one compilation.")
@click.option("--gibibytes", type=click.IntRange(1), help="The memory of one compilation.")
@click.option(
    "--top", type=click.IntRange(0), default=10, show_default=True,
    help="The number of most wasteful arrays to show.",
)  # fmt: skip
@html_option
@json_option
def tpu_compile(
    *,
    function: str,
    shapes: str,
    arguments: str | None,
    generation: str,
    mesh: Any,
    advised: bool,
    dumps: str | None,
    seconds: int | None,
    gibibytes: int | None,
    top: int,
    html: str | None,
    as_json: bool,
) -> Status:
    """Compile a JAX function for a TPU, without one, and report on the program.

    The file is run as Python, and the compiler in a process of its own. It needs JAX and libtpu:
    pip install '.[tpu]' in the clone. In Python: tpu.diagnose, tpu.advise.
    """
    os.environ.setdefault("JAX_PLATFORMS", "cpu")  # JAX would look for a TPU
    from morello_layouts.tpu_compiler import advise, diagnose
    from morello_layouts.tpu_compiler.process import bounded, libtpu_compiler
    from morello_layouts.tpu_compiler.program import load_arguments, load_function

    compiler = bounded(libtpu_compiler(), seconds, gibibytes)
    called = load_function(function)
    given = load_arguments(function, arguments) if arguments else read_shapes(shapes)
    keep = None if dumps is None else Path(dumps)
    with shown_progress() as progress:
        common: dict[str, Any] = {"compiler": compiler, "progress": progress, "mesh": mesh}
        if advised:
            report: Any = advise(called, *given, generation=generation, **common)
        else:
            report = diagnose(called, *given, generation=generation, top=top, keep=keep, **common)
    print_report(report, as_json=as_json, html=html)
    return Status.DONE


@contextmanager
def shown_progress() -> Iterator[Progress | None]:
    """Give a function that shows a line on a terminal's standard error; None without one."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("compiling") as status:
        yield lambda line: status.update(line.replace("[", "\\["))
