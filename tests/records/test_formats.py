"""Packed formats: proved, and read bit by bit as their own programs read them."""

from __future__ import annotations

import ctypes
import shutil
import struct
import subprocess
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.programs.records import Record, formats
from tests.records.test_records import drawn
from tests.support.packers import awq, gptq, marlin_weights, words_of

RECORDED = np.load(Path(__file__).parents[1] / "data" / "records" / "gguf.npz")
GGUF = sorted({key.partition(".")[0] for key in RECORDED})
PACKED = np.load(Path(__file__).parents[1] / "data" / "records" / "packed.npz")
# sizes that tiles do not divide
WITH_GAPS = {"marlin", "cutlass_nvfp4", "cutlass_mxfp4", "cutlass_mxfp8", "torchao_blocked"}


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
    assert len(GGUF) == 16


def cases() -> dict[str, tuple[Record, bytes, Any]]:
    """Each recorded buffer, with the record that reads it and the numbers that others read."""
    found = {}
    for name in GGUF:
        blocks = RECORDED[f"{name}.blocks"]
        found[name] = ml.record(name), blocks.tobytes(), RECORDED[f"{name}.values"]
    for name in sorted({key.partition(".")[0] for key in PACKED}):
        sizes = dict(row.split("=") for row in PACKED[f"{name}.sizes"])
        record = ml.record(name).at(**{key: int(n) for key, n in sizes.items()})
        data, wanted = PACKED[f"{name}.data"].tobytes(), PACKED[f"{name}.wanted"]
        if name == "bnb_fp4":  # 8 is -0 in bitsandbytes' kernel of CUDA, and 0 in that of the CPU
            wanted[record.unpack(data)["qs"][0] == 8] = -0.0
        found[name] = record, data, wanted
    return found


CASES = cases()
VALUED = [name for name, (record, _, _) in CASES.items() if record.value]


@pytest.mark.parametrize("name", CASES)
def test_buffers_hold_what_other_libraries_put_there(name: str) -> None:
    record, data, wanted = CASES[name]
    if record.value:
        assert same_floats(record.decode(data), wanted)
    else:
        (numbers,) = record.unpack(data).values()
        assert (numbers[0] == wanted).all()
    if record.check().covers:
        assert record.pack(record.unpack(data)).tobytes() == data


def compiled(text: str, target: str, folder: Path) -> ctypes.CDLL:
    """The library of C, or of CUDA for the host."""
    head = "#define __host__\n#define __device__\n" if target == "cuda" else ""
    head += '#ifdef __cplusplus\nextern "C" {\n#endif\n' * 0
    source, made = folder / f"code.{'c' if target == 'c' else 'cpp'}", folder / "code.so"
    source.write_text(head + text)
    flags = ["-O2", "-ffp-contract=off", "-Wall", "-Werror", "-shared", "-fPIC"]
    compiler = {"c": "cc", "cuda": "c++"}[target]
    subprocess.run([compiler, *flags, "-o", made, source, "-lm"], check=True)
    return ctypes.CDLL(str(made))


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler was found")
@pytest.mark.parametrize("name", VALUED)
@pytest.mark.parametrize("target", ["c", "cuda"])
def test_compiled_code_computes_the_values(name: str, target: str, tmp_path: Path) -> None:
    record, data, values = CASES[name]
    text = record.code(target)
    if target == "cuda":
        text = text.replace("__host__ __device__ void", 'extern "C" __host__ __device__ void')
    out, address = np.empty(values.size, np.float32), ctypes.c_void_p
    count = len(data) // int(record.bits // 8)
    getattr(compiled(text, target, tmp_path), f"{name}_values")(
        data, out.ctypes.data_as(address), ctypes.c_int64(count)
    )
    assert same_floats(out, values)


PLAIN = {
    "awq": {"K": 4, "N": 16}, "gptq": {"K": 16, "N": 4}, "marlin": {"K": 16, "N": 64},
    "torchao_int4": {"N": 1, "K": 1}, "torchao_blocked": {"M": 130, "K": 5},
    "sparse24_f16": {"M": 1, "K": 1}, "sparse24_s8": {"M": 1, "K": 1},
}  # fmt: skip


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler was found")
@pytest.mark.parametrize("target", ["c", "cuda", "python"])
@pytest.mark.parametrize("name", PLAIN)
def test_formats_without_values_have_functions_of_their_numbers(
    name: str, target: str, tmp_path: Path
) -> None:
    record = ml.record(name).at(**PLAIN[name])
    data = np.random.default_rng(7).bytes(int(record.byte_size))
    ((field, numbers),) = record.unpack(data).items()
    space: dict[str, Any] = {}
    if target == "python":
        exec(record.code("python"), space)
        load = space[f"{name}_{field}"]
    else:
        text = record.code(target).replace("static inline ", "")
        text = text.replace("__host__ __device__ ", 'extern "C" ') if target == "cuda" else text
        load = getattr(compiled(text, target, tmp_path), f"{name}_{field}")
        load.restype = ctypes.c_float if field == "scales" else ctypes.c_int32
    wanted = numbers[0]
    if field == "scales":
        wanted = np.ldexp(np.float32(1), np.minimum(wanted, 254) - 127)
        wanted[numbers[0] == 255] = np.nan
    found = [load(data, *map(int, at)) for at in np.ndindex(*wanted.shape)]
    assert same_floats(np.array(found), wanted.astype(np.float32))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("rustc") is None, reason="no Rust compiler was found")
@pytest.mark.parametrize("name", PLAIN)
def test_rust_reads_the_numbers(name: str, tmp_path: Path) -> None:
    record = ml.record(name).at(**PLAIN[name])
    data = np.random.default_rng(7).bytes(int(record.byte_size))
    ((field, numbers),) = record.unpack(data).items()
    loops = [f"for i{k} in 0..{n} {{" for k, n in enumerate(numbers[0].shape)]
    index = ", ".join(["&bytes", *(f"i{k}" for k in range(numbers[0].ndim))])
    body = f'println!("{{}}", {name}_{field}({index}));'
    main = f"""
use std::io::Read;
fn main() {{
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).unwrap();
    {" ".join(loops)} {body} {"}" * len(loops)}
}}
"""
    found = by_rust(record.code("rust") + main, data, tmp_path).decode().split()
    wanted = numbers[0].reshape(-1)
    if field == "scales":
        powers = np.ldexp(np.float32(1), np.minimum(wanted, 254) - 127)
        wanted = np.where(wanted == 255, np.float32(np.nan), powers)
    assert same_floats(np.array(found, np.float32), wanted.astype(np.float32))


def by_rust(text: str, data: bytes, folder: Path) -> bytes:
    """What a program in Rust prints that reads the data."""
    source, made = folder / "decode.rs", folder / "decode"
    source.write_text(text)
    subprocess.run(["rustc", "-O", "-Awarnings", "-o", made, source], check=True)
    return subprocess.run([made], input=data, capture_output=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("rustc") is None, reason="no Rust compiler was found")
@pytest.mark.parametrize("name", VALUED)
def test_rust_computes_the_values(name: str, tmp_path: Path) -> None:
    record, data, values = CASES[name]
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
    found = by_rust(record.code("rust") + main, data, tmp_path)
    assert same_floats(np.frombuffer(found, np.float32), values)


@pytest.mark.parametrize("name", VALUED)
def test_python_computes_the_values(name: str) -> None:
    record, data, values = CASES[name]
    space: dict[str, Any] = {}
    exec(record.code("python"), space)
    out = np.empty(values.size, np.float32)
    with np.errstate(all="ignore"):
        space[f"{name}_values"](data, out)
    assert same_floats(out, values)


# ---- formats without blocks: packed as their own sources do

PACKERS = {"awq": awq, "gptq": gptq, "marlin": marlin_weights(4)}


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("shape", [(16, 64), (64, 128)])
def test_weights_lie_where_their_packers_put_them(name: str, shape: tuple[int, int]) -> None:
    weights = np.random.default_rng(1).integers(0, 16, shape)
    record, packed = ml.record(name).at(K=shape[0], N=shape[1]), PACKERS[name](weights).tobytes()
    assert (record.unpack(packed)["qweight"][0] == weights).all()
    assert record.pack({"qweight": weights}).tobytes() == packed


@pytest.mark.parametrize("name", ["awq_128", "gptq_128", "marlin_128"])
def test_weights_and_scales_give_the_values_of_their_papers(name: str) -> None:
    random = np.random.default_rng(2)
    rows, columns = 256, 128
    weights, zeros = random.integers(0, 16, (rows, columns)), random.integers(1, 16, (2, columns))
    scales = random.random((2, columns)).astype(np.float16)
    order = np.array([i + 8 * j for i in range(8) for j in range(8)])  # Marlin's _scale_perm
    parts = {
        "awq_128": (awq(weights), awq(zeros), scales),
        "gptq_128": (gptq(weights), words_of(zeros - 1, 4), scales),
        "marlin_128": (PACKERS["marlin"](weights), scales.reshape(-1, 64)[:, order]),
    }  # fmt: skip
    zero = np.full_like(zeros, 8) if name == "marlin_128" else zeros
    wanted = (weights - zero.repeat(128, 0)) * scales.astype(np.float32).repeat(128, 0)
    record = ml.record(name).at(G=2, N=columns // (64 if name == "marlin_128" else 8))
    assert (
        record.decode(b"".join(x.tobytes() for x in parts[name]))[0] == wanted.astype(np.float32)
    ).all()


def test_tensor_core_tiles_are_those_of_pytorch() -> None:
    """PyTorch's matrix_to_m16n8k16_Bint4_layout, lane by lane."""
    random = np.random.default_rng(3)
    weights = random.integers(0, 16, (16, 256))
    words = np.zeros((2, 2, 32, 4), np.uint32)
    for n, outer, lane, pair in product(range(2), range(2), range(32), range(4)):
        start = (outer * 8 + 2 * pair) * 16 + lane % 4 * 2
        ks = [start + 16 * tile + step for tile in (0, 1) for step in (0, 1, 8, 9)]
        for shift, k in zip((0, 16, 4, 20, 8, 24, 12, 28), ks, strict=True):
            words[n, outer, lane, pair] |= np.uint32(int(weights[8 * n + lane // 4, k]) << shift)
    record = ml.record("torchao_int4").at(N=2, K=2)
    assert (record.unpack(words.tobytes())["packed"][0] == weights).all()


@pytest.mark.parametrize(
    ("name", "head", "count"), [("q8_1", "<ee32b", 32), ("q8_K", "<f256b16h", 256)]
)
def test_blocks_that_are_never_stored_are_read_by_their_struct(
    name: str, head: str, count: int
) -> None:
    """By ggml's struct: a scale, the weights, and their sums."""
    record, random = ml.record(name), Random(8)
    weights = [random.randrange(-128, 128) for _ in range(count)]
    scale = random.choice([0.5, 0.25, -2.0])
    more = [1.5] if name == "q8_1" else []
    sums = [random.randrange(-999, 999) for _ in range(16)] if name == "q8_K" else []
    data = struct.pack(head, scale, *more, *weights, *sums)
    assert len(data) == int(record.bits) // 8
    assert record.decode(data)[0].tolist() == [scale * w for w in weights]
    assert record.unpack(data).get("bsums", np.array([sums])).tolist() == [sums]


@pytest.mark.parametrize("text", ["bf16[8,64]", "u4[8,64]", "NHWC", "f32[4]", "f4e2m1fn[2,3]"])
def test_layouts_are_not_taken_for_records(text: str) -> None:
    assert "layout" in str(ml.explain(text, (1, 2, 3, 4) if text == "NHWC" else None)).lower()


def test_names_are_known_in_any_case() -> None:
    for one in formats():
        assert ml.record(one.upper()) == ml.record(one) == ml.record(one.lower())
    assert str(ml.explain("Q4_K")) == str(ml.explain("q4_K"))


# ---- code that writes numbers

WRITTEN = "r: 9 bytes { a: u3[8] at byte 0; b: s12[3] at bit 24; c: u8 at byte 8; d: u4 at bit 60 }"


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler was found")
def test_numbers_are_written_beside_their_neighbours(tmp_path: Path) -> None:
    record = ml.record(WRITTEN)
    text = record.code("c", stores=True).replace("static inline", "")
    assert "out[8] = (uint8_t)(x);" in text  # a whole byte is not read first
    own = compiled(text, "c", tmp_path)
    random = np.random.default_rng(4)
    data = np.frombuffer(random.bytes(9), np.uint8).copy()
    python: dict[str, Any] = {}
    exec(record.code("python", stores=True), python)
    for _ in range(300):
        numbers = record.unpack(data)
        name, (low, high) = list({"a": (0, 8), "b": (-2048, 2048), "c": (0, 256), "d": (0, 16)}
                                 .items())[random.integers(4)]  # fmt: skip
        at, value = (
            [int(random.integers(n)) for n in record[name].shape],
            random.integers(low, high),
        )
        numbers[name][(0, *at)] = value
        copy = bytearray(data.tobytes())
        getattr(own, f"r_set_{name}")(data.ctypes.data_as(ctypes.c_void_p), *at, int(value))
        python[f"r_set_{name}"](copy, *at, int(value))
        assert data.tobytes() == bytes(copy) == record.pack(numbers).tobytes()
        assert getattr(own, f"r_{name}")(bytes(data), *at) == value
        assert python[f"r_{name}"](bytes(data), *at) == value


@pytest.mark.parametrize("seed", range(3))
def test_functions_read_and_write_random_fields(seed: int, tmp_path: Path) -> None:
    random, sources = Random(seed), list[str]()
    records: list[Record] = []
    while len(records) < 8:
        record = drawn(random)
        if record.check().holds:
            records.append(replace(record, name=f"r{len(records)}", blocks=()))
    for record in records:
        sources.append(record.code("c", stores=True).replace("static inline", ""))
    own = compiled("\n".join(sources), "c", tmp_path) if shutil.which("cc") else None
    for record in records:
        python: dict[str, Any] = {}
        exec(record.code("python", stores=True), python)
        data = random.randbytes(int(record.byte_size))
        numbers, empty = record.unpack(data), bytearray(len(data))
        written = np.zeros(len(data), np.uint8)
        for name, array in numbers.items():
            for at, value in np.ndenumerate(array[0]):
                assert python[f"{record.name}_{name}"](data, *at) == value
                python[f"{record.name}_set_{name}"](empty, *at, int(value))
                if own is not None:
                    assert getattr(own, f"{record.name}_{name}")(data, *at) == value
                    to = written.ctypes.data_as(ctypes.c_void_p)
                    getattr(own, f"{record.name}_set_{name}")(to, *at, int(value))
        assert bytes(empty) == record.pack(numbers).tobytes()
        assert own is None or bytes(written) == bytes(empty)
