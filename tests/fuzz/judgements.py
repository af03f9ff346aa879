"""Random verdicts and conditions against counting in NumPy.

    python -m tests.fuzz.judgements --seed 1 --count 100000 --table judged.json
    python -m tests.fuzz.judgements --seed 1 --conditions 100000

Question k of a seed is always the same. Each is about two layouts or formulas of
``tests/fuzz/layouts.py`` and asks for several verdicts: of each layout, of both, and of views. A
verdict about sizes by name is right if it is right at each point of a grid: its condition, its
formula of padding, its counterexample. A run with ``--table`` goes on from where the file ends.
A wrong verdict, an exception and a slow question are asked again with ``--start k --count 1``.
Prints how many were right, undecided (by reason), refused and wrong, and the shortest case. Two
versions of the package give the same answers if their ``--answers FILE`` are equal.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import product
from math import ceil, gcd, prod
from operator import mul
from pathlib import Path
from random import Random
from resource import RUSAGE_SELF, getrusage
from time import process_time
from typing import Any, NamedTuple

import numpy as np

import morello_layouts as ml
from morello_layouts.machines.gpu.access import Lanes
from morello_layouts.proof.verdict import SymbolicCounterexample
from tests.fuzz import banks
from tests.fuzz.layouts import (
    FAMILIES,
    PITCHES,
    SIZES,
    WITHOUT_NAMES,
    Drawn,
    Places,
    Sizes,
    Tiled,
    assumed,
    at,
    tiled_of,
)

GRID = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24)
POINTS = 40
"""Points of a grid that are counted: the smallest sizes, and others."""
LARGEST = 3000
"""Places that are counted at a point."""
VERIFIED = 0.15
"""The share of layouts whose formulas are verified, too."""
SMALLEST = ("tiled", "packed")
"""Families whose counterexamples are the smallest where there is a condition."""
SLOW = 1.0
"""Seconds of processor time; slower questions are printed."""
WRITE_EVERY = 500
QUESTIONS = {
    "injective": ml.is_injective,
    "surjective": ml.is_surjective,
    "bijective": ml.is_bijective,
}

Truth = Mapping[str, bool]

ANSWERS: list[str] = []
"""Each verdict with all that it says, if ``--answers`` asks for them."""


class Judged(NamedTuple):
    """What became of a verdict: ``right``, ``undecided``, ``refused`` or ``wrong``, and why."""

    kind: str
    state: str
    text: str
    has_condition: bool = False
    points: int = 0


@cache
def evaluator(text: str) -> Any:
    """Return code for a condition or number as the package writes it, "8 | M, or N = 1".

    Raises ``ValueError`` if it is in words.
    """
    if text in ("all sizes", "no sizes"):
        return compile(str(text == "all sizes"), text, "eval")
    found = "".join(map(fact, re.split(r"(,? or |,? and )", text)))
    if re.search(r"[a-z]", re.sub(r"\b(and|or|not|ceil|gcd|max|min|[A-Z]\w*)\b", "", found)):
        raise ValueError(text)
    return compile(found.strip(), text, "eval")


def fact(text: str) -> str:
    """Return a part of a condition as Python writes it; joints of parts stay what they are."""
    divides = re.fullmatch(r"(\(*)(.*?) (?:\||divides) (.*)", text)
    if divides:
        ahead, divisor, number = divides.groups()
        after = ")" * (number.count(")") - number.count("("))
        return f"{ahead}({number.removesuffix(after)}) % ({divisor}) == 0{after}"
    found = re.sub(r"(?<![<>=!])=(?!=)", "==", text.lstrip(","))
    return found.replace("ceiling", "ceil").replace("≠", "!=")


def value(text: str, sizes: Sizes) -> Any:
    """Return the value of a condition or number at sizes."""
    return eval(evaluator(text), {"ceil": ceil, "gcd": gcd, "max": max, "min": min}, dict(sizes))


def truth_of(places: Places, size: int) -> Truth:
    """Return what counting says of places in a buffer."""
    flat = places.reshape(-1)
    kinds = len(np.unique(flat))
    injective = kinds == len(flat)
    surjective = kinds == size and bool(((flat >= 0) & (flat < size)).all())
    both = injective and surjective and places.shape[1] == 1
    return {"injective": injective, "surjective": surjective, "bijective": both}


def same(one: Places, other: Places) -> bool:
    """Return whether each element is at the same places."""
    if one.shape != other.shape:
        return False
    return bool((np.sort(one, axis=1) == np.sort(other, axis=1)).all())


def grid(random: Random, *layouts: Drawn) -> list[dict[str, int]]:
    """Return sizes for the names of layouts: all of the smallest, and a sample of others."""
    names = tuple(dict.fromkeys(n for one in layouts for n in one.names))
    if not names:
        return [{}]
    steps = {n: np.lcm.reduce([x.multiples.get(n, 1) for x in layouts]) for n in names}
    few = [dict(zip(names, at, strict=True)) for at in product((1, 2, 3), repeat=len(names))][:27]
    others = [{n: random.choice(GRID) for n in names} for _ in range(2 * POINTS)]
    found = [{n: int(k * steps[n]) for n, k in at.items()} for at in (*few, *others)]
    kept = [x for x in found if prod(x.get(n, n) for n in layouts[0].shape) <= LARGEST]
    kept = [x for x in kept if all(x.get(p, 1) <= 24 for p in PITCHES)]
    kept = [x for x in kept if all(eval(text, {}, x) for one in layouts for text in one.assuming)]
    return list({tuple(x.items()): x for x in kept}.values())[:POINTS]


def fault(
    proof: ml.Proof,
    truths: list[tuple[dict[str, int], bool]],
    empty: Callable[[Sizes], int | None],
    first: Callable[[Sizes], Any] | None = None,
) -> tuple[str, int]:
    """Return what is wrong with a verdict about sizes by name, and the points that were counted.

    Args:
        proof: the verdict.
        truths: for some sizes whether what is claimed is so.
        empty: counts the slots without an element.
        first: finds the smallest counterexample at sizes, where one is promised.
    """
    assumed = [text for facts in proof.assumptions for text in facts.split(", ")]
    known = [x for x in truths if all(value(text, x[0]) for text in assumed)]
    if proof.holds is True and (bad := [at for at, holds in known if not holds]):
        return f"not at {bad[0]}", len(known)
    if isinstance(at := proof.counterexample, SymbolicCounterexample):
        there = [holds for sizes, holds in known if sizes == dict(at.sizes)]
        if any(there):
            return f"it holds at {dict(at.sizes)}, the counterexample", len(known)
        if first and known and proof.condition is not None and proof.condition.expr is not None:
            fixed = {n: x for n, x in known[0][0].items() if n not in at.sizes}
            if (own := first(fixed | dict(at.sizes))) != at.at:
                return f"at {dict(at.sizes)} {own} is the first, not {at.at}", len(known)
            fail = [[sizes[name] for name in at.sizes] for sizes, holds in known if not holds]
            if any(smaller < [*at.sizes.values()] for smaller in fail):
                return f"{min(fail)} is smaller than {dict(at.sizes)}", len(known)
    condition = str(proof.condition) if proof.condition is not None else None
    parts = re.findall(r"proved if (.*?), open", proof.reason)
    for text, is_exact in [(condition, True), *((part, False) for part in parts)]:
        if text is None:
            continue
        for sizes, holds in known:
            found = bool(value(text, sizes))
            if found is not holds and (is_exact or found):
                return f"{text!r} is {found} at {sizes}", len(known)
    if proof.unused is not None:
        text = str(proof.unused)
        for sizes, _ in known:
            counted = empty(sizes)
            if counted is not None and value(text, sizes) != counted:
                return f"padding {text} is not {counted} at {sizes}", len(known)
    return "", len(known)


def fault_of_numbers(proof: ml.Proof, places: Places, size: int, shape: tuple[int, ...]) -> str:
    """Return what is wrong with a verdict about numbers, or nothing."""
    right, flat = truth_of(places, size)[proof.claim], places.reshape(-1)
    if proof.holds is not right:
        return f"counting says {right}"
    held = np.zeros(size, bool)
    held[flat[(flat >= 0) & (flat < size)]] = True
    empty = np.flatnonzero(~held)
    inside = bool(((flat >= 0) & (flat < size)).all())
    if proof.unused is not None and inside and proof.unused != len(empty):
        return f"padding is {len(empty)}"
    at = proof.counterexample
    if right or at is None:
        return ""
    if isinstance(at, int):
        return "" if len(empty) and at == empty[0] else f"slot {at} is not the first that is empty"
    if isinstance(at[0], tuple):
        one, other = (places[np.ravel_multi_index(x, shape)] for x in at)
        return "" if at[0] != at[1] and {*one} & {*other} else f"{at} share no offset"
    there = places[np.ravel_multi_index(at, shape)]
    return "" if ((there < 0) | (there >= size)).any() else f"{at} is inside"


def outcome(kind: str, text: str, act: Callable[[], tuple[ml.Proof, str, int]]) -> Judged:
    """Return what became of a verdict; an honest error is a refusal, each other one a fault."""
    try:
        proof, wrong, points = act()
    except ml.LayoutError as error:
        return Judged(kind, "refused", f"{text}: {error.args[0]}")
    except Exception as error:
        return Judged(kind, "wrong", f"{text}: {type(error).__name__}: {error}")
    if ANSWERS:
        said = (proof.holds, proof.counterexample, proof.condition, proof.unused, proof.reason)
        ANSWERS.append(f"{text}: {' | '.join(map(str, (*said, *proof.assumptions)))}")
    has_condition = proof.condition is not None and (proof.condition.depends or points > 1)
    state = "wrong" if wrong else "undecided" if proof.holds is None else "right"
    return Judged(kind, state, f"{text}: {wrong or proof.reason}", has_condition, points)


def of_each(random: Random, family: str, drawn: Drawn) -> Iterator[Judged]:
    """Ask for the verdicts about one layout."""
    kind = f"{family}{', names' if drawn.names else ''}"
    try:
        m = drawn.map()
    except ml.LayoutError as error:
        yield Judged(kind, "refused", f"{drawn.text}: {error.args[0]}")
        return
    except Exception as error:
        yield Judged(kind, "wrong", f"{drawn.text}: {type(error).__name__}: {error}")
        return
    counted = [(sizes, *drawn.places(sizes)) for sizes in grid(random, drawn)]
    if not drawn.names:
        ((_, places, size),) = counted
        size = int(m.size) if size is None else size
        if isinstance(m, ml.IndexMap) and m.size != size:
            yield Judged(kind, "wrong", f"{drawn.text}: size {m.size} is not {size}")
    truths = [(sizes, truth_of(places, size or 0)) for sizes, places, size in counted]

    def empty(sizes: Sizes) -> int | None:
        places, size = next((p, n) for at, p, n in counted if at == sizes)
        inside = ((places >= 0) & (places < size)).all()
        return int(size - len(np.unique(places))) if inside and size is not None else None

    def gap(sizes: Sizes) -> int | None:
        places, size = drawn.places(sizes)
        return next(iter(np.setdiff1d(np.arange(size or 0), places).tolist()), None)

    for claim, question in QUESTIONS.items():

        def act(claim: str = claim, question: Any = question) -> tuple[ml.Proof, str, int]:
            if drawn.assuming:
                proof = question(drawn.given(), drawn.shape, assuming=drawn.assuming)
            else:
                proof = question(m)
            if proof.holds is None and proof.condition is None and not drawn.names:
                return proof, "", 1
            if not drawn.names:
                return proof, fault_of_numbers(proof, places, size, drawn.shape), 1
            first = gap if family in SMALLEST and claim != "injective" else None
            return proof, *fault(proof, [(at, t[claim]) for at, t in truths], empty, first)

        yield outcome(kind, f"{claim} {drawn.text}", act)
    if isinstance(drawn.source, str) and random.random() < VERIFIED:

        def verified() -> tuple[ml.Proof, str, int]:
            proof = ml.verify(m)
            return proof, "the formulas differ" if proof.holds is False else "", 1

        yield outcome(kind, f"verify {drawn.text}", verified)


def of_both(random: Random, family: str, one: Drawn, other: Drawn) -> Iterator[Judged]:
    """Ask whether two layouts are equal, and whether one reads what the other wrote."""
    names = {*one.names, *other.names}
    kind = f"{family}, two{', names' if names else ''}"
    truths, is_inside = [], True  # agree refuses a formula that leaves its buffer
    for sizes in grid(random, one, other):
        (a, m), (b, n) = one.places(sizes), other.places(sizes)
        truths.append((sizes, same(a, b)))
        is_inside &= all(((x >= 0) & (x < (k or x + 1))).all() for x, k in ((a, m), (b, n)))

    def different(sizes: Sizes) -> tuple[int, ...] | None:
        (a, _), (b, _), there = one.places(sizes), other.places(sizes), at(one.shape, sizes)
        wrong = np.flatnonzero((a != b).any(axis=1))
        return tuple(map(int, np.unravel_index(wrong[0], there))) if len(wrong) else None

    def act(question: Callable[..., Any]) -> tuple[ml.Proof, str, int]:
        assumed = {"assuming": one.assuming} if one.assuming else {}
        found = question(*(x.given() for x in (one, other)), one.shape, **assumed)
        proof = found if isinstance(found, ml.Proof) else found.offsets
        if names or proof.holds is None:
            smallest = different if family in SMALLEST and proof is found else None
            return proof, *fault(proof, truths, lambda _: None, smallest)
        ((_, right),) = truths
        wrong = "" if proof.holds is right else f"counting says {right}"
        if proof.holds is False and proof is found and not wrong:
            a, b = (x.places({})[0] for x in (one, other))
            first = np.flatnonzero((a != b).any(axis=1))[0]
            if proof.counterexample != tuple(map(int, np.unravel_index(first, one.shape))):
                wrong = f"{proof.counterexample} is not the first that differs"
        return proof, wrong, 1

    for question in (ml.are_equivalent, *([ml.agree] if is_inside else [])):
        text = f"{question.__name__} {one.text}, {other.text}"
        yield outcome(kind, text, lambda question=question: act(question))  # type: ignore[misc]


def of_a_view(random: Random, family: str, drawn: Drawn) -> Iterator[Judged]:
    """Ask for the strides of a view for all sizes, and judge them at the grid."""
    steps = [random.choice((1, 1, 2, 3)) for _ in drawn.shape]
    starts = [random.choice((0, 0, 1, 2)) if isinstance(n, str) or n > 2 else 0
              for n in drawn.shape]  # fmt: skip
    cut = tuple(slice(a, None, s) for a, s in zip(starts, steps, strict=True))
    text = f"as_strided {drawn.text}[{', '.join(f'{x.start}::{x.step}' for x in cut)}]"

    def act() -> tuple[ml.Proof, str, int]:
        found, points = ml.index_map(drawn.map())[cut].as_strided(), 0
        if found is None:
            return ml.Proof("strided", None, "no strides"), "", 0
        for sizes in grid(random, drawn):
            there = tuple(sizes.get(n, n) for n in drawn.shape)
            if any(n <= 2 for n in there):
                continue
            right = drawn.places(sizes)[0].reshape(there)[cut]
            numbers = [value(str(x), sizes) for x in (found.offset, *found.strides)]
            x = np.indices(right.shape, sparse=True)
            if not (right == numbers[0] + sum(map(mul, x, numbers[1:]))).all():
                return ml.Proof("strided", True, ""), f"{found} is not so at {sizes}", points
            points += 1
        return ml.Proof("strided", True, "", condition=ml.proof.Condition("")), "", points

    yield outcome(f"{family}, views", text, act)


def of_a_bank(random: Random) -> Iterator[Judged]:
    """Ask for the ways of an access for all pitches, and count lane by lane at some."""
    element = random.choice(banks.WIDTHS)
    vector = random.choice([w // element for w in banks.WIDTHS if w >= element])
    rows, columns = random.randint(2, 40), vector * random.randint(1, 8)
    lanes, is_store = banks.lanes(random, rows, columns, vector), random.random() < 0.3
    unit = random.choice((1, vector))
    layout = ml.index_map("strided<[LD, 1]>", (rows, columns), assuming=f"LD % {unit} == 0")
    text = f"bank_conflicts ({rows}, {columns}) {vector} of {element} bytes {lanes}"

    def act() -> tuple[ml.Proof, str, int]:
        found = ml.bank_conflicts(layout, Lanes(lambda k: lanes[k], vector, is_store),
                                  bits=8 * element)  # fmt: skip
        points, truth = 0, ml.Proof("banks", True, "", condition=ml.proof.Condition(""))
        if isinstance(found, ml.gpu.BankConflicts):
            return truth, "", 0
        least = max(found.least, columns)
        for pitch in random.sample(range(least, least + 200), 20):
            if pitch % unit:
                continue
            tile = banks.Tile(layout, lambda i, j, pitch=pitch: i * pitch + j)  # type: ignore[misc]
            ways, _ = banks.Question(tile, element, vector, is_store, lanes).counted()
            own = value(found.pitch, {"LD": pitch})
            said = {found.ways[own % len(found.ways)]}
            if found.formula is not None:
                said.add(value(found.formula, {"LD": pitch}))
            if said != {ways}:
                return truth, f"{found.verdict}, {said} at {pitch}; counted {ways}", points
            points += 1
        return truth, "", points

    yield outcome("banks, names", text, act)


def of_a_bitcast(random: Random) -> Iterator[Judged]:
    """Ask whether a reshape between tiled layouts moves nothing."""
    shape = tuple(random.choice(SIZES) for _ in range(random.choice((1, 2, 2, 3))))
    target = regrouped(random, shape)
    one, other = tiled_of(random, len(shape)), tiled_of(random, len(target))
    if random.random() < 0.6:
        one = Tiled(tuple(range(len(shape)))[::-1], one.tiles[:1])
        other = Tiled(tuple(range(len(target)))[::-1], other.tiles[:1])

    def act() -> tuple[ml.Proof, str, int]:
        proof = ml.is_bitcast(one.text(shape), other.text(target))
        right = bool((one.offsets(shape) == other.offsets(target)).all())
        return proof, "" if proof.holds in (None, right) else f"counting says {right}", 1

    yield outcome("bitcasts", f"is_bitcast {one.text(shape)} {other.text(target)}", act)


def regrouped(random: Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Another shape of as many elements."""
    left = prod(shape)
    found: list[int] = []
    while left > 1 and len(found) < 3:
        found.append(random.choice([n for n in range(1, left + 1) if left % n == 0]))
        left //= found[-1]
    return (*found, left) if left > 1 or not found else tuple(found)


def of_a_family(random: Random, family: Any, named: bool) -> Iterator[Judged]:
    """Ask for all verdicts about two layouts of a family."""
    name = family.__name__
    one, other = family(random, named)
    if named and random.random() < 0.25:
        changed = assumed(random, *([one] if other is one else [one, other]))
        one, other = changed[0], changed[-1]
    yield from of_each(random, name, one)
    if other is not one:
        yield from of_each(random, name, other)
        yield from of_both(random, name, one, other)
    if name == "linear":
        yield from of_a_view(random, name, one)


def ask(seed: int, number: int, share_of_names: float = 0.06) -> list[Judged]:
    """Ask question ``number`` of a seed; with names, it takes ten times as long."""
    random = Random(f"{seed} {number}")
    named, other = random.random() < share_of_names, random.random()
    if other < 0.04:
        return [*(of_a_bank(random) if named else of_a_bitcast(random))]
    families = [f for f in FAMILIES if not (named and f in WITHOUT_NAMES)]
    (family,) = random.choices(families, [FAMILIES[f] for f in families])
    return [*of_a_family(random, family, named)]


class Table:
    """Counts of each kind, and one line for each verdict to look at; kept in a JSON file."""

    def __init__(self, seed: int, start: int, file: Path | None, share: float = 0.06) -> None:
        self.file, self.share = file, share
        self.found: dict[str, Any] = {"seed": seed, "start": start, "next": start, "lines": []}
        self.found |= {"seconds": 0.0, "slowest": 0.0, "peak_mb": 0, "kinds": {}, "why": {}}
        self.found |= {"conditions": 0, "points": 0}
        if file and file.exists():
            self.found = json.loads(file.read_text(encoding="utf-8"))

    @property
    def count(self) -> int:
        """The verdicts so far."""
        return sum(sum(counts.values()) for counts in self.found["kinds"].values())

    def ask_next(self) -> None:
        """Ask the next question; a wrong, slow or failing one becomes a line that repeats it."""
        seed, number = self.found["seed"], self.found["next"]
        began = process_time()
        try:
            judged = ask(seed, number, self.share)
        except Exception as error:
            judged = [Judged("crashed", "wrong", f"{type(error).__name__}: {error}")]
        took = process_time() - began
        repeat = f"--seed {seed} --start {number} --count 1 --share {self.share}"
        lines = [f"WRONG {repeat}: {x.text}" for x in judged if x.state == "wrong"]
        if took > SLOW:
            lines.append(f"SLOW {repeat}: {took:.1f} s, {judged[0].text}")
        for line in lines:
            self.found["lines"].append(line)
            print(line, flush=True)  # noqa: T201
        for kind, state, text, has_condition, points in judged:
            zero = {"right": 0, "undecided": 0, "refused": 0, "wrong": 0}
            self.found["kinds"].setdefault(kind, zero)[state] += 1
            if has_condition:
                self.found["conditions"] += 1
                self.found["points"] += points
            if state in ("undecided", "refused"):
                words = re.sub(
                    r"[^:]*: |\d+|\b[a-zA-Z]\d?\b|[^a-zA-Z ]", " ", text.split("): ")[-1]
                )
                why = f"{state}: {' '.join(words.split()[:7])}"
                self.found["why"][why] = self.found["why"].get(why, 0) + 1
        self.found["next"] += 1
        self.found["seconds"] = round(self.found["seconds"] + took, 3)
        self.found["slowest"] = round(max(self.found["slowest"], took), 3)

    def write(self) -> None:
        peak = getrusage(RUSAGE_SELF).ru_maxrss // 1024
        self.found["peak_mb"] = max(self.found["peak_mb"], peak)
        if self.file:
            beside = self.file.with_suffix(".part")
            beside.write_text(json.dumps(self.found, indent=1) + "\n", encoding="utf-8")
            beside.replace(self.file)

    def show(self) -> None:
        states = ("right", "undecided", "refused", "wrong")
        print(f"{'':24}" + "".join(f"{state:>10}" for state in states))  # noqa: T201
        total = Counter[str]()
        for kind, counts in sorted(self.found["kinds"].items()):
            total.update(counts)
            print(f"{kind:24}" + "".join(f"{counts[s]:10}" for s in states))  # noqa: T201
        print(f"{'all':24}" + "".join(f"{total[s]:10}" for s in states))  # noqa: T201
        for why, count in Counter(self.found["why"]).most_common(12):
            print(f"{count:8} {why}")  # noqa: T201
        words = "seed {seed}, {conditions} conditions at {points} points, "
        words += "{seconds} s of processor time, slowest {slowest} s, peak {peak_mb} MB"
        print(words.format(**self.found))  # noqa: T201
        wrong = [line for line in self.found["lines"] if line.startswith("WRONG")]
        if wrong:
            print(f"smallest: {min(wrong, key=len)}")  # noqa: T201


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, help="questions")
    parser.add_argument("--verdicts", type=int, help="ask until there are so many verdicts")
    parser.add_argument("--conditions", type=int, help="ask about names until so many conditions")
    parser.add_argument("--share", type=float, help="of questions about sizes by name")
    parser.add_argument("--table", type=Path, help="a file to write to, and to go on from")
    parser.add_argument("--answers", type=Path, help="a file for each verdict, to compare")
    given = parser.parse_args()
    share = given.share if given.share is not None else 1.0 if given.conditions else 0.06
    table = Table(given.seed, given.start, given.table, share)
    ask(given.seed, table.found["next"])  # loads what loads on first use
    asked = 0
    if given.answers:
        ANSWERS.append("answers")

    def is_done() -> bool:
        if given.conditions:
            return bool(table.found["conditions"] >= given.conditions)
        return table.count >= given.verdicts if given.verdicts else asked >= (given.count or 1000)

    while not is_done():
        table.ask_next()
        asked += 1
        if asked % WRITE_EVERY == 0:
            table.write()
    table.write()
    table.show()
    if given.answers:
        given.answers.write_text("\n".join(ANSWERS) + "\n", encoding="utf-8")
    return int(any(counts["wrong"] for counts in table.found["kinds"].values()))


if __name__ == "__main__":
    raise SystemExit(main())
