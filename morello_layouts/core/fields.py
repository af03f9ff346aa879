"""Frozen values whose fields check themselves; each says its fields, their kinds and words once.

``@frozen`` makes what ``@dataclass(frozen=True, slots=True)`` makes, at a fraction of the cost of a
class: one ``__init__`` is written at the first value, and nothing else is. ``replace`` and
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
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, field
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, Final, TypeAlias, TypeVar, dataclass_transform, overload

from morello_layouts.core.checks import (
    LARGEST,
    Part,
    as_int,
    as_permutation,
    as_tuple,
    require_type,
    shown,
)  # fmt: skip
from morello_layouts.errors import LayoutError

T = TypeVar("T")

Kind: TypeAlias = Callable[[Any, str, Part], Any]
"""What a field makes of a value, by its name in errors and its place in the value around it."""

_OWN: Final = dataclasses._FIELD  # type: ignore[attr-defined]


def checked(kind: Kind, *, default: Any = MISSING) -> Any:
    """Return a field of a kind. Its default is checked as what is given."""
    return field(default=default, metadata={"kind": kind})


@overload
def frozen(cls: type[T], /) -> type[T]: ...


@overload
def frozen(*, slots: bool = True, eq: bool = True) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(checked, field))
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
        added |= {name: one.default for name, one in own.items() if one.default is not MISSING}
        for name, value in added.items():
            setattr(cls, name, value)
    if "__init__" not in body:
        made.__init__ = _Init(made, every)
    return made


class _Init:
    """The ``__init__`` of a class, written when it is first asked for."""

    __slots__ = ("fields", "owner")

    def __init__(self, owner: Any, fields: dict[str, Field[Any]]) -> None:
        self.owner, self.fields = owner, fields

    def __get__(self, value: object, kind: Any) -> Any:
        init = _init_of(self.owner, self.fields)
        self.owner.__init__ = init
        return init.__get__(value, kind)


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
