"""Nests in each language, run: Python by itself, MLIR by an interpreter, Triton over NumPy."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.outputs.codegen.targets import loop_languages
from tests.support import mlir_loops
from tests.support.loop_cases import Case, random_cases
from tests.support.mlir_bindings import mlir
from tests.support.tables import each_row

CASES = list(random_cases(20, 11))
SWIZZLED = ml.from_sympy({"i": 16, "j": 64}, "64*i + 8*((i%8) ^ (j//8)) + j%8")


def namespace(pointer: Any) -> dict[str, Any]:
    """Triton's language over NumPy: a block of pointers is an array of offsets."""
    language = SimpleNamespace(
        arange=np.arange,
        cast=np.asarray,
        int64=np.int64,
        int32=np.int32,
        load=lambda at, mask: np.extract(
            np.broadcast_to(True if mask is None else mask, np.shape(at)), at
        ),
    )
    return {"tl": language, "x": pointer}


@each_row("case", CASES, ids=str)
def test_python(case: Case) -> None:
    text = case.nest("out.append({x})").code("python", function=True, arguments="out")
    scope: dict[str, Any] = {}
    exec(text, scope)
    out: list[int] = []
    scope["nest"](out, **case.sizes)
    assert out == list(case.expected()[1])


def test_an_offset_is_one_operand_wherever_it_stands() -> None:
    body = "out.append((numbers[{x}], numbers[{x}*2], numbers[2*{x}], [{x}, 0][0], -{x}))"
    nest = ml.loops({"x": "f32[4,5]{1,0}"}, body=body)
    out: list[tuple[int, ...]] = []
    exec(nest.code("python"), {"out": out, "numbers": range(99)})
    assert out == [(x, 2 * x, 2 * x, x, -x) for x in range(20)]


@each_row("case", CASES, ids=str)
def test_mlir(case: Case) -> None:
    text = case.nest("visit {x}").code("mlir")
    assert mlir_loops.run(text, case.sizes, "visit") == list(case.expected()[1])


@each_row("case", CASES, ids=str)
def test_triton_loads_each_element_once(case: Case) -> None:
    nest = case.nest("out.extend(tl.load(x + {x}, mask={mask}).ravel())")
    if any(not isinstance(axis.size, int) for axis in nest.axes[-2:]):
        with pytest.raises(ml.UnsupportedError, match="number of turns"):
            nest.code("triton")
        return
    out: list[int] = []
    exec(nest.code("triton"), namespace(0) | {"out": out} | case.sizes)
    assert sorted(out) == sorted(case.expected()[1])


@each_row("name", ["c", "c_", "t", "cn", "t0"])
def test_constants_of_mlir_have_names_of_their_own(name: str) -> None:
    maps = {name: "f32[20,30]{1,0:T(8,16)}", "b": "f32[20,30]{0,1}"}
    nest = ml.loops(maps, tile={"d0": 4}, edges="guards", body=f"visit {{{name}}}")
    found = mlir_loops.run(nest.code("mlir"), {}, "visit")
    assert found == [offsets[name] for _, offsets in nest]


@each_row(
    "language, element, argument",
    [
        ("c", "f32", "float *b"),
        ("c", "f64", "double *b"),
        ("c", "bf16", "uint16_t *b"),
        ("cuda", "s8", "int8_t *b"),
        ("rust", "u16", "b: &mut [u16]"),
        ("rust", "f64", "b: &mut [f64]"),
        ("mlir", "bf16", "%b: memref<?xbf16>"),
        ("mlir", "f8e4m3fn", "%b: memref<?xi8>"),
        ("python", "bf16", "nest(a, b)"),
    ],
)
def test_arguments_have_the_types_of_elements(language: str, element: str, argument: str) -> None:
    maps = {"a": f"{element}[4,6]", "b": f"{element}[4,6]{{0,1}}"}
    assert argument in ml.loops(maps).code(language, function=True)


def test_exclusive_ors_in_mlir() -> None:
    nest = ml.loops(SWIZZLED, order=("j", "i"), body="visit {x}")
    wanted = [SWIZZLED(i, j) for j in range(64) for i in range(16)]
    digits = sorted(range(len(wanted)), key=lambda k: (k // 16 // 8, k // 16 % 8, k % 16))
    assert mlir_loops.run(nest.code("mlir"), {}, "visit") == [wanted[k] for k in digits]


def test_mlir_itself_reads_the_text() -> None:
    ir = mlir()
    with ir.Context():
        for case in CASES:
            module = ir.Module.parse(case.nest().code("mlir", function=True))
            assert module.operation.verify()


CUDA_HOST = """\
#include <cstdint>
#include <cstdio>
#define __global__
struct Index { unsigned x, y; } blockIdx;
"""


@pytest.mark.slow
def test_cuda_takes_the_indices_of_blocks(tmp_path: Path) -> None:
    m = ml.index_map("f32[20,300]{1,0:T(8,128)}").named("i", "j")
    nest = ml.loops(m, body='printf("%u\\n", (unsigned)({x}));')
    given = {"i0": "blockIdx.y", "j0": "blockIdx.x"}
    text = nest.code("cuda", function=True, indices=given).replace("const float", "float")
    calls = "for (blockIdx.y = 0; blockIdx.y < 4; ++blockIdx.y)"
    calls += " for (blockIdx.x = 0; blockIdx.x < 5; ++blockIdx.x) nest(nullptr);"
    source = tmp_path / "nest.cpp"
    source.write_text(f"{CUDA_HOST}{text}\nint main() {{ {calls} }}\n", encoding="utf-8")
    command = ["g++", "-fsanitize=undefined", str(source), "-o", str(tmp_path / "nest")]
    subprocess.run(command, check=True, capture_output=True)
    output = subprocess.run([str(tmp_path / "nest")], check=True, capture_output=True, text=True)
    assert sorted(map(int, output.stdout.split())) == sorted(
        m(i, j) for i in range(20) for j in range(300)
    )


@each_row("language", loop_languages())
def test_a_reserved_word_is_no_name(language: str) -> None:
    word = min(filter(str.isalpha, loop_languages()[language].reserved))
    nest = ml.loops("f32[6,8]{1,0}", names=(word, "j"))
    with pytest.raises(ml.LayoutError, match="is not a name in"):
        nest.code(language)


@each_row("size", ["i1_end", "self"])
def test_a_size_may_be_called_as_the_end_of_a_loop_would_be(size: str) -> None:
    m = ml.index_map(f"f32[{size},20]{{1,0:T(8,4)}}", names=("i", "j"))
    nest = ml.loops({"a": m}, body="visit({a})")
    wanted = [offsets["a"] for _, offsets in nest(**{size: 19})]
    found: list[int] = []
    exec(nest.code("python"), {"visit": found.append, size: 19})
    assert (
        wanted
        == found
        == mlir_loops.run(ml.loops({"a": m}, body="visit {a}").code("mlir"), {size: 19}, "visit")
    )


def test_triton_as_a_module() -> None:
    text = ml.loops("f32[20,30]{1,0:T(8,128)}").code("triton", function=True)
    assert text.startswith("import triton\nimport triton.language as tl\n")
    compile(text, "nest", "exec")


def test_a_mask_has_the_dimensions_of_the_pointers() -> None:
    maps = {
        "a": ml.index_map("f32[5,6]{1,0}", names=("i", "k")),
        "b": ml.index_map("f32[6,7]{1,0}", names=("k", "j")),
        "c": ml.index_map("f32[5,7]{1,0}", names=("i", "j")),
    }
    text = ml.loops(maps, order=("k", "i", "j")).code("triton")
    assert [line.strip() for line in text.splitlines() if "mask" in line] == [
        "mask = (i < 5) & (j < 7)",
        "mask_a = (i < 5)",
        "mask_b = (j < 7)",
        "a_values = tl.load(a + a2, mask=mask_a)",
        "b_values = tl.load(b + (b1 + j), mask=mask_b)",
        "c_values = tl.load(c + (c2 + j), mask=mask)",
    ]


@each_row("size", [1, 3, 7, 8, 13, 17, 22, 24])
@each_row("tile", [4, 6, 8])
def test_arrays_of_blocks_are_loaded_within_their_bounds(size: int, tile: int) -> None:
    """Where an array has one value for many elements, its mask has one for them, too."""
    formulas = {"a": "3*i + j", "s": "i//4", "t": "i%4", "u": "i//8*3 + j", "v": "i//16"}
    maps = {name: ml.from_sympy({"i": size, "j": 3}, text) for name, text in formulas.items()}
    loaded: dict[str, set[int]] = {name: set() for name in maps}

    def load(pointers: Any, mask: Any) -> None:
        within = np.broadcast_to(True if mask is None else mask, np.shape(pointers))
        for array, at in zip(*divmod(np.extract(within, pointers), 1000), strict=True):
            loaded["astuv"[array]].add(at)

    scope = namespace(0) | {name: 1000 * k for k, name in enumerate(maps)}
    scope["tl"].load = load
    for order in (("i", "j"), ("j", "i")):
        for found in loaded.values():
            found.clear()
        exec(ml.loops(maps, tile={"i": tile}, order=order).code("triton"), scope)
        elements = [(i, j) for i in range(size) for j in range(3)]
        assert loaded == {name: {m(*at) for at in elements} for name, m in maps.items()}


def test_blocks_without_elements_touch_no_array() -> None:
    empty = [ml.index_map(f"f32[5,0]{{{order}}}", names=("i", "j")) for order in ("1,0", "0,1")]
    text = ml.loops(dict(zip("ab", empty, strict=True))).code("triton")
    masks = [line for line in text.splitlines() if line.startswith("mask")]
    assert masks == ["mask_a = False", "mask_b = False"]


@each_row(
    "size, operand, counters",
    [
        ("L", "3*d0", ["uint32_t r0 = 0;", "uint64_t q0 = 0;"]),
        (2**33, "3*d0 + 5", ["uint32_t r0 = 1;", "uint64_t q0 = 0;"]),
        (2**20, "3*d0 + 5", ["uint32_t r0 = 1;", "uint32_t q0 = 0;"]),
    ],
)
def test_counters_hold_all_that_they_count(size: Any, operand: str, counters: list[str]) -> None:
    m = ml.from_sympy((size,), f"7*(({operand})//4) + ({operand})%4")
    lines = [line.strip() for line in ml.loops(m).code().splitlines()]
    assert [line for line in lines if line.startswith("uint")] == counters


def test_a_factor_of_unknown_sign_has_no_name_of_a_size() -> None:
    nest = ml.loops(ml.from_sympy(("L",), "(9*L - 12)*d0"))
    assert "as u64" not in nest.code("rust")
    assert ml.loops(ml.from_sympy(("L",), "(9*L + 12)*d0")).code("rust").startswith("let x_d0: u64")
