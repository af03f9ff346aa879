"""Rules of a text: each reads a part, writes it again, and knows where the part stands.

**How to write a notation.** A layout is a frozen value (``fields.frozen``) whose fields check
themselves; its text is a rule for the value, made of rules for the fields. Nothing else reads or
prints it, and nobody places a caret: if the value refuses a field, or an item of it, the caret
stands under the text that gave it.

>>> from morello_layouts.core.fields import checked, frozen, number, several
>>> @frozen
... class Blocked:
...     order: tuple[int, ...]  #: dimensions, the slowest varying first
...     tile: tuple[int, ...] = checked(several(number(1), "give sizes"), default=())  #: elements
>>> rule = made(
...     Blocked,
...     "[",
...     field("order", many(NUMBER, ",")),
...     "]",
...     field("tile", "T(", many(NUMBER, ",", ")"), default=()),
... )
>>> grammar = Syntax("a blocked layout is [order]T(tile)", "write for example [1,0]T(8,128)")
>>> rule.parse("[1, 0]", grammar)
Blocked(order=(1, 0), tile=())
>>> rule.write(Blocked((1, 0), (8, 128)))
'[1,0]T(8,128)'
>>> rule.parse("[1, 0] T(8, 0)", grammar)
Traceback (most recent call last):
morello_layouts.errors.ParseError: tile[1]: expected an integer from 1, got 0
  [1, 0] T(8, 0)
              ^
give an int from 1

1. *Value.* ``@frozen`` in ``layout.py`` of the notation's folder (or in its only module, if it has
   one value). A field that can be wrong has a kind, ``checked(kind)``: one of those in ``fields``,
   or a function of what was given, its name and its place. What concerns two fields stands in
   ``__post_init__``, and names its field in ``part=``. A field's words stand beside it: ``#:``.
2. *Three hands.* ``recipe`` and ``reference`` are methods of the value, a function after
   it is the third, in integers alone; none calls what another calls. An override has no docstring.
3. *Text.* In ``text.py`` (or the only module): the rules, a ``Syntax`` for its errors, and a
   function that reads. A sign in quotes is read and written, a ``Terminal`` only read; :func:`word`
   is a token, :func:`many` items in a row, :func:`field` what belongs to a field (its first rule
   gives the value; a default is neither needed nor written), :func:`group` optional fields after a
   sign, :func:`made` a value, :func:`either` the first of several words, :func:`row` signs around a
   rule. A rule can also be written by hand: ``Rule(read, write)``; :func:`collected` is the rule of
   a value whose fields a function reads. ``__str__`` of the value is ``rule.write(self)``.
   ``grammar.Defining`` is a text with aliases.
4. *Words* (``describe``) stand with the text. *Row* of the table in ``registry``, tests as in
   ``tests/notations/xla``: wrong texts with carets, the notation's own system as judge, bugs
   planted (``tests/support/planted_bugs.py``).

**How it works.** A rule is a pair of functions, made once when the module loads. A text is read
without a note of places. If a value refuses what was read, its part of the text is read once more,
with places, and the error says which one is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeAlias

from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.notations.grammar import (
    END,
    INT,
    SPACES,
    Places,
    Source,
    Syntax,
    Terminal,
    Token,
    at_part,
    integer,
)

ABSENT: Final = object()
"""What a rule reads where an optional part is not there."""


class Note:
    """Where parts of a value stand: what is read now is at a path of it."""

    __slots__ = ("path", "places")

    def __init__(self, places: Places, path: tuple[str | int, ...] = ()) -> None:
        self.places, self.path = places, path

    def part(self, name: str | int) -> Note:
        return Note(self.places, (*self.path, name))

    def mark(self, start: int) -> None:
        """Say where the part stands, if that is not said yet."""
        self.places.setdefault(self.path, start)


Value: TypeAlias = Callable[[Token, str], Any]


class Rule(NamedTuple):
    """What reads a part of a text, and what writes it."""

    #: reads from a source, takes notes if there are some to take, and returns the value, or ABSENT
    #: if the part is neither there nor needed.
    read: Callable[[Any, Note | None, bool], Any]
    write: Callable[[Any], str] = str  #: returns the text of a value.
    #: of a rule of one token the token, and its value's function: many are read quickly.
    word: tuple[Terminal | str, Value | None] | None = None

    def parse(self, text: str, syntax: Syntax, skip: str = SPACES) -> Any:
        """Read a whole text; what matches ``skip`` may stand between tokens."""
        source = Source(text, syntax, skip)
        value = self.read(source, None, True)
        source.end()
        return value


class Sign(Terminal):
    """A sign that errors describe in words, or that fits only before something.

    Attributes:
        text: how it is written.
        quiet: whether errors leave it out where a text ends or closes too early.
    """

    __slots__ = ("quiet", "text")

    def __init__(self, text: str, words: str, pattern: str, *, quiet: bool = False) -> None:
        super().__init__(words, pattern)
        self.text: Final = text
        self.quiet: Final = quiet


class FieldRule(NamedTuple):
    """A field of a value: its pieces, and the default for which nothing is written."""

    name: str
    pieces: tuple[Rule | str | Terminal, ...]
    default: Any


class Group(NamedTuple):
    """Optional fields after a sign: some of them, or neither they nor the sign."""

    sign: str
    fields: tuple[FieldRule, ...]


Piece: TypeAlias = Rule | FieldRule | Group | str | Terminal


def either(
    *words: tuple[Terminal | str, Value | Rule],
    written: Callable[[Any], str] = str,
    quiet: bool = False,
) -> Rule:
    """Return the rule of one of several tokens: the first that fits, and its value.

    Args:
        words: pairs of a token, and a function of the token found and the whole text; or the rule
            of what follows it.
        written: the text of a value.
        quiet: whether errors leave them out where a text ends or closes too early.
    """
    tokens, values = [token for token, _ in words], dict(words)

    def read(source: Source, note: Note | None, must: bool) -> Any:
        found = source.need(*tokens) if must else source.take(*tokens, optional=quiet)
        if found is None:
            return ABSENT
        if note is not None:
            note.mark(found.start)
        value = values[found.kind]
        if isinstance(value, Rule):
            return value.read(source, note, True)
        return value(found, source.text)

    return Rule(read, written)


def word(
    token: Terminal | str, value: Value | None = None, written: Callable[[Any], str] = str
) -> Rule:
    """Return the rule of a token; its value is a function of the token and the whole text."""

    def read(source: Source, note: Note | None, must: bool) -> Any:
        found = source.need(token) if must else source.take(token)
        if found is None:
            return ABSENT
        if note is not None:
            note.mark(found.start)
        return value(found, source.text) if value else str(found)

    return Rule(read, written, (token, value))


NUMBER: Final = word(INT, integer)


def choice(*rules: Rule, written: Callable[[Any], str] = str) -> Rule:
    """Return the rule of what one of several rules reads, the first that begins."""
    reads = [rule.read for rule in rules]

    def read(source: Source, note: Note | None, must: bool) -> Any:
        for read_rule in reads:
            if (found := read_rule(source, note, False)) is not ABSENT:
                return found
        return source.fail() if must else ABSENT

    return Rule(read, written)


def many(
    item: Rule,
    between: str | Sign = "",
    close: str = "",
    *,
    least: int = 0,
    trailing: bool = False,
) -> Rule:
    """Return the rule of items in a row, up to a closing sign or as long as they begin.

    If it is ``trailing``, the sign between items may also stand after the last one.
    """
    read_item, written, one_word = item
    comma = between.text if isinstance(between, Sign) else between

    def closed(source: Source, note: Note | None, _: bool) -> Any:
        found: list[Any] = []
        while len(found) < least or not source.take(close):
            if found:
                source.need(between)
                if trailing and source.take(close):
                    break
            found.append(read_item(source, note and note.part(len(found)), True))
        return tuple(found)

    def begun(source: Source, note: Note | None, must: bool) -> Any:
        found: list[Any] = []
        must = must and least > 0
        while (one := read_item(source, note and note.part(len(found)), must)) is not ABSENT:
            found.append(one)
            if between and not source.take(between):
                break
            must = bool(between) or len(found) < least
        return tuple(found) if len(found) >= least else ABSENT

    def words(source: Source, note: Note | None, _: bool) -> Any:
        token, value = one_word or ("", None)
        found: list[Any] = []
        while (one := source.take(token)) is not None:
            if note is not None:
                note.part(len(found)).mark(one.start)
            found.append(value(one, source.text) if value else str(one))
        return tuple(found)

    if one_word and not (between or close or least):
        return Rule(words, lambda value: "".join(map(written, value)))
    return Rule(closed if close else begun, lambda value: comma.join(map(written, value)) + close)


def row(*pieces: Rule | str | Terminal) -> Rule:
    """Return the rule of signs around a rule, which gives the value."""
    read_all, write = _pieces(pieces)

    def read(source: Source, note: Note | None, must: bool) -> Any:
        fields: dict[str, Any] = {}
        start = source.at
        if not read_all(source, note, must, fields):
            return ABSENT
        if note is not None:
            note.mark(start)
        return fields[""]

    return Rule(read, write)


def field(name: str, *pieces: Rule | str | Terminal, default: Any = ABSENT) -> FieldRule:
    """Return a field: signs, and the rule of its value; one that has a default may be missing.

    Without a name what is read is dropped.
    """
    return FieldRule(name, pieces, default)


def group(sign: str, *fields: FieldRule) -> Group:
    """Return optional fields after a sign, in their order."""
    return Group(sign, fields)


def made(make: Callable[..., Any], *pieces: Piece) -> Rule:
    """Return the rule of a value that is made of the fields among some pieces.

    If it refuses a part, the error has a caret there. After END it is made only if nothing follows.
    """
    return _made(make, *_pieces(pieces))


def collected(make: Callable[..., Any], read: Callable[[Any, Note | None, bool], Any]) -> Rule:
    """Return the rule of a value that is made of the fields which a function reads by name."""

    def read_all(source: Source, note: Note | None, must: bool, fields: dict[str, Any]) -> bool:
        found = read(source, note, must)
        if found is not ABSENT:
            fields.update(found)
        return found is not ABSENT

    return _made(make, read_all, str)


def _made(make: Callable[..., Any], read_all: _Step, write: Callable[[Any], str]) -> Rule:
    def read(source: Source, note: Note | None, must: bool) -> Any:
        fields: dict[str, Any] = {}
        start = source.at
        if not read_all(source, note, must, fields):
            return ABSENT
        if note is not None:
            note.mark(start)
        fields.pop("", None)
        try:
            return make(**fields)
        except ParseError:
            raise
        except LayoutError as error:
            places: Places = {}
            source.move(start)
            read_all(source, Note(places), True, {})
            raise at_part(error, source.text, places, start) from None

    return Rule(read, write)


_Step: TypeAlias = Callable[[Source, Note | None, bool, dict[str, Any]], bool]
"""Read a piece into fields; return whether it is there, or need not be."""


def _pieces(pieces: Iterable[Piece]) -> tuple[_Step, Callable[[Any], str]]:
    """Return what reads pieces one after the other, and what writes them."""
    steps, writers = zip(*map(_piece, pieces), strict=True)

    def read(source: Source, note: Note | None, must: bool, fields: dict[str, Any]) -> bool:
        for step in steps:
            if not step(source, note, must, fields):
                return False
            must = True
        return True

    return read, lambda value: "".join([write(value) for write in writers])


def _piece(piece: Piece) -> tuple[_Step, Callable[[Any], str]]:
    if isinstance(piece, FieldRule):
        return _field(piece)
    if isinstance(piece, Group):
        return _group(piece)
    if isinstance(piece, Rule):
        read_rule = piece.read

        def read(source: Source, note: Note | None, must: bool, fields: dict[str, Any]) -> bool:
            found = read_rule(source, note, must)
            fields[""] = found
            return found is not ABSENT

        return read, piece.write
    if piece is END:

        def end(source: Source, *_: Any) -> bool:
            source.end()
            return True

        return end, lambda _: ""
    quiet, text = getattr(piece, "quiet", False), getattr(piece, "text", piece)

    def sign(source: Source, _: Note | None, must: bool, __: dict[str, Any]) -> bool:
        found = source.need(piece) if must else source.take(piece, optional=quiet)
        return found is not None

    return sign, lambda _: text if isinstance(text, str) else ""


def _field(field: FieldRule) -> tuple[_Step, Callable[[Any], str]]:
    name, pieces, default = field
    is_optional = default is not ABSENT
    (first, *others), (read_all, write_all) = pieces, _pieces(pieces)
    read_rule = None if others or not isinstance(first, Rule) else first.read

    def read(source: Source, note: Note | None, must: bool, fields: dict[str, Any]) -> bool:
        inner, start, must = note and note.part(name), source.at, must and not is_optional
        if read_rule:
            fields[""] = read_rule(source, inner, must)
            is_there = fields[""] is not ABSENT
        else:
            is_there = read_all(source, inner, must, fields)
        if not is_there:
            return is_optional
        if inner is not None:
            inner.mark(start)
        fields[name] = fields[""]
        return True

    def write(value: Any) -> str:
        given = getattr(value, name, default)
        return "" if given == default else write_all(given)

    return read, write


def _group(group: Group) -> tuple[_Step, Callable[[Any], str]]:
    sign = group.sign
    steps, writers = zip(*map(_field, group.fields), strict=True)

    def read(source: Source, note: Note | None, _: bool, fields: dict[str, Any]) -> bool:
        for step in steps if source.take(sign) else ():
            step(source, note, False, fields)
        return True

    def write(value: Any) -> str:
        text = "".join([write(value) for write in writers])
        return text and sign + text

    return read, write
