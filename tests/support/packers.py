"""Functions of public kernels that pack arrays, in NumPy, each from the source that is named.

They say where an element goes, in the words of arrays: the sources loop, or have tables of numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Packer(NamedTuple):
    """A function that packs, and shapes of its arrays."""

    pack: Callable[[Any], Any]
    source: str
    seen: tuple[tuple[int, ...], ...]  #: shapes at which it is recovered.
    unseen: tuple[tuple[int, ...], ...]  #: shapes at which the answer is judged.


def words_of(items: Any, bits: int) -> Any:
    """Join neighbours of the last dimension into words of 32 bits, the first in the lowest bits."""
    parts = items.reshape(*items.shape[:-1], -1, 32 // bits).astype(np.uint32)
    return np.bitwise_or.reduce(parts << np.arange(0, 32, bits, dtype=np.uint32), -1)


def interleaved(items: Any, bits: int) -> Any:
    """Those of even places before those of odd ones, among eight items, or four of eight bits."""
    if bits == 4:
        return items.reshape(-1, 4, 2).swapaxes(1, 2)
    return items.reshape(-1, 2, 2).swapaxes(1, 2)


def marlin_weights(bits: int) -> Callable[[Any], Any]:
    """Tiles of 16x16; a lane of 32 holds the operand of an MMA in four of them, side by side."""
    lane, tile, half, k = np.indices((32, 4, 2, 4))
    row = 2 * (lane % 4) + k % 2 + 8 * (k // 2)
    taken = (256 * tile + 16 * row + 8 * half + lane // 4).reshape(-1)

    def pack(weights: Any) -> Any:
        rows, columns = weights.shape
        tiles = weights.reshape(rows // 16, 16, columns // 16, 16).swapaxes(1, 2)
        chosen = interleaved(tiles.reshape(-1, 1024)[:, taken], bits)
        return words_of(chosen.reshape(rows // 16, columns * 16), bits)

    return pack


def marlin_zero_points(points: Any) -> Any:
    turned = points.reshape(-1, 8, 8).swapaxes(1, 2)
    return words_of(interleaved(turned, 4).reshape(points.shape), 4)


def metadata_2_4(meta: Any) -> Any:
    """Metadata of 16 bits: rows in a new order, 2x2 blocks transposed, two columns interleaved."""
    rows = len(meta)
    i, j = np.indices(meta.shape)
    i = i // 64 * 64 + i % 2 * 2 + i % 8 // 4 + i % 32 % 4 // 2 * 32 + i % 64 // 8 * 4
    turn = (i % 2 == 0) * (j % 2 == 1) * 1 - (i % 2 == 1) * (j % 2 == 0)
    i, j = i + turn, j - turn
    buffer = np.zeros(meta.size, meta.dtype)
    buffer[j // 2 * 2 * rows + 2 * i + j % 2] = meta
    return buffer


def blocked_scales(scales: Any) -> Any:
    """Blocks of 128x4, padded; in each, row r and column c lie at 16*(r%32) + 4*(r//32) + c."""
    rows, columns = (-(-n // unit) for n, unit in zip(scales.shape, (128, 4), strict=True))
    padded = np.zeros((rows * 128, columns * 4), scales.dtype)
    padded[: scales.shape[0], : scales.shape[1]] = scales
    return padded.reshape(rows, 4, 32, columns, 4).transpose(0, 3, 2, 1, 4)


def deep_gemm_scales(scales: Any) -> Any:
    """Columns, each padded to 16 bytes of float32."""
    rows, columns = scales.shape
    buffer = np.zeros((columns, -(-rows // 4) * 4), scales.dtype)
    buffer[:, :rows] = scales.T
    return buffer


def rocm_shuffled(weights: Any, k: int = 8) -> Any:
    """16 rows by vectors of 16 bytes: k elements, 2 * 16 columns of a block."""
    n, columns = weights.shape
    parts = weights.reshape(n // 16, 16, columns // 32, 32 // k, k)
    return parts.transpose(0, 2, 3, 1, 4).copy()


def awq(weights: Any) -> Any:
    return words_of(interleaved(weights, 4).reshape(weights.shape), 4)


def gptq(weights: Any) -> Any:
    return words_of(weights.T, 4).T.copy()


def q4_0(weights: Any) -> Any:
    """Weight j of a block of 32 shares byte j with weight j + 16."""
    low, high = np.moveaxis(weights.reshape(-1, 2, 16), 1, 0)
    return (low | high << 4).astype(np.uint8)


def q4_k_nibbles(weights: Any) -> Any:
    """Of 64 weights, j of the first 32 shares byte j with j of the other 32."""
    low, high = np.moveaxis(weights.reshape(-1, 2, 32), 1, 0)
    return (low | high << 4).astype(np.uint8)


def q4_k_scales(both: Any) -> Any:
    """Eight scales and eight mins of six bits in 12 bytes; the last four of each are in parts."""
    scales, mins = both.astype(np.uint8)
    first = [x[:4] | x[4:] >> 4 << 6 for x in (scales, mins)]
    return np.concatenate([*first, scales[4:] & 15 | (mins[4:] & 15) << 4])


_WEIGHTS = ((32, 128), (48, 192)), ((16, 64), (64, 320), (112, 128))
_VLLM = "vllm-project/vllm vllm/model_executor/layers/quantization/utils/"

PACKERS = {
    "Marlin, 4 bits": Packer(marlin_weights(4), f"{_VLLM}marlin_utils_test.py", *_WEIGHTS),
    "Marlin, 8 bits": Packer(marlin_weights(8), f"{_VLLM}marlin_utils_test.py", *_WEIGHTS),
    "Marlin's scales of groups": Packer(
        lambda s: s.reshape(-1, 8, 8).swapaxes(1, 2).copy(), f"{_VLLM}marlin_utils.py",
        ((3, 128), (5, 192)), ((1, 64), (8, 320), (33, 256))),
    "Marlin's scales of columns": Packer(
        lambda s: s.reshape(-1, 4, 4, 2).swapaxes(1, 2).copy(), f"{_VLLM}marlin_utils.py",
        ((3, 64), (5, 96)), ((1, 32), (8, 320), (33, 256))),
    "Marlin's zero points": Packer(
        marlin_zero_points, f"{_VLLM}marlin_utils.py",
        ((3, 128), (5, 192)), ((1, 64), (8, 320), (33, 256))),
    "AWQ": Packer(awq, "casper-hansen/AutoAWQ awq/modules/linear/gemm.py",
                  ((3, 32), (5, 48)), ((1, 8), (8, 64), (33, 24))),
    "GPTQ": Packer(gptq, "AutoGPTQ/AutoGPTQ auto_gptq/nn_modules/qlinear/qlinear_cuda.py",
                   ((16, 3), (24, 5)), ((8, 2), (64, 7), (40, 33))),
    "GGUF q4_0": Packer(q4_0, "ggml-org/llama.cpp ggml/src/ggml-quants.c",
                        ((64,), (96,)), ((32,), (320,), (1024,))),
    "GGUF q4_K, nibbles": Packer(q4_k_nibbles, "ggml-org/llama.cpp ggml/src/ggml-quants.c",
                                 ((128,), (192,)), ((64,), (320,), (1024,))),
    "torchao, blocked scales": Packer(
        blocked_scales, "pytorch/ao torchao/prototype/mx_formats/utils.py",
        ((200, 7), (300, 10)), ((128, 4), (1, 1), (500, 33))),
    "ROCm, shuffled weights of 16 bits": Packer(
        rocm_shuffled, "ROCm/aiter aiter/ops/shuffle.py",
        ((32, 64), (48, 96)), ((16, 32), (64, 160), (112, 64))),
    "2:4 metadata of 16 bits": Packer(
        metadata_2_4, "pytorch/pytorch torch/sparse/_semi_structured_conversions.py",
        ((128, 4), (192, 6)), ((64, 2), (256, 10), (320, 8))),
    "DeepGEMM, scales": Packer(
        deep_gemm_scales, "deepseek-ai/DeepGEMM csrc/jit_kernels/impls/smxx_layout.hpp",
        ((7, 3), (9, 5)), ((1, 1), (13, 8), (64, 33))),
}  # fmt: skip
"""The packers whose layout is one for all sizes."""
