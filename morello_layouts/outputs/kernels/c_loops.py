"""Loops in C: from loop nests to lines of text, with hoisted scalars."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from morello_layouts.core.expr import AffineExpr, Digit
from morello_layouts.core.expr.sizes import Int, Quotient, SizeAtom, is_nonnegative
from morello_layouts.core.fields import frozen
from morello_layouts.core.recipe import Recipe, has_inverse, offset_of
from morello_layouts.core.recipe.readings import value_of
from morello_layouts.errors import UnsupportedError
from morello_layouts.outputs.codegen.operations import raised
from morello_layouts.outputs.codegen.targets import CLanguage, CudaLanguage
from morello_layouts.outputs.kernels.c_vectors import (
    interleave_call,
    transposition_lines,
    turn_lines,
)
from morello_layouts.outputs.kernels.chains import offset_form
from morello_layouts.outputs.kernels.domains import DerivedCount, LoopAxis, estimate, upper_bound
from morello_layouts.outputs.kernels.nests import (
    CACHE_LINE,
    CopyElement,
    CopyRun,
    Deinterleave,
    FillRun,
    FusedLoop,
    Interleave,
    LoopTree,
    Nest,
    Transposition,
    Turn,
    fuse_loops,
    offsets,
)
from morello_layouts.outputs.kernels.plan import Elementwise
from morello_layouts.outputs.kernels.staging import StagedBlocks, image_of
from morello_layouts.outputs.kernels.vectorize import MOST_PREFETCHED
from morello_layouts.outputs.kernels.walks import Walk

INDENT: Final = "    "
_MOST_UNROLLED: Final = 4  # vectors: compilers unroll a loop of a known count as far

# The names that the text of a kernel uses, and those that its headers use.
_OWN: Final = re.compile(
    r"(t|s|i|j|p|v|r|e|x|y|some)\d*|[di]\d+(_\d+)?(_in\d+)?(_at|_end)*|k|tile|dim3|cuda\w*"
    r"|(block|thread|grid)\w*|g|u|n|b|end|group|piece\d*|units|fill|fill_item|from|to|strip|image"
    r"|blocks|parts?|phase|size_\w*|rows?\d*|stage|column|stream|source|target|size_t|NULL|linux|unix"
    r"|u?int(ptr|max|_\w+|\d+)_t|mem\w+|str\w*|RELAYOUT\w*|relayout\w*|_.*"
)


def argument(name: str) -> str:
    """Return the name of a size in C.

    >>> argument("M"), argument("t"), argument("λ")
    ('M', 'size_t_', 'size_x3bb')
    """
    if not name.isascii():
        return "size_" + "".join(c if c.isascii() else f"x{ord(c):x}" for c in name)
    own = _OWN.fullmatch(name) or name in CLanguage.reserved | CudaLanguage.reserved
    return f"size_{name}_" if own else name


class Hoisted:
    """The scalars of a C function that depend on sizes, each hoisted to its entry.

    >>> from morello_layouts.core.expr.sizes import SizeExpr
    >>> hoist = Hoisted()
    >>> hoist(8), hoist(4 * SizeExpr.named("N")), hoist.lines
    ('8', 'v0', ['const size_t v0 = 4 * N;'])
    """

    def __init__(self, walk: Walk | None = None) -> None:
        """Begin without scalars; ``walk`` says what loops walk over."""
        self._names: dict[Int, str] = {}
        self._tests: dict[str, str] = {}
        self._loops: dict[str, int] = {}
        self._walk = walk
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

    def loop(self, axis: LoopAxis, strides: tuple[Int, Int], depth: int) -> tuple[str, str]:
        """Return the name of a loop's variable, and a comment of what the loop walks over.

        No two loops at different depths have one name: one of them may be around the other.

        Args:
            axis: the loop.
            strides: its strides in source and target; 0 in a buffer of the kernel's own.
            depth: the number of loops around it.

        >>> Hoisted(lambda axis: (1, 32)).loop(LoopAxis(8, 128, 4), (128, 4), 0)
        ('d1_32', ' /* d1 in steps of 32 */')
        """
        known = replace(axis, source=strides[0], target=strides[1])
        walk = None if self._walk is None else self._walk(known)
        if walk is None:
            return f"i{depth}", ""
        dim, step = walk
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
        return name if hoist is None else argument(name)
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
    *,
    far: bool = False,
) -> list[str]:
    """Return the loops of a tree.

    Args:
        tree: the loops.
        hoist: the scalars of the function.
        at: the texts of the addresses at which target and source start.
        depth: the number of loops around the tree.
        divided: the number of the loop that threads divide, 0 for the outermost.
        far: whether the target lies beyond the caches.
    """
    if isinstance(tree, FusedLoop):
        return _fused_lines(tree, hoist, at, depth, divided, far=far)
    at = _moved(at[0], tree.target, hoist), _moved(at[1], tree.source, hoist)
    if tree.prefetch != 0:
        return _prefetching_lines(tree, hoist, at, depth, divided)
    heads, (t, s) = loop_heads(
        tree.loops[: len(tree.loops) - tree.inner_loops], at, depth, hoist, divided
    )
    if tree.image:
        return nested(heads, _image_lines(tree, hoist, (t, s), depth + len(heads)))
    shared = divided == depth + len(tree.loops)
    unrolled = _unrolled(tree)
    if unrolled is not None:
        heads[unrolled] = f"RELAYOUT_UNROLL {heads[unrolled]}"
    reads = [] if isinstance(tree.micro, FillRun) else [f"const unsigned char *s0 = {s};"]
    micro = _micro_lines(tree, hoist, far=far, shared=shared)
    return nested(heads, [*reads, f"unsigned char *t0 = {t};", *micro])


def _moved(address: str, by: Int, hoist: Hoisted) -> str:
    return address if by == 0 else f"{address} + {hoist(by)}"


def _fused_lines(
    tree: FusedLoop,
    hoist: Hoisted,
    at: tuple[str, str],
    depth: int,
    divided: int | None,
    *,
    far: bool,
) -> list[str]:
    """Return a loop of several nests; one test guards all nests over the ends of rows."""
    heads, at = loop_heads((tree.axis,), at, depth, hoist, divided)
    texts = [
        (_ends(part), tree_lines(part, hoist, at, depth + 1, divided, far=far))
        for part in tree.body
    ]
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


def staged_lines(
    part: StagedBlocks, hoist: Hoisted, divided: int | None = None, *, far: bool = False
) -> list[str]:
    """Return the loops over blocks and the moves into and out of the staging buffer within.

    Threads may divide one of the loops.
    """
    at = _moved("t", part.target, hoist), _moved("s", part.source, hoist)
    heads, (t, s) = loop_heads(part.loops, at, 0, hoist, divided)
    depth = len(part.loops)
    body = [f"_Alignas({CACHE_LINE}) unsigned char block[{part.size}];"]
    ways = (part.into, ("block", "from"), False), (part.out, ("to", "block"), far)
    for way, buffers, to_far in ways:
        for tree in fuse_loops(way):
            body += tree_lines(tree, hoist, buffers, depth, far=to_far)
    starts = [f"const unsigned char *from = {s};", f"unsigned char *to = {t};"]
    return nested(heads, [*starts, *body])


def _prefetching_lines(
    nest: Nest, hoist: Hoisted, at: tuple[str, str], depth: int, divided: int | None
) -> list[str]:
    """Return loops that copy a strip of the source to a prefetch buffer, and the loops over it."""
    outer = len(nest.loops) - nest.inner_loops
    around, at = loop_heads(nest.loops[:outer], at, depth, hoist, divided)
    fixed, start = isinstance(nest.prefetch, int), at[1]
    from_strip = at[0], "strip" if fixed else "from"
    heads, (t, s) = loop_heads(nest.loops[outer:], from_strip, depth + outer, hoist, divided)
    body = [
        f"const unsigned char *s0 = {s};",
        f"unsigned char *t0 = {t};",
        *_micro_lines(nest, hoist, far=False),
        "RELAYOUT_KEEP();",
    ]
    room = nest.prefetch if fixed else MOST_PREFETCHED
    copied = [f"_Alignas({CACHE_LINE}) unsigned char strip[{room}];"]
    if fixed:
        copied.append(f"relayout_strip(strip, {start}, {nest.prefetch});")
    else:
        counts = [axis.count for axis in nest.loops[outer:] if not isinstance(axis.count, int)]
        size = hoist(nest.prefetch)
        fits = f"{size} % {CACHE_LINE} == 0 && {size} <= {MOST_PREFETCHED}"
        test = " && ".join([*map(hoist, counts), fits])
        # The compiler sees that no bytes are left, and so needs no call in this loop.
        copy = f"relayout_strip(strip, from, {size} / {CACHE_LINE} * {CACHE_LINE}), from = strip;"
        copied += [f"const unsigned char *from = {start};", f"if ({test}) {copy}"]
    heads = [f"RELAYOUT_LOOP {head}" if head.startswith("for") else head for head in heads]
    inner = nested(heads, body)
    return nested(around, [*copied, *inner])


def _unrolled(nest: Nest) -> int | None:
    """Return the loop to unroll: the one that compilers would if they knew its count."""
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
    loops: Sequence[LoopAxis], at: tuple[str, str], first: int, hoist: Hoisted, divided: int | None
) -> tuple[list[str], tuple[str, str]]:
    """Return the heads of loops, and the addresses within; a call does its share of one loop."""
    heads, (t, s) = [], at
    in_target, in_source = (x.split()[0] in ("t", "s", "to", "from", "strip") for x in at)
    for k, axis in enumerate(loops, first):
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


def _divided_head(i: str, n: str, *, clamped: bool) -> str:
    """Return the head of a loop whose iterations several calls share."""
    start, end = (f"RELAYOUT_SHARE({n}, {part}, parts)" for part in ("part", "part + 1"))
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


def _micro_lines(nest: Nest, hoist: Hoisted, *, far: bool, shared: bool = False) -> list[str]:
    match nest.micro:
        case Turn():
            return turn_lines(nest.micro, hoist, shared=shared)
        case Transposition():
            return transposition_lines(nest.micro, hoist, shared=shared)
        case CopyRun(size):
            near = "relayout_copy" if isinstance(size, int) else "relayout_copy_row"
            return [f"{'relayout_put' if far else near}(t0, s0, {hoist(size)});"]
        case CopyElement(size):
            return [f"memcpy(t0, s0, {size});"]
        case FillRun(size):
            return [f"relayout_fill(t0, {hoist(size)}, fill_item, sizeof fill_item);"]
        case micro:
            return [interleave_call(micro, hoist)]


def _image_lines(nest: Nest, hoist: Hoisted, at: tuple[str, str], depth: int) -> list[str]:
    """Return loops that fill an image, and those that write its runs to the target."""
    image = image_of(nest)
    heads, (t, s) = loop_heads(image.fill.loops, ("image", at[1]), depth, hoist, None)
    reads = [f"const unsigned char *s0 = {s};", f"unsigned char *t0 = {t};"]
    ahead = [f"RELAYOUT_SOON(s0 + {hoist(at)});" for at in _lines_ahead(nest)]
    fill = nested(heads, [*reads, *ahead, *_micro_lines(image.fill, hoist, far=False)])
    steps = [LoopAxis(count, apart, stride) for count, stride, apart in image.runs]
    heads, (t, s) = loop_heads(tuple(steps), (at[0], "image"), depth, hoist, None)
    put = nested(heads, [f"relayout_put({t}, {s}, {hoist(image.run)});"])
    ends = nested(heads, [f"relayout_open({t}, {hoist(image.run)});"])
    return [f"_Alignas({CACHE_LINE}) unsigned char image[{image.size}];", *ends, *fill, *put]


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
    return [ahead + row + k for row in rows for k in range(0, run, CACHE_LINE)] if ahead else []


@frozen
class IndexText:
    """An expression of unsigned integers in C, or with ``//`` as division in Python.

    >>> str(IndexText("d0", str) // 8 * 128 + IndexText("d0", str) % 8)
    '(d0 / 8 * 128 + d0 % 8)'
    """

    text: str  #: the expression.
    number: Callable[[Int], str] | None = None  #: the text of a number in C; None for Python.

    def _with(self, sign: str, other: IndexText | Int) -> IndexText:
        if isinstance(other, IndexText):
            return IndexText(f"{self} {sign} {other}", self.number)
        return IndexText(f"{self} {sign} {self._of(other)}", self.number)

    def _of(self, number: Int) -> IndexText:
        if self.number is not None:
            return IndexText(self.number(number), self.number)
        text = expression(number)
        return IndexText(text if text.isalnum() else f"({text})")

    def __add__(self, other: IndexText | Int) -> IndexText:
        if other == 0 or str(other) == "0":
            return self
        if self.text == "0":
            return other if isinstance(other, IndexText) else self._of(other)
        if isinstance(other, IndexText) or not is_nonnegative(-other):
            return IndexText(f"({self._with('+', other)})", self.number)
        return IndexText(f"({self._with('-', -other)})", self.number)

    def __mul__(self, other: Int) -> IndexText:
        if is_nonnegative(-other):
            return IndexText(f"(0 - {self * -other})", self.number)
        return self if other == 1 else self._with("*", other)

    def __floordiv__(self, other: Int) -> IndexText:
        return self if other == 1 else self._with("//" if self.number is None else "/", other)

    def __mod__(self, other: Int) -> IndexText:
        return IndexText("0", self.number) if other == 1 else self._with("%", other)

    def __xor__(self, other: IndexText) -> IndexText:
        return IndexText(f"({self._with('^', other)})", self.number)

    def __str__(self) -> str:
        return self.text


def offset_text(recipe: Recipe, number: Callable[[Int], str] | None = None) -> str:
    """Return the offset in elements of the element at ``d0, d1, …``.

    Args:
        recipe: the layout.
        number: the text of a number in C, such as ``Hoisted()``; None for Python.

    >>> from morello_layouts import index_map
    >>> offset_text(index_map("f32[3,5]{1,0:T(2,2)}").recipe)
    '(((d0 % 2 * 2 + d0 // 2 * 12) + d1 % 2) + d1 // 2 * 4)'
    """
    at = [IndexText(f"d{k}", number) for k in range(len(recipe.shape))]
    zero, form = IndexText("0", number), offset_form(recipe)
    form = form if number is None else raised(form)
    if number is None or _divides_naturals(form):
        return str(value_of(form, {f"d{k}": x for k, x in enumerate(at)}, zero))
    if has_inverse(recipe):  # its steps divide numbers of at least 0 only
        return str(offset_of(recipe, at, zero))
    raise UnsupportedError(
        f"no kernel computes {recipe}",
        "a quotient or remainder of a negative number differs between languages",
        "give a formula whose quotients and remainders are of numbers of at least 0",
    )


def _divides_naturals(form: AffineExpr) -> bool:
    """Whether all that a form divides is at least 0, so that it does not matter how C rounds."""
    digits = (atom for atom in form.atoms() if isinstance(atom, Digit))
    least = (digit.operand.interval.lo for digit in digits)
    return all(lo is not None and is_nonnegative(lo) for lo in least)


PLAIN: Final = "The layouts share no digits: a plain loop takes each element through both formulas."


def elementwise_lines(
    of: Elementwise, itemsize: int, hoist: Hoisted, divided: int | None = None
) -> list[str]:
    """Return a loop for each dimension, in which each element goes through both formulas."""
    lines = [f"/* {PLAIN} */"]
    shape = of.source.shape
    for k, n in enumerate(map(hoist, shape)):
        head = f"for (size_t d{k} = 0; d{k} < {n}; d{k}++)"
        if k == divided:
            head = _divided_head(f"d{k}", n, clamped=False).removesuffix(" {")
        lines.append(f"{INDENT * k}{head}")
    pad = INDENT * len(shape)
    t, s = (f"{itemsize} * ({offset_text(recipe, hoist)})" for recipe in (of.target, of.source))
    return [*lines, f"{pad}memcpy(t + {t},\n{pad}    s + {s}, {itemsize});"]
