"""Layouts as sources, programs and consoles spell them, outside of any notation's own text.

``make_layout(make_shape(4, 8), make_stride(8, 1))`` of CuTe's sources in C++ and Python, the
``Layout`` that JAX prints, Gluon's layouts, NKI's tensors, and what PyTorch prints about strides. A
text that begins like one of these is read here; all others are left to the notations.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, Final, NoReturn

from morello_layouts.core.checks import as_permutation, shown
from morello_layouts.core.description import count
from morello_layouts.core.expr import standard
from morello_layouts.core.expr.sizes import SizeExpr
from morello_layouts.core.layout import ELEMENT_BITS, Arrays, ElementType, nearest_type
from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import FRAGMENT_PLACES
from morello_layouts.core.recipe import DimDigit
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.notations.calls import BRACKETS, CallReader, Written
from morello_layouts.notations.cute import ComposedLayout, CuteLayout, Swizzle
from morello_layouts.notations.cute.layout import Static, compact, flatten, like
from morello_layouts.notations.fragments.document import in_order
from morello_layouts.notations.fragments.layout import Axis, FragmentLayout
from morello_layouts.notations.grammar import Source, Syntax, Terminal, Token
from morello_layouts.notations.operations import operands_of
from morello_layouts.notations.strided import MemoryFormat, StridedLayout
from morello_layouts.notations.triton import TritonLayout
from morello_layouts.notations.triton.text import GLUON, gluon_encoding
from morello_layouts.notations.xla import XlaLayout, XlaShape

_SYNTAX: Final = Syntax(
    "a call has a name, and values in brackets", "write it as the source or the console has it"
)
_NUMBER: Final = Terminal("a number", r"-?(0x[0-9a-fA-F]+|[0-9]+)(?![.\w])")


class _Reader(CallReader):
    """Reads calls of sources, in which sizes may be products."""

    def value(self, depth: int = 0, token: Token | None = None) -> Any:
        found = super().value(depth, token)
        while self.source.take("*"):
            found = _size(found) * _size(super().value(depth))
        return found


def _size(value: Any) -> Any:
    """Return a factor of a size: a number, or a name."""
    is_name = isinstance(value, Written) and value.is_bare
    if not is_name and not _is_size(value):
        _refuse("expected a product of sizes", "they are numbers and names", "multiply these alone")
    return SizeExpr.named(value.name) if is_name else value


def _is_size(value: Any) -> bool:
    return isinstance(value, int | SizeExpr)


def _error(what: str, text: str, at: int, why: str = _SYNTAX.form, fix: str = "") -> ParseError:
    found = ParseError(what, why, fix or _SYNTAX.example, text=text, position=at)
    found.reached = len(text)
    return found


def _refuse(what: str, why: str, fix: str) -> NoReturn:
    raise LayoutError(what, why, fix)


# ---- CuTe

_TUPLES: Final = (*BRACKETS, "Shape", "Stride", "Coord", "Step", "Tile", "tuple", "make_shape",
                  "make_stride", "make_tuple", "make_coord")  # fmt: skip
_COMPOSED: Final = ("ComposedLayout", "composition", "make_composed_layout")
_SWIZZLES: Final = ("Swizzle", "Sw", "S", "make_swizzle")
_RIGHT: Final = ("LayoutRight", "GenRowMajor")
_LEFT: Final = ("LayoutLeft", "GenColMajor")


def _cute_numbers(value: Any) -> Any:
    """Return sizes or strides as nested tuples: ``_4``, ``Int<4>`` and ``C<4>`` are static."""
    if _is_size(value):
        return value
    if isinstance(value, Written):
        if value.name in _TUPLES:
            return tuple(map(_cute_numbers, value.values))
        if value.name in ("Int", "C", "constant", "integral_constant"):
            number = value.values[-1:] or [None]
            if isinstance(number[0], int):
                return Static(number[0])
        if re.fullmatch(r"_[0-9]{1,18}", value.name) and not value.values:
            return Static(int(value.name[1:]))
        if not value.values and not value.keys and re.fullmatch(r"[A-Z]\w*", value.name):
            return SizeExpr.named(value.name)
    name = getattr(value, "name", value)
    _refuse(
        f"expected sizes or strides, got {name}",
        "they are integers such as 4, _4 and Int<4>{}, names in capitals, and tuples of these",
        "write the number that it is",
    )


def _cute(call: Written) -> Any:
    if isinstance(call, Written) and call.name in _COMPOSED:
        first, *middle, last = call.values or [None]
        if not isinstance(first, Written) or first.name not in _SWIZZLES:
            _refuse(
                f"{call.name}: expected a swizzle first",
                "a layout composed with a layout is a layout, whose strides are computed",
                "give the layout that CuTe prints",
            )
        if not all(isinstance(n, int) for n in first.values) or len(first.values) != 3:
            _refuse(
                "Swizzle: expected three numbers", "they are B, M and S", "write Swizzle<3,3,3>"
            )
        offset = _cute_numbers(middle[0]) if middle else 0
        return ComposedLayout(Swizzle(*first.values), layout=_cute(last), offset=offset)
    if isinstance(call, Written) and call.name == "make_ordered_layout" and call.values:
        shape = _cute_numbers(call.values[0])
        return CuteLayout(shape, _ordered(shape, _cute_numbers(call.get("order", 1))))
    is_layout = isinstance(call, Written) and call.name in ("Layout", "make_layout")
    if not is_layout or not 1 <= len(call.values) + len(call.keys) <= 2:
        given = len(call.values) + len(call.keys) if is_layout else 0
        _refuse(
            f"{call.name}: expected a shape and strides, got {count(given, 'value')}"
            if is_layout
            else f"expected a layout, got {getattr(call, 'name', call)}",
            "a layout has a shape and strides",
            "write make_layout(make_shape(4, 8), make_stride(8, 1))",
        )
    if not {*call.keys} <= {"shape", "stride"}:
        _refuse(
            f"{call.name} has no {next(iter({*call.keys} - {'shape', 'stride'}))}",
            "CuTe's layout has a shape and a stride; JAX's has major_to_minor and tiling",
            "write Layout(shape, stride), or Layout(major_to_minor=(1, 0))",
        )
    shape, stride = _cute_numbers(call.get("shape", 0)), call.get("stride", 1)
    name = getattr(stride, "name", None)
    if stride is None or name in _LEFT:
        return CuteLayout(shape)
    if name not in _RIGHT:
        return CuteLayout(shape, _cute_numbers(stride))
    places = range(len(flatten(shape)), 0, -1)
    return CuteLayout(shape, _ordered(shape, like(places, shape)))


def _ordered(shape: Any, order: Any) -> Any:
    """Return the strides without gaps in an order: the size of the least number is the fastest.

    As ``make_ordered_layout``: a number for a whole mode orders its sizes from left to right.
    """

    def keys(part: Any, own: Any) -> list[int]:
        if not isinstance(own, tuple):
            return [int(own)] * len(flatten(part))
        if not isinstance(part, tuple) or len(part) != len(own):
            _refuse(
                "the order: expected a number for each mode",
                "the size with the smallest number varies fastest",
                "write for example make_ordered_layout((4, 8), order=(1, 0))",
            )
        return [key for pair in zip(part, own, strict=True) for key in keys(*pair)]

    sizes, found = flatten(shape), keys(shape, order)
    ranked = sorted(range(len(sizes)), key=lambda k: (found[k], k))
    steps = dict(zip(ranked, flatten(compact(tuple(sizes[k] for k in ranked))), strict=True))
    return like((steps[k] for k in range(len(sizes))), shape)


# ---- JAX


def _numbers(value: Any) -> Any:
    """Return plain integers in nested tuples."""
    if isinstance(value, Written) and value.name in (*BRACKETS, "Size"):
        inner = value.values
        if value.name == "Size" and len(inner) == 1 and isinstance(inner[0], Written):
            inner = inner[0].values
        return tuple(map(_numbers, inner))
    if _is_size(value):
        return value
    if isinstance(value, Written) and not value.values and re.fullmatch(r"[A-Za-z]\w*", value.name):
        return SizeExpr.named(value.name)
    _refuse(
        f"expected numbers, got {getattr(value, 'name', value)}",
        "sizes and strides are numbers or names",
        "write the number that it is",
    )


def _jax_layout(call: Written) -> Any:
    order, tiles = call.get("major_to_minor", 0), call.get("tiling", 1)
    bits = call.get("sub_byte_element_size_in_bits", 2, 0)
    if order is None or isinstance(bits, Written):
        _refuse(
            "Layout: expected major_to_minor",
            "it names each dimension once, the slowest varying first",
            "write Layout(major_to_minor=(1, 0), tiling=((8, 128), (2, 1)))",
        )
    is_none = isinstance(tiles, Written) and tiles.name == "None"
    tiling = () if tiles is None or is_none else _numbers(tiles)
    dims = as_permutation(_flat(order), "major_to_minor")
    return XlaLayout(dims[::-1], tiling, element_size_in_bits=bits)


def _jax_format(call: Written) -> Any:
    layout, sharding = call.get("layout", 0), call.get("sharding", 1)
    is_one = sharding is None or getattr(sharding, "name", "") in ("SingleDeviceSharding", "None")
    if not isinstance(layout, Written) or layout.name == "None":
        _refuse(
            "Format: expected a layout, got none",
            "the compiler chooses a layout that is left open",
            "give what it chose: compiled.input_formats, or array.format",
        )
    if not is_one:
        _refuse(
            "Format: expected one device",
            "the parts of an array on several devices have sizes only with the array's",
            "write the array: f32[8,16]{1,0}, mesh={'x': 2}, spec=P('x', None)",
        )
    return _jax_layout(layout)


def _jax_aval(call: Written) -> Any:
    shape, dtype = call.get("shape", 0), call.get("dtype", 1)
    element = nearest_type(getattr(dtype, "name", str(dtype)))
    if shape is None or element is None or "sharding" in call.keys:
        _refuse(
            f"{call.name}: expected a shape and a type of elements",
            "a sharding is written after the array",
            "write for example f32[8,16], mesh={'x': 2}, spec=P('x', None)",
        )
    dims = tuple(n if isinstance(n, int) else str(n) for n in _flat(shape))
    return XlaShape(element, dims)


# ---- Triton


def _gluon(call: Written) -> Any:
    names = [*GLUON[call.name][1]]
    given = dict(zip(names, call.values, strict=False)) | call.keys
    unknown = [name for name in given if name not in names]
    if unknown or len(call.values) > len(names):
        _refuse(
            f"{call.name} has no field {(unknown or ['more'])[0]}",
            f"its fields are {', '.join(names)}",
            "write it as Gluon prints it",
        )
    fields = {name: _field(value) for name, value in given.items()}
    shape = fields.get("shape")
    try:
        return TritonLayout(gluon_encoding(call.name, fields), shape)
    except LayoutError as error:
        what, why, fix = error.what, error.why, error.fix
        for own, mlir in GLUON[call.name][1].items():  # in the words of the text
            what, why, fix = (re.sub(rf"\b{mlir or '$^'}\b", own, x) for x in (what, why, fix))
        raise LayoutError(what, why, fix) from None


def _field(value: Any) -> Any:
    if isinstance(value, Written) and value.name in ("True", "False"):
        return value.name == "True"
    if isinstance(value, Written) and value.name in GLUON:
        return _gluon(value).encoding
    if isinstance(value, Written) and value.name == "None":
        return None
    return _plain(value)


def _plain(value: Any) -> Any:
    """Return plain integers in nested tuples; names stand for none."""
    if isinstance(value, Written) and value.name in BRACKETS:
        return tuple(map(_plain, value.values))
    if isinstance(value, int):
        return value
    name = getattr(value, "name", value)
    _refuse(f"expected a number or a layout of Gluon, got {name}", "a field of a layout is "
            "numbers, True or False, or a layout", "write it as Gluon prints it")  # fmt: skip


# ---- PyTorch

_CALLS: Final = {
    "FixedLayout": (2, 3, 4),
    "FlexibleLayout": (2, 3, None),
    "as_strided": (1, 2, 3),
    "assert_size_stride": (1, 2, None),
    "empty_strided": (0, 1, None),
    "empty_strided_cpu": (0, 1, None),
    "empty_strided_cuda": (0, 1, None),
    "empty_strided_xpu": (0, 1, None),
    "reinterpret_tensor": (1, 2, 3),
}
"""Where the sizes, the strides and the offset stand."""


def _strided(call: Written) -> Any:
    places = _CALLS.get(call.name, (None, None, None))
    stride = call.get("stride", places[1])
    shape = call.get("shape", None, call.get("size", places[0]))
    offset = call.get("storage_offset", places[2], call.get("offset", None, 0))
    dtypes = [each for each in (*call.keys.values(), *call.values) if _element(each)]
    element = _element(dtypes[0]) if dtypes else None
    if stride is None:
        _refuse(
            "expected strides, got none",
            "PyTorch counts them in elements, and calls them stride",
            "write strided<[8, 1]> for strides in elements; NumPy's strides=(32, 4) count bytes",
        )
    sizes = None if shape is None else _flat(shape)
    first = _numbers(offset)
    if isinstance(first, tuple):
        _refuse("the offset: expected a number, got several", "it counts elements", "write one")
    return StridedLayout(_flat(stride), first, sizes, None, element)


def _flat(value: Any) -> tuple[Any, ...]:
    """Return numbers in a tuple, without tuples inside."""
    found = _numbers(value)
    if isinstance(found, tuple) and not any(isinstance(n, tuple) for n in found):
        return found
    _refuse(
        f"expected numbers in brackets, got {found}",
        "a size or a stride is one number for each dimension",
        "write for example (128, 1)",
    )


def _element(value: Any) -> ElementType | None:
    name = nearest_type(value.name) if isinstance(value, Written) and not value.values else None
    return None if name is None else ElementType(name, ELEMENT_BITS[name])


_FX: Final = regex(
    r'\s*(?:Tensor\s*)?"?([a-z]+[0-9]+)\[([\w, ]*)\]\[([\w, ]*)\]([a-z]+(:\d+)?)?"?\s*'
)
_FX_TYPES: Final = {"b8": "pred", "i8": "s8", "i16": "s16", "i32": "s32", "i64": "s64"}


def _fx(match: re.Match[str]) -> Any:
    """Read ``f32[8, 16][16, 1]cuda:0``, a type in PyTorch's graphs."""
    element = _FX_TYPES.get(match[1], match[1])
    shape, stride = match[2].rstrip(", "), match[3].rstrip(", ")
    return f"as_strided({element}, ({shape}{',' * bool(shape)}), ({stride}{',' * bool(stride)}))"


# ---- NKI


def _nki(call: Written) -> Any:
    """Read a tensor of AWS's NKI: on the chip the first dimension is the partition."""
    shape, dtype, buffer = (
        call.get(name, k) for k, name in enumerate(("shape", "dtype", "buffer"))
    )
    memory, element = getattr(buffer, "name", ""), _element(dtype)
    fix = "write nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)"
    if element is None or memory not in ("sbuf", "psum", "hbm", "private_hbm", "shared_hbm"):
        found = " and ".join(shown(getattr(given, "name", given)) for given in (dtype, buffer))
        why = "the memories of AWS's NKI are sbuf, psum and hbm; a layout of NumPy has strides"
        _refuse(f"ndarray: expected a type and a memory of NKI, got {found}", why, fix)
    if buffer.values:
        why = "a memory of NKI is a value, without arguments"
        _refuse(f"ndarray: expected {memory} alone, got {memory}(…)", why, fix)
    sizes = list(shape.values) if isinstance(shape, Written) else []
    if sizes and getattr(sizes[0], "name", "") == "par_dim":
        shape.values[0] = sizes.pop(0).get("size", 0)
    if any(getattr(n, "name", "") == "par_dim" for n in sizes):
        why = "dimensions before the partition are blocks, which NKI has no more"
        _refuse("par_dim: expected the first dimension", why, "give one block")
    dims = _flat(shape)
    if memory.endswith("hbm"):
        steps = tuple(prod(dims[k + 1 :]) for k in range(len(dims)))
        return StridedLayout(steps, 0, dims, None, element)
    if not all(isinstance(n, int) and n > 0 for n in dims) or not len(dims) > 1 <= dims[0] <= 128:
        why = "the first size counts partitions, of which there are 128"
        _refuse("ndarray: expected up to 128 partitions, and sizes of what each holds", why, fix)
    partition, *free = (DimDigit(k, 1, n) for k, n in enumerate(dims))
    name = f"nl.ndarray({dims}, dtype=nl.{dtype}, buffer=nl.{memory})"
    few = prod(dims) <= FRAGMENT_PLACES
    formula = partial(in_order, dims, prod(dims[1:])) if few else None
    return FragmentLayout(
        name, dims, (Axis("partition", (partition,)), Axis("offset", tuple(free))), element,
        standard(len(dims)), formula, f"tensor of AWS's NKI in {memory}",
    )  # fmt: skip


# ---- the table


def _inner(call: Written) -> Any:
    """Read what ``decltype`` is of."""
    inner = call.values[0] if len(call.values) == 1 else None
    reader = READERS.get(inner.name) if isinstance(inner, Written) else None
    if isinstance(inner, Written) and (reader or inner.name == "Layout"):
        return (reader or _cute)(inner)
    _refuse("decltype: expected a layout", "it is the type of one value", "give the value alone")


READERS: Final[dict[str, Callable[[Written], Any]]] = {
    **dict.fromkeys(("make_layout", "make_ordered_layout", *_COMPOSED), _cute),
    "decltype": _inner,
    "DeviceLocalLayout": _jax_layout,
    "Format": _jax_format,
    "ShapeDtypeStruct": _jax_aval,
    "TensorMetadata": _strided,
    "ndarray": _nki,
    **dict.fromkeys(_CALLS, _strided),
}

_GLUON: Final = regex(
    r"(\w+\.)*\w*(Shared|Distributed|Linear|Operand|Blocked|Slice|AMD|TensorMemory)\w*Layout\("
)
_BEFORE: Final = regex(
    r"\s*(?:(?:using|auto|const|constexpr|static)\s+)*(?:[A-Za-z_]\w*\s*=(?!=)\s*)?"
)
_HEAD: Final = regex(r"((?:\w+(?:::|\.))*)([A-Za-z_]\w*)\s*([<({])")
_STRIDES: Final = regex(
    r"\s*+[(]?\s*+((?:shape|size|stride|strides|storage_offset|dtype|memory_format)\s*=)"
)
_TORCH: Final = regex(
    r"\s*(?:memory_format\s*=\s*)?torch\.(contiguous_format|channels_last(?:_3d)?)\s*\Z"
)
_AVAL: Final = regex(r"\s*ShapedArray\(\s*([a-z]+[0-9]+\w*)(\[[\w,\s]*\])(?:\{\})?\s*\)\s*")


def spelled(text: str) -> Arrays | None:
    """Return the layout of a text that is spelled as sources and consoles do; None for others.

    Raises:
        ParseError: if the text begins so, and cannot be read.

    >>> print(spelled("make_layout(make_shape(4, Int<8>{}), LayoutRight{})"))
    (4,_8):(_8,_1)
    >>> print(spelled("Layout(major_to_minor=(1, 0), tiling=((8, 128), (2, 1)))"))
    {0,1:T(8,128)(2,1)}
    """
    if "%" in text or "\n" in text:
        arrays = operands_of(text)
        if arrays is not None:
            return arrays
    found = _TORCH.fullmatch(text)
    if found is not None:
        return MemoryFormat(found[1])
    if (found := _AVAL.fullmatch(text)) is not None:
        text = f"ShapeDtypeStruct(({found[2][1:-1]},), {found[1]})"
    found = _FX.fullmatch(text)
    call = _fx(found) if found is not None else None
    if call is None and _STRIDES.match(text):
        given = text.strip()
        call = f"as_strided{given}" if given[0] == "(" else f"as_strided({given})"
    start = 0 if call is not None else _BEFORE.match(text).end()  # type: ignore[union-attr]
    body = (text[start:] if call is None else call).rstrip().removesuffix(";")
    head = _HEAD.match(body)
    reader = None if head is None else _reader(head[2], head[3], body)
    if reader is None:
        return None
    return _read(body, reader, text, start if call is None else 0)


def _reader(name: str, opening: str, body: str) -> Callable[[Written], Any] | None:
    if _GLUON.match(body):
        return _gluon if name in GLUON else None
    if name == "Layout":
        is_jax = "major_to_minor" in body or "tiling" in body
        return _jax_layout if is_jax else _cute if opening != "{" else None
    return READERS.get(name)


def _read(body: str, reader: Callable[[Written], Any], text: str, start: int) -> Arrays:
    shift = start if text.startswith(body, start) else 0
    try:
        source = Source(body, _SYNTAX)
        call = _Reader(source, _NUMBER, "(<[{").value()
        source.end()
        found: Arrays = reader(call)
    except ParseError as error:
        raise _error(error.what, text, min(error.position + shift, len(text)), error.why,
                     error.fix) from None  # fmt: skip
    except LayoutError as error:
        raise _error(error.what, text, shift, error.why, error.fix) from None
    return found
