"""Bugs planted in the package one at a time: a function with one expression replaced."""

from __future__ import annotations

import inspect
import itertools
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import prod
from types import FunctionType
from typing import Any

import numpy as np
import sympy

import morello_layouts as ml
from morello_layouts.core.expr import affine, assumptions, conversions, rules, sizes
from morello_layouts.core.layout import Provenance
from morello_layouts.core.recipe import has_inverse, readings
from morello_layouts.notations import coordinates, expression, named
from morello_layouts.notations.cute import CuteLayout
from morello_layouts.notations.einops import EinopsLayout
from morello_layouts.notations.morello import layout as morello
from morello_layouts.notations.named import NamedLayout
from morello_layouts.notations.xla import layout as xla
from morello_layouts.proof import isl

__all__ = ["BUGS", "LAYOUTS", "Bug", "is_wrong", "map_of"]


@dataclass(frozen=True)
class Bug:
    """A replacement in the source of some functions.

    Attributes:
        name: the number in the review, and what is wrong.
        where: formula, recipe, both, rule, bounds, inverse, bridge, prover, or sizes.
        places: triples (function, expression, replacement).
        shown_by: a layout whose verification refutes it.
    """

    name: str
    where: str
    places: tuple[tuple[Callable[..., Any], str, str], ...]
    shown_by: tuple[Any, ...]

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Run a block with the bug in the package."""
        with ExitStack() as stack:
            for function, old, new in self.places:
                stack.enter_context(_replaced(function, old, new))
            yield


@contextmanager
def _replaced(given: Callable[..., Any], old: str, new: str) -> Iterator[None]:
    """Give a function the code of its source with one expression replaced, wherever it is known."""
    function = inspect.unwrap(given)
    assert isinstance(function, FunctionType)
    source = textwrap.dedent(inspect.getsource(function))
    assert old in source, f"{function.__qualname__} has no {old!r}: say here where it went"
    changed = "\n".join(
        line for line in source.replace(old, new).split("\n") if not line.startswith("@")
    )
    found: dict[str, Any] = {}
    exec("from __future__ import annotations\n" + changed, function.__globals__, found)
    before = function.__code__
    _forget()
    function.__code__ = found[function.__name__].__code__
    try:
        yield
    finally:
        function.__code__ = before
        _forget()


def _forget() -> None:
    sizes._is_nonnegative.cache_clear()
    coordinates._box.cache_clear()


def map_of(layout: str, shape: Any = None, assuming: Any = None) -> ml.IndexMap:
    """Return the map of a row of LAYOUTS."""
    return ml.index_map(layout, shape, assuming=assuming)


def is_wrong(m: ml.IndexMap) -> bool:
    """Return whether formulas, size or inverse of a map are wrong, by counting at small sizes.

    The judge is the layout's document, which the planted bugs leave alone.
    """
    assert m.origin is not None
    names = sorted({name for n in m.origin.shape if not isinstance(n, int) for name in n.names()})
    for values in itertools.product((1, 2, 3, 8, 64, 130), repeat=len(names)):
        at = dict(zip(names, values, strict=True))
        if m.origin.allows(at) and prod(m.origin.sizes(at)) < 600:
            try:
                m.at(**at)
            except ml.ShapeError:
                return True
            if _is_wrong_at(m, m.origin, at):
                return True
    return False


def _is_wrong_at(m: ml.IndexMap, origin: Provenance, sizes: Mapping[str, int]) -> bool:
    shape = origin.sizes(sizes)
    meant = {at: origin.layout.by_document(at, shape) for at in np.ndindex(*shape)}
    offsets = {at: found[0] for at, found in meant.items() if found is not None}
    if len(offsets) < len(meant):
        return False  # the list does not fit these sizes
    size = next(found[1] for found in meant.values() if found is not None)
    recipe = m.recipe.at(sizes)
    if recipe.shape != shape or recipe.size != size:
        return True
    for at, p in offsets.items():
        values = {**sizes, **{f"d{k}": x for k, x in enumerate(at)}}
        if m.form.evaluate(values) != p or m.reference_form.evaluate(values) != p:
            return True
    for at in list(offsets)[:: 1 + len(offsets) // 8]:
        values = {**sizes, **{d.name: x for d, x in zip(m.symbols, at, strict=True)}}
        if _by_sympy(m.expr, values) != offsets[at]:
            return True
    if not has_inverse(m.recipe):
        return False  # nor has the user a formula of it
    back = {p: at for at, p in offsets.items()}
    return any(_coordinate(m, {**sizes, "p": p}) != back.get(p) for p in range(size))


def _by_sympy(expr: Any, values: Mapping[str, int]) -> int:
    return int(expr.xreplace({s: sympy.Integer(values[s.name]) for s in expr.free_symbols}))


def _coordinate(m: ml.IndexMap, values: Mapping[str, int]) -> tuple[int, ...] | None:
    for form, n in m.inverse.limits:
        if form.evaluate(values) >= (n if isinstance(n, int) else n.evaluate(values)):
            return None
    return tuple(form.evaluate(values) for form in m.inverse.forms)


LAYOUTS: tuple[tuple[Any, ...], ...] = (
    ("f32[3,5]{1,0:T(2,2)}",),
    ("f32[2,3]{1,0}",),
    ("f32[2,3]{0,1}",),
    ("f32[3,4,5]{0,2,1}",),
    ("bf16[10,20]{1,0:T(8,16)(2,1)}",),
    ("bf16[10,20]{0,1:T(4,8)(2,1)}",),
    ("f32[4,6,5]{2,1,0:T(*,2,3)}",),
    ("f32[4,6]{1,0:T(*,8)}",),
    ("f32[5,7]{1,0:T(3,2)(3,8)}",),
    ("f32[3,5]{1,0:T(2,2)L(32)}",),
    ("f32[6,8]{1,0:T(6,4)}",),
    ("f32[7]{0:T(4)}",),
    ("f32[3,9]{1,0:T(1,4)(2)}",),
    ("[1, 0, 1 p(4)]", (6, 8)),
    ("[0 oe(4), 1]", (4, 3)),
    ("[1, 0 oe(6)]", (6, 4)),
    ("[0, 0 p(4)]", (8,)),
    ("[0, 1, 0 p(2), 1 p(3)]", (8, 9)),
    ("NHWC", (2, 3, 4, 5)),
    ("aBcd4b", (2, 6, 3, 3)),
    ("f32[M,N]{1,0:T(8,128)}",),
    ("f32[M,N]{1,0:T(8,128)}", None, "N % 64 == 0"),
    ("f32[M,N]{1,0:T(2,4)}", None, "M <= 2"),
    ("f32[M,N]{0,1}",),
    ("f32[A,B]{1,0:T(*,2)}", None, "B % 2 == 0"),
    ("f32[13]{0:T(6)(4)}",),
    ("((4,2),8):((1,32),4)",),
    ("(4,3):(2@1,1@0)",),
    ("lambda c: (c//16, c%16)", (20,)),
    ("lambda i, j: (2*i + j//8, j%8)", (3, 16)),
    ("(h p) w -> h w p, p=2", (6, 5)),
    ("b h w -> (w b) h", (2, 3, 4)),
    ("mx128x4", (40, 9)),
    ("morton", (4, 8)),
    ("COL32", (2, 3, 2, 40)),
)
"""Layouts, shapes and assumptions in which the bugs show."""


def _bug(name: str, where: str, shown_by: int, *places: tuple[Callable[..., Any], str, str]) -> Bug:
    return Bug(name, where, places, LAYOUTS[shown_by])


BUGS: tuple[Bug, ...] = (
    _bug(
        "L1 tile transposed inner-first", "recipe", 0,
        (xla._tile_steps, "*range(plain, plain + 2 * k, 2), *range(plain + 1, plain + 2 * k, 2)",
         "*range(plain + 1, plain + 2 * k, 2), *range(plain, plain + 2 * k, 2)"),
    ),
    _bug("L2 floor for ceil in d/t", "formula", 0,
         (xla.tiled, "map(of.ceiling, d_tiled", "map(of.quotient, d_tiled")),
    _bug(
        "L3 minor_to_major backwards", "both", 1,
        (ml.XlaLayout.__dict__["major_to_minor"].fget, "self.minor_to_major[::-1]",
         "self.minor_to_major"),
    ),
    _bug(
        "L4 OddEven odd first", "formula", 14,
        (morello.terms_of, "(size // 2) * (index % 2)", "(size // 2) * ((index + 1) % 2)"),
    ),
    _bug(
        "L5 Morello list backwards", "both", 18,
        (ml.MorelloLayout.recipe, "self.phys_dims,", "self.phys_dims[::-1],"),
        (ml.MorelloLayout.reference, "self.phys_dims,", "self.phys_dims[::-1],"),
    ),
    _bug("L6 star joins by wrong stride", "formula", 6,
         (xla._subsume, "e[i] * d[i + 1] + e[i + 1]", "e[i] * d[i] + e[i + 1]")),
    _bug(
        "L7 second tile ignored", "both", 4,
        (ml.XlaLayout.recipe, "in self.tiles:", "in self.tiles[:1]:"),
        (ml.XlaLayout.reference, "in self.tiles:", "in self.tiles[:1]:"),
    ),
    _bug("L8 tail padding dropped", "recipe", 9,
         (ml.XlaLayout.recipe, "if self.tiles else 0", "if not self.tiles else 0")),
    _bug("S1 drop-mod bound off by one", "rule", 0,
         (rules.drop_mod, "* d.modulus)", "* (d.modulus + 1))")),
    _bug("S2 nest without condition", "rule", 25,
         (rules.flatten_nested, "d.modulus % rest != 0:", "False:")),
    _bug("S3 join-digits factor", "rule", 16,
         (rules.join_digits, "divisor, n) * c", "divisor, n) * (c * low.modulus)")),
    _bug("S4 bounds n - 2", "bounds", 0, (affine.coordinate_variables, "n - 1", "n - 2")),
    _bug("S5 one-value", "rule", 0,
         (rules.constant, "lo is not None and lo == hi", "lo is not None")),
    _bug("S6 pull-multiples constant", "rule", 6,
         (rules.extract_multiples, "extracted), multiples)", "extracted), multiples + 1)")),
    _bug("I1 inverse split", "inverse", 0,
         (readings.logical_coordinates, "next(parts) * t", "next(parts)")),
    _bug("I2 padding limits", "inverse", 0,
         (readings.logical_coordinates, "(x, n) for", "(x, n + 1) for")),
    _bug("B1 SymPy bridge's Mod", "bridge", 0,
         (conversions._Sympy.digit, "(d.modulus, self.named), evaluate",
          "(d.modulus, self.named) + 1, evaluate")),
    _bug("P1 ISL reading of Split", "prover", 0,
         (isl.Value.__mod__, ".val(modulus))", ".val(modulus + 1))")),
    _bug("C1 ceil_quotient + 1", "sizes", 0,
         (sizes.ceil_quotient, "-(-value // divisor)", "-(-value // divisor) + 1")),
    _bug("C2 symbolic bound too small", "bounds", 20,
         (affine.coordinate_variables, "n - 1 if", "(n - 1 if type(n) is int else 1) if")),
    _bug("C3 assumption N%64 read as N%128", "sizes", 21,
         (expression._assumed, "_positive(divisor, text, at)",
          "2 * _positive(divisor, text, at)")),
    _bug("C3b divisor 64 applied as 128", "sizes", 21,
         (assumptions.apply_divisibility,
          "exact_quotient(named, one.divisor) * one.divisor",
          "exact_quotient(named, 2 * one.divisor) * 2 * one.divisor")),
    _bug("K1 CuTe's inner digit one place on", "both", 26,
         (CuteLayout.reference, "left % size", "(left + 1) % size")),
    _bug("K2 CuTe's value of a basis element dropped", "both", 27,
         (CuteLayout.__dict__["_steps"].fget, "int(d.value) * int(place)", "int(place)")),
    _bug("V1 TVM's box without the last remainder", "sizes", 28,
         (coordinates._extent, "round_up(largest + 1, step or 1)",
          "round_up(largest + 1, step or 1) + 1")),
    _bug("V2 TVM's results backwards", "both", 29,
         (coordinates.FormulaLayout.results, "in self.forms)", "in self.forms[::-1])")),
    _bug("E1 einops' inner axis one place on", "both", 30,
         (EinopsLayout._digits, "else digit % size", "else (digit + 1) % size")),
    _bug("E2 einops' result backwards", "both", 31,
         (EinopsLayout.texts, "(rank)[1])", "(rank)[1][::-1])")),
    _bug("N1 quarters of a tile of scales swapped", "both", 32,
         (NamedLayout.results, "_formula(self.format.formula)",
          '_formula(self.format.formula.replace("m%32, m//32%4", "m//32%4, m%32"))')),
    _bug("N2 bits of the first dimension lowest", "both", 33,
         (named._morton, "zip(coordinates, bits, strict=True)",
          "zip(coordinates[::-1], bits[::-1], strict=True)")),
    _bug("N3 batches backwards", "both", 34,
         (NamedLayout.results, "*coordinates[:batches], *", "*coordinates[:batches][::-1], *")),
)  # fmt: skip
"""The 21 bugs of the review, a second way to plant the last, and bugs of later notations."""
