"""Out-of-memory reports: their blocks, and a table of messages as patterns with words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Final, NamedTuple

from morello_layouts.core.description import amount
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import OOM_LABEL, OOM_MESSAGES, OOM_VALUE

_KEYS: Final = {
    "Size": "size",
    "Operator": "operator",
    "Shape": "shape",
    "Entry Parameter Subshape": "shape",
    "Unpadded size": "unpadded",
    "Extra memory due to padding": "padding",
    "XLA label": "label",
    "XLA Label": "label",
    "Allocation type": "kind",
    "Tag": "tag",
}

# The first key of a line; the first key of a block has a number before it.
_LINE: Final = regex(
    rf"(?:^|(?<=\s))(?:([0-9]{{1,9}})\\?\.\s{{1,9}})?({'|'.join(_KEYS)}): ?(.*)", re.ASCII
)
_NUMBER: Final = regex(r"(?:^|\s)Buffer ([0-9]{1,9}):\s*$", re.ASCII)
_END: Final = regex(r"={10}")
_ESCAPED: Final = regex(r"\\n(?=\s*(?:[0-9]{1,9}\. )?(?:" + "|".join([*_KEYS, "=="]) + "))")
_HEADER: Final = regex(
    r"[Rr]an out of memory in memory space ([A-Za-z_]{1,20})"
    r"(?:\W{1,9}Used ([0-9.]{1,12}[KMGTPE]?B?) of ([0-9.]{1,12}[KMGTPE]?B?))?",
    re.ASCII,
)
# Colours as a terminal reads them, and as Python or JSON write them in a string.
_COLOUR: Final = regex(r"(?:\x1b|\\x1b|\\u001b)\[[0-9;]{0,30}[A-Za-z]")


@dataclass(slots=True)
class WrittenAllocation:
    """An allocation as it is written: its number, and its values by the names in ``_KEYS``."""

    number: int
    line: int
    values: dict[str, str] = field(default_factory=dict)
    in_hbm: bool = True

    @property
    def is_chosen(self) -> bool:
        """Whether the compiler chose its layout; scratch and windows have the kernel's shapes."""
        return self.in_hbm and "tag" not in self.values and "scoped" not in self._kind

    @property
    def _kind(self) -> str:
        return self.values.get("kind", "").lower()

    @property
    def is_stored(self) -> bool:
        """Whether it is an argument or output of the program, not a value inside of it."""
        return "temp" not in self._kind and "output of" not in self._kind


def without_colours(text: str) -> str:
    r"""Return the text without a terminal's colours."""
    return _COLOUR.sub("", text)


def header_of(text: str) -> tuple[str | None, str | None, str | None]:
    """Return a memory space, its used bytes and its capacity; None for what the text leaves out."""
    match = _HEADER.search(text)
    return (None, None, None) if match is None else (match[1], match[2], match[3])


def blocks_of(text: str) -> Iterator[WrittenAllocation]:
    r"""Return the allocations of a report, in the order of the text."""
    block: WrittenAllocation | None = None
    number = 0
    for at, line in enumerate(_lines(text), 1):
        match = _LINE.search(line)
        if match is None:
            counted = _NUMBER.search(line)
            number = number if counted is None else int(counted[1]) - 1
            if _END.search(line):
                if block is not None:
                    yield block
                block = None
            elif block is not None:
                _continue(block, line)
            continue
        name, value = _KEYS[match[2]], match[3].strip()[:OOM_VALUE]
        if name == "size":
            if block is not None:
                yield block
            number = int(match[1]) if match[1] else number + 1
            block = WrittenAllocation(number, at)
        if block is not None and name not in block.values:
            block.values[name] = value
    if block is not None:
        yield block


def _lines(text: str) -> Iterator[str]:
    r"""Return the lines, also of a report on one line with newlines and quotes escaped."""
    for line in text.splitlines():
        if "\\n" in line:
            is_quoted = '=\\"' in line
            parts = _ESCAPED.split(line)
            yield from (part.replace('\\"', '"') for part in parts) if is_quoted else parts
        else:
            yield line


def _continue(block: WrittenAllocation, line: str) -> None:
    """Append a line to a type that is broken over several lines."""
    shape = block.values.get("shape", "")
    if block.values and next(reversed(block.values)) == "shape":
        brackets = sum(map(shape.count, "([{")) - sum(map(shape.count, ")]}"))
        if brackets > 0 and len(shape) < OOM_VALUE:
            block.values["shape"] = shape + line.strip()


_UNITS: Final = "KMGTPE"


def xla_size(n: int) -> str:
    """Return a number of bytes as XLA's out-of-memory reports write it, with their rounding.

    >>> xla_size(0), xla_size(12288), xla_size(6392119296)
    ('0B', '12.0K', '5.95G')
    """
    if n < 1024:
        return f"{n}B"
    unit = 0
    while n >= 1 << 20 and unit + 1 < len(_UNITS):
        n, unit = n >> 10, unit + 1
    if n >= 1 << 100:
        return f"{amount(n >> 10)}{_UNITS[unit]}"
    return f"{n / 1024:.{2 if unit else 1}f}{_UNITS[unit]}"


_SIZE_PATTERN: Final = regex(
    r"([0-9]{1,20}(?:\.[0-9]{1,12})?)\s*([KMGTPEkmgtpe]?)(?:i?B| bytes)?", re.ASCII
)


def bytes_of_text(text: str) -> int | None:
    """Return the bytes that a size in a message means, to its precision; None if it is not one.

    >>> bytes_of_text("1.50M"), bytes_of_text("6.00MiB"), bytes_of_text("unknown")
    (1572864, 6291456, None)
    """
    match = _SIZE_PATTERN.fullmatch(text.strip())
    if match is None:
        return None
    power = _UNITS.index(match[2].upper()) + 1 if match[2] else 0
    if not power and "." not in match[1]:
        return int(match[1])
    return round(float(match[1]) * (1 << 10 * power))


class OomPattern(NamedTuple):
    """A kind of message: its pattern with named groups, and what it means."""

    kind: str  #: its name.
    #: groups ``needed`` and ``available``, and any of ``space``, ``over``, ``what``, ``name``,
    #: ``shape``, ``tag``, ``contiguous``, ``reserved``, ``other``.
    pattern: re.Pattern[str]
    space: str | None  #: the memory space, if the message does not name it.
    meaning: str  #: what happened, with the groups in braces.
    next_step: str  #: the step that leads to the culprit.


# A size as messages write it, with or without a unit.
_N: Final = r"[0-9]{1,20}(?:\.[0-9]{1,12})?\s?(?:bytes|[KMGTPE]i?B?|B)?"


def _row(kind: str, pattern: str, space: str | None, meaning: str, step: str) -> OomPattern:
    whole = re.sub(r"<(\w+):N>", lambda match: f"(?P<{match[1]}>{_N})", pattern)
    return OomPattern(kind, regex(whole, re.ASCII | re.IGNORECASE), space, meaning, step)


_DUMP: Final = "compile again with XLA_FLAGS=--xla_dump_to=DIR; then morello-layouts memory DIR/*"
_HBM_STEP: Final = f"{_DUMP}oom_intermediate_module.txt says who is alive at the peak"
_AFTER_STEP: Final = f"{_DUMP}after_optimizations.txt says what the program itself takes"
_VMEM_STEP: Final = (
    "make the blocks or scratch of this kernel smaller, or give them a minor dimension that is a "
    "multiple of 128; for the compiler's own fusions, --xla_tpu_scoped_vmem_limit_kib raises "
    "the limit"
)
_GPU_STEP: Final = (
    "look at what else is on the device (XLA_PYTHON_CLIENT_PREALLOCATE=false shows it), and dump "
    "the program with XLA_FLAGS=--xla_dump_to=DIR; then morello-layouts memory DIR/*"
    "after_optimizations.txt says who is alive at its peak"
)
_RUN_TIME_STEP: Final = (
    "arrays that are still referenced stay on the device: delete them or donate them; "
    f"{_AFTER_STEP}"
)

OOM_PATTERNS: Final = (
    _row(
        "compile time, total",
        r"ran out of memory on (?P<space>\w+), the total memory required for (?P<what>[\w ]{1,60}?)"
        r" \(<needed:N>\) exceeds available \w+ \(<available:N>\)"
        r"(?:\. HLO module: (?P<name>[^\s]+?)\.(?=\s|$))?",
        None,
        "the compiler needs {needed} for {what}: for arguments, outputs and all values that live at"
        " the same time, padding included",
        _HBM_STEP,
    ),
    _row(
        "compile time, on the stack",
        r"ran out of memory in memory space (?P<space>\w+) while allocating on stack for "
        r"%?(?P<name>[\w.\-]+)(?: = (?P<shape>\(?\w+\[[^\s]*))?",
        None,
        "the instruction {name} needs more of it for itself than the compiler allows one of them",
        _VMEM_STEP,
    ),
    _row(
        "compile time, scoped",
        r"scoped allocation with size <needed:N> and limit <available:N> exceeded scoped "
        r"(?P<space>\w+) limit by <over:N>",
        None,
        "one instruction asks for {needed} of scratch, and may have {available}",
        _VMEM_STEP,
    ),
    _row(
        "compile time, scoped",
        r"insufficient scoped (?P<space>\w+): <needed:N> > <available:N>",
        None,
        "a kernel asks for {needed} of scratch, and may have {available}",
        _VMEM_STEP,
    ),
    _row(
        "compile time, scoped",
        r"size <needed:N> exceeds the scoped (?P<space>\w+) limit of <available:N>",
        None,
        "one instruction asks for {needed} of scratch, and may have {available}",
        _VMEM_STEP,
    ),
    _row(
        "compile time, by memory space",
        r"ran out of memory in memory space (?P<space>\w{1,20})\.?\s(?:[^\n]{0,40}?)"
        r"used <needed:N> of <available:N> \w+(?:\. Exceeded \w+ capacity by <over:N>)?",
        None,
        "the program needs {needed}: arguments, its own values, and what the system reserves",
        _HBM_STEP,
    ),
    _row(
        "compile time, without numbers",
        r"ran out of memory in memory space (?P<space>\w{1,20})",
        None,
        "the program needs more of it than there is",
        _HBM_STEP,
    ),
    _row(
        "compile time, one allocation",
        r"allocation \(size=<needed:N>\) would exceed memory \(size=<available:N>\)"
        r"(?: :: (?P<number>#allocation[0-9]+) \[shape = '(?P<shape>[^'\n]{1,400})'"
        r"(?:, space=(?P<space>\w+))?[^\]\n]{0,200}?(?:tag = '(?P<tag>[^\n]{1,2000}?)')?\])?"
        r"(?: :: (?P<name>[^\s]{1,300}))?",
        None,
        "one allocation is larger than the whole of its memory",
        "make this array smaller, or split the work on it; if it is scratch of a Pallas kernel, "
        "choose a smaller block, and a minor dimension that is a multiple of 128",
    ),
    _row(
        "compile time, both cores",
        r"TPU TensorCore Hbm usage: <needed:N>, SparseCore Hbm usage <other:N>, exceeding available"
        r" bytes: <available:N>",
        "hbm",
        "the TensorCore's program takes {needed}, and the SparseCore's {other}",
        _HBM_STEP,
    ),
    _row(
        "compile time, rematerialization",
        r"can't reduce memory use below <available:N> by rematerialization; only reduced to "
        r"<needed:N>",
        None,
        "the compiler computes values again to save memory, and still needs {needed}",
        _AFTER_STEP,
    ),
    _row(
        "run time, loading a program",
        r"(?:error loading program '?(?P<name>[\w.<>\-]*)'?: )?attempting to reserve <needed:N> at "
        r"the bottom of memory\. That was not possible\. There are <available:N> free, "
        r"<reserved:N> reserved",
        "hbm",
        "the program fits an empty device, but {needed} is not free beside the arrays that live",
        _RUN_TIME_STEP,
    ),
    _row(
        "run time, allocation",
        r"(?:error (?:loading program '?(?P<name>[\w.<>\-]*)'?|allocating device buffer): )?"
        r"attempting to allocate <needed:N>\. That was not possible\. There are <available:N> free"
        r"(?:\. The largest contiguous region of free memory is <contiguous:N>)?",
        "hbm",
        "a buffer of {needed} does not fit into what other arrays and programs leave free",
        _RUN_TIME_STEP,
    ),
    _row(
        "run time, GPU",
        r"allocator \((?P<name>[\w/:]+)\) ran out of memory trying to allocate <needed:N>"
        r"(?: \(rounded to [0-9]+\))?(?: ?requested by op (?P<what>[\w./\-]+))?",
        "gpu",
        "the GPU's allocator has no free block of {needed}",
        _GPU_STEP,
    ),
    _row(
        "run time, GPU",
        r"out of memory (?:while )?trying to allocate <needed:N>(?!\w)",
        "gpu",
        "the device has no free block of {needed}",
        _GPU_STEP,
    ),
    _row(
        "run time, GPU",
        r"failed to allocate (?:request for )?<needed:N>(?: \([0-9]+ ?(?:B|bytes)\))? "
        r"(?:on|from) device(?: ordinal [0-9]+)?",
        "gpu",
        "the driver has no free block of {needed}",
        _GPU_STEP,
    ),
    _row(
        "run time, GPU",
        r"OOM when allocating tensor with shape(?P<shape>\[[0-9,]*\]) and type (?P<what>\w+) on "
        r"(?P<name>[\w/:]+)",
        "gpu",
        "the device has no room for one array",
        _GPU_STEP,
    ),
    _row(
        "run time, arena",
        r"failed to allocate <needed:N>\. Memory limit: <available:N>\. Used: <other:N>",
        None,
        "{other} is in use, and {needed} more does not fit the limit",
        _RUN_TIME_STEP,
    ),
    _row(
        "run time, host",
        r"(?:std::bad_alloc|cannot allocate memory|Unable to allocate <needed:N> for an array)",
        "host",
        "the host's own memory is used up",
        "look at what the process holds on the host: data, checkpoints, offloaded arrays",
    ),
)
"""The messages, those first that say more; the first one that matches at a place counts."""

_CODE: Final = regex(r"\bE([0-9]{4}): (\w{1,60})", re.ASCII)
_PAGE: Final = "https://openxla.org/xla/errors/error_"


@frozen
class OomMessage:
    """A message that says that memory ran out.

    >>> (found,) = messages_of("Attempting to allocate 4.00G. That was not possible. "
    ...                        "There are 3.20G free")
    >>> found.kind, found.missing == round(0.8 * 2**30)
    ('run time, allocation', True)
    """

    json_keys: ClassVar = (
        *("kind", "code", "page", "memory_space", "needed", "available", "missing"),
        *("name", "shape", "tag", "meaning", "next_step", "line"),
    )

    kind: str  #: compile time or run time, and what ran out.
    #: the compiler's name of the error, such as ``E1000: CompileTimeHbmOom``, or None.
    code: str | None
    page: str | None  #: the compiler's page about the error, or None.
    memory_space: str | None  #: such as ``hbm``; None if the message does not say.
    needed: int | None  #: the bytes that are needed, or None.
    available: int | None  #: the bytes that there are, or None.
    names: dict[str, str]  #: other values of the message by name, as written.
    meaning: str  #: what happened, in words.
    next_step: str  #: the step that leads to the culprit.
    line: int  #: the line of the text, from 1.

    @property
    def missing(self) -> int | None:
        """The bytes that are needed above those that there are; None if it is not known."""
        over = bytes_of_text(self.names.get("over", ""))
        if over is not None or self.needed is None or self.available is None:
            return over
        other = bytes_of_text(self.names.get("other", "")) or 0
        return max(self.needed + other - self.available, 0)

    @property
    def name(self) -> str | None:
        """The instruction, program or allocator that the message names."""
        return self.names.get("name")

    @property
    def shape(self) -> str | None:
        """The type that the message names."""
        return self.names.get("shape")

    @property
    def tag(self) -> str | None:
        """What the compiler says that the allocation is for."""
        return self.names.get("tag")


def messages_of(text: str) -> tuple[OomMessage, ...]:
    """Return the messages in a text, each kind with the same numbers once, in order."""
    found: dict[tuple[object, ...], OomMessage] = {}
    for at, pattern, match in sorted(_matches(text), key=lambda each: each[0]):
        most = {"tag": OOM_VALUE}  # it ends with the number of buffers
        groups = match.groupdict().items()
        values = {k: v.strip()[: most.get(k, OOM_LABEL)] for k, v in groups if v}
        space = values.pop("space", None) or pattern.space
        needed, available = (bytes_of_text(values.get(k, "")) for k in ("needed", "available"))
        meaning = _IN_BRACES.sub(partial(_value_of, values), pattern.meaning)
        code = _code_before(text, at)
        found.setdefault(
            (space, needed, available, values.get("name")),
            OomMessage(
                pattern.kind,
                None if code is None else f"E{code[1]}: {code[2]}",
                None if code is None else f"{_PAGE}{code[1]}",
                None if space is None else space.lower(),
                needed,
                available,
                {k: v for k, v in values.items() if k not in ("needed", "available")},
                meaning,
                _step_in(space, pattern.next_step),
                text.count("\n", 0, at) + 1,
            ),
        )
        if len(found) >= OOM_MESSAGES:
            break
    return tuple(found.values())


_IN_BRACES: Final = regex(r"\{(\w+)\}", re.ASCII)


def _value_of(values: Mapping[str, str], match: re.Match[str]) -> str:
    return values.get(match[1], "?")


def _step_in(space: str | None, step: str) -> str:
    """Return the step in a memory space; of memories that kernels use, no program is left."""
    is_kernel = space is not None and space.lower() in ("vmem", "smem", "sflag")
    return _VMEM_STEP if is_kernel and step == _HBM_STEP else step


_WINDOW: Final = regex(
    r"window shape is (\w{1,20}\[[0-9,]{1,200}\]).{0,400}?"
    r"(?:has ([0-9]{1,4}) buffering levels|is single buffered)",
    re.ASCII,
)


def window_of(tag: str) -> tuple[str, int] | None:
    """Return the shape of a kernel's window, and how many buffers of it there are.

    >>> window_of("The window shape is f32[8,300], while … This allocation has 2 buffering levels.")
    ('f32[8,300]', 2)
    """
    match = _WINDOW.search(tag)
    return None if match is None else (match[1], int(match[2] or 1))


def _matches(text: str) -> Iterator[tuple[int, OomPattern, re.Match[str]]]:
    """Yield the places at which a pattern matches, unless an earlier pattern holds the place."""
    taken: list[tuple[int, int]] = []
    for pattern in OOM_PATTERNS:
        for match in pattern.pattern.finditer(text):
            begin, end = match.span()
            if not any(low < end and begin < high for low, high in taken):
                taken.append((begin, end))
                yield begin, pattern, match


def _code_before(text: str, at: int) -> re.Match[str] | None:
    """Return the error code on the line of a message, or on the line before."""
    start = text.rfind("\n", 0, max(text.rfind("\n", 0, at), 0)) + 1
    found = None
    for match in _CODE.finditer(text, start, at):
        found = match
    return found
