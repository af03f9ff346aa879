"""Frozen values: what dataclasses' are, and fields that check themselves."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from abc import ABC, abstractmethod
from functools import cached_property
from types import FunctionType
from typing import Any, ClassVar

import pytest

from morello_layouts.core.fields import (
    checked,
    frozen,
    instance,
    late,
    later,
    number,
    optional,
    settle,
    several,
)  # fmt: skip
from morello_layouts.errors import LayoutError
from tests.support.tables import each_row


class Named(ABC):
    __slots__ = ()

    @abstractmethod
    def name(self) -> str: ...


@frozen
class Tile(Named):
    """A tile."""

    sizes: tuple[int, ...] = checked(several(number(1), "give sizes"))
    unit: int = checked(number(1, named="the unit"), default=1)
    parent: Tile | None = None
    remark: str = dataclasses.field(default="", compare=False, repr=False)
    notes: list[str] = dataclasses.field(default_factory=list, hash=False)
    LIMIT: ClassVar[int] = 3

    def name(self) -> str:
        return f"T{self.sizes}"


@frozen
class Bounded(Tile):
    bound: int = 0
    value: int = 0

    def __post_init__(self) -> None:
        settle(self, bound=max(self.bound, *self.sizes))


@frozen(slots=False)
class Keeps:
    x: int

    @cached_property
    def twice(self) -> int:
        return 2 * self.x


@frozen(eq=False)
class Itself:
    x: int


@frozen
class Empty:
    pass


@frozen
class Answer:
    holds: bool
    reason: str = late()
    slot: int | None = late(default=None)


@frozen(slots=False)
class Explained(Answer):
    proof: str = late(default="")


tile = Tile([8, 128])


def test_a_value_is_what_a_dataclass_would_be() -> None:
    assert dataclasses.is_dataclass(tile)
    assert [field.name for field in dataclasses.fields(tile)] == [
        "sizes", "unit", "parent", "remark", "notes",
    ]  # fmt: skip
    assert dataclasses.replace(tile, unit=2) == Tile((8, 128), 2)
    assert repr(tile) == "Tile(sizes=(8, 128), unit=1, parent=None, notes=[])"
    assert str(inspect.signature(Tile)).startswith("(sizes: 'tuple[int, ...]', unit: 'int' = 1, ")
    match tile:
        case Tile(sizes, unit):
            assert (sizes, unit) == ((8, 128), 1)
    assert Tile.LIMIT == 3
    assert Tile.__doc__ == "A tile."
    assert not hasattr(tile, "__dict__")
    assert Tile((1,)).notes is not Tile((1,)).notes


def test_equal_values_have_one_hash_and_others_differ() -> None:
    assert tile == Tile((8, 128), remark="no matter")
    assert hash(tile) == hash(Tile((8, 128), remark="no matter", notes=["nor this"]))
    assert tile != Tile((8, 128), 2)
    assert tile != Tile((8, 128), notes=["this does"])
    assert tile.__eq__((8, 128)) is NotImplemented
    assert tile != Bounded((8, 128)), "a value of another class"
    assert Itself(1) != Itself(1)
    assert Empty() == Empty()


@each_row("value", [tile, Bounded((2, 3)), Keeps(3), Empty(), Tile((1,), 1, tile)])
def test_values_are_copied_and_pickled(value: Any) -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(value, protocol)) == value
    assert copy.deepcopy(value) == value == copy.copy(value)


@each_row("kind", [Answer, Explained])
def test_a_late_field_is_made_once_when_it_is_read(kind: Any) -> None:
    asked: list[str] = []
    value = kind(True, later(lambda: asked.append("reason") or "it is"), later(lambda: 1 // 0))
    assert value.holds
    assert not asked
    assert (value.reason, value.reason, asked) == ("it is", "it is", ["reason"])
    with pytest.raises(ZeroDivisionError):
        _ = value.slot
    other = kind(True, "it is")
    assert other.slot is None
    assert kind(True, later(lambda: "it is")) == other
    assert pickle.loads(pickle.dumps(kind(True, later(lambda: "it is")))) == other
    with pytest.raises(dataclasses.FrozenInstanceError):
        other.reason = "another"
    assert Explained(True, "so", proof=later(lambda: "by digits")).proof == "by digits"


WRONG: list[Any] = [((), {}), ((1, [], 2), {}), ((1,), {"value": 2}), ((1,), {"other": 2})]


@each_row(("given", "named"), WRONG)
def test_the_first_values_of_a_class_are_made_as_all_others(given: Any, named: Any) -> None:
    """Until many were made, no ``__init__`` was written."""

    @frozen
    class Pair:
        value: int = checked(number())
        notes: list[int] = dataclasses.field(default_factory=list)
        both: tuple[int, ...] = dataclasses.field(default=(), init=False)

        def __post_init__(self) -> None:
            settle(self, both=(self.value, *self.notes))

    made: Any = Pair
    for count in (9, 99):
        for _ in range(count):
            assert made(1, notes=[2]).both == made(notes=[2], value=1).both == (1, 2)
        with pytest.raises(LayoutError):
            made(-1)
        assert isinstance(vars(made)["__init__"], FunctionType) is (count == 99)
        with pytest.raises(TypeError, match="argument"):
            made(*given, **named)


def test_values_are_frozen() -> None:
    changed: Any = tile
    with pytest.raises(dataclasses.FrozenInstanceError):
        changed.unit = 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        del changed.unit
    with pytest.raises(dataclasses.FrozenInstanceError):
        changed.other = 3
    assert Keeps(3).twice == 6


def test_inheritance_and_abstract_methods() -> None:
    assert Bounded((2, 3)).bound == 3
    assert Bounded((2, 3)).name() == "T(2, 3)"

    @frozen
    class Nameless(Named):
        x: int

    kind: Any = Nameless
    with pytest.raises(TypeError, match="abstract"):
        kind(1)


@each_row(
    ("given", "error", "part"),
    [
        (((8, 0),), "sizes[1]: expected an integer from 1, got 0", ("sizes", 1)),
        ((3,), "sizes: expected a tuple or list, got 3", ("sizes",)),
        (((8,), True), "the unit: expected an integer from 1, got True", ("unit",)),
    ],
)
def test_fields_check_themselves(given: Any, error: str, part: Any) -> None:
    with pytest.raises(LayoutError) as raised:
        Tile(*given)
    assert (raised.value.what, raised.value.part) == (error, part)


def test_kinds() -> None:
    assert optional(number())(None, "x", ()) is None
    with pytest.raises(LayoutError, match="x: expected Tile, got 3"):
        instance(Tile, "give a Tile")(3, "x", ())
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'sizes'"):
        Tile()
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        Tile((1,), other=3)
