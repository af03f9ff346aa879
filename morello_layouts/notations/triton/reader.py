"""Triton's text: encodings as MLIR prints them, types that have one, linear layouts in lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.limits import MAP_TEXT
from morello_layouts.notations.grammar import (
    INT,
    LINE_COMMENTS,
    NAME,
    Places,
    Source,
    Syntax,
    Terminal,
    Token,
    at_part,
    integer,
)
from morello_layouts.notations.triton.encoding import Encoding
from morello_layouts.notations.triton.layout import TritonLayout

_SYNTAX: Final = Syntax(
    form="an encoding has a kind and fields; a tensor's type has sizes, an element type, encoding",
    example="write for example #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, "
    "order = [1, 0]}>",
    longest=MAP_TEXT,
)

_TYPE: Final = Terminal("a type", r"tensor\b|!(ttg|triton_gpu|tt)\.memdesc\b")
_DIM: Final = Terminal("a size and 'x'", "[0-9]+x")
_ELEMENT: Final = Terminal("an element type", "[A-Za-z][A-Za-z0-9]*")
_EXTRA: Final = Terminal(
    "a memory space", r"#(ttg|triton_gpu)\.shared_memory|mutable|[0-9]+(x[0-9]+)*"
)
_KIND: Final = Terminal("an encoding", r"#(ttg|triton_gpu)\.[A-Za-z_0-9]+")
_ALIAS: Final = Terminal("an alias", "#[A-Za-z_][A-Za-z0-9_$]*(?![A-Za-z0-9_$.])")
_LEAF: Final = re.compile(r"[^\[\s]")
_FLAG: Final = Terminal("true or false", r"(true|false)\b")
# LinearLayout::toString writes "- lane=1 -> (0, 2)", "lane=2 -> (0, 4)" and so on.
_ONE: Final = Terminal("'is a size 1 dimension'", r"is\s+a\s+size\s+1\s+dimension")
_WHERE: Final = Terminal("'where out dims are:'", r"where\s+out\s+dims\s+are\s*:")

_HOPPER: Final = {"hasLeadingOffset", "vec", "perPhase", "maxPhase", "order"}

# What older versions called an encoding or a field.
_OLD_KINDS: Final = {"shared": "swizzled_shared", "mma": "nvidia_mma", "mfma": "amd_mfma"}
_OLD_FIELDS: Final = {
    ("amd_mfma", "versionMajor"): "version",
    ("amd_mfma", "versionMinor"): "",
    ("amd_wmma", "isTransposed"): "isTranspose",
    ("amd_mfma", "isTranspose"): "isTransposed",
    ("padded_shared", "intervals"): "paddings",
}


def parse_triton(text: str) -> TritonLayout:
    """Parse an encoding of Triton, or a type with one."""
    return _Reader(text).layout()


class _Reader:
    """Read values, and remember the place of each part in the text."""

    def __init__(self, text: str) -> None:
        self.text, self.source = text, Source(text, _SYNTAX, LINE_COMMENTS)
        self.aliases: dict[str, Encoding] = {}

    def error(self, what: str, fix: str, position: int, why: str = "") -> ParseError:
        reached = self.source.at  # what comes behind may be wrong, too
        return ParseError(what, why, fix, text=self.text, position=position, reached=reached)

    def layout(self) -> TritonLayout:
        source = self.source
        found = None
        while alias := source.take(_ALIAS):
            if alias in self.aliases:
                raise self.error(f"{alias} is defined twice", "rename one", alias.start)
            source.need("=")
            found = TritonLayout(self.encoding(source.need(_KIND)))
            self.aliases[str(alias)] = found.encoding
        if start := source.take(_KIND, _TYPE, "{", "-", NAME):
            if start.kind is _KIND:
                found = TritonLayout(self.encoding(start))
            else:
                found = self.typed(start) if start.kind is _TYPE else self.linear(start)
        source.end()
        if found is None or (start is None and len(self.aliases) > 1):
            fix = "write for example tensor<32x32xf16, #blocked>"
            raise self.error("expected a type after the encodings", fix, len(self.text.rstrip()))
        return found

    def typed(self, kind: Token) -> TritonLayout:
        """Read a type behind its word."""
        source = self.source
        source.need("<")
        sizes = [source.need(_DIM)]
        while size := source.take(_DIM):
            sizes.append(size)
        name = source.need(_ELEMENT, "!tt.ptr")
        element = str(name) if name.kind is _ELEMENT else self.pointer(name)
        source.need(",")
        attribute = source.need(_KIND, _ALIAS)
        encoding = self.encoding(attribute) if attribute.kind is _KIND else self.alias(attribute)
        after: list[str] = []
        while source.take(","):
            after.append(str(source.need(_EXTRA)))
        source.need(">")
        if encoding.is_memory == (kind == "tensor"):
            what = f"a {kind} has no encoding {encoding.kind}"
            why = "a tensor lies in registers, a memdesc in shared memory"
            fix = f"write {'!ttg.memdesc' if encoding.is_memory else 'tensor'}"
            raise self.error(what, fix, kind.start, why)
        places: Places = {("element_type",): name.start, ("shape",): sizes[0].start}
        shape = tuple(integer(size[:-1], self.text, size.start) for size in sizes)
        try:
            return TritonLayout(encoding, shape, element, tuple(after))
        except LayoutError as error:
            raise at_part(error, self.text, places, places["shape",]) from None

    def pointer(self, name: Token) -> str:
        source = self.source
        source.need("<")
        pointed = [source.need(_ELEMENT)]
        if source.take(","):
            pointed.append(source.need(INT))
        source.need(">")
        return f"{name}<{', '.join(pointed)}>"

    def encoding(self, kind: Token) -> Encoding:
        """Read an encoding behind its kind."""
        source = self.source
        name = kind.partition(".")[2]
        name = _OLD_KINDS.get(name, name)
        places: Places = {("kind",): kind.start}
        fields: list[tuple[str, Any]] = []
        source.need("<")
        if source.take("["):
            places["paddings",] = kind.start + len(kind)
            fields.append(("paddings", self.items(self.padding, "paddings", places)))
        source.need("{")
        fields += source.series(lambda: self.field(name, places), "}")
        while source.take(","):
            fields.append(self.field(name, places))
        source.need(">")
        fields = [(field, value) for field, value in fields if field]
        return self.made(*self.modern(name, fields), places, kind.start)

    def padding(self) -> tuple[int, int]:
        interval = self.source.need(INT)
        self.source.need(":")
        self.source.need("+")
        return integer(interval, self.text), integer(self.source.need(INT), self.text)

    def items(self, read: Callable[[], Any], key: str, places: Places) -> tuple[Any, ...]:
        """Read a list behind its bracket, and remember where its items stand."""
        starts: list[int] = []

        def item() -> Any:
            leaf = _LEAF.search(self.text, self.source.at)
            starts.append(leaf.start() if leaf else self.source.at)
            return read()

        found = tuple(self.source.series(item, "]"))
        places |= {(key, k): start for k, start in enumerate(starts)}
        return found

    def made(
        self, kind: str, fields: list[tuple[str, Any]], places: Places, start: int
    ) -> Encoding:
        try:
            return Encoding(kind, tuple(fields))
        except LayoutError as error:
            raise at_part(error, self.text, places, start) from None

    def modern(self, kind: str, fields: list[tuple[str, Any]]) -> tuple[str, list[tuple[str, Any]]]:
        """Fields as triton 3.9 has them: a leading offset made a shared encoding Hopper's."""
        given = dict(fields)
        if kind != "swizzled_shared" or not {*given} >= _HOPPER:
            return kind, fields
        if not given.pop("hasLeadingOffset"):
            return kind, [*given.items()]
        vec, most, order = given.pop("vec"), given.pop("maxPhase"), given.pop("order")
        given.pop("perPhase")
        own = {"swizzlingByteWidth": 16 * most, "transposed": order[0] == 0}
        return "nvmma_shared", [*{**own, "elementBitWidth": 128 // vec, **given}.items()]

    def field(self, kind: str, places: Places) -> tuple[str, Any]:
        source = self.source
        name = source.need(NAME)
        source.need("=")
        key = _OLD_FIELDS.get((kind, str(name)), str(name))
        places[key,] = name.start
        return key, self.items(self.value, key, places) if source.take("[") else self.value()

    def value(self) -> Any:
        """Read the value of a field."""
        source = self.source
        token = source.need(INT, _FLAG, NAME, _KIND, _ALIAS, "[", "{")
        if token.kind is INT:
            return integer(token, self.text)
        if token.kind is _FLAG:
            return token == "true"
        if token == "[":
            return tuple(source.series(self.value, "]"))
        if token == "{":
            return tuple(source.series(lambda: self.field("", {}), "}"))
        return self.encoding(token) if token.kind is _KIND else self.alias(token)

    def alias(self, token: Token) -> Encoding:
        if token in self.aliases:
            return self.aliases[token]
        is_alias = token.kind is _ALIAS
        what = f"{token} is not defined" if is_alias else f"an unexpected {token}"
        fix = f"define it before: {token} = #ttg.blocked<…>" if is_alias else "write a number"
        raise self.error(what, fix, token.start)

    def linear(self, start: Token) -> TritonLayout:
        """Read a linear layout by its bases, in braces or in lines."""
        places: Places = {}
        sizes: tuple[int, ...] | None = None
        if start == "{":
            fields = dict(self.source.series(lambda: self.field("linear", places), "}"))
        else:
            fields, sizes = self.lines(start, places)
        kind = "shared_linear" if "offset" in fields else "linear"
        if kind == "linear":
            fields = {**dict.fromkeys(("register", "lane", "warp"), ()), **fields}
        first = min(places.values(), default=start.start)
        encoding = self.made(kind, [*fields.items()], places, first)
        try:
            return TritonLayout(encoding, sizes)
        except LayoutError as error:
            raise at_part(error, self.text, places, first) from None

    def lines(self, start: Token, places: Places) -> tuple[dict[str, Any], tuple[int, ...] | None]:
        """Read the bases of each axis in the order of its bits, and the sizes of the dimensions."""
        source = self.source
        fields: dict[str, Any] = {}
        token: Token | None = start
        while token and token.kind is not _WHERE:
            name = source.need(NAME) if token == "-" else token
            places.setdefault((str(name),), name.start)
            found = fields.setdefault(str(name), ())
            if token != "-" or not source.take(_ONE):
                places[str(name), len(found)] = name.start
                fields[str(name)] = (*found, self.basis(name, 1 << len(found)))
            token = source.take(_WHERE, "-", NAME)
        if token is None:
            return fields, None
        source.need("[")
        return fields, tuple(source.series(self.size, "]", least=1))

    def basis(self, name: Token, bit: int) -> tuple[int, ...]:
        """Read the basis of a bit behind the name of its axis."""
        source = self.source
        source.need("=")
        number = source.need(INT)
        source.need("->")
        source.need("(")
        vector = source.series(lambda: integer(source.need(INT), self.text), ")", least=1)
        if integer(number, self.text) != bit:
            what = f"{name}: expected {bit}, got {number}"
            why = "each line has the next bit of its axis"
            raise self.error(what, "write the lines in order", number.start, why)
        return tuple(vector)

    def size(self) -> int:
        """Read the size of a dimension."""
        for word in (NAME, "(", "size"):
            self.source.need(word)
        number = self.source.need(INT)
        self.source.need(")")
        return integer(number, self.text)
