"""MLIR's element types with their bits in a buffer, and the memory spaces that dialects define."""

from __future__ import annotations

import re
from math import prod
from typing import Any, Final

from morello_layouts.core.checks import Part, shown
from morello_layouts.core.layout import FLOATS
from morello_layouts.core.lazy import regex
from morello_layouts.errors import LayoutError

_SCALAR: Final = regex(r"(?:si|ui|i|f|bf|tf)([1-9][0-9]{0,7})(?:E.*)?", re.ASCII)
_COMPOUND: Final = regex(r"(complex|vector)<((?:[0-9]{1,9}x)*)(\w+)>", re.ASCII)


# Attributes of dialects that are memory spaces, and so move no element, each with its words.
# Sources: the enumerations of MLIR's dialects GPU, NVVM, AMDGPU, XeGPU, LLVM, ptr and SPIR-V, of
# Mosaic (libtpu's parser was asked), and of IREE's HAL and Codegen. ROCDL and IREEGPU define none:
# their memrefs have those of GPU, AMDGPU and HAL.
SPACES: Final = {
    "gpu.address_space": "global workgroup private constant",
    "nvvm.memory_space": "generic global shared constant local tensor shared_cluster",
    "amdgpu.address_space": "fat_raw_buffer buffer_rsrc fat_structured_buffer",
    "xegpu.memory_space": "global slm",
    "llvm.address_space": "[0-9]+",
    "ptr.generic_space": "",
    "spirv.storage_class": "UniformConstant Input Uniform Output Workgroup CrossWorkgroup Private "
    "Function Generic PushConstant AtomicCounter Image StorageBuffer TileImageEXT NodePayloadAMDX "
    "CallableDataKHR IncomingCallableDataKHR RayPayloadKHR HitAttributeKHR IncomingRayPayloadKHR "
    "ShaderRecordBufferKHR PhysicalStorageBuffer HitObjectAttributeNV TaskPayloadWorkgroupEXT "
    "CodeSectionINTEL DeviceOnlyINTEL HostOnlyINTEL",
    "tpu.memory_space": "any vmem smem hbm cmem semaphore_mem vmem_shared sreg host",
    "mosaic_gpu.tmem": "",
    "hal.descriptor_type": "storage_buffer uniform_buffer",
    "iree_codegen.workgroup_local": "",
}


def bits_of(element_type: str, part: Part = ()) -> int:
    """Return the bits that an element takes in a buffer.

    As LLVM lays arrays out: whole bytes, as many as a power of two up to 16, then multiples of 16.
    An ``index`` has 64 bits.

    >>> [bits_of(name) for name in ("f32", "i1", "index", "complex<f16>", "vector<3xbf16>")]
    [32, 8, 64, 32, 64]
    """
    compound = _COMPOUND.fullmatch(element_type)
    bits = _bits(compound[3] if compound else element_type)
    if bits is None:
        raise LayoutError(
            f"{shown(element_type)} is not an element type of MLIR",
            "the types are index, integers such as i8, si8, ui8, and floats such as bf16, f8E4M3FN",
            f"write {_meant(element_type)}",
            part=part,
        )
    if compound and compound[1] == "complex":
        return 2 * _stored(bits)
    return _stored(bits * prod(int(n) for n in compound[2].split("x")[:-1]) if compound else bits)


def type_name(given: Any, _: str, part: Part) -> str:
    """The kind of a field that names an element type."""
    bits_of(given, part)
    return str(given)


def _bits(name: str) -> int | None:
    match = _SCALAR.fullmatch(name)
    if match is None:
        return 64 if name == "index" else None
    return int(match[1]) if name in FLOATS or name.lstrip("su").startswith("i") else None


def _stored(bits: int) -> int:
    size = -(-bits // 8)
    align = min(1 << max(size - 1, 0).bit_length(), 16)
    return 8 * (-(-size // align) * align)


_OTHER_NAMES: Final = {"float": "f32", "double": "f64", "half": "f16", "bool": "i1", "int": "i32"}


def _meant(name: str) -> str:
    """Return the type that a wrong name most likely means."""
    named_size = re.fullmatch(r"(?=\w++\Z)([A-Za-z_]\w*)x(\w+)", name, re.ASCII)
    if named_size and _bits(named_size[2]):
        return f"? for the size {named_size[1]}: ?x{named_size[2]}"
    other = re.fullmatch(r"(float|uint|int|[su])([0-9]+)", name)
    if other:
        return ("f" if other[1] == "float" else "i") + other[2]
    plain = {each.lower(): each for each in FLOATS}
    return plain.get(name.lower()) or _OTHER_NAMES.get(name, "for example f32")
