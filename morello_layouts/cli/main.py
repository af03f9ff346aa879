"""The command `morello-layouts`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

import click

import morello_layouts
from morello_layouts.cli.certificate_commands import check
from morello_layouts.cli.compiler_commands import tpu_compile
from morello_layouts.cli.formula_commands import code, convert, relayout, simplify
from morello_layouts.cli.gpu_commands import banks, fragments
from morello_layouts.cli.layout_commands import default, draw, explain, shards
from morello_layouts.cli.options import Status, error_in_options
from morello_layouts.cli.program_commands import explore, hlo, memory, oom
from morello_layouts.cli.proof_commands import agree, bitcast, equal, prove
from morello_layouts.cli.sharding_commands import reshard
from morello_layouts.cli.terminal import print_error
from morello_layouts.errors import LayoutError

NAME = "morello-layouts"

_INTERRUPTED: Final = 130  # a shell's status for Ctrl-C
_BROKEN_PIPE: Final = 141  # a shell's status for a closed pipe

_GROUPS: Final[dict[str, tuple[click.Command, ...]]] = {
    "Layouts": (explain, draw, convert, default, shards),
    "Proofs": (prove, equal, bitcast, agree, check),
    "Formulas and code": (simplify, code, relayout),
    "GPUs": (banks, fragments),
    "Devices": (reshard,),
    "Programs": (hlo, memory, oom, tpu_compile),
    "Browser": (explore,),
}


class _Commands(click.Group):
    """Commands that return their status; their errors are lines on standard error."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            status = super().invoke(ctx)
        except LayoutError as error:
            command = self.commands.get(ctx.invoked_subcommand or "", self)
            print_error(error_in_options(error, command))
            status = Status.BAD_INPUT
        except BrokenPipeError:  # click would end with 1, which means disproved
            _discard_output()
            status = _BROKEN_PIPE
        ctx.exit(status)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their groups."""
        width = max(map(len, self.commands))
        for title, group in _GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [((each.name or "").ljust(width), each.get_short_help_str(80))
                     for each in group]
                )  # fmt: skip


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 96},
    epilog="""\b
Exit status: 0 done or proved, 1 disproved, 2 bad input, 3 undecided.

\b
Examples:
  morello-layouts explain "bf16[10,200]{1,0:T(8,128)(2,1)}"
  morello-layouts explain "[1, 0, 1 p(4)]" --shape 6x8
  morello-layouts draw "f32[3,5]{1,0:T(2,2)}" -o figure.svg
  morello-layouts convert "[1, 0, 1 p(4)]" --shape 6x8 --to xla
  morello-layouts equal "f32[6,8]{1,0:T(6,4)}" "[1, 0, 1 p(4)]"
  morello-layouts code "f32[3,5]{1,0:T(2,2)}" --target c --function
  morello-layouts hlo module.after_optimizations.txt --top 5
""",
)
@click.version_option(morello_layouts.__version__, prog_name=NAME)
def commands() -> None:
    """Explain, prove, draw and convert tensor memory layouts, and write code for them."""


for _group in _GROUPS.values():
    for _command in _group:
        commands.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and end the process with its status."""
    sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    # Sizes of many dimensions multiply to numbers of more digits than Python prints by default.
    sys.set_int_max_str_digits(0)
    try:
        status = commands.main(arguments, prog_name=NAME, standalone_mode=False)
        if sys.stdout is not None:  # None if the process was started with it closed
            sys.stdout.flush()
    except click.ClickException as error:
        error.show()
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


def _discard_output() -> None:
    """Keep the interpreter from writing the rest of the buffer, which would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
