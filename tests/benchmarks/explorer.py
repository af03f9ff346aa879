"""How long the explorer takes to answer, over HTTP as the page asks it.

Run it by ``python tests/benchmarks/explorer.py``. It prints the median of several requests for each
popular layout, for each preset of the page, and how long a question takes that is cut off.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator
from importlib.resources import files
from time import perf_counter

from popular import POPULAR

from morello_layouts.interfaces.explorer.server import Server, asked
from morello_layouts.interfaces.explorer.subject import Question

TIMES = 15
SLOW = Question("f32[100000,100000]{1,0:T" + "(3,7)(2,5)" * 20 + "}")


def questions() -> Iterator[tuple[str, Question]]:
    """The popular layouts of the benchmarks, then the page's presets."""
    for name, text, shape in POPULAR:
        yield name, Question(text, "" if shape is None else "x".join(map(str, shape)))
    presets = files("morello_layouts.interfaces.explorer").joinpath("static/presets.json")
    for preset in json.loads(presets.read_text(encoding="utf-8")):
        yield f"preset: {preset['name']}", Question.of(preset["question"])


def milliseconds(port: int, question: Question) -> float:
    began = perf_counter()
    asked(port, question)
    return 1000 * (perf_counter() - began)


def main() -> None:
    began = perf_counter()
    with Server(0) as server:
        server.start()
        print(f"{1000 * (perf_counter() - began):8.1f} ms  until it serves")
        medians, bests = [], []
        for name, question in questions():
            times = [milliseconds(server.port, question) for _ in range(TIMES)]
            medians.append(statistics.median(times))
            bests.append(min(times))
            print(f"{medians[-1]:8.1f} ms, at best {bests[-1]:5.1f}  {name}")
        print(f"{statistics.median(medians):8.1f} ms  median of the medians")
        print(f"{max(medians):8.1f} ms  largest of the medians")
        print(f"{max(bests):8.1f} ms  largest of the best times")
        print(f"{milliseconds(server.port, SLOW):8.1f} ms  a question that is cut off")


if __name__ == "__main__":
    sys.exit(main())
