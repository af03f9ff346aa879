"""The table of writers: from the digits of a layout to its text in each notation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod
from typing import Final

from morello_layouts import proof
from morello_layouts.core.expr import coordinate_variables
from morello_layouts.core.expr.sizes import Int, SizeExpr, is_nonnegative
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Layout, bits_of
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.maps.subject import shape_text
from morello_layouts.core.recipe import bases_of_recipe, known
from morello_layouts.core.recipe.bases import MEMORY
from morello_layouts.core.recipe.digits import AxisDigit
from morello_layouts.core.recipe.recognize import recipe_of_formula
from morello_layouts.errors import LayoutError
from morello_layouts.notations import parse
from morello_layouts.notations.named import FORMATS, NamedLayout
from morello_layouts.notations.triton import TritonLayout
from morello_layouts.notations.triton.encoding import Encoding
from morello_layouts.outputs.translate.searches import (
    morello_layout_of,
    without_swizzles,
    xla_layout_of,
)
from morello_layouts.outputs.translate.source import (
    FORMULA,
    Writable,
    have_same_offsets,
    placed_digits,
)

Vectors = tuple[tuple[int, ...], ...]
_REGISTERS = ("register", "lane", "warp")


def triton_layout_of(source: Writable) -> TritonLayout:
    """Return the encoding with the bases of a layout, which are the proof that both are equal.

    Axes ``lane`` and ``register`` make a linear encoding. Memory is swizzled, if the rules of such
    an encoding give these bases, else linear too. Memory with padding between its slots is padded.
    """
    recipe = source.m.recipe
    bases = None if recipe.names else bases_of_recipe(recipe)
    if bases is None:
        padded = None if recipe.names or recipe.axis_names else _padded(source.m)
        if padded is not None and have_same_offsets(source.m, padded).holds:
            return padded
        raise source.none(
            "Triton's layouts are exclusive ors of bits: sizes are powers of two, without padding "
            "but for powers of two after intervals",
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


def _padded(m: IndexMap) -> TritonLayout | None:
    """Return an encoding that pads after intervals, with the offsets of a map at single bits.

    Without padding the bits of coordinates, by their offsets, would lie at 1, 2, 4, …. What one is
    further than twice the bit before is the padding after an interval of its elements.
    """
    shape = known(m.recipe.shape)
    if any(n.bit_count() != 1 for n in shape):
        return None
    rank = range(len(shape))
    units = ((dim, 1 << k) for dim in rank for k in range(shape[dim].bit_length() - 1))
    vectors = [tuple(unit * (k == dim) for k in rank) for dim, unit in units]
    bits = sorted((m(*vector), vector) for vector in vectors)
    expected, paddings = 1, list[tuple[int, int]]()
    for k, (place, _) in enumerate(bits):
        if place != expected:
            paddings.append((1 << k, place - expected))
        expected = 2 * place
    if not paddings or any(more < 1 or more.bit_count() != 1 for _, more in paddings):
        return None
    offset = tuple(vector for _, vector in bits)
    dims = (dim for vector in offset for dim, x in enumerate(vector) if x)
    order = tuple(dict.fromkeys((*dims, *reversed(rank))))
    in_order = tuple(vector for dim in order for vector in vectors if vector[dim])
    rest = [("offset", offset)] if offset != in_order else [("order", order), ("shape", shape)]
    return TritonLayout(Encoding("padded_shared", (("paddings", tuple(paddings)), *rest)))


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


@frozen(slots=False)
class Writer:
    """A notation that layouts are written in."""

    title: str  #: one layout of the notation, in errors.
    #: returns the layout or its text from a source, or raises an error of the source.
    write: Callable[[Writable], object]
    proves: bool = False  #: whether ``write`` has proved the result.


def written(m: IndexMap, to: str, element_type: str | None = None) -> Layout:
    """Return the layout of a notation with the offsets of a map, proved equal."""
    writer = WRITERS[to]
    source = Writable(m, writer.title, element_type)
    found = writer.write(source)
    try:
        layout = parse(found, to) if isinstance(found, str) else found
    except LayoutError as error:
        if element_type is not None:
            raise
        raise source.not_found(f"its text would have this fault: {error.what}", FORMULA) from None
    assert isinstance(layout, Layout)
    answer = None if writer.proves else have_same_offsets(m, layout)
    if answer is None or answer.holds:
        return layout
    raise source.not_found(
        f"{layout} was found, and not proved equal: {answer.reason}",
        f"compare it with {layout} at smaller sizes",
    )


def _of_dim(digits: Iterable[AxisDigit], dim: int) -> list[AxisDigit]:
    """The digits of a dimension, the lowest first."""
    return sorted((digit for digit in digits if digit.dim == dim), key=lambda digit: digit.unit)


# ---- notations of strides


def _strides(source: Writable) -> list[Int]:
    """The stride of each dimension; of one element, the stride that it has in row-major order."""
    strides: list[Int] = []
    for dim in reversed(range(len(source.shape))):
        own = _of_dim(source.placed, dim)
        if len(own) > 1:
            raise source.none(
                f"a dimension has one stride here, and dimension {dim} has {len(own)}: "
                + ", ".join(f"{digit.stride} for {digit}" for digit in own),
                f'give to="cute", which has strides of parts; or {FORMULA}',
            )
        row_major = strides[0] * source.shape[dim + 1] if strides else 1
        strides.insert(0, own[0].stride if own else row_major)
    return strides


def _strided(source: Writable) -> str:
    numbers = [*_strides(source), source.offset]
    product = next((n for n in numbers if isinstance(n, SizeExpr) and n.as_atom() is None), None)
    if product is not None:
        raise source.none(
            f"a stride is {product}, and a stride in a text is a number or a name",
            "give numbers for the sizes",
        )
    offset = f", offset: {source.offset}" if source.offset != 0 else ""
    return f"strided<[{', '.join(map(str, numbers[:-1]))}]{offset}>"


def _cute(source: Writable) -> str:
    found = without_swizzles(source.m)
    if found is None:
        raise source.not_found("its exclusive ors are not those of CuTe's swizzles", FORMULA)
    plain, swizzles = found
    if not swizzles:
        return _plain_cute(source)
    text, start = _plain_cute(replace(source, m=plain)), source.m.recipe.offset
    for swizzle in swizzles:
        layout, text = text, f"{swizzle} o {start} o {text}"
        start = 0
    if source.element_type is None or source.m.recipe.offset != 0:
        return text
    bits = bits_of(source.element_type)
    in_bytes = replace(swizzle, base=swizzle.base + bits.bit_length() - 4)
    return f"{in_bytes} o smem_ptr[{bits}b](unset) o {layout}"


def _plain_cute(source: Writable) -> str:
    if source.offset != 0 or not source.shape:
        what = f"the first element lies at {source.offset}" if source.shape else "it has no sizes"
        raise source.none(f"{what}; a CuTe layout has modes, and begins at 0", FORMULA)
    modes = [
        _of_dim(source.placed, dim) or [AxisDigit(dim, 1, n, stride=0)]
        for dim, n in enumerate(source.shape)
    ]
    named = [n for mode in modes for digit in mode for n in (digit.radix, digit.stride)]
    product = next((n for n in named if isinstance(n, SizeExpr) and n.as_atom() is None), None)
    if product is not None:
        what = f"a size or stride is {product}, and in CuTe's text it is a number or a name"
        raise source.none(what, FORMULA)
    sizes, strides = (
        _tuple(_tuple([str(getattr(digit, name)) for digit in mode]) for mode in modes)
        for name in ("radix", "stride")
    )
    padded = tuple(prod(digit.radix for digit in mode) for mode in modes)
    if padded != source.shape:
        raise _padded_cute(source, f"{sizes}:{strides}", padded)
    return f"{sizes}:{strides}"


def _padded_cute(source: Writable, text: str, padded: tuple[Int, ...]) -> LayoutError:
    """The error that a layout pads, with that of the padded array, proved equal on the elements."""
    layout, shape = parse(text, "cute"), source.shape
    assert isinstance(layout, Layout)
    form = layout.reference(coordinate_variables(shape), padded)
    m = IndexMap(recipe_of_formula(shape, form), form)
    inside = " and ".join(f"d{k} < {n}" for k, n in enumerate(shape) if n != padded[k])
    return source.none(
        f"CuTe has no padding, and the parts of its modes would make up {padded}, not {shape}",
        f"of the padded array the layout is {text}; its elements are those with {inside}"
        if proof.are_equivalent(source.m, m).holds
        else FORMULA,
    )


def _tuple(parts: Iterable[str]) -> str:
    """A tuple of CuTe's, without parentheses around a single value."""
    values = list(parts)
    return values[0] if len(values) == 1 and "," not in values[0] else f"({','.join(values)})"


# ---- notations of orders


def _outer_and_blocks(source: Writable) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
    """The order of all dimensions, then pairs of dimension and size of the blocks inside them.

    A dimension without a digit in the outer order stands where row-major order has it.
    """
    digits = source.nested
    count = next((k for k, digit in enumerate(digits) if digit.modulus is not None), len(digits))
    order = [digit.dim for digit in digits[:count]]
    for dim in range(len(source.shape)):
        if dim not in order:
            order.insert(next((k for k, x in enumerate(order) if x > dim), len(order)), dim)
    return tuple(order), [(block.dim, _size(source, block)) for block in digits[count:]]


def _size(source: Writable, block: AxisDigit) -> int:
    if isinstance(block.radix, int):
        return block.radix
    raise source.none(
        f"{block} lies inside a block and has {block.radix} values; a block's size is a number",
        f"give numbers for the sizes; or {FORMULA}",
    )


def _onednn(source: Writable) -> str:
    letters = "abcdefghijkl"
    if not 0 < len(source.shape) <= len(letters):
        raise source.none(
            f"oneDNN's tags have 1 to {len(letters)} dimensions, the array has {len(source.shape)}",
            FORMULA,
        )
    order, blocks = _outer_and_blocks(source)
    units = [1] * len(source.shape)
    for digit in reversed(source.nested):
        if digit.unit != units[digit.dim]:
            lower = next(x for x in _of_dim(source.nested, digit.dim) if x.unit < digit.unit)
            raise source.none(
                f"{digit} lies inside {lower}; the blocks of a dimension nest in oneDNN, the "
                "outer block the higher part",
                f'give to="xla": its tiles put digits in any order; or {FORMULA}',
            )
        units[digit.dim] = digit.unit * digit.radix if isinstance(digit.radix, int) else 0
    blocked = {dim for dim, _ in blocks}
    outer = (letters[dim].upper() if dim in blocked else letters[dim] for dim in order)
    return "".join((*outer, *(f"{size}{letters[dim]}" for dim, size in blocks)))


def _pack(source: Writable) -> str:
    order, blocks = _outer_and_blocks(source)
    dims = [dim for dim, _ in blocks]
    twice = next((dim for dim in dims if dims.count(dim) > 1), None)
    if twice is not None:
        parts = ", ".join(map(str, _of_dim(source.nested, twice)))
        raise source.none(
            f"dimension {twice} has the parts {parts}; linalg.pack tiles a dimension once",
            f'give to="onednn", whose blocks nest; or {FORMULA}',
        )
    tiles = dict(blocks)
    perm = "" if order == tuple(range(len(order))) else f"outer_dims_perm = {list(order)} "
    return f"{perm}inner_dims_pos = {[*tiles]} inner_tiles = {[*tiles.values()]}"


def _einops(source: Writable) -> str:
    digits = source.dense
    if isinstance(digits, str) or 0 in source.shape:
        raise source.none(
            f"rearrange pads and repeats nothing: {digits or 'it has no elements'}", FORMULA
        )
    left, sizes, names = [], list[str](), dict[AxisDigit, str]()
    for dim in range(len(source.shape)):
        own = _of_dim(digits, dim)[::-1]
        base = _AXES[dim] if len(source.shape) <= len(_AXES) else f"d{dim}_"
        axes = [base] if len(own) == 1 else [f"{base}{k}" for k in range(len(own))]
        names |= zip(own, axes, strict=True)
        sizes += (f", {axis}={digit.radix}" for axis, digit in zip(axes[1:], own[1:], strict=True))
        left.append(" ".join(axes) if len(own) == 1 else f"({' '.join(axes)})" if own else "1")
    right = " ".join(names[digit] for digit in digits)
    return f"{' '.join(left)} -> {right}{''.join(sizes)}"


_AXES: Final = "abcdefghijklmnopqrstuvwxyz"


# ---- notations of formulas


def _coordinates(source: Writable) -> tuple[str, ...]:
    """The coordinates in a row-major box, or the offset alone.

    TVM gives a coordinate that is 0 for every element the size 1, whatever its modulus. So if
    such a digit makes room, only the formula of the offset says it.
    """
    try:
        digits = source.nested
    except LayoutError:
        digits = None
    if digits is not None and not any(is_nonnegative(x.unit - source.shape[x.dim]) for x in digits):
        return tuple(map(str, digits)) or tuple(f"d{k}" for k in range(len(source.shape)))
    if sizes := source.m.form.sizes():
        raise source.none(
            f"no order of digits says it, and its formula has the size {min(sizes)}",
            "give numbers for the sizes",
        )
    return (str(source.m.form),)


def _tvm(source: Writable) -> str:
    if not source.shape:
        raise source.none("TVM's index maps have coordinates, and the array has none", FORMULA)
    forms, least = _coordinates(source), source.m.form.interval.lo
    if least != 0:
        raise source.none(f"its smallest offset is {least}, and TVM counts from 0", FORMULA)
    names = ", ".join(f"d{k}" for k in range(len(source.shape)))
    return f"lambda {names}: {shape_text(forms)}"


def _mlir(source: Writable) -> str:
    """An affine map; with an element type a memref, which has strides if the array has."""
    if source.element_type is None:
        return _affine_map(source)
    digits = source.dense
    if not isinstance(digits, str) and all(a.dim < b.dim for a, b in pairwise(digits)):
        layout = ""
    elif source.m.recipe.names or len(source.placed) > len({x.dim for x in source.placed}):
        layout = f", {_affine_map(source)}"  # strides are numbers, one for each dimension
    else:
        layout = f", {_strided(source)}"
    dims = "".join(f"{n if isinstance(n, int) else '?'}x" for n in source.shape)
    return f"memref<{dims}{source.element_type}{layout}>"


def _affine_map(source: Writable) -> str:
    names = ", ".join(f"d{k}" for k in range(len(source.shape)))
    forms = ", ".join(_coordinates(source) or ("0",))
    return f"affine_map<({names}) -> ({forms.replace('//', ' floordiv ').replace('%', ' mod ')})>"


# ---- names


def _named(source: Writable) -> Layout:
    placed = source.placed
    for layout in (NamedLayout(each.name) for each in FORMATS if source.offset == 0):
        try:
            m = IndexMap.of(layout.recipe(source.shape), layout.reference)
        except LayoutError:
            continue  # of other ranks or sizes
        if placed_digits(m) == placed:
            return layout
    raise source.none("no format of the table has its offsets at these sizes", FORMULA)


WRITERS: Final[Mapping[str, Writer]] = {
    "xla": Writer("XLA layout", xla_layout_of),
    "morello": Writer("Morello layout", morello_layout_of, proves=True),
    "onednn": Writer("oneDNN tag", _onednn),
    "cute": Writer("CuTe layout", _cute),
    "strided": Writer("list of strides", _strided),
    "pack": Writer("linalg.pack", _pack),
    "mlir": Writer("affine map", _mlir),
    "tvm": Writer("TVM index map", _tvm),
    "einops": Writer("einops pattern", _einops),
    "named": Writer("named format", _named),
    "triton": Writer("encoding of Triton", triton_layout_of, proves=True),
}
"""The writers by the names of their notations."""
