"""What each rank of a test of MPI runs: ``mpirun -n 4 python -m tests.support.mpi_ranks NAME``.

A rank that finds a fault prints it and ends with status 1.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from morello_layouts import reshard
from morello_layouts.errors import LayoutError
from morello_layouts.machines.resharding import moves, mpi
from morello_layouts.machines.resharding.moves import local_buffer
from morello_layouts.machines.resharding.mpi import ExchangeError, Transfer
from tests.support.naive_resharding import messages, part
from tests.support.resharding_cases import Case, cases


def exchange_of(case: Case, comm: Any, scratch: int = 1 << 20) -> Transfer:
    found = list(messages(case.source, case.target, case.shape, comm.size))
    order = (1, 0) if case.layouts[1] == "{0,1}" else (0, 1)
    return Transfer(
        comm,
        local_buffer(case.source, case.shape, case.layout(0), comm.rank),
        local_buffer(case.target, case.shape, case.layout(1), comm.rank),
        [x for x in found if x.sender == comm.rank],
        [x for x in found if x.receiver == comm.rank],
        order,
        str(case),
        scratch,
    )


def array_of(case: Case, dtype: str = "int32") -> np.ndarray[Any, Any]:
    return np.arange(1, 1 + np.prod(case.shape)).astype(dtype).reshape(case.shape)


def everything(comm: Any) -> None:
    """All cases arrive, in one piece and in many, in types of several widths."""
    for number, case in enumerate(cases(comm.size)):
        dtype = ("int32", "uint8", "complex128", "V3")[number % 4]
        array = array_of(case, "int64").astype(dtype)
        given, wanted = (case.local(array, side, comm.rank) for side in (0, 1))
        before = None if given is None else given.copy()
        for scratch in (1 << 20, 100):
            exchange = exchange_of(case, comm, scratch)
            got = exchange.run(given, dtype=None if given is not None else dtype)
            assert (got is None) == (wanted is None), case
            if got is not None and wanted is not None:
                assert np.array_equal(got.ravel("K"), wanted.ravel("K")), f"{case}: {got}"
                assert got.ndim != wanted.ndim or np.array_equal(got, wanted), f"{case}: {got}"
            assert before is None or before.tobytes() == given.tobytes(), case


def gathered(comm: Any) -> None:
    """Parts of the result, gathered on one rank, make the array that was scattered."""
    case = next(case for case in cases(comm.size) if case.shape == (29, 5))
    array = np.random.default_rng(5).integers(0, 1 << 30, case.shape) if comm.rank == 0 else None
    array = comm.bcast(array)
    got: Any = exchange_of(case, comm).run(case.local(array, 0, comm.rank))
    parts = comm.gather(got)
    if comm.rank == 0:
        assert np.array_equal(np.concatenate(parts, axis=1)[:, :5], np.asarray(array))


def wrong_shape(comm: Any) -> None:
    """A wrong shape on one rank is named by all, before anything moves; then it works."""
    case = next(iter(cases(comm.size)))
    exchange, array = exchange_of(case, comm), array_of(case)
    given = case.local(array, 0, comm.rank)
    out = np.full_like(case.local(array, 1, comm.rank), 7)
    error = _raised(lambda: exchange.run(given[:, 1:] if comm.rank == 1 else given, out))
    assert list(error.ranks) == [1], error
    assert "expected the shape (2, 12)" in str(error), error
    assert (out == 7).all()
    got: Any = exchange.run(given, out)
    assert got is out
    assert out.tobytes() == case.local(array, 1, comm.rank).tobytes()


def disagreement(comm: Any) -> None:
    """Another type or another plan on one rank is named by all."""
    case = next(iter(cases(comm.size)))
    given = case.local(array_of(case), 0, comm.rank)
    odd = given.astype("float64") if comm.rank == 2 else given
    error = _raised(lambda: exchange_of(case, comm).run(odd))
    assert list(error.ranks) == [2], error
    assert "<f8" in str(error), error
    exchange = exchange_of(case, comm, 1 << (10 + (comm.rank == 3)))
    error = _raised(lambda: exchange.run(given))
    assert list(error.ranks) == [3], error
    exchange = replace(exchange_of(case, comm), about="{devices=[8]}" * (comm.rank == 1))
    error = _raised(lambda: exchange.run(given))
    assert list(error.ranks) == [1], error


def no_part(comm: Any) -> None:
    """A rank whose part cannot be, or whose type is none, is named by all."""
    pair = (f"(BLOCK, *) ONTO ({comm.size})", f"(*, BLOCK) ONTO ({comm.size})")
    plan, real = reshard(*pair, (8, 8)), local_buffer

    def refusing(*_: Any) -> Any:
        raise LayoutError("LLD 2 is too small")

    if comm.rank == 1:
        vars(mpi)["local_buffer"] = refusing
    error = _raised(lambda: plan.run(comm, np.zeros((8 // comm.size, 8), np.float32)))
    vars(mpi)["local_buffer"] = real
    assert error.ranks == {1: "LLD 2 is too small"}, error
    odd = "nonsense" if comm.rank == 2 else None
    error = _raised(lambda: plan.run(comm, np.zeros((8 // comm.size, 8), np.float32), dtype=odd))
    assert list(error.ranks) == [2], error


def failure_on_the_way(comm: Any) -> None:
    """A rank that fails in some round is named by all, and sources are as they were."""
    case = next(iter(cases(comm.size)))
    given = case.local(array_of(case), 0, comm.rank)
    before, copies, real = given.tobytes(), [], moves.copy

    def failing(*args: Any, **named: Any) -> None:
        copies.append(1)
        if comm.rank == 2 and len(copies) == 2:
            raise MemoryError("no room")
        real(*args, **named)

    vars(mpi)["copy"] = failing
    error = _raised(lambda: exchange_of(case, comm, 128).run(given))
    vars(mpi)["copy"] = real
    assert error.ranks == {2: "MemoryError('no room')"}, error
    assert given.tobytes() == before


def interrupt(comm: Any) -> None:
    """An interrupt of one rank ends the exchange on all, between two rounds."""
    case = next(iter(cases(comm.size)))
    given = case.local(array_of(case), 0, comm.rank)
    before, copies, real = given.tobytes(), [], moves.copy

    def interrupted(*args: Any, **named: Any) -> None:
        copies.append(1)
        if comm.rank == 1 and len(copies) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        real(*args, **named)

    vars(mpi)["copy"] = interrupted
    try:
        exchange_of(case, comm, 128).run(given)
        told: object = "nothing"
    except KeyboardInterrupt:
        told = "an interrupt"
    except ExchangeError as error:
        told = error.ranks
    assert told == ("an interrupt" if comm.rank == 1 else {1: "interrupted"}), told
    vars(mpi)["copy"] = real
    assert given.tobytes() == before
    assert exchange_of(case, comm).run(given) is not None


def small_scratch(comm: Any) -> None:
    """Beside both arrays an exchange takes no more memory than it may."""
    import tracemalloc

    from morello_layouts.notations.sharding import Level, Mesh, Sharding

    line = Mesh((("x", comm.size),))
    cut = (Level(("x",)),)
    case = Case((2048, 1024), Sharding(line, (cut, ())), Sharding(line, ((), cut)))
    given = np.ones((2048 // comm.size, 1024), np.float64)
    out = np.zeros((2048, 1024 // comm.size), np.float64)
    exchange = exchange_of(case, comm, 1 << 17)
    tracemalloc.start()
    exchange.run(given, out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (out == 1).all()
    assert peak < 2 << 17, f"{peak} bytes for {given.nbytes}"


def plans(comm: Any) -> None:
    """Plans of texts run: tiles, cycles, other numbers of devices, padding."""
    p = comm.size
    rows = f"sharding={{devices=[{p},1]<=[{p}]}}"
    columns = f"sharding={{devices=[1,{p}]<=[{p}]}}"
    pairs = [
        (f"f32[37,50], {rows}", f"f32[37,50]{{1,0:T(8,128)}}, {columns}"),
        (f"bf16[37,50]{{1,0:T(8,128)(2,1)}}, {rows}", f"bf16[37,50]{{0,1}}, {columns}"),
        (f"(CYCLIC(4), *) ONTO ({p})", f"(*, BLOCK) ONTO ({p})"),
        (f"f32[37,50], {rows}", "f32[37,50], sharding={maximal device=0}"),
        ("f32[37,50], sharding={maximal device=0}", f"f32[37,50], {columns}"),
        (f"f32[37,50], {rows}", "f32[37,50], sharding={replicated}"),
    ]
    for pair in pairs:
        shape = (37, 50) if "ONTO" in pair[0] else None
        plan = reshard(*pair, shape)
        array = np.arange(1, 1851).reshape(37, 50)
        given, wanted = (whole_part(m, array, comm.rank) for m in (plan.source, plan.target))
        got = plan.run(comm, given, dtype=None if given is not None else wanted.dtype)
        assert (got is None) == (wanted is None), pair
        assert got is None or got.ravel("K").tolist() == wanted.tolist(), f"{pair}: {got}"
    few = f"f32[8,8], sharding={{devices=[{p + 1},1]<=[{p + 1}]}}"
    with pytest.raises(LayoutError, match=f"expected {p + 1} ranks"):
        reshard(few, few).run(comm, np.zeros((1, 8), np.float32))


def whole_part(m: Any, array: np.ndarray[Any, Any], device: int) -> Any:
    """The buffer of a device, by asking the index map where each element is."""
    layout = m.origin.layout
    sharding = layout.placement.sharding(2)
    if sharding.mesh.names != ("all",) and sharding.mesh.coordinate(device) is None:
        return None
    dtype = "uint16" if str(m.element_type) == "bf16" else "float32"
    if sharding.local_rule == "own":  # each device's own size decides the strides
        return part(array, sharding, device).astype(dtype).reshape(-1)
    buffer = np.zeros(layout.local_recipe(m.shape).size, dtype)
    for i, j in np.ndindex(array.shape):
        for place in m.place(i, j).holders:
            if place["device"] == device or sharding.mesh.names == ("all",):
                buffer[place["offset"]] = array[i, j]
    return buffer


def _raised(work: Callable[[], object]) -> ExchangeError:
    try:
        work()
    except ExchangeError as error:
        return error
    except LayoutError as error:
        raise AssertionError(f"another error: {error}") from error
    raise AssertionError("no error")


def main(names: list[str]) -> None:
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    for name in names:
        try:
            globals()[name](comm)
        except AssertionError as error:
            sys.stderr.write(f"{name}, rank {comm.rank}: {error}\n")
            sys.stderr.flush()
            comm.Abort(1)


if __name__ == "__main__":
    main(sys.argv[1:])
