"""Parse index expressions, bounds, shapes and assumptions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from math import lcm
from types import MappingProxyType
from typing import Any, Final

from morello_layouts.core.checks import shown
from morello_layouts.core.description import listed
from morello_layouts.core.expr import AffineExpr, Call, Interval, Var
from morello_layouts.core.expr.affine import is_condition, names_in
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.bounds import UNBOUNDED
from morello_layouts.core.expr.choices import facts_of, is_at_least
from morello_layouts.core.expr.conversions import as_number, promote_to_sizes
from morello_layouts.core.expr.sizes import Int, SizeExpr, evaluated, exact_quotient, is_nonnegative
from morello_layouts.core.expr.substitution import map_ints
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import importing, regex
from morello_layouts.core.limits import MAP_TEXT
from morello_layouts.errors import ParseError, ShapeError
from morello_layouts.notations.grammar import NAME, Source, Syntax, Terminal, at_part, integer

_SYNTAX = Syntax(
    form="an expression is made of integers, names, + - * // % << >> & ^ |, "
    "floor(a/b), ceil(a/b), Mod(a, b)",
    example="write for example (32*i + j)//8",
    hints={"=>": "write >=", "=<": "write <=", "=": "write ==, or only what follows ="},
)

_FUNCTION = Syntax(
    form="an index map is lambda, its coordinates, a colon, and the coordinates that they become",
    example="write for example lambda i, j: (i//8, j, i%8)",
    longest=MAP_TEXT,
)
_CALL: Final = Terminal(
    "T.index_map(…)", r"(tvm\.)?(T\.|tirx?\.)?(index_map|IndexMap\.from_func)\s*\("
)


def parse_expression(
    text: str,
    bounds: Mapping[str, Interval],
    *,
    choices: bool = False,
    sizes: Mapping[str, Int] = MappingProxyType({}),
) -> AffineExpr:
    """Parse an index expression; names without bounds may be any integer.

    With ``choices`` it may compare and choose: ``min``, ``max``, ``i if i < 4 else j``. Names in
    ``sizes`` are these sizes.

    >>> print(parse_expression("floor((32*i + j)/8) % 4", {}))
    ((32*i + j)//8)%4
    """
    source = Source(text, _SYNTAX)
    variables: dict[str, Var] = {}

    def variable(name: str, _: int) -> Var | AffineExpr:
        if name in sizes:
            return AffineExpr((), sizes[name])
        if name not in variables:
            variables[name] = Var(name, bounds.get(name, UNBOUNDED))
        return variables[name]

    with importing:
        from morello_layouts.notations.expression_reader import CHOICES, PYTHON, ExpressionReader
    reader = ExpressionReader(source, CHOICES if choices else PYTHON, variable)
    form = reader.read()
    source.end()
    return promote_to_sizes(form, reader.sizes)


def parse_function(text: str) -> tuple[tuple[str, ...], tuple[AffineExpr, ...]]:
    """Parse a lambda of index expressions, alone or in TVM's ``T.index_map(…)``; it is never run.

    Returns:
        The parameters, and the results as forms over them.

    >>> parameters, results = parse_function("lambda n, c: (n, c//16, c%16)")
    >>> parameters, [str(form) for form in results]
    (('n', 'c'), ['n', 'c//16', 'c%16'])
    """
    source = Source(text, _FUNCTION)
    is_call = source.take(_CALL)
    source.need("lambda")
    names = _parameters(source)
    others: dict[str, int] = {}

    def variable(name: str, start: int) -> Var:
        if name in names:
            return Var(name)
        others.setdefault(name, start)
        return Var(name, Interval(1, None))

    with importing:
        from morello_layouts.notations.expression_reader import PYTHON, ExpressionReader
    reader = ExpressionReader(source, PYTHON, variable, factor_fix="multiply by a number")
    forms = _results(source, reader.read)
    if is_call:
        source.take(",")
        source.need(")")
    source.end()
    # Any other name is a size if something is divided or multiplied by it.
    for name, start in others.items():
        if name not in reader.sizes:
            what = f"{name} is not a parameter: expected {listed(names, 'or')}"
            raise _parameter_error(what, start, text)
    return tuple(names), tuple(promote_to_sizes(form, reader.sizes) for form in forms)


def _parameters(source: Source) -> list[str]:
    """Read the parameters of a function, up to the colon."""
    names: list[str] = []
    for token in source.series(lambda: source.need(NAME), ":", least=1, trailing=True):
        if token in names:
            what = f"parameter {token} appears twice"
            raise _parameter_error(what, token.start, source.text)
        names.append(str(token))
    return names


def _results(source: Source, read: Callable[[], AffineExpr]) -> list[AffineExpr]:
    if source.take("["):
        return source.series(read, "]", least=1, trailing=True)
    if source.text.startswith("(", source.at) and _is_tuple(source.text, source.at):
        source.need("(")
        return source.series(read, ")", least=1, trailing=True)
    return [read()]


def _is_tuple(text: str, start: int) -> bool:
    """Return whether the parenthesis that opens there has a comma of its own, or no end."""
    depth = 0
    for character in text[start:]:
        depth += (character == "(") - (character == ")")
        if depth == 0 or (depth == 1 and character == ","):
            return depth == 1
    return True


def _parameter_error(what: str, start: int, text: str) -> ParseError:
    return ParseError(
        what,
        "an index map computes with its own parameters, each of another name, and integers",
        "write for example lambda i, j: (i//8, j, i%8)",
        text=text,
        position=start,
    )


def parse_number(text: str) -> Int:
    """Parse an integer or a symbolic size: a polynomial in names that stand for positive integers.

    >>> print(parse_number("8*N - 1"))
    8*N - 1
    """
    names = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text, re.ASCII), Interval(1, None))
    number = as_number(parse_expression(text, names))
    if number is None:
        raise ParseError(
            f"a size: expected an integer or a polynomial in names, got {text.strip()!r}",
            "a size is an integer, or made of names with +, - and *",
            "write for example 31 or N - 1",
            text=text,
            position=0,
        )
    return number


_NAME: Final = r"([A-Za-z_]\w*)"
_MULTIPLE: Final = regex(r"(?P<name>[A-Za-z_]\w*)\s*%\s*(?P<by>\w+)\s*==\s*0", re.ASCII)
_DIVIDES: Final = regex(r"(?P<by>\w+)\s*(?:\||divides)\s*(?P<name>[A-Za-z_]\w*)", re.ASCII)
_RANGE: Final = regex(
    rf"(?:(\d+)\s*(<=|<|==|>=|>)\s*)?{_NAME}(?:\s*(<=|<|==|>=|>)\s*(\d+))?", re.ASCII
)
_PITCH: Final = regex(rf"{_NAME}\s*>=\s*{_NAME}", re.ASCII)
_MIRRORED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "≤": ">=", "≥": "<=", "==": "=="}


def parse_assumptions(text: str) -> list[Assumption]:
    """Parse assumptions, separated by commas, semicolons or ``and``.

    A pitch that is at least a size, ``ld >= N``, is a fact about names alone: what needs it
    assumes it by itself, and says so.

    >>> [str(one) for one in parse_assumptions("M % 8 == 0, 1 <= N <= 128")]
    ['8 divides M', 'N >= 1', 'N <= 128']
    """
    return [one for part, at in _parts(text.replace("\n", " ")) for one in _assumed(part, text, at)]


def _multiple(part: str) -> re.Match[str] | None:
    """Return the name of a size and what divides it, if the part says so."""
    return _MULTIPLE.fullmatch(part) or _DIVIDES.fullmatch(part)


def _assumed(part: str, text: str, at: int) -> list[Assumption]:
    if (multiple := _multiple(part)) is not None and multiple["by"].isdigit():
        divisor = integer(multiple["by"], text, at + multiple.start("by"))
        return [Assumption(multiple["name"], divisor=_positive(divisor, text, at))]
    if match := _PITCH.fullmatch(part):
        return [Assumption(match[1]), Assumption(match[2])]
    match = _RANGE.fullmatch(part)
    if match is None or match[2] is match[4] is None:
        raise ParseError(
            f"an assumption: expected a condition on a size, got {shown(part)}",
            "an assumption says what divides a size, or how large it is",
            "write for example M % 8 == 0, N >= 2 or 1 <= N <= 128",
            text=text,
            position=at,
        )
    bounds = [(_MIRRORED[match[2]], 1)] if match[2] else []
    bounds += [(match[4], 5)] if match[4] else []
    return [
        _bound(match[3], sign, integer(match[k], text, at + match.start(k)), text, at)
        for sign, k in bounds
    ]


def _bound(name: str, sign: str, end: int, text: str, position: int) -> Assumption:
    lo = {">=": end, ">": end + 1, "==": end}.get(sign, 1)
    hi = {"<=": end, "<": end - 1, "==": end}.get(sign)
    if hi is not None and hi < 1:
        _positive(0, text, position)
    return Assumption(name, lo=max(lo, 1), hi=hi)


def _positive(number: int, text: str, position: int) -> int:
    if number < 1:
        raise ParseError(
            "no size is as assumed",
            "symbolic sizes and their divisors are at least 1",
            "write a positive number",
            text=text,
            position=position,
        )
    return number


@frozen
class Facts:
    """What is assumed where an expression is simplified."""

    sizes: Mapping[str, Int]  #: what the names of sizes are, with divisors and differences.
    differences: Mapping[str, Int]  #: names made for differences, each with what it is.
    forms: tuple[AffineExpr, ...]  #: other facts: these are at least 0.

    def named(self, form: AffineExpr) -> AffineExpr:
        """Return a form with the sizes that the names of differences stand for."""

        def value(size: Int) -> Int:
            changed: Int = evaluated(size, dict(self.differences))
            return changed

        return map_ints(form, value) if self.differences else form


def parse_facts(text: str, bounds: Mapping[str, Interval]) -> Facts:
    """Parse what is assumed, separated by commas, semicolons or ``and``.

    A name that begins with a capital, divides or is divided is a size of at least 1, if it has no
    bounds. ``N % 4 == 0`` makes N four times a size, ``M <= N`` makes N the sum of M and a
    difference; what else compares is kept as a fact.

    >>> facts = parse_facts("N % 4 == 0, M <= K, i < M", {"i": Interval(0, None)})
    >>> print({name: str(size) for name, size in facts.sizes.items()}, *facts.forms)
    {'K': "K' + M - 1", 'M': 'M', 'N': 'N'} -i + M - 1
    """
    parts = [(part, at, _multiple(part)) for part, at in _parts(text) if part]
    own = {*names_in(end for interval in bounds.values() for end in interval)}
    own |= {name for *_, found in parts if found for name in found.groups() if not name.isdigit()}
    own |= {name for name in re.findall(_NAME, text) if name[0].isupper()}
    sizes: dict[str, Int] = {}
    differences: dict[str, Int] = {}
    others: list[tuple[str, int]] = []
    named: dict[str, Int] = {name: SizeExpr.named(name) for name in sorted(own - {*bounds})}
    divisors: dict[str, int] = {}
    for part, at, found in sorted(parts, key=lambda one: not (one[2] and one[2]["by"].isdigit())):
        name, by = found.group("name", "by") if found else ("", "0")
        d = evaluated(parse_number(by), {**named, **sizes}) if name in named else 0
        if name in named and isinstance(d, int):
            _positive(d, text, at)
            d = divisors[name] = lcm(d, divisors.get(name, 1))
        elif name not in named or name in sizes:
            others.append((part, at))
            continue
        sizes[name] = exact_quotient(named[name], d) * d
    for part, at in others:
        condition = _condition(part, at, text, bounds, {**named, **sizes})
        atom = condition.as_atom()
        is_equal = isinstance(atom, Call) and atom.kind == "=="
        for fact in facts_of(condition, True):
            if not fact.terms and isinstance(fact.const, SizeExpr):
                _define(fact.const, is_equal, sizes, named, differences)
    known = {**named, **sizes}
    conditions = [_condition(part, at, text, bounds, known) for part, at in others]
    facts = [fact for one in conditions for fact in facts_of(one, True)]
    return Facts(known, differences, tuple([x for x in facts if not is_at_least(x, 0)]))


def _condition(
    part: str, at: int, text: str, bounds: Mapping[str, Interval], sizes: Mapping[str, Int]
) -> AffineExpr:
    condition = parse_expression(part, bounds, choices=True, sizes=sizes)
    is_false = any(is_at_least(-fact, 1) for fact in facts_of(condition, True))
    if (is_condition(condition) or condition == AffineExpr((), 1)) and not is_false:
        return condition
    raise ParseError(
        f"an assumption: {shown(part)} is never true"
        if is_false
        else f"an assumption: expected a condition, got {shown(part)}",
        "an assumption says what divides a size, or compares names",
        "write for example N % 8 == 0, M <= N or i < 8",
        text=text,
        position=at,
    )


def _define(
    fact: SizeExpr,
    is_equal: bool,
    sizes: dict[str, Int],
    named: Mapping[str, Int],
    differences: dict[str, Int],
) -> None:
    """Make a size that is at least another one the sum of that and of a difference from 0 on."""
    known = {*names_in(sizes.values())}
    for name in sorted(fact.names() & named.keys() - sizes.keys() - known):
        less = named[name] - fact  # at most the size of this name
        if (isinstance(less, SizeExpr) and name in less.names()) or not is_nonnegative(less - 1):
            continue
        sizes[name] = less
        if not is_equal:
            sizes[name] = less + SizeExpr.named(f"{name}'") - 1
            meant = {**named, **differences}
            differences[f"{name}'"] = named[name] - evaluated(less, meant) + 1
        return


_SIZE: Final = regex(r"[0-9]{1,19}")
_SIZE_NAME: Final = regex(r"[A-Za-z_]\w*", re.ASCII)


def parse_shape(text: str) -> tuple[int | str, ...]:
    """Parse a shape: ``6x8``, ``6,8``, ``[6, 8]``, ``MxN``; ``()`` is a scalar's.

    >>> parse_shape("6x8"), parse_shape("(6, 8)"), parse_shape("6"), parse_shape("[]")
    ((6, 8), (6, 8), (6,), ())
    >>> parse_shape("MxN")
    ('M', 'N')
    """
    stripped = text.strip()
    bracketed = stripped[:1] + stripped[-1:] in ("()", "[]")
    inner = stripped[1:-1] if bracketed else stripped
    if bracketed and not inner.strip():
        return ()
    sizes = [
        size.strip() for size in re.split(r"[x×,]", inner.rstrip(", ") if bracketed else inner)
    ]
    for size in sizes:
        if _SIZE.fullmatch(size) is None and _SIZE_NAME.fullmatch(size) is None:
            raise ShapeError(
                f"a shape: expected sizes, got {shown(size)}"
                + (f" in {shown(text)}" if size != text.strip() else ""),
                "a shape is one size for each dimension, with x or a comma between them",
                "write for example 6x8, or names as in M,N, or () for a scalar",
            )
    return tuple(int(size) if size.isdigit() else size for size in sizes)


_WORD: Final = r"\s*[A-Za-z_]\w*(?:\.[xyz])?\s*"  # threadIdx.x too
_BOUNDED: Final = regex(_WORD, re.ASCII)
_AND: Final = regex(r"[,;\n]|&&?|\band\b")
_SIGN: Final = regex(r"(<=|>=|==|<|>|≤|≥)")
_OF_NAME: Final = regex(rf"(?P<name>{_WORD})(?:=|:|∈|\bin\b)(?P<values>.*)", re.S)
_VALUES: Final = tuple(
    regex(pattern, re.DOTALL)
    for pattern in (
        r"(?P<lo>[^=.]*)\.\.\.?=?(?P<hi>[^=]*)",
        r"\s*range\s*\((?:(?P<lo>[^,]*),)?(?P<end>[^,]*)\)\s*",
        r"\s*\[(?P<lo>[^,:]*),(?P<hi>[^,:]*)\]\s*",
        r"\s*\[(?P<lo>[^,:]*),(?P<end>[^,:]*)\)\s*",
        r"(?P<end>[^][(),:=]+)",
    )
)


def parse_bounds(text: str) -> dict[str, Interval]:
    """Parse bounds such as ``i=0..31, -4 <= j < 4, k in range(N)``; an end may be left out.

    ``i=32`` is a size, as in a shape: 32 values from 0 on. ``i<8`` has no smallest value.

    >>> parse_bounds("i=0..31, n=1..")
    {'i': Interval(lo=0, hi=31), 'n': Interval(lo=1, hi=None)}
    >>> parse_bounds("i>=0 and i<8, d1 in [0, 7], j=32")
    {'i': Interval(lo=0, hi=7), 'd1': Interval(lo=0, hi=7), 'j': Interval(lo=0, hi=31)}
    """
    bounds: dict[str, Interval] = {}
    for part, at in _parts(text) if text.strip() else ():
        name, (lo, hi) = (_compared if _SIGN.search(part) else _listed)(part, at, text)
        before = bounds.get(name, UNBOUNDED)
        lo, hi = _one_end(before.lo, lo, max), _one_end(before.hi, hi, min)
        if isinstance(lo, int) and isinstance(hi, int) and hi < lo:
            what, fix = f"{name} has no values", "write the smaller end first"
            raise ParseError(what, f"{lo} is above {hi}", fix, text=text, position=at)
        bounds[name] = Interval(lo, hi)
    return bounds


def _one_end(before: Int | None, now: Int | None, tighter: Any) -> Int | None:
    """Return the tighter of two ends; of symbolic ones the later, since both hold."""
    if isinstance(before, int) and isinstance(now, int):
        return int(tighter(before, now))
    return before if now is None else now


def _parts(text: str) -> Iterator[tuple[str, int]]:
    """Yield the parts between commas outside of brackets, each with the place where it begins."""
    cuts, depth = [(0, 0)], 0
    for found in re.finditer(rf"[(\[]|[)\]]|{_AND.pattern}", text):
        depth += (found[0] in "([") - (found[0] in ")]")
        if depth <= 0 and found[0] not in "()[]":
            cuts.append(found.span())
    for (_, start), (end, _) in pairwise([*cuts, (len(text), 0)]):
        part = text[start:end]
        yield part.strip(), end - len(part.lstrip())


def _compared(part: str, at: int, text: str) -> tuple[str, tuple[Int | None, Int | None]]:
    """Read ``0 <= i < 8``, ``i < 8``, ``8 > i`` or ``i == 5``."""
    sides = _SIGN.split(part)
    names = [k for k in range(0, len(sides), 2) if _BOUNDED.fullmatch(sides[k])]
    middle = 2 if len(sides) == 5 else (names or [-1])[0]
    if len(sides) > 5 or middle not in names or not all(side.strip() for side in sides):
        raise _unclear(part, at, text)
    lo: Int | None = None
    hi: Int | None = None
    for k in {middle - 1, middle + 1} & {*range(len(sides))}:
        sign, other = sides[k], 2 * k - middle
        value = _end(sides[other], at + len("".join(sides[:other])), text)
        sign = sign if k > middle else _MIRRORED[sign]
        if sign not in ("<", "<=", "≤"):
            lo = _one_end(lo, value + (sign == ">"), max)
        if sign not in (">", ">=", "≥"):
            hi = _one_end(hi, value - (sign == "<"), min)
    return sides[middle].strip(), (lo, hi)


def _listed(part: str, at: int, text: str) -> tuple[str, tuple[Int | None, Int | None]]:
    """Read ``i=0..7``, ``i in range(8)``, ``i in [0, 8)`` or ``i=8``."""
    named = _OF_NAME.fullmatch(part)
    values = named["values"] if named else ""
    match = next((found for each in _VALUES if (found := each.fullmatch(values))), None)
    if named is None or match is None:
        raise _unclear(part, at, text)
    ends: dict[str, Any] = {"lo": None if ".." in values else 0, "hi": None}
    for side, end in match.groupdict().items():
        if end and end.strip():
            ends[side] = _end(end, at + named.start("values") + match.start(side), text)
        elif side == "end":
            raise _unclear(part, at, text)
    if "end" in ends:
        ends["hi"] = ends["end"] - 1
        if isinstance(ends["hi"], int) and ends["hi"] < 0 == ends["lo"]:
            raise _unclear(part, at, text)
    return named["name"].strip(), (ends["lo"], ends["hi"])


def _end(text: str, at: int, whole: str) -> Int:
    try:
        return parse_number(text)
    except ParseError as error:
        raise at_part(error, whole, {}, at + error.position) from None


def _unclear(part: str, at: int, text: str) -> ParseError:
    return ParseError(
        f"a bound: expected a name and its values, got {shown(part)}",
        "0..7 has both ends, range(8) and a size of 8 end at 7; bounds have commas between them",
        "write what divides it in assuming, not here"
        if "%" in part
        else "write i=0..7, 0<=i<8, i in range(8), or the size i=8",
        text=text,
        position=at,
    )


def values_by_name(
    value: str, read: Callable[[str], Any], what: str, why: str, example: str
) -> Callable[[str], dict[str, Any]]:
    """Return the reader of names with values, each name once.

    Args:
        value: a regular expression of a value's text.
        read: what makes a value of it.
        what: what a part of the text is, for errors.
        why: what a name and its value mean, for errors.
        example: a right text, for errors.

    >>> values_by_name("[0-9]+", int, "a name and a number", "…", "M=16")("M=16, N = 8")
    {'M': 16, 'N': 8}
    """
    pattern = regex(rf"([A-Za-z_]\w*)\s*=\s*({value})", re.ASCII)

    def reader(text: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for part, at in _parts(text):
            where: Any = {"text": text, "position": at}
            pair = pattern.fullmatch(part)
            if pair is None:
                got = f"expected {what}, got {part[:40]!r}"
                raise ParseError(got, why, f"write for example {example}", **where)
            if pair[1] in found:
                twice = f"{pair[1]} has two values: {found[pair[1]]} and {pair[2]}"
                raise ParseError(twice, "each name has one value", "leave one of them out", **where)
            found[pair[1]] = read(pair[2])
        return found

    return reader
