"""A baseline that shouts: usual questions beside a loop of Python's, here and in another commit.

    python tests/benchmarks/ratios.py                   # writes JSON: a ratio for each question
    python tests/benchmarks/ratios.py --against main    # fails if this tree is slower

Processes of both trees take turns, and the least of all turns counts. What is more than a tenth
slower is asked again, and fails only if it is so again. Time is processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from time import process_time
from typing import Any

ROOT = Path(__file__).parents[2]
WORST = 1.10
"""How much slower a question may get."""

TILED, NAMED = "bf16[10,200]{1,0:T(8,128)(2,1)}", "bf16[M,N]{1,0:T(8,128)(2,1)}"
HLO = "".join(
    f"%t.{k} = f32[{k + 8},7,128]{{2,1,0:T(8,128)}} negate(%x.{k})\n"
    f'%c.{k} = f32[{k + 8},7,128]{{2,0,1:T(8,128)}} copy(%t.{k}), metadata={{op_name="f/{k}"}}\n'
    for k in range(40)
)
COMMANDS = {
    "import": ["-c", "import morello_layouts"],
    "command: explain": ["-m", "morello_layouts", "explain", TILED],
    "command: prove": ["-m", "morello_layouts", "prove", TILED],
    "command: an error": ["-m", "morello_layouts", "explain", TILED[:-6]],
}


def questions() -> dict[str, Callable[[], object]]:
    """Return the questions by name; each is one call."""
    import morello_layouts as ml

    shards = [f"f32[4096,4096], mesh={{'x': 64, 'y': 8}}, spec={s}" for s in ("P('x')", "P('y')")]
    module = ml.read_hlo(HLO)
    return {
        "parse": lambda: ml.parse(TILED),
        "index_map": lambda: ml.index_map(TILED),
        "formula": lambda: str(ml.index_map("f32[64,96]{0,1:T(4,8)}")),
        "bijective": lambda: ml.is_bijective(TILED),
        "bijective by name": lambda: ml.is_bijective(NAMED),
        "verify": lambda: ml.verify(ml.index_map(TILED)),
        "verify by name": lambda: ml.verify(ml.index_map(NAMED)),
        "equivalent": lambda: ml.are_equivalent("f32[64,96]", "[0, 1]"),
        "bitcast": lambda: ml.is_bitcast("f32[4,6]", "f32[2,2,3,2]"),
        "simplify": lambda: ml.simplify("8*((i + j)//8) + (i + j)%8", bounds={"j": (0, 7)}),
        "code": lambda: ml.code(NAMED, "cuda"),
        "convert": lambda: ml.convert("bf16[64,256]{1,0:T(8,128)(2,1)}", "morello"),
        "picture": lambda: ml.draw("f32[8,16]{1,0:T(4,8)}").svg(),
        "explain": lambda: str(ml.explain(TILED)),
        "banks": lambda: ml.bank_conflicts("f16[64,64]", "column"),
        "reshard": lambda: str(ml.reshard(*shards)),
        "read HLO": lambda: ml.read_hlo(HLO),
        "diagnose": lambda: str(ml.diagnose(module)),
    }


def loop() -> None:
    sum(k * k % 7 for k in range(20_000))


def seconds(ask: Callable[[], object], least: float = 0.01) -> float:
    """Return the time of one call, over as many as fill a hundredth of a second."""
    count, begin = 0, process_time()
    while (taken := process_time() - begin) < least:
        ask()
        count += 1
    return taken / count


def child_seconds(arguments: list[str]) -> float:
    """Return the processor time of a process of Python's."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(names: Iterable[str] = (), rounds: int = 3) -> dict[str, float]:
    """Return how long each question takes beside the loop; all of them by default."""
    every: dict[str, Callable[[], float]] = {
        name: lambda ask=ask: seconds(ask) for name, ask in questions().items()
    }
    every |= {name: lambda words=words: child_seconds(words) for name, words in COMMANDS.items()}
    wanted, unit = set(names) or set(every), float("inf")
    found = dict.fromkeys((name for name in every if name in wanted), float("inf"))
    for turn in range(rounds + 1):  # the first one loads what loads late
        for name in found:
            unit = min(unit, seconds(loop))
            found[name] = (
                min(found[name], every[name]()) if turn else found[name] + 0 * every[name]()
            )
    return {name: taken / unit for name, taken in found.items()}


def asked(tree: Path, names: Iterable[str]) -> dict[str, float]:
    """Return the same in a process that has the package of a tree."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(tree),
        "PYTHONPYCACHEPREFIX": f"{tree}/build/bytecode",
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, __file__, "--names", *names]
    run = subprocess.run(command, env=environment, cwd=tree, check=True, capture_output=True)
    found: dict[str, float] = json.loads(run.stdout)
    return found


Asked = Callable[[str, Iterable[str]], dict[str, float]]
"""Measures questions of a side, ``before`` or ``after``: all of them if none is named."""


def growth(ask: Asked, names: Iterable[str], turns: int) -> dict[str, float]:
    """Return the time of each question after over that before; the sides take turns."""
    least: dict[str, dict[str, float]] = {"before": {}, "after": {}}
    for turn in range(turns):
        for side in ("before", "after") if turn % 2 == 0 else ("after", "before"):
            for name, taken in ask(side, names).items():
                least[side][name] = min(taken, least[side].get(name, taken))
    return {name: taken / least["before"][name] for name, taken in least["after"].items()}


def slower(ask: Asked, turns: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return the growth of all questions, and that of those which are slower twice."""
    first = growth(ask, (), turns)
    suspects = [name for name, factor in first.items() if factor > WORST]
    again = growth(ask, suspects, 2 * turns) if suspects else {}
    return first | again, {name: factor for name, factor in again.items() if factor > WORST}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--against", metavar="COMMIT")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--names", nargs="*", default=[])
    options = parser.parse_args()
    if options.against is None:
        print(json.dumps(measured(options.names), indent=1))
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "before"
        git: list[Any] = ["git", "-C", ROOT, "worktree"]
        subprocess.run([*git, "add", "--detach", tree, options.against], check=True)
        try:
            trees = {"before": tree, "after": ROOT}
            every, worse = slower(lambda side, names: asked(trees[side], names), options.turns)
        finally:
            subprocess.run([*git, "remove", "--force", tree], check=True)
    print(json.dumps(every, indent=1))
    if worse:
        sys.exit(f"slower than {options.against}, twice: {json.dumps(worse)}")


if __name__ == "__main__":
    main()
