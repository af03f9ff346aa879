"""Write a layout in Triton's notation: as an encoding of registers or of shared memory."""

from __future__ import annotations

from collections.abc import Sequence

from morello_layouts.notations.triton import TritonLayout
from morello_layouts.notations.triton.encoding import Encoding
from morello_layouts.recipe import bases_of_recipe, known
from morello_layouts.recipe.bases import MEMORY
from morello_layouts.translate.source import FORMULA, Source

Vectors = tuple[tuple[int, ...], ...]
_REGISTERS = ("register", "lane", "warp")


def triton_layout_of(source: Source) -> TritonLayout:
    """Return the encoding with the bases of a layout, which are the proof that both are equal.

    Axes ``lane`` and ``register`` make a linear encoding. Memory is swizzled, if the rules of such
    an encoding give these bases, else linear too.

    Raises:
        NoTranslationError: if the layout is not linear in the bits of its places.

    >>> from morello_layouts import index_map
    >>> print(triton_layout_of(Source(index_map("f32[4,8]{0,1}"), "encoding")))
    #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>
    """
    recipe = source.m.recipe
    bases = None if recipe.names else bases_of_recipe(recipe)
    if bases is None:
        raise source.none(
            "Triton's layouts are exclusive ors of bits: sizes are powers of two without padding",
            FORMULA,
        )
    block = bases.pop("block", ())
    if {*bases} <= {*_REGISTERS} and bases:
        fields = [(name, bases.get(name, ())) for name in _REGISTERS]
        return TritonLayout(Encoding("linear", (*fields, ("block", block))))
    if [*bases] != [MEMORY]:
        names = ", ".join(bases)
        raise source.none(f"Triton has no axes {names}", FORMULA)
    swizzled = None if block else _swizzled(bases[MEMORY], known(recipe.shape))
    return TritonLayout(swizzled or _linear(bases[MEMORY], block))


def _linear(offset: Vectors, block: Vectors) -> Encoding:
    fields = (("offset", offset), ("block", block)) if block else (("offset", offset),)
    return Encoding("shared_linear", fields)


def _swizzled(bases: Vectors, shape: Sequence[int]) -> Encoding | None:
    """The swizzled encoding with these bases; None if there is none."""
    seen = (dim for vector in bases for dim, x in enumerate(vector) if x)
    order = [*dict.fromkeys((*seen, *reversed(range(len(shape)))))]
    numbers = (1, 1, 1)
    if len(order) > 1:
        column, row = order[:2]
        moved = {v[row]: v[column] for v in bases if v[row]}
        first = next((x for x in moved if moved[x]), 1)
        vec = moved.get(first) or 1
        phases = 1
        while moved.get(first * phases) == vec * phases:
            phases *= 2
        numbers = (vec, first if phases > 1 else 1, phases)
    fields = zip(("vec", "perPhase", "maxPhase"), numbers, strict=True)
    if not shape or any(n.bit_count() != 1 for n in numbers):
        return None
    found = Encoding("swizzled_shared", (*fields, ("order", tuple(order))))
    return found if TritonLayout(found).bases(shape) == {MEMORY: bases} else None
