"""Whole programs from nests, compiled and compared with NumPy: a product, a convolution, a move."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import morello_layouts as ml
from morello_layouts.outputs.loop_nests import LoopNest
from tests.support.tables import each_row


def product(**tile: int) -> LoopNest:
    """C += A·B, with B in panels of 16 columns."""
    maps = {
        "a": ml.index_map("f32[M,K]{1,0}", names=("i", "k")),
        "b": ml.index_map("[1, 0, 1 p(16)]", ("K", "N"), assuming="N % 16 == 0", names=("k", "j")),
        "c": ml.index_map("f32[M,N]{1,0}", assuming="N % 16 == 0", names=("i", "j")),
    }
    order = ("i0", "j0", "i1", "k", "j1") if tile else ("i", "j0", "k", "j1")
    body = "c[{c}] += a[{a}] * b[{b}];"
    return ml.loops(maps, order=order, tile=tile, edges="peel", body=body)


def convolution() -> LoopNest:
    """A convolution of an image by windows of it, no copy of which is made."""
    image = ml.index_map("f32[2,9,8,5]{3,2,1,0}", names=("n", "y", "x", "c"))
    windows = image.view(windows={1: 3, 2: (3, 2)}).named("n", "y", "x", "c", "dy", "dx")
    maps = {
        "image": windows,
        "weight": ml.index_map("f32[3,3,5,16]{3,2,1,0}", names=("dy", "dx", "c", "o")),
        "out": ml.index_map("f32[2,7,3,16]{3,2,1,0}", names=("n", "y", "x", "o")),
    }
    body = "out[{out}] += image[{image}] * weight[{weight}];"
    return ml.loops(maps, order=("n", "y", "x", "dy", "dx", "c", "o"), body=body)


def transposition(edges: Any) -> LoopNest:
    """A transposition from tiles to tiles, which writes in order."""
    maps = {
        "a": ml.index_map("f32[M,N]{1,0:T(8,128)}", names=("i", "j")),
        "b": ml.index_map("f32[N,M]{1,0:T(8,128)}", names=("j", "i")),
    }
    return ml.loops(maps, of="b", edges=edges)


def compiled(nest: LoopNest, place: Path) -> ctypes.CDLL:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc is installed")
    source, library = place / "nest.c", place / "nest.so"
    text = nest.code("c", function=True).replace("static void", "void")
    source.write_text(text, encoding="utf-8")
    command = ["gcc", "-std=c11", "-O2", "-Wall", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*command, str(source), "-o", str(library)], check=True, capture_output=True)
    return ctypes.CDLL(str(library))


def call(nest: LoopNest, place: Path, *arrays: NDArray[np.float32], **sizes: int) -> None:
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    numbers = [ctypes.c_uint64(sizes[name]) for name in sorted(sizes)]
    compiled(nest, place).nest(*pointers, *numbers)


def integers(*shape: int) -> NDArray[np.float32]:
    return np.random.default_rng(sum(shape)).integers(-9, 9, shape).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("tile", [{}, {"i": 4}])
def test_a_product_with_a_packed_matrix(tile: dict[str, int], tmp_path: Path) -> None:
    nest = product(**tile)
    a, b, c = integers(7, 5), integers(5, 48), np.zeros((7, 48), np.float32)
    call(nest, tmp_path, a, ml.pack("[1, 0, 1 p(16)]", b), c, M=7, N=48, K=5)
    assert np.array_equal(c, a @ b)


@pytest.mark.slow
def test_a_convolution_by_windows(tmp_path: Path) -> None:
    image, weight = integers(2, 9, 8, 5), integers(3, 3, 5, 16)
    out = np.zeros((2, 7, 3, 16), np.float32)
    call(convolution(), tmp_path, image, weight, out)
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (1, 2))[:, :, ::2]
    assert np.array_equal(out, np.einsum("nyxcab,abco->nyxo", windows, weight))


@pytest.mark.slow
@pytest.mark.parametrize("edges", ["bounds", "peel"])
def test_a_transposition_between_tiled_layouts(edges: str, tmp_path: Path) -> None:
    x = integers(13, 200)
    a = ml.pack("f32[13,200]{1,0:T(8,128)}", x)
    b = np.zeros(ml.index_map("f32[200,13]{1,0:T(8,128)}").size, np.float32)
    call(transposition(edges), tmp_path, a, b, M=13, N=200)
    assert np.array_equal(ml.unpack("f32[200,13]{1,0:T(8,128)}", b), x.T)


NESTS = [product(), product(i=4), convolution(), transposition("bounds"), transposition("peel")]


@each_row("nest", NESTS, ids=range(len(NESTS)))
def test_each_is_proved_and_divides_nothing(nest: LoopNest) -> None:
    assert nest.verify().holds
    assert nest.costs.divisions == 0
