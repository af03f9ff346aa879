"""Relayouts without loops over common digits: the nests of ``loop_nests``, or both formulas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.lazy import importing
from morello_layouts.core.maps import AffineMap
from morello_layouts.core.recipe import Recipe
from morello_layouts.outputs.codegen import LANGUAGES, Formulas
from morello_layouts.outputs.codegen.targets import CLanguage
from morello_layouts.outputs.kernels.c_loops import argument, python_argument
from morello_layouts.outputs.kernels.chains import offset_form
from morello_layouts.outputs.kernels.domains import estimate
from morello_layouts.outputs.kernels.plan import Kernel

if TYPE_CHECKING:
    from morello_layouts.outputs.loop_nests import LoopNest

PLAIN: Final = "The layouts share no digits: each element goes through both formulas."


def copy_nest(kernel: Kernel) -> LoopNest:
    """Return the nest that copies each element, in the order of the target, as bytes.

    >>> from morello_layouts import index_map
    >>> a, b = (index_map(x).recipe for x in ("Sw<1,0,2> o 0 o (4,4):(4,1)", "(4,4):(4,1)"))
    >>> print(copy_nest(Kernel(a, b, 4)).verify())
    verified: the nest visits each element once, at the offsets of the maps. Decided by ISL.
    """
    with importing:  # few kernels need nests, and their proofs
        from morello_layouts.outputs.loop_nests import LoopNest
        from morello_layouts.outputs.loop_nests.space import joined

    maps = {"s": _in_c(kernel.source, kernel), "t": _in_c(kernel.target, kernel)}
    over = [f"d{k}" for k in range(len(kernel.source.shape))]
    space = joined(maps, dict.fromkeys(maps, over))
    return LoopNest.physical(space, 1, body=f"memcpy(t + {{t}}, s + {{s}}, {kernel.itemsize});")


def _in_c(recipe: Recipe, kernel: Kernel) -> AffineMap:
    """Return the offset of an element in bytes, over sizes as C calls them."""
    return _renamed(recipe, kernel, argument, kernel.itemsize)


def _renamed(
    recipe: Recipe, kernel: Kernel, called: Callable[[str], str], unit: int = 1
) -> AffineMap:
    def renamed(n: Int) -> Int:
        if isinstance(n, int):
            return n
        found: Int = n.evaluate({name: SizeExpr.named(called(name)) for name in n.names()})
        return found

    m = AffineMap(recipe.shape, (offset_form(recipe) * unit,)).map_sizes(renamed)
    known = (replace(one, name=called(one.name)) for one in kernel.assumptions)
    return replace(m, assumptions=tuple(known))


class _KernelLanguage(CLanguage):
    """C in a kernel, of which several calls may share a loop."""

    divided = ""  #: the name of that loop.

    def loop_of(self, name: str) -> str:
        if name != self.divided:
            return self.loop
        return (
            "for ({type} {v} = RELAYOUT_SPLIT({stop}, part, parts), "
            "{v}_at_end = RELAYOUT_SPLIT({stop}, part + 1, parts); {v} < {v}_at_end; ++{v}) {{"
        )


def c_lines(kernel: Kernel, *, share: bool = False) -> list[str]:
    """Return the loops in C; with ``share``, a call does its part of the longest one."""
    nest, language = copy_nest(kernel), _KernelLanguage()
    if share and nest.axes:
        language.divided = max(nest.axes, key=lambda axis: estimate(axis.size)).name
    text = language.nest_text(nest.planned(counts=False), {}, None, "")
    return [f"/* {PLAIN} */", *text.splitlines()]


def formula(
    recipe: Recipe, target: str, kernel: Kernel, called: Callable[[str], str] = python_argument
) -> str:
    """Return the offset of the element at ``d0, d1, …`` in a language: in bytes in C and CUDA."""
    in_items = target in ("python", "triton")
    m = _renamed(recipe, kernel, called) if in_items else _in_c(recipe, kernel)
    formulas = Formulas("", "", m.form.variables(), (("", m.form),), assumptions=m.assumptions)
    return LANGUAGES[target]().expression(formulas)
