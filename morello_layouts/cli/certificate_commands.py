"""``check``, and the option ``--certificate`` of the commands that prove."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from morello_layouts import check as checker
from morello_layouts.cli.options import file_argument, files, json_option
from morello_layouts.cli.results import Status
from morello_layouts.cli.terminal import print_json, print_text, write
from morello_layouts.errors import LayoutError

certificate_option = click.option(
    "--certificate",
    metavar="FILE",
    shell_complete=files,
    help="If it is proved, write a certificate for 'check'.",
)


def write_certificate(file: str | None, holds: bool | None, make: Callable[[], Any]) -> None:
    """Write a certificate to a file, if one is asked for and the claim holds; else say so."""
    if file is not None and holds:
        write(file, json.dumps(make(), indent=1) + "\n")
    elif file is not None:
        click.echo("no certificate is written, because the claim is not proved", err=True)


def _why(error: Exception) -> str:
    """Return the reason of a refusal in words."""
    if isinstance(error, checker.Refused):
        return next((f"{x}" for x in error.args if isinstance(x, str)), "a step does not follow")
    found = f"no {error}" if isinstance(error, KeyError) else f"{type(error).__name__}: {error}"
    return f"not a certificate: {found}"


@click.command(
    epilog="""\b
Examples:
  morello-layouts prove "[1, 0, 1 p(4)]" --shape 6x8 --certificate proof.json
  morello-layouts check proof.json
  python check.py proof.json    # morello_layouts/check.py, which needs nothing but Python

\b
JSON: holds (true or false), claim, about, why (of a refusal).
Exit status: 0 the certificate proves its claim, 1 it does not, 2 bad input.
In Python: check.check.
"""
)
@file_argument("file")
@json_option
def check(file: str, as_json: bool) -> Status:
    """Check the certificate in FILE, without ISL, recipes and simplifier."""
    try:
        text = Path(file).read_text(encoding="utf-8")
        given = json.loads(text, object_pairs_hook=checker.once)
    except (OSError, ValueError, RecursionError) as error:
        raise LayoutError(
            f"{file} could not be read",
            (error.strerror if isinstance(error, OSError) else None) or str(error),
            "give a file that --certificate wrote",
        ) from None
    facts = dict.fromkeys(("claim", "about", "why"))
    try:
        facts["claim"] = checker.check(given)  # type: ignore[no-untyped-call]
        facts["about"] = given.get("about")
        text = f"{given['claim']}: the certificate proves it of {given['offset']}"
    except Exception as error:  # the checker reads whatever the file holds
        facts["why"] = _why(error)
        text = f"refused: {facts['why']}"
    holds = facts["claim"] is not None
    if as_json:
        print_json({"holds": holds, **facts})
    else:
        print_text(text)
    return Status.DONE if holds else Status.DISPROVED
