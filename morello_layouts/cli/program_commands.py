"""Commands about programs: hlo, oom, explore."""

from __future__ import annotations

import logging
import sys
import threading
import webbrowser
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final

import click

from morello_layouts.cli.options import file_argument, files, generations, json_option
from morello_layouts.cli.results import Status
from morello_layouts.cli.terminal import (
    console,
    print_json,
    print_text,
    printable,
    text_width,
    write,
)
from morello_layouts.errors import LayoutError

if TYPE_CHECKING:
    from morello_layouts.diagnostics.fleet import FleetReport
    from morello_layouts.explorer.server import Server
    from morello_layouts.explorer.subject import Question
    from morello_layouts.hlo import HloModule
    from morello_layouts.report import Report

_LONG: Final = 4_000_000  # bytes of a dump whose reading shows a progress bar

_generation_option = click.option(
    "--tpu", "generation", metavar="v5e", shell_complete=generations,
    help="The generation of TPUs for alternatives; by default, inferred from the layouts.",
)  # fmt: skip
html_option = click.option(
    "--html", metavar="OUT", shell_complete=files, help="Write a page with pictures to a file."
)


@click.command(
    epilog="""\b
Examples:
  morello-layouts hlo module.after_optimizations.txt
  morello-layouts hlo dump.txt --top 3 --tpu v5e --html report.html
  morello-layouts hlo before.txt after.txt
  morello-layouts hlo dump.txt --indexing fusion.3
  morello-layouts hlo dump.txt --tree
  cat dump.txt | morello-layouts hlo - --json
  morello-layouts hlo dumps/ --jobs 8 --journal done.jsonl --html fleet.html

\b
JSON: module, generation, generation_reason, totals (instructions, computations,
fused_computations, parameters (arrays, data_bytes, reserved_bytes, padding_bytes, factor),
outputs (as parameters), results (as parameters)), wasteful_count, wasteful (shape, data_bytes,
reserved_bytes, padding_bytes, factor, reasons, total_padding, alternative (layout, changes,
reserved_bytes, factor, hint, tried), count, stored, memory_spaces (space, count), producer,
readers, because, places (instruction, opcode, computation, line, op_name, source)), move_sums
(opcode, effect, count, fused, written_bytes, fused_bytes), moves (instruction, opcode,
computation, line, op_name, source, is_fused, written_bytes, fused_bytes, effect, holds, kind,
operand, result, memory_spaces, moved_bytes, text, reason, producer, readers, because), layouts
(layout, arrays, data_bytes, reserved_bytes, padding_bytes, factor), memory_spaces (space, name,
arrays, data_bytes, reserved_bytes, padding_bytes, factor), platform, saved_bytes, undecided,
hbm_bytes, devices, shardings, collectives, chains, warnings.

\b
JSON of two dumps: before (as totals), after (as totals), types (type, before (as parameters),
after (as parameters), difference), layouts (instruction, opcode, before, after, before_bytes,
after_bytes, difference), moves (opcode, effect, operand, result, before, after, moved_bytes,
difference), warnings. An unknown value is null.

\b
JSON of --indexing: instruction, output, result_type, reads (operand, number, map, offset,
from_offset, sources), unknown. An unknown value is null.

\b
JSON of many dumps: programs, instructions, reserved_bytes, padding_bytes, written_bytes,
saved_bytes, undecided, by_source (key, bytes, count, programs), by_shape (as by_source),
by_kind (as by_source), by_program (as by_source), failures. An unknown value is null.
"""
)
@file_argument("file")
@file_argument("other", required=False)
@click.option(
    "--top", type=click.IntRange(0), default=10, show_default=True,
    help="The number of most wasteful arrays to show.",
)  # fmt: skip
@_generation_option
@click.option("--jobs", type=click.IntRange(1), default=1, help="Processes that read many dumps.")
@click.option("--journal", metavar="FILE", help="Keep what is done there; a new run goes on.")
@click.option("--dask", metavar="ADDRESS", help="Read many dumps on the workers of a Dask cluster.")
@click.option("--parquet", metavar="OUT", help="Write the rows about many dumps to a file.")
@click.option(
    "--indexing", metavar="NAME",
    help="Say which elements of its operands each element of this instruction reads.",
)  # fmt: skip
@click.option("--tree", is_flag=True, help="Show computations, instructions and what they call.")
@html_option
@json_option
def hlo(
    *,
    file: str,
    other: str | None,
    top: int,
    generation: str | None,
    jobs: int,
    journal: str | None,
    dask: str | None,
    parquet: str | None,
    indexing: str | None,
    tree: bool,
    html: str | None,
    as_json: bool,
) -> Status:
    """Report the cost of the layouts of a program: padding, copies, and better layouts.

    FILE is HLO text, as the compiler dumps it; - reads standard input. With a second file, report
    the changes from the first to the second. A folder, or a pattern in quotes, gives one table over
    all its programs. In Python: diagnose, compare_hlo, diagnose_many.
    """
    from morello_layouts.diagnostics import diagnose
    from morello_layouts.diagnostics.fleet import is_pattern

    if indexing is not None and other is not None:
        raise LayoutError(
            f"--indexing: expected one file, got {other!r} too",
            "an instruction reads operands of one program",
            "leave the second file out",
        )
    if indexing is not None:
        return _indexing(file, indexing, as_json=as_json)
    if tree:
        return _tree(file)
    report: Report
    if other is None and (is_pattern(file) or _is_folder(file)):
        many = _many(file, jobs, journal, dask)
        if parquet is not None:
            many.write_parquet(parquet)
        report = many
    elif journal or dask or parquet:
        raise LayoutError(
            "--journal, --dask and --parquet are for many dumps",
            f"{file} is one file",
            "give a folder, or a pattern in quotes, such as 'dumps/*.txt'",
        )
    elif other is None:
        report = diagnose(read_module(file), generation, top=top)
    else:
        report = _comparison(file, other, generation)
    print_report(report, as_json=as_json, html=html)
    return Status.DONE


def _comparison(file: str, other: str, generation: str | None) -> Report:
    """Return the changes from one dump to another."""
    from morello_layouts.diagnostics import compare_hlo

    if generation is not None:
        raise LayoutError(
            "--tpu is not an option of a comparison",
            "a comparison of two dumps suggests no layouts",
            "leave it out",
        )
    if file == other == "-":
        raise LayoutError(
            "both dumps are -",
            "standard input holds one dump",
            "give the path of a file for one of them",
        )
    return compare_hlo(read_module(file), read_module(other))


def _indexing(file: str, name: str, *, as_json: bool) -> Status:
    """Print the indexing maps of an instruction."""
    from morello_layouts.api import indexing_map

    found = indexing_map(read_module(file), name)
    print_json(found) if as_json else print_text(str(found))
    return Status.DONE


def _tree(file: str) -> Status:
    from morello_layouts.hlo.module import HloTree

    for line in HloTree(read_module(file)).lines():
        print_text(line)
    return Status.DONE


def _is_folder(file: str) -> bool:
    try:
        return Path(file).is_dir()
    except (OSError, ValueError):  # too long, or no path at all
        return False


def _many(file: str, jobs: int, journal: str | None, dask: str | None) -> FleetReport:
    """Return the report on many dumps; a terminal shows a bar."""
    from morello_layouts.diagnostics import diagnose_many

    if not sys.stderr.isatty():
        return diagnose_many([file], jobs=jobs, journal=journal, dask=dask)
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading dumps", total=None)
        return diagnose_many(
            [file],
            jobs=jobs,
            journal=journal,
            dask=dask,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )


@click.command(
    epilog="""\b
Examples:
  morello-layouts memory module.oom_intermediate_module.txt
  morello-layouts memory module.after_optimizations-buffer-assignment.txt --html heap.html
  morello-layouts memory assignment.txt program.txt --top 30 --json

\b
JSON: program, total, spaces (space, name, total, parameters, outputs, temporaries, constants,
thread_local, heap (peak, peak_at, reserved, is_exact)), peak_place (instruction, opcode,
computation, line, op_name, source), alive (instruction, opcode, computation, line, op_name,
source, kind, shape, arrays, data_bytes, reserved_bytes, padding_bytes, factor), by_source
(name, arrays, data_bytes, reserved_bytes, padding_bytes, factor), by_op_name (as by_source),
warnings. An unknown value is null.
"""
)
@file_argument("file")
@file_argument("program", required=False)
@click.option(
    "--top", type=click.IntRange(0), default=10, show_default=True,
    help="The number of values to show.",
)  # fmt: skip
@html_option
@json_option
def memory(*, file: str, program: str | None, top: int, html: str | None, as_json: bool) -> Status:
    """Report the memory of a program: the peak, who is alive then, and a chart of the heap.

    FILE is any file of a dump whose folder has the compiler's buffer assignment, or that
    assignment. PROGRAM is the program that it is about; by default the file beside it. In Python:
    memory.
    """
    from morello_layouts.diagnostics import memory

    module = None if program is None else read_module(program)
    report = memory(_standard_input() if file == "-" else file, module, top=top)
    print_report(report, as_json=as_json, html=html)
    return Status.DONE


@click.command(
    epilog="""\b
Examples:
  morello-layouts oom log.txt
  morello-layouts oom log.txt --tpu v3 --html report.html
  pbpaste | morello-layouts oom - --json

\b
JSON: memory_space, used, capacity, generation, generation_reason, messages (kind, code, page,
memory_space, needed, available, missing, name, shape, tag, meaning, next_step, line),
allocations (number, line, reported (size, shape, unpadded, padding, operator, label, kind,
tag), shape, assumed_tiles, data_bytes, reserved_bytes, agrees, differences (field, reported,
computed), reasons, alternative, instruction, source, note), warnings. An unknown value is
null.
"""
)
@file_argument("file")
@_generation_option
@html_option
@json_option
def oom(*, file: str, generation: str | None, html: str | None, as_json: bool) -> Status:
    """Explain an out-of-memory report: each allocation, its padding, and smaller layouts.

    FILE holds the compiler's message, or a whole log with it; - reads standard input. In Python:
    read_oom.
    """
    from morello_layouts.diagnostics import read_oom

    report = read_oom(_standard_input() if file == "-" else Path(file), generation)
    print_report(report, as_json=as_json, html=html)
    return Status.DONE


def _standard_input() -> str:
    """Return standard input as text; it ends with a newline, so that it is not a path."""
    return sys.stdin.buffer.read().decode("utf-8", "replace") + "\n"


def read_module(file: str) -> HloModule:
    """Return the HLO of a file, or of standard input for -; show a bar for a long file."""
    from morello_layouts.hlo import read_hlo

    source = _standard_input() if file == "-" else Path(file)
    if not sys.stderr.isatty() or _length(source) < _LONG:
        return read_hlo(source)
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        label = printable(f"reading {file}", sys.stderr).replace("[", "\\[")
        task = bar.add_task(label, total=None)
        return read_hlo(
            source, progress=lambda done, total: bar.update(task, completed=done, total=total)
        )


def _length(source: str | Path) -> int:
    try:
        return len(source) if isinstance(source, str) else source.stat().st_size
    except (OSError, ValueError):
        return 0


def print_report(report: Report, *, as_json: bool, html: str | None) -> None:
    """Print a report, as JSON if asked for, and write its page."""
    if html is not None:
        write(html, report.html())
    if as_json:
        print_json(report)
    elif html is None:
        width = text_width(console())
        print_text(report.text(width if width < sys.maxsize else None))


PORT = 8765


@click.command(
    epilog="""\b
Examples:
  morello-layouts explore --check
  morello-layouts explore --check --port 0 "bf16[10,200]{1,0:T(8,128)(2,1)}"
  morello-layouts explore --check "[1, 0, 1 p(4)]" --shape 6x8 --compare "{1,0}"

\b
JSON of --check: url, answered, milliseconds.
Only this machine can open the page, on 127.0.0.1; Ctrl-C ends it.
"""
)
@click.argument("text", default="")
@click.option("--shape", default="", metavar="6x8", help="Sizes, for a layout without them.")
@click.option("--compare", default="", metavar="OTHER", help="A second layout, or a formula.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"The port; 0 for any free port. By default {PORT}, or a free port if it is taken.",
)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@click.option("--check", is_flag=True, help="Start, answer once, print the time, and end.")
@click.option("--json", "as_json", is_flag=True, help="With --check: print JSON.")
def explore(
    *,
    text: str,
    shape: str,
    compare: str,
    port: int | None,
    no_browser: bool,
    check: bool,
    as_json: bool,
) -> Status:
    """Start the interactive explorer in a browser: picture, formula, proof, sizes, code.

    TEXT is the layout that it shows first.
    """
    from morello_layouts.explorer.server import link
    from morello_layouts.explorer.subject import Question

    question = Question(text, shape=shape, other=compare)
    with _server(port) as server:
        url = link(server.port, question)
        if check:
            return _checked(server, url, question, as_json)
        print_text(f"{url}\nonly this machine can open it; Ctrl-C ends it")
        sys.stdout.flush()
        if not no_browser:
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
        server.run()
    return Status.DONE


def _server(port: int | None) -> Server:
    """Return a server on a port; by default on ``PORT``, or on a free port if it is taken."""
    from morello_layouts.explorer.server import Server

    # It warns of each connection above the bound, which would fill the terminal.
    logging.getLogger("waitress").setLevel(logging.ERROR)
    try:
        return Server(PORT if port is None else port)
    except LayoutError:
        if port is not None:
            raise
        return Server(0)


def _checked(server: Server, url: str, question: Question, as_json: bool) -> Status:
    """Ask the server once, as the page does."""
    from morello_layouts.explorer.server import asked

    asking = question if question.layout else replace(question, layout="f32[3,5]{1,0:T(2,2)}")
    server.start()
    began = perf_counter()
    found = asked(server.port, asking)
    errors = [found["trouble"]] if "trouble" in found else found["errors"]
    milliseconds = round(1000 * (perf_counter() - began), 1)
    if as_json:
        print_json({"url": url, "answered": not errors, "milliseconds": milliseconds})
    elif not errors:
        print_text(f"{url} answers in {milliseconds} ms")
    if not errors:
        return Status.DONE
    if as_json:
        return Status.BAD_INPUT
    error = errors[0]
    raise LayoutError(error["what"], error["why"], error["fix"])
