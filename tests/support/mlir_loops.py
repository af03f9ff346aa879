"""A small interpreter of the MLIR that nests are printed in: scf loops over affine maps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from types import CodeType
from typing import Any

_ASSIGN = re.compile(r"%(\w+) = (\S+) (.*)")
_MAP = re.compile(
    r"affine_map<\(([^)]*)\)(?:\[([^\]]*)\])? -> \((.*)\)>\(([^)]*)\)(?:\[([^\]]*)\])?"
)
_FOR = re.compile(r"scf\.for %(\w+) = (\S+) to (\S+) step %c_*1 \{")
_IF = re.compile(r"scf\.if (\S+) \{")


def run(text: str, sizes: dict[str, int], visit: str) -> list[int]:
    """Run the lines of a nest; the values of the operand in its lines ``visit %…``."""
    lines = [line.strip() for line in text.splitlines() if not line.strip().startswith("//")]
    found: list[int] = []
    _block(lines, 0, dict(sizes), visit, found)
    return found


def _block(lines: list[str], at: int, values: dict[str, Any], visit: str, found: list[int]) -> int:
    """Run a block from a line on; the line after its end."""
    while at < len(lines):
        line = lines[at]
        if line == "}":
            return at + 1
        if match := _FOR.fullmatch(line):
            name, start, stop = match.groups()
            after = _end(lines, at)
            for turn in range(_value(start, values), _value(stop, values)):
                _block(lines, at + 1, {**values, name: turn}, visit, found)
            at = after
        elif match := _IF.fullmatch(line):
            if _value(match[1], values):
                _block(lines, at + 1, dict(values), visit, found)
            at = _end(lines, at)
        elif line.startswith(visit):
            found.append(_value(line.removeprefix(visit).strip(), values))
            at += 1
        else:
            match = _ASSIGN.fullmatch(line)
            assert match is not None, line
            name, operation, rest = match.groups()
            assert name not in values, f"%{name} is defined twice"
            values[name] = _result(operation, rest, values)
            at += 1
    return at


def _end(lines: list[str], at: int) -> int:
    depth = 0
    for k in range(at, len(lines)):
        depth += lines[k].endswith("{") - (lines[k] == "}")
        if depth == 0:
            return k + 1
    raise AssertionError("a block has no end")


def _value(operand: str, values: dict[str, Any]) -> Any:
    assert operand.startswith("%"), operand
    return values[operand[1:]]


def _result(operation: str, rest: str, values: dict[str, Any]) -> Any:
    if operation in ("affine.apply", "affine.min"):
        names, operands, results = _affine(rest)
        given = dict(zip(names, (_value(x, values) for x in operands), strict=True))
        numbers = [eval(result, {}, given) for result in results]
        return min(numbers)
    first, *others = rest.split(":", maxsplit=1)[0].split(",")
    match operation:
        case "arith.constant":
            return int(first)
        case "arith.cmpi":
            assert first == "slt"
            one, other = (_value(x.strip(), values) for x in others)
            return one < other
    one, other = (_value(x.strip(), values) for x in (first, *others))
    return {"arith.xori": one ^ other, "arith.andi": one and other}[operation]


@cache
def _affine(text: str) -> tuple[list[str], list[str], list[CodeType]]:
    """The names of an affine map, its operands, and its results."""
    match = _MAP.fullmatch(text)
    assert match is not None, text
    dims, symbols, results, dim_values, symbol_values = match.groups()
    compiled = [compile(result, "map", "eval") for result in _results(results)]
    return _names(dims) + _names(symbols), _names(dim_values) + _names(symbol_values), compiled


def _names(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _results(text: str) -> Iterator[str]:
    """Yield the results of a map, separated at commas outside of parentheses."""
    depth, start = 0, 0
    text = text.replace("floordiv", "//").replace("mod", "%")
    for k, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            yield text[start:k].strip()
            start = k + 1
    yield text[start:].strip()
