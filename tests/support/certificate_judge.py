"""Judge what certificates state by enumeration, apart from the checker."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

__all__ = ["is_true", "size_of"]


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
            if not (_holds if min(shape, default=1) else _holds_of_nothing)(
                given, sizes, shape, size
            ):
                return False
        except (LookupError, NameError, SyntaxError, TypeError, ValueError, ZeroDivisionError):
            return False  # the statement says nothing
    return True if tried else None


def _sizes(given: dict[str, Any]) -> Iterator[dict[str, int]]:
    columns = []
    for one in given["sizes"]:
        step, least = int(one["multiple_of"]), int(one["least"])
        first = -(-least // step) * step
        found = [first + k * step for k in (0, 1, 2, 3, 4, 6, 11)]
        columns.append([n for n in found if n <= int(one.get("most", n))])
    for values in itertools.product(*columns):
        yield dict(zip([one["name"] for one in given["sizes"]], values, strict=True))


def _value(text: Any, names: dict[str, Any]) -> Any:
    with np.errstate(divide="raise"):
        try:
            plain = re.sub(r"(?<![A-Za-z_0-9])0+(?=[0-9])", "", text.strip())
            return eval(compile(plain, "text", "eval"), {"__builtins__": {}}, names)
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


def _holds_of_nothing(
    given: dict[str, Any], sizes: dict[str, int], _: list[int], size: int
) -> bool:
    """Whether a claim holds of an array without elements: of its slots and its padding."""
    claim = given["claim"]
    if claim == "padded":
        return bool(_value(given["padding"], sizes) == size >= 0)
    end = _value(given["end"], sizes) if claim == "verified" else size
    return claim not in {"surjective", "bijective", "verified"} or (end == 0 and size >= end)


def _counts_agree(given: dict[str, Any], sizes: dict[str, int], count: int) -> bool:
    others = [_value(n, sizes) for n in given["other_shape"]] if given["claim"] == "bitcast" else []
    return given["claim"] != "bitcast" or (min(others, default=1) >= 0 and prod(others) == count)


def _slots_hold(given: dict[str, Any], sizes: dict[str, int], offset: Any, size: int) -> bool:
    end = _value(given["end"], sizes)
    if end > size or (offset >= end).any():
        return False
    p = np.arange(max(end, 0)).astype(offset.dtype)
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


def size_of(given: dict[str, Any]) -> int:
    """Return the bytes of a certificate as compact JSON."""
    return len(json.dumps(given, separators=(",", ":")))
