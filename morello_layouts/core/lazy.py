"""What loads on first use: NumPy, SymPy, regular expressions, modules behind a package's names."""

from __future__ import annotations

import re
import sys
from _thread import RLock
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, AnyStr, Final, cast

from morello_layouts.errors import UnsupportedError

__all__ = [
    "NotInstalledError",
    "escape",
    "from_front",
    "has_numpy",
    "importing",
    "loader",
    "missing",
    "numpy",
    "offer",
    "regex",
    "sympy",
]


_IMPORTING: Final = RLock()
_SECONDS: Final = 20


class _Importing:
    """Hold this to import a module of the package late, in a function: ``with importing:``.

    Importing takes the lock of a submodule and then its package's, but a package that loads holds
    its own and takes those of its submodules: two threads that come from both ends get half a
    module, or a deadlock. So what loads after ``import morello_layouts`` loads in one thread at a
    time. A thread of the user's that imports a submodule by itself may hold what the other one
    waits for; then this one goes on after some seconds.
    """

    def __enter__(self) -> None:
        _IMPORTING.acquire(timeout=_SECONDS)

    def __exit__(self, *_: object) -> None:
        with suppress(RuntimeError):  # it went on without
            _IMPORTING.release()


importing: Final = _Importing()


class NotInstalledError(UnsupportedError):
    """A library that an answer needs is not installed."""


def missing(library: str, why: str, package: str) -> NotInstalledError:
    """Return the error about a library that is missing, from a desktop or from a page."""
    if sys.platform == "emscripten":
        fix = "ask on a desktop: by the command, or by its explorer"
        return NotInstalledError(f"{library} is only on a desktop", why, fix)
    return NotInstalledError(f"{library} is not installed", why, f"pip install {package}")


class _Lazy:
    """A module that is imported when one of its names is asked for."""

    def __init__(self, name: str, title: str, why: str) -> None:
        self.__name__, self._title, self._why = name, title, why

    def __getattr__(self, name: str) -> Any:
        try:
            module = import_module(self.__name__)
        except ImportError:
            raise missing(self._title, self._why, self.__name__) from None
        found = getattr(module, name)
        setattr(self, name, found)  # the next time it is an attribute like any other
        return found


class _Regex:
    """A regular expression that is compiled when one of its methods is asked for."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._text, self._flags), name)
        if not name.startswith("__"):
            setattr(self, name, found)  # the next time it is an attribute like any other
        return found


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regular expression that is compiled on first use, as most are not used.

    >>> regex("[0-9]+").fullmatch("12").group()
    '12'
    """
    return cast("re.Pattern[AnyStr]", _Regex(text, flags))


if TYPE_CHECKING:
    import numpy
    import sympy
else:
    numpy = _Lazy("numpy", "NumPy", "this is computed with it")
    sympy = _Lazy("sympy", "SymPy", "expressions are SymPy's; formulas print without it")


def escape(text: str) -> str:
    """Return text as HTML; the standard library's function comes with a table of all names."""
    from html import escape as escaped

    return escaped(text)


_offered: list[Callable[[str], Any]] = []


def offer(find: Callable[[str], Any]) -> None:
    """Let values show themselves by functions that the package's front finds by their names."""
    _offered[:] = [find]


def from_front(name: str) -> Any:
    """Return a function that the front offers, for a method that is short for it."""
    return _offered[0](name)


def has_numpy() -> bool:
    """Return whether NumPy is installed; in a browser it may not be."""
    return find_spec("numpy") is not None


def loader(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a package's ``__getattr__``, which imports the module of a name when it is asked for.

    Args:
        package: the package.
        names: the names of each of its modules, separated by spaces.
    """
    module_of = {name: module for module, all_names in names.items() for name in all_names.split()}

    def load(name: str) -> Any:
        if name == "__all__":
            return [*module_of]
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with importing:
            found = getattr(import_module(f"{package}.{module_of[name]}"), name)
            vars(import_module(package))[name] = found
        return found

    return load
