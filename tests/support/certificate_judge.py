"""Judge certificates by enumeration, apart from the checker; and mutate them."""

from __future__ import annotations

import copy
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator
from math import prod
from random import Random
from typing import Any

import numpy as np

from morello_layouts.check import check

__all__ = ["is_true", "judged", "size_of"]


def is_true(given: dict[str, Any]) -> bool | None:
    """Return whether a certificate's statement holds at small sizes, whatever its digits are.

    Returns:
        None if even the smallest arrays that it is about have over a million elements.
    """
    found = (_holds_up_to(given, elements) for elements in (4000, 1 << 20))
    return next((holds for holds in found if holds is not None), None)


def _holds_up_to(given: dict[str, Any], elements: int) -> bool | None:
    tried = 0
    for sizes in _sizes(given):
        shape = [_value(n, sizes) for n in given["shape"]]
        size = _value(given.get("size", "0"), sizes)
        if prod(shape) > elements or size > 4 * elements:
            continue
        tried += 1
        try:
            if min(shape, default=1) < 0 or not _counts_agree(given, sizes, prod(shape)):
                return False
            if min(shape, default=1) > 0 and not _holds(given, sizes, shape, size):
                return False
        except (LookupError, NameError, SyntaxError, TypeError, ValueError, ZeroDivisionError):
            return False  # the statement says nothing
    return True if tried else None


def _sizes(given: dict[str, Any]) -> Iterator[dict[str, int]]:
    columns = []
    for one in given["sizes"]:
        step, least = int(one["multiple_of"]), int(one["least"])
        first = -(-least // step) * step
        last = min(int(one.get("most", first + 4 * step)), first + 9 * step)
        columns.append([*range(first, last + 1, step)][:5])
    for values in itertools.product(*columns):
        yield dict(zip([one["name"] for one in given["sizes"]], values, strict=True))


def _value(text: Any, names: dict[str, Any]) -> Any:
    with np.errstate(divide="raise"):
        try:
            return eval(compile(str(text), "text", "eval"), {"__builtins__": {}}, names)
        except FloatingPointError as error:
            raise ZeroDivisionError from error


def _at(coordinates: Any) -> dict[str, Any]:
    return {f"d{k}": x for k, x in enumerate(coordinates)}


def _holds(given: dict[str, Any], sizes: dict[str, int], shape: list[int], size: int) -> bool:
    claim = given["claim"]
    kind = object if re.search(r"\d{10}", json.dumps(given)) else np.int64  # no sum is cut off
    d = list(np.indices(shape).reshape(len(shape), prod(shape)).astype(kind))
    flat = np.zeros(prod(shape), kind)

    def of(text: Any, **names: Any) -> Any:
        return flat + _value(text, {**sizes, **names})

    offset = of(given["offset"], **_at(d))
    inside = bool(((offset >= 0) & (offset < size)).all())
    if claim == "equivalent" and not given["others"]:
        return False
    if claim in {"injective", "bijective", "padded", "verified"}:
        if len(given["inverse"]) != len(d):
            return False
        if any(
            (of(text, p=offset) != x).any() for text, x in zip(given["inverse"], d, strict=True)
        ):
            return False
    if claim in {"surjective", "bijective"} and set(offset.tolist()) != set(range(size)):
        return False
    if claim == "padded" and _value(given["padding"], sizes) != size - prod(shape):
        return False
    if claim in {"padded", "surjective", "bijective", "verified"} and not inside:
        return False
    others = given["others"] if claim in {"equivalent", "verified"} else []
    if any((of(text, **_at(d)) != offset).any() for text in others):
        return False
    if claim == "verified" and not _slots_hold(given, sizes, offset, size):
        return False
    if claim == "bitcast":
        return _views_agree(given, sizes, shape, d, offset)
    if claim == "relayout":
        slots = of(given["others"][0], **_at(d))
        return bool((of(given["source"], p=slots) == offset).all())
    return True


def _counts_agree(given: dict[str, Any], sizes: dict[str, int], count: int) -> bool:
    others = [_value(n, sizes) for n in given["other_shape"]] if given["claim"] == "bitcast" else []
    return given["claim"] != "bitcast" or (min(others, default=1) >= 0 and prod(others) == count)


def _slots_hold(given: dict[str, Any], sizes: dict[str, int], offset: Any, size: int) -> bool:
    end = _value(given["end"], sizes)
    if end > size or (offset >= end).any():
        return False
    p = np.arange(max(end, 0))
    elements = np.ones(len(p), bool)
    for text, n in given["limits"]:
        elements &= (p * 0 + _value(text, {**sizes, "p": p})) < _value(n, sizes)
    return set(p[elements].tolist()) == set(offset.tolist())


def _views_agree(
    given: dict[str, Any], sizes: dict[str, int], shape: list[int], d: list[Any], offset: Any
) -> bool:
    e = [offset * 0 + _value(text, {**sizes, **_at(d)}) for text in given["view"]]
    other = [_value(n, sizes) for n in given["other_shape"]]
    orders = [[*map(int, given[key])] for key in ("order", "other_order")]
    ranks = range(len(d)), range(len(other))
    if len(e) != len(other) or any(sorted(x) != [*y] for x, y in zip(orders, ranks, strict=True)):
        return False
    if any(((x < 0) | (x >= n)).any() for x, n in zip(e, other, strict=True)):
        return False
    one = two = offset * 0
    for k in orders[1]:
        one = one * other[k] + e[k]
    for k in orders[0]:
        two = two * shape[k] + d[k]
    moved = offset * 0 + _value(given["others"][0], {**sizes, **_at(e)})
    return bool((one == two).all() and (moved == offset).all())


_OPERATORS = ("//", "%", "*", "+", "-", "^")
_CLAIMS = (
    *("injective", "surjective", "bijective", "padded"),
    *("equivalent", "verified", "bitcast", "relayout"),
)


def mutant_of(given: dict[str, Any], random: Random) -> dict[str, Any]:
    """Return a certificate with one value, sign, bound, operator, name or statement changed."""
    found = copy.deepcopy(given)
    places = list(_places(found))
    kind = random.random()
    if kind < 0.05:
        found["claim"] = random.choice(_CLAIMS)
    elif kind < 0.12:
        one, other = random.sample([*found], 2)
        found[one], found[other] = found[other], found[one]
    elif kind < 0.2:
        (box, key), (other, second) = random.sample(places, 2)
        box[key], other[second] = other[second], box[key]
    elif kind < 0.25 and found["digits"]:
        found["digits"].pop(random.randrange(len(found["digits"])))
    else:
        box, key = random.choice(places)
        box[key] = _changed(box[key], random)
    return found


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the leaves of a JSON value as (container, key), but for those that say nothing."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if key in {"format", "about", "claim"}:
            continue
        if isinstance(inner, dict | list):
            yield from _places(inner)
        else:
            yield value, key


def _changed(value: Any, random: Random) -> Any:
    if value is None or isinstance(value, int):
        n = value or 0
        return random.choice([n + 1, n - 1, -n, 0, 2 * n, None, 128])
    parts = re.findall(r"//|\w+|\S", value)
    tokens = [k for k, part in enumerate(parts) if part not in {"(", ")"}]
    if not tokens:
        return "0"
    k = random.choice(tokens)
    part = parts[k]
    if part.isdecimal():
        n = int(part)
        parts[k] = str(random.choice([n + 1, max(0, n - 1), 2 * n, n // 2, f"-{n}", 1]))
    elif part in _OPERATORS:
        parts[k] = random.choice(_OPERATORS)
    else:
        parts[k] = random.choice([*(x for x in parts if x[0].isalpha()), "d0", "d1", "p", "1"])
    return " ".join(parts)


def judged(originals: list[dict[str, Any]], count: int, seed: int) -> Counter[str]:
    """Count what the checker says of mutants; none that it accepts is false."""
    random, counts = Random(seed), Counter[str]()
    for _ in range(count):
        original = random.choice(originals)
        mutant = mutant_of(original, random)
        if mutant == original:
            counts["unchanged"] += 1
            continue
        try:
            check(mutant)  # type: ignore[no-untyped-call]
        except Exception:
            counts["refused"] += 1
        else:
            verdict = is_true(mutant)
            assert verdict is not False, json.dumps(mutant)
            counts["accepted, and true" if verdict else "accepted, too large to judge"] += 1
    return counts


def size_of(given: dict[str, Any]) -> int:
    """Return the bytes of a certificate as compact JSON."""
    return len(json.dumps(given, separators=(",", ":")))
