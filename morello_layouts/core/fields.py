"""Frozen values whose fields check themselves; each says its fields, their kinds and words once.

``@frozen`` makes what ``@dataclass(frozen=True, slots=True)`` makes, at a fraction of the cost of a
class: one ``__init__`` is written when many values are made, and nothing else is. ``replace`` and
``fields`` of ``dataclasses`` take such values. A field with :func:`checked` has a kind: a function
of what was given, the field's name and its place, that returns the value of the field, or raises.

>>> @frozen
... class Block:
...     size: int = checked(number(1))  #: elements, from 1
...     order: tuple[int, ...] = checked(permutation(), default=())  #: dimensions, slowest first
>>> Block(16, [1, 0])
Block(size=16, order=(1, 0))
>>> Block(0)
Traceback (most recent call last):
morello_layouts.errors.LayoutError: size: expected an integer from 1, got 0
give an int from 1

Values as JSON, by one encoder, and as notebooks show them.

A class says how it is encoded in a class variable, its only list of keys::

    json_keys: ClassVar = ("*", "factor", "module=metadata.name", "*sizes")

A key is ``*`` for all fields, the name of an attribute, a name of its own with the path of an
attribute (null if an attribute on the way is None), or ``*`` with the path of a value whose keys
are spliced in.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, field, fields, is_dataclass
from enum import Enum
from functools import partial
from math import isfinite
from numbers import Integral
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, Final, TypeAlias, TypeVar, cast, dataclass_transform, overload

from morello_layouts.core.checks import (
    LARGEST,
    Part,
    as_int,
    as_permutation,
    as_tuple,
    require_type,
    shown,
)  # fmt: skip
from morello_layouts.core.lazy import escape
from morello_layouts.errors import LayoutError

_REPR: Final = 160  # characters of a repr, so that it stays one line
_LINES: Final = 100  # lines that a notebook shows
_FIRST: Final = 24  # values of a class that are made before its ``__init__`` is written


class Told:
    """A value that also goes out as dictionaries and tables."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the value as JSON writes it; null for what is unknown, the text if it has no keys.

        >>> import morello_layouts as ml
        >>> ml.is_bijective("f32[3,5]{1,0:T(2,2)}").to_dict()["counterexample"]
        9
        """
        found = plain(self)
        return dict(found) if isinstance(found, dict) else {"text": str(found)}

    def to_frame(self, key: str | None = None) -> Any:
        """Return a table of pandas: a row for each item of a list, or one row of all values.

        Args:
            key: the list, a key of :meth:`to_dict`; by default the first list of objects.

        Raises:
            LayoutError: if the value does not have such a list, or pandas is not installed.
        """
        facts = self.to_dict()
        lists = [name for name, each in facts.items() if _is_rows(each)]
        if key is not None and key not in lists:
            raise LayoutError(
                f"to_frame: expected the key of a list, got {key!r}",
                "a row of the table is an item of a list of objects",
                f"give {', '.join(map(repr, lists))}" if lists else "leave the key out",
            )
        chosen = key or next(iter(lists), None)
        try:
            from pandas import json_normalize
        except ImportError:
            raise LayoutError(
                "pandas is not installed", "a table of rows is pandas's", "pip install pandas"
            ) from None
        return json_normalize(facts if chosen is None else facts[chosen])


def _is_rows(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(x, dict) for x in value)


class Displayed(Told):
    """A value with a text, whose ``repr`` is its first line and which notebooks show as text."""

    __slots__ = ()

    def __repr__(self) -> str:
        text = str(self).partition("\n")[0]
        return f"<{type(self).__name__}: {text if len(text) <= _REPR else f'{text[:_REPR]}…'}>"

    def _repr_html_(self) -> str:
        lines = str(self).splitlines()
        more = ["…"] if len(lines) > _LINES else []
        return f"<pre>{escape(chr(10).join([*lines[:_LINES], *more]))}</pre>"


def plain(value: object) -> Any:
    """Return a value as JSON writes it: null, booleans, numbers, strings, lists and objects.

    A class with ``json_keys`` gives an object of these keys. Otherwise a value that has a text of
    its own (``__str__``) gives this text: a layout, a SymPy expression. A dataclass or a named
    tuple without one gives an object of all its fields. A float that is not finite gives null.

    >>> from morello_layouts.tpu import waste
    >>> from morello_layouts.notations import parse
    >>> plain({"padding": waste(parse("f32[7]{0:T(8)}")).reasons, "shape": parse("f32[7]{0:T(8)}")})
    {'padding': [{'dimensions': [0], 'size': 7, 'padded': 8, 'text': 'minor dimension d0 of size 7 \
is padded to 8: tiles (8) have 8 elements'}], 'shape': 'f32[7]{0:T(8)}'}
    """
    kind = type(value)
    keys: Iterable[str] | None = getattr(kind, "json_keys", None)
    if keys is None and kind.__str__ is object.__str__:
        if is_dataclass(value):
            keys = ("*",)
        elif isinstance(value, tuple):
            keys = getattr(kind, "_fields", None)
    if keys is not None:
        return _object(value, keys)
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return str(value)


def _object(value: Any, keys: Iterable[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in keys:
        if key == "*":
            found |= {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        elif key.startswith("*"):
            found |= plain(_attribute(value, key[1:])) or {}
        else:
            name, _, path = key.partition("=")
            found[name] = plain(_attribute(value, path or name))
    return found


def _attribute(value: Any, path: str) -> Any:
    """Return the attribute at a path such as ``metadata.name``; None behind a None."""
    for name in path.split("."):
        value = None if value is None else getattr(value, name)
    return value


T = TypeVar("T")

Kind: TypeAlias = Callable[[Any, str, Part], Any]
"""What a field makes of a value, by its name in errors and its place in the value around it."""

_OWN: Final = dataclasses._FIELD  # type: ignore[attr-defined]


def checked(kind: Kind, *, default: Any = MISSING) -> Any:
    """Return a field of a kind. Its default is checked as what is given."""
    return field(default=default, metadata={"kind": kind})


def late(*, default: Any = MISSING) -> Any:
    """Return a field that may be given by :func:`later`."""
    return field(default=default, metadata={"late": True})


def later(make: Callable[[], T]) -> T:
    """Give a late field by a function, which is called when the field is first read.

    >>> @frozen
    ... class Answer:
    ...     holds: bool
    ...     reason: str = late()
    >>> answer = Answer(True, later(lambda: print("asked") or "it is"))
    >>> answer.reason, answer.reason
    asked
    ('it is', 'it is')
    """
    return cast(T, _Later(make))


class _Later:
    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


class _Late:
    """A late field of a class: where its value lies, a slot or the name in a dictionary."""

    __slots__ = ("place",)

    def __init__(self, place: Any) -> None:
        self.place = place

    def __get__(self, value: Any, kind: Any = None) -> Any:
        if value is None:
            return self
        is_slot = type(self.place) is not str
        found = self.place.__get__(value) if is_slot else value.__dict__[self.place]
        if type(found) is _Later:
            found = found.make()
            self.__set__(value, found)
        return found

    def __set__(self, value: Any, given: Any) -> None:
        if type(self.place) is str:
            value.__dict__[self.place] = given
        else:
            self.place.__set__(value, given)


@overload
def frozen(cls: type[T], /) -> type[T]: ...


@overload
def frozen(*, slots: bool = True, eq: bool = True) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(checked, late, field))
def frozen(cls: Any = None, /, *, slots: bool = True, eq: bool = True) -> Any:
    """Make a class of frozen values of its annotated fields.

    Args:
        cls: the class; a ``__repr__`` that it has or inherits stays.
        slots: whether its values have their fields alone; ``cached_property`` needs more.
        eq: whether values with equal fields are equal.
    """
    if cls is None:
        return lambda cls: _made(cls, slots=slots, eq=eq)
    return _made(cls, slots=slots, eq=eq)


def _made(cls: Any, *, slots: bool, eq: bool) -> Any:
    every: dict[str, Field[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        every |= base.__dict__.get("__dataclass_fields__", {})
    body, own = dict(cls.__dict__), dict[str, Field[Any]]()
    for name, kind in body.get("__annotations__", {}).items():
        if "ClassVar" not in str(kind):
            given = body.pop(name, MISSING)
            one: Any = given if isinstance(given, Field) else field(default=given)
            one.name, one.type, one._field_type = name, kind, _OWN
            own[name] = one
    every |= own
    added = {**_FROZEN, "__dataclass_fields__": every, "__match_args__": tuple(every)}
    if eq:  # a class that has its own __eq__ has None for its __hash__
        methods = _equality(every.values()).items()
        added |= {name: method for name, method in methods if body.get(name) is None}
    if cls.__repr__ is object.__repr__:
        added["__repr__"] = _repr
    if slots:
        for name in ("__dict__", "__weakref__"):
            body.pop(name, None)
        made = type(cls)(cls.__name__, cls.__bases__, {**_STATE, **body, **added, "__slots__": own})
        made.__qualname__ = cls.__qualname__
    else:
        made = cls
        if any("late" in one.metadata for one in own.values()):
            added |= _STATE
        added |= {name: one.default for name, one in own.items() if one.default is not MISSING}
        for name, value in added.items():
            setattr(cls, name, value)
    for name, one in own.items():
        if "late" in one.metadata:
            setattr(made, name, _Late(made.__dict__[name] if slots else name))
    if "__init__" not in body:
        made.__init__ = _Init(made, every)
    return made


class _Init:
    """The ``__init__`` of a class, written when many values are made, or somebody looks at it."""

    __slots__ = ("fields", "left", "names", "owner", "plan")

    def __init__(self, owner: Any, fields: dict[str, Field[Any]]) -> None:
        self.owner, self.fields, self.left = owner, fields, _FIRST
        self.names = [name for name, one in fields.items() if one.init]
        self.plan: list[tuple[str, Any, Any, Any]] = [
            (name, one.default, one.default_factory, one.metadata.get("kind"))
            for name, one in fields.items()
        ]

    def __get__(self, value: object, kind: Any) -> Any:
        if value is not None and self.left:
            self.left -= 1
            return partial(self.fill, value)
        self.owner.__init__ = init = _init_of(self.owner, self.fields)
        return init.__get__(value, kind)

    def fill(self, value: Any, /, *given: Any, **named: Any) -> None:
        """Set the fields of one of the first values, as the function will that is written later."""
        found = dict(zip(self.names, given, strict=False))
        is_fit = len(found) == len(given)
        if named:
            is_fit = is_fit and not named.keys() & found.keys() and {*self.names} >= named.keys()
            found |= named
        put = object.__setattr__
        for name, default, factory, as_kind in self.plan:
            own = found.get(name, default)
            if own is MISSING and factory is not MISSING:
                own = factory()
            if not is_fit or (own is MISSING and name in self.names):
                self.left = 0
                value.__init__(*given, **named)  # which says what is wrong
                return
            if own is not MISSING:
                put(value, name, own if as_kind is None else as_kind(own, name, (name,)))
        if hasattr(value, "__post_init__"):
            value.__post_init__()


def _init_of(owner: Any, fields: dict[str, Field[Any]]) -> Any:
    """Return a function that takes the fields, and sets each to what its kind makes of it."""
    names: dict[str, Any] = {"MISSING": MISSING}
    module, made = sys.modules[owner.__module__], dict[str, Any]()
    head, body = ["self"], []
    for x, one in fields.items():
        value, kind = x, one.metadata.get("kind")
        if one.default_factory is not MISSING:
            names[f"_factory_{x}"] = one.default_factory
            value = f"(_factory_{x}() if {x} is MISSING else {x})"
        if kind is not None:
            names[f"_kind_{x}"], value = kind, f"_kind_{x}({value}, '{x}', ('{x}',))"
        has_default = one.default is not MISSING or one.default_factory is not MISSING
        names[f"_default_{x}"] = one.default
        if one.init:
            head.append(f"{x}=_default_{x}" if has_default else x)
        elif not has_default:
            continue
        place = getattr(owner, x, None)
        names[f"_set_{x}"] = getattr(place, "__set__", None) or _setter(x)
        body.append(f"    _set_{x}(self, {value if one.init else f'_default_{x}'})")
    if hasattr(owner, "__post_init__"):
        body.append("    self.__post_init__()")
    lines = [f"def made({', '.join(names)}):", f" def __init__({', '.join(head)}):"]
    exec("\n".join([*lines, *(body or ["    pass"]), " return __init__"]), vars(module), made)
    init = made["made"](**names)
    init.__qualname__, init.__module__ = f"{owner.__qualname__}.__init__", owner.__module__
    init.__annotations__ = {x: one.type for x, one in fields.items() if one.init}
    return init


def _setter(name: str) -> Callable[[object, Any], None]:
    return lambda value, given: object.__setattr__(value, name, given)


def settle(value: object, /, **fields: Any) -> None:
    """Set fields of a frozen value, in its ``__post_init__``: those that depend on others."""
    for name, given in fields.items():
        object.__setattr__(value, name, given)


def _repr(self: Any) -> str:
    shown = (one for one in self.__dataclass_fields__.values() if one.repr)
    fields = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in shown)
    return f"{type(self).__qualname__}({fields})"


def _equality(fields: Iterable[Field[Any]]) -> dict[str, Any]:
    """Return ``__eq__`` and ``__hash__`` of values with these fields."""
    compared = [one for one in fields if one.compare]
    values = _values([one.name for one in compared])
    hashed = _values([one.name for one in compared if one.hash is not False])

    def equal(self: Any, other: object) -> Any:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    def hash_of(self: Any) -> int:
        return hash(hashed(self))

    return {"__eq__": equal, "__hash__": hash_of}


def _values(names: list[str]) -> Callable[[Any], Any]:
    return attrgetter(*names) if names else lambda _: ()


def _refuse(_: object, name: str, *__: object) -> None:
    raise FrozenInstanceError(f"cannot assign to or delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__dataclass_fields__]


def _restore(self: Any, state: list[Any]) -> None:
    settle(self, **dict(zip(self.__dataclass_fields__, state, strict=True)))


_FROZEN: Final = {
    "__dataclass_params__": SimpleNamespace(frozen=True),
    "__setattr__": _refuse,
    "__delattr__": _refuse,
}
_STATE: Final = {"__getstate__": _state, "__setstate__": _restore}


# ---- kinds


def number(
    least: int = 0, most: int = LARGEST, *, named: str = "", why: str = "", fix: str = ""
) -> Kind:
    """The kind of an integer from ``least`` to ``most``, of any type but bool."""

    def kind(given: Any, name: str, part: Part) -> int:
        if type(given) is int and least <= given <= most:
            return given
        return as_int(given, named or name, least, most, part=part, why=why, fix=fix)

    return kind


def permutation(fix: str = "") -> Kind:
    """The kind of an order of dimensions."""
    return lambda given, name, part: as_permutation(given, name, part=part, fix=fix)


def several(item: Kind, fix: str, named: str = "{0}[{1}]") -> Kind:
    """The kind of a tuple of values of a kind; in errors an item is called by field and position.

    >>> several(number(1), "give sizes", "size {1}")([2, 0], "sizes", ())
    Traceback (most recent call last):
    morello_layouts.errors.LayoutError: size 1: expected an integer from 1, got 0
    give an int from 1
    """
    label = named.format

    def kind(given: Any, name: str, part: Part) -> tuple[Any, ...]:
        items = as_tuple(given, name, fix, part)
        try:
            return tuple([item(x, name, part) for x in items])
        except LayoutError:  # again, with the place of each item
            return tuple([item(x, label(name, k), (*part, k)) for k, x in enumerate(items)])

    return kind


def instance(of: type | tuple[type, ...], fix: str) -> Kind:
    """The kind of a value of a type."""

    def kind(given: Any, name: str, part: Part) -> Any:
        require_type(given, of, name, fix, part)
        return given

    return kind


def optional(kind: Kind) -> Kind:
    """The kind of a value of a kind, or None."""
    return lambda given, name, part: None if given is None else kind(given, name, part)


def one_of(words: Sequence[str], fix: str = "") -> Kind:
    """The kind of one of several words."""

    def kind(given: Any, name: str, part: Part) -> str:
        if isinstance(given, str) and given in words:
            return given
        what = f"{name}: expected {', '.join(words[:-1])} or {words[-1]}, got {shown(given)}"
        raise LayoutError(
            what, fix=fix or f"give one of these words, such as {words[0]!r}", part=part
        )

    return kind
