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


def write_certificate(
    file: str | None, holds: bool | None, make: Callable[[], Any], hint: str = ""
) -> None:
    """Write a certificate to a file, if one is asked for and the claim holds; else say so.

    ``hint`` says which other claim could have one.
    """
    if file is not None and holds:
        write(file, json.dumps(make(), indent=1) + "\n")
    elif file is not None:
        text = "no certificate is written, because the claim is not proved"
        click.echo(f"{text}\n{hint}" if hint else text, err=True)


@click.command(
    epilog="""\b
Examples:
  morello-layouts prove "[1, 0, 1 p(4)]" --shape 6x8 --certificate proof.json
  morello-layouts check proof.json
  python check.py proof.json    # morello_layouts/check.py, which needs nothing but Python

\b
JSON: holds (true or false), claim, statement (what is proved, in words), why (of a refusal),
not_checked (what the file says that it is about).
Exit status: 0 the certificate proves its claim, 1 it does not, 2 bad input.
In Python: check.check.
"""
)
@file_argument("file")
@json_option
def check(file: str, as_json: bool) -> Status:
    """Check the certificate in FILE, without ISL, recipes and simplifier.

    It prints what is proved. What the file says that it is about is text that nobody checks.
    """
    try:
        with Path(file).open(encoding="utf-8") as lines:
            text = lines.read(checker.FILE + 1)
    except (OSError, UnicodeError) as error:
        raise LayoutError(
            f"{file} could not be read",
            (error.strerror if isinstance(error, OSError) else None) or str(error),
            "give a file that --certificate wrote",
        ) from None
    facts: dict[str, Any] = dict.fromkeys(("claim", "statement", "why", "not_checked"))
    try:
        given = checker.read(text)  # type: ignore[no-untyped-call]
        facts["claim"] = checker.check(given)  # type: ignore[no-untyped-call]
        facts["statement"] = checker.statement(given)  # type: ignore[no-untyped-call]
        facts["not_checked"] = given.get("about")
    except (checker.Refused, RecursionError) as error:
        facts["why"] = str(error)
    holds = facts["claim"] is not None
    if as_json:
        print_json({"holds": holds, **facts})
    elif holds:
        about = "".join(
            f"\nnot checked: it says that it is about {x!r}" for x in given.get("about", ())
        )
        print_text(f"proved: {facts['statement']}{about}")
    else:
        print_text(f"refused: {facts['why']}")
    return Status.DONE if holds else Status.DISPROVED
