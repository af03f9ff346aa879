"""The formats that people use: the one list that gallery, benchmarks and proofs take theirs from.

A format is a layout for any sizes, with a name for each size, and two sets of sizes: small ones for
its picture in docs/gallery.md, and for some large ones, at which the benchmarks ask about it.
Sizes are symbolic in ``layout``; a format without a text has its recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import morello_layouts as ml
from morello_layouts.core.maps import IndexMap

__all__ = ["FORMATS", "GROUPS", "Format"]


@dataclass(frozen=True, slots=True)
class Format:
    """A popular format.

    Attributes:
        name: its name, unique.
        layout: its text; an XLA text carries names for sizes.
        about: what it is for, where it comes from.
        at: the sizes of its picture, by dimension.
        dims: the names of the sizes; empty if the text carries them.
        large: the sizes of the benchmarks; None if they leave it out.
        drawn: another layout and shape to draw, if the format's own grid would show little.
        limits: how much the picture shows, as :func:`morello_layouts.draw` takes it.
        steps: the recipe, if no notation has the layout; ``layout`` is empty then.
        formula: the formula as its source has it, for ``steps``.
        group: the section of the gallery.
    """

    name: str
    layout: str
    about: str
    at: tuple[int, ...]
    dims: tuple[str, ...] = ()
    large: tuple[int, ...] | None = None
    drawn: tuple[str, tuple[int, ...]] | None = None
    limits: Mapping[str, int | str] = field(default_factory=dict)
    steps: tuple[ml.Split | ml.Transpose, ...] = ()
    formula: Callable[..., Any] | None = None
    group: str = ""

    @property
    def slug(self) -> str:
        """The name as a file has it."""
        kept = "".join(c if c.isalnum() else " " for c in self.name.lower())
        return "_".join(kept.split())

    def sized(self, sizes: tuple[int, ...]) -> tuple[str, tuple[int, ...] | None]:
        """Text and shape at some sizes; XLA's text carries them, and the shape is None."""
        if self.dims:
            return self.layout, sizes
        start, end = self.layout.index("["), self.layout.index("]")
        named = ",".join(map(str, sizes))
        return f"{self.layout[: start + 1]}{named}{self.layout[end:]}", None

    def index_map(self, sizes: tuple[int, ...] | None = None) -> IndexMap:
        """The index map at some sizes; for all sizes if None is given and a notation has it."""
        if self.formula is not None:
            return IndexMap.of(ml.Recipe(sizes or self.at, self.steps), self.formula, self.name)
        if sizes is None:
            return ml.index_map(self.layout, self.dims or None)
        return ml.index_map(*self.sized(sizes))


TILES: Final = {"max_rows": 8, "max_columns": 8, "max_slots": 24}
BY_LANE: Final = {"colour": "word", "word_bits": 128, "max_slots": 32}  # a lane's 16 bytes

ORDERS: Final = "Orders of dimensions"
STRUCTURES: Final = "Arrays of structures"
BLOCKED: Final = "Blocks and packs"
TPU: Final = "Tiles of the TPU"
FRAGMENTS: Final = "Formats without a text"
GROUPS: Final = (ORDERS, STRUCTURES, BLOCKED, TPU, FRAGMENTS)

MN: Final = ("M", "N")
NCHW: Final = ("N", "C", "H", "W")


def _fragment_a(d: Any, _: Any) -> Any:
    lane = 4 * (d[0] % 8) + (d[1] % 8) // 2
    register = 4 * (d[1] // 8) + 2 * (d[0] // 8) + d[1] % 2
    return 8 * lane + register


def _fragment_c(d: Any, _: Any) -> Any:
    lane = 4 * (d[0] % 8) + d[1] // 2
    return 4 * lane + 2 * (d[0] // 8) + d[1] % 2


def _block_cyclic(d: Any, _: Any) -> Any:
    process = 2 * ((d[0] // 2) % 2) + (d[1] // 2) % 2
    row, column = 2 * (d[0] // 4) + d[0] % 2, 2 * (d[1] // 4) + d[1] % 2
    return 16 * process + 8 * (row // 2) + 4 * (column // 2) + 2 * (row % 2) + column % 2


FORMATS: Final[tuple[Format, ...]] = (
    Format(
        "row-major", "[0, 1]",
        "C, NumPy and PyTorch by default. The last dimension is contiguous.",
        (4, 6), MN, (1024, 4096), group=ORDERS,
    ),
    Format(
        "column-major", "[1, 0]",
        "Fortran, BLAS, Julia, MATLAB. The first dimension is contiguous.",
        (4, 6), MN, (1024, 4096), group=ORDERS,
    ),
    Format(
        "batched column-major", "[0, 2, 1]",
        "A batch of column-major matrices, one after another.",
        (2, 3, 4), ("B", "M", "N"), (32, 1024, 768), group=ORDERS,
    ),
    Format(
        "NCHW", "NCHW",
        "Images with the channels apart: a plane for each channel. PyTorch's default.",
        (1, 3, 2, 4), NCHW, (32, 64, 56, 56), group=ORDERS,
    ),
    Format(
        "NHWC", "NHWC",
        "Images with the channels of a pixel side by side. TensorFlow's default. The shape is "
        "still written as N, C, H, W.",
        (1, 3, 2, 4), NCHW, (32, 64, 56, 56), group=ORDERS,
    ),
    Format(
        "NCHWc", "[0, 1, 2, 3, 1 p(16)]",
        "NCHW16c: 16 channels side by side, as many as a vector of AVX-512 holds f32. oneDNN calls "
        "it nChw16c.",
        (1, 32, 2, 4), NCHW, (32, 64, 56, 56), group=BLOCKED,
    ),
    Format(
        "KCRS4k", "[0, 1, 2, 3, 0 p(4)]",
        "Weights of a convolution with 4 output channels side by side, as TVM lays them out for "
        "textures of Adreno GPUs (OIHW4o).",
        (8, 1, 2, 3), ("K", "C", "R", "S"), group=BLOCKED,
    ),
    Format(
        "OIhw16i16o", "OIhw16i16o",
        "oneDNN's weights of a convolution: blocks of 16 input by 16 output channels, the output "
        "channels contiguous. The picture has a kernel of 1x1 and leaves h and w out.",
        (32, 32, 1, 1), ("O", "I", "H", "W"), drawn=("OI16i16o", (32, 32)),
        limits=TILES, group=BLOCKED,
    ),
    Format(
        "OIhw8i16o2i", "OIhw8i16o2i",
        "The same for bf16: pairs of input channels share a 32-bit word, for instructions that "
        "multiply pairs and add them (VNNI, AMX). The picture leaves h and w out.",
        (16, 16, 1, 1), ("O", "I", "H", "W"), drawn=("OI8i16o2i", (16, 16)),
        limits=TILES, group=BLOCKED,
    ),
    Format(
        "packed", "[1, 0, 1 p(4)]",
        "The Morello book's example: columns in packs of 4, each pack row by row.",
        (6, 8), MN, (6, 8), group=BLOCKED,
    ),
    Format(
        "packed twice", "[0, 1, 0 p(8), 1 p(16)]",
        "Tiles of 8 by 16, row-major within and between.",
        (16, 32), MN, (512, 512), limits=TILES, group=BLOCKED,
    ),
    Format(
        "odd-even", "[0, 1, 1 oe(16)]",
        "Of every 16 elements the 8 even ones, then the 8 odd ones. Morello uses it if a vector "
        "instruction widens or interleaves.",
        (4, 16), MN, (64, 256), group=BLOCKED,
    ),
    Format(
        "GEMM panel", "f32[M,K]{1,0:T(6,1)}",
        "The left operand of a matrix product as BLIS packs it for a kernel of 6 rows: panels of 6 "
        "rows, column by column, the last panel filled up.",
        (8, 7), group=BLOCKED,
    ),
    Format(
        "Z-order", "f32[M,N]{1,0:T(4,4)(2,2)}",
        "Morton order within 8x8: quadrants within quadrants, down to 2x2. Textures and quadtrees. "
        "Each level is a tile; a full Morton order needs a level for each bit of the sizes.",
        (8, 8), group=BLOCKED,
    ),
    Format(
        "interleaved complex", "f32[M,N,2]{2,1,0}",
        "Real and imaginary part side by side, as C and NumPy have complex numbers.",
        (2, 4, 2), group=STRUCTURES,
    ),
    Format(
        "planar complex", "f32[M,N,2]{1,0,2}",
        "All real parts, then all imaginary ones.",
        (2, 4, 2), group=STRUCTURES,
    ),
    Format(
        "structure of arrays", "f32[N,3]{0,1}",
        "A field after another: all x, all y, all z.",
        (8, 3), group=STRUCTURES,
    ),
    Format(
        "AoSoA", "f32[N,3]{1,0:T(4,3)(4,1)}",
        "Array of structures of arrays: 4 of each field side by side, then the next field. A "
        "vector load takes one field of 4 structures.",
        (10, 3), group=STRUCTURES,
    ),
    Format(
        "untiled", "f32[M,N]{1,0}",
        "XLA on CPUs and GPUs: an order of dimensions and no tiles.",
        (4, 6), (), (1024, 4096), group=ORDERS,
    ),
    Format(
        "Figure 1", "f32[M,N]{1,0:T(2,2)}",
        "The first example of XLA's document on tiled layouts.",
        (3, 5), group=TPU,
    ),
    Format(
        "f32 (8,128)", "f32[M,N]{1,0:T(8,128)}",
        "One vector register: 8 sublanes by 128 lanes of 32 bits.",
        (10, 200), (), (1000, 1000), limits=TILES, group=TPU,
    ),
    Format(
        "f32 (2,128)", "f32[M,N]{1,0:T(2,128)}",
        "Compact second minor: arrays of few rows waste less in a tile of 2.",
        (2, 200), (), (2, 1000), limits=TILES, group=TPU,
    ),
    Format(
        "vector (128)", "f32[N]{0:T(128)}",
        "A vector in runs of 128.",
        (200,), (), (1000,), limits=TILES, group=TPU,
    ),
    Format(
        "vector (1024)", "f32[N]{0:T(1024)}",
        "The compiler's default for a vector of f32: whole registers.",
        (1500,), limits=TILES, group=TPU,
    ),
    Format(
        "bf16 vector", "bf16[N]{0:T(1024)(128)(2,1)}",
        "The compiler's default for a vector of bf16: two runs of 128 interleaved, so that a lane "
        "keeps its column.",
        (1500,), limits=TILES, group=TPU,
    ),
    Format(
        "bf16", "bf16[M,N]{1,0:T(8,128)(2,1)}",
        "Two rows share each sublane: 32-bit words of a pair of rows.",
        (10, 200), (), (10, 200), limits=TILES, group=TPU,
    ),
    Format(
        "bf16, rank 4", "bf16[B,K,M,N]{3,2,0,1:T(8,128)(2,1)S(1)}",
        "The same at rank 4, with the first two dimensions swapped, in VMEM.",
        (2, 2, 10, 200), (), (8, 1, 1280, 16384), limits={**TILES, "max_slices": 2}, group=TPU,
    ),
    Format(
        "squeezed", "bf16[M,1,N]{2,1,0:T(*,8,128)(2,1)}",
        "A second-minor dimension of 1 would fill 7 of 8 rows with padding. The star joins it with "
        "the next dimension first.",
        (3, 1, 200), limits={**TILES, "max_slices": 3}, group=TPU,
    ),
    Format(
        "int8", "s8[M,N]{1,0:T(8,128)(4,1)}",
        "Four rows share each word of 32 bits.",
        (10, 200), (), (512, 512), limits=TILES, group=TPU,
    ),
    Format(
        "int8 (32,128)", "s8[M,N]{1,0:T(32,128)(4,1)}",
        "The compiler chooses this today if 32 divides the rows: one whole register.",
        (32, 200), limits=TILES, group=TPU,
    ),
    Format(
        "int4", "s4[M,N]{1,0:T(8,128)(8,1)E(4)}",
        "Four bits an element by E(4), eight rows in a word.",
        (10, 200), limits=TILES, group=TPU,
    ),
    Format(
        "bf16, alternative", "bf16[M,N]{1,0:T(8,128)(2,1,1,1)}",
        "XLA's document proposes it: the two elements of a word come from two tiles, 8 rows apart.",
        (32, 256), (), (32, 256), limits={**TILES, "colour": "word"}, group=TPU,
    ),
    Format(
        "1-bit", "pred[M,N]{1,0:T(32,128)(32,1)E(1)}",
        "Truth values, 32 rows in a word.",
        (40, 200), (), (64, 512), limits=TILES, group=TPU,
    ),
    Format(
        "combined dims", "f32[A,B,C,D,E]{4,3,2,1,0:T(*,*,2,*,3)}",
        "XLA's example of stars: the first three dimensions become one, the last two another, and "
        "these two are tiled.",
        (1, 2, 2, 2, 4), (), (2, 7, 8, 11, 10), group=TPU,
    ),
    Format(
        "tail padding", "f32[M,N]{1,0:T(2,2)L(32)}",
        "Tiles of 2x2, and the buffer's end rounded up to 32 elements.",
        (3, 5), (), (3, 5), group=TPU,
    ),
    Format(
        "block-cyclic", "",
        "ScaLAPACK: blocks of 2x2 dealt out to 2x2 processes in turn; the buffer holds what the "
        "first process has, then the second. Its middle digits lie outside the high ones, which "
        "no list of packs says, and tiles only at sizes that they name. In the picture `w` numbers "
        "the processes.",
        (8, 8), group=FRAGMENTS,
        limits={"colour": "word", "element_bits": 32, "word_bits": 512, "max_slots": 32},
        steps=(ml.Split((2, 2)), ml.Split((2, None, 2, None)), ml.Transpose((1, 4, 0, 3, 2, 5))),
        formula=_block_cyclic,
    ),
    Format(
        "mma A fragment", "",
        "The 16x16 operand A of NVIDIA's mma.m16n8k16 as `ldmatrix` leaves it in registers: slot "
        "`8*lane + register`. Lane `4*(i mod 8) + (k mod 8)//2` holds 8 elements. The high digits "
        "lie inside the middle ones. In the picture `w` numbers the lanes.",
        (16, 16), group=FRAGMENTS,
        limits={**BY_LANE, "element_bits": 16, "max_rows": 12, "max_columns": 12},
        steps=(
            ml.Split((8, 8)), ml.Split((None, None, None, 2)), ml.Transpose((1, 3, 2, 0, 4)),
        ),
        formula=_fragment_a,
    ),
    Format(
        "mma C fragment", "",
        "The 16x8 accumulator of the same instruction: slot `4*lane + register`. In the picture "
        "`w` numbers the lanes.",
        (16, 8), group=FRAGMENTS, limits={**BY_LANE, "element_bits": 32},
        steps=(ml.Split((8, 2)), ml.Transpose((1, 2, 0, 3))),
        formula=_fragment_c,
    ),
)  # fmt: skip
"""The formats, section by section in the gallery; the benchmarks keep this order."""
