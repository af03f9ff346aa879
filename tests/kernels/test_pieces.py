"""Pieces of dimensions: runs between cuts that repeat, of known counts and of any."""

from __future__ import annotations

from random import Random

from morello_layouts.core.expr.sizes import SizeExpr
from morello_layouts.outputs.kernels.domains import evaluate, upper_bound
from morello_layouts.outputs.kernels.pieces import _repeated, _repeated_of_any

N = SizeExpr.named("N")


def test_runs_hold_each_coordinate_once() -> None:
    random = Random(7)
    for _ in range(600):
        unit = random.choice((4, 8, 12))
        cuts = sorted(random.sample(range(unit), random.randint(1, 3)))
        first, count = random.randrange(3 * unit), random.randint(0, 40)
        what = (cuts, unit, first, count)
        for count_given, runs in ((count, _repeated), (N, _repeated_of_any)):
            found: list[int] = []
            for at, length, times, block in runs(cuts, unit, first, count_given):
                most = upper_bound(length)
                n, repeated, start = (evaluate(x, {"N": count}) for x in (length, times, block))
                assert 0 <= n <= (n if most is None else most), what
                for k in range(repeated):
                    run = [at + (start + k) * unit + j for j in range(n)]
                    inside = {x for x in run[1:] if x % unit in cuts}
                    assert not inside, what
                    found += run
            assert sorted(found) == list(range(first, first + count)), what
