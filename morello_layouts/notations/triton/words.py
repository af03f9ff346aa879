"""Triton's encodings in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from morello_layouts.description import Description, Part, dimensions, listed, memory_axes
from morello_layouts.notations.triton.encoding import Encoding
from morello_layouts.notations.triton.layout import TritonLayout

_KINDS: Final = {
    "blocked": "each thread holds a block",
    "slice": "what another layout has along all dimensions but one",
    "dot_op": "an operand of a dot",
    "nvidia_mma": "the result of NVIDIA's tensor cores",
    "amd_mfma": "the result of AMD's matrix cores, 64 lanes",
    "amd_wmma": "the result of AMD's matrix cores, 32 lanes",
    "linear": "registers and lanes by their bases",
    "swizzled_shared": "shared memory, rows xored with their phase",
    "amd_rotating_shared": "shared memory, rows xored with their phase and block",
    "nvmma_shared": "shared memory as TMA and wgmma read it",
    "padded_shared": "shared memory with gaps",
    "shared_linear": "shared memory by its bases",
}
_FIELDS: Final = {
    "sizePerThread": "the block of each thread",
    "threadsPerWarp": "threads of a warp along each dimension",
    "warpsPerCTA": "warps of a block along each dimension",
    "order": "dimensions, the fastest first",
    "CGALayout": "which part of the tensor each block of the cluster has",
    "CTAsPerCGA": "blocks of the cluster along each dimension",
    "CTASplitNum": "parts of the tensor along each dimension",
    "CTAOrder": "order of the blocks, the fastest first",
    "dim": "the dimension that is left out",
    "parent": "the layout of the whole",
    "opIdx": "which operand: 0 is rows by k, 1 is k by columns",
    "kWidth": "neighbours along k that a lane holds",
    "versionMajor": "2 for mma.sync, 3 for Hopper's wgmma",
    "version": "the generation of the matrix cores",
    "instrShape": "what one instruction computes",
    "isTransposed": "whether lanes lie along columns",
    "isTranspose": "whether lanes lie along columns",
    "tilesPerWarp": "tiles that a warp repeats along each dimension",
    "elementBitWidth": "bits of an element",
    "ctaLayout": "how tiles are arranged over registers and warps",
    "register": "coordinate of the element at each bit of the register",
    "lane": "coordinate at each bit of the lane",
    "warp": "coordinate at each bit of the warp",
    "block": "coordinate at each bit of the block",
    "offset": "coordinate at each bit of the offset",
    "vec": "elements that stay together",
    "perPhase": "rows of one phase",
    "maxPhase": "phases, then again the first one",
    "swizzlingByteWidth": "bytes of a row in which chunks of 16 are xored with the row; 0 for none",
    "transposed": "whether the first dimension is the fastest",
    "fp4Padded": "whether 8 of 16 bytes are gaps",
    "paddings": "after so many elements so many are left out",
}


def describe(layout: TritonLayout, shape: Sequence[int] | None = None) -> Description:
    """Say what each field of an encoding means."""
    sizes = shape or layout.shape
    dims = dimensions(sizes or (None,) * (layout.encoding.rank or 2))
    axes = memory_axes(layout.recipe(sizes), dims) if sizes else ()
    parts = [*_fields(layout.encoding)]
    if layout.shape is not None:
        names = listed([dim.name for dim in dims])
        parts.insert(0, Part("x".join(map(str, layout.shape)), f"sizes of {names}"))
    kind = "Triton shared memory" if layout.encoding.is_memory else "Triton registers"
    headline = _KINDS[layout.encoding.kind]
    return Description(str(layout), kind, headline, dims, tuple(parts), axes)


def _fields(encoding: Encoding) -> Iterator[Part]:
    yield Part(encoding.kind, _KINDS[encoding.kind])
    for name, text in encoding.texts:
        if name in _FIELDS:
            yield Part(text, _FIELDS[name])
