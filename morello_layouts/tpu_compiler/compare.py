"""The process that runs a function and a changed one on the CPU, and compares their results.

``python compare.py FOLDER`` reads ``given.jax`` and ``changed.jax`` there, two functions that
``jax.export`` wrote, calls both on the same random arguments, and writes ``result.json``.
"""

from __future__ import annotations

import json
import sys
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


def argument(aval: Any, seed: int) -> Any:
    """Return random values of a type: normal numbers, small integers, or truth values."""
    import numpy as np

    random, dtype = np.random.default_rng(seed), np.dtype(aval.dtype)
    if dtype.kind in "biu" or "int" in dtype.name:
        return random.integers(0, 2 if dtype.kind == "b" else 8, aval.shape).astype(dtype)
    return random.standard_normal(aval.shape, np.float32).astype(dtype)


def main(folder: Path) -> None:
    """Compare the functions of a folder, and write what came of it."""
    import numpy as np
    from jax import export

    try:
        given, changed = (
            export.deserialize(bytearray((folder / name).read_bytes()))
            for name in ("given.jax", "changed.jax")
        )
        flat = [argument(aval, k) for k, aval in enumerate(given.in_avals)]
        pairs = zip(given.call(*flat), changed.call(*flat), strict=True)
        found = max((difference(*map(np.asarray, pair)) for pair in pairs), default=0.0)
        result: dict[str, Any] = {"difference": found if found < float("inf") else None}
    except Exception as error:
        result = {"error": str(error) or type(error).__name__}
    (folder / "result.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
