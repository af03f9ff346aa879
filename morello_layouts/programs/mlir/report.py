"""Reports on MLIR text: what moves, layouts by name, arguments, and what was not read."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any, ClassVar, Final

from morello_layouts.core.description import count, listed
from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import MLIR_QUESTIONS, REPORT_PLACES, REPORT_PLACES_SHOWN
from morello_layouts.core.maps.subject import Subject
from morello_layouts.errors import LayoutError
from morello_layouts.notations.mlir.layout import MlirType
from morello_layouts.notations.mlir.registers import TpuVectorLayout, XegpuLayout
from morello_layouts.notations.operations import types_in
from morello_layouts.notations.registry import describe
from morello_layouts.notations.sharding.reader import parse_sharding
from morello_layouts.notations.triton.layout import TritonLayout
from morello_layouts.notations.xla import parse_xla_layout
from morello_layouts.programs.diagnostics.fleet import FleetReport, diagnose_many, is_many
from morello_layouts.programs.hlo.assignment import is_program
from morello_layouts.programs.hlo.scanner import Progress
from morello_layouts.programs.mlir.explain import (
    CONVERT,
    Machine,
    MlirStatement,
    explained,
    needs_all,
)
from morello_layouts.programs.mlir.reader import Raw, Reader, Statement
from morello_layouts.programs.report import (
    Columns,
    Report,
    Summary,
    Table,
    bytes_cell,
    bytes_text,
    first_rows,
    number_cell,
    text_cell,
)


@frozen
class MlirLayout:
    """A layout that types name: an encoding, a memref's map or strides, tiles."""

    json_keys: ClassVar = ("*",)

    name: str  #: the alias; the text of a layout that has none.
    text: str  #: what it stands for.
    words: str  #: what it means; ``not read`` if it is not known here.
    line: int  #: where it is defined, or first used.
    uses: int  #: the types that name it.


@frozen
class MlirArgument:
    """An argument or result of a public function."""

    json_keys: ClassVar = ("*",)

    line: int  #: of the function.
    name: str  #: such as ``%arg0``, or ``result 0``.
    type: str  #: its type.
    layout: str  #: what ``mhlo.layout_mode`` asks for, in words; empty if nothing does.
    sharding: str  #: the sharding in words; empty without one.
    bytes: int | None  #: bytes of its elements; None if sizes are known at run time.
    device_bytes: int | None  #: bytes of the part of one device; None without a sharding.


@frozen
class MlirReport(Report):
    """What the layouts of a module mean, and what its statements move. ``print`` it."""

    json_keys: ClassVar = (
        *("name", "target=machine.target", "warps=machine.warps", "lanes=machine.lanes"),
        *("blocks=machine.blocks", "count", "shared_bytes", "statements", "layouts", "arguments"),
        "warnings",
    )

    name: str  #: of the module or its first function; the file's, if it has none.
    machine: Machine  #: the target, the warps, their lanes, and the blocks that the module names.
    count: int  #: the number of all statements.
    #: what statements do, equal ones once: conflicts first, then the most costly moves.
    statements: tuple[MlirStatement, ...]
    layouts: tuple[MlirLayout, ...]  #: the layouts by name, in the order of their use.
    arguments: tuple[MlirArgument, ...]  #: of public functions, then their results.
    warnings: tuple[str, ...] = ()  #: such as that the text ends early.

    @property
    def moves(self) -> tuple[MlirStatement, ...]:
        """The statements that move a layout to another, or use memory."""
        return tuple(m for m in self.statements if m.kind not in ("other", "not read"))

    @property
    def unread(self) -> tuple[str, ...]:
        """The layouts and operations that are not read."""
        layouts = [each.name for each in self.layouts if each.words.startswith(_UNREAD)]
        own = (m.operation for m in self.statements if m.kind == _UNREAD)
        return tuple(dict.fromkeys((*layouts, *own)))

    @property
    def shared_bytes(self) -> int:
        """The shared memory that the statements allocate; buffers may take turns in it."""
        return sum((m.bytes or 0) * m.times for m in self.moves if m.kind == "allocate")

    def summary(self) -> Summary:
        """Return the verdict: conversions, conflicts, memory, what is not read; then counts."""
        lines = [*self._verdict()] or ["no layout moves to another one, as far as this is read"]
        if self.unread:
            more = [f"{len(self.unread) - 2} more"] if len(self.unread) > 3 else []
            lines.append(f"not read: {listed([*self.unread[: 2 if more else 3], *more])}")
        target, warps, lanes, _ = self.machine
        where = f" for {target or 'a GPU'}, {count(warps, 'warp')} of {count(lanes, 'lane')}"
        lines.append(count(self.count, "statement") + (where if warps else ""))
        return Summary(self.name, tuple(lines), self.warnings)

    def _verdict(self) -> Iterator[str]:
        for kind, how in _KINDS.items():
            own = [m for m in self.moves if m.kind == kind]
            if own:
                size = bytes_text(sum((m.bytes or 0) * m.times for m in own))
                yield f"{count(sum(m.times for m in own), 'conversion')}: {how.format(size)}"
        asked = [m for m in self.moves if m.ways is not None]
        bad = [m for m in asked if m.ways != 1]
        if bad:
            times = sum(m.times for m in bad)
            yield (
                f"bank conflicts in {times:,} of {sum(m.times for m in asked):,} loads and stores "
                f"of shared memory: {bad[0].ways}-way on line {bad[0].lines[0]}"
            )
        elif asked:
            yield f"no bank conflicts in {sum(m.times for m in asked):,} loads and stores"
        if self.shared_bytes:
            yield f"shared memory: {bytes_text(self.shared_bytes)} allocated"
        own_bytes = sum(each.device_bytes or 0 for each in self.arguments)
        if own_bytes:
            yield f"arguments and results of one device: {bytes_text(own_bytes)}"

    def tables(self) -> tuple[Table, ...]:
        """Return what moves, arguments, layouts, other statements and what is not read."""
        others, unread = (
            [m for m in self.statements if m.kind == kind] for kind in ("other", _UNREAD)
        )
        text = lambda each: (each.text,) * ("<" not in each.name)  # noqa: E731
        return (
            first_rows("What moves", _MOVES, self.moves, lambda m: (m.types,)),
            first_rows("Arguments and results", _ARGUMENTS, self.arguments),
            first_rows("Layouts", _LAYOUTS, self.layouts, text),
            first_rows("Not read", _MOVES[1:], unread, lambda m: (m.types,) * bool(m.types)),
            first_rows("Other statements", _MOVES[1:], others),
        )


_UNREAD: Final = "not read"
_KINDS: Final = {
    "between blocks": "{} between blocks",
    "shared memory": "{} through shared memory",
    "shuffle": "{} by shuffles",
    "registers": "renaming of registers",
    "nothing": "nothing moves",
}
_MOVES: Final[Columns[MlirStatement]] = (
    ("bytes", lambda m: bytes_cell(m.bytes)),
    ("times", lambda m: number_cell(m.times)),
    ("lines", lambda m: text_cell(", ".join(map(str, m.lines[:REPORT_PLACES_SHOWN])))),
    ("statement", lambda m: text_cell(m.operation)),
    ("what it does", lambda m: text_cell(m.words)),
)
_LAYOUTS: Final[Columns[MlirLayout]] = (
    ("uses", lambda each: number_cell(each.uses)),
    ("line", lambda each: number_cell(each.line)),
    ("layout", lambda each: text_cell(each.name)),
    ("what it means", lambda each: text_cell(each.words)),
)
_ARGUMENTS: Final[Columns[MlirArgument]] = (
    ("bytes", lambda each: bytes_cell(each.bytes)),
    ("of a device", lambda x: bytes_cell(x.device_bytes) if x.sharding else text_cell("")),
    ("name", lambda each: text_cell(each.name)),
    ("type", lambda each: text_cell(each.type)),
    ("layout and sharding", lambda x: text_cell("; ".join(filter(None, (x.layout, x.sharding))))),
)


@frozen
class MlirFolder(Report):
    """What the MLIR files of a folder move, and what the layouts of its HLO cost."""

    json_keys: ClassVar = ("*",)

    files: tuple[tuple[str, MlirReport], ...]  #: the path of each file, and its report.
    failures: tuple[tuple[str, str], ...]  #: the files that could not be read, and why.
    hlo: FleetReport | None  #: the report on HLO programs; None without any.

    def summary(self) -> Summary:
        """Return the number of files, and those that could not be read."""
        lines = self.hlo.summary().lines if self.hlo else ()
        warnings = tuple(f"{path}: {why}" for path, why in self.failures)
        return Summary(f"{count(len(self.files), 'file')} of MLIR", lines, warnings)

    def tables(self) -> tuple[Table, ...]:
        """Return the verdict of each file, then the tables of HLO."""
        columns: Columns[tuple[str, MlirReport]] = (
            ("shared memory", lambda each: bytes_cell(each[1].shared_bytes)),
            ("name", lambda each: text_cell(each[1].name)),
            ("verdict", lambda each: text_cell(each[1].summary().lines[0])),
        )
        details = lambda each: (*each[1].summary().lines[1:-1], each[0])  # noqa: E731
        own = first_rows("Files", columns, self.files, details)
        return (own, *(self.hlo.tables() if self.hlo else ()))


def read_mlir(
    source: str | os.PathLike[str] | Any, *, progress: Progress | None = None
) -> MlirReport | MlirFolder:
    """Return what the layouts of a module in MLIR mean, and what its statements move.

    TTGIR of Triton, StableHLO of JAX, memrefs, vectors and packs of MLIR and IREE. Each conversion
    of a layout is decided by bases: registers are renamed, lanes shuffle, or shared memory is
    written and read. Loads and stores of shared memory are counted as vectors as wide as layouts
    allow, and as ``ldmatrix`` where registers are those of matrices. What is not known is listed as
    not read.

    Args:
        source: a path, or the text itself; in Python also a lowered program of JAX. A folder is
            Triton's cache, or a dump of XLA: its HLO is reported as ``hlo`` does.
        progress: called now and then with the amount that was read and the amount of all.

    Raises:
        ParseError: if the text is not MLIR; it has line and caret.
        LayoutError: if a file cannot be read, or a folder has none.

    >>> report = read_mlir('''
    ... #a = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [1, 1],
    ...   order = [1, 0]}>
    ... #b = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 8], warpsPerCTA = [1, 1],
    ...   order = [0, 1]}>
    ... %1 = ttg.convert_layout %0 : tensor<16x16xf32, #a> -> tensor<16x16xf32, #b>
    ... ''')
    >>> report.moves[0].kind, report.moves[0].shuffles, report.summary().lines[0]
    ('shuffle', 8, '1 conversion: 1.00 KiB by shuffles')
    """
    given: Any = source
    if is_program(given) and type(given).__name__ == "Lowered":
        return _Builder(progress).report(f"{given.as_text()}\n")
    if isinstance(source, str | os.PathLike) and is_many(os.fspath(source)):
        folder = Path(source)
        if folder.is_dir():
            return _folder(folder, progress)
    return _Builder(progress).report(source)


def _folder(folder: Path, progress: Progress | None) -> MlirFolder:
    failures, files, hlo = [], [], None
    for path in sorted(p for end in ("*.ttgir", "*.mlir") for p in folder.rglob(end)):
        try:
            files.append((str(path), _Builder(progress).report(path)))
        except LayoutError as error:
            failures.append((str(path), error.what))
    if any(folder.rglob("*optimizations.txt")):
        with suppress(LayoutError):
            hlo = diagnose_many([folder])
    if not files and not failures and hlo is None:
        raise LayoutError(
            f"{folder} has no files of MLIR",
            "Triton's cache has *.ttgir, a dump has *.mlir or *after_optimizations.txt",
            "give ~/.triton/cache, or the folder of --xla_dump_to",
        )
    return MlirFolder(tuple(files), tuple(failures), hlo)


class _Builder:
    """A report as far as the statements are read."""

    def __init__(self, progress: Progress | None) -> None:
        self.reader, self.machine, self.name, self.mesh = Reader(progress), Machine(), "", ""
        self.found: dict[tuple[str, ...], list[MlirStatement]] = {}
        self.lines: dict[tuple[str, ...], list[int]] = {}  # how many, then the first ones
        self.layouts: dict[tuple[int, str], MlirLayout] = {}  # by module and name
        self.uses: Counter[tuple[int, str]] = Counter()
        self.arguments: list[MlirArgument] = []
        #: by module, operation and types, what to count: the layouts, and what it does.
        self.seen: dict[tuple[int, str, str], tuple[list[tuple[int, str]], tuple[str, ...]]] = {}

    def report(self, source: Any) -> MlirReport:
        number = 0
        for statement in self.reader.statements(source):
            number += bool(statement.op)
            self._add(statement)
        if not number and not self.reader.aliases:
            raise LayoutError(
                "the text has no statement of MLIR",
                "MLIR begins with aliases, a module or an operation",
                "give the text as the compiler printed it",
            )
        warnings = tuple(
            f"the text ends inside the region of line {line}" for line in self.reader.open[:1]
        )
        order = [*_KINDS]
        every = sorted(
            (
                replace(m, times=self.lines[key][0], lines=tuple(self.lines[key][1:]))
                for key, found in self.found.items()
                for m in found
            ),
            key=lambda m: (
                -(m.ways or 1),
                order.index(m.kind) if m.kind in _KINDS else len(order),
                -(m.bytes or 0),
                -m.times,
            ),
        )
        name = self.name or (Path(source).name if isinstance(source, os.PathLike) else "MLIR")
        layouts = tuple(replace(m, uses=self.uses[key]) for key, m in self.layouts.items())
        arguments = tuple(self.arguments)
        return MlirReport(name, self.machine, number, tuple(every), layouts, arguments, warnings)

    def _add(self, statement: Statement) -> None:
        line, op, text = statement
        if op in ("module", "func.func", "tt.func") and not self.name:
            self.name = next(iter(re.findall(r"@([\w.$]+)", text)), "")
        if op == "module":
            self.machine = Machine.of(text)
        elif op == "sdy.mesh":
            self.mesh = " ".join(text.partition("{")[0].split())
        elif op == "func.func" and (" public " in text or "@main" in text):
            self._arguments(statement)
        tail = self.reader.module, op, text[max(text.find(" : "), 0) :].partition(" loc(")[0]
        found = self.seen.get(tail)
        if found is None:
            found = self._ask(Statement(line, op, self.reader.expanded(text)))
            if " : " in text and not needs_all(op) and len(self.seen) < MLIR_QUESTIONS:
                self.seen[tail] = found
        names, key = found
        self.uses.update(names)
        if op:
            lines = self.lines.setdefault(key, [0])
            lines[0] += 1
            if len(lines) <= REPORT_PLACES:
                lines.append(line)

    def _ask(self, statement: Statement) -> tuple[list[tuple[int, str]], tuple[str, ...]]:
        """Return the layouts that a statement names, and the key of what it does."""
        texts, types, names = [], [], []
        if _TYPED.search(statement.text):
            for own, at in types_in(statement.text):
                texts.append(own)
                types.append(self.reader.type(own, at, statement))
                names += self._named(statement.line, own, types[-1])
            layouts = self.reader.layouts(statement)
            beside = [self.reader.type(own, at, statement) for own, at in layouts]
            for (own, _), found in zip(layouts, beside, strict=True):
                names += self._named(statement.line, own, found)
            if statement.op == CONVERT and types and isinstance(types[0], MlirType):
                types = [replace(types[0], layout=each) for each in beside]
                texts = [*map(str, types)]
        op = statement.op
        more = (re.sub(r"%[\w$.#-]+", "%", statement.text),) if needs_all(op) else ()
        key = (op,) if (op,) in self.found else (op, str(self.reader.module), *more, *texts)
        if op and key not in self.found:
            if len(self.found) < MLIR_QUESTIONS:
                does = explained(statement, texts, types, self.machine)
            else:
                key, why = (_UNREAD,), f"the first {MLIR_QUESTIONS:,} different ones are asked"
                does = [MlirStatement("other statements", _UNREAD, why)]
            key = key if does[0].types else key[:1]
            self.found[key] = does
        return names, key

    def _named(self, line: int, text: str, found: Any) -> list[tuple[int, str]]:
        """Return the name of the layout of a type, if it has one."""
        if isinstance(found, Raw):
            name, layout, words = str(found), str(found), f"{_UNREAD}: not known here"
        elif isinstance(found, TpuVectorLayout | XegpuLayout):
            name, layout, words = str(found), str(found), _in_words(found)
        else:
            own = found.encoding if isinstance(found, TritonLayout) else found.layout
            if own is None:
                return []
            written = re.search(r",\s*([#!]?\w.*)\Z", text.removesuffix(">"), re.DOTALL)
            if written and text.startswith("!xegpu"):  # its layout is last
                written = re.search(r"(#[\w$]+)\Z", written[1]) or written
            head = self.reader.NAME.match(written[1]) if written else None
            is_alias = head is not None and head[0] in self.reader.lines
            name = head[0] if head and is_alias else written[1] if written else str(own)
            layout, words = str(own), ""
        key = self.reader.module, name
        if key not in self.layouts:
            line = self.reader.lines.get(name, line)
            self.layouts[key] = MlirLayout(name, layout, words or _in_words(found), line, 0)
        return [key]

    def _arguments(self, statement: Statement) -> None:
        """Take the arguments and results of a function, and what their attributes ask for."""
        head, arrow, tail = statement.text.partition(") -> ")
        for part, is_result in ((head, False), (tail if arrow else "", True)):
            own = Statement(statement.line, "", part)
            for number, (text, at) in enumerate(types_in(part)):
                given = _ATTRIBUTES.match(part, at + len(text))
                named = re.search(r"(%[\w$.]+)\s*:\s*\Z", part[:at])
                name = named[1] if named else f"{'result' if is_result else 'argument'} {number}"
                found = self.reader.type(text, at, own)
                self._argument(statement.line, name, text, found, given[0] if given else "")

    def _argument(self, line: int, name: str, text: str, found: Any, given: str) -> None:
        dims: Any = found.dims if isinstance(found, MlirType) else (None,)
        shape = None if None in dims else dims
        width = 0 if shape is None else found.element.bits
        size = None if shape is None else -(-prod(shape) * width // 8)
        mode = re.search(r'mhlo\.layout_mode\s*=\s*"([^"]*)"', given)
        layout = _MODES.get(mode[1], mode[1]) if mode else ""
        hlo = re.search(r'mhlo\.sharding\s*=\s*"([^"]*)"', given)
        sdy = re.search(r"#sdy\.sharding<(?:[^<>]|<[^<>]*>)*>", given)
        sharding, part = "", None
        try:
            if layout.startswith("{"):
                layout = f"{layout}: {describe(parse_xla_layout(layout), shape).headline}"
            if hlo or sdy:
                mesh = self.mesh if sdy and "@" in sdy[0] else ""
                whole = f"{mesh} {text}, {sdy[0] if sdy else hlo[1] if hlo else ''}".strip()
                placed: Any = parse_sharding(whole)
                sharding = describe(placed).headline
                part = -(-prod(placed.part_sizes) * width // 8)
        except LayoutError as error:
            why = f"of {name}: {error.what}"
            unread = MlirStatement("sharding or layout mode", _UNREAD, why, text)
            self.found[name, text] = [unread]
            self.lines[name, text] = [1, line]
        self.arguments.append(MlirArgument(line, name, text, layout, sharding, size, part))


_TYPED: Final = re.compile(r"#|memref<|vector<|\.(?:un)?pack\b|!")
_ATTRIBUTES: Final = re.compile(r'\s*\{(?:"[^"]*"|[^{}"]|\{(?:"[^"]*"|[^{}"]|\{[^{}]*\})*\})*\}')
_MODES: Final = {"default": "the device's default layout", "auto": "as the compiler chooses"}


def _in_words(found: Any) -> str:
    """Return what a layout means, with its formula if it has one offset for each element."""
    if isinstance(found, TritonLayout):
        return describe(TritonLayout(found.encoding)).headline
    if isinstance(found, TpuVectorLayout | XegpuLayout):
        return "; ".join(f"{part.text}: {part.meaning}" for part in found.words())
    try:
        m = Subject(found, None).map()
        return f"offset {str(m).partition('-> ')[2]} of {m.size} slots"
    except LayoutError as error:
        return f"{_UNREAD}: {error.what}"
