"""Forged certificates, drawn by number: mutants that compose, certificates crossed, and new ones.

Every accepted one is judged by enumeration, and asked again in threads that check others meanwhile.
"""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any, TypeAlias

from morello_layouts.check import CLAIMS, FORMAT, OBJECTS, SHARED, Refused, check, read
from morello_layouts.errors import UnsupportedError
from morello_layouts.proof.certificate_digits import certified
from tests.support.certificate_judge import is_true

Certificate: TypeAlias = dict[str, Any]

OPERATORS = ("^", "-", "//", "%", "*", "+")
NUMBERS = ("0", "1", "2", "3", "4", "7", "8", "16", "128", "007", "9" * 30)


def forgery(originals: list[Certificate], seed: int, number: int) -> str:
    """Return forgery ``number`` of a seed, as the text of a file."""
    random = Random(f"{seed} {number}")
    draw = random.random()
    if draw < 0.25:
        found = new(random)
    else:
        found = copy.deepcopy(random.choice(originals))
        ways = random.choices(WAYS, WEIGHTS, k=random.choice((1, 1, 1, 2, 2, 3, 4)))
        for way in ways:
            way(found, random, originals)
    return json.dumps(found)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the texts of a certificate as (container, key), but for those that nobody checks."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if key in {"format", "about", "claim"}:
            continue
        if isinstance(inner, dict | list):
            yield from _places(inner)
        else:
            yield value, key


def _names(given: Certificate) -> list[str]:
    found = {x for text in map(str, _texts(given)) for x in re.findall(r"[A-Za-z_]\w*", text)}
    return [*sorted(found), "d0", "d1", "p"]


def _texts(given: Certificate) -> list[str]:
    return [box[key] for box, key in _places(given)]


def _operand(given: Certificate, random: Random) -> str:
    """Return a number, a name, or any text of a certificate."""
    draw = random.random()
    if draw < 0.4:
        return random.choice(NUMBERS)
    return random.choice(_names(given) if draw < 0.7 else _texts(given) or ["1"])


def change_a_token(given: Certificate, random: Random, _: list[Certificate]) -> None:
    """Change a number, an operator, or a name in a text."""
    box, key = random.choice([*_places(given)])
    parts = re.findall(r"//|\w+|\S", str(box[key]))
    tokens = [k for k, part in enumerate(parts) if part not in {"(", ")"}]
    if tokens:
        k = random.choice(tokens)
        if parts[k].isdecimal():
            n = int(parts[k])
            around = [n + 1, n - 1, 2 * n, n // 2, f"-{n}", 1]
            parts[k] = str(random.choice(around))
        else:
            parts[k] = random.choice(OPERATORS if parts[k] in OPERATORS else _names(given))
        box[key] = " ".join(parts)


def compose(given: Certificate, random: Random, _: list[Certificate]) -> None:
    """Put an operator and an operand beside a text, wherever one may stand."""
    box, key = random.choice([*_places(given)])
    form = random.choice((
        "{0} {1} {2}", "{2} {1} {0}", "({0}) {1} ({2})", "({2}) {1} ({0})", "-({0})",
        "-(-({0})//{3})", "({0})//{3}*{3} + ({0})%{3}", "({0}) ^ {3} ^ {3}",
        "({0}) + ({2}) - ({2})", "({0})*({2})//({2})",
    ))  # fmt: skip
    number = random.choice(NUMBERS[1:9])
    box[key] = form.format(box[key], random.choice(OPERATORS), _operand(given, random), number)


def swap(given: Certificate, random: Random, _: list[Certificate]) -> None:
    """Swap two texts."""
    places = [*_places(given)]
    if len(places) > 1:
        (box, key), (other, second) = random.sample(places, 2)
        box[key], other[second] = other[second], box[key]


def copy_a_text(given: Certificate, random: Random, _: list[Certificate]) -> None:
    """Put one text in place of another: names are shared, limits become definitions."""
    (box, key), (other, second) = random.choices([*_places(given)], k=2)
    box[key] = other[second]


def cross(given: Certificate, random: Random, originals: list[Certificate]) -> None:
    """Take a value from another certificate."""
    other = random.choice(originals)
    key = random.choice([k for k in other if k not in {"format", "about"}])
    given[key] = copy.deepcopy(other[key])
    fit(given)


def claim_another(given: Certificate, random: Random, originals: list[Certificate]) -> None:
    """State another claim, with the keys that it has."""
    given["claim"] = random.choice([*CLAIMS])
    for key in sorted(CLAIMS[given["claim"]][0] - given.keys()):
        holders = [x for x in originals if key in x]
        given[key] = copy.deepcopy(random.choice(holders)[key])
    fit(given)


def fit(given: Certificate) -> None:
    """Drop the keys that the claim has not."""
    keys = SHARED | CLAIMS.get(given["claim"], (set(),))[0] | {"about"}
    for key in given.keys() - keys:
        del given[key]


def change_a_definition(given: Certificate, random: Random, _: list[Certificate]) -> None:
    """Drop, move, repeat or add a definition, or let it use limits."""
    key = random.choice(("digits", "digits_of_slots"))
    found = given.get(key, [])
    draw = random.random()
    if found and draw < 0.2:
        found.pop(random.randrange(len(found)))
    elif len(found) > 1 and draw < 0.35:
        found.insert(random.randrange(len(found)), found.pop(random.randrange(len(found))))
    elif found and draw < 0.5:
        again = copy.deepcopy(random.choice(found))
        found.append(again)
        if random.random() < 0.7:
            again |= {x: f"{again[x]}_" for x in ("high", "low", "name") if x in again}
    elif found and draw < 0.75:
        entry = random.choice(found)
        if "is" in entry:
            count = len(given.get("limits", ())) + 1
            entry["using"] = [str(random.randrange(count)) for _ in range(random.randint(0, 2))]
    else:
        below = _operand(given, random)
        one: Certificate = {"name": f"z{len(found)}", "is": _operand(given, random), "below": below}
        if random.random() < 0.5:
            by = _operand(given, random)
            one = {"split": random.choice(_names(given)), "by": by, "below": below}
            one |= {"high": f"y{len(found)}", "low": f"x{len(found)}"}
        elif random.random() < 0.3:
            one = {"each": random.choice(_names(given))}
        elif given.get("limits"):
            one["using"] = [str(random.randrange(len(given["limits"])))]
        found.insert(random.randint(0, len(found)), one)


def change_a_limit(given: Certificate, random: Random, _: list[Certificate]) -> None:
    """Drop, repeat, add or weaken a limit of slots."""
    limits = given.get("limits")
    if limits is None:
        return
    draw = random.random()
    if limits and draw < 0.3:
        limits.pop(random.randrange(len(limits)))
    elif limits and draw < 0.7:
        pair = random.choice(limits)
        pair[1] = f"{pair[1]} {random.choice(OPERATORS)} {_operand(given, random)}"
    else:
        limits.append([_operand(given, random), _operand(given, random)])


def change_a_size(given: Certificate, random: Random, _: list[Certificate]) -> None:
    """Change what is assumed of a size, or make a number one."""
    sizes = given["sizes"]
    if not sizes or random.random() < 0.2:
        name = random.choice(("N", "M", "d0", "p", "_"))
        sizes.append({"name": name, "multiple_of": "1", "least": "1"})
        box, key = random.choice([*_places(given)])
        box[key] = name
        return
    one = random.choice(sizes)
    if random.random() < 0.3:
        one["most"] = random.choice(("0", "1", "2", "8", "100"))
    else:
        one[random.choice(("multiple_of", "least"))] = random.choice(("0", "1", "2", "3", "8"))


def change_the_form(given: Certificate, random: Random, _: list[Certificate]) -> None:
    """Give a value that is not a text, another key, or none."""
    draw = random.random()
    if draw < 0.5:
        box, key = random.choice([*_places(given)])
        odd: tuple[Any, ...] = (
            None,
            True,
            1,
            0,
            1.5,
            [],
            {},
            ["1"],
            "",
            " ",
            "N",
            "1" * 151,
            "\n1",
            "(1",
            "1)",
        )
        box[key] = random.choice(odd)
    elif draw < 0.75:
        del given[random.choice([*given])]
        given.setdefault("claim", random.choice([*CLAIMS]))
        given.setdefault("sizes", [])
    else:
        given[random.choice(("about", "limit", "proof", "format", "Claim"))] = random.choice(
            ([], ["x"], "x", "morello-layouts certificate 1", {})
        )


Way: TypeAlias = Callable[[Certificate, Random, list[Certificate]], None]
WEIGHED: tuple[tuple[Way, int], ...] = (
    (change_a_token, 6), (compose, 8), (swap, 2), (copy_a_text, 3), (cross, 2), (claim_another, 2),
    (change_a_definition, 5), (change_a_limit, 3), (change_a_size, 2), (change_the_form, 1),
)  # fmt: skip
WAYS, WEIGHTS = zip(*WEIGHED, strict=True)


# New certificates, by a grammar


def expression(random: Random, names: list[str], depth: int) -> str:
    """Return a random formula."""
    if depth == 0 or random.random() < 0.15:
        return random.choice([*names, *names, random.choice(NUMBERS[:8])])
    left = expression(random, names, depth - 1)
    op = random.choice(OPERATORS)
    if op in {"//", "%"}:
        right = random.choice(("2", "3", "4", "N") if "N" in names else ("2", "3", "4", "6"))
    else:
        right = expression(random, names, depth - 1)
    return random.choice(
        (f"({left}) {op} ({right})", f"{left}{op}{right}", f"-({left}){op}{right}")
    )


def same_value(random: Random, text: str) -> str:
    """Return a formula of the same value as a text, and sometimes of another one."""
    n, m = random.choice(NUMBERS[2:8]), random.choice(("1", "2", "3"))
    if random.random() < 0.15:
        return expression(random, [text, "d0"], 1)
    ways = (
        "{0}", "({0})//{n}*{n} + ({0})%{n}", "({n}*({0}) + {m})//{n}", "({0}) ^ {n} ^ {n}",
        "-(-({0}))", "({0})*{n}//{n}", "({0}) + {n}*{m} - {m}*{n}",
        "({n}*({0}) + {m})%{n} + ({0}) - {m}", "(({0})^{m})+({0})%2 - ({0})%2^0",
        "(({0})*{n}%({n}*{m}*4))//{n} + ({0})//({m}*4)*{m}*4",
    )  # fmt: skip
    return random.choice(ways).format(f"{text}", n=n, m=m)


def new(random: Random) -> Certificate:
    """Return a certificate of a random statement: with the digits that the search finds, if any."""
    sizes: list[dict[str, str]] = []
    shape = [
        random.choice(("1", "2", "3", "4", "5", "8", "0")) for _ in range(random.randint(1, 2))
    ]
    if random.random() < 0.5:
        step = random.choice(("1", "1", "2", "4"))
        sizes = [{"name": "N", "multiple_of": step, "least": random.choice(("1", "1", "2", "0"))}]
        if random.random() < 0.3:
            sizes[0]["most"] = random.choice(("4", "8", "9"))
        shape[random.randrange(len(shape))] = random.choice(("N", "N", "2*N", "N//2 + 1", "N - 1"))
    d = [f"d{k}" for k in range(len(shape))]
    names = [*d, *(one["name"] for one in sizes)]
    row = d[0] if len(d) == 1 else f"({shape[1]})*d0 + d1"
    back = ["p"] if len(d) == 1 else [f"p//({shape[1]})", f"p%({shape[1]})"]
    count = "*".join(f"({n})" for n in shape)
    if random.random() < 0.3:
        k = random.choice(("2", "3", "1"))
        row, back = f"{k}*({row}) + 1", [x.replace("p", f"((p-1)//{k})") for x in back]
        count = f"{k}*{count} + 1"
    offset = row if random.random() < 0.7 else expression(random, names, random.randint(1, 3))
    claim = random.choice([*CLAIMS])
    found: Certificate = {
        "format": FORMAT, "claim": claim, "sizes": sizes, "shape": shape, "offset": offset,
        "size": random.choice((count, count, f"{count} + 1", expression(random, ["N", "2"], 1))),
        "end": random.choice((count, count, f"{count} ^ 1")),
        "inverse": [same_value(random, x) for x in back],
        "others": [same_value(random, offset) for _ in range(random.choice((1, 1, 1, 2, 0)))],
        "padding": random.choice(("0", "1", f"{count} - {count}")),
        "limits": [[same_value(random, random.choice((*back, "p"))), random.choice((*shape, count))]
                   for _ in range(random.choice((0, 0, 1, 2)))],
        "view": random.choice(([row], d, d[::-1], [same_value(random, row)])),
        "other_shape": random.choice(([count], shape, shape[::-1])),
        "order": random.choice(([*"01"][: len(d)], [*"10"][-len(d) :])),
        "other_order": random.choice((["0"], ["0", "1"], ["1", "0"])),
        "source": same_value(random, "p"),
    }  # fmt: skip
    fit(found)
    try:
        if "0" not in {one["least"] for one in sizes}:
            return certified({**found, "about": ["x"]})
    except UnsupportedError:
        pass
    found["digits"] = [{"each": x} for x in d] if random.random() < 0.4 else []
    found["digits_of_slots"] = [{"each": "p"}] if random.random() < 0.4 else []
    fit(found)
    for key in SHARED | CLAIMS[claim][0]:
        found.setdefault(key, [] if key in OBJECTS else "0")
    for _ in range(random.choice((0, 1, 2))):
        change_a_definition(found, random, [])
    return found


# Judging them


def verdict(text: str) -> str:
    """Return what the checker says of a file's text: its claim, or why it is refused."""
    try:
        return f"accepted: {check(read(text))}"  # type: ignore[no-untyped-call]
    except Refused as error:
        return f"refused: {error}"


def judged(
    originals: list[Certificate],
    numbers: Iterable[int],
    seed: int,
    tell: Callable[[str, str], object] = lambda *_: None,
) -> Counter[str]:
    """Count what the checker says of forgeries; none that it accepts is false.

    Every 50 of them are asked again, by four threads at once: they say the same.
    """
    counts, together = Counter[str](), dict[str, str]()
    for number in numbers:
        text = forgery(originals, seed, number)
        said = verdict(text)
        tell(text, said)
        together[text] = said
        if said.startswith("refused"):
            counts["refused"] += 1
        else:
            true = is_true(json.loads(text))
            assert true is not False, f"--seed {seed} --start {number}: {text}"
            counts["accepted, and true" if true else "accepted, too large to judge"] += 1
        if len(together) == 50:
            with ThreadPoolExecutor(4) as threads:
                assert [*threads.map(verdict, together)] == [*together.values()]
            together.clear()
    return counts
