"""Commands made of functions: arguments, options and help are those of the functions.

A value is read by the name of its parameter, or by its type.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple, TypeAlias, get_args

import click

import morello_layouts as ml
from morello_layouts.core.checks import as_permutation
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Arrays
from morello_layouts.core.lazy import regex
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.interfaces.cli import terminal
from morello_layouts.interfaces.cli.table import ALIASES, LEFT_OUT, NAME, SAID, Row
from morello_layouts.interfaces.cli.terminal import Answer, Status, status_of
from morello_layouts.notations import parse, parse_shape
from morello_layouts.notations.expression import values_by_name
from morello_layouts.notations.registry import NAMES, require_notation

File: TypeAlias = str
"""The path of a file."""

Log: TypeAlias = str
"""The text of a file."""

Shapes: TypeAlias = Sequence[Any]
"""The sizes of an array, or of several."""

Sizes: TypeAlias = str
"""The sizes of an array, as text."""

Natural: TypeAlias = int
"""A number from 0."""

Positive: TypeAlias = int
"""A number from 1."""

Tiles: TypeAlias = Mapping[str, Sequence[int]]
Order: TypeAlias = Sequence[int]


@frozen(slots=False)
class Kind:
    """How the values of an option are written."""

    metavar: str | None = None  #: an example, or a word, in the help.
    read: Callable[[Any], Any] = lambda text: text  #: what reads a text.
    adds_up: bool = False  #: whether the texts of several options are one text with commas.
    is_many: bool = False  #: whether each of several options is a value.
    type: Any = None  #: click's type.
    #: what the shell offers.
    complete: Callable[[click.Context, click.Parameter, str], list[Any]] | None = None

    def value(self, _ctx: click.Context, param: click.Parameter, given: Any) -> Any:
        """Return the value of an option, which errors name."""
        if given is None or given == ():
            return None
        try:
            if self.is_many:
                return [self.read(each) for each in given]
            return self.read(", ".join(given) if self.adds_up else given)
        except LayoutError as error:
            what = error.what if error.what.startswith("--") else f"{param.opts[0]}: {error.what}"
            raise LayoutError(what, error.why, error.fix) from None


def files(_ctx: click.Context, _param: click.Parameter, beginning: str) -> list[Any]:
    """Let the shell complete a file's name."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(beginning, type="file")]


def _generations(_ctx: click.Context, _param: click.Parameter, beginning: str) -> list[str]:
    from morello_layouts.machines.tpu_layouts import GENERATIONS

    return [name for name in GENERATIONS if name.startswith(beginning)]


_INDEX: Final = regex(r"[0-9]{1,19}")


def coordinate(text: str) -> tuple[int, ...]:
    """Read a coordinate.

    >>> coordinate("(6, 5)")
    (6, 5)
    """
    stripped = text.strip().removeprefix("(").removesuffix(")")
    parts = [part.strip() for part in stripped.split(",")] if stripped.strip(" ,") else []
    for part in parts:
        if _INDEX.fullmatch(part) is None:
            raise ShapeError(
                f"expected a coordinate, got {text!r}: {part!r} is not an index",
                "a coordinate is one index for each dimension, from 0, with commas between them",
                "write for example 6,5",
            )
    return tuple(map(int, parts))


sizes_at: Final = values_by_name(
    "[0-9]{1,19}", int, "name=number", "each symbolic size gets a number", "M=16,N=8"
)
mesh: Final = values_by_name(
    "[1-9][0-9]{0,18}", int, "an axis and its size",
    "a mesh has named axes, each with a number of devices", "data=2,model=4",
)  # fmt: skip
tiles: Final = values_by_name(
    "[1-9][0-9]{0,17}(?:/[1-9][0-9]{0,17}){0,9}",
    lambda sizes: tuple(map(int, sizes.split("/"))), "a coordinate and the size of a tile",
    "a size is a number from 1; smaller tiles within follow after a slash", "i=64,j=128/8",
)  # fmt: skip
indices: Final = values_by_name(
    "[^=,]{1,40}?", str, "pairs of names and values",
    "a pair is a name, = and a value; commas are between pairs", "i0=blockIdx.x",
)  # fmt: skip


def order(text: str) -> tuple[int, ...]:
    """Read an order of dimensions.

    >>> order("1,0")
    (1, 0)
    """
    parts = [part.strip() for part in text.strip().strip("()[]{}").split(",")]
    if not all(part.isdecimal() for part in parts):
        raise LayoutError(
            f"--transpose: expected an order of dimensions, got {text!r}",
            "a transpose names each dimension once, from 0",
            "write for example --transpose 1,0",
        )
    return as_permutation(list(map(int, parts)), "--transpose", fix="write for example 1,0")


NOTATION: Final = "morello_layouts.notation"
"""The key of the notation of all texts in click's context."""


def layout(ctx: click.Context, _param: click.Parameter, value: str | None) -> str | Arrays | None:
    """Return the text of a layout, or the layout if ``--notation`` says how to read it."""
    if value == "-":
        value = sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    elif value is not None and Path(value).suffix and os.path.isfile(value):
        raise LayoutError(
            f"expected a layout, got the name of a file: {value}",
            "the text of a layout is an argument; - reads it from standard input",
            "ask morello-layouts hlo FILE about a program, and oom FILE about a log",
        )
    notation = ctx.meta.get(NOTATION)
    return value if value is None or notation is None else parse(value, notation)


def keep_notation(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    """Keep the notation in which the texts are read."""
    ctx.meta[NOTATION] = None if value is None else require_notation(value)


def notations(_ctx: click.Context, _param: click.Parameter, beginning: str) -> list[str]:
    return [name for name in NAMES if name.startswith(beginning)]


LAYOUTS: Final = ("LayoutLike", "MapLike", "LayoutLike | HloInstruction | Record",
                  "LayoutLike | Record", "LayoutLike | Shape")  # fmt: skip
"""The types of layouts."""

_COORDINATE: Final = Kind("6,5", coordinate)

KINDS: Final = {
    # By the name of a parameter.
    "alternatives": Kind(type=click.IntRange(0)),
    "assuming": Kind('"M % 8 == 0"', adds_up=True),
    "bounds": Kind("i=0..31,j=0..31", adds_up=True),
    "generation": Kind("v5e", complete=_generations),
    "max_columns": Kind(type=click.IntRange(5)),
    "max_rows": Kind(type=click.IntRange(5)),
    "mesh": Kind("data=2,model=4", mesh, adds_up=True),
    "names": Kind("y,x"),
    "order": Kind("i,j"),
    "notation": Kind("NAME", complete=notations),
    "shapes": Kind("SHAPES", adds_up=True),
    "colour": Kind("UNIT"),
    "element_type": Kind("bf16"),
    "transpose": Kind("1,0", order),
    # By its type.
    "Bytes": Kind("BYTES"),
    "File": Kind("FILE", complete=files),
    "Iterable[Sequence[int]]": Kind("6,5", coordinate, is_many=True),
    "Log": Kind("FILE", lambda file: file.read(), type=click.File(errors="replace")),
    "Mapping[str, int]": Kind("M=16,N=8", sizes_at, adds_up=True),
    "Mapping[str, str]": Kind("i0=blockIdx.x", indices, adds_up=True),
    "Natural": Kind(type=click.IntRange(0)),
    "Order": Kind("1,0", order),
    "Positive": Kind(type=click.IntRange(1)),
    "Sequence[int]": _COORDINATE,
    "Sequence[int | None]": _COORDINATE,
    "Shape": Kind("6x8", parse_shape),
    "Shapes": Kind("6x8", parse_shape, is_many=True),
    "Tiles": Kind("i=64,j=128/8", tiles, adds_up=True),
    "int": Kind(type=int),
    "Sizes": Kind("6x8"),
    "str": Kind(),
}
"""The kinds of values, by the name of a parameter or by its type."""


class Option(click.Option):
    """An option that may be written in other ways, which the help does not list."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        shown, taken = self.opts, {each for param in ctx.command.params for each in param.opts}
        others = (f"--{other}" for other, name in ALIASES.items() if f"--{name}" in shown)
        self.opts = [*shown, *(each for each in others if each not in taken)]
        super().add_to_parser(parser, ctx)
        self.opts = shown


class Command(click.Command):
    """The command of a row of the table."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.public = [_public(name) for name in row.python.split(", ") if name]
        self.function = found_at(row.function) if row.function else self.public[0]
        self.parameters = _parameters(self.function, self.public)
        self.words = sentences(self.function, *self.public)
        params = [each for p in self.parameters for each in self._params(p)]
        if any(map(_is_layout, self.parameters)):
            names = ", ".join(NAMES)
            params.append(Option(
                ["--notation"], is_eager=True, expose_value=False, callback=keep_notation,
                metavar="NAME", shell_complete=notations,
                help=f"The notation of each text, if a text does not tell: {names}.",
            ))  # fmt: skip
        if row.saves:
            flags, words, *_ = SAVES[row.saves]
            params.append(Option([*flags, "saved_to"], metavar="FILE", help=words,
                                 shell_complete=files))  # fmt: skip
        params.append(Option(["--json", "as_json"], is_flag=True, help="Print JSON."))
        paragraphs = "\n\n".join(lead(self.function))
        super().__init__(row.name, params=params, callback=self.answer, help=paragraphs)
        self.ignore_unknown_options = "expr" in self.words  # which may begin with a minus

    def _params(self, p: inspect.Parameter) -> Iterator[click.Parameter]:
        """Yield the argument or the options of a parameter of the function."""
        type_name = str(p.annotation).removesuffix(" | None")
        kind = KINDS.get(p.name) or KINDS.get(type_name)
        typed = f"{p.name}: {type_name}"
        more: dict[str, Any] = {"required": p.default is p.empty}
        if p.kind is p.POSITIONAL_OR_KEYWORD and p.name != "shape":
            if _is_layout(p) or type_name == "ArrayText":
                more["callback"] = layout
            yield click.Argument(
                [p.name], nargs=-1 if type_name == "Sequence[str]" else 1, metavar=SAID.get(typed),
                type=kind.type if kind else None, shell_complete=kind.complete if kind else None,
                **more,
            )  # fmt: skip
            return
        flag = f"--{(SAID.get(typed) or SAID.get(p.name, p.name)).replace('_', '-')}"
        module = sys.modules[self.function.__module__]
        if p.name not in inspect.signature(self.function).parameters:
            module = sys.modules[self.public[0].__module__]
        is_known = kind is not None or type_name == "bool"
        choices = _choices(vars(module).get(type_name) if is_known else _named(type_name, module))
        if type_name == "Asked":  # the public functions behind the first answer one choice each
            for choice, asked in zip(choices, self.public[1:], strict=True):
                words = lead(asked)[0].replace("Decide whether", "Whether")
                first: dict[str, Any] = {"default": choice} if choice == p.default else {}
                yield Option([f"--{choice}", p.name], flag_value=choice, help=words, **first)
            return
        more["help"] = self.words.get(p.name)
        if p.default not in (p.empty, "", None, ()):
            more |= {"default": p.default, "show_default": type_name != "bool"}
        if type_name == "bool":
            flag = f"{flag}/--no-{flag[2:]}" if p.default else flag
            yield Option([flag, p.name], is_flag=True, **more)
        elif choices:
            yield Option([flag, p.name], type=click.Choice(choices, case_sensitive=False), **more)
        elif kind is not None:
            yield Option(
                [flag, p.name], type=kind.type, metavar=kind.metavar, callback=kind.value,
                multiple=kind.adds_up or kind.is_many, shell_complete=kind.complete, **more,
            )  # fmt: skip
        else:
            raise TypeError(f"{self.row.name}: KINDS does not say how {p.name} is written")

    @property
    def epilog(self) -> str:
        examples = [f"  {NAME} {self.row.name} {one}".rstrip() for one in self.row.examples]
        parts = ["\n".join(["\b", "Examples:", *examples]), *self.row.notes]
        found = {title: keys_text(text) for title, text in self.row.json.items()}
        if not found:
            module = sys.modules[self.function.__module__]
            found = {"": keys_of_types(types_in(self.function.__annotations__["return"], module))}
        parts += [f"JSON{title}: {keys}." for title, keys in found.items() if keys]
        return "\n\n".join([*parts, *([f"In Python: {self.row.python}."] if self.public else [])])

    @epilog.setter
    def epilog(self, _: object) -> None:
        """Leave it to the row."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse an option that is given twice, of which one value would be lost."""
        if not ctx.resilient_parsing:
            _, _, found = self.make_parser(ctx).parse_args(args=[*args])
            given = [each for each in found if isinstance(each, Option) and not each.multiple]
            for name, times in Counter(each.name for each in given).items():
                if times > 1:
                    flags = dict.fromkeys(each.opts[0] for each in given if each.name == name)
                    what = f"{' and '.join(flags)}: expected one, got {times}"
                    raise click.UsageError(f"{what}; all but one would be lost.", ctx)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments, too, with their words."""
        found = [each for each in self.params if isinstance(each, click.Argument)]
        rows = [(each.make_metavar(ctx), self.words.get(each.name or "", "")) for each in found]
        if found and found[0].callback is layout:
            rows[0] = (rows[0][0], f"{rows[0][1]} - reads it from standard input.")
        if rows:
            with formatter.section("Arguments"):
                formatter.write_dl(rows)
        super().format_options(ctx, formatter)

    def answer(self, as_json: bool, saved_to: str | None = None, **given: Any) -> Status:
        """Call the function, print its answer, and return the exit status."""
        defaults = {p.name: p.default for p in self.parameters}
        found = self.function(
            **{name: defaults[name] if x is None else x for name, x in given.items()}
        )
        if self.row.then:
            found = found_at(self.row.then)(found, saved_to)
        if found is None:
            return Status.DONE
        saved = SAVES[self.row.saves] if saved_to is not None else None
        if saved is not None and saved.instead:
            saved.write(found, str(saved_to), given)
        if as_json or saved is None or not saved.instead:
            terminal.print_answer(found, as_json=as_json)
        if saved is not None and not saved.instead:
            saved.write(found, str(saved_to), given)
        status = found.status if isinstance(found, Answer) else None
        return status or status_of(getattr(found, each, True) for each in self.row.verdicts)


def _public(name: str) -> Callable[..., Any]:
    found: Any = ml
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def _parameters(
    function: Callable[..., Any], public: list[Callable[..., Any]]
) -> list[inspect.Parameter]:
    """Return what is written on the command line; ``**more`` is the first public function's."""
    own = list(inspect.signature(function).parameters.values())
    if own[-1:] and own[-1].kind is inspect.Parameter.VAR_KEYWORD:
        more = inspect.signature(public[0]).parameters.values()
        names = {p.name for p in own}
        own[-1:] = [p for p in more if p.kind is p.KEYWORD_ONLY and p.name not in names]
    left_out = {*LEFT_OUT, *(["notation"] if any(map(_is_layout, own)) else [])}
    return [p for p in own if p.name not in left_out]


def _is_layout(p: inspect.Parameter) -> bool:
    return str(p.annotation).removesuffix(" | None") in LAYOUTS


def _choices(type_: Any) -> list[str]:
    """Return the values of a type that is a literal, or several."""
    values = (x for each in get_args(type_) for x in get_args(each) or (each,))
    return [x for x in values if isinstance(x, str)]


class Saved(NamedTuple):
    """How answers are written to files."""

    flags: tuple[str, ...]  #: the option.
    help: str  #: its words.
    #: writes an answer to a file, given the arguments.
    write: Callable[[Any, str, dict[str, Any]], None]
    instead: bool = True  #: whether the answer is then not printed too.


def _save_page(answer: Any, file: str, _given: object) -> None:
    if not hasattr(answer, "html"):
        raise LayoutError(
            "--html: expected none of an answer that has no pictures",
            "a page shows a report",
            "leave it out, or leave out the option that asks for something else",
        )
    terminal.write(file, answer.html())


def _save_picture(answer: Any, file: str, _given: object) -> None:
    answer.saves(file)
    terminal.say_written(file)


def _save_certificate(answer: Any, file: str, given: dict[str, Any]) -> None:
    first: Any = given.get("layout", given.get("a"))
    more = {name: given[name] for name in ("transpose", "assuming") if name in given}
    make = partial(ml.certificate, first, given.get("b"), given["shape"], **more)
    if answer.holds:
        claim = answer.claim.removeprefix("a ")  # a bitcast
        import json

        terminal.write(file, json.dumps(make(claim=claim), indent=1) + "\n")
        return
    terminal.print_error("no certificate is written, because the claim is not proved")
    if answer.claim in {"bijective", "surjective"}:
        with suppress(LayoutError):
            make(claim="injective")
            terminal.print_error("it is injective, which has a certificate: add --injective")


SAVES = {
    "output": Saved(("-o", "--output"), "Write to a file.",
                    lambda answer, file, _: terminal.write(file, f"{answer.text}\n")),
    "html": Saved(("--html",), "Write a page with pictures to a file.",
                  _save_page),
    "picture": Saved(("-o", "--output"), "Write x.svg, .html, .png, .pdf or .txt.", _save_picture),
    "certificate": Saved(("--certificate",), "If it is proved, write a certificate for 'check'.",
                         _save_certificate, instead=False),
}  # fmt: skip
"""The ways to write an answer to a file."""


_PARAMETER: Final = regex(r"^ {4}(\w+): (.+(?:\n {8,}\S.*)*)", re.MULTILINE)
_OTHER_FUNCTION: Final = regex(r",? (?:as|also) (?:for|of) (:func:)?`+[\w.]+`+")
_ROLE: Final = regex(r":\w+:`~?([\w.]+\.)?(\w+)`|``([^`]*)``")


def plain_text(text: str) -> str:
    r"""Return a docstring's text without its markup, in one line.

    >>> plain_text("the sizes of :class:`~a.Layout`,\n as for ``index_map``")
    'the sizes of Layout'
    """
    text = _OTHER_FUNCTION.sub("", " ".join(text.split()))
    return _ROLE.sub(lambda found: found[2] or found[3], text)


def sentence(text: str) -> str:
    """Return the first sentence of a parameter's words.

    >>> sentence("bits of a word. By default 32.")
    'Bits of a word.'
    """
    first = re.split(r"(?<!\.)[.;](?= |$)", plain_text(text), maxsplit=1)[0]
    return f"{first[:1].upper()}{first[1:]}."


def lead(function: Callable[..., Any]) -> list[str]:
    """Return the paragraphs of a docstring before its sections and examples."""
    text = re.split(r"\n(?:Args:\n|Returns:\n|Raises:\n|>>> )", inspect.getdoc(function) or "")[0]
    return [plain_text(each) for each in text.strip().split("\n\n") if not each.startswith("- ")]


def sentences(*functions: Callable[..., Any]) -> dict[str, str]:
    """Return a sentence about each parameter, that of an earlier function first."""
    found: dict[str, str] = {}
    for function in functions:
        _, _, sections = (inspect.getdoc(function) or "").partition("Args:\n")
        for name, words in _PARAMETER.findall(sections.partition("\n\n")[0]):
            found.setdefault(name, sentence(words))
    return found


def keys_text(spec: str) -> str:
    """Return the keys of JSON in words, those of nested objects in parentheses.

    >>> keys_text("text, *machines.resharding:ExchangeTotals, steps=core.expr.simplify:RewriteStep")
    'text, held, needed, kept, moved, condition, steps (rule, before, after, because)'
    """
    members: list[tuple[str, list[Any]]] = []
    for part in spec.split(", "):
        name, _, places = part.rpartition("=") if "=" in part else (part, "", "")
        kinds = [found_at(place) for place in (places or name[1:]).split("|") if ":" in place]
        spliced = [member for kind in kinds for member in _members(kind)]
        members += spliced if name.startswith("*") else [(name, kinds)]
    return ", ".join(_keys(members, {}))


def keys_of_types(kinds: list[Any]) -> str:
    """Return the keys of types together, as :func:`keys_text` does."""
    return ", ".join(_keys((member for kind in kinds for member in _members(kind)), {}))


def found_at(place: str) -> Any:
    """Return what lies at ``module:name``, of this room or of the whole package."""
    module, _, name = place.partition(":")
    own = "interfaces.cli." if module in ("layouts", "formulas", "programs") else ""
    return getattr(import_module(f"morello_layouts.{own}{module}"), name)


def _keys(members: Iterable[tuple[str, list[Any]]], seen: dict[Any, str]) -> list[str]:
    found: dict[str, list[Any]] = {}
    for name, inner in members:
        found.setdefault(name, []).extend(x for x in inner if x not in found.get(name, ()))
    words = []
    for name, inner in found.items():
        if known := next((seen[each] for each in inner if each in seen), None):
            words.append(f"{name} (as {known})")
            continue
        seen |= dict.fromkeys(inner, name)
        nested = _keys((member for kind in inner for member in _members(kind)), seen)
        words.append(f"{name} ({', '.join(nested)})" if inner else name)
    return words


def _members(kind: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield the keys of an object with the types of their values that are objects too."""
    if kind.__class__.__name__ == "_TypedDictMeta":
        for name, text in kind.__annotations__.items():
            yield name, types_in(str(getattr(text, "__forward_arg__", text)), _module(kind))
        return
    for key in getattr(kind, "json_keys", None) or ("*",):
        name, _, path = key.partition("=")
        if key == "*":
            names = [each.name for each in fields(kind)] if is_dataclass(kind) else kind._fields
            yield from ((each, _types_at(kind, each)) for each in names)
        elif key.startswith("*"):
            for inner in _types_at(kind, key[1:]):
                yield from _members(inner)
        else:
            yield name, _types_at(kind, path or name)


def _types_at(kind: Any, path: str) -> list[Any]:
    """Return the types of objects at a path of attributes."""
    first, _, rest = path.partition(".")
    for base in kind.__mro__:
        value = vars(base).get(first)
        function = getattr(value, "func", getattr(value, "fget", None))
        annotations = vars(base).get("__annotations__", {})
        text = annotations.get(first) if function is None else function.__annotations__["return"]
        if text is not None:
            found = types_in(str(text), _module(base), is_whole=not rest)
            return [x for each in found for x in _types_at(each, rest)] if rest else found
    return []


def types_in(text: str, module: ModuleType, *, is_whole: bool = True) -> list[Any]:
    """Return the classes that an annotation names, of which JSON is an object if ``is_whole``."""
    named = (_named(name, module) for name in re.findall(r"\b(?:\w+\.)?[A-Z]\w+", text))
    return [x for x in named if isinstance(x, type) and (not is_whole or _is_object(x))]


def _is_object(kind: Any) -> bool:
    if hasattr(kind, "json_keys") or kind.__class__.__name__ == "_TypedDictMeta":
        return True
    has_fields = is_dataclass(kind) or hasattr(kind, "_fields")
    return has_fields and kind.__str__ is object.__str__


def _named(name: str, module: ModuleType) -> Any:
    """Return what a name means in a module, also one that only type checkers import."""
    package, _, name = name.rpartition(".")
    module = vars(module).get(package, module)
    if name in vars(module):
        return vars(module)[name]
    place = _imported(module).get(name)
    return getattr(import_module(place), name) if place else None


@cache
def _imported(module: ModuleType) -> dict[str, str]:
    """Return the modules of the names that a module imports for type checkers."""
    statements = ast.parse(inspect.getsource(module)).body
    blocks = (each.body for each in statements if isinstance(each, ast.If))
    imports = [x for block in blocks for x in block if isinstance(x, ast.ImportFrom)]
    return {name.name: x.module or "" for x in imports for name in x.names}


def _module(kind: Any) -> ModuleType:
    return sys.modules[kind.__module__]
