"""The words of a command's help, from signatures, docstrings and the types of answers."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, Final

_PARAMETER: Final = re.compile(r"^ {4}(\w+): (.+(?:\n {8,}\S.*)*)", re.MULTILINE)
_OTHER_FUNCTION: Final = re.compile(r",? (?:as|also) (?:for|of) (:func:)?`+[\w.]+`+")
_ROLE: Final = re.compile(r":\w+:`~?([\w.]+\.)?(\w+)`|``([^`]*)``")


def plain_text(text: str) -> str:
    r"""Return a docstring's text without its markup, in one line.

    >>> plain_text("the sizes of :class:`~a.Layout`,\n as for ``index_map``")
    'the sizes of Layout'
    """
    text = _OTHER_FUNCTION.sub("", " ".join(text.split()))
    return _ROLE.sub(lambda found: found[2] or found[3], text)


def sentence(text: str) -> str:
    """Return the first sentence of a parameter's words.

    >>> sentence("bits of a word. By default 32.")
    'Bits of a word.'
    """
    first = re.split(r"(?<!\.)[.;](?= |$)", plain_text(text), maxsplit=1)[0]
    return f"{first[:1].upper()}{first[1:]}."


def lead(function: Callable[..., Any]) -> list[str]:
    """Return the paragraphs of a docstring before its sections and examples."""
    text = re.split(r"\n(?:Args:\n|Returns:\n|Raises:\n|>>> )", inspect.getdoc(function) or "")[0]
    return [plain_text(each) for each in text.strip().split("\n\n") if not each.startswith("- ")]


def sentences(*functions: Callable[..., Any]) -> dict[str, str]:
    """Return a sentence about each parameter, that of an earlier function first."""
    found: dict[str, str] = {}
    for function in functions:
        _, _, sections = (inspect.getdoc(function) or "").partition("Args:\n")
        for name, words in _PARAMETER.findall(sections.partition("\n\n")[0]):
            found.setdefault(name, sentence(words))
    return found


def keys_text(spec: str) -> str:
    """Return the keys of JSON in words, those of nested objects in parentheses.

    >>> keys_text("text, *machines.resharding:ExchangeTotals, steps=core.expr.simplify:RewriteStep")
    'text, held, needed, kept, moved, condition, steps (rule, before, after, because)'
    """
    members: list[tuple[str, list[Any]]] = []
    for part in spec.split(", "):
        name, _, places = part.rpartition("=") if "=" in part else (part, "", "")
        kinds = [found_at(place) for place in (places or name[1:]).split("|") if ":" in place]
        spliced = [member for kind in kinds for member in _members(kind)]
        members += spliced if name.startswith("*") else [(name, kinds)]
    return ", ".join(_keys(members, {}))


def keys_of_types(kinds: list[Any]) -> str:
    """Return the keys of types together, as :func:`keys_text` does."""
    return ", ".join(_keys((member for kind in kinds for member in _members(kind)), {}))


def found_at(place: str) -> Any:
    """Return what lies at ``module:name``, of this room or of the whole package."""
    module, _, name = place.partition(":")
    own = "interfaces.cli." if module in ("layouts", "formulas", "programs") else ""
    return getattr(import_module(f"morello_layouts.{own}{module}"), name)


def _keys(members: Iterable[tuple[str, list[Any]]], seen: dict[Any, str]) -> list[str]:
    found: dict[str, list[Any]] = {}
    for name, inner in members:
        found.setdefault(name, []).extend(x for x in inner if x not in found.get(name, ()))
    words = []
    for name, inner in found.items():
        if known := next((seen[each] for each in inner if each in seen), None):
            words.append(f"{name} (as {known})")
            continue
        seen |= dict.fromkeys(inner, name)
        nested = _keys((member for kind in inner for member in _members(kind)), seen)
        words.append(f"{name} ({', '.join(nested)})" if inner else name)
    return words


def _members(kind: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield the keys of an object with the types of their values that are objects too."""
    if kind.__class__.__name__ == "_TypedDictMeta":
        for name, text in kind.__annotations__.items():
            yield name, types_in(str(getattr(text, "__forward_arg__", text)), _module(kind))
        return
    for key in getattr(kind, "json_keys", None) or ("*",):
        name, _, path = key.partition("=")
        if key == "*":
            names = [each.name for each in fields(kind)] if is_dataclass(kind) else kind._fields
            yield from ((each, _types_at(kind, each)) for each in names)
        elif key.startswith("*"):
            for inner in _types_at(kind, key[1:]):
                yield from _members(inner)
        else:
            yield name, _types_at(kind, path or name)


def _types_at(kind: Any, path: str) -> list[Any]:
    """Return the types of objects at a path of attributes."""
    first, _, rest = path.partition(".")
    for base in kind.__mro__:
        value = vars(base).get(first)
        function = getattr(value, "func", getattr(value, "fget", None))
        annotations = vars(base).get("__annotations__", {})
        text = annotations.get(first) if function is None else function.__annotations__["return"]
        if text is not None:
            found = types_in(str(text), _module(base), is_whole=not rest)
            return [x for each in found for x in _types_at(each, rest)] if rest else found
    return []


def types_in(text: str, module: ModuleType, *, is_whole: bool = True) -> list[Any]:
    """Return the classes that an annotation names, of which JSON is an object if ``is_whole``."""
    named = (_named(name, module) for name in re.findall(r"\b[A-Z]\w+", text))
    return [x for x in named if isinstance(x, type) and (not is_whole or _is_object(x))]


def _is_object(kind: Any) -> bool:
    if hasattr(kind, "json_keys") or kind.__class__.__name__ == "_TypedDictMeta":
        return True
    has_fields = is_dataclass(kind) or hasattr(kind, "_fields")
    return has_fields and kind.__str__ is object.__str__


def _named(name: str, module: ModuleType) -> Any:
    """Return what a name means in a module, also one that only type checkers import."""
    if name in vars(module):
        return vars(module)[name]
    place = _imported(module).get(name)
    return getattr(import_module(place), name) if place else None


@cache
def _imported(module: ModuleType) -> dict[str, str]:
    """Return the modules of the names that a module imports for type checkers."""
    statements = ast.parse(inspect.getsource(module)).body
    blocks = (each.body for each in statements if isinstance(each, ast.If))
    imports = [x for block in blocks for x in block if isinstance(x, ast.ImportFrom)]
    return {name.name: x.module or "" for x in imports for name in x.names}


def _module(kind: Any) -> ModuleType:
    return sys.modules[kind.__module__]
