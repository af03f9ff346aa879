"""``explore``: one page on this machine that answers what is typed."""

from __future__ import annotations

import logging
import sys
import threading
import webbrowser
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import click

from morello_layouts.cli.screen import print_json, print_text
from morello_layouts.cli.status import Status
from morello_layouts.errors import LayoutError

if TYPE_CHECKING:
    from morello_layouts.explorer.question import Question
    from morello_layouts.explorer.server import Server

__all__ = ["explore"]

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
