"""Loops in C, and the names in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from morello_layouts.codegen.language import Language
from morello_layouts.codegen.targets import CLanguage, CudaLanguage, PythonLanguage
from morello_layouts.expr.sizes import Int, Quotient, SizeAtom
from morello_layouts.kernels import c_vectors as micro_c
from morello_layouts.kernels.domains import Axis, Extent, upper
from morello_layouts.kernels.nests import (
    WIDEST,
    Copy,
    Fill,
    Move,
    Nest,
    Shared,
    Transposition,
    Tree,
    Unzip,
    Zip,
    fused,
)
from morello_layouts.kernels.plan import MOST_STRIPPED
from morello_layouts.kernels.staging import Staged
from morello_layouts.recipe import Recipe, linear_index, physical_coordinates

# What the loops of a kernel call their own, and so do the headers that they include.
_OWN: Final = re.compile(
    r"(t|s|i|j|p|v|r|e|x|y|some)\d*|k|tile|dim3|cuda\w*|(block|thread|grid)\w*|g|u|n|fill|fill_item|from|strip|blocks|end|b|parts?|phase|size_\w*|row|rows|stage|column|stream|source|target|size_t|NULL|linux|unix"
    r"|u?int(ptr|max|_\w+|\d+)_t|mem\w+|str\w*|RELAYOUT\w*|relayout\w*|_.*"
)

# What a kernel's text and the headers that it includes define outside of functions: string.h, and
# stdlib.h by way of immintrin.h.
_C: Final = (
    r"_.*|\w+_t|NULL|offsetof|mem\w+|str\w+|RELAYOUT\w*"
    r"|relayout_(copy|copy_row|fill|strip|lanes|vector|index|u64_\d+|(zip|unzip|transpose)_\d\w*)"
    r"|abort|abs|aligned_alloc|at_quick_exit|atexit|ato[fil]|atoll|bsearch|calloc|div|exit|free"
    r"|getenv|labs|ldiv|llabs|lldiv|malloc|mblen|mbstowcs|mbtowc|posix_memalign|qsort|quick_exit"
    r"|rand|realloc|srand|system|wcstombs|wctomb"
)
_CUDA: Final = rf"{_C}|cuda\w*|dim3|(u?(char|short|int|long|longlong)|float|double)[1-4](_\d+a)?"
_TAKEN: Final[dict[str, tuple[Language, re.Pattern[str]]]] = {
    "c": (CLanguage(), re.compile(_C)),
    "cuda": (CudaLanguage(), re.compile(_CUDA)),
    "python": (PythonLanguage(), re.compile(r"moved|int|__\w+__")),
}


def is_function_name(name: str, language: str) -> bool:
    """Whether a kernel in one of the target languages may be called so.

    >>> is_function_name("tile", "c"), is_function_name("memcpy", "c")
    (True, False)
    """
    words, taken = _TAKEN[language]
    return words.is_name(name) and taken.fullmatch(name) is None


def argument(name: str) -> str:
    """The name of a size in C.

    >>> argument("M"), argument("t"), argument("λ")
    ('M', 'size_t_', 'size_x3bb')
    """
    if not name.isascii():
        return "size_" + "".join(c if c.isascii() else f"x{ord(c):x}" for c in name)
    own = _OWN.fullmatch(name) or name in CLanguage.reserved | CudaLanguage.reserved
    return f"size_{name}_" if own else name


class Values:
    """Constants of a C function, each computed once: strides and counts that depend on sizes.

    >>> from morello_layouts.expr.sizes import SizeExpr
    >>> values = Values()
    >>> values(8), values(4 * SizeExpr.named("N")), values.lines
    ('8', 'v0', ['const size_t v0 = 4 * N;'])
    """

    def __init__(self) -> None:
        """No constants yet."""
        self._names: dict[Int, str] = {}
        self._tests: dict[str, str] = {}
        self.lines: list[str] = []

    def __call__(self, number: Int) -> str:
        """The text of a number: digits, an argument, or the name of a constant."""
        if isinstance(number, int):
            return str(number)
        atom = number.as_atom()
        if isinstance(atom, str) and not isinstance(atom, Extent):
            return argument(atom)
        if number not in self._names:
            text = expression(number, self)
            self._names[number] = f"v{len(self._names)}"
            self.lines.append(f"const size_t {self._names[number]} = {text};")
        return self._names[number]

    def some(self, products: Sequence[Sequence[Int]]) -> str:
        """The name of whether one of some products of counts is not 0; none of these is of ints.

        >>> from morello_layouts.expr.sizes import SizeExpr
        >>> values = Values()
        >>> values.some([(SizeExpr.named("M"), 2), (SizeExpr.named("N"),)]), values.lines
        ('some0', ['const int some0 = (M) || (N);'])
        """
        known = [[n for n in counts if not isinstance(n, int)] for counts in products]
        tests = " || ".join(f"({' && '.join(map(self, counts))})" for counts in known)
        if tests not in self._tests:
            self._tests[tests] = f"some{len(self._tests)}"
            self.lines.append(f"const int {self._tests[tests]} = {tests};")
        return self._tests[tests]


def expression(number: Int, say: Values | None = None) -> str:
    """A number in C, or in Python where nothing says how its parts are called.

    >>> from morello_layouts.kernels.domains import quotient
    >>> from morello_layouts.expr.sizes import SizeExpr
    >>> expression(3 * quotient(SizeExpr.named("N"), 8) - 1)
    '3 * (N // 8) - 1'
    """
    if isinstance(number, int):
        return str(number)
    text = ""
    # Terms that are taken away come last: numbers in C are unsigned.
    for monomial, c in sorted(number.printing_order(), key=lambda term: term[1] < 0):
        factors = [_atom(name, say) for name, power in monomial for _ in range(power)]
        if abs(c) != 1 or not factors:
            factors.insert(0, str(abs(c)))
        text += f" {'-' if c < 0 else '+'} {' * '.join(factors)}"
    return text[3:] if text.startswith(" +") else f"0{text}"


def _atom(name: SizeAtom, say: Values | None) -> str:
    def part(number: Int) -> str:
        if say is not None:
            return say(number)
        text = expression(number)
        return text if text.isidentifier() or text.isdigit() else f"({text})"

    over = "//" if say is None else "/"
    if isinstance(name, Quotient):
        lift = 0 if name.exact else name.divisor - 1
        return f"({part(name.numerator + lift)} {over} {name.divisor})"
    if not isinstance(name, Extent):
        return name if say is None else argument(name)
    of = part(name.of)
    match name.kind:
        case "/":
            return f"({of} {over} {name.by})"
        case "<":
            return f"({of} * ({of} < {name.by}))"
        case ">" | ">=" if say is None:
            return f"int({of} {name.kind} {name.by})"
        case kind:
            return f"({of} {kind} {name.by})"


INDENT = "    "
_MOST_UNROLLED = 4


def tree_lines(
    tree: Tree,
    say: Values,
    at: tuple[str, str] = ("t", "s"),
    depth: int = 0,
    divided: int | None = None,
) -> list[str]:
    """The loops of a tree.

    Args:
        tree: the loops.
        say: what names numbers.
        at: the texts of where target and source start.
        depth: how many loops there are around it.
        divided: which loop, from the outermost on, a call does a share of.
    """
    if isinstance(tree, Shared):
        heads, at = _over((tree.axis,), at, depth, say, divided)
        texts = [(_ends(part), tree_lines(part, say, at, depth + 1, divided)) for part in tree.body]
        always = [line for ends, text in texts if not ends for line in text]
        rest = [line for ends, text in texts if ends for line in text]
        ends = [counts for part, _ in texts for counts in part]
        if always and len(ends) > 1:  # one test for all the ends of a row
            rest = looped([f"if ({say.some(ends)}) {{"], rest)
        return looped(heads, always + rest)
    nest = tree
    at = f"{at[0]} + {say(nest.target)}", f"{at[1]} + {say(nest.source)}"
    if nest.strip != 0:
        return _strip_lines(nest, say, at, depth, divided)
    heads, (t, s) = _over(nest.loops, at, depth, say, divided)
    unrolled = _unrolled(nest)
    if unrolled is not None:
        heads[unrolled] = f"RELAYOUT_UNROLL {heads[unrolled]}"
    reads = [] if isinstance(nest.micro, Fill) else [f"const unsigned char *s0 = {s};"]
    body = [*reads, f"unsigned char *t0 = {t};", *_micro_lines(nest, say)]
    return looped(heads, body)


def staged_lines(part: Staged, say: Values, divided: int | None = None) -> list[str]:
    """The loops over blocks, of which a call may do a share, and both ways within."""
    at = f"t + {say(part.target)}", f"s + {say(part.source)}"
    heads, (t, s) = _over(part.loops, at, 0, say, divided)
    depth = len(part.loops)
    body = [f"_Alignas({WIDEST}) unsigned char block[{part.size}];"]
    for ways, buffers in ((part.into, ("block", "from")), (part.out, ("to", "block"))):
        body += [line for tree in fused(ways) for line in tree_lines(tree, say, buffers, depth)]
    return looped(heads, [f"const unsigned char *from = {s};", f"unsigned char *to = {t};", *body])


def _strip_lines(
    nest: Nest, say: Values, at: tuple[str, str], depth: int, divided: int | None
) -> list[str]:
    """Loops in which a strip of the source is copied, and the loops over it."""
    outer = len(nest.loops) - nest.inner
    around, at = _over(nest.loops[:outer], at, depth, say, divided)
    fixed, start = isinstance(nest.strip, int), at[1]
    from_strip = at[0], "strip" if fixed else "from"
    heads, (t, s) = _over(nest.loops[outer:], from_strip, depth + outer, say, divided)
    body = [
        f"const unsigned char *s0 = {s};",
        f"unsigned char *t0 = {t};",
        *_micro_lines(nest, say),
        "RELAYOUT_KEEP();",
    ]
    room = f"_Alignas({WIDEST}) unsigned char strip[{nest.strip if fixed else MOST_STRIPPED}];"
    if fixed:
        copied = [room, f"relayout_strip(strip, {start}, {nest.strip});"]
    else:
        counts = [axis.count for axis in nest.loops[outer:] if not isinstance(axis.count, int)]
        size = say(nest.strip)
        test = " && ".join(
            [*map(say, counts), f"{size} % {WIDEST} == 0 && {size} <= {MOST_STRIPPED}"]
        )
        # The compiler sees that no bytes are left, and so needs no call in this loop.
        copy = f"relayout_strip(strip, from, {size} / {WIDEST} * {WIDEST}), from = strip;"
        copied = [room, f"const unsigned char *from = {start};", f"if ({test}) {copy}"]
    inner = looped([f"RELAYOUT_LOOP {head}" for head in heads], body)
    return looped(around, [*copied, *inner])


def _unrolled(nest: Nest) -> int | None:
    """Which loop the compiler is to unroll: as it would if it knew how many vectors a row has."""
    if not isinstance(nest.micro, Zip | Unzip) or nest.stream or nest.micro.rows > 4:
        return None
    steps = 1
    for k, axis in reversed(list(enumerate(nest.loops))):
        if not isinstance(axis.count, int):
            return k if axis.clamp is None and upper(axis.count) is None else None
        steps *= axis.count
        if steps > _MOST_UNROLLED:
            return None
    return None


def _ends(tree: Tree) -> list[tuple[Int, ...]]:
    """For each part of a tree that is the end of a row, there or not, how often its loops run.

    Empty where some part is always there.
    """
    loops = (tree.axis,) if isinstance(tree, Shared) else tree.loops
    counts = tuple(axis.count for axis in loops)
    if isinstance(tree, Nest) and isinstance(tree.micro, Copy | Fill):
        counts += (tree.micro.size,)
    if any(not isinstance(n, int) and upper(n) is not None for n in counts):
        return [counts]
    inner = [_ends(part) for part in tree.body] if isinstance(tree, Shared) else [[]]
    return [counts for part in inner for counts in part] if all(inner) else []


def _over(
    loops: Sequence[Axis], at: tuple[str, str], first: int, say: Values, divided: int | None
) -> tuple[list[str], tuple[str, str]]:
    """Heads of loops, and the pointers within; of the divided loop a call does its share."""
    heads, (t, s) = [], at
    for k, axis in enumerate(loops, first):
        i, n = f"i{k}", say(axis.count)
        head = f"for (size_t {i} = 0; {i} < {n}; {i}++) {{"
        if k == divided:
            head = divided_head(i, n, clamped=axis.clamp is not None)
        if axis.clamp is not None:
            start, last = say(axis.clamp.first), say(axis.clamp.last)
            step = f"{start} + {i} * {axis.clamp.unit}"
            head += f" const size_t p{k} = {step} < {last} ? {step} : {last};"
            i = f"p{k}"
        heads.append(head)
        t += f" + {i} * {say(axis.target)}" if axis.target != 0 else ""
        s += f" + {i} * {say(axis.source)}" if axis.source != 0 else ""
    return heads, (t, s)


def divided_head(i: str, n: str, *, clamped: bool) -> str:
    """The head of a loop of which a call does its share."""
    start, end = (f"RELAYOUT_SHARE({n}, {part}, parts)" for part in ("part", "part + 1"))
    if clamped:  # the last two steps may write to the same places
        start, end = (x.replace(f"({n},", f"({n} - ({n} > 0),") for x in (start, end))
        end = f"part + 1 < parts ? {end} : {n}"
    return f"for (size_t {i} = {start}, e{i} = {end}; {i} < e{i}; {i}++) {{"


def looped(heads: list[str], body: list[str]) -> list[str]:
    """Lines within loops, or within a block where there is no loop."""
    heads = heads or ["{"]
    lines = [INDENT * k + head for k, head in enumerate(heads)]
    lines += [INDENT * len(heads) + line for line in body]
    return lines + [INDENT * k + "}" for k in reversed(range(len(heads)))]


def _micro_lines(nest: Nest, say: Values) -> list[str]:
    stream = "stream" if nest.stream else "0"
    match nest.micro:
        case Transposition():
            return micro_c.transposition_lines(nest.micro, stream, say)
        case Copy(size):
            copy = "relayout_copy" if isinstance(size, int) else "relayout_copy_row"
            return [f"{copy}(t0, s0, {say(size)}, {stream});"]
        case Move(size):
            return [f"memcpy(t0, s0, {size});"]
        case Fill(size):
            return [f"relayout_fill(t0, {say(size)}, fill_item, sizeof fill_item);"]
        case micro:
            return [micro_c.call(micro, "t0", "s0", stream, say)]


@dataclass(frozen=True, slots=True)
class Text:
    """An expression of unsigned integers in C, or with ``//`` as division in Python.

    >>> str(Text("d0") // 8 * 128 + Text("d0") % 8)
    '(d0 / 8 * 128 + d0 % 8)'
    """

    text: str
    division: str = "/"

    def __add__(self, other: object) -> Text:
        return self if str(other) == "0" else Text(f"({self} + {other})", self.division)

    def __mul__(self, other: object) -> Text:
        return self if other == 1 else Text(f"{self} * {other}", self.division)

    def __floordiv__(self, other: object) -> Text:
        return self if other == 1 else Text(f"{self} {self.division} {other}", self.division)

    def __mod__(self, other: object) -> Text:
        return Text("0") if other == 1 else Text(f"{self} % {other}", self.division)

    def __str__(self) -> str:
        return self.text


def offset_text(recipe: Recipe, coordinates: Sequence[Text]) -> str:
    """The offset in elements of a coordinate, as an expression in C.

    >>> from morello_layouts import index_map
    >>> offset_text(index_map("f32[3,5]{1,0:T(2,2)}").recipe, [Text("d0"), Text("d1")])
    '(((d0 / 2 * 3 + d1 / 2) * 2 + d0 % 2) * 2 + d1 % 2)'
    """
    physical = physical_coordinates(recipe, coordinates, Text("0"))
    return str(linear_index(physical, recipe.physical_shape, Text("0")))
