"""The process that runs a function and changed ones on the CPU, and compares their results.

``main(FOLDER)`` reads functions there that ``jax.export`` wrote: ``given.jax``, and for each
change, numbered from 0, ``0_stored.jax``, ``0_changed.jax`` and ``0_returned.jax``, or those of
them that are there, which run one after the other. Each is a program of its own, since XLA leaves
out a rounding between two parts of one program. It calls all on the same arguments, and writes
``result.json``: for each change the largest difference for each kind of arguments, or an error.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def difference(one: Any, other: Any) -> float:
    """Return the largest difference of two arrays over the largest value of the first.

    Values that are not numbers, or infinite, at the same places are equal; elsewhere the difference
    is infinite.
    """
    import numpy as np

    if one.dtype.kind in "biu":
        one, other = one.astype(object), other.astype(object)
    elif one.dtype.kind != "c":
        one, other = one.astype(np.float64), other.astype(np.float64)
    equal = one == other
    if one.dtype.kind in "fc":
        equal |= np.isnan(one) & np.isnan(other)
    if equal.all():
        return 0.0
    if one.dtype == object:
        return float("inf")
    with np.errstate(all="ignore"):
        found = np.abs(one - other)[~equal].max() / np.abs(one[np.isfinite(one)]).max(initial=0)
    return float(found) if np.isfinite(found) else float("inf")


# XLA's CPU compiler of jaxlib 0.10.2 reads outside of arrays where it fuses this way
# (https://github.com/jax-ml/jax/issues/39257): exp of bf16, then a maximum, gives infinities.
_NO_FUSION = "--xla_cpu_experimental_ynn_fusion_type="

SIZES = {"near 1": 1.0, "near 0.001": 1e-3, "near 1,000": 1e3, "with NaN and infinities": 1.0}
"""The kinds of random arguments, and the standard deviation of numbers in them."""


def largest_difference(one: Sequence[Any], other: Sequence[Any]) -> float:
    """Return the largest difference of arrays and those at the same places."""
    import numpy as np

    pairs = zip(one, other, strict=True)
    return max((difference(*map(np.asarray, pair)) for pair in pairs), default=0.0)


def argument(aval: Any, seed: int, kind: str = "near 1") -> Any:
    """Return random values of a type: normal numbers, integers from 0 to 7, or truth values."""
    import numpy as np

    random, dtype = np.random.default_rng(seed), np.dtype(aval.dtype)
    if dtype.kind in "biu" or "int" in dtype.name:
        return random.integers(0, 2 if dtype.kind == "b" else 8, aval.shape).astype(dtype)
    found = (random.standard_normal(aval.shape, np.float32) * SIZES[kind]).astype(dtype)
    if "NaN" in kind and found.size:
        # Few of them: a sum over all elements would be NaN, and say nothing.
        places = random.integers(0, found.size, 3)
        found.reshape(-1)[places] = np.array([np.nan, np.inf, -np.inf]).astype(dtype)
    return found


def called(functions: Sequence[Any], flat: Sequence[Any]) -> Sequence[Any]:
    """Return the arrays that functions give, one after the other."""
    for function in functions:
        flat = function.call(*flat)
    return flat


def main(folder: Path) -> None:
    """Compare the functions of a folder, and write what came of it."""
    import numpy as np

    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_NO_FUSION}"
    from jax import export

    def read(*names: str) -> list[Any]:
        paths = [folder / f"{name}.jax" for name in names]
        return [export.deserialize(bytearray(p.read_bytes())) for p in paths if p.exists()]

    (given,) = read("given")
    found: list[dict[str, Any]] = []
    changes = [
        read(*(f"{k}_{part}" for part in ("stored", "changed", "returned")))
        for k in range(len(list(folder.glob("*_changed.jax"))))
    ]
    found = [{} for _ in changes]
    for kind in SIZES:
        flat = [argument(aval, k, kind) for k, aval in enumerate(given.in_avals)]
        wanted = called([given], flat)
        is_stable = not largest_difference(wanted, called([given], [np.array(x) for x in flat]))
        for functions, differences in zip(changes, found, strict=True):
            try:
                if not is_stable:
                    raise ValueError("the CPU's compiler gives two results for the same arguments")
                largest = largest_difference(wanted, called(functions, flat))
                differences[kind] = largest if largest < float("inf") else None
            except Exception as error:
                differences["error"] = str(error) or type(error).__name__
    (folder / "result.json").write_text(json.dumps({"differences": found}))
