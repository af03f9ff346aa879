"""Processor time of every regular expression of the package on hostile texts, at their limit.

``python tests/benchmarks/patterns.py`` prints the slowest; ``tests/notations/test_rubbish.py``
asserts that each ends within ten seconds. A pattern that tries each place of a text, and runs on
from each, takes a quadratic time: half a minute for 30,000 spaces.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import ast
import importlib
import pkgutil
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from typing import Any

import morello_layouts
from morello_layouts.core.limits import LAYOUT_TEXT

PARTS = (
    *(" ", "\n", ",", "*", "a", "1", "_", "(", "{", "[", "<", "#", "=", ":", "%", '"', "."),
    *("\n ", "a ", "1,", ", ", "*,", "a=", "a:", "a-", "a.", "(a", "[1", "T(", "1x", " ;"),
)
HEADS = ("", "a(")
METHODS = ("match", "fullmatch", "search", "finditer", "sub", "split", "findall")
SECONDS = 10


class TooLateError(Exception):
    """A search that took longer than a script waits."""


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """End what takes longer of the processor; the matcher looks at signals while it runs."""

    def late(*_: object) -> None:
        raise TooLateError

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _modules() -> Iterator[tuple[Any, ast.Module]]:
    for found in pkgutil.walk_packages(morello_layouts.__path__, "morello_layouts."):
        if not found.name.endswith("__main__"):
            module = importlib.import_module(found.name)
            yield module, ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))


def _held(value: Any, depth: int = 3) -> Iterator[re.Pattern[str]]:
    """Yield the patterns that a value holds, in containers and in attributes."""
    if isinstance(value, re.Pattern):
        yield value
    elif type(value).__name__ == "_Regex":  # compiled on first use
        yield re.compile(value._text, value._flags)
    elif depth and isinstance(value, dict):
        yield from (x for each in value.values() for x in _held(each, depth - 1))
    elif depth and isinstance(value, (tuple, list, frozenset)):
        yield from (x for each in value for x in _held(each, depth - 1))
    elif depth and type(value).__module__.startswith("morello_layouts"):
        slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
        own = {**getattr(value, "__dict__", {}), **{x: getattr(value, x, None) for x in slots}}
        yield from _held(own, depth)
        yield from _held(getattr(own.get("match"), "__self__", None), depth - 1)


def patterns() -> dict[re.Pattern[str], tuple[str, set[str]]]:
    """Return each pattern, its first place, and the methods that the package calls of it."""
    found: dict[re.Pattern[str], tuple[str, set[str]]] = {}
    for module, tree in _modules():
        calls: dict[str, set[str]] = {}
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            owner, method = node.func.value, node.func.attr
            if isinstance(owner, ast.Name) and owner.id == "re" and method in METHODS:
                if isinstance(node.args[0], ast.Constant):
                    flags = re.ASCII if "ASCII" in ast.unparse(node) else 0
                    pattern = re.compile(node.args[0].value, flags)
                    found.setdefault(pattern, (f"{module.__name__}:{node.lineno}", {method}))
            elif isinstance(owner, ast.Name) and method in METHODS:
                calls.setdefault(owner.id, set()).add(method)
        for name, value in vars(module).items():
            for pattern in _held(value):
                place = found.setdefault(pattern, (f"{module.__name__}.{name}", set()))
                place[1].update(calls.get(name, ()))
    return {x: (place, how or {"match", "fullmatch"}) for x, (place, how) in found.items()}


def _call(pattern: re.Pattern[Any], method: str) -> Callable[[Any], object]:
    if method == "sub":
        return lambda text: pattern.sub(text[:0], text)
    if method == "finditer":
        return lambda text: sum(1 for _ in pattern.finditer(text))
    return getattr(pattern, method)  # type: ignore[no-any-return]


def slowest(
    pattern: re.Pattern[Any],
    methods: set[str],
    length: int = LAYOUT_TEXT,
    heads: tuple[str, ...] = HEADS,
) -> tuple[float, str]:
    """Return the longest time of a pattern on hostile texts, and which text that was."""
    worst = 0.0, ""
    for method in sorted(methods):
        call = _call(pattern, method)
        for part, head in ((p, h) for p in PARTS for h in heads):
            text: Any = head + (part * length)[:length] + "!"
            text = text.encode() if isinstance(pattern.pattern, bytes) else text
            start = process_time()
            try:
                with within(SECONDS):
                    call(text)
            except TooLateError:
                return float("inf"), f"{method}, {head!r} and {part!r}"
            worst = max(worst, (process_time() - start, f"{method}, {head!r} and {part!r}"))
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=LAYOUT_TEXT)
    parser.add_argument("--above", type=float, default=0.05, help="seconds")
    given = parser.parse_args()
    all_patterns = patterns()
    print(f"{len(all_patterns)} patterns, texts of {given.length} characters")
    for pattern, (place, methods) in all_patterns.items():
        seconds, text = slowest(pattern, methods, given.length)
        if seconds >= given.above:
            print(f"{seconds:.3f} s  {place}  {text}  {pattern.pattern!r:.90}", flush=True)


if __name__ == "__main__":
    main()
