"""Calls of Python and C++ in a text: a name, and values in brackets, some of them with a name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from morello_layouts.core.limits import EXPR_NESTING
from morello_layouts.errors import ParseError
from morello_layouts.notations.grammar import Source, Terminal, Token, integer

NAME: Final = Terminal("a name", r"[A-Za-z_]\w*(?:(?:::|\.)[A-Za-z_]\w*)*")
STRING: Final = Terminal("a text in quotes", r"'[^'\n]*'|\"[^\"\n]*\"")
_CLOSING: Final = {"(": ")", "<": ">", "[": "]", "{": "}"}
BRACKETS: Final = ("()", "[]", "{}")
"""The names of brackets without one."""


@dataclass
class Written:
    """A call in a text, a type with parameters, brackets or a bare name: values, some named."""

    name: str  #: without the namespaces; of brackets they themselves.
    values: list[Any] = field(default_factory=list)
    keys: dict[str, Any] = field(default_factory=dict)
    start: int = 0  #: where it begins in the text.
    is_bare: bool = False  #: whether it is a name alone.

    def get(self, name: str, place: int | None = None, default: Any = None) -> Any:
        """Return what was given by name, else by place, else the default."""
        at_place = place is not None and place < len(self.values)
        return self.keys.get(name, self.values[place] if at_place else default)  # type: ignore[index]

    def __str__(self) -> str:
        return self.name


class CallReader:
    """Reads values from a source: numbers, texts in quotes, and calls of any depth."""

    def __init__(
        self, source: Source, number: Terminal, after: str = "(", signs: tuple[str, ...] = ()
    ) -> None:
        """Begin to read.

        Args:
            source: the text.
            number: what is a number.
            after: the brackets that may follow a name.
            signs: what stands for a value like a name, such as ``*``.
        """
        self.source, self._number, self._after, self._signs = source, number, after, signs

    def value(self, depth: int = 0, token: Token | None = None) -> Any:
        """Return a value, whose first token may have been read."""
        token = token or self.source.need(self._number, STRING, NAME, *self._signs, "(", "[", "{")
        if token.kind is self._number:
            return integer(token, self.source.text)
        if token.kind is STRING:
            return str(token)[1:-1]
        if depth > EXPR_NESTING:
            what, text = f"brackets nest deeper than {EXPR_NESTING}", self.source.text
            raise ParseError(what, self.source.syntax.form, self.source.syntax.example,
                             text=text, position=token.start)  # fmt: skip
        if token in _CLOSING:
            found = Written(token + _CLOSING[token], start=token.start)
            self._fill(found, _CLOSING[token], depth)
            return found
        name = token.rpartition("::")[2].rpartition(".")[2]
        found = Written(name, start=token.start, is_bare=True)
        while token.kind is NAME and (opening := self.source.take(*self._after)):
            found.is_bare = False
            self._fill(found, _CLOSING[opening], depth)
        return found

    def _fill(self, call: Written, close: str, depth: int) -> None:
        self.source.series(lambda: self.argument(call, depth + 1), close, trailing=True)

    def argument(self, call: Written, depth: int = 0) -> None:
        """Read a value of a call or of brackets, with its name if it has one."""
        name = self.source.take(NAME, STRING)
        if name is None or not self.source.take("=" if name.kind is NAME else ":"):
            call.values.append(self.value(depth, name))
            return
        key = name.strip("'\"")
        if key in call.keys:
            what, why = f"{key} is given twice", "a name has one value"
            text, at = self.source.text, name.start
            raise ParseError(what, why, "leave one out", text=text, position=at)
        call.keys[key] = self.value(depth)
