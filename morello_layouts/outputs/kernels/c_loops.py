"""Loops in C: from loop nests to lines of text, with hoisted scalars.

A label says what a loop walks over: the dimension of its strides, and the elements of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from morello_layouts.core.expr.sizes import Int, Quotient, SizeAtom, is_nonnegative
from morello_layouts.core.lazy import regex
from morello_layouts.outputs.codegen.targets import CLanguage, CudaLanguage, PythonLanguage
from morello_layouts.outputs.kernels.c_vectors import (
    interleave_call,
    transposition_lines,
    turn_lines,
)
from morello_layouts.outputs.kernels.chains import DimensionDigits, chains_of, chains_to_read
from morello_layouts.outputs.kernels.domains import (
    CopyAxis,
    DerivedCount,
    LoopSwizzle,
    XorTerm,
    estimate,
    upper_bound,
)
from morello_layouts.outputs.kernels.nests import (
    CACHE_LINE,
    CopyElement,
    CopyRun,
    Deinterleave,
    FillRun,
    FusedLoop,
    Interleave,
    LargeTransposition,
    LoopTree,
    Nest,
    Permutation,
    Transposition,
    fuse_loops,
    offsets,
)
from morello_layouts.outputs.kernels.permutations import permutation_lines
from morello_layouts.outputs.kernels.plan import Kernel
from morello_layouts.outputs.kernels.staging import StagedBlocks, image_of

# The dimension that a loop walks over, and the elements of one step; None if it has no words.
LoopLabel: TypeAlias = Callable[[CopyAxis], tuple[int, int] | None]


def label_of(kernel: Kernel) -> LoopLabel:
    """Return the function that says what the loops of a kernel walk over.

    A stride of 0 says nothing: it is of a buffer of the kernel's own, or of replicas.

    >>> from morello_layouts import index_map
    >>> a, b = (index_map(text, (64, 64)).recipe for text in ("[0, 1]", "[1, 0]"))
    >>> label = label_of(Kernel(a, b, 4))
    >>> label(CopyAxis(2, 32 * 256, 32 * 4)), label(CopyAxis(64, 4, 256)), label(CopyAxis(8, 3, 5))
    ((0, 32), (1, 1), None)
    """
    chains = chains_to_read(kernel.source), chains_of(kernel.target)

    def label(axis: CopyAxis) -> tuple[int, int] | None:
        items = 1 if axis.clamp is None else axis.clamp.unit
        strides = axis.source, axis.target
        found = [
            set(_steps(chain, stride, kernel.itemsize))
            for chain, stride in zip(chains, strides, strict=True)
            if chain is not None and stride != 0
        ]
        common = set.intersection(*found) if found else set()
        least = min(common, key=lambda one: one[1], default=None)
        return None if least is None else (least[0], least[1] * items)

    return label


def _steps(chains: DimensionDigits, stride: Int, itemsize: int) -> Iterator[tuple[int, int]]:
    """Yield each dimension along which a stride is a number of elements, and that number."""
    for dim, chain in enumerate(chains.chains):
        for digit in chain:
            steps = _ratio(stride, digit.stride * itemsize)
            if steps and steps < max(2, estimate(digit.radix)):
                yield dim, estimate(digit.unit) * steps


def _ratio(number: Int, by: Int) -> int:
    """Return how many times a number is another one; 0 if it is not a multiple."""
    least = estimate(by)
    times = estimate(number) // least if least else 0
    return times if by * times == number else 0


INDENT: Final = "    "
_MOST_UNROLLED: Final = 4  # vectors: compilers unroll a loop of a known count as far

# The names that the text of a kernel uses, and those that its headers use.
_OWN: Final = regex(
    r"(t|s|i|j|p|v|r|e|x|y|some)\d*|[di]\d+(_\d*)?(_in\d+)?(_at|_end)*|k|tile|dim3|cuda\w*"
    r"|(block|thread|grid)\w*|g|u|n|b|end|group|piece\d*|units|fill(_item|_line)?|from|to"
    r"|image|blocks|parts?|phase|size_\w*|rows?\d*|stage|column|stream|source|target|size_t|NULL"
    r"|linux|unix|padding|vector|lanes|picks|done|[ab]\d+(_\d+)?"
    r"|u?int(ptr|max|_\w+|\d+)_t|mem\w+|str\w*|RELAYOUT\w*|relayout\w*|_.*"
)
_OWN_IN_PYTHON: Final = regex(r"source|target|fill|moved|np|int|size_\w*|\w+_part\d+")


def argument(name: str) -> str:
    """Return the name of a size in C.

    >>> argument("M"), argument("t"), argument("λ")
    ('M', 'size_t_', 'size_x3bb')
    """
    if not name.isascii():
        return "size_" + "".join(c if c.isascii() else f"x{ord(c):x}" for c in name)
    own = _OWN.fullmatch(name) or name in CLanguage.reserved | CudaLanguage.reserved
    return f"size_{name}_" if own else name


def python_argument(name: str) -> str:
    """Return the name of a size in Python, also as Triton's host has it.

    >>> python_argument("lambda"), python_argument("source"), python_argument("M")
    ('size_lambda_', 'size_source_', 'M')
    """
    own = _OWN_IN_PYTHON.fullmatch(name) or name in PythonLanguage.reserved
    return f"size_{name}_" if own else name


class Hoisted:
    """The scalars of a C function that depend on sizes, each hoisted to its entry.

    >>> from morello_layouts.core.expr.sizes import SizeExpr
    >>> hoist = Hoisted()
    >>> hoist(8), hoist(4 * SizeExpr.named("N")), hoist.lines
    ('8', 'v0', ['const size_t v0 = 4 * N;'])
    """

    def __init__(self, label: LoopLabel | None = None) -> None:
        """Begin without scalars; ``label`` says what loops walk over."""
        self._names: dict[Int, str] = {}
        self._tests: dict[str, str] = {}
        self._loops: dict[str, int] = {}
        self._label = label
        self.lines: list[str] = []

    def __call__(self, number: Int) -> str:
        """Return the text of a number: digits, an argument, or the name of a hoisted scalar."""
        if isinstance(number, int):
            return str(number)
        atom = number.as_atom()
        if isinstance(atom, str) and not isinstance(atom, DerivedCount):
            return argument(atom)
        if number not in self._names:
            text = expression(number, self)
            self._names[number] = f"v{len(self._names)}"
            self.lines.append(f"const size_t {self._names[number]} = {text};")
        return self._names[number]

    def loop(self, axis: CopyAxis, strides: tuple[Int, Int], depth: int) -> tuple[str, str]:
        """Return the name of a loop's variable, and a comment of what the loop walks over.

        No two loops at different depths have one name: one of them may be around the other.

        Args:
            axis: the loop.
            strides: its strides in source and target; 0 in a buffer of the kernel's own.
            depth: the number of loops around it.

        >>> Hoisted(lambda axis: (1, 32)).loop(CopyAxis(8, 128, 4), (128, 4), 0)
        ('d1_32', ' /* d1 in steps of 32 */')
        """
        known = replace(axis, source=strides[0], target=strides[1])
        label = None if self._label is None else self._label(known)
        if label is None:
            return f"i{depth}", ""
        dim, step = label
        name = f"d{dim}_{step}" if step > 1 else f"d{dim}"
        if self._loops.setdefault(name, depth) != depth:
            name = f"{name}_in{depth}"
        return name, f" /* d{dim} in steps of {step} */" if step > 1 else f" /* each d{dim} */"

    def any_nonzero(self, products: Sequence[Sequence[Int]]) -> str:
        """Return the name of the test whether any product of counts is not 0.

        Each product has a count that is not an int.

        >>> from morello_layouts.core.expr.sizes import SizeExpr
        >>> hoist = Hoisted()
        >>> hoist.any_nonzero([(SizeExpr.named("M"), 2), (SizeExpr.named("N"),)]), hoist.lines
        ('some0', ['const int some0 = (M) || (N);'])
        """
        symbolic = [[n for n in counts if not isinstance(n, int)] for counts in products]
        tests = " || ".join(f"({' && '.join(map(self, counts))})" for counts in symbolic)
        if tests not in self._tests:
            self._tests[tests] = f"some{len(self._tests)}"
            self.lines.append(f"const int {self._tests[tests]} = {tests};")
        return self._tests[tests]


def expression(number: Int, hoist: Hoisted | None = None) -> str:
    """Return a number in C; in Python if its parts are not hoisted.

    >>> from morello_layouts.outputs.kernels.domains import floor_quotient
    >>> from morello_layouts.core.expr.sizes import SizeExpr
    >>> expression(3 * floor_quotient(SizeExpr.named("N"), 8) - 1)
    '3 * (N // 8) - 1'
    """
    if isinstance(number, int):
        return str(number)
    text = ""
    # Subtracted terms come last: numbers in C are unsigned.
    for monomial, c in sorted(number.printing_order(), key=lambda term: term[1] < 0):
        factors = [_atom(name, hoist) for name, power in monomial for _ in range(power)]
        if abs(c) != 1 or not factors:
            factors.insert(0, str(abs(c)))
        text += f" {'-' if c < 0 else '+'} {' * '.join(factors)}"
    return text[3:] if text.startswith(" +") else f"0{text}"


def _atom(name: SizeAtom, hoist: Hoisted | None) -> str:
    def part(number: Int) -> str:
        if hoist is not None:
            return hoist(number)
        text = expression(number)
        return text if text.isidentifier() or text.isdigit() else f"({text})"

    over = "//" if hoist is None else "/"
    if isinstance(name, Quotient):
        lift = 0 if name.exact else name.divisor - 1
        return f"({part(name.numerator + lift)} {over} {part(name.divisor)})"
    if not isinstance(name, DerivedCount):
        return python_argument(name) if hoist is None else argument(name)
    of = part(name.of)
    match name.kind:
        case "/":
            return f"({of} {over} {name.by})"
        case "<":
            return f"({of} * ({of} < {name.by}))"
        case ">" | ">=" if hoist is None:
            return f"int({of} {name.kind} {name.by})"
        case kind:
            return f"({of} {kind} {name.by})"


def tree_lines(
    tree: LoopTree,
    hoist: Hoisted,
    at: tuple[str, str] = ("t", "s"),
    depth: int = 0,
    divided: int | None = None,
) -> list[str]:
    """Return the loops of a tree.

    Args:
        tree: the loops.
        hoist: the scalars of the function.
        at: the texts of the addresses at which target and source start.
        depth: the number of loops around the tree.
        divided: the number of the loop that threads divide, 0 for the outermost.
    """
    if isinstance(tree, FusedLoop):
        return _fused_lines(tree, hoist, at, depth, divided)
    at = _moved(at[0], tree.target, hoist), _moved(at[1], tree.source, hoist)
    loops = tree.loops[: len(tree.loops) - tree.inner_loops]
    packed = loops[-1] if _packs(tree) and divided != depth + len(loops) - 1 else None
    heads, (t, s) = loop_heads(loops[:-1] if packed else loops, at, depth, hoist, divided)
    if tree.image:
        return _image_lines(tree, hoist, heads, (t, s), depth + len(heads))
    shared = divided == depth + len(tree.loops)
    unrolled = _unrolled(tree)
    if unrolled is not None:
        heads[unrolled] = f"RELAYOUT_UNROLL {heads[unrolled]}"
    reads = [f"const unsigned char *s0 = {s};"] * tree.reads
    micro = _micro_lines(tree, hoist, shared=shared)
    if packed:
        steps = f"{hoist(packed.count)}, {packed.source}, {packed.target}"
        micro = [f"relayout_pack(t0, s0, {steps});"]
    return nested(heads, [*reads, f"unsigned char *t0 = {t};", *micro])


def _packs(nest: Nest) -> bool:
    """Whether the last loop makes one run of runs that are shorter than a word, which it reads."""
    if not isinstance(nest.micro, CopyRun) or nest.image or not nest.loops:
        return False
    size, axis = nest.micro.size, nest.loops[-1]
    return (
        size in (3, 5, 6, 7)
        and axis.target == size
        and isinstance(axis.source, int)
        and axis.source >= (4 if size == 3 else 8)
        and not (axis.clamp or axis.xor)
    )


def _moved(address: str, by: Int, hoist: Hoisted) -> str:
    return address if by == 0 else f"{address} + {hoist(by)}"


def _fused_lines(
    tree: FusedLoop, hoist: Hoisted, at: tuple[str, str], depth: int, divided: int | None
) -> list[str]:
    """Return a loop of several nests; one test guards all nests over the ends of rows."""
    heads, at = loop_heads((tree.axis,), at, depth, hoist, divided)
    texts = [(_ends(part), tree_lines(part, hoist, at, depth + 1, divided)) for part in tree.body]
    always = [line for ends, text in texts if not ends for line in text]
    rest = [line for ends, text in texts if ends for line in text]
    ends = [counts for part, _ in texts for counts in part]
    if always and len(ends) > 1:
        rest = nested([f"if ({hoist.any_nonzero(ends)}) {{"], rest)
    return nested(heads, always + rest)


def _ends(tree: LoopTree) -> list[tuple[Int, ...]]:
    """Return the loop counts of each part of a tree that is the end of a row, which may be empty.

    The list is empty if some part is not the end of a row.
    """
    loops = (tree.axis,) if isinstance(tree, FusedLoop) else tree.loops
    counts = tuple(axis.count for axis in loops)
    if isinstance(tree, Nest) and isinstance(tree.micro, CopyRun | FillRun):
        counts += (tree.micro.size,)
    if any(not isinstance(n, int) and upper_bound(n) is not None for n in counts):
        return [counts]
    inner = [_ends(part) for part in tree.body] if isinstance(tree, FusedLoop) else [[]]
    return [counts for part in inner for counts in part] if all(inner) else []


def staged_lines(part: StagedBlocks, hoist: Hoisted, divided: int | None = None) -> list[str]:
    """Return the loops over blocks and the moves into and out of the staging buffer within.

    Threads may divide one of the loops.
    """
    at = _moved("t", part.target, hoist), _moved("s", part.source, hoist)
    heads, (t, s) = loop_heads(part.loops, at, 0, hoist, divided)
    depth = len(part.loops)
    body = [f"_Alignas({CACHE_LINE}) unsigned char block[{part.size}];"]
    for way, buffers in (part.into, ("block", "from")), (part.out, ("to", "block")):
        for tree in fuse_loops(way):
            body += tree_lines(tree, hoist, buffers, depth)
    starts = [f"const unsigned char *from = {s};", f"unsigned char *to = {t};"]
    return nested(heads, [*starts, *body])


def _unrolled(nest: Nest) -> int | None:
    """Return the loop that compilers would unroll if its trip count were constant."""
    if not isinstance(nest.micro, Interleave | Deinterleave):
        return None
    if nest.micro.rows > 4:
        return None
    steps = 1
    for k, axis in reversed(list(enumerate(nest.loops))):
        if not isinstance(axis.count, int):
            return k if axis.clamp is None and upper_bound(axis.count) is None else None
        steps *= axis.count
        if steps > _MOST_UNROLLED:
            return None
    return None


def loop_heads(
    loops: Sequence[CopyAxis], at: tuple[str, str], first: int, hoist: Hoisted, divided: int | None
) -> tuple[list[str], tuple[str, str]]:
    """Return the heads of loops, and the addresses within; a call does its share of one loop."""
    heads, (t, s) = [], at
    in_target, in_source = (x.split()[0] in ("t", "s", "to", "from") for x in at)
    for k, axis in enumerate(loops, first):
        if axis.xor is not None:
            head, t, s = _swizzle_head(axis.xor, (t, s), k, hoist, divided=k == divided)
            heads.append(head)
            continue
        strides = axis.source * in_source, axis.target * in_target
        (i, walk), n = hoist.loop(axis, strides, k), hoist(axis.count)
        if k != divided and upper_bound(axis.count) == 1 and axis.source == axis.target == 0:
            heads.append(f"if ({n}) {{")
            continue
        head = f"for (size_t {i} = 0; {i} < {n}; {i}++) {{{walk}"
        if k == divided:
            head = _divided_head(i, n, clamped=axis.clamp is not None) + walk
        if axis.clamp is not None:
            start, last = axis.clamp.first, hoist(axis.clamp.last)
            step = f"{f'{hoist(start)} + ' if start != 0 else ''}{i} * {axis.clamp.unit}"
            head += f" const size_t {i}_at = {step} < {last} ? {step} : {last};"
            i = f"{i}_at"
        heads.append(head)
        t += f" + {i} * {hoist(axis.target)}" if axis.target != 0 else ""
        if axis.source != 0:
            back = is_nonnegative(-axis.source)
            s += f" {'-' if back else '+'} {i} * {hoist(-axis.source if back else axis.source)}"
    return heads, (t, s)


def _swizzle_head(
    xor: LoopSwizzle, at: tuple[str, str], depth: int, hoist: Hoisted, *, divided: bool
) -> tuple[str, str, str]:
    """Return the heads of a swizzle's loops, and the addresses within."""
    (t, s), heads = at, list[str]()
    names = [f"x{depth}_{k}" for k in range(len(xor.loops))]
    for k, (i, axis) in enumerate(zip(names, xor.loops, strict=True)):
        n, last = hoist(axis.count), k + 1 == len(names)
        head = f"for (size_t {i} = 0; {i} < {n}; {i}++)"
        if k == 0 and divided:
            head = _divided_head(i, n, clamped=False).removesuffix(" {")
        heads.append(f"RELAYOUT_WHOLE {head} {{" if last else head)
        t += f" + {i} * {hoist(axis.target)}" if axis.target != 0 else ""
        s += f" + {i} * {hoist(axis.source)}" if axis.source != 0 else ""

    def added(term: XorTerm) -> str:
        parts = []
        for loop, start, scale in term.digits:
            own = [] if start == 0 else [hoist(start)]
            own += [] if loop is None else [names[loop]]
            text = " + ".join(own) or "0"
            parts.append(
                f"({text}) * {scale}" if scale > 1 else f"({text})" * (len(own) > 1) or text
            )
        return f" + ({' ^ '.join(parts)}) * {hoist(term.stride)}"

    t += "".join(map(added, xor.target))
    s += "".join(map(added, xor.source))
    return " ".join(heads), t, s


def _divided_head(i: str, n: str, *, clamped: bool) -> str:
    """Return the head of a loop whose iterations several calls share."""
    start, end = (f"RELAYOUT_SPLIT({n}, {part}, parts)" for part in ("part", "part + 1"))
    if clamped:  # the last two steps may write to the same places
        start, end = (x.replace(f"({n},", f"({n} - ({n} > 0),") for x in (start, end))
        end = f"part + 1 < parts ? {end} : {n}"
    return f"for (size_t {i} = {start}, {i}_end = {end}; {i} < {i}_end; {i}++) {{"


def nested(heads: list[str], body: list[str]) -> list[str]:
    """Return lines within loops, or within a block if there is no loop."""
    heads = heads or ["{"]
    lines = [INDENT * k + head for k, head in enumerate(heads)]
    lines += [INDENT * len(heads) + line for line in body]
    return lines + [INDENT * k + "}" for k in reversed(range(len(heads)))]


def _micro_lines(nest: Nest, hoist: Hoisted, *, shared: bool = False) -> list[str]:
    match nest.micro:
        case LargeTransposition():
            return turn_lines(nest.micro, hoist, shared=shared)
        case Transposition():
            return transposition_lines(nest.micro, hoist, shared=shared)
        case CopyRun(size):
            near = "relayout_copy" if isinstance(size, int) else "relayout_copy_row"
            return [f"{'relayout_stream_store' if nest.past else near}(t0, s0, {hoist(size)});"]
        case CopyElement(size):
            return [f"memcpy(t0, s0, {size});"]
        case Permutation():
            return permutation_lines(nest.micro, hoist)
        case FillRun(size, item):
            given = f"s0, {item}" if item else "fill_item, sizeof fill_item"
            return [f"relayout_fill(t0, {hoist(size)}, {given});"]
        case micro:
            return [interleave_call(micro, hoist)]


def _image_lines(
    nest: Nest, hoist: Hoisted, outer: list[str], at: tuple[str, str], depth: int
) -> list[str]:
    """Return loops that fill an image, and those that write its runs to the target."""
    image = image_of(nest)
    first = f"image + {CACHE_LINE}" if image.joins else "image"
    heads, (t, s) = loop_heads(image.fill.loops, (first, at[1]), depth, hoist, None)
    reads = [f"const unsigned char *s0 = {s};", f"unsigned char *t0 = {t};"]
    ahead = [f"RELAYOUT_PREFETCH(s0 + {hoist(at)});" for at in _lines_ahead(nest)]
    fill = nested(heads, [*reads, *ahead, *_micro_lines(image.fill, hoist)])
    steps = [CopyAxis(count, apart, stride) for count, stride, apart in image.runs[::-1]]
    heads, (t, s) = loop_heads(tuple(steps), (at[0], first), depth, hoist, None)
    made = f"_Alignas({CACHE_LINE}) unsigned char image[{image.size}]"
    if not image.joins:
        put = nested(heads, [f"relayout_stream_store({t}, {s}, {hoist(image.run)});"])
        ends = nested(heads, [f"relayout_load_edges({t}, {hoist(image.run)});"])
        return nested(outer, [f"{made};", *ends, *fill, *put])
    put = nested(heads, [f"relayout_join_run({t}, {s}, {hoist(image.run)}, ends + run++);"])
    loops = nested(outer, [*fill, "size_t run = 0;", *put])
    close = f"relayout_close_run({first} + k * {image.apart}, ends[k]);"
    close = f"for (size_t k = 0; k < {image.count}; k++) {close}"
    return nested([], [f"{made}, *ends[{image.count}] = {{0}};", *loops, close])


def _lines_ahead(nest: Nest) -> list[Int]:
    """Return how far from what a step reads lie the lines that it reads for the next image."""
    outer = nest.loops[: len(nest.loops) - nest.inner_loops]
    ahead = next((axis.source for axis in reversed(outer) if estimate(axis.source) > 0), 0)
    rows, run = list[Int]([0]), 0
    match nest.micro:
        case Interleave(width=run, source=levels):
            rows = offsets(levels)
        case Deinterleave(rows=count, width=width):
            run = count * width
        case CopyRun(size):
            run = estimate(size)
        case Permutation(load=run, loads=loads):
            rows = list(loads)
    return [ahead + row + k for row in rows for k in range(0, run, CACHE_LINE)] if ahead else []
