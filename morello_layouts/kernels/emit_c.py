"""Emit a relayout kernel as C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from morello_layouts.kernels import c_vectors as c_head
from morello_layouts.kernels import c_vectors as micro_c
from morello_layouts.kernels.c_loops import (
    INDENT,
    Text,
    Values,
    argument,
    divided_head,
    looped,
    offset_text,
    staged_lines,
    tree_lines,
)
from morello_layouts.kernels.domains import Axis, estimate, upper
from morello_layouts.kernels.moves import (
    HASTE,
    STREAM_FROM,
    Apart,
    Kernel,
    Moves,
    boxes_of,
    moves_of,
    phases_of,
)
from morello_layouts.kernels.nests import WIDEST, Transposition
from morello_layouts.kernels.plan import merged
from morello_layouts.recipe import known

_WIDTH = 64
_ROWS = 384  # of the source at once: a line of each stays in the first cache


@dataclass(frozen=True, slots=True)
class Direct:
    """A whole kernel that is one transposition.

    Attributes:
        element: bytes of an element.
        x: the axis that is dense in the source.
        y: the axis that is dense in the target.
        outer: all other axes.
    """

    element: int
    x: Axis
    y: Axis
    outer: tuple[Axis, ...]


def direct_of(kernel: Kernel) -> Direct | None:
    """The transposition that a kernel is; None where it is none, or several.

    >>> from morello_layouts import relayout
    >>> r = relayout("f32[M,N]{1,0}", "{0,1}")
    >>> direct_of(Kernel(r.source.recipe, r.target.recipe, 4)).x
    Axis(count=SizeExpr(N), source=4, target=SizeExpr(4*M), clamp=None)
    """
    elements, padding = boxes_of(kernel.source, kernel.target)
    e = kernel.itemsize
    if elements is None or len(elements) != 1 or padding or e not in (1, 2, 4, 8):
        return None
    axes = merged([Axis(a.count, a.source * e, a.target * e) for a in elements[0].axes])
    x = next((a for a in axes if a.source == e), None)
    y = next((a for a in axes if a.target == e), None)
    if x is None or y is None or x is y or any(upper(a.count) is not None for a in (x, y)):
        return None
    outer = [a for a in axes if a is not x and a is not y]
    return Direct(e, x, y, tuple(sorted(outer, key=lambda a: -estimate(a.target))))


def helpers(direct: Direct) -> list[str]:
    """The helpers that the loops call."""
    return [f"relayout_across_{direct.element}_{width}" for width in (16, 32, 64)]


def choice(direct: Direct, say: Values) -> str:
    """When rows are read where they lie, in C.

    There are vectors enough; rows of the target do not start at cache lines; and those of the
    source, and of the target, spread over the places of the first cache.
    """
    e, x, y = direct.element, direct.x, direct.y
    rows, row, column = say(y.count), say(y.source), say(x.target)
    return (
        f"{say(x.count)} >= {16 // e} && {rows} >= {_WIDTH // e} && {column} % {_WIDTH} != 0"
        f" && RELAYOUT_PLACES({row}) >= RELAYOUT_LEAST({rows}, {_ROWS})"
        f" && RELAYOUT_PLACES({column}) >= {16 // e}"
    )


def direct_lines(direct: Direct, say: Values) -> list[str]:
    """The loops from ``s`` to ``t``; the last vectors of a row and of a column start early."""
    e, x, y, across, unit = (
        direct.element,
        direct.x,
        direct.y,
        16 // direct.element,
        _WIDTH // direct.element,
    )
    rows, columns, row, column = say(y.count), say(x.count), say(y.source), say(x.target)
    t, s = "t", "s"
    heads = []
    for k, axis in enumerate(direct.outer):
        heads.append(f"for (size_t i{k} = 0; i{k} < {say(axis.count)}; i{k}++)")
        t += f" + i{k} * {say(axis.target)}"
        s += f" + i{k} * {say(axis.source)}"
    return [
        f"const size_t blocks = ({rows} + {_ROWS - 1}) / {_ROWS};",
        f"const size_t block = ({rows} / blocks + {unit}) / {unit} * {unit};",
        *heads,
        f"for (size_t b = 0; b < {rows}; b += block)",
        f"for (size_t j0 = 0; j0 < {columns}; j0 += {across}) {{",
        f"    const size_t x = RELAYOUT_LEAST(j0, {columns} - {across});",
        f"    const size_t end = RELAYOUT_LEAST(b + block, {rows});",
        f"    for (size_t j1 = b; j1 < end; j1 += {unit}) {{",
        f"        const size_t y = RELAYOUT_LEAST(j1, {rows} - {unit});",
        f"        {helpers(direct)[-1]}(",
        f"            {t} + x * {column} + y * {e}, {s} + y * {row} + x * {e}, {row},",
        f"            {across}, {column}, {1 << 20}, 0, 0, 0);",
        "    }",
        "}",
    ]


@dataclass(frozen=True, slots=True)
class CFile:
    """A kernel in parts, so that several can share one file.

    Attributes:
        helpers: names of the micro-kernels it calls.
        function: the functions that are the kernel's own.
        phases: whether it takes long enough for several threads, of each phase of :class:`Given`.
    """

    helpers: tuple[str, ...]
    function: str
    phases: tuple[bool, ...] = (False,)

    def __str__(self) -> str:
        return join([self])


def join(files: Sequence[CFile]) -> str:
    """One file of several kernels."""
    names = dict.fromkeys(name for file in files for name in file.helpers)
    parts = [
        c_head.PREAMBLE,
        c_head.VECTORS,
        c_head.COPY,
        c_head.LANES,
        *(micro_c.helper_text(name) for name in names),
        *(file.function for file in files),
    ]
    return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class Given:
    """What the function is given at each call, besides the buffers.

    Attributes:
        sizes: names of symbolic sizes.
        fill: whether also the bytes of an item of padding.
        share: whether also which share of the work it is to do, ``part`` of ``parts``, and the
            ``phase``: calls of one phase may run at once, those of different phases may not.
    """

    sizes: tuple[str, ...] = ()
    fill: bool = False
    share: bool = False

    @property
    def arguments(self) -> tuple[tuple[str, str], ...]:
        """The type and the name of each.

        >>> Given(("M",), fill=True).arguments
        (('size_t ', 'M'), ('const unsigned char *', 'fill'))
        """
        found = [("size_t ", argument(size)) for size in self.sizes]
        found += [("const unsigned char *", "fill")] if self.fill else []
        found += [("size_t ", x) for x in ("part", "parts", "phase")] if self.share else []
        return tuple(found)

    @property
    def passed(self) -> str:
        """The names, as arguments of a call that follow others."""
        return "".join(f", {name}" for _, name in self.arguments)

    @property
    def declared(self) -> str:
        """Types and names, as parameters that follow others."""
        return "".join(f", {kind}{name}" for kind, name in self.arguments)


def c_file(
    kernel: Kernel, stream_from: int = STREAM_FROM, *, fill: bool = False, share: bool = False
) -> CFile:
    """The kernel as a C function ``void name(void *target, const void *source)``.

    Symbolic sizes are further arguments, ``size_t`` in the order of their names.

    Args:
        kernel: what is asked for.
        stream_from: bytes of a target from which stores go past the caches.
        fill: whether the bytes of an item of padding are an argument too, and not the kernel's.
        share: whether a call does one share of the work; see :class:`Given`.
    """
    given = Given(kernel.names, fill, share)
    if kernel.names:
        return _sized_file(kernel, stream_from, given)
    moves, name = moves_of(kernel, stream_from), kernel.name
    body = []
    if moves.streams:
        body += [
            f"{INDENT}if ((uintptr_t)target % {WIDEST} == 0) {{",
            f"{INDENT * 2}{name}_loops(target, source{given.passed}, 1);",
            f"{INDENT * 2}RELAYOUT_FENCE();",
            f"{INDENT * 2}return;",
            f"{INDENT}}}",
        ]
    body.append(f"{INDENT}{name}_loops(target, source{given.passed}, 0);")
    lines = [*_loops(f"{name}_loops", moves, given), *_function(kernel, body, given)]
    return CFile(_helpers(moves), "\n".join(lines), _phases(moves, given))


def _phases(moves: Moves, given: Given) -> tuple[bool, ...]:
    """What comes after the first phase is the ends of rows, or all elements."""
    if not given.share:
        return (False,)
    return (True, *[False] * (len(phases_of(moves)) - 1), *[True] * bool(moves.apart))


def _sized_file(kernel: Kernel, stream_from: int, given: Given) -> CFile:
    """One function for all sizes: loops for small targets, and for those past the caches."""
    name, say = kernel.name, Values()
    near, far = (moves_of(kernel, stream_from, large=large) for large in (False, True))
    streaming = [nest for nest in far.every_nest if nest.stream]
    hasty = any(isinstance(nest.micro, Transposition) for nest in streaming)
    steady = any(not isinstance(nest.micro, Transposition) for nest in streaming)
    plans = ([(nest.micro, nest.strip) for nest in moves.every_nest] for moves in (near, far))
    planned = next(plans) != next(plans)
    reach = say(kernel.target.size * kernel.itemsize) if planned or streaming else ""
    whole = " | ".join(["(uintptr_t)target", *map(say, far.conditions)])

    def run(loops: str, stream: int) -> str:
        return f"{name}_{loops}(target, source{given.passed}, {stream});"

    def streams(from_bytes: int, level: int) -> list[str]:
        return [
            f"if ({reach} >= {from_bytes} && ({whole}) % {WIDEST} == 0) {{",
            f"{INDENT}{run('far', level)}",
            f"{INDENT}RELAYOUT_FENCE();",
            f"{INDENT}return;",
            "}",
        ]

    body = [
        *(streams(stream_from, 2) if steady else []),
        *(streams(stream_from // HASTE, 1) if hasty else []),
    ]
    if planned:
        body += [f"if ({reach} >= {stream_from // HASTE}) {{", INDENT + run("far", 0)]
        body += [f"{INDENT}return;", "}"]
    direct = None if given.share else direct_of(kernel)
    if direct is not None:
        body += [f"if ({choice(direct, say)}) {{", INDENT + run("direct", 0)]
        body += [f"{INDENT}return;", "}"]
    body.append(run("near" if planned or not streaming else "far", 0))
    body = [INDENT + line for line in (*say.lines, *body)]
    lines = []
    if direct is not None:
        lines += _loops_of(f"{name}_direct", given, lambda say: direct_lines(direct, say))
    if planned or streaming:
        lines += _loops(f"{name}_far", far, given)
    if planned or not streaming:
        lines += _loops(f"{name}_near", near, given)
    more = helpers(direct) if direct is not None else []
    called = dict.fromkeys([*_helpers(far), *_helpers(near), *more])
    phases = max((_phases(moves, given) for moves in (near, far)), key=len)
    return CFile(tuple(called), "\n".join([*lines, *_function(kernel, body, given)]), phases)


def _helpers(moves: Moves) -> tuple[str, ...]:
    found = (h for nest in moves.every_nest for h in micro_c.helper_names(nest.micro))
    return tuple(dict.fromkeys(found))


def _function(kernel: Kernel, body: list[str], given: Given) -> list[str]:
    said = "\n".join([kernel.comment, *map(str, kernel.assumptions)]).strip()
    comment = said.replace("*/", "* /").replace("\n", "\n * ")
    buffers = "void *restrict target, const void *restrict source"
    head = f"void {kernel.name}({buffers}{given.declared})"
    return [*([f"/* {comment} */"] if comment else []), f"{head};", head, "{", *body, "}", ""]


def _loops(name: str, moves: Moves, given: Given) -> list[str]:
    return _loops_of(name, given, lambda say: _body(moves, given, say))


def _body(moves: Moves, given: Given, say: Values) -> list[str]:
    if given.share:
        body = _shared_lines(moves, say)
    else:
        body = [line for tree in moves.trees for line in tree_lines(tree, say)]
        body += [line for part in moves.staged for line in staged_lines(part, say)]
        body += _apart_lines(moves.apart, moves.itemsize) if moves.apart else []
    if moves.fills and moves.fill is not None:
        body[:0] = _pattern_lines(moves.fill, at_call=given.fill)
    return body


def _loops_of(name: str, given: Given, write: Callable[[Values], list[str]]) -> list[str]:
    """A function of buffers, what else is given, and whether stores go past the caches."""
    say = Values()
    body = write(say)
    head = "unsigned char *restrict t, const unsigned char *restrict s"
    words = ["t", "s", "stream", *(word for _, word in given.arguments)]
    unused = ", ".join(f"(void){word}" for word in words)
    return [
        f"RELAYOUT_INLINE void {name}(\n    {head}{given.declared}, const int stream)",
        "{",
        f"{INDENT}{unused};",
        *(INDENT + line for line in (*say.lines, *body)),
        "}",
        "",
    ]


def _shared_lines(moves: Moves, say: Values) -> list[str]:
    """The share of one thread: of most loops some steps; what has no loop is one thread's."""
    phases = []
    for pieces in phases_of(moves):
        lines = []
        for k, piece in enumerate(pieces):
            text = tree_lines(piece.tree, say, divided=piece.loop)
            alone = [f"if (part == {k} % parts) {{"]
            lines += text if piece.loop is not None else looped(alone, text)
        phases.append(lines)
    for part in moves.staged:  # no two blocks share places
        steps = [estimate(axis.count) for axis in part.loops]
        longest = steps.index(max(steps)) if steps else None
        text = staged_lines(part, say, longest)
        phases[0] += text if steps else looped(["if (part == 0) {"], text)
    if moves.apart:  # what is filled before may hold elements
        shape = known(moves.apart.source.shape)
        longest = max(range(len(shape)), key=lambda k: shape[k])
        phases.append(_apart_lines(moves.apart, moves.itemsize, longest))
    numbered = enumerate(phases)
    return [line for k, text in numbered for line in looped([f"if (phase == {k}) {{"], text)]


def _pattern_lines(pattern: bytes, *, at_call: bool) -> list[str]:
    """The bytes of an item of padding; of equal bytes one says all."""
    if at_call:
        size = len(pattern)
        return [f"unsigned char fill_item[{size}];", f"memcpy(fill_item, fill, {size});"]
    values = pattern[:1] if len(set(pattern)) == 1 else pattern
    told = ", ".join(map(str, values))
    return [f"const unsigned char fill_item[{len(values)}] = {{{told}}};"]


def _apart_lines(apart: Apart, itemsize: int, divided: int | None = None) -> list[str]:
    coordinates = [Text(f"d{k}") for k in range(len(apart.source.shape))]
    lines = []
    for k, n in enumerate(apart.source.shape):
        head = f"for (size_t d{k} = 0; d{k} < {n}; d{k}++)"
        if k == divided:
            head = divided_head(f"d{k}", str(n), clamped=False).removesuffix(" {")
        lines.append(f"{INDENT * k}{head}")
    pad = INDENT * len(apart.source.shape)
    t = offset_text(apart.target, coordinates)
    s = offset_text(apart.source, coordinates)
    lines.append(
        f"{pad}memcpy(t + {itemsize} * ({t}),\n{pad}    s + {itemsize} * ({s}), {itemsize});"
    )
    return lines
