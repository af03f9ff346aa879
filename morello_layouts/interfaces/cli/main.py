"""The command `morello-layouts`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NoReturn

import click

import morello_layouts
from morello_layouts.core.lazy import regex
from morello_layouts.errors import LayoutError
from morello_layouts.interfaces.cli.table import NAME, ROWS
from morello_layouts.interfaces.cli.terminal import Status, error_in_options, print_error
from morello_layouts.interfaces.questions import QUESTIONS, answering

SHORT = "mlay"

_INTERRUPTED: Final = 130  # a shell's status for Ctrl-C
_BROKEN_PIPE: Final = 141  # a shell's status for a closed pipe


class _Commands(click.Group):
    """Commands that load when they run, and return their status; errors are lines of text."""

    @property
    def commands(self) -> dict[str, click.Command]:
        return {name: _command(name) for name in ROWS}

    @commands.setter
    def commands(self, _: object) -> None:
        """Leave the table as it is; click begins with an empty one."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(ROWS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        return _command(name) if name in ROWS else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if meant := answering(args[0], command=True):
                raise click.UsageError(f"No such command {args[0]!r}. Use {meant}.", ctx) from error
            raise

    def invoke(self, ctx: click.Context) -> Any:
        try:
            status = super().invoke(ctx)
        except LayoutError as error:
            command = self.get_command(ctx, ctx.invoked_subcommand or "") or self
            print_error(error_in_options(error, command))
            status = Status.BAD_INPUT
        except BrokenPipeError:  # click would end with 1, which means disproved
            _discard_output()
            status = _BROKEN_PIPE
        ctx.exit(status)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their groups."""
        width = max(map(len, ROWS))
        for title, group in QUESTIONS.items():
            names = " ".join(question.commands for question in group).split()
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), ROWS[name].does) for name in names])


@cache
def _command(name: str) -> click.Command:
    from morello_layouts.interfaces.cli.command import Command

    return Command(ROWS[name])


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 96},
    epilog="""\b
Exit status: 0 done or proved, 1 disproved, 2 bad input, 3 undecided.

\b
mlay is short for morello-layouts. Tab completes commands, options, notations and files after
  eval "$(_MLAY_COMPLETE=bash_source mlay)"    # or zsh_source
  _MLAY_COMPLETE=fish_source mlay | source

\b
Examples:
  morello-layouts explain "bf16[10,200]{1,0:T(8,128)(2,1)}"
  morello-layouts explain "[1, 0, 1 p(4)]" --shape 6x8
  morello-layouts draw "f32[3,5]{1,0:T(2,2)}" -o figure.svg
  morello-layouts convert "[1, 0, 1 p(4)]" --shape 6x8 --to xla
  morello-layouts equal "f32[6,8]{1,0:T(6,4)}" "[1, 0, 1 p(4)]"
  morello-layouts code "f32[3,5]{1,0:T(2,2)}" --language c --function
  morello-layouts hlo module.after_optimizations.txt --top 5
""",
)
@click.version_option(morello_layouts.__version__, prog_name=NAME)
def commands() -> None:
    """Explain, prove, draw and convert tensor memory layouts, and write code for them."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and end the process with its status."""
    sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    # Sizes of many dimensions multiply to numbers of more digits than Python prints by default.
    sys.set_int_max_str_digits(0)
    try:
        called = Path(sys.argv[0]).stem  # completion asks by the name that was typed
        name = SHORT if arguments is None and called == SHORT else NAME
        status = commands.main(arguments, prog_name=name, standalone_mode=False)
        if sys.stdout is not None:  # None if the process was started with it closed
            sys.stdout.flush()
    except click.ClickException as error:
        fix = _placed(error) if isinstance(error, click.UsageError) else None
        if fix and isinstance(error, click.NoSuchOption):
            error = click.NoSuchOption(error.option_name, ctx=error.ctx)  # without a guess
        error.show()
        if fix:
            print_error(fix)
        return Status.BAD_INPUT
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except BrokenPipeError:  # the reader of the output has ended
        _discard_output()
        return _BROKEN_PIPE
    except OSError as error:
        _discard_output()
        print_error(f"the output could not be written\n{error}\nwrite it to another place")
        return Status.BAD_INPUT
    return status if isinstance(status, int) else Status.DONE


_VALUES: Final = {"--bounds": regex("[<>=]"), "--shape": regex(r"^(?=.*\w[x,]\w)[\w,]+$")}


def _placed(error: click.UsageError) -> str | None:
    """Say where a value goes that stood in the wrong place, or what a missing one looks like."""
    command = error.ctx.command if error.ctx else click.Command(None)
    if isinstance(error, click.MissingParameter):
        if isinstance(error.param, click.Option):
            return (
                f"write {error.param.opts[0]} {error.param.metavar or 'VALUE'}: {error.param.help}"
            )
        example = re.search(r"^ *morello-layouts .*", command.epilog or "", re.MULTILINE)
        return example and f"write for example {example[0].strip()}"
    options = [name for param in command.params for name in param.opts]
    if isinstance(error, click.NoSuchOption) and error.ctx:
        if error.option_name == "--bounds" and "--assuming" in options:
            return 'write --assuming "M % 8 == 0, N <= 128"'
        values = re.findall(r"\w+", " ".join(command.collect_usage_pieces(error.ctx)))
        is_value = error.option_name[2:].upper() in values
        return f"write the value without {error.option_name}" if is_value else None
    extra = re.search(r"unexpected extra arguments? \((.*)\)$", error.message)
    parts = [part for part in extra[1].split() if part[:2] != "--"] if extra else []
    for option, value in _VALUES.items():
        if parts and option in options and all(map(value.search, parts)):
            between = "," if option == "--bounds" else " "
            return f'write {option} "{between.join(part.strip(between) for part in parts)}"'
    return "write a text that has spaces in quotes" if parts else None


def _discard_output() -> None:
    """Keep the interpreter from writing the rest of the buffer, which would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
