"""Record buffers of packed formats that PyTorch's libraries make, and the values that they read.

python -m pip install torch torchao bitsandbytes compressed-tensors
python tests/benchmarks/convert_packed.py

Writes tests/data/records/packed.npz: by format, its sizes, the bytes of a buffer, and its values,
or the integers of its field. With a number, ``convert_packed.py 100000``, it makes buffers of at
least so many blocks and compares what is read instead. No GPU is needed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import bitsandbytes.functional as bnb
import numpy as np
import torch
from compressed_tensors.compressors.nvfp4.helpers import pack_fp4_to_uint8
from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32
from torch.sparse import _semi_structured_conversions as semi
from torchao.prototype.mx_formats.mx_tensor import MXTensor
from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor
from torchao.prototype.mx_formats.utils import to_blocked

from morello_layouts import record

HERE = Path(__file__).parents[1] / "data" / "records" / "packed.npz"
Case = tuple[dict[str, int], bytes, Any]


def raw(*tensors: Any) -> bytes:
    return b"".join(t.contiguous().view(torch.uint8).numpy().tobytes() for t in tensors)


def bitsandbytes(kind: str, count: int) -> Case:
    weights = torch.randn(64 * count)
    packed, state = bnb.quantize_4bit(weights, blocksize=64, quant_type=kind)
    values = bnb.dequantize_4bit(packed, state).reshape(count, 64)
    return {"B": count}, raw(packed, state.absmax), values.numpy()


def nvfp4(count: int) -> Case:
    rows, blocks = -(-count // 6), 6
    made = NVFP4Tensor.to_nvfp4(torch.randn(rows, 16 * blocks), is_swizzled_scales=True)
    values = made.dequantize(torch.float32).numpy()
    return {"M": rows, "K": blocks}, raw(made.qdata, made.scale), values


def mx(kind: Any, count: int) -> Case:
    rows, blocks = -(-count // 6), 6
    made = MXTensor.to_mx(torch.randn(rows, 32 * blocks), kind, 32, is_swizzled_scales=True)
    values = made.dequantize(torch.float32).numpy()
    return {"M": rows, "K": blocks}, raw(made.qdata, made.scale), values


def blocked(count: int) -> Case:
    rows, columns = -(-count // 5), 5
    scales = torch.randint(0, 256, (rows, columns), dtype=torch.uint8)
    return {"M": rows, "K": columns}, raw(to_blocked(scales)), scales.numpy()


def two_of_four(kind: Any, count: int) -> Case:
    unit, group = (8, 32) if kind == torch.float16 else (16, 16)
    rows, words = -(-count // (4 * unit * group)) * group, 4
    kept = torch.rand(rows, words * unit // 2, 4).argsort(-1)[..., :2].sort(-1).values
    dense = torch.zeros(rows, words * unit // 2, 4, dtype=kind).scatter(
        2, kept, torch.ones(kept.shape, dtype=kind)
    )
    _, meta = semi.sparse_semi_structured_from_dense_cutlass(dense.reshape(rows, -1))
    indices = kept.reshape(rows, words, unit).numpy()
    return {"M": rows // group, "K": words // 2}, raw(meta), indices


def compressed_int4(count: int) -> Case:
    rows, groups = -(-count // 4), 4
    numbers = torch.randint(-8, 8, (rows, 128 * groups), dtype=torch.int8)
    scales = torch.rand(rows, groups).to(torch.bfloat16)
    values = numbers * scales.to(torch.float32).repeat_interleave(128, 1)
    data = raw(pack_to_int32(numbers, 4), scales)
    return {"N": rows, "G": groups}, data, values.numpy()


def compressed_nvfp4(count: int) -> Case:
    rows, blocks = -(-count // 4), 4
    table = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
    elements = table[torch.randint(0, 8, (rows, 16 * blocks))]
    elements *= torch.where(torch.rand(elements.shape) < 0.5, -1.0, 1.0)
    scales = torch.rand(rows, blocks).to(torch.float8_e4m3fn)
    values = elements * scales.to(torch.float32).repeat_interleave(16, 1)
    data = raw(pack_fp4_to_uint8(elements), scales)
    return {"M": rows, "K": blocks}, data, values.numpy()


CASES = {
    "bnb_nf4": partial(bitsandbytes, "nf4"),
    "bnb_fp4": partial(bitsandbytes, "fp4"),
    "cutlass_nvfp4": nvfp4,
    "cutlass_mxfp4": partial(mx, torch.float4_e2m1fn_x2),
    "cutlass_mxfp8": partial(mx, torch.float8_e4m3fn),
    "torchao_blocked": blocked,
    "sparse24_f16": partial(two_of_four, torch.float16),
    "sparse24_s8": partial(two_of_four, torch.int8),
    "compressed_int4": compressed_int4,
    "compressed_nvfp4": compressed_nvfp4,
}


def recorded(count: int) -> Iterator[tuple[str, Any]]:
    for name, make in CASES.items():
        torch.manual_seed(2026)
        sizes, data, wanted = make(count or 24)
        if count:
            own = record(name).at(**sizes)
            read = own.decode(data) if own.value else next(iter(own.unpack(data).values()))
            wrong = np.count_nonzero(read[0] != wanted)
            print(f"{name}: {sizes}, {wanted.size} numbers, {wrong} differ")
            continue
        yield f"{name}.sizes", np.array([f"{key}={n}" for key, n in sizes.items()])
        yield f"{name}.data", np.frombuffer(data, np.uint8)
        yield f"{name}.wanted", wanted if wanted.dtype == np.float32 else wanted.astype(np.uint8)


def main(count: int) -> None:
    found = dict(recorded(count))
    if not count:
        np.savez_compressed(HERE, **found)
        print(f"{len(found) // 3} formats")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
