"""ISL for the proofs: the names and signatures of islpy, without what islpy keeps.

islpy copies each argument that ISL consumes, and never frees the 32 bytes that hold the copy; a
proof consumes thousands. So ISL's C functions, which islpy's module exports, are called directly,
and islpy itself is not imported. If it does not export them, ``isl`` is islpy. Both load on first
use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import IntEnum
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from morello_layouts.core.lazy import missing

if TYPE_CHECKING:
    import islpy as isl

__all__ = ["isl"]

_FUNCTIONS: Final = """
Context.reset_operations: Context -> none
Context.set_max_operations: Context long -> none
Context.get_max_operations: Context -> long
Val.int_from_si: Context long -> Val
Val.read_from_str: Context text -> Val
Val.neg: Val* -> Val
Val.is_neg: Val -> bool
Val.to_str: Val -> text
Space.set_alloc: Context int int -> Space
Space.set_dim_name: Space* int int text -> Space
Space.params Space.domain: Space* -> Space
Space.dim: Space int -> int
LocalSpace.from_space: Space* -> LocalSpace
Aff.var_on_domain: LocalSpace* int int -> Aff
Aff.val_on_domain: LocalSpace* Val* -> Aff
Aff.add Aff.sub: Aff* Aff* -> Aff
Aff.ge_set Aff.gt_set Aff.le_set Aff.lt_set: Aff* Aff* -> Set
Aff.neg Aff.floor: Aff* -> Aff
Aff.scale_val Aff.scale_down_val Aff.mod_val Aff.add_constant_val: Aff* Val* -> Aff
Aff.is_cst Aff.plain_is_zero: Aff -> bool
Aff.get_constant_val Aff.get_denominator_val: Aff -> Val
Aff.get_coefficient_val: Aff int int -> Val
Aff.dim: Aff int -> int
PwAff.from_aff: Aff* -> PwAff
PwAff.nonneg_set PwAff.pos_set PwAff.zero_set PwAff.non_zero_set: PwAff* -> Set
PwAff.intersect_domain: PwAff* Set* -> PwAff
Set.universe Set.empty: Space* -> Set
Set.intersect Set.intersect_params Set.union Set.subtract Set.gist: Set* Set* -> Set
Set.params Set.coalesce Set.lexmin Set.flatten: Set* -> Set
Set.insert_dims Set.project_out: Set* int int int -> Set
Set.equate: Set* int int int int -> Set
Set.fix_val: Set* int int Val* -> Set
Set.lex_lt_set: Set* Set* -> Map
Set.is_empty Set.is_bounded: Set -> bool
Set.is_subset Set.is_disjoint Set.is_equal: Set Set -> bool
Set.get_space: Set -> Space
Set.max_val Set.min_val: Set Aff -> Val
Set.sample_point: Set* -> Point
Set.to_str: Set -> text
Set.get_basic_set_list: Set -> BasicSetList
BasicSetList.size: BasicSetList -> int
BasicSetList.get_at: BasicSetList int -> BasicSet
BasicSet.get_constraint_list: BasicSet -> ConstraintList
ConstraintList.size: ConstraintList -> int
ConstraintList.get_at: ConstraintList int -> Constraint
Constraint.dim: Constraint int -> int
Constraint.is_equality: Constraint -> bool
Constraint.get_constant_val: Constraint -> Val
Constraint.get_coefficient_val: Constraint int int -> Val
Constraint.get_div: Constraint int -> Aff
Point.get_space: Point -> Space
Point.get_coordinate_val: Point int int -> Val
Map.from_aff: Aff* -> Map
Map.flat_range_product Map.apply_range Map.intersect: Map* Map* -> Map
Map.intersect_domain: Map* Set* -> Map
Map.reverse: Map* -> Map
Map.lex_lt: Space* -> Map
Map.is_injective: Map -> bool
Map.get_space: Map -> Space
Map.domain Map.wrap: Map* -> Set
"""
"""Methods, the kinds of their arguments, and that of the result. ISL consumes one with a star."""


_TYPES: Final[Mapping[str, str | None]] = {
    "int": "c_int", "bool": "c_int", "long": "c_long", "text": "c_char_p", "none": None,
}  # fmt: skip
"""Types of C by the names of ctypes, which loads with ISL; all others are addresses."""

_ON_ERROR_CONTINUE: Final = 1
"""Errors are those that functions give back; ISL prints nothing."""


class _DimType(IntEnum):
    """Kinds of dimensions, as numbered in ISL's header."""

    param, in_, set, div = 1, 2, 3, 4


class _Object:
    """An ISL object: its address, and its context, which is freed after it."""

    __slots__ = ("address", "context")
    copied: Callable[[int], int]  #: ISL's function from an address to that of a copy.
    free: Callable[[int], None]  #: ISL's function that frees what is at an address.

    def __init__(self, address: int, context: _Object | None) -> None:
        self.address = address
        self.context = context or self

    def __del__(self) -> None:
        self.free(self.address)

    def get_ctx(self) -> _Object:
        """Return the context."""
        return self.context


class Error(RuntimeError):
    """ISL gave an error back, such as that its budget is spent."""


def _path() -> str:
    """Return the file of islpy's module, without importing islpy."""
    found = find_spec("islpy")
    for folder in (found.submodule_search_locations or []) if found else []:
        for suffix in EXTENSION_SUFFIXES:
            if (path := Path(folder) / f"_isl{suffix}").exists():
                return str(path)
    raise missing("ISL", "ISL, the integer set library, decides this", "islpy")


class _Library:
    """ISL's C functions as methods of classes."""

    def __init__(self) -> None:
        # PyDLL keeps Python's lock, so no thread frees an object of a context that another uses.
        self._ctypes = import_module("ctypes")  # 5 ms, and most proofs need no ISL
        self._exported = self._ctypes.PyDLL(_path())
        self._exported.free.argtypes = [self._ctypes.c_void_p]
        self.classes: dict[str, type[_Object]] = {}  #: the classes by islpy's names.
        for line in _FUNCTIONS.strip().splitlines():
            names, kinds, result = re.split(": | -> ", line)
            for name in names.split():
                owner, method = name.split(".")
                setattr(self._class(owner), method, self._method(name, kinds.split(), result))

    def context(self) -> _Object:
        """Return a new context."""
        address = self._function("ctx_alloc", "c_void_p")()
        set_on_error = self._function("options_set_on_error", "c_int", "c_void_p", "c_int")
        set_on_error(address, _ON_ERROR_CONTINUE)
        return self._class("Context")(address, None)

    def _class(self, kind: str) -> type[_Object]:
        if kind not in self.classes:
            functions = {"free": self._function(f"{_in_c(kind)}_free", None, "c_void_p")}
            if kind != "Context":
                functions["copied"] = self._function(f"{_in_c(kind)}_copy", "c_void_p", "c_void_p")
            self.classes[kind] = type(kind, (_Object,), {"__slots__": (), **functions})
        return self.classes[kind]

    def _function(self, name: str, *types: str | None) -> Any:
        """Return a function of ISL by the names of its types: of its result, then its arguments."""
        found = self._exported[f"isl_{name}"]
        found.restype, *found.argtypes = (kind and getattr(self._ctypes, kind) for kind in types)
        return found

    def _method(self, name: str, kinds: list[str], result: str) -> Callable[..., Any]:
        """Return a function on objects; it raises islpy's error if ISL gives an error back."""
        arguments = (_TYPES.get(kind, "c_void_p") for kind in kinds)
        returned = "c_void_p" if result == "text" else _TYPES.get(result, "c_void_p")
        call = self._function(_in_c(name), returned, *arguments)
        ways, answer = [self._way(kind) for kind in kinds], self._answer(result)
        wrong = None if returned == "c_void_p" else -1

        def ask(*given: Any) -> Any:
            found = call(*[way(x) for way, x in zip(ways, given, strict=True)])
            if found == wrong:
                raise Error(f"{name} failed")
            return answer(found, given[0].context)

        return ask

    def _way(self, kind: str) -> Callable[[Any], Any]:
        """Return what makes an argument of C from a value."""
        if kind.endswith("*"):
            copied = self._class(kind[:-1]).copied
            return lambda x: copied(x.address)
        if kind == "text":
            return str.encode
        return int if kind in _TYPES else attrgetter("address")

    def _answer(self, result: str) -> Callable[[Any, _Object], Any]:
        """Return what makes a value from C's result and the context."""
        if result == "text":
            return lambda address, _: self._text(address)
        if result == "bool":
            return lambda found, _: bool(found)
        return (lambda found, _: found) if result in _TYPES else self._class(result)

    def _text(self, address: int) -> str:
        text: str = self._ctypes.string_at(address).decode()
        self._exported.free(address)
        return text


def _in_c(name: str) -> str:
    words = re.sub("(?<=[a-z])(?=[A-Z])", "_", name.replace(".", "_")).lower()
    return words.replace("context", "ctx")


def _like_islpy() -> SimpleNamespace:
    """Return the functions under islpy's names, and islpy's conveniences that proofs use."""
    library = _Library()
    found = SimpleNamespace(**library.classes)
    found.Context, found.Error, found.dim_type = library.context, Error, _DimType
    found.Aff.to_pw_aff = found.PwAff.from_aff
    found.Val.to_python = lambda value: int(value.to_str())
    found.Set.__str__ = found.Set.to_str
    found.Set.get_basic_sets = lambda points: _listed(points.get_basic_set_list())
    found.BasicSet.get_constraints = lambda points: _listed(points.get_constraint_list())
    return found


def _listed(objects: Any) -> list[Any]:
    return [objects.get_at(k) for k in range(objects.size())]


class _OnFirstUse:
    """ISL, loaded when a name of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        try:
            library: Any = _like_islpy()
        except (AttributeError, OSError):
            library = import_module("islpy")
        vars(self).update(vars(library))
        return getattr(library, name)


if not TYPE_CHECKING:
    isl = _OnFirstUse()
