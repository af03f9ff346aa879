"""Kernels in Triton: run over NumPy as its language defines them, and taken by its compiler."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from tests.support.tables import each_row

CASES = [
    ("f32[70,200]{1,0}", "f32[70,200]{0,1:T(8,128)}", None),
    ("f32[3,17,40]{2,1,0}", "f32[3,17,40]{0,2,1}", None),
    ("NCHW", "nChw16c", (2, 20, 5, 7)),
    ("[1, 0]", "Sw<3,3,3> o 0 o (64,64):(64,1)", (64, 64)),
    ("strided<[-40, 1], offset: 360>", "[0, 1]", (10, 40)),
    ("(d0, d1) -> (d1, d0)", "nz", (33, 50)),
    ("row-major", "column-major", (0, 4)),
]


class Pointers:
    """Places of a buffer; real ones know their type."""

    def __init__(self, data: np.ndarray, at: Any = 0) -> None:
        self.data, self.at = data, at
        self.dtype = SimpleNamespace(element_ty=data.dtype)

    def __add__(self, offset: Any) -> Pointers:
        return Pointers(self.data, self.at + offset)


class Values(np.ndarray):
    """An array that ``to`` turns into another type of the same bits."""

    def to(self, dtype: Any, *, bitcast: bool) -> np.ndarray:
        assert bitcast
        return np.asarray(self).view(dtype)


class Language(ModuleType):
    """The functions of ``triton.language`` that kernels call."""

    int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
    program = 0

    def program_id(self, axis: int) -> np.int32:
        assert axis == 0
        return np.int32(self.program)

    @staticmethod
    def arange(start: int, end: int) -> np.ndarray:
        assert end - start & (end - start - 1) == 0
        return np.arange(start, end, dtype=np.int32)

    @staticmethod
    def cast(value: Any, kind: Any) -> Any:
        return kind(value)

    @staticmethod
    def full(shape: list[int], value: int, kind: Any) -> np.ndarray:
        return np.full(shape, value, kind).view(Values)

    @staticmethod
    def load(places: Pointers, mask: np.ndarray) -> np.ndarray:
        at = np.broadcast_to(places.at, mask.shape)
        assert ((at >= 0) & (at < places.data.size))[mask].all()
        return places.data[np.where(mask, at, 0)]

    @staticmethod
    def store(places: Pointers, values: np.ndarray, mask: np.ndarray) -> None:
        at = np.broadcast_to(places.at, mask.shape)
        assert ((at >= 0) & (at < places.data.size))[mask].all()
        places.data[at[mask]] = np.broadcast_to(values, mask.shape)[mask]


class Program:
    """A kernel, which runs its programs one after the other."""

    def __init__(self, run: Callable[..., None]) -> None:
        self.run = run

    def __getitem__(self, grid: tuple[int]) -> Callable[..., None]:
        def launch(*arguments: np.ndarray | int) -> None:
            for program in range(*grid):
                Language.program = program
                self.run(*(x if isinstance(x, int) else Pointers(x) for x in arguments))

        return launch


def module_of(text: str, path: Path) -> Any:
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


NAMED = [
    ("f32[M,N]{1,0}", "f32[M,N]{0,1:T(8,128)}", {"M": 70, "N": 200}),
    ("f32[x,i]{1,0}", "f32[x,i]{0,1}", {"x": 5, "i": 33}),
    ("f32[M,N]{1,0:T(8,128)}", "f32[M,N]{1,0}", {"M": 8, "N": 128}),
    ("f32[M,N]{1,0:T(8,128)}", "f32[M,N]{1,0:T(3,5)}", {"M": 9, "N": 131}),
    ("f32[M,64]{1,0}", "Sw<3,3,3> o 0 o (M,64):(64,1)", {"M": 30}),
    ("f32[lambda,source]{1,0:T(8,128)}", "f32[lambda,source]{0,1}", {"lambda": 9, "source": 70}),
    ("f32[relayout_part0,4]{1,0}", "f32[relayout_part0,4]{0,1}", {"relayout_part0": 30}),
    ("f32[target,64]{1,0}", "Sw<3,3,3> o 0 o (target,64):(64,1)", {"target": 30}),
]


@each_row("source, target, sizes", [*((*one[:2], one[2] or {}) for one in CASES), *NAMED])
def test_kernels_move_what_the_layouts_say(
    source: str, target: str, sizes: tuple[int, ...] | dict[str, int]
) -> None:
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        triton, language = ModuleType("triton"), Language("triton.language")
        triton.jit, triton.language = Program, language
        patch.setitem(sys.modules, "triton", triton)
        patch.setitem(sys.modules, "triton.language", language)
        names = [sizes[name] for name in sorted(sizes)] if isinstance(sizes, dict) else []
        made = ml.relayout(source, target, None if isinstance(sizes, dict) else sizes)
        found = made
        if isinstance(sizes, dict) and sizes:
            found = ml.relayout(*(m.at(**sizes) for m in (made.source, made.target)))
        for fill in (0, 7, None):
            path = Path(folder, "kernel.py")
            module = module_of(made.kernel("triton", "float32", fill=fill), path)
            given = np.arange(found.source.size, dtype=np.float32)
            moved = np.full(found.target.size, -1, np.float32)
            wanted = moved.copy() if fill is None else np.full_like(moved, fill)
            at = np.indices(found.source.shape)
            wanted[np.asarray(found.target(*at))] = given[np.asarray(found.source(*at))]
            module.relayout(moved, given, *names)
            assert (moved == wanted).all(), (source, target, fill)


@pytest.mark.filterwarnings("ignore")
def test_triton_compiles_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    triton = pytest.importorskip("triton", reason="triton is not installed")
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    for k, (source, target, sizes) in enumerate([*CASES, *NAMED]):
        shape = None if isinstance(sizes, dict) else sizes
        text = ml.relayout(source, target, shape).kernel("triton", "float32", fill=7)
        module = module_of(text, tmp_path / f"kernel{k}.py")
        for name in [name for name in vars(module) if "_part" in name]:
            part = getattr(module, name)
            types = {"target": "*fp32", "source": "*fp32"}
            types |= {v: "i32" for v in part.arg_names if v not in types}
            program = ASTSource(part, signature=types, constexprs={})
            assert "ptx" in triton.compile(program, target=GPUTarget("cuda", 80, 32)).asm


def test_what_a_kernel_of_triton_lacks() -> None:
    with pytest.raises(ml.UnsupportedError, match="16 bytes"):
        ml.relayout("[0, 1]", "[1, 0]", (4, 8)).kernel("triton", "complex128")
    with pytest.raises(ml.LayoutError, match="name"):
        ml.relayout("[0, 1]", "[1, 0]", (4, 8)).kernel("triton", "float32", name="x_part0")


def test_offsets_past_32_bits_have_64() -> None:
    text = ml.relayout("[0, 1]", "[1, 0]", (1 << 16, 1 << 16)).kernel("triton", "float32")
    assert "tl.cast(tl.program_id(0), tl.int64)" in text
