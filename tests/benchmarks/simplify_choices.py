"""What compilers print: bounds, padded convolutions, masks and named sizes, beside TVM and ISL.

``python tests/benchmarks/simplify_choices.py`` prints the sum of costs of each family, and the
cases in which a peer is cheaper; ``--write`` puts the table into docs/simplifier_measured.md.
``--im2col`` does ten pairs instead. Each answer is evaluated; ours is wrong nowhere, or the script
stops. ISL is not asked where sizes have names.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from random import Random
from statistics import median
from time import thread_time
from typing import Any, Final

import numpy as np
from peers import isl as isl_peer, ours
from peers.peer import Unreadable
from peers.tree import Tree, cost, evaluate, show
from simplify_page import machine, put, table

from morello_layouts.core.expr import cheapest, readable
from morello_layouts.interfaces.api.formulas import assumed_form

SIZES: Final = (1, 2, 3, 4, 8, 12, 16, 24)
SAMPLES: Final = 3000


@dataclass(frozen=True)
class Case:
    """A tree, the bounds of its variables (ends may be names), and what is assumed of names."""

    family: str
    tree: Tree
    bounds: Mapping[str, tuple[int, Tree]]
    assume: tuple[Tree, ...] = ()

    @property
    def sizes(self) -> list[str]:
        """The names that are sizes."""
        return sorted({n for n in _names(self.tree) | _names(self.assume) if n not in self.bounds}
                      | {n for _, hi in self.bounds.values() for n in _names(hi)})  # fmt: skip

    def points(self) -> Iterator[dict[str, Any]]:
        """Values of the names, sizes as assumed and variables within their bounds."""
        random = Random(show(self.tree))
        for _ in range(40 if self.sizes else 1):
            at: dict[str, Any] = {name: random.choice(SIZES) for name in self.sizes}
            ends = {k: (lo, int(evaluate(hi, at))) for k, (lo, hi) in self.bounds.items()}
            if all(lo <= hi for lo, hi in ends.values()):
                draws = np.random.default_rng(len(show(self.tree)))
                drawn = {k: draws.integers(lo, hi + 1, SAMPLES) for k, (lo, hi) in ends.items()}
                holds = np.ones(SAMPLES, bool)
                for one in self.assume:
                    holds &= evaluate(one, at | drawn)
                if holds.any():
                    yield at | {k: values[holds] for k, values in drawn.items()}


def _names(tree: Any) -> set[str]:
    if isinstance(tree, tuple):
        parts = tree[1:] if tree and isinstance(tree[0], str) and tree[0] in _OPS else tree
        return set().union(*map(_names, parts))
    return {tree} if isinstance(tree, str) else set()


_OPS: Final = frozenset(
    ["+", "*", "//", "%", "min", "max", "select", "<", "<=", ">", ">=", "==", "!=", "and", "or"]
)


def add(*parts: Tree) -> Tree:
    """The sum of some trees."""
    return ("+", *parts)


def times(factor: Tree, tree: Tree) -> Tree:
    """A multiple of a tree."""
    return ("*", factor, tree)


def ceildiv(tree: Tree, n: int) -> Tree:
    """The quotient rounded up, as compilers lower it."""
    return ("//", add(tree, n - 1), n)


def halide(random: Random) -> Case:
    """Bounds of tiles and regions, as Halide infers them."""
    n, t, s = random.choice((48, 60, 64, 100)), random.choice((4, 8, 16)), random.choice((1, 2, 3))
    tiles = -(-n // t)
    x, k = "x", random.randint(1, 9)
    bounds: dict[str, tuple[int, Tree]] = {"x": (0, tiles - 1), "y": (0, t - 1)}
    start = random.choice((times(t, x), ("min", times(t, x), n - t)))
    forms: list[Tree] = [
        add(("min", add(times(t, x), t - 1), n - 1), times(-1, times(t, x)), 1),
        ("max", ("min", add(start, "y"), n - 1), 0),
        add(("max", add(start, "y", k), add(start, "y")), times(-1, ("min", start, add(start, k)))),
        ("//", ("min", add(times(t, x), t - 1), t * (tiles - 1) + t - 1), t),
        ("select", ("<", add(start, "y"), n), add(start, "y"), add(start, "y", -n)),
        ("min", ("max", add(times(s, "y"), -k), 0), s * t + k),
        ("+", ("//", add(("max", times(s * t, x), times(s * t, x)), s * t), s), ("*", -1, t)),
        ("max", add(times(t, x), "y"), ("min", times(t, x), add("y", n))),
        ("//", add(("min", times(s * t, x), s * t * k), "y"), t),
        ("min", ("min", add("y", k), t + 2 * k), add("y", k + 1)),
    ]
    return Case("Halide bounds", random.choice(forms), bounds)


def convolution(random: Random) -> Case:
    """Indices into padded images: clamped, masked, dilated."""
    h, pad, k, s = (random.choice(c) for c in ((14, 28, 32), (1, 2, 3), (3, 5, 7), (1, 1, 2)))
    out = (h + 2 * pad - k) // s + 1
    bounds: dict[str, tuple[int, Tree]] = {"o": (0, out - 1), "r": (0, k - 1), "w": (0, h - 1)}
    row = add(times(s, "o"), "r", -pad)
    inside = ("and", (">=", row, 0), ("<", row, h))
    column = ("and", (">=", "w", 0), ("<", "w", h))
    flat = add(times(h, row), "w")
    forms: list[Tree] = [
        ("select", inside, flat, 0),
        ("select", ("and", inside, column), flat, -1),
        add(times(h, ("max", 0, ("min", h - 1, row))), "w"),
        ("select", ("and", inside, ("<", row, h + pad)), row, 0),
        ("select", ("<", add(row, pad), 0), 0, add(row, pad)),
        add(("min", add(times(s, "o"), k), h + 2 * pad), times(-1, ("max", times(s, "o"), 0))),
        ("select", (">=", row, 0), ("select", (">=", add(row, pad), 0), row, 1), 0),
        ("//", ("select", column, add(times(8, "w"), "r"), 0), 8),
        ("select", ("or", ("<", row, 0), (">=", row, 0)), flat, row),
        ("%", ("select", ("<", "w", h), add(times(k, "w"), "r"), 0), k),
    ]
    return Case("padded convolutions", random.choice(forms), bounds)


def attention(random: Random) -> Case:
    """Masks and limits of blocks: causal, sliding, ragged."""
    b, n, w = random.choice((16, 32, 64)), random.choice((4, 8)), random.choice((7, 16, 31))
    bounds: dict[str, tuple[int, Tree]] = {
        "q": (0, n - 1), "k": (0, n - 1), "i": (0, b - 1), "j": (0, b - 1),
    }  # fmt: skip
    query, key = add(times(b, "q"), "i"), add(times(b, "k"), "j")
    causal = (">=", query, key)
    forms: list[Tree] = [
        ("select", causal, key, 0),
        ("select", ("and", causal, ("<", key, n * b)), 1, 0),
        ("select", ("and", causal, ("<=", add(query, times(-1, key)), w)), 0, -1),
        ceildiv(("min", times(b, add("q", 1)), n * b), b),
        add(("min", times(b, add("k", 1)), n * b), times(-1, times(b, "k"))),
        ("max", ("min", add(query, times(-1, "j")), query), add(times(b, "q"), -b)),
        ("select", (">=", times(b, "q"), add(times(b, "k"), b - 1)), ("select", causal, 1, 0), 2),
        ("select", (">=", add(times(b, "q"), "i", b), times(b, "q")), key, query),
        ("//", ("max", add(times(b, "q"), b - 1, -w), 0), b),
        ("select", ("==", times(b, "q"), times(b, "k")), ("select", (">=", "i", "j"), 1, 0), 1),
    ]
    return Case("masks of attention", random.choice(forms), bounds)


def symbolic(random: Random) -> Case:
    """Sizes by name, of which divisors and an order are assumed."""
    d = random.choice((4, 8, 16))
    assume: tuple[Tree, ...] = (("==", ("%", "N", d), 0), ("<=", "M", "N"))
    bounds: dict[str, tuple[int, Tree]] = {"i": (0, add("M", -1)), "j": (0, add("N", -1))}
    forms: list[Tree] = [
        ("%", ("%", "j", "N"), d),
        ("%", add(times("N", "i"), "j"), d),
        ("//", add(times("N", "i"), "j"), "N"),
        add(times("N", ("//", "i", "N")), ("%", "i", "N")),
        ("min", add("i", 1), "N"),
        ("max", "M", "N"),
        ("select", ("<", "i", "N"), add(times("N", "j"), "i"), 0),
        times(d, ("//", add("N", d - 1), d)),
        ("%", add(times("N", "i"), 3), d),
        ("//", add(times(d, "i"), times("N", "j")), d),
        add(("max", "i", 0), ("min", "j", add("N", 3))),
        ("%", add(times("N", "i"), "j"), "N"),
    ]
    return Case("symbolic divisibility", random.choice(forms), bounds, assume)


def multiples(random: Random) -> Case:
    """Lengths within bounds that numbers divide."""
    d, n = random.choice((4, 8, 16)), random.choice((100, 128, 1000))
    bounds: dict[str, tuple[int, Tree]] = {"n": (0, n), "m": (d, n), "i": (0, d - 1)}
    assume: tuple[Tree, ...] = (("==", ("%", "n", d), 0), ("==", ("%", "m", d), 0))
    forms: list[Tree] = [
        times(d, ceildiv("n", d)),
        ("%", add("n", "i"), d),
        ("//", add("n", "i"), d),
        add(times(2, ("//", "n", 2)), ("%", "n", 4)),
        ("//", ("min", add("n", "i"), add("m", d - 1)), d),
        times(d, ("//", ("min", "n", "m"), d)),
        ("select", ("==", ("%", add("n", "m"), d), 0), ("//", "n", 2), "i"),
        add(times(2 * d, ("//", "n", 2 * d)), ("%", add("n", "i"), 2 * d)),
        ("//", add(times(d, "m"), times(2, "n"), "i"), 2 * d),
        add(("%", add("n", "m", "i"), d), ceildiv(add("m", 1), d)),
    ]
    return Case("lengths that numbers divide", random.choice(forms), bounds, assume)


def im2col(random: Random) -> Case:
    """The element of an image that a row and a column of its matrix of patches mean."""
    n, c, h = random.choice((1, 2, 4)), random.choice((4, 8, 16)), random.choice((14, 28, 32))
    r, s = random.choice((1, 3, 5)), random.choice((1, 2))
    out = (h - r) // s + 1
    image, row = ("//", "m", out * out), ("%", ("//", "m", out), out)
    order = random.choice(("NCHW", "NHWC", "NCHW4c"))
    if order == "NHWC":  # the columns of the matrix are in the order of the image
        channel, y, x = ("%", "k", c), ("//", "k", r * c), ("%", ("//", "k", c), r)
        strides = h * h * c, 1, h * c, c
    else:
        channel, y, x = ("//", "k", r * r), ("%", ("//", "k", r), r), ("%", "k", r)
        strides = c * h * h, h * h, h, 1
    down, across = add(times(s, row), y), add(times(s, ("%", "m", out)), x)
    tree = add(
        times(strides[0], image), times(strides[1], channel),
        times(strides[2], down), times(strides[3], across),
    )  # fmt: skip
    if order == "NCHW4c":
        tree = add(
            times(c * h * h, image), times(4 * h * h, ("//", channel, 4)),
            times(4 * h, down), times(4, across), ("%", channel, 4),
        )  # fmt: skip
    bounds: dict[str, tuple[int, Tree]] = {"m": (0, n * out * out - 1), "k": (0, c * r * r - 1)}
    if random.random() < 0.3:  # a block of eight rows and columns at a time
        parts = {"m": add(times(8, "b"), "i"), "k": add(times(8, "d"), "j")}
        tree = _put(tree, parts)
        bounds = {"b": (0, n * out * out // 8), "i": (0, 7), "d": (0, c * r * r // 8), "j": (0, 7)}
    return Case("im2col", tree, bounds)


def _put(tree: Any, parts: Mapping[str, Tree]) -> Any:
    if isinstance(tree, tuple):
        return (tree[0], *(_put(one, parts) for one in tree[1:]))
    return parts.get(tree, tree)


def pairs(seed: int, count: int) -> str:
    """How much ``readable`` and ISL cost on im2col, and ten pairs where it costs more."""
    sums, found = {"input": 0, "readable": 0, "cheapest": 0, "ISL": 0}, []
    for case in cases(seed, count, (im2col,)):
        answers = {name: ask(case) for name, ask in OURS.items()} | {"ISL": isl_answer(case)}
        for name, tree in answers.items():
            if not is_right(case, tree):
                raise SystemExit(f"{name} is wrong: {show(case.tree)}")
            sums[name] += cost(tree)
        sums["input"] += cost(case.tree)
        more = cost(answers["readable"]) - cost(answers["ISL"])
        found.append((-more, show(answers["readable"]), show(answers["ISL"]), case))
    ten = sorted(found, key=lambda one: one[:3])[:10]
    rows: list[list[object]] = [
        [cost_text, f"`{a}`", f"`{b}`"]
        for more, a, b, case in ten
        if more < 0 and (cost_text := -more)
    ]
    costs = ", ".join(f"{name} {n}" for name, n in sums.items())
    number = sum(more < 0 for more, *_ in found)
    return (
        f"{machine()}, seed {seed}, {len(found)} cases: {costs}. `readable` costs more than ISL in "
        f"{number}.\n\n{table(['more', '`readable`', 'ISL'], rows)}"
    )


FAMILIES: Final = (halide, convolution, attention, symbolic, multiples)


def text(tree: Tree) -> str:
    """The tree as this library reads it."""
    return show(tree).replace("> =", ">=")


def own_form(case: Case) -> tuple[Any, Any]:
    """The case as read from text, and its assumptions."""
    bounds = {name: (lo, hi if isinstance(hi, int) else text(hi)) for name, (lo, hi) in
              case.bounds.items()}  # fmt: skip
    bounds |= dict.fromkeys(case.sizes, (1, None))
    assume = ", ".join(show(one)[1:-1] for one in case.assume) or None
    return assumed_form(text(case.tree), bounds, assume)


def own(case: Case, target: str) -> Tree:
    """The answer of this library."""
    form, facts = own_form(case)
    found = readable(form, facts.forms)[0]
    if target == "cheapest":
        found = cheapest(found if facts.forms else form)
    return _sized(ours.read(facts.named(found)))


def _sized(tree: Any) -> Tree:
    """A tree of ours with sizes as trees."""
    if isinstance(tree, tuple):
        return (tree[0], *map(_sized, tree[1:]))
    return tree if isinstance(tree, int | str) else ours.size_tree(tree)


def tvm_answer(case: Case) -> Tree:
    """The answer of TVM, with the assumptions as constraints."""
    import tvm.ir
    from peers.tvm_analyzer import _built, read
    from tvm import tirx
    from tvm.sym import Analyzer

    names = {name: tirx.Var(name, "int64") for name in [*case.bounds, *case.sizes]}
    analyzer = Analyzer()
    for name in case.sizes:
        analyzer.bind(names[name], tvm.ir.Range(1, 2**31))
    for name, (lo, hi) in case.bounds.items():
        analyzer.bind(names[name], tvm.ir.Range(lo, _built(add(hi, 1), names)))
    tree = _built(case.tree, names)

    def asked(constraints: tuple[Tree, ...]) -> Any:
        if not constraints:
            return analyzer.simplify(tree, 3)
        with analyzer.constraint_scope(_built(constraints[0], names)):
            return asked(constraints[1:])

    return read(asked(case.assume))


def isl_answer(case: Case) -> Tree:
    """The answer of ISL: the cheapest of its ways to print the function on its box."""
    import islpy as isl

    if case.sizes:
        raise Unreadable("sizes by name")
    bounds = {name: (lo, int(str(hi))) for name, (lo, hi) in case.bounds.items()}
    names = ",".join(bounds)

    def value(tree: Tree) -> Any:
        if not isinstance(tree, tuple):
            return isl.PwAff(f"{{ [{names}] -> [{tree}] }}")
        op, *args = tree
        if op == "*":
            return value(args[1]).scale_val(isl.Val(args[0]))
        if op in ("//", "%"):
            by = isl.Val(args[1])
            whole = value(args[0])
            return whole.scale_down_val(by).floor() if op == "//" else whole.mod_val(by)
        if op == "select":
            where = condition(args[0])
            one = value(args[1]).intersect_domain(where)
            return one.union_add(value(args[2]).intersect_domain(where.complement()))
        joined = {"+": lambda a, b: a.add(b), "min": lambda a, b: a.min(b),
                  "max": lambda a, b: a.max(b)}  # fmt: skip
        return reduce(joined[op], map(value, args))

    def condition(tree: Any) -> Any:
        op, a, b = tree
        if op in ("and", "or"):
            one, other = condition(a), condition(b)
            return one.intersect(other) if op == "and" else one.union(other)
        sides = value(a), value(b)
        kind = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}[op]
        return getattr(sides[0], f"{kind}_set")(sides[1])

    box = reduce(lambda a, b: a.intersect(b), map(condition, case.assume), isl_peer.box(bounds))
    function = value(case.tree).intersect_domain(box).coalesce()
    trees = []
    for simple in (function, function.gist(box)):
        build = isl.AstBuild.from_context(box)
        trees.append(isl_peer.read(build.expr_from_pw_aff(simple)))
    return min(trees, key=cost)


PEERS: Final[Mapping[str, Callable[[Case], Tree]]] = {"TVM": tvm_answer, "ISL": isl_answer}
OURS: Final[Mapping[str, Callable[[Case], Tree]]] = {
    "readable": partial(own, target="readable"),
    "cheapest": partial(own, target="cheapest"),
}


def is_right(case: Case, found: Tree) -> bool:
    """Whether an answer has the values of the case where they were tried."""
    return all(np.all(evaluate(case.tree, at) == evaluate(found, at)) for at in case.points())


def cases(
    seed: int, count: int, families: tuple[Callable[[Random], Case], ...] = FAMILIES
) -> Iterator[Case]:
    """So many cases of each family."""
    for family in families:
        seen = set[str]()
        random = Random(f"{seed} {family.__name__}")
        for _ in range(100 * count):  # a family may have fewer
            case = family(random)
            key = f"{show(case.tree)} {case.bounds} {case.assume}"
            if key not in seen and len(seen) < count:
                seen.add(key)
                yield case


def main() -> None:
    """Ask, judge and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--im2col", action="store_true", help="the pairs, not the table")
    options = parser.parse_args()
    if options.im2col:
        print(text_ := pairs(options.seed, 2 * options.count))
        if options.write:
            put("im2col", text_)
        return
    totals: dict[str, dict[str, int]] = {}
    times_: dict[str, list[float]] = {}
    worse, unread = [], dict.fromkeys(PEERS, 0)
    for case in cases(options.seed, options.count):
        sums = totals.setdefault(case.family, dict.fromkeys(["input", *OURS, *PEERS, "best"], 0))
        answers: dict[str, Tree] = {}
        for name, ask in (OURS | PEERS).items():
            start = thread_time()
            try:
                answers[name] = ask(case)
            except (Unreadable, ImportError, KeyError):
                unread[name] += 1
                answers[name] = case.tree
            times_.setdefault(name, []).append(thread_time() - start)
            if not is_right(case, answers[name]):
                if name in OURS:
                    raise SystemExit(f"{name} is wrong: {show(case.tree)}: {answers[name]}")
                answers[name] = case.tree
        costs = {name: cost(tree) for name, tree in answers.items()}
        best = min(PEERS, key=costs.__getitem__)
        for name in OURS | PEERS:
            sums[name] += costs[name]
        sums["input"] += cost(case.tree)
        sums["best"] += costs[best]
        if costs["cheapest"] > costs[best]:
            worse.append(
                f"{costs['cheapest']} `{show(answers['cheapest'])}`, {best} {costs[best]} "
                f"`{show(answers[best])}`, of `{show(case.tree)}`, {dict(case.bounds)}"
            )
    head = ["family", "input", *OURS, *PEERS, "best peer by case"]
    lines: list[list[object]] = [[name, *sums.values()] for name, sums in totals.items()]
    lines.append(["median µs", "", *(f"{1e6 * median(ts):.0f}" for ts in times_.values()), ""])
    text_ = (
        f"{machine()}, seed {options.seed}, {options.count} cases of each.\n\n"
        f"{table(head, lines)}\n\nA peer is cheaper than `cheapest` in {len(worse)} cases."
    )
    print(text_, f"not read: {unread}", *sorted(worse, key=len), sep="\n\n")
    if options.write:
        put("choices", "\n".join([text_, "", *(f"- {one}" for one in sorted(worse, key=len))]))


if __name__ == "__main__":
    main()
