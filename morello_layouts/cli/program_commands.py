"""Commands about programs: hlo, oom, explore."""

from __future__ import annotations

import logging
import sys
import threading
import webbrowser
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from morello_layouts.cli.options import Status, json_option
from morello_layouts.cli.terminal import (
    html_option,
    module_in,
    print_json,
    print_report,
    print_text,
    standard_input,
)
from morello_layouts.errors import LayoutError

if TYPE_CHECKING:
    from morello_layouts.diagnostics import Diagnosis, HloComparison
    from morello_layouts.explorer.question import Question
    from morello_layouts.explorer.server import Server


@click.command(
    epilog="""\b
Examples:
  morello-layouts hlo module.after_optimizations.txt
  morello-layouts hlo dump.txt --top 3 --tpu v5e --html report.html
  morello-layouts hlo before.txt after.txt
  cat dump.txt | morello-layouts hlo - --json

\b
JSON: module, generation, generation_reason, totals (instructions, computations,
fused_computations; parameters, outputs, results, each of arrays, data_bytes, reserved_bytes,
padding_bytes, factor), wasteful_count, wasteful (each of shape, data_bytes, reserved_bytes,
padding_bytes, factor, reasons, alternative (layout, changes, reserved_bytes, factor, hint),
count, memory_spaces, places (instruction, opcode, computation, line, op_name, source)),
move_sums (opcode, effect, count, fused, written_bytes), moves (each of instruction, opcode,
computation, line, op_name, source, is_fused, written_bytes, effect, holds, kind, operand,
result, memory_spaces, moved_bytes, text, reason), layouts, memory_spaces, warnings. Of two
dumps: before, after (totals), types (type, before, after, difference), layouts (instruction,
opcode, before, after, before_bytes, after_bytes, difference), moves (opcode, effect, operand,
result, before, after, moved_bytes, difference), warnings. What is not known is null.
"""
)
@click.argument("file")
@click.argument("other", required=False)
@click.option(
    "--top", type=click.IntRange(0), default=10, show_default=True,
    help="How many of the most wasteful arrays to show.",
)  # fmt: skip
@click.option(
    "--tpu", "generation", metavar="v5e",
    help="The generation that alternatives are for; if left out, the layouts tell.",
)  # fmt: skip
@html_option
@json_option
def hlo(
    *,
    file: str,
    other: str | None,
    top: int,
    generation: str | None,
    html: str | None,
    as_json: bool,
) -> Status:
    """Say what the layouts of the program in FILE cost: padding, copies, what would be better.

    FILE is HLO text, as the compiler dumps it; - reads standard input. With a second file, say
    what changed from the first to it.
    """
    from morello_layouts.diagnostics import compare_hlo, diagnose

    report: Diagnosis | HloComparison
    if other is None:
        report = diagnose(module_in(file), generation, top=top)
    elif generation is not None:
        raise LayoutError(
            "--tpu was given for a comparison",
            "nothing is suggested where two dumps are compared",
            "leave it out",
        )
    elif file == other == "-":
        raise LayoutError(
            "both dumps are to come from standard input",
            "it holds one dump",
            "give the path of a file for one of them",
        )
    else:
        report = compare_hlo(module_in(file), module_in(other))
    print_report(report, as_json=as_json, html=html)
    return Status.DONE


@click.command(
    epilog="""\b
Examples:
  morello-layouts oom log.txt
  morello-layouts oom log.txt --tpu v3 --html report.html
  pbpaste | morello-layouts oom - --json

\b
JSON: memory_space, used, capacity, generation, generation_reason, allocations (each of number,
line, reported (size, shape, unpadded, padding, operator, label, kind), shape, assumed_tiles,
data_bytes, reserved_bytes, agrees, differences (field, reported, computed), reasons, alternative
(layout, changes, reserved_bytes, factor, hint), instruction, source, note), warnings. What is not
known is null.
"""
)
@click.argument("file")
@click.option(
    "--tpu", "generation", metavar="v5e",
    help="The generation that alternatives are for; if left out, the tiles of scalars tell.",
)  # fmt: skip
@html_option
@json_option
def oom(*, file: str, generation: str | None, html: str | None, as_json: bool) -> Status:
    """Explain the out-of-memory report in FILE: each allocation, its padding, what takes less.

    FILE holds the compiler's message, or a whole log with it; - reads standard input.
    """
    from morello_layouts.diagnostics import read_oom

    report = read_oom(standard_input() if file == "-" else Path(file), generation)
    print_report(report, as_json=as_json, html=html)
    return Status.DONE


PORT = 8765


@click.command(
    epilog="""\b
Examples:
  morello-layouts explore --check
  morello-layouts explore --check --port 0 "bf16[10,200]{1,0:T(8,128)(2,1)}"
  morello-layouts explore --check "[1, 0, 1 p(4)]" --shape 6x8 --compare "{1,0}"

\b
JSON of --check: url, answered, milliseconds.
The page is served on 127.0.0.1 alone; Ctrl-C ends it.
"""
)
@click.argument("text", default="")
@click.option("--shape", default="", metavar="6x8", help="Sizes, for a layout that has none.")
@click.option("--compare", default="", metavar="OTHER", help="A second layout, or a formula.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"The port; 0 for any that is free. Left out: {PORT}, or any if that is taken.",
)
@click.option("--no-browser", is_flag=True, help="Open no browser.")
@click.option("--check", is_flag=True, help="Start, answer once, say how long it took, and end.")
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
    """Serve a page that explains what is typed: picture, formula, proof, sizes, code.

    TEXT is the layout that it shows at first.
    """
    from morello_layouts.explorer.question import Question
    from morello_layouts.explorer.server import link

    question = Question(text, shape=shape, other=compare)
    with _server(port) as server:
        url = link(server.port, question)
        if check:
            return _checked(server, url, question, as_json)
        print_text(f"{url}\nserved to this machine alone; Ctrl-C ends it")
        sys.stdout.flush()
        if not no_browser:
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
        server.run()
    return Status.DONE


def _server(port: int | None) -> Server:
    """The server on a port; on any that is free where none was asked for and ours is taken."""
    from morello_layouts.explorer.server import Server

    # Its warnings, a line for each connection past the bound, would fill the terminal.
    logging.getLogger("waitress").setLevel(logging.ERROR)
    try:
        return Server(PORT if port is None else port)
    except LayoutError:
        if port is not None:
            raise
        return Server(0)


def _checked(server: Server, url: str, question: Question, as_json: bool) -> Status:
    """Ask once, as the page does."""
    from morello_layouts.explorer.server import asked

    asking = question if question.layout else replace(question, layout="f32[3,5]{1,0:T(2,2)}")
    server.start()
    began = perf_counter()
    errors = asked(server.port, asking)["errors"]
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
