"""Formats that other systems know by a name, such as ``mx128x4``: a table of formulas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import cache
from os.path import commonprefix
from typing import Any, Final

from morello_layouts.core.checks import Part, shown
from morello_layouts.core.expr import AffineExpr, standard
from morello_layouts.core.expr.conversions import divide
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.expr.substitution import substitute
from morello_layouts.core.fields import checked, frozen
from morello_layouts.errors import LayoutError, ParseError, ShapeError
from morello_layouts.notations.coordinates import CoordinateLayout
from morello_layouts.notations.documents import by_name
from morello_layouts.notations.expression import parse_function
from morello_layouts.notations.strided import MEMORY_FORMATS

_CUBLASLT: Final = "cublasLt.h, cublasLtOrder_t"
_TENSORRT: Final = "TensorRT, NvInferRuntimeBase.h, TensorFormat"
_ASCEND: Final = "CANN documentation, Data Layout Formats"
_HEXAGON: Final = "Apache TVM, python/tvm/topi/hexagon/utils.py"


@frozen
class CommonFormat:
    """A format that documents know by a name, as a formula of TVM's notation."""

    name: str  #: texts may have it in any case, and ``-`` for ``_``.
    #: an index map in TVM's notation. An array may have more dimensions than it has parameters: the
    #: leading ones are batches, in row-major order. Empty for formats of any number of dimensions.
    formula: str
    words: str  #: what it is for, in a few words.
    source: str  #: the document that the formula is from.
    aliases: tuple[str, ...] = ()  #: other names.


FORMATS: Final = (
    CommonFormat("row-major", "", "the last dimension varies fastest", "ISO C, arrays",
                 ("rm", "rowmajor")),
    CommonFormat("column-major", "", "the first dimension varies fastest", "ISO Fortran, arrays",
                 ("cm", "colmajor", "columnmajor")),
    CommonFormat("morton", "",
                 "the bits of the coordinates interleaved, those of the last dimension lowest",
                 "G. M. Morton, A Computer Oriented Geodetic Data Base, 1966", ("z-order",)),
    CommonFormat("mx128x4", "lambda m, k: (m//128, k//4, m%32, m//32%4, k%4)",
                 "scale factors of MXFP8, MXFP4 and NVFP4, one for row m and block k",
                 "cuBLAS documentation, 1D Block Scaling Factors Layout; "
                 "CUTLASS, Sm1xxBlockScaledConfig",
                 ("swizzled_128x4", "swizzle_32_4_4")),
    CommonFormat("mx8x4", "lambda m, k: (m//8, k//4, m%8, k%4)",
                 "scale factors for few rows, one for row m and block k",
                 "FlashInfer and TensorRT-LLM, QuantizationSFLayout::SWIZZLED_8x4",
                 ("swizzled_8x4",)),
    *(CommonFormat(f"vnni{n}", f"lambda k, n: (k//{n}, n, k%{n})",
                   f"the right matrix of a product, {n} neighbours of a column in 32 bits",
                   "Intel, Intrinsics Guide, vpdpbusd and vdpbf16ps; Intel AMX, B of tdpbf16ps")
      for n in (2, 4)),
    CommonFormat("NHCWB16", "lambda n, h, w, c: (n, h, c//16, w, c%16)",
                 "feature maps in bricks of 16 channels; the array is n, h, w, c",
                 "Arm Ethos-U NPU, Vela compiler"),
    CommonFormat("COL32", "lambda m, n: (n//32, m, n%32)",
                 "a matrix of rows m in panels of 32 columns n", _CUBLASLT,
                 ("cublaslt_order_col32",)),
    CommonFormat("COL4_4R2_8C", "lambda m, n: (n//32, m//8, m%2, n%32//4, m%8//2, n%4)",
                 "a matrix in tiles of 8 rows m and 32 columns n, even rows first", _CUBLASLT,
                 ("cublaslt_order_col4_4r2_8c",)),
    CommonFormat("COL32_2R_4R4", "lambda m, n: (n//32, m//32, m%8//2, m%32//8, m%2, n%32)",
                 "a matrix in tiles of 32 rows m and 32 columns n", _CUBLASLT,
                 ("cublaslt_order_col32_2r_4r4",)),
    *(CommonFormat("FRACTAL_NZ" if n == 16 else f"FRACTAL_NZ_C0_{n}",
                   f"lambda m, n: (n//{n}, m//16, m%16, n%{n})",
                   f"a matrix in row-major blocks of 16 by {n}, the blocks column by column",
                   _ASCEND, ("nz", "fractal_nz_c0_16") if n == 16 else ())
      for n in (16, 2, 4, 8, 32)),
    CommonFormat("TILE_LAYOUT", "lambda m, n: (m//32, n//32, m%32//16, n%32//16, m%16, n%16)",
                 "tiles of 32 by 32, each four faces of 16 by 16, all row by row",
                 "Tenstorrent, tt-metal, tech_reports/tensor_layouts; TILED_NFACES",
                 ("tiled_nfaces",)),
    *(CommonFormat(f"nhwc-{name}",
                   f"lambda n, h, w, c: (n, h//{rows}, w//{columns}, c//32, h%{rows}, {inner})",
                   "croutons of 2 KiB of a Hexagon's vector memory; the array is n, h, w, c",
                   _HEXAGON, (f"nhwc-{name}-1d", f"nhwc-{name}-2d"))
      for name, rows, columns, inner in (
          ("8h2w32c2w", 8, 4, "w%4//2, c%32, w%2"), ("4h2w32c2w", 4, 4, "w%4//2, c%32, w%2"),
          ("8h8w32c", 8, 8, "w%8, c%32"), ("4h4w32c", 4, 4, "w%4, c%32"))),
    CommonFormat("FRACTAL_Z", "lambda n, c, h, w: (c//16, h, w, n//16, n%16, c%16)",
                 "weights of n output and c input channels", _ASCEND),
    CommonFormat("FRACTAL_Z_3D", "lambda n, c, d, h, w: (d, c//16, h, w, n//16, n%16, c%16)",
                 "weights of n output and c input channels",
                 "MindSpore, mindspore/ccsrc/common/trans.cc, NcdhwToFracZ3D"),
    *(CommonFormat(f"NC1HWC0{suffix}", f"lambda n, c, h, w: (n, c//{n}, h, w, c%{n})",
                   f"channels in blocks of {n}; the array is n, c, h, w", _ASCEND)
      for n, suffix in ((16, ""), (4, "_C04"))),
    CommonFormat("NDC1HWC0", "lambda n, c, d, h, w: (n, d, c//16, h, w, c%16)",
                 "channels in blocks of 16; the array is n, c, d, h, w", _ASCEND),
    CommonFormat("NC4HW4", "lambda n, c, h, w: (n, c//4, h, w, c%4)",
                 "channels in blocks of 4 within each image n; what MNN calls so is C4NHW4",
                 "MindSpore Lite, nnacl/fp32/pack_fp32.c, PackNCHWToNC4HW4Fp32"),
    CommonFormat("C4NHW4", "lambda n, c, h, w: (c//4, n, h, w, c%4)",
                 "all images n within each block of 4 channels; MNN's tensors of the format NC4HW4",
                 "MNN, source/backend/cpu/CPUTensorConvert.cpp"),
    *(CommonFormat(f"CHW{n}", f"lambda c, h, w: (c//{n}, h, w, c%{n})",
                   f"channels in blocks of {n}; the array is c, h, w, or n, c, h, w", _TENSORRT)
      for n in (2, 4, 16, 32)),
    *(CommonFormat(f"HWC{n}", f"lambda c, h, w: (h, w, c//{n}, c%{n})",
                   f"channels fastest, padded to {n}; the array is c, h, w, or n, c, h, w",
                   _TENSORRT)
      for n in (8, 16)),
    CommonFormat("CDHW32", "lambda c, d, h, w: (c//32, d, h, w, c%32)",
                 "channels in blocks of 32; the array is c, d, h, w, or n, c, d, h, w", _TENSORRT),
    CommonFormat("DHWC8", "lambda c, d, h, w: (d, h, w, c//8, c%8)",
                 "channels fastest, padded to 8; the array is c, d, h, w, or n, c, d, h, w",
                 _TENSORRT),
)  # fmt: skip
"""The named formats."""


_FORMATS = {each.name: each for each in FORMATS}

_formula = cache(parse_function)


def _format_name(given: Any, name: str, part: Part) -> str:
    if given in _FORMATS:
        return str(given)
    what = f"{name}: expected a named format, got {shown(given)}"
    raise LayoutError(what, fix=f"the names are {', '.join(_FORMATS)}", part=part)


@frozen
class NamedLayout(CoordinateLayout):
    """A layout that a public document defines by a name.

    >>> NamedLayout("COL32").box((5, 40))
    (2, 5, 32)
    """

    name: str = checked(_format_name)  #: the name, as ``FORMATS`` has it.

    kind = "named format"

    @property
    def format(self) -> CommonFormat:
        """The row of the table of formats."""
        return _FORMATS[self.name]

    def results(
        self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /
    ) -> tuple[AffineExpr, ...]:
        if not self.format.formula:
            general = _GENERAL[self.name]
            return tuple(general(tuple(coordinates), tuple(shape)))
        parameters, forms = _formula(self.format.formula)
        batches = len(shape) - len(parameters)
        if batches < 0:
            raise ShapeError(
                f"{self}: expected at least {len(parameters)} sizes, got {len(shape)}",
                f"the last dimensions of the array are {', '.join(parameters)}",
                "give a size for each of them",
            )
        values = dict(zip(parameters, coordinates[batches:], strict=True))
        return (*coordinates[:batches], *(substitute(form, values) for form in forms))

    def by_document(self, coordinate: Sequence[int], shape: Sequence[int], /) -> tuple[int, int]:
        return by_name(self.name, coordinate, shape)

    def names(self, rank: int) -> tuple[str, ...]:
        """Return the formula's parameters, after names of batches."""
        if not self.format.formula:
            return standard(rank or 2)
        parameters, _ = _formula(self.format.formula)
        batches = max(rank - len(parameters), 0)
        first = ("n",) if "n" not in parameters else ("batch",)
        return (*(first if batches == 1 else [f"b{k}" for k in range(batches)]), *parameters)

    def texts(self, rank: int) -> tuple[str, ...]:
        if not self.format.formula:
            return ()
        parameters, forms = _formula(self.format.formula)
        return (*self.names(rank)[: max(rank - len(parameters), 0)], *map(str, forms))

    @property
    def headline(self) -> str:
        """What the format is for, and the document that defines it."""
        return f"{self.format.words} ({self.format.source})"

    def __str__(self) -> str:
        return self.name


def _morton(coordinates: tuple[AffineExpr, ...], shape: tuple[Int, ...]) -> tuple[AffineExpr, ...]:
    """Return the bits of the coordinates, the highest first, those of the last dimension last."""
    bits = []
    for k, n in enumerate(shape):
        if not isinstance(n, int) or n < 1 or n & (n - 1):
            raise ShapeError(
                f"morton: expected sizes that are powers of two, got {n} for dimension {k}",
                "the order interleaves the bits of the coordinates",
                f"pad the dimension to {1 << (n - 1).bit_length()}"
                if isinstance(n, int) and n > 0
                else "give sizes that are numbers",
            )
        bits.append(n.bit_length() - 1)
    levels = reversed(range(max(bits, default=0)))
    return tuple(
        divide(x, 1 << level) % 2
        for level in levels
        for x, count in zip(coordinates, bits, strict=True)
        if level < count
    )


_GENERAL: Final[dict[str, Callable[[tuple[AffineExpr, ...], tuple[Int, ...]], Any]]] = {
    "row-major": lambda coordinates, _: coordinates,
    "column-major": lambda coordinates, _: coordinates[::-1],
    "morton": _morton,
}


# ---- the text

_LONGEST: Final = 40


def _key(name: str) -> str:
    return name.lower().replace("_", "-")


_NAMES: Final = {_key(name): each.name for each in FORMATS for name in (each.name, *each.aliases)}


_KNOWN: Final = _NAMES | {_key(name): name for name in MEMORY_FORMATS}


def _nearest(key: str) -> list[str]:
    """Return the names that begin with a word, or the one that is nearest to it, if any."""
    begun = [name for name in _NAMES if len(key) > 2 and name.startswith(key)]
    return begun or get_close_matches(key, _KNOWN, 1, 0.75)


def parse_named(text: str) -> NamedLayout:
    word = text.strip()
    name = _NAMES.get(_key(word[:_LONGEST]))
    if name is not None and len(word) <= _LONGEST:
        return NamedLayout(name)
    key = "-".join(_key(word).split())
    near = _nearest(key) if len(word) <= _LONGEST else []
    is_typo = "-" in key and get_close_matches(key, near, 1, 0.85)
    start = len(text) - len(text.lstrip())
    raise ParseError(
        f"no format has the name {shown(word)}",
        f"named formats are {', '.join(each.name for each in FORMATS)}",
        f"the nearest name is {_KNOWN[near[0]]}" if near else "write for example mx128x4",
        text=text,
        position=start,
        reached=start + (len(word) if is_typo else len(commonprefix([near[0], key])))  # noqa: RUF071  of words
        if near
        else -1,
    )
