"""Five tasks from a cold terminal, each as one command and by the best other tool that can do it.

    python tests/benchmarks/five_tasks.py --peers OTHER_PYTHON

OTHER_PYTHON has NumPy, JAX and tensor-layouts. Prints the processor time of each whole process, the
least of some runs, and how many lines a person types. What a tool leaves out stands beside it.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))


@dataclass
class Task:
    """A question, the words after ``mlay``, and what another tool is given."""

    question: str
    ours: list[str]
    tool: str
    script: str
    lacks: str = ""


def tasks() -> list[Task]:
    from morello_layouts.programs.hlo.reader import assignment_beside
    from tests.support import tpu_dumps

    index = "i, j -> (i//8*ceil(N/128) + j//128)*1024 + i%8*128 + j%128"

    one, other = (str(tpu_dumps.path_of(f"{n}.v5e")) for n in ("quant_fp8_matmul", "beam_search"))
    assignment = str(assignment_beside(Path(one)))
    return [
        Task(
            "Is my index right?",
            ["equal", "f32[M,N]{1,0:T(8,128)}", index],
            "NumPy",
            "import numpy as np\n"
            "a = np.arange(16*256).reshape(2, 8, 2, 128).transpose(0, 2, 1, 3).ravel()\n"
            "i, j = np.indices((16, 256))\n"
            "print((a[(i//8*2 + j//128)*1024 + i%8*128 + j%128] == 256*i + j).all())",
            "one size, not all",
        ),
        Task(
            "Why 8-way conflicts?",
            ["banks", "f16[64,64]", "ldmatrix"],
            "tensor-layouts",
            "from tensor_layouts import Layout, analysis\n"
            "print(analysis.bank_conflicts(Layout(8, 64), element_bytes=2))",
            "the lanes are written as a layout by hand",
        ),
        Task(
            "Why does this program use so much?",
            ["memory", one],
            "sort",
            f"!grep -h 'allocation .*: size' {assignment} | sort -k4 -rn | head",
            "allocations, not who is alive, nor padding",
        ),
        Task(
            "Which device holds row 700?",
            [
                "shards",
                "f32[1000,64], mesh={'x': 4, 'y': 2}, spec=P('x', None)",
                "--coordinate",
                "700,0",
            ],
            "JAX",
            "import os\n"
            "os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=8'\n"
            "import jax\n"
            "from jax.sharding import NamedSharding, PartitionSpec as P\n"
            "s = NamedSharding(jax.make_mesh((4, 2), ('x', 'y')), P('x', None))\n"
            "print([d.id for d, (r, _) in s.devices_indices_map((1000, 64)).items()"
            " if 700 in range(1000)[r]])",
        ),
        Task(
            "What changed between two dumps?",
            ["hlo", one, other],
            "diff",
            f"!diff {one} {other} | head -20",
            "lines, not bytes",
        ),
    ]  # fmt: skip


def seconds(command: list[str], runs: int) -> tuple[float, str]:
    """Return the least processor time of a process and its children, and what it printed."""
    least, text = float("inf"), ""
    for _ in range(runs):
        before = getrusage(RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        after = getrusage(RUSAGE_CHILDREN)
        took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        least, text = min(least, took), done.stdout + done.stderr
    return least, text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", default=sys.executable)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--answers", action="store_true", help="print the answers, too")
    given = parser.parse_args()
    print("| task | ours, s | lines | other | s | lines | it leaves out |")
    print("|---|--:|--:|---|--:|--:|---|")
    for task in tasks():
        ours, answer = seconds([sys.executable, "-m", "morello_layouts", *task.ours], given.runs)
        script = task.script.removeprefix("!")
        is_shell = script != task.script
        peer = ["sh", "-c", script] if is_shell else [given.peers, "-c", script]
        theirs, other = seconds(peer, given.runs)
        lines = script.count("\n") + 1
        cells = [task.question, f"{ours:.2f}", "1", task.tool, f"{theirs:.2f}", str(lines)]
        print(f"| {' | '.join([*cells, task.lacks or 'nothing'])} |", flush=True)
        if given.answers:
            print(answer, other, sep="\n--\n")


if __name__ == "__main__":
    main()
