"""Emit a relayout kernel as C: its functions for one size, for all sizes, and for threads."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from morello_layouts.core.expr.sizes import Int, SizeExpr, is_nonnegative
from morello_layouts.core.fields import frozen
from morello_layouts.core.maps.subject import shape_text
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.outputs.codegen import LANGUAGES
from morello_layouts.outputs.kernels import elementwise
from morello_layouts.outputs.kernels.c_loops import (
    INDENT,
    Hoisted,
    LoopLabel,
    argument,
    expression,
    label_of,
    loop_heads,
    nested,
    python_argument,
    staged_lines,
    tree_lines,
)
from morello_layouts.outputs.kernels.c_vectors import Helper, head_text, helpers_of
from morello_layouts.outputs.kernels.domains import CopyAxis, Domain, estimate, upper_bound
from morello_layouts.outputs.kernels.emit_cuda import cuda_text
from morello_layouts.outputs.kernels.emit_triton import triton_text
from morello_layouts.outputs.kernels.nests import CACHE_LINE, Transposition
from morello_layouts.outputs.kernels.plan import (
    Kernel,
    KernelPlan,
    beyond_caches,
    domains_of,
    lateness,
    longest_loop,
    phases_of,
    plan_kernel,
)
from morello_layouts.outputs.kernels.vectorize import axes_in_bytes, fuse_axes


@frozen
class DirectTransposition:
    """A whole kernel of symbolic sizes that is one transposition without a staging buffer."""

    element: int  #: bytes of an element.
    x: CopyAxis  #: the axis that is dense in the source.
    y: CopyAxis  #: the axis that is dense in the target.
    outer: tuple[CopyAxis, ...]  #: all other axes.

    @property
    def helpers(self) -> list[Helper]:
        return helpers_of(Transposition(self.element, CACHE_LINE, (), (), direct=True))

    def condition(self, hoist: Hoisted) -> str:
        """Return the condition under which this is the fastest way, in C: there are whole tiles."""
        least = CACHE_LINE // self.element
        return f"{hoist(self.x.count)} >= {least} && {hoist(self.y.count)} >= {least}"

    def lines(self, hoist: Hoisted) -> list[str]:
        x, y = self.x, self.y
        heads, (t, s) = loop_heads(self.outer, ("t", "s"), 0, hoist, None)
        places = ", ".join(map(hoist, (y.count, y.source, x.count, x.target)))
        return nested(heads, [f"{self.helpers[-1].name}({t}, {s}, {places});"])


def direct_transposition(kernel: Kernel) -> DirectTransposition | None:
    """Return the transposition that a kernel is; None if it is not exactly one.

    >>> from morello_layouts import relayout
    >>> r = relayout("f32[M,N]{1,0}", "{0,1}")
    >>> direct_transposition(Kernel(r.source.recipe, r.target.recipe, 4)).x
    CopyAxis(count=SizeExpr(N), source=4, target=SizeExpr(4*M), clamp=None)
    """
    domains = domains_of(kernel.source, kernel.target, fill=kernel.fill is not None)
    elements, e = domains.elements, kernel.itemsize
    if elements is None or len(elements) != 1 or domains.padding or e not in (1, 2, 4, 8):
        return None
    if elements[0].source != 0 or elements[0].target != 0:
        return None
    axes = fuse_axes(axes_in_bytes(elements[0], e))
    x = next((a for a in axes if a.source == e), None)
    y = next((a for a in axes if a.target == e), None)
    if x is None or y is None or x is y or any(upper_bound(a.count) is not None for a in (x, y)):
        return None
    outer = [a for a in axes if a is not x and a is not y]
    if any(is_nonnegative(-a.source) and a.source != 0 for a in axes):
        return None
    return DirectTransposition(e, x, y, tuple(sorted(outer, key=lambda a: -estimate(a.target))))


_ABOUT_BUFFERS: Final = """d0, d1, … are the coordinates of the array. The buffers do not overlap.
They may start at any byte: loops that write past the caches begin at lines of the
target. A start at a multiple of 64 bytes saves the parts of lines at its ends."""


@frozen
class CFile:
    """A kernel in parts, so that several kernels can share one file."""

    helpers: tuple[Helper, ...]  #: the helpers that it calls.
    function: str  #: the functions of its own.
    #: for each phase of :class:`CallArguments`, whether threads are worth it.
    phases: tuple[bool, ...] = (False,)

    def __str__(self) -> str:
        return join([self])


def join(files: Sequence[CFile]) -> str:
    """Return one file of several kernels."""
    helpers = dict.fromkeys(helper for file in files for helper in file.helpers)
    functions = (file.function for file in files)
    body = "\n".join([*(helper.text for helper in helpers), *functions])
    return f"{head_text(body)}\n{body}"


@frozen
class CallArguments:
    """The arguments of a kernel's function after the buffers."""

    sizes: tuple[str, ...] = ()  #: the names of symbolic sizes.
    fill: bool = False  #: whether the bytes of an item of padding are an argument.
    #: whether a call does one share of the work, ``part`` of ``parts``, of one ``phase``. Calls of
    #: one phase may run at once, those of different phases may not.
    share: bool = False

    @property
    def arguments(self) -> tuple[tuple[str, str], ...]:
        """The type and the name of each.

        >>> CallArguments(("M",), fill=True).arguments
        (('size_t ', 'M'), ('const unsigned char *', 'fill'))
        """
        found = [("size_t ", argument(size)) for size in self.sizes]
        found += [("const unsigned char *", "fill")] if self.fill else []
        found += [("size_t ", x) for x in ("part", "parts", "phase")] if self.share else []
        return tuple(found)

    @property
    def passed(self) -> str:
        """The names, as arguments of a call after others."""
        return "".join(f", {name}" for _, name in self.arguments)

    @property
    def declared(self) -> str:
        """Types and names, as parameters after others."""
        return "".join(f", {kind}{name}" for kind, name in self.arguments)


def c_file(
    kernel: Kernel, stream_from: int | None = None, *, fill: bool = False, share: bool = False
) -> CFile:
    """Return the kernel as a C function ``void name(void *target, const void *source)``.

    Symbolic sizes are further arguments, ``size_t`` in the order of their names.

    Args:
        kernel: the kernel to be written.
        stream_from: bytes of a target beyond the caches; by default the machine's caches decide.
        fill: whether the bytes of an item of padding are an argument, not the kernel's own.
        share: whether a call does one share of the work; see :class:`CallArguments`.
    """
    extra = CallArguments(kernel.names, fill, share)
    if kernel.names:
        return _sized_file(kernel, stream_from or beyond_caches(), extra)
    plan, hoist = plan_kernel(kernel, stream_from), Hoisted(label_of(kernel))
    body = _body(plan, extra, hoist)
    names, given, used = [name for _, name in extra.arguments], list[str](), _words(body)
    for name, short, kind in (("target", "t", ""), ("source", "s", "const ")):
        if short in used:
            given.append(f"{kind}unsigned char *{short} = {name};")
        else:
            names.append(name)
    lines = [*_ignored(names, used), *given, *hoist.lines, *body]
    return CFile(_helpers(plan), "\n".join(_function(kernel, lines, extra)), _phases(plan, extra))


def _words(lines: Sequence[str]) -> set[str]:
    return set(re.findall(r"\w+", "\n".join(lines)))


def _ignored(names: Sequence[str], used: set[str]) -> list[str]:
    """Return the line that keeps compilers from warnings of arguments that are not used."""
    unused = ", ".join(f"(void){name}" for name in names if name not in used)
    return [f"{unused};"] if unused else []


def _phases(plan: KernelPlan, extra: CallArguments) -> tuple[bool, ...]:
    """Return which phases take long: later ones are the ends of rows, or single elements."""
    if not extra.share:
        return (False,)
    long = 1 + plan.fills_first
    loops = [k < long for k in range(len(phases_of(plan)))]
    return (*loops, *[True] * bool(plan.elementwise))


def _sized_file(kernel: Kernel, stream_from: int, extra: CallArguments) -> CFile:
    """Return one function for all sizes: loops for targets within the caches, and beyond them."""
    name, hoist, label = kernel.name, Hoisted(), label_of(kernel)
    near, far = (plan_kernel(kernel, streams=streams) for streams in (False, True))

    def run(condition: str, loops: str) -> list[str]:
        call = f"{name}_{loops}(target, source{extra.passed});"
        return nested([f"if ({condition}) {{"], [call, "return;"]) if condition else [call]

    size = kernel.target.size * kernel.itemsize
    least = stream_from * lateness(kernel)
    is_nest = near.elementwise is not None and far.elementwise is not None  # the same anywhere
    body = [] if is_nest else run(f"{hoist(size)} >= {least}", "far")
    direct = None if extra.share else direct_transposition(kernel)
    body += run(direct.condition(hoist), "direct") if direct is not None else []
    body += run("", "near")
    lines, called = [], [*_helpers(far), *_helpers(near)]
    if direct is not None:
        lines += _loops_of(f"{name}_direct", extra, label, direct.lines)
        called += direct.helpers
    lines += [] if is_nest else _loops(f"{name}_far", far, extra, label)
    lines += _loops(f"{name}_near", near, extra, label)
    lines += _function(kernel, [*hoist.lines, *body], extra)
    phases = max((_phases(plan, extra) for plan in (near, far)), key=len)
    return CFile(tuple(dict.fromkeys(called)), "\n".join(lines), phases)


def _helpers(plan: KernelPlan) -> tuple[Helper, ...]:
    found = (helper for nest in plan.all_nests for helper in helpers_of(nest.micro))
    return tuple(dict.fromkeys(found))


def _function(kernel: Kernel, body: list[str], extra: CallArguments) -> list[str]:
    about = f"{kernel.about}\n{_ABOUT_BUFFERS}".strip()
    comment = about.replace("*/", "* /").replace("\n", "\n * ")
    buffers = "void *restrict target, const void *restrict source"
    head = f"void {kernel.name}({buffers}{extra.declared})"
    text = [INDENT + line for line in body]
    return [f"/* {comment} */", f"{head};", head, "{", *text, "}", ""]


def _loops(name: str, plan: KernelPlan, extra: CallArguments, label: LoopLabel) -> list[str]:
    return _loops_of(name, extra, label, lambda hoist: _body(plan, extra, hoist))


def _body(plan: KernelPlan, extra: CallArguments, hoist: Hoisted) -> list[str]:
    if extra.share:
        body = _shared_lines(plan, hoist)
    else:
        body = [x for tree in plan.trees for x in tree_lines(tree, hoist)]
        body += [x for part in plan.staged for x in staged_lines(part, hoist)]
        body += elementwise.c_lines(plan.elementwise) if plan.elementwise else []
    if plan.fill is not None and (plan.fills or plan.pads):
        lines = _fill_lines(plan.fill, at_call=extra.fill)
        if plan.pads:
            lines += ["_Alignas(64) unsigned char fill_line[64];"]
            lines += ["relayout_fill(fill_line, 64, fill_item, sizeof fill_item);"]
        body[:0] = lines
    return [*body, "RELAYOUT_FENCE();"] if plan.streams else body


def _loops_of(
    name: str, extra: CallArguments, label: LoopLabel, write: Callable[[Hoisted], list[str]]
) -> list[str]:
    """Return a function of buffers and other arguments."""
    hoist = Hoisted(label)
    body = write(hoist)
    lines = [*hoist.lines, *body]
    names = ["t", "s", *(name for _, name in extra.arguments)]
    head = "unsigned char *restrict t, const unsigned char *restrict s"
    return [
        f"RELAYOUT_INLINE void {name}(\n    {head}{extra.declared})",
        "{",
        *(INDENT + line for line in (*_ignored(names, _words(lines)), *lines)),
        "}",
        "",
    ]


def _shared_lines(plan: KernelPlan, hoist: Hoisted) -> list[str]:
    """Return the share of one thread: some steps of most loops; one thread does the others."""
    phases = []
    for tasks in phases_of(plan):
        lines = []
        for k, task in enumerate(tasks):
            text = tree_lines(task.tree, hoist, divided=task.loop)
            alone = [f"if (part == {k} % parts) {{"]
            lines += text if task.loop is not None else nested(alone, text)
        phases.append(lines)
    for part in plan.staged:  # no two blocks share places
        divided = longest_loop([axis.count for axis in part.loops])
        text = staged_lines(part, hoist, divided)
        phases[0] += nested(["if (part == 0) {"], text) if divided is None else text
    if plan.elementwise:  # the domains that are filled before may hold elements
        phases.append(elementwise.c_lines(plan.elementwise, share=True))
    numbered = enumerate(phases)
    return [line for k, text in numbered for line in nested([f"if (phase == {k}) {{"], text)]


def _fill_lines(fill: bytes, *, at_call: bool) -> list[str]:
    """Return the definition of an item of padding, as one byte if all its bytes are equal."""
    if at_call:
        size = len(fill)
        return [f"unsigned char fill_item[{size}];", f"memcpy(fill_item, fill, {size});"]
    values = fill[:1] if len(set(fill)) == 1 else fill
    return [f"const unsigned char fill_item[{len(values)}] = {{{', '.join(map(str, values))}}};"]


def python_text(kernel: Kernel) -> str:
    """Return the kernel as a Python function ``name(source, target=None)`` on NumPy arrays.

    Symbolic sizes are further arguments, given by name.

    >>> from morello_layouts import index_map
    >>> a, b = (index_map(text, (2, 3)).recipe for text in ("[0, 1]", "[1, 0]"))
    >>> print(python_text(Kernel(a, b, 4)).splitlines()[-2].strip())
    moved(target, 0, (3, 2), (2, 1))[...] = moved(source, 0, (3, 2), (1, 3))
    """
    source, target, fill = kernel.source, kernel.target, kernel.fill
    domains = domains_of(source, target, fill=fill is not None)
    elements, padding = domains.elements, domains.padding
    have, want = expression(source.size), expression(target.size)
    sizes = f", *, {', '.join(map(python_argument, kernel.names))}" if kernel.names else ""
    lines = [
        *(f"# {line}".rstrip() for line in kernel.about.splitlines()),
        "import numpy as np",
        "",
        "",
        "def moved(buffer, start, counts, strides):",
        '    """Return a view of a 1-D buffer: its start, and the count and step of each axis."""',
        "    steps = [step * buffer.strides[0] for step in strides]",
        "    return np.lib.stride_tricks.as_strided(buffer[start:], counts, steps)",
        "",
        "",
        f"def {kernel.name}(source, target=None{sizes}):",
        f'    """Return the buffer of {want} items from one of {have}, both 1-D."""',
        "    if target is None:",
        f"        target = np.{'zeros' if fill is None else 'empty'}({want}, source.dtype)",
        f"    assert source.shape == ({have},) and target.shape == ({want},)",
        f"    assert source.itemsize == target.itemsize == {kernel.itemsize}",
    ]
    if padding:
        lines.append(f"    fill = np.frombuffer({fill!r}, target.dtype)[0]")
        lines += [f"    {_view('target', domain)}[...] = fill" for domain in padding]
    if elements is None:
        names = _tuple([SizeExpr.named(f"d{k}") for k in range(len(source.shape))])
        lines += [
            f"    # {elementwise.PLAIN}",
            f"    {names} = np.indices({_tuple(list(source.shape))}, sparse=True)",
            f"    target[{elementwise.formula(target, 'python', kernel)}] = source[",
            f"        {elementwise.formula(source, 'python', kernel)}",
            "    ]",
        ]
    else:
        lines += [f"    {_view('target', x)}[...] = {_view('source', x)}" for x in elements]
    return "\n".join([*lines, "    return target", ""])


def _view(buffer: str, domain: Domain) -> str:
    of_target = buffer == "target"
    axes = sorted(domain.axes, key=lambda axis: -estimate(axis.target))
    counts = _tuple([axis.count for axis in axes])
    strides = _tuple([axis.target if of_target else axis.source for axis in axes])
    start = expression(domain.target if of_target else domain.source)
    return f"moved({buffer}, {start}, {counts}, {strides})"


def _tuple(numbers: list[Int]) -> str:
    return shape_text([*map(expression, numbers)])


# The names that the text of a kernel defines outside of functions.
_OWN: Final = (
    r"|RELAYOUT\w*"
    r"|relayout_(copy|copy_row|fill|fill_all|strip|lanes|vector|index|part|line|stream_store|join|load_edges|(load|join|bytes|words)_\d+|(turn|tile)_\d|u64_\d+|(zip|unzip|transpose)_\d\w*)"
)
_TARGETS: Final[dict[str, tuple[Callable[[Kernel], object], str]]] = {
    "c": (c_file, _OWN),
    "cuda": (cuda_text, _OWN),
    "python": (python_text, "|moved"),
    "triton": (triton_text, r"|\w+_part\d+"),
}

KERNEL_TARGETS: Final = tuple(_TARGETS)


def is_function_name(name: str, language: str) -> bool:
    """Whether a kernel in one of the target languages may have a name.

    >>> is_function_name("tile", "c"), is_function_name("memcpy", "c")
    (True, False)
    """
    target, (_, own) = LANGUAGES[language], _TARGETS.get(language, (None, ""))
    return target().is_name(name) and re.fullmatch(target.headers + own, name) is None


def require_function_name(name: str, language: str) -> None:
    """Refuse what is not a name for a function of a kernel's text."""
    if not is_function_name(name, language):
        raise LayoutError(
            f"{name!r} is not a name for a function",
            "a name has letters, digits and underscores, does not begin with a digit, and is not "
            f"used by the language ({language}), its headers or the kernel's own text",
            "give for example name='relayout'",
        )


def kernel_text(kernel: Kernel, language: str) -> str:
    """Return a whole source file that moves one layout's buffer to the other's."""
    if language not in _TARGETS:
        raise UnsupportedError(
            f"target: expected one of {', '.join(KERNEL_TARGETS)}, got {language!r}",
            "kernels are written in these languages",
            "give one of them",
        )
    require_function_name(kernel.name, language)
    emit, _ = _TARGETS[language]
    return str(emit(kernel))
