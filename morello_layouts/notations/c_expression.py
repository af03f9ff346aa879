"""Index expressions of C and CUDA, read only where they mean what integers do.

C's ``/`` and ``%`` round towards zero, so they are read where their left side is proved to be 0 or
more; so are operands of ``>>``, ``&``, ``^`` and ``|``. Each value on the way must fit its type:
``int`` of 32 bits, or 64 bits after a cast or a suffix (``(long)i``, ``8LL``). CUDA's indices and
numbers such as ``8u`` are unsigned, and a value that may be negative is then refused too. A size
without an upper end is taken for one whose products 64 bits hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from morello_layouts.core.expr import AffineExpr, Interval, Var
from morello_layouts.core.expr.affine import xor
from morello_layouts.core.expr.bitwise import bits_of, either, shift_left, shift_right
from morello_layouts.core.expr.conversions import divide, promote_to_sizes, remainder
from morello_layouts.core.expr.sizes import is_nonnegative
from morello_layouts.core.lazy import regex
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.notations.expression_reader import (
    BY_CONDITIONS,
    Dialect,
    ExpressionReader,
    Placed,
    _Group,
)
from morello_layouts.notations.grammar import INT, NAME, Source, Syntax, Terminal

_SYNTAX: Final = Syntax(
    form="an index expression of C is made of integers, names, + - * / % << >> & ^ | and casts",
    example="write for example (tid & 7) * 64 + (tid >> 3)",
    hints={"/": "write / once: // begins a comment in C"},
)


def _at_least_zero(operator: str, operation: Callable[..., Any]) -> Callable[..., AffineExpr]:
    def apply(*parts: Any) -> AffineExpr:
        for part in parts:
            is_form = isinstance(part, AffineExpr)
            lo = part.interval.lo if is_form else part - 1
            is_mask = operator == "&" and is_form and not part.terms
            if not is_mask and (lo is None or not is_nonnegative(lo)):
                what = f"{part} may be negative" if is_form else f"expected 1 or more, got {part}"
                raise LayoutError(
                    f"{operator}: {what}",
                    "C rounds towards zero and its bits depend on the type, so that both sides "
                    "are 0 or more here",
                    "give bounds, such as tid=0..127",
                )
        return cast("AffineExpr", operation(*parts))

    return apply


_OF_BITS: Final[Mapping[str, Callable[..., Any]]] = {
    "<<": shift_left, ">>": shift_right, "&": bits_of, "^": xor, "|": either,
}  # fmt: skip

_C: Final = Dialect(
    re.compile(r"(0[xX][0-9A-Fa-f]+|[0-9]+)|((?:min|max|abs)(?=\s*\())|([A-Za-z_]\w*(?:\.[xyz]\b)?)"
               r"|([<>=!]=|<<|>>|[<>]|&&|\|\||[-+*/%^&|~!(,?:])", re.ASCII),
    {"/": _at_least_zero("/", divide), "%": _at_least_zero("%", remainder)},
    (INT, NAME, "(", Terminal("'+', '-' or '~'", ""), Terminal("a cast such as (int)", "")),
    (Terminal("an operator", ""),),
    {sign: _at_least_zero(sign, of) for sign, of in _OF_BITS.items()} | dict(BY_CONDITIONS),
    {"<<": 2, ">>": 2, "<": 3, "<=": 3, ">": 3, ">=": 3, "==": 4, "!=": 4, "&": 5, "^": 6, "|": 8,
     "&&": 12, "||": 14, ":": 18, "?": 20},
)  # fmt: skip

_WORD: Final = r"(?:unsigned|signed|const|long|int|u?int(?:32|64)_t|size_t|ptrdiff_t)"
_CAST: Final = regex(
    rf"\s*(?:\(\s*((?:{_WORD}\s*)+)\)|static_cast\s*<\s*((?:{_WORD}\s*)+)>(?=\s*\())"
)
_SUFFIX: Final = regex(r"[uUlL]*")
_OF_CUDA: Final = regex(r"(threadIdx|blockIdx|blockDim|gridDim)\.([xyz])")
_ENDS: Final = {
    "threadIdx": (0, {"x": 1023, "y": 1023, "z": 63}),
    "blockDim": (1, {"x": 1024, "y": 1024, "z": 64}),
    "blockIdx": (0, {"x": 2**31 - 2, "y": 65534, "z": 65534}),
    "gridDim": (1, {"x": 2**31 - 1, "y": 65535, "z": 65535}),
}
"""The values of CUDA's indices, by the CUDA C++ Programming Guide, "Compute Capabilities"."""


def parse_c_expression(text: str, bounds: Mapping[str, Interval]) -> AffineExpr:
    """Parse an index expression of C or CUDA; the values of names are their bounds.

    Raises:
        ParseError: if a value may be negative where it matters, or may leave its type.

    >>> tid = {"tid": Interval(0, 127)}
    >>> print(parse_c_expression("(tid & 7) * 64 + (tid >> 3)", tid))
    64*(tid%8) + tid//8
    >>> parse_c_expression("(tid - 1) / 8", tid)
    Traceback (most recent call last):
    morello_layouts.errors.ParseError: /: tid - 1 may be negative
      (tid - 1) / 8
                  ^
    C rounds towards zero and its bits depend on the type, so that both sides are 0 or more here
    give bounds, such as tid=0..127
    """
    source = Source(text, _SYNTAX)
    reader = _CReader(source, bounds)
    form = reader.read()
    source.end()
    return promote_to_sizes(form, reader.sizes)


class _CReader(ExpressionReader):
    """Read expressions of C. Values are told apart by their places in the text."""

    def __init__(self, source: Source, bounds: Mapping[str, Interval]) -> None:
        super().__init__(source, _C, lambda name, _: Var(name, self._interval(name)))
        self.bounds = bounds
        self.wide, self.unsigned = set[int](), set[int]()

    def _interval(self, name: str) -> Interval:
        found = self.bounds.get(name)
        if found is None and (own := _OF_CUDA.fullmatch(name)):
            lo, most = _ENDS[own[1]]
            found = Interval(lo, most[own[2]])
        return found or Interval(None, None)

    def _operand(self, groups: list[_Group]) -> Placed:
        casts = list[str]()
        while cast := _CAST.match(self.text, self.source.at):
            casts.append(cast[1] or cast[2])
            self.source.move(cast.end())
        if casts and self.text[self.source.at :].lstrip()[:1] in ("(", "-", "+", "~"):
            # The cast is of all that is in the parentheses: their values may be of another type.
            raise ParseError(
                "a cast of more than a name or a number",
                "what is in the parentheses has its own type, which the cast does not change",
                "cast the first name in them, such as (long)i",
                text=self.text, position=self.source.at,
            )  # fmt: skip
        value = super()._operand(groups)
        end = self.source.at
        token = self.text[value.start : end]
        if not value.form.terms:
            suffix = _SUFFIX.match(self.text, value.start + len(token.rstrip()))
            word = suffix[0] if suffix else ""
            self.source.move(value.start + len(token.rstrip()) + len(word))
            casts += ["unsigned"] * ("u" in word.lower()) + ["long"] * ("l" in word.lower())
            if token[:1] == "0" and token.strip().isdigit() and len(token.strip()) > 1:
                raise ParseError("an octal number", "C reads 010 as 8", "write it in decimal",
                                 text=self.text, position=value.start)  # fmt: skip
        elif _OF_CUDA.fullmatch(token.strip()):
            casts.append("unsigned")
        lo, hi = value.form.interval
        if lo == hi and isinstance(lo, int):  # a name with one value
            value = value._replace(form=AffineExpr((), lo))
        if any(re.search("long|64|size_t|ptrdiff", cast) for cast in casts):
            self.wide.add(value.start)
        if any(re.search("unsigned|uint|size_t", cast) for cast in casts):
            self.unsigned.add(value.start)
        if value.start in self.unsigned and "~" in groups[-1].signs:
            self._require_mask(groups[-1], value)
        return value if None in (lo, hi) else self._fitting(value)  # a name fits its own type

    def _require_mask(self, group: _Group, value: Placed) -> None:
        """Refuse ``~7u`` unless it is a side of ``&``: as a number it is large, not negative."""
        before = group.bits[-1][1] if group.bits else ""
        after = self.text[self.source.at :].lstrip()[:1]
        is_side = after == "&" or (before == "&" and after in ("", ")", "^", "|"))
        if not is_side or group.parts or group.left:
            raise self._refused(value, "~ of an unsigned value", "is no larger than its names say")

    def _product(self, left: Placed, right: Placed, sign: str, at: int) -> Placed:
        return self._fitting(super()._product(left, right, sign, at), left, right)

    def _sum(self, group: _Group) -> Placed:
        total, *others = group.parts
        for part in others:
            total = self._fitting(total._replace(form=total.form + part.form), part)
        return group.end_sum()

    def _merged(self, operator: str, parts: list[Placed]) -> Placed:
        is_shift = operator in ("<<", ">>")  # of the type of the left side
        if is_shift:
            width, by = 64 if parts[0].start in self.wide else 32, parts[1].form
            if by.terms or not isinstance(by.const, int) or not 0 <= by.const < width:
                what = f"{operator}: expected 0 to {width - 1}, got {by}"
                raise self._refused(parts[1], what, "has known bits, of which a shift takes some")
        elif any(each.start in self.wide for each in parts):
            for each in parts:  # ~7u has 32 bits, also beside a value of 64
                if each.start in self.unsigned - self.wide and each.form.interval.lo is not None:
                    self._fitting(each)
        return self._fitting(super()._merged(operator, parts), *([] if is_shift else parts))

    def _called(self, group: _Group) -> Placed:
        return self._fitting(super()._called(group), *group.arguments)

    def _fitting(self, value: Placed, *others: Placed) -> Placed:
        """Return a value that fits its type, which is the widest of those that it is made of."""
        for types in (self.wide, self.unsigned):
            if any(each.start in types for each in others):
                types.add(value.start)
        lo, hi = value.form.interval
        is_wide = value.start in self.wide
        bits = 64 if is_wide else 32
        if not isinstance(lo, int) or not isinstance(hi, int):
            if is_wide and lo is not None and is_nonnegative(lo):
                return value  # a size without an upper end
            raise self._refused(value, f"{value.form} has no known bounds", f"fits {bits} bits")
        if not -(1 << bits - 1) <= lo <= hi < 1 << bits - 1:
            raise self._refused(
                value, f"{value.form} may be {hi if hi >= -lo else lo}", f"fits {bits} bits"
            )
        if lo < 0 and value.start in self.unsigned:
            raise self._refused(value, f"{value.form} may be {lo}, and is unsigned", "is 0 or more")
        return value

    def _refused(self, value: Placed, what: str, rule: str) -> ParseError:
        return ParseError(
            what,
            f"each value on the way {rule}; others overflow, wrap around or are undefined in C",
            "give bounds, such as blockIdx.x=0..99 or blockDim.x==256, or cast to 64 bits: (long)i",
            text=self.text,
            position=value.start,
        )
