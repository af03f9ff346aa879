"""Packed formats: proved, and read bit by bit as their own programs read them."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.errors import LayoutError
from morello_layouts.programs.records import formats

RECORDED = np.load(Path(__file__).parents[1] / "data" / "records" / "gguf.npz")
GGUF = sorted({key.partition(".")[0] for key in RECORDED})
WITH_GAPS = {"marlin", "cutlass_nvfp4"}  # sizes that tiles do not divide


def same_floats(one: Any, other: Any) -> bool:
    one, other = (np.ascontiguousarray(x, np.float32).reshape(-1) for x in (one, other))
    is_same = one.view(np.uint32) == other.view(np.uint32)
    return bool((is_same | (np.isnan(one) & np.isnan(other))).all())


@pytest.mark.parametrize("name", formats())
def test_each_format_is_exact_for_all_sizes(name: str) -> None:
    proof = ml.record(name).check()
    assert proof.holds
    assert proof.covers is (None if name in WITH_GAPS else True)


def test_every_format_of_gguf_that_has_bits_is_there() -> None:
    assert len(GGUF) == 15


@pytest.mark.parametrize("name", GGUF)
def test_values_are_those_of_gguf(name: str) -> None:
    record, blocks = ml.record(f"{name}[B]"), RECORDED[f"{name}.blocks"]
    assert same_floats(record.decode(blocks.tobytes()), RECORDED[f"{name}.values"])


@pytest.mark.parametrize("name", GGUF)
def test_packing_what_was_unpacked_gives_the_bytes_again(name: str) -> None:
    record, blocks = ml.record(name), RECORDED[f"{name}.blocks"]
    assert (record.pack(record.unpack(blocks)) == blocks.reshape(-1)).all()


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler was found")
@pytest.mark.parametrize("name", GGUF)
@pytest.mark.parametrize("target", ["c", "cuda"])
def test_compiled_code_computes_the_values(name: str, target: str, tmp_path: Path) -> None:
    blocks, values = RECORDED[f"{name}.blocks"], RECORDED[f"{name}.values"]
    text, suffix = ml.record(name).code(target), {"c": "c", "cuda": "cpp"}[target]
    head, sign = "", f"{name}_values"
    if target == "cuda":  # on the host
        head = "#define __host__\n#define __device__\n"
        text = text.replace(f"void {sign}(", f'extern "C" void {sign}(').replace(
            '__host__ __device__ extern "C"', 'extern "C" __host__ __device__'
        )
    source, made = tmp_path / f"decode.{suffix}", tmp_path / "decode.so"
    source.write_text(head + text)
    compiler = {"c": "cc", "cuda": "c++"}[target]
    flags = ["-O2", "-ffp-contract=off", "-Wall", "-Werror", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", made, source, "-lm"], check=True)
    out = np.empty(values.size, np.float32)
    address = ctypes.c_void_p
    getattr(ctypes.CDLL(str(made)), sign)(
        blocks.ctypes.data_as(address), out.ctypes.data_as(address), ctypes.c_int64(len(blocks))
    )
    assert same_floats(out, values)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("rustc") is None, reason="no Rust compiler was found")
@pytest.mark.parametrize("name", GGUF)
def test_rust_computes_the_values(name: str, tmp_path: Path) -> None:
    blocks, values = RECORDED[f"{name}.blocks"], RECORDED[f"{name}.values"]
    main = f"""
use std::io::{{Read, Write}};
fn main() {{
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).unwrap();
    let mut values = vec![0f32; {values.size}];
    {name}_values(&bytes, &mut values);
    let found: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    std::io::stdout().write_all(&found).unwrap();
}}
"""
    source, made = tmp_path / "decode.rs", tmp_path / "decode"
    source.write_text(ml.record(name).code("rust") + main)
    subprocess.run(["rustc", "-O", "-Awarnings", "-o", made, source], check=True)
    found = subprocess.run([made], input=blocks.tobytes(), capture_output=True, check=True).stdout
    assert same_floats(np.frombuffer(found, np.float32), values)


@pytest.mark.parametrize("name", GGUF)
def test_python_computes_the_values(name: str) -> None:
    blocks, values = RECORDED[f"{name}.blocks"], RECORDED[f"{name}.values"]
    space: dict[str, Any] = {}
    exec(ml.record(name).code("python"), space)
    out = np.empty(values.size, np.float32)
    with np.errstate(all="ignore"):
        space[f"{name}_values"](blocks.tobytes(), out)
    assert same_floats(out, values)


# ---- formats without blocks: packed here in plain integers, by their own documents


def awq(weights: Any) -> bytes:
    """AutoAWQ's pack: each int32 has eight columns in the order 0 2 4 6 1 3 5 7."""
    rows, columns = weights.shape
    words = np.zeros((rows, columns // 8), np.uint32)
    for column, (place, k) in product(range(columns // 8), enumerate((0, 2, 4, 6, 1, 3, 5, 7))):
        words[:, column] |= weights[:, 8 * column + k].astype(np.uint32) << np.uint32(4 * place)
    return words.tobytes()


def gptq(weights: Any) -> bytes:
    """AutoGPTQ's pack: each int32 has eight rows."""
    rows, columns = weights.shape
    words = np.zeros((rows // 8, columns), np.uint32)
    for k in range(rows):
        words[k // 8] |= weights[k].astype(np.uint32) << np.uint32(4 * (k % 8))
    return words.tobytes()


def marlin(weights: Any) -> bytes:
    """Marlin's pack: tiles of 16 by 16, then its permutation of 1,024 weights."""
    order: list[int] = []
    for i in range(32):
        one: list[int] = []
        for block in (0, 1):
            for row in (2 * (i % 4), 2 * (i % 4) + 1, 2 * (i % 4 + 4), 2 * (i % 4 + 4) + 1):
                one.append(16 * row + i // 4 + 8 * block)
        order += [p + 256 * j for j in range(4) for p in one]
    index = np.array(order).reshape(-1, 8)[:, [0, 2, 4, 6, 1, 3, 5, 7]].ravel()
    rows, columns = weights.shape
    tiles = weights.reshape(rows // 16, 16, columns // 16, 16).transpose(0, 2, 1, 3)
    flat = tiles.reshape(rows // 16, columns * 16).reshape(-1, 1024)[:, index]
    words = np.zeros((flat.size // 8,), np.uint32)
    for k in range(8):
        words |= flat.reshape(-1, 8)[:, k].astype(np.uint32) << np.uint32(4 * k)
    return words.tobytes()


@pytest.mark.parametrize("pack", [awq, gptq, marlin])
@pytest.mark.parametrize("shape", [(16, 64), (64, 128)])
def test_weights_lie_where_their_packers_put_them(pack: Any, shape: tuple[int, int]) -> None:
    weights = np.random.default_rng(1).integers(0, 16, shape)
    record = ml.record(pack.__name__).at(K=shape[0], N=shape[1])
    assert (record.unpack(pack(weights))["qweight"][0] == weights).all()
    assert record.pack({"qweight": weights}).tobytes() == pack(weights)


def test_nf4_has_the_first_weight_in_the_high_bits() -> None:
    assert ml.record("bnb_nf4").unpack(bytes([0x12, *[0] * 31]))["qs"][0, :2].tolist() == [1, 2]


def test_digits_of_a_number_are_refused() -> None:
    with pytest.raises(LayoutError, match="digits of a number"):
        ml.record("tq1_0")
