"""Kernels that several threads share: what each part writes, and what comes out of all of them."""

from __future__ import annotations

import ctypes
import os
import queue
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.outputs.kernels import build, compiled, plan as workers
from morello_layouts.outputs.kernels.emit_c import c_file
from tests.support.kernel_runs import MARGIN, QUICK, Case, compilers, library_of, need

TILED = "{1,0:T(8,128)(2,1)}"
MATRICES = ["[0, 1]", "[1, 0]", "{1,0:T(8,128)}", "{0,1:T(8,128)}", TILED, "{1,0:T(3,5)(2,2)}"]
FEW = (1, 2, 3, 7)

CASES = [
    *(
        Case(a, b, shape, 1 << (i + j) % 4, streams=(i + j) % 2 == 0)
        for i, a in enumerate(MATRICES)
        for j, b in enumerate(MATRICES)
        for shape in ((401, 399), (9, 20), (64, 256), (70, 1), (1, 300))[(i * j) % 2 :: 2]
    ),
    *(Case(a, b, (3, 32, 5, 7), 4) for a in ("NCHW", "NHWC") for b in ("[0, 1, 2, 3, 1 p(16)]",)),
    Case("[0, 1]", "[0, 1]", (300, 200), 4),  # one run
    Case("[0]", "{0:T(1024)L(65536)}", (5,), 4),  # a long run of padding
    Case("[0, 1]", "[1, 0]", (2, 40000), 4, streams=True),
    Case("[0, 1]", "[1, 0]", (50, 60), 12),
    Case("[0, 1]", "{1,0:T(*,7)}", (6, 9), 2),  # no common digits, and more fill than padding
    Case("[0, 1]", "Sw<2,1,3> o 0 o (33,16):(16,1)", (33, 16), 2),
    Case("{0}", "{0}", (0,), 4),
    Case("{1,0}", "{1,0:T(8,128)}", (0, 5), 4),
]
SIZES = ((1, 1), (8, 128), (19, 35), (131, 200), (257, 64), (401, 399))
SIZED = [
    *(
        Case(a, b, ("M", "N"), 1 << (i + 2 * j) % 4, SIZES)
        for i, a in enumerate(MATRICES[:5])
        for j, b in enumerate(MATRICES[:5])
    ),
    Case("NCHW", "NHWC", ("N", "C", "H", "W"), 4, ((1, 16, 3, 5), (3, 32, 14, 9))),
]


class Run(NamedTuple):
    """A kernel at sizes: what calls it, what it reads, and what comes out."""

    label: str
    call: Callable[..., Any]
    phases: tuple[bool, ...]
    source: np.ndarray
    expected: np.ndarray


def function(library: ctypes.CDLL, name: str, *told: Any) -> Callable[..., Any]:
    """A kernel of addresses, part, parts and phase."""
    found = getattr(library, name)
    sizes, fill = told
    kinds = [ctypes.c_size_t] * len(sizes) + [ctypes.c_char_p] * (fill is not None)
    found.argtypes = (*[ctypes.c_void_p] * 2, *kinds, *[ctypes.c_size_t] * 3)
    given = (*sizes, *([fill] if fill is not None else []))
    return lambda t, s, part, parts, phase: found(t, s, *given, part, parts, phase)


def runs(place: Path, *command: str) -> Iterator[Run]:
    files = [
        c_file(case.kernel(f"k{k}"), 0 if case.streams else 1 << 60, fill=k % 2 == 0, share=True)
        for k, case in enumerate(CASES)
    ]
    library = library_of(files, place, *command)
    for k, (case, file) in enumerate(zip(CASES, files, strict=True)):
        fill = (case.fill or bytes(16)) if k % 2 == 0 else None
        yield Run(f"{case}", function(library, f"k{k}", (), fill), file.phases, *case.buffers(0xAA))


def sized_runs(place: Path, *command: str) -> Iterator[Run]:
    files = [c_file(case.kernel(f"k{k}"), 1 << 12, share=True) for k, case in enumerate(SIZED)]
    library = library_of(files, place, *command)
    for k, (case, file) in enumerate(zip(SIZED, files, strict=True)):
        for values, source, target in case.runs():
            call = function(library, f"k{k}", [values[n] for n in case.kernel().names], None)
            yield Run(f"{case} {values}", call, file.phases, *case.buffers(0xAA, (source, target)))


def check(run: Run) -> None:
    """Parts in any order make the whole, and those of one phase write to no place twice."""
    expected = run.expected.view(np.uint8) if run.expected.size else np.zeros(0, np.uint8)
    room = [np.full(expected.size + 2 * MARGIN, byte, np.uint8) for byte in (0x55, 0xAA)]
    whole = [data[-data.ctypes.data % MARGIN :][: expected.size] for data in room]
    source = run.source.ctypes.data
    for parts in FEW:
        whole[1][...] = 0xAA
        for phase in range(len(run.phases)):
            taken = np.zeros(expected.size, bool)
            for part in reversed(range(parts)):
                written = np.zeros(expected.size, bool)
                for target, byte in zip(whole, (0x55, 0xAA), strict=True):
                    kept = target.copy()
                    target[...] = byte
                    run.call(target.ctypes.data, source, part, parts, phase)
                    written |= target != byte
                    target[...] = np.where(written, target, kept)
                assert not (taken & written).any(), (run.label, parts, phase)
                taken |= written
        assert whole[1].tobytes() == expected.tobytes(), (run.label, parts)


@pytest.mark.slow
@pytest.mark.parametrize("compiler", compilers())
def test_parts_are_disjoint_and_complete(compiler: str, tmp_path: Path) -> None:
    found = list(runs(tmp_path, compiler, *QUICK))
    assert {len(run.phases) for run in found} >= {1, 2}
    for run in found:
        check(run)


@pytest.mark.slow
def test_parts_at_sizes_of_the_call(tmp_path: Path) -> None:
    need("gcc")
    for run in sized_runs(tmp_path, "gcc", *QUICK):
        check(run)


@pytest.mark.slow
def test_the_work_is_shared_evenly(tmp_path: Path) -> None:
    """Of two parts each writes nearly half, whatever the loop_order loop is."""
    need("gcc")
    cases = [
        Case("[0, 1]", "[1, 0]", (1000, 1000), 4),
        Case("NCHW", "NHWC", (3, 64, 56, 56), 4),
        Case("NCHW", "[0, 1, 2, 3, 1 p(16)]", (1, 32, 56, 57), 4),
        Case("[0, 1]", "[0, 1]", (300, 2000), 2),
        Case("{1,0:T(3,5)}", "{1,0:T(8,128)}", (100, 999), 2),
        Case("[0, 1]", TILED, (401, 399), 2),
    ]
    files = [c_file(case.kernel(f"k{k}"), share=True) for k, case in enumerate(cases)]
    library = library_of(files, tmp_path, "gcc", *QUICK)
    for k, case in enumerate(cases):
        source, expected = case.buffers(0)
        call, wrote = function(library, f"k{k}", (), None), []
        for part in (0, 1):
            out = np.zeros_like(expected)
            for phase, many in enumerate(files[k].phases):
                if many or part == 0:
                    call(out.ctypes.data, source.ctypes.data, part, 1 + many, phase)
            wrote.append(np.count_nonzero(out) / np.count_nonzero(expected))
        assert max(wrote) < 0.62, (case, wrote)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MORELLO_LAYOUTS_CACHE", str(tmp_path))
    monkeypatch.setattr(build, "LEAST_SHARED", 0)  # also small arrays are shared
    build._built.cache_clear()
    compiled._compiled.cache_clear()


@pytest.mark.slow
@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize(
    ("source", "target", "shape", "dtype"),
    [
        ("[0, 1]", TILED, (1001, 777), "float32"),
        (TILED, "[1, 0]", (401, 399), "int8"),
        ("[0, 1]", "{1,0:T(3,5)(2,2)}", (3, 5), "int16"),
    ],
)
def test_functions_of_several_threads(
    source: str, target: str, shape: tuple[int, ...], dtype: str
) -> None:
    need("gcc")
    x = np.random.default_rng(0).integers(-100, 100, shape).astype(dtype)
    given = ml.pack(source, x)
    r, sized = ml.relayout(source, target, shape), ml.relayout(source, target, ("M", "N"))
    for fill in (0, 3, None):
        for threads in (None, 2, 3, 7):
            f = r.compile(dtype, fill=fill, threads=threads)
            assert f.threads == (threads or 1)
            expected = ml.pack(target, x, fill=-5 if fill is None else fill)
            out = np.full_like(expected, -5)
            assert f(given, out) is out
            assert out.tobytes() == expected.tobytes()
            if "T(3,5)" in target or (threads == 3 and fill == 0):
                continue
            f = sized.compile(dtype, fill=fill, threads=threads)
            out[...] = -5
            assert f(given, out, M=shape[0], N=shape[1]).tobytes() == expected.tobytes()


@pytest.mark.slow
@pytest.mark.usefixtures("own_cache")
def test_pack_and_unpack_by_threads() -> None:
    need("gcc")
    x = np.arange(300 * 200, dtype=np.int16).reshape(300, 200)
    buffer = ml.pack(TILED, x, fill=9, compiled=True, threads=2)
    assert (buffer == ml.pack(TILED, x, fill=9)).all()
    assert (ml.unpack(TILED, buffer, x.shape, compiled=True, threads=3) == x).all()
    for wrong in (
        lambda: ml.pack(TILED, x, threads=2),
        lambda: ml.unpack(TILED, buffer, x.shape, threads=2),
    ):
        with pytest.raises(ml.LayoutError, match="threads were given without a kernel"):
            wrong()


@pytest.mark.slow
@pytest.mark.parametrize("share", [False, True])
def test_small_targets_are_one_threads(share: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    need("gcc")
    asked: list[int] = []
    monkeypatch.setattr(
        build,
        "run_parts",
        lambda call, parts, threads: asked.append(threads) or [*map(call, range(parts))],
    )
    columns = build.LEAST_SHARED // 4 // 8 - (not share)
    x = np.arange(8 * columns, dtype=np.int32).reshape(8, columns)
    for names in (x.shape, ("M", "N")):
        f = ml.relayout("[0, 1]", "[1, 0]", names).compile("int32", threads=3)
        sizes = {} if names == x.shape else {"M": 8, "N": columns}
        assert (f(x.reshape(-1), **sizes) == x.T.reshape(-1)).all()
        assert bool(asked) == share
        assert set(asked) <= {3}
        asked.clear()


@pytest.mark.usefixtures("own_cache")
def test_helpers_hold_the_arrays_of_a_call_that_is_interrupted() -> None:
    """And nothing of Python runs as C is called: ctypes would give an interrupt another name."""
    need("gcc")
    f = ml.relayout("[0, 1]", "[1, 0]", (2, 3)).compile("int32", threads=2)
    given: list[Any] = []
    out = replace(f, function=lambda *addresses: given.extend(addresses))(range(6))
    assert [type(address) for address in given] == [ctypes.c_void_p] * 2
    assert given[0].value == out.ctypes.data
    held = weakref.ref(out)
    del out
    assert held() is not None
    given.clear()
    assert held() is None


def test_a_handler_of_signals_may_call_while_helpers_are_hired(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[int] = []

    class Interrupted(threading.Thread):
        def start(self) -> None:
            super().start()
            if not done:
                done.append(-1)
                workers.run_parts(done.append, 3)

    monkeypatch.setattr(workers, "Thread", Interrupted)
    monkeypatch.setattr(workers, "_helpers", [])
    caller = threading.Thread(target=workers.run_parts, args=(done.append, 2), daemon=True)
    caller.start()
    caller.join(30)
    assert not caller.is_alive()
    assert sorted(done) == [-1, 0, 0, 1, 1, 2]


def test_more_parts_than_threads() -> None:
    """A helper that does not come leaves its parts to the caller."""
    done: list[int] = []
    workers.run_parts(done.append, 12, 3)
    assert sorted(done) == list(range(12))
    names: set[str] = set()
    workers.run_parts(lambda _: names.add(threading.current_thread().name), 100, 2)
    assert len(names) <= 2


@pytest.mark.parametrize("parts", [2, 3, 7])
def test_parts_run_at_once(parts: int) -> None:
    meeting, met = threading.Barrier(parts, timeout=30), []
    workers.run_parts(lambda part: met.append((part, meeting.wait())), parts)
    assert sorted(part for part, _ in met) == list(range(parts))


def test_where_the_system_has_no_more_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refused(threading.Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(workers, "Thread", Refused)
    monkeypatch.setattr(workers, "_helpers", [])
    monkeypatch.setattr(workers, "_jobs", queue.SimpleQueue())
    done: list[int] = []
    workers.run_parts(done.append, 5)
    assert done == [0, 1, 2, 3, 4]
    assert not workers._helpers


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_has_helpers_of_its_own() -> None:
    text = """
import os, threading
from morello_layouts.outputs.kernels import plan as workers
workers.run_parts(lambda part: None, 3)
child = os.fork()
meeting = threading.Barrier(3, timeout=30)
workers.run_parts(lambda part: meeting.wait(), 3)
if not child:
    os._exit(0)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", text], check=True, timeout=100)


def test_calls_from_several_threads() -> None:
    wrong = []

    def one(k: int) -> None:
        for _ in range(200):
            done: list[int] = []
            workers.run_parts(done.append, k)
            if sorted(done) != list(range(k)):
                wrong.append(done)

    callers = [threading.Thread(target=one, args=(k,)) for k in (2, 3, 5)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


def test_without_a_compiler_numpy_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "")
    x = np.arange(27, dtype=np.int32).reshape(3, 9)
    for names in (x.shape, ("M", "N")):
        with pytest.warns(RuntimeWarning, match="no C compiler"):
            f = ml.relayout("[0, 1]", TILED, names).compile("int32", threads=2)
        sizes = {} if names == x.shape else {"M": 3, "N": 9}
        assert f.function is None
        assert (f(x.reshape(-1), **sizes) == ml.pack(TILED, x)).all()


@pytest.mark.slow
@pytest.mark.usefixtures("own_cache")
def test_another_fill_needs_no_other_build(monkeypatch: pytest.MonkeyPatch) -> None:
    need("gcc")
    loaded = []
    load = build.load
    monkeypatch.setattr(build, "load", lambda *given: loaded.append(given) or load(*given))
    x = np.arange(27, dtype=np.float32).reshape(3, 9)
    for r, sizes in (
        (ml.relayout("[0, 1]", TILED, x.shape), {}),
        (ml.relayout("[0, 1]", TILED, ("M", "N")), {"M": 3, "N": 9}),
    ):
        for fill in (0, 1, -2.5, float("nan"), float("-inf")):
            out = r.compile("float32", fill=fill)(x.reshape(-1), **sizes)
            assert out.tobytes() == ml.pack(TILED, x, fill=fill).tobytes()
    assert len(loaded) == 2
