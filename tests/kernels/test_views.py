"""Kernels between views and chains of views, judged by NumPy's own indexing."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.outputs.kernels import Kernel
from morello_layouts.outputs.kernels.elementwise import PLAIN
from morello_layouts.outputs.kernels.emit_c import c_file
from morello_layouts.outputs.kernels.plan import plan_kernel
from tests.support import cuda_host
from tests.support.kernel_runs import QUICK, library_of, need, run_at
from tests.support.moves import Moved, random_move
from tests.support.tables import each_row


def run_python(move: Moved, fill: Any, before: np.ndarray, buffer: np.ndarray) -> np.ndarray:
    names: dict[str, Any] = {}
    text = ml.relayout(move.source, move.target).kernel("python", "int32", fill=fill)
    exec(text, names)
    found: np.ndarray = names["relayout"](buffer, before.copy())
    return found


def check(move: Moved) -> None:
    buffer = np.arange(move.source.size, dtype=np.int32) + 1000
    before = -np.arange(move.target.size, dtype=np.int32) - 1
    right = move.expected(buffer, before)
    assert (run_python(move, None, before, buffer) == right).all(), move.told
    filled = move.expected(buffer, np.full_like(before, 7))
    assert (run_python(move, 7, before, buffer) == filled).all(), move.told


def test_random_views_are_moved() -> None:
    for seed in range(30):
        check(random_move(seed))


@pytest.mark.slow
def test_many_random_views_are_moved() -> None:
    for seed in range(1000, 1200):
        check(random_move(seed))


@pytest.mark.slow
@each_row("stream_from", [0, 1 << 60])
def test_views_in_c(stream_from: int, tmp_path: Path) -> None:
    """One library; sources end where memory ends, and what lies beside targets stays."""
    need("gcc")
    moves = [random_move(seed) for seed in range(2000, 2060)] + plain_moves()
    fills = [None if k % 2 else b"\7\7\7\7" for k in range(len(moves))]
    recipes = [(move.source.recipe, move.target.recipe) for move in moves]
    kernels = [
        Kernel(*pair, 4, fill, f"k{k}")
        for k, (pair, fill) in enumerate(zip(recipes, fills, strict=True))
    ]
    files = [c_file(kernel, stream_from) for kernel in kernels]
    strict = "-fsanitize=pointer-overflow", "-fsanitize-undefined-trap-on-error"
    library = library_of(files, tmp_path, "gcc", *QUICK, *strict)
    for k, (move, fill) in enumerate(zip(moves, fills, strict=True)):
        source = np.arange(move.source.size, dtype=np.uint32) + 1000
        rest = np.frombuffer(fill or b"\xaa" * 4, np.uint32)[0]
        expected = move.expected(source, np.full(move.target.size, rest))
        run_at(getattr(library, f"k{k}"), source, expected)


def plain_moves() -> list[Moved]:
    """Moves of formulas without digits, whose parts may be negative."""
    found = []
    for text in ("(d0 + d1 + 5)//2 + 100*d0 - 2", "((9 - d0) + (9 - d1))//2 + 26 - 2*d0"):
        source = ml.index_map(ml.from_sympy({"shape": (8, 8)}, text))
        target = ml.index_map("[0, 1]", (8, 8))
        at = np.indices((8, 8))
        found.append(Moved(source, target, source(*at), target(*at), text))
    return found


@pytest.mark.slow
def test_views_in_cuda(tmp_path: Path) -> None:
    need("g++")
    moves = [random_move(seed) for seed in range(3000, 3014)] + plain_moves()
    turned = ml.relayout("u32[64,64]{1,0}", "{0,1}").kernel("cuda", name="turned")  # uses barriers
    texts = [
        turned,
        *(
            ml.relayout(m.source, m.target).kernel("cuda", "uint32", fill=7, name=f"k{k}")
            for k, m in enumerate(moves)
        ),
    ]
    loaded = cuda_host.library(texts, tmp_path)
    for k, move in enumerate(moves):
        source = np.arange(move.source.size, dtype=np.uint32) + 1000
        found = np.zeros(move.target.size, np.uint32)
        function = getattr(loaded, f"k{k}")
        function.argtypes = (ctypes.c_void_p,) * 3
        function(found.ctypes.data, source.ctypes.data, None)
        assert (found == move.expected(source, np.full_like(found, 7))).all(), move.told


@pytest.mark.slow
def test_parts_of_the_work_make_the_whole(tmp_path: Path) -> None:
    """Shares of three threads, phase by phase, also where the padding is filled before."""
    need("gcc")
    moves = [random_move(seed) for seed in range(4000, 4040)]
    kernels = [
        Kernel(m.source.recipe, m.target.recipe, 4, b"\7\7\7\7", f"k{k}")
        for k, m in enumerate(moves)
    ]
    files = [c_file(kernel, share=True) for kernel in kernels]
    library = library_of(files, tmp_path, "gcc", *QUICK)
    assert any(plan_kernel(kernel).fills_first for kernel in kernels)
    for k, (move, file) in enumerate(zip(moves, files, strict=True)):
        source = np.arange(move.source.size, dtype=np.uint32) + 1000
        found = np.zeros(move.target.size, np.uint32)
        addresses = (ctypes.c_void_p(x.ctypes.data) for x in (found, source))
        call = partial(getattr(library, f"k{k}"), *addresses)
        for phase in range(len(file.phases)):
            for part in (2, 0, 1):
                call(*map(ctypes.c_size_t, (part, 3, phase)))
        rest = np.full_like(found, 0x07070707)
        assert (found == move.expected(source, rest)).all(), move.told


def test_what_lies_beside_a_view_stays() -> None:
    whole = ml.index_map("f32[6,8]{1,0:T(4,4)}")
    for target, fill in ((whole[1:5, ::-2], -1), (whole[2:4].view(transpose=(1, 0)), -1)):
        n, m = target.shape
        source = ml.index_map(f"f32[{n},{m}]")
        out = np.full(whole.size, -1, np.float32)
        move = ml.relayout(source, target).compile()
        array = np.arange(n * m, dtype=np.float32).reshape(n, m)
        move(array.reshape(-1), out)
        at = target(*np.indices((n, m)))
        assert (out[at] == array).all()
        assert np.count_nonzero(out == fill) == whole.size - n * m
    padded = ml.relayout("f32[4,6]", whole[1:5, 1:7]).compile(fill=0)(np.ones(24, np.float32))
    assert (ml.unpack(whole, padded) == np.pad(np.ones((4, 6)), 1)).all()


SYMBOLIC = {
    "a slice": lambda m: m[2:6],
    "from within a tile": lambda m: m[3:"K + 3", 1:"L + 1"],
    "every third": lambda m: m["i":"i + 7":3],
    "a tile": lambda m: m["4*i":"4*i + 4", "4*j":"4*j + 4"],
    "backwards": lambda m: m[::-1],
    "a row backwards": lambda m: m[3, None, ::-1],
}
SIZES = (
    {"M": 13, "N": 18, "K": 1, "L": 1, "i": 0, "j": 0},
    {"M": 13, "N": 18, "K": 10, "L": 17, "i": 1, "j": 3},
    {"M": 20, "N": 9, "K": 9, "L": 8, "i": 3, "j": 1},
)


def at_sizes(view: Any, buffers: tuple[str, str], move: Callable[..., Any]) -> None:
    """Compare a move from or to a view with NumPy's, at several sizes."""
    for sizes in SIZES:
        own = view.at(**{name: sizes[name] for name in view.recipe.names})
        offsets = own(*np.indices(own.shape))
        rows = np.arange(offsets.size, dtype=np.int32) + 100
        whole = np.arange(own.size, dtype=np.int32) + 1000
        given = {name: sizes[name] for name in view.recipe.names}
        if buffers[0] == "view":
            found = move(whole, np.zeros_like(rows), **given)
            assert (whole[offsets] == found.reshape(own.shape[::-1]).T).all(), sizes
        else:
            found = move(rows, whole.copy(), **given)
            whole[offsets.T] = rows.reshape(own.shape[::-1])
            assert (found == whole).all(), sizes


@each_row("name", SYMBOLIC)
def test_symbolic_sizes(name: str) -> None:
    view = SYMBOLIC[name](ml.index_map("f32[M,N]{1,0:T(4,4)}"))
    columns = ml.index_map("{0,1}", view.shape)
    for pair, buffers in (((view, columns), ("view", "")), ((columns, view), ("", "view"))):
        names: dict[str, Any] = {}
        exec(ml.relayout(*pair).kernel("python", "int32", fill=None), names)
        at_sizes(view, buffers, names["relayout"])


@pytest.mark.slow
@each_row("name", ["from within a tile", "a tile"])
def test_symbolic_sizes_in_c(name: str) -> None:
    need("gcc")
    view = SYMBOLIC[name](ml.index_map("f32[M,N]{1,0:T(4,4)}"))
    columns = ml.index_map("{0,1}", view.shape)
    at_sizes(view, ("view", ""), ml.relayout(view, columns).compile("int32"))
    at_sizes(view, ("", "view"), ml.relayout(columns, view).compile("int32"))


def test_the_text_says_which_loops_it_has() -> None:
    m = ml.index_map("f32[24,24]{1,0:T(3,3)}")
    tiled = ml.index_map("f32[24,24]{1,0:T(8,8)}")
    joined = ml.from_sympy({"shape": (24, 24)}, "(d0 + d1)//2 + 100*d0")
    for language in ("c", "cuda", "python"):
        assert PLAIN not in ml.relayout(m[3:], m[:21]).kernel(language, "f32")
        assert PLAIN in ml.relayout(joined, tiled).kernel(language, "f32")
