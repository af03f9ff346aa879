"""The names that run-time sizes have in C, and the constants that are computed from them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from morello_layouts.codegen.c_family import CLanguage, CudaLanguage
from morello_layouts.codegen.kernel.extents import Extent
from morello_layouts.codegen.language import Language
from morello_layouts.codegen.python import PythonLanguage
from morello_layouts.expr.quotient import Quotient
from morello_layouts.expr.size import Name, Number

__all__ = ["Values", "argument", "expression", "is_function_name"]

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

    >>> from morello_layouts.expr.size import Size
    >>> values = Values()
    >>> values(8), values(4 * Size.named("N")), values.lines
    ('8', 'v0', ['const size_t v0 = 4 * N;'])
    """

    def __init__(self) -> None:
        """No constants yet."""
        self._names: dict[Number, str] = {}
        self._tests: dict[str, str] = {}
        self.lines: list[str] = []

    def __call__(self, number: Number) -> str:
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

    def some(self, products: Sequence[Sequence[Number]]) -> str:
        """The name of whether one of some products of counts is not 0; none of these is of ints.

        >>> from morello_layouts.expr.size import Size
        >>> values = Values()
        >>> values.some([(Size.named("M"), 2), (Size.named("N"),)]), values.lines
        ('some0', ['const int some0 = (M) || (N);'])
        """
        known = [[n for n in counts if not isinstance(n, int)] for counts in products]
        tests = " || ".join(f"({' && '.join(map(self, counts))})" for counts in known)
        if tests not in self._tests:
            self._tests[tests] = f"some{len(self._tests)}"
            self.lines.append(f"const int {self._tests[tests]} = {tests};")
        return self._tests[tests]


def expression(number: Number, say: Values | None = None) -> str:
    """A number in C, or in Python where nothing says how its parts are called.

    >>> from morello_layouts.codegen.kernel.extents import quotient
    >>> from morello_layouts.expr.size import Size
    >>> expression(3 * quotient(Size.named("N"), 8) - 1)
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


def _atom(name: Name, say: Values | None) -> str:
    def part(number: Number) -> str:
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
