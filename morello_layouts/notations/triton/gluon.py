"""The layouts of Gluon, Triton's language for layouts: by their names and fields.

Source: ``triton/experimental/gluon/language/_layouts.py``, and ``amd/_layouts.py`` beside it.
"""

from __future__ import annotations

from typing import Any, Final

from morello_layouts.notations.triton.encoding import Encoding

_GLUON: Final = """
BlockedLayout blocked size_per_thread=sizePerThread threads_per_warp=threadsPerWarp \
warps_per_cta=warpsPerCTA order=order cga_layout=CGALayout
SliceLayout slice dim=dim parent=parent
DistributedLinearLayout linear reg_bases=register lane_bases=lane warp_bases=warp \
block_bases=block shape=
DotOperandLayout dot_op operand_index=opIdx parent=parent k_width=kWidth
NVMMADistributedLayout nvidia_mma version=versionMajor warps_per_cta=warpsPerCTA \
instr_shape=instrShape cga_layout=CGALayout
AMDMFMALayout amd_mfma version=version instr_shape=instrShape transposed=isTransposed \
warps_per_cta=warpsPerCTA element_bitwidth=elementBitWidth tiles_per_warp=tilesPerWarp \
cga_layout=CGALayout
NVMMASharedLayout nvmma_shared swizzle_byte_width=swizzlingByteWidth \
element_bitwidth=elementBitWidth rank=rank transposed=transposed fp4_padded=fp4Padded \
cga_layout=CGALayout
SwizzledSharedLayout swizzled_shared vec=vec per_phase=perPhase max_phase=maxPhase order=order \
cga_layout=CGALayout
PaddedSharedLayout padded_shared interval_padding_pairs=paddings offset_bases=offset \
cga_layout=block shape=
SharedLinearLayout shared_linear offset_bases=offset block_bases=block alignment=alignment
"""

GLUON: Final[dict[str, tuple[str, dict[str, str]]]] = {
    name: (kind, dict(pair.split("=") for pair in fields))
    for name, kind, *fields in map(str.split, _GLUON.strip().split("\n"))
}


def nested(value: Any) -> Any:
    """Return integers in nested tuples."""
    return tuple(map(nested, value)) if isinstance(value, tuple | list) else int(value)


def encoding_of(value: Any) -> Encoding:
    """Return the encoding of an object of Gluon."""
    name = type(value).__name__
    return gluon_encoding(name, {field: getattr(value, field) for field in GLUON[name][1]})


def gluon_encoding(name: str, fields: dict[str, Any]) -> Encoding:
    """Return Triton's encoding of a layout of Gluon, from the values of its fields by name.

    >>> print(gluon_encoding("SliceLayout", {"dim": 0, "parent": gluon_encoding("BlockedLayout", {
    ...     "size_per_thread": [1, 4], "threads_per_warp": [8, 4], "warps_per_cta": [4, 1],
    ...     "order": [1, 0]})}).encoding().rank)
    2
    """
    kind, names = GLUON[name]
    if name == "NVMMASharedLayout":
        fields = {"transposed": False, **fields}
    found: list[tuple[str, Any]] = []
    for own, given in fields.items():
        key, field = names[own], given
        if key == "versionMajor":
            major, minor = (*given, 0)[:2]
            found += [(key, int(major)), ("versionMinor", int(minor))]
            continue
        if not key or given is None or (key in ("CGALayout", "block", "fp4Padded") and not given):
            continue
        if key == "parent" and not isinstance(given, Encoding):
            field = encoding_of(given)
        elif not isinstance(given, Encoding | bool):
            field = nested(given)
        found.append((key, field))
    return Encoding(kind, tuple(found))
