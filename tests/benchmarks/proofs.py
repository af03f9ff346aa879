"""How long proofs take: prints every question, and writes the tables of docs/benchmarks.md.

    python tests/benchmarks/proofs.py
    python tests/benchmarks/proofs.py --growth    # plain layouts that grow, printed only

Every question is asked of every layout of the corpora, with sizes grown until the array has 2^30
elements and more; then of the popular layouts with a name for every size.
"""

from __future__ import annotations

import gzip
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import log2, prod
from pathlib import Path
from time import process_time
from typing import Any

from popular import POPULAR
from simplify_page import machine, table

import morello_layouts as ml

DATA = Path(__file__).parents[1] / "data"
PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- begin proofs: proofs.py -->\n", "<!-- end proofs -->"
LEAST = 2**30
ROUNDS = 3
AIM = 50
"""Milliseconds that a question with names may take."""

NAMES = "ABCDE"

Map = ml.IndexMap
Sizes = tuple[int | str, ...]
Layout = tuple[ml.XlaLayout | ml.MorelloLayout, Sizes]


def grown(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Sizes doubled in turn, the first one first; what is odd stays odd, so padding stays."""
    found, k = list(sizes), 0
    while prod(found) < LEAST:
        if found[k] > 1 or max(found) == 1:
            found[k] = 2 * found[k] - found[k] % 2 if found[k] > 1 else 2
        k = (k + 1) % len(found)
    return tuple(found)


def arrays(shape: ml.XlaShape | ml.xla.XlaTuple) -> Iterator[ml.XlaShape]:
    """The arrays of a shape that have elements and dimensions."""
    if isinstance(shape, ml.xla.XlaTuple):
        for element in shape.shapes:
            yield from arrays(element)
    elif isinstance(shape, ml.XlaShape) and shape.layout is not None and shape.dims:
        yield shape


def of_texts(texts: list[str]) -> list[Layout]:
    """Distinct layouts at distinct shapes."""
    parsed = [shape for text in texts for shape in arrays(ml.parse(text))]
    # What is split over several buffers has no one offset; inside of a piece it has.
    plain = [(replace(x.layout, split_configs=()), grown(x.dims)) for x in parsed]
    return list(dict.fromkeys(plain))


def popular() -> list[Layout]:
    """The popular layouts at their own shapes."""
    found: list[Layout] = []
    for _, text, shape in POPULAR:
        layout = ml.parse(text)
        xla = isinstance(layout, ml.XlaShape)
        found.append((layout.layout, layout.dims) if xla else (layout, shape))
    return found


def corpora() -> dict[str, list[Layout]]:
    lines = (DATA / "hlo_shapes.txt").read_text("utf-8").splitlines()
    with gzip.open(DATA / "tpu_element_order.jsonl.gz", "rt") as rows:
        orders = [json.loads(row)["shape"] for row in rows]
    return {
        "HLO programs": of_texts(lines),
        "popular layouts": [(layout, grown_to_fit(layout, sizes)) for layout, sizes in popular()],
        "TPU element orders": of_texts(orders),
    }


def grown_to_fit(layout: ml.XlaLayout | ml.MorelloLayout, sizes: tuple[int, ...]) -> Sizes:
    """Sizes grown; those of a Morello layout stay multiples of what its packs demand."""
    if isinstance(layout, ml.XlaLayout):
        return grown(sizes)
    found = list(sizes)
    while prod(found) < LEAST:
        found = [2 * n for n in found]
    return tuple(found)


def named(layout: Layout) -> Layout:
    return layout[0], tuple(NAMES[: len(layout[1])])


def index_map(layout: Layout, like: Map | None = None) -> Map:
    """The map of a layout; of sizes it assumes what another one does."""
    how, sizes = layout
    assuming = None if like is None else like.assumptions
    if isinstance(how, ml.XlaLayout):
        return ml.index_map(ml.XlaShape("u8", sizes, how), assuming=assuming)
    return ml.index_map(how, sizes, assuming=assuming)


def row_major(layout: Layout) -> Layout:
    """Without tiles and in the order of the dimensions: most layouts differ from that."""
    rank = len(layout[1])
    return ml.XlaLayout(tuple(range(rank))[::-1]), layout[1]


def said_otherwise(layout: Layout) -> Layout | None:
    """The same with a 1 before each tile, so with more steps; None without tiles."""
    how, sizes = layout
    if not isinstance(how, ml.XlaLayout) or not how.tiles:
        return None
    return replace(how, tiles=tuple((1, *tile) for tile in how.tiles)), sizes


def about(question: Callable[[Map], Any]) -> Callable[[Layout], Callable[[], Any] | None]:
    """A question about one map, which is made beforehand."""

    def of(layout: Layout) -> Callable[[], Any]:
        m = index_map(layout)
        return lambda: question(m)

    return of


def against(
    other: Callable[[Layout], Layout | None],
) -> Callable[[Layout], Callable[[], Any] | None]:
    """Whether a map is equivalent to another one."""

    def of(layout: Layout) -> Callable[[], Any] | None:
        second = other(layout)
        if second is None:
            return None
        m = index_map(layout)
        n = index_map(second, like=m)
        return lambda: ml.equal(m, n)

    return of


SHOWN = ("`is_bijective`", "`verify`", "`equal`, row-major")
"""The questions of the page; the others are printed."""
QUESTIONS = {
    "`is_injective`": about(ml.is_injective),
    "`is_surjective`": about(ml.is_surjective),
    "`is_bijective`": about(ml.is_bijective),
    "`verify`": about(ml.verify),
    "`equal`, row-major": against(row_major),
    "`equal`, said otherwise": against(said_otherwise),
}


@dataclass(frozen=True)
class Answer:
    """One question to one layout: milliseconds, and what is left open."""

    layout: Layout
    question: str
    milliseconds: float
    undecided: bool
    partly: bool

    def __str__(self) -> str:
        how = str(self.layout[0])
        left = "undecided" if self.undecided else "some sizes open" if self.partly else ""
        return f"`{how}`, {self.question}: {self.milliseconds:.0f} ms{left and ', ' + left}"


def answers(layouts: list[Layout]) -> list[Answer]:
    """Every question to every layout, the median of some calls each."""
    found = []
    for question, question_of in QUESTIONS.items():
        for layout in layouts:
            ask = question_of(layout)
            if ask is None:
                continue
            taken = []
            for _ in range(ROUNDS):
                start = process_time()
                proof = ask()
                taken.append(process_time() - start)
            some = proof.holds is False and proof.condition is None
            partly = some and any(isinstance(n, str) for n in layout[1])
            time = 1e3 * statistics.median(taken)
            found.append(Answer(layout, question, time, proof.holds is None, partly))
    return found


def rows(name: str, found: list[Answer]) -> list[list[object]]:
    """How many were asked, median and largest milliseconds, how many are undecided and open."""
    lines = []
    for question in QUESTIONS:
        mine = [one for one in found if one.question == question]
        times = [one.milliseconds for one in mine]
        figures = [f"{statistics.median(times):.1f}", f"{max(times):.1f}"]
        left = [sum(one.undecided for one in mine), sum(one.partly for one in mine)]
        lines.append([name, question, len(mine), *figures, *left])
    return lines


def tiled(sizes: list[object], tiles: str, kind: str = "f32") -> str:
    """The text of a layout of tiles, its dimensions in row-major order."""
    order = ",".join(map(str, reversed(range(len(sizes)))))
    return f"{kind}[{','.join(map(str, sizes))}]{{{order}:T{tiles}}}"


def order_reversed(rank: int) -> str:
    return f"f32[{','.join('2' * rank)}]{{{','.join(map(str, range(rank)))}}}"


GROWTH = {
    "rank, dimensions reversed": (order_reversed, (8, 16, 32, 64)),
    "rank, [5]^k in T(2,…)": (lambda k: tiled([5] * k, f"({','.join('2' * k)})"), (4, 8, 16, 32)),
    "tiles that do not divide": (
        lambda k: tiled([1009, 1013], "(3,2)(2,3)" * (k // 2)),
        (2, 4, 8, 16),
    ),
    "names": (
        lambda k: tiled([f"A{n}" for n in range(k)], "(8,128)(2,1)", "bf16"),
        (4, 8, 16, 32),
    ),
    "nesting, 1-D": (
        lambda k: tiled([2**58], "".join(f"({2 ** (k + 5 - j)})" for j in range(k))),
        (6, 12, 25, 50),
    ),
}
"""Layouts of a kind that grow, and the numbers of their parts."""


def row_major_of(m: Map) -> str:
    return f"{m.element_type}[{','.join(map(str, m.shape))}]"


def growth() -> None:
    """Print for each the median milliseconds of each question, its map made anew.

    The last line of a kind has the power of k between its ends: 1 is linear.
    """
    questions: dict[str, Callable[[Map], Any]] = {
        "bijective": ml.is_bijective,
        "confirmed": lambda m: ml.is_bijective(m, confirm=True),
        "verify": ml.verify,
        "inverse": lambda m: m.inverse,
        "Python": lambda m: ml.code(m, "python"),
        "row-major": lambda m: ml.equal(m, ml.index_map(row_major_of(m))),
    }
    for question in questions.values():
        question(ml.index_map(tiled([1024, 1024], "(8,128)")))  # what loads on first use is loaded
    for kind, (text_of, counts) in GROWTH.items():
        lines: list[list[object]] = []
        first: dict[str, float] = {}
        last: dict[str, float] = {}
        for k in counts:
            line: list[object] = [kind, k]
            for name, question in questions.items():
                taken = [once(text_of(k), question) for _ in range(ROUNDS)]
                last[name] = statistics.median(taken)  # a clock that stalls once gives 0
                first.setdefault(name, last[name])
                line.append(f"{1e3 * last[name]:.2f}")
            lines.append(line)
        doublings = log2(counts[-1] / counts[0])
        powers = [f"{log2(last[name] / first[name]) / doublings:.2f}" for name in questions]
        lines.append([kind, "power", *powers])
        print(table(["ms", "k", *questions], lines, 1))  # noqa: T201
    devices()


def once(text: str, question: Callable[[Map], Any]) -> float:
    m = ml.index_map(text)
    start = process_time()
    answer = question(m)
    taken = process_time() - start
    assert getattr(answer, "holds", True) is not None, f"{text} is undecided"
    return taken


def devices() -> None:
    """Print what plans and messages of many devices take, the messages one by one and as arrays."""
    lines: list[list[object]] = []
    for count in (100, 1_000, 10_000, 100_000):
        array = f"f32[1048576,1048576], mesh={{'x': {count}}}, spec="
        begin = process_time()
        plan = ml.reshard(array + "P('x', None)", array + "P(None, 'x')")
        made = process_time()
        messages = sum(1 for _ in plan.receives(7))
        iterated = process_time()
        assert len(plan.received([7]).sender) == messages
        end = process_time()
        each = [f"{1e6 * t / messages:.2f}" for t in (iterated - made, end - iterated)]
        lines.append([count, f"{1e3 * (made - begin):.2f}", messages, *each])
    print(table(["devices", "plan, ms", "messages", "µs each", "µs each in arrays"], lines, 0))  # noqa: T201


def main() -> None:
    if sys.argv[1:] == ["--growth"]:
        growth()
        return
    answers([named(popular()[-3])])  # what loads on first use is loaded
    head = ["layouts", "question", "asked", "median, ms", "max, ms", "undecided"]
    large = [row for name, own in corpora().items() for row in rows(name, answers(own))]
    symbolic = answers([named(layout) for layout in popular()])
    by_name = rows("popular layouts", symbolic)
    print(table([*head, "partly open"], large + by_name, 2))  # noqa: T201
    short = [row[:-1] for row in large if row[1] in SHOWN]
    named_rows = [row for row in by_name if row[1] in SHOWN]
    slow = [one for one in symbolic if one.milliseconds > AIM or one.undecided or one.partly]
    more = [one for one in slow if one.question in SHOWN]
    text = (
        f"{machine()}; processor time, medians of {ROUNDS} calls.\n\n"
        f"Numbers for sizes, 2^30 elements and more:\n\n{table(head, short, 2)}\n\n"
        f"A name for every size:\n\n"
        f"{table([*head, 'partly open'], named_rows, 2)}\n\n"
    )
    if more:
        text += f"Past {AIM} ms, or left open, with names:\n\n"
        text += "".join(f"- {one}\n" for one in more) + "\n"
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{text}{END}{rest.partition(END)[2]}", "utf-8")


if __name__ == "__main__":
    main()
