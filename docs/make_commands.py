"""The reference of the command: the help, options, examples and JSON of click's commands."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Final

import click

from morello_layouts.interfaces.cli.main import NAME, SHORT, commands

HEAD: Final = f"""# The command

`{NAME} COMMAND --help` prints the same. `{SHORT}` is short for `{NAME}`.

Tab completes commands, options, notations, targets, generations and files after this line
in the shell's start-up file:

```sh
eval "$(_MLAY_COMPLETE=bash_source mlay)"    # bash; in zsh: zsh_source
_MLAY_COMPLETE=fish_source mlay | source     # fish
```
"""


def epilog_parts(epilog: str) -> Iterator[str]:
    r"""Yield the parts of an epilog as Markdown: examples as code, the rest as paragraphs."""
    for part in re.split(r"\x08\n|\n(?=JSON|Exit status:|[A-Z][a-z]+ )", inspect.cleandoc(epilog)):
        title, _, rest = part.strip().partition(":")
        if title == "Examples":
            lines = [line.strip() for line in rest.splitlines()]
            yield "Examples:\n\n```sh\n" + "\n".join(line for line in lines if line) + "\n```"
        elif part.strip():
            text = escaped(" ".join(part.split()))
            yield re.sub(r"^(JSON|Exit status)", r"**\1**", text)


def escaped(text: str) -> str:
    """Return text that Markdown shows literally, with options as code."""
    literal = re.sub(r"([*_<>|\[\]`])", r"\\\1", text)
    return re.sub(r"(?<!\S)(--?[a-z][a-z-]*)", r"`\1`", literal)


def rows(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the rows of the table of options."""
    for option in command.get_params(context):
        if isinstance(option, click.Option):
            name = ", ".join([*option.opts, *option.secondary_opts])
            yield f"| `{name}{value_of(option)}` | {escaped(option.help or '')}{limits(option)} |"


def value_of(option: click.Option) -> str:
    """Return the placeholder for the value of an option."""
    if option.is_flag or option.count:
        return ""
    if isinstance(option.type, click.Choice):
        return f" {(option.name or '').upper()}"
    return f" {option.metavar or option.type.name.split()[0].upper()}"


def limits(option: click.Option) -> str:
    """Return the choices, the smallest value and the default of an option."""
    parts = []
    if isinstance(option.type, click.Choice):
        parts.append(", ".join(f"`{choice}`" for choice in option.type.choices))
    if isinstance(option.type, click.IntRange) and option.type.min is not None:
        parts.append(f"from {option.type.min}")
    if option.show_default and not option.is_flag:
        parts.append(f"default `{option.default}`")
    return f" ({'; '.join(parts)})" if parts else ""


def command_text(name: str, command: click.Command) -> str:
    """Return the section of one command."""
    # As in a process: click keeps the help option that it makes first.
    context = click.Context(command, info_name=f"{NAME} {name}", **commands.context_settings)
    usage = f"{NAME} {name} {' '.join(command.collect_usage_pieces(context))}"
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    words = [escaped(" ".join(paragraph.split())) for paragraph in paragraphs]
    parts = [
        f"## {name}",
        f"```text\n{usage}\n```",
        *words,
        "\n".join(["| option | meaning |", "| --- | --- |", *rows(command, context)]),
        *epilog_parts(command.epilog or ""),
    ]
    return "\n\n".join(parts)


def page() -> str:
    """Return the whole page."""
    parts = epilog_parts(commands.epilog or "")
    general = [part for part in parts if not part.startswith(("Examples", "mlay"))]
    every = [command_text(name, command) for name, command in sorted(commands.commands.items())]
    return "\n\n".join([HEAD.strip(), *general, *every]) + "\n"
