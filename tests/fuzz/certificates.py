"""Certificates of what the tests find true, and mutants of them.

    python -m tests.fuzz.certificates tests/proof tests/notations --mutants 1000

Runs tests with this module as a plugin: each question about layouts that is answered by yes is
asked for its certificate, once, and the checker checks it. Prints the share that has one by kind of
layout, sizes and times, and each claim without; then what the checker says of mutants.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

from morello_layouts import proof
from morello_layouts.check import check
from morello_layouts.errors import UnsupportedError
from morello_layouts.maps import IndexMap
from morello_layouts.proof import certificate
from morello_layouts.proof.ask import names_of, sizes_of
from tests.support.certificate_judge import judged, size_of

PLACE = "CERTIFICATES_FOLDER"
CLAIMS = {
    "is_injective": "injective",
    "is_surjective": "surjective",
    "is_bijective": "bijective",
    "verify": "verified",
}
"""Questions about one map; the other two are are_equivalent and is_bitcast."""

PLAIN = {"Pad", "Split", "Transpose", "Merge"}
"""Steps that most layouts have; the others are kinds of their own."""

SMALL = 4000
"""Bytes of a certificate up to which it is mutated."""


def kinds_of(m: Any) -> Iterator[str]:
    """Yield what a map has that is not plain: a name for each."""
    if names_of(m):
        yield "sizes by name"
    if not isinstance(m, IndexMap):
        yield "formula"
        return
    yield from {type(step).__name__ for step in m.recipe.steps} - PLAIN
    if m.recipe.axis_names:
        yield "places by name"
    if m.recipe.offset != 0 or m.recipe.tail_padding != 0:
        yield "offset or tail"


def recorded(name: str, question: Callable[..., Any], folder: Path) -> Callable[..., Any]:
    """Return a question that also writes the certificates of what holds."""
    known = set[str]()
    file = folder / f"{name}.{os.getpid()}.jsonl"

    def ask(*maps: Any, **options: Any) -> Any:
        began = process_time()
        answer = question(*maps, **options)
        proved = process_time() - began
        text = f"{[(m, sizes_of(m), getattr(m, 'recipe', '')) for m in maps[:2]]} {maps[2:]}"
        if answer.holds and text not in known:
            known.add(text)
            row = {"claim": name, "kinds": sorted({k for m in maps[:2] for k in kinds_of(m)})}
            row |= certified(name, *maps) | {"prove": proved}
            with file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(row) + "\n")
        return answer

    return ask


def certified(name: str, *maps: Any) -> dict[str, Any]:
    """Return a certificate of a true answer with times, or why there is none."""
    began = process_time()
    try:
        if name in CLAIMS:
            found = certificate.certificate_of_map(maps[0], CLAIMS[name])
        elif name == "are_equivalent":
            found = certificate.certificate_of_equality(*maps)
        else:
            found = certificate.certificate_of_bitcast(*maps)
    except UnsupportedError as error:
        return {"without": str(error), "find": process_time() - began}
    except Exception as error:  # a fault: shown in the table
        return {"without": f"FAULT {error!r} of {list(map(str, maps))}", "find": 0}
    between = process_time()
    check(found)
    return {"found": found, "find": between - began, "check": process_time() - between}


def pytest_configure() -> None:
    """Listen to the questions of the tests."""
    for name in (*CLAIMS, "are_equivalent", "is_bitcast"):
        setattr(proof, name, recorded(name, getattr(proof, name), Path(os.environ[PLACE])))


def rows_of(tests: list[str]) -> list[dict[str, Any]]:
    """Run tests, and return a row for each claim that they find true."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.fuzz.certificates", *tests]
        command += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        subprocess.run(command, env={**os.environ, PLACE: folder}, check=False)
        files = sorted(Path(folder).iterdir())
        return [json.loads(line) for file in files for line in file.open(encoding="utf-8")]


def show(rows: list[dict[str, Any]]) -> None:
    """Print the share with a certificate of each kind, what has none, sizes and times."""
    groups = defaultdict[str, list[dict[str, Any]]](list)
    for row in rows:
        for kind in (f"claim {row['claim']}", *(row["kinds"] or ["plain"]), "all"):
            groups[kind].append(row)
        if "without" in row:
            print("NONE", row["claim"], *row["kinds"], "|", row["without"].split("\n")[0])
    print("\n| of | true | with certificate |\n|---|--:|--:|")
    for kind, members in groups.items():
        count = sum("found" in row for row in members)
        print(f"| {kind} | {len(members)} | {count} ({count / len(members):.1%}) |")
    found = [row for row in rows if "found" in row]
    columns = {"bytes": [float(size_of(row["found"])) for row in found]}
    columns |= {f"ms to {x}": [1000 * row[x] for row in found] for x in ("prove", "find", "check")}
    for words, values in columns.items():
        values.sort()
        ends = median(values), values[len(values) * 99 // 100], values[-1]
        print("{}: median {:.4g}, 99 of 100 below {:.4g}, largest {:.4g}".format(words, *ends))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--mutants", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a file of rows: written, or read if it exists")
    given = parser.parse_args()
    if given.keep and given.keep.exists():
        rows = [json.loads(line) for line in given.keep.open(encoding="utf-8")]
    else:
        rows = rows_of(given.tests)
    if given.keep:
        given.keep.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    show(rows)
    small = [row["found"] for row in rows if "found" in row and size_of(row["found"]) <= SMALL]
    if given.mutants:
        began = process_time()
        print(dict(judged(small, given.mutants, given.seed)), f"{process_time() - began:.0f} s")


if __name__ == "__main__":
    main()
