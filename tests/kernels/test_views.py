"""Kernels between views and chains of views, judged by NumPy's own indexing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.kernels import Kernel
from morello_layouts.kernels.c_loops import PLAIN
from morello_layouts.kernels.emit_c import c_file
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
    for seed in range(60):
        check(random_move(seed))


@pytest.mark.slow
def test_many_random_views_are_moved() -> None:
    for seed in range(1000, 1800):
        check(random_move(seed))


@pytest.mark.slow
@each_row("stream_from", [0, 1 << 60])
def test_views_in_c(stream_from: int, tmp_path: Path) -> None:
    """One library; sources end where memory ends, and what lies beside targets stays."""
    need("gcc")
    moves = [random_move(seed) for seed in range(2000, 2060)]
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
    "backwards": lambda m: m[::-1],
    "a transposed row": lambda m: m[3, None, ::-1],
}


@each_row("name", SYMBOLIC)
def test_symbolic_sizes(name: str) -> None:
    see = SYMBOLIC[name]
    m = ml.index_map("f32[M,N]{1,0:T(4,4)}")
    source = see(m)
    target = ml.index_map("{0,1}", source.shape)
    names: dict[str, Any] = {}
    exec(ml.relayout(source, target).kernel("python", "int32"), names)
    for rows, columns in ((7, 5), (8, 8), (9, 13)):
        at = {"M": rows, "N": columns}
        own = source.at(**{name: at[name] for name in source.recipe.names})
        buffer = np.arange(m.at(**at).size, dtype=np.int32)
        sizes = {n: at[n] for n in {*source.recipe.names, *target.recipe.names}}
        found = names["relayout"](buffer, **sizes)
        assert (buffer[own(*np.indices(own.shape))] == found.reshape(own.shape[::-1]).T).all()


def test_the_text_says_which_loops_it_has() -> None:
    m = ml.index_map("f32[24,24]{1,0:T(3,3)}")
    tiled = ml.index_map("f32[24,24]{1,0:T(8,8)}")
    joined = ml.from_sympy({"shape": (24, 24)}, "(d0 + d1)//2 + 100*d0")
    for language in ("c", "cuda", "python"):
        assert PLAIN not in ml.relayout(m[3:], m[:21]).kernel(language, "f32")
        assert PLAIN in ml.relayout(joined, tiled).kernel(language, "f32")
