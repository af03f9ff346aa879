"""Short calls: what the compiled call moves, what it leaves to Python, and what it keeps."""

from __future__ import annotations

import ctypes
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.outputs.kernels import build, compiled
from morello_layouts.outputs.kernels.compiled import CompiledRelayout
from tests.support.kernel_runs import need

TILED = "{1,0:T(2,4)}"


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    need("gcc")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MORELLO_LAYOUTS_CACHE", str(tmp_path_factory.mktemp("cache")))
        build._built.cache_clear()
        compiled._compiled.cache_clear()
        yield
    build._built.cache_clear()
    compiled._compiled.cache_clear()


@pytest.fixture(scope="module")
def turn() -> CompiledRelayout:
    found = ml.relayout("[0, 1]", "[1, 0]", (2, 3)).compile("int32")
    assert isinstance(found, CompiledRelayout)
    return found


X = np.arange(6, dtype=np.int32)


class Array(np.ndarray):
    """A subclass may mean something else by its attributes."""


class Pretender:
    """Not an array, whatever it says."""

    dtype = np.dtype("int32")
    __array_interface__ = X.__array_interface__


def test_plain_arrays_are_moved(turn: CompiledRelayout) -> None:
    out = np.zeros(6, np.int32)
    assert turn._quick(X, out) is True
    assert out.tolist() == [0, 3, 1, 4, 2, 5]
    assert str(turn).endswith("gcc")


def test_unusual_arrays_are_left_to_python(turn: CompiledRelayout) -> None:
    whole = np.arange(40, dtype=np.int32)
    unusual: list[tuple[Any, ...]] = [
        (),
        (X,),
        (X, np.zeros(6, np.int32), 1),
        (X, None),
        (X, [0] * 6),
        (list(X), np.zeros(6, np.int32)),
        (X, np.zeros(5, np.int32)),
        (X[:5], np.zeros(6, np.int32)),
        (X.reshape(2, 3), np.zeros(6, np.int32)),
        (X, np.zeros((6, 1), np.int32)),
        (X, np.zeros(12, np.int32)[::2]),
        (whole[::5][:6], np.zeros(6, np.int32)),
        (X, np.zeros(6, np.float32)),
        (X.astype(np.float32), np.zeros(6, np.int32)),
        (X.astype(">i4"), np.zeros(6, ">i4")),
        (X.astype(np.int64), np.zeros(6, np.int64)),
        (X.view(Array), np.zeros(6, np.int32)),
        (X, np.zeros(6, np.int32).view(Array)),
        (Pretender(), np.zeros(6, np.int32)),
        (X, np.frombuffer(bytes(24), np.int32)),
        (whole[:6], whole[:6]),
        (whole[5:11], whole[:6]),
        (whole[:6], whole[5:11]),
        (np.arange(6).astype("m8[s]"), np.zeros(6, "m8[s]")),
    ]
    wrong = []
    for given in unusual:
        before = [np.array(x) for x in given]
        done = turn._quick(*given)
        same = all((np.array(x) == y).all() for x, y in zip(given, before, strict=True))
        if done is not False or not same:
            wrong.append(given)
    assert not wrong
    assert turn._quick(whole[6:12], whole[:6]) is True, "neighbours share nothing"
    assert whole[:7].tolist() == [6, 9, 7, 10, 8, 11, 6]


def test_what_is_left_to_python_is_moved_too() -> None:
    """The types that have no buffer, or that are of another kind than the compiled type."""
    f = ml.relayout("[0, 1]", TILED, (2, 3)).compile("int64", fill=7)
    for kind in ("m8[s]", "M8[D]", "float64", ">i8", "V8"):
        x = np.arange(6, dtype=np.int64).view(kind)
        out = np.zeros(8, kind)
        assert f(x, out) is out
        assert out.tobytes() == f(np.arange(6)).tobytes()
        assert f(x).dtype == x.dtype


def test_calls_keep_nothing(turn: CompiledRelayout) -> None:
    out, view = np.zeros(6, np.int32), np.zeros(12, np.int32)[::2]
    held = (X, out, view, X.dtype, np.ndarray, True, False, turn._quick)
    before = [sys.getrefcount(x) for x in held]
    for _ in range(1000):
        turn._quick(X, out)
        turn._quick(X, view)
        turn._quick(X, 5)
    after = [sys.getrefcount(x) for x in held]
    assert all(abs(x - y) < 100 for x, y in zip(before, after, strict=True)), (before, after)


def test_kernels_with_sizes_fills_and_phases() -> None:
    x = np.arange(15, dtype=np.complex128).reshape(3, 5)
    for shape, sizes in (((3, 5), {}), (("M", "N"), {"M": 3, "N": 5})):
        for threads in (1, 2):
            for fill in (0, 3j):
                f = ml.relayout("[0, 1]", TILED, shape).compile(
                    "complex128", fill=fill, threads=threads
                )
                of_size = f.at(**sizes) if sizes else f
                expected = ml.pack(TILED, x, fill=fill)
                out = np.full_like(expected, 9)
                assert of_size._quick(x.reshape(-1), out) is True
                assert (out == expected).all()
                assert (f(x.reshape(-1), **sizes) == expected).all()


def test_shapes_and_sizes_of_calls_do_not_mix() -> None:
    """The source has N rows: the shape (3, 5) means N=3, and the sizes (3, 5) mean M=3."""
    f = ml.relayout("[0, 1]", "[1, 0]", ("N", "M")).compile("complex128")
    x = np.arange(15, dtype=np.complex128).reshape(3, 5)
    for _ in range(2):
        assert (f(x) == x.T.reshape(-1)).all()
        assert (f(x.reshape(-1), M=3, N=5) == x.reshape(5, 3).T.reshape(-1)).all()
        assert (f(x.reshape(5, 3)) == x.reshape(5, 3).T.reshape(-1)).all()
        assert (f(x.T) == x.reshape(-1)).all()


def test_calls_at_once() -> None:
    f = ml.relayout("[0, 1]", "[1, 0]", (300, 200)).compile("int32")
    arrays = [np.random.default_rng(k).integers(0, 99, (300, 200), np.int32) for k in range(4)]

    def run(x: np.ndarray) -> bool:
        out = np.zeros(60000, np.int32)
        return all((f(x.reshape(-1), out) == x.T.reshape(-1)).all() for _ in range(20))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, arrays))


def test_where_python_has_no_such_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "caller", dict.fromkeys([("gcc",)]).get)
    compiled._compiled.cache_clear()  # of functions that call otherwise
    f = ml.relayout("[0, 1]", "[1, 0]", (2, 3)).compile("int32")
    compiled._compiled.cache_clear()
    assert isinstance(f, CompiledRelayout)
    assert f._quick is build.slow
    assert str(f).endswith("gcc, called by ctypes")
    assert f(X, np.zeros(6, np.int32)).tolist() == [0, 3, 1, 4, 2, 5]


def test_a_relayout_that_was_sent(turn: CompiledRelayout) -> None:
    again = pickle.loads(pickle.dumps(turn))
    assert again == turn
    sent = pickle.loads(pickle.dumps(X))
    assert sent.dtype is not X.dtype
    for x in (X, sent):
        assert again._quick(x, np.zeros(6, np.int32)) is True


def test_the_raw_function(turn: CompiledRelayout) -> None:
    """Arrays are checked for the width and the number of items; addresses are taken as they are."""
    out = np.zeros(6, np.int32)
    assert turn.function is not None
    for to, of in (
        (out, X),
        (out.ctypes.data, X.ctypes.data),
        (out, X.ctypes.data_as(ctypes.c_void_p)),
    ):
        out[...] = 0
        turn.function(to, of)
        assert out.tolist() == [0, 3, 1, 4, 2, 5]
    read_only = np.frombuffer(bytes(24), np.int32)
    refused: list[tuple[str, Any, Any]] = [
        ("source", out, X.astype(np.int8)),
        ("source", out, X[:5]),
        ("source", out, np.arange(12, dtype=np.int32)[::2]),
        ("target", np.zeros(6, np.int64), X),
        ("target", read_only, X),
        ("source", out, np.array([None] * 6)),
    ]
    for name, to, of in refused:
        with pytest.raises(ml.LayoutError, match=f"{name}: expected 6 items of 4 bytes"):
            turn.function(to, of)


def test_types_named_by_bits_or_by_bytes() -> None:
    r = ml.relayout("[0, 1]", "[1, 0]", (2, 3))
    for name, wide in (("u2", "uint16"), ("u4", "uint32")):
        for make in (r.compile, lambda dtype: r.kernel("c", dtype)):
            with pytest.raises(ml.LayoutError, match=f"{name[1]} bytes in NumPy\n.*\n.*'{wide}'"):
                make(name)
        assert r.compile(np.dtype(name)).dtype == np.dtype(wide)
        assert ml.relayout(f"{name}[2,3]", "{0,1}").compile(name).dtype == np.uint8
        assert ml.relayout(f"{name}[2,3]", "{0,1}").compile().dtype == np.uint8


def test_a_row_major_array_is_taken_as_it_is() -> None:
    x = np.arange(60, dtype=np.float32).reshape(5, 12)
    f = ml.relayout("f32[5,12]{1,0}", "{0,1}").compile()
    assert f(x).tobytes() == f(x.reshape(-1)).tobytes() == x.T.tobytes()
    assert f(x[::-1]).tobytes() == x[::-1].T.tobytes()
    for other in (x.T, x[:, :6]):
        with pytest.raises(ml.ShapeError, match=r"expected the shape \(60,\)"):
            f(other)
    with pytest.raises(ml.ShapeError):  # its order is another one
        ml.relayout("f32[5,12]{0,1}", "{1,0}").compile()(x)
