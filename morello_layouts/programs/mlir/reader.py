"""Read MLIR text statement by statement: its aliases, operations, and the types that they name.

No grammar of any dialect: a statement is a line, with those that continue it. Brackets must close.
What a type says of a layout is read by the notations; an attribute that they do not know is kept
by its name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from math import prod
from typing import Any, Final, NamedTuple, NoReturn

from morello_layouts.core.limits import HLO_JOINS, MAP_TEXT, MLIR_TYPES, NESTED_TUPLES
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.notations.mlir.text import parse_mlir
from morello_layouts.notations.mlir.types import SPACES
from morello_layouts.notations.operations import pairs, plain_text, types_in
from morello_layouts.notations.triton.encoding import Encoding
from morello_layouts.notations.triton.layout import TritonLayout
from morello_layouts.notations.triton.text import parse_triton
from morello_layouts.programs.hlo.scanner import Lines, Progress, open_lines

_BEGIN: Final = re.compile(
    r'\s*+(?:%[\w$.#:\-]++(?:\s*+,\s*+%[\w$.#:\-]++)*+\s*+=(?!=)|[}^]|"[\w.$]++"\s*+\(|\{-#|#-\}'
    r"|[#!][A-Za-z_][\w$.]*+\s*+=(?!=)|[a-z_]\w*+\.[a-z_][\w.]*+"
    r"|(?:module|func|return|call|cond|do|else|default|partition\d++)\b)",
    re.ASCII,
)
_CONTINUES: Final = re.compile(
    r"\s*+(?:[^\w\s]|\w++\s*+[=(:{<]|(?:into|to|step|from|attributes|dims|token|mask)\b)", re.ASCII
)
_NOISE: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"|//[^\n]*+|->|[<>]=|[][(){}<>]|"')
_CLOSE: Final = re.compile(r"(?:\s*+\}\s*+[),]*+)++")
_OPEN: Final = re.compile(r"(?:\(|(?<!\s))\s*+\{\s*+(?://[^\n]*+)?\s*+\Z")
_PAIRS: Final = {")": "(", "]": "[", "}": "{", ">": "<"}
_ALIAS: Final = re.compile(r"\s*+([#!][A-Za-z_][\w$.]*+)\s*+=\s*+(.*)", re.ASCII | re.DOTALL)
_OP: Final = re.compile(r'\s*+(?:%[^=]++=\s*+)?"?([A-Za-z_][\w.$]*+)', re.ASCII)
_DIMS: Final = re.compile(r"<(?:[0-9]+x)+")
_NAMED: Final = re.compile(r"#([A-Za-z_][\w$]*+(?:\.[\w$]++)*+)")
_TYPE_ALIAS: Final = re.compile(r"![A-Za-z_][\w$]*+(?![\w$.])")
_TRITON: Final = re.compile(r"#(?:ttg|triton_gpu)\.(?!shared_memory)")
_LAYOUT: Final = re.compile(
    r"#tpu\.tiled|#iree_\w+\.(?:layout|\w+_(?:resolver|layout))\b|#tpu\.vpad\b|#xegpu\."
)
_REGISTERS: Final = re.compile(r"#(?:tpu\.vpad|xegpu\.(?:layout|slice))<")
_SPACE: Final = re.compile(
    rf"#(?:ttg\.shared_memory|triton_gpu\.shared_memory|{'|'.join(SPACES)})\b"
)
_TEXT: Final = re.compile(r"\s*+(?:[#!%][\w$.]++\s*+=|module\b|[a-z]\w*+\.\w++\s)", re.ASCII)

_LONGEST: Final = 200  # characters of an attribute that is not read

_WRONG: Final = LayoutError(
    "",
    "a statement of MLIR is an operation, or an alias such as #blocked = #ttg.blocked<…>",
    "give the text as the compiler printed it",
)


class Statement(NamedTuple):
    """An operation, or the end of one with regions, which has no name."""

    line: int
    op: str
    text: str


class Raw(str):
    """What an alias stands for that no notation reads."""

    __slots__ = ()


def fail(what: str, text: str, position: int, line: int, error: LayoutError = _WRONG) -> NoReturn:
    """Raise a ParseError with line and caret; rule and remedy are those of another error."""
    at = line + text.count("\n", 0, position)
    what = f"line {at}: {what}"
    raise ParseError(what, error.why, error.fix, text=text, position=position, first_line=line)


class Reader:
    """The statements of a text in their order, and the aliases as far as it is read."""

    NAME: Final = _NAMED

    def __init__(self, progress: Progress | None = None) -> None:
        self.progress = progress
        self.aliases: dict[str, Any] = {}
        self.lines: dict[str, int] = {}  # of the definitions of aliases
        self.open: list[int] = []  # lines that open regions
        self.module = 0  # modules before this one
        self._types: dict[str, Any] = {}
        self._count = 0  # types that were read

    def statements(self, source: str | os.PathLike[str]) -> Iterator[Statement]:
        """Yield the statements; aliases are read on the way."""
        marks = "newline, or a statement of MLIR"
        with open_lines(source, self.progress, "MLIR", marks, _TEXT) as lines:
            for number, text in self._joined(lines):
                alias = _ALIAS.match(text)
                if alias is not None:
                    self._define(alias, text, number)
                    continue
                found = _OP.match(text) if text.lstrip()[:1] not in "}^" else None
                yield Statement(number, found[1] if found else "", text)
            lines.finish()

    def _joined(self, lines: Lines) -> Iterator[tuple[int, str]]:
        """Yield each statement with the number of its first line."""
        held, begin, joins, is_open = "", 0, 0, False
        for line in lines:
            start = line.lstrip()
            if not start or start.startswith(("//", "{-#")):
                if start.startswith("{-#"):  # resources, up to their end
                    next((True for rest in lines if "#-}" in rest), None)
                elif line.startswith("// -----"):  # another module
                    if held:
                        yield self._regions(held, begin)
                    held = ""
                    self.aliases, self.lines, self._types = {}, {}, {}
                    self.module += 1
                continue
            is_new = not is_open and _BEGIN.match(line) is not None
            if not (is_new or is_open or (held and _CONTINUES.match(line))):
                at, word = len(line) - len(start), start.split(maxsplit=1)[0][:16]
                fail(f"expected a statement, found {word!r}", line, at, lines.number)
            if is_new and held:
                yield self._regions(held, begin)
            held, begin, joins = (
                (line, lines.number, 0) if is_new else (held + line, begin, joins + 1)
            )
            is_open = self._is_open(held, begin, joins > HLO_JOINS)
        if is_open:
            self._is_open(held, begin, is_last=True)
        if held:
            yield self._regions(held, begin)

    def _is_open(self, text: str, line: int, is_last: bool = False) -> bool:
        """Whether brackets are open at the end of a text; regions are counted apart."""
        close = _CLOSE.match(text)
        begin = close.end() if close else 0
        opens = _OPEN.search(text, begin) if text.rstrip()[-1:] == "{" or "//" in text else None
        end = opens.start() if opens else len(text)
        even = self._is_even(text, begin, end)
        return not even and self._stack(text, (begin, end), line, is_last)

    def _regions(self, text: str, line: int) -> tuple[int, str]:
        """Count the regions that a whole statement closes and opens; return it with its line."""
        close = _CLOSE.match(text)
        for k in (k for k in range(close.end() if close else 0) if text[k] == "}"):
            if not self.open:
                fail("'}' closes nothing", text, k, line)
            self.open.pop()
        if _OPEN.search(text[text.rstrip().rfind("\n") + 1 :]):
            self.open.append(line)
        return line, text

    @staticmethod
    def _is_even(text: str, begin: int, end: int) -> bool:
        """Whether as many brackets of each kind open as close: so nearly every line."""
        n = text.count
        angles = n(">", begin, end) - n("->", begin, end) - n(">=", begin, end)
        pairs = (n(one, begin, end) == n(other, begin, end) for one, other in ("()", "[]", "{}"))
        return all(pairs) and n("<", begin, end) - n("<=", begin, end) == angles and '"' not in text

    def _stack(self, text: str, span: tuple[int, int], line: int, is_last: bool) -> bool:
        """Whether brackets are open, by reading them one by one."""
        stack: list[tuple[str, int]] = []
        for match in _NOISE.finditer(text, *span):
            mark, at = match[0], match.start()
            if mark in _PAIRS.values():
                stack.append((mark, at))
                if len(stack) > NESTED_TUPLES:
                    fail(f"brackets nest deeper than {NESTED_TUPLES}", text, at, line)
            elif mark in _PAIRS:
                if not stack or stack.pop()[0] != _PAIRS[mark]:
                    fail(f"{mark!r} closes nothing", text, at, line)
            elif mark == '"':
                fail("expected the end of this string", text, at, line)
        if stack and is_last:
            fail(f"expected the end of this {stack[-1][0]!r}", text, stack[-1][1], line)
        return bool(stack)

    # ---- aliases and types

    def _define(self, found: re.Match[str], text: str, line: int) -> None:
        name, value = found[1], found[2].strip()
        if name.startswith("#loc"):
            return
        if self.aliases.get(name, value) != value and name in self.lines:
            fail(f"{name} is defined twice, first on line {self.lines[name]}", text, 0, line)
        self.lines[name] = line
        self.aliases[name] = Raw(value)
        if name[0] == "#" and len(value) <= MAP_TEXT:
            self.aliases[name] = self._read(value, found.start(2), text, line)

    def _read(self, value: str, start: int, text: str, line: int) -> Any:
        """Return what a text stands for; Raw, if no notation knows it."""
        is_triton = _TRITON.match(value)
        is_mlir = value.startswith("affine_map<") or _LAYOUT.match(value)
        if not is_triton and not is_mlir:
            return Raw(value)
        known = {k: v for k, v in self.aliases.items() if not isinstance(v, Raw)}
        try:
            found = (parse_triton if is_triton else parse_mlir)(value, known)
        except ParseError as error:
            return self._refused(error, value, start, text, line)
        return found.encoding if isinstance(found, TritonLayout) else found

    def _refused(self, error: ParseError, value: str, start: int, text: str, line: int) -> Raw:
        """Raise an error of the text; return one of its meaning as what is not read."""
        if error.reached < len(error.text):
            fail(error.what, text, start + error.position, line, error)
        return Raw(f"{value.partition('<')[0]}: {error.what}")

    def layouts(self, statement: Statement) -> list[tuple[str, int]]:
        """Return the text and the place of each layout of registers beside the types."""
        at, found = 0, []
        spans = [(start, start + len(own)) for own, start in types_in(statement.text)]
        ends = pairs(plain_text(statement.text)) if _REGISTERS.search(statement.text) else {}
        while match := _REGISTERS.search(statement.text, at):
            at = ends.get(match.end() - 1, len(statement.text))
            own = statement.text[match.start() : at]
            is_beside = not any(start < match.start() < end for start, end in spans)
            if is_beside and not own.endswith('"none">'):
                found.append((own, match.start()))
        return found

    def expanded(self, text: str) -> str:
        """Return a text with the aliases of types written out."""
        names = {k for k, v in self.aliases.items() if k[0] == "!"}
        return _TYPE_ALIAS.sub(lambda m: self.aliases.get(m[0], m[0]), text) if names else text

    def type(self, text: str, start: int, statement: Statement) -> Any:
        """Return the layout of a type, or Raw; equal texts are read once."""
        found = self._types.get(text)
        if found is None and self._count >= MLIR_TYPES:
            return Raw(f"types after the first {MLIR_TYPES:,}")
        if found is None:
            self._count += 1
            found = self._types[text] = self._type(text, start, statement)
        return found

    def _type(self, text: str, start: int, statement: Statement) -> Any:
        own, is_triton = text, "memdesc" in text.partition("<")[0] or text[0] == "<"
        for match in _NAMED.finditer(text):
            name, value = match[0], self.aliases.get(match[0])
            if value is None and "." not in name:
                fail(
                    f"{name} is not defined", statement.text, start + match.start(), statement.line
                )
            is_triton = is_triton or isinstance(value, Encoding) or bool(_TRITON.match(name))
            is_space = _SPACE.match(value if isinstance(value, Raw) else name)
            if isinstance(value, Raw) and is_space:
                own = own.replace(name, str(value))
            elif isinstance(value, Raw):
                return Raw(f"{name} = {value}"[:_LONGEST])
            elif value is None and not (is_space or _TRITON.match(name) or _LAYOUT.match(name)):
                return Raw(name)
        if is_triton:
            own = f"!ttg.memdesc{own}" if own[0] == "<" else own
            own = self._without_stages(own)
        known = {k: v for k, v in self.aliases.items() if not isinstance(v, Raw)}
        try:
            return (parse_triton if is_triton else parse_mlir)(own, known)
        except ParseError as error:
            return self._refused(error, text, start, statement.text, statement.line)

    def _without_stages(self, text: str) -> str:
        """Return a type of shared memory without the buffers that it counts before its sizes."""
        dims = _DIMS.search(text)
        encoding = next((self.aliases.get(m[0]) for m in _NAMED.finditer(text)), None)
        with suppress(LayoutError):
            inline = re.search(r"#(?:ttg|triton_gpu)\.[a-z_]+<", text)
            if encoding is None and inline is not None:
                encoding = parse_triton(text[inline.start() :].rpartition("}>")[0] + "}>").encoding
        if dims is None or not isinstance(encoding, Encoding) or not encoding.is_memory:
            return text
        sizes = dims[0][1:-1].split("x")
        kept = sizes[-(encoding.rank or len(sizes)) :]
        return f"{text[: dims.start()]}<{'x'.join(kept)}x{text[dims.end() :]}"


def stages(text: str, shape: tuple[int, ...]) -> int:
    """Return the buffers that a type of shared memory counts before the sizes of one.

    >>> stages("!ttg.memdesc<3x64x32xf16, #shared>", (64, 32))
    3
    """
    dims = _DIMS.search(text)
    sizes = [int(n) for n in dims[0][1:-1].split("x")] if dims else []
    return prod(sizes[: max(len(sizes) - len(shape), 0)])
