"""Contracts in files: ``*.layouts.toml`` says what layouts must agree on, and is checked.

A file has tables of four kinds::

    [[agree]]
    name = "scales"
    producer = "[0, 1]"
    consumer = "mx128x4"
    shapes = ["M,K", "128x4"]
    assuming = "M % 128 == 0"

    [[equal]]          # a, b
    [[bijective]]      # layout
    [[no_conflicts]]   # layout, accesses, bits
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

from morello_layouts.core.checks import shown
from morello_layouts.core.description import listed
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.limits import CONTRACT_FILE
from morello_layouts.errors import LayoutError
from morello_layouts.interfaces.api import gpu, proofs
from morello_layouts.interfaces.api.layouts import index_map, parsed
from morello_layouts.interfaces.testing.asserts import has_conflicts
from morello_layouts.notations import parse_shape

SUFFIX: Final = ".layouts.toml"
"""How the name of a file of contracts ends."""

_COMMON: Final = {"name": str, "shape": str, "shapes": list, "assuming": str}
_KINDS: Final[dict[str, dict[str, type]]] = {
    "agree": {
        "producer": str,
        "consumer": str,
        **_COMMON,
        "reads": str,
        "writes": str,
        "producer_bytes": str,
        "consumer_bytes": str,
    },
    "equal": {"a": str, "b": str, **_COMMON},
    "bijective": {"layout": str, **_COMMON},
    "no_conflicts": {"layout": str, "accesses": list, "bits": int, **_COMMON},
}
_NEEDED: Final = {
    "agree": ("producer", "consumer"),
    "equal": ("a", "b"),
    "bijective": ("layout",),
    "no_conflicts": ("layout", "accesses"),
}
_NOT_PASSED: Final = ("name", "shape", "shapes", "assuming")


@frozen
class Outcome(Displayed):
    """The answer to a contract at one shape."""

    json_keys: ClassVar = ("contract=contract.name", "file", "line", "shape", "holds", "answer")

    contract: Contract  #: the contract.
    shape: str | None  #: the sizes; None if the layouts carry them.
    holds: bool | None  #: whether it is proved; None if it is undecided.
    answer: str  #: the proof in words, with its counterexample and advice.

    @property
    def file(self) -> str:
        """The path of the file that has the contract."""
        return self.contract.file

    @property
    def line(self) -> int:
        """The line of the file at which the contract begins."""
        return self.contract.line

    def __str__(self) -> str:
        word = {True: "proved", False: "broken", None: "undecided"}[self.holds]
        at = "" if self.shape is None else f" at {self.shape}"
        lines = self.answer.split("\n") if not self.holds else [self.answer.partition("\n")[0]]
        head = f"{self.file}:{self.line}: {self.contract.name}{at}: {word}"
        return "\n".join([head, *(f"  {each}" for each in lines)])


@frozen
class Contract(Displayed):
    """What layouts must agree on, as a table of a file says it.

    >>> (contract,) = read_contracts('''
    ... [[equal]]
    ... a = "[0, 1]"
    ... b = "{1,0}"
    ... shape = "M,N"
    ... ''')
    >>> [outcome.holds for outcome in contract.check()]
    [True]
    """

    kind: str  #: ``agree``, ``equal``, ``bijective`` or ``no_conflicts``.
    name: str  #: its name; by default its kind and place.
    file: str  #: the path of its file.
    line: int  #: where it begins in the file.
    given: Mapping[str, Any] = field(repr=False)  #: its keys and values.
    at: Callable[[str], LayoutError] = field(compare=False, repr=False)  #: the error at a key.

    def check(self) -> Iterator[Outcome]:
        """Yield the outcome at each shape.

        Raises:
            LayoutError: if a value cannot be read; it names file, line and key.
        """
        shapes = self.given.get("shapes") or [self.given.get("shape")]
        for shape in shapes:
            yield self._outcome(shape)

    def _outcome(self, shape: str | None) -> Outcome:
        own = "shape" if "shape" in self.given else "shapes"
        sizes = None if shape is None else self._read(own, parse_shape, shape)
        for key in ("a", "b", "layout", "producer", "consumer"):
            if key in self.given:
                self._read(key, parsed, self.given[key])
        try:
            holds, answer = self._asked(sizes)
        except LayoutError as error:
            words = f"{error.what} {error.fix}"
            keys = ("assuming",) if "assum" in words else ("shape", "shapes")
            key = next((key for key in keys if key in self.given and key[:5] in words), "")
            raise _located(self.at(key), error) from None
        return Outcome(self, shape, holds, answer)

    def _read(self, key: str, read: Callable[[str], Any], text: str) -> Any:
        try:
            return read(text)
        except LayoutError as error:
            raise _located(self.at(key), error) from None

    def _asked(self, sizes: Any) -> tuple[bool | None, str]:
        given, assuming = self.given, self.given.get("assuming")
        own = {key: value for key, value in given.items() if key not in _NOT_PASSED}
        if self.kind == "agree":
            found = proofs.agree(
                own.pop("producer"), own.pop("consumer"), sizes, assuming=assuming, **own
            )
            verdicts = (found.holds, found.fits, found.covers)
            holds = False if False in verdicts else None if None in verdicts else True
            return holds, str(found)
        if self.kind == "equal":
            proof = proofs.equal(own["a"], own["b"], sizes, assuming=assuming)
            return proof.holds, str(proof)
        m = index_map(own["layout"], sizes, assuming=assuming)
        if self.kind == "bijective":
            proof = proofs.is_bijective(m)
            return proof.holds, str(proof)
        answers = [gpu.banks(m, each, bits=own.get("bits")) for each in own["accesses"]]
        return not any(map(has_conflicts, answers)), "\n".join(map(str, answers))

    def __str__(self) -> str:
        return f"{self.name} ({self.file}:{self.line})"


def _located(place: LayoutError, error: LayoutError) -> LayoutError:
    return LayoutError(f"{place.what}: {error.what}", error.why, error.fix)


def read_contracts(source: str | os.PathLike[str]) -> tuple[Contract, ...]:
    """Return the contracts of a file.

    Args:
        source: the path of a file, or its text, which has a newline.

    Raises:
        LayoutError: if the file cannot be read, or a table has an unknown, missing or wrong key;
            it names file, line and key.
    """
    is_text = isinstance(source, str) and "\n" in source
    file = "<text>" if is_text else os.fspath(source)
    text = str(source) if is_text else _text_of(file)
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line ([0-9]+)", str(error))
        where = f"{file}:{line[1] if line else text.count(chr(10)) + 1}"
        raise LayoutError(
            f"{where}: not TOML: {error}",
            "a file of contracts has tables such as [[agree]], and keys with values",
            'write for example producer = "[0, 1]"',
        ) from None
    return tuple(_contracts(file, text, found))


def _text_of(file: str) -> str:
    try:
        if Path(file).stat().st_size > CONTRACT_FILE:
            raise LayoutError(
                f"{file}: expected at most {CONTRACT_FILE:,} bytes",
                "a file of contracts is written by hand",
                "split it into several",
            )
        return Path(file).read_text("utf-8")
    except (OSError, UnicodeError, ValueError) as error:
        raise LayoutError(
            f"{file} cannot be read: {getattr(error, 'strerror', None) or error}",
            "contracts are text in UTF-8",
            f"give a file *{SUFFIX}, or a folder of some",
        ) from None


def _contracts(file: str, text: str, found: Mapping[str, Any]) -> Iterator[Contract]:
    lines = text.split("\n")
    for kind, tables in found.items():
        if kind not in _KINDS or not isinstance(tables, list):
            line = _line(lines, rf"\s*\[*\s*{re.escape(kind)}\b", 0)
            raise LayoutError(
                f"{file}:{line}: {kind}: expected {listed([f'[[{k}]]' for k in _KINDS], 'or')}",
                "each contract is a table of one of these kinds",
                f"write [[{kind}]] with two brackets" if kind in _KINDS else "write [[agree]]",
            )
        start = 0
        for k, given in enumerate(tables):
            start = _line(lines, rf"\s*\[\[\s*{kind}\s*\]\]", start)
            at = partial(_at, file, lines, start)
            _require_keys(kind, given, at)
            yield Contract(kind, given.get("name", f"{kind} {k + 1}"), file, start, given, at)


def _line(lines: list[str], pattern: str, after: int) -> int:
    """Return the number of the first line after one that begins with a pattern."""
    for k in range(after, len(lines)):
        if re.match(pattern, lines[k]):
            return k + 1
    return after or 1


def _at(file: str, lines: list[str], start: int, key: str) -> LayoutError:
    """Return an error that names file, line and key."""
    end = _line(lines, r"\s*\[", start)
    line = _line(lines[: end if end > start else len(lines)], rf"\s*{re.escape(key)}\s*=", start)
    return LayoutError(f"{file}:{line}: {key}" if key else f"{file}:{start}")


def _require_keys(kind: str, given: Mapping[str, Any], at: Callable[[str], LayoutError]) -> None:
    allowed = _KINDS[kind]
    for key, value in given.items():
        if key not in allowed:
            from difflib import get_close_matches

            near = get_close_matches(key, allowed, 1)
            raise LayoutError(
                f"{at(key).what}: [[{kind}]] has no such key",
                f"its keys are {listed([*allowed])}",
                f"write {near[0]}" if near else "leave it out",
            )
        texts = value if isinstance(value, list) else ()
        if type(value) is not allowed[key] or not all(isinstance(x, str) for x in texts):
            kinds = {str: "a text", list: "a list of texts", int: "a number"}
            example = {str: '"…"', list: '["…"]', int: "16"}[allowed[key]]
            raise LayoutError(
                f"{at(key).what}: expected {kinds[allowed[key]]}, got {shown(value)}",
                "layouts and sizes are texts, as on the command line",
                f"write {key} = {example}",
            )
    for key in _NEEDED[kind]:
        if key not in given:
            raise LayoutError(
                f"{at('').what}: [[{kind}]] lacks {key}",
                f"it needs {listed(_NEEDED[kind])}",
                f'add {key} = "…"' if key != "accesses" else 'add accesses = ["row"]',
            )


def check_contracts(paths: Iterable[str | os.PathLike[str]] = (".",)) -> tuple[Outcome, ...]:
    """Return the outcomes of all contracts in files, and in folders with all that they hold.

    Args:
        paths: files ``*.layouts.toml``, and folders.

    Raises:
        LayoutError: if a file does not exist, or is wrong.
    """
    files = [*_files(paths)]
    if not files:
        raise LayoutError(
            f"no file *{SUFFIX} in {listed([os.fspath(path) for path in paths])}",
            "contracts stand in files whose names end so",
            f"write one, such as kernels{SUFFIX}",
        )
    contracts = [each for file in files for each in read_contracts(file)]
    if not contracts:
        raise LayoutError(
            f"no contract in {listed(files)}",
            "a check that checks nothing would pass",
            "write a table such as [[equal]], or leave the file out",
        )
    return tuple(outcome for contract in contracts for outcome in contract.check())


def _files(paths: Iterable[str | os.PathLike[str]]) -> Iterator[str]:
    for path in map(Path, paths):
        if not path.is_dir():
            yield str(path)
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            yield from (str(Path(folder) / name) for name in sorted(names)
                        if name.endswith(SUFFIX))  # fmt: skip
