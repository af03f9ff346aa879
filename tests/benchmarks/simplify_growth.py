"""How the time grows with the input: ``python tests/benchmarks/simplify_growth.py``.

Each family is a chain of k steps; its time is the
median of some runs over new names.
"""

# ruff: noqa: T201
from __future__ import annotations

import signal
from collections.abc import Callable
from math import isinf, log
from statistics import median
from time import thread_time
from typing import Final

from simplify_page import machine, table

from morello_layouts.core.expr import AffineExpr, cheapest, readable, variable

SIZES: Final = (4, 8, 16, 32, 64)
TERMS: Final = 500
RUNS: Final = 5
LIMIT: Final = 5
"""Seconds after which a run is given up."""


def nested_floors(k: int, name: str) -> AffineExpr:
    """((x//2)//3)//2 …: k floors, one in another."""
    form = variable(name, 0, 6**k)
    for level in range(k):
        form = form // (2 + level % 2)
    return form


def nested_tilings(k: int, name: str) -> AffineExpr:
    """Each tile cut again by a smaller one, k times; the tiles' numbers in reverse order."""
    rest, form = variable(name, 0, 2 ** (k + 1) - 1), AffineExpr((), 0)
    for level in range(k):
        tile = 2 ** (k - level)
        form = form + (rest // tile) * 2**level
        rest = rest % tile
    return form + rest * 2**k


def transpositions(k: int, name: str) -> AffineExpr:
    """A buffer of 2^(k+2) slots seen as a matrix of 2 columns and transposed, k times."""
    form = variable(name, 0, 2 ** (k + 2) - 1)
    for _ in range(k):
        form = (form % 2) * 2 ** (k + 1) + form // 2
    return form


def digits_that_join(k: int, name: str) -> AffineExpr:
    """Σ 2^i·((x//2^i) % 2): k digits that are x itself."""
    x, form = variable(name, 0, 2**k - 1), AffineExpr((), 0)
    for level in range(k):
        form = form + ((x // 2**level) % 2) * 2**level
    return form


def digits_apart(k: int, name: str) -> AffineExpr:
    """Σ 3^i·((x//2^i) % 2): k digits of one variable that do not join."""
    x, form = variable(name, 0, 2**k - 1), AffineExpr((), 0)
    for level in range(k):
        form = form + ((x // 2**level) % 2) * 3**level
    return form


def digits_of_a_sum(k: int, name: str) -> AffineExpr:
    """The k digits of x + 7·y, with other factors."""
    x = variable(name, 0, 2**k - 1) + variable(f"{name}_y", 0, 5) * 7
    form = AffineExpr((), 0)
    for level in range(k):
        form = form + ((x // 2**level) % 2) * 3**level
    return form


def many_variables(k: int, name: str) -> AffineExpr:
    """Σ 10^i·(x_i//4) + x_i % 4 over k variables."""
    form = AffineExpr((), 0)
    for level in range(k):
        x = variable(f"{name}_{level}", 0, 99)
        form = form + (x // 4) * 10**level + x % 4
    return form


def floors_that_do_not_divide(k: int, name: str) -> AffineExpr:
    """((2·e + 3·y)//5 …: k floors of sums, one in another, of divisors that share no factor."""
    form = variable(name, 0, 100)
    for level in range(k):
        y = variable(f"{name}_{level}", 0, 20)
        form = ((2 + level % 5) * form + (3 + level % 4) * y) // (5 + level % 3)
    return form


def nests_of_mods(k: int, name: str) -> AffineExpr:
    """((2·e + 3·y)%13 + z//2 …: k remainders of sums, one in another."""
    form = variable(name, 0, 100)
    ys = [variable(f"{name}_{n}", 0, 20) for n in range(3)]
    for level in range(k):
        inner = (2 + level % 5) * form + (3 + level % 4) * ys[level % 3]
        form = inner % (13 + level % 7) + ys[(level + 1) % 3] // (2 + level % 3)
    return form


def tilings_that_do_not_join(k: int, name: str) -> AffineExpr:
    """5·(x//2) + x%2 …: k times, with other sizes; as a tree it doubles at each step."""
    form = variable(name, 0, 10**5)
    for level in range(k):
        tile = 2 + level % 3
        form = (form // tile) * (5 + level % 2) + form % tile
    return form


FAMILIES: Final = (
    nested_floors,
    nested_tilings,
    transpositions,
    digits_that_join,
    digits_apart,
    digits_of_a_sum,
    many_variables,
    floors_that_do_not_divide,
    nests_of_mods,
    tilings_that_do_not_join,
)
TARGETS: Final[dict[str, Callable[[AffineExpr], object]]] = {
    "readable": readable,
    "cheapest": cheapest,
}


def seconds(family: Callable[[int, str], AffineExpr], target: str, k: int) -> float:
    """The median time of a chain of k, its input built outside of the time; or infinity."""
    laps = []
    for run in range(RUNS):
        form = family(k, f"x{run}")
        signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
        start = thread_time()
        try:
            TARGETS[target](form)
        except TimeoutError:
            return float("inf")
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        laps.append(thread_time() - start)
        if laps[0] > 0.5:
            break
    return median(laps)


def give_up(*_: object) -> None:
    """The handler of the timer."""
    raise TimeoutError


def milliseconds(time: float, digits: int = 2) -> str:
    """The time as the tables show it."""
    return f"over {LIMIT} s" if isinf(time) else f"{1e3 * time:.{digits}f}"


def growth(times: list[float]) -> str:
    """The exponent of the last two doublings of k."""
    if isinf(times[-1]):
        return ""
    return f"{log(times[-1] / times[-3]) / log(SIZES[-1] / SIZES[-3]):.1f}"


def report() -> str:
    """Milliseconds against k, for each family and target."""
    rows: list[list[object]] = []
    for family in FAMILIES:
        for target in TARGETS:
            times = [seconds(family, target, k) for k in SIZES]
            name = family.__name__.replace("_", " ")
            rows.append([name, target, *map(milliseconds, times), growth(times)])
    large: list[list[object]] = []
    for family in (digits_that_join, digits_apart, many_variables):
        times = [seconds(family, target, TERMS) for target in TARGETS]
        name = family.__name__.replace("_", " ")
        large.append([name, *(milliseconds(t, 0) for t in times)])
    ks = [f"k = {k}" for k in SIZES]
    span = f"from k = {SIZES[-3]} to k = {SIZES[-1]}"
    return "\n\n".join(
        (
            f"Milliseconds; {machine()}. Exponent: of the growth {span}.",
            table(["chain", "target", *ks, "exponent"], rows, left=2),
            table([f"{TERMS} terms", *TARGETS], large),
        )
    )


def main() -> None:
    """Measure and print."""
    signal.signal(signal.SIGVTALRM, give_up)
    print(report())


if __name__ == "__main__":
    main()
